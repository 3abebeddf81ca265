// How numbers and tones are said, in one place.

import { need } from "./dom.js";

/** @import { Tone } from "../../types/nodes" */

/** @type {Tone[]} */
export const TONES = ["calm", "pending", "done", "warning", "broken", "gone"];
/** @type {Record<Tone, string>} */
export const TONE_MARK = { calm: "", pending: "", done: "✓", warning: "△", broken: "⚠", gone: "✗" };
/** @type {Record<string, string>} */
export const STATE_MARK = { holds: "✓", pending: "…", broken: "⚠" };
/** @type {Record<string, string>} */
export const STATE_WORD = { holds: "holds", pending: "not decided yet", broken: "broken" };

/**
 * A tone the style sheet knows; anything else is calm.
 * @param {string} [name]
 */
export const tone = (name) => (TONES.includes(/** @type {Tone} */ (name)) ? /** @type {Tone} */ (name) : "calm");

/**
 * The cells of a row by name, with a word for what is missing.
 * @param {unknown} value
 */
export const say = (value) => (value === null || value === undefined || value === "" ? "none" : String(value));

/** @type {{ context: CanvasRenderingContext2D | null, widths: Map<string, number> }} */
const canvas = { context: null, widths: new Map() };

/**
 * How wide a text is drawn, in pixels; measured once per text and font.
 * @param {string} words
 * @param {string} font
 */
export function widthOf(words, font) {
  const key = `${font}\u0000${words}`;
  let width = canvas.widths.get(key);
  if (width === undefined) {
    const context = (canvas.context ??= need(document.createElement("canvas").getContext("2d"), "a canvas"));
    context.font = font;
    width = context.measureText(words).width;
    if (canvas.widths.size > 20000) canvas.widths.clear();
    canvas.widths.set(key, width);
  }
  return width;
}

/**
 * The text, cut to a width with an ellipsis.
 * @param {string} words
 * @param {string} font
 * @param {number} width
 */
export function fit(words, font, width) {
  if (widthOf(words, font) <= width) return words;
  const letters = [...words];
  let low = 0;
  let high = letters.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (widthOf(`${letters.slice(0, middle).join("")}…`, font) <= width) low = middle;
    else high = middle - 1;
  }
  return low ? `${letters.slice(0, low).join("")}…` : "";
}
