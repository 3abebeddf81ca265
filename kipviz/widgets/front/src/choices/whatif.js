// What if: other courses of the branch on screen. Everything here is a wish that Python answers with a
// branch, or with the sentence that says why not.

import { Keyed, first, h, press, query, show, text } from "../dom/dom.js";
import { Drawer } from "../frame/panels.js";

/** @import { Line } from "../lines/line.js" */
/** @import { App } from "../../types/app" */
/** @import { Listener } from "../../types/nodes" */
/** @import { PointItem } from "../../types/parts" */
/** @import { Setting } from "../../types/payload" */

const NAME_MAX = 60;
const NEAR = 50; // how far from here an event is moved, or waits

/** @extends {Drawer<App>} */
export class WhatIf extends Drawer {
  /** @param {App} app */
  constructor(app) {
    super(app, { name: "whatif", title: "What if", key: "o" });
    text(first(this.button), "what if");
    this.at = 0;
    this.title = "";
    this.focusing = false;
    /** @type {Setting | null} */
    this.drawn = null;
    this.message = select("the message");
    this.until = select("deliver it");
    this.other = select("the other event");
    this.setting = select("the setting", () => this.drawSetting());
    this.option = select("its value", () => this.drawSetting());
    this.value = field("its value");
    this.sentence = h("span.kv-dim");
    this.seed = field("seed", 1);
    this.steps = field("steps at most", 200);
    this.faults = select("what may go wrong");
    fill(this.faults, ["calm", "rough", "hostile"].map(itself));
    this.event = h("b");
    const skip = press("skip it", () => this.app.wish({ do: "skip" }, `without “${this.title}”`));
    const move = press("move it", () => this.app.wish({ do: "move", to: Number(this.other.value), where: Number(this.other.value) < this.at ? "before" : "after" }, `“${this.title}” elsewhere`));
    /**
     * @param {string} wish
     * @param {string} words
     */
    const wire = (wish, words) => press(words, () => this.app.wish({ do: wish, message: this.message.value, after: Number(this.until.value) || "quiet" }, `${words}: ${this.message.selectedOptions[0].text}`));
    this.hold = wire("hold", "hold it back");
    this.release = wire("release", "release it");
    const rerun = press("run again", () => {
      const change = `${this.setting.value}=${this.option.hidden ? this.value.value : this.option.value}`;
      this.app.wish({ do: "change", settings: [change] }, change);
    });
    const on = press("continue", () => this.app.wish({ do: "run", seed: this.seed.valueAsNumber, steps: this.steps.valueAsNumber, faults: this.faults.value }, `continue with seed ${this.seed.value}`));
    this.wire = row("a message", this.message, this.hold, this.release, wire("lose", "lose its connection"), wire("delay", "delay it"), this.until);
    this.step = row("this event", this.event, skip, move, this.other);
    this.change = row("a setting", this.setting, this.option, this.value, rerun, this.sentence);
    const back = press("take the cluster back to this step", () => this.app.wish({ do: "back" }, `the cluster goes back to step ${this.at}`));
    this.back = row("the cluster", back, h("span.kv-dim", "It continues from here. Its clients cannot go back: their connections are dropped, as a network failure would drop them."));
    this.element.append(this.wire, this.step, this.back, this.change, row("dice", label("seed", this.seed), label("steps", this.steps), this.faults, on));
  }

  /** @param {boolean} open */
  toggle(open) {
    super.toggle(open);
    this.focusing = open;
  }

  /**
   * @param {Line} line
   * @param {number} at
   */
  update(line, at) {
    this.at = at;
    this.title = line.steps[at].title;
    text(this.event, `${at} · ${this.title}`);
    const flying = line.wire.at(at);
    const chosen = this.app.selection.id;
    show(this.wire, flying.length > 0);
    fill(this.message, flying.map((m) => /** @type {[string, string]} */ ([m.id, `${m.label}, ${m.from} → ${m.to}`])), flying.some((m) => m.id === chosen) ? chosen : undefined);
    this.message.onchange = () => this.drawMessage(line, at);
    this.drawMessage(line, at);
    const first = Math.max(1, at - NEAR);
    /** @type {Array<[string, string]>} */
    const events = line.steps.slice(first, Math.min(at + NEAR, this.app.question.listedUntil(line, at) + 1)).map((step, n) => [String(n + first), `${n + first < at ? "before" : "after"} ${n + first} · ${step.title}`.slice(0, NAME_MAX)]);
    const later = events.filter(([k]) => Number(k) > at);
    fill(this.other, events.filter(([k]) => k !== String(at)), later[0]?.[0]);
    fill(this.until, [["", "until nothing else can happen"], ...later]);
    show(this.step, at > 0);
    show(this.back, Boolean(this.app.payload.live) && line.id === 0 && at < line.last);
    const { settings = [] } = this.app.payload;
    show(this.change, settings.length > 0);
    if (!this.drawn) fill(this.setting, settings.map(({ name }) => itself(name)));
    this.drawSetting();
    if (this.focusing) query(this.element, "div:not([hidden]) > select")?.focus();
    this.focusing = false;
  }

  /**
   * @param {Line} line
   * @param {number} at
   */
  drawMessage(line, at) {
    const message = this.message.value;
    const held = line.holds(message, at);
    show(this.hold, !held);
    show(this.release, held);
  }

  drawSetting() {
    const setting = (this.app.payload.settings ?? []).find((one) => one.name === this.setting.value);
    if (!setting) return;
    const { options = [] } = setting;
    if (this.drawn !== setting) {
      fill(this.option, options.map(([name]) => /** @type {[string, string]} */ ([name, name === setting.now ? `${name} (now)` : name])), options.find(([name]) => name !== setting.now)?.[0]);
      this.value.valueAsNumber = Number(setting.now); // a word leaves it empty
      this.drawn = setting;
    }
    show(this.option, options.length > 0);
    show(this.value, options.length === 0);
    text(this.sentence, `${setting.asks} ${options.find(([name]) => name === this.option.value)?.[1] ?? `Now ${setting.now}.`}`);
  }
}

/** What was asked for to make this line, and what could no longer happen, with the reason. */
export class Story {
  constructor() {
    this.said = h("p", { role: "status" });
    this.summary = h("summary");
    this.list = h("ul");
    this.more = h("details", this.summary, this.list);
    this.element = h("div.kv-story", this.said, this.more);
    this.rows = new Keyed(this.list, () => h("li"), (node, { words }) => text(node, words));
  }

  /**
   * @param {Line} line
   * @param {number} at
   * @param {string | undefined} said
   */
  update(line, at, said) {
    const missing = at > line.at ? line.missing : [];
    text(this.said, said ?? (at > line.at ? line.said : ""));
    show(this.element, this.said.textContent !== "");
    show(this.more, missing.length > 0);
    text(this.summary, `no longer happens: ${missing.length}`);
    this.rows.draw(missing.map(([name, why], n) => ({ n, words: `${name}: ${why}` })), (one) => one.n);
  }
}

/**
 * Faults at every moment of a line, up to a step, that some words mean: a fault, after what, before what.
 * @param {Line} line
 * @param {string} words
 * @param {number} until
 */
export function pointsOf(line, words, until) {
  const [has, due] = words.toLowerCase().split("before").map((part) => part.split(/[\s,]+/).filter((word) => word && !SMALL.has(word)));
  /**
   * @param {string[] | undefined} list
   * @param {string} where
   */
  const all = (list, where) => (list ?? []).every((word) => where.includes(word));
  /** @type {PointItem[]} */
  const near = [];
  /** @type {PointItem[]} */
  const far = [];
  const moments = line.moments.filter(({ step }) => step <= until);
  moments.forEach(({ step, text: done }, n) => {
    const later = moments.slice(n + 1).map((one) => one.text);
    const when = `after ${done}${later.length ? `, before ${later[0]}` : ""}`;
    for (const item of line.choicesAt(step)) {
      if (item.group !== "fault" || !all(has, `${item.text} ${item.sub} ${done}`.toLowerCase())) continue;
      const found = { ...item, step, text: `${item.text} ${when}`, key: `${step} ${item.id}` };
      if (all(due, (later[0] ?? "").toLowerCase())) near.push(found);
      else if (later.some((one) => all(due, one.toLowerCase()))) far.push(found);
    }
  });
  return near.length ? near : far;
}

/**
 * An option whose words are its value.
 * @param {string} name
 * @returns {[string, string]}
 */
const itself = (name) => [name, name];
const SMALL = new Set("a an and at by in is of on the to with after".split(" "));
/**
 * @param {string} name
 * @param {Listener} [onchange]
 */
const select = (name, onchange) => h("select", { label: name, onchange });
/**
 * @param {string} name
 * @param {number} [value]
 */
const field = (name, value) => h("input", { type: "number", label: name, value, min: 0 });
/**
 * @param {string} words
 * @param {HTMLElement} input
 */
const label = (words, input) => h("label", `${words} `, input);
/**
 * @param {string} words
 * @param {...HTMLElement} parts
 */
const row = (words, ...parts) => h("div.kv-whatif-row", { role: "group", label: words }, h("span.kv-caption", words), ...parts);

/**
 * Fills a list of choices; what was chosen stays chosen, if it is still there.
 * @param {HTMLSelectElement} node
 * @param {Array<[string, string]>} options
 * @param {string | undefined} [wanted]
 */
function fill(node, options, wanted = node.value) {
  node.replaceChildren(...options.map(([value, words]) => h("option", { value }, words)));
  if (options.some(([value]) => value === wanted)) node.value = wanted;
}
