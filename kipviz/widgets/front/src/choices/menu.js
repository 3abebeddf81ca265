// What can be done to one thing of the diagram: a broker, a client, the link between two, a message on
// the wire. A click opens it, Enter does, and so does every thing's own button; it lists the model's
// choices about that thing and nothing else.

import { Keyed, attr, first, h, press, show, text } from "../dom/dom.js";

/** @import { App, Place, Wish } from "../../types/app" */
/** @import { MenuRow } from "../../types/page" */
/** @import { Action } from "../../types/parts" */
/** @import { Item, Lane, Message } from "../../types/payload" */

/**
 * What the id of a choice, which is its action written out, says about its action.
 * @param {Item} item
 */
export function actionOf(item) {
  try {
    return JSON.parse(item.id);
  } catch {
    return {}; // a choice of a log that was read has no action
  }
}

/** @param {string} source */
const hostOf = (source) => String(source).split("/")[0];

/**
 * The hosts that an action happens to.
 * @param {Action} action
 */
function hostsOf(action) {
  const { broker, application, source, host, to, one, other } = action;
  const named = [broker && `B${broker}`, application, source && hostOf(source), host, to && `B${to}`];
  for (const side of [one, other]) if (typeof side === "string") named.push(...side.split(/[\s,]+/));
  return named.filter(Boolean);
}

/**
 * The choices about a host: first those about the host itself, a client's own call and its crash among them, then those
 * about its links. A leadership is its leader's, too, which the choice does not name.
 * @param {Item[]} items
 * @param {Lane} lane
 */
export function aboutHost(items, lane) {
  /** @param {Action} action */
  const leads = (action) => action.partition && (lane.sub ?? "").split(", ").includes(action.partition);
  /** @type {Item[]} */
  const own = [];
  /** @type {Item[]} */
  const links = [];
  for (const item of items) {
    const action = actionOf(item);
    const hosts = new Set(hostsOf(action));
    if (hosts.has(lane.id) || leads(action)) (hosts.size > 1 ? links : own).push(item);
  }
  return [...own, ...links];
}

/**
 * The choices about the connection between two hosts.
 * @param {Item[]} items
 * @param {string} from
 * @param {string} to
 */
export function aboutLink(items, from, to) {
  return items.filter((item) => {
    const hosts = hostsOf(actionOf(item));
    return hosts.includes(from) && hosts.includes(to);
  });
}

export class Menu {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {HTMLElement | null} */
    this.back = null; // what had the focus before
    this.head = h("h3.kv-caption");
    this.list = h("ul.kv-list");
    this.element = h("div.kv-menu", { role: "dialog", "aria-modal": "false", onkeydown: (event) => this.key(event) }, this.head, this.list);
    this.rows = new Keyed(this.list, () => h("li", press("", () => undefined)), (node, row) => this.draw(node, row));
    show(this.element, false);
  }

  get open() {
    return !this.element.hidden;
  }

  /**
   * Opens beside a place on the page; `rows` are { id, words, sub, off, act }.
   * @param {string} title
   * @param {MenuRow[]} rows
   * @param {Place} place
   */
  show(title, rows, place) {
    this.back = this.app.focused;
    text(this.head, title);
    attr(this.element, "aria-label", title);
    /** @type {MenuRow} */
    const none = { id: "none", words: "Nothing can be done to it at this step.", off: true };
    this.rows.draw(rows.length ? rows : [none], (row) => row.id);
    show(this.element, true);
    const frame = this.app.root.getBoundingClientRect();
    const scale = frame.width / this.app.root.offsetWidth || 1;
    const { offsetWidth, offsetHeight } = this.element;
    const left = Math.min((place.left - frame.left) / scale, this.app.root.clientWidth - offsetWidth - 8);
    const below = (place.bottom - frame.top) / scale + 4;
    const top = below + offsetHeight > this.app.root.clientHeight - 8 ? Math.max(8, (place.top - frame.top) / scale - offsetHeight - 4) : below;
    this.element.style.left = `${Math.max(8, left)}px`;
    this.element.style.top = `${top}px`;
    this.buttons[0]?.focus();
  }

  get buttons() {
    return [.../** @type {NodeListOf<HTMLElement>} */ (this.list.querySelectorAll("button:not([aria-disabled])"))];
  }

  /**
   * @param {HTMLElement} node
   * @param {MenuRow} told
   */
  draw(node, { words, sub, off, act }) {
    const button = first(node);
    button.replaceChildren(h("span.kv-words", h("span.kv-what", words), sub ? h("small", sub) : null));
    attr(button, "aria-disabled", off ? "true" : null);
    attr(node, "class", off ? "kv-off" : null);
    button.onclick = () => {
      if (off) return;
      this.close();
      this.app.guard(() => act?.());
    };
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape" || event.key === "Tab") this.close();
    else if (way) {
      const { buttons } = this;
      const now = buttons.findIndex((button) => button === this.app.focused);
      buttons[(now + way + buttons.length) % buttons.length]?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Closes it; the focus goes back to where it came from. Says whether it was open. */
  close() {
    if (!this.open) return false;
    show(this.element, false);
    if (this.back?.isConnected && this.app.root.contains(this.back)) this.back.focus({ preventScroll: true });
    else this.app.focus();
    return true;
  }

  // -- what it is opened for ---------------------------------------------------------------------------

  /** @param {Item[]} items */
  choices(items) {
    // While a question hides the list of what can happen, no menu tells it either.
    const told = this.app.question.hides ? items.filter((item) => item.group === "fault") : items;
    const possible = [...told].sort((a, b) => Number(b.enabled) - Number(a.enabled));
    return possible.map((item) => ({ id: item.id, words: item.text, sub: item.enabled ? (item.taken ? "continues on this branch" : item.sub) : item.why, off: !item.enabled, act: () => this.app.choose(item) }));
  }

  /**
   * @param {Lane} lane
   * @param {Place} place
   */
  ofHost(lane, place) {
    const { line, at } = this.app;
    const rows = this.choices(aboutHost(line.choicesAt(at), lane));
    this.show(`${lane.title}: what can happen to it`, rows, place);
  }

  /**
   * For a message on the wire, what can become of it; for one that is through, what can become of the link.
   * @param {Message} message
   * @param {Place} place
   */
  ofMessage(message, place) {
    const { app } = this;
    const { line, at } = app;
    const items = line.choicesAt(at);
    const flying = line.wire.at(at).some((one) => one.id === message.id);
    const own = flying ? items.filter((item) => item.message === message.id) : [];
    /** @type {import("../../types/page").MenuRow[]} */
    const rows = this.choices([...own, ...aboutLink(items, message.from, message.to).filter((item) => !own.includes(item) && item.group === "fault")]);
    /**
     * @param {string} id
     * @param {string} words
     * @param {Wish} command
     */
    const wish = (id, words, command) => ({ id, words, act: () => app.wish({ ...command, message: message.id }, `${words}: ${message.label}`) });
    if (flying) {
      if (line.holds(message.id, at)) rows.unshift(wish("release", "release it", { do: "release", after: "quiet" }));
      else rows.splice(own.length, 0, wish("hold", "hold it back", { do: "hold", after: "quiet" }));
      rows.push(wish("delay", "deliver it when nothing else can happen", { do: "delay", after: "quiet" }), wish("lose", "break its connection and lose the message", { do: "lose", after: "quiet" }));
    }
    /** @param {Item} item */
    const parted = (item) => ["Cut", "Heal"].includes(actionOf(item).class);
    if (!rows.some((row) => items.some((item) => item.id === row.id && parted(item)))) rows.push({ id: "cut", words: `partition ${message.from} from ${message.to}`, act: () => app.wish({ do: "cut", one: message.from, other: message.to }, `a network partition between ${message.from} and ${message.to}`) });
    rows.push({ id: "bytes", words: "read its bytes", sub: "key x", act: () => app.toggleDrawer("bytes") });
    this.show(`${message.label}, ${message.from} → ${message.to}`, rows, place);
  }
}
