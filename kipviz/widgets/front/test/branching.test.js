// What a branch shares with its parent: everything up to the step at which they part, and nothing that came later.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Lines } from "../src/lines/lines.js";
import { STEP, run } from "./run.js";

/** @import { Branch, Payload } from "../types/payload" */

/**
 * The line of a branch that leaves the main line after step 2.
 * @param {Partial<Payload>} payload
 * @param {Partial<Branch>} [more]
 */
const parted = (payload, more) => new Lines(run(payload), [{ id: 1, name: "other", parent: 0, at: 2, steps: [STEP], ...more }]).get(1);

test("a prediction is kept where its answer comes before the parting, and not where it comes later", () => {
  const asks = { texts: ["What?", "this", "that"], questions: [[0, "next", 0, 1, [[1, 1, 0]]], [1, "answer", 0, 4, [[2, 1, 0]]], [2, "next", 0, 2, [[1, 1, 0]]]] };
  const line = parted({ asks: /** @type {Payload["asks"]} */ (asks) });
  assert.deepEqual([...line.asks.keys()], [0]);
});

test("a branch's own prediction takes the place of its parent's", () => {
  const of = (/** @type {string} */ text, /** @type {number} */ at) => /** @type {Payload["asks"]} */ ({ texts: [text], questions: [[at, "next", 0, at + 1, []]] });
  const line = parted({ asks: of("before", 1) }, { asks: of("after", 2) });
  assert.deepEqual([...line.asks].map(([at, { texts }]) => [at, texts[0]]), [[1, "before"], [2, "after"]]);
});

test("what can happen is the parent's before the parting, and the branch's own from there on", () => {
  const item = (/** @type {string} */ id) => ({ id, text: id, sub: "", group: /** @type {const} */ ("next"), enabled: true, why: "", taken: false });
  const line = parted({ choices: [{ from: 0, to: null, items: [item("old")] }] }, { choices: [{ from: 2, to: null, items: [item("new")] }] });
  assert.deepEqual([1, 2, 3].map((at) => line.choicesAt(at).map(({ id }) => id)), [["old"], ["new"], ["new"]]);
});

test("a host that came up again after the parting is still down on the branch", () => {
  const line = parted({ downs: [{ lane: "broker-1", from: 1, to: 4 }, { lane: "app-1", from: 0, to: 2 }, { lane: "app-1", from: 3, to: null }] });
  assert.deepEqual(line.downs, [{ lane: "broker-1", from: 1, to: null }, { lane: "app-1", from: 0, to: 2 }]);
});

test("a branch says when a host that its parent left down came up", () => {
  const line = parted({ downs: [{ lane: "broker-1", from: 1, to: 4 }] }, { downs: [{ lane: "broker-1", from: 1, to: 3 }] });
  assert.deepEqual(line.downs, [{ lane: "broker-1", from: 1, to: 3 }]);
});

test("a verdict ends where the branch has another one, and goes on where it has none", () => {
  const verdict = { property: "p", sentence: "", state: "pending", reason: "" };
  const before = /** @type {Payload["verdicts"]} */ ([{ ...verdict, from: 0, to: 4 }]);
  assert.deepEqual(parted({ verdicts: before }).verdicts.map(({ to }) => to), [null]);
  const said = /** @type {Payload["verdicts"]} */ ([{ ...verdict, state: "broken", from: 3, to: null }]);
  assert.deepEqual(parted({ verdicts: before }, { verdicts: said }).verdicts.map(({ from, to }) => [from, to]), [[0, 3], [3, null]]);
});

test("a big step that goes on after the parting ends there, and one that begins later is not there", () => {
  assert.deepEqual(parted({ bigs: [{ from: 1, to: 5, title: "Send" }, { from: 5, to: 6, title: "End" }] }).bigs.map(({ from, to }) => [from, to]), [[1, 3]]);
});

test("a branch of a branch that leaves before the branch began hangs on the line that both share", () => {
  const branches = [{ id: 1, name: "one", parent: 0, at: 3, steps: [STEP, STEP] }, { id: 2, name: "two", parent: 1, at: 2, steps: [STEP] }, { id: 3, name: "three", parent: 1, at: 4, steps: [STEP] }];
  const lines = new Lines(run(), branches);
  assert.deepEqual(lines.inTree().map(({ line, depth, stem }) => [line.id, depth, stem?.id]), [[0, 0, undefined], [2, 1, 0], [1, 1, 0], [3, 2, 1]]);
  assert.deepEqual([...lines.wayTo(lines.get(3))], [[3, 5], [1, 4], [0, 3]]);
  assert.deepEqual(lines.grownFrom(1), [1, 2, 3]);
});

test("a choice that another line took at the same step is followed there, and one of another step is not", () => {
  const item = { id: "lose", text: "", sub: "", group: /** @type {const} */ ("fault"), enabled: true, why: "", taken: true };
  const lines = new Lines(run(), [{ id: 1, name: "lost", parent: 0, at: 2, steps: [STEP], choices: [{ from: 2, to: 3, items: [item] }] }]);
  assert.equal(lines.following(lines.get(0), 2, "lose")?.id, 1);
  assert.equal(lines.following(lines.get(0), 1, "lose"), undefined);
  assert.equal(lines.following(lines.get(0), 2, "crash"), undefined);
  const apart = new Lines(run(), [{ id: 1, name: "apart", parent: 0, at: 2, steps: [STEP, STEP], choices: [{ from: 3, to: 4, items: [item] }] }]);
  assert.equal(apart.following(apart.get(1), 3, "lose")?.id, 1);
  assert.equal(apart.following(apart.get(0), 3, "lose"), undefined);
});
