// Keys act only while the focus is inside, and a key that acts goes no further: the notebook around
// it would take `a`, `b` or `d d` for commands on its cells.

const OWN = new Set(["INPUT", "SELECT", "TEXTAREA"]);
const PRESS = new Set([" ", "Enter"]);

export function listen(app, root) {
  const acts = actions(app);
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.key === "Tab") return;
    event.stopPropagation();
    const { tagName } = event.target;
    if (event.key !== "Escape" && OWN.has(tagName) && !(event.shiftKey && event.key.startsWith("Arrow"))) return;
    if (tagName === "BUTTON" && PRESS.has(event.key)) return;
    const act = acts[event.key] ?? (/^[1-9]$/.test(event.key) ? () => app.press(Number(event.key)) : undefined);
    if (!act) return;
    event.preventDefault();
    app.guard(() => act(event));
  });
  for (const name of ["keyup", "keypress"]) root.addEventListener(name, (event) => event.stopPropagation());
}

function actions(app) {
  return {
    ArrowRight: (event) => app.onward(event.shiftKey),
    ArrowLeft: (event) => app.backward(event.shiftKey),
    Home: () => app.first(),
    End: () => app.end(),
    PageUp: () => app.peek(-1),
    PageDown: () => app.peek(1),
    " ": () => app.player.toggle(),
    "+": () => app.player.speed(1),
    "=": () => app.player.speed(1),
    "-": () => app.player.speed(-1),
    "−": () => app.player.speed(-1),
    f: () => app.toggleFaults(),
    b: () => app.pickBranch(),
    "[": () => app.nextBranch(-1),
    "]": () => app.nextBranch(1),
    a: () => app.toggleLanes(),
    w: () => app.toggleWhy(),
    "?": () => app.toggleHelp(),
    Escape: () => app.leave(),
  };
}
