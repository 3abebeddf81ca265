// What a scenario is taught with: what to watch for at this step, and checkpoints that the reader's
// own run reaches. Nobody ticks one off by hand.

import { Keyed, aria, h, show, text } from "../dom/dom.js";

/** @import { Line } from "../lines/line.js" */
/** @import { App } from "../../types/app" */
/** @import { Watch } from "../../types/payload" */

export class Lesson {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    const { watch = [], checkpoints = [] } = app.payload.lesson ?? {};
    this.watch = watch;
    this.checkpoints = checkpoints;
    this.key = ""; // what the list of checkpoints says
    this.place = -1;
    /** @type {string[] | null} */
    this.last = null; // the goals that were reached when this was drawn last
    this.notes = h("ul.kv-watch-list");
    this.watching = h("div.kv-watch", h("h3.kv-caption", "Watch for"), this.notes);
    this.count = h("span");
    this.button = h("button.kv-checkpoint-button", { "aria-expanded": "false", onclick: () => this.toggle() }, h("span", "Checkpoints "), this.count);
    this.list = h("ul.kv-checkpoint-list");
    this.said = h("p.kv-reached", { role: "status" });
    this.element = h("section.kv-lesson", { label: "Lesson" }, this.button, this.watching, this.list, this.said);
    this.drawn = new Keyed(this.notes, ({ text: words }) => h("li", words), null);
    show(this.list, false);
    show(this.button, checkpoints.length > 0);
  }

  toggle() {
    show(this.list, this.list.hidden === true);
    aria(this.button, "expanded", !this.list.hidden);
  }

  /**
   * The goals at which the reader stands.
   * @param {Line} line
   * @param {number} step
   */
  goalsAt(line, step) {
    return line.goals.filter((span) => span.from <= step && (span.to === null || step < span.to)).map((span) => span.goal);
  }

  /**
   * @param {Line} _line
   * @param {number} step
   */
  update(_line, step) {
    const main = this.app.onMain(step);
    // What to watch for while a question's own beat is played is said when it was revealed: it may tell the answer.
    const pending = this.app.questions.filter((question) => !this.app.revealed.includes(question.id));
    /** @param {Watch} note */
    const early = (note) => pending.some((question) => note.from < question.step && (note.to === null || note.to > question.step));
    const notes = main ? this.watch.filter((note) => note.from <= step && (note.to === null || step < note.to) && !early(note)) : [];
    show(this.watching, notes.length > 0);
    this.drawn.draw(notes, (note) => note.text);
    const { reached, revealed, answers } = this.app;
    const done = this.checkpoints.filter(({ goal }) => reached.includes(goal));
    const { right, answered } = this.app.model.get("score") ?? {};
    text(this.count, `${done.length} of ${this.checkpoints.length} done${answered ? ` · right ${right} of ${answered}` : ""}`);
    const key = `${reached.join()} ${revealed.length} ${Object.keys(answers).length}`;
    if (this.key !== key) {
      this.key = key;
      this.list.replaceChildren(...this.checkpoints.map(({ goal, text: words }) => h("li", { class: reached.includes(goal) ? "kv-done" : null }, `${reached.includes(goal) ? "☑" : "☐"} ${words}`)));
    }
    const fresh = done.find(({ goal }) => this.last && !this.last.includes(goal));
    if (fresh) text(this.said, `☑ Checkpoint: you ${fresh.text}.`);
    else if (this.place !== step) text(this.said, "");
    this.place = step;
    this.last = [...reached];
    show(this.element, notes.length > 0 || this.checkpoints.length > 0);
  }
}
