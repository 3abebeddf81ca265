// The client's view beside the brokers' view of the same moment, and where the two disagree.

import { Keyed, attr, first, h, inside, last, show, text } from "../dom/dom.js";
import { Drawer } from "../frame/panels.js";

/** @import { Line } from "../lines/line.js" */
/** @import { App } from "../../types/app" */
/** @import { CardInfo, RowInfo } from "../../types/payload" */

/** @type {Record<string, string>} */
const SIGN = { differs: "◇ differs", agrees: "= agrees", "unknown": "? unknown" };

/** @extends {Drawer<App>} */
export class Beliefs extends Drawer {
  /** @param {App} app */
  constructor(app) {
    super(app, { name: "beliefs", words: "views", title: "client's view and brokers' view", key: "u" });
    this.cards = app.payload.cards.filter((card) => card.kind === "beliefs");
    attr(this.element, "tabindex", 0); // it scrolls, and there is nothing else to focus
    /** @type {Map<string, Keyed<RowInfo, HTMLTableRowElement>>} */
    this.bodies = new Map(); // of each card, its rows
    /** @type {Keyed<CardInfo, HTMLTableElement>} */
    this.list = new Keyed(this.element, (card) => this.make(card), null);
  }

  /** @param {CardInfo} card */
  make(card) {
    const body = h("tbody");
    /** @type {Keyed<RowInfo, HTMLTableRowElement>} */
    const list = new Keyed(
      body,
      (row) => h("tr", h("th", { scope: "row" }, h("b", row.id), h("p.kv-unlike-word")), h("td"), h("td", h("span"), h("p.kv-say-differs"))),
      (node, { cells }) => {
        const [topic, client, broker] = inside(node);
        node.classList.toggle("kv-unlike-row", cells.verdict === "differs");
        text(last(topic), SIGN[cells.verdict ?? ""]);
        text(client, cells.client);
        text(first(broker), cells.broker);
        text(last(broker), cells.words);
        show(last(broker), Boolean(cells.words));
        attr(client, "data-state", cells.verdict);
      },
    );
    this.bodies.set(card.id, list);
    const heads = [card.title, `View of ${card.title}`, "View of coordinators, leaders and logs"];
    return h("table.kv-verdict-table.kv-beliefs-table", h("thead", h("tr", ...heads.map((words) => h("th", { scope: "col" }, words)))), body);
  }

  /**
   * @param {Line} line
   * @param {number} at
   */
  update(line, at) {
    this.list.draw(this.cards, (card) => card.id);
    const rows = line.liveRows.at(at);
    for (const [id, list] of this.bodies) {
      const own = rows.filter((row) => row.card === id).sort((a, b) => line.bornAt(a) - line.bornAt(b));
      list.draw(own, (row) => row.id);
    }
  }
}
