// A share-partition: one box for each record, the brackets of the in-flight window, and in words
// whose the records are.

import { Keyed, attr, h, show, text } from "../dom.js";
import { say, tone } from "../words.js";
import { fresh, rowKey, windowStart } from "./rows.js";

const RECORDS_MAX = 48;
const STATES = {
  AVAILABLE: "available",
  ACQUIRED: "acquired",
  TX_PENDING: "pending",
  ACKNOWLEDGED: "done",
  ARCHIVED: "gone",
  ARCHIVING: "gone",
};
const STATE_SIGN = { available: "", acquired: "", pending: "", done: "✓ ", gone: "✗ " };
const ENDS = { SPSO: "start of the in-flight window", SPEO: "end of the in-flight window" };

export class Records {
  constructor(body, cards) {
    this.cards = cards;
    this.strip = body.appendChild(h("div", { class: "kv-strip", role: "list" }));
    this.more = body.appendChild(h("p", { class: "kv-more" }));
    this.runs = body.appendChild(h("ul", { class: "kv-runs" }));
    this.said = body.appendChild(h("p", { class: "kv-said" }));
    this.list = new Keyed(this.strip, (row) => this.make(row), (node, row) => this.draw(node, row));
    this.lines = new Keyed(this.runs, () => h("li", {}, h("b"), h("span")), (node, run) => this.drawRun(node, run));
  }

  make(row) {
    if (ENDS[row.id]) return h("div", { class: `kv-bracket kv-${row.id.toLowerCase()}`, role: "listitem" }, h("span"));
    return h("div", { class: "kv-record", role: "listitem" }, h("b"), h("span"), h("i"), h("em"));
  }

  update(rows) {
    const ends = rows.filter((row) => ENDS[row.id]);
    const sorted = rows.filter((row) => !ENDS[row.id]).sort((a, b) => a.cells.offset - b.cells.offset);
    const start = windowStart(sorted, RECORDS_MAX, this.cards);
    const shown = sorted.slice(start, start + RECORDS_MAX);
    this.list.draw(between(shown, ends), rowKey);
    const left = sorted.length - shown.length;
    show(this.more, left > 0);
    if (left > 0) text(this.more, `${left} more records are not shown`);
    const runs = runsOf(shown);
    show(this.runs, runs.length > 0);
    this.lines.draw(runs, (run) => run.from);
    const words = transitions(sorted.filter((row) => this.cards.isNew(row)), this.cards);
    const moved = ends.filter((row) => this.cards.before(row)).map((row) => `${row.id} ${this.cards.before(row).cells.at} → ${row.cells.at}`);
    const said = [words, ...moved].filter(Boolean).join(" · ");
    show(this.said, said !== "");
    text(this.said, said);
    return rows.some((row) => this.cards.isNew(row));
  }

  draw(node, row) {
    const changed = this.cards.isNew(row);
    if (!fresh(node, row, changed)) return;
    if (ENDS[row.id]) {
      const label = `${row.id} ${row.cells.at}`;
      text(node.firstChild, label);
      attr(node, "title", `${label}: ${ENDS[row.id]}`);
      attr(node, "aria-label", `${label}: ${ENDS[row.id]}`);
      return;
    }
    const { offset, state, short, delivery_count: count, note, lock, member, staged, gap, below } = row.cells;
    const kind = STATES[state] ?? `tone-${tone(row.tone)}`;
    attr(node, "class", `kv-record kv-${kind}${changed ? " kv-new" : ""}${gap ? " kv-hole" : ""}${below ? " kv-below" : ""}`);
    const [number, word, dots, owner] = node.children;
    text(number, offset);
    text(word, gap ? "gap" : (STATE_SIGN[kind] ?? "") + (short || state || ""));
    text(dots, count ? `×${count}` : "");
    text(owner, staged ? `p${staged}` : (member ?? ""));
    const was = this.cards.before(row);
    const words = [`${offset} ${say(state)}`, `delivered ${count || 0} times`, gap ? "a marker stands here, no record" : "", note, lock].filter(Boolean).join(", ") + (was ? `; it was ${was.cells.state}` : "");
    attr(node, "title", words);
    attr(node, "aria-label", words);
  }

  drawRun(node, { from, to, words }) {
    text(node.firstChild, from === to ? from : `${from}-${to}`);
    text(node.lastChild, words);
  }
}

/** The brackets stand before the first record in flight and behind the last one. */
function between(rows, ends) {
  const items = [];
  const spso = ends.find((row) => row.id === "SPSO");
  const speo = ends.find((row) => row.id === "SPEO");
  let open = spso;
  for (const row of rows) {
    if (open && row.cells.offset >= open.cells.at) {
      items.push(open);
      open = undefined;
    }
    items.push(row);
    if (speo && row.cells.offset === speo.cells.at) items.push(speo);
  }
  return open ? items.concat(open) : items;
}

/** Neighbours of which the same can be said, in one line. */
function runsOf(rows) {
  const runs = [];
  for (const { cells } of rows) {
    const words = [cells.gap ? "a marker stands here, no record" : "", cells.note, cells.lock].filter(Boolean).join("; ");
    if (!words) continue;
    const last = runs[runs.length - 1];
    if (last && last.words === words && last.to === cells.offset - 1) last.to = cells.offset;
    else runs.push({ words, from: cells.offset, to: cells.offset });
  }
  return runs;
}

/** "100-101: TX_PENDING → AVAILABLE": changes of neighbours are said together. */
function transitions(rows, cards) {
  const said = [];
  for (const row of rows) {
    const was = cards.before(row);
    if (!was || was.cells.state === row.cells.state) continue;
    const words = `${was.cells.state} → ${row.cells.state}`;
    const last = said[said.length - 1];
    if (last && last.words === words && last.to === row.cells.offset - 1) last.to = row.cells.offset;
    else said.push({ words, from: row.cells.offset, to: row.cells.offset });
  }
  return said.map((s) => `${s.from === s.to ? s.from : `${s.from}-${s.to}`}: ${s.words}`).join(" · ");
}
