// What the parts of a page may ask of the page that they are in.
// SPDX-License-Identifier: Apache-2.0
import type { Frame } from "../src/frame/frame.js";
import type { Line } from "../src/lines/line.js";
import type { Lines } from "../src/lines/lines.js";
import type { Item, Lane, Message, Payload, Question, RowInfo, Selection } from "./payload";
import type { Growth, Model } from "./page";

/** Whether the reader looks at one small step, or at a whole big one. */
export type Grain = "big" | "small";

/** Where something stands on the screen. */
export type Place = Pick<DOMRect, "left" | "top" | "bottom">;

/** What Python is asked for, by its name and whatever that wish needs. */
export type Wish = { do: string } & Record<string, unknown>;

/** A run of steps that is drawn as one row: repeats of each other, or steps that a filter leaves out. */
export type Fold = Repeats | Others;

export interface Others {
  from: number;
  to: number;
  hidden: true;
}

export interface Repeats {
  from: number;
  to: number;
  hidden?: undefined;
  times: number;
  period: number;
  what: string;
  mixed?: boolean;
  changed?: number;
}

/** A question as it is asked: one of the story, or a prediction about step `at` of a line. */
export interface Asking extends Question {
  line?: Line;
  at?: number;
}

/** A diagram, as the frame around it measures it, turns its pages and puts it on paper. */
export interface Diagram {
  view: HTMLElement;
  height: number;
  needed: number;
  onPaper: boolean;
  measure(): boolean;
  peek(pixels: number): boolean;
}

/** A run as it is drawn: a stepper's own, or one side of a comparison. What only a stepper has may be missing. */
export interface Drawn {
  payload: Payload;
  lines: Lines;
  line: Line;
  at?: number;
  size?: string | null;
  menu?: unknown;
  views?: Views;
  name(part: string): string;
  guard<Made>(act: () => Made): Made | undefined;
  go(at: number, grain: Grain): void;
  focus(): void;
  select(selection: Selection | null): void;
  isSelected(kind: string, id: string): boolean;
  pickMessage(message: Message, place: Place): void;
  openLane?(lane: Lane, place: Place): void;
  openFold?(fold: Fold): void;
  wireKeys?(): Map<string, { key: string; item: Item }>;
  switchTo?(id: number, same?: boolean): void;
}

/** Which cards and rows a reader wants to see. */
export interface Views {
  rows: Array<[string, string]>;
  only: boolean;
  isPinned(card: string): boolean;
  togglePin(card: string): void;
  toggleHidden(card: string): void;
  toggleRow(card: string, row: string): void;
}

/** A stepper, as its drawers and panels know it. */
export interface App extends Frame {
  payload: Payload;
  lines: Lines;
  line: Line;
  title: string;
  questions: Question[];
  revealed: string[];
  reached: string[];
  answers: Record<string, number>;
  said: { line: Line; at: number; words: string } | null;
  live: { element: HTMLElement; isNow: boolean } | null;
  views: Views;
  question: { hides: boolean; open: boolean; tellsAt(line: Line): number; listedUntil(line: Line, step: number): number };
  sequence: { svg: SVGSVGElement; folds: import("../src/lines/fold.js").Folds; lanes: Lane[]; x: Map<string, number>; gap: number; paperWidth: number; paperHeight: number } & Record<"messages" | "notes" | "locals" | "wire", { nodes: Map<string | number, Element> }>;
  overview: { svg: SVGSVGElement; x(step: number): number };
  cards: { element: HTMLElement; rows: Map<string, RowInfo[]>; list: { nodes: Map<string | number, HTMLElement> } };
  choose(item: Item): void;
  wish(command: Wish, words: string): void;
  stop(): void;
  follow(line: Line, at: number): void;
  switchTo(id: number, same?: boolean): void;
  lengthen(told: Growth): void;
  onMain(step: number): boolean;
  answer(question: string, option: number): void;
  showAnswers(questions: string[]): void;
  select(selection: Selection | null): void;
  hover(message: string | null): void;
  openFold(fold: Fold): void;
}
