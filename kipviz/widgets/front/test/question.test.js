// Which question stands at a step, what may be listed while it is open, and what steps and keys do then.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Lesson } from "../src/learning/lesson.js";
import { Question } from "../src/learning/question.js";
import { Lines } from "../src/lines/lines.js";
import { STEP, run } from "./run.js";

/** @import { Payload } from "../types/payload" */

const FIRST = { id: "q1", ask: 0, step: 4, text: "What?", options: [{ text: "a" }, { text: "b" }] };

/**
 * A question as it is before anything is drawn, and the line that it stands at.
 * @param {Record<string, unknown>} [app]
 * @param {Partial<Payload>} [more]
 */
function asking(app, more) {
  const line = new Lines(run(more), [{ id: 1, name: "other", parent: 0, at: 2, steps: [STEP] }]).get(0);
  const question = Object.create(Question.prototype);
  const answered = { answers: {}, revealed: [], questions: [FIRST], line, at: 0, onMain: () => true, draw() {} };
  return { line, question: Object.assign(question, { app: { ...answered, ...app }, toldLine: null, toldOf: null, told: Infinity, seenLine: null, later: [], takesKeys: false }) };
}

test("a question of the story stands from where it is asked until its big step has ended", () => {
  const { line, question } = asking({ questions: [{ ...FIRST, ask: 1 }] });
  assert.deepEqual([0, 1, 3, 4, 5].map((at) => question.pick(line, at)?.id), [undefined, "q1", "q1", "q1", "q1"]);
  const early = asking({ questions: [{ ...FIRST, step: 2 }] });
  assert.deepEqual([1, 2, 3].map((at) => early.question.pick(early.line, at)?.id), ["q1", "q1", undefined]);
});

test("no question of the story stands where the reader has left the main line", () => {
  const { line, question } = asking({ onMain: () => false });
  assert.equal(question.pick(line, 1), undefined);
});

test("the answer begins with the big step of the question, or with a violation before it", () => {
  const { line, question } = asking();
  assert.equal(question.tellsAt(line), 3);
  const verdicts = /** @type {Payload["verdicts"]} */ ([{ property: "p", sentence: "", state: "broken", from: 2, to: null }]);
  const broken = asking({}, { verdicts });
  assert.equal(broken.question.tellsAt(broken.line), 2);
});

test("nothing is hidden once the answer was revealed, nor on a branch", () => {
  const { line, question } = asking({ revealed: ["q1"] });
  assert.equal(question.tellsAt(line), Infinity);
  const lines = new Lines(run(), [{ id: 1, name: "other", parent: 0, at: 2, steps: [STEP] }]);
  assert.equal(asking().question.tellsAt(lines.get(1)), Infinity);
});

test("a list ends before the answer, but never before the step at which the reader stands", () => {
  const { line, question } = asking();
  assert.deepEqual([0, 2, 4].map((at) => question.listedUntil(line, at)), [2, 2, 4]);
});

test("a step onward is held where it would reveal what nobody has answered", () => {
  const { question } = asking();
  assert.deepEqual([[1, 2], [2, 3], [3, 4]].map(([step, next]) => question.holds(step, next)), [false, true, false]);
  assert.equal(asking({ answers: { q1: 0 } }).question.holds(2, 3), false);
});

test("a number answers only while the question takes the keys, and a number beyond the options is used up", () => {
  /** @type {Array<[string, number]>} */
  const said = [];
  const { question } = asking({ answer: (/** @type {string} */ id, /** @type {number} */ n) => said.push([id, n]) });
  question.shown = FIRST;
  assert.equal(question.press(1), false);
  question.takesKeys = true;
  assert.equal(question.press(2), true);
  assert.equal(question.press(9), true);
  assert.deepEqual(said, [["q1", 1]]);
});

test("a prediction hides the choices of its step, and the next step forward reveals it instead", () => {
  /** @type {string[]} */
  const shown = [];
  const { question } = asking({ showAnswers: (/** @type {string[]} */ ids) => shown.push(...ids) });
  assert.equal(question.forward(), false);
  question.asked = { ...FIRST, id: "n12" };
  assert.equal(question.hides, true);
  assert.equal(question.forward(), true);
  assert.deepEqual(shown, ["n12"]);
});

test("a prediction has the number of its node, so that it is the same one on every line that shares the step", () => {
  const asks = /** @type {Payload["asks"]} */ ({ texts: ["What?", "this", "because"], questions: [[2, "cannot", 0, 3, [[1, 1, 2]]]] });
  const { line, question } = asking({}, { asks });
  const found = question.predictionAt(line, 2);
  assert.deepEqual([found.id, found.step, found.text, found.options], ["c12", 3, "What?", [{ text: "this", right: true, say: "because" }]]);
  assert.equal(question.predictionAt(line, 1), undefined);
});

test("whoever stands at an answer has seen it, and a prediction without a later step is never seen so", () => {
  const asks = /** @type {Payload["asks"]} */ ({ texts: ["What?"], questions: [[1, "next", 0, 2, []], [3, "cannot", 0, -1, []]] });
  const { line, question } = asking({}, { asks });
  assert.deepEqual([1, 2, 4].map((at) => question.seen(line, at)), [[], ["n11"], ["q1", "n11"]]);
});

test("a goal is reached from its first step to the one before its end", () => {
  const goals = [{ goal: "a", from: 1, to: 3 }, { goal: "b", from: 2, to: null }];
  const { line } = asking({}, { goals });
  assert.deepEqual([0, 1, 2, 3].map((at) => Lesson.prototype.goalsAt(line, at)), [[], ["a"], ["a", "b"], ["b"]]);
});
