// All steps of the line in one strip: the height says the kind, flags stand for faults and
// violations, bands are big steps. Below it one thin line per branch. A click goes there.

import { attr, h, s, show, target, text } from "../dom/dom.js";
import { tone } from "../dom/words.js";

/** @import { Line } from "../lines/line.js" */
/** @import { Drawn } from "../../types/app" */

const HEIGHT = 34;
const BASE = 32;
/** @type {Record<string, number>} */
const BAR = { start: 6, application: 8, timer: 6, local: 9, sender: 7, append: 12, replicate: 9, deliver: 15, fault: 24 };
const UNTOLD = 9; // as high as most
const STEP_MAX = 30; // pixels: a short line does not fill the strip
const BRANCH_ROW = 9;
const BRANCHES_MAX = 5;
const FLAGS_MAX = 200;

export class Overview {
  /** @param {Drawn} app */
  constructor(app) {
    this.line = app.line; // what was laid out last
    this.key = this.markedAt = "";
    this.width = this.unit = 0;
    this.tells = Infinity;
    /** @type {Uint8Array | null} */
    this.marks = null;
    this.app = app;
    this.static = s("g");
    this.veil = s("rect.kv-veil", { y: 0, height: HEIGHT });
    this.flags = s("g");
    this.needle = s("g.kv-needle", s("rect", { x: -1.5, y: 2, width: 3, height: HEIGHT - 2, rx: 1.5 }));
    this.lines = s("g");
    this.hits = s("path.kv-hits");
    this.svg = s("svg.kv-overview", { role: "img", height: HEIGHT, onpointerdown: (event) => this.grab(event), onpointermove: (event) => this.hover(event), onpointerup: () => this.app.focus(), onpointerleave: () => show(this.tip, false) }, s("title", "All steps; click or drag to go there"), this.static, this.veil, this.hits, this.flags, this.needle, this.lines);
    this.tip = h("div.kv-tip-box", { "aria-hidden": "true" });
    show(this.tip, false);
    this.element = h("div.kv-overview-box", this.svg, this.tip);
  }

  /**
   * Lays out a line; what happens from step `tells` on is not told apart.
   * @param {Line} line
   * @param {number} width
   * @param {Line[]} lines
   * @param {number} [tells]
   */
  layout(line, width, lines, tells = Infinity) {
    const key = `${width}|${tells}|${lines.map((l) => `${l.id}:${l.last}:${l.name}`).join()}`;
    if (this.line === line && this.key === key) return;
    Object.assign(this, { line, key, width, tells });
    const height = HEIGHT + (lines.length > 1 ? Math.min(lines.length, BRANCHES_MAX) * BRANCH_ROW + 4 : 0);
    attr(this.svg, "viewBox", `0 0 ${width} ${height}`);
    attr(this.svg, "height", height);
    attr(this.svg, "width", width);
    this.unit = Math.min(width / (line.last + 1), STEP_MAX);
    this.drawBars(line);
    this.drawLines(line, lines);
  }

  /** @param {number} step */
  x(step) {
    return step * this.unit;
  }

  /** @param {Line} line */
  drawBars(line) {
    const bands = line.bigs.filter((_, n) => n % 2 === 0).map((big) => s("rect.kv-big-band", { x: this.x(big.from), y: 0, width: this.x(big.to - big.from), height: HEIGHT }));
    const paths = new Map();
    const tallest = new Map(); // one bar per pixel column when there are more steps than pixels
    line.steps.forEach((step, k) => {
      const column = this.unit < 1 ? Math.floor(this.x(k)) : k;
      const open = k < this.tells;
      const height = open ? (BAR[step.kind] ?? 10) + (step.interesting ? 6 : 0) : UNTOLD;
      const kind = open ? tone(step.tone) : "calm";
      const old = tallest.get(column);
      if (!old || height > old.height || kind === "broken") tallest.set(column, { height, kind, k });
    });
    const width = Math.max(this.unit * 0.7, 0.8);
    const outlines = new Map(); // a few hundred bars have a dozen shapes
    for (const { height, kind, k } of tallest.values()) {
      const x = this.x(k) + Math.min(1, this.unit * 0.15);
      const shape = `${kind} ${height}`;
      if (!outlines.has(shape)) outlines.set(shape, outline(kind, width, height));
      paths.set(kind, `${paths.get(kind) ?? ""}M${x.toFixed(2)} ${BASE}${outlines.get(shape)}`);
    }
    this.static.replaceChildren(...bands, ...[...paths].map(([kind, d]) => s("path", { class: `kv-bar kv-tone-${kind}`, d })));
    this.flags.replaceChildren(...[...line.flags].filter(([k]) => k < this.tells).slice(0, FLAGS_MAX).map(([k, what]) => this.flag(this.x(k) + this.unit / 2, what, line.steps[k].title)));
  }

  /**
   * @param {number} x
   * @param {string} what
   * @param {string} title
   */
  flag(x, what, title) {
    const d = what === "broken" ? `M${x} 1l5 5l-5 5l-5 -5z` : `M${x - 5} 1h10l-5 9z`;
    return s("path", { class: `kv-flag kv-flag-${what}`, d }, s("title", title));
  }

  /**
   * The tree below the strip: the way to the cursor drawn through, what was left dashed.
   * @param {Line} line
   * @param {Line[]} lines
   */
  drawLines(line, lines) {
    if (lines.length < 2) return this.lines.replaceChildren();
    const tree = this.app.lines;
    const rows = tree.inTree();
    const shown = rows.slice(0, BRANCHES_MAX);
    const own = rows.find((row) => row.line === line);
    if (own && !shown.includes(own)) shown[BRANCHES_MAX - 1] = own;
    const places = new Map(shown.map((row, n) => [row.line, HEIGHT + 6 + n * BRANCH_ROW]));
    const way = tree.wayTo(line);
    /** @param {number} step */
    const edge = (step) => Math.min(this.width, this.x(step + 0.5));
    return this.lines.replaceChildren(
      ...shown.flatMap(({ line: other, stem }) => {
        const y = places.get(other) ?? 0;
        const from = stem ? edge(other.at) : 0;
        const last = way.get(other.id);
        const until = last === undefined ? from : edge(last);
        const start = stem ? `M${from} ${places.get(stem) ?? y}V${y}` : `M0 ${y}`;
        const parts = [this.branch(other, `${start}H${Math.max(from + 3, edge(other.last))}`, "kv-other")];
        if (until > from) parts.push(this.branch(other, `${start}H${until}`, other === line ? "kv-current" : "kv-way"));
        return parts;
      }),
    );
  }

  /**
   * @param {Line} line
   * @param {string} d
   * @param {string} name
   */
  branch(line, d, name) {
    /** @param {PointerEvent} event */
    const onclick = (event) => {
      event.stopPropagation();
      this.app.switchTo?.(line.id);
    };
    return s(`path.kv-line.${name}`, { d, "data-branch": line.id, onclick }, s("title", line.name));
  }

  /** @param {number} step */
  update(step) {
    const x = this.x(step + 1);
    attr(this.veil, "x", x);
    attr(this.veil, "width", Math.max(0, this.width - x));
    this.needle.style.transform = `translate(${this.x(step) + this.unit / 2}px, 0px)`;
  }

  /**
   * Marks the steps that were found: a tick from above, one per pixel at most.
   * @param {Uint8Array | null} marks
   */
  mark(marks) {
    if (this.marks === marks && this.markedAt === this.key) return;
    Object.assign(this, { marks, markedAt: this.key });
    const places = new Set();
    marks?.forEach((hit, k) => hit && places.add(Math.round(this.x(k) + this.unit / 2)));
    attr(this.hits, "d", [...places].map((x) => `M${x} 0v7`).join(""));
  }

  /** @param {PointerEvent} event */
  stepAt(event) {
    const box = this.svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * this.width; // the box may be drawn larger
    return Math.max(0, Math.min(this.line.last, Math.floor(x / this.unit)));
  }

  /** @param {PointerEvent} event */
  grab(event) {
    if (event.button !== 0 || target(event).closest(".kv-line")) return;
    this.svg.setPointerCapture(event.pointerId);
    this.app.go(this.stepAt(event), "small");
  }

  /** @param {PointerEvent} event */
  hover(event) {
    const step = this.stepAt(event);
    if (event.buttons & 1 && this.svg.hasPointerCapture(event.pointerId)) this.app.go(step, "small");
    show(this.tip, true);
    text(this.tip, step < this.tells || step <= (this.app.at ?? -1) ? `${step} · ${this.line.steps[step].title}` : `${step} · after your prediction`);
    const x = this.x(step) + this.element.clientLeft + 16;
    this.tip.style.left = `${Math.min(Math.max(x, 90), this.width - 60)}px`;
  }
}

/**
 * A bar from its lower left corner; its shape says the tone without its colour.
 * @param {string} kind
 * @param {number} width
 * @param {number} height
 */
function outline(kind, width, height) {
  const [half, third, drop] = [width / 2, width / 3, Math.min(6, height / 2)].map((n) => Number(n.toFixed(2)));
  const up = height - drop;
  if (kind === "pending") return `h${third}v${-height}h${-third}zm${2 * third} 0h${third}v${-height}h${-third}z`; // split
  if (kind === "done") return `h${2 * half}v${-up}l${-half} ${-drop}l${-half} ${drop}z`; // pointed
  if (kind === "gone") return `h${2 * half}v${-up}l${-2 * half} ${-drop}z`; // cut off
  if (kind === "calm") return `h${2 * half}v${-height}h${-2 * half}z`;
  return `h${2 * half}v${-height}l${-half} ${drop}l${-half} ${-drop}z`; // notched
}
