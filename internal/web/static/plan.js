// The house in memory: the drawing, what may be bought, and the state of every seat. Seats are
// numbered by their order in the drawing, and board, changes and offer count by that number.

import { price } from "./format.js";

const FREE = 0;
const HELD = 1;
const NOTHING = [];
const TIERS = 4; // prices that have a shade of their own; dearer ones share the last

/** The drawing, flattened into seats and rows. */
export class Plan {
  constructor(map) {
    this.seats = [];
    this.rows = [];
    this.sections = [];
    this.areas = map.areas || [];
    this.focus = map.focal_point;
    this.focusName = map.focal_name || "Stage";
    for (const s of map.sections || []) this.#section(s);
    this.index = new Map(this.seats.map((seat, i) => [seat.key, i]));
    this.names = new Map(this.areas.map((a) => [a.key, a.name]));
    this.pitch = this.#pitch();
  }

  #section(s) {
    const section = { key: s.key, name: s.name, firstRow: this.rows.length, rows: s.rows.length };
    for (const r of s.rows) {
      this.rows.push({ label: r.label, section: this.sections.length, from: this.seats.length, count: r.seats.length });
      for (const seat of r.seats) {
        this.seats.push({
          key: seat.key, short: seat.label, label: `Row ${r.label} Seat ${seat.label}`, section: s.name, row: this.rows.length - 1,
          x: seat.x, y: seat.y, accessible: !!seat.accessible, companion: !!seat.companion, restricted: !!seat.restricted_view,
        });
      }
    }
    this.sections.push(section);
  }

  // The usual distance between neighbours says how large a seat is drawn.
  #pitch() {
    const steps = [];
    for (const row of this.rows) {
      for (let i = row.from + 1; i < row.from + row.count && steps.length < 5000; i++) {
        const a = this.seats[i - 1];
        const b = this.seats[i];
        steps.push(Math.hypot(a.x - b.x, a.y - b.y));
      }
    }
    steps.sort((a, b) => a - b);
    return steps[steps.length >> 1] || 40;
  }

  /** Whether there is a unit with this key. */
  has(key) {
    return this.index.has(key) || this.names.has(key);
  }

  /** What people call a unit. */
  label(key) {
    const i = this.index.get(key);
    return i === undefined ? this.names.get(key) || key : this.seats[i].label;
  }
}

/** The plan with everything that changes. */
export class House {
  constructor(event, plan) {
    this.event = event;
    this.plan = plan;
    this.board = new Uint8Array(plan.seats.length).fill(3);
    this.areas = {};
    this.position = "";
    this.offer = { version: -1, areas: {} };
    this.offered = new Array(plan.seats.length).fill(NOTHING);
    this.mine = new Set(); // keys of seats, which outlive a drawing
    this.pending = new Set(); // as above
    this.setEvent(event);
    this.prices = [];
  }

  /** Takes the event as it is now, but for what board and changes say of it. */
  setEvent(event) {
    this.event = { ...event, state: this.event.state, map: this.event.map };
    this.types = new Map(event.ticket_types.map((t) => [t.id, t]));
  }

  /** Becomes another house of the same event, as another map draws it. What is mine or pending stays so. */
  become(other) {
    const { mine, pending } = this;
    Object.assign(this, other, { mine, pending });
  }

  /** Takes a board: two bits a seat, low bits first. */
  setBoard(board) {
    const bytes = Uint8Array.from(atob(board.seats), (c) => c.charCodeAt(0));
    for (let i = 0; i < this.board.length; i++) this.board[i] = (bytes[i >> 2] >> ((i & 3) * 2)) & 3;
    this.areas = board.areas;
    this.position = board.position;
    this.event.state = board.state;
  }

  /** Takes changes, which are absolute, so that reading them twice does no harm. */
  setChanges(changes) {
    for (const [i, state] of changes.seats) this.board[i] = state;
    Object.assign(this.areas, changes.areas);
    this.position = changes.position;
    this.event.state = changes.state;
  }

  setOffer(offer) {
    this.offer = offer;
    this.offered.fill(NOTHING);
    const prices = new Set();
    for (const run of offer.seats) {
      this.offered.fill(run.ticket_types, run.from, run.from + run.count);
      if (run.ticket_types.length) prices.add(this.types.get(run.ticket_types[0])?.price ?? 0);
    }
    this.prices = [...prices].sort((a, b) => a - b);
  }

  /** Whether the board knows that somebody holds the seat with a key. */
  isHeld(key) {
    return this.board[this.plan.index.get(key)] === HELD;
  }

  /** Units of an area that somebody holds, by what the board knows. */
  areaHeld(key) {
    return this.areas[key]?.held ?? 0;
  }

  /** What the seat with a key is to this buyer; none if the map has no such seat. */
  statusOf(key) {
    const i = this.plan.index.get(key);
    return i === undefined ? "none" : this.status(i);
  }

  /** What a seat is to this buyer: pending, mine, free, held, sold or none. */
  status(i) {
    const { key } = this.plan.seats[i];
    if (this.pending.has(key)) return "pending";
    if (this.mine.has(key)) return "mine";
    if (this.board[i] === FREE) return this.offered[i].length ? "free" : "none";
    return ["free", "held", "sold", "none"][this.board[i]];
  }

  /** The shade of a seat's price, 0 for the lowest. */
  tier(i) {
    return this.shade(this.prices.indexOf(this.priceOf(i)));
  }

  /** The shade of the price that has a place among the prices; two of them stand well apart. */
  shade(at) {
    return Math.max(0, Math.min(this.prices.length === 2 ? at * 2 : at, TIERS - 1));
  }

  priceOf(i) {
    return this.types.get(this.offered[i][0])?.price ?? 0;
  }

  money(minor) {
    return price(minor, this.event.currency);
  }

  typeName(id) {
    return this.types.get(id)?.name || id;
  }

  typeInWords(id) {
    return `${this.typeName(id)}, ${this.money(this.types.get(id)?.price ?? 0)}`;
  }

  /** A seat in words: "Row C Seat 12, available, €45.00". */
  describe(i) {
    const seat = this.plan.seats[i];
    const status = this.status(i);
    const words = { pending: "one moment", mine: "in your basket", free: "available", held: "held by somebody else", sold: "sold", none: "not on sale" };
    const parts = [seat.label, words[status]];
    if (status === "free" || status === "mine") parts.push(this.money(this.priceOf(i)));
    if (seat.accessible) parts.push("wheelchair place");
    if (seat.companion) parts.push("for a companion");
    if (seat.restricted) parts.push("restricted view");
    return parts.join(", ");
  }

  /** Units of an area that nobody has. */
  areaFree(key) {
    const a = this.areas[key];
    return a ? Math.max(0, a.capacity - a.held - a.reserved) : 0;
  }
}
