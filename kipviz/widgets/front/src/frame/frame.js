// What the stepper and the comparison share: one focusable box with keys, errors, help, playing,
// a size, and values synced with Python.

import { Audience } from "./audience.js";
import { aria, attr, framed, h, need, reason, show, target } from "../dom/dom.js";
import { listen } from "./keys.js";
import { Errors, Help } from "./panels.js";
import { Sentence } from "./sentence.js";
import { sheet } from "../styles/sheet.js";
import { Player, Transport } from "./transport.js";

/** @import { Drawer } from "./panels.js" */
/** @import { Diagram, Grain } from "../../types/app" */
/** @import { Model } from "../../types/page" */
/** @import { Payload } from "../../types/payload" */

const PRESENTING = 1.3; // how much larger everything is drawn in presenter mode
const PRESENTING_LOW = 1.05; // and in a window as low as HALL, where the diagram needs the room
const HALL = 660;
const AROUND = 170; // pixels that menus, tabs and bars of a notebook take of a window
const TALL = 640; // a laptop's screen holds so much beside them
const OF_WINDOW = 0.71; // a large screen gives more
const LEAST = 470;
const LOW = 520; // a laptop's window at 200 % zoom: what stands around the diagram makes room for it
// Narrower than ONE is a telephone: all parts stand below each other. Up to SLIM, as on a beamer of 1,024 px beside
// the file browser, the diagram has the whole width, and the choices and the cards share what is below it.
const ONE = 520;
const SLIM = 700;
const THREE = 1000;
// What stands around the diagram, in pixels, as it was measured last in each size; to begin with as the style sheet
// has it. Where it is so again, the first picture is laid out once and not twice.
const around = new Map([["three", 208], ["two", 212]]);

export class Frame {
  /**
   * @param {Model} model
   * @param {string} label
   * @param {Payload} run whose words are explained
   */
  constructor(model, label, run) {
    this.model = model;
    // Counted on the page: Jupyter loads this module once for every widget.
    this.number = document.kvMade = (document.kvMade ?? 0) + 1;
    this.errors = new Errors();
    // Nothing of it is laid out before its width is known (resize): what is first laid out is what is seen.
    this.root = h("div.kv", { "data-size": "", tabindex: "0", role: "group", label: `${label}. Keys: right and left for one step, with Shift for one message, question mark for all keys.`, "data-lm-suppress-shortcuts": "true" });
    this.cover = h("div.kv-cover", { role: "status", onclick: () => this.uncover() }, h("p", "paused: press any key to continue"));
    show(this.cover, false);
    framed(this.root, this);
    this.hint = h("p.kv-hint", { "aria-hidden": "true" }, "click here, then → steps");
    this.root.append(h("style", sheet), this.errors.element, this.cover, this.hint);
    this.player = new Player(
      () => this.playOn(),
      () => this.playStops(),
      () => this.guard(() => this.drawPlay()),
    );
    /** @type {Array<[string, (...told: never[]) => void]>} */
    this.heard = [];
    /** @type {Drawer<Frame>[]} */
    this.drawers = [];
    /** @type {Grain} */
    this.grain = "small";
    /** @type {string | null} */
    this.size = null;
    /** @type {number | null} */
    this.tall = null;
    this.at = this.wide = 0;
    this.allLanes = Boolean(model.get("all_lanes"));
    /** @type {Diagram[]} */
    this.sequences = [];
    /** @type {ChildNode | null} */
    this.behind = null; // what the sentence stands before on the screen
    this.scale = 1;
    this.printing = this.aroundDrawn = false;
    listen(this, this.root);
    this.hear("presenter", () => this.heardPresenter());
    this.root.addEventListener("focusout", (event) => this.guard(() => this.regain(event)));
    this.root.addEventListener("fullscreenchange", () => this.guard(() => this.leftFullScreen()));
    this.root.classList.toggle("kv-presenter", this.presenting);
    this.audience = model.alone ? null : new Audience(this, (shared) => this.twin(shared));
    this.transport = new Transport(this, this.player);
    this.sentence = new Sentence(this, run.glossary);
    this.help = new Help(run.spec_line);
  }

  /** @param {string} part */
  name(part) {
    return `kv-${this.number}-${part}`;
  }

  /**
   * Runs something; what goes wrong is shown on the page and in the console.
   * @template Made
   * @param {() => Made} act
   * @returns {Made | undefined}
   */
  guard(act) {
    try {
      return act();
    } catch (error) {
      this.player.pause();
      this.errors.say(`This could not be drawn: ${reason(error)}`);
      console.error("kipviz:", error);
      return undefined;
    }
  }

  // -- values shared with Python --------------------------------------------------------------------

  /**
   * @param {string} name
   * @param {() => unknown} act
   */
  hear(name, act) {
    const listener = () => this.guard(act);
    this.model.on(`change:${name}`, listener);
    this.heard.push([`change:${name}`, listener]);
  }

  /**
   * Keeps a value, which whoever does so draws. It is saved at once: what the kernel says of an earlier value would
   * replace one that is not saved. JupyterLab has one message on its way and keeps the newest values for the next.
   * @param {Record<string, unknown>} values
   */
  keep(values) {
    let changed = false;
    this.keeping = true;
    try {
      for (const [name, value] of Object.entries(values)) {
        if (this.model.get(name) === value) continue;
        this.model.set(name, value);
        changed = true;
      }
    } finally {
      this.keeping = false;
    }
    if (changed) this.save();
  }

  /** What is chosen: a message or a value, or nothing. */
  get selection() {
    return this.model.get("selection") ?? {};
  }

  save() {
    this.guard(() => this.model.save_changes());
  }

  // -- size and theme -------------------------------------------------------------------------------

  /** @param {Diagram[]} sequences */
  watch(sequences) {
    this.sequences = sequences;
    this.resizer = new ResizeObserver(() => this.guard(() => this.resize()));
    for (const node of [this.root, ...sequences.map((sequence) => sequence.view)]) this.resizer.observe(node);
    this.themer = new MutationObserver(() => this.guard(() => this.readTheme()));
    // A window that becomes lower leaves every box as wide as it was.
    this.ofWindow = {
      beforeprint: () => this.guard(() => this.print(true)),
      afterprint: () => this.guard(() => this.print(false)),
      resize: () => this.guard(() => this.resize()),
    };
    for (const [name, act] of Object.entries(this.ofWindow)) window.addEventListener(name, act);
    for (const node of [document.body, document.documentElement])
      this.themer.observe(node, { attributes: true, attributeFilter: ["data-jp-theme-name", "data-jp-theme-light", "class", "data-theme"] });
  }

  /**
   * For paper: as wide as a page, everything opened, and the diagram from the first step to the cursor.
   * @param {boolean} begins
   */
  print(begins) {
    if (this.printing === begins) return;
    this.printing = begins;
    for (const sequence of this.sequences) sequence.onPaper = begins;
    this.root.classList.toggle("kv-printed", begins);
    const { element } = this.sentence;
    if (begins) {
      this.behind = element.nextSibling;
      this.transport.element.before(element);
    } else this.root.insertBefore(element, this.behind);
    // Once to place the rows in the paper's width, and once with the height that they need there.
    for (const again of [false, true]) {
      for (const { view, needed } of this.sequences) view.style.setProperty("--kv-paper", begins && again ? `${needed}px` : "");
      this.wide = 0;
      this.resize();
    }
  }

  resize() {
    const window_ = need(this.root.ownerDocument.defaultView, "the window").innerHeight;
    const scale = !this.presenting ? 1 : window_ < HALL ? PRESENTING_LOW : PRESENTING;
    if (scale !== this.scale) this.root.style.setProperty("--kv-larger", String((this.scale = scale)));
    const width = this.root.clientWidth;
    if (width === 0) return;
    if (this.tall === null) this.readTheme(); // as long as nothing inside has a style
    const size = this.printing ? "print" : width < ONE ? "one" : width < THREE ? "two" : "three";
    const low = size === "two" && width < SLIM && window_ < LOW;
    const least = low ? Math.min(LEAST, window_ - 14) : LEAST;
    const share = this.model.alone || this.root.matches(":fullscreen") ? window_ - (this.model.alone ? 18 : 0) : Math.max(least, Math.min(window_ - AROUND, TALL), window_ * OF_WINDOW);
    const whole = Math.floor(share / scale);
    attr(this.root, "data-size", size);
    attr(this.root, "data-slim", size === "two" && width < SLIM ? "" : null);
    attr(this.root, "data-low", low ? "" : null);
    const still = width === this.wide && size === this.size;
    if (!still) {
      Object.assign(this, { wide: width, size });
      this.drawAround();
      this.aroundDrawn = true;
    }
    if (this.tall === null) this.beTall(size === "one" ? Math.min(whole, 460) : whole - (around.get(size) ?? 0));
    const fixed = size === "one" ? 0 : this.fixedHeight();
    const tall = size === "one" ? Math.min(whole, 460) : whole - fixed;
    const same = still && tall === this.tall;
    if (!same) {
      around.set(size, fixed);
      this.readTheme();
      this.beTall(tall);
    }
    const moved = this.sequences.map((sequence) => sequence.measure()).includes(true);
    if (!same || moved) this.draw();
  }

  /** @param {number} tall */
  beTall(tall) {
    if (tall === this.tall) return;
    this.tall = tall;
    this.root.style.setProperty("--kv-tall", `${tall}px`);
  }

  /** Writes what stands around the diagram: before it is measured, else all would be drawn twice. */
  drawAround() {}

  /** What stands around the diagram at every step, in pixels; what opens and closes makes the page longer. */
  fixedHeight() {
    return 0;
  }

  /** Dark or light, from what is really behind us: every host names its themes differently. */
  readTheme() {
    const colour = getComputedStyle(this.root).backgroundColor;
    const [r, g, b] = (colour.match(/[\d.]+/g) ?? [255, 255, 255]).map(Number);
    const scale = colour.startsWith("color(") ? 255 : 1;
    attr(this.root, "data-theme", (0.2126 * r + 0.7152 * g + 0.0722 * b) * scale < 110 ? "dark" : "light");
  }

  close() {
    this.player.pause();
    for (const [name, listener] of this.heard) this.model.off(name, listener);
    this.resizer?.disconnect();
    this.themer?.disconnect();
    for (const [name, act] of Object.entries(this.ofWindow ?? {})) window.removeEventListener(name, act);
    this.audience?.close();
  }

  /** Draws the cursor's place; a focused button that this takes away, or a drawer that is closed, leaves the focus to the box. */
  draw() {
    if (!this.wide) return;
    const inside = this.root.contains(this.focused);
    if (!this.aroundDrawn) this.drawAround();
    this.aroundDrawn = false;
    this.paint();
    if (inside && !(this.root.contains(this.focused) && this.focused?.checkVisibility())) this.focus();
  }

  // -- moving -----------------------------------------------------------------------------------------

  /** What has the focus on this page. */
  get focused() {
    return /** @type {HTMLElement | null} */ (/** @type {Document | ShadowRoot} */ (this.root.getRootNode()).activeElement);
  }

  focus() {
    this.root.focus({ preventScroll: true });
  }

  /**
   * The browser gives the focus to nobody if what had it is hidden, switched off, or has nothing left to scroll; and
   * JupyterLab takes the next key for a command on its cell.
   * @param {FocusEvent} event
   */
  regain(event) {
    const lost = target(event);
    const kept = lost.tabIndex >= 0 || lost.hasAttribute("tabindex") || lost.scrollHeight > lost.clientHeight || lost.scrollWidth > lost.clientWidth;
    if (!event.relatedTarget && !(kept && lost.checkVisibility() && !lost.matches(":disabled"))) this.focus();
  }

  first() {
    this.go(0, "big");
  }

  end() {
    this.go(this.last, "big");
  }

  /** @param {boolean} small */
  onward(small) {
    this.go(small ? this.at + 1 : this.bigForward(this.at), small ? "small" : "big");
  }

  /** @param {boolean} small */
  backward(small) {
    this.go(small ? this.at - 1 : this.bigBack(this.at), small ? "small" : "big");
  }

  /**
   * @param {number} at
   * @param {Grain} grain
   */
  go(at, grain) {
    const place = Math.max(0, Math.min(this.last, at));
    this.grain = grain;
    this.at = place;
    this.keep({ step: place });
    this.draw();
  }

  /**
   * Puts the cursor where Python has it; at the end of a big step, that step is what is looked at.
   * @param {number} step
   */
  standAt(step) {
    this.at = Math.max(0, Math.min(this.last, step));
    this.grain = this.endsBig(this.at) ? "big" : "small";
  }

  /** Says what Python has to say that no wish asked for. */
  heardNotice() {
    const notice = this.model.get("notice");
    if (notice) this.errors.say(notice);
  }

  heardRest() {
    if (this.keeping) return;
    this.allLanes = Boolean(this.model.get("all_lanes"));
    this.draw();
  }

  /**
   * The keys of a presenter's remote: a step while presenting, else a look further up.
   * @param {number} way
   */
  page(way) {
    if (!this.presenting) this.peek(way);
    else if (way > 0) this.onward(false);
    else this.backward(false);
  }

  /**
   * Shows what lies above in the diagram, most of its height at a time.
   * @param {number} way
   */
  peek(way) {
    for (const sequence of this.sequences) sequence.peek(way * 0.8 * sequence.height);
  }

  playOn() {
    if (this.at >= this.last || this.holdsBefore(this.at + 1)) return false;
    this.go(this.at + 1, "small");
    return true;
  }

  /** While it plays, a screen reader is not told every step: it could not keep up. */
  drawPlay() {
    const playing = Boolean(this.player.timer);
    this.transport.drawPlay(playing, this.player.perSecond);
    attr(this.sentence.spoken, "aria-live", playing ? "off" : "polite");
  }

  // What each kind of frame says of its own steps; one without big steps goes from one to the next.

  get last() {
    return 0;
  }

  /** @param {number} at */
  bigForward(at) {
    return at + 1;
  }

  /** @param {number} at */
  bigBack(at) {
    return at - 1;
  }

  /** @param {number} _at */
  endsBig(_at) {
    return false;
  }

  playStops() {
    return false;
  }

  /** @param {number} _next */
  holdsBefore(_next) {
    return false;
  }

  paint() {}

  /**
   * The same frame once more, for another window.
   * @param {Model} _model
   * @returns {Frame}
   */
  twin(_model) {
    return this;
  }

  // -- presenting -------------------------------------------------------------------------------------

  get presenting() {
    return Boolean(this.model.get("presenter"));
  }

  /** Larger, and on the whole screen where the browser allows it; the browser's own Escape ends both. */
  present() {
    const begins = !this.presenting;
    this.keep({ presenter: begins });
    if (begins) this.root.requestFullscreen?.().catch(() => undefined); // a page inside another page may not
    else if (this.root.matches(":fullscreen")) document.exitFullscreen();
  }

  leftFullScreen() {
    if (this.root.matches(":fullscreen")) return;
    if (this.presenting) this.keep({ presenter: false });
    this.focus();
  }

  heardPresenter() {
    this.root.classList.toggle("kv-presenter", this.presenting);
    aria(this.transport.presentButton, "pressed", this.presenting);
    this.wide = 0;
    this.resize();
  }

  /** Opens or closes the window for the class; in that window, closes it. */
  toggleWindow() {
    if (this.audience) this.audience.toggle();
    else this.root.ownerDocument.defaultView?.close();
  }

  /** A black screen, for when the class should look at the speaker. */
  blank() {
    this.player.pause();
    show(this.cover, true);
  }

  /**
   * Takes the black screen away; says whether there was one.
   * @param {string} [key]
   */
  uncover(key = "") {
    if (this.cover.hidden || key === "Shift") return false;
    show(this.cover, false);
    return true;
  }

  // -- panels -----------------------------------------------------------------------------------------

  /** @param {boolean} [open] */
  toggleHelp(open) {
    aria(this.transport.helpButton, "expanded", this.help.toggle(open));
  }

  /** @param {boolean} [open] */
  toggleWhy(open) {
    aria(this.transport.whyButton, "expanded", this.sentence.toggle(open));
  }

  /**
   * Opens one drawer and closes the others; an open one is closed.
   * @param {string} name
   */
  toggleDrawer(name) {
    if (!this.drawers.some((drawer) => drawer.name === name)) return;
    for (const drawer of this.drawers) drawer.toggle(drawer.name === name && !drawer.open);
    this.keep({ tool: this.drawers.find((drawer) => drawer.open)?.name ?? "" });
    this.draw();
  }

  /** Opens the drawer that Python named. */
  heardTool() {
    const name = this.model.get("tool") ?? "";
    const open = this.drawers.find((drawer) => drawer.open)?.name ?? "";
    if (name !== open) this.toggleDrawer(name || open);
  }

  closeDrawer() {
    const drawer = this.drawers.find((one) => one.open);
    if (!drawer) return false;
    this.toggleDrawer(drawer.name);
    this.focus();
    return true;
  }

  toggleLanes() {
    this.allLanes = !this.allLanes;
    this.keep({ all_lanes: this.allLanes });
    this.draw();
  }

  /** Closes what is open; with nothing open, gives the focus back to the page. */
  leave() {
    if (!this.errors.element.hidden) return this.errors.clear();
    if (!this.help.element.hidden) return this.toggleHelp(false);
    if (!this.sentence.why.hidden) return this.toggleWhy(false);
    if (this.closeMore()) return undefined;
    // The browser's Escape ends a full screen by itself; where it gave none, the page is only larger, and ends that here.
    if (this.presenting && !this.model.alone) return this.present();
    this.player.pause();
    return this.focused?.blur();
  }

  closeMore() {
    return false;
  }

  /**
   * The notable steps, in order; none where there is no one line.
   * @returns {number[]}
   */
  get notables() {
    return [];
  }

  /** @param {number} way */
  marked(way) {
    const found = way > 0 ? this.notables.find((k) => k > this.at) : this.notables.findLast((k) => k < this.at);
    if (found !== undefined) this.go(found, "small");
  }

  pickBranch() {
    if (this.audience?.blank()) return;
    if (this.presenting) this.blank();
  }

  askPlace() {
    this.transport.askPlace();
  }

  /**
   * The step that somebody typed: a number, or words of a title.
   * @param {string} words
   */
  stepCalled(words) {
    if (/^[-−+]?\d+$/.test(words)) return Number(words) >= 0 && Number(words) <= this.last ? Number(words) : undefined;
    return words ? this.titled(words) : undefined;
  }

  /**
   * @param {string} _words
   * @returns {number | undefined}
   */
  titled(_words) {
    return undefined;
  }

  enter() {}
  toggleFolds() {}
  toggleFaults() {}
  toggleOnly() {}
  toggleTrail() {}
  lightTrail() {}
  /** @param {number} _way */
  selectNext(_way) {}
  /** @param {number} _id */
  switchTo(_id) {}
  /**
   * @param {number} _change
   * @param {boolean} [_same]
   */
  nextBranch(_change, _same) {}
  /** @param {number} _n */
  press(_n) {}
  /** @param {boolean} _always */
  ask(_always) {}
}
