// Speaking to the API. A refusal is thrown as a Refusal that carries the problem; act on its code.

import { listed } from "./format.js";

const TRIES = 3;
const PAUSE_MAX = 5; // seconds; whoever asks for more patience gets an answer to show instead

export class Refusal extends Error {
  constructor(status, problem) {
    super(problem.code || `HTTP ${status}`);
    this.status = status;
    this.code = problem.code || "";
    this.detail = problem.detail || "";
    this.conflicts = problem.conflicts || [];
    this.alternatives = problem.alternatives || [];
    this.asked = null; // the seats and areas that were asked for
    this.errors = problem.errors || [];
  }
}

const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

// randomUUID needs a secure origin, and a server on a local network is not one.
function idempotencyKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}

async function problemOf(answer) {
  try {
    return await answer.json();
  } catch {
    return {};
  }
}

/**
 * Sends a request. POST and PATCH carry an Idempotency-Key made once, so that a repeat after a lost
 * answer finds what the first try did. 429 and 503 are tried again when they ask for it.
 */
export async function call(method, path, { body, headers = {}, etag } = {}) {
  const sent = { ...headers };
  if (body !== undefined) sent["Content-Type"] = "application/json";
  if (method === "POST" || method === "PATCH") sent["Idempotency-Key"] = idempotencyKey();
  if (etag) sent["If-None-Match"] = etag;
  for (let left = TRIES - 1; ; left--) {
    let answer;
    try {
      answer = await fetch(path, { method, headers: sent, body: body === undefined ? undefined : JSON.stringify(body), credentials: "omit", cache: "no-cache" });
    } catch (cause) {
      if (left > 0) {
        await pause(0.5);
        continue;
      }
      throw new Refusal(0, { code: "NO_ANSWER", detail: String(cause) });
    }
    if (answer.status === 204) return null;
    if (answer.ok) return answer.json();
    const wait = Number(answer.headers.get("Retry-After"));
    if ((answer.status === 429 || answer.status === 503) && left > 0 && wait <= PAUSE_MAX) {
      await pause(wait || 1);
      continue;
    }
    throw new Refusal(answer.status, await problemOf(answer));
  }
}

const WORDS = {
  NO_ANSWER: "The server does not answer. Check the connection and try again.",
  EVENT_NOT_ON_SALE: "This event is not on sale right now.",
  HOLD_EXPIRED: "Your time is up, and the basket has been let go.",
  HOLD_SOLD: "This basket has already been ordered.",
  HOLD_LIFETIME_REACHED: "The basket cannot be kept any longer. Please order now.",
  HOLD_LIMIT_EXCEEDED: "That is more than one basket may hold.",
  BUYER_LIMIT_EXCEEDED: "That is more than one buyer may have for this event.",
  RATE_LIMITED: "That was too fast. Please wait a moment.",
  OVERLOADED: "Very many people are here. Please try again in a moment.",
  CONTENDED: "Others were faster. Please try again.",
  UNAVAILABLE: "The server could not finish. Please try again.",
  NOT_FOUND: "There is no such event.",
};

const FIELDS = { "/buyer/email": "The email address is not valid.", "/buyer/name": "The name is not valid." };

// Seats and areas are chosen from a drawing, so what is not there has gone with another map.
const UNIT = /\/(seats\/\d+|area)$/;
const UNKNOWN = "That is not part of the house any more.";

/** What a refusal says to a buyer. `label` names a unit in words. */
export function inWords(refusal, label) {
  if (!(refusal instanceof Refusal)) return "Something went wrong on this page. Please reload it.";
  if (refusal.code === "ALLOCATION_UNAVAILABLE") return refusal.conflicts.map((c) => conflict(c, label)).join(" ") || "Not available any more.";
  if (refusal.code === "SINGLE_SEAT_LEFT") return `That would leave ${listed(refusal.conflicts.map((c) => c.label || label(c.seat)))} alone. Choose other seats, or take it as well.`;
  const field = refusal.errors.map((e) => (e.code === "UNKNOWN" && UNIT.test(e.field) ? UNKNOWN : FIELDS[e.field])).find(Boolean);
  return field || WORDS[refusal.code] || `The server refused that (${refusal.code || refusal.status}).`;
}

const APART = {
  ROWS_APART: "There are not that many seats beside one another any more. These are in two rows, one behind the other.",
  SEATS_APART: "There are not that many seats beside one another any more. These are in several places, as near together as could be found.",
};

/** What the server has to say of seats that it chose; empty when they are together. */
export const apartInWords = (warnings) => warnings.map((w) => APART[w.code]).filter(Boolean).join(" ");

function conflict(c, label) {
  const name = c.label || label(c.seat || c.area);
  switch (c.reason) {
    case "held":
      return `${name} just went: somebody else is holding it.`;
    case "sold":
      return `${name} just went: it is sold.`;
    case "sold_out":
      return c.free > 0 ? `${name} has only ${c.free} left.` : `${name} has none left.`;
    case "no_block":
      return "There are not that many seats together any more.";
    default:
      return `${name} is not on sale.`;
  }
}
