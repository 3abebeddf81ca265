// The title line: what is shown, whose design it is and how far it is decided, whether the cluster is the small one, and the verdicts.

import { Keyed, aria, attr, first, h, inside, last, show, text } from "../dom/dom.js";
import { STATE_MARK, STATE_WORD } from "../dom/words.js";

/** @import { Line } from "../lines/line.js" */
/** @import { VerdictChip } from "../../types/parts" */
/** @import { Design, VerdictInfo } from "../../types/payload" */

/** @type {Record<string, string>} */
const STATUS = { shipped: "●", draft: "◐", "our inference": "◌" };
const CHIPS_MAX = 4;
const LONG = 12; // letters of a promise's name that give way on a narrow page
/** @type {Record<string, number>} */
const ORDER = { broken: 0, pending: 1, holds: 2 };

export class DesignChip {
  /** @param {Design} [design] */
  constructor(design) {
    this.sign = h("span", { "aria-hidden": "true" });
    this.word = h("span");
    this.status = h("span.kv-status", this.sign, this.word);
    this.name = h("b");
    this.element = h("span.kv-chip.kv-design", h("span.kv-dim", "design "), this.name, this.status);
    this.update(design);
  }

  /** @param {Design | undefined} design */
  update(design) {
    const status = design?.status ?? "";
    attr(this.element, "title", [design?.sentence, status && `(${status})`].filter(Boolean).join(" "));
    attr(this.status, "data-status", status);
    text(this.name, design?.name);
    this.element.classList.toggle("kv-long", (design?.name ?? "").length > 2 * LONG);
    text(this.sign, STATUS[status] ?? "○");
    text(this.word, ` ${status}`);
    show(this.element, Boolean(design?.name));
  }
}

/** The chip of a run on the cluster of searches; it opens what that cluster leaves out of Kafka. */
export class SmallCluster {
  /** @param {Design} [design] */
  constructor(design) {
    this.words = h("dd");
    this.panel = h("dl.kv-verdict-panel", h("div", { "data-state": "small" }, h("dt", "small cluster"), this.words));
    this.element = h("button.kv-chip.kv-small", { onclick: () => this.toggle() }, "small cluster");
    this.toggle(false);
    this.update(design);
  }

  /** @param {Design | undefined} design */
  update(design) {
    const out = design?.left_out ?? [];
    const said = `This run is on the small cluster on which searches run. It leaves out of Kafka: ${out.join("; ")}.`;
    text(this.words, said);
    attr(this.element, "title", said);
    show(this.element, out.length > 0);
    if (!out.length) this.toggle(false);
  }

  toggle(open = this.panel.hidden === true) {
    show(this.panel, open);
    aria(this.element, "expanded", open);
  }
}

export class Verdicts {
  /** @param {{ size?: string | null, name(part: string): string }} app */
  constructor(app) {
    this.app = app;
    /** @type {VerdictInfo[]} */
    this.alive = [];
    this.chips = h("div.kv-verdicts", { role: "group", label: "Properties" });
    this.panel = h("dl.kv-verdict-panel");
    show(this.panel, false);
    this.list = new Keyed(
      this.chips,
      () => h("button.kv-chip.kv-verdict", { onclick: () => this.toggle() }, h("span.kv-sign", { "aria-hidden": "true" }), h("b"), " ", h("span.kv-dim.kv-word")),
      (node, verdict) => this.draw(node, verdict),
    );
    this.rows = new Keyed(
      this.panel,
      () => h("div", h("dt"), h("dd")),
      (node, verdict) => {
        if (node.kvVerdict === verdict) return;
        node.kvVerdict = verdict;
        text(first(node), `${STATE_MARK[verdict.state] ?? ""} ${verdict.property}: ${STATE_WORD[verdict.state] ?? verdict.state}`);
        text(last(node), `${verdict.sentence}${verdict.reason ? `: ${verdict.reason}` : ""}`);
        attr(node, "data-state", verdict.state);
      },
    );
  }

  /**
   * @param {Line} line
   * @param {number} step
   */
  update(line, step) {
    const alive = line.liveVerdicts.at(step).sort((a, b) => (ORDER[a.state] ?? 3) - (ORDER[b.state] ?? 3));
    this.alive = alive;
    const loud = alive.filter((verdict) => verdict.state !== "holds");
    const calm = alive.filter((verdict) => verdict.state === "holds");
    const folded = alive.length > (this.app.size === "two" ? 1 : CHIPS_MAX) && calm.length > 1;
    /** @type {VerdictChip[]} */
    const chips = folded ? [...loud, { property: `${calm.length} hold`, state: "holds", sentence: calm.map((v) => v.property).join(", "), all: true }] : alive;
    this.list.draw(chips, (verdict) => (verdict.all ? "all" : verdict.property));
    this.rows.draw(alive, (verdict) => verdict.property);
  }

  /**
   * @param {HTMLElement} node
   * @param {VerdictChip} verdict
   */
  draw(node, verdict) {
    if (node.kvVerdict === verdict) return;
    node.kvVerdict = verdict;
    const [sign, name, word] = inside(node);
    text(sign, STATE_MARK[verdict.state] ?? "?");
    if (name.textContent !== verdict.property) {
      text(name, verdict.property);
      node.classList.toggle("kv-long", verdict.property.length > LONG);
    }
    text(word, verdict.state === "broken" ? "broken" : "");
    attr(node, "data-state", verdict.state);
    attr(node, "title", `${verdict.sentence}${verdict.reason ? `: ${verdict.reason}` : ""}`);
    attr(node, "aria-label", `${verdict.property}: ${STATE_WORD[verdict.state] ?? verdict.state}`);
  }

  /**
   * Marks the verdicts of which the other side of a comparison says something else.
   * @param {Verdicts} other
   */
  compareWith(other) {
    const said = new Map(other.alive.map((verdict) => [verdict.property, verdict.state]));
    for (const [name, node] of this.list.nodes) {
      const mine = this.alive.find((verdict) => verdict.property === name);
      const unlike = mine !== undefined && said.get(mine.property) !== mine.state;
      node.classList.toggle("kv-unlike-chip", unlike);
      if (mine) attr(node, "aria-label", `${name}: ${STATE_WORD[mine.state] ?? mine.state}${unlike ? ", the other side differs" : ""}`);
    }
  }

  toggle(open = this.panel.hidden === true) {
    show(this.panel, open);
  }

  broken() {
    return this.alive.filter((verdict) => verdict.state === "broken");
  }
}
