// The bytes of a message beside the fields that they are. A field is lit in both places at once, by
// the mouse or by the keyboard; Python made the tables, here they are only laid out.

import { attr, h, show, text } from "../dom/dom.js";
import { Drawer } from "../frame/panels.js";

const PER_ROW = 16;
const MOVES = { ArrowDown: 1, ArrowUp: -1 };

export class Bytes extends Drawer {
  constructor(app) {
    super(app, { name: "bytes", title: "The bytes of a message", key: "x" });
    this.head = h("p.kv-bytes-head");
    this.dump = h("div.kv-dump", { "aria-hidden": "true" });
    this.body = h("tbody");
    const heads = ["byte", "field", "type", "value"].map((name) => h("th", { scope: "col" }, name));
    this.table = h("table.kv-places", { onfocusin: (event) => this.light(event.target.dataset.place), onkeydown: (event) => this.move(event) }, h("thead", h("tr", ...heads)), this.body);
    this.split = h("div.kv-bytes-split", { onpointerover: (event) => this.light(event.target.closest("[data-place]")?.dataset.place) }, this.dump, this.table);
    this.element.append(this.head, this.split);
  }

  toggle(open) {
    super.toggle(open);
    this.fresh = open;
  }

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
    if (this.fresh) this.body.querySelector('[tabindex="0"]')?.focus({ preventScroll: true });
    this.fresh = false;
  }

  /** The chosen message, else the one that this step is about. */
  wanted(line, at) {
    const chosen = this.app.selection;
    const found = chosen.kind === "message" && line.message(chosen.id);
    return found || line.messages.find((m) => m.arrived === at) || line.messages.find((m) => m.sent === at);
  }

  draw(message, { kind, spans, names }) {
    this.shown = message.bytes;
    this.lit = null;
    const raw = Uint8Array.from(message.bytes[1].match(/../g), (two) => parseInt(two, 16));
    this.places = placed(kind.places, spans);
    const key = kind.key < 0 ? "no key" : `key ${kind.key}`;
    const status = kind.status === "shipped" ? "" : ` · ${kind.status}: no release sends these bytes`;
    text(this.head, `${kind.name} · ${key}, version ${kind.version} · ${raw.length} bytes${status}`);
    attr(this.head, "class", `kv-bytes-head${status ? " kv-unshipped" : ""}`);
    this.body.replaceChildren(...this.places.map((place, n) => this.row(place, n, raw, names)));
    this.dump.replaceChildren(...hexRows(raw, this.places));
    attr(this.body.querySelector("button"), "tabindex", "0");
  }

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

  /** Lights a field where it is named and where its bytes are; a heading lights all that is in it. */
  light(place) {
    if (place === undefined || place === this.lit) return;
    this.lit = place;
    const first = Number(place);
    let last = first;
    if (!this.places[first].type) while (this.places[last + 1]?.depth > this.places[first].depth) last++;
    for (const node of this.split.querySelectorAll("[data-place]")) {
      const n = Number(node.dataset.place);
      node.classList.toggle("kv-place-lit", n >= first && n <= last && (node.tagName !== "TR" || n === first));
    }
    within(this.body.rows[first], this.element, this.app.size === "one" ? this.dump : this.head);
    within(this.dump.querySelector(".kv-place-lit"), this.dump);
  }

  move(event) {
    const step = MOVES[event.key];
    if (!step || event.target.tagName !== "BUTTON") return;
    event.preventDefault();
    event.stopPropagation(); // outside of the table these keys walk through the messages
    const next = this.body.rows[Number(event.target.dataset.place) + step]?.querySelector("button");
    if (!next) return;
    attr(event.target, "tabindex", "-1");
    attr(next, "tabindex", "0");
    next.focus({ preventScroll: true });
  }
}

/** Every place with where it stands; items of an array are counted. */
function placed(places, spans) {
  const counts = [];
  const found = [];
  for (let i = 0, at = 0; i < spans.length; i += 2) {
    const told = spans[i] >= 0;
    const [depth, name, type, note = "", names = ""] = places[told ? spans[i] : ~spans[i]];
    const size = spans[i + 1];
    counts.length = Math.min(counts.length, depth + 1);
    if (name.endsWith("[]")) counts[depth] = { name, n: counts[depth]?.name === name ? counts[depth].n + 1 : 0 };
    found.push({ depth, name: name.replace("[]", `[${counts[depth]?.n}]`), type, note, names, told, at, size });
    at += size;
  }
  return found;
}

/** Rows of sixteen bytes: offset, the bytes in runs of one field each, and what of them is text. */
function hexRows(raw, places) {
  const rows = [];
  let row = null;
  const runs = places.flatMap((place, n) => (place.size ? [{ ...place, n }] : []));
  runs.forEach((run, order) => {
    for (let at = run.at; at < run.at + run.size; ) {
      if (at % PER_ROW === 0) {
        row = h("div.kv-hex", h("span.kv-dim", at.toString(16).padStart(4, "0")));
        rows.push(row);
      }
      const to = Math.min(run.at + run.size, at + PER_ROW - (at % PER_ROW));
      const ends = `${at === run.at ? " kv-run-from" : ""}${to === run.at + run.size ? " kv-run-to" : ""}`;
      row.append(h("span", { class: `kv-run${order % 2 ? " kv-run-odd" : ""}${ends}${run.told ? "" : " kv-run-untold"}`, "data-place": run.n }, hex(raw.subarray(at, to))));
      at = to;
    }
  });
  rows.forEach((one, n) => {
    const part = [...raw.subarray(n * PER_ROW, (n + 1) * PER_ROW)];
    one.append(h("span.kv-ascii", part.map((b) => (b > 31 && b < 127 ? String.fromCharCode(b) : "·")).join("")));
  });
  return rows;
}

function hex(part) {
  return Array.from(part, (b) => b.toString(16).padStart(2, "0")).join(" ");
}

/** A number of seven bits to a byte, lowest first: what it is, and how many bytes it takes. */
function unsigned(part) {
  let n = 0n;
  for (let i = 0; i < part.length; i++) {
    n |= BigInt(part[i] & 127) << BigInt(7 * i);
    if (part[i] < 128) return [n, i + 1];
  }
  return [n, part.length];
}

function fixed(part, signed = true) {
  const n = part.reduce((sum, b) => (sum << 8n) | BigInt(b), 0n);
  return signed ? BigInt.asIntN(8 * part.length, n) : n;
}

const zigzag = (n) => (n >> 1n) ^ -(n & 1n);

/** The length in front of a text or an array, -1 for null, and where it ends. */
function length(type, part) {
  const size = type.startsWith("varint") || type.startsWith("compact") ? unsigned(part) : null;
  if (type.startsWith("varint")) return [zigzag(size[0]), size[1]];
  if (size) return [size[0] - 1n, size[1]];
  const wide = type === "string" ? 2 : 4;
  return [fixed(part.subarray(0, wide)), wide];
}

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

/** Brings a node into view inside the box that scrolls it, below what sticks to its top. */
function within(node, box, stuck) {
  if (!node) return;
  const inner = node.getBoundingClientRect();
  const outer = box.getBoundingClientRect();
  const top = stuck ? stuck.getBoundingClientRect().bottom : outer.top;
  if (inner.top < top) box.scrollTop -= top - inner.top;
  else if (inner.bottom > outer.bottom) box.scrollTop += inner.bottom - outer.bottom;
}
