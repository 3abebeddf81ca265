// Two designs side by side, stepped together. The pairs of steps come from Python: within each big
// step both sides go on together, the shorter one waits.

import { Cards } from "./cards.js";
import { attr, h, show, text } from "./dom.js";
import { Frame, cardsOf, lanesButton, lanesOf, sinceOf } from "./frame.js";
import { DesignChip, Verdicts } from "./header.js";
import { Lines } from "./line.js";
import { Overview } from "./overview.js";
import { Sentence } from "./sentence.js";
import { Sequence } from "./sequence.js";
import { Transport } from "./transport.js";

class Side {
  constructor(frame, payload, which) {
    this.frame = frame;
    this.payload = payload;
    this.which = which;
    this.lines = new Lines(payload, []);
    this.line = this.lines.get(0);
    this.verdicts = new Verdicts(this);
    this.sequence = new Sequence(this);
    this.cards = new Cards(this);
    this.overview = new Overview(this);
    this.words = h("p", { class: "kv-side-say" });
    this.mark = h("span", { class: "kv-differs", text: "≠ differs here" });
    this.element = h(
      "section",
      { class: "kv-side", "aria-label": payload.design?.name ?? which },
      h("header", { class: "kv-side-head" }, new DesignChip(payload.design).element, h("span", { class: "kv-space" }), this.verdicts.chips),
      this.verdicts.panel,
      this.sequence.element,
      h("div", { class: "kv-side-words" }, this.mark, this.words),
      this.cards.element,
    );
  }

  draw(step, grain, differs, lanes) {
    const { line } = this;
    const since = sinceOf(line, step, grain);
    this.sequence.layout(line, lanes);
    this.sequence.update(line, step, since);
    this.cards.update(line, step, since, cardsOf(this.payload, lanes));
    this.verdicts.update(line, step);
    const big = line.bigs[line.bigAt[step]];
    text(this.words, grain === "big" && big?.say && line.endsBig(step) ? big.say : line.steps[step].sentence);
    show(this.mark, differs);
    this.overview.layout(line, Math.max(this.frame.wide / 2 - 34, 200), [line]);
    this.overview.update(step);
  }

  guard(act) {
    return this.frame.guard(act);
  }

  go(step) {
    this.frame.goSide(this.which, step);
  }

  focus() {
    this.frame.focus();
  }

  select(selection) {
    this.frame.keep({ selection: selection ? { ...selection, side: this.which } : {} });
    this.frame.draw();
  }

  isSelected(kind, id) {
    const chosen = this.frame.model.get("selection");
    return chosen?.kind === kind && chosen.id === id && chosen.side === this.which;
  }
}

export class Compare extends Frame {
  constructor(model, payload) {
    super(model, `Comparison: ${payload.title}`);
    this.payload = payload;
    this.pairs = payload.pairs;
    this.difference = payload.difference;
    this.at = Math.max(0, Math.min(this.last, model.get("step") ?? 0));
    this.grain = this.endsBig(this.at) ? "big" : "small";
    this.allLanes = Boolean(model.get("all_lanes"));
    this.build();
    this.hear("step", () => this.heardStep());
    for (const name of ["selection", "all_lanes"]) this.hear(name, () => this.heardRest());
    this.watch([this.left.sequence, this.right.sequence]);
  }

  build() {
    const { payload } = this;
    this.left = new Side(this, payload.left, "left");
    this.right = new Side(this, payload.right, "right");
    this.transport = new Transport(this, this.player);
    this.transport.hideBranches();
    this.sentence = new Sentence(this);
    this.lanes = lanesButton(this, payload.left);
    const jump = h(
      "button",
      { type: "button", class: "kv-chip kv-first-difference", onclick: () => this.guard(() => this.go(payload.difference.at, "small")) },
      h("span", { class: "kv-sign", "aria-hidden": "true", text: "≠" }),
      h("span", { text: payload.difference ? `first difference: ${payload.difference.at}` : "no difference" }),
    );
    jump.disabled = !payload.difference;
    attr(jump, "title", payload.difference?.sentence);
    this.root.classList.add("kv-comparison");
    this.root.append(
      h("header", { class: "kv-header" }, h("h2", { text: payload.title }), jump, h("span", { class: "kv-space" }), this.lanes.button),
      this.transport.element,
      this.makeHelp(payload.left.spec_line),
      h("div", { class: "kv-sides" }, this.left.element, this.right.element),
      this.sentence.element,
      h("div", { class: "kv-strips" }, this.left.overview.element, this.right.overview.element),
    );
    this.transport.drawPlay(false, this.player.perSecond);
    this.ends = payload.bigs.map((big) => big.to - 1);
  }

  paint() {
    const [left, right] = this.pairs[this.at];
    const { difference, grain } = this;
    const differs = Boolean(difference) && (grain === "small" ? difference.at === this.at : this.sameBig(difference.at, this.at));
    const lanes = lanesOf(this.payload.left, this.allLanes);
    this.left.draw(left, grain, differs, lanes);
    this.right.draw(right, grain, differs, lanesOf(this.payload.right, this.allLanes));
    this.left.cards.compareWith(this.right.cards);
    this.right.cards.compareWith(this.left.cards);
    const big = this.bigOf(this.at);
    const title = this.payload.bigs[big]?.title ?? "";
    this.transport.update({ last: this.last, step: this.at, big: this.bigNumber(this.at), bigs: this.payload.bigs.length, ends: this.ends, title });
    this.say(big, left, right, differs);
    text(this.lanes.button, this.allLanes ? "first screen" : `all lanes +${this.lanes.hidden}`);
  }

  say(big, left, right, differs) {
    const { sentence } = this;
    const one = this.left.line.steps[left].sentence;
    const other = this.right.line.steps[right].sentence;
    const same = one === other;
    const words = differs ? this.difference.sentence : same ? one : `Left: ${one} Right: ${other}`;
    text(sentence.context, this.payload.bigs[big] ? `${big + 1} · ${this.payload.bigs[big].title}` : "");
    text(sentence.words, words);
    const alarms = [this.left, this.right].flatMap((side) => side.verdicts.broken().map((v) => `⚠ ${side.payload.design?.name ?? side.which}: ${v.reason || v.sentence}`));
    show(sentence.alarm, alarms.length > 0);
    text(sentence.alarm, alarms.join(" · "));
    const at = same ? this.left.line.steps[left] : { ...this.left.line.steps[left], sentence: words };
    sentence.at = at;
    if (!sentence.why.hidden) sentence.drawWhy(at);
  }

  get last() {
    return this.pairs.length - 1;
  }

  bigOf(at) {
    return this.payload.bigs.findIndex((big) => big.from <= at && at < big.to);
  }

  bigNumber(at) {
    const here = this.bigOf(at);
    return here >= 0 ? here + 1 : this.payload.bigs.filter((big) => big.to <= at).length;
  }

  endsBig(at) {
    return this.payload.bigs.some((big) => big.to - 1 === at);
  }

  sameBig(a, b) {
    return this.bigOf(a) === this.bigOf(b);
  }

  bigForward(at) {
    return this.payload.bigs.find((big) => big.to - 1 > at)?.to - 1 || this.last;
  }

  bigBack(at) {
    const here = this.bigOf(at);
    return here >= 0 ? this.payload.bigs[here].from - 1 : 0;
  }

  goSide(which, step) {
    const side = which === "left" ? 0 : 1;
    const found = this.pairs.findIndex((pair) => pair[side] >= step);
    this.go(found < 0 ? this.last : found, "small");
  }

  playStops() {
    const step = (side, k) => side.line.steps[k];
    const [left, right] = this.pairs[this.at];
    return [step(this.left, left), step(this.right, right)].some((s) => s.kind === "fault" || s.tone === "broken");
  }

  heardStep() {
    const step = this.model.get("step");
    if (step === this.at) return;
    this.at = Math.max(0, Math.min(this.last, step));
    this.grain = this.endsBig(this.at) ? "big" : "small";
    this.draw();
  }

  heardRest() {
    this.allLanes = Boolean(this.model.get("all_lanes"));
    this.draw();
  }

  toggleLanes() {
    if (this.lanes.hidden > 0) super.toggleLanes();
  }

  closeMore() {
    for (const side of [this.left, this.right]) {
      if (!side.verdicts.panel.hidden) {
        side.verdicts.toggle(false);
        return true;
      }
    }
    return false;
  }
}
