// The basket is a hold on the server. Clicks are sent one after the other, in their order, and the
// page shows what the server answered: it never decides what can be had, what it costs, or for how long.

import { call, Refusal } from "./api.js";

const read = (name) => {
  try {
    return JSON.parse(sessionStorage.getItem(name));
  } catch {
    return null; // storage may be switched off; then a reload loses the basket, and no more
  }
};

const keep = (name, value) => {
  try {
    if (value === null) sessionStorage.removeItem(name);
    else sessionStorage.setItem(name, JSON.stringify(value));
  } catch {
    // As above.
  }
};

const EARLY_SECONDS = 3; // a hold that ends with more of its time left did not lapse
const AREA_LOOK_SECONDS = 10; // between looks because others came and went in an area, which may be all the time

export class Basket {
  /**
   * `on` has changed(), lapsed(lines, early), taken(lines) for what somebody else took out, refused(error)
   * and ordered(order). Before anything else is done with it, house is to be set.
   */
  constructor(event, on) {
    this.house = null;
    this.on = on;
    this.path = `/v1/events/${encodeURIComponent(event)}`;
    this.kept = `rowlock.hold.${event}`;
    this.keptOrder = `rowlock.order.${event}`;
    this.keptCode = `rowlock.code.${event}`;
    this.code = read(this.keptCode) || "";
    this.hold = null;
    this.own = read(this.kept); // { id, token }
    this.warnings = []; // of the last claim or change
    this.deadline = 0; // by the page's monotonic clock
    this.touched = { seats: false, areas: false }; // by changes since the hold was looked at
    this.looked = -Infinity; // when that was, by the same clock
    this.busy = 0;
    this.last = Promise.resolve();
  }

  get lines() {
    return this.hold ? this.hold.lines : [];
  }

  get units() {
    return this.lines.reduce((n, l) => n + l.quantity, 0);
  }

  /** Seconds that are left, by what the server said. */
  get left() {
    return this.hold ? Math.max(0, (this.deadline - performance.now()) / 1000) : 0;
  }

  quantity(area, type) {
    return this.lines.find((l) => l.area === area && l.ticket_type === type)?.quantity ?? 0;
  }

  useCode(code) {
    this.code = code;
    keep(this.keptCode, code || null);
  }

  codeHeader() {
    return this.code ? { "Access-Code": this.code } : {};
  }

  #headers() {
    return { ...this.codeHeader(), ...(this.own ? { "Hold-Token": this.own.token } : {}) };
  }

  #url(rest = "") {
    return `${this.path}/holds/${encodeURIComponent(this.own.id)}${rest}`;
  }

  // Runs what a click asks for after everything that was asked before it.
  #queue(step) {
    this.busy++;
    this.on.changed();
    this.last = this.last.then(async () => {
      try {
        await step();
      } catch (error) {
        this.#failed(error);
      } finally {
        this.busy--;
        this.on.changed();
      }
    });
    return this.last;
  }

  #failed(error) {
    const gone = error instanceof Refusal && error.code === "HOLD_EXPIRED";
    if (gone) this.#lapse();
    else this.on.refused(error);
  }

  #lapse() {
    const { lines, left } = this;
    this.#take(null);
    this.on.lapsed(lines, left > EARLY_SECONDS);
  }

  // Takes the hold as the server shows it; null for none. Only claims and changes are judged anew.
  #take(hold, judged = false) {
    this.hold = hold;
    if (!hold) this.warnings = [];
    else if (judged) this.warnings = hold.warnings;
    if (!hold) this.own = null;
    else if (hold.token) this.own = { id: hold.id, token: hold.token };
    keep(this.kept, this.own);
    this.deadline = hold ? performance.now() + hold.expires_in * 1000 : 0;
    this.house.mine.clear();
    for (const line of this.lines) {
      if (line.seat) this.house.mine.add(line.seat);
    }
  }

  /** Finds the basket or the order again after a reload. */
  async restore() {
    const order = read(this.keptOrder);
    if (order) {
      try {
        this.on.ordered(await call("GET", `${this.path}/orders/${encodeURIComponent(order.id)}`, { headers: { "Order-Token": order.token } }));
        return;
      } catch {
        keep(this.keptOrder, null);
      }
    }
    if (!this.own) return;
    try {
      const hold = await call("GET", this.#url(), { headers: this.#headers() });
      this.#take(hold.state === "live" ? hold : null);
    } catch (error) {
      if (error instanceof Refusal && error.status > 0 && error.status < 500) this.#take(null);
      else this.on.refused(error);
    }
    this.on.changed();
  }

  /** Adds the seat with a key, or takes it out when it is in. */
  toggle(key) {
    const { house } = this;
    if (house.pending.has(key)) return;
    house.pending.add(key);
    this.#queue(async () => {
      try {
        if (house.mine.has(key)) await this.#remove({ seats: [key] }, 1);
        else await this.#add({ seats: [key] });
      } finally {
        house.pending.delete(key);
      }
    });
  }

  /** Adds units of an area, or takes some out when delta is negative. */
  area(area, type, delta) {
    this.#queue(async () => {
      const quantity = Math.min(Math.abs(delta), delta < 0 ? this.quantity(area, type) : Infinity);
      if (!quantity) return;
      const part = { areas: [{ area, quantity, ticket_type: type }] };
      if (delta > 0) await this.#add(part);
      else await this.#remove(part, quantity);
    });
  }

  async #add(part) {
    if (this.own) await this.#change({ add: part }, part);
    else await this.#claim(part);
  }

  async #claim(body) {
    this.#take(await this.#judged(body, call("POST", `${this.path}/holds`, { headers: this.codeHeader(), body })), true);
  }

  async #change(body, asked) {
    this.#take(await this.#judged(asked, call("PATCH", this.#url(), { headers: this.#headers(), body })), true);
  }

  // A refusal says what was asked for, so that the page can offer something near to it.
  async #judged(asked, answer) {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof Refusal) error.asked = asked;
      throw error;
    }
  }

  /** Takes seats and areas together: all of them or none. */
  take(part) {
    return this.#queue(() => this.#add(part));
  }

  // A hold is never empty: taking the last unit out lets it go.
  async #remove(part, units) {
    if (units >= this.units) return this.#release();
    await this.#change({ remove: part });
  }

  async #release() {
    if (!this.own) return;
    await call("DELETE", this.#url(), { headers: this.#headers() });
    this.#take(null);
  }

  release() {
    return this.#queue(() => this.#release());
  }

  /** Sells a held seat as another ticket type. */
  retype(seat, type) {
    return this.#queue(() => this.#change({ ticket_types: { [seat]: type } }));
  }

  /** Asks for the best seats; together refuses all but seats beside one another. */
  best(quantity, type, together) {
    const asked = { quantity, together };
    if (type) asked.ticket_type = type;
    return this.#queue(() => this.#claim({ best_available: asked }));
  }

  /** Claims again what a lapsed basket had. */
  again(lines) {
    const seats = lines.filter((l) => l.seat);
    const body = {
      seats: seats.map((l) => l.seat),
      ticket_types: Object.fromEntries(seats.map((l) => [l.seat, l.ticket_type])),
      areas: lines.filter((l) => l.area).map((l) => ({ area: l.area, quantity: l.quantity, ticket_type: l.ticket_type })),
    };
    return this.#queue(() => this.#claim(body));
  }

  extend() {
    return this.#queue(async () => {
      if (this.own) this.#take(await call("POST", this.#url("/extend"), { headers: this.#headers() }));
    });
  }

  /** Takes note of changes: units that were let go and are held by somebody else look as they did. */
  note({ resync, seats, areas }) {
    const { house, touched } = this;
    if (resync || seats.some(([i]) => house.mine.has(house.plan.seats[i].key))) touched.seats = true;
    if (this.lines.some((l) => l.area in areas)) touched.areas = true;
  }

  /** Whether it is time to look: the board does not know what is in the basket as held, or it was touched. */
  get astray() {
    const { house, touched } = this;
    if (!this.hold) return false;
    if (touched.seats || (touched.areas && performance.now() - this.looked > AREA_LOOK_SECONDS * 1000)) return true;
    return this.lines.some((l) => (l.seat ? !house.isHeld(l.seat) : house.areaHeld(l.area) < l.quantity));
  }

  /**
   * Looks whether the hold still lives, and what is in it. The server's clock decides, so the page asks
   * at zero; and the organizer, or this buyer in another window, may have changed it or let it go.
   */
  check() {
    return this.#queue(async () => {
      if (!this.own) return;
      const before = this.lines;
      this.touched = { seats: false, areas: false };
      this.looked = performance.now();
      const hold = await call("GET", this.#url(), { headers: this.#headers() });
      this.#take(hold.state === "live" ? hold : null);
      if (!this.hold) throw new Refusal(409, { code: "HOLD_SOLD" }); // from another window
      const gone = before.filter((l) => (l.seat ? !this.house.mine.has(l.seat) : !this.quantity(l.area, l.ticket_type)));
      if (!gone.length) return;
      this.warnings = []; // they were of the basket as it was
      this.on.taken(gone);
    });
  }

  /** Buys the hold. A repeat gives the same order, so trying again is safe. */
  order(buyer) {
    return this.#queue(async () => {
      if (!this.own) return;
      const order = await call("POST", `${this.path}/orders`, { headers: this.#headers(), body: { hold: this.own.id, buyer } });
      keep(this.keptOrder, { id: order.id, token: order.token });
      this.#take(null);
      this.on.ordered(order);
    });
  }

  /** Forgets a confirmed order, to buy more. */
  forgetOrder() {
    keep(this.keptOrder, null);
  }
}
