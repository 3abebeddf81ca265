// The step in one sentence, large enough for the last row of a lecture hall; why opens above it.

import { pieces } from "../dom/breakable.js";
import { attr, h, show, text } from "../dom/dom.js";
import { titleOf } from "../lines/line.js";
import { tone } from "../dom/words.js";

/** @import { Frame } from "./frame.js" */
/** @import { FrameMoment } from "../../types/parts" */
/** @import { Step } from "../../types/payload" */

// How wide a letter is, what stands beside the lines, and what an alarm leaves of them.
const LETTER = 9.5;
const SIDES = 36;
const RAGGED = 4; // letters that a line leaves empty, because its next word does not fit
const BESIDE = 0.53;
const BESIDE_LONG = 0.44;
// The same of what breaks, which is smaller: a long one has half of the width, and one line more.
const ALARM_LETTER = 7.2;
const ALARM_LINES = 4;
const [LENT, LENT_SLIM, LENT_LOW] = [22, 8, 24];

const LARGER = 1.45; // of the letters that a class reads

export class Sentence {
  /**
   * @param {Frame} app
   * @param {Record<string, string>} [glossary] sentences by the terms that they explain
   */
  constructor(app, glossary = {}) {
    this.app = app;
    this.glossary = glossary;
    this.lent = 0;
    this.told = "";
    /** @type {Map<string, string>} */
    this.terms = new Map();
    /** @type {Step | null} */
    this.at = null;
    /** @type {Step | null} */
    this.drawnWhy = null;
    this.context = h("p.kv-context");
    this.words = h("p.kv-say");
    this.alarm = h("p.kv-alarm");
    this.why = h("dl.kv-why", { id: app.name("why") });
    show(this.why, false);
    // One live region for all that is said of a step: what breaks is heard, too.
    this.spoken = h("div.kv-spoken", { role: "status", "aria-live": "polite", tabindex: 0 }, this.context, this.words, this.alarm);
    this.element = h("section.kv-bottom", { label: "This step" }, this.why, this.spoken);
  }

  /** @param {FrameMoment} told */
  update({ line, step, grain, broken }) {
    const at = line.steps[step];
    const big = line.bigs[line.bigAt[step]];
    const whole = grain === "big" && line.endsBig(step);
    text(this.context, big ? titleOf(big, line.bigAt[step] + 1, step) : "");
    show(this.context, Boolean(big));
    const words = whole && big.say ? big.say : at.sentence;
    if (this.told !== words) {
      this.told = words;
      this.words.replaceChildren(...this.explained(words));
    }
    attr(this.element, "data-tone", tone(whole ? "calm" : at.tone));
    show(this.alarm, broken.length > 0);
    text(this.alarm, broken.map((verdict) => `⚠ ${verdict.property}: ${verdict.reason || verdict.sentence}`).join(" · "));
    this.fit(words, broken.length > 0);
    if (!this.why.hidden) this.drawWhy(at);
    this.at = at;
  }

  /**
   * Says how long a sentence is for its room, counted in letters: to measure it would cost a layout at every step.
   * @param {string} words
   * @param {boolean} alarmed
   */
  fit(words, alarmed) {
    const { wide, root } = this.app;
    const { low, slim } = root.dataset;
    const zoom = this.app.presenting ? LARGER : 1;
    const room = slim === undefined ? 0.42 : 0.47;
    const long = alarmed && this.alarm.textContent.length > ALARM_LINES * ((wide * room - SIDES) / ALARM_LETTER - RAGGED);
    attr(this.spoken, "data-long", long ? "" : null);
    this.lend(low !== undefined ? (alarmed ? LENT_LOW : 0) : !long ? 0 : slim !== undefined ? LENT_SLIM : LENT);
    const letters = ((wide - SIDES) * (long ? BESIDE_LONG : alarmed ? BESIDE : 1)) / (LETTER * zoom) - RAGGED;
    const [whole, bare, more] = low !== undefined ? [2, 2, 2] : slim !== undefined ? [4, 4, 3.8] : [3, 2, 3.2];
    const lines = words.length / letters;
    const heading = this.context.hidden || alarmed ? 0 : Math.ceil(this.context.textContent.length / letters);
    const size = lines > more ? "many" : lines > bare ? "more" : Math.ceil(lines) + heading > whole ? "alone" : null;
    attr(this.spoken, "data-lines", size);
  }

  /**
   * Takes so many pixels of the diagram's height.
   * @param {number} pixels
   */
  lend(pixels) {
    if (this.lent === pixels) return;
    this.lent = pixels;
    this.app.root.style.setProperty("--kv-lent", `${pixels}px`);
  }

  /**
   * A sentence with its terms explained: by hovering over one, and with all others under why.
   * @param {string} words
   */
  explained(words) {
    const { glossary } = this;
    this.terms.clear();
    const terms = Object.keys(glossary).sort((a, b) => b.length - a.length);
    if (!terms.length) return pieces(words);
    const found = new RegExp(`(?<![\\w.])(${terms.map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})(?!\\w)`);
    return words.split(found).flatMap((part) => {
      if (!(part in glossary)) return pieces(part);
      this.terms.set(part, glossary[part]);
      return h("abbr", { title: glossary[part] }, ...pieces(part));
    });
  }

  /** @param {Step} at */
  drawWhy(at) {
    if (this.drawnWhy === at) return;
    this.drawnWhy = at;
    const why = at.why ?? {};
    /** @type {Array<[string, string | Array<[string, string]>, string?]>} */
    const rows = [["message", at.sentence]];
    if (why.rule) rows.push(["rule", why.rule.replaceAll("_", " ")]);
    if (why.guards?.length) rows.push(["because", why.guards]);
    if (why.clause) rows.push(["clause", why.clause, why.status]);
    if (why.kafka) rows.push(["Kafka", why.kafka]);
    if (rows.length === 1) rows.push(["rule", "Nothing is recorded for this step."]);
    for (const [term, sentence] of this.terms) rows.push([term, sentence]);
    this.why.replaceChildren(...rows.map((row) => this.row(...row)));
  }

  /**
   * @param {string} name
   * @param {string | Array<[string, string]>} value
   * @param {string} [status]
   */
  row(name, value, status) {
    const node = h("dd", { class: `kv-why-${name.toLowerCase()}` });
    if (Array.isArray(value)) node.append(...value.map(([guard, found]) => h("span.kv-guard", h("span.kv-dim", `${guard} `), h("b", found))));
    else node.append(h("span", value));
    if (status) node.append(h("span.kv-status", { "data-status": status }, status));
    return h("div", h("dt", name), node);
  }

  toggle(open = this.why.hidden === true) {
    show(this.why, open);
    if (open && this.at) this.drawWhy(this.at);
    return open;
  }
}
