// A permalink, made in the page without a kernel: the same letters as kipviz/core/links/linkcode.py, which
// says what they mean. `chain` is the main line and the branches that lead to the cursor's line.

import { need } from "../dom/dom.js";

/** @import { Line } from "../lines/line.js" */
/** @import { Lines } from "../lines/lines.js" */
/** @import { LinkLeg } from "../../types/parts" */
/** @import { Payload } from "../../types/payload" */

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const CHECK_BITS = 2;
export const WARNED = 1500;
export const LONGEST = 8000;
/** Text that looks like a permalink of any format: PATTERN of kipviz/core/links/linkcode.py. */
export const LINK = /^kv[0-9]+\.[\w.+=~-]*[\w-]$/;

/**
 * The link to a step of a line, or a reason why there is none.
 * @param {Payload} payload
 * @param {Lines} lines
 * @param {Line} line
 * @param {number} step
 */
export function permalink(payload, lines, line, step) {
  const { chain, head, start } = chainOf(payload, lines, line);
  if (!head) throw new Error("This run's scenario is not in the library, so a link could not reopen it. Save it as a trace file.");
  const legs = joined(chain);
  const [first, ...others] = legs;
  const steps = legs.flatMap((leg) => leg.steps);
  const marks = [start, ...steps.map(({ mark }) => mark)].map(bytesOf);
  const written = steps.flatMap(({ pick }, n) => (typeof pick === "string" ? [number(n) + text(pick)] : []));
  const picks = steps.map(({ pick }) => (typeof pick === "number" ? pick : 0));
  const costs = [0, 1, 2, 3, 4, 5, 6, 7].map((k) => picks.reduce((sum, pick) => sum + (pick >> k) + 1 + k, 0));
  const k = costs.indexOf(Math.min(...costs));
  const bits = [
    binary(marks[0][0], 8),
    binary(crc32(marks.flat()), 32),
    number(end(legs[legs.length - 1]) - step),
    number(others.length),
    number(first.steps.length),
    ...others.map((leg) => number(leg.at) + number(leg.steps.length)),
    number(written.length),
    ...written,
    binary(k, 3),
    ...picks.map((pick) => `${"1".repeat(pick >> k)}0${binary(pick & ((1 << k) - 1), k)}`),
    ...marks.slice(1).map((mark) => binary(mark[0] >> (8 - CHECK_BITS), CHECK_BITS)),
  ].join("");
  const before = `kv2.${head}`;
  const body = (bits.match(/.{1,8}/g) ?? []).map((byte) => Number.parseInt(byte.padEnd(8, "0"), 2));
  const sum = crc32([...new TextEncoder().encode(before), ...body]);
  const link = `${before}.${letters([24, 16, 8, 0].map((shift) => (sum >>> shift) & 255).concat(body))}`;
  if (link.length > LONGEST) throw new Error(`This run is too long for a link (${link.length} letters, and ${LONGEST} travel safely). Save it as a trace file.`);
  return link;
}

/**
 * The first line of a run under other settings stands for the whole of that run.
 * @param {Payload} payload
 * @param {Lines} lines
 * @param {Line} line
 */
function chainOf(payload, lines, line) {
  /** @param {number} id */
  const told = (id) => lines.branches.get(id);
  /** @param {number} id */
  const tree = (id) => told(id)?.tree ?? 0;
  /** @type {LinkLeg[]} */
  const chain = [];
  let one = line;
  for (; one.id !== 0 && tree(one.parent ?? 0) === tree(line.id); one = lines.get(one.parent ?? 0)) chain.unshift({ at: one.at, steps: one.steps.slice(one.at + 1) });
  const { head, start } = one.id === 0 ? { head: payload.head, start: one.steps[0].mark } : need(told(one.id), "a branch");
  return { chain: [{ at: 0, steps: one.steps.slice(1) }, ...chain], head, start };
}

/** @param {LinkLeg} leg */
const end = (leg) => leg.at + leg.steps.length;

/**
 * A branch that leaves before its parent's own steps leaves the grandparent; one at its end continues it.
 * @param {LinkLeg[]} chain
 */
function joined(chain) {
  const [first, ...rest] = chain;
  const legs = [first];
  for (const leg of rest) {
    while (legs.length > 1 && leg.at <= legs[legs.length - 1].at) legs.pop();
    const last = legs[legs.length - 1];
    if (leg.at === end(last)) legs[legs.length - 1] = { at: last.at, steps: last.steps.concat(leg.steps) };
    else legs.push(leg);
  }
  return legs;
}

/**
 * @param {number} value
 * @param {number} width
 */
const binary = (value, width) => (width ? value.toString(2).padStart(width, "0") : "");

/**
 * A number in Elias's gamma code: a zero for each binary digit after the first, then the digits.
 * @param {number} value
 */
function number(value) {
  const digits = (value + 1).toString(2);
  return "0".repeat(digits.length - 1) + digits;
}

/** @param {string} words */
function text(words) {
  const data = [...new TextEncoder().encode(words)];
  return number(data.length) + data.map((byte) => binary(byte, 8)).join("");
}

/**
 * The eight bytes of a step's mark; a payload made elsewhere may have none.
 * @param {string | undefined} mark
 */
function bytesOf(mark) {
  const ones = [...(mark || "AAAAAAAAAAA")].map((letter) => LETTERS.indexOf(letter).toString(2).padStart(6, "0")).join("");
  return (ones.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2));
}

/** @param {number[]} data */
function letters(data) {
  let out = "";
  for (let n = 0; n < data.length; n += 3) {
    const three = (data[n] << 16) | ((data[n + 1] ?? 0) << 8) | (data[n + 2] ?? 0);
    out += [18, 12, 6, 0].slice(0, Math.min(3, data.length - n) + 1).map((shift) => LETTERS[(three >> shift) & 63]).join("");
  }
  return out;
}

/** @param {number[]} data */
function crc32(data) {
  let sum = -1;
  for (const byte of data) {
    sum ^= byte;
    for (let n = 0; n < 8; n++) sum = (sum >>> 1) ^ (0xedb88320 & -(sum & 1));
  }
  return ~sum >>> 0;
}
