// First, back, forward, last, play, the slider of small steps with big-step ticks, and where we are.

import { aria, attr, h, icon, inside, s, show, text } from "../dom/dom.js";
import { tool } from "./panels.js";

/** @import { Frame } from "./frame.js" */
/** @import { Line } from "../lines/line.js" */
/** @import { Told } from "../../types/parts" */

const TICKS_MAX = 120; // more would be one grey bar
export const SPEEDS = [0.5, 1, 2, 5, 10];

export class Transport {
  /**
   * @param {Frame} app
   * @param {Player} player
   */
  constructor(app, player) {
    this.app = app;
    /**
     * @param {"back" | "first" | "forward" | "last"} name
     * @param {string} label
     * @param {string} keys
     * @param {() => unknown} act
     * @param {string} [kind]
     */
    const button = (name, label, keys, act, kind = "button") => h(kind, { title: `${label} (${keys})`, label, onclick: act }, icon(name));
    this.playButton = h("button.kv-play", { onclick: () => player.toggle() }, icon("play"), h("span"));
    /**
     * @param {string} sign
     * @param {string} label
     * @param {number} way
     */
    const speed = (sign, label, way) => h("button.kv-speed", { title: `${label} (${sign})`, label, onclick: () => player.speed(way) }, sign);
    /** @type {HTMLInputElement} */
    this.slider = h("input.kv-slider", { type: "range", min: 0, step: 1, label: "message", oninput: () => app.go(Number(this.slider.value), "small"), onpointerup: () => app.focus() });
    /** @type {number[]} */
    this.drawn = [];
    this.branchKey = "";
    this.ticks = s("svg.kv-ticks", { "aria-hidden": "true", preserveAspectRatio: "none" });
    this.where = h("span.kv-where-big");
    this.dot = h("span.kv-dim.kv-where-dot", " · ");
    this.message = h("span.kv-dim.kv-where-small");
    /** @type {HTMLSelectElement} */
    this.branch = h("select.kv-branch", { title: "branch (b, [ and ])", label: "branch", onchange: () => app.switchTo(Number(this.branch.value)) });
    this.branchBox = h("label.kv-branch-box", h("span.kv-dim", "branch"), this.branch);
    this.whyButton = tool("why", "w", "why", () => app.toggleWhy());
    this.presentButton = tool("present", "P", "presenter mode", () => app.present(), { class: "kv-toggle kv-present", "aria-expanded": null, "aria-pressed": String(app.presenting) });
    /** @type {HTMLInputElement} */
    this.place = h("input.kv-go", { type: "text", maxlength: 80, label: "go to a step: its number, or words of its title", placeholder: "number or title", onkeydown: (event) => this.typed(event), onblur: () => show(this.place, false) });
    show(this.place, false);
    this.here = h("button.kv-place", { title: "go to a step (g)", onclick: () => app.askPlace() }, this.where, this.dot, this.message);
    this.moreButton = h("button.kv-toggle.kv-more-button", { title: "more tools", "aria-expanded": "false", "aria-controls": app.name("more"), onclick: () => this.toggleMore() }, h("span", "more"), h("span", { "aria-hidden": "true" }, "▾"));
    this.speeds = h("span.kv-speeds", speed("−", "slower", -1), h("span.kv-dim", "speed"), speed("+", "faster", 1));
    this.more = h("div.kv-more-tools", { id: app.name("more"), role: "group", label: "More tools" }, this.presentButton, app.audience?.button ?? "", this.speeds);
    show(this.more, false);
    this.helpButton = h("button.kv-toggle", { title: "all keys (?)", label: "help", "aria-expanded": "false", onclick: () => app.toggleHelp() }, "?");
    this.element = h(
      "div.kv-transport",
      { role: "toolbar", label: "Stepping" },
      h(
        "div.kv-buttons",
        button("first", "first step", "Home", () => app.first()),
        button("back", "one step back", "left", () => app.backward(false)),
        button("forward", "one step forward", "right", () => app.onward(false), "button.kv-main"),
        button("last", "last step", "End", () => app.end()),
        this.playButton,
      ),
      h("div.kv-track", this.ticks, this.slider),
      this.here,
      this.place,
      this.branchBox,
      h("div.kv-tools", { role: "group", label: "Tools" }, this.whyButton, this.moreButton, this.helpButton),
    );
  }

  /** @param {Told} told */
  update({ last, step, big, bigs, ends, title }) {
    attr(this.slider, "max", last);
    this.slider.value = String(step);
    this.app.hint.toggleAttribute("data-left", step > last / 2); // not over the cursor in the overview
    this.slider.style.setProperty("--kv-done", `${last ? (100 * step) / last : 0}%`);
    attr(this.slider, "aria-valuetext", `${bigs ? `step ${big} of ${bigs}, ` : ""}message ${step} of ${last}: ${title}`);
    text(this.where, bigs ? `${big} of ${bigs}` : "");
    show(this.dot, bigs > 0);
    text(this.message, `message ${step} of ${last}`);
    if (this.drawn !== ends) {
      this.drawn = ends;
      attr(this.ticks, "viewBox", `0 0 ${Math.max(last, 1)} 10`);
      this.ticks.replaceChildren(s("path", { d: ends.length > TICKS_MAX ? "" : ends.map((at) => `M${at} 0V10`).join("") }));
    }
  }

  // -- going to a place -------------------------------------------------------------------------------

  askPlace() {
    show(this.place, true);
    this.place.value = "";
    this.place.focus();
  }

  /** @param {KeyboardEvent} event */
  typed(event) {
    if (event.key === "Escape") {
      event.stopPropagation();
      this.app.focus();
    }
    if (event.key !== "Enter") return;
    const words = this.place.value.trim();
    const step = words && this.app.stepCalled(words);
    if (step === undefined) this.app.errors.say(`No step is called “${words}”; enter a number from 0 to ${this.app.last} or words of a title.`);
    else {
      this.app.errors.clear();
      if (step !== "") this.app.go(step, "small");
    }
    this.app.focus();
  }

  /**
   * @param {Line[]} lines
   * @param {number} current
   */
  drawBranches(lines, current) {
    const key = lines.map((line) => `${line.id} ${line.name}`).join() + current;
    if (this.branchKey === key) return;
    this.branchKey = key;
    this.branch.replaceChildren(...lines.map((line) => h("option", { value: line.id }, line.id === 0 ? "main" : `↳ ${line.name}`)));
    this.branch.value = String(current);
    const name = lines.find((line) => line.id === current)?.name;
    attr(this.branch, "title", `${current && name ? `${name}: ` : ""}branch (b, [ and ])`); // the list may cut its name
    this.branch.disabled = lines.length < 2;
    show(this.branchBox, lines.length > 1);
  }

  /**
   * @param {boolean} playing
   * @param {number} speed
   */
  drawPlay(playing, speed) {
    const [old, word] = inside(this.playButton);
    old.replaceWith(icon(playing ? "pause" : "play"));
    text(word, `${speed}/s`);
    attr(this.playButton, "aria-label", `${playing ? "pause" : "play"}, ${speed}/s`);
    attr(this.playButton, "title", `${playing ? "pause" : "play"} (space)`);
    aria(this.playButton, "pressed", playing);
  }

  /**
   * Puts the buttons of tools into the toolbar: a beginner's in sight, all others behind "more".
   * @param {HTMLElement[]} first
   * @param {HTMLElement[]} others
   */
  addTools(first, others) {
    this.whyButton.after(...first);
    this.more.prepend(...others);
  }

  toggleMore(open = this.more.hidden === true) {
    show(this.more, open);
    aria(this.moreButton, "expanded", open);
  }

  hideBranches() {
    show(this.branchBox, false);
  }
}

/** Plays small steps; stops at faults, at violations and before a question nobody has answered. */
export class Player {
  /**
   * @param {() => boolean} step
   * @param {() => boolean} stop
   * @param {() => unknown} drawn
   */
  constructor(step, stop, drawn) {
    this.step = step;
    this.stop = stop;
    this.drawn = drawn;
    this.index = 2;
    this.timer = 0; // none
  }

  get perSecond() {
    return SPEEDS[this.index];
  }

  toggle() {
    if (this.timer) this.pause();
    else this.start();
  }

  start() {
    clearInterval(this.timer);
    this.timer = setInterval(() => this.tick(), 1000 / this.perSecond);
    this.drawn();
  }

  pause() {
    if (!this.timer) return;
    clearInterval(this.timer);
    this.timer = 0;
    this.drawn();
  }

  tick() {
    if (!this.step() || this.stop()) this.pause();
  }

  /** @param {number} change */
  speed(change) {
    this.index = Math.max(0, Math.min(SPEEDS.length - 1, this.index + change));
    if (this.timer) this.start();
    else this.drawn();
  }
}
