// The chip of a small cluster: it stands where something is left out, says what that is, and opens it.

import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { SmallCluster } from "../src/frame/header.js";

const DESIGN = { name: "kafka", status: /** @type {const} */ ("shipped") };
const SMALL = { ...DESIGN, left_out: ["poll() returns one record", "one batch in flight"] };
const SAID = "This run is on the small cluster on which searches run. It leaves out of Kafka: poll() returns one record; one batch in flight.";

test("a run on its story's own cluster has no chip", () => {
  const { element, panel } = new SmallCluster(DESIGN);
  assert.deepEqual([element.hidden, panel.hidden], [true, true]);
});

test("the chip says what the small cluster leaves out, and opens it", () => {
  const { element, panel, words } = new SmallCluster(SMALL);
  assert.equal(element.textContent, "small cluster");
  assert.deepEqual([element.hidden, element.getAttribute("title"), words.textContent], [false, SAID, SAID]);
  assert.deepEqual([panel.hidden, element.getAttribute("aria-expanded")], [true, "false"]);
});

test("what is open is closed on a branch with the story's own cluster", () => {
  const small = new SmallCluster(SMALL);
  small.toggle();
  assert.deepEqual([small.panel.hidden, small.element.getAttribute("aria-expanded")], [false, "true"]);
  small.update(DESIGN);
  assert.deepEqual([small.element.hidden, small.panel.hidden, small.element.getAttribute("aria-expanded")], [true, true, "false"]);
});
