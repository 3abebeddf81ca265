// Two runs side by side: both diagrams get the same rows, a side that waits has a gap, and keys walk the differences.

import assert from "node:assert/strict";
import { register } from "node:module";
import { test } from "node:test";
import "./page.js";

// The bundler takes a style sheet in as a text; here none is needed.
const load = 'export const load = (url, context, next) => url.endsWith(".css") ? { format: "module", source: "export default \\"\\"", shortCircuit: true } : next(url, context);';
register(`data:text/javascript,${encodeURIComponent(load)}`);
const { Compare } = await import("../src/compare.js");

/**
 * A side whose steps are so high, as far as the alignment needs one.
 * @param {number[]} heights
 */
function side(heights) {
  /** @type {{ top: number[], spaces: Float64Array | null, floor: number, space(spaces: Float64Array | null): void }} */
  const sequence = { top: heights.reduce((tops, high) => [...tops, tops[tops.length - 1] + high], [10]), spaces: null, floor: 0, space: (spaces) => void (sequence.spaces = spaces) };
  return { sequence, line: { steps: heights }, layout() {}, apart: { clear() {} } };
}

/** @param {Record<string, unknown>} parts */
const compare = (parts) => Object.assign(Object.create(Compare.prototype), { at: 0, ...parts });

// Both begin, the right side waits, then both act, and the left side waits.
const PAIRS = [[0, 0], [1, 0], [2, 1], [2, 2]];

test("a row is as high as the higher of its two steps, and a side that waits has no step in it", () => {
  const it = compare({ pairs: PAIRS, left: side([20, 20, 50]), right: side([20, 30, 40]) });
  it.align([[], []]);
  assert.deepEqual([...it.tops], [10, 30, 50, 100, 140]);
  assert.deepEqual([...it.left.sequence.spaces], [0, 0, 0]);
  assert.deepEqual([...it.right.sequence.spaces], [0, 20, 20]);
});

test("both diagrams end with the row of the cursor, and are not aligned anew while nothing changed", () => {
  const it = compare({ pairs: PAIRS, at: 2, left: side([20, 20, 50]), right: side([20, 30, 40]) });
  it.align([[], []]);
  assert.deepEqual([it.left, it.right].map(({ sequence }) => sequence.floor), [100, 100]);
  const { tops } = it;
  it.align([[], []]);
  assert.equal(it.tops, tops);
});

test("a side waits in a row in which its step is that of the row before, and never in the first", () => {
  const it = compare({ pairs: PAIRS });
  assert.deepEqual([0, 1, 2, 3].map((at) => [it.acts(at, 0), it.acts(at, 1)]), [[true, true], [true, false], [true, true], [false, true]]);
});

test("rows that differ are marked up to the cursor, and say which side waits", () => {
  const it = compare({ pairs: PAIRS, at: 2, tops: [0, 10, 20, 30, 40], payload: { marks: "=<!>" } });
  assert.deepEqual(it.rows(1), [{ at: 1, mark: "<", top: 10, bottom: 20, waits: true }, { at: 2, mark: "!", top: 20, bottom: 30, waits: false }]);
  assert.deepEqual(it.rows(0).map((/** @type {{ waits: boolean }} */ row) => row.waits), [false, false]);
});

test("the words of a row say whether it differs, is only here, waits, or has another name only", () => {
  const it = compare({ pairs: PAIRS, payload: { marks: "~<!>", bigs: [] }, grain: "small" });
  const said = [0, 1, 2, 3].map((at) => {
    it.at = at;
    return [0, 1].map((which) => it.wordFor(which, at ? { at } : undefined));
  });
  assert.deepEqual(said, [["≈ other name", "≈ other name"], ["◇ only here", "◇ waits"], ["◇ differs here", "◇ differs here"], ["◇ waits", "◇ only here"]]);
});

test("the next and the previous difference are those beside the cursor, and a number goes to the one of it", () => {
  /** @type {number[]} */
  const went = [];
  const it = compare({ at: 5, differences: [{ at: 2 }, { at: 5 }, { at: 7 }], go: (/** @type {number} */ at) => went.push(at) });
  it.marked(1);
  it.marked(-1);
  it.press(2);
  it.press(4);
  assert.deepEqual(went, [7, 2, 5]);
});

test("a big step of both goes to its end, its rests come first, and back is where it began", () => {
  const it = compare({ pairs: Array.from({ length: 9 }, (_, n) => [n, n]), payload: { bigs: [{ from: 1, to: 4, title: "", rests: [2] }, { from: 4, to: 7, title: "" }] } });
  assert.deepEqual([0, 2, 3, 6].map((at) => it.bigForward(at)), [2, 3, 6, 8]);
  assert.deepEqual([3, 6, 8].map((at) => it.bigBack(at)), [2, 3, 6]);
  assert.deepEqual([0, 3, 5, 8].map((at) => it.bigNumber(at)), [0, 1, 2, 2]);
});
