// Names and values, an application's lines, and counters.

import { Keyed, attr, h, show, text } from "../dom.js";
import { say, tone } from "../words.js";
import { fresh, rowKey } from "./rows.js";

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

  make(row) {
    const { cards, card } = this;
    const label = h("dt", { title: "a click pins this row, or lets it go", onclick: () => cards.pinRow(card.id, row.id) });
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
    text(label, row.cells.label);
    show(old, Boolean(was));
    show(arrow, Boolean(was));
    text(old, was ? say(was.cells.value) : "");
    text(arrow, was ? " → " : "");
    text(now, row.gone ? "gone" : say(row.cells.value));
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

const BETWEEN = " · ";

/** Counters: what they were at the place the reader came from, what they are, what was added. */
export class Metrics {
  constructor(body, cards, card) {
    this.cards = cards;
    this.card = card;
    this.kinds = Object.keys(card.about ?? {});
    const head = h("tr", {}, ...["counted", "was", "now", "Δ"].map((word) => h("th", { scope: "col", text: word })));
    this.rows = h("tbody");
    this.legend = h("p", { class: "kv-more" });
    body.append(h("table", { class: "kv-metrics" }, h("thead", {}, head), this.rows), this.legend);
    this.list = new Keyed(this.rows, (row) => this.make(row), (node, row) => this.draw(node, row));
  }

  make(row) {
    const [kind, one] = row.id.split(BETWEEN);
    const name = this.card.about?.[kind] ?? "";
    const label = h("th", { scope: "row", title: "a click pins this row, or lets it go", onclick: () => this.cards.pinRow(this.card.id, row.id) }, h("span", { text: one ? `${kind}: ${one}` : kind }), one ? null : h("small", { text: name }));
    return h("tr", {}, label, h("td"), h("td"), h("td"));
  }

  update(rows) {
    const rank = (row) => this.kinds.indexOf(row.id.split(BETWEEN)[0]);
    this.list.draw(this.cards.inOrder(rows).sort((a, b) => rank(a) - rank(b)), rowKey);
    const many = this.kinds.filter((kind) => rows.some((row) => row.id.startsWith(kind + BETWEEN)));
    text(this.legend, many.map((kind) => `${kind}: ${this.card.about[kind]}.`).join(" "));
    return rows.some((row) => this.cards.isNew(row));
  }

  draw(node, row) {
    const changed = this.cards.isNew(row);
    if (!fresh(node, row, changed)) return;
    const now = row.cells.value;
    const was = changed ? (this.cards.before(row)?.cells.value ?? 0) : now;
    const [, old, here, delta] = node.children;
    text(old, was);
    text(here, now);
    text(delta, now === was ? "" : `+${now - was}`);
  }
}
