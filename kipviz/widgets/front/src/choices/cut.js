// A network partition between two sets of hosts: every host is on one side, on the other, or on neither.

import { h, press, text } from "../dom/dom.js";

/** @import { App } from "../../types/app" */

const SIDES = ["–", "one side", "other side"];

/** @param {App} app */
export function cutForm(app) {
  /** @type {Array<{ id: string, side: HTMLSelectElement, row: HTMLElement }>} */
  const hosts = app.payload.lanes.map(({ id }) => {
    const side = h("select", { label: id, onchange: () => say() }, ...SIDES.map((words, value) => h("option", { value }, words)));
    return { id, side, row: h("label", id, side) };
  });
  /** @param {string} value */
  const on = (value) => hosts.filter(({ side }) => side.value === value).map(({ id }) => id).join(" ");
  const words = h("p.kv-quiet", { role: "status" });
  /** @returns {void} */
  const say = () => text(words, on("1") && on("2") ? `${on("1")} | ${on("2")} are partitioned` : "Choose both sides.");
  const rest = press("all other hosts there", () => {
    for (const { side } of hosts) if (side.value === "0") side.value = "2";
    say();
  });
  const go = press("partition", () => app.wish({ do: "cut", one: on("1"), other: on("2") }, "a network partition"));
  say();
  return h("details.kv-cut", h("summary", "Partition the network"), ...hosts.map(({ row }) => row), words, go, " ", rest);
}
