// Tables: the bytes of a message, what is found in a run, the rows of a grid, and the diagram in rows.

import assert from "node:assert/strict";
import { test } from "node:test";
import { words } from "./page.js";
import { Lines } from "../src/lines/lines.js";
import { Folds } from "../src/lines/fold.js";
import { Bytes } from "../src/tables/bytes.js";
import { Find, kindOf } from "../src/tables/find.js";
import { Grid } from "../src/tables/grid.js";
import { Table } from "../src/tables/table.js";
import { h } from "../src/dom/dom.js";
import { STEP, run } from "./run.js";

/** @import { Payload, WireKind } from "../types/payload" */

// -- bytes ----------------------------------------------------------------------------------------------

/**
 * The rows and the dump that a message's bytes become.
 * @param {Array<[depth: number, name: string, type: string, ...notes: string[]]>} places
 * @param {number[]} spans
 * @param {string} raw
 * @param {Record<string, Record<string, string>>} [names]
 */
function drawn(places, spans, raw, names = {}) {
  const bytes = Object.assign(Object.create(Bytes.prototype), { head: h("p"), body: h("tbody"), dump: h("div") });
  const kind = /** @type {WireKind} */ ({ name: "Produce", key: 0, version: 12, status: "shipped", places });
  bytes.draw({ bytes: ["Produce", raw], label: "Produce" }, { kind, spans, names });
  return { head: bytes.head.textContent, rows: bytes.body.children.map((/** @type {HTMLElement} */ row) => words(row)), dump: bytes.dump.children.map(words), places: bytes.places };
}

/**
 * The value of a single field of a type.
 * @param {string} type
 * @param {string} raw
 */
const valueOf = (type, raw) => drawn([[0, "field", type]], [0, raw.length / 2], raw).rows[0][3];

test("a number has its sign, whatever its width, and a checksum is read without one", () => {
  assert.deepEqual(["ff", "7f"].map((raw) => valueOf("int8", raw)), ["-1", "127"]);
  assert.equal(valueOf("int16", "fffe"), "-2");
  assert.equal(valueOf("int64", "ffffffffffffffff"), "-1");
  assert.equal(valueOf("int64", "7fffffffffffffff"), "9223372036854775807");
  assert.equal(valueOf("uint32", "ff000001"), "0xff000001");
});

test("a number of seven bits to a byte is read from its lowest bits, with or without a zigzag", () => {
  assert.equal(valueOf("unsigned varint", "ac02"), "300");
  assert.deepEqual(["00", "01", "02", "03"].map((raw) => valueOf("varint", raw)), ["0", "-1", "1", "-2"]);
  assert.equal(valueOf("tag", "05"), "tag 5");
});

test("a text has two bytes of length, or one more than its length if it is compact; null is neither", () => {
  assert.equal(valueOf("string", "00026869"), "“hi”");
  assert.equal(valueOf("compact string", "036869"), "“hi”");
  assert.equal(valueOf("string", "ffff"), "null");
  assert.equal(valueOf("compact string", "00"), "null");
  assert.equal(valueOf("compact string", "01"), "“”");
});

test("an array says how many items it has, and one of them is one item", () => {
  assert.deepEqual(["00000001", "00000003", "ffffffff"].map((raw) => valueOf("array", raw)), ["1 item", "3 items", "null"]);
  assert.equal(valueOf("compact array", "03"), "2 items");
});

test("a uuid has Kafka's letters, and a truth value is any byte but zero", () => {
  assert.equal(valueOf("uuid", "fbefbe00000000000000000000000001"), "----AAAAAAAAAAAAAAAAAQ");
  assert.deepEqual(["00", "01"].map((raw) => valueOf("bool", raw)), ["false", "true"]);
});

test("items of an array are counted from nought, and once more in each item around them", () => {
  const places = /** @type {Array<[number, string, string]>} */ ([[0, "topics[]", ""], [1, "partitions[]", ""], [2, "index", "int8"]]);
  const item = [1, 0, 2, 1];
  const { places: found } = drawn(places, [0, 0, ...item, ...item, 0, 0, ...item], "000102");
  assert.deepEqual(found.map((/** @type {{ name: string }} */ one) => one.name), ["topics[0]", "partitions[0]", "index", "partitions[1]", "index", "topics[1]", "partitions[0]", "index"]);
  assert.deepEqual(found.map((/** @type {{ at: number }} */ one) => one.at), [0, 0, 0, 1, 1, 2, 2, 2]);
});

test("a field that the model does not know is at its default, and a known number has its name", () => {
  const places = /** @type {Array<[number, string, string, string, string]>} */ ([[0, "acks", "int16", "", "Acks"], [0, "timeout", "int8", "KIP-1", ""]]);
  const { rows } = drawn(places, [0, 2, ~1, 1], "ffff05", { Acks: { "-1": "all" } });
  assert.deepEqual(rows.map((/** @type {string[]} */ row) => row[3]), ["-1 all", "5 not modelled: default (KIP-1)"]);
});

test("the dump has sixteen bytes a row, and a field that goes on in the next row is in both", () => {
  const raw = Array.from({ length: 18 }, (_, n) => (n + 60).toString(16)).join("");
  const { dump, head } = drawn([[0, "a", "bytes"], [0, "b", "bytes"]], [0, 14, 1, 4], raw);
  assert.deepEqual(dump.map((/** @type {string[]} */ row) => [row[0], row.length]), [["0000", 4], ["0010", 3]]);
  assert.equal(dump[0][2], "4a 4b");
  assert.equal(dump[1][1], "4c 4d");
  assert.equal(dump[1][2], "LM");
  assert.match(head, /Produce · key 0, version 12 · 18 bytes$/);
});

test("the bytes are those of the chosen message, else of one that arrives here, else of one that is sent", () => {
  const message = { from: "app-1", to: "broker-1", label: "Produce" };
  const line = new Lines(run({ messages: [{ ...message, id: "sent", sent: 2, arrived: 4 }, { ...message, id: "came", sent: 1, arrived: 2 }, { ...message, id: "lost", sent: 3, arrived: null, lost: 4 }] }), []).get(0);
  const bytes = Object.assign(Object.create(Bytes.prototype), { app: { selection: { kind: "message", id: "lost" } } });
  assert.equal(bytes.wanted(line, 2)?.id, "lost");
  bytes.app.selection = {};
  assert.deepEqual([1, 2, 3, 5].map((at) => bytes.wanted(line, at)?.id), ["came", "came", "lost", undefined]);
});

// -- find -----------------------------------------------------------------------------------------------

const searched = new Lines(
  run({
    steps: [0, 1, 2, 3, 4, 5].map((k) => ({ ...STEP, title: `step ${k}`, kind: k === 3 ? "fault" : "send", actor: k === 5 ? "broker-1" : "app-1" })),
    messages: [{ id: "m", from: "app-1", to: "broker-1", label: "Produce #3", sent: 1, arrived: 2 }],
    notes: [{ lane: "broker-1", step: 4, text: "100-101 TX_PENDING" }],
    verdicts: [{ property: "p", sentence: "", state: "broken", reason: "", from: 5, to: null }],
  }),
  [],
).get(0);
const NOTHING = { text: "", lane: "", message: "", state: undefined, faults: false };

/**
 * The steps that are found.
 * @param {Partial<import("../types/parts").Sought>} asked
 * @param {number} [until]
 */
const find = (asked, until = 5) => [...Find.prototype.search(searched, until, { ...NOTHING, ...asked }).entries()].flatMap(([k, marked]) => (marked ? [k] : []));

test("a step is found by its words, its faults, its lane, its message, its state and its verdict", () => {
  assert.deepEqual(find({ text: "step 4" }), [4]);
  assert.deepEqual(find({ faults: true }), [3, 5]);
  assert.deepEqual(find({ lane: "broker-1" }), [2, 5]);
  assert.deepEqual(find({ message: "Produce" }), [2]);
  assert.deepEqual(find({ state: { note: "TX_PENDING" } }), [4]);
  assert.deepEqual(find({ state: { property: "p", state: "broken" } }), [5]);
  assert.deepEqual(find({ state: { property: "p", state: "holds" } }), []);
});

test("several wishes are all to be met, and nothing is found beyond an open question", () => {
  assert.deepEqual(find({ lane: "broker-1", text: "step 2" }), [2]);
  assert.deepEqual(find({ lane: "broker-1", faults: true }), [5]);
  assert.deepEqual(find({ lane: "broker-1" }, 4), [2]);
});

test("a kind of message has no numbers", () => {
  assert.equal(kindOf({ id: "", from: "", to: "", label: "Fetch #12 of 3", sent: 0 }), "Fetch  of");
});

test("the match beside a step is the next or the previous one, and never the step itself", () => {
  const it = Object.assign(Object.create(Find.prototype), { app: {}, hits: () => new Uint8Array(1), found: [1, 3, 5] });
  assert.deepEqual([[3, 1], [3, -1], [1, -1], [5, 1]].map(([at, way]) => it.beside(at, way)), [5, 1, undefined, undefined]);
});

// -- grid -----------------------------------------------------------------------------------------------

/** @param {Array<[string, string?]>} cells */
const grid = (cells) => new Grid({ kind: "table", caption: "runs", heads: ["run", "verdict"], rows: cells.map(([name, tone]) => [{ text: name }, /** @type {import("../types/payload").TableCell} */ ({ text: "it", tone })]) }, () => {});
/** @param {Grid} of */
const first = (of) => [...of.body.children].map((row) => words(row)[0]);

test("a filter shows the rows that have all of its words, in any order and any letters", () => {
  const it = grid([["leader moves twice"], ["Leader crashes"], ["broker moves"]]);
  it.filter.value = " moves  LEADER";
  it.sift();
  assert.deepEqual(first(it), ["leader moves twice"]);
  assert.equal(it.count.textContent, "1 of 3 rows");
  it.filter.value = "";
  it.sift();
  assert.equal(it.count.textContent, "3 rows");
});

test("a column is sorted by its numbers, then turned round, and a third time the rows are as they came", () => {
  const it = grid([["run 9"], ["run 10"], ["run 1"]]);
  const orders = [0, 0, 0].map((column) => {
    it.sort(column);
    return first(it);
  });
  assert.deepEqual(orders, [["run 1", "run 9", "run 10"], ["run 10", "run 9", "run 1"], ["run 9", "run 10", "run 1"]]);
  assert.deepEqual(it.heads.map((head) => head.getAttribute("aria-sort")), [null, null]);
});

test("verdicts are sorted by how bad they are, and rows that are alike stay as they came", () => {
  const it = grid([["a", "holds"], ["b", "breaks"], ["c"], ["d", "open"], ["e", "breaks"]]);
  it.sort(1);
  assert.deepEqual(first(it), ["b", "e", "d", "a", "c"]);
});

// -- the diagram as a table -----------------------------------------------------------------------------

test("a row of the table holds the steps of a fold, and every other step has its own", () => {
  const line = new Lines(run(), []).get(0);
  const folds = new Folds(true);
  folds.only(Uint8Array.from([1, 1, 0, 0, 1, 1]));
  folds.use(line);
  const app = { sequence: { folds }, question: { listedUntil: () => 5 }, payload: run(), line };
  const table = Object.assign(Object.create(Table.prototype), { app, line: null, version: -1, until: -1, at: 1, page: 0, items: [], rows: new Map(), body: { rows: [] }, waiting: 1, draw() {} });
  table.update(line, 1);
  assert.deepEqual(table.items.map((/** @type {{ from: number }} */ item) => item.from), [0, 1, 2, 4, 5]);
  assert.deepEqual([0, 2, 3, 4, 5].map((step) => table.indexOf(step)), [0, 2, 2, 3, 4]);
});

test("a message stands in the row in which it arrives or is lost, and in that in which it was sent", () => {
  const message = { from: "app-1", to: "broker-1", label: "Produce" };
  const line = new Lines(run({ messages: [{ ...message, id: "a", sent: 1, arrived: 2 }, { ...message, id: "b", sent: 3, arrived: null, lost: 4 }] }), []).get(0);
  const table = Object.assign(Object.create(Table.prototype), { line, names: new Map([["app-1", "app-1"], ["broker-1", "broker 1"]]) });
  const arrow = "app-1 → broker 1: Produce";
  assert.deepEqual([1, 2, 3, 4].map((k) => table.cells(k)[4]), [`${arrow} (sent)`, arrow, `${arrow} (sent)`, `${arrow} (lost)`]);
});
