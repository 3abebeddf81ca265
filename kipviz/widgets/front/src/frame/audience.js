// A second window for the projector: the same run at the same step, always large. The speaker keeps the notebook,
// and has notes there that the class does not see: what comes next, and the right answer.

import { aria, h, show, text } from "../dom/dom.js";
import { tool } from "./panels.js";

/** @import { Frame } from "./frame.js" */
/** @import { Asking } from "../../types/app" */
/** @import { Model } from "../../types/page" */
/** @import { Big } from "../../types/payload" */

const OWN = new Set(["presenter", "tool"]); // what a window has for itself
// What style.css takes of JupyterLab's theme, which a new window does not know.
const THEME = ["--jp-layout-color1", "--jp-content-font-color1", "--jp-code-font-family"];

/** The shared values as the second window sees them: the speaker's, but always large and with its own drawers. */
class Shared {
  alone = true; // nothing stands around it in its window

  /** @param {Model} model */
  constructor(model) {
    this.model = model;
  }
  /** @param {string} name */
  get(name) {
    if (name === "presenter") return true;
    return name === "tool" ? "" : this.model.get(name);
  }
  /**
   * @param {string} name
   * @param {unknown} value
   */
  set(name, value) {
    if (!OWN.has(name)) this.model.set(name, value);
  }
  /**
   * @param {string} event
   * @param {(...told: never[]) => void} listener
   */
  on(event, listener) {
    if (!OWN.has(event.slice("change:".length))) this.model.on(event, listener);
  }
  /**
   * @param {string} event
   * @param {(...told: never[]) => void} listener
   */
  off(event, listener) {
    this.model.off(event, listener);
  }
  save_changes() {
    this.model.save_changes();
  }
}

export class Audience {
  /**
   * `app` is the speaker's frame; `twin(model)` makes another one of the same run.
   * @param {Frame} app
   * @param {(model: Model) => Frame} twin
   */
  constructor(app, twin) {
    this.app = app;
    this.twin = twin;
    this.button = tool("window", "W", "a second window for the class", () => this.toggle());
    this.next = h("p");
    this.answer = h("p");
    this.element = h("section.kv-speaker", { label: "Notes for the speaker" }, h("h3.kv-caption", "Only you see this"), this.next, this.answer);
    show(this.element, false);
    this.leaves = () => this.close();
    /** @type {Window | null} */
    this.window = null;
    /** @type {Frame | null} */
    this.frame = null;
  }

  get open() {
    return Boolean(this.window && !this.window.closed);
  }

  toggle() {
    if (this.open) this.close();
    else this.begin();
  }

  begin() {
    const opened = window.open("", "", "popup,width=1280,height=800");
    if (!opened) {
      this.app.errors.say("The browser has not opened a second window: allow this page to open windows, and press W again.");
      return;
    }
    this.window = opened;
    const page = opened.document;
    page.documentElement.lang = "en";
    page.title = `${this.app.root.querySelector("h2")?.textContent ?? "kipviz"} · for the class`;
    const { backgroundColor } = getComputedStyle(this.app.root);
    // Set one by one: the window has the policy of its page, which knows one style sheet.
    page.documentElement.style.background = backgroundColor;
    page.body.style.margin = "8px";
    const theme = getComputedStyle(document.body);
    for (const name of THEME) if (theme.getPropertyValue(name)) page.documentElement.style.setProperty(name, theme.getPropertyValue(name));
    const frame = (this.frame = this.twin(new Shared(this.app.model)));
    page.body.append(frame.root);
    frame.focus();
    opened.addEventListener("pagehide", this.leaves);
    opened.addEventListener("resize", () => frame.guard(() => frame.resize()));
    window.addEventListener("pagehide", this.leaves);
    this.said();
  }

  close() {
    window.removeEventListener("pagehide", this.leaves);
    const opened = this.window;
    // Its pagehide may come after the next window has opened, and is not meant for that one.
    opened?.removeEventListener("pagehide", this.leaves);
    this.window = null;
    this.frame?.close();
    this.frame = null;
    if (opened && !opened.closed) opened.close();
    this.said();
  }

  /** A black screen there; the speaker's stays. Says whether there is a second window. */
  blank() {
    if (!this.open) return false;
    if (!this.frame?.uncover()) this.frame?.blank();
    return true;
  }

  said() {
    aria(this.button, "pressed", this.open);
    show(this.element, this.open);
    this.app.wide = 0;
    this.app.resize();
  }

  /**
   * Draws the notes: the title of the next step with its sentence, and the answer to the question on screen.
   * @param {Big | undefined} next
   * @param {boolean} more
   * @param {Asking} [question]
   */
  update(next, more, question) {
    text(this.next, more && next ? `Next: ${next.title}. ${next.say ?? ""}` : more ? "" : "This is the last step.");
    const right = question?.options.find((option) => option.right);
    show(this.answer, Boolean(right));
    if (right) text(this.answer, `Answer: ${right.text}. ${right.say}`);
  }
}

