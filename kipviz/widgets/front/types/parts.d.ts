// What single parts of the page draw, and what they tell each other.
// SPDX-License-Identifier: Apache-2.0
import type { Fold } from "./app";
import type { Line } from "../src/lines/line.js";
import type { CutApart, Down, Item, Message, Note, RowInfo, Step, TableCell, VerdictInfo } from "./payload";
import type { Grain } from "./app";
import type { TreeRow } from "./page";

/** A drawer's name, its title and its key, and what its button is called if not by its name. */
export interface DrawerWords {
  name: string;
  title: string;
  key: string;
  words?: string;
}

/** Where the reader is, as the toolbar says it. */
export interface Told {
  last: number;
  step: number;
  big: number;
  bigs: number;
  ends: number[];
  title: string;
}

/** What the sentence at the bottom is about. */
export interface FrameMoment {
  line: Line;
  step: number;
  grain: Grain;
  broken: VerdictInfo[];
}

/** A node that is marked, with the name and the value of its mark. */
export type Mark = [node: Element | undefined, name: string, value: string | boolean];

/** A verdict's chip, or the one of several that hold. */
export type VerdictChip = Pick<VerdictInfo, "property" | "state" | "sentence" | "reason"> & { all?: boolean };

/** The lists that only become longer, by name. */
export type Noted = "revealed" | "reached";

// -- the diagram ------------------------------------------------------------------------------------------

/** A lane that is down, down to a place of the paper. */
export type DrawnDown = Down & { until: number };

/** A cut between two lanes, as it is drawn at x. */
export interface DrawnCut {
  x: number;
  from: number;
  until: number;
  words: string;
}

/** Two lanes apart, with their places on the screen. */
export type PlacedCut = CutApart & { places: number[] };

export interface DrawnNote {
  note: Note;
  key: string;
  k: number;
}

/** A message on the wire, and its place below the cursor. */
export interface Flight {
  message: Message;
  slot: number;
}

/** A row that is not the same on both sides of a comparison. */
export interface ApartRow {
  at: number;
  mark: string;
  top: number;
  bottom: number;
  waits: boolean;
}

// -- cards ------------------------------------------------------------------------------------------------

/** A row of a card of facts: one that is gone is drawn once more, and a pinned one says of which card it is. */
export type FactRow = RowInfo & { gone?: boolean; of?: string };

/** A place of a log's tape: a gap of so many batches, marks with their words, or batches of one transaction. */
export interface LogItem {
  key: string;
  gap?: number;
  mark?: string;
  line?: string;
  end?: boolean;
  batch?: string;
  rows: RowInfo[];
}

// -- choices ----------------------------------------------------------------------------------------------

/** A choice at a moment: its own step, and a key that no other moment has. */
export type PointItem = Item & { step?: number; key?: string };

/** A choice as its button shows it: with its digit, and the line on which it was already taken. */
export interface Entry {
  item: PointItem;
  key: string;
  other?: Line;
}

/** What an action's text says of it. */
export interface Action {
  class?: string;
  broker?: number;
  application?: string;
  source?: string;
  host?: string;
  to?: number;
  one?: string;
  other?: string;
  partition?: string;
}

/** A row of the tree, and where the reader is. */
export interface TreePlace extends TreeRow {
  way: Map<number, number>;
  at: number;
  current: Line;
}

// -- tables -----------------------------------------------------------------------------------------------

/** A field of a message with the place of its bytes. */
export interface BytePlace {
  depth: number;
  name: string;
  type: string;
  note: string;
  names: string;
  told: boolean;
  at: number;
  size: number;
}

/** A state or a verdict to be found. */
export interface FindState {
  note?: string;
  property?: string;
  state?: string;
}

/** What a search asks for. */
export interface Sought {
  text: string;
  lane: string;
  message: string;
  state?: FindState;
  faults: boolean;
}

/** A line of a list of places. */
export interface ListItem {
  step: number;
  sign: string;
  words: string;
  at: number;
  kind?: string;
}

/** A row of the diagram as a table: a step, or folded ones. */
export interface TableItem {
  from: number;
  fold?: Fold;
}

export interface GridLine {
  cells: TableCell[];
  place: number;
  words: string;
  node: HTMLTableRowElement;
}

// -- what is shared ---------------------------------------------------------------------------------------

/** A part of a link: steps after step `at` of the part before. */
export interface LinkLeg {
  at: number;
  steps: Step[];
}
