// The stepper: one payload, its lines, and a cursor.

import { Beliefs } from "./cards/beliefs.js";
import { Bytes } from "./tables/bytes.js";
import { Cards } from "./cards/cards.js";
import { Choices } from "./choices/choices.js";
import { Find } from "./tables/find.js";
import { Table } from "./tables/table.js";
import { Tree } from "./choices/tree.js";
import { attr, h, show, target, text } from "./dom/dom.js";
import { Run } from "./frame/run.js";
import { lanesButton, lanesOf, sinceOf } from "./frame/lanes.js";
import { DesignChip, SmallCluster, Verdicts } from "./frame/header.js";
import { Lesson } from "./learning/lesson.js";
import { ending } from "./lines/line.js";
import { Live } from "./frame/live.js";
import { Menu } from "./choices/menu.js";
import { Overview } from "./drawing/overview.js";
import { Question } from "./learning/question.js";
import { Sequence } from "./drawing/sequence.js";
import { Share } from "./sharing/share.js";
import { Views } from "./cards/views.js";
import { WhatIf } from "./choices/whatif.js";
import { Trail } from "./drawing/why.js";

/** @import { Drawer } from "./frame/panels.js" */
/** @import { Line } from "./lines/line.js" */
/** @import { App, Fold, Place, Wish } from "../types/app" */
/** @import { Model } from "../types/page" */
/** @import { Answer, Branch, Item, Lane, Message } from "../types/payload" */

const PATIENCE = 8000;

export class Stepper extends Run {
  /**
   * @param {import("../types/page").Model} model
   * @param {import("../types/payload").Payload} payload
   */
  constructor(model, payload) {
    super(model, payload);
    this.endsLine = this.line; // whose big steps end so
    /** @type {number[] | null} */
    this.ends = null;
    /** @type {{ id: number, words: string } | null} */
    this.asked = null; // what Python has not answered yet
    this.patience = 0; // how long its answer is waited for
    this.heading = h("h2");
    this.header = h("div.kv-header", this.heading);
    this.design = new DesignChip();
    this.small = new SmallCluster();
    this.detailWords = h("span", { role: "status" });
    this.detail = h("p.kv-detail", this.detailWords);
    this.verdicts = new Verdicts(this);
    /** @type {Live | null} */
    this.live = payload.live ? new Live(this) : null;
    this.choices = new Choices(this);
    /** @type {Question} */
    this.question = new Question(this);
    this.lesson = new Lesson(this);
    this.menu = new Menu(this);
    this.sequence = new Sequence(this);
    /** @type {Views} */
    this.views = new Views(this);
    this.cards = new Cards(this);
    this.overview = new Overview(this);
    this.trail = new Trail(this);
    this.lanes = lanesButton(this, payload);
    this.find = new Find(this);
    /** @type {Drawer<App>[]} */
    this.drawers = [
      this.find,
      new Beliefs(this),
      new Tree(this),
      new WhatIf(this),
      new Table(this),
      new Bytes(this),
      this.views,
      new Share(this),
    ];
    this.build();
    this.hear("tool", () => this.heardTool());
    this.hear("step", () => this.heardStep());
    this.hear("branch", () => this.heardStep());
    this.hear("branches", () => this.grow(model.get("branches")));
    this.hear("tree", () => this.tidy());
    this.hear("answer", () => this.answered(model.get("answer")));
    this.hear("notice", () => this.heardNotice());
    for (const name of ["selection", "answers", "revealed", "score", "all_lanes", "views"]) this.hear(name, () => this.heardRest());
    this.heardTool();
    this.watch([this.sequence]);
  }

  build() {
    const { payload } = this;
    const beliefs = this.drawers[1];
    this.transport.addTools([this.trail.opener, beliefs.button], this.drawers.filter((drawer) => drawer !== beliefs).map((drawer) => drawer.button));
    const bytes = h("button", { onclick: () => this.toggleDrawer("bytes") }, "bytes", " ", h("kbd", "x"));
    /** @type {HTMLButtonElement} */
    const more = h("button", { onclick: () => this.openMessage(more.getBoundingClientRect()) }, "what can happen to it", " ", h("kbd", "Enter"));
    this.detail.append(" ", bytes, " ", more);
    show(this.detail, false);
    this.header.append(this.design.element, this.small.element, h("span.kv-space"), this.verdicts.chips);
    // A story that teaches keeps the place of its questions, so that nothing moves when one comes up.
    this.root.classList.toggle("kv-taught", this.questions.length > 0 || this.lesson.watch.length > 0);
    const left = h("div.kv-left", h("div.kv-teach", this.question.element, this.lesson.element), this.choices.element);
    const middle = h(
      "section.kv-middle",
      { label: "Messages" },
      h("div.kv-middle-top", h("h3.kv-caption", "Messages"), h("span.kv-spec.kv-dim", { title: payload.spec_line }, payload.spec_line ?? ""), this.lanes.button),
      this.sequence.element,
      this.detail,
    );
    const right = h("section.kv-right", { label: "State" }, this.cards.element);
    this.root.append(
      this.header,
      this.small.panel,
      this.verdicts.panel,
      this.transport.element,
      this.transport.more,
      this.audience?.element ?? "",
      this.help.element,
      ...this.drawers.map((drawer) => drawer.element),
      h("div.kv-main-grid", left, middle, right),
      this.trail.element,
      this.sentence.element,
      this.overview.element,
      this.menu.element,
    );
    this.root.addEventListener("pointerdown", (event) => this.menu.open && !this.menu.element.contains(target(event)) && this.menu.close());
    this.transport.drawPlay(false, this.player.perSecond);
  }

  // -- drawing ----------------------------------------------------------------------------------------

  paint() {
    const { line, at } = this;
    const since = sinceOf(line, at, this.grain);
    const lanes = lanesOf(this.payload, this.allLanes);
    this.choices.update(line, at);
    show(this.choices.element, !this.question.hides);
    this.sequence.folds.only(this.find.filter(line));
    this.sequence.layout(line, lanes);
    this.guard(() => this.sequence.update(line, at, since)); // what fails here leaves the rest to be read
    this.views.mark();
    this.guard(() => this.cards.update(line, at, since, this.views.chosen(lanes)));
    this.overview.update(at);
    this.overview.mark(this.find.hits(line));
    this.trail.update(line, at);
    this.lanes.draw(this.allLanes);
    this.live?.draw();
    this.drawDetail();
    for (const drawer of this.drawers) if (drawer.open) drawer.update(line, at);
    if (this.audience?.open) this.audience.update(line.bigs[line.bigAt[line.forward(at)]], line.forward(at) > at, this.question.question);
  }

  drawAround() {
    const { line, at } = this;
    this.learn(line, at);
    this.drawHeading();
    this.question.update(line, at);
    this.lesson.update(line, at);
    this.design.update(line.design);
    this.small.update(line.design);
    this.verdicts.update(line, at);
    this.sentence.update({ line, step: at, grain: this.grain, broken: this.verdicts.broken() });
    this.transport.update({ last: line.last, step: at, big: line.bigNumber(at), bigs: line.bigs.length, ends: this.endsOf(line), title: line.steps[at].title });
    const lines = this.lines.ids.map((id) => this.lines.get(id));
    this.transport.drawBranches(lines, line.id);
    this.root.classList.toggle("kv-branched", line.id !== 0);
    this.overview.layout(line, Math.max(this.wide - 34, 200), lines, this.question.tellsAt(line));
  }

  /** The title tells what comes of the story only when its question was answered. */
  get title() {
    const { title, untold } = this.payload;
    return this.question.open ? untold || title : title;
  }

  drawHeading() {
    const { title } = this;
    text(this.heading, title);
    attr(this.heading, "title", title);
  }

  /**
   * The same run once more, for another window.
   * @param {Model} model
   */
  twin(model) {
    return new Stepper(model, this.payload);
  }

  /** @param {Line} line */
  endsOf(line) {
    if (this.endsLine !== line || !this.ends) {
      this.endsLine = line;
      this.ends = line.bigs.map((big) => Math.min(big.to - 1, line.last));
    }
    return this.ends;
  }

  drawDetail() {
    const chosen = this.selection;
    const message = chosen.kind === "message" ? this.line.message(chosen.id ?? "") : undefined;
    show(this.detail, Boolean(message));
    if (!message) return;
    const names = new Map(this.payload.lanes.map((lane) => [lane.id, lane.title]));
    const end = ending(message);
    const fate = message.sent > this.at ? "not sent yet at this step" : end === null || end > this.at ? "in flight" : message.arrived === end ? `arrived with message ${end}` : `lost at ${end}`;
    const parts = [message.label, message.detail === message.label ? "" : message.detail, `${names.get(message.from)} → ${names.get(message.to)}`, `sent at ${message.sent}`, fate];
    text(this.detailWords, parts.filter(Boolean).join(" · "));
  }

  fixedHeight() {
    const parts = [this.header, this.transport.element, this.sentence.spoken, this.overview.element];
    return parts.reduce((sum, part) => sum + part.offsetHeight, 4) - this.sentence.lent;
  }

  // -- moving -----------------------------------------------------------------------------------------

  /** @param {number} at */
  bigForward(at) {
    return this.find.shown(at, 1) ?? this.line.forward(at);
  }

  /** @param {number} at */
  bigBack(at) {
    return this.find.shown(at, -1) ?? this.line.back(at);
  }

  /** @param {number} next */
  holdsBefore(next) {
    return this.line.id === 0 && this.question.holds(this.at, next);
  }

  playStops() {
    const step = this.line.steps[this.at];
    return this.find.stops(this.at) || step.kind === "fault" || step.tone === "broken" || this.verdicts.alive.some((v) => v.state === "broken" && v.from === this.at);
  }

  // -- branches and choices ---------------------------------------------------------------------------

  pickBranch() {
    if (this.presenting || this.audience?.open) return super.pickBranch();
    const { branch } = this.transport;
    if (branch.disabled) return undefined;
    branch.focus();
    try {
      branch.showPicker?.();
    } catch {
      // A page inside another page may not open it; the list has the focus and works with arrows.
    }
    return undefined;
  }

  /** @param {number} n */
  press(n) {
    if (!this.question.press(n)) this.choices.press(n);
  }

  /** @param {boolean} small */
  onward(small) {
    if (!this.question.forward()) super.onward(small);
  }

  /** @param {boolean} always */
  ask(always) {
    if (always) this.question.askAlways();
    else this.question.ask();
  }

  toggleTrail() {
    this.trail.toggle();
  }

  lightTrail() {
    this.trail.light();
  }

  toggleFaults() {
    this.choices.toggleFaults();
  }

  toggleOnly() {
    this.views.set({ only: !this.views.only });
  }

  toggleLanes() {
    if (this.lanes.hidden > 0) super.toggleLanes();
  }

  /** @param {Item} item */
  choose(item) {
    const known = this.lines.following(this.line, this.at, item.id);
    if (known) {
      this.player.pause();
      this.follow(known, this.at + 1);
    } else this.wish({ do: "take", choice: item.id }, item.text);
  }

  /**
   * Asks Python for something at the cursor; `words` say what. The answer comes to `answered`.
   * @param {Wish} command
   * @param {string} words
   */
  wish(command, words) {
    this.player.pause();
    if (this.asked) {
      this.errors.say(`Still waiting for the answer to “${this.asked.words}”.`);
      return;
    }
    this.errors.clear();
    this.asked = { id: 1 + Math.floor(Math.random() * 2 ** 31), words };
    this.wait(`Asking the model: ${words} …`);
    // Steps of the clients may be on their way here: a reader who stands at the newest one says so.
    const live = this.live?.isNow ? { live: true } : {};
    this.model.set("command", { branch: this.line.id, step: this.at, ...live, ...command, id: this.asked.id });
    this.save();
  }

  /**
   * @param {string} words
   * @param {boolean} [stop]
   */
  wait(words, stop) {
    clearTimeout(this.patience);
    this.choices.wait(words, stop);
    this.patience = setTimeout(() => {
      this.choices.wait("No answer yet: the model is busy or was restarted. What is already here still steps.");
      this.asked = null;
    }, PATIENCE);
  }

  close() {
    clearTimeout(this.patience);
    super.close();
  }

  stop() {
    this.model.set("command", { id: this.asked?.id, do: "stop" });
    this.save();
  }

  /** @param {Answer} answer */
  answered(answer) {
    if (!answer?.id) return;
    if (answer.branch) this.receive(answer.branch);
    if (this.asked?.id !== answer.id) return;
    if (answer.busy) {
      this.wait(`${this.asked.words}: ${answer.busy} …`, true);
      return;
    }
    clearTimeout(this.patience);
    this.asked = null;
    this.choices.wait("");
    const go = answer.branch ? { branch: answer.branch.id, step: answer.branch.at + 1 } : answer.go;
    if (answer.error) this.errors.say(answer.error);
    if (go) this.follow(this.lines.get(go.branch), go.step);
    this.said = answer.branch || !answer.say ? null : { line: this.line, at: this.at, words: answer.say };
    this.draw();
  }

  /**
   * A branch is sent once, in the answer; it joins the synced list here, in the page.
   * @param {Branch} branch
   */
  receive(branch) {
    const known = this.model.get("branches") ?? [];
    if (!known.some((other) => other.id === branch.id)) this.model.set("branches", [...known, branch]);
    this.grow([branch]);
  }

  /** Names and prunes; a reader on a pruned branch is left where it left. */
  tidy() {
    this.lines.tidy(this.model.get("tree") ?? {});
    let { line, at } = this;
    while (this.lines.gone.has(line.id)) {
      at = Math.min(at, line.at);
      line = this.lines.get(line.parent ?? 0);
    }
    if (line === this.line) this.draw();
    else this.follow(line, at);
  }

  /** @param {Branch[]} branches */
  grow(branches) {
    this.lines.grow(branches ?? []);
    this.draw();
  }

  // -- the rest -----------------------------------------------------------------------------------------

  /**
   * Notes what standing here shows: answers, and goals.
   * @param {Line} line
   * @param {number} step
   */
  learn(line, step) {
    this.keepAlso("revealed", this.question.seen(line, step));
    this.keepAlso("reached", this.lesson.goalsAt(line, step));
  }

  /**
   * Selects the message above or below the selected one, as they stand in the diagram.
   * @param {number} way
   */
  selectNext(way) {
    const ids = this.sequence.inOrder().map((message) => message.id);
    const chosen = this.selection;
    const now = chosen.kind === "message" ? ids.indexOf(chosen.id ?? "") : -1;
    const next = now < 0 ? ids.length - 1 : now + way;
    if (ids[next] !== undefined) this.select({ kind: "message", id: ids[next] });
  }

  /**
   * What a click on a message does: it is chosen, and one on the wire says what can become of it.
   * @param {Message} message
   * @param {Place} place
   */
  pickMessage(message, place) {
    this.select({ kind: "message", id: message.id });
    const flying = this.line.wire.at(this.at).some((one) => one.id === message.id);
    if (flying && this.isSelected("message", message.id)) this.menu.ofMessage(message, place);
  }

  /**
   * @param {Lane} lane
   * @param {Place} place
   */
  openLane(lane, place) {
    this.menu.ofHost(lane, place);
  }

  /**
   * Opens what can become of the chosen message.
   * @param {Place} place
   */
  openMessage(place) {
    const message = this.selection.kind === "message" ? this.line.message(this.selection.id ?? "") : undefined;
    if (message) this.menu.ofMessage(message, place);
  }

  /** Enter: what can become of the chosen message; without one, the folded steps at the cursor. */
  enter() {
    if (this.selection.kind !== "message") return this.toggleFold();
    const { id = "" } = this.selection;
    const node = this.sequence.wire.nodes.get(id) ?? this.sequence.messages.nodes.get(id) ?? this.root;
    return this.openMessage(node.getBoundingClientRect());
  }

  toggleFold() {
    const fold = this.sequence.folds.near(this.at);
    if (fold) this.openFold(fold);
  }

  /** @param {Fold} fold */
  openFold(fold) {
    this.sequence.folds.toggle(fold);
    this.draw();
  }

  toggleFolds() {
    this.sequence.folds.toggleAll();
    this.draw();
  }

  wireKeys() {
    return this.question.hides ? new Map() : this.choices.keys;
  }

  /** @param {string | null} message */
  hover(message) {
    for (const [id, node] of this.sequence.wire.nodes) node.classList.toggle("kv-hover", id === message);
  }

  /** @param {boolean} open */
  toggleWhy(open) {
    super.toggleWhy(open);
    this.draw();
  }

  closeMore() {
    if (this.menu.close()) return true;
    if (this.closeDrawer() || this.trail.close()) return true;
    if (!this.transport.more.hidden) {
      this.transport.toggleMore(false);
      return true;
    }
    if (this.choices.open) {
      this.choices.toggleFaults(false);
      return true;
    }
    for (const chips of [this.verdicts, this.small]) {
      if (!chips.panel.hidden) {
        chips.toggle(false);
        return true;
      }
    }
    if (this.selection.kind) {
      this.select(null);
      return true;
    }
    return false;
  }
}
