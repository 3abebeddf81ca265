// State cards: what each role knows at the cursor. Four kinds, each a keyed list of cells; what
// changed since the place the reader came from is outlined and says what it was before.

import { Keyed, attr, h, show, text } from "./dom.js";
import { group } from "./line.js";
import { say, tone } from "./words.js";

const RECORDS_MAX = 48;
const LOG_MAX = 28;

export class Cards {
  constructor(app) {
    this.app = app;
    this.element = h("div", { class: "kv-cards" });
    this.kinds = { records: Records, log: Log, facts: Facts, application: Application };
    this.list = new Keyed(
      this.element,
      (card) => this.make(card),
      (node, card) => this.drawers.get(card.id).update(node, this.rows.get(card.id) ?? []),
    );
    this.drawers = new Map();
  }

  make(card) {
    const kind = this.kinds[card.kind] ?? Facts;
    const body = h("div", { class: `kv-body kv-${card.kind}` });
    const drawer = new kind(body, this, card);
    const node = h(
      "article",
      { class: "kv-card", "aria-label": `${card.title}, ${card.where}` },
      h("header", {}, h("h4", { text: card.title, title: card.title }), h("span", { class: "kv-where", text: card.where, title: card.where }), h("span", { class: "kv-delta" }, "Δ", h("span", { class: "kv-delta-word", text: " changed" })), h("span", { class: "kv-unlike", text: "◇ differs" })),
      body,
    );
    this.drawers.set(card.id, {
      update: (target, rows) => {
        const changed = drawer.update(rows);
        target.classList.toggle("kv-changed", changed);
        show(target, rows.length > 0);
      },
    });
    return node;
  }

  update(line, step, since, cards) {
    if (this.line !== line) this.line = line;
    Object.assign(this, { step, since });
    this.rows = group(line.liveRows.at(step), (row) => row.card);
    this.past = since >= 0 && since < step ? group(line.liveRows.at(since), (row) => row.card) : new Map();
    this.list.draw(cards, (card) => card.id);
    if (!this.waiting) this.waiting = requestAnimationFrame(() => this.app.guard(() => this.reveal()));
  }

  /** Marks the cards of which the other side of a comparison shows something else. */
  compareWith(other) {
    for (const [id, node] of this.list.nodes) {
      const unlike = other.list.nodes.has(id) && !sameRows(this.rows.get(id) ?? [], other.rows.get(id) ?? []);
      node.classList.toggle("kv-differing", unlike);
      attr(node.querySelector(".kv-unlike"), "title", unlike ? "the other side shows something else" : null);
    }
  }

  /** Brings the first changed card into view when none of them is. */
  reveal() {
    this.waiting = 0;
    const box = this.element.parentElement;
    const changed = [...this.list.nodes.values()].filter((node) => !node.hidden && node.classList.contains("kv-changed"));
    if (!changed.length || !box || box.scrollHeight <= box.clientHeight + 1) return;
    const top = box.scrollTop;
    const seen = (node) => node.offsetTop - 12 >= top && node.offsetTop + node.offsetHeight <= top + box.clientHeight;
    if (changed.some(seen)) return;
    const wanted = changed.reduce((a, b) => (a.offsetTop < b.offsetTop ? a : b));
    box.scrollTop = wanted.offsetTop - 12;
  }

  /** Whether this row says something else than at the place the reader came from. */
  isNew(row) {
    if (this.since < 0 || row.from <= this.since || row.from > this.step) return false;
    const was = this.line.row(row.card, row.id, this.since);
    return !was || wordsOf(was) !== wordsOf(row);
  }

  before(row) {
    return this.isNew(row) ? this.line.row(row.card, row.id, this.since) : undefined;
  }

  inOrder(rows) {
    return rows.slice().sort((a, b) => this.line.bornAt(a) - this.line.bornAt(b));
  }
}

const rowKey = (row) => row.id;

const written = new WeakMap();

/** Everything a row says, as one text; written once per row. */
function wordsOf(row) {
  if (!written.has(row)) written.set(row, `${row.id} ${row.tone} ${JSON.stringify(row.cells)}`);
  return written.get(row);
}

function sameRows(left, right) {
  if (left.length !== right.length) return false;
  const found = new Set(left.map(wordsOf));
  return right.every((row) => found.has(wordsOf(row)));
}

/** Redraws a node only for another row, or when its being new has changed. */
function fresh(node, row, changed) {
  const stamp = changed ? 1 : 0;
  if (node.kvRow === row && node.kvStamp === stamp) return false;
  node.kvRow = row;
  node.kvStamp = stamp;
  node.classList.toggle("kv-new", changed);
  return true;
}

const STATES = {
  AVAILABLE: "available",
  ACQUIRED: "acquired",
  TX_PENDING: "pending",
  ACKNOWLEDGED: "done",
  ARCHIVED: "gone",
  ARCHIVING: "gone",
};
const STATE_SIGN = { available: "", acquired: "", pending: "", done: "✓ ", gone: "✗ " };

class Records {
  constructor(body, cards) {
    this.cards = cards;
    this.strip = body.appendChild(h("div", { class: "kv-strip", role: "list" }));
    this.more = body.appendChild(h("p", { class: "kv-more" }));
    this.said = body.appendChild(h("p", { class: "kv-said" }));
    this.list = new Keyed(this.strip, () => this.make(), (node, row) => this.draw(node, row));
  }

  make() {
    return h("div", { class: "kv-record", role: "listitem" }, h("b"), h("span"), h("i"));
  }

  update(rows) {
    const sorted = rows.slice().sort((a, b) => a.cells.offset - b.cells.offset);
    const start = windowStart(sorted, RECORDS_MAX, this.cards);
    const shown = sorted.slice(start, start + RECORDS_MAX);
    this.changes = [];
    this.list.draw(shown, rowKey);
    const left = sorted.length - shown.length;
    show(this.more, left > 0);
    if (left > 0) text(this.more, `${left} more records are not shown`);
    const changed = sorted.filter((row) => this.cards.isNew(row));
    const words = transitions(changed, this.cards);
    show(this.said, words !== "");
    text(this.said, words);
    return changed.length > 0;
  }

  draw(node, row) {
    if (!fresh(node, row, this.cards.isNew(row))) return;
    const { offset, state, short, delivery_count: count, note } = row.cells;
    const kind = STATES[state] ?? `tone-${tone(row.tone)}`;
    attr(node, "class", `kv-record kv-${kind}${this.cards.isNew(row) ? " kv-new" : ""}`);
    const [number, word, dots] = node.children;
    text(number, offset);
    text(word, (STATE_SIGN[kind] ?? "") + (short || state || ""));
    text(dots, count ? `×${count}` : "");
    const was = this.cards.before(row);
    const words = `${offset} ${say(state)}, delivered ${count || 0} times${note ? `, ${note}` : ""}${was ? `; it was ${was.cells.state}` : ""}`;
    attr(node, "title", words);
    attr(node, "aria-label", words);
  }
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

function windowStart(rows, max, cards) {
  if (rows.length <= max) return 0;
  const firstChanged = rows.findIndex((row) => cards.isNew(row));
  const wanted = firstChanged >= 0 ? firstChanged - 4 : rows.length - max;
  return Math.max(0, Math.min(wanted, rows.length - max));
}

const MARKS = ["LSO", "HW", "LEO"];

class Log {
  constructor(body, cards) {
    this.cards = cards;
    this.colours = new Map();
    this.tape = body.appendChild(h("div", { class: "kv-tape", role: "list" }));
    this.said = body.appendChild(h("p", { class: "kv-said" }));
    this.list = new Keyed(this.tape, (item) => this.make(item), (node, item) => this.draw(node, item));
  }

  make(item) {
    if (item.mark) return h("div", { class: `kv-mark kv-mark-${item.line}`, role: "listitem" }, h("span"));
    if (item.gap) return h("div", { class: "kv-gap", role: "listitem" });
    return h("div", { class: "kv-batch", role: "listitem" }, h("b"), h("span"));
  }

  update(rows) {
    const marks = rows.filter((row) => MARKS.includes(row.id) && row.cells.at !== undefined);
    const batches = rows
      .filter((row) => !marks.includes(row))
      .sort((a, b) => a.cells.offset - b.cells.offset);
    const shown = batches.slice(-LOG_MAX);
    this.list.draw(this.tapeOf(shown, marks, batches.length - shown.length), (item) => item.key);
    const moved = marks.filter((row) => this.cards.isNew(row) && this.cards.before(row));
    const words = MARKS.flatMap((id) => moved.filter((row) => row.id === id))
      .map((row) => `${row.id} ${this.cards.before(row).cells.at} → ${row.cells.at}`)
      .join(" · ");
    show(this.said, words !== "");
    text(this.said, words);
    return rows.some((row) => this.cards.isNew(row));
  }

  /** Batches with the marks between them; marks at one place share one line. */
  tapeOf(batches, marks, left) {
    const items = left > 0 ? [{ key: "gap", gap: left }] : [];
    const places = [...group(marks, (row) => row.cells.at)].sort((a, b) => a[0] - b[0]);
    const last = batches.length ? batches[batches.length - 1].cells.offset : -1;
    const put = (until) => {
      while (places.length && places[0][0] <= until) {
        const [at, rows] = places.shift();
        const ids = MARKS.filter((id) => rows.some((row) => row.id === id));
        const line = ids.includes("HW") ? (ids.includes("LSO") ? "both" : "HW") : ids[0];
        items.push({ key: `mark ${ids.join()}`, mark: `${ids.join(" = ")} ${at}`, line, end: at > last && batches.length > 3, changed: rows.some((row) => this.cards.isNew(row)) });
      }
    };
    for (const row of batches) {
      put(row.cells.offset);
      items.push({ key: row.id, row });
    }
    put(Infinity);
    return items;
  }

  draw(node, item) {
    if (item.gap) return text(node, `… ${item.gap} before`);
    if (item.mark) {
      text(node.firstChild, item.mark);
      node.classList.toggle("kv-new", item.changed);
      node.classList.toggle("kv-mark-end", item.end);
      return undefined;
    }
    const { row } = item;
    const changed = this.cards.isNew(row);
    if (!fresh(node, row, changed)) return undefined;
    const { offset, text: words, batch, control } = row.cells;
    const names = ["kv-batch", control ? "kv-control" : "", `kv-tone-${tone(row.tone)}`, this.colour(batch), changed ? "kv-new" : ""];
    attr(node, "class", names.filter(Boolean).join(" "));
    text(node.children[0], control || words || "·");
    text(node.children[1], offset);
    const meaning = { C: "commit marker", A: "abort marker" }[control];
    const label = [`offset ${offset}`, meaning ?? words, batch ? `transaction ${batch}` : ""].filter(Boolean).join(", ");
    attr(node, "title", label);
    attr(node, "aria-label", label);
    return undefined;
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

class Facts {
  constructor(body, cards, card) {
    this.cards = cards;
    this.card = card;
    this.table = body.appendChild(h("dl", { class: "kv-table" }));
    this.list = new Keyed(
      this.table,
      () => h("div", { class: "kv-fact" }, h("dt"), h("dd", {}, h("s"), h("span", { class: "kv-arrow" }), h("b"))),
      (node, row) => this.draw(node, row),
    );
  }

  update(rows) {
    const { line, past, step } = this.cards;
    const gone = (past.get(this.card.id) ?? []).filter((row) => !line.row(row.card, row.id, step));
    this.list.draw([...this.cards.inOrder(rows), ...gone.map((row) => ({ ...row, gone: true }))], rowKey);
    return gone.length > 0 || rows.some((row) => this.cards.isNew(row));
  }

  draw(node, row) {
    const changed = row.gone || this.cards.isNew(row);
    if (!row.gone && !fresh(node, row, changed)) return;
    const was = row.gone ? row : this.cards.before(row);
    attr(node, "class", `kv-fact kv-tone-${tone(row.tone)}${changed ? " kv-new" : ""}`);
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

class Application {
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
