// Made from the types in kipviz/site/desk.py by `python -m kipviz.site.desk_types`; do not edit.
// SPDX-License-Identifier: Apache-2.0
import type { Payload } from "./payload";

/** A run that the model has opened, its place, and what is no longer as it was when its link was made. */
export interface OpenedRun {
  branch: number;
  changes: string[];
  payload: Payload;
  step: number;
}

/** A shortest run that breaks a property, as a link that opens it. */
export interface FoundExample {
  link: string;
  property: string;
  steps: number;
}

/** What a search of all states has found. */
export interface Searched {
  examples: FoundExample[];
  sentence: string;
}
