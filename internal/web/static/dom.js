// Building the page. Whatever comes from the server or a buyer becomes text here, never markup.

/** The element with an id. */
export const byId = (id) => document.getElementById(id);

/**
 * Makes an element. Properties that are functions listen to events, `class` and `text` are what they
 * say, everything else is an attribute; null, undefined and false leave it out.
 */
export function el(name, props = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(key, value);
    else if (key === "class") node.className = value;
    else if (key === "text") node.textContent = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined));
  return node;
}

/** Replaces what an element holds. */
export const fill = (node, ...children) => node.replaceChildren(...children.flat(Infinity).filter((c) => c != null));

/** Shows an element, or hides it. */
export function show(node, visible) {
  node.hidden = !visible;
}

/** Whether an element stands in the page and is seen. */
export const isShown = (node) => !!node?.isConnected && node.checkVisibility();

/** Puts text into a live region, also when it is what stood there before. */
export function announce(node, text) {
  node.textContent = "";
  requestAnimationFrame(() => {
    node.textContent = text;
  });
}
