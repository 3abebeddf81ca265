// The few ways in which the page is written. Text goes in as text nodes only, never as markup.

const SVG = "http://www.w3.org/2000/svg";

const frames = new WeakMap(); // the root of a page -> what says there that something went wrong

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
  const node = fill(document.createElement(kind.split(".")[0]), kind, rest);
  if (node.tagName === "BUTTON") node.type = "button"; // never one that sends a form
  return node;
}

/** Makes an SVG element, in the same way. */
export function s(kind, ...rest) {
  return fill(document.createElementNS(SVG, kind.split(".")[0]), kind, rest);
}

function fill(node, kind, rest) {
  const [, ...classes] = kind.split(".");
  if (classes.length) node.setAttribute("class", classes.join(" "));
  const props = rest[0]?.constructor === Object ? rest.shift() : {};
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), heard(node, value));
    else if (name === "style") node.style.cssText = value; // a saved page forbids the attribute
    else node.setAttribute(name === "label" ? "aria-label" : name, value === true ? "" : value);
  }
  node.append(...rest.filter((child) => child !== null && child !== undefined && child !== ""));
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
 * only when the order changes, updated in place and taken away with its item.
 */
export class Keyed {
  constructor(parent, make, update) {
    this.parent = parent;
    this.make = make;
    this.update = update;
    this.nodes = new Map();
  }

  draw(items, keyOf) {
    const wanted = new Set();
    let place = this.parent.firstChild;
    for (const item of items) {
      const key = keyOf(item);
      if (wanted.has(key)) continue;
      wanted.add(key);
      let node = this.nodes.get(key);
      if (!node) {
        node = this.make(item);
        this.nodes.set(key, node);
      }
      if (this.update) this.update(node, item);
      if (node === place) place = place.nextSibling;
      else this.parent.insertBefore(node, place);
    }
    for (const [key, node] of this.nodes) {
      if (!wanted.has(key)) {
        node.remove();
        this.nodes.delete(key);
      }
    }
  }

  clear() {
    for (const node of this.nodes.values()) node.remove();
    this.nodes.clear();
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
