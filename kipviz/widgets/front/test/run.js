// A run of six steps in two big ones, with whatever a test adds.

/** @import { Payload, Step } from "../types/payload" */

/** @type {Step} */
export const STEP = { kind: "send", actor: "app-1", title: "", sentence: "" };

/**
 * @param {Partial<Payload>} [more]
 * @returns {Payload}
 */
export function run(more) {
  return {
    format: 1,
    title: "A run",
    design: { name: "kafka", status: "shipped" },
    lanes: [{ id: "app-1", title: "app-1" }, { id: "broker-1", title: "broker 1" }],
    steps: [0, 1, 2, 3, 4, 5].map((k) => ({ ...STEP, title: `step ${k}`, node: 10 + k })),
    bigs: [{ from: 1, to: 3, title: "Send" }, { from: 3, to: 6, title: "Commit" }],
    messages: [],
    notes: [],
    cards: [],
    rows: [],
    verdicts: [],
    choices: [],
    ...more,
  };
}
