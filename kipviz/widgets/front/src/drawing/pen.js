// The pen of the sequence diagram: what a message, a note, a local step, a fold and a host that is
// down look like. Where they go is the paper's business (sequence.js).

import { attr, first, need, s, text } from "../dom/dom.js";
import { foldWords } from "../lines/fold.js";
import { ending } from "../lines/line.js";
import { TONE_MARK, fit, tone, widthOf } from "../dom/words.js";

/** @import { Sequence } from "./sequence.js" */
/** @import { Fold } from "../../types/app" */
/** @import { DrawnCut, DrawnDown, DrawnNote, Flight } from "../../types/parts" */
/** @import { Message, Note } from "../../types/payload" */

export const FONT = '"Inter", ui-sans-serif, system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const LABEL = `500 12px ${FONT}`;
const NOTE = `650 12px ${FONT}`;
const SMALL = `400 12px ${FONT}`;
export const LOCAL_ROW = 16;
export const FOLD_ROW = 26;
export const WIRE_ROW = 25;

export class Pen {
  /** @param {Sequence} paper */
  constructor(paper) {
    this.paper = paper;
  }

  /** @param {DrawnDown} down */
  down(down) {
    const x = this.paper.xOf(down.lane);
    const y = this.paper.ends[down.from];
    return s(
      "g.kv-down",
      s("rect", { x: x - 15, y, width: 30, height: Math.max(0, down.until - y), fill: `url(#${this.paper.dead})` }),
      s("line", { x1: x, x2: x, y1: y, y2: down.until }),
      s("line.kv-dash", { x1: x, x2: x, y1: y, y2: down.until }),
      s("path.kv-dead", { d: `M${x - 8} ${y - 8}l16 16M${x - 8} ${y + 8}l16 -16` }),
      s("title", `down from step ${down.from} on`),
    );
  }

  /**
   * A jagged line that nothing passes.
   * @param {DrawnCut} told
   */
  cut({ x, from, until, words }) {
    const y = this.paper.ends[from];
    let d = `M${x} ${y}`;
    for (let n = 0; y + n * 7 < until && n < 400; n++) d += `l${n % 2 ? -8 : 8} 7`;
    return s("g.kv-cut-line", s("path", { d }), s("title", words));
  }

  /** @param {number} k */
  local(k) {
    const step = this.paper.line.steps[k];
    const x = this.paper.xOf(step.actor);
    const y = this.paper.top[k] + LOCAL_ROW / 2;
    const left = x > this.paper.width - this.paper.gap / 2 - 20;
    const words = fit(marked(step.tone, step.title), SMALL, Math.min(this.paper.gap * 1.5, left ? x - 16 : this.paper.width - x - 16));
    const dot =
      step.kind === "fault"
        ? s("path", { d: `M${x} ${y - 6}l5.5 10h-11z` })
        : step.kind === "timer"
          ? s("path.kv-clock", { d: `M${x - 4} ${y}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0M${x} ${y - 2.5}v2.5h2` })
          : s("circle", { cx: x, cy: y, r: 3.2 });
    return s(
      "g",
      { class: `kv-local kv-tone-${tone(step.tone)}` },
      dot,
      s("text", { x: left ? x - 9 : x + 9, y: y + 4, "text-anchor": left ? "end" : "start" }, words),
    );
  }

  /** @param {Message} message */
  message(message) {
    const { x1, x2 } = this.paper.span(message);
    const y = need(this.paper.base.get(message.id), message.id);
    const lost = message.lost !== null && message.lost !== undefined && message.arrived === null;
    const parts = [];
    if (this.paper.x.has(message.from)) {
      const sent = this.paper.ends[message.sent];
      const lane = x1 + Math.sign(x2 - x1 || 1) * 5;
      if ((ending(message) ?? 0) - message.sent > 1 && y - sent > 30)
        parts.push(s("path.kv-wait", { d: `M${x1} ${sent}L${lane} ${sent + 6}V${y - 8}L${x1} ${y}` }));
    }
    parts.push(...this.arrow(message, x1, x2, y, lost));
    parts.push(this.label(message, x1, x2, y, lost ? " ✗ lost" : ""));
    const group = s("g", { class: `kv-message${this.paper.whole(message) ? "" : " kv-aside"} kv-${message.kind === "response" ? "response" : "request"} kv-tone-${lost ? "gone" : tone(message.tone)}${lost ? " kv-lost" : ""}` }, ...parts);
    this.selectable(group, message);
    return group;
  }

  /**
   * @param {Message} message
   * @param {number} x1
   * @param {number} x2
   * @param {number} y
   * @param {boolean} lost
   */
  arrow(message, x1, x2, y, lost) {
    if (x1 === x2) {
      const side = x1 > this.paper.width / 2 ? -1 : 1;
      return [
        s("path.kv-hop", { d: `M${x1} ${y - 11}h${side * 24}v11H${x1 + side * 4}` }),
        s("path.kv-tip", { d: `M${x1} ${y}l${side * 8} -4.5v9z` }),
      ];
    }
    const way = Math.sign(x2 - x1);
    if (lost) {
      const x = x1 + (x2 - x1) * 0.62;
      return [
        s("path.kv-hop", { d: `M${x1} ${y}H${x}` }),
        s("path.kv-cross", { d: `M${x - 5} ${y - 5}l10 10M${x - 5} ${y + 5}l10 -10` }),
      ];
    }
    const open = message.kind === "response";
    return [
      s("path.kv-hop", { d: `M${x1} ${y}H${open ? x2 - way : x2 - way * 6}` }),
      open
        ? s("path.kv-tip.kv-open", { d: `M${x2 - way * 8} ${y - 4.5}L${x2 - way} ${y}L${x2 - way * 8} ${y + 4.5}` })
        : s("path.kv-tip", { d: `M${x2 - way} ${y}L${x2 - way * 9} ${y - 4.8}V${y + 4.8}z` }),
    ];
  }

  /**
   * @param {Message} message
   * @param {number} x1
   * @param {number} x2
   * @param {number} y
   * @param {string} [suffix]
   * @param {boolean} [flying]
   */
  label(message, x1, x2, y, suffix = "", flying = false) {
    if (!this.paper.whole(message)) return this.asideLabel(message, Math.min(x1, x2), Math.max(x1, x2), y, suffix, flying);
    const words = fit(marked(message.tone, message.label) + suffix, LABEL, this.paper.width - 20);
    const half = widthOf(words, LABEL) / 2;
    let reach = (x1 + x2) / 2;
    if (x1 === x2) reach = x1 > this.paper.width / 2 ? x1 - 34 - half : x1 + 34 + half;
    else if (flying) reach = x2 > x1 ? Math.min(reach, x2 - 14 - half) : Math.max(reach, x2 + 14 + half);
    const x = Math.min(Math.max(reach, half + 6), this.paper.width - half - 6);
    return s("text", { x, y: y - 5, "text-anchor": "middle" }, words);
  }

  /**
   * Beside a stub, on the side away from the lane: what it is, and where it goes or comes from.
   * @param {Message} message
   * @param {number} left
   * @param {number} right
   * @param {number} y
   * @param {string} suffix
   * @param {boolean} flying
   */
  asideLabel(message, left, right, y, suffix, flying) {
    const other = this.paper.x.has(message.to) ? ` ← ${this.paper.names.get(message.from)}` : ` → ${this.paper.names.get(message.to)}`;
    const lane = this.paper.x.get(message.from) ?? this.paper.xOf(message.to);
    const after = lane <= left + 1;
    const room = (after ? this.paper.width - right : left) - 24;
    const words = fit(marked(message.tone, message.label) + other + suffix, LABEL, room);
    const x = after ? right + (flying ? 13 : 8) : left - (flying ? 13 : 8);
    return s("text", { x, y: y + (flying ? 5 : 4), "text-anchor": after ? "start" : "end" }, words);
  }

  /** @param {Flight} entry */
  flight(entry) {
    const { message } = entry;
    const { x1, x2 } = this.paper.span(message);
    const way = Math.sign(x2 - x1) || (x1 > this.paper.width / 2 ? -1 : 1);
    const end = x1 === x2 ? x1 + way * 48 : this.paper.x.has(message.to) ? x2 - way * 22 : x2;
    const group = s(
      "g",
      { class: `kv-message kv-flying${this.paper.whole(message) ? "" : " kv-aside"} kv-tone-${tone(message.tone)}` },
      s("path.kv-wait"),
      s("path.kv-hop", { d: `M${x1} 0H${end - way * 8}` }),
      s("circle.kv-hollow", { cx: end, cy: 0, r: 8 }),
      s("text.kv-key", { x: end, y: 4, "text-anchor": "middle" }),
      this.label(message, x1, end, -1, "", true),
    );
    this.selectable(group, message);
    return group;
  }

  /**
   * @param {SVGElement} node
   * @param {Flight} told
   */
  placeFlight(node, { message, slot }) {
    const y = 28 + slot * WIRE_ROW;
    attr(node, "transform", `translate(0 ${y})`);
    const { x1, x2 } = this.paper.span(message);
    const lane = x1 + (Math.sign(x2 - x1) || (x1 > this.paper.width / 2 ? -1 : 1)) * 5;
    const sent = this.paper.ends[message.sent] - this.paper.under - y;
    const far = this.paper.x.has(message.from) ? `M${x1} ${sent}L${lane} ${sent + 6}V-8L${x1} 0` : "";
    attr(first(node), "d", far);
    const key = this.paper.keys.get(message.id);
    const held = this.paper.line.holds(message.id, this.paper.step);
    text(node.children[3], held ? "‖" : key ? key.key : "");
    node.classList.toggle("kv-held", held);
    node.classList.toggle("kv-next", Boolean(key));
    node.classList.toggle("kv-selected", this.paper.app.isSelected("message", message.id));
  }

  /**
   * A run of steps in one row; a click opens it.
   * @param {Fold} fold
   */
  fold(fold) {
    const y = this.paper.top[fold.from] + (this.paper.folds.isOpen(fold) ? -FOLD_ROW : FOLD_ROW) / 2;
    const group = s(
      "g",
      { class: `kv-fold${fold.hidden ? " kv-fold-hidden" : ""}`, transform: `translate(0 ${y})`, onclick: () => this.paper.app.openFold?.(fold) },
      s("line", { x1: 6, x2: this.paper.width - 6, y1: 0, y2: 0 }),
      s("rect", { height: 18, y: -9, rx: 9 }),
      s("text", { y: 4, "text-anchor": "middle", x: this.paper.width / 2 }),
      s("title", "Enter or a click shows these steps, and folds them again"),
    );
    return group;
  }

  /**
   * @param {SVGElement} node
   * @param {Fold} fold
   */
  fillFold(node, fold) {
    const { folds, line, step, width } = this.paper;
    const open = folds.isOpen(fold);
    const words = fit(`${open ? "▾" : "▸"} ${foldWords(line, fold, open ? undefined : step)}`, LABEL, width - 40);
    const label = node.children[2];
    if (label.textContent === words) return;
    text(label, words);
    const room = widthOf(words, LABEL) + 22;
    attr(node.children[1], "width", room);
    attr(node.children[1], "x", (width - room) / 2);
  }

  /** @param {DrawnNote} told */
  note({ note, k }) {
    const width = Math.min(
      Math.max(widthOf(marked(note.tone, note.text), NOTE), note.sub ? widthOf(note.sub, SMALL) : 0) + 22,
      this.paper.width - 8,
    );
    const middle = Math.min(Math.max(this.paper.xOf(note.lane), width / 2 + 3), this.paper.width - width / 2 - 3);
    const before = (this.paper.line.notesAt.get(k) ?? []).filter((other) => other.lane === note.lane);
    let y = this.paper.noteTop(k);
    for (const other of before.slice(0, before.indexOf(note))) y += noteHeight(other) + 4;
    const kind = tone(note.tone);
    const box = { x: middle - width / 2, y, width, height: noteHeight(note), rx: 7 };
    return s(
      "g",
      { class: `kv-note kv-tone-${kind}` },
      s("rect.kv-under", { ...box }),
      s("rect.kv-box", { ...box }),
      kind === "pending" ? s("rect", { ...box, fill: `url(#${this.paper.hatch})` }) : null,
      s("text", { x: middle, y: y + 16, "text-anchor": "middle" }, fit(marked(note.tone, note.text), NOTE, width - 12)),
      note.sub ? s("text.kv-sub", { x: middle, y: y + 31, "text-anchor": "middle" }, fit(note.sub, SMALL, width - 10)) : null,
      s("title", `${note.text}${note.sub ? `: ${note.sub}` : ""}`),
    );
  }

  /**
   * @param {SVGElement} group
   * @param {Message} message
   */
  selectable(group, message) {
    group.append(s("title", `${message.label}: ${message.detail ?? ""}`));
    group.addEventListener("click", (event) => this.paper.app.guard(() => this.paper.app.pickMessage(message, { left: event.clientX, top: event.clientY, bottom: event.clientY })));
  }
}

/** @param {Pick<Note, "sub">} note */
export const noteHeight = (note) => (note.sub ? 38 : 23);
/**
 * @param {string | undefined} name
 * @param {string} words
 */
const marked = (name, words) => (TONE_MARK[tone(name)] ? `${TONE_MARK[tone(name)]} ${words}` : words);
