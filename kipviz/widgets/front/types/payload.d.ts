// Made from the types in kipviz/widgets and kipviz/views by `python -m kipviz.widgets.pages.page_types`; do not edit.
// SPDX-License-Identifier: Apache-2.0

/** The design whose rules are shown, and how far they are decided. */
export interface Design {
  name: string;
  status: "draft" | "our inference" | "shipped";
  sentence?: string;
  left_out?: string[];
}

/** A lifeline of the diagram; `first` puts it on the first screen (four at most). */
export interface Lane {
  id: string;
  title: string;
  sub?: string;
  first?: boolean;
}

/** The rule that fired and its source. */
export interface Why {
  rule?: string;
  guards?: Array<[string, string]>;
  clause?: string;
  status?: string;
  kafka?: string;
}

/** One small step: one action of the model. The first one is the start. */
export interface Step {
  kind: string;
  actor: string;
  title: string;
  sentence: string;
  node?: string | number;
  why?: Why;
  tone?: "broken" | "calm" | "done" | "gone" | "pending" | "warning";
  chapter?: string;
  interesting?: boolean;
  pick?: number | string;
  mark?: string;
  causes?: Array<[number, string]>;
  accident?: boolean;
}

/** One big step, a bullet of the KIP's flow: the small steps ``from <= k < to``. */
export interface Big {
  from: number;
  to: number;
  title: string;
  say?: string;
  rests?: number[];
}

/** A message between two lanes; it is in flight from `sent` until it has arrived or is lost. */
export interface Message {
  id: string;
  from: string;
  to: string;
  label: string;
  sent: number;
  detail?: string;
  kind?: "request" | "response";
  arrived?: number | null;
  lost?: number | null;
  tone?: "broken" | "calm" | "done" | "gone" | "pending" | "warning";
  bytes?: [string, string] | null;
}

/** A box on a lane: a state that was reached in this step. */
export interface Note {
  lane: string;
  step: number;
  text: string;
  sub?: string;
  tone?: "broken" | "calm" | "done" | "gone" | "pending" | "warning";
}

/** A card of state; `lane` is the lane whose state it is, `about` the subject of some of its rows. */
export interface CardInfo {
  id: string;
  title: string;
  kind: "application" | "beliefs" | "entries" | "facts" | "log" | "machine" | "metrics" | "own" | "records";
  where?: string;
  lane?: string | null;
  order?: number;
  machine?: string;
  about?: Record<string, string>;
}

/** What a row of a card says, by name; which cells a row has, its card's kind decides. */
export interface Cells {
  at?: number;
  batch?: string;
  below?: boolean;
  broker?: string;
  by?: string;
  client?: string;
  control?: string;
  current?: boolean;
  delivery_count?: number;
  fate?: string;
  from?: string;
  gap?: boolean;
  label?: string;
  level?: number;
  line?: string | number;
  lock?: string;
  member?: string;
  note?: string;
  offset?: number;
  order?: number;
  short?: string;
  span?: string;
  staged?: string;
  state?: string;
  svg?: string;
  text?: string;
  times?: number;
  to?: string;
  value?: string | number;
  verdict?: string;
  waiting?: boolean;
  words?: string;
}

/** One row of a card with its lifetime. */
export interface RowInfo {
  card: string;
  id: string;
  from: number;
  to: number | null;
  cells: Cells;
  tone?: "broken" | "calm" | "done" | "gone" | "pending" | "warning";
}

/** The verdict on a property during some steps. */
export interface VerdictInfo {
  property: string;
  sentence: string;
  from: number;
  to: number | null;
  state: "broken" | "holds" | "pending";
  reason?: string;
}

/** An action that can happen next, or that cannot, and why. */
export interface Item {
  id: string;
  text: string;
  sub?: string;
  group?: "fault" | "next";
  enabled?: boolean;
  why?: string;
  taken?: boolean;
  message?: string;
}

/** What can happen next, for the steps of its lifetime. */
export interface Choice {
  from: number;
  to: number | null;
  items: Item[];
}

/** A state of a machine; x and y are its centre. */
export interface StateBox {
  name: string;
  x: number;
  y: number;
  lines: string[];
}

/** A transition of a machine and its path; a sudden transition is drawn only when it is taken. */
export interface Edge {
  from: string;
  to: string;
  d: string;
  sudden?: boolean;
}

/** A state machine's drawing. */
export interface Machine {
  id: string;
  source: string;
  width: number;
  height: number;
  states: StateBox[];
  edges: Edge[];
  note?: string;
}

/** A lane whose host is down. */
export interface Down {
  lane: string;
  from: number;
  to?: number | null;
}

/** The text in the head of a lane instead of its own: what a broker leads now, and what is wrong there. */
export interface Head {
  lane: string;
  sub: string;
  mark: string;
  from: number;
  to?: number | null;
}

/** Two lanes between whose hosts the network is partitioned. */
export interface CutApart {
  one: string;
  other: string;
  from: number;
  to?: number | null;
}

/** One answer to a question. */
export interface Option {
  text: string;
  right: boolean;
  say?: string;
}

/** Predict, then reveal: asked from step `ask` on, answered by what step `step` shows. */
export interface Question {
  id: string;
  step: number;
  text: string;
  options: Option[];
  ask?: number;
}

/** A kind of message in bytes, with every field that it can have. */
export interface WireKind {
  name: string;
  key: number;
  version: number;
  status: "draft" | "our inference" | "shipped";
  places: Array<Array<number | string>>;
}

/** The fields of a message, each with its size; ~field is a default, because it is not modelled. */
export interface WireShape {
  kind: string;
  spans: number[];
}

/** The meaning of the bytes of messages: a message has the name of a shape, and hex digits. */
export interface WireTables {
  kinds?: Record<string, WireKind>;
  shapes?: Record<string, WireShape>;
  names?: Record<string, Record<string, string>>;
}

/** The steps at which a goal holds. */
export interface GoalSpan {
  goal: string;
  from: number;
  to: number | null;
}

/** The predictions of a branch: ``[step, kind, text, reveal, [[text, right, say], ...]]``. */
export interface Asks {
  texts?: string[];
  questions?: Array<[number, string, number, number, Array<[number, number, number]>]>;
}

/** Why rows of a card are blocked, what frees them, which host has to act, and which rows show it. */
export interface HoldInfo {
  card: string;
  rows: string[];
  from: number;
  to: number | null;
  text: string;
  free: string;
  how: "idle" | "never" | "someone" | "soon";
  see?: Array<[string, string]>;
}

/** What has become true at a step, as a clause by which faults are named. */
export interface Moment {
  step: number;
  text: string;
}

/** An action that does not happen by itself from step `from` on: a message, or a choice. */
export interface Hold {
  id: string;
  text: string;
  from: number;
  to?: number | null;
  message?: string;
}

/** What differs from the parent after step `at`; `closes` are inherited rows that end here. */
export interface Branch {
  id: number;
  name: string;
  parent: number | null;
  at: number;
  steps?: Step[];
  rows?: RowInfo[];
  closes?: Array<[string, string, number]>;
  messages?: Message[];
  notes?: Note[];
  downs?: Down[];
  heads?: Head[];
  cuts?: CutApart[];
  verdicts?: VerdictInfo[];
  choices?: Choice[];
  bigs?: Big[];
  wire?: WireTables;
  goals?: GoalSpan[];
  asks?: Asks;
  holds?: HoldInfo[];
  moments?: Moment[];
  tree?: number;
  design?: Design | null;
  head?: string;
  start?: string;
  said?: string;
  missing?: Array<[string, string]>;
  held?: Hold[];
}

/** A note on what to look at, for the steps of its lifetime. */
export interface Watch {
  from: number;
  to: number | null;
  text: string;
}

/** Something to have seen or done; its goal determines the steps at which this is so. */
export interface Checkpoint {
  goal: string;
  text: string;
}

/** The teaching material of the scenario. */
export interface Lesson {
  watch?: Watch[];
  checkpoints?: Checkpoint[];
}

/** A setting that can be changed for another run; without options it accepts any number. */
export interface Setting {
  name: string;
  asks: string;
  now: string;
  options?: Array<[string, string]>;
}

/** Everything one stepper shows. */
export interface Payload {
  format: 1;
  title: string;
  design: Design;
  lanes: Lane[];
  steps: Step[];
  bigs: Big[];
  messages: Message[];
  notes: Note[];
  cards: CardInfo[];
  rows: RowInfo[];
  verdicts: VerdictInfo[];
  choices: Choice[];
  untold?: string;
  scenario?: string;
  head?: string;
  spec_line?: string;
  machines?: Machine[];
  downs?: Down[];
  heads?: Head[];
  cuts?: CutApart[];
  questions?: Question[];
  branches?: Branch[];
  wire?: WireTables;
  lesson?: Lesson;
  goals?: GoalSpan[];
  asks?: Asks;
  holds?: HoldInfo[];
  moments?: Moment[];
  settings?: Setting[];
  glossary?: Record<string, string>;
  live?: boolean;
  grown?: number;
}

/** A place at which two runs diverge: the pairs ``at <= k < to``. */
export interface Difference {
  at: number;
  to: number;
  sentence: string;
}

/** Everything one comparison shows. */
export interface Comparison {
  format: 1;
  title: string;
  left: Payload;
  right: Payload;
  names: [string, string];
  lines: [number, number];
  pairs: Array<[number, number]>;
  marks: string;
  bigs: Big[];
  differences: Difference[];
}

/** A heading of a level from 1 to 3. */
export interface Heading {
  kind: "heading";
  level: number;
  text: string;
}

/** A paragraph; if `code` is True, text between backquotes is code. */
export interface Paragraph {
  kind: "paragraph";
  text: string;
  code?: boolean;
}

/** A text in a table; `tone` marks a verdict, and `run` is the key of the run that it opens. */
export interface TableCell {
  text: string;
  tone?: "" | "breaks" | "holds" | "open";
  run?: string;
}

/** A table; each row has as many cells as there are heads. */
export interface TextTable {
  kind: "table";
  caption: string;
  heads: string[];
  rows: Array<TableCell[]>;
  others?: string;
}

/** A counterexample: what breaks under which design, in one sentence, and the steps up to it. */
export interface BrokenRun {
  kind: "broken";
  design: string;
  title: string;
  steps: string[];
  why: string;
  saved: string;
  run: string;
}

/** The data of a result's page; `pictures` are SVGs by the key of their run. */
export interface ResultPayload {
  blocks: Array<Heading | Paragraph | TextTable | BrokenRun>;
  pictures: Record<string, string>;
}

/** What the page is told of its request to open a run: where it is, or why it is not open. */
export interface OpenAnswer {
  error?: string;
  run?: string;
  say?: string;
}

/** A step of a branch. */
export interface BranchStep {
  branch: number;
  step: number;
}

/** What the page is told of its request `id`: the answer, or how it stands. */
export interface Answer {
  branch?: Branch;
  busy?: string;
  error?: string;
  go?: BranchStep;
  gone?: number[];
  id?: number | null;
  name?: [number, string];
  say?: string;
}

/** The file that the page asked for in its request `id`. */
export interface SentFile {
  id: number | null;
  name: string;
  text: string;
  type: string;
}

/** Why there is no file for the request `id`. */
export interface NoFile {
  error: string;
  id: number | null;
}

/** The branches that have another name than they were made with, by their numbers, and those that are gone. */
export interface TreeChanges {
  gone?: number[];
  names?: Record<string, string>;
}

/** How many questions are answered and right, how many goals are reached of all, and their names. */
export interface ScoreNow {
  answered: number;
  goals: number;
  of: number;
  questions: number;
  reached: string[];
  right: number;
}

/** What the reader chose: a message by its id, a value by its card and row, or nothing; `side` is of a comparison. */
export interface Selection {
  card?: string;
  id?: string;
  kind?: "message" | "value";
  row?: string;
  side?: string;
}

/** Which cards are pinned or hidden, which rows are pinned, and whether only changes are shown. */
export interface ViewState {
  pinned?: string[];
  hidden?: string[];
  rows?: Array<[string, string]>;
  only?: boolean;
}
