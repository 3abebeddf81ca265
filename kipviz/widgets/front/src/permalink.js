// A permalink, made in the page without a kernel: the same letters as kipviz/core/linkcode.py, which
// says what they mean. `chain` is the main line and the branches that lead to the cursor's line.

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const CHECK_BITS = 4;
export const WARNED = 1500;
export const LONGEST = 8000;

/** The link to a step of a line, or a reason why there is none. */
export function permalink(payload, lines, line, step) {
  const { chain, head, start } = chainOf(payload, lines, line);
  if (!head) throw new Error("This run is of no scenario of the library, so a link could not open it again. Save it as a trace file.");
  const parts = joined(chain);
  const taken = parts.flatMap((part) => part.steps);
  const written = taken.flatMap(({ pick }, n) => (typeof pick === "string" ? [[n, pick]] : []));
  const picks = taken.map(({ pick }) => (typeof pick === "number" ? pick : 0));
  const costs = [0, 1, 2, 3, 4, 5, 6, 7].map((k) => picks.reduce((sum, pick) => sum + (pick >> k) + 1 + k, 0));
  const k = costs.indexOf(Math.min(...costs));
  const body = [
    ...text(head),
    bytesOf(start)[0],
    ...bytesOf(step ? line.steps[step].mark : start),
    ...number(step),
    ...number(parts.length),
    ...parts.flatMap((part) => [...number(part.at), ...number(part.steps.length)]),
    ...number(written.length),
    ...written.flatMap(([place, action]) => [...number(place), ...text(action)]),
    k,
    ...bits(picks, taken, k),
  ];
  const sum = crc32(body);
  const link = `kv1.${letters([24, 16, 8, 0].map((shift) => (sum >>> shift) & 255).concat(body))}`;
  if (link.length > LONGEST) throw new Error(`This run is too long for a link (${link.length} letters, and ${LONGEST} travel safely). Save it as a trace file.`);
  return link;
}

/** The first line of a run under other settings stands for the whole of that run. */
function chainOf(payload, lines, line) {
  const told = (id) => lines.branches.get(id) ?? {};
  const tree = (id) => told(id).tree ?? 0;
  const chain = [];
  let one = line;
  for (; one.id !== 0 && tree(one.parent) === tree(line.id); one = lines.get(one.parent ?? 0)) chain.unshift({ at: one.at, steps: one.steps.slice(one.at + 1) });
  const { head, start } = one.id === 0 ? { head: payload.head, start: one.steps[0].mark } : told(one.id);
  return { chain: [{ at: 0, steps: one.steps.slice(1) }, ...chain], head, start };
}

/** A branch that leaves before its parent's own steps leaves the grandparent; one at its end goes on. */
function joined(chain) {
  const [first, ...rest] = chain;
  const parts = [first];
  const end = (part) => part.at + part.steps.length;
  for (const part of rest) {
    while (parts.length > 1 && part.at <= parts.at(-1).at) parts.pop();
    const last = parts.at(-1);
    if (part.at === end(last)) parts[parts.length - 1] = { at: last.at, steps: last.steps.concat(part.steps) };
    else parts.push(part);
  }
  return parts;
}

function bits(picks, taken, k) {
  const low = (value, size) => (size ? value.toString(2).padStart(size, "0") : "");
  let ones = picks.map((pick) => `${"1".repeat(pick >> k)}0${low(pick & ((1 << k) - 1), k)}`).join("");
  ones += taken.map(({ mark }) => low(bytesOf(mark)[0] >> CHECK_BITS, CHECK_BITS)).join("");
  return (ones.match(/.{1,8}/g) ?? []).map((byte) => Number.parseInt(byte.padEnd(8, "0"), 2));
}

function number(value) {
  const out = [];
  for (; value > 127; value = Math.floor(value / 128)) out.push((value & 127) | 128);
  return [...out, value];
}

function text(words) {
  const data = new TextEncoder().encode(words);
  return [...number(data.length), ...data];
}

/** The eight bytes of a step's mark; a payload made elsewhere may have none. */
function bytesOf(mark) {
  const ones = [...(mark || "AAAAAAAAAAA")].map((letter) => LETTERS.indexOf(letter).toString(2).padStart(6, "0")).join("");
  return ones.match(/.{8}/g).map((byte) => Number.parseInt(byte, 2));
}

function letters(data) {
  let out = "";
  for (let n = 0; n < data.length; n += 3) {
    const three = (data[n] << 16) | ((data[n + 1] ?? 0) << 8) | (data[n + 2] ?? 0);
    out += [18, 12, 6, 0].slice(0, Math.min(3, data.length - n) + 1).map((shift) => LETTERS[(three >> shift) & 63]).join("");
  }
  return out;
}

function crc32(data) {
  let sum = -1;
  for (const byte of data) {
    sum ^= byte;
    for (let n = 0; n < 8; n++) sum = (sum >>> 1) ^ (0xedb88320 & -(sum & 1));
  }
  return ~sum >>> 0;
}
