// What the page's own parts hand to each other; what comes from Python is in payload.d.ts.
// SPDX-License-Identifier: Apache-2.0
import type { Wish } from "./app";
import type { Line } from "../src/lines/line.js";
import type { Answer, Asks, Big, Branch, Choice, Comparison, CutApart, Design, Down, GoalSpan, Head, Hold, HoldInfo, Message, Moment, Note, Payload, RowInfo, ScoreNow, Selection, Step, TreeChanges, VerdictInfo, ViewState, WireTables } from "./payload";

/** A line's predictions, each with the texts that it names by number. */
export interface Asked {
  texts: string[];
  question: NonNullable<Asks["questions"]>[number];
}

/** Everything that lives on a line; `stuck` are the holds of a payload, `held` what a reader holds back. */
export interface LineParts {
  id: number;
  name: string;
  parent: number | null;
  at: number;
  tree: number;
  design: Design;
  said?: string;
  steps: Step[];
  bigs: Big[];
  messages: Message[];
  notes: Note[];
  rows: RowInfo[];
  verdicts: VerdictInfo[];
  choices: Choice[];
  downs: Down[];
  heads: Head[];
  cuts: CutApart[];
  stuck?: HoldInfo[];
  tables: WireTables;
  goals?: GoalSpan[];
  asks?: Map<number, Asked>;
  moments?: Moment[];
  missing?: Array<[string, string]>;
  held?: Hold[];
}

/** The newest steps of a served cluster's run: what is told of its main line after step `at`. */
export interface Growth extends Omit<Branch, "id" | "name" | "parent"> {
  do: "grow";
  grown: number;
}

/** A place of a line to jump to. */
export interface Chapter {
  step: number;
  title: string;
  kind: "big" | "broken" | "fault" | "state";
}

/** A line in the tree of branches, below the line that it leaves. */
export interface TreeRow {
  line: Line;
  depth: number;
  stem: Line | null;
}

/** One row of a menu: its words, and what it does. */
export interface MenuRow {
  id: string;
  words: string;
  sub?: string;
  off?: boolean;
  act?: () => unknown;
}

/** What a widget shares with Python, by name. */
export interface Shared {
  payload: Payload | Comparison;
  branches: Branch[];
  step: number;
  branch: number;
  lines: [number, number];
  selection: Selection;
  answers: Record<string, number>;
  revealed: string[];
  reached: string[];
  score: Partial<ScoreNow>;
  all_lanes: boolean;
  presenter: boolean;
  notice: string;
  tool: string;
  live: string;
  following: boolean;
  views: ViewState;
  tree: TreeChanges;
  answer: Answer;
  command: Partial<Wish>;
}

/** Jupyter's model of a widget, or what stands in for it on a page without a kernel. */
export interface Model {
  get<Name extends keyof Shared>(name: Name): Shared[Name];
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  on(name: string, listener: (...told: never[]) => void): void;
  off(name: string, listener: (...told: never[]) => void): void;
  save_changes(): void;
  send?(message: unknown): void;
  /** The page shows this stepper and nothing else. */
  alone?: boolean;
}
