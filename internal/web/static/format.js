// Money, instants and durations as people read them.

const money = new Map();

/** An amount of minor units, such as 4500 EUR as €45.00. The currency knows its digits. */
export function price(minor, currency) {
  let format = money.get(currency);
  if (!format) {
    format = new Intl.NumberFormat("en", { style: "currency", currency, currencyDisplay: "narrowSymbol" });
    money.set(currency, format);
  }
  return format.format(minor / 10 ** format.resolvedOptions().maximumFractionDigits);
}

/** An instant in the event's own time zone: that is where the doors open. */
export function instant(iso, timeZone) {
  const date = new Date(iso);
  const options = { dateStyle: "full", timeStyle: "short", timeZone };
  try {
    return `${new Intl.DateTimeFormat("en-GB", options).format(date)} (${timeZone})`;
  } catch {
    // A zone that this browser does not know.
    return `${new Intl.DateTimeFormat("en-GB", { ...options, timeZone: "UTC" }).format(date)} (UTC)`;
  }
}

/** Seconds as 9:05. */
export function duration(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}`;
}

/** 1 seat, 2 seats. */
export const count = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

/** a, b and c. */
export const listed = (words) => new Intl.ListFormat("en", { type: "conjunction" }).format(words);

export const STATES = {
  draft: "Not published yet",
  published: "Not on sale yet",
  on_sale: "On sale",
  paused: "The sale is paused",
  closed: "The sale is over",
  cancelled: "Cancelled",
};
