// A state machine: every box and arrow stands where Python put it; only what is lit changes.

import { breakable } from "../dom/breakable.js";
import { attr, h, need, s, text } from "../dom/dom.js";

/** @import { Cards } from "./cards.js" */
/** @import { CardInfo, RowInfo, StateBox } from "../../types/payload" */

const HALF = { width: 50, height: 15 };
let made = 0;

export class Machine {
  /**
   * @param {HTMLElement} body
   * @param {Cards} cards
   * @param {CardInfo} card
   */
  constructor(body, cards, card) {
    this.cards = cards;
    this.name = cards.app.name(`tip-${++made}-`);
    const { width, height, states, edges, note, source } = need((cards.app.payload.machines ?? []).find((one) => one.id === card.machine), card.title);
    this.boxes = states.map((state) => this.box(state));
    this.arrows = edges.map((edge) => ({ ...edge, id: `${edge.from} to ${edge.to}`, node: s("path", { d: edge.d }) }));
    const nodes = [...this.arrows, ...this.boxes].map((one) => one.node);
    this.svg = s("svg.kv-machine-svg", { viewBox: `0 0 ${width} ${height}`, role: "img" }, this.tip(""), this.tip("just"), ...nodes);
    this.said = h("p.kv-now");
    body.append(this.svg, this.said, h("p.kv-more", breakable(`${note} Kafka: ${source}.`)));
  }

  /** @param {string} kind */
  tip(kind) {
    return s("marker", { id: this.name + kind, class: `kv-tip-${kind}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse", orient: "auto" }, s("path", { d: "M0 .5L8 4L0 7.5z" }));
  }

  /** @param {StateBox} state */
  box(state) {
    const { x, y } = state;
    const words = s("text", { "text-anchor": "middle" });
    return { ...state, words, node: s("g", s("rect", { x: x - HALF.width, y: y - HALF.height, width: 2 * HALF.width, height: 2 * HALF.height, rx: 6 }), words) };
  }

  /** @param {RowInfo[]} rows */
  update(rows) {
    const lit = new Map(rows.filter((row) => row.cells.state).map((row) => [row.cells.state, row.cells.text]));
    for (const { name, node, words, lines, x, y } of this.boxes) {
      const said = lit.get(name);
      attr(node, "class", lit.has(name) ? "kv-state kv-on" : "kv-state");
      const wanted = said ? [name, said.length > 18 ? `${said.slice(0, 17)}…` : said] : lines;
      if (words.textContent !== wanted.join("")) words.replaceChildren(...wanted.map((line, n) => s("tspan", { x, y: y + 9 - 5.5 * wanted.length + n * 11 }, line)));
    }
    const taken = new Map(rows.filter((row) => row.cells.times).map((row) => [row.id, row]));
    const just = [...taken.values()].filter((row) => this.cards.isNew(row));
    for (const { id, node, sudden } of this.arrows) {
      const now = just.some((row) => row.id === id);
      attr(node, "class", `kv-edge${taken.has(id) ? " kv-taken" : ""}${now ? " kv-just" : ""}${sudden ? " kv-sudden" : ""}`);
      attr(node, "marker-end", `url(#${this.name}${now ? "just" : ""})`);
      attr(node, "display", sudden && !now ? "none" : null);
    }
    const states = [...lit].map(([name, words]) => (words ? `${name} (${words})` : name)).join(", ") || "known to nobody";
    const words = `now ${states}${just.length ? `; just taken: ${just.map((row) => `${row.cells.from} → ${row.cells.to}`).join(", ")}` : ""}`;
    text(this.said, words);
    attr(this.svg, "aria-label", [words, ...[...taken].map(([id, row]) => `${id}: ${row.cells.times} times`)].join("; "));
    return rows.some((row) => this.cards.isNew(row));
  }
}
