// State cards: what each role knows at the cursor. Every kind is a keyed list of cells; what changed
// since the place the reader came from is outlined and says what it was before.

import { Application, Facts } from "./facts.js";
import { Log } from "./log.js";
import { Machine } from "./machine.js";
import { Own } from "./own.js";
import { sameRows, wordsOf } from "./rows.js";
import { Records } from "./strip.js";
import { Keyed, attr, h, icon, need, show, text } from "../dom/dom.js";
import { group } from "../lines/line.js";

/** @import { Line } from "../lines/line.js" */
/** @import { Drawn } from "../../types/app" */
/** @import { CardInfo, RowInfo } from "../../types/payload" */

/** @type {Record<string, new (body: HTMLElement, cards: Cards, card: CardInfo) => { update(rows: RowInfo[]): boolean }>} */
const KINDS = { records: Records, log: Log, application: Application, machine: Machine, own: Own };

export class Cards {
  /** @param {Drawn} app */
  constructor(app) {
    /** @type {Line} */
    this.line = app.line; // what was drawn last
    this.step = this.since = -1;
    this.waiting = 0;
    /** @type {Map<string, RowInfo[]>} */
    this.rows = new Map();
    /** @type {Map<string, RowInfo[]>} */
    this.past = new Map();
    /** @type {Map<string, (node: HTMLElement, rows: RowInfo[]) => void>} */
    this.drawers = new Map();
    this.app = app;
    this.pins = h("article.kv-card.kv-pins", { label: "Pinned rows" });
    this.pinned = new Facts(this.pins, this, {});
    this.box = h("div.kv-cards-list");
    this.nothing = h("p.kv-nothing", "Nothing changed in this step.");
    this.element = h("div.kv-cards", this.pins, this.nothing, this.box);
    this.list = new Keyed(
      this.box,
      (card) => this.make(card),
      (node, card) => this.drawers.get(card.id)?.(node, this.rows.get(card.id) ?? []),
    );
  }

  /** @param {CardInfo} card */
  make(card) {
    const kind = KINDS[card.kind] ?? Facts;
    const body = h("div", { class: `kv-body kv-${card.kind}` });
    const drawer = new kind(body, this, card);
    const { tools, fill } = this.tools(card) ?? {};
    const node = h(
      "article.kv-card",
      { label: `${card.title}, ${card.where}`, onpointerenter: fill },
      h("header", h("h4", { title: card.title }, card.title), h("span.kv-where", { title: card.where }, card.where), h("span.kv-delta", { title: "changed in this step" }, "Δ"), h("span.kv-unlike", "◇ differs"), tools),
      body,
    );
    /** @type {RowInfo[] | undefined} */
    let drawn;
    this.drawers.set(card.id, (target, rows) => {
      attr(target, "data-pinned", this.app.views?.isPinned(card.id) ? "" : null);
      const past = this.past.get(card.id) ?? [];
      const quiet = alike(past, rows);
      if (quiet && drawn && alike(drawn, rows)) return;
      const changed = drawer.update(rows);
      drawn = quiet && !changed ? rows : undefined;
      target.classList.toggle("kv-changed", changed);
      show(target, rows.length > 0);
    });
    return node;
  }

  /**
   * Pin and hide by mouse, made when the mouse comes; the drawer of views does the same by keyboard.
   * @param {CardInfo} card
   */
  tools(card) {
    const { views } = this.app;
    if (!views) return null;
    /**
     * @param {string} title
     * @param {Node} sign
     * @param {() => void} act
     */
    const button = (title, sign, act) => h("button.kv-tool", { tabindex: "-1", title, label: `${title}: ${card.title}`, onclick: act }, sign);
    const tools = h("span.kv-card-tools");
    const fill = () => tools.firstChild || tools.append(button("pin or unpin", icon("pin"), () => views.togglePin(card.id)), button("hide", icon("close"), () => views.toggleHidden(card.id)));
    return { tools, fill };
  }

  /** @param {RowInfo} told */
  pinRow({ card, id }) {
    this.app.views?.toggleRow(card, id);
  }

  /**
   * @param {Line} line
   * @param {number} step
   * @param {number} since
   * @param {CardInfo[]} cards
   */
  update(line, step, since, cards) {
    Object.assign(this, { line, step, since });
    this.rows = group(line.liveRows.at(step), (row) => row.card);
    this.past = since >= 0 && since < step ? group(line.liveRows.at(since), (row) => row.card) : new Map();
    this.list.draw(cards, (card) => card.id);
    this.drawPins(this.app.views?.rows ?? []);
    show(this.nothing, Boolean(this.app.views?.only) && !this.box.querySelector(":scope > .kv-changed"));
    if (!this.waiting) this.waiting = requestAnimationFrame(() => this.app.guard(() => this.reveal()));
  }

  /** @param {Array<[string, string]>} pins */
  drawPins(pins) {
    const titles = new Map(this.app.payload.cards.map((card) => [card.id, card.title]));
    const rows = pins.filter(([card]) => titles.has(card)).map(([card, id]) => ({ ...(this.line.row(card, id, this.step) ?? { card, id, from: this.step, to: null, cells: { value: "absent" } }), of: titles.get(card) }));
    show(this.pins, rows.length > 0);
    this.pinned.update(rows);
  }

  /**
   * Marks the cards of which the other side of a comparison shows something else.
   * @param {Cards} other
   */
  compareWith(other) {
    for (const [id, node] of this.list.nodes) {
      const unlike = other.list.nodes.has(id) && !sameRows(this.rows.get(String(id)) ?? [], other.rows.get(String(id)) ?? []);
      node.classList.toggle("kv-differing", unlike);
      attr(need(node.querySelector(".kv-unlike"), "a mark"), "title", unlike ? "the other side shows something else" : null);
    }
    text(this.nothing, "Nothing differs here, and nothing changed in this step.");
    show(this.nothing, !this.box.querySelector(":scope > :is(.kv-differing, .kv-changed):not([hidden])"));
  }

  /** Brings the first changed card into view when none of them is. */
  reveal() {
    this.waiting = 0;
    const box = this.element.parentElement;
    const changed = [...this.list.nodes.values()].filter((node) => !node.hidden && node.classList.contains("kv-changed"));
    if (!changed.length || !box || box.scrollHeight <= box.clientHeight + 1) return;
    const top = box.scrollTop;
    /** @param {HTMLElement} node */
    const seen = (node) => node.offsetTop - 12 >= top && node.offsetTop + node.offsetHeight <= top + box.clientHeight;
    if (changed.some(seen)) return;
    const wanted = changed.reduce((a, b) => (a.offsetTop < b.offsetTop ? a : b));
    box.scrollTop = wanted.offsetTop - 12;
  }

  /**
   * Whether this row says something else than at the place the reader came from.
   * @param {RowInfo} row
   */
  isNew(row) {
    if (this.since < 0 || row.from <= this.since || row.from > this.step) return false;
    const was = this.line.row(row.card, row.id, this.since);
    return !was || wordsOf(was) !== wordsOf(row);
  }

  /** @param {RowInfo} row */
  before(row) {
    return this.isNew(row) ? this.line.row(row.card, row.id, this.since) : undefined;
  }

  /**
   * By the order that the rows name, and otherwise in the order in which they came up.
   * @param {RowInfo[]} rows
   */
  inOrder(rows) {
    return rows.slice().sort((a, b) => (a.cells.order ?? 0) - (b.cells.order ?? 0) || this.line.bornAt(a) - this.line.bornAt(b));
  }
}

/**
 * The very same rows.
 * @param {RowInfo[]} left
 * @param {RowInfo[]} right
 */
function alike(left, right) {
  return left.length === right.length && left.every((row, n) => row === right[n]);
}
