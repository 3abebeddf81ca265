// What the cards share about rows: their identity, their words, and when a node is drawn anew.

import { say } from "../words.js";

export const rowKey = (row) => row.id;

const written = new WeakMap();

/** Everything a row says, as one text; written once per row. */
export function wordsOf(row) {
  if (!written.has(row)) written.set(row, `${row.id} ${row.tone} ${JSON.stringify(row.cells)}`);
  return written.get(row);
}

export function sameRows(left, right) {
  if (left.length !== right.length) return false;
  const found = new Set(left.map(wordsOf));
  return right.every((row) => found.has(wordsOf(row)));
}

/** Redraws a node only for another row, or when its being new has changed. */
export function fresh(node, row, changed) {
  const stamp = changed ? 1 : 0;
  if (node.kvRow === row && node.kvStamp === stamp) return false;
  node.kvRow = row;
  node.kvStamp = stamp;
  node.classList.toggle("kv-new", changed);
  return true;
}

export function windowStart(rows, max, cards) {
  if (rows.length <= max) return 0;
  const firstChanged = rows.findIndex((row) => cards.isNew(row));
  const wanted = firstChanged >= 0 ? firstChanged - 4 : rows.length - max;
  return Math.max(0, Math.min(wanted, rows.length - max));
}

/** What a row of any card is called where it stands alone. */
export function nameOf(row) {
  const { cells } = row;
  return cells.label ?? (cells.line ? `line ${cells.line}` : row.id);
}

/** What a row of any card says, in words. */
export function valueOf(row) {
  const { cells } = row;
  if (cells.at !== undefined) return cells.by ? `${cells.at}, ${cells.by}` : String(cells.at);
  if (cells.key !== undefined) return `${cells.key} → ${cells.value}`;
  if (cells.times !== undefined) return `taken ${cells.times} times`;
  if (cells.state !== undefined && cells.offset !== undefined) return [`${say(cells.state)} ×${cells.delivery_count ?? 0}`, cells.note, cells.lock].filter(Boolean).join(", ");
  if (cells.current !== undefined) return `${cells.text}${cells.waiting ? " (waiting)" : cells.current ? " (here)" : ""}`;
  if (cells.state !== undefined) return cells.text || "now";
  return say(cells.value ?? [cells.text, cells.batch, cells.fate].filter(Boolean).join(", "));
}
