// What the cards share about rows: their identity, their words, and when a node is drawn anew.

import { attr } from "../dom/dom.js";
import { say } from "../dom/words.js";

/** @import { Cards } from "./cards.js" */
/** @import { RowInfo } from "../../types/payload" */

/** @param {Pick<RowInfo, "card" | "id">} row */
export const rowKey = (row) => `${row.card} ${row.id}`;

/**
 * Where a record is in its log; only its card asks for it.
 * @param {RowInfo} row
 */
export const offsetOf = ({ cells }) => cells.offset ?? 0;

/**
 * Where a mark of a log is.
 * @param {RowInfo} row
 */
export const placeOf = ({ cells }) => cells.at ?? 0;

const written = new WeakMap();

/**
 * Everything a row says, as one text; written once per row. Its place among the rows is nothing that it says.
 * @param {RowInfo} row
 */
export function wordsOf(row) {
  if (!written.has(row)) written.set(row, `${row.id} ${row.tone} ${JSON.stringify({ ...row.cells, order: undefined })}`);
  return written.get(row);
}

/**
 * @param {RowInfo[]} left
 * @param {RowInfo[]} right
 */
export function sameRows(left, right) {
  if (left.length !== right.length) return false;
  const found = new Set(left.map(wordsOf));
  return right.every((row) => found.has(wordsOf(row)));
}

/**
 * Redraws a node only for another row, or when its being new has changed.
 * @param {Element} node
 * @param {RowInfo} row
 * @param {boolean} changed
 */
export function fresh(node, row, changed) {
  if (node.kvRow === row && node.kvNew === changed) return false;
  Object.assign(node, { kvRow: row, kvNew: changed });
  node.classList.toggle("kv-new", changed);
  return true;
}

/**
 * A node's words for those who point at it and for those who cannot see it.
 * @param {Element} node
 * @param {string} words
 */
export function told(node, words) {
  attr(node, "title", words);
  attr(node, "aria-label", words);
}

/**
 * What a row of any card is called where it stands alone, and what it says.
 * @param {Pick<RowInfo, "id" | "cells">} told
 */
export const nameOf = ({ id, cells }) => cells.label ?? id;

/** @param {Pick<RowInfo, "cells">} told */
export function valueOf({ cells }) {
  if (cells.value !== undefined) return say(cells.value);
  if (cells.at !== undefined) return [cells.at, cells.by].filter((word) => word !== undefined).join(", ");
  const { state, delivery_count: count, text, note, lock, batch, fate, waiting, times } = cells;
  return [state, count && `×${count}`, text, note, lock, batch, fate, waiting && "waiting", times && `${times} times`].filter(Boolean).join(", ") || "now";
}

/**
 * "HW 4 → 6": marks that stand elsewhere than before.
 * @param {Cards} cards
 * @param {RowInfo[]} marks
 */
export function moves(cards, marks) {
  return marks
    .flatMap((row) => {
      const was = cards.before(row);
      return was && was.cells.at !== row.cells.at ? [`${row.id} ${was.cells.at} → ${row.cells.at}`] : [];
    })
    .join(" · ");
}
