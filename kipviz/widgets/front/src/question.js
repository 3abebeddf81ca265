// Predict, then reveal. Two kinds of question share one place: those of the story, revealed when the
// story gets there, and predictions made from what is possible, which the key q asks at any step.
// What was revealed once is closed for good: Python counts only what was said before.

import { Keyed, aria, h, heard, show, text } from "./dom.js";

const KIND = { next: "n", cannot: "c", answer: "a" };

export class Question {
  constructor(app) {
    this.app = app;
    this.caption = h("h3.kv-caption", "Predict");
    this.words = h("p.kv-ask");
    this.options = h("div.kv-options", { role: "group" });
    this.said = h("div.kv-reveal", { role: "status" });
    this.go = h("button.kv-link", { onclick: () => this.reveal() });
    this.element = h("section.kv-question", { label: "Predict" }, this.caption, this.words, this.options, this.said, this.go);
    this.list = new Keyed(this.options, () => h("button", h("kbd"), h("span"), h("span")), (node, entry) => this.drawOption(node, entry));
    this.asked = null; // the prediction on screen
    this.takesKeys = false; // whether number keys answer
    this.always = false; // whether every step asks
  }

  // -- which question ---------------------------------------------------------------------------------

  /** The story's question to show: one revealed within this big step, else the next one to answer. */
  pick(line, step) {
    const asked = this.app.questions.filter((question) => (question.ask ?? 0) <= step);
    const revealed = asked.filter((question) => question.step <= step && line.bigAt[question.step] === line.bigAt[step]);
    const found = revealed[revealed.length - 1] ?? asked.find((question) => question.step > step);
    return found && this.app.onMain(found.ask ?? 0) ? found : undefined;
  }

  /** The prediction of a step, or undefined where there is nothing to tell apart. */
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
    if (story && !this.isRevealed(story) && this.app.answers[story.id] === undefined && !this.takesKeys) {
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
    this.asked = null;
    this.takesKeys = false;
    this.always = false;
    this.app.draw();
  }

  // -- answering and revealing ------------------------------------------------------------------------

  get question() {
    return this.asked ?? this.shown;
  }

  isRevealed(question) {
    return this.app.revealed.includes(question.id);
  }

  /** Whether a question of the story was not revealed yet. */
  get open() {
    return this.app.questions.some((question) => !this.isRevealed(question));
  }

  /** Whether the choices of this step have to stay hidden, because they are the answer. */
  get hides() {
    return Boolean(this.asked) && !this.isRevealed(this.asked);
  }

  /** A number key; says whether it was for a question. */
  press(n) {
    if (!this.takesKeys || !this.question || this.isRevealed(this.question)) return false;
    if (n <= this.question.options.length) this.app.answer(this.question.id, n - 1);
    return true;
  }

  /** A step forward; says whether it was used to reveal the answer. */
  forward() {
    if (!this.hides) return false;
    this.reveal();
    return true;
  }

  reveal() {
    const { question } = this;
    if (this.asked) return this.app.showAnswers([question.id]);
    return this.app.go(question.step, "big");
  }

  /** Whether stepping on from here would reveal a question nobody has answered. */
  holds(step, next) {
    return this.app.questions.some((q) => step < q.step && next >= q.step && this.app.answers[q.id] === undefined);
  }

  /** Closes for good what the reader has seen by standing here. */
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

  update(line, step) {
    if (this.asked && (this.asked.line !== line || this.asked.at !== step)) {
      this.asked = this.always ? this.predictionAt(line, step) : null;
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
    this.element.classList.toggle("kv-told", revealed);
    this.list.draw(question.options.map((option, n) => ({ option, n, answer, question })), ({ n }) => `${question.id} ${n}`);
    show(this.said, revealed || answer !== undefined);
    show(this.go, question !== NOTHING && !revealed && (answer !== undefined || Boolean(this.asked)));
    text(this.go, this.asked ? "show the answer (→)" : "show what happens");
    const lines = revealed ? (this.asked ? reasons(question, answer) : [verdict(question, answer)]) : [this.asked ? "Saved. You can still change it." : "Saved. Step forward, or:"];
    if (this.saidLines !== lines.join("\n")) {
      this.saidLines = lines.join("\n");
      this.said.replaceChildren(...lines.map((words) => h("p", words)));
    }
  }

  drawOption(button, { option, n, answer, question }) {
    const [key, words, sign] = button.children;
    show(key, this.takesKeys && !this.revealed);
    text(key, n + 1);
    text(words, option.text);
    aria(button, "pressed", answer === n);
    button.disabled = this.revealed;
    button.classList.toggle("kv-right", this.revealed && option.right);
    text(sign, this.revealed && option.right ? (answer === n ? " ✓ your answer" : " ✓") : this.revealed && answer === n ? " ✗ your answer" : "");
    button.onclick = heard(button, () => this.app.answer(question.id, n));
  }
}

const NOTHING = { id: "", text: "No question here: this step has no alternatives.", options: [], step: Infinity };

function verdict(question, answer) {
  const right = question.options.find((option) => option.right);
  const chosen = question.options[answer];
  if (!chosen) return right ? `It is “${right.text}”. ${right.say}` : "";
  if (chosen.right) return `Correct. ${chosen.say}`;
  return right ? `Not quite: it is “${right.text}”. ${chosen.say} ${right.say}` : chosen.say;
}

/** What is to be said of every option, the right one first. */
function reasons(question, answer) {
  const opening = answer === undefined ? "Not answered." : question.options[answer].right ? "Correct." : "Not quite.";
  const sorted = [...question.options].sort((a, b) => b.right - a.right);
  return [opening, ...sorted.map((option) => `${option.right ? "✓" : "–"} ${option.text}: ${option.say}`)];
}
