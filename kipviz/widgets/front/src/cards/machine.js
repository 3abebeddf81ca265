// A state machine: every box and arrow stands where Python put it; only what is lit changes.

import { attr, h, s, text } from "../dom.js";

const HALF = { width: 50, height: 15 };
const FITS = 14;
let made = 0;

export class Machine {
  constructor(body, cards, card) {
    this.cards = cards;
    this.drawing = (cards.app.payload.machines ?? []).find((one) => one.id === card.machine);
    const { drawing } = this;
    this.number = ++made;
    this.states = new Map(drawing.states.map((state) => [state.name, this.box(state)]));
    this.edges = new Map(drawing.edges.map((edge) => [`${edge.from} to ${edge.to}`, this.arrow(edge)]));
    const stub = drawing.everywhere ? [this.stub(drawing)] : [];
    this.svg = s("svg", { class: "kv-machine-svg", viewBox: `0 0 ${drawing.width} ${drawing.height}`, role: "img" }, s("defs", {}, this.head("calm"), this.head("just")), ...[...this.edges.values()].map((one) => one.node), ...stub, ...[...this.states.values()].map((one) => one.node));
    this.said = h("p", { class: "kv-now" });
    body.append(this.svg, this.said, h("p", { class: "kv-more", text: `${drawing.note} Kafka: ${drawing.source}.` }));
  }

  head(kind) {
    return s("marker", { id: this.id(kind), class: `kv-tip-${kind}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse", orient: "auto" }, s("path", { d: "M0 .5L8 4L0 7.5z" }));
  }

  id(kind) {
    return this.cards.app.name(`tip-${this.number}-${kind}`);
  }

  box({ name, x, y }) {
    const lines = name.length > FITS && name.includes("_") ? [name.slice(0, name.indexOf("_") + 1), name.slice(name.indexOf("_") + 1)] : [name];
    const words = s("text", { x, "text-anchor": "middle" });
    const node = s("g", { class: "kv-state" }, s("rect", { x: x - HALF.width, y: y - HALF.height, width: 2 * HALF.width, height: 2 * HALF.height, rx: 6 }), words);
    return { node, words, lines, x, y };
  }

  label(one, lines) {
    const wanted = lines.join("\n");
    if (one.shown === wanted) return;
    one.shown = wanted;
    const top = one.y + 3.5 - (lines.length - 1) * 5.5;
    one.words.replaceChildren(...lines.map((line, n) => s("tspan", { x: one.x, y: top + n * 11, text: line })));
  }

  arrow({ from, to, d, sudden }) {
    const title = s("title");
    const node = s("path", { d, class: "kv-edge" }, title);
    return { node, title, from, to, sudden };
  }

  /** "from everywhere": one short arrow instead of one from every box. */
  stub({ states, everywhere }) {
    const { x, y } = states.find((state) => state.name === everywhere);
    const end = x + HALF.width;
    return s("g", { class: "kv-stub" }, s("path", { d: `M${end + 30} ${y}L${end} ${y}`, class: "kv-edge", "marker-end": `url(#${this.id("calm")})` }), s("text", { x: end + 28, y: y - 6, "text-anchor": "middle", text: "any" }));
  }

  update(rows) {
    const lit = new Map(rows.filter((row) => row.cells.state).map((row) => [row.cells.state, row.cells.text]));
    for (const [name, one] of this.states) {
      const words = lit.get(name);
      attr(one.node, "class", lit.has(name) ? "kv-state kv-on" : "kv-state");
      this.label(one, words ? [one.lines.join(""), words.length > 18 ? `${words.slice(0, 17)}…` : words] : one.lines);
    }
    const taken = new Map(rows.filter((row) => row.cells.times).map((row) => [row.id, row.cells.times]));
    const just = rows.filter((row) => row.cells.times && this.cards.isNew(row));
    const now = new Set(just.map((row) => row.id));
    for (const [id, edge] of this.edges) {
      const times = taken.get(id) ?? 0;
      const kind = now.has(id) ? "just" : "calm";
      attr(edge.node, "class", `kv-edge${times ? " kv-taken" : ""}${now.has(id) ? " kv-just" : ""}${edge.sudden ? " kv-sudden" : ""}`);
      attr(edge.node, "marker-end", `url(#${this.id(kind)})`);
      attr(edge.node, "display", edge.sudden && !now.has(id) ? "none" : null);
      text(edge.title, `${edge.from} → ${edge.to}: taken ${times} times so far`);
    }
    const states = [...lit].map(([name, words]) => (words ? `${name} (${words})` : name)).join(", ") || "nobody knows";
    const words = `now ${states}${just.length ? `; just taken: ${just.map((row) => `${row.cells.from} → ${row.cells.to}`).join(", ")}` : ""}`;
    text(this.said, words);
    attr(this.svg, "aria-label", [words, ...[...taken].map(([id, times]) => `${id}: ${times} times`)].join("; "));
    return rows.some((row) => this.cards.isNew(row));
  }
}
