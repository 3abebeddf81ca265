// A table that can be filtered and sorted. Runs are buttons: one of them is in the order of the Tab key, and the
// arrow keys move between them.

import { breakable } from "../dom/breakable.js";
import { attr, h, need, press, query, s, show, target, text } from "../dom/dom.js";
import { LINK } from "../sharing/permalink.js";

/** @import { GridLine } from "../../types/parts" */
/** @import { TableCell } from "../../types/payload" */

// So few rows are seen at once, and need no filter.
const FEW = 4;
const SENTENCE = 60;
/** @type {Record<string, [name: string, path: string]>} */
const SHAPES = {
  holds: ["holds", "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1zM4.5 8.2l1.2-1.2 1.6 1.6 3.2-3.4 1.2 1.2-4.4 4.7z"],
  breaks: ["breaks", "M5 1h6l4 4v6l-4 4H5l-4-4V5zM5.3 6.5 6.8 8 5.3 9.5l1.2 1.2L8 9.2l1.5 1.5 1.2-1.2L9.2 8l1.5-1.5-1.2-1.2L8 6.8 6.5 5.3z"],
  open: ["not decided", "M8 1l7 7-7 7-7-7zM8 3.6 3.6 8 8 12.4 12.4 8z"],
};
const ORDER = { breaks: "0", open: "1", holds: "2", "": "3" };
/** @type {Record<string, [down: number, right: number]>} */
const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -Infinity], End: [0, Infinity] };

let made = 0;

export class Grid {
  /**
   * @param {import("../../types/payload").TextTable} table
   * @param {(run: string) => void} ask
   */
  constructor(table, ask) {
    this.ask = ask;
    this.sorted = { column: -1, down: false };
    // A sentence has the room of one: its column is never a tower of single words.
    this.long = table.heads.map((_, n) => table.rows.some((cells) => cells[n].text.length > SENTENCE));
    this.lines = table.rows.map((cells, place) => ({ cells, place, words: cells.map((cell) => cell.text).join("\n").toLowerCase(), node: this.line(cells) }));
    this.count = h("span.kr-count", { role: "status" });
    this.filter = h("input", { type: "search", label: `filter ${table.caption}`, placeholder: "filter: words in a row", oninput: () => this.sift(), onkeydown: (event) => this.typed(event) });
    this.heads = table.heads.map((head, column) => h("th", { scope: "col" }, press(head, () => this.sort(column), { title: "sort by this column" })));
    this.body = h("tbody");
    const name = `kr-${++made}`;
    const caption = h("caption", { id: name }, table.caption);
    this.scroll = h("div.kr-scroll", { role: "region", "aria-labelledby": name, tabindex: 0 }, h("table", caption, h("thead", h("tr", ...this.heads)), this.body));
    this.tools = h("div.kr-tools", this.filter, this.count);
    this.element = h("div.kr-grid", this.tools, this.scroll);
    this.body.addEventListener("keydown", (event) => this.move(event));
    this.body.addEventListener("focusin", (event) => this.stop(target(event)));
    show(this.tools, this.lines.length > FEW);
    this.sift();
  }

  /** @param {TableCell[]} cells */
  line(cells) {
    const nodes = cells.map((cell, n) => {
      const content = this.content(cell);
      const props = { class: this.long[n] && !LINK.test(cell.text) ? "kr-long" : null };
      return n === 0 ? h("th", { scope: "row", ...props }, ...content) : h("td", props, ...content);
    });
    return h("tr", ...nodes);
  }

  /**
   * A verdict has a shape, a colour and its words; one that has a run is a button.
   * @param {TableCell} told
   */
  content({ text: words, tone, run }) {
    if (LINK.test(words)) {
      const link = h("details", h("summary", "permalink"), h("code", words));
      return run ? [this.button(run, "", "open the run"), link] : [link];
    }
    if (run) return [this.button(run, tone, words)];
    return tone ? [h(`span.kr-verdict.kr-${tone}`, shape(tone), breakable(words))] : [breakable(words)];
  }

  /**
   * @param {string} run
   * @param {TableCell["tone"]} tone
   * @param {string} words
   */
  button(run, tone, words) {
    const props = { title: "open the run below", "data-run": run, tabindex: -1, onclick: () => this.ask(run) };
    return h(tone ? `button.kr-run.kr-verdict.kr-${tone}` : "button.kr-run", props, tone ? shape(tone) : null, breakable(words));
  }

  /** Shows the rows that have all the words. */
  sift() {
    const wanted = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = this.lines.filter((line) => wanted.every((word) => line.words.includes(word)));
    this.body.replaceChildren(...this.inOrder(shown).map((line) => line.node));
    text(this.count, shown.length === this.lines.length ? `${shown.length} rows` : `${shown.length} of ${this.lines.length} rows`);
    this.stop(query(this.body, "button[data-run]"));
  }

  /** @param {KeyboardEvent} event */
  typed(event) {
    if (event.key === "Escape" && this.filter.value) {
      this.filter.value = "";
      event.stopPropagation();
      this.sift();
    }
    if (event.key === "ArrowDown") {
      event.preventDefault();
      query(this.body, "button[tabindex='0']")?.focus();
    }
  }

  /**
   * The same head again turns the order round, and a third time gives the rows as they came.
   * @param {number} column
   */
  sort(column) {
    const { column: before, down } = this.sorted;
    this.sorted = column !== before ? { column, down: false } : down ? { column: -1, down: false } : { column, down: true };
    for (const [n, head] of this.heads.entries()) attr(head, "aria-sort", n === this.sorted.column ? (this.sorted.down ? "descending" : "ascending") : null);
    this.sift();
  }

  /** @param {GridLine[]} lines */
  inOrder(lines) {
    const { column, down } = this.sorted;
    if (column < 0) return lines;
    /** @param {TableCell} told */
    const word = ({ text: words, tone }) => `${ORDER[tone ?? ""]} ${words}`;
    const ordered = [...lines].sort((a, b) => word(a.cells[column]).localeCompare(word(b.cells[column]), "en", { numeric: true }) || a.place - b.place);
    return down ? ordered.reverse() : ordered;
  }

  /**
   * Makes a button the one that the Tab key reaches.
   * @param {HTMLElement | null} button
   */
  stop(button) {
    if (!button?.dataset?.run) return;
    for (const other of this.body.querySelectorAll("button[tabindex='0']")) attr(other, "tabindex", -1);
    attr(button, "tabindex", 0);
  }

  /** @param {KeyboardEvent} event */
  move(event) {
    const way = MOVES[event.key];
    if (!way || !target(event).dataset.run) return;
    event.preventDefault();
    const [down, right] = way;
    const cell = /** @type {HTMLTableCellElement} */ (need(target(event).closest("td, th"), "a cell"));
    const rows = [...this.body.rows].map((row) => [...row.cells].filter((each) => each.querySelector("button[data-run]"))).filter((cells) => cells.length);
    const at = rows.findIndex((cells) => cells.includes(cell));
    const there = rows[Math.max(0, Math.min(rows.length - 1, at + down))];
    const beside = there.indexOf(cell);
    const nearest = there.reduce((best, each) => (Math.abs(each.cellIndex - cell.cellIndex) < Math.abs(best.cellIndex - cell.cellIndex) ? each : best));
    const next = beside < 0 ? nearest : there[Math.max(0, Math.min(there.length - 1, beside + right))];
    query(next, "button[data-run]")?.focus();
  }
}

/** @param {NonNullable<TableCell["tone"]>} tone */
function shape(tone) {
  const [name, path] = SHAPES[tone];
  return s("svg.kr-shape", { viewBox: "0 0 16 16", width: 14, height: 14, "aria-hidden": "true", "data-shape": name }, s("path", { d: path, fill: "currentColor", "fill-rule": "evenodd" }));
}
