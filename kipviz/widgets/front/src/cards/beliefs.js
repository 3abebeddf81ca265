// The client's view beside the brokers' view of the same moment, and where the two disagree.

import { Keyed, attr, h, show, text } from "../dom/dom.js";
import { Drawer } from "../frame/panels.js";

const SIGN = { differs: "◇ differs", agrees: "= agrees", "unknown": "? unknown" };

export class Beliefs extends Drawer {
  constructor(app) {
    super(app, { name: "beliefs", words: "views", title: "client's view and brokers' view", key: "u" });
    this.cards = app.payload.cards.filter((card) => card.kind === "beliefs");
    attr(this.element, "tabindex", 0); // it scrolls, and there is nothing else to focus
    this.list = new Keyed(this.element, (card) => this.make(card), null);
  }

  make(card) {
    const body = h("tbody");
    body.list = new Keyed(
      body,
      (row) => h("tr", h("th", { scope: "row" }, h("b", row.id), h("p.kv-unlike-word")), h("td"), h("td", h("span"), h("p.kv-say-differs"))),
      (node, { cells }) => {
        const [topic, client, broker] = node.children;
        node.classList.toggle("kv-unlike-row", cells.verdict === "differs");
        text(topic.lastChild, SIGN[cells.verdict]);
        text(client, cells.client);
        text(broker.firstChild, cells.broker);
        text(broker.lastChild, cells.words);
        show(broker.lastChild, Boolean(cells.words));
        attr(client, "data-state", cells.verdict);
      },
    );
    const heads = [card.title, `View of ${card.title}`, "View of coordinators, leaders and logs"];
    return h("table.kv-verdict-table.kv-beliefs-table", h("thead", h("tr", ...heads.map((words) => h("th", { scope: "col" }, words)))), body);
  }

  update(line, at) {
    this.list.draw(this.cards, (card) => card.id);
    const rows = line.liveRows.at(at);
    for (const [id, node] of this.list.nodes) {
      const own = rows.filter((row) => row.card === id).sort((a, b) => line.bornAt(a) - line.bornAt(b));
      node.lastChild.list.draw(own, (row) => row.id);
    }
  }
}
