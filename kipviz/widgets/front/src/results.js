// A result in a notebook: headings, paragraphs, tables and counterexamples. A run is opened by Python.

import { h, press } from "./dom/dom.js";
import { Grid } from "./tables/grid.js";
import style from "./styles/results.css";

/** @import { BrokenRun, OpenAnswer } from "../types/payload" */

// So many px has a stepper that is more than its frame.
const DRAWN = 200;
/** @type {Array<"ctrlKey" | "metaKey" | "altKey">} */
const MODIFIERS = ["ctrlKey", "metaKey", "altKey"];

/** Everything that one result shows, and the line that says what became of a wish. */
class Result {
  /** @param {import("../types/page").Model} model */
  constructor(model) {
    this.model = model;
    this.said = h("p.kr-said", { role: "status" });
    /** @type {HTMLElement | null} */
    this.opened = null; // the run that had the focus last
    /** @type {ResizeObserver | null} */
    this.grown = null;
    /** @param {OpenAnswer} answer */
    this.heard = (answer) => this.hear(answer);
    this.payload = /** @type {import("../types/payload").ResultPayload} */ (/** @type {unknown} */ (model.get("payload")));
    /** @param {string} run */
    const ask = (run) => this.ask(run);
    let first = true;
    const parts = this.payload.blocks.map((block) => {
      if (block.kind === "heading") return h(`h${block.level + 1}`, block.text);
      if (block.kind === "paragraph") return paragraph(block);
      if (block.kind === "table") return new Grid(block, ask).element;
      const opened = first;
      first = false;
      return this.counterexample(block, opened, ask);
    });
    // JupyterLab leaves the keys to what is marked so; a letter would be a command on the cell otherwise.
    this.element = h("div.kr", { "data-lm-suppress-shortcuts": "true" }, h("style", style), ...parts, this.said);
    this.element.addEventListener("keydown", (event) => {
      if (!MODIFIERS.some((name) => event[name]) && event.key !== "Tab" && event.key !== "Escape") event.stopPropagation();
    });
    model.on("msg:custom", this.heard);
  }

  /**
   * What breaks in one sentence, and below it the picture that the stepper would draw.
   * @param {BrokenRun} block
   * @param {boolean} opened
   * @param {(run: string) => void} ask
   */
  counterexample(block, opened, ask) {
    const source = this.payload.pictures[block.run];
    const sentence = [block.why, block.saved].filter(Boolean).map((words) => `${words.replace(/\.$/, "")}.`);
    const picture = source && h("img", { src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source)}`, alt: block.title });
    const steps = h("details", h("summary", `${block.steps.length} steps`), h("ol", ...block.steps.map((words) => h("li", words))));
    const open = press("open this run in the stepper", () => ask(block.run), { class: "kr-story", "data-run": block.run });
    return h("details.kr-broken", { open: opened }, h("summary", `${block.design}: ${block.title}`), h("p", sentence.join(" ")), open, picture, steps);
  }

  /** @param {string} run */
  ask(run) {
    this.asked = run;
    this.element.setAttribute("aria-busy", "true");
    this.say("Opening the run …");
    this.model.send?.({ run });
  }

  /** @param {OpenAnswer} told */
  hear({ run, say, error }) {
    if (run !== undefined && run !== this.asked) return;
    this.element.removeAttribute("aria-busy");
    this.say(error ?? say ?? "", error !== undefined);
    if (error === undefined) this.reveal();
  }

  /** Gives the run the focus, and the screen, as soon as it is drawn below. */
  reveal() {
    const around = this.element.parentElement?.parentElement;
    if (!around) return;
    const root = () => /** @type {HTMLElement | null} */ (around.querySelector(".kv"));
    const before = this.opened;
    this.grown?.disconnect();
    const grown = (this.grown = new ResizeObserver(() => {
      const run = root();
      if (!run || run === before || run.clientHeight < DRAWN) return;
      grown.disconnect();
      this.opened = run;
      run.focus({ preventScroll: true });
      this.said.scrollIntoView({ block: "start" });
    }));
    grown.observe(around);
  }

  /**
   * @param {string} words
   * @param {boolean} [wrong]
   */
  say(words, wrong = false) {
    this.said.classList.toggle("kr-wrong", wrong);
    this.said.textContent = words;
  }

  close() {
    this.grown?.disconnect();
    this.model.off("msg:custom", this.heard);
  }
}

/** @param {import("../types/payload").Paragraph} block */
function paragraph({ text, code }) {
  const parts = code ? text.split("`") : [text];
  return h("p", ...parts.map((words, n) => (n % 2 ? h("code", words) : words)));
}

/** @param {{ model: import("../types/page").Model, el: HTMLElement }} place */
function render({ model, el }) {
  const result = new Result(model);
  el.replaceChildren(result.element);
  return () => result.close();
}

export default { render };
