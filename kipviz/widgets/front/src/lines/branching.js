// The main line of a payload, and a branch of it: what it shares with its parent, and what it brings.

import { Line, NEVER, cellKey, ending, group } from "./line.js";

/** @import { Asked, Growth } from "../../types/page" */
/** @import { Asks, Branch, Message, Payload, VerdictInfo } from "../../types/payload" */

/**
 * The line that a payload tells first.
 * @param {Payload} payload
 */
export function mainLine(payload) {
  const { steps, bigs, messages, notes, rows, verdicts, choices } = payload;
  const { downs = [], heads = [], cuts = [] } = payload;
  const tables = { kinds: {}, shapes: {}, names: {}, ...payload.wire };
  return new Line({ id: 0, name: "main", parent: null, at: 0, steps, bigs, messages, notes, rows, verdicts, choices, downs, heads, cuts, stuck: payload.holds, tables, goals: payload.goals, asks: asksOf(payload), moments: payload.moments, tree: 0, design: payload.design });
}

/**
 * The predictions of a payload or a branch, by step.
 * @param {{ asks?: Asks }} told
 * @returns {Map<number, Asked>}
 */
function asksOf({ asks }) {
  return new Map((asks?.questions ?? []).map((question) => [question[0], { texts: asks?.texts ?? [], question }]));
}

/**
 * The parent up to step `at`, and what the branch brings.
 * @param {Line} parent
 * @param {Branch} branch
 */
export function branchLine(parent, branch) {
  const { at } = branch;
  /**
   * @template Item
   * @param {Item[]} list
   * @param {(item: Item) => number} begin
   */
  const after = (list, begin) => list.filter((item) => begin(item) <= at);
  const said = group(branch.verdicts ?? [], (v) => v.property);
  /** @param {VerdictInfo} v */
  const untilSaid = (v) =>
    v.to === NEVER || v.to > at ? { ...v, to: said.get(v.property)?.[0].from ?? NEVER } : v;
  const closes = new Map((branch.closes ?? []).map(([card, id, to]) => [cellKey(card, id), to]));
  const rows = after(parent.rows, (row) => row.from).map((row) =>
    row.to === NEVER || row.to > at ? { ...row, to: closes.get(cellKey(row.card, row.id)) ?? NEVER } : row,
  );
  /** @param {Message} m */
  const goesOn = (m) => ((ending(m) ?? Infinity) <= at ? m : { ...m, arrived: NEVER, lost: NEVER });
  const bigs = branch.bigs ?? [];
  const firstBig = bigs.length ? bigs[0].from : Infinity;
  /**
   * @template {{ from: number, to?: number | null }} Span
   * @param {Span[]} before
   * @param {Span[] | undefined} told
   * @param {(span: Span) => string} keyOf
   */
  const spans = (before, told, keyOf) => {
    const open = after(before, (span) => span.from).map((span) => ((span.to ?? 0) > at ? { ...span, to: NEVER } : span));
    return replaced(open, told ?? [], keyOf);
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
    held: after(parent.held, (one) => (one.to ?? Infinity)).concat(branch.held ?? []),
    moments: after(parent.moments, (one) => one.step).concat(branch.moments ?? []),
    steps: parent.steps.slice(0, at + 1).concat(branch.steps ?? []),
    rows: rows.concat(branch.rows ?? []),
    messages: replaced(after(parent.messages, (m) => m.sent).map(goesOn), branch.messages ?? [], (m) => m.id),
    notes: after(parent.notes, (n) => n.step).concat(branch.notes ?? []),
    downs: spans(parent.downs, branch.downs, (d) => `${d.lane} ${d.from}`),
    heads: spans(parent.heads, branch.heads, (d) => `${d.lane} ${d.from}`),
    cuts: spans(parent.cuts, branch.cuts, (d) => `${d.one} ${d.other} ${d.from}`),
    stuck: after(parent.stuck, (hold) => hold.from).map((hold) => (hold.to === NEVER || hold.to > at ? { ...hold, to: at + 1 } : hold)).concat(branch.holds ?? []),
    verdicts: after(parent.verdicts, (v) => v.from).map(untilSaid).concat(branch.verdicts ?? []),
    choices: parent.choices
      .filter((c) => c.from < at)
      .map((c) => (c.to === NEVER || c.to > at ? { ...c, to: at } : c))
      .concat(branch.choices ?? []),
    goals: after(parent.goals, (g) => g.from).map((g) => (g.to === NEVER || g.to > at ? { ...g, to: at + 1 } : g)).concat(branch.goals ?? []),
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
 * @param {Payload} payload
 * @param {Growth} told
 */
export function lengthen(payload, told) {
  const line = branchLine(mainLine(payload), { ...told, id: 0, name: "main", parent: 0 });
  const { steps, bigs, messages, notes, rows, verdicts, choices, downs, heads, cuts, moments } = line;
  Object.assign(payload, { steps, bigs, messages, notes, rows, verdicts, choices, downs, heads, cuts, moments, holds: line.stuck, wire: line.tables, grown: told.grown });
}

/**
 * @template Item
 * @param {Item[]} old
 * @param {Item[]} fresh
 * @param {(item: Item) => string} keyOf
 */
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
