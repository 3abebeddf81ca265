// A partition's log: a tape of batches with the marks HW, LSO and LEO.

import { Keyed, attr, first, h, last, show, text } from "../dom/dom.js";
import { group } from "../lines/line.js";
import { tone } from "../dom/words.js";
import { fresh, moves, offsetOf, placeOf, rowKey, told } from "./rows.js";

/** @import { Cards } from "./cards.js" */
/** @import { Line } from "../lines/line.js" */
/** @import { LogItem } from "../../types/parts" */
/** @import { RowInfo } from "../../types/payload" */

const LOG_MAX = 28;
const MARKS = ["LSO", "HW", "LEO"];
/** @type {Record<string, string>} */
const FATE = { open: "open", committed: "✓ committed", aborted: "✗ aborted" };
/** @type {Record<string, string>} */
const MARKER = { C: "commit marker", A: "abort marker" };

/**
 * Records in order with the marks between them; marks at one place share one line.
 * @param {RowInfo[]} records
 * @param {RowInfo[]} marks
 * @param {number} left
 */
function withMarks(records, marks, left) {
  /** @type {LogItem[]} */
  const items = left > 0 ? [{ key: "gap", gap: left, rows: [] }] : [];
  const places = [...group(marks, placeOf)].sort((a, b) => a[0] - b[0]);
  const last = records.length ? offsetOf(records[records.length - 1]) : -1;
  /** @param {number} until */
  const put = (until) => {
    for (let next = places[0]; next?.[0] <= until; next = places[0]) {
      const [at, rows] = next;
      places.shift();
      const ids = MARKS.filter((id) => rows.some((row) => row.id === id));
      const line = ids.includes("HW") ? (ids.includes("LSO") ? "both" : "HW") : ids[0];
      items.push({ key: `mark ${ids.join()}`, mark: `${ids.join(" = ")} ${at}`, line, end: at > last && records.length > 3, rows });
    }
  };
  for (const row of records) {
    put(offsetOf(row));
    items.push({ key: row.id, rows: [row] });
  }
  put(Infinity);
  return items;
}

/**
 * Neighbours of one transaction, under one bracket.
 * @param {LogItem[]} items
 */
function bracketed(items) {
  /** @type {LogItem[]} */
  const joined = [];
  for (const item of items) {
    const last = joined[joined.length - 1];
    if (item.gap || item.mark) joined.push(item);
    else {
      const { batch } = item.rows[0].cells;
      if (batch && last?.batch === batch) last.rows.push(...item.rows);
      else joined.push({ ...item, batch });
    }
  }
  return joined;
}

/** A user's topic: batches side by side, those of one transaction under one bracket. */
export class Log {
  /**
   * @param {HTMLElement} body
   * @param {Cards} cards
   */
  constructor(body, cards) {
    this.cards = cards;
    this.tape = body.appendChild(h("div.kv-tape", { role: "list" }));
    this.holder = body.appendChild(h("p.kv-holder"));
    this.said = body.appendChild(h("p.kv-said"));
    /** @type {Line | null} */
    this.line = null; // whose transactions have these colours
    /** @type {Map<string, number>} */
    this.colours = new Map();
    this.list = new Keyed(this.tape, (item) => this.make(item), (node, item) => this.draw(node, item));
  }

  /** @param {LogItem} item */
  make(item) {
    if (item.mark) return h("div", { class: `kv-mark kv-mark-${item.line}`, role: "listitem" }, h("span"));
    if (item.gap) return h("div.kv-gap", { role: "listitem" });
    const cells = h("div.kv-cells", { role: "list" });
    const node = h("div", { role: "listitem" }, cells, h("small"));
    node.kvCells = new Keyed(cells, () => h("div.kv-batch", { role: "listitem" }, h("b"), h("span")), (cell, row) => this.drawCell(cell, row));
    return node;
  }

  /** @param {RowInfo[]} rows */
  update(rows) {
    const marks = rows.filter((row) => MARKS.includes(row.id) && row.cells.at !== undefined);
    const records = rows.filter((row) => !marks.includes(row)).sort((a, b) => offsetOf(a) - offsetOf(b));
    const shown = records.slice(-LOG_MAX);
    this.list.draw(bracketed(withMarks(shown, marks, records.length - shown.length)), (item) => item.key);
    const by = marks.find((row) => row.cells.by)?.cells.by;
    show(this.holder, Boolean(by));
    text(this.holder, by ? `The LSO is held by ${by}` : "");
    const words = moves(this.cards, MARKS.flatMap((id) => marks.filter((row) => row.id === id)));
    show(this.said, words !== "");
    text(this.said, words);
    return rows.some((row) => this.cards.isNew(row));
  }

  /**
   * @param {HTMLElement} node
   * @param {LogItem} item
   */
  draw(node, item) {
    if (item.gap) return text(node, `… ${item.gap} before`);
    if (item.mark) {
      node.kvRow = MARKS.map((id) => item.rows.find((row) => row.id === id)).find(Boolean);
      text(first(node), item.mark);
      node.classList.toggle("kv-new", item.rows.some((row) => this.cards.isNew(row)));
      node.classList.toggle("kv-mark-end", item.end);
      return undefined;
    }
    const fate = item.rows.map((row) => row.cells.fate).find(Boolean) ?? "";
    attr(node, "class", `kv-span ${this.colour(item.batch)}${fate ? ` kv-fate-${fate}` : ""}`);
    node.kvCells?.draw(item.rows, rowKey);
    const words = [item.batch, FATE[fate] ?? fate].filter(Boolean).join(" · ");
    text(last(node), words);
    attr(node, "aria-label", words || null);
    return undefined;
  }

  /**
   * @param {HTMLElement} node
   * @param {RowInfo} row
   */
  drawCell(node, row) {
    const changed = this.cards.isNew(row);
    if (!fresh(node, row, changed)) return;
    const { text: words, batch, control = "", span, fate } = row.cells;
    const offset = offsetOf(row);
    const joins = span && offset < Number(String(span).split("-")[1]);
    const names = ["kv-batch", control ? "kv-control" : "", joins ? "kv-joins" : "", `kv-tone-${tone(row.tone)}`, changed ? "kv-new" : ""];
    attr(node, "class", names.filter(Boolean).join(" "));
    text(node.children[0], control || words || "·");
    text(node.children[1], offset);
    const label = [`offset ${offset}`, MARKER[control] ?? words, batch ? `transaction ${batch}` : "", fate, span ? `batch ${span}` : ""].filter(Boolean).join(", ");
    told(node, label);
  }

  /**
   * One of four colours per transaction, in the order in which they come up on the line.
   * @param {string | undefined} batch
   */
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
