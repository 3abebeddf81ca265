// Predict, then reveal. Two kinds of question share one place: those of the story, revealed when the
// story gets there, and predictions made from what is possible, which the key q asks at any step.
// What was revealed once is closed for good: Python counts only what was said before.

import { Keyed, aria, h, heard, inside, show, text } from "../dom/dom.js";

/** @import { Line } from "../lines/line.js" */
/** @import { App, Asking } from "../../types/app" */
/** @import { Option } from "../../types/payload" */

/** What stands at the end of a list that would tell the answer to an open question. */
export const LATER = "What comes after the question is listed when its answer was shown.";

/** @type {Record<string, string>} */
const KIND = { next: "n", cannot: "c", answer: "a" };

export class Question {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.caption = h("h3.kv-caption", "Predict");
    this.words = h("p.kv-ask");
    this.options = h("div.kv-options", { role: "group" });
    this.said = h("div.kv-reveal", { role: "status" });
    this.go = h("button.kv-link", { onclick: () => this.reveal() });
    this.element = h("section.kv-question", { label: "Predict" }, this.caption, this.words, this.options, this.said, this.go);
    this.list = new Keyed(this.options, () => h("button", h("kbd"), h("span"), h("span")), (node, entry) => this.drawOption(node, entry));
    /** @type {Line | null} */
    this.toldLine = null;
    /** @type {import("../../types/payload").Question | null} */
    this.toldOf = null; // of which line and question `told` is
    this.told = Infinity;
    /** @type {Asking | undefined} */
    this.asked = undefined; // the prediction on screen
    /** @type {import("../../types/payload").Question | undefined} */
    this.shown = undefined; // the story's question on screen
    /** @type {number | undefined} */
    this.nothing = undefined; // the step at which there was nothing to ask
    /** @type {Line | null} */
    this.seenLine = null;
    /** @type {Array<{ id: string, step: number }>} */
    this.later = []; // the predictions of that line that a later step reveals
    this.saidLines = "";
    this.late = this.revealed = false;
    this.takesKeys = false; // whether number keys answer
    this.always = false; // whether every step asks
  }

  // -- which question ---------------------------------------------------------------------------------

  /**
   * The story's question to show: one revealed within this big step, else the next one to answer.
   * @param {Line} line
   * @param {number} step
   */
  pick(line, step) {
    const asked = this.app.questions.filter((question) => (question.ask ?? 0) <= step);
    const revealed = asked.filter((question) => question.step <= step && line.bigAt[question.step] === line.bigAt[step]);
    const found = revealed[revealed.length - 1] ?? asked.find((question) => question.step > step);
    return found && this.app.onMain(found.ask ?? 0) ? found : undefined;
  }

  /**
   * The prediction of a step, or undefined where there is nothing to tell apart.
   * @param {Line} line
   * @param {number} step
   */
  predictionAt(line, step) {
    const packed = line.asks.get(step);
    if (!packed) return undefined;
    const { texts, question } = packed;
    const [, kind, words, reveal, options] = question;
    return {
      id: `${KIND[kind]}${line.steps[step].node}`,
      line,
      at: step,
      step: reveal,
      text: texts[words],
      options: options.map(([option, right, say]) => ({ text: texts[option], right: Boolean(right), say: texts[say] })),
    };
  }

  /** Asks at this step (key q): first the story's question, if that is open, then a prediction. */
  ask() {
    const { line, at } = this.app;
    if (this.asked) return this.close();
    const story = this.pick(line, at);
    if (story && !this.late && !this.isRevealed(story) && this.app.answers[story.id] === undefined && !this.takesKeys) {
      this.takesKeys = true;
      return this.app.draw();
    }
    this.asked = this.predictionAt(line, at);
    this.takesKeys = Boolean(this.asked);
    this.nothing = this.asked ? undefined : at;
    return this.app.draw();
  }

  /** Asks at every step from here on, or no longer (Shift and q). */
  askAlways() {
    this.always = !this.always;
    if (!this.always) return this.close();
    return this.asked ? undefined : this.ask();
  }

  close() {
    this.asked = undefined;
    this.takesKeys = false;
    this.always = false;
    this.app.draw();
  }

  // -- answering and revealing ------------------------------------------------------------------------

  get question() {
    return this.asked ?? this.shown;
  }

  /** @param {Asking} question */
  isRevealed(question) {
    return this.app.revealed.includes(question.id);
  }

  /** Whether a question of the story was not revealed yet. */
  get open() {
    return this.app.questions.some((question) => !this.isRevealed(question));
  }

  /**
   * The first step that tells the answer to an open question of the story: its part begins there, or a property
   * breaks before. Nothing from there on is listed or marked, and from there on nobody predicts any more.
   * @param {Line} line
   */
  tellsAt(line) {
    const open = line.id === 0 ? this.app.questions.find((question) => !this.isRevealed(question)) : undefined;
    if (!open) return Infinity;
    if (this.toldLine !== line || this.toldOf !== open) {
      const broken = [...line.flags].find(([, what]) => what === "broken");
      const begins = line.bigs[line.bigAt[open.step]]?.from ?? open.step;
      Object.assign(this, { toldLine: line, toldOf: open, told: Math.max(1, Math.min(begins, broken?.[0] ?? Infinity)) });
    }
    return this.told;
  }

  /**
   * The last step of which a list may tell something that the reader has not seen.
   * @param {Line} line
   * @param {number} step
   */
  listedUntil(line, step) {
    return Math.min(line.last, Math.max(step, this.tellsAt(line) - 1));
  }

  /** Whether the choices of this step have to stay hidden, because they are the answer. */
  get hides() {
    return this.asked !== undefined && !this.isRevealed(this.asked);
  }

  /**
   * A number key; says whether it was for a question.
   * @param {number} n
   */
  press(n) {
    if (!this.takesKeys || !this.question || this.isRevealed(this.question)) return false;
    if (n <= this.question.options.length) this.choose(n - 1);
    return true;
  }

  /** @param {number} n */
  choose(n) {
    if (!this.late && this.question) this.app.answer(this.question.id, n);
  }

  /** A step forward; says whether it was used to reveal the answer. */
  forward() {
    if (!this.hides) return false;
    this.reveal();
    return true;
  }

  reveal() {
    if (this.asked) this.app.showAnswers([this.asked.id]);
    else if (this.shown) this.app.go(this.shown.step, "big");
  }

  /**
   * Whether stepping on from here would reveal a question nobody has answered.
   * @param {number} step
   * @param {number} next
   */
  holds(step, next) {
    const tells = this.tellsAt(this.app.line);
    return step < tells && next >= tells && this.app.questions.some((q) => !this.isRevealed(q) && this.app.answers[q.id] === undefined);
  }

  /**
   * Closes for good what the reader has seen by standing here.
   * @param {Line} line
   * @param {number} step
   */
  seen(line, step) {
    if (this.seenLine !== line) {
      const asks = [...line.asks].filter(([, { question }]) => question[3] >= 0);
      this.seenLine = line;
      this.later = asks.map(([at, { question }]) => ({ id: `${KIND[question[1]]}${line.steps[at].node}`, step: question[3] }));
    }
    const stories = this.app.questions.filter((q) => this.app.onMain(q.step));
    return [...stories, ...this.later].filter((q) => q.step <= step).map((q) => q.id);
  }

  // -- drawing ----------------------------------------------------------------------------------------

  /**
   * @param {Line} line
   * @param {number} step
   */
  update(line, step) {
    if (this.asked && (this.asked.line !== line || this.asked.at !== step)) {
      this.asked = this.always ? this.predictionAt(line, step) : undefined;
      this.takesKeys = Boolean(this.asked);
    } else if (this.always && !this.asked) {
      this.asked = this.predictionAt(line, step);
      this.takesKeys = Boolean(this.asked);
    }
    if (this.nothing !== step) this.nothing = undefined;
    this.shown = this.pick(line, step);
    const question = this.nothing === undefined ? this.question : NOTHING;
    show(this.element, Boolean(question));
    if (!question) return;
    const answer = this.app.answers[question.id];
    const revealed = question !== NOTHING && (this.isRevealed(question) || (!this.asked && step >= question.step));
    text(this.caption, revealed ? "The answer" : "Predict");
    text(this.words, question.text);
    this.revealed = revealed;
    this.late = !revealed && !this.asked && question !== NOTHING && step >= this.tellsAt(line);
    this.element.classList.toggle("kv-told", revealed);
    this.list.draw(question.options.map((option, n) => ({ option, n, answer })), ({ n }) => `${question.id} ${n}`);
    show(this.said, revealed || this.late || answer !== undefined);
    show(this.go, question !== NOTHING && !revealed && (answer !== undefined || this.late || Boolean(this.asked)));
    text(this.go, this.asked ? "show the answer (→)" : "show what happens");
    const lines = revealed ? (this.asked ? reasons(question, answer) : [verdict(question, answer)]) : [this.asked ? "Saved. You can still change it." : waiting(this.late, answer)];
    if (this.saidLines !== lines.join("\n")) {
      this.saidLines = lines.join("\n");
      this.said.replaceChildren(...lines.map((words) => h("p", words)));
    }
  }

  /**
   * @param {HTMLButtonElement} button
   * @param {{ option: Option, n: number, answer?: number }} told
   */
  drawOption(button, { option, n, answer }) {
    const [key, words, sign] = inside(button);
    button.disabled = this.revealed || this.late;
    show(key, this.takesKeys && !button.disabled);
    text(key, n + 1);
    text(words, option.text);
    aria(button, "pressed", answer === n);
    button.classList.toggle("kv-right", this.revealed && option.right);
    text(sign, this.revealed && option.right ? (answer === n ? " ✓ your answer" : " ✓") : this.revealed && answer === n ? " ✗ your answer" : "");
    button.onclick = heard(button, () => this.choose(n));
  }
}

/** @type {Asking} */
const NOTHING = { id: "", text: "No question here: this step has no alternatives.", options: [], step: Infinity };

/**
 * What is said of a question of the story before its answer.
 * @param {boolean} late
 * @param {number | undefined} answer
 */
function waiting(late, answer) {
  if (!late) return "Saved. Step forward, or:";
  return answer === undefined ? "This part shows the answer. Step back to predict it first, or:" : "Saved. This part shows the answer:";
}

/**
 * @param {Asking} question
 * @param {number | undefined} answer
 */
function verdict(question, answer) {
  const right = question.options.find((option) => option.right);
  const chosen = question.options[answer ?? -1];
  if (!chosen) return right ? `It is “${right.text}”. ${right.say}` : "";
  if (chosen.right) return `Correct. ${chosen.say}`;
  return right ? `Not quite: it is “${right.text}”. ${chosen.say} ${right.say}` : chosen.say;
}

/**
 * What is to be said of every option, the right one first.
 * @param {Asking} question
 * @param {number | undefined} answer
 */
function reasons(question, answer) {
  const opening = answer === undefined ? "Not answered." : question.options[answer].right ? "Correct." : "Not quite.";
  const sorted = [...question.options].sort((a, b) => Number(b.right) - Number(a.right));
  return [opening, ...sorted.map((option) => `${option.right ? "✓" : "–"} ${option.text}: ${option.say}`)];
}
