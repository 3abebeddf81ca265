// Reads a stored run: kipviz/site/packing.py says what the two files hold and how columns are written.
const ABSENT = "~";

export function unpack(value) {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(unpack);
  if (value["~d"]) {
    let sum = 0;
    return value["~d"].map((difference) => (sum += difference));
  }
  if (value["~o"]) {
    const columns = value["~o"].map(([name, column]) => [name, unpack(column)]);
    return columns[0][1].map((_, n) => Object.fromEntries(columns.filter(([, column]) => column[n] !== ABSENT).map(([name, column]) => [name, column[n]])));
  }
  if (value["~l"]) {
    const columns = value["~l"].map(unpack);
    return columns[0].map((_, n) => columns.map((column) => column[n]));
  }
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, unpack(each)]));
}

/** The whole run: the first part with what was left out in its places, in the order in which the model writes it. */
export function whole(first, { bytes, ...rest }) {
  const messages = first.messages.map((message, n) => ("bytes" in message ? { ...message, bytes: bytes[n] } : message));
  return { ...first, ...rest, messages };
}
