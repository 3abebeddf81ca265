// The few ways in which the page is written. Text goes in as text nodes only, never as markup.

/** @import { Child, Drawable, Guard, HtmlOf, Listener, Props, Rest, SvgOf } from "../../types/nodes" */

const SVG = "http://www.w3.org/2000/svg";

/** @type {WeakMap<Element, Guard>} */
const frames = new WeakMap(); // the root of a page -> what says there that something went wrong

/**
 * What is there, or an error that says what is missing.
 * @template Found
 * @param {Found} found
 * @param {string} what
 * @returns {NonNullable<Found>}
 */
export function need(found, what) {
  if (found === null || found === undefined) throw new Error(`${what} is missing`);
  return found;
}

/**
 * The elements in a node.
 * @param {Element} node
 */
export const inside = (node) => /** @type {HTMLElement[]} */ ([...node.children]);

/**
 * The first element in a node.
 * @param {Element} node
 */
export const first = (node) => /** @type {HTMLElement} */ (need(node.firstElementChild, "a part"));

/**
 * The last element in a node.
 * @param {Element} node
 */
export const last = (node) => /** @type {HTMLElement} */ (need(node.lastElementChild, "a part"));

/**
 * The first element in a node that a selector finds.
 * @param {Element} node
 * @param {string} selector
 * @returns {HTMLElement | null}
 */
export const query = (node, selector) => node.querySelector(selector);

/**
 * The element that an event is about.
 * @param {Event} event
 */
export const target = (event) => /** @type {HTMLElement} */ (event.target);

/**
 * What went wrong, in words.
 * @param {unknown} error
 */
export function reason(error) {
  return error instanceof Error ? error.message : String(error);
}

/**
 * From here on what goes wrong in a listener inside `root` is said by this frame.
 * @param {Element} root
 * @param {Guard} frame
 */
export function framed(root, frame) {
  frames.set(root, frame);
}

/**
 * A listener of a node; what goes wrong in it is said by the frame the node is in.
 * @param {Element} node
 * @param {Listener} act
 * @returns {Listener}
 */
export function heard(node, act) {
  return (event) => {
    const root = node.closest(".kv");
    const frame = root && frames.get(root);
    if (frame) frame.guard(() => act(event));
    else act(event);
  };
}

/**
 * Makes an HTML element: `h("p.kv-dim", { title }, "words")`. Its classes stand after the tag; props, which
 * may be left out, are attributes and `on…` listeners, and `label` is its name for a screen reader.
 * @template {string} Kind
 * @param {Kind} kind
 * @param {Rest} rest
 * @returns {HtmlOf<Kind>}
 */
export function h(kind, ...rest) {
  return /** @type {HtmlOf<Kind>} */ (fill(blank(kind, elements), rest));
}

/**
 * Makes an SVG element, in the same way.
 * @template {string} Kind
 * @param {Kind} kind
 * @param {Rest} rest
 * @returns {SvgOf<Kind>}
 */
export function s(kind, ...rest) {
  return /** @type {SvgOf<Kind>} */ (fill(blank(kind, drawings), rest));
}

// One node of each kind, which is copied.
/** @type {Map<string, Drawable>} */
const elements = new Map();
/** @type {Map<string, Drawable>} */
const drawings = new Map();

/**
 * An empty node of a tag and its classes: to copy one takes less than to make one.
 * @param {string} kind
 * @param {Map<string, Drawable>} known
 */
function blank(kind, known) {
  let node = known.get(kind);
  if (!node) {
    const [tag, ...classes] = kind.split(".");
    node = known === drawings ? document.createElementNS(SVG, tag) : document.createElement(tag);
    if (classes.length) node.setAttribute("class", classes.join(" "));
    if (tag === "button") node.setAttribute("type", "button"); // never one that sends a form
    known.set(kind, node);
  }
  return /** @type {Drawable} */ (node.cloneNode(false));
}

/**
 * @param {Drawable} node
 * @param {Rest} rest
 */
function fill(node, rest) {
  const props = /** @type {Props} */ (rest[0]?.constructor === Object ? rest.shift() : {});
  for (const name in props) {
    const value = props[name];
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), heard(node, /** @type {Listener} */ (value)));
    else if (name === "style") node.style.cssText = String(value); // a saved page forbids the attribute
    else node.setAttribute(name === "label" ? "aria-label" : name, value === true ? "" : String(value));
  }
  for (const child of /** @type {Child[]} */ (rest)) if (child !== null && child !== undefined && child !== "") node.append(/** @type {Node | string} */ (child));
  return node;
}

/**
 * A button with words on it.
 * @param {string} words
 * @param {Listener} act
 * @param {Props} [props]
 */
export function press(words, act, props) {
  return h("button", { ...props, onclick: act }, words);
}

/**
 * Writes the text of a node only when it differs: an untouched node costs no layout.
 * @param {Node} node
 * @param {string | number | null} [value]
 */
export function text(node, value) {
  const wanted = value === null || value === undefined ? "" : String(value);
  if (node.textContent !== wanted) node.textContent = wanted;
}

/**
 * Sets an attribute only when it differs; null or false takes it away.
 * @param {Element} node
 * @param {string} name
 * @param {string | number | boolean | null} [value]
 */
export function attr(node, name, value) {
  if (value === null || value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else {
    const wanted = value === true ? "" : String(value);
    if (node.getAttribute(name) !== wanted) node.setAttribute(name, wanted);
  }
}

/**
 * Says of a button whether it is pressed, or what it opens expanded.
 * @param {Element} node
 * @param {string} state
 * @param {unknown} on
 */
export function aria(node, state, on) {
  attr(node, `aria-${state}`, String(Boolean(on)));
}

/**
 * @param {HTMLElement} node
 * @param {boolean} visible
 */
export function show(node, visible) {
  if (node.hidden === visible) node.hidden = !visible;
}

/**
 * A list of nodes kept in step with a list of items, by key: a node is made once for its key, moved
 * only when the order changes, updated in place and taken away with its item. Where `update` writes all that a
 * node says (`again`), the node of an item that is gone becomes that of a new one, unless somebody is at it.
 * @template Item
 * @template {HTMLElement | SVGElement} Made
 */
export class Keyed {
  /**
   * @param {Element} parent
   * @param {(item: Item) => Made} make
   * @param {((node: Made, item: Item) => void) | null} [update]
   * @param {{ again?: boolean }} [told]
   */
  constructor(parent, make, update, { again = false } = {}) {
    this.parent = parent;
    this.make = make;
    this.update = update;
    this.again = again;
    /** @type {Map<string | number, Made>} */
    this.nodes = new Map();
    /** @type {Array<string | number>} */
    this.order = []; // the keys as they stand
  }

  /**
   * @param {Item[]} items
   * @param {(item: Item) => string | number} keyOf
   */
  draw(items, keyOf) {
    const { nodes, order, update } = this;
    const keys = items.map(keyOf);
    // Most lists are at most steps as they were: nothing is asked of the page then.
    if (keys.length === order.length && keys.every((key, n) => key === order[n])) {
      if (update) for (let n = 0; n < keys.length; n++) update(/** @type {Made} */ (nodes.get(keys[n])), items[n]);
      return;
    }
    const wanted = new Set(keys);
    /** @type {Made[]} */
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

/** @param {keyof typeof ICONS} name */
export function icon(name) {
  return s(
    "svg.kv-icon",
    { viewBox: "0 0 16 16", width: 14, height: 14, "aria-hidden": "true" },
    s("path", { d: ICONS[name], fill: "currentColor" }),
  );
}
