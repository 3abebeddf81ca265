// The few ways in which the page is written. Text goes in as text nodes only, never as markup.

const SVG = "http://www.w3.org/2000/svg";

const frames = new WeakMap(); // the root of a page -> what says there that something went wrong

/**
 * What went wrong, in words.
 * @param {any} error
 */
export function reason(error) {
  return error?.message ?? error;
}

/** From here on what goes wrong in a listener inside `root` is said by this frame. */
export function framed(root, frame) {
  frames.set(root, frame);
}

/** A listener of a node; what goes wrong in it is said by the frame the node is in. */
export function heard(node, act) {
  return (event) => {
    const frame = frames.get(node.closest(".kv"));
    if (frame) frame.guard(() => act(event));
    else act(event);
  };
}

/**
 * Makes an HTML element: `h("p.kv-dim", { title }, "words")`. Its classes stand after the tag; props, which
 * may be left out, are attributes and `on…` listeners, and `label` is its name for a screen reader.
 */
export function h(kind, ...rest) {
  return fill(blank(kind, elements), rest);
}

/** Makes an SVG element, in the same way. */
export function s(kind, ...rest) {
  return fill(blank(kind, drawings), rest);
}

// One node of each kind, which is copied.
const elements = new Map();
const drawings = new Map();

/** An empty node of a tag and its classes: to copy one takes less than to make one. */
function blank(kind, known) {
  let node = known.get(kind);
  if (!node) {
    const [tag, ...classes] = kind.split(".");
    node = known === drawings ? document.createElementNS(SVG, tag) : document.createElement(tag);
    if (classes.length) node.setAttribute("class", classes.join(" "));
    if (tag === "button") node.setAttribute("type", "button"); // never one that sends a form
    known.set(kind, node);
  }
  return node.cloneNode(false);
}

function fill(node, rest) {
  const props = rest[0]?.constructor === Object ? rest.shift() : {};
  for (const name in props) {
    const value = props[name];
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), heard(node, value));
    else if (name === "style") node.style.cssText = value; // a saved page forbids the attribute
    else node.setAttribute(name === "label" ? "aria-label" : name, value === true ? "" : value);
  }
  for (const child of rest) if (child !== null && child !== undefined && child !== "") node.append(child);
  return node;
}

/** A button with words on it. */
export function press(words, act, props) {
  return h("button", { ...props, onclick: act }, words);
}

/** Writes the text of a node only when it differs: an untouched node costs no layout. */
export function text(node, value) {
  const wanted = value === null || value === undefined ? "" : String(value);
  if (node.textContent !== wanted) node.textContent = wanted;
}

/** Sets an attribute only when it differs; null or false takes it away. */
export function attr(node, name, value) {
  if (value === null || value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else {
    const wanted = value === true ? "" : String(value);
    if (node.getAttribute(name) !== wanted) node.setAttribute(name, wanted);
  }
}

/** Says of a button whether it is pressed, or what it opens expanded. */
export function aria(node, state, on) {
  attr(node, `aria-${state}`, String(Boolean(on)));
}

export function show(node, visible) {
  if (node.hidden === visible) node.hidden = !visible;
}

/**
 * A list of nodes kept in step with a list of items, by key: a node is made once for its key, moved
 * only when the order changes, updated in place and taken away with its item. Where `update` writes all that a
 * node says (`again`), the node of an item that is gone becomes that of a new one, unless somebody is at it.
 */
export class Keyed {
  constructor(parent, make, update, { again = false } = {}) {
    this.parent = parent;
    this.make = make;
    this.update = update;
    this.again = again;
    this.nodes = new Map();
    this.order = []; // the keys as they stand
  }

  draw(items, keyOf) {
    const { nodes, order, update } = this;
    const keys = items.map(keyOf);
    // Most lists are at most steps as they were: nothing is asked of the page then.
    if (keys.length === order.length && keys.every((key, n) => key === order[n])) {
      if (update) for (let n = 0; n < keys.length; n++) update(nodes.get(keys[n]), items[n]);
      return;
    }
    const wanted = new Set(keys);
    const spare = [];
    // What is gone goes first: else every node behind it would be moved before it.
    for (const [key, node] of nodes) {
      if (wanted.has(key)) continue;
      nodes.delete(key);
      if (this.again && !node.matches(":hover, :focus-within, :active")) spare.push(node);
      else node.remove();
    }
    this.order = [];
    let place = this.parent.firstChild;
    for (let n = 0; n < keys.length; n++) {
      const key = keys[n];
      if (!wanted.delete(key)) continue; // said twice
      this.order.push(key);
      let node = nodes.get(key);
      if (!node) {
        node = spare.shift() ?? this.make(items[n]);
        nodes.set(key, node);
      }
      if (update) update(node, items[n]);
      if (node === place) place = place.nextSibling;
      else this.parent.insertBefore(node, place);
    }
    for (const node of spare) node.remove();
  }

  clear() {
    for (const node of this.nodes.values()) node.remove();
    this.nodes.clear();
    this.order = [];
  }
}

const ICONS = {
  first: "M3 3h2v10H3zM14 3v10L6 8z",
  back: "M12 3v10L4 8z",
  forward: "M4 3v10l8-5z",
  last: "M11 3h2v10h-2zM2 3v10l8-5z",
  play: "M4 2.5v11l9-5.5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  pin: "M5 2h6v1.5l-1 .8v3l2 2V11H8.7L8 15l-.7-4H4V9.3l2-2v-3l-1-.8z",
  close: "M4 3l4 4 4-4 1 1-4 4 4 4-1 1-4-4-4 4-1-1 4-4-4-4z",
};

export function icon(name) {
  return s(
    "svg.kv-icon",
    { viewBox: "0 0 16 16", width: 14, height: 14, "aria-hidden": "true" },
    s("path", { d: ICONS[name], fill: "currentColor" }),
  );
}
