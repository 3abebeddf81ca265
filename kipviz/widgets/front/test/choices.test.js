// Faults at any moment of a run, by words: what, after what, and before what.

import assert from "node:assert/strict";
import { test } from "node:test";
import { pointsOf } from "../src/choices/whatif.js";
import { Lines } from "../src/lines/lines.js";
import { run } from "./run.js";

const item = (/** @type {string} */ id, /** @type {"fault" | "next"} */ group = "fault") => ({ id, text: `${id} crashes`, sub: "", group, enabled: true, why: "", taken: false });
const MOMENTS = ["PREPARE_COMMIT is written", "the marker arrives", "COMPLETE_COMMIT is written"];
const line = new Lines(run({ moments: MOMENTS.map((text, n) => ({ step: 2 * n, text })), choices: [{ from: 0, to: null, items: [item("B1"), item("B2"), item("poll", "next")] }] }), []).get(0);

/**
 * @param {string} words
 * @param {number} [until]
 */
const points = (words, until = 5) => pointsOf(line, words, until).map(({ key }) => key);

test("a fault is found at the moments that its words name, small words aside", () => {
  assert.deepEqual(points("B1 crashes after the PREPARE_COMMIT"), ["0 B1"]);
  assert.deepEqual(points("b1"), ["0 B1", "2 B1", "4 B1"]);
  assert.deepEqual(points("poll"), []);
});

test("a fault before something is the one right before it, and an earlier one only where there is none", () => {
  assert.deepEqual(points("B1 before COMPLETE_COMMIT"), ["2 B1"]);
  assert.deepEqual(points("B1 after PREPARE_COMMIT before COMPLETE_COMMIT"), ["0 B1"]);
  assert.deepEqual(points("B1 before nothing"), []);
});

test("no moment is found beyond the last step that may be listed", () => {
  assert.deepEqual(points("B2", 3), ["0 B2", "2 B2"]);
});

test("a fault says after and before what it is, as long as the reader may know", () => {
  assert.deepEqual(pointsOf(line, "B1", 2).map(({ text }) => text), ["B1 crashes after PREPARE_COMMIT is written, before the marker arrives", "B1 crashes after the marker arrives"]);
});
