// The page of one event: the map, the picker, the basket, and the poll that keeps them true.

import { apartInWords, call, inWords, Refusal } from "./api.js";
import { Basket } from "./basket.js";
import { announce, byId, el, fill, isShown, show } from "./dom.js";
import { seat as drawSeat, palette } from "./draw.js";
import { count, duration, instant, listed, STATES } from "./format.js";
import { Picker } from "./picker.js";
import { House, Plan } from "./plan.js";
import { View } from "./view.js";

const POLL_SECONDS = 1;
const POLL_SECONDS_MAX = 4; // while the server does not answer: once it does, the map is right within five
const LOAD_TRIES = 3;
const TELL_SECONDS = [300, 120, 60, 30]; // time left that is said aloud

const id = decodeURIComponent(location.pathname.split("/")[2] || "");
const path = `/v1/events/${encodeURIComponent(id)}`;

let house;
let basket;
let view;
let picker;
let timer = 0;
let failures = 0;
let polling = false;
let lost = []; // lines of a basket that lapsed
let lostEarly = false; // whether it ended before its time
let told = Infinity; // the last of TELL_SECONDS that was said

// ---- the focus

// Where to go on choosing: the seat that Tab leads to, or an area.
const chooser = () => [byId("seats").querySelector('[tabindex="0"]'), byId("areas").querySelector("button")].find(isShown);

/** Changes the page. What had the focus and is gone by that leaves it to what is nearest, never to the whole page. */
function keepingFocus(change) {
  const had = document.activeElement;
  const choosing = !!had?.closest(".house");
  change();
  if (!had || had === document.body) return;
  const has = document.activeElement;
  if (has !== document.body && isShown(has)) return;
  ((choosing && chooser()) || byId("basket-title")).focus();
}

function message(text, { bad = false, actions = [] } = {}) {
  const box = byId("message");
  box.textContent = text;
  box.className = bad ? "message bad" : "message";
  show(box, text !== "");
  keepingFocus(() => fill(byId("message-actions"), actions));
  if (text) announce(byId(bad ? "alert" : "live"), text);
}

// ---- the server's state

const changesAfter = (position) => call("GET", `${path}/changes?after=${encodeURIComponent(position)}`);

/**
 * Fetches the whole house. Board, changes and offer count seats by the drawing, so all of it must be of
 * one map: the changes since the board say whether it stayed. Moves of an event are rare; one that comes
 * in between is met by beginning anew.
 */
async function load() {
  for (let left = LOAD_TRIES; left > 0; left--) {
    const board = await call("GET", `${path}/board`);
    const plan = new Plan(await call("GET", `${path}/map`));
    const offer = await call("GET", `${path}/offer`, { headers: basket.codeHeader() });
    const event = await call("GET", path); // after the offer, for prices are the event's
    const changes = await changesAfter(board.position);
    if (board.map !== event.map || changes.map !== event.map || changes.resync) continue;
    const next = new House(event, plan);
    next.setBoard(board);
    next.setChanges(changes);
    next.setOffer(offer);
    return next;
  }
  throw new Refusal(0, { code: "UNAVAILABLE" });
}

// Shows the house as another map draws it, with the basket and where the buyer is in it as they were.
function become(next) {
  house.become(next);
  heading();
  keepingFocus(() => {
    drawOffer();
    drawHouse();
  });
  announce(byId("live"), "The seat map has changed.");
  if (lost.some((l) => !isThere(l))) lapsed(lost, lostEarly);
}

async function loadOffer(version) {
  const offer = await call("GET", `${path}/offer`, { headers: basket.codeHeader() });
  const event = await call("GET", path); // after the offer, for prices are the event's
  if (offer.version !== version) return offer; // it may be of another map than the board; the next poll knows
  house.setEvent(event);
  house.setOffer(offer);
  heading();
  keepingFocus(drawOffer);
  return offer;
}

// What an access code does here. The server does not tell wrong codes from those that open nothing.
async function codeInWords(offer) {
  const [mine, all] = [offer, await call("GET", `${path}/offer`)].map((o) => JSON.stringify([o.seats, o.areas]));
  return mine === all ? { text: "This code opens nothing here.", bad: true } : { text: "The map shows what this code opens." };
}

// Follows the event to where it is now.
async function follow() {
  const changes = await changesAfter(house.position);
  const board = changes.resync && changes.map === house.event.map ? await call("GET", `${path}/board`) : null;
  if ((board ?? changes).map !== house.event.map) {
    become(await load());
    await basket.check(); // its seats may be called otherwise, or be gone
    return;
  }
  if (board) house.setBoard(board);
  else house.setChanges(changes);
  basket.note(changes);
  if (changes.offer !== house.offer.version) await loadOffer(changes.offer);
  if (basket.astray && !basket.busy) await basket.check();
}

async function poll() {
  clearTimeout(timer);
  if (polling) return;
  polling = true;
  try {
    await follow();
    failures = 0;
  } catch {
    failures++;
  } finally {
    polling = false;
  }
  draw();
  const wait = Math.min(POLL_SECONDS * 2 ** failures, POLL_SECONDS_MAX);
  if (!document.hidden) timer = setTimeout(poll, wait * 1000);
}

function banner() {
  const { event } = house;
  const box = byId("banner");
  let text = event.state === "on_sale" ? "" : STATES[event.state] || event.state;
  if (basket.hold && (event.state === "paused" || event.state === "closed")) text += ". What is in your basket can still be ordered.";
  if (failures > 1) text = "The server does not answer. The map may be out of date; trying again.";
  else if (event.state === "on_sale" && event.sale.starts_at && new Date(event.sale.starts_at) > new Date()) {
    text = `On sale from ${instant(event.sale.starts_at, event.time_zone)}`;
  }
  if (box.textContent !== text) {
    box.textContent = text;
    announce(byId("live"), text);
  }
  show(box, text !== "");
}

// ---- the map

function pick(i) {
  const status = house.status(i);
  if (status === "free" || status === "mine") {
    message("");
    basket.toggle(house.plan.seats[i].key);
  } else if (status !== "pending") {
    message(`${house.describe(i)}.`, { bad: true });
  }
}

function hover(i, x, y) {
  const tip = byId("tip");
  show(tip, i >= 0);
  if (i < 0) return;
  const seat = house.plan.seats[i];
  tip.textContent = `${house.describe(i)} · ${seat.section}`;
  const box = byId("map");
  const left = Math.max(0, Math.min(x + 14, box.clientWidth - tip.offsetWidth - 4));
  tip.style.transform = `translate(${left}px, ${Math.max(0, y - tip.offsetHeight - 10)}px)`;
}

function sign(status, text, tier = 0, accessible = false) {
  const canvas = el("canvas", { width: 40, height: 40, "aria-hidden": "true" });
  drawSeat(canvas.getContext("2d"), status, { x: 20, y: 20, r: 17, tier, accessible }, palette());
  return el("li", {}, canvas, text);
}

function legend() {
  const prices = house.prices.map((minor, k) => sign("free", k < 3 || house.prices.length <= 4 ? house.money(minor) : `${house.money(minor)} and more`, house.shade(k)));
  const special = house.plan.seats.some((s) => s.accessible) ? [sign("free", "Wheelchair place", 0, true)] : [];
  fill(byId("legend"), prices.slice(0, 4), sign("mine", "Yours"), sign("held", "Held"), sign("sold", "Sold"), sign("none", "Not on sale"), special);
}

// ---- areas without seats

const areaRows = new Map();

function areaRow(area, type) {
  const step = (delta, text) => el("button", { type: "button", text, click: () => {
    message("");
    basket.area(area.key, type, delta);
  } });
  const row = {
    key: area.key, type,
    less: step(-1, "−"),
    more: step(1, "+"),
    name: el("strong"),
    sold: el("span", { class: "quiet" }),
    number: el("output", { text: "0" }),
    free: el("span", { class: "quiet" }),
  };
  row.node = el("li", { id: `area-${area.key}-${type}` },
    el("span", { class: "grow" }, row.name, row.sold, row.free),
    el("span", { class: "stepper" }, row.less, row.number, row.more));
  return row;
}

// Names and prices may change under a row that stays.
function nameArea(row, area) {
  row.name.textContent = area.name;
  row.sold.textContent = house.typeInWords(row.type);
  const name = `${area.name}, ${house.typeInWords(row.type)}`;
  row.less.setAttribute("aria-label", `One less: ${name}`);
  row.more.setAttribute("aria-label", `One more: ${name}`);
}

function areas() {
  const rows = house.plan.areas.flatMap((area) => (house.offer.areas[area.key] || []).map((type) => [area, type]));
  const names = rows.map(([area, type]) => `${area.key} ${type}`);
  // Rows that are still offered stay, so that the focus does.
  for (const name of areaRows.keys()) if (!names.includes(name)) areaRows.delete(name);
  rows.forEach(([area, type], k) => {
    if (!areaRows.has(names[k])) areaRows.set(names[k], areaRow(area, type));
    nameArea(areaRows.get(names[k]), area);
  });
  const nodes = names.map((name) => areaRows.get(name).node);
  const list = byId("areas");
  if (nodes.length !== list.children.length || nodes.some((n, k) => list.children[k] !== n)) fill(list, nodes);
  show(byId("area-picker"), nodes.length > 0);
}

function drawAreas() {
  for (const row of areaRows.values()) {
    const mine = basket.quantity(row.key, row.type);
    const free = house.areaFree(row.key);
    if (row.number.textContent !== String(mine)) row.number.textContent = mine;
    row.free.textContent = free ? `${free.toLocaleString("en")} free` : "none free";
    // Not the disabled attribute: a button that has the focus must not lose it.
    row.less.setAttribute("aria-disabled", String(mine === 0));
    row.more.setAttribute("aria-disabled", String(free === 0 || house.event.state !== "on_sale"));
  }
}

function showArea(key) {
  const row = [...areaRows.values()].find((r) => r.key === key);
  if (!row) return;
  row.node.scrollIntoView({ block: "nearest" });
  row.more.focus();
}

// ---- the basket

function line(l) {
  const key = `${l.seat || l.area} ${l.ticket_type}`;
  const name = l.seat ? `${l.label}` : `${l.label}${l.quantity > 1 ? ` × ${l.quantity}` : ""}`;
  const i = l.seat ? house.plan.index.get(l.seat) : -1;
  const types = i >= 0 ? house.offered[i] : [];
  const choice = types.length > 1 && types.includes(l.ticket_type)
    ? el("select", { "aria-label": `Ticket type of ${l.label}`, "data-key": `type ${l.seat}`, change: (e) => basket.retype(l.seat, e.target.value) },
      types.map((t) => el("option", { value: t, selected: t === l.ticket_type, text: house.typeInWords(t) })))
    : el("span", { class: "quiet", text: house.typeName(l.ticket_type) });
  const remove = el("button", { type: "button", class: "plain", text: "✕", "aria-label": `Remove ${name}`, "data-key": `remove ${key}`, click: () => {
    message("");
    if (l.seat) basket.toggle(l.seat);
    else basket.area(l.area, l.ticket_type, -l.quantity);
  } });
  return el("li", {}, el("span", { class: "grow" }, el("span", { text: name }), choice), el("span", { class: "amount", text: house.money(l.amount) }), remove);
}

let shownLines = ""; // as text: a look at the hold that finds it as it was must not close a choice that is open

function lines() {
  const list = byId("lines");
  const now = JSON.stringify(basket.lines);
  if (now === shownLines) return;
  shownLines = now;
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  fill(list, basket.lines.map(line));
  if (focused === null) return;
  const again = [...list.querySelectorAll("[data-key]")];
  (again.find((n) => n.dataset.key === focused) || again[0])?.focus();
}

function drawBasket() {
  const { hold } = basket;
  if (hold) lost = [];
  lines();
  const open = house.event.state === "on_sale";
  show(byId("empty"), !hold && open && !lost.length);
  show(byId("best"), !hold && open && house.prices.length > 0);
  show(byId("total"), !!hold);
  show(byId("hold-actions"), !!hold);
  show(byId("extend"), open);
  show(byId("checkout"), !!hold);
  show(byId("clock"), !!hold);
  if (hold) byId("total-amount").textContent = house.money(hold.total);
  byId("basket").setAttribute("aria-busy", String(basket.busy > 0));
}

let before = { units: 0, total: 0 };

// Says what a change did, once everything that was clicked has been answered.
function tellChange() {
  if (basket.busy) return;
  const now = { units: basket.units, total: basket.hold?.total ?? 0 };
  if (now.units !== before.units || now.total !== before.total) {
    const apart = apartInWords(basket.hold?.warnings ?? []);
    if (apart) message(apart);
    announce(byId("live"), now.units ? `In your basket: ${count(now.units, "ticket")}, ${house.money(now.total)}. ${apart}`.trim() : "Your basket is empty.");
  }
  before = now;
}

const labels = (lines) => listed(lines.map((l) => l.label));

// What to say of lines whose seats or areas the house has no more.
const noMore = (lines) => (lines.length ? `${labels(lines)} ${lines.length > 1 ? "are" : "is"} not part of the house any more.` : "");

const isThere = (line) => house.plan.has(line.seat || line.area);

// Says what a basket had that lapsed, or was let go from elsewhere, and offers what of it is still there.
function lapsed(gone, early) {
  const there = gone.filter(isThere);
  lost = there;
  lostEarly = early;
  const again = el("button", { type: "button", text: "Try the same seats again", click: () => {
    const asked = lost;
    lost = [];
    message("");
    basket.again(asked);
  } });
  const { state } = house.event;
  const open = state === "on_sale";
  const words = [early ? "Your basket was let go before its time." : "Your time is up."];
  if (state === "cancelled") words[0] = "The event was cancelled, and your basket with it.";
  if (there.length) words.push(early || !open ? `${labels(there)} ${there.length > 1 ? "are" : "is"} no longer held for you.` : `${labels(there)} went back on sale.`);
  words.push(noMore(gone.filter((l) => !isThere(l))));
  message(words.join(" ").trim(), { bad: true, actions: there.length && open ? [again] : [] });
  poll();
}

// Says what somebody else took out of a basket that lives on.
function taken(gone) {
  const words = `${labels(gone)} ${gone.length > 1 ? "were" : "was"} taken out of your basket.`;
  message(`${words} ${noMore(gone.filter((l) => !isThere(l)))}`.trim(), { bad: true });
}

const named = (seats) => listed(seats.map((key) => house.plan.label(key)));

// A button that takes seats. It goes when it is used, and must not take the focus with it.
function taking(text, part) {
  return el("button", { type: "button", text, click: () => {
    byId("basket-title").focus();
    message("");
    basket.take(part);
  } });
}

// What can be done about a refusal: words, and a button for it.
function remedy({ asked, alternatives, code, conflicts }) {
  if (asked && alternatives?.length) {
    const [{ seats, ticket_types }] = alternatives;
    return [`${named(seats)} ${seats.length > 1 ? "are" : "is"} free.`, taking(`Take ${named(seats)} instead`, { ...asked, seats, ticket_types })];
  }
  if (asked?.seats && code === "SINGLE_SEAT_LEFT") {
    const alone = conflicts.map((c) => c.seat);
    return ["", taking(`Take ${named(alone)} as well`, { ...asked, seats: [...asked.seats, ...alone] })];
  }
  return ["", null];
}

function refused(error) {
  const [words, button] = remedy(error);
  message(`${inWords(error, (key) => house.plan.label(key))} ${words}`.trim(), { bad: true, actions: button ? [button] : [] });
  poll(); // whatever was refused, the map should show why
}

// Says which seats the basket leaves alone, as long as they are free, and offers them.
function advice() {
  const alone = basket.warnings.filter((w) => w.code === "SINGLE_SEAT_LEFT").map((w) => w.seat)
    .filter((key) => house.statusOf(key) === "free");
  const text = alone.length ? `Your seats leave ${named(alone)} alone. You can take ${alone.length > 1 ? "them" : "it"} as well.` : "";
  const box = byId("advice");
  if (box.textContent === text) return;
  if (byId("advice-actions").contains(document.activeElement)) byId("basket-title").focus();
  box.textContent = text;
  show(box, text !== "");
  fill(byId("advice-actions"), alone.length ? [taking(`Take ${named(alone)} as well`, { seats: alone })] : []);
  announce(byId("advice-live"), text);
}

let shownLeft = -1;

function tick() {
  if (!basket.hold) {
    told = Infinity;
    return;
  }
  const seconds = Math.floor(basket.left);
  if (seconds === shownLeft) return;
  shownLeft = seconds;
  byId("left").textContent = duration(seconds);
  byId("clock").classList.toggle("soon", seconds <= 60);
  const mark = TELL_SECONDS.findLast((s) => seconds <= s);
  if (mark !== undefined && mark < told) announce(byId("live"), `${duration(seconds)} left to order.`);
  told = mark ?? Infinity;
  if (seconds === 0 && !basket.busy) {
    shownLeft = -1; // asked again in the next tick if the server's clock is not there yet
    basket.check();
  }
}

// ---- the confirmation

function ordered(order) {
  const box = byId("confirmation");
  const title = el("h2", { id: "confirmation-title", tabindex: "-1", text: order.state === "cancelled" ? "Order cancelled" : "Order confirmed" });
  const tickets = order.tickets.map((t) => el("li", { class: t.state === "valid" ? "ticket" : "ticket void" },
    el("span", { class: "grow" }, el("strong", { text: t.label }), el("span", { class: "quiet", text: `${house.typeName(t.ticket_type)}${t.state === "valid" ? "" : ", cancelled"}` })),
    el("code", { text: t.id })));
  fill(box,
    title,
    el("p", { text: order.buyer ? `Thank you, ${order.buyer.name}. The tickets are for ${order.buyer.email}.` : "Thank you." }),
    el("dl", {}, el("dt", { text: "Order" }), el("dd", {}, el("code", { id: "order-id", text: order.id })), el("dt", { text: "Total" }), el("dd", { text: house.money(order.total) })),
    el("h3", { text: count(order.tickets.length, "ticket") }),
    el("ul", { class: "tickets" }, tickets),
    el("p", { class: "actions" }, el("button", { type: "button", text: "Buy more", click: () => {
      basket.forgetOrder();
      show(box, false);
      show(byId("shop"), true);
      message("");
      view.redraw();
      byId("basket-title").focus();
    } })));
  show(byId("shop"), false);
  show(box, true);
  title.focus();
  announce(byId("live"), `${title.textContent}.`);
}

// ---- putting it together

function draw() {
  banner();
  view?.redraw();
  picker?.update();
  drawAreas();
  keepingFocus(drawBasket);
  advice();
  tellChange();
}

function heading() {
  const { event } = house;
  document.title = `${event.name} · Rowlock`;
  byId("name").textContent = event.name;
  byId("when").textContent = `${instant(event.starts_at, event.time_zone)} · ${event.venue.name}`;
  byId("best-count").max = event.limits.units_per_hold;
}

// Draws what depends on the drawing and on nothing else.
function drawHouse() {
  const seats = house.plan.seats.length > 0;
  hover(-1);
  view.replan();
  show(byId("seat-picker"), seats);
  if (picker) picker.replan();
  else if (seats) picker = new Picker(house, pick);
}

function drawOffer() {
  legend();
  areas();
  shownLines = ""; // a line shows what its seat is sold as, and for how much
  const types = new Set(house.offered.flat());
  const type = byId("best-type").value;
  fill(byId("best-type"), el("option", { value: "", text: "any ticket type" }), [...types].map((t) => el("option", { value: t, text: house.typeInWords(t) })));
  if (types.has(type)) byId("best-type").value = type;
}

function listen() {
  const submit = (form, act) => byId(form).addEventListener("submit", (e) => {
    e.preventDefault();
    act();
  });
  byId("zoom-in").addEventListener("click", () => view.zoom(1.6));
  byId("zoom-out").addEventListener("click", () => view.zoom(1 / 1.6));
  byId("zoom-all").addEventListener("click", () => view.fit());
  for (const act of ["extend", "release"]) {
    byId(act).addEventListener("click", () => {
      message("");
      basket[act]();
    });
  }
  submit("best", () => {
    message("");
    basket.best(Number(byId("best-count").value), byId("best-type").value, byId("best-together").checked);
  });
  submit("checkout", () => {
    message("");
    basket.order({ name: byId("buyer-name").value.trim(), email: byId("buyer-email").value.trim() });
  });
  submit("code-form", async () => {
    basket.useCode(byId("code").value.trim());
    try {
      const offer = await loadOffer(house.offer.version);
      const { text, bad } = basket.code ? await codeInWords(offer) : { text: "" };
      message(text, { bad });
    } catch (error) {
      refused(error);
    }
    draw();
  });
  document.addEventListener("visibilitychange", () => !document.hidden && poll());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", legend);
  setInterval(tick, 200);
}

async function start() {
  basket = new Basket(id, { changed: draw, lapsed, taken, refused, ordered });
  byId("code").value = basket.code;
  house = await load();
  basket.house = house;
  heading();
  drawOffer();
  show(byId("shop"), true);
  view = new View(byId("canvas"), house, { seat: pick, area: showArea, hover });
  drawHouse();
  listen();
  await basket.restore();
  draw();
  timer = setTimeout(poll, POLL_SECONDS * 1000);
  byId("main").dataset.ready = "true";
}

start().catch((error) => {
  byId("name").textContent = "This event cannot be shown";
  byId("when").textContent = inWords(error, (key) => key);
});
