// The run that a stepper shows: its lines, the one with the cursor, and what its reader has chosen and answered.

import { Frame } from "./frame.js";
import { lengthen } from "../lines/branching.js";
import { parting } from "../lines/line.js";
import { Lines } from "../lines/lines.js";

/** @import { Line } from "../lines/line.js" */
/** @import { Growth, Model } from "../../types/page" */
/** @import { Noted } from "../../types/parts" */
/** @import { Payload, Selection } from "../../types/payload" */

export class Run extends Frame {
  /**
   * @param {Model} model
   * @param {Payload} payload
   */
  constructor(model, payload) {
    super(model, `Stepper: ${payload.untold || payload.title}`, payload);
    this.payload = payload;
    this.questions = payload.questions ?? [];
    this.lines = new Lines(payload, model.get("branches"));
    this.lines.tidy(model.get("tree") ?? {});
    this.line = this.lines.get(model.get("branch") ?? 0);
    /** @type {{ line: Line, at: number, words: string } | null} */
    this.said = null; // what Python answered last, and where the reader was
    this.standAt(model.get("step") ?? 0);
  }

  get last() {
    return this.line.last;
  }

  /** @param {number} at */
  endsBig(at) {
    return this.line.endsBig(at);
  }

  get notables() {
    return this.line.marked;
  }

  /**
   * The next step with these words in its title or its big step's, from the cursor on, around the end.
   * @param {string} words
   */
  titled(words) {
    const wanted = words.toLowerCase();
    const { steps, bigs, bigAt } = this.line;
    /** @param {number} k */
    const has = (k) => steps[k].title.toLowerCase().includes(wanted) || (bigs[bigAt[k]]?.from === k && bigs[bigAt[k]].title.toLowerCase().includes(wanted));
    for (let n = 1; n <= steps.length; n++) {
      const k = (this.at + n) % steps.length;
      if (has(k)) return k;
    }
    return undefined;
  }

  heardStep() {
    const branch = this.model.get("branch");
    const step = this.model.get("step");
    if (branch === this.line.id && step === this.at) return;
    if (branch !== this.line.id && this.lines.ids.includes(branch)) this.line = this.lines.get(branch);
    this.standAt(step);
    this.draw();
  }

  /**
   * A served cluster's run goes on: who looks at its newest step goes with it.
   * @param {Growth} told
   */
  lengthen(told) {
    const { payload } = this;
    if (told.at >= payload.steps.length) return this.model.send?.({ do: "whole" });
    // Every display of this run is told; the first one adds to the payload that they share.
    if (told.grown > (payload.grown ?? 0)) lengthen(payload, told);
    const follows = this.line.id === 0 && this.at === this.last;
    this.lines.lengthened(payload);
    this.line = this.lines.get(this.line.id);
    return follows ? this.go(this.last, "small") : this.draw();
  }

  /**
   * Goes to another line: to the same step, or to where the two part if that comes first.
   * @param {number} id
   * @param {boolean} [same]
   */
  switchTo(id, same = false) {
    const line = this.lines.get(id);
    if (line === this.line) return;
    this.follow(line, Math.min(this.at, line.last, same ? Infinity : parting(line, this.line)));
  }

  /**
   * @param {Line} line
   * @param {number} at
   */
  follow(line, at) {
    this.line = line;
    this.keep({ branch: line.id });
    this.go(at, "small");
  }

  /**
   * @param {number} change
   * @param {boolean} same
   */
  nextBranch(change, same) {
    const { ids } = this.lines;
    if (ids.length < 2) return;
    this.switchTo(ids[(ids.indexOf(this.line.id) + change + ids.length) % ids.length], same);
  }

  get answers() {
    return this.model.get("answers") ?? {};
  }

  get revealed() {
    return this.model.get("revealed") ?? [];
  }

  get reached() {
    return this.model.get("reached") ?? [];
  }

  /**
   * @param {string} question
   * @param {number} option
   */
  answer(question, option) {
    if (this.revealed.includes(question)) return;
    this.keep({ answers: { ...this.answers, [question]: option } });
    this.draw();
  }

  /**
   * Closes questions for good: what is said from now on does not count.
   * @param {string[]} questions
   */
  showAnswers(questions) {
    this.keepAlso("revealed", questions);
    this.draw();
  }

  /**
   * @param {Noted} name
   * @param {string[]} items
   */
  keepAlso(name, items) {
    const known = new Set(this[name]);
    const news = items.filter((item) => !known.has(item));
    if (news.length) this.keep({ [name]: [...known, ...news] });
  }

  /** @param {number} step */
  onMain(step) {
    return this.line.steps[step] === this.lines.get(0).steps[step] && (this.line.id === 0 || this.at <= this.line.at);
  }

  /** @param {Selection | null} selection */
  select(selection) {
    const old = this.selection;
    const same = old?.kind === selection?.kind && old?.id === selection?.id;
    this.keep({ selection: same || !selection ? {} : selection });
    this.draw();
  }

  /**
   * @param {string} kind
   * @param {string} id
   */
  isSelected(kind, id) {
    const chosen = this.selection;
    return chosen.kind === kind && chosen.id === id;
  }
}
