// The drawer of views: which cards are shown, which stay at the top whatever the lanes, and which
// single rows do. What is chosen here is saved with the notebook.

import { Keyed, attr, first, h, last, press, show, text } from "../dom/dom.js";
import { cardsOf } from "../frame/lanes.js";
import { Drawer } from "../frame/panels.js";
import { nameOf } from "./rows.js";

/** @import { App } from "../../types/app" */
/** @import { CardInfo, Lane, ViewState } from "../../types/payload" */

/** @extends {Drawer<App>} */
export class Views extends Drawer {
  /** @param {App} app */
  constructor(app) {
    super(app, { name: "views", title: "Choose, pin and hide views", key: "v" });
    this.onlyBox = h("input", { type: "checkbox", onchange: () => app.toggleOnly() });
    this.reset = press("show all, pin none", () => this.set({ pinned: [], hidden: [], rows: [] }));
    this.table = h("ul.kv-view-list");
    this.element.append(h("div.kv-views-top", h("label", this.onlyBox, " only what changed in this step ", h("kbd", "d")), this.reset), this.table);
    this.list = new Keyed(this.table, (card) => this.make(card), (node, card) => this.draw(node, card));
  }

  // -- what is chosen ---------------------------------------------------------------------------------

  get state() {
    return this.app.model.get("views") ?? {};
  }

  get rows() {
    return this.state.rows ?? [];
  }

  get only() {
    return Boolean(this.state.only);
  }

  /** @param {string} card */
  isPinned(card) {
    return (this.state.pinned ?? []).includes(card);
  }

  /** @param {string} card */
  isHidden(card) {
    return (this.state.hidden ?? []).includes(card);
  }

  /** @param {ViewState} change */
  set(change) {
    this.app.keep({ views: { ...this.state, ...change } });
    this.app.draw();
  }

  /**
   * @param {"pinned" | "hidden"} name
   * @param {string} card
   * @param {"pinned" | "hidden"} other
   */
  swap(name, card, other) {
    const list = this.state[name] ?? [];
    const there = list.includes(card);
    this.set({ [name]: there ? list.filter((id) => id !== card) : [...list, card], [other]: (this.state[other] ?? []).filter((id) => id !== card) });
  }

  /** @param {string} card */
  togglePin(card) {
    this.swap("pinned", card, "hidden");
  }

  /** @param {string} card */
  toggleHidden(card) {
    this.swap("hidden", card, "pinned");
  }

  /**
   * @param {string} card
   * @param {string} row
   */
  toggleRow(card, row) {
    const others = this.rows.filter(([c, r]) => c !== card || r !== row);
    this.set({ rows: others.length < this.rows.length ? others : [...others, [card, row]] });
  }

  /**
   * The cards to draw, in an order that never changes but for the pinned ones, which come first.
   * @param {Lane[]} lanes
   */
  chosen(lanes) {
    const { payload } = this.app;
    const { pinned: kept = [], hidden = [] } = this.state;
    const all = cardsOf(payload, lanes);
    if (!kept.length && !hidden.length) return all;
    const shown = all.filter((card) => !this.isHidden(card.id));
    const pinned = cardsOf(payload, payload.lanes).filter((card) => this.isPinned(card.id));
    return [...pinned, ...shown.filter((card) => !this.isPinned(card.id))];
  }

  // -- the drawer -------------------------------------------------------------------------------------

  /** @param {CardInfo} card */
  make(card) {
    /**
     * @param {string} words
     * @param {() => unknown} act
     */
    const box = (words, act) => h("label", h("input", { type: "checkbox", onchange: act }), ` ${words}`);
    /** @type {HTMLSelectElement} */
    const choose = h("select", { label: `Pin a row of ${card.title}`, onchange: () => choose.value && this.toggleRow(card.id, choose.value) });
    return h("li", h("span.kv-view-name", h("b", card.title), " ", h("span.kv-dim", card.where)), box("shown", () => this.toggleHidden(card.id)), box("pinned", () => this.togglePin(card.id)), choose);
  }

  /**
   * @param {HTMLElement} node
   * @param {CardInfo} card
   */
  draw(node, card) {
    const [shown, pinned] = node.querySelectorAll("input");
    shown.checked = !this.isHidden(card.id);
    pinned.checked = this.isPinned(card.id);
    const choose = /** @type {HTMLSelectElement} */ (last(node));
    const rows = this.app.cards.rows?.get(card.id) ?? [];
    const pins = this.rows.filter(([id]) => id === card.id).map(([, row]) => row);
    const wanted = JSON.stringify([rows.map((row) => row.id), pins]);
    if (choose.kvRows !== wanted) {
      choose.kvRows = wanted;
      choose.replaceChildren(h("option", { value: "" }, pins.length ? `${pins.length} pinned` : "pin a row …"), ...rows.map((row) => h("option", { value: row.id }, `${pins.includes(row.id) ? "✓ " : ""}${nameOf(row)}`)));
    }
    choose.value = "";
    show(choose, rows.length > 0);
  }

  update() {
    const { payload } = this.app;
    this.onlyBox.checked = this.only;
    this.list.draw(cardsOf(payload, payload.lanes), (card) => card.id);
  }

  /** What holds whether the drawer is open or not. */
  mark() {
    attr(this.app.root, "data-only", this.only ? "changed" : null);
    const { hidden: away = [] } = this.state;
    const hidden = away.length && this.app.payload.cards.filter((card) => away.includes(card.id)).length;
    text(first(this.button), hidden ? `views −${hidden}` : "views");
  }
}
