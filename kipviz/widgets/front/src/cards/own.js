// A card of the reader's own view: rows, or a picture. A picture is an image of its own: nothing in it runs or loads.

import { attr, h, show } from "../dom/dom.js";
import { Facts } from "./facts.js";

/** @import { Cards } from "./cards.js" */
/** @import { CardInfo, RowInfo } from "../../types/payload" */

export class Own {
  /**
   * @param {HTMLElement} body
   * @param {Cards} cards
   * @param {CardInfo} card
   */
  constructor(body, cards, card) {
    this.cards = cards;
    this.picture = body.appendChild(h("img.kv-picture", { alt: "" }));
    this.facts = new Facts(body, cards, card);
  }

  /** @param {RowInfo[]} rows */
  update(rows) {
    const drawn = rows.find((row) => row.cells.svg);
    show(this.picture, Boolean(drawn));
    if (drawn) {
      attr(this.picture, "src", `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawn.cells.svg ?? "")}`);
      attr(this.picture, "alt", drawn.cells.value);
    }
    const changed = this.facts.update(rows.filter((row) => row !== drawn));
    return changed || Boolean(drawn && this.cards.isNew(drawn));
  }
}
