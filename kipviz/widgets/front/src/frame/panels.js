// Errors, help, and the drawers under the toolbar. What goes wrong, in Python or while drawing, is
// said on the page.

import { aria, h, icon, show, text } from "../dom/dom.js";
import { KEYS } from "./keys.js";

/** @import { Frame } from "./frame.js" */
/** @import { Line } from "../lines/line.js" */
/** @import { Listener, Props } from "../../types/nodes" */
/** @import { DrawerWords } from "../../types/parts" */

export class Errors {
  constructor() {
    this.words = h("p");
    this.close = h("button", { label: "close the message", onclick: () => this.clear() }, icon("close"));
    this.element = h("div.kv-error", { role: "alert" }, h("span.kv-sign", { "aria-hidden": "true" }, "⚠"), this.words, this.close);
    show(this.element, false);
  }

  /** @param {string} words */
  say(words) {
    text(this.words, words);
    show(this.element, true);
  }

  clear() {
    show(this.element, false);
    text(this.words, "");
  }
}

const LEGEND = [
  ["kv-lg-solid", "delivered"],
  ["kv-lg-answer", "a response"],
  ["kv-lg-hollow", "in flight, not delivered"],
  ["kv-lg-hollow kv-lg-held", "held back in flight"],
  ["kv-lg-lost", "lost"],
  ["kv-lg-pending", "decided later: hatched"],
  ["kv-lg-new", "Δ changed in this step"],
  ["kv-lg-bars", "bars below: split prepared, pointed complete, notched trouble, cut gone"],
];

export class Help {
  /** @param {string | undefined} specLine */
  constructor(specLine) {
    this.specLine = specLine;
    this.element = h("div.kv-help", { role: "region", label: "Keys and symbols" });
    show(this.element, false);
  }

  /** Nobody who does not ask waits for it. */
  fill() {
    const rows = KEYS.filter((key) => key.show).map(({ show: keys = [], what = "" }) => h("div", h("dt", ...keys.map((key) => h("kbd", key))), h("dd", what)));
    const legend = LEGEND.map(([name, what]) => h("li", h("span", { class: `kv-lg ${name}`, "aria-hidden": "true" }), h("span", what)));
    this.element.append(
      h("dl.kv-keys", ...rows),
      h("div", h("ul.kv-legend", ...legend), h("p.kv-dim", this.specLine ?? ""), h("p.kv-dim", "Keys work while the stepper has the focus; Tab moves on.")),
    );
  }

  toggle(open = this.element.hidden === true) {
    if (open && !this.element.firstChild) this.fill();
    show(this.element, open);
    return open;
  }
}

/**
 * A button of the toolbar: what it is called, and its key.
 * @param {string} words
 * @param {string} key
 * @param {string} title
 * @param {Listener} act
 * @param {Props} [props]
 */
export function tool(words, key, title, act, props) {
  return h("button.kv-toggle", { title: `${title} (${key})`, "aria-expanded": "false", ...props, onclick: act }, h("span", words), h("kbd", key));
}

/**
 * A tool under the toolbar that opens and closes; `update` draws it while it is open.
 * @template {Frame} Page
 */
export class Drawer {
  /**
   * @param {Page} app
   * @param {DrawerWords} told
   */
  constructor(app, { name, title, key, words = name }) {
    this.app = app;
    this.name = name;
    const id = app.name(name);
    this.button = tool(words, key, title, () => app.toggleDrawer(name), { "aria-controls": id });
    this.element = h("section", { class: `kv-drawer kv-${name}`, id, label: title });
    show(this.element, false);
  }

  get open() {
    return !this.element.hidden;
  }

  /** @param {boolean} open */
  toggle(open) {
    show(this.element, open);
    aria(this.button, "expanded", open);
  }

  /**
   * Draws what the drawer shows for a step of a line.
   * @param {Line} _line
   * @param {number} _at
   */
  update(_line, _at) {}
}
