// What the scripts of the site tell each other: a page, its worker and the model in it.
// SPDX-License-Identifier: Apache-2.0
import type { OpenedRun, Searched } from "./desk";
import type { Comparison, Message, Payload } from "./payload";

/** A run that the model has opened, or that was stored. */
export type Run = Pick<OpenedRun, "payload"> & Partial<OpenedRun>;

/** What stands on a page: a run, or two of them side by side. */
export type Shown = Record<string, unknown> & { payload: Payload | Comparison };

/** What the worker's functions return, by their names. */
export interface Calls {
  open: OpenedRun;
  link: OpenedRun;
  compare: Comparison;
  search: Searched;
  designs: string[];
}

/** What a worker says: that it is ready, an answer to the page's stepper, a file, or what call `id` has returned or why not. */
export interface Word {
  id?: number;
  ready?: boolean;
  memory?: number;
  wrong?: string;
  told?: string;
  answer?: string;
  file?: string;
}

/** A call that waits for its answer. */
export interface Waiting {
  take(told: never): void;
  refuse(error: Error): void;
}

/** A run's second part: what is drawn later, and the bytes of its messages. */
export type Rest = Partial<Payload> & { bytes: Array<Message["bytes"]> };

/** A request of the stepper, and what becomes of it. */
export interface Command {
  id?: number;
  do?: string;
}

/** A file that the stepper asks for. */
export interface FileWish {
  do: string;
  id: number;
  what: string;
  branch: number;
  step: number;
}

/** The model in Python, as Pyodide hands it over. */
export interface PageState {
  ask(command: string): string;
  go_on(): string;
  stop(): string;
  file(...told: unknown[]): string;
}
