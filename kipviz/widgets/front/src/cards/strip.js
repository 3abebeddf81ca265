// A share-partition: one box for each record, the brackets of the in-flight window, and in words
// whose the records are.

import { Keyed, attr, first, h, inside, show, text } from "../dom/dom.js";
import { say, tone } from "../dom/words.js";
import { fresh, moves, offsetOf, placeOf, rowKey, told } from "./rows.js";

/** @import { Cards } from "./cards.js" */
/** @import { RowInfo } from "../../types/payload" */

const RECORDS_MAX = 48;
/** @type {Record<string, string>} */
const STATES = {
  AVAILABLE: "available",
  ACQUIRED: "acquired",
  TX_PENDING: "pending",
  ACKNOWLEDGED: "done",
  ARCHIVED: "gone",
  ARCHIVING: "gone",
};
/** @type {Record<string, string>} */
const STATE_SIGN = { available: "", acquired: "", pending: "", done: "✓ ", gone: "✗ " };
/** @type {Record<string, string>} */
const ENDS = { SPSO: "start of the in-flight window", SPEO: "end of the in-flight window" };

export class Records {
  /**
   * @param {HTMLElement} body
   * @param {Cards} cards
   */
  constructor(body, cards) {
    this.cards = cards;
    this.strip = body.appendChild(h("div.kv-strip", { role: "list" }));
    this.more = body.appendChild(h("p.kv-more"));
    this.runs = body.appendChild(h("p.kv-runs"));
    this.said = body.appendChild(h("p.kv-said"));
    this.list = new Keyed(this.strip, (row) => this.make(row), (node, row) => this.draw(node, row));
  }

  /** @param {RowInfo} row */
  make(row) {
    if (ENDS[row.id]) return h("div", { class: `kv-bracket kv-${row.id.toLowerCase()}`, role: "listitem" }, h("span"));
    return h("div.kv-record", { role: "listitem" }, h("b"), h("span"), h("i"), h("em"));
  }

  /** @param {RowInfo[]} rows */
  update(rows) {
    const ends = rows.filter((row) => ENDS[row.id]);
    const sorted = rows.filter((row) => !ENDS[row.id]).sort((a, b) => offsetOf(a) - offsetOf(b));
    const first = sorted.findIndex((row) => this.cards.isNew(row));
    const start = Math.max(0, Math.min(first >= 0 ? first - 4 : Infinity, sorted.length - RECORDS_MAX));
    const shown = sorted.slice(start, start + RECORDS_MAX);
    this.list.draw(between(shown, ends), rowKey);
    const left = sorted.length - shown.length;
    show(this.more, left > 0);
    if (left > 0) text(this.more, `${left} more records are not shown`);
    const { cards } = this;
    const runs = inRuns(shown, ({ cells }) => [cells.note, cells.lock].filter(Boolean).join("; "));
    show(this.runs, runs.length > 0);
    text(this.runs, runs.join("\n"));
    const changes = inRuns(sorted, (row) => {
      const was = cards.before(row)?.cells.state;
      return was && was !== row.cells.state ? `${was} → ${row.cells.state}` : "";
    });
    const said = [...changes, moves(cards, ends)].filter(Boolean).join(" · ");
    show(this.said, said !== "");
    text(this.said, said);
    return rows.some((row) => this.cards.isNew(row));
  }

  /**
   * @param {HTMLElement} node
   * @param {RowInfo} row
   */
  draw(node, row) {
    const changed = this.cards.isNew(row);
    if (!fresh(node, row, changed)) return;
    if (ENDS[row.id]) {
      const label = `${row.id} ${row.cells.at}`;
      text(first(node), label);
      told(node, `${label}: ${ENDS[row.id]}`);
      return;
    }
    const { offset, state, short, delivery_count: count, note, lock, member, staged, gap, below } = row.cells;
    const kind = STATES[state ?? ""] ?? `tone-${tone(row.tone)}`;
    attr(node, "class", `kv-record kv-${kind}${changed ? " kv-new" : ""}${gap ? " kv-hole" : ""}${below ? " kv-below" : ""}`);
    const [number, word, dots, owner] = inside(node);
    text(number, offset);
    text(word, gap ? "gap" : (STATE_SIGN[kind] ?? "") + (short || state || ""));
    text(dots, count ? `×${count}` : "");
    text(owner, staged ? `p${staged}` : (member ?? ""));
    const was = this.cards.before(row);
    const words = [`${offset} ${say(state)}`, `delivered ${count || 0} times`, note, lock].filter(Boolean).join(", ") + (was ? `; it was ${was.cells.state}` : "");
    told(node, words);
  }
}

/**
 * The brackets stand before the first record in flight and behind the last one.
 * @param {RowInfo[]} rows
 * @param {RowInfo[]} ends
 */
function between(rows, ends) {
  const items = [];
  const spso = ends.find((row) => row.id === "SPSO");
  const speo = ends.find((row) => row.id === "SPEO");
  let open = spso;
  for (const row of rows) {
    if (open && offsetOf(row) >= placeOf(open)) {
      items.push(open);
      open = undefined;
    }
    items.push(row);
    if (speo && row.cells.offset === speo.cells.at) items.push(speo);
  }
  return open ? items.concat(open) : items;
}

/**
 * "100-101: held by M1": neighbours of which the same can be said are said together.
 * @param {RowInfo[]} rows
 * @param {(row: RowInfo) => string} wordsOf
 */
function inRuns(rows, wordsOf) {
  /** @type {Array<{ words: string, from: number, to: number }>} */
  const runs = [];
  for (const row of rows) {
    const words = wordsOf(row);
    const offset = offsetOf(row);
    const last = runs[runs.length - 1];
    if (last?.words === words && last.to === offset - 1) last.to = offset;
    else runs.push({ words, from: offset, to: offset });
  }
  return runs.filter((run) => run.words).map(({ words, from, to }) => `${from === to ? from : `${from}-${to}`}: ${words}`);
}
