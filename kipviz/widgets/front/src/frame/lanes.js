// Which lanes and cards are on screen, and the button for all of them.

import { aria, attr, h, show, text } from "../dom/dom.js";
import { backward } from "../lines/line.js";

/** @import { Frame } from "./frame.js" */
/** @import { Line } from "../lines/line.js" */
/** @import { Grain } from "../../types/app" */
/** @import { Lane, Payload } from "../../types/payload" */

/**
 * The lanes on screen: the first screen's (four at most), or all.
 * @param {Payload} payload
 * @param {boolean} all
 */
export function lanesOf(payload, all) {
  if (all) return payload.lanes;
  const first = payload.lanes.filter((lane) => lane.first);
  return first.length ? first.slice(0, 4) : payload.lanes.slice(0, 4);
}

/**
 * The cards of the lanes on screen, and those that belong to no lane.
 * @param {Payload} payload
 * @param {Lane[]} lanes
 */
export function cardsOf(payload, lanes) {
  const ids = new Set(lanes.map((lane) => lane.id));
  const known = new Set(payload.lanes.map((lane) => lane.id));
  return payload.cards
    .filter((card) => card.kind !== "beliefs" && (ids.has(card.lane ?? "") || !known.has(card.lane ?? "")))
    .sort((a, b) => (a.order ?? 0) - (b.order ?? 0));
}

/**
 * The place the reader came from, as far as the marks of change are concerned.
 * @param {Line} line
 * @param {number} step
 * @param {Grain} grain
 */
export function sinceOf(line, step, grain) {
  const big = line.bigs[line.bigAt[step]];
  const rested = big && (line.endsBig(step) || big.rests?.includes(step));
  return grain === "big" && rested ? backward(big, step) : step - 1;
}

/**
 * @param {Frame} app
 * @param {Payload} payload
 */
export function lanesButton(app, payload) {
  const hidden = payload.lanes.length - lanesOf(payload, false).length;
  const word = h("span.kv-lanes-word");
  const more = h("span");
  const button = h("button.kv-lanes-button", { onclick: () => app.toggleLanes() }, word, more);
  show(button, hidden > 0);
  return {
    button,
    hidden,
    /** @type {boolean | undefined} */
    drawn: undefined,
    /**
     * Says what a press does; on a narrow page only how many lanes it adds or takes away.
     * @param {boolean} all
     */
    draw(all) {
      if (this.drawn === all) return;
      this.drawn = all;
      text(word, all ? "first screen " : "all lanes ");
      text(more, all ? `\u2212${hidden}` : `+${hidden}`);
      attr(button, "title", all ? "only the lanes of the first screen (a)" : "all lanes (a)");
      attr(button, "aria-label", `${all ? "first screen" : "all lanes"} ${more.textContent}`);
      aria(button, "pressed", all);
    },
  };
}
