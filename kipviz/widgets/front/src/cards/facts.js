// Names and values (counters are such, too), and an application's lines.

import { Keyed, attr, h, show, text } from "../dom.js";
import { say, tone } from "../words.js";
import { fresh, nameOf, rowKey } from "./rows.js";

export class Facts {
  constructor(body, cards, card) {
    this.cards = cards;
    this.card = card;
    this.table = body.appendChild(h("dl", { class: "kv-table" }));
    this.list = new Keyed(
      this.table,
      (row) => this.make(row),
      (node, row) => this.draw(node, row),
    );
  }

  /** A click on its name pins a row; where Kafka counts the same, its name for it stands below. */
  make(row) {
    const { cards, card } = this;
    const kafka = card.about?.[row.id];
    const title = kafka ?? card.about?.[row.id.split(" · ")[0]] ?? "a click pins this row, or lets it go";
    const label = h("dt", { title, onclick: () => cards.pinRow(card.id, row.id) }, h("span"), kafka ? h("small", { text: kafka }) : null);
    return h("div", { class: "kv-fact" }, label, h("dd", {}, h("s"), h("span", { class: "kv-arrow" }), h("b")));
  }

  update(rows) {
    const { line, past, step } = this.cards;
    const gone = (past.get(this.card.id) ?? []).filter((row) => !line.row(row.card, row.id, step));
    const sorted = this.cards.inOrder([...rows, ...gone.map((row) => ({ ...row, gone: true }))]);
    this.list.draw(sorted, rowKey);
    return gone.length > 0 || rows.some((row) => this.cards.isNew(row));
  }

  draw(node, row) {
    const changed = row.gone || this.cards.isNew(row);
    if (!row.gone && !fresh(node, row, changed)) return;
    const was = row.gone ? row : this.cards.before(row);
    attr(node, "class", `kv-fact kv-tone-${tone(row.tone)}${changed ? " kv-new" : ""}${row.cells.level ? ` kv-deep-${row.cells.level}` : ""}`);
    const [label, value] = node.children;
    const [old, arrow, now] = value.children;
    text(label.firstChild, nameOf(row));
    show(old, Boolean(was));
    show(arrow, Boolean(was));
    text(old, was ? say(was.cells.value) : "");
    text(arrow, was ? " → " : "");
    const added = was && this.card.about ? row.cells.value - was.cells.value : 0;
    text(now, row.gone ? "gone" : say(row.cells.value) + (added ? ` (+${added})` : ""));
    if (row.gone) node.kvRow = undefined;
  }
}

export class Application {
  constructor(body, cards) {
    this.cards = cards;
    this.code = body.appendChild(h("ol", { class: "kv-code" }));
    this.list = new Keyed(
      this.code,
      () => h("li", {}, h("code"), h("em", { text: "waiting" })),
      (node, row) => this.draw(node, row),
    );
  }

  update(rows) {
    this.list.draw(rows.slice().sort((a, b) => a.cells.line - b.cells.line), rowKey);
    return rows.some((row) => this.cards.isNew(row));
  }

  draw(node, row) {
    if (node.kvRow === row) return;
    node.kvRow = row;
    const { text: words, current, waiting } = row.cells;
    attr(node, "class", current ? (waiting ? "kv-lit kv-waiting" : "kv-lit") : null);
    attr(node, "aria-current", current ? "step" : null);
    text(node.firstChild, words);
    show(node.lastChild, Boolean(current && waiting));
  }
}
