// A long name goes on in the next line after one of its parts, and never in the middle of a word.

import { h } from "./dom.js";

// A shorter word fits into a line of any column.
const LONG = /\S{14,}/g;
const JOINT = /(?<=[A-Za-z\d)\]][_=+@.:/,(-])(?=\w)/g;
// Java's names are long words of short ones.
const NAME = /[A-Za-z0-9]{12,}/g;
const HUMP = /(?<=[a-z0-9])(?=[A-Z][a-z])/g;
const MAY_BREAK = "\u200b";
const SHORTEST = 12; // of what breaks; most texts have no such word, and this is asked at every step
const LONG_WORD = new RegExp(`\\S{${SHORTEST}}`);

/**
 * The text in pieces, and between them the places where a line may end, beside its blanks.
 * @param {string} words
 */
export function pieces(words) {
  if (!LONG_WORD.test(words)) return words === "" ? [] : [words];
  const humps = words.replace(NAME, (word) => word.replace(HUMP, MAY_BREAK));
  const parts = humps.replace(LONG, (word) => word.replace(JOINT, MAY_BREAK)).split(MAY_BREAK);
  return parts.flatMap((part, n) => (n ? [h("wbr"), part] : [part]));
}

/**
 * A text as an element whose long names may break.
 * @param {string} words
 */
export function breakable(words) {
  return h("span", ...pieces(words));
}

/**
 * Writes the text of a node, as `text` does, so that its long names may break.
 * @param {Element} node
 * @param {string} words
 */
export function name(node, words) {
  if (node.textContent !== words) node.replaceChildren(...pieces(words));
}
