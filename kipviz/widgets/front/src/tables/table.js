// The diagram as a table: the same steps in rows, for a screen reader, and to be copied.

import { attr, h, press, text } from "../dom/dom.js";
import { foldWords } from "../lines/fold.js";
import { ending } from "../lines/line.js";
import { Drawer } from "../frame/panels.js";
import { LATER } from "../learning/question.js";

/** @import { Folds } from "../lines/fold.js" */
/** @import { Line } from "../lines/line.js" */
/** @import { App } from "../../types/app" */
/** @import { TableItem } from "../../types/parts" */
/** @import { Message } from "../../types/payload" */

const PAGE = 50;
const HEADS = ["message", "where", "what", "in words", "messages"];

/** @extends {Drawer<App>} */
export class Table extends Drawer {
  /** @param {App} app */
  constructor(app) {
    super(app, { name: "table", title: "The diagram as a table", key: "m" });
    this.line = app.line; // what the rows were made of
    this.version = this.until = this.at = -1;
    /** @type {TableItem[]} */
    this.items = [];
    /** @type {Map<TableItem, HTMLTableRowElement>} */
    this.rows = new Map();
    /** @type {Map<string, string>} */
    this.names = new Map();
    this.waiting = 0;
    this.page = -1;
    this.caption = h("caption");
    this.body = h("tbody");
    this.table = h("table.kv-steps", this.caption, h("thead", h("tr", ...HEADS.map((head) => h("th", { scope: "col" }, head)))), this.body);
    this.earlier = press("↑ earlier", () => this.turn(-1));
    this.later = press("↓ later", () => this.turn(1));
    this.copy = press("copy all rows", () => this.copyAll(), { title: "as text with tabs, for a sheet or a mail" });
    this.said = h("span.kv-dim", { role: "status" });
    this.element.append(h("div.kv-find-row", this.earlier, this.later, this.copy, this.said), this.table);
  }

  /**
   * @param {Line} line
   * @param {number} at
   */
  update(line, at) {
    const { folds } = this.app.sequence;
    const until = this.app.question.listedUntil(line, at);
    if (this.line !== line || this.version !== folds.version || this.until !== until) {
      Object.assign(this, { line, until, version: folds.version, items: itemsOf(line, folds, until), page: -1 });
      this.names = new Map(this.app.payload.lanes.map((lane) => [lane.id, lane.title]));
    }
    if (this.at !== at || this.page < 0) this.draw(Math.floor(this.indexOf(at) / PAGE));
    this.at = at;
    const here = this.rows.get(this.items[this.indexOf(at)]);
    for (const row of this.body.rows) attr(row, "aria-current", row === here ? "step" : null);
    this.waiting ||= requestAnimationFrame(() => this.reveal(here));
  }

  /**
   * Brings the row of the cursor into view when it is not.
   * @param {HTMLTableRowElement | undefined} row
   */
  reveal(row) {
    this.waiting = 0;
    if (!row?.isConnected) return;
    const { scrollTop, clientHeight } = this.element;
    const top = row.offsetTop + this.table.offsetTop;
    if (top < scrollTop + 60 || top > scrollTop + clientHeight - 60) this.element.scrollTop = top - clientHeight / 3;
  }

  /**
   * The row in which a step stands.
   * @param {number} step
   */
  indexOf(step) {
    let low = 0;
    let high = this.items.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.items[middle].from <= step) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** @param {number} way */
  turn(way) {
    this.draw(this.page + way);
  }

  /** @param {number} page */
  draw(page) {
    const pages = Math.ceil(this.items.length / PAGE);
    this.earlier.disabled = page <= 0;
    this.later.disabled = page >= pages - 1;
    if (this.page === page) return;
    this.page = page;
    const items = this.items.slice(page * PAGE, (page + 1) * PAGE);
    text(this.caption, `${this.app.title}: rows ${page * PAGE + 1} to ${page * PAGE + items.length} of ${this.items.length}. ${this.until < this.line.last ? LATER : ""}`);
    attr(this.table, "aria-rowcount", this.items.length + 1);
    this.rows = new Map(items.map((item, n) => [item, this.row(item, page * PAGE + n + 2)]));
    this.body.replaceChildren(...this.rows.values());
  }

  /**
   * @param {TableItem} item
   * @param {number} index
   */
  row(item, index) {
    const { app } = this;
    const { fold } = item;
    if (fold) {
      const open = h("button.kv-link", { title: "show these steps", onclick: () => app.openFold(fold) }, foldWords(this.line, fold));
      return h("tr.kv-steps-fold", { "aria-rowindex": index }, h("th", { scope: "row" }, `${item.from}-${fold.to - 1}`), h("td", { colspan: HEADS.length - 1 }, open));
    }
    const [number, ...cells] = this.cells(item.from);
    const go = h("button.kv-link", { label: `go to message ${number}`, onclick: () => app.go(item.from, "small") }, number);
    return h("tr", { "aria-rowindex": index }, h("th", { scope: "row" }, go), ...cells.map((cell) => h("td", cell)));
  }

  /** @param {number} k */
  cells(k) {
    const step = this.line.steps[k];
    /** @param {Message} m */
    const arrow = (m) => `${this.names.get(m.from)} → ${this.names.get(m.to)}: ${m.label}`;
    const came = (this.line.arrivals.get(k) ?? []).map((m) => `${arrow(m)}${m.arrived === null ? " (lost)" : ""}`);
    const left = (this.line.departures.get(k) ?? []).filter((m) => ending(m) !== k).map((m) => `${arrow(m)} (sent)`);
    return [String(k), this.names.get(step.actor) ?? step.actor, step.title, step.sentence, [...came, ...left].join("; ")];
  }

  copyAll() {
    const rows = this.line.steps.slice(0, this.until + 1).map((_, k) => this.cells(k).map((cell) => cell.replace(/\s+/g, " ")).join("\t"));
    const words = [HEADS.join("\t"), ...rows].join("\n");
    const refused = () => text(this.said, "The browser does not allow that here: mark the rows and copy them.");
    if (!navigator.clipboard) return refused();
    return navigator.clipboard.writeText(words).then(() => text(this.said, `${rows.length} rows copied`), refused);
  }
}

/**
 * @param {Line} line
 * @param {Folds} folds
 * @param {number} until
 */
function itemsOf(line, folds, until) {
  /** @type {TableItem[]} */
  const items = [];
  for (let k = 0; k <= until; k++) {
    const fold = folds.at(k);
    items.push({ from: k, fold });
    if (fold) k = fold.to - 1;
  }
  return items;
}
