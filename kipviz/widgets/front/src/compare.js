// Two runs side by side, stepped together. Which steps belong together comes from Python; here both
// diagrams get the same rows, so that a side which waits shows a gap and neither runs ahead.

import { Cards } from "./cards/cards.js";
import { Keyed, aria, h, s, show, text } from "./dom/dom.js";
import { Frame } from "./frame/frame.js";
import { cardsOf, lanesButton, lanesOf } from "./frame/lanes.js";
import { DesignChip, SmallCluster, Verdicts } from "./frame/header.js";
import { backward, onward, titleOf } from "./lines/line.js";
import { Lines } from "./lines/lines.js";
import { Overview } from "./drawing/overview.js";
import { Drawer } from "./frame/panels.js";
import { Sequence } from "./drawing/sequence.js";
import { STATE_MARK, STATE_WORD } from "./dom/words.js";

/** @import { Grain } from "../types/app" */
/** @import { Model } from "../types/page" */
/** @import { ApartRow } from "../types/parts" */
/** @import { Difference, Lane, Message, Payload, Selection, VerdictInfo } from "../types/payload" */

const WORDS_WIDE = 60; // so far from the edge the first lane leaves room for the words of a mark
const MARKED_ROWS = 80; // how far above the cursor differences are marked in the diagrams

class Side {
  /**
   * @param {Compare} frame
   * @param {Payload} payload
   * @param {string} which
   */
  constructor(frame, payload, which) {
    this.frame = frame;
    this.payload = payload;
    this.which = which;
    this.number = which === "left" ? 0 : 1;
    this.called = frame.payload.names[this.number];
    this.lines = new Lines(payload, []);
    this.line = this.lines.get(frame.payload.lines[this.number]);
    this.small = new SmallCluster(payload.design);
    this.verdicts = new Verdicts(this);
    this.sequence = new Sequence(this, { folding: false }); // two diagrams are kept level row by row
    this.cards = new Cards(this);
    this.overview = new Overview(this);
    this.words = h("p.kv-side-say");
    this.mark = h("span.kv-differs");
    this.said = h("div.kv-side-words", this.mark, this.words);
    /** @type {HTMLSelectElement} */
    this.branch = h("select.kv-branch", { label: `branch on the ${which}`, onchange: () => frame.showLine(this.number, Number(this.branch.value)) }, ...this.lines.ids.map((id) => h("option", { value: id }, id ? `↳ ${this.lines.get(id).name}` : "main")));
    this.branch.value = String(this.line.id);
    show(this.branch, this.lines.ids.length > 1 && frame.model.get("lines") !== undefined);
    const name = this.called === payload.design?.name ? null : h("b.kv-side-name", this.called);
    this.element = h(
      "section.kv-side",
      { label: `${which}: ${this.called}` },
      h("div.kv-side-head", name, new DesignChip(payload.design).element, this.small.element, this.branch, h("span.kv-space"), this.verdicts.chips),
      h("div.kv-side-panels", this.small.panel, this.verdicts.panel),
      this.sequence.element,
      this.said,
      this.cards.element,
    );
    const layer = s("g.kv-apart");
    this.sequence.cursor.before(layer); // the line of where we are, and its number, stand above
    this.apart = new Keyed(layer, (row) => this.drawRow(row));
  }

  /** @param {Lane[]} lanes */
  layout(lanes) {
    this.sequence.layout(this.line, lanes);
  }

  /**
   * @param {number} step
   * @param {number} since
   * @param {Grain} grain
   * @param {string} differs
   * @param {Lane[]} lanes
   * @param {ApartRow[]} rows
   */
  draw(step, since, grain, differs, lanes, rows) {
    const { line } = this;
    this.sequence.update(line, step, since);
    this.apart.draw(rows, (row) => row.at);
    this.cards.update(line, step, since, cardsOf(this.payload, lanes));
    this.verdicts.update(line, step);
    const big = line.bigs[line.bigAt[step]];
    text(this.words, grain === "big" && big?.say && line.endsBig(step) ? big.say : line.steps[step].sentence);
    show(this.mark, differs !== "");
    text(this.mark, differs);
    this.overview.layout(line, Math.max(this.frame.wide / 2 - 34, 200), [line]);
    this.overview.update(step);
  }

  /**
   * A row of the diagram that is not the same on both sides: a rhombus and a word, or a gap.
   * @param {ApartRow} told
   */
  drawRow({ mark, top, bottom, waits }) {
    const y = (top + bottom) / 2;
    const words = waits ? "waits" : mark === "!" ? "differs" : "only here";
    const size = 5.5;
    const room = Math.min(...this.sequence.x.values()) >= WORDS_WIDE;
    const gap = waits && s("rect.kv-row-gap", { x: 4, y: top + 2, width: Math.max(this.sequence.width - 8, 0), height: Math.max(bottom - top - 4, 3), rx: 4 });
    return s(
      "g",
      { class: `kv-row-apart${waits ? " kv-row-waits" : ""}` },
      gap || null,
      s("path", { d: `M${4} ${y}l${size} ${-size}l${size} ${size}l${-size} ${size}z` }),
      room && bottom - top > 12 ? s("text", { x: 19, y: y + 4 }, words) : s("title", words),
    );
  }

  /** @param {string} part */
  name(part) {
    return this.frame.name(`${this.which}-${part}`);
  }

  /**
   * @template Made
   * @param {() => Made} act
   */
  guard(act) {
    return this.frame.guard(act);
  }

  /** @param {number} step */
  go(step) {
    this.frame.goSide(this.number, step);
  }

  focus() {
    this.frame.focus();
  }

  /** @param {Selection | null} selection */
  select(selection) {
    this.frame.keep({ selection: selection ? { ...selection, side: this.which } : {} });
    this.frame.draw();
  }

  /** @param {Message} message */
  pickMessage(message) {
    this.select({ kind: "message", id: message.id });
  }

  /**
   * @param {string} kind
   * @param {string} id
   */
  isSelected(kind, id) {
    const chosen = this.frame.selection;
    return chosen.kind === kind && chosen.id === id && chosen.side === this.which;
  }
}

/**
 * Properties in rows, the two sides in columns: now, and at the end of the run.
 * @extends {Drawer<Compare>}
 */
class VerdictTable extends Drawer {
  /** @param {Compare} app */
  constructor(app) {
    super(app, { name: "verdicts", title: "verdicts side by side", key: "r" });
    this.body = h("tbody");
    const sides = [app.left, app.right].map((side) => h("th", { scope: "col" }, side.called));
    this.element.append(h("table.kv-verdict-table", h("thead", h("tr", h("th", { scope: "col" }, "property"), ...sides)), this.body));
  }

  update() {
    const sides = [this.app.left, this.app.right];
    const names = new Map(sides.flatMap(({ line }) => line.verdicts.map((v) => [v.property, v.sentence])));
    this.body.replaceChildren(...[...names].map(([name, sentence]) => this.row(name, sentence, sides)));
  }

  /**
   * @param {string} name
   * @param {string} sentence
   * @param {Side[]} sides
   */
  row(name, sentence, sides) {
    const now = sides.map((side) => side.verdicts.alive.find((v) => v.property === name));
    const end = sides.map(({ line }) => line.liveVerdicts.at(line.last).find((v) => v.property === name));
    const unlike = end[0]?.state !== end[1]?.state || now[0]?.state !== now[1]?.state;
    const sign = h("span.kv-unlike-word", unlike ? "◇ differs" : "");
    const cells = sides.map((_, n) => h("td", { "data-state": end[n]?.state }, h("p", `now: ${words(now[n])}`), h("p", h("b", `at the end: ${words(end[n])}`))));
    return h("tr", { class: unlike ? "kv-unlike-row" : null }, h("th", { scope: "row" }, h("b", name), sign, h("p.kv-dim", sentence)), ...cells);
  }
}

/** @param {VerdictInfo | undefined} verdict */
function words(verdict) {
  if (!verdict) return "not asked";
  return `${STATE_MARK[verdict.state] ?? ""} ${STATE_WORD[verdict.state] ?? verdict.state}${verdict.reason ? `: ${verdict.reason}` : ""}`;
}

export class Compare extends Frame {
  /**
   * @param {import("../types/page").Model} model
   * @param {import("../types/payload").Comparison} payload
   */
  constructor(model, payload) {
    super(model, `Comparison: ${payload.title}`, payload.left);
    this.payload = payload;
    this.pairs = payload.pairs;
    this.differences = payload.differences;
    this.standAt(model.get("step") ?? 0);
    /** @type {Side} */
    this.left = new Side(this, payload.left, "left");
    /** @type {Side} */
    this.right = new Side(this, payload.right, "right");
    this.tops = new Float64Array(); // of each pair, where its row begins
    this.ends = payload.bigs.map((big) => big.to - 1);
    this.lanes = lanesButton(this, payload.left);
    this.header = h("div.kv-header", h("h2", payload.title));
    this.only = h("button.kv-lanes-button", { title: "only cards that differ or changed, or all of them (d)", onclick: () => this.toggleOnly() }, "only what differs");
    this.build();
    this.hear("step", () => this.heardStep());
    this.hear("notice", () => this.heardNotice());
    for (const name of ["selection", "all_lanes"]) this.hear(name, () => this.heardRest());
    this.watch([this.left.sequence, this.right.sequence]);
  }

  build() {
    this.transport.hideBranches();
    this.drawers = [new VerdictTable(this)];
    this.transport.addTools(this.drawers.map((drawer) => drawer.button), []);
    /**
     * @param {string} name
     * @param {string} sign
     * @param {string} title
     * @param {() => unknown} act
     */
    const jump = (name, sign, title, act) => h("button", { class: `kv-chip ${name}`, title, label: title, onclick: act }, h("span", { "aria-hidden": "true" }, sign));
    const { length } = this.differences;
    const first = jump("kv-first-difference", "◇", "first difference (1)", () => this.press(1));
    first.append(h("span", length ? `${length} ${length === 1 ? "difference" : "differences"}, the first at ${this.differences[0].at}` : "no difference"));
    const jumps = [first, jump("kv-previous-difference", "◇ ↑", "previous difference (I)", () => this.marked(-1)), jump("kv-next-difference", "◇ ↓", "next difference (i)", () => this.marked(1))];
    for (const button of jumps) button.disabled = !length;
    this.root.classList.add("kv-comparison");
    this.toggleOnly();
    this.header.append(...jumps, h("span.kv-space"), this.only, this.lanes.button);
    this.root.append(
      this.header,
      this.transport.element,
      this.audience?.element ?? "",
      this.transport.more,
      this.help.element,
      ...this.drawers.map((drawer) => drawer.element),
      h("div.kv-sides", this.left.element, this.right.element),
      this.sentence.element,
      h("div.kv-strips", this.left.overview.element, this.right.overview.element),
    );
    this.transport.drawPlay(false, this.player.perSecond);
  }

  // -- drawing ----------------------------------------------------------------------------------------

  fixedHeight() {
    const strips = this.left.overview.element.offsetHeight;
    return [this.header, this.transport.element, this.sentence.spoken].reduce((sum, part) => sum + part.offsetHeight, 4 + strips) - this.sentence.lent;
  }

  paint() {
    const [left, right] = this.pairs[this.at];
    const { grain } = this;
    const found = this.differenceHere();
    const lanes = [lanesOf(this.payload.left, this.allLanes), lanesOf(this.payload.right, this.allLanes)];
    this.align(lanes);
    const since = this.pairs[this.cameFrom()].map((step, n) => Math.min(step, this.pairs[this.at][n] - 1));
    this.left.draw(left, since[0], grain, this.wordFor(0, found), lanes[0], this.rows(0));
    this.right.draw(right, since[1], grain, this.wordFor(1, found), lanes[1], this.rows(1));
    this.left.cards.compareWith(this.right.cards);
    this.right.cards.compareWith(this.left.cards);
    this.left.verdicts.compareWith(this.right.verdicts);
    this.right.verdicts.compareWith(this.left.verdicts);
    // What both sides say in the words above is not said three times: the cards have the room.
    const sides = [this.left, this.right];
    const alike = sides.every((side) => side.mark.hidden && side.words.textContent === this.sentence.told);
    for (const side of sides) show(side.said, !alike);
    for (const drawer of this.drawers) if (drawer.open) drawer.update(this.left.line, this.at);
    if (!this.audience?.open) return;
    const next = Math.min(this.bigForward(this.at), this.last);
    this.audience.update(this.payload.bigs[this.bigOf(next)], next > this.at);
  }

  drawAround() {
    const [left, right] = this.pairs[this.at];
    this.left.verdicts.update(this.left.line, left);
    this.right.verdicts.update(this.right.line, right);
    const big = this.bigOf(this.at);
    const title = this.payload.bigs[big]?.title ?? "";
    this.transport.update({ last: this.last, step: this.at, big: this.bigNumber(this.at), bigs: this.payload.bigs.length, ends: this.ends, title });
    this.say(big, left, right, this.differenceHere());
    this.lanes.draw(this.allLanes);
  }

  /**
   * The same comparison once more, for another window.
   * @param {Model} model
   */
  twin(model) {
    return new Compare(model, this.payload);
  }

  /**
   * Gives both diagrams the same rows: the higher of two is the height of both.
   * @param {Lane[][]} lanes
   */
  align(lanes) {
    const sides = [this.left, this.right];
    sides.forEach((side, n) => side.layout(lanes[n]));
    const [left, right] = sides.map((side) => side.sequence);
    if (!left.spaces || !right.spaces) {
      for (const { sequence } of sides) sequence.space(null);
      this.tops = new Float64Array(this.pairs.length + 1);
      const spaces = sides.map(({ line }) => new Float64Array(line.steps.length));
      const bottoms = [left.top[0], right.top[0]];
      let top = left.top[0];
      this.pairs.forEach((pair, at) => {
        this.tops[at] = top;
        let high = 0;
        sides.forEach(({ sequence }, n) => {
          const step = pair[n];
          if (!this.acts(at, n)) return;
          const own = sequence.top[step + 1] - sequence.top[step];
          spaces[n][step] = top - bottoms[n];
          bottoms[n] = top + own;
          high = Math.max(high, own);
        });
        top += high;
      });
      this.tops[this.pairs.length] = top;
      sides.forEach(({ sequence, apart }, n) => {
        sequence.space(spaces[n]);
        apart.clear();
      });
    }
    for (const { sequence } of sides) sequence.floor = this.tops[this.at + 1];
  }

  /**
   * @param {number} at
   * @param {number} side
   */
  acts(at, side) {
    return !at || this.pairs[at][side] !== this.pairs[at - 1][side];
  }

  /** @param {number} side */
  rows(side) {
    const rows = [];
    for (let at = Math.max(0, this.at - MARKED_ROWS); at <= this.at; at++) {
      const mark = this.payload.marks[at];
      if ("!<>".includes(mark)) rows.push({ at, mark, top: this.tops[at], bottom: this.tops[at + 1], waits: !this.acts(at, side) });
    }
    return rows;
  }

  /** The pair that the reader came from, as far as the marks of change are concerned. */
  cameFrom() {
    const big = this.payload.bigs[this.bigOf(this.at)];
    const rested = big && (this.endsBig(this.at) || big.rests?.includes(this.at));
    return Math.max(0, this.grain === "big" && rested ? backward(big, this.at) : this.at - 1);
  }

  /** The difference at the cursor; after a big step, the first one in it. */
  differenceHere() {
    const from = this.grain === "big" ? this.cameFrom() + 1 : this.at;
    return this.differences.find((one) => one.at <= this.at && from < one.to);
  }

  /** Whether a big step was taken whole. */
  afterBig() {
    return this.grain === "big" && this.endsBig(this.at);
  }

  /**
   * @param {number} side
   * @param {Difference | undefined} found
   */
  wordFor(side, found) {
    const mark = this.payload.marks[this.at];
    if (!found) return mark === "~" ? "≈ other name" : "";
    if (this.afterBig()) return "◇ differs in this step";
    if (!this.acts(this.at, side)) return "◇ waits";
    return mark === "!" ? "◇ differs here" : "<>".includes(mark) ? "◇ only here" : "◇ verdicts differ";
  }

  /**
   * @param {number} big
   * @param {number} left
   * @param {number} right
   * @param {Difference | undefined} found
   */
  say(big, left, right, found) {
    const { sentence } = this;
    const one = this.left.line.steps[left];
    const other = this.right.line.steps[right];
    const mark = this.payload.marks[this.at];
    const both = { "=": one.sentence, "<": `Only left: ${one.sentence}`, ">": `Only right: ${other.sentence}` }[mark] ?? `Left: ${one.sentence} Right: ${other.sentence}`;
    const words = found && (found.at === this.at || this.grain === "big") ? found.sentence : both;
    const told = this.payload.bigs[big];
    text(sentence.context, told ? titleOf(told, big + 1, this.at) : "");
    if (sentence.told !== words) {
      sentence.told = words;
      sentence.words.replaceChildren(...sentence.explained(words));
    }
    const alarms = [this.left, this.right].flatMap((side) => side.verdicts.broken().map((v) => `⚠ ${side.called}: ${v.reason || v.sentence}`));
    show(sentence.alarm, alarms.length > 0);
    text(sentence.alarm, alarms.join(" · "));
    sentence.fit(words, alarms.length > 0);
    sentence.at = { ...(mark === ">" ? other : one), sentence: words };
    if (!sentence.why.hidden) sentence.drawWhy(sentence.at);
  }

  // -- moving -----------------------------------------------------------------------------------------

  get last() {
    return this.pairs.length - 1;
  }

  /** @param {number} at */
  bigOf(at) {
    return this.payload.bigs.findIndex((big) => big.from <= at && at < big.to);
  }

  /** @param {number} at */
  bigNumber(at) {
    const here = this.bigOf(at);
    return here >= 0 ? here + 1 : this.payload.bigs.filter((big) => big.to <= at).length;
  }

  /** @param {number} at */
  endsBig(at) {
    return this.payload.bigs.some((big) => big.to - 1 === at);
  }

  /** @param {number} at */
  bigForward(at) {
    if (!this.payload.bigs.length) return at + 1;
    const next = this.payload.bigs.find((big) => big.to - 1 > at);
    return next ? onward(next, at) : this.last;
  }

  /** @param {number} at */
  bigBack(at) {
    if (!this.payload.bigs.length) return at - 1;
    const here = this.bigOf(at);
    return here >= 0 ? backward(this.payload.bigs[here], at) : (this.payload.bigs.findLast((big) => big.to - 1 < at)?.to ?? 1) - 1;
  }

  /**
   * Goes to the n-th difference, counted from 1.
   * @param {number} n
   */
  press(n) {
    const found = this.differences[n - 1];
    if (found) this.go(found.at, "small");
  }

  /**
   * Goes to the next or the previous difference.
   * @param {number} way
   */
  marked(way) {
    const found = way > 0 ? this.differences.find((one) => one.at > this.at) : this.differences.findLast((one) => one.at < this.at);
    if (found) this.go(found.at, "small");
  }

  /**
   * @param {number} side
   * @param {number} step
   */
  goSide(side, step) {
    const found = this.pairs.findIndex((pair) => pair[side] >= step);
    this.go(found < 0 ? this.last : found, "small");
  }

  /**
   * Asks Python to hold other branches together; its answer is another payload.
   * @param {number} side
   * @param {number} id
   */
  showLine(side, id) {
    const lines = [...this.payload.lines];
    lines[side] = id;
    this.keep({ lines, step: 0 });
  }

  playStops() {
    return [this.left, this.right].some(({ line }, n) => {
      const { kind, tone } = line.steps[this.pairs[this.at][n]];
      return kind === "fault" || tone === "broken";
    });
  }

  heardStep() {
    const step = this.model.get("step");
    if (step === this.at) return;
    this.standAt(step);
    this.draw();
  }

  /** Shows only the cards that differ or have changed, as at the beginning, or all of them. */
  toggleOnly() {
    aria(this.only, "pressed", this.root.classList.toggle("kv-only-unlike"));
  }

  toggleLanes() {
    if (this.lanes.hidden > 0) super.toggleLanes();
  }

  closeMore() {
    if (this.closeDrawer()) return true;
    for (const chips of [this.left, this.right].flatMap((side) => [side.verdicts, side.small])) {
      if (!chips.panel.hidden) {
        chips.toggle(false);
        return true;
      }
    }
    return false;
  }
}
