// kipviz stepper: an anywidget. The trace is sent once; stepping never asks the kernel.

import { Compare } from "./compare.js";
import { h, reason } from "./dom/dom.js";
import { sheet } from "./styles/sheet.js";
import { Stepper } from "./stepper.js";

/** @import { Frame } from "./frame/frame.js" */
/** @import { Model } from "../types/page" */

const FORMAT = 1;

/** @param {import("../types/page").Model} model */
function open(model) {
  const payload = model.get("payload");
  if (payload?.format !== FORMAT) {
    throw new Error(`this stepper reads format ${FORMAT}, the trace has format ${payload?.format}`);
  }
  return "left" in payload ? new Compare(model, payload) : new Stepper(model, payload);
}

/**
 * What stands in for a stepper that cannot be drawn: the reason, as text.
 * @param {unknown} error
 */
function broken(error) {
  const words = h("p", `The stepper could not be drawn: ${reason(error)}`);
  return h("div.kv", h("style", sheet), h("div.kv-error", { role: "alert" }, h("span.kv-sign", { "aria-hidden": "true" }, "⚠"), words));
}

/** @param {{ model: Model, el: HTMLElement }} told */
function render({ model, el }) {
  /** @type {Frame | null} */
  let frame = null;
  const draw = () => {
    frame?.close();
    frame = null;
    try {
      frame = open(model);
      el.replaceChildren(frame.root);
    } catch (error) {
      console.error("kipviz:", error);
      el.replaceChildren(broken(error));
    }
  };
  draw();
  model.on("change:payload", draw);
  return () => {
    model.off("change:payload", draw);
    frame?.close();
  };
}

export default { render };
