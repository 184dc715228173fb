// The first page: what is on sale.

import { call, inWords } from "./api.js";
import { byId, el, show } from "./dom.js";
import { instant, price, STATES } from "./format.js";

let after = "";

function card(event) {
  const prices = event.ticket_types.map((t) => t.price);
  const from = prices.length ? `from ${price(Math.min(...prices), event.currency)}` : "";
  return el(
    "li",
    {},
    el("a", { class: "card", href: `/events/${encodeURIComponent(event.id)}` },
      el("strong", { text: event.name }),
      el("span", { class: "quiet", text: `${instant(event.starts_at, event.time_zone)}` }),
      el("span", { class: "quiet", text: event.venue.name }),
      el("span", { class: "card-foot" },
        el("span", { class: event.state === "on_sale" ? "tag on" : "tag", text: STATES[event.state] || event.state }),
        el("span", { text: from }))),
  );
}

async function load() {
  const status = byId("status");
  try {
    const page = await call("GET", `/v1/events?limit=50${after ? `&after=${encodeURIComponent(after)}` : ""}`);
    byId("events").append(...page.data.map(card));
    after = page.next || "";
    show(byId("more"), after !== "");
    status.textContent = byId("events").children.length ? "" : "Nothing is on sale yet.";
  } catch (refusal) {
    status.textContent = inWords(refusal, (k) => k);
  }
}

byId("more").addEventListener("click", load);
load();
