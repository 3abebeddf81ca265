// Find: words, a lane, a kind of message, a state, a verdict, faults. What is found is counted,
// marked in the strip, jumped to, played to, or all that is shown. Chapters stand beside it.

import { Keyed, attr, first, h, heard, last, need, press, show, text } from "../dom/dom.js";
import { Drawer } from "../frame/panels.js";
import { LATER } from "../learning/question.js";
import { STATE_WORD } from "../dom/words.js";

/** @import { Line } from "../lines/line.js" */
/** @import { App } from "../../types/app" */
/** @import { FindState, ListItem, Sought } from "../../types/parts" */
/** @import { Message, Note } from "../../types/payload" */

const LIST_MAX = 40;
const ANY = "";
const CHAPTER_SIGN = { big: "§", fault: "▽", broken: "⚠", state: "◆" };

/**
 * A message's kind: its label without numbers.
 * @param {Message} message
 */
export const kindOf = (message) => message.label.replace(/[\d#]+/g, "").trim();

/** @extends {Drawer<App>} */
export class Find extends Drawer {
  /** @param {App} app */
  constructor(app) {
    super(app, { name: "find", title: "Find, filter, run until", key: "/" });
    // What was searched last.
    /** @type {Line | null} */
    this.foundOn = null;
    /** @type {Line | null} */
    this.offered = null;
    this.offeredUntil = -1;
    this.key = "";
    this.marks = new Uint8Array();
    /** @type {number[]} */
    this.found = [];
    /** @type {FindState[]} */
    this.states = [];
    /** @type {number | undefined} */
    this.stopAt = undefined;
    this.waiting = 0;
    const changed = () => this.changed();
    this.words = h("input.kv-find-words", { type: "text", label: "words to find", placeholder: "words in sentences, messages, states", oninput: changed, onkeydown: (event) => this.typed(event) });
    /** @param {string} label */
    const list = (label) => h("select", { label, onchange: changed });
    this.lane = list("lane");
    this.message = list("kind of message");
    this.state = list("state or property");
    this.faults = h("input", { type: "checkbox", onchange: changed });
    this.only = h("input", { type: "checkbox", onchange: changed });
    this.count = h("span.kv-find-count", { role: "status" });
    this.previous = press("← previous", () => this.jump(-1), { title: "previous (Shift+Enter in the words)" });
    this.next = press("next →", () => this.jump(1), { title: "next (Enter in the words)" });
    this.play = press("run until", () => this.run(), { title: "plays to the next match and stops there" });
    this.clear = press("clear", () => this.forget());
    this.more = press("run until it happens", () => this.goOn(), { class: "kv-go-on" });
    this.hitList = h("ol.kv-find-list", { label: "found" });
    this.chapterList = h("ol.kv-find-list", { label: "chapters" });
    /** @param {HTMLElement} node */
    const row = (node) => new Keyed(node, () => h("li", h("button", h("b"), h("span"))), (li, item) => this.drawItem(li, item));
    this.later = h("p.kv-quiet", LATER);
    this.hitRows = row(this.hitList);
    this.chapterRows = row(this.chapterList);
    this.element.append(
      h("div.kv-find-row", this.words, this.lane, this.message, this.state, h("label", this.faults, " faults only")),
      h("div.kv-find-row", this.count, this.previous, this.next, this.play, h("label", this.only, " show only these"), this.clear, this.more),
      h("div.kv-find-lists", h("div", h("h3.kv-caption", "Found"), this.hitList), h("div", h("h3.kv-caption", "Chapters"), this.chapterList, this.later)),
    );
  }

  /** @param {boolean} open */
  toggle(open) {
    super.toggle(open);
    if (open) this.words.focus();
  }

  // -- what is asked ----------------------------------------------------------------------------------

  get asked() {
    const state = this.states[Number(this.state.value || -1)];
    return { text: this.words.value.trim().toLowerCase(), lane: this.lane.value, message: this.message.value, state, faults: this.faults.checked };
  }

  get empty() {
    const { text: words, lane, message, state, faults } = this.asked;
    return !words && !lane && !message && !state && !faults;
  }

  /**
   * The steps that are found on a line, as marks and as a list; null when nothing is asked.
   * @param {Line} line
   */
  hits(line) {
    if (this.empty) return null;
    const until = this.app.question.listedUntil(line, this.app.at);
    const key = `${until} ${JSON.stringify(this.asked)}`;
    if (this.foundOn !== line || this.key !== key) {
      Object.assign(this, { foundOn: line, key, marks: this.search(line, until, this.asked) });
      this.found = [...this.marks.keys()].filter((k) => this.marks[k]);
    }
    return this.marks;
  }

  /**
   * @param {Line} line
   * @param {number} until
   * @param {Sought} told
   */
  search(line, until, { text: words, lane, message, state, faults }) {
    const { texts } = line;
    const marks = new Uint8Array(line.steps.length);
    const begins = state?.property ? new Set(line.verdicts.filter((v) => v.property === state.property && v.state === state.state).map((v) => v.from)) : null;
    for (let k = 0; k <= until; k++) {
      if (words && !texts[k].includes(words)) continue;
      if (faults && !line.flags.has(k)) continue;
      if (begins && !begins.has(k)) continue;
      if (state?.note && !line.notesAt.get(k)?.some((note) => stateOf(note) === state.note)) continue;
      if (message && !line.arrivals.get(k)?.some((m) => kindOf(m) === message)) continue;
      if (lane && !touches(line, k, lane)) continue;
      marks[k] = 1;
    }
    return marks;
  }

  changed() {
    this.stopAt = undefined;
    this.app.draw();
  }

  forget() {
    this.words.value = "";
    for (const list of [this.lane, this.message, this.state]) list.value = ANY;
    this.faults.checked = this.only.checked = false;
    this.changed();
    this.words.focus();
  }

  // -- going there ------------------------------------------------------------------------------------

  /** @param {KeyboardEvent} event */
  typed(event) {
    if (event.key === "Enter") this.jump(event.shiftKey ? -1 : 1);
  }

  /** @param {number} way */
  jump(way) {
    const { at } = this.app;
    const step = this.beside(at, way);
    if (step !== undefined) this.app.go(step, "small");
  }

  /**
   * The next step that is shown while a filter hides the others, or undefined without one.
   * @param {number} at
   * @param {number} way
   */
  shown(at, way) {
    return this.only.checked ? this.beside(at, way) : undefined;
  }

  /**
   * The steps of a line that are shown alone, as marks; null while all are shown.
   * @param {Line} line
   */
  filter(line) {
    return this.only.checked ? this.hits(line) : null;
  }

  /**
   * @param {number} at
   * @param {number} way
   */
  beside(at, way) {
    if (!this.hits(this.app.line)) return undefined;
    return way > 0 ? this.found.find((k) => k > at) : this.found.findLast((k) => k < at);
  }

  /** Plays on; the next step that is found stops it. */
  run() {
    this.stopAt = this.beside(this.app.at, 1);
    if (this.stopAt !== undefined) this.app.player.start();
  }

  /**
   * Whether playing was asked to stop at this step.
   * @param {number} at
   */
  stops(at) {
    return this.stopAt === at;
  }

  /** Nothing on this line is like that: the model may go on until it is. */
  goOn() {
    const { text: words, message, state } = this.asked;
    const [kind, wanted] = state?.property ? ["property", state.property] : state ? ["state", state.note] : message ? ["message", message] : ["text", words];
    this.app.wish({ do: "until", kind, wanted, branch: this.app.line.id, step: this.app.at }, `run until ${wanted}`);
  }

  // -- drawing ----------------------------------------------------------------------------------------

  /**
   * @param {Line} line
   * @param {number} at
   */
  update(line, at) {
    const until = this.app.question.listedUntil(line, at);
    if (this.offered !== line || this.offeredUntil !== until) this.offer(line, until);
    const asked = this.hits(line) !== null;
    const found = asked ? this.found : [];
    const here = found.findLastIndex((k) => k <= at);
    const ahead = found.length - here - 1;
    text(this.count, asked ? `${found[here] === at ? `${here + 1} of ` : ""}${found.length} found` : "nothing asked");
    this.previous.disabled = !(found.length && found[0] < at);
    this.next.disabled = this.play.disabled = ahead === 0;
    this.clear.disabled = this.only.disabled = !asked;
    const { text: sought, message, state } = this.asked;
    show(need(this.hitList.parentElement, "the list"), asked);
    show(this.more, asked && ahead === 0 && Boolean(sought || message || (state && state.state !== "holds")));
    const first = Math.max(0, Math.min(here - LIST_MAX / 2, found.length - LIST_MAX));
    const { text: words } = this.asked;
    this.hitRows.draw(found.slice(first, first + LIST_MAX).map((k) => ({ step: k, sign: String(k), words: inContext(line, k, words), at: found[here] })), (item) => item.step);
    const chapters = line.chapters.filter((chapter) => chapter.step <= until);
    show(this.later, until < line.last);
    const now = chapters.findLastIndex((chapter) => chapter.step <= at);
    const begin = Math.max(0, Math.min(now - LIST_MAX / 2, chapters.length - LIST_MAX));
    this.chapterRows.draw(
      chapters.slice(begin, begin + LIST_MAX).map((one, n) => ({ step: one.step, sign: `${CHAPTER_SIGN[one.kind]} ${one.step}`, words: one.title, at: begin + n === now ? one.step : -1, kind: one.kind })),
      (item) => `${item.step} ${item.kind}`,
    );
    this.waiting ||= requestAnimationFrame(() => this.reveal());
  }

  /** Brings what stands at the cursor into view in both lists. */
  reveal() {
    this.waiting = 0;
    for (const list of [this.hitList, this.chapterList]) {
      const row = list.querySelector("[aria-current]")?.parentElement;
      if (row && (row.offsetTop < list.scrollTop || row.offsetTop + row.offsetHeight > list.scrollTop + list.clientHeight)) list.scrollTop = row.offsetTop - list.clientHeight / 2;
    }
  }

  /**
   * @param {HTMLElement} li
   * @param {ListItem} told
   */
  drawItem(li, { step, sign, words, at }) {
    const node = first(li);
    text(first(node), sign);
    text(last(node), words);
    attr(node, "aria-current", step === at ? "step" : null);
    node.onclick = heard(node, () => this.app.go(step, "small"));
  }

  /**
   * Fills the lists with what there is on this line; what was chosen stays chosen.
   * @param {Line} line
   * @param {number} until
   */
  offer(line, until) {
    Object.assign(this, { offered: line, offeredUntil: until });
    const kinds = [...new Set(line.messages.filter((m) => m.sent <= until).map(kindOf))].sort();
    const notes = [...new Set(line.notes.filter((note) => note.step <= until).map(stateOf))].sort();
    const verdicts = new Map(line.verdicts.filter((v) => v.from <= until).map((v) => [`${v.property}: ${STATE_WORD[v.state] ?? v.state}`, { property: v.property, state: v.state }]));
    const before = this.asked.state;
    this.states = [...notes.map((note) => ({ note })), ...verdicts.values()];
    fill(this.lane, "any lane", this.app.payload.lanes.map((lane) => [lane.id, lane.title]));
    fill(this.message, "any message", kinds.map((kind) => [kind, kind]));
    fill(this.state, "any state", [...notes.map((note) => `state ${note}`), ...verdicts.keys()].map((words, n) => [String(n), words]));
    const again = this.states.findIndex((one) => JSON.stringify(one) === JSON.stringify(before));
    this.state.value = again < 0 ? ANY : String(again);
  }
}

/**
 * A state's name in a note: "100-101 TX_PENDING" is one of TX_PENDING.
 * @param {Note} note
 */
const stateOf = (note) => note.text.replace(/^[\d,\s-]+/, "");

/**
 * A step's title, and what was found in it where that is not in the title.
 * @param {Line} line
 * @param {number} k
 * @param {string} words
 */
function inContext(line, k, words) {
  const { title } = line.steps[k];
  if (!words || title.toLowerCase().includes(words)) return title;
  const found = line.texts[k].split("\n").find((part) => part.includes(words)) ?? "";
  const start = Math.max(0, found.indexOf(words) - 24);
  return `${title} · ${start ? "…" : ""}${found.slice(start, start + 80)}`;
}

/**
 * @param {Line} line
 * @param {number} k
 * @param {string} lane
 */
function touches(line, k, lane) {
  return line.steps[k].actor === lane || (line.arrivals.get(k) ?? []).some((m) => m.from === lane || m.to === lane);
}

/**
 * @param {HTMLSelectElement} list
 * @param {string} any
 * @param {Array<[string, string]>} options
 */
function fill(list, any, options) {
  const { value } = list;
  list.replaceChildren(h("option", { value: ANY }, any), ...options.map(([id, words]) => h("option", { value: id }, words)));
  list.value = options.some(([id]) => id === value) ? value : ANY;
}
