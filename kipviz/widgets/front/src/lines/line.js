// A line: the steps from the start to the end of one branch, with everything that lives on it.
// Asking what is alive at a step is a look-up, in a trace of any length.

/** Items with a lifetime [begin, end), asked for by step. */
export class Alive {
  constructor(items, begin, end) {
    this.items = items;
    this.begins = Float64Array.from(items, begin);
    this.ends = Float64Array.from(items, (item) => end(item) ?? Infinity);
    // Most lists are told in the order in which they begin: then what is alive is in their order, too.
    this.shuffled = this.begins.some((from, n) => n > 0 && from < this.begins[n - 1]);
    this.order = Int32Array.from(items, (_, n) => n); // places of the items, by their beginning
    if (this.shuffled) this.order.sort((a, b) => this.begins[a] - this.begins[b] || a - b);
    this.marks = []; // every SPAN steps: which items are alive there
    const { order, begins, ends } = this;
    const last = order.length ? begins[order[order.length - 1]] : 0;
    let alive = [];
    let next = 0;
    for (let step = 0; step <= last + SPAN; step += SPAN) {
      alive = alive.filter((n) => ends[n] > step);
      for (; next < order.length && begins[order[next]] <= step; next++) if (ends[order[next]] > step) alive.push(order[next]);
      this.marks.push({ alive, next });
    }
  }

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
const NEVER = null;

const cellKey = (card, id) => `${card}\u0000${id}`;

export class Line {
  /** @param {import("../../types/page").LineParts} parts everything that lives on this line */
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
    this.asks = parts.asks ?? new Map();
    this.moments = parts.moments ?? [];
    this.missing = parts.missing ?? [];
    this.held = parts.held ?? [];
    // Made when they are first asked for.
    this.byId = this.told = this.written = this.sent = null;
    this.last = this.steps.length - 1;
    this.liveRows = new Alive(this.rows, (r) => r.from, (r) => r.to);
    this.liveChoices = new Alive(this.choices, (c) => c.from, (c) => c.to);
    this.liveHolds = new Alive(this.stuck, (hold) => hold.from, (hold) => hold.to);
    this.liveVerdicts = new Alive(this.verdicts, (v) => v.from, (v) => v.to);
    this.wire = new Alive(this.messages, (m) => m.sent, ending);
    this.arrivals = group(this.messages.filter((m) => ending(m) !== NEVER), ending);
    this.notesAt = group(this.notes, (n) => n.step);
    this.versions = group(this.rows, (r) => cellKey(r.card, r.id));
    for (const rows of this.versions.values()) rows.sort((a, b) => a.from - b.from);
    this.born = new Map(); // the order in which rows of a card first came up
    for (const key of this.versions.keys()) this.born.set(key, this.born.size);
    this.flags = flagsOf(this);
    this.marked = this.steps.flatMap((step, k) => (step.interesting || this.flags.has(k) ? [k] : []));
    this.bigAt = new Int32Array(this.steps.length).fill(-1);
    this.bigs.forEach((big, n) => this.bigAt.fill(n, big.from, Math.min(big.to, this.steps.length)));
  }

  /** What the bytes of a message are: its kind, its places with their sizes, names of numbers. */
  shape(message) {
    const { kinds, shapes, names } = this.tables;
    const shape = shapes[message.bytes?.[0]];
    return shape && { kind: kinds[shape.kind], spans: shape.spans, names };
  }

  /** The row shown under this id at a step, or undefined. */
  row(card, id, step) {
    const rows = this.versions.get(cellKey(card, id)) ?? [];
    for (let i = rows.length - 1; i >= 0; i--)
      if (rows[i].from <= step) return rows[i].to === NEVER || step < rows[i].to ? rows[i] : undefined;
    return undefined;
  }

  bornAt(row) {
    return this.born.get(cellKey(row.card, row.id));
  }

  choicesAt(step) {
    return this.liveChoices.at(step).flatMap((choice) => choice.items);
  }

  /** Whether somebody holds a message back at a step. */
  holds(id, step) {
    return this.heldAt(step).some((hold) => hold.message === id);
  }

  /** What the head of a lane says at a step instead of its own words, if anything. */
  headAt(lane, step) {
    return this.heads.find((head) => head.lane === lane && lasts(head, step));
  }

  /** The pairs of lanes between which nothing passes at a step. */
  cutsAt(step) {
    return this.cuts.filter((cut) => lasts(cut, step));
  }

  /** What does not happen by itself at a step, because somebody holds it back. */
  heldAt(step) {
    return this.held.filter((one) => one.from <= step && (one.to === NEVER || step < one.to));
  }

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

  /** The step at which a big step forward rests or ends; where no big steps are told, the next notable one. */
  forward(step) {
    const next = this.bigs.find((big) => big.to - 1 > step);
    if (next) return Math.min(onward(next, step), this.last);
    const found = this.marked.find((k) => k > step);
    return found ?? (this.marked.length || this.bigs.length ? this.last : Math.min(step + 1, this.last));
  }

  /** The step at which a big step back ends: where the big step rested, or the end of the one before. */
  back(step) {
    const here = this.bigAt[step];
    if (here >= 0) return Math.max(0, backward(this.bigs[here], step));
    const big = this.bigs.findLast((one) => one.to - 1 < step);
    const found = this.marked.findLast((k) => k < step) ?? -1;
    if (!big && !this.marked.length) return this.bigs.length ? 0 : Math.max(0, step - 1);
    return Math.max(big ? big.to - 1 : 0, found);
  }

  /** How many big steps have begun at this step. */
  bigNumber(step) {
    if (this.bigAt[step] >= 0) return this.bigAt[step] + 1;
    return this.bigs.filter((big) => big.to <= step).length;
  }

  endsBig(step) {
    const here = this.bigAt[step];
    return here >= 0 && step === this.bigs[here].to - 1;
  }
}

/** Where going forward inside a big step, or into it, stops: where it rests, or at its end. */
export const onward = (big, step) => big.rests?.find((rest) => rest > step && rest < big.to - 1) ?? big.to - 1;

/** Where going back inside a big step stops: where it rested, or before its beginning. */
export const backward = (big, step) => big.rests?.findLast((rest) => rest < step) ?? big.from - 1;

/** The name of a big step, with the part of it at which a reader stands. */
export function titleOf(big, number, step) {
  const rests = (big.rests ?? []).filter((rest) => rest < big.to - 1);
  const part = rests.length ? ` (part ${rests.filter((rest) => rest < step).length + 1} of ${rests.length + 1})` : "";
  return `${number} · ${big.title}${part}`;
}

/** The steps that carry a flag: a property that breaks there, or a fault. */
function flagsOf(line) {
  const breaks = new Set(line.verdicts.filter((verdict) => verdict.state === "broken").map((verdict) => verdict.from));
  const flags = new Map();
  line.steps.forEach((step, k) => {
    if (breaks.has(k) || step.tone === "broken") flags.set(k, "broken");
    else if (step.kind === "fault") flags.set(k, "fault");
  });
  return flags;
}

function chaptersOf(line) {
  const begins = new Map(line.bigs.map((big) => [big.from, big.title]));
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

/** The first step at which two lines differ; they share everything before it. */
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

const lasts = (span, step) => span.from <= step && (span.to === NEVER || step < span.to);

/** The step at which a message leaves the wire, or null while it is on it for ever. */
export function ending(message) {
  return message.arrived ?? message.lost ?? NEVER;
}

export function group(items, keyOf) {
  const found = new Map();
  for (const item of items) {
    const key = keyOf(item);
    const list = found.get(key);
    if (list) list.push(item);
    else found.set(key, [item]);
  }
  return found;
}

/**
 * The line that a payload tells first.
 * @param {import("../../types/payload").Payload} payload
 */
export function mainLine(payload) {
  const { steps, bigs, messages, notes, rows, verdicts, choices } = payload;
  const { downs = [], heads = [], cuts = [] } = payload;
  const tables = { kinds: {}, shapes: {}, names: {}, ...payload.wire };
  return new Line({ id: 0, name: "main", parent: null, at: 0, steps, bigs, messages, notes, rows, verdicts, choices, downs, heads, cuts, stuck: payload.holds, tables, goals: payload.goals, asks: asksOf(payload), moments: payload.moments, tree: 0, design: payload.design });
}

/**
 * The predictions of a payload or a branch, by step.
 * @param {{ asks?: import("../../types/payload").Asks }} told
 * @returns {Map<number, import("../../types/page").Asked>}
 */
function asksOf({ asks }) {
  return new Map((asks?.questions ?? []).map((question) => [question[0], { texts: asks.texts, question }]));
}

/**
 * The parent up to step `at`, and what the branch brings.
 * @param {Line} parent
 * @param {import("../../types/payload").Branch} branch
 */
export function branchLine(parent, branch) {
  const { at } = branch;
  const after = (list, begin) => list.filter((item) => begin(item) <= at);
  const said = group(branch.verdicts ?? [], (v) => v.property);
  const untilSaid = (v) =>
    v.to === NEVER || v.to > at ? { ...v, to: said.get(v.property)?.[0].from ?? NEVER } : v;
  const closes = new Map((branch.closes ?? []).map(([card, id, to]) => [cellKey(card, id), to]));
  const rows = after(parent.rows, (row) => row.from).map((row) =>
    row.to === NEVER || row.to > at ? { ...row, to: closes.get(cellKey(row.card, row.id)) ?? NEVER } : row,
  );
  const goesOn = (m) => (ending(m) !== NEVER && ending(m) <= at ? m : { ...m, arrived: NEVER, lost: NEVER });
  const bigs = branch.bigs ?? [];
  const firstBig = bigs.length ? bigs[0].from : Infinity;
  const list = (name) => branch[name] ?? [];
  const spans = (name, keyOf) => {
    const open = after(parent[name] ?? [], (span) => span.from).map((span) => (span.to !== NEVER && span.to > at ? { ...span, to: NEVER } : span));
    return replaced(open, list(name), keyOf);
  };
  const { kinds, shapes, names } = parent.tables;
  return new Line({
    id: branch.id,
    name: branch.name,
    parent: branch.parent,
    at,
    tree: branch.tree ?? 0,
    design: branch.design ?? parent.design,
    said: branch.said,
    missing: branch.missing,
    held: after(parent.held, (one) => (one.to ?? Infinity)).concat(list("held")),
    moments: after(parent.moments, (one) => one.step).concat(list("moments")),
    steps: parent.steps.slice(0, at + 1).concat(branch.steps),
    rows: rows.concat(list("rows")),
    messages: replaced(after(parent.messages, (m) => m.sent).map(goesOn), list("messages"), (m) => m.id),
    notes: after(parent.notes, (n) => n.step).concat(list("notes")),
    downs: spans("downs", (d) => `${d.lane} ${d.from}`),
    heads: spans("heads", (d) => `${d.lane} ${d.from}`),
    cuts: spans("cuts", (d) => `${d.one} ${d.other} ${d.from}`),
    stuck: after(parent.stuck, (hold) => hold.from).map((hold) => (hold.to === NEVER || hold.to > at ? { ...hold, to: at + 1 } : hold)).concat(list("holds")),
    verdicts: after(parent.verdicts, (v) => v.from).map(untilSaid).concat(list("verdicts")),
    choices: parent.choices
      .filter((c) => c.from < at)
      .map((c) => (c.to === NEVER || c.to > at ? { ...c, to: at } : c))
      .concat(list("choices")),
    goals: after(parent.goals, (g) => g.from).map((g) => (g.to === NEVER || g.to > at ? { ...g, to: at + 1 } : g)).concat(list("goals")),
    // A prediction whose answer comes after the parting is another one here.
    asks: new Map([...[...parent.asks].filter(([step, { question }]) => step < at && question[3] <= at), ...asksOf(branch)]),
    bigs: parent.bigs
      .filter((big) => big.from <= at && big.from < firstBig)
      .map((big) => (big.to > at + 1 ? { ...big, to: at + 1 } : big))
      .concat(bigs),
    tables: { kinds: { ...kinds, ...branch.wire?.kinds }, shapes: { ...shapes, ...branch.wire?.shapes }, names },
  });
}

/**
 * Adds the newest steps of a run to the payload of its main line: what is told of it after step `at`.
 * @param {import("../../types/payload").Payload} payload
 * @param {import("../../types/page").Growth} told
 */
export function lengthen(payload, told) {
  const line = branchLine(mainLine(payload), { ...told, id: 0, name: "main", parent: 0 });
  const { steps, bigs, messages, notes, rows, verdicts, choices, downs, heads, cuts, moments } = line;
  Object.assign(payload, { steps, bigs, messages, notes, rows, verdicts, choices, downs, heads, cuts, moments, holds: line.stuck, wire: line.tables, grown: told.grown });
}

function replaced(old, fresh, keyOf) {
  const news = new Map(fresh.map((item) => [keyOf(item), item]));
  const kept = old.map((item) => {
    const other = news.get(keyOf(item));
    if (!other) return item;
    news.delete(keyOf(item));
    return other;
  });
  return kept.concat([...news.values()]);
}

/** All lines of a payload: the main one and its branches, made when they are first looked at. */
export class Lines {
  /**
   * @param {import("../../types/payload").Payload} payload
   * @param {import("../../types/payload").Branch[]} branches
   */
  constructor(payload, branches) {
    this.made = new Map([[0, mainLine(payload)]]);
    this.branches = new Map();
    this.gone = new Set();
    this.grow((payload.branches ?? []).concat(branches ?? []));
  }

  /** The main line has become longer; what leaves it is made again when it is looked at. */
  lengthened(payload) {
    this.made = new Map([[0, mainLine(payload)]]);
  }

  grow(branches) {
    for (const branch of branches) if (branch.id !== 0 && branch.steps) this.branches.set(branch.id, branch);
  }

  /** Takes in what became of the branches: new names, and which were pruned. */
  tidy({ names = {}, gone = [] }) {
    this.gone = new Set(gone);
    for (const [id, name] of Object.entries(names)) {
      const branch = this.branches.get(Number(id));
      if (branch) this.branches.set(branch.id, { ...branch, name });
      const line = this.made.get(Number(id));
      if (line) line.name = name;
    }
  }

  get ids() {
    return [0, ...[...this.branches.keys()].filter((id) => !this.gone.has(id))];
  }

  get(id) {
    let line = this.made.get(id);
    if (line) return line;
    const branch = this.branches.get(id);
    if (!branch) return this.made.get(0);
    line = branchLine(this.get(branch.parent ?? 0), branch);
    this.made.set(id, line);
    return line;
  }

  /** The line that a branch really leaves: its parent, or what the parent shares up to there. */
  stemOf(line) {
    if (line.id === 0) return null;
    let stem = this.get(line.parent ?? 0);
    while (stem.id !== 0 && line.at <= stem.at) stem = this.get(stem.parent ?? 0);
    return stem;
  }

  /** Every line after the one it leaves, with its depth. */
  inTree() {
    const lines = this.ids.map((id) => this.get(id));
    const below = group(lines.filter((line) => line.id !== 0), (line) => this.stemOf(line).id);
    const rows = [];
    const add = (line, depth, stem) => {
      rows.push({ line, depth, stem });
      const next = (below.get(line.id) ?? []).sort((a, b) => a.at - b.at || a.id - b.id);
      for (const other of next) add(other, depth + 1, line);
    };
    add(this.get(0), 0, null);
    return rows;
  }

  /** The way from the start to the end of a line: line id -> its last step on that way. */
  wayTo(line) {
    const way = new Map([[line.id, line.last]]);
    for (let one = line, stem = this.stemOf(one); stem; one = stem, stem = this.stemOf(one)) way.set(stem.id, one.at);
    return way;
  }

  /** A branch and everything that grew from it. */
  grownFrom(id) {
    const grown = new Set([id]);
    for (const branch of this.branches.values()) if (grown.has(branch.parent)) grown.add(branch.id);
    return [...grown];
  }

  /** The line on which this choice was already taken at this step of `line`, or undefined. */
  following(line, step, choice) {
    for (const id of [line.id, ...this.ids]) {
      const other = this.get(id);
      if (other.tree !== line.tree || other.steps[step] !== line.steps[step] || other.last <= step) continue;
      if (other.choicesAt(step).some((item) => item.taken && item.id === choice)) return other;
    }
    return undefined;
  }
}
