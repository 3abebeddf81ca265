// A line: the steps from the start to the end of one branch, with everything that lives on it.
// Asking what is alive at a step is a look-up, in a trace of any length.

/** @import { Asked, Chapter, LineParts } from "../../types/page" */
/** @import { Big, Message, RowInfo } from "../../types/payload" */

/**
 * Items with a lifetime [begin, end), asked for by step.
 * @template Item
 */
export class Alive {
  /**
   * @param {Item[]} items
   * @param {(item: Item) => number} begin
   * @param {(item: Item) => number | null} end
   */
  constructor(items, begin, end) {
    this.items = items;
    this.begins = Float64Array.from(items, begin);
    this.ends = Float64Array.from(items, (item) => end(item) ?? Infinity);
    // Most lists are told in the order in which they begin: then what is alive is in their order, too.
    this.shuffled = this.begins.some((from, n) => n > 0 && from < this.begins[n - 1]);
    this.order = Int32Array.from(items, (_, n) => n); // places of the items, by their beginning
    if (this.shuffled) this.order.sort((a, b) => this.begins[a] - this.begins[b] || a - b);
    /** @type {Array<{ alive: number[], next: number }>} */
    this.marks = []; // every SPAN steps: which items are alive there
    const { order, begins, ends } = this;
    const last = order.length ? begins[order[order.length - 1]] : 0;
    /** @type {number[]} */
    let alive = [];
    let next = 0;
    for (let step = 0; step <= last + SPAN; step += SPAN) {
      alive = alive.filter((n) => ends[n] > step);
      for (; next < order.length && begins[order[next]] <= step; next++) if (ends[order[next]] > step) alive.push(order[next]);
      this.marks.push({ alive, next });
    }
  }

  /** @param {number} step */
  at(step) {
    if (step < 0) return [];
    const { items, order, begins, ends } = this;
    const mark = this.marks[Math.min(Math.floor(step / SPAN), this.marks.length - 1)];
    const found = mark.alive.filter((n) => ends[n] > step);
    for (let i = mark.next; i < order.length && begins[order[i]] <= step; i++) if (ends[order[i]] > step) found.push(order[i]);
    if (this.shuffled) found.sort((a, b) => a - b);
    return found.map((n) => items[n]);
  }
}

const SPAN = 64;
/** @type {null} */
export const NEVER = null;

/**
 * @param {string} card
 * @param {string} id
 */
export const cellKey = (card, id) => `${card}\u0000${id}`;

export class Line {
  /** @param {LineParts} parts everything that lives on this line */
  constructor(parts) {
    this.id = parts.id;
    this.name = parts.name;
    this.parent = parts.parent;
    this.at = parts.at;
    this.tree = parts.tree;
    this.design = parts.design;
    this.said = parts.said;
    this.steps = parts.steps;
    this.bigs = parts.bigs;
    this.messages = parts.messages;
    this.notes = parts.notes;
    this.rows = parts.rows;
    this.verdicts = parts.verdicts;
    this.choices = parts.choices;
    this.downs = parts.downs;
    this.heads = parts.heads;
    this.cuts = parts.cuts;
    this.stuck = parts.stuck ?? [];
    this.tables = parts.tables;
    this.goals = parts.goals ?? [];
    /** @type {Map<number, Asked>} */
    this.asks = parts.asks ?? new Map();
    this.moments = parts.moments ?? [];
    this.missing = parts.missing ?? [];
    this.held = parts.held ?? [];
    // Made when they are first asked for.
    /** @type {Map<string, Message> | null} */
    this.byId = null;
    /** @type {Chapter[] | null} */
    this.told = null;
    /** @type {string[] | null} */
    this.written = null;
    /** @type {Map<number, Message[]> | null} */
    this.sent = null;
    this.last = this.steps.length - 1;
    this.liveRows = new Alive(this.rows, (r) => r.from, (r) => r.to);
    this.liveChoices = new Alive(this.choices, (c) => c.from, (c) => c.to);
    this.liveHolds = new Alive(this.stuck, (hold) => hold.from, (hold) => hold.to);
    this.liveVerdicts = new Alive(this.verdicts, (v) => v.from, (v) => v.to);
    this.wire = new Alive(this.messages, (m) => m.sent, ending);
    this.arrivals = group(this.messages.filter((m) => ending(m) !== NEVER), (m) => Number(ending(m)));
    this.notesAt = group(this.notes, (n) => n.step);
    this.versions = group(this.rows, (r) => cellKey(r.card, r.id));
    for (const rows of this.versions.values()) rows.sort((a, b) => a.from - b.from);
    /** @type {Map<string, number>} */
    this.born = new Map(); // the order in which rows of a card first came up
    for (const key of this.versions.keys()) this.born.set(key, this.born.size);
    this.flags = flagsOf(this);
    this.marked = this.steps.flatMap((step, k) => (step.interesting || this.flags.has(k) ? [k] : []));
    this.bigAt = new Int32Array(this.steps.length).fill(-1);
    this.bigs.forEach((big, n) => this.bigAt.fill(n, big.from, Math.min(big.to, this.steps.length)));
  }

  /**
   * What the bytes of a message are: its kind, its places with their sizes, names of numbers.
   * @param {Message} message
   */
  shape(message) {
    const { kinds = {}, shapes = {}, names = {} } = this.tables;
    const shape = shapes[message.bytes?.[0] ?? ""];
    return shape && { kind: kinds[shape.kind], spans: shape.spans, names };
  }

  /**
   * The row shown under this id at a step, or undefined.
   * @param {string} card
   * @param {string} id
   * @param {number} step
   */
  row(card, id, step) {
    const rows = this.versions.get(cellKey(card, id)) ?? [];
    for (let i = rows.length - 1; i >= 0; i--)
      if (rows[i].from <= step) return lasts(rows[i], step) ? rows[i] : undefined;
    return undefined;
  }

  /** @param {RowInfo} row */
  bornAt(row) {
    return this.born.get(cellKey(row.card, row.id)) ?? 0;
  }

  /** @param {number} step */
  choicesAt(step) {
    return this.liveChoices.at(step).flatMap((choice) => choice.items);
  }

  /**
   * Whether somebody holds a message back at a step.
   * @param {string} id
   * @param {number} step
   */
  holds(id, step) {
    return this.heldAt(step).some((hold) => hold.message === id);
  }

  /**
   * What the head of a lane says at a step instead of its own words, if anything.
   * @param {string} lane
   * @param {number} step
   */
  headAt(lane, step) {
    return this.heads.find((head) => head.lane === lane && lasts(head, step));
  }

  /**
   * The pairs of lanes between which nothing passes at a step.
   * @param {number} step
   */
  cutsAt(step) {
    return this.cuts.filter((cut) => lasts(cut, step));
  }

  /**
   * What does not happen by itself at a step, because somebody holds it back.
   * @param {number} step
   */
  heldAt(step) {
    return this.held.filter((one) => lasts(one, step));
  }

  /** @param {string} id */
  message(id) {
    this.byId ??= new Map(this.messages.map((message) => [message.id, message]));
    return this.byId.get(id);
  }

  /** Where the line has something to jump to: big steps, faults and the states that were reached. */
  get chapters() {
    this.told ??= chaptersOf(this);
    return this.told;
  }

  /** Everything that is said at a step, in small letters, to be searched. */
  get texts() {
    this.written ??= this.steps.map((step, k) => {
      const messages = [...(this.departures.get(k) ?? []), ...(this.arrivals.get(k) ?? [])].map((m) => `${m.label} ${m.detail ?? ""}`);
      const notes = (this.notesAt.get(k) ?? []).map((note) => `${note.text} ${note.sub ?? ""}`);
      return [step.title, step.sentence, step.chapter, step.why?.rule?.replaceAll("_", " "), this.bigs[this.bigAt[k]]?.title, ...messages, ...notes].filter(Boolean).join("\n").toLowerCase();
    });
    return this.written;
  }

  get departures() {
    this.sent ??= group(this.messages, (m) => m.sent);
    return this.sent;
  }

  /**
   * The step at which a big step forward rests or ends; where no big steps are told, the next notable one.
   * @param {number} step
   */
  forward(step) {
    const next = this.bigs.find((big) => big.to - 1 > step);
    if (next) return Math.min(onward(next, step), this.last);
    const found = this.marked.find((k) => k > step);
    return found ?? (this.marked.length || this.bigs.length ? this.last : Math.min(step + 1, this.last));
  }

  /**
   * The step at which a big step back ends: where the big step rested, or the end of the one before.
   * @param {number} step
   */
  back(step) {
    const here = this.bigAt[step];
    if (here >= 0) return Math.max(0, backward(this.bigs[here], step));
    const big = this.bigs.findLast((one) => one.to - 1 < step);
    const found = this.marked.findLast((k) => k < step) ?? -1;
    if (!big && !this.marked.length) return this.bigs.length ? 0 : Math.max(0, step - 1);
    return Math.max(big ? big.to - 1 : 0, found);
  }

  /**
   * How many big steps have begun at this step.
   * @param {number} step
   */
  bigNumber(step) {
    if (this.bigAt[step] >= 0) return this.bigAt[step] + 1;
    return this.bigs.filter((big) => big.to <= step).length;
  }

  /** @param {number} step */
  endsBig(step) {
    const here = this.bigAt[step];
    return here >= 0 && step === this.bigs[here].to - 1;
  }
}

/**
 * Where going forward inside a big step, or into it, stops: where it rests, or at its end.
 * @param {Big} big
 * @param {number} step
 */
export const onward = (big, step) => big.rests?.find((rest) => rest > step && rest < big.to - 1) ?? big.to - 1;

/**
 * Where going back inside a big step stops: where it rested, or before its beginning.
 * @param {Big} big
 * @param {number} step
 */
export const backward = (big, step) => big.rests?.findLast((rest) => rest < step) ?? big.from - 1;

/**
 * The name of a big step, with the part of it at which a reader stands.
 * @param {Big} big
 * @param {number} number
 * @param {number} step
 */
export function titleOf(big, number, step) {
  const rests = (big.rests ?? []).filter((rest) => rest < big.to - 1);
  const part = rests.length ? ` (part ${rests.filter((rest) => rest < step).length + 1} of ${rests.length + 1})` : "";
  return `${number} · ${big.title}${part}`;
}

/**
 * The steps that carry a flag: a property that breaks there, or a fault.
 * @param {Line} line
 */
function flagsOf(line) {
  const breaks = new Set(line.verdicts.filter((verdict) => verdict.state === "broken").map((verdict) => verdict.from));
  /** @type {Map<number, "broken" | "fault">} */
  const flags = new Map();
  line.steps.forEach((step, k) => {
    if (breaks.has(k) || step.tone === "broken") flags.set(k, "broken");
    else if (step.kind === "fault") flags.set(k, "fault");
  });
  return flags;
}

/** @param {Line} line */
function chaptersOf(line) {
  const begins = new Map(line.bigs.map((big) => [big.from, big.title]));
  /** @type {Chapter[]} */
  const found = [];
  line.steps.forEach((step, k) => {
    const big = begins.get(k);
    if (big) found.push({ step: k, title: big, kind: "big" });
    const notes = (line.notesAt.get(k) ?? []).map((note) => note.text);
    const flag = line.flags.get(k);
    if (flag || step.chapter) found.push({ step: k, title: step.chapter || step.title, kind: flag ?? "fault" });
    else if (notes.length) found.push({ step: k, title: notes.join(" · "), kind: "state" });
  });
  return found;
}

/**
 * The first step at which two lines differ; they share everything before it.
 * @param {Line} a
 * @param {Line} b
 */
export function parting(a, b) {
  let low = 0;
  let high = Math.min(a.last, b.last) + 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (a.steps[middle] === b.steps[middle]) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * @param {{ from: number, to?: number | null }} span
 * @param {number} step
 */
const lasts = (span, step) => span.from <= step && step < (span.to ?? Infinity);

/**
 * The step at which a message leaves the wire, or null while it is on it for ever.
 * @param {Message} message
 */
export function ending(message) {
  return message.arrived ?? message.lost ?? NEVER;
}

/**
 * @template Item, Key
 * @param {Item[]} items
 * @param {(item: Item) => Key} keyOf
 */
export function group(items, keyOf) {
  /** @type {Map<Key, Item[]>} */
  const found = new Map();
  for (const item of items) {
    const key = keyOf(item);
    const list = found.get(key);
    if (list) list.push(item);
    else found.set(key, [item]);
  }
  return found;
}
