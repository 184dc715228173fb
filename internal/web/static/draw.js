// Drawing seats. Every state has a shape of its own, and colour only repeats it: a filled disc is
// free, a ring with a slash is held, a cross is sold, a square with a check is mine, a dot is not on sale.

const NAMES = ["tier-0", "tier-1", "tier-2", "tier-3", "ink", "quiet", "line", "mine", "on-mine", "surface", "floor"];

/** The colours of the style sheet, which follow the reader's preference of light or dark. */
export function palette() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(NAMES.map((n) => [n, style.getPropertyValue(`--${n}`).trim()]));
}

const circle = (c, x, y, r) => {
  c.beginPath();
  c.arc(x, y, r, 0, 2 * Math.PI);
};

const stroke = (c, colour, width, ...lines) => {
  c.strokeStyle = colour;
  c.lineWidth = width;
  c.lineCap = "round";
  c.beginPath();
  for (const [x1, y1, ...rest] of lines) {
    c.moveTo(x1, y1);
    for (let i = 0; i < rest.length; i += 2) c.lineTo(rest[i], rest[i + 1]);
  }
  c.stroke();
};

const shapes = {
  free(c, x, y, r, colours, tier) {
    circle(c, x, y, r * 0.9);
    c.fillStyle = colours[`tier-${tier}`];
    c.fill();
  },
  held(c, x, y, r, colours) {
    const w = Math.max(1, r * 0.16);
    circle(c, x, y, r * 0.72);
    c.strokeStyle = colours.quiet;
    c.lineWidth = w;
    c.stroke();
    stroke(c, colours.quiet, w, [x - r * 0.5, y + r * 0.5, x + r * 0.5, y - r * 0.5]);
  },
  sold(c, x, y, r, colours) {
    const d = r * 0.4;
    stroke(c, colours.quiet, Math.max(1, r * 0.18), [x - d, y - d, x + d, y + d], [x - d, y + d, x + d, y - d]);
  },
  none(c, x, y, r, colours) {
    circle(c, x, y, Math.max(0.6, r * 0.18));
    c.fillStyle = colours.line;
    c.fill();
  },
  pending(c, x, y, r, colours) {
    c.setLineDash([r * 0.4, r * 0.3]);
    c.strokeStyle = colours.mine;
    c.lineWidth = Math.max(1, r * 0.2);
    c.strokeRect(x - r * 0.8, y - r * 0.8, r * 1.6, r * 1.6);
    c.setLineDash([]);
  },
  mine(c, x, y, r, colours) {
    c.fillStyle = colours.mine;
    c.beginPath();
    c.roundRect(x - r * 0.95, y - r * 0.95, r * 1.9, r * 1.9, r * 0.3);
    c.fill();
    stroke(c, colours["on-mine"], Math.max(1, r * 0.22), [x - r * 0.45, y, x - r * 0.1, y + r * 0.4, x + r * 0.5, y - r * 0.4]);
  },
};

/** Draws one seat, r being half of its width. An accessible place has a ring around it. */
export function seat(c, status, { x, y, r, tier = 0, accessible = false }, colours) {
  shapes[status](c, x, y, accessible ? r * 0.72 : r, colours, tier);
  if (!accessible || status === "none") return;
  circle(c, x, y, r * 0.95);
  c.strokeStyle = colours.ink;
  c.lineWidth = Math.max(1, r * 0.12);
  c.stroke();
}

const STAMPS_MAX = 400;

/** Small bitmaps of seats, each drawn once: stamping one is many times cheaper than its path. */
export class Stamps {
  constructor() {
    this.made = new Map();
    this.colours = palette();
  }

  /** Forgets everything, for the colours have changed. */
  clear() {
    this.made.clear();
    this.colours = palette();
  }

  /** The bitmap of a seat with a radius in device pixels. Its middle is the seat's. */
  get(status, tier, accessible, r) {
    const name = `${status} ${tier} ${accessible} ${r}`;
    let stamp = this.made.get(name);
    if (!stamp) {
      if (this.made.size >= STAMPS_MAX) this.made.clear();
      stamp = document.createElement("canvas");
      stamp.width = stamp.height = 2 * Math.ceil(r + 1);
      const middle = stamp.width / 2;
      seat(stamp.getContext("2d"), status, { x: middle, y: middle, r, tier, accessible }, this.colours);
      this.made.set(name, stamp);
    }
    return stamp;
  }
}
