// The share drawer: a link to this very step, and the run as files. What needs the model is asked of
// the kernel; links and pictures are made here, so they work in an exported page without a network.

import { h, press, reason, text } from "../dom/dom.js";
import { mermaid } from "./mermaid.js";
import { Drawer } from "../frame/panels.js";
import { WARNED, permalink } from "./permalink.js";
import { picture, rastered } from "./picture.js";

/** @import { Line } from "../lines/line.js" */
/** @import { App } from "../../types/app" */
/** @import { NoFile, SentFile } from "../../types/payload" */

const PATIENCE = 20000;
const LATER = 80; // while somebody steps fast, nobody reads the link
const ALONE = "needs the model: this page has none";
const KERNEL_FILES = [
  ["html", "page", "one HTML file that steps by itself, without a network"],
  ["trace", "trace file", "all branches; kipviz.open_trace reads it"],
  ["pytest", "pytest", "a test that takes these steps and asserts the verdicts"],
  ["plantuml", "PlantUML", "a sequence diagram that wikis such as Confluence draw"],
  ["itf", "ITF", "the trace format of Apalache and Quint; kipviz.open_trace reads it"],
  ["shiviz", "ShiViz", "a log with vector clocks"],
];
const OWN_FILES = [
  ["svg", "SVG", "the diagram as it is on the screen"],
  ["png", "PNG", "the same as a picture of twice the size"],
  ["mmd", "Mermaid", "this line as text for a Mermaid diagram"],
];

/** @extends {Drawer<App>} */
export class Share extends Drawer {
  /** @param {App} app */
  constructor(app) {
    super(app, { name: "share", title: "Share this step", key: "s" });
    this.line = app.line; // what the link leads to
    this.at = -1;
    this.asked = this.timer = this.patience = 0;
    this.link = "";
    /** @type {HTMLInputElement} */
    this.field = h("input.kv-link-text", { type: "text", readonly: true, spellcheck: "false", onfocus: () => this.field.select(), label: "permalink to this step" });
    this.words = h("p.kv-dim.kv-shared", { role: "status" });
    this.copies = [
      press("copy link", () => this.copy(this.link), { title: "the permalink only" }),
      press("copy Python line", () => this.copy(`kipviz.open("${this.link}")`), { title: "kipviz.open with the permalink, for a notebook" }),
    ];
    const alone = typeof app.model.send !== "function";
    const asked = KERNEL_FILES.map(([what, words, title]) => press(words, () => this.ask(what), { title: alone ? ALONE : title, disabled: alone }));
    const made = OWN_FILES.map(([what, words, title]) => press(words, () => this.make(what), { title }));
    this.element.append(
      h("div.kv-share-row", h("span.kv-caption", "this step"), this.field, ...this.copies),
      h("div.kv-share-row", h("span.kv-caption", "save as"), ...made, ...asked, alone ? h("span.kv-dim", `${KERNEL_FILES.map(([, words]) => words).join(", ")}: ${ALONE}`) : null),
      this.words,
    );
    /** @param {NoFile | SentFile} message */
    this.heard = (message) => app.guard(() => this.answered(message));
    app.model.on("msg:custom", this.heard);
    app.heard.push(["msg:custom", this.heard]);
  }

  /**
   * @param {Line} line
   * @param {number} at
   */
  update(line, at) {
    if (line === this.line && at === this.at) return;
    Object.assign(this, { line, at, link: "" });
    this.field.value = "";
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.draw(), LATER);
  }

  draw() {
    let why = "";
    try {
      this.link = permalink(this.app.payload, this.app.lines, this.line, this.at);
      if (this.link.length > WARNED) why = `This link has ${this.link.length} letters, and some mail and chat programs cut it: a trace file is safer.`;
    } catch (error) {
      why = reason(error);
    }
    this.field.value = this.link;
    for (const one of this.copies) one.disabled = !this.link;
    text(this.words, why);
  }

  /**
   * Copies a text; where the page may not, shows it selected, ready for Ctrl+C.
   * @param {string} words
   */
  async copy(words) {
    this.field.value = words;
    try {
      await navigator.clipboard.writeText(words);
    } catch {
      this.field.focus();
      this.field.select();
      if (!document.execCommand("copy")) return text(this.words, "This page cannot copy by itself. The text is selected: press Ctrl+C.");
    }
    return text(this.words, `Copied: ${words.length} letters.`);
  }

  /** @param {string} ending */
  called(ending) {
    return `${this.app.payload.scenario || "run"}-step-${this.at}.${ending}`;
  }

  /** @param {string} what */
  async make(what) {
    try {
      if (what === "mmd") return this.save(this.called(what), mermaid(this.app.payload, this.line), "text/plain");
      const drawn = picture(this.app);
      if (what === "svg") return this.save(this.called(what), drawn.text, "image/svg+xml");
      return this.save(this.called(what), await rastered(drawn), "image/png");
    } catch (error) {
      return this.app.errors.say(`This could not be saved: ${reason(error)}`);
    }
  }

  /**
   * @param {string} name
   * @param {string | Blob} content
   * @param {string} type
   */
  save(name, content, type) {
    const address = URL.createObjectURL(new Blob([content], { type }));
    h("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
    text(this.words, `Saved as ${name}.`);
  }

  // -- files that the kernel makes ----------------------------------------------------------------------

  /** @param {string} what */
  ask(what) {
    this.asked = 1 + Math.floor(Math.random() * 2 ** 31);
    text(this.words, "Asking the model …");
    clearTimeout(this.patience);
    this.patience = setTimeout(() => text(this.words, "No answer yet: the model is busy or was restarted. Pictures and the link still work."), PATIENCE);
    this.app.model.send?.({ do: "file", id: this.asked, what, branch: this.line.id, step: this.at });
  }

  /** @param {NoFile | SentFile} answer */
  answered(answer) {
    if (!this.asked || answer?.id !== this.asked) return;
    this.asked = 0;
    clearTimeout(this.patience);
    text(this.words, "");
    if ("error" in answer) this.app.errors.say(answer.error);
    else this.save(answer.name, answer.text, answer.type);
  }
}
