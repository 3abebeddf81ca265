// How numbers and tones are said, in one place.

export const TONES = ["calm", "pending", "done", "warning", "broken", "gone"];
export const TONE_MARK = { calm: "", pending: "", done: "✓", warning: "△", broken: "⚠", gone: "✗" };
export const STATE_MARK = { holds: "✓", pending: "…", broken: "⚠" };
export const STATE_WORD = { holds: "holds", pending: "not decided yet", broken: "broken" };

/** A tone the style sheet knows; anything else is calm. */
export const tone = (name) => (TONES.includes(name) ? name : "calm");

/** The cells of a row by name, with a word for what is missing. */
export const say = (value) => (value === null || value === undefined || value === "" ? "none" : String(value));

const canvas = { context: null, widths: new Map() };

/** How wide a text is drawn, in pixels; measured once per text and font. */
export function widthOf(words, font) {
  const key = `${font}\u0000${words}`;
  let width = canvas.widths.get(key);
  if (width === undefined) {
    canvas.context ??= document.createElement("canvas").getContext("2d");
    canvas.context.font = font;
    width = canvas.context.measureText(words).width;
    if (canvas.widths.size > 20000) canvas.widths.clear();
    canvas.widths.set(key, width);
  }
  return width;
}

/** The text, cut to a width with an ellipsis. */
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
