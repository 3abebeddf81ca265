// What caused this, and what holds it back: the chain of steps behind a value or a step, the way out
// of what stands still, and the causal cone, lit in the diagram and in the overview.

import { aria, attr, h, s, show, target, text } from "../dom/dom.js";
import { ending } from "../lines/line.js";
import { tool } from "../frame/panels.js";

/** @import { Line } from "../lines/line.js" */
/** @import { App } from "../../types/app" */
/** @import { Props } from "../../types/nodes" */
/** @import { Mark } from "../../types/parts" */
/** @import { HoldInfo, RowInfo } from "../../types/payload" */

const CHAIN_MAX = 7;
const HOW = { never: "never resolves", someone: "needs an action", soon: "under way", idle: "nothing to do" };
/** @type {Record<string, number>} */
const WAYS = { ArrowDown: 1, ArrowUp: -1, Enter: 0 };
const RANK = Object.keys(HOW);

/**
 * @param {Line} line
 * @param {number} k
 */
const causesOf = (line, k) => line.steps[k].causes ?? [];

/**
 * For every step 1 when it led to a step, 2 when it is on the main line of causes, else 0.
 * @param {Line} line
 * @param {number} step
 */
function coneOf(line, step) {
  const cone = new Uint8Array(line.steps.length);
  const todo = [step];
  for (let k = todo.pop(); k !== undefined; k = todo.pop()) {
    if (!cone[k]) todo.push(...causesOf(line, k).map(([cause]) => cause));
    cone[k] = 1;
  }
  for (const [k] of chainOf(line, step)) cone[k] = 2;
  return cone;
}

/**
 * The main line of causes, newest first, up to what came first or to an accident.
 * @param {Line} line
 * @param {number} step
 */
function chainOf(line, step) {
  /** @type {Array<[number, string]>} */
  const chain = [[step, ""]];
  for (let k = step; causesOf(line, k).length && !line.steps[k].accident; ) {
    const cause = causesOf(line, k)[0];
    chain.push(cause);
    [k] = cause;
  }
  return chain;
}

export class Trail {
  /** @param {App} app */
  constructor(app) {
    this.line = app.line; // what was lit last
    this.step = -1;
    this.cone = new Uint8Array();
    /** @type {Map<string, number>} */
    this.ends = new Map();
    this.open = this.on = this.shone = false;
    this.drawn = "";
    /** @type {Element | null} */
    this.here = null; // the value at which the keys stand
    /** @type {Map<string, Mark>} */
    this.marks = new Map();
    this.app = app;
    this.head = h("h3.kv-caption");
    this.body = h("ol");
    this.opener = tool("stuck?", "e", "what blocks this", () => this.toggle());
    this.lit = this.button("highlight all causes (c)", () => this.light());
    this.element = h("section.kv-trail", { label: "What caused this" }, this.head, this.body, this.lit);
    this.ticks = app.overview.svg.appendChild(s("path.kv-ticked"));
    const { element } = app.cards;
    for (const [name, value] of [["tabindex", "0"], ["role", "group"], ["aria-label", "Values: up and down choose one, Enter shows its cause"]]) attr(element, name, value);
    element.addEventListener("click", (event) => app.guard(() => this.ask(valueOf(target(event)))));
    element.addEventListener("keydown", (event) => app.guard(() => this.key(event)));
  }

  /**
   * @param {string | number} words
   * @param {() => unknown} act
   * @param {Props} [more]
   */
  button(words, act, more) {
    return h("button.kv-link", { onclick: act, ...more }, words);
  }

  /**
   * Names a value: "my-txn, state", and "src-0@100 for g1" instead of the key of a share-partition.
   * @param {RowInfo} told
   */
  about({ card, id, cells }) {
    const share = card.startsWith("share:") && this.app.payload.cards.find((one) => one.id === card)?.title;
    return share ? share.replace(" ", `@${cells.offset ?? id} `) : `${card.slice(card.indexOf(":") + 1)}, ${cells.label ?? `${id} ${cells.at ?? ""}`}`;
  }

  // -- choosing a value -------------------------------------------------------------------------------

  /** @param {Element | null} node */
  ask(node) {
    const row = node?.kvRow;
    if (row) this.app.select({ kind: "value", id: `${row.card} ${row.id}`, card: row.card, row: row.id });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const way = WAYS[event.key];
    const { element } = this.app.cards;
    if (way === undefined || event.target !== element) return;
    event.stopPropagation();
    event.preventDefault();
    if (!way) return this.ask(this.here);
    const nodes = [.../** @type {NodeListOf<HTMLElement>} */ (element.querySelectorAll("*"))].filter((node) => node.kvRow && node.offsetParent);
    if (!nodes.length) return;
    if (this.here) attr(this.here, "data-here", null);
    this.here = nodes[Math.max(0, Math.min(nodes.length - 1, nodes.findIndex((node) => node === this.here) + way))];
    attr(this.here, "data-here", true);
    this.here.scrollIntoView({ block: "nearest" });
  }

  /** Opens or closes what holds things back at the cursor. */
  toggle() {
    this.open = !this.open;
    this.app.draw();
  }

  light() {
    this.on = !this.on;
    this.app.draw();
  }

  /** Closes the panel and the lights; says whether there was anything to close. */
  close() {
    const was = this.open || this.on;
    this.open = this.on = false;
    if (was) this.app.draw();
    return was;
  }

  // -- drawing ----------------------------------------------------------------------------------------

  /**
   * @param {Line} line
   * @param {number} at
   */
  update(line, at) {
    const { app } = this;
    const chosen = app.selection;
    const row = chosen.kind === "value" ? line.row(chosen.card ?? "", chosen.row ?? "", at) : undefined;
    const holds = line.liveHolds.at(at).sort((a, b) => RANK.indexOf(a.how) - RANK.indexOf(b.how));
    const step = row ? row.from : at;
    const led = Boolean(row) || !app.sentence.why.hidden;
    aria(this.opener, "expanded", this.open);
    show(this.element, led || this.open);
    if (led || this.open) this.draw(line, step, row, led, this.open ? holds : holds.filter((hold) => row && hold.card === row.card && hold.rows.includes(row.id)));
    this.mark(row, holds);
    if (this.on || this.shone) this.shine(line, step);
  }

  /**
   * @param {Line} line
   * @param {number} step
   * @param {RowInfo | undefined} row
   * @param {boolean} led
   * @param {HoldInfo[]} holds
   */
  draw(line, step, row, led, holds) {
    const key = [line.id, line.last, step, row?.card, row?.id, led, this.open, this.on, ...holds.map((hold) => hold.text)].join();
    if (this.drawn === key) return;
    this.drawn = key;
    text(this.head, row ? `${this.about(row)}: since message ${step}` : this.open ? "What blocks this" : `What led to message ${step}`);
    const chain = led ? chainOf(line, step) : [];
    const more = chain.length - CHAIN_MAX;
    this.body.replaceChildren(
      ...holds.map((hold) => this.hold(line, hold)),
      ...chain.slice(0, CHAIN_MAX).map((link, n) => this.link(line, link, n)),
      this.open && !holds.length ? h("li", "Nothing is blocked here.") : more > 0 ? h("li", `and ${more} before`) : "",
    );
    aria(this.lit, "pressed", this.on);
  }

  /**
   * @param {Line} line
   * @param {HoldInfo} hold
   */
  hold(line, hold) {
    const see = (hold.see ?? []).flatMap(([card, id]) => line.row(card, id, this.app.at) ?? []);
    return h("li.kv-hold", { "data-how": hold.how }, h("b", `${HOW[hold.how]}: `), hold.text, h("b", " Way out: "), hold.free, ...see.map((row) => this.goto(row.from, `${this.about(row)}: since ${row.from}`)));
  }

  /**
   * @param {Line} line
   * @param {[number, string]} told
   * @param {number} n
   */
  link(line, [k, from], n) {
    const step = line.steps[k];
    const others = n < 3 ? causesOf(line, k).slice(step.accident ? 0 : 1, 4) : [];
    return h("li", this.goto(k, k), " ", h("b", step.title), step.accident ? ": a fault without a cause" : from && `: ${from}`, ...others.map(([other, words]) => this.goto(other, `${other} ${words}`)));
  }

  /**
   * @param {number} k
   * @param {string | number} words
   */
  goto(k, words) {
    return this.button(words, () => this.app.go(k, "small"), { title: this.app.line.steps[k].title });
  }

  /**
   * Rings the chosen value, and marks what only a person, a timer or nobody can free.
   * @param {RowInfo | undefined} row
   * @param {HoldInfo[]} holds
   */
  mark(row, holds) {
    /** @type {Map<string, Mark>} */
    const marks = new Map();
    /**
     * @param {string} card
     * @param {string} id
     * @param {string} name
     * @param {string | boolean} value
     */
    const put = (card, id, name, value) => marks.set(`${card} ${id} ${name}`, [this.nodeOf(card, id), name, value]);
    for (const hold of holds) if (RANK.indexOf(hold.how) < 2) for (const id of hold.rows) put(hold.card, id, "data-held", hold.how);
    if (row) put(row.card, row.id, "data-chosen", true);
    for (const [key, [node, name]] of this.marks) if (node && marks.get(key)?.[0] !== node) attr(node, name, null);
    for (const [node, name, value] of marks.values()) if (node) attr(node, name, value);
    this.marks = marks;
  }

  /**
   * @param {string} card
   * @param {string} id
   */
  nodeOf(card, id) {
    const node = this.app.cards.list.nodes.get(card);
    return node && [...node.querySelectorAll("div, li")].find(({ kvRow }) => kvRow?.id === id);
  }

  /**
   * @param {Line} line
   * @param {number} step
   */
  shine(line, step) {
    const { sequence, overview } = this.app;
    this.shone = this.on;
    for (const { svg } of [sequence, overview]) svg.classList.toggle("kv-coned", this.on);
    if (!this.on) return attr(this.ticks, "d", null);
    if (this.line !== line || this.step !== step) Object.assign(this, { line, step, cone: coneOf(line, step), ends: new Map(line.messages.map((m) => [m.id, ending(m) ?? m.sent])) });
    /** @type {Array<[{ nodes: Map<string | number, Element> }, (key: string) => number]>} */
    const lists = [[sequence.messages, (id) => this.ends.get(id) ?? -1], [sequence.notes, parseInt], [sequence.locals, Number], [sequence.wire, () => -1]];
    for (const [list, stepOf] of lists) for (const [key, node] of list.nodes) attr(node, "data-cone", this.cone[stepOf(String(key))] || "0");
    attr(this.ticks, "d", [...this.cone].map((on, k) => (on ? `M${overview.x(k + 0.5) - 2} 34h4l-2-5z` : "")).join(""));
  }
}

/**
 * The value a click was on: the nearest node that stands for a row.
 * @param {Element | null} node
 */
function valueOf(node) {
  if (node?.closest("dt, button")) return null; // a name pins its row
  while (node && !node.kvRow) node = node.parentElement;
  return node;
}
