// As much of a document as a table needs: nodes with attributes, children and their words.

class Node {
  /** @param {string} tag */
  constructor(tag) {
    this.tagName = tag.toUpperCase();
    /** @type {Map<string, string>} */
    this.attributes = new Map();
    /** @type {Array<Node | string>} */
    this.children = [];
    this.value = "";
    this.hidden = false;
    this.style = {};
  }

  /** @returns {string} */
  get textContent() {
    return this.children.map((child) => (typeof child === "string" ? child : child.textContent)).join("");
  }

  set textContent(words) {
    this.children = [words];
  }

  cloneNode() {
    const copy = new Node(this.tagName);
    copy.attributes = new Map(this.attributes);
    return copy;
  }

  /** @param {Array<Node | string | number>} nodes */
  append(...nodes) {
    this.children.push(...nodes.map((node) => (typeof node === "number" ? String(node) : node)));
  }

  /** @param {Array<Node | string>} nodes */
  replaceChildren(...nodes) {
    this.children = nodes;
  }

  /** @param {string} name */
  hasAttribute(name) {
    return this.attributes.has(name);
  }

  /** @param {string} name */
  getAttribute(name) {
    return this.attributes.get(name) ?? null;
  }

  /**
   * @param {string} name
   * @param {string} value
   */
  setAttribute(name, value) {
    this.attributes.set(name, value);
  }

  /** @param {string} name */
  removeAttribute(name) {
    this.attributes.delete(name);
  }

  addEventListener() {}

  /** Nothing is found: no test here has the focus somewhere. */
  querySelector() {
    return null;
  }

  querySelectorAll() {
    return [];
  }
}

const document = {
  createElement: (/** @type {string} */ tag) => new Node(tag),
  createElementNS: (/** @type {string} */ _, /** @type {string} */ tag) => new Node(tag),
};
Object.assign(globalThis, { document });

/** The words of a node's children. */
export const words = (/** @type {{ children: Iterable<{ textContent: string | null }> }} */ node) => [...node.children].map((child) => child.textContent);
