// A line as a Mermaid sequence diagram; the same text as kipviz/views/mermaid.py.

import { ending } from "../lines/line.js";

/** @import { Line } from "../lines/line.js" */
/** @import { Message, Payload } from "../../types/payload" */

/**
 * @param {Payload} payload
 * @param {Line} line
 */
export function mermaid(payload, line) {
  const names = new Map(payload.lanes.map((lane, n) => [lane.id, `L${n}`]));
  /** @param {string} lane */
  const called = (lane) => names.get(lane) ?? lane;
  const ends = [...names.values()];
  const across = ends.length === 1 ? ends[0] : `${ends[0]},${ends.at(-1)}`;
  /**
   * @param {string} where
   * @param {string | undefined} words
   */
  const note = (where, words) => `  Note over ${where}: ${words}`;
  /**
   * @param {Message} message
   * @param {boolean} lost
   */
  const arrow = (message, lost) => {
    const dash = message.kind === "response" ? "--" : "-";
    return `  ${called(message.from)}${dash}${lost ? "x" : ">>"}${called(message.to)}: ${plain(message.label)}`;
  };
  const out = ["sequenceDiagram", `  %% ${plain(payload.title)}`];
  for (const lane of payload.lanes) out.push(`  participant ${names.get(lane.id)} as ${plain(lane.sub ? `${lane.title} (${lane.sub})` : lane.title)}`);
  line.steps.forEach((_, k) => {
    line.bigs.forEach((big, n) => big.from === k && out.push(note(across, `${n + 1}. ${plain(big.title)}`)));
    for (const message of line.arrivals.get(k) ?? []) out.push(arrow(message, message.lost === k));
    for (const one of line.notesAt.get(k) ?? []) out.push(note(called(one.lane), plain(one.sub ? `${one.text} (${one.sub})` : one.text)));
    for (const down of line.downs) {
      if (down.from === k) out.push(note(called(down.lane), "is down"));
      if (down.to === k) out.push(note(called(down.lane), "is up again"));
    }
    for (const verdict of line.verdicts)
      if (verdict.state === "broken" && verdict.from === k) out.push(note(across, `✗ ${plain(verdict.property)}: ${plain(verdict.reason)}`));
  });
  for (const message of line.messages) if (ending(message) === null) out.push(`${arrow(message, false)} (still in flight)`);
  return `${out.join("\n")}\n`;
}

/**
 * A text that Mermaid shows as it is, on one line: what it would read has a code.
 * @param {string | undefined} words
 */
function plain(words) {
  return String(words ?? "").replace(/[\s\x1c-\x1f\x85]+/g, " ").trim().replace(/[\0-\x1f\x7f]|\p{Surrogate}/gu, "\ufffd").replace(/[#;<>&"%{}]/g, (c) => `#${c.codePointAt(0)};`);
}
