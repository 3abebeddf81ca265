// Predict, then reveal: one question at a time. The answer is a synced value, so a lesson can see it.

import { h, show, text } from "./dom.js";

export class Question {
  constructor(app) {
    this.app = app;
    this.caption = h("h3", { class: "kv-caption", text: "Predict" });
    this.words = h("p", { class: "kv-ask" });
    this.options = h("div", { class: "kv-options", role: "group" });
    this.said = h("p", { class: "kv-reveal", role: "status" });
    this.go = h("button", { type: "button", class: "kv-link", text: "show what happens", onclick: () => app.guard(() => app.go(this.shown.step, "big")) });
    this.element = h("section", { class: "kv-question", "aria-label": "Predict" }, this.caption, this.words, this.options, this.said, this.go);
  }

  /** The question to show: one revealed within this big step, else the next one to answer. */
  pick(line, step) {
    const asked = this.app.questions.filter((question) => (question.ask ?? 0) <= step);
    const revealed = asked.filter((question) => question.step <= step && line.bigAt[question.step] === line.bigAt[step]);
    return revealed[revealed.length - 1] ?? asked.find((question) => question.step > step);
  }

  update(line, step) {
    const found = this.pick(line, step);
    const question = found && this.app.onMain(found.ask ?? 0) ? found : undefined;
    show(this.element, Boolean(question));
    if (!question) return;
    this.shown = question;
    const answer = this.app.answers[question.id];
    const revealed = step >= question.step;
    text(this.caption, revealed ? "The answer" : "Predict");
    text(this.words, question.text);
    if (this.drawn !== question) this.drawOptions(question);
    [...this.options.children].forEach((button, n) => {
      const option = question.options[n];
      button.setAttribute("aria-pressed", String(answer === n));
      button.disabled = revealed;
      button.classList.toggle("kv-right", revealed && option.right);
      text(button.lastChild, revealed && option.right ? " ✓" : revealed && answer === n ? " (your answer)" : "");
    });
    show(this.said, revealed || answer !== undefined);
    show(this.go, !revealed && answer !== undefined);
    text(this.said, revealed ? verdict(question, answer) : "Kept. Step on, or:");
  }

  drawOptions(question) {
    this.drawn = question;
    this.options.replaceChildren(
      ...question.options.map((option, n) =>
        h("button", { type: "button", onclick: () => this.app.guard(() => this.app.answer(question.id, n)) }, h("span", { text: option.text }), h("span")),
      ),
    );
  }

  /** Whether stepping on from here would reveal a question nobody has answered. */
  holds(step, next) {
    return this.app.questions.some((q) => step < q.step && next >= q.step && this.app.answers[q.id] === undefined);
  }
}

function verdict(question, answer) {
  const right = question.options.find((option) => option.right);
  const chosen = question.options[answer];
  if (!chosen) return right ? `It is “${right.text}”. ${right.say}` : "";
  if (chosen.right) return `You were right. ${chosen.say}`;
  return right ? `Not so: it is “${right.text}”. ${chosen.say} ${right.say}` : chosen.say;
}
