// Keys act only while the focus is inside, and a key that acts goes no further: the notebook around
// it would take `a`, `b` or `d d` for commands on its cells.

const OWN = new Set(["INPUT", "SELECT", "TEXTAREA"]);
const PRESS = new Set([" ", "Enter"]);
const DIGITS = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];

/** Every key there is: what it is called, how the help shows it, and what it does. */
export const KEYS = [
  { show: ["→", "←"], what: "one step of the flow, forward or back; with Shift one message" },
  { keys: ["ArrowRight"], act: (app, event) => app.onward(event.shiftKey) },
  { keys: ["ArrowLeft"], act: (app, event) => app.backward(event.shiftKey) },
  { keys: ["Home"], show: ["Home", "End"], what: "the first, the last step", act: (app) => app.first() },
  { keys: ["End"], act: (app) => app.end() },
  { keys: ["PageUp"], show: ["PgUp", "PgDn"], what: "look further up in the diagram, and back", act: (app) => app.peek(-1) },
  { keys: ["PageDown"], act: (app) => app.peek(1) },
  { keys: [" "], show: ["Space"], what: "play or pause", act: (app) => app.player.toggle() },
  { keys: ["+", "="], show: ["+", "−"], what: "faster, slower", act: (app) => app.player.speed(1) },
  { keys: ["-", "−"], act: (app) => app.player.speed(-1) },
  { keys: DIGITS, show: ["1", "…", "9"], what: "choose what happens next; in a comparison, go to a difference", act: (app, event) => app.press(Number(event.key)) },
  { keys: ["i"], show: ["i", "I"], what: "the next, the previous difference of two runs", act: (app) => app.marked(1) },
  { keys: ["I"], act: (app) => app.marked(-1) },
  { keys: ["r"], show: ["r"], what: "verdicts side by side, in a comparison", act: (app) => app.toggleDrawer("verdicts") },
  { keys: ["f"], show: ["f"], what: "the list of faults", act: (app) => app.toggleFaults() },
  { keys: ["b"], show: ["b", "[", "]"], what: "branches: list, previous, next", act: (app) => app.pickBranch() },
  { keys: ["["], act: (app) => app.nextBranch(-1) },
  { keys: ["]"], act: (app) => app.nextBranch(1) },
  { keys: ["a"], show: ["a"], what: "all lanes, or only the first four", act: (app) => app.toggleLanes() },
  { keys: ["w"], show: ["w"], what: "why: rule, guards, clause, Kafka class", act: (app) => app.toggleWhy() },
  { keys: ["s"], show: ["s"], what: "share: link, files, pictures", act: (app) => app.toggleDrawer("share") },
  { keys: ["?"], show: ["?"], what: "this list", act: (app) => app.toggleHelp() },
  { keys: ["Escape"], show: ["Esc"], what: "close what is open, then leave", act: (app) => app.leave() },
];

export function listen(app, root) {
  const acts = new Map(KEYS.flatMap(({ keys = [], act }) => keys.map((key) => [key, act])));
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.key === "Tab") return;
    event.stopPropagation();
    const { tagName } = event.target;
    if (event.key !== "Escape" && OWN.has(tagName) && !(event.shiftKey && event.key.startsWith("Arrow"))) return;
    if (tagName === "BUTTON" && PRESS.has(event.key)) return;
    const act = acts.get(event.key);
    if (!act) return;
    event.preventDefault();
    app.guard(() => act(app, event));
  });
  for (const name of ["keyup", "keypress"]) root.addEventListener(name, (event) => event.stopPropagation());
}
