// What can happen next: a button for everything that is possible, greyed words for what is not and
// why, and the faults in a menu of their own. The digit on a button is its key.

import { name } from "../dom/breakable.js";
import { Keyed, aria, attr, h, heard, need, press, show, text } from "../dom/dom.js";
import { cutForm } from "./cut.js";
import { Story, pointsOf } from "./whatif.js";

/** @import { Line } from "../lines/line.js" */
/** @import { App } from "../../types/app" */
/** @import { Entry, PointItem } from "../../types/parts" */
/** @import { Item } from "../../types/payload" */

const IMPOSSIBLE_MAX = 4;
const POINTS_MAX = 30;
const HELD = "held back: choose it to release it";

export class Choices {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {Item[]} */
    this.items = [];
    /** @type {Item[]} */
    this.enabled = [];
    /** @type {Map<string, { key: string, item: Item }>} */
    this.keys = new Map(); // of messages on the wire
    /** @param {string} name */
    const list = (name) => h("ul", { class: `kv-list ${name}` });
    this.next = list("kv-next-list");
    this.cannot = list("kv-cannot-list");
    this.faults = list("kv-fault-list");
    this.caption = h("h3.kv-caption", "What can happen next");
    this.end = h("p.kv-quiet");
    this.busyWords = h("span");
    this.stop = press("stop", () => app.stop());
    this.busy = h("p.kv-busy", { role: "status" }, this.busyWords, " ", this.stop);
    this.story = new Story();
    this.find = h("input.kv-fault-find", { type: "search", placeholder: "B1 crashes after PREPARE_COMMIT", label: "faults at any moment, by words", oninput: () => this.search() });
    this.count = h("p.kv-quiet", { role: "status" });
    this.menu = h("div.kv-fault-menu", this.find, this.count, cutForm(app), this.faults);
    this.more = h("button.kv-link", { onclick: () => this.toggleCannot() });
    this.faultCount = h("span.kv-count");
    this.faultButton = h(
      "button.kv-fault-button",
      { "aria-expanded": "false", onclick: () => this.toggleFaults() },
      h("span.kv-bolt", { "aria-hidden": "true" }, "⚡"),
      h("span", "Faults"),
      this.faultCount,
      h("kbd", "f"),
    );
    show(this.menu, false);
    this.element = h("section.kv-choices", { label: "What can happen next" }, this.caption, app.live?.element ?? "", this.busy, this.story.element, this.end, this.next, this.faultButton, this.menu, this.cannot, this.more);
    const make = () => this.make();
    /**
     * @param {HTMLElement} node
     * @param {Entry} entry
     */
    const draw = (node, entry) => this.draw(node, entry);
    this.lists = [this.next, this.faults, this.cannot].map((parent) => new Keyed(parent, make, draw, { again: true }));
    this.open = false;
    this.all = false;
    this.wait("");
  }

  make() {
    const [kbd, what, about, tag] = [h("kbd"), h("span.kv-what"), h("span"), h("span.kv-tag-branch")];
    const under = h("small", about);
    const button = h("button", kbd, h("span.kv-words", what, under, tag));
    const node = h("li", button);
    node.kvParts = { button, kbd, what, about, under, tag };
    /** @param {string | null | undefined} message */
    const hovers = (message) => node.kvItem?.message && this.app.hover(message ?? null);
    button.onclick = heard(button, () => node.kvItem?.enabled && this.choose(node.kvItem));
    button.onpointerenter = () => hovers(node.kvItem?.message);
    button.onpointerleave = () => hovers(null);
    return node;
  }

  /**
   * @param {Line} line
   * @param {number} step
   */
  update(line, step) {
    this.items = line.choicesAt(step);
    const enabled = this.items.filter((item) => item.enabled && item.group !== "fault");
    const faults = this.items.filter((item) => item.group === "fault").sort((a, b) => Number(b.enabled) - Number(a.enabled));
    const cannot = this.items.filter((item) => !item.enabled && item.group !== "fault");
    this.enabled = enabled;
    const held = line.heldAt(step);
    /** @param {PointItem} item */
    const isHeld = (item) => item.enabled && held.some((one) => (one.message ? one.message === item.message : one.id === item.id));
    /** @param {PointItem} item */
    const taken = (item) => this.app.lines.following(line, item.step ?? step, item.id);
    /**
     * @param {PointItem} item
     * @param {number} [n]
     */
    const entry = (item, n) => ({ item: isHeld(item) ? { ...item, sub: HELD } : item, key: n === undefined || n > 8 ? "" : String(n + 1), other: item.enabled ? taken(item) : undefined });
    const [next, fault, no] = this.lists;
    next.draw(enabled.map(entry), byId);
    const words = this.open ? this.find.value.trim() : "";
    const points = !this.open ? [] : words ? pointsOf(line, words, this.app.question.listedUntil(line, step)).sort((a, b) => Number(b.enabled) - Number(a.enabled)) : faults;
    fault.draw(points.slice(0, POINTS_MAX).map((item) => entry(item)), byId);
    text(this.count, words ? `faults on this branch: ${points.length}${points.length > POINTS_MAX ? `, the first ${POINTS_MAX}: say more` : ""}` : "");
    show(this.count, words !== "");
    const { said } = this.app;
    this.story.update(line, step, said?.line === line && said.at === step ? said.words : undefined);
    no.draw(cannot.slice(0, this.all ? undefined : IMPOSSIBLE_MAX).map((item) => entry(item)), byId);
    show(this.faultButton, faults.length > 0);
    text(this.faultCount, faults.filter((item) => item.enabled).length);
    show(this.menu, this.open && faults.length > 0);
    show(this.more, cannot.length > IMPOSSIBLE_MAX);
    text(this.more, this.all ? "show less" : `${cannot.length - IMPOSSIBLE_MAX} more that cannot happen`);
    this.sayEnd(line, step, enabled, faults);
    this.keys = new Map(enabled.slice(0, 9).flatMap((item, n) => (item.message ? [[item.message, { key: String(n + 1), item }]] : [])));
  }

  /**
   * @param {Line} line
   * @param {number} step
   * @param {Item[]} enabled
   * @param {Item[]} faults
   */
  sayEnd(line, step, enabled, faults) {
    const [none, last] = [enabled.length === 0, step === line.last];
    show(this.end, none || last);
    if (!none && !last) return;
    if (this.app.live?.isNow) text(this.end, none ? "Nothing waits for you: the clients go on by themselves." : "Your choice acts on their cluster.");
    else if (last) text(this.end, none ? "This branch ends here." : "This branch ends here: choose a step.");
    else text(this.end, faults.some((item) => item.taken) ? "Here a fault was taken: see the list of faults." : "Step forward: nothing else is recorded for this place.");
  }

  /**
   * @param {HTMLElement} node
   * @param {Entry} told
   */
  draw(node, { item, key, other }) {
    node.kvItem = item;
    const sub = item.enabled ? item.sub : item.why || item.sub;
    // An item of the next step is another one, and mostly says the same.
    const drawn = [item.enabled, item.taken, item.group, key, other?.name, item.text, sub, item.why].join("\u0000");
    if (node.kvDrawn === drawn) return;
    node.kvDrawn = drawn;
    const { button, kbd, what, about, under, tag } = need(node.kvParts, "a button");
    text(kbd, item.enabled ? key || (item.group === "fault" ? "⚡" : "·") : "–");
    name(what, item.text);
    name(about, sub || "");
    show(under, Boolean(sub));
    attr(node, "class", item.enabled ? (item.taken ? "kv-taken" : null) : "kv-off");
    attr(button, "aria-disabled", item.enabled ? null : "true");
    attr(button, "title", item.enabled ? (item.taken ? "continues on this branch" : other ? `goes to ${other.name}` : "starts a new branch") : `cannot happen: ${item.why}`);
    text(tag, item.taken ? "→ this branch" : other ? `↳ ${other.name}` : "");
    show(tag, Boolean(item.taken || other));
  }

  search() {
    this.app.draw();
    this.menu.scrollIntoView({ block: "nearest" });
  }

  /**
   * Chooses here, or at the moment that the words of a fault name.
   * @param {PointItem} item
   */
  choose(item) {
    if (item.step !== undefined) {
      this.find.value = "";
      this.app.go(item.step, "small");
    }
    this.app.choose(item);
  }

  /**
   * Chooses the n-th possible event, counted from 1.
   * @param {number} n
   */
  press(n) {
    const item = this.enabled[n - 1];
    if (item) this.app.choose(item);
  }

  toggleFaults(open = !this.open) {
    if (this.faultButton.hidden) return;
    this.open = open;
    show(this.menu, open);
    aria(this.faultButton, "expanded", open);
    this.app.draw();
    if (open) this.find.focus();
    else this.app.focus();
  }

  toggleCannot() {
    this.all = !this.all;
    this.app.draw();
  }

  /**
   * @param {string} waiting
   * @param {boolean} [stop]
   */
  wait(waiting, stop = false) {
    show(this.busy, waiting !== "");
    show(this.stop, stop);
    text(this.busyWords, waiting);
    this.element.classList.toggle("kv-asking", waiting !== "");
  }
}

/** @param {Entry} told */
const byId = ({ item }) => item.key ?? item.id;
