// Logs: a tape of batches with the marks HW, LSO and LEO, and a list of keys and values.

import { Keyed, attr, h, show, text } from "../dom.js";
import { group } from "../line.js";
import { tone } from "../words.js";
import { fresh, rowKey } from "./rows.js";

const LOG_MAX = 28;
const ENTRIES_MAX = 12;
const MARKS = ["LSO", "HW", "LEO"];
const FATE = { open: "open", committed: "✓ committed", aborted: "✗ aborted" };
const MARKER = { C: "commit marker", A: "abort marker" };

/** Records in order with the marks between them; marks at one place share one line. */
function withMarks(records, marks, left) {
  const items = left > 0 ? [{ key: "gap", gap: left }] : [];
  const places = [...group(marks, (row) => row.cells.at)].sort((a, b) => a[0] - b[0]);
  const last = records.length ? records[records.length - 1].cells.offset : -1;
  const put = (until) => {
    while (places.length && places[0][0] <= until) {
      const [at, rows] = places.shift();
      const ids = MARKS.filter((id) => rows.some((row) => row.id === id));
      const line = ids.includes("HW") ? (ids.includes("LSO") ? "both" : "HW") : ids[0];
      items.push({ key: `mark ${ids.join()}`, mark: `${ids.join(" = ")} ${at}`, line, end: at > last && records.length > 3, rows });
    }
  };
  for (const row of records) {
    put(row.cells.offset);
    items.push({ key: row.id, row });
  }
  put(Infinity);
  return items;
}

class AnyLog {
  constructor(body, cards, list, max) {
    this.cards = cards;
    this.max = max;
    this.box = body.appendChild(list);
    this.holder = body.appendChild(h("p", { class: "kv-holder" }));
    this.said = body.appendChild(h("p", { class: "kv-said" }));
  }

  update(rows) {
    const marks = rows.filter((row) => MARKS.includes(row.id) && row.cells.at !== undefined);
    const records = rows.filter((row) => !marks.includes(row)).sort((a, b) => a.cells.offset - b.cells.offset);
    const shown = records.slice(-this.max);
    this.drawItems(withMarks(shown, marks, records.length - shown.length));
    const by = marks.find((row) => row.cells.by)?.cells.by;
    show(this.holder, Boolean(by));
    text(this.holder, by ? `The LSO is held by ${by}` : "");
    const moved = marks.filter((row) => this.cards.isNew(row) && this.cards.before(row) && this.cards.before(row).cells.at !== row.cells.at);
    const words = MARKS.flatMap((id) => moved.filter((row) => row.id === id))
      .map((row) => `${row.id} ${this.cards.before(row).cells.at} → ${row.cells.at}`)
      .join(" · ");
    show(this.said, words !== "");
    text(this.said, words);
    return rows.some((row) => this.cards.isNew(row));
  }

  drawMark(node, item) {
    text(node.firstChild, item.mark);
    node.classList.toggle("kv-new", item.rows.some((row) => this.cards.isNew(row)));
    node.classList.toggle("kv-mark-end", item.end);
  }
}

/** A user's topic: batches side by side, those of one transaction under one bracket. */
export class Log extends AnyLog {
  constructor(body, cards) {
    super(body, cards, h("div", { class: "kv-tape", role: "list" }), LOG_MAX);
    this.colours = new Map();
    this.list = new Keyed(this.box, (item) => this.make(item), (node, item) => this.draw(node, item));
  }

  make(item) {
    if (item.mark) return h("div", { class: `kv-mark kv-mark-${item.line}`, role: "listitem" }, h("span"));
    if (item.gap) return h("div", { class: "kv-gap", role: "listitem" });
    const cells = h("div", { class: "kv-cells", role: "list" });
    const node = h("div", { role: "listitem" }, cells, h("small"));
    node.kvCells = new Keyed(cells, () => h("div", { class: "kv-batch", role: "listitem" }, h("b"), h("span")), (cell, row) => this.drawCell(cell, row));
    return node;
  }

  drawItems(items) {
    const joined = [];
    for (const item of items) {
      const last = joined[joined.length - 1];
      if (!item.row) joined.push(item);
      else if (last?.rowsOf && last.batch === item.row.cells.batch && last.batch) last.rowsOf.push(item.row);
      else joined.push({ key: item.key, batch: item.row.cells.batch, rowsOf: [item.row] });
    }
    this.list.draw(joined, (item) => item.key);
  }

  draw(node, item) {
    if (item.gap) return text(node, `… ${item.gap} before`);
    if (item.mark) return this.drawMark(node, item);
    const fate = item.rowsOf.map((row) => row.cells.fate).find(Boolean);
    attr(node, "class", `kv-span ${this.colour(item.batch)}${fate ? ` kv-fate-${fate}` : ""}`);
    node.kvCells.draw(item.rowsOf, rowKey);
    const words = [item.batch, FATE[fate] ?? fate].filter(Boolean).join(" · ");
    text(node.lastChild, words);
    attr(node, "aria-label", words || null);
    return undefined;
  }

  drawCell(node, row) {
    const changed = this.cards.isNew(row);
    if (!fresh(node, row, changed)) return;
    const { offset, text: words, batch, control, span, fate } = row.cells;
    const joins = span && offset < Number(String(span).split("-")[1]);
    const names = ["kv-batch", control ? "kv-control" : "", joins ? "kv-joins" : "", `kv-tone-${tone(row.tone)}`, changed ? "kv-new" : ""];
    attr(node, "class", names.filter(Boolean).join(" "));
    text(node.children[0], control || words || "·");
    text(node.children[1], offset);
    const label = [`offset ${offset}`, MARKER[control] ?? words, batch ? `transaction ${batch}` : "", fate, span ? `batch ${span}` : ""].filter(Boolean).join(", ");
    attr(node, "title", label);
    attr(node, "aria-label", label);
  }

  /** One of four colours per transaction, in the order in which they come up on the line. */
  colour(batch) {
    if (!batch) return "kv-plain";
    if (this.line !== this.cards.line) {
      this.line = this.cards.line;
      this.colours = new Map();
      for (const row of this.line.rows)
        if (row.cells.batch && !this.colours.has(row.cells.batch)) this.colours.set(row.cells.batch, this.colours.size % 4);
    }
    return `kv-txn-${this.colours.get(batch) ?? 0}`;
  }
}

/** An internal topic: key → value, one record a line. */
export class Entries extends AnyLog {
  constructor(body, cards) {
    super(body, cards, h("ol", { class: "kv-entries" }), ENTRIES_MAX);
    this.list = new Keyed(this.box, (item) => this.make(item), (node, item) => this.draw(node, item));
  }

  make(item) {
    if (item.mark) return h("li", { class: `kv-level kv-level-${item.line}` }, h("span"));
    if (item.gap) return h("li", { class: "kv-gap" });
    return h("li", { class: "kv-entry" }, h("i"), h("span", {}, h("b"), " → ", h("span")), h("small"));
  }

  drawItems(items) {
    this.list.draw(items, (item) => item.key);
  }

  draw(node, item) {
    if (item.gap) return text(node, `… ${item.gap} before`);
    if (item.mark) return this.drawMark(node, item);
    const { row } = item;
    if (!fresh(node, row, this.cards.isNew(row))) return undefined;
    const { offset, key, value, batch, control, fate } = row.cells;
    node.classList.toggle("kv-fate-aborted", fate === "aborted");
    const [number, words, whose] = node.children;
    text(number, offset);
    text(words.firstChild, key);
    text(words.lastChild, value);
    text(whose, [control ? "" : batch, FATE[fate]].filter(Boolean).join(" · "));
    return undefined;
  }
}
