// Reads a stored run: kipviz/site/packing.py says what the two files hold and how columns are written.
const ABSENT = "~";

/** @import { Payload } from "../../widgets/front/types/payload" */
/** @import { Rest } from "../../widgets/front/types/site" */

/**
 * @param {unknown} value
 * @returns {unknown}
 */
export function unpack(value) {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(unpack);
  const { "~d": differences, "~o": objects, "~l": lists } = /** @type {{ "~d"?: number[], "~o"?: Array<[string, unknown]>, "~l"?: unknown[] }} */ (value);
  if (differences) {
    let sum = 0;
    return differences.map((difference) => (sum += difference));
  }
  if (objects) {
    const columns = objects.map(([name, column]) => /** @type {[string, unknown[]]} */ ([name, unpack(column)]));
    return columns[0][1].map((_, n) => Object.fromEntries(columns.filter(([, column]) => column[n] !== ABSENT).map(([name, column]) => [name, column[n]])));
  }
  if (lists) {
    const columns = /** @type {unknown[][]} */ (lists.map(unpack));
    return columns[0].map((_, n) => columns.map((column) => column[n]));
  }
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, unpack(each)]));
}

/**
 * The whole run: the first part with what was left out in its places, in the order in which the model writes it.
 * @param {Payload} first
 * @param {Rest} rest
 * @returns {Payload}
 */
export function whole(first, { bytes, ...rest }) {
  const messages = first.messages.map((message, n) => ("bytes" in message ? { ...message, bytes: bytes[n] } : message));
  return { ...first, ...rest, messages };
}
