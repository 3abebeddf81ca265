// The history as a tree: one row per line, the way to the cursor drawn through, what was left drawn
// dashed. A row goes to the same step there, or to where it parts from the branch on screen.

import { Keyed, attr, h, heard, inside, query, show, text } from "../dom/dom.js";
import { parting } from "../lines/line.js";
import { Drawer } from "../frame/panels.js";
import { STATE_MARK } from "../dom/words.js";

/** @import { Line } from "../lines/line.js" */
/** @import { App } from "../../types/app" */
/** @import { TreePlace } from "../../types/parts" */

/** @extends {Drawer<App>} */
export class Tree extends Drawer {
  /** @param {App} app */
  constructor(app) {
    super(app, { name: "tree", title: "The tree of branches", key: "t" });
    this.hint = h("p.kv-dim", "A new choice starts a branch, which appears here. Nothing is lost. Stepping forward follows the branch you visited last.");
    this.list = h("ul.kv-tree-list", { role: "list" });
    this.longest = 1;
    this.focusing = false;
    /** @type {Keyed<TreePlace, HTMLLIElement>} */
    this.rows = new Keyed(this.list, () => this.make(), (node, row) => this.fill(node, row));
    this.element.append(this.hint, this.list);
  }

  /** @param {boolean} open */
  toggle(open) {
    super.toggle(open);
    if (open) this.focusing = true;
  }

  make() {
    /** @param {string} name */
    const press = (name) => h(`button.kv-tree-${name}`);
    /** @param {string} name */
    const bar = (name) => h(`span.kv-tree-bar.kv-tree-${name}`);
    const strip = h("div.kv-tree-strip", { "aria-hidden": "true" }, bar("stem"), bar("on"), bar("off"), h("span.kv-tree-here"));
    const name = h("input.kv-tree-name", { type: "text", label: "name of the branch" });
    show(name, false);
    return h("li", h("div.kv-tree-words", press("go"), name, h("span.kv-dim.kv-tree-from")), strip, h("span.kv-tree-verdicts"), h("div.kv-tree-acts", press("part"), press("rename"), press("prune")));
  }

  /**
   * @param {Line} line
   * @param {number} at
   */
  update(line, at) {
    const { lines } = this.app;
    const way = lines.wayTo(line);
    const rows = lines.inTree();
    this.longest = Math.max(...rows.map((row) => row.line.last), 1);
    show(this.hint, rows.length < 2);
    this.rows.draw(rows.map((row) => ({ ...row, way, at, current: line })), (row) => row.line.id);
    if (this.focusing) query(this.list, "[aria-current] .kv-tree-go")?.focus();
    this.focusing = false;
  }

  /**
   * @param {HTMLElement} node
   * @param {TreePlace} told
   */
  fill(node, { line, depth, stem, way, at, current }) {
    const { app } = this;
    const [words, strip, verdicts, acts] = inside(node);
    const [go, name, from] = inside(words);
    const here = line === current;
    const from0 = stem ? line.at + 1 : 0;
    const until = way.get(line.id) ?? from0 - 1;
    attr(node, "aria-current", here ? "true" : null);
    node.style.setProperty("--kv-depth", String(depth));
    node.classList.toggle("kv-tree-left", until < from0);
    text(go, stem ? line.name : "main");
    attr(go, "title", here ? "the branch on screen" : `the same step (${Math.min(at, line.last)}) on this line`);
    go.onclick = heard(go, () => app.switchTo(line.id, true));
    const apart = parting(line, current);
    text(from, `${stem ? `leaves ${stem.id === 0 ? "main" : stem.name} after ${line.at} · ` : ""}${line.last} messages`);
    this.bars(strip, { from: from0, until, line, at: here ? at : null, stem });
    text(verdicts, app.question.tellsAt(line) < Infinity ? "" : ended(line));
    const [part, rename, prune] = inside(acts);
    show(part, !here);
    text(part, `parts at ${apart}`);
    attr(part, "title", partWords(line, current, apart));
    part.onclick = heard(part, () => app.follow(line, Math.min(apart, line.last)));
    for (const button of [rename, prune]) show(button, Boolean(stem));
    text(rename, "rename");
    rename.onclick = heard(rename, () => this.rename(/** @type {HTMLInputElement} */ (name), go, line));
    if (!prune.kvSure) text(prune, "prune");
    prune.onclick = heard(prune, () => this.prune(prune, line));
  }

  /**
   * @param {Element} strip
   * @param {Pick<TreePlace, "line" | "stem"> & { from: number, until: number, at: number | null }} told
   */
  bars(strip, { from, until, line, at, stem }) {
    const [root, on, off, here] = inside(strip);
    /**
     * @param {HTMLElement} node
     * @param {number} a
     * @param {number} b
     */
    const place = (node, a, b) => {
      node.style.left = `${(100 * a) / (this.longest + 1)}%`;
      node.style.width = `${(100 * Math.max(0, b - a)) / (this.longest + 1)}%`;
    };
    place(root, 0, stem ? from : 0);
    place(on, from, Math.max(from, until + 1));
    place(off, Math.max(from, until + 1), line.last + 1);
    show(here, at !== null);
    if (at !== null) here.style.left = `${(100 * (at + 0.5)) / (this.longest + 1)}%`;
  }

  /**
   * @param {HTMLInputElement} input
   * @param {HTMLElement} button
   * @param {Line} line
   */
  rename(input, button, line) {
    /** @param {boolean} keep */
    const finish = (keep) => {
      if (input.hidden) return;
      show(input, false);
      show(button, true);
      const words = input.value.trim();
      if (keep && words && words !== line.name) this.app.wish({ do: "rename", branch: line.id, name: words }, `name a branch “${words}”`);
      button.focus();
    };
    input.value = line.name;
    show(button, false);
    show(input, true);
    input.focus();
    input.select();
    input.onkeydown = heard(input, (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Enter") finish(true);
      if (event.key !== "Escape") return;
      event.stopPropagation();
      finish(false);
    });
    input.onblur = () => finish(false);
  }

  /**
   * Asks once more, on the same button, before a branch and what grew from it goes.
   * @param {HTMLElement} button
   * @param {Line} line
   */
  prune(button, line) {
    if (button.kvSure) {
      button.kvSure = false;
      return this.app.wish({ do: "prune", branch: line.id }, `delete “${line.name}”`);
    }
    button.kvSure = true;
    const grown = this.app.lines.grownFrom(line.id).length - 1;
    text(button, grown ? `really? ${grown} more started from it` : "really?");
    button.onblur = () => {
      button.kvSure = false;
      text(button, "prune");
    };
    return undefined;
  }
}

/**
 * How a line ends: what is broken there, or still open.
 * @param {Line} line
 */
function ended(line) {
  const loud = line.liveVerdicts.at(line.last).filter((verdict) => verdict.state !== "holds");
  return loud.map((verdict) => `${STATE_MARK[verdict.state] ?? ""} ${verdict.property}`).join(" · ");
}

/**
 * @param {Line} line
 * @param {Line} current
 * @param {number} apart
 */
function partWords(line, current, apart) {
  /** @param {Line} one */
  const say = (one) => (apart <= one.last ? one.steps[apart].title : "it ends");
  return `at message ${apart} here “${say(current)}”, there “${say(line)}”`;
}
