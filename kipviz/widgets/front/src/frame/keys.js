// Keys act only while the focus is inside, and a key that acts goes no further: the notebook around
// it would take `a`, `b` or `d d` for commands on its cells.

import { target } from "../dom/dom.js";

/** @import { Frame } from "./frame.js" */

const OWN = new Set(["INPUT", "SELECT", "TEXTAREA"]);
const PRESS = new Set([" ", "Enter"]);
const SCROLL = new Set(["ArrowUp", "ArrowDown", "PageUp", "PageDown"]);
const DIGITS = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];

/**
 * Every key there is: what it is called, how the help shows it, and what it does.
 * @type {Array<{ keys?: string[], show?: string[], what?: string, act?: (app: Frame, event: KeyboardEvent) => void }>}
 */
export const KEYS = [
  { show: ["→", "←"], what: "one step of the flow, forward or back; with Shift one message" },
  { keys: ["ArrowRight", "l", "n"], act: (app, event) => app.onward(event.shiftKey) },
  { keys: ["ArrowLeft", "h", "p"], act: (app, event) => app.backward(event.shiftKey) },
  { keys: ["Home"], show: ["Home", "End"], what: "the first, the last step", act: (app) => app.first() },
  { keys: ["End"], act: (app) => app.end() },
  { keys: ["g"], show: ["g"], what: "go to a step: its number, or words of its title", act: (app) => app.askPlace() },
  { keys: ["PageUp"], show: ["PgUp", "PgDn"], what: "look further up in the diagram, and back; presenting: a step", act: (app) => app.page(-1) },
  { keys: ["PageDown"], act: (app) => app.page(1) },
  { keys: ["ArrowUp"], show: ["↑", "↓"], what: "select the message above, below", act: (app) => app.selectNext(-1) },
  { keys: ["ArrowDown"], act: (app) => app.selectNext(1) },
  { keys: [" ", "."], show: ["Space", "."], what: "play or pause", act: (app) => app.player.toggle() },
  { keys: ["+", "="], show: ["+", "−"], what: "faster, slower", act: (app) => app.player.speed(1) },
  { keys: ["-", "−"], act: (app) => app.player.speed(-1) },
  { keys: DIGITS, show: ["1", "…", "9"], what: "choose what happens next; in a comparison, go to a difference", act: (app, event) => app.press(Number(event.key)) },
  { keys: ["i"], show: ["i", "I"], what: "the next, the previous interesting step; in a comparison, difference", act: (app) => app.marked(1) },
  { keys: ["I"], act: (app) => app.marked(-1) },
  { keys: ["r"], show: ["r"], what: "verdicts side by side, in a comparison", act: (app) => app.toggleDrawer("verdicts") },
  { keys: ["f"], show: ["f"], what: "the list of faults", act: (app) => app.toggleFaults() },
  { keys: ["/"], show: ["/"], what: "find: search, filters, chapters, run until", act: (app) => app.toggleDrawer("find") },
  { keys: ["t"], show: ["t"], what: "the tree of branches", act: (app) => app.toggleDrawer("tree") },
  { keys: ["o"], show: ["o"], what: "what if: hold, skip, move, change a setting, continue at random", act: (app) => app.toggleDrawer("whatif") },
  { keys: ["m"], show: ["m"], what: "the diagram as a table", act: (app) => app.toggleDrawer("table") },
  { keys: ["Enter"], show: ["Enter"], what: "what can happen to the chosen message; else open or close the folded steps", act: (app) => app.enter() },
  { keys: ["z"], show: ["z"], what: "show every repeat, or fold them all", act: (app) => app.toggleFolds() },
  { keys: ["b"], show: ["b", "[", "]"], what: "branches: list, previous, next; presenting: b is a black screen", act: (app) => app.pickBranch() },
  { keys: ["["], act: (app) => app.nextBranch(-1) },
  { keys: ["]"], act: (app) => app.nextBranch(1) },
  { keys: ["{"], show: ["{", "}"], what: "the same step on the previous, the next branch", act: (app) => app.nextBranch(-1, true) },
  { keys: ["}"], act: (app) => app.nextBranch(1, true) },
  { keys: ["a"], show: ["a"], what: "all lanes, or only the first four", act: (app) => app.toggleLanes() },
  { keys: ["v"], show: ["v"], what: "views: pin and hide cards and rows", act: (app) => app.toggleDrawer("views") },
  { keys: ["d"], show: ["d"], what: "only what changed in this step, or everything", act: (app) => app.toggleOnly() },
  { keys: ["w"], show: ["w"], what: "why: rule, guards, clause, Kafka class and causes", act: (app) => app.toggleWhy() },
  { keys: ["e"], show: ["e", "c"], what: "what blocks this; highlight the steps that led here", act: (app) => app.toggleTrail() },
  { keys: ["c"], act: (app) => app.lightTrail() },
  { keys: ["x"], show: ["x"], what: "the bytes of the chosen message", act: (app) => app.toggleDrawer("bytes") },
  { keys: ["s"], show: ["s"], what: "share: link, files, pictures", act: (app) => app.toggleDrawer("share") },
  { keys: ["P"], show: ["P"], what: "presenter mode: large type, and a remote steps", act: (app) => app.present() },
  { keys: ["W"], show: ["W"], what: "a second window for the class; b is a black screen there", act: (app) => app.toggleWindow() },
  { keys: ["u"], show: ["u"], what: "the client's view beside the brokers' view", act: (app) => app.toggleDrawer("beliefs") },
  { keys: ["q"], show: ["q", "Q"], what: "a question about this step; Q asks at every step. Numbers answer, → reveals", act: (app) => app.ask(false) },
  { keys: ["Q"], act: (app) => app.ask(true) },
  { keys: ["?"], show: ["?"], what: "this list", act: (app) => app.toggleHelp() },
  { keys: ["Escape"], show: ["Esc"], what: "close what is open, then leave", act: (app) => app.leave() },
];

/**
 * @param {Frame} app
 * @param {HTMLElement} root
 */
export function listen(app, root) {
  const acts = new Map(KEYS.flatMap(({ keys = [], act }) => keys.map((key) => [key, act])));
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.key === "Tab") return;
    event.stopPropagation();
    if (app.uncover(event.key)) return event.preventDefault();
    const { tagName } = target(event);
    if (event.key !== "Escape" && OWN.has(tagName) && !(event.shiftKey && event.key.startsWith("Arrow"))) return;
    if (/^[BS]U/.test(tagName) && PRESS.has(event.key)) return; // of a button, a summary
    if (tagName === "SECTION" && SCROLL.has(event.key)) return; // the browser scrolls it
    const act = acts.get(event.key);
    if (!act) return;
    event.preventDefault();
    app.guard(() => act(app, event));
  });
  for (const name of ["keyup", "keypress"]) root.addEventListener(name, (event) => event.stopPropagation());
}
