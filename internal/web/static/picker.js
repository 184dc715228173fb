// Choosing seats by section and row: what the map is for a pointer, this is for a keyboard, a screen
// reader and a small screen. It holds one row at a time, so a house of any size costs the same.

import { byId, el, fill } from "./dom.js";
import { count } from "./format.js";

const WINDOW = 120; // seats of a long row that are in the page at once

export class Picker {
  constructor(house, onSeat) {
    this.house = house;
    this.onSeat = onSeat;
    this.box = byId("seats");
    this.section = byId("section");
    this.row = byId("row");
    this.at = 0; // the seat that Tab leads to
    this.from = 0; // the first seat in the page
    this.buttons = [];
    this.section.addEventListener("change", () => this.go(this.#firstSeat(Number(this.section.value)), false));
    this.row.addEventListener("change", () => this.go(house.plan.rows[Number(this.row.value)].from, false));
    this.box.addEventListener("keydown", (e) => this.#key(e));
    this.replan();
  }

  /** Shows the house as another map draws it. Who is at a seat stays there, if the map still has it. */
  replan() {
    const { plan } = this.house;
    if (this.plan === plan) return;
    const near = this.#nearby();
    const focused = this.box.contains(document.activeElement);
    this.plan = plan;
    fill(this.section, plan.sections.map((s, i) => el("option", { value: i, text: s.name })));
    this.shownSection = -1;
    this.shown = "";
    this.buttons = [];
    if (plan.seats.length) this.go(near.map((key) => plan.index.get(key)).find((i) => i !== undefined) ?? 0, focused);
  }

  // The current seat and the others of its row, the nearest first.
  #nearby() {
    const { plan, at } = this;
    const here = plan?.seats[at];
    if (!here) return [];
    const { from, count: seats } = plan.rows[here.row];
    const row = plan.seats.slice(from, from + seats);
    return row.sort((a, b) => Math.hypot(a.x - here.x, a.y - here.y) - Math.hypot(b.x - here.x, b.y - here.y)).map((s) => s.key);
  }

  #firstSeat(section) {
    const { plan } = this.house;
    return plan.rows[plan.sections[section].firstRow].from;
  }

  /** Makes a seat the current one and shows its row. */
  go(i, focus) {
    const { plan } = this.house;
    const row = plan.rows[plan.seats[i].row];
    const before = this.shown;
    this.at = i;
    const from = row.from + Math.floor((i - row.from) / WINDOW) * WINDOW;
    this.shown = `${plan.seats[i].row} ${from}`;
    if (this.shown !== before) {
      this.from = from;
      this.#fillRow(row);
    }
    this.update();
    if (focus) this.buttons[i - this.from].focus();
  }

  #fillRow(row) {
    const { plan } = this.house;
    this.section.value = row.section;
    const section = plan.sections[row.section];
    if (this.shownSection !== row.section) {
      this.shownSection = row.section;
      const rows = plan.rows.slice(section.firstRow, section.firstRow + section.rows);
      fill(this.row, rows.map((r, k) => el("option", { value: section.firstRow + k, text: r.label })));
    }
    this.row.value = plan.seats[row.from].row;
    const until = Math.min(row.from + row.count, this.from + WINDOW);
    this.buttons = [];
    for (let i = this.from; i < until; i++) {
      this.buttons.push(el("button", { type: "button", text: plan.seats[i].short, click: () => this.#press(i) }));
    }
    fill(this.box, this.buttons);
    this.box.setAttribute("aria-label", `${section.name}, row ${row.label}, ${count(row.count, "seat")}`);
  }

  #press(i) {
    this.at = i;
    this.update();
    this.onSeat(i);
  }

  /** Shows what has changed. Buttons stay where they are, and so does the focus. */
  update() {
    this.buttons.forEach((button, k) => {
      const i = this.from + k;
      const status = this.house.status(i);
      const label = this.house.describe(i);
      if (button.getAttribute("aria-label") !== label) button.setAttribute("aria-label", label);
      button.className = `seat ${status} tier-${this.house.tier(i)}${this.house.plan.seats[i].accessible ? " accessible" : ""}`;
      button.title = label;
      button.setAttribute("aria-pressed", String(status === "mine"));
      button.setAttribute("aria-disabled", String(status !== "free" && status !== "mine"));
      button.tabIndex = i === this.at ? 0 : -1;
    });
  }

  #key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const next = this.#next(e.key);
    if (next === undefined) return;
    e.preventDefault();
    if (next >= 0) this.go(next, true);
  }

  // The seat that a key leads to; -1 when it leads nowhere, undefined when it is not ours.
  #next(key) {
    const { plan } = this.house;
    const row = plan.rows[plan.seats[this.at].row];
    const last = row.from + row.count - 1;
    switch (key) {
      case "ArrowRight":
        return Math.min(this.at + 1, last);
      case "ArrowLeft":
        return Math.max(this.at - 1, row.from);
      case "ArrowDown":
        return this.#beside(1);
      case "ArrowUp":
        return this.#beside(-1);
      case "Home":
        return row.from;
      case "End":
        return last;
      case "n":
      case "N":
        return this.#nextFree();
      default:
        return undefined;
    }
  }

  // The nearest seat of the next row: by where it stands, for rows are not numbered alike.
  #beside(step) {
    const { plan } = this.house;
    const row = plan.rows[plan.seats[this.at].row + step];
    if (!row) return -1;
    const here = plan.seats[this.at];
    let best = row.from;
    for (let i = row.from; i < row.from + row.count; i++) {
      if (Math.abs(plan.seats[i].x - here.x) < Math.abs(plan.seats[best].x - here.x)) best = i;
    }
    return best;
  }

  #nextFree() {
    const n = this.house.plan.seats.length;
    for (let k = 1; k < n; k++) {
      const i = (this.at + k) % n;
      if (this.house.status(i) === "free") return i;
    }
    return -1;
  }
}
