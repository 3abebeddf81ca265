// The sequence diagram: lanes from left to right, time downward. Every row is one small step; what
// was delivered stands above the cursor line, what is still on the wire hangs below it, hollow.
// Places depend only on the line, the lanes shown and the width, so nothing jumps while stepping:
// a step moves the paper and adds or takes away a few drawn things.

import { Keyed, attr, h, s, text } from "./dom.js";
import { ending } from "./line.js";
import { TONE_MARK, fit, tone, widthOf } from "./words.js";

const FONT = '"Inter", ui-sans-serif, system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const LABEL = `500 12px ${FONT}`;
const NOTE = `650 12px ${FONT}`;
const SMALL = `400 11px ${FONT}`;
const MESSAGE_ROW = 23;
const ASIDE_ROW = 18; // a message from or to a lane that is not on screen
const LOCAL_ROW = 16;
const QUIET_ROW = 4;
const TOP = 12;
const MARGIN = 160;
const WIRE_ROW = 25;
const WIRE_MAX = 8;
const CURSOR_AT = 0.66;
const STUB = 46; // the length of an arrow to or from a lane that is not on screen

const HINT = "→ next step of the flow · Shift → next message · ? all keys";

let hatches = 0;

export class Sequence {
  constructor(app) {
    this.app = app;
    this.heads = h("div", { class: "kv-heads", "aria-hidden": "true" });
    this.head = new Keyed(
      this.heads,
      () => h("div", { class: "kv-head" }, h("b"), h("span")),
      (node, lane) => this.drawHead(node, lane),
    );
    this.rails = s("g", { class: "kv-rails" });
    this.world = s("g", { class: "kv-world" });
    const layer = (name, parent = this.world) => parent.appendChild(s("g", { class: name }));
    this.band = this.world.appendChild(s("rect", { class: "kv-band", x: 0, rx: 0 }));
    const make = (parent, draw) => new Keyed(parent, (item) => draw.call(this, item), null);
    this.downs = make(layer("kv-downs"), this.drawDown);
    this.locals = make(layer("kv-locals"), this.drawLocal);
    this.messages = new Keyed(layer("kv-messages"), (item) => this.drawMessage(item), (node, item) =>
      node.classList.toggle("kv-selected", this.app.isSelected("message", item.id)),
    );
    this.flight = layer("kv-flight");
    this.notes = make(layer("kv-notes"), this.drawNote);
    this.cursor = layer("kv-cursor");
    this.cursorLine = this.cursor.appendChild(s("line", { y1: 0, y2: 0, x1: 0 }));
    this.cursorTag = this.cursor.appendChild(s("rect", { class: "kv-tag", height: 17, y: -8.5, rx: 8.5 }));
    this.cursorText = this.cursor.appendChild(s("text", { y: 4, "text-anchor": "end" }));
    this.wire = new Keyed(this.flight, (item) => this.makeFlight(item), (node, item) => this.placeFlight(node, item));
    this.wireMore = this.cursor.appendChild(s("text", { class: "kv-wire-more", x: 10 }));
    this.title = s("title");
    this.hatch = `kv-hatch-${++hatches}`;
    const stripes = s("pattern", { id: this.hatch, width: 9, height: 9, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, s("rect", { width: 3.5, height: 9, class: "kv-stripe" }));
    this.svg = s("svg", { class: "kv-paper", role: "img" }, this.title, s("defs", {}, stripes), this.rails, this.world);
    this.view = h("div", { class: "kv-view" }, this.svg);
    this.element = h("div", { class: "kv-sequence" }, this.heads, this.view);
    this.line = null;
    this.peeked = 0;
    this.view.addEventListener("wheel", (event) => this.app.guard(() => this.peek(event.deltaY) && event.preventDefault()), { passive: false });
  }

  /** Looks further up without moving the cursor; the next step comes back. Says whether it moved. */
  peek(pixels) {
    const wanted = Math.max(-(this.rest ?? 0), Math.min(0, this.peeked + pixels));
    if (wanted === this.peeked) return false;
    this.peeked = wanted;
    this.update(...this.shown);
    return true;
  }

  // -- places: once per line, lanes and width ---------------------------------------------------

  /** Reads the size of the paper; only when it may have changed, since reading costs a layout. */
  measure() {
    const { clientWidth, clientHeight } = this.view;
    const same = clientWidth === this.paperWidth && clientHeight === this.paperHeight;
    Object.assign(this, { paperWidth: clientWidth, paperHeight: clientHeight });
    return !same;
  }

  layout(line, lanes) {
    const width = this.paperWidth;
    const height = this.paperHeight;
    const key = [line.id, line.last, lanes.map((lane) => lane.id).join(","), width].join("|");
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
    this.scrolled = undefined;
  }

  /** Places all rows, each with so much room before it: a comparison keeps two diagrams level. */
  space(spaces) {
    this.spaces = spaces;
    this.place();
    for (const list of [this.downs, this.locals, this.messages, this.notes, this.wire]) list.clear();
    this.scrolled = undefined;
  }

  /** The top of every row, and where the messages of a row are drawn. */
  place() {
    const { line } = this;
    this.top = new Float64Array(line.steps.length + 1);
    this.base = new Map(); // message id -> y of its arrow
    this.ends = new Float64Array(line.steps.length); // y from which a step's own messages leave
    let y = TOP;
    for (let k = 0; k < line.steps.length; k++) {
      y += this.spaces?.[k] ?? 0;
      this.top[k] = y;
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

  rowOf(message) {
    return this.whole(message) ? MESSAGE_ROW : ASIDE_ROW;
  }

  /** Whether both ends of a message are on screen. */
  whole(message) {
    return this.x.has(message.from) && this.x.has(message.to);
  }

  seen(message) {
    return this.x.has(message.from) || this.x.has(message.to);
  }

  /** Where a message begins and ends; the other end of a lane that is not on screen is a stub. */
  span(message) {
    const from = this.x.get(message.from);
    const to = this.x.get(message.to);
    const here = from ?? to;
    const stub = here + (this.width - here < STUB + 150 ? -STUB : STUB);
    return { x1: from ?? stub, x2: to ?? stub };
  }

  /** The last row whose top lies at or above y. */
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

  update(line, step, since) {
    const under = this.floor ?? this.top[step + 1];
    const wire = line.wire.at(step).filter((m) => this.seen(m));
    const room = Math.max(this.height * CURSOR_AT, 120);
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
    for (let k = first; k <= bottom; k++) {
      let silent = k > 0;
      for (const m of line.arrivals.get(k) ?? []) if (this.seen(m)) messages.push(m), (silent = false);
      let order = 0;
      for (const note of line.notesAt.get(k) ?? [])
        if (this.x.has(note.lane)) notes.push({ note, key: `${k}/${order++}`, k }), (silent = false);
      if (silent && this.x.has(line.steps[k].actor)) locals.push(k);
    }
    this.messages.draw(messages, (m) => m.id);
    this.notes.draw(notes, (entry) => entry.key);
    this.locals.draw(locals, (k) => k);
    this.drawDowns(line, step, first);
    this.drawCursor(step, since, under);
    this.step = step;
    this.under = under;
    const shown = wire.slice(0, WIRE_MAX).map((message, slot) => ({ message, slot }));
    this.keys = this.app.wireKeys?.() ?? new Map();
    this.wire.draw(shown, (entry) => entry.message.id);
    const more = wire.length - shown.length;
    attr(this.wireMore, "y", shown.length * WIRE_ROW + 26);
    text(this.wireMore, more > 0 ? `and ${more} more on the wire` : shown.length ? "hollow: on the wire, not delivered" : step === 0 ? HINT : "");
    this.describe(line, step, wire);
  }

  moveTo(scroll) {
    if (this.scrolled === scroll) return;
    const near = this.scrolled !== undefined && Math.abs(scroll - this.scrolled) < MARGIN;
    this.world.classList.toggle("kv-glide", near);
    this.world.style.transform = `translate(0px, ${-scroll}px)`;
    this.scrolled = scroll;
  }

  drawCursor(step, since, under) {
    for (const layer of [this.cursor, this.flight]) layer.style.transform = `translate(0px, ${under}px)`;
    const words = step === 0 ? "start" : `now · ${step}`;
    if (this.cursorText.textContent !== words) {
      text(this.cursorText, words);
      const width = widthOf(words, `650 11px ${FONT}`) + 16;
      attr(this.cursorTag, "width", width);
      attr(this.cursorTag, "x", this.width - width);
      attr(this.cursorText, "x", this.width - 8);
    }
    const begin = this.top[Math.max(since + 1, 0)];
    attr(this.band, "y", begin);
    attr(this.band, "height", Math.max(0, under - begin));
  }

  drawDowns(line, step, first) {
    const shown = (line.downs ?? [])
      .filter((down) => this.x.has(down.lane) && down.from <= step && (down.to ?? step) >= first)
      .map((down) => ({ ...down, until: down.to !== null && down.to <= step ? this.top[down.to] : this.top[step + 1] + 400 }));
    this.downs.draw(shown, (down) => `${down.lane} ${down.from} ${down.until}`);
  }

  describe(line, step, wire) {
    const waiting = wire.map((m) => `${m.label} from ${this.names.get(m.from)} to ${this.names.get(m.to)}`);
    const flying = waiting.length ? ` On the wire: ${waiting.slice(0, 6).join("; ")}.` : "";
    text(this.title, `Sequence diagram up to message ${step} of ${line.last}.${flying}`);
  }

  // -- drawn things -------------------------------------------------------------------------------

  drawHead(node, lane) {
    const [title, sub] = node.children;
    text(title, lane.title);
    text(sub, lane.sub);
    node.style.left = `${this.x.get(lane.id)}px`;
    node.style.width = `${Math.min(this.gap - 4, 180)}px`;
    node.classList.toggle("kv-tight", this.gap < 125);
    attr(node, "title", `${lane.title}: ${lane.sub ?? ""}`);
  }

  drawDown(down) {
    const x = this.x.get(down.lane);
    const y = this.ends[down.from];
    return s("g", { class: "kv-down" }, s("line", { x1: x, x2: x, y1: y, y2: down.until }), s("line", { x1: x, x2: x, y1: y, y2: down.until, class: "kv-dash" }));
  }

  drawLocal(k) {
    const step = this.line.steps[k];
    const x = this.x.get(step.actor);
    const y = this.top[k] + LOCAL_ROW / 2;
    const left = x > this.width - this.gap / 2 - 20;
    const words = fit(step.title, SMALL, Math.min(this.gap * 1.5, left ? x - 16 : this.width - x - 16));
    const dot =
      step.kind === "fault"
        ? s("path", { d: `M${x} ${y - 6}l5.5 10h-11z` })
        : step.kind === "timer"
          ? s("path", { d: `M${x - 4} ${y}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0M${x} ${y - 2.5}v2.5h2`, class: "kv-clock" })
          : s("circle", { cx: x, cy: y, r: 3.2 });
    return s(
      "g",
      { class: `kv-local kv-tone-${tone(step.tone)}` },
      dot,
      s("text", { x: left ? x - 9 : x + 9, y: y + 4, "text-anchor": left ? "end" : "start", text: words }),
    );
  }

  drawMessage(message) {
    const { x1, x2 } = this.span(message);
    const y = this.base.get(message.id);
    const lost = message.lost !== null && message.lost !== undefined && message.arrived === null;
    const parts = [];
    if (this.x.has(message.from)) {
      const sent = this.ends[message.sent];
      const lane = x1 + Math.sign(x2 - x1 || 1) * 5;
      if (ending(message) - message.sent > 1 && y - sent > 30)
        parts.push(s("path", { class: "kv-wait", d: `M${x1} ${sent}L${lane} ${sent + 6}V${y - 8}L${x1} ${y}` }));
    }
    parts.push(...this.arrow(message, x1, x2, y, lost));
    parts.push(this.label(message, x1, x2, y, lost ? " ✗ lost" : ""));
    const group = s("g", { class: `kv-message${this.whole(message) ? "" : " kv-aside"} kv-${message.kind === "response" ? "response" : "request"} kv-tone-${lost ? "gone" : tone(message.tone)}${lost ? " kv-lost" : ""}` }, ...parts);
    this.selectable(group, message);
    return group;
  }

  arrow(message, x1, x2, y, lost) {
    if (x1 === x2) {
      const side = x1 > this.width / 2 ? -1 : 1;
      return [
        s("path", { class: "kv-hop", d: `M${x1} ${y - 11}h${side * 24}v11H${x1 + side * 4}` }),
        s("path", { class: "kv-tip", d: `M${x1} ${y}l${side * 8} -4.5v9z` }),
      ];
    }
    const way = Math.sign(x2 - x1);
    if (lost) {
      const x = x1 + (x2 - x1) * 0.62;
      return [
        s("path", { class: "kv-hop", d: `M${x1} ${y}H${x}` }),
        s("path", { class: "kv-cross", d: `M${x - 5} ${y - 5}l10 10M${x - 5} ${y + 5}l10 -10` }),
      ];
    }
    const open = message.kind === "response";
    return [
      s("path", { class: "kv-hop", d: `M${x1} ${y}H${open ? x2 - way : x2 - way * 6}` }),
      open
        ? s("path", { class: "kv-tip kv-open", d: `M${x2 - way * 8} ${y - 4.5}L${x2 - way} ${y}L${x2 - way * 8} ${y + 4.5}` })
        : s("path", { class: "kv-tip", d: `M${x2 - way} ${y}L${x2 - way * 9} ${y - 4.8}V${y + 4.8}z` }),
    ];
  }

  label(message, x1, x2, y, suffix = "", flying = false) {
    if (!this.whole(message)) return this.asideLabel(message, Math.min(x1, x2), Math.max(x1, x2), y, suffix, flying);
    const words = fit(message.label + suffix, LABEL, this.width - 20);
    const half = widthOf(words, LABEL) / 2;
    let reach = (x1 + x2) / 2;
    if (x1 === x2) reach = x1 > this.width / 2 ? x1 - 34 - half : x1 + 34 + half;
    else if (flying && Math.abs(x2 - x1) > half) reach = x2 > x1 ? Math.min(reach, x2 - 14 - half) : Math.max(reach, x2 + 14 + half);
    const x = Math.min(Math.max(reach, half + 6), this.width - half - 6);
    return s("text", { x, y: y - 5, "text-anchor": "middle", text: words });
  }

  /** Beside a stub, on the side away from the lane: what it is, and where it goes or comes from. */
  asideLabel(message, left, right, y, suffix, flying) {
    const other = this.x.has(message.to) ? ` ← ${this.names.get(message.from)}` : ` → ${this.names.get(message.to)}`;
    const lane = this.x.get(message.from) ?? this.x.get(message.to);
    const after = lane <= left + 1;
    const room = (after ? this.width - right : left) - 24;
    const words = fit(message.label + other + suffix, LABEL, room);
    const x = after ? right + (flying ? 13 : 8) : left - (flying ? 13 : 8);
    return s("text", { x, y: y + (flying ? 5 : 4), "text-anchor": after ? "start" : "end", text: words });
  }

  makeFlight(entry) {
    const { message } = entry;
    const { x1, x2 } = this.span(message);
    const way = Math.sign(x2 - x1) || (x1 > this.width / 2 ? -1 : 1);
    const end = x1 === x2 ? x1 + way * 48 : this.x.has(message.to) ? x2 - way * 22 : x2;
    const group = s(
      "g",
      { class: `kv-message kv-flying${this.whole(message) ? "" : " kv-aside"} kv-tone-${tone(message.tone)}` },
      s("path", { class: "kv-wait" }),
      s("path", { class: "kv-hop", d: `M${x1} 0H${end - way * 8}` }),
      s("circle", { class: "kv-hollow", cx: end, cy: 0, r: 8 }),
      s("text", { class: "kv-key", x: end, y: 4, "text-anchor": "middle" }),
      this.label(message, x1, end, -1, "", true),
    );
    this.selectable(group, message);
    return group;
  }

  placeFlight(node, { message, slot }) {
    const y = 28 + slot * WIRE_ROW;
    attr(node, "transform", `translate(0 ${y})`);
    const { x1, x2 } = this.span(message);
    const lane = x1 + (Math.sign(x2 - x1) || (x1 > this.width / 2 ? -1 : 1)) * 5;
    const sent = this.ends[message.sent] - this.under - y;
    const far = this.x.has(message.from) ? `M${x1} ${sent}L${lane} ${sent + 6}V-8L${x1} 0` : "";
    attr(node.firstChild, "d", far);
    const key = this.keys.get(message.id);
    text(node.children[3], key ? key.key : "");
    node.classList.toggle("kv-next", Boolean(key));
    node.classList.toggle("kv-selected", this.app.isSelected("message", message.id));
  }

  drawNote({ note, k }) {
    const width = Math.min(
      Math.max(widthOf(marked(note), NOTE), note.sub ? widthOf(note.sub, SMALL) : 0) + 22,
      this.width - 8,
    );
    const middle = Math.min(Math.max(this.x.get(note.lane), width / 2 + 3), this.width - width / 2 - 3);
    const before = (this.line.notesAt.get(k) ?? []).filter((other) => other.lane === note.lane);
    let y = this.noteTop(k);
    for (const other of before.slice(0, before.indexOf(note))) y += noteHeight(other) + 4;
    const kind = tone(note.tone);
    const box = { x: middle - width / 2, y, width, height: noteHeight(note), rx: 7 };
    return s(
      "g",
      { class: `kv-note kv-tone-${kind}` },
      s("rect", { ...box, class: "kv-under" }),
      s("rect", { ...box, class: "kv-box" }),
      kind === "pending" ? s("rect", { ...box, fill: `url(#${this.hatch})` }) : null,
      s("text", { x: middle, y: y + 16, "text-anchor": "middle", text: fit(marked(note), NOTE, width - 12) }),
      note.sub ? s("text", { class: "kv-sub", x: middle, y: y + 31, "text-anchor": "middle", text: fit(note.sub, SMALL, width - 10) }) : null,
      s("title", { text: `${note.text}${note.sub ? `: ${note.sub}` : ""}` }),
    );
  }

  noteTop(k) {
    const arrived = (this.line.arrivals.get(k) ?? []).filter((m) => this.seen(m));
    return arrived.reduce((y, m) => y + this.rowOf(m), this.top[k] + 5);
  }

  selectable(group, message) {
    group.append(s("title", { text: `${message.label}: ${message.detail ?? ""}` }));
    group.addEventListener("click", () => this.app.select({ kind: "message", id: message.id }));
  }
}

const noteHeight = (note) => (note.sub ? 38 : 23);
const marked = (note) => `${TONE_MARK[tone(note.tone)] ? `${TONE_MARK[tone(note.tone)]} ` : ""}${note.text}`;
