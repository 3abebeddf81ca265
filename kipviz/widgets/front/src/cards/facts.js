// Names and values (counters are such, too), and an application's lines.

import { breakable, name } from "../dom/breakable.js";
import { Keyed, attr, first, h, inside, last, show, text } from "../dom/dom.js";
import { tone } from "../dom/words.js";
import { fresh, nameOf, rowKey, valueOf } from "./rows.js";

/** @import { Cards } from "./cards.js" */
/** @import { FactRow } from "../../types/parts" */
/** @import { CardInfo, RowInfo } from "../../types/payload" */

const ENTRIES_MAX = 14;

export class Facts {
  /**
   * @param {HTMLElement} body
   * @param {Cards} cards
   * @param {Partial<CardInfo>} card
   */
  constructor(body, cards, card) {
    this.cards = cards;
    this.card = card;
    this.table = body.appendChild(h("dl.kv-fact-list"));
    this.list = new Keyed(
      this.table,
      (row) => this.make(row),
      (node, row) => this.draw(node, row),
    );
  }

  /**
   * A click on its name pins a row; where Kafka counts the same, its name for it stands below.
   * @param {FactRow} row
   */
  make(row) {
    const about = this.card.about ?? {};
    const kafka = about[row.id];
    const title = kafka ?? about[row.id.split(" · ")[0]] ?? "a click pins this row, or lets it go";
    const label = h("dt", { title, onclick: () => this.cards.pinRow(row) }, h("span"), kafka ? h("small", breakable(kafka)) : null);
    return h("div", label, h("dd", h("s"), h("span.kv-arrow"), h("b")));
  }

  /** @param {FactRow[]} rows */
  update(rows) {
    const { line, past, step } = this.cards;
    const gone = (past.get(this.card.id ?? "") ?? []).filter((row) => !line.row(row.card, row.id, step));
    /** @type {FactRow[]} */
    const sorted = this.cards.inOrder([...rows, ...gone.map((row) => ({ ...row, gone: true }))]);
    this.list.draw(this.card.kind === "entries" ? sorted.slice(-ENTRIES_MAX) : sorted, rowKey);
    return gone.length > 0 || rows.some((row) => this.cards.isNew(row));
  }

  /**
   * @param {HTMLElement} node
   * @param {FactRow} row
   */
  draw(node, row) {
    const changed = row.gone || this.cards.isNew(row);
    if (!row.gone && !fresh(node, row, changed)) return;
    const was = row.gone ? row : this.cards.before(row);
    const { level, line } = row.cells;
    attr(node, "class", `kv-fact kv-tone-${tone(row.tone)}${changed ? " kv-new" : ""}${level ? ` kv-deep-${level}` : ""}${line ? ` kv-at-${line}` : ""}`);
    const [label, value] = inside(node);
    const [old, arrow, now] = inside(value);
    const before = was ? valueOf(was) : "";
    const here = row.gone ? "gone" : valueOf(row);
    const differs = was && before !== here;
    name(first(label), (row.of ? `${row.of}: ` : "") + nameOf(row));
    name(old, differs ? before : "");
    text(arrow, differs ? " → " : "");
    const added = was && this.card.about ? Number(row.cells.value) - Number(was.cells.value) : 0;
    name(now, here + (added ? ` (+${added})` : ""));
    if (row.gone) node.kvRow = undefined;
  }
}

export class Application {
  /**
   * @param {HTMLElement} body
   * @param {Cards} cards
   */
  constructor(body, cards) {
    this.cards = cards;
    this.code = body.appendChild(h("ol.kv-code"));
    this.list = new Keyed(
      this.code,
      () => h("li", h("code"), h("em", "waiting")),
      (node, row) => this.draw(node, row),
    );
  }

  /** @param {RowInfo[]} rows */
  update(rows) {
    this.list.draw(rows.slice().sort((a, b) => Number(a.cells.line) - Number(b.cells.line)), rowKey);
    return rows.some((row) => this.cards.isNew(row));
  }

  /**
   * @param {HTMLElement} node
   * @param {RowInfo} row
   */
  draw(node, row) {
    if (node.kvRow === row) return;
    node.kvRow = row;
    const { text: words = "", current, waiting } = row.cells;
    attr(node, "class", current ? (waiting ? "kv-lit kv-waiting" : "kv-lit") : null);
    attr(node, "aria-current", current ? "step" : null);
    name(first(node), words);
    show(last(node), Boolean(current && waiting));
  }
}
