// The bytes of a message beside the fields that they are. A field is lit in both places at once, by
// the mouse or by the keyboard; Python made the tables, here they are only laid out.

import { attr, h, query, show, target, text } from "../dom/dom.js";
import { Drawer } from "../frame/panels.js";

/** @import { Line } from "../lines/line.js" */
/** @import { App } from "../../types/app" */
/** @import { BytePlace } from "../../types/parts" */
/** @import { Message, WireKind } from "../../types/payload" */

const PER_ROW = 16;
/** @type {Record<string, number>} */
const MOVES = { ArrowDown: 1, ArrowUp: -1 };

/** @extends {Drawer<App>} */
export class Bytes extends Drawer {
  /** @param {App} app */
  constructor(app) {
    super(app, { name: "bytes", title: "The bytes of a message", key: "x" });
    /** @type {Message["bytes"]} */
    this.shown = null;
    /** @type {BytePlace[]} */
    this.places = [];
    this.fresh = false;
    /** @type {string | null} */
    this.lit = null;
    this.head = h("p.kv-bytes-head");
    this.dump = h("div.kv-dump", { "aria-hidden": "true" });
    this.body = h("tbody");
    const heads = ["byte", "field", "type", "value"].map((name) => h("th", { scope: "col" }, name));
    this.table = h("table.kv-places", { onfocusin: (event) => this.light(target(event).dataset.place), onkeydown: (event) => this.move(event) }, h("thead", h("tr", ...heads)), this.body);
    this.split = h("div.kv-bytes-split", { onpointerover: (event) => this.light(/** @type {HTMLElement | null} */ (target(event).closest("[data-place]"))?.dataset.place) }, this.dump, this.table);
    this.element.append(this.head, this.split);
  }

  /** @param {boolean} open */
  toggle(open) {
    super.toggle(open);
    this.fresh = open;
  }

  /**
   * @param {Line} line
   * @param {number} at
   */
  update(line, at) {
    const message = this.wanted(line, at);
    const known = message && line.shape(message);
    show(this.split, Boolean(known));
    if (!known) {
      this.shown = null;
      text(this.head, message ? `No bytes are recorded for ${message.label}.` : "Choose a message in the diagram to see its bytes.");
      return;
    }
    if (this.shown !== message.bytes) this.draw(message, known);
    if (this.fresh) query(this.body, '[tabindex="0"]')?.focus({ preventScroll: true });
    this.fresh = false;
  }

  /**
   * The chosen message, else the one that this step is about.
   * @param {Line} line
   * @param {number} at
   */
  wanted(line, at) {
    const chosen = this.app.selection;
    const found = chosen.kind === "message" && line.message(chosen.id ?? "");
    return found || line.messages.find((m) => m.arrived === at) || line.messages.find((m) => m.sent === at);
  }

  /**
   * @param {Message} message
   * @param {NonNullable<ReturnType<Line["shape"]>>} told
   */
  draw(message, { kind, spans, names }) {
    this.shown = message.bytes;
    this.lit = null;
    const raw = Uint8Array.from(message.bytes?.[1].match(/../g) ?? [], (two) => parseInt(two, 16));
    this.places = placed(kind.places, spans);
    const key = kind.key < 0 ? "no key" : `key ${kind.key}`;
    const status = kind.status === "shipped" ? "" : ` · ${kind.status}: no release sends these bytes`;
    text(this.head, `${kind.name} · ${key}, version ${kind.version} · ${raw.length} bytes${status}`);
    attr(this.head, "class", `kv-bytes-head${status ? " kv-unshipped" : ""}`);
    this.body.replaceChildren(...this.places.map((place, n) => this.row(place, n, raw, names)));
    this.dump.replaceChildren(...hexRows(raw, this.places));
    const button = this.body.querySelector("button");
    if (button) attr(button, "tabindex", "0");
  }

  /**
   * @param {BytePlace} place
   * @param {number} n
   * @param {Uint8Array} raw
   * @param {Record<string, Record<string, string>>} names
   */
  row(place, n, raw, names) {
    const { depth, name, type, note, at, size, told } = place;
    const indent = `padding-left:${depth * 10 + 4}px`;
    const button = h("button", { tabindex: "-1", "data-place": n }, name);
    if (!type) return h("tr.kv-place-head", { "data-place": n }, h("td.kv-byte-at", at), h("th", { scope: "row", style: indent }, button), h("td", { colspan: 2 }, note));
    const part = raw.subarray(at, at + size);
    const value = valueOf(type, part);
    const called = names[place.names]?.[value];
    attr(button, "aria-label", `${name}: ${called ?? value}, ${type}, byte ${at}: ${hex(part)}`);
    const why = told ? note : `not modelled: default${note ? ` (${note})` : ""}`;
    return h(
      "tr",
      { class: told ? null : "kv-untold", "data-place": n },
      h("td.kv-byte-at", at),
      h("th", { scope: "row", style: indent }, button),
      h("td.kv-dim.kv-place-type", type),
      h("td", h("b", called ? `${value} ${called}` : value), why ? h("span.kv-dim", ` ${why}`) : null),
    );
  }

  /**
   * Lights a field where it is named and where its bytes are; a heading lights all that is in it.
   * @param {string | undefined} place
   */
  light(place) {
    if (place === undefined || place === this.lit) return;
    this.lit = place;
    const first = Number(place);
    let last = first;
    if (!this.places[first].type) while (this.places[last + 1]?.depth > this.places[first].depth) last++;
    for (const node of /** @type {NodeListOf<HTMLElement>} */ (this.split.querySelectorAll("[data-place]"))) {
      const n = Number(node.dataset.place);
      node.classList.toggle("kv-place-lit", n >= first && n <= last && (node.tagName !== "TR" || n === first));
    }
    within(this.body.rows[first], this.element, this.app.size === "one" ? this.dump : this.head);
    within(this.dump.querySelector(".kv-place-lit"), this.dump);
  }

  /** @param {KeyboardEvent} event */
  move(event) {
    const step = MOVES[event.key];
    const button = target(event);
    if (!step || button.tagName !== "BUTTON") return;
    event.preventDefault();
    event.stopPropagation(); // outside of the table these keys walk through the messages
    const next = this.body.rows[Number(button.dataset.place) + step]?.querySelector("button");
    if (!next) return;
    attr(button, "tabindex", "-1");
    attr(next, "tabindex", "0");
    next.focus({ preventScroll: true });
  }
}

/**
 * Every place with where it stands; items of an array are counted.
 * @param {WireKind["places"]} places
 * @param {number[]} spans
 */
function placed(places, spans) {
  /** @type {Array<{ name: string, n: number }>} */
  const counts = [];
  /** @type {BytePlace[]} */
  const found = [];
  for (let i = 0, at = 0; i < spans.length; i += 2) {
    const told = spans[i] >= 0;
    const [depth, name, type, note = "", names = ""] = /** @type {[number, string, string, string?, string?]} */ (places[told ? spans[i] : ~spans[i]]);
    const size = spans[i + 1];
    counts.length = Math.min(counts.length, depth + 1);
    if (name.endsWith("[]")) counts[depth] = { name, n: counts[depth]?.name === name ? counts[depth].n + 1 : 0 };
    found.push({ depth, name: name.replace("[]", `[${counts[depth]?.n}]`), type, note, names, told, at, size });
    at += size;
  }
  return found;
}

/**
 * Rows of sixteen bytes: offset, the bytes in runs of one field each, and what of them is text.
 * @param {Uint8Array} raw
 * @param {BytePlace[]} places
 */
function hexRows(raw, places) {
  /** @type {HTMLElement[]} */
  const rows = [];
  const runs = places.flatMap((place, n) => (place.size ? [{ ...place, n }] : []));
  runs.forEach((run, order) => {
    for (let at = run.at; at < run.at + run.size; ) {
      if (at % PER_ROW === 0) {
        rows.push(h("div.kv-hex", h("span.kv-dim", at.toString(16).padStart(4, "0"))));
      }
      const to = Math.min(run.at + run.size, at + PER_ROW - (at % PER_ROW));
      const ends = `${at === run.at ? " kv-run-from" : ""}${to === run.at + run.size ? " kv-run-to" : ""}`;
      rows.at(-1)?.append(h("span", { class: `kv-run${order % 2 ? " kv-run-odd" : ""}${ends}${run.told ? "" : " kv-run-untold"}`, "data-place": run.n }, hex(raw.subarray(at, to))));
      at = to;
    }
  });
  rows.forEach((one, n) => {
    const part = [...raw.subarray(n * PER_ROW, (n + 1) * PER_ROW)];
    one.append(h("span.kv-ascii", part.map((b) => (b > 31 && b < 127 ? String.fromCharCode(b) : "·")).join("")));
  });
  return rows;
}

/** @param {Uint8Array} part */
function hex(part) {
  return Array.from(part, (b) => b.toString(16).padStart(2, "0")).join(" ");
}

/**
 * A number of seven bits to a byte, lowest first: what it is, and how many bytes it takes.
 * @param {Uint8Array} part
 * @returns {[size: bigint, from: number]}
 */
function unsigned(part) {
  let n = 0n;
  for (let i = 0; i < part.length; i++) {
    n |= BigInt(part[i] & 127) << BigInt(7 * i);
    if (part[i] < 128) return [n, i + 1];
  }
  return [n, part.length];
}

/**
 * @param {Uint8Array} part
 * @param {boolean} [signed]
 */
function fixed(part, signed = true) {
  const n = part.reduce((sum, b) => (sum << 8n) | BigInt(b), 0n);
  return signed ? BigInt.asIntN(8 * part.length, n) : n;
}

/** @param {bigint} n */
const zigzag = (n) => (n >> 1n) ^ -(n & 1n);

/**
 * The length in front of a text or an array, -1 for null, and where it ends.
 * @param {string} type
 * @param {Uint8Array} part
 * @returns {[size: bigint, from: number]}
 */
function length(type, part) {
  const [size, from] = unsigned(part);
  if (type.startsWith("varint")) return [zigzag(size), from];
  if (type.startsWith("compact")) return [size - 1n, from];
  const wide = type === "string" ? 2 : 4;
  return [fixed(part.subarray(0, wide)), wide];
}

/**
 * @param {string} type
 * @param {Uint8Array} part
 */
function valueOf(type, part) {
  if (type.startsWith("int")) return String(fixed(part));
  if (type === "uint32") return `0x${fixed(part, false).toString(16).padStart(8, "0")}`;
  if (type === "bool") return String(part[0] !== 0);
  if (type === "uuid") return btoa(String.fromCharCode(...part)).replaceAll("+", "-").replaceAll("/", "_").slice(0, 22);
  if (type === "varint" || type === "varlong") return String(zigzag(unsigned(part)[0]));
  if (type === "unsigned varint") return String(unsigned(part)[0]);
  if (type === "tag") return `tag ${unsigned(part)[0]}`;
  if (type === "bytes") return `${part.length} bytes`;
  const [size, from] = length(type, part);
  if (size < 0n) return "null";
  if (type.endsWith("array")) return size === 1n ? "1 item" : `${size} items`;
  if (type.endsWith("records")) return `${size} bytes`;
  return `“${new TextDecoder().decode(part.subarray(from))}”`;
}

/**
 * Brings a node into view inside the box that scrolls it, below what sticks to its top.
 * @param {Element | null} node
 * @param {Element} box
 * @param {Element} [stuck]
 */
function within(node, box, stuck) {
  if (!node) return;
  const inner = node.getBoundingClientRect();
  const outer = box.getBoundingClientRect();
  const top = stuck ? stuck.getBoundingClientRect().bottom : outer.top;
  if (inner.top < top) box.scrollTop -= top - inner.top;
  else if (inner.bottom > outer.bottom) box.scrollTop += inner.bottom - outer.bottom;
}
