// Errors and help. What goes wrong, in Python or while drawing, is said on the page.

import { h, icon, show, text } from "./dom.js";

export class Errors {
  constructor() {
    this.words = h("p");
    this.close = h("button", { type: "button", "aria-label": "close the message", onclick: () => this.clear() }, icon("close"));
    this.element = h("div", { class: "kv-error", role: "alert" }, h("span", { class: "kv-sign", "aria-hidden": "true", text: "⚠" }), this.words, this.close);
    show(this.element, false);
  }

  say(words) {
    text(this.words, words);
    show(this.element, true);
  }

  clear() {
    show(this.element, false);
    text(this.words, "");
  }
}

const KEYS = [
  [["→", "←"], "one step of the flow, forward or back"],
  [["Shift →", "Shift ←"], "one message"],
  [["PgUp", "PgDn"], "look further up in the diagram, and back"],
  [["Home", "End"], "the first, the last step"],
  [["Space"], "play or pause"],
  [["+", "−"], "faster, slower"],
  [["1", "…", "9"], "choose what happens next"],
  [["f"], "the list of faults"],
  [["b", "[", "]"], "branches: list, previous, next"],
  [["a"], "all lanes, or only the first four"],
  [["w"], "why: rule, guards, clause, Kafka class"],
  [["?"], "this list"],
  [["Esc"], "close what is open, then leave"],
];

const LEGEND = [
  ["kv-lg-solid", "delivered"],
  ["kv-lg-answer", "an answer"],
  ["kv-lg-hollow", "on the wire, not delivered"],
  ["kv-lg-lost", "lost"],
  ["kv-lg-pending", "decided later: hatched"],
  ["kv-lg-new", "changed in this step"],
];

export class Help {
  constructor(app, specLine) {
    const rows = KEYS.map(([keys, what]) => h("div", {}, h("dt", {}, ...keys.map((key) => h("kbd", { text: key }))), h("dd", { text: what })));
    const legend = LEGEND.map(([name, what]) => h("li", {}, h("span", { class: `kv-lg ${name}`, "aria-hidden": "true" }), h("span", { text: what })));
    this.element = h(
      "div",
      { class: "kv-help", role: "region", "aria-label": "Keys and signs" },
      h("dl", { class: "kv-keys" }, ...rows),
      h("div", {}, h("ul", { class: "kv-legend" }, ...legend), h("p", { class: "kv-dim", text: specLine ?? "" }), h("p", { class: "kv-dim", text: "Keys work while the stepper has the focus; Tab moves on." })),
    );
    show(this.element, false);
  }

  toggle(open = this.element.hidden) {
    show(this.element, open);
    return open;
  }
}
