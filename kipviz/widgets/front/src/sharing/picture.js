// The diagram as a picture of its own: lanes above, the sentence below, every style written into the
// drawn things, so that it looks the same in a slide or a ticket.

import { h, need, s } from "../dom/dom.js";
import { fit, widthOf } from "../dom/words.js";

/** @import { App } from "../../types/app" */

const FONT = '"Inter", system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const HEAD = 74;
const LINE = 21;
const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "paint-order", "opacity", "fill-opacity", "text-anchor", "font-family", "font-size", "font-weight", "display", "visibility"];
const SCALE = 2;

/**
 * What is on the screen, as the text of an SVG with its size.
 * @param {App} app
 */
export function picture(app) {
  const { sequence, root } = app;
  const width = sequence.paperWidth;
  const surface = getComputedStyle(root);
  const ink = plain(surface.color);
  const words = wrapped(`${app.at}. ${app.line.steps[app.at].sentence}`, `560 15px ${FONT}`, width - 32);
  const height = HEAD + sequence.paperHeight + words.length * LINE + 24;
  /**
   * @param {number} x
   * @param {number} y
   * @param {string} content
   * @param {number} size
   * @param {number} weight
   * @param {string} [anchor]
   */
  const label = (x, y, content, size, weight, anchor = "middle") => s("text", { x, y, fill: ink, "font-family": FONT, "font-size": size, "font-weight": weight, "text-anchor": anchor }, content);
  const paper = inlined(sequence.svg);
  for (const [name, value] of Object.entries({ x: 0, y: HEAD, width, height: sequence.paperHeight })) paper.setAttribute(name, String(value));
  const heads = sequence.lanes.flatMap((lane) => {
    const room = Math.min(sequence.gap - 4, 180);
    const x = need(sequence.x.get(lane.id), lane.id);
    return [label(x, 50, fit(lane.title, `660 13px ${FONT}`, room), 13, 660), label(x, 66, fit(lane.sub ?? "", `400 11px ${FONT}`, room), 11, 400)];
  });
  const drawn = s(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" },
    s("title", `${app.title}, step ${app.at}`),
    s("rect", { width, height, fill: plain(surface.backgroundColor) }),
    label(16, 24, fit(`${app.title} · ${app.payload.design?.name ?? ""}`, `680 15px ${FONT}`, width - 32), 15, 680, "start"),
    ...heads,
    paper,
    ...words.map((line, n) => label(16, HEAD + sequence.paperHeight + 24 + n * LINE, line, 15, 560, "start")),
  );
  return { text: new XMLSerializer().serializeToString(drawn).replace(CONTROL, "\uFFFD"), width, height };
}

/**
 * The picture as a PNG, at twice its size.
 * @param {{ text: string, width: number, height: number }} told
 */
export async function rastered({ text, width, height }) {
  const image = h("img", { src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}` });
  await image.decode();
  const canvas = h("canvas", { width: width * SCALE, height: height * SCALE });
  need(canvas.getContext("2d"), "a canvas").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, failed) => canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("the browser made no picture"))), "image/png"));
}

// What an XML file may not hold, not even as a code.
const CONTROL = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g;

/**
 * A copy whose look does not depend on a style sheet.
 * @param {SVGSVGElement} original
 */
function inlined(original) {
  const copy = /** @type {SVGSVGElement} */ (original.cloneNode(true));
  const twins = [...copy.querySelectorAll("*")];
  [.../** @type {NodeListOf<SVGElement>} */ (original.querySelectorAll("*"))].forEach((node, n) => {
    const style = getComputedStyle(node);
    const twin = twins[n];
    const moved = node.style.transform.replaceAll("px", "");
    twin.removeAttribute("style");
    twin.removeAttribute("class");
    if (node.closest("defs") === null || node.tagName === "rect")
      for (const name of STYLES) twin.setAttribute(name, plain(style.getPropertyValue(name)));
    if (moved) twin.setAttribute("transform", moved);
  });
  for (const name of ["style", "class", "role"]) copy.removeAttribute(name);
  copy.setAttribute("overflow", "hidden");
  return copy;
}

/**
 * A colour that every SVG program knows: browsers mix colours in a newer notation.
 * @param {string} value
 */
function plain(value) {
  return value.replace(/color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)(?: \/ ([\d.]+))?\)/g, (_, r, g, b, a) => {
    const [red, green, blue] = [r, g, b].map((part) => Math.round(Number(part) * 255));
    return a === undefined ? `rgb(${red}, ${green}, ${blue})` : `rgba(${red}, ${green}, ${blue}, ${a})`;
  });
}

/**
 * @param {string} words
 * @param {string} font
 * @param {number} width
 */
function wrapped(words, font, width) {
  const lines = [""];
  for (const word of words.split(/\s+/)) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (widthOf(longer, font) <= width || !lines.at(-1)) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}
