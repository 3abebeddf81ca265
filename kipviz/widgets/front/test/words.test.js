// What becomes text without a page: tones, missing values, Mermaid, folds and permalinks.

import assert from "node:assert/strict";
import { test } from "node:test";
import { need } from "../src/dom/dom.js";
import { Folds } from "../src/lines/fold.js";
import { Lines } from "../src/lines/lines.js";
import { mermaid } from "../src/sharing/mermaid.js";
import { LINK, LONGEST, permalink } from "../src/sharing/permalink.js";
import { say, tone } from "../src/dom/words.js";

/**
 * A run in which nothing happens but polls.
 * @param {number} polls
 * @returns {import("../types/payload").Payload}
 */
function polling(polls) {
  const steps = Array.from({ length: polls + 1 }, (_, k) => ({ kind: k ? "poll" : "start", actor: "app-1", title: k ? "poll" : "start", sentence: "", pick: k % 5, mark: "AAAAAAAAAAA" }));
  return { format: 1, title: "Polls; and #1", head: "kip-1289-commit", design: { name: "kafka", status: "shipped" }, lanes: [{ id: "app-1", title: "app-1" }], steps, bigs: [], messages: [], notes: [], cards: [], rows: [], verdicts: [], choices: [] };
}

test("a tone that the style sheet does not know is calm", () => {
  assert.equal(tone("broken"), "broken");
  assert.equal(tone("loud"), "calm");
});

test("a missing value is said, and zero is none of them", () => {
  assert.deepEqual([null, undefined, "", 0, false].map(say), ["none", "none", "none", "0", "false"]);
});

test("polls that repeat are one fold, which opens and closes", () => {
  const line = new Lines(polling(40), []).get(0);
  const folds = new Folds(true);
  folds.use(line);
  const fold = need(folds.at(20), "forty polls in one fold");
  assert(fold);
  folds.toggle(fold);
  assert.equal(folds.at(20), undefined);
  folds.toggle(fold);
  assert.equal(folds.at(20), fold);
});

test("a diagram that does not fold shows every step", () => {
  const folds = new Folds(false);
  folds.use(new Lines(polling(40), []).get(0));
  assert.deepEqual(folds.all, []);
});

test("Mermaid shows signs of its own as they are", () => {
  const payload = polling(1);
  assert.match(mermaid(payload, new Lines(payload, []).get(0)), /^sequenceDiagram\n {2}%% Polls#59; and #35;1\n/);
});

test("a permalink is refused in one sentence where nothing could open it again", () => {
  const payload = { ...polling(1), head: "" };
  const lines = new Lines(payload, []);
  assert.throws(() => permalink(payload, lines, lines.get(0), 1), /not in the library/);
});

test("a permalink that is too long says how long, and what to do", () => {
  const payload = polling(12_000);
  const lines = new Lines(payload, []);
  assert.throws(() => permalink(payload, lines, lines.get(0), 1), new RegExp(`\\d+ letters, and ${LONGEST} travel safely`));
});

test("a permalink depends on the steps that lead to the cursor's line", () => {
  const links = [3, 4].map((polls) => {
    const payload = polling(polls);
    const lines = new Lines(payload, []);
    return permalink(payload, lines, lines.get(0), 2);
  });
  for (const link of links) assert.match(link, LINK);
  assert.notEqual(links[0], links[1]);
});
