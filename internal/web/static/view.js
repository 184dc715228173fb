// The seat map on a canvas: one renderer for every size of house. It is for the pointer; the picker
// by row beside it offers the same to a keyboard and to a screen reader.

import { Stamps } from "./draw.js";

const RATIO_MAX = 2; // device pixels a CSS pixel; more costs and shows nothing
const DOT_RADIUS = 2; // CSS pixels; smaller seats are squares, without stamps
const TAP_RADIUS = 7; // CSS pixels; a finger cannot choose among smaller seats, so it zooms in first
const MOUSE_RADIUS = 2;
const LABEL_RADIUS = 9; // from here on, seats show their number
const DRAG_PIXELS = 5; // a pointer that moves less has clicked
const SCALE_RADIUS_MAX = 26; // CSS pixels of a seat's radius at the closest
const PADDING = 18;
const FLOOR_BAND = 8; // pitches; seats so near to an axis through the focal point are on a side of it
const FLOOR_PART = 0.85; // of the floor between the seats that is drawn as what they look at

/** A uniform grid over the seats, for finding those at a place and those in sight. */
class Grid {
  constructor(plan) {
    this.size = plan.pitch * 4;
    this.cells = new Map();
    plan.seats.forEach((s, i) => {
      const name = this.#name(Math.floor(s.x / this.size), Math.floor(s.y / this.size));
      const cell = this.cells.get(name);
      if (cell) cell.push(i);
      else this.cells.set(name, [i]);
    });
  }

  #name(cx, cy) {
    return cx * 4_194_304 + cy;
  }

  /** Yields the cells that touch a rectangle. */
  *within(x1, y1, x2, y2) {
    const [cx1, cy1, cx2, cy2] = [x1, y1, x2, y2].map((v) => Math.floor(v / this.size));
    if ((cx2 - cx1 + 1) * (cy2 - cy1 + 1) > this.cells.size * 2) {
      yield* this.cells.values(); // everything is in sight
      return;
    }
    for (let cx = cx1; cx <= cx2; cx++) {
      for (let cy = cy1; cy <= cy2; cy++) {
        const cell = this.cells.get(this.#name(cx, cy));
        if (cell) yield cell;
      }
    }
  }
}

export class View {
  /** `on` has seat(i), area(key) for clicks and hover(i, x, y) for a mouse; i is -1 over no seat. */
  constructor(canvas, house, on) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.house = house;
    this.on = on;
    this.stamps = new Stamps();
    this.#measure();
    this.scale = 0;
    this.fitted = true;
    this.pointers = new Map();
    this.moved = 0;
    new ResizeObserver(() => this.#resize()).observe(canvas);
    for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
      matchMedia(query).addEventListener("change", () => {
        this.stamps.clear();
        this.redraw();
      });
    }
    this.#listen();
    this.#resize();
  }

  #measure() {
    this.plan = this.house.plan;
    this.grid = new Grid(this.plan);
    this.bounds = this.#bounds();
    this.pit = this.#floorBetween();
  }

  /**
   * Shows the house as another map draws it. Who has come nearer goes on looking at the seat in the
   * middle, where it stands now and as large as it was.
   */
  replan() {
    if (this.plan === this.house.plan) return;
    const { plan: before, scale, left, top, fitted } = this;
    const was = fitted ? undefined : before.seats[this.seatAt(this.canvas.clientWidth / 2, this.canvas.clientHeight / 2, Infinity)];
    this.#measure();
    this.fit();
    const is = was && this.plan.seats[this.plan.index.get(was.key)];
    if (!is) return;
    this.scale = Math.max(this.least, Math.min((scale * before.pitch) / this.plan.pitch, this.#most()));
    this.left = left + was.x * scale - is.x * this.scale;
    this.top = top + was.y * scale - is.y * this.scale;
    this.fitted = this.scale <= this.least * 1.001;
    if (this.fitted) this.fit();
  }

  #bounds() {
    const { plan } = this;
    const b = { x1: Infinity, y1: Infinity, x2: -Infinity, y2: -Infinity };
    const add = ({ x, y }) => {
      b.x1 = Math.min(b.x1, x);
      b.y1 = Math.min(b.y1, y);
      b.x2 = Math.max(b.x2, x);
      b.y2 = Math.max(b.y2, y);
    };
    plan.seats.forEach(add);
    plan.areas.forEach((a) => (a.outline || []).forEach(add));
    add(plan.focus);
    const half = plan.pitch;
    return { x1: b.x1 - half, y1: b.y1 - half, x2: b.x2 + half, y2: b.y2 + half };
  }

  #resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width || !height) return;
    this.ratio = Math.min(devicePixelRatio || 1, RATIO_MAX);
    this.canvas.width = Math.round(width * this.ratio);
    this.canvas.height = Math.round(height * this.ratio);
    if (this.fitted || !this.scale) this.fit();
    else this.redraw();
  }

  /** Shows the whole house. */
  fit() {
    const { x1, y1, x2, y2 } = this.bounds;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    this.scale = this.least = Math.min((width - 2 * PADDING) / (x2 - x1 || 1), (height - 2 * PADDING) / (y2 - y1 || 1), this.#most());
    this.left = width / 2 - ((x1 + x2) / 2) * this.scale;
    this.top = height / 2 - ((y1 + y2) / 2) * this.scale;
    this.fitted = true;
    this.redraw();
  }

  #most() {
    return SCALE_RADIUS_MAX / (this.plan.pitch / 2);
  }

  /** Zooms by a factor around a place on the canvas, its middle unless given. */
  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const scale = Math.max(this.least, Math.min(this.scale * factor, this.#most()));
    this.left = x - ((x - this.left) * scale) / this.scale;
    this.top = y - ((y - this.top) * scale) / this.scale;
    this.scale = scale;
    this.fitted = scale <= this.least * 1.001;
    if (this.fitted) this.fit();
    else this.redraw();
  }

  /** Half of a seat's width, in CSS pixels. */
  get radius() {
    return (this.plan.pitch / 2) * 0.92 * this.scale;
  }

  /** Draws before the browser's next frame, once however often it is asked. */
  redraw() {
    if (this.asked) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = 0;
      this.#draw();
    });
  }

  #draw() {
    const c = this.context;
    const { ratio } = this;
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.clearRect(0, 0, this.canvas.width, this.canvas.height);
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.#stage(c);
    for (const area of this.plan.areas) this.#area(c, area);
    c.setTransform(1, 0, 0, 1, 0, 0);
    this.#seats(c);
    this.canvas.style.touchAction = this.fitted ? "pan-y" : "none";
    // Where the drawing stands on the canvas: x of the canvas = left + scale × x of the map.
    Object.assign(this.canvas.dataset, { scale: this.scale, left: this.left, top: this.top });
  }

  // What everybody looks at: a bar, or where seats stand all around it, the floor between them.
  #stage(c) {
    const { focus, focusName } = this.plan;
    const colours = this.stamps.colours;
    const x = this.left + focus.x * this.scale;
    const y = this.top + focus.y * this.scale;
    const width = this.pit ? this.pit.width * this.scale : Math.max(70, (this.bounds.x2 - this.bounds.x1) * this.scale * 0.3);
    const height = this.pit ? this.pit.height * this.scale : 22;
    c.fillStyle = colours.floor;
    c.strokeStyle = colours.line;
    c.lineWidth = 1;
    c.beginPath();
    c.roundRect(x - width / 2, y - height / 2, width, height, 6);
    c.fill();
    c.stroke();
    this.#text(c, focusName, x, y, 12, colours.quiet);
  }

  // The free floor around the focal point, in map units; null unless there are seats on its four sides.
  #floorBetween() {
    const { seats, focus, pitch } = this.plan;
    const sides = [Infinity, Infinity, Infinity, Infinity]; // left, right, above, below
    for (const s of seats) {
      const dx = s.x - focus.x;
      const dy = s.y - focus.y;
      if (Math.abs(dy) < FLOOR_BAND * pitch) sides[dx < 0 ? 0 : 1] = Math.min(sides[dx < 0 ? 0 : 1], Math.abs(dx));
      if (Math.abs(dx) < FLOOR_BAND * pitch) sides[dy < 0 ? 2 : 3] = Math.min(sides[dy < 0 ? 2 : 3], Math.abs(dy));
    }
    if (!sides.every(Number.isFinite)) return null;
    return { width: 2 * Math.min(sides[0], sides[1]) * FLOOR_PART, height: 2 * Math.min(sides[2], sides[3]) * FLOOR_PART };
  }

  #text(c, text, x, y, size, colour) {
    c.font = `${size}px system-ui, sans-serif`;
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.fillStyle = colour;
    c.fillText(text, x, y);
  }

  #area(c, area) {
    if (!area.outline?.length) return;
    const colours = this.stamps.colours;
    const points = area.outline.map((p) => [this.left + p.x * this.scale, this.top + p.y * this.scale]);
    c.beginPath();
    points.forEach(([x, y], i) => (i ? c.lineTo(x, y) : c.moveTo(x, y)));
    c.closePath();
    c.fillStyle = colours.floor;
    c.fill();
    c.strokeStyle = this.house.offer.areas[area.key] ? colours["tier-0"] : colours.line;
    c.lineWidth = 1.5;
    c.stroke();
    const x = points.reduce((sum, p) => sum + p[0], 0) / points.length;
    const y = points.reduce((sum, p) => sum + p[1], 0) / points.length;
    this.#text(c, area.name, x, y - 9, 13, colours.ink);
    this.#text(c, `${this.house.areaFree(area.key).toLocaleString("en")} free`, x, y + 9, 12, colours.quiet);
  }

  #seats(c) {
    const { scale, ratio, left, top, stamps, house } = this;
    const edge = this.plan.pitch;
    const x1 = -left / scale - edge;
    const y1 = -top / scale - edge;
    const x2 = (this.canvas.clientWidth - left) / scale + edge;
    const y2 = (this.canvas.clientHeight - top) / scale + edge;
    const dots = this.radius < DOT_RADIUS;
    const r = Math.max(1, Math.round(this.radius * ratio * 2) / 2);
    const side = Math.max(1, Math.round(this.radius * ratio * 1.6));
    const { seats } = this.plan;
    for (const cell of this.grid.within(x1, y1, x2, y2)) {
      for (const i of cell) {
        const seat = seats[i];
        const x = (left + seat.x * scale) * ratio;
        const y = (top + seat.y * scale) * ratio;
        if (dots) {
          this.#dot(c, house.status(i), i, x, y, side);
          continue;
        }
        const stamp = stamps.get(house.status(i), house.tier(i), seat.accessible, r);
        c.drawImage(stamp, Math.round(x - stamp.width / 2), Math.round(y - stamp.height / 2));
      }
    }
    if (this.radius >= LABEL_RADIUS) this.#numbers(c, x1, y1, x2, y2);
  }

  // From afar: a square for what is free, a smaller one for what is not, a large one for what is mine.
  #dot(c, status, i, x, y, side) {
    const colours = this.stamps.colours;
    let size = side;
    if (status === "free") c.fillStyle = colours[`tier-${this.house.tier(i)}`];
    else if (status === "mine" || status === "pending") {
      c.fillStyle = colours.mine;
      size = Math.max(4, side * 2);
    } else {
      c.fillStyle = status === "none" ? colours.line : colours.quiet;
      size = Math.max(1, Math.round(side / 2));
    }
    c.fillRect(Math.round(x - size / 2), Math.round(y - size / 2), size, size);
  }

  #numbers(c, x1, y1, x2, y2) {
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    const { seats } = this.plan;
    const size = Math.min(14, Math.round(this.radius * 0.85));
    for (const cell of this.grid.within(x1, y1, x2, y2)) {
      for (const i of cell) {
        if (this.house.status(i) !== "free") continue;
        const s = seats[i];
        this.#text(c, s.short, this.left + s.x * this.scale, this.top + s.y * this.scale, size, this.stamps.colours["on-mine"]);
      }
    }
  }

  /** The seat at a place on the canvas, or -1. */
  seatAt(px, py, slack = 2) {
    const x = (px - this.left) / this.scale;
    const y = (py - this.top) / this.scale;
    const reach = (this.radius + slack) / this.scale;
    let best = -1;
    let least = reach;
    for (const cell of this.grid.within(x - reach, y - reach, x + reach, y + reach)) {
      for (const i of cell) {
        const s = this.plan.seats[i];
        const d = Math.hypot(s.x - x, s.y - y);
        if (d < least) [best, least] = [i, d];
      }
    }
    return best;
  }

  #areaAt(px, py) {
    const x = (px - this.left) / this.scale;
    const y = (py - this.top) / this.scale;
    return this.plan.areas.find((a) => a.outline && inside(a.outline, x, y));
  }

  #listen() {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (e) => {
      if (e.button !== 0) return;
      this.pointers.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
      if (this.pointers.size === 1) this.moved = 0;
      canvas.setPointerCapture(e.pointerId);
    });
    canvas.addEventListener("pointermove", (e) => this.#move(e));
    canvas.addEventListener("pointerup", (e) => this.#up(e));
    canvas.addEventListener("pointercancel", (e) => this.pointers.delete(e.pointerId));
    canvas.addEventListener("pointerleave", () => this.on.hover(-1, 0, 0));
    canvas.addEventListener("wheel", (e) => {
      if (!e.ctrlKey) return; // the page scrolls; pinching on a touch pad comes with Ctrl
      e.preventDefault();
      this.zoom(Math.exp(-e.deltaY / 200), e.offsetX, e.offsetY);
    }, { passive: false });
  }

  #move(e) {
    const last = this.pointers.get(e.pointerId);
    if (!last) {
      const i = e.pointerType === "mouse" && this.radius >= MOUSE_RADIUS ? this.seatAt(e.offsetX, e.offsetY) : -1;
      canvasCursor(this.canvas, i >= 0 && ["free", "mine"].includes(this.house.status(i)));
      this.on.hover(i, e.offsetX, e.offsetY);
      return;
    }
    const dx = e.offsetX - last.x;
    const dy = e.offsetY - last.y;
    const others = [...this.pointers].filter(([id]) => id !== e.pointerId).map(([, p]) => p);
    this.pointers.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
    this.moved += Math.hypot(dx, dy);
    if (others.length) {
      const [o] = others;
      const before = Math.hypot(last.x - o.x, last.y - o.y);
      const now = Math.hypot(e.offsetX - o.x, e.offsetY - o.y);
      if (before > 0) this.zoom(now / before, (e.offsetX + o.x) / 2, (e.offsetY + o.y) / 2);
    } else if (!this.fitted && this.moved > DRAG_PIXELS) {
      this.left += dx;
      this.top += dy;
      this.on.hover(-1, 0, 0);
      this.redraw();
    }
  }

  #up(e) {
    if (!this.pointers.delete(e.pointerId) || this.moved > DRAG_PIXELS) return;
    const touch = e.pointerType !== "mouse";
    const i = this.seatAt(e.offsetX, e.offsetY, touch ? 8 : 2);
    if (i < 0) {
      const area = this.#areaAt(e.offsetX, e.offsetY);
      if (area) this.on.area(area.key);
      return;
    }
    const enough = touch ? TAP_RADIUS : MOUSE_RADIUS;
    if (this.radius < enough) this.zoom((2 * TAP_RADIUS) / this.radius, e.offsetX, e.offsetY);
    else this.on.seat(i);
  }
}

function canvasCursor(canvas, hand) {
  canvas.style.cursor = hand ? "pointer" : "default";
}

// Whether a polygon holds a point: a ray from it crosses the edge an odd number of times.
function inside(points, x, y) {
  let odd = false;
  for (let i = 0, j = points.length - 1; i < points.length; j = i++) {
    const [a, b] = [points[i], points[j]];
    if (a.y > y !== b.y > y && x < ((b.x - a.x) * (y - a.y)) / (b.y - a.y) + a.x) odd = !odd;
  }
  return odd;
}
