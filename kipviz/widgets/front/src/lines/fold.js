// Folding: a poll that comes back empty forty times is one row. A fold is a run of steps that repeat
// each other, or that change nothing; a filter folds every step that it does not ask for.

import { ending } from "./line.js";

/** @import { Line } from "./line.js" */
/** @import { Fold, Others, Repeats } from "../../types/app" */

const STILL_MIN = 4; // steps without any change, whatever they are: folded in long runs only
const LONG = 300;
const PERIOD_MAX = 12;
const REPEATS_MIN = 3;

/** @type {WeakMap<Line, Repeats[]>} */
const known = new WeakMap();

export class Folds {
  /** @param {boolean} folding */
  constructor(folding) {
    /** @type {Line | null} */
    this.line = null; // what the folds were made of, and the filter
    /** @type {Uint8Array | null} */
    this.filter = null;
    this.folding = folding;
    this.version = 0;
    /** @type {Fold[]} */
    this.all = []; // by line: what can be folded there
    /** @type {Set<number>} */
    this.open = new Set();
    this.of = new Int32Array(); // of each step, the place of its fold
    this.off = false;
    /** @type {Uint8Array | null} */
    this.wanted = null; // a filter: the steps to show, as a Uint8Array
  }

  /**
   * Finds the folds of a line; asks once per line and filter.
   * @param {Line} line
   */
  use(line) {
    if (this.line === line && this.filter === this.wanted) return;
    Object.assign(this, { line, filter: this.wanted });
    this.open = new Set();
    const own = known.get(line) ?? (this.folding ? repeats(line) : []);
    known.set(line, own);
    this.all = this.wanted ? unwanted(line, this.wanted) : own;
    this.of = new Int32Array(line.steps.length).fill(-1);
    this.all.forEach((fold, n) => this.of.fill(n, fold.from, fold.to));
    this.version++;
  }

  /**
   * The fold a step belongs to, open or not.
   * @param {number} step
   */
  around(step) {
    return this.all[this.of[step]];
  }

  /**
   * The closed fold that hides a step, or undefined.
   * @param {number} step
   */
  at(step) {
    const fold = this.around(step);
    return fold && this.isOpen(fold) ? undefined : fold;
  }

  /** @param {Fold} fold */
  isOpen(fold) {
    return this.open.has(fold.from) !== this.off;
  }

  /** @param {Fold} fold */
  toggle(fold) {
    if (!this.open.delete(fold.from)) this.open.add(fold.from);
    this.version++;
  }

  /** Opens every fold, or closes every one. */
  toggleAll() {
    this.off = !this.off;
    this.open.clear();
    this.version++;
  }

  /**
   * The last fold that begins at or before a step.
   * @param {number} step
   */
  near(step) {
    return this.all.findLast((fold) => fold.from <= step);
  }

  /**
   * Shows only some steps; null shows all again.
   * @param {Uint8Array | null} wanted
   */
  only(wanted) {
    this.wanted = wanted;
  }
}

/**
 * What a fold says while the cursor stands at a step in it, or after it.
 * @param {Line} line
 * @param {Fold} fold
 * @param {number} [step]
 */
export function foldWords(line, fold, step = fold.to - 1) {
  const steps = fold.to - fold.from;
  if (fold.hidden) return `${steps} other ${steps === 1 ? "step" : "steps"}`;
  const done = Math.min(fold.times, Math.floor((step - fold.from + 1) / fold.period));
  return done < fold.times ? `${fold.what}, ${done + 1} of ${fold.times}` : `×${fold.times} ${fold.what}, ${outcome(line, fold)}`;
}

/**
 * @param {Line} line
 * @param {Repeats} fold
 */
function outcome(line, fold) {
  fold.changed ??= changes(line, fold.from - 1, fold.to - 1);
  return fold.changed ? `${fold.changed} ${fold.changed === 1 ? "value" : "values"} changed` : "nothing changed";
}

/**
 * How many values differ between two steps.
 * @param {Line} line
 * @param {number} before
 * @param {number} after
 */
function changes(line, before, after) {
  /** @param {number} step */
  const words = (step) => new Map(line.liveRows.at(step).map((row) => [`${row.card}\u0000${row.id}`, JSON.stringify(row.cells)]));
  const [old, now] = [words(before), words(after)];
  const keys = new Set([...old.keys(), ...now.keys()]);
  return [...keys].filter((key) => old.get(key) !== now.get(key)).length;
}

/**
 * @param {Line} line
 * @param {Uint8Array} wanted
 */
function unwanted(line, wanted) {
  /** @type {Others[]} */
  const found = [];
  for (let k = 1; k < line.steps.length; k++) {
    if (wanted[k]) continue;
    const from = k;
    while (k < line.steps.length && !wanted[k]) k++;
    found.push({ from, to: k, hidden: true });
  }
  return found;
}

/** @param {Line} line */
function repeats(line) {
  const { steps } = line;
  const dull = dullSteps(line);
  const still = dull.slice();
  for (const row of line.rows) {
    still[row.from] = 0;
    if (row.to !== null && row.to < still.length) still[row.to] = 0;
  }
  const kinds = kindsOf(line);
  /** @type {Repeats[]} */
  const found = [];
  for (let k = 1; k < steps.length; k++) {
    if (!dull[k]) continue;
    const fold = repeatAt(k, kinds, dull) ?? (steps.length > LONG ? stillAt(k, still) : undefined);
    if (!fold) continue;
    fold.what = nameOf(line, fold);
    found.push(fold);
    k = fold.to - 1;
  }
  return found;
}

/**
 * Steps in which nothing is worth a look: no state of a coordinator, no fault, no verdict, no note.
 * @param {Line} line
 */
function dullSteps(line) {
  const dull = Uint8Array.from(line.steps, (step, k) => Number(k > 0 && !step.interesting && step.kind !== "fault" && step.tone !== "broken"));
  for (const verdict of line.verdicts) dull[verdict.from] = 0;
  for (const k of line.notesAt.keys()) dull[k] = 0;
  for (const message of line.messages) if (message.arrived === null) dull[ending(message) ?? -1] = 0;
  return dull;
}

/**
 * A number per kind of step: the same for the same actor, title and messages, whatever the numbers in them.
 * @param {Line} line
 */
function kindsOf(line) {
  /** @type {Map<string, number>} */
  const known = new Map();
  return Int32Array.from(line.steps, (step, k) => {
    const arrived = (line.arrivals.get(k) ?? []).map((m) => `${m.from}>${m.to} ${m.label}`);
    const words = [step.kind, step.actor, step.title, ...arrived].join("\u0000").replace(/\d+/g, "#");
    const kind = known.get(words) ?? known.size;
    known.set(words, kind);
    return kind;
  });
}

/**
 * The longest run from a step on that repeats the same few steps.
 * @param {number} from
 * @param {Int32Array} kinds
 * @param {Uint8Array} dull
 */
function repeatAt(from, kinds, dull) {
  /** @type {Repeats | undefined} */
  let best;
  for (let period = 1; period <= PERIOD_MAX; period++) {
    let end = from + period;
    while (end < kinds.length && kinds[end] === kinds[end - period]) end++;
    for (let k = from; k < end; k++) if (!dull[k]) end = k;
    const times = Math.floor((end - from) / period);
    const to = from + times * period;
    if (times >= REPEATS_MIN && to - from >= STILL_MIN && (!best || to > best.to)) best = { from, to, period, times, what: "" };
  }
  return best;
}

/**
 * @param {number} from
 * @param {Uint8Array} still
 */
function stillAt(from, still) {
  let to = from;
  while (to < still.length && still[to]) to++;
  return to - from >= STILL_MIN ? { from, to, period: 1, times: to - from, what: "", mixed: true } : undefined;
}

/**
 * @param {Line} line
 * @param {Repeats} fold
 */
function nameOf(line, fold) {
  if (fold.mixed) return "steps";
  for (let k = fold.from; k < fold.from + fold.period; k++) {
    const first = line.arrivals.get(k)?.[0];
    if (first) return first.label.replace(/\d+/g, "").trim();
  }
  return line.steps[fold.from].title.replace(/\d+/g, "").trim();
}
