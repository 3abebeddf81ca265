// The sequence diagram: lanes from left to right, time downward. Every row is one small step; what
// was delivered stands above the cursor line, what is still on the wire hangs below it, hollow.
// Places depend only on the line, the lanes shown and the width, so nothing jumps while stepping:
// a step moves the paper and adds or takes away a few drawn things.

import { Keyed, attr, h, inside, need, s, text } from "../dom/dom.js";
import { Folds } from "../lines/fold.js";
import { FOLD_ROW, FONT, LOCAL_ROW, Pen, WIRE_ROW, noteHeight } from "./pen.js";
import { widthOf } from "../dom/words.js";

/** @import { Line } from "../lines/line.js" */
/** @import { Drawn } from "../../types/app" */
/** @import { Head, Lane, Message } from "../../types/payload" */

const MESSAGE_ROW = 23;
const ASIDE_ROW = 18; // a message from or to a lane that is not on screen
const QUIET_ROW = 4;
const TOP = 12;
const MARGIN = 160;
const WIRE_MAX = 8;
const CURSOR_AT = 0.66;
const LOW = 320; // a low diagram leaves more of itself to what is on the wire
const CURSOR_ABOVE = 12; // the cursor's line and its number are in sight in the lowest of all
const CURSOR_LOW = 0.5;
const BELOW = 40; // what a diagram on paper keeps below what is on the wire
const LONGEST = 4800; // px: a longer one begins later, as on the screen
const STUB = 46; // the length of an arrow to or from a lane that is not on screen

const HINT = "→ next step of the flow · Shift → next message · ? all keys";

export class Sequence {
  /**
   * @param {Drawn} app
   * @param {{ folding?: boolean }} [told]
   */
  constructor(app, { folding = true } = {}) {
    this.app = app;
    // Measured, and laid out, last.
    this.key = "";
    this.width = this.gap = this.height = this.rest = this.step = this.under = 0;
    this.paperWidth = this.paperHeight = -1;
    /** @type {number | null} */
    this.floor = null;
    /** @type {number | null} */
    this.scrolled = null;
    /** @type {Lane[]} */
    this.lanes = [];
    /** @type {Map<string, number>} */
    this.x = new Map(); // of each lane on screen
    /** @type {Map<string, string>} */
    this.names = new Map();
    /** @type {Float64Array | null} */
    this.spaces = null;
    this.top = this.ends = new Float64Array();
    /** @type {Map<string, number>} */
    this.base = new Map(); // message id -> y of its arrow
    /** @type {Map<string, { key: string }>} */
    this.keys = new Map();
    /** @type {[line: Line, step: number, since: number] | null} */
    this.shown = null;
    this.tagged = "";
    this.folds = new Folds(folding);
    this.onPaper = false; // whether all rows up to the cursor are drawn: on paper
    this.needed = 0; // the height for that
    this.heads = h("div.kv-heads", app.menu ? { role: "group", label: "Lanes: each opens what can happen to it" } : { "aria-hidden": "true" });
    /** @param {Event} event */
    const open = (event) => {
      const head = /** @type {Element} */ (event.currentTarget);
      if (head.kvLane) app.openLane?.(head.kvLane, head.getBoundingClientRect());
    };
    /** @type {Keyed<Lane, HTMLButtonElement | HTMLDivElement>} */
    this.head = new Keyed(
      this.heads,
      () => h(app.menu ? "button.kv-head" : "div.kv-head", { onclick: app.menu ? open : null }, h("b"), h("span"), h("em")),
      (node, lane) => this.drawHead(node, lane),
    );
    this.rails = s("g.kv-rails");
    this.world = s("g.kv-world");
    /**
     * @param {string} name
     * @param {SVGElement} [parent]
     */
    const layer = (name, parent = this.world) => parent.appendChild(s("g", { class: name }));
    this.band = this.world.appendChild(s("rect.kv-band", { x: 0, rx: 0 }));
    const pen = new Pen(this);
    this.downs = new Keyed(layer("kv-downs"), (down) => pen.down(down), null);
    this.apart = new Keyed(layer("kv-cuts"), (cut) => pen.cut(cut), null);
    this.locals = new Keyed(layer("kv-locals"), (k) => pen.local(k), null);
    this.rolls = new Keyed(layer("kv-folds"), (fold) => pen.fold(fold), (node, fold) => pen.fillFold(node, fold));
    this.messages = new Keyed(layer("kv-messages"), (item) => pen.message(item), (node, item) =>
      node.classList.toggle("kv-selected", this.app.isSelected("message", item.id)),
    );
    this.flight = layer("kv-flight");
    this.notes = new Keyed(layer("kv-notes"), (entry) => pen.note(entry), null);
    this.cursor = layer("kv-cursor");
    this.cursorLine = this.cursor.appendChild(s("line", { y1: 0, y2: 0, x1: 0 }));
    this.cursorTag = this.cursor.appendChild(s("rect.kv-tag", { height: 17, y: -8.5, rx: 8.5 }));
    this.cursorText = this.cursor.appendChild(s("text", { y: 4, "text-anchor": "end" }));
    this.wire = new Keyed(this.flight, (item) => pen.flight(item), (node, item) => pen.placeFlight(node, item));
    this.wireMore = this.cursor.appendChild(s("text.kv-wire-more", { x: 10 }));
    this.title = s("title");
    this.hatch = app.name("hatch");
    const stripes = s("pattern", { id: this.hatch, width: 9, height: 9, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, s("rect.kv-stripe", { width: 3.5, height: 9 }));
    this.dead = app.name("dead");
    const ash = s("pattern", { id: this.dead, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(-45)" }, s("rect.kv-ash", { width: 2, height: 7 }));
    this.svg = s("svg.kv-paper", { role: "img" }, this.title, s("defs", stripes, ash), this.rails, this.world);
    this.view = h("div.kv-view", this.svg);
    this.element = h("div.kv-sequence", this.heads, this.view);
    this.line = app.line;
    this.peeked = 0;
    this.view.addEventListener("wheel", (event) => this.app.guard(() => this.peek(event.deltaY) && event.preventDefault()), { passive: false });
  }

  /**
   * Looks further up without moving the cursor; the next step comes back. Says whether it moved.
   * @param {number} pixels
   */
  peek(pixels) {
    const wanted = Math.max(-this.rest, Math.min(0, this.peeked + pixels));
    if (wanted === this.peeked) return false;
    this.peeked = wanted;
    if (this.shown) this.update(...this.shown);
    return true;
  }

  /** The messages in sight, from top to bottom: those delivered, then those on the wire. */
  inOrder() {
    return [...this.messages.nodes.keys(), ...this.wire.nodes.keys()].flatMap((id) => this.line.message(String(id)) ?? []);
  }

  // -- places: once per line, lanes and width ---------------------------------------------------

  /** Reads the size of the paper; only when it may have changed, since reading costs a layout. */
  measure() {
    const { clientWidth, clientHeight } = this.view;
    const same = clientWidth === this.paperWidth && clientHeight === this.paperHeight;
    Object.assign(this, { paperWidth: clientWidth, paperHeight: clientHeight });
    return !same;
  }

  /**
   * @param {Line} line
   * @param {Lane[]} lanes
   */
  layout(line, lanes) {
    const width = this.paperWidth;
    const height = this.paperHeight;
    this.folds.use(line);
    const key = [line.id, line.last, lanes.map((lane) => lane.id).join(","), width, this.folds.version].join("|");
    this.height = height;
    if (key === this.key && line === this.line) return;
    Object.assign(this, { key, line, width });
    this.lanes = lanes;
    const side = Math.min(86, width / (lanes.length * 2));
    const gap = lanes.length > 1 ? (width - 2 * side) / (lanes.length - 1) : 0;
    this.gap = lanes.length > 1 ? gap : width;
    this.x = new Map(lanes.map((lane, n) => [lane.id, lanes.length > 1 ? side + gap * n : width / 2]));
    this.names = new Map(this.app.payload.lanes.map((lane) => [lane.id, lane.title]));
    this.space(null);
    this.rails.replaceChildren(
      ...lanes.map((lane) => s("line", { x1: this.x.get(lane.id), x2: this.x.get(lane.id), y1: 0, y2: 5000 })),
    );
    this.head.draw(lanes, (lane) => lane.id);
    attr(this.cursorLine, "x2", width);
    attr(this.band, "width", width);
    this.scrolled = null;
  }

  /**
   * Places all rows, each with so much room before it: a comparison keeps two diagrams level.
   * @param {Float64Array | null} spaces
   */
  space(spaces) {
    this.spaces = spaces;
    this.place();
    for (const list of [this.downs, this.apart, this.locals, this.rolls, this.messages, this.notes, this.wire]) list.clear();
    this.scrolled = null;
  }

  /** The top of every row, and where the messages of a row are drawn. */
  place() {
    const { line } = this;
    this.top = new Float64Array(line.steps.length + 1);
    this.base.clear();
    this.ends = new Float64Array(line.steps.length); // y from which a step's own messages leave
    let y = TOP;
    for (let k = 0; k < line.steps.length; k++) {
      y += this.spaces?.[k] ?? 0;
      this.top[k] = y;
      const fold = this.folds.around(k);
      if (fold?.from === k) y += FOLD_ROW;
      if (fold && !this.folds.isOpen(fold)) {
        this.ends[k] = this.top[fold.from] + FOLD_ROW / 2;
        continue;
      }
      if (fold?.from === k) this.top[k] = y;
      const arrived = (line.arrivals.get(k) ?? []).filter((m) => this.seen(m));
      for (const message of arrived) {
        y += this.rowOf(message);
        this.base.set(message.id, y - (this.whole(message) ? 5 : 7));
      }
      const notes = (line.notesAt.get(k) ?? []).filter((note) => this.x.has(note.lane));
      this.ends[k] = arrived.length ? y - 5 : y + LOCAL_ROW / 2;
      if (notes.length) {
        const stacks = new Map();
        for (const note of notes) stacks.set(note.lane, (stacks.get(note.lane) ?? 6) + noteHeight(note) + 4);
        y += Math.max(...stacks.values()) + 2;
      } else if (!arrived.length) y += this.x.has(line.steps[k].actor) && k > 0 ? LOCAL_ROW : QUIET_ROW;
    }
    this.top[line.steps.length] = y;
  }

  /** @param {Message} message */
  rowOf(message) {
    return this.whole(message) ? MESSAGE_ROW : ASIDE_ROW;
  }

  /**
   * Where a lane on screen stands.
   * @param {string} lane
   */
  xOf(lane) {
    return need(this.x.get(lane), lane);
  }

  /**
   * Down to where something is drawn: to its end, or beyond the cursor while it lasts.
   * @param {{ to?: number | null }} span
   * @param {number} step
   */
  untilOf({ to }, step) {
    return to !== null && to !== undefined && to <= step ? this.top[to] : this.top[step + 1] + 400;
  }

  /**
   * Whether both ends of a message are on screen.
   * @param {Message} message
   */
  whole(message) {
    return this.x.has(message.from) && this.x.has(message.to);
  }

  /** @param {Message} message */
  seen(message) {
    return this.x.has(message.from) || this.x.has(message.to);
  }

  /**
   * Where a message begins and ends; the other end of a lane that is not on screen is a stub.
   * @param {Message} message
   */
  span(message) {
    const from = this.x.get(message.from);
    const to = this.x.get(message.to);
    const here = need(from ?? to, "a lane");
    const stub = here + (this.width - here < STUB + 150 ? -STUB : STUB);
    return { x1: from ?? stub, x2: to ?? stub };
  }

  /**
   * The last row whose top lies at or above y.
   * @param {number} y
   */
  rowAt(y) {
    let low = 0;
    let high = this.line.last;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.top[middle] <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  // -- one step -----------------------------------------------------------------------------------

  /**
   * @param {Line} line
   * @param {number} step
   * @param {number} since
   */
  update(line, step, since) {
    const under = this.floor ?? this.top[step + 1];
    const wire = line.wire.at(step).filter((m) => this.seen(m));
    const below = Math.min(wire.length, WIRE_MAX) * WIRE_ROW + BELOW;
    this.needed = Math.min(under + below, LONGEST);
    const room = this.onPaper ? this.height - below : Math.max(this.height * (this.height < LOW ? CURSOR_LOW : CURSOR_AT), Math.min(70, this.height - CURSOR_ABOVE));
    if (this.shown?.[0] !== line || this.shown[1] !== step) this.peeked = 0;
    this.shown = [line, step, since];
    this.rest = Math.max(0, Math.round(under - room));
    const scroll = Math.max(0, this.rest + this.peeked);
    this.moveTo(scroll);
    const first = this.rowAt(scroll - MARGIN);
    const bottom = Math.min(step, this.rowAt(scroll + this.height + MARGIN));
    const messages = [];
    const notes = [];
    const locals = [];
    const rolls = [];
    for (let k = first; k <= bottom; k++) {
      const fold = this.folds.around(k);
      if (fold && (fold.from === k || k === first)) rolls.push(fold);
      if (fold && !this.folds.isOpen(fold)) {
        k = fold.to - 1;
        continue;
      }
      let silent = k > 0;
      for (const m of line.arrivals.get(k) ?? []) {
        if (!this.seen(m)) continue;
        messages.push(m);
        silent = false;
      }
      let order = 0;
      for (const note of line.notesAt.get(k) ?? []) {
        if (!this.x.has(note.lane)) continue;
        notes.push({ note, key: `${k}/${order++}`, k });
        silent = false;
      }
      if (silent && this.x.has(line.steps[k].actor)) locals.push(k);
    }
    this.step = step;
    this.rolls.draw(rolls, (fold) => fold.from);
    this.messages.draw(messages, (m) => m.id);
    this.notes.draw(notes, (entry) => entry.key);
    this.locals.draw(locals, (k) => k);
    this.drawDowns(line, step, first);
    this.drawCuts(line, step, first);
    if (line.heads.length) for (const lane of this.lanes) this.drawHead(need(this.head.nodes.get(lane.id), "a head"), lane, line.headAt(lane.id, step));
    this.drawCursor(step, since, under);
    this.under = under;
    const shown = wire.slice(0, WIRE_MAX).map((message, slot) => ({ message, slot }));
    this.keys = this.app.wireKeys?.() ?? new Map();
    this.wire.draw(shown, (entry) => entry.message.id);
    const more = wire.length - shown.length;
    attr(this.wireMore, "y", shown.length * WIRE_ROW + 26);
    text(this.wireMore, more > 0 ? `and ${more} more in flight` : shown.length ? "hollow: in flight, not delivered" : step === 0 ? HINT : "");
    this.wireMore.classList.toggle("kv-keys-hint", this.wireMore.textContent === HINT);
    this.describe(line, step, wire);
  }

  /** @param {number} scroll */
  moveTo(scroll) {
    if (this.scrolled === scroll) return;
    const near = this.scrolled !== null && Math.abs(scroll - this.scrolled) < MARGIN;
    this.world.classList.toggle("kv-glide", near);
    this.world.style.transform = `translate(0px, ${-scroll}px)`;
    this.scrolled = scroll;
  }

  /**
   * @param {number} step
   * @param {number} since
   * @param {number} under
   */
  drawCursor(step, since, under) {
    for (const layer of [this.cursor, this.flight]) layer.style.transform = `translate(0px, ${under}px)`;
    const words = step === 0 ? "start" : `now · ${step}`;
    if (this.tagged !== `${words} ${this.width}`) {
      this.tagged = `${words} ${this.width}`;
      text(this.cursorText, words);
      const width = widthOf(words, `650 12px ${FONT}`) + 16;
      attr(this.cursorTag, "width", width);
      attr(this.cursorTag, "x", this.width - width);
      attr(this.cursorText, "x", this.width - 8);
    }
    const changed = Math.max(since + 1, 0);
    const begin = this.top[this.folds.at(changed)?.from ?? changed];
    attr(this.band, "y", begin);
    attr(this.band, "height", Math.max(0, under - begin));
  }

  /**
   * @param {Line} line
   * @param {number} step
   * @param {number} first
   */
  drawDowns(line, step, first) {
    const shown = line.downs
      .filter((down) => this.x.has(down.lane) && down.from <= step && (down.to ?? step) >= first)
      .map((down) => ({ ...down, until: this.untilOf(down, step) }));
    this.downs.draw(shown, (down) => `${down.lane} ${down.from} ${down.until}`);
  }

  /**
   * @param {Line} line
   * @param {number} step
   * @param {Message[]} wire
   */
  describe(line, step, wire) {
    const waiting = wire.map((m) => `${m.label} from ${this.names.get(m.from)} to ${this.names.get(m.to)}${line.holds(m.id, step) ? ", held back" : ""}`);
    const flying = waiting.length ? ` In flight: ${waiting.slice(0, 6).join("; ")}.` : "";
    text(this.title, `Sequence diagram up to message ${step} of ${line.last}.${flying}`);
  }

  // -- drawn things -------------------------------------------------------------------------------

  /**
   * A cut stands between neighbours of its two sides; where it has none, beside its first lane.
   * @param {Line} line
   * @param {number} step
   * @param {number} first
   */
  drawCuts(line, step, first) {
    if (!line.cuts?.length) {
      this.apart.clear();
      return;
    }
    const order = this.lanes.map((lane) => lane.id);
    const cuts = line.cuts
      .filter((cut) => cut.from <= step && (cut.to ?? step) >= first && this.x.has(cut.one) && this.x.has(cut.other))
      .map((cut) => ({ ...cut, places: [order.indexOf(cut.one), order.indexOf(cut.other)].sort((a, b) => a - b) }));
    const next = cuts.filter(({ places: [a, b] }) => b - a === 1);
    /** @param {{ from: number, places: number[] }} cut */
    const between = (cut) => next.some((one) => one.from === cut.from && one.places[0] >= cut.places[0] && one.places[1] <= cut.places[1]);
    const shown = new Map();
    for (const cut of [...next, ...cuts.filter((cut) => !next.includes(cut) && !between(cut))]) {
      const until = this.untilOf(cut, step);
      const x = this.xOf(order[cut.places[0]]) + (next.includes(cut) ? this.gap / 2 : 30);
      shown.set(`${x} ${cut.from} ${until}`, { x, from: cut.from, until, words: `${cut.one} and ${cut.other} are partitioned` });
    }
    this.apart.draw([...shown.values()], ({ x, from, until }) => `${x} ${from} ${until}`);
  }

  /**
   * @param {HTMLElement} node
   * @param {Lane} lane
   * @param {Head} [head]
   */
  drawHead(node, lane, head) {
    node.kvLane = lane;
    // Most steps change no head.
    if (node.kvLaid === this.key && node.kvHead === head) return;
    Object.assign(node, { kvLaid: this.key, kvHead: head });
    const [title, sub, mark] = inside(node);
    text(title, lane.title);
    text(sub, head ? head.sub || "leads nothing" : lane.sub);
    text(mark, head?.mark ? `✕ ${head.mark}` : "");
    attr(node, "data-mark", head?.mark || null);
    node.classList.toggle("kv-head-moved", head !== undefined && head.sub !== lane.sub);
    node.style.left = `${this.x.get(lane.id)}px`;
    node.style.width = `${Math.min(this.gap - 4, 180)}px`;
    node.classList.toggle("kv-tight", this.gap < 125);
    attr(node, "title", `${lane.title}: ${head?.mark ? `${head.mark}, ` : ""}${(head ? head.sub : lane.sub) ?? ""}${this.app.menu ? "; click for what can happen to it" : ""}`);
  }

  /** @param {number} k */
  noteTop(k) {
    const arrived = (this.line.arrivals.get(k) ?? []).filter((m) => this.seen(m));
    return arrived.reduce((y, m) => y + this.rowOf(m), this.top[k] + 5);
  }
}
