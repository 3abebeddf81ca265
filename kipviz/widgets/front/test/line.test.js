// Lines without a page: what is alive at a step, what a branch inherits, and where big steps rest.

import assert from "node:assert/strict";
import { test } from "node:test";
import { lengthen } from "../src/lines/branching.js";
import { Alive, backward, onward, parting, titleOf } from "../src/lines/line.js";
import { Lines } from "../src/lines/lines.js";

/** @type {import("../types/payload").Step} */
const step = { kind: "send", actor: "app-1", title: "", sentence: "" };

/** @returns {import("../types/payload").Payload} */
function payload() {
  return {
    format: 1,
    title: "A run",
    design: { name: "kafka", status: "shipped" },
    lanes: [{ id: "app-1", title: "app-1" }, { id: "broker-1", title: "broker 1" }],
    steps: [0, 1, 2, 3].map((k) => ({ ...step, title: `step ${k}` })),
    bigs: [{ from: 1, to: 4, title: "Send", rests: [2] }],
    messages: [{ id: "m1", from: "app-1", to: "broker-1", label: "Produce", sent: 1, arrived: 3 }],
    notes: [{ lane: "broker-1", step: 3, text: "Ongoing" }],
    cards: [],
    rows: [
      { card: "log", id: "r", from: 0, to: 2, cells: { value: "empty" } },
      { card: "log", id: "r", from: 2, to: null, cells: { value: "one record" } },
    ],
    verdicts: [{ property: "no loss", sentence: "Nothing is lost.", from: 3, to: null, state: "broken" }],
    choices: [],
  };
}

/** @type {import("../types/payload").WireKind} */
const PRODUCE = { name: "Produce", key: 0, version: 12, status: "shipped", places: [] };

/** @returns {import("../types/payload").Branch} */
const branch = () => ({ id: 1, name: "lost", parent: 0, at: 1, steps: [{ ...step, kind: "fault", title: "the message is lost" }], messages: [{ ...payload().messages[0], arrived: null, lost: 2 }] });

test("an item is alive from its first step to the one before its end, in a run of any length", () => {
  const spans = Array.from({ length: 500 }, (_, n) => ({ n, from: n, to: n % 3 ? n + 70 : null }));
  const alive = new Alive(spans, (span) => span.from, (span) => span.to);
  for (const at of [-1, 0, 63, 64, 65, 250, 499, 700]) {
    const expected = spans.filter((span) => span.from <= at && (span.to === null || at < span.to));
    assert.deepEqual(alive.at(at), expected, `at ${at}`);
  }
});

test("a row shows what it said at a step, and nothing before it was there", () => {
  const line = new Lines(payload(), []).get(0);
  assert.equal(line.row("log", "r", 1)?.cells.value, "empty");
  assert.equal(line.row("log", "r", 2)?.cells.value, "one record");
  assert.equal(line.row("log", "other", 2), undefined);
});

test("a branch shares its parent's steps, and what happened later on the parent did not happen on it", () => {
  const lines = new Lines(payload(), [branch()]);
  const [main, other] = [lines.get(0), lines.get(1)];
  assert.equal(parting(main, other), 2);
  assert.deepEqual(other.steps.map((one) => one.title), ["step 0", "step 1", "the message is lost"]);
  assert.equal(other.message("m1")?.lost, 2);
  assert.equal(main.message("m1")?.arrived, 3);
  assert.equal(other.row("log", "r", 2)?.cells.value, "empty");
  assert.deepEqual(other.verdicts, []);
  assert.deepEqual([...other.flags], [[2, "fault"]]);
  assert.deepEqual([...main.flags], [[3, "broken"]]);
});

test("a payload that becomes longer shows what a branch after its last step would show, and other branches stay", () => {
  const longer = { ...payload(), wire: { kinds: {}, shapes: {}, names: { api: { 3: "Metadata" } } }, grown: 0 };
  const lines = new Lines(longer, [branch()]);
  /** @type {import("../types/page").Growth} */
  const told = {
    do: "grow",
    grown: 1,
    at: 3,
    steps: [{ ...step, title: "step 4" }],
    rows: [{ card: "log", id: "r", from: 4, to: null, cells: { value: "two records" } }],
    closes: [["log", "r", 4]],
    messages: [{ id: "m2", from: "broker-1", to: "app-1", label: "Produce ok", sent: 4 }],
    notes: [{ lane: "broker-1", step: 3, text: "a line that came late" }],
    wire: { kinds: { Produce: PRODUCE }, shapes: {}, names: {} },
  };
  lengthen(longer, told);
  lines.lengthened(longer);
  const main = lines.get(0);
  assert.equal(longer.grown, 1);
  assert.deepEqual(main.steps.map((one) => one.title), ["step 0", "step 1", "step 2", "step 3", "step 4"]);
  assert.deepEqual([3, 4].map((at) => main.row("log", "r", at)?.cells.value), ["one record", "two records"]);
  assert.deepEqual(main.wire.at(4).map((one) => one.id), ["m2"]);
  assert.equal(main.message("m1")?.arrived, 3);
  assert.deepEqual(main.notesAt.get(3)?.map((note) => note.text), ["Ongoing", "a line that came late"]);
  assert.deepEqual(main.tables, { kinds: { Produce: PRODUCE }, shapes: {}, names: { api: { 3: "Metadata" } } });
  assert.equal(parting(main, lines.get(1)), 2);
  assert.deepEqual(lines.get(1).steps.map((one) => one.title), ["step 0", "step 1", "the message is lost"]);
});

test("a branch that is gone has no number among the lines, and a renamed one has its new name", () => {
  const lines = new Lines(payload(), [branch()]);
  lines.tidy({ names: { 1: "the loss" } });
  assert.equal(lines.get(1).name, "the loss");
  assert.deepEqual(lines.ids, [0, 1]);
  lines.tidy({ gone: [1] });
  assert.deepEqual(lines.ids, [0]);
});

test("a big step rests where it says, forward and back, and counts its parts", () => {
  const line = new Lines(payload(), []).get(0);
  const [big] = line.bigs;
  assert.deepEqual([0, 1, 2].map((at) => onward(big, at)), [2, 2, 3]);
  assert.deepEqual([3, 2, 1].map((at) => backward(big, at)), [2, 0, 0]);
  assert.equal(line.forward(0), 2);
  assert.equal(line.forward(2), 3);
  assert.equal(line.back(3), 2);
  assert.equal(titleOf(big, 1, 1), "1 · Send (part 1 of 2)");
  assert.equal(titleOf(big, 1, 3), "1 · Send (part 2 of 2)");
});

test("the words of a step hold its messages and notes, in small letters", () => {
  const line = new Lines(payload(), []).get(0);
  assert.match(line.texts[3], /^step 3\nsend\nproduce/);
  assert.match(line.texts[3], /ongoing/);
});
