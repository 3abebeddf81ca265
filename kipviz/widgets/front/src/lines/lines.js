// All lines of a payload, and how they hang together.

import { branchLine, mainLine } from "./branching.js";
import { group } from "./line.js";

/** @import { Line } from "./line.js" */
/** @import { TreeRow } from "../../types/page" */
/** @import { Branch, Payload } from "../../types/payload" */

/** All lines of a payload: the main one and its branches, made when they are first looked at. */
export class Lines {
  /**
   * @param {Payload} payload
   * @param {Branch[]} branches
   */
  constructor(payload, branches) {
    this.main = mainLine(payload);
    this.made = new Map([[0, this.main]]);
    /** @type {Map<number, Branch>} */
    this.branches = new Map();
    /** @type {Set<number>} */
    this.gone = new Set();
    this.grow((payload.branches ?? []).concat(branches ?? []));
  }

  /**
   * The main line has become longer; what leaves it is made again when it is looked at.
   * @param {Payload} payload
   */
  lengthened(payload) {
    this.main = mainLine(payload);
    this.made = new Map([[0, this.main]]);
  }

  /** @param {Branch[]} branches */
  grow(branches) {
    for (const branch of branches) if (branch.id !== 0 && branch.steps) this.branches.set(branch.id, branch);
  }

  /**
   * Takes in what became of the branches: new names, and which were pruned.
   * @param {{ names?: Record<string, string>, gone?: number[] }} told
   */
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

  /**
   * A line by its id; one that is not there is the main line.
   * @param {number} id
   * @returns {Line}
   */
  get(id) {
    let line = this.made.get(id);
    if (line) return line;
    const branch = this.branches.get(id);
    if (!branch) return this.main;
    line = branchLine(this.get(branch.parent ?? 0), branch);
    this.made.set(id, line);
    return line;
  }

  /**
   * The line that a branch really leaves: its parent, or what the parent shares up to there.
   * @param {Line} line
   */
  stemOf(line) {
    if (line.id === 0) return null;
    let stem = this.get(line.parent ?? 0);
    while (stem.id !== 0 && line.at <= stem.at) stem = this.get(stem.parent ?? 0);
    return stem;
  }

  /** Every line after the one it leaves, with its depth. */
  inTree() {
    const lines = this.ids.map((id) => this.get(id));
    const below = group(lines.filter((line) => line.id !== 0), (line) => this.stemOf(line)?.id);
    /** @type {TreeRow[]} */
    const rows = [];
    /**
     * @param {Line} line
     * @param {number} depth
     * @param {Line | null} stem
     */
    const add = (line, depth, stem) => {
      rows.push({ line, depth, stem });
      const next = (below.get(line.id) ?? []).sort((a, b) => a.at - b.at || a.id - b.id);
      for (const other of next) add(other, depth + 1, line);
    };
    add(this.get(0), 0, null);
    return rows;
  }

  /**
   * The way from the start to the end of a line: line id -> its last step on that way.
   * @param {Line} line
   */
  wayTo(line) {
    const way = new Map([[line.id, line.last]]);
    for (let one = line, stem = this.stemOf(one); stem; one = stem, stem = this.stemOf(one)) way.set(stem.id, one.at);
    return way;
  }

  /**
   * A branch and everything that grew from it.
   * @param {number} id
   */
  grownFrom(id) {
    const grown = new Set([id]);
    for (const branch of this.branches.values()) if (grown.has(branch.parent ?? -1)) grown.add(branch.id);
    return [...grown];
  }

  /**
   * The line on which this choice was already taken at this step of `line`, or undefined.
   * @param {Line} line
   * @param {number} step
   * @param {string} choice
   */
  following(line, step, choice) {
    for (const id of [line.id, ...this.ids]) {
      const other = this.get(id);
      if (other.tree !== line.tree || other.steps[step] !== line.steps[step] || other.last <= step) continue;
      if (other.choicesAt(step).some((item) => item.taken && item.id === choice)) return other;
    }
    return undefined;
  }
}
