// The description of the API, drawn from /openapi.json. Everything in the document is text here.

import { byId, el, fill } from "./dom.js";

const METHODS = ["get", "post", "put", "patch", "delete"];

let doc;

/** Follows a reference inside the document. */
function resolve(node) {
  while (node?.$ref) {
    node = node.$ref.slice(2).split("/").reduce((at, part) => at[part.replaceAll("~1", "/").replaceAll("~0", "~")], doc);
  }
  return node;
}

const nameOf = (ref) => ref.split("/").pop();

// Paragraphs, with `code` between backquotes.
function prose(text) {
  return (text || "").split("\n\n").filter(Boolean).map((p) => el("p", {}, inline(p)));
}

function inline(text) {
  return text.split("`").map((part, i) => (i % 2 ? el("code", { text: part }) : part));
}

const joined = (parts, by) => parts.flatMap((p, i) => (i ? [by, p] : [p]));

// The type of a schema in a few words, named schemas as links.
function typeOf(schema) {
  if (schema.$ref) return [el("a", { href: `#schema-${nameOf(schema.$ref)}`, text: nameOf(schema.$ref) })];
  const choice = schema.anyOf || schema.oneOf;
  if (choice && !schema.properties) return joined(choice.map((s) => el("span", {}, typeOf(s))), " or ");
  const types = [schema.type ?? "anything"].flat();
  const words = types.map((t) => {
    if (t === "array" && schema.items) return el("span", {}, "array of ", typeOf(schema.items));
    if (t === "object" && schema.additionalProperties?.type) return el("span", {}, "object of ", typeOf(schema.additionalProperties));
    if (t === "object" && schema.additionalProperties?.$ref) return el("span", {}, "object of ", typeOf(schema.additionalProperties));
    return t === "string" && schema.format ? `${t} (${schema.format})` : t;
  });
  return joined(words, " or ");
}

// The bounds of a schema in a few words.
function bounds(schema) {
  const s = schema.$ref ? {} : schema;
  const words = [];
  if (s.const !== undefined) words.push(`always ${JSON.stringify(s.const)}`);
  if (s.enum) words.push(`one of ${s.enum.join(", ")}`);
  if (s.default !== undefined) words.push(`${JSON.stringify(s.default)} unless given`);
  if (s.minimum !== undefined || s.maximum !== undefined) words.push(`${s.minimum ?? "…"} to ${s.maximum ?? "…"}`);
  if (s.minLength !== undefined || s.maxLength !== undefined) words.push(`${s.minLength ?? 0} to ${s.maxLength ?? "…"} characters`);
  if (s.maxItems !== undefined) words.push(`at most ${s.maxItems} items`);
  if (s.maxProperties !== undefined) words.push(`at most ${s.maxProperties} members`);
  if (s.pattern) words.push(`matching ${s.pattern}`);
  if (s.contentEncoding) words.push(s.contentEncoding);
  return words.join("; ");
}

function table(caption, head, rows) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", {},
      el("thead", {}, el("tr", {}, head.map((h) => el("th", { scope: "col", text: h })))),
      el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((c, i) => el(i ? "td" : "th", i ? {} : { scope: "row" }, c)))))));
}

function members(caption, schema) {
  const required = schema.required || [];
  const rows = Object.entries(schema.properties || {}).map(([name, s]) => [
    [el("code", { text: name }), required.includes(name) ? el("span", { class: "needed", text: " always" }) : ""],
    typeOf(s),
    [inline(resolve(s).description && !s.$ref ? s.description : s.description || ""), bounds(s) ? el("span", { class: "quiet", text: ` ${bounds(s)}` }) : ""],
  ]);
  return rows.length ? table(caption, ["Member", "Type", "Meaning"], rows) : null;
}

const example = (title, value) => el("details", {}, el("summary", { text: title }), el("pre", { tabindex: "0" }, el("code", { text: JSON.stringify(value, null, 2) })));

function examples(media, fallback) {
  if (media.example !== undefined) return [example(fallback, media.example)];
  return Object.values(media.examples || {}).map((e) => example(`${fallback}: ${e.summary || ""}`, resolve(e).value));
}

function who(operation) {
  const names = { apiKey: "an API key", holdToken: "Hold-Token", orderToken: "Order-Token" };
  const ways = (operation.security || []).map((s) => Object.keys(s).map((n) => names[n] || n).join(" and ") || "anybody");
  return ways.length ? `Who: ${ways.join(", or ")}.` : "Who: anybody.";
}

function answers(operation) {
  return Object.entries(operation.responses).map(([status, r]) => {
    const answer = resolve(r);
    const media = Object.entries(answer.content || {});
    const headers = Object.keys(answer.headers || {}).filter((h) => h !== "Request-Id");
    const codes = doc["x-problems"].filter((p) => String(p.status) === status);
    const meaning = codes.length
      ? joined(codes.map((p) => el("a", { href: `#${problemId(p.code)}` }, el("code", { text: p.code }))), ", ")
      : [inline(answer.description), headers.length ? el("span", { class: "quiet", text: ` Headers: ${headers.join(", ")}.` }) : ""];
    return [el("code", { text: status }), media.length && !codes.length ? typeOf(media[0][1].schema) : codes.length ? "Problem" : "–", meaning];
  });
}

function operationNode(method, path, operation) {
  const parameters = operation.parameters.map(resolve).filter((p) => p.name !== "Request-Id");
  const body = operation.requestBody && Object.values(operation.requestBody.content)[0];
  const good = Object.entries(operation.responses).find(([status]) => status.startsWith("2"));
  const media = good && Object.values(resolve(good[1]).content || {})[0];
  return el("section", { class: "operation", id: operation.operationId, "aria-labelledby": `${operation.operationId}-title` },
    el("h3", { id: `${operation.operationId}-title` }, operation.summary, el("a", { class: "anchor", href: `#${operation.operationId}`, "aria-label": `Link to ${operation.summary}`, text: "#" })),
    el("p", { class: "route" }, el("span", { class: `method ${method}`, text: method.toUpperCase() }), el("code", { text: path })),
    prose(operation.description),
    el("p", { class: "quiet", text: who(operation) }),
    parameters.length ? [el("h4", { text: "Parameters" }), table(`Parameters of ${operation.summary}`, ["Name", "In", "Meaning"], parameters.map((p) => [
      [el("code", { text: p.name }), p.required ? el("span", { class: "needed", text: " needed" }) : ""], p.in,
      [inline(p.description || ""), bounds(p.schema) ? el("span", { class: "quiet", text: ` ${bounds(p.schema)}` }) : ""],
    ]))] : null,
    body ? [el("h4", {}, operation.requestBody.required ? "Body: " : "Body, if any: ", typeOf(body.schema)), examples(body, "Example")] : null,
    el("h4", { text: "Answers" }), table(`Answers of ${operation.summary}`, ["Status", "Body", "Meaning"], answers(operation)),
    media ? examples(media, "Example of the answer") : null);
}

const problemId = (code) => `problem-${code.toLowerCase().replaceAll("_", "-")}`;

function problems() {
  return el("section", { id: "problems", "aria-labelledby": "problems-title" },
    el("h2", { id: "problems-title", text: "Problem codes" }),
    prose("A refusal is `application/problem+json`. Act on its `code`; treat one that you do not know by its status."),
    el("dl", { class: "problems" }, doc["x-problems"].flatMap((p) => [
      el("dt", { id: problemId(p.code), tabindex: "-1" }, el("code", { text: p.code }), el("span", { class: "tag", text: String(p.status) })),
      el("dd", {}, inline(p.description)),
    ])));
}

function schemas() {
  const nodes = Object.entries(doc.components.schemas).map(([name, schema]) => el("section", { class: "schema", id: `schema-${name}`, "aria-labelledby": `schema-${name}-title` },
    el("h3", { id: `schema-${name}-title`, text: name }),
    prose(schema.description),
    members(`Members of ${name}`, schema) || el("p", {}, typeOf(schema), bounds(schema) ? `; ${bounds(schema)}` : ""),
    schema.additionalProperties === false ? el("p", { class: "quiet", text: "Nothing else is accepted." }) : null));
  return el("section", { id: "schemas", "aria-labelledby": "schemas-title" }, el("h2", { id: "schemas-title", text: "Schemas" }), nodes);
}

function operations(tag) {
  return Object.entries(doc.paths).flatMap(([path, item]) =>
    METHODS.filter((m) => item[m]?.tags.includes(tag.name)).map((m) => [m, path, item[m]]));
}

const groupId = (tag) => `group-${tag.name.toLowerCase().replaceAll(" ", "-")}`;

function contents() {
  const groups = doc.tags.map((tag) => el("li", {}, el("a", { href: `#${groupId(tag)}`, text: tag.name }),
    el("ul", {}, operations(tag).map(([, , o]) => el("li", {}, el("a", { href: `#${o.operationId}`, text: o.summary }))))));
  fill(byId("contents"), el("ul", {}, groups,
    el("li", {}, el("a", { href: "#problems", text: "Problem codes" })), el("li", {}, el("a", { href: "#schemas", text: "Schemas" }))));
}

function page() {
  const ways = Object.values(doc.components.securitySchemes).map((s) => [
    el("code", { text: s.type === "http" ? "Authorization: Bearer" : s.name }), inline(s.description)]);
  fill(byId("docs"),
    el("h1", { text: `${doc.info.title} API` }), el("p", { class: "lead", text: doc.info.summary }), prose(doc.info.description),
    el("h2", { text: "Who asks" }), table("Keys and tokens", ["Header", "Meaning"], ways),
    doc.tags.map((tag) => el("section", { id: groupId(tag), "aria-labelledby": `${groupId(tag)}-title` },
      el("h2", { id: `${groupId(tag)}-title`, text: tag.name }), prose(tag.description), operations(tag).map((o) => operationNode(...o)))),
    problems(), schemas());
}

// The browser looked for the fragment before there was a page to find it in.
function jump() {
  const target = location.hash && byId(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  target.scrollIntoView();
  target.focus({ preventScroll: true });
}

async function start() {
  const answer = await fetch("/openapi.json", { credentials: "omit" });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  doc = await answer.json();
  contents();
  page();
  jump();
}

start().catch(() => {
  byId("status").textContent = "The description of the API cannot be loaded. It is at /openapi.json.";
});
