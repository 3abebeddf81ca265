"""How fast the stepper paints, steps, jumps, searches, plays and asks, in a real browser.

    python tests/bench/bench_browser.py [--json]

Script time is what our code holds the page for, from the key to the end of its handler; painted is
until the task after the next frame. Every walk is made several times and each of its steps counts
with its best time: what other programs on the machine cost is not ours. The last part opens a
scenario in JupyterLab, at once and behind a link that takes 150 ms there and back: stepping asks no
kernel, a new choice does. The figures are printed beside what they are meant to be; a slow machine
is no error.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Page, sync_playwright  # noqa: E402

from tests.browser.bare_page import wait_painted, write_page  # noqa: E402
from tests.browser.harness import (  # noqa: E402
    CHROMIUM_ARGUMENTS,
    Lab,
    find_chromium,
    write_notebook,
)
from tests.browser.slow_link import SlowLink  # noqa: E402
from tests.widgets import flow, polls  # noqa: E402

# milliseconds
STEP, JUMP_MAX, PAINT, TASK, CHOICE = 4.0, 50.0, 1000.0, 50.0, 100.0
LINK = 0.075  # seconds each way
DRAWERS = {"find": "/", "tree": "t", "table": "m", "bytes": "x", "why": "w"}
ROUNDS = 6

PRESS = """async ([keys, shift]) => {
  const root = document.querySelector(".kv");
  root.focus();
  const script = [], painted = [];
  for (const key of keys) {
    const event = new KeyboardEvent("keydown", { key, shiftKey: shift, bubbles: true, cancelable: true });
    const begin = performance.now();
    root.dispatchEvent(event);
    script.push(performance.now() - begin);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    painted.push(performance.now() - begin);
  }
  return { script, painted };
}"""
JUMP = """async (places) => {
  const script = [], painted = [];
  const slider = document.querySelector(".kv-slider");
  for (const place of places) {
    slider.value = place;
    const begin = performance.now();
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    script.push(performance.now() - begin);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    painted.push(performance.now() - begin);
  }
  return { script, painted };
}"""
SEARCH = """async (words) => {
  const script = [], painted = [];
  const box = document.querySelector(".kv-find-words");
  for (const value of words) {
    box.value = value;
    const begin = performance.now();
    box.dispatchEvent(new Event("input", { bubbles: true }));
    script.push(performance.now() - begin);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    painted.push(performance.now() - begin);
  }
  return { script, painted };
}"""
PLAY = """async (seconds) => {
  const tasks = [];
  const watch = new PerformanceObserver((list) => tasks.push(...list.getEntries().map((entry) => entry.duration)));
  watch.observe({ type: "longtask" });
  const root = document.querySelector(".kv");
  const press = (key) => root.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  for (let n = 0; n < 4; n++) press("+");
  const begin = window.model.get("step");
  press(" ");
  await new Promise((done) => setTimeout(done, seconds * 1000));
  if (document.querySelector(".kv-play").getAttribute("aria-pressed") === "true") press(" ");
  watch.disconnect();
  return { tasks, steps: window.model.get("step") - begin };
}"""
CHOOSE = """async (steps) => {
  const slider = document.querySelector(".kv-slider");
  const branch = document.querySelector(".kv-branch");
  const tick = () => new Promise((done) => { const { port1, port2 } = new MessageChannel(); port1.onmessage = done; port2.postMessage(0); });
  const taken = [];
  for (const step of steps) {
    branch.value = "0";
    branch.dispatchEvent(new Event("change", { bubbles: true }));
    slider.value = step;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    const free = [...document.querySelectorAll(".kv-list li:not(.kv-off):not(.kv-taken) button")];
    const button = free.find((one) => one.querySelector(".kv-tag-branch")?.hidden);
    if (!button) continue;
    const begin = performance.now();
    button.click();
    while (branch.value === "0" && performance.now() - begin < 5000) await tick();
    if (branch.value !== "0") taken.push(performance.now() - begin);
    await new Promise((done) => setTimeout(done, 100));
  }
  return taken;
}"""


def best(page: Page, script: str, argument: Any) -> dict[str, list[float]]:
    """Make the same walk several times; the best time of each of its steps."""
    runs = [page.evaluate(script, argument) for _ in range(ROUNDS)]
    return {
        name: [min(times) for times in zip(*(run[name] for run in runs), strict=True)]
        for name in ("script", "painted")
    }


def p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


def row(what: str, times: dict[str, list[float]], budget: float, *, worst: bool) -> dict[str, Any]:
    """One line of figures; `worst` says whether every single one has to be within the budget."""
    script, painted = times["script"], times["painted"]
    measured = max(script) if worst else p95(script)
    return {
        "what": what,
        "n": len(script),
        "p50": round(statistics.median(script), 2),
        "p95": round(p95(script), 2),
        "max": round(max(script), 2),
        "painted p95": round(p95(painted), 1),
        "budget": budget,
        "within": measured <= budget,
    }


def single(what: str, times: list[float], budget: float) -> dict[str, Any]:
    return row(what, {"script": times, "painted": times}, budget, worst=True)


def stepping(page: Page, folder: Path) -> list[dict[str, Any]]:
    """500 messages: first paint, and a step with each tool open."""
    payload = flow.long_payload(500)
    paints = []
    for _ in range(3):
        page.goto(write_page(folder / "500.html", payload, all_lanes=True).as_uri())
        paints.append(wait_painted(page))
    rows = [single("first paint, 500 messages", [min(paints)], PAINT)]
    page.evaluate(JUMP, [250])
    keys = ["ArrowRight"] * 100 + ["ArrowLeft"] * 100
    for name, key in {"": "", **DRAWERS}.items():
        if key:
            page.evaluate(PRESS, [[key], False])
        times = best(page, PRESS, [keys, True])
        rows.append(row(f"one message, {name or 'every card'} open", times, STEP, worst=False))
    keys = ["ArrowRight"] * 20 + ["ArrowLeft"] * 20
    rows.append(row("one big step", best(page, PRESS, [keys, False]), STEP, worst=False))
    return rows


def long_runs(page: Page, folder: Path) -> list[dict[str, Any]]:
    """10,000 events, one run in which everything changes and one that mostly polls."""
    rows = []
    for name, payload in {
        "busy": flow.long_payload(5000, 5000),
        "polling": polls.payload(10_000),
    }.items():
        page.goto(write_page(folder / f"{name}.html", payload, all_lanes=True).as_uri())
        rows.append(single(f"first paint, 10,000 events, {name}", [wait_painted(page)], PAINT))
        last = len(payload["steps"]) - 1
        places = [(k * 7919) % last for k in range(60)]
        rows.append(row(f"jump, {name}", best(page, JUMP, places), JUMP_MAX, worst=True))
        keys = ["ArrowRight"] * 60 + ["ArrowLeft"] * 60
        rows.append(row(f"one message, {name}", best(page, PRESS, [keys, True]), STEP, worst=False))
        page.evaluate(PRESS, [["/"], False])
        words = ["r", "re", "req", "sharefetch", "broker 5", "7"]
        rows.append(row(f"search, {name}", best(page, SEARCH, words), JUMP_MAX, worst=True))
        page.evaluate(SEARCH, [""])
        page.evaluate(PRESS, [["Escape"], False])
        played = page.evaluate(PLAY, 5)
        what = f"longest task while {played['steps']} steps play in 5 s, {name}"
        rows.append(single(what, played["tasks"] or [0.0], TASK))
    return rows


def asking(lab: Lab, link: str, port: int, budget: float) -> list[dict[str, Any]]:
    """A scenario in JupyterLab: steps without the kernel, and choices with it."""
    notebook = lab.open("bench.ipynb", port=port)
    try:
        notebook.run_all()
        notebook.page.locator(".kv-say").first.wait_for()
        keys = ["ArrowRight"] * 10 + ["ArrowLeft"] * 10
        times = best(notebook.page, PRESS, [keys, True])
        rows = [row(f"one message, JupyterLab {link}", times, STEP, worst=False)]
        taken = notebook.page.evaluate(CHOOSE, [4, 8, 12, 16, 20, 24, 28, 32])
        times = {"script": taken or [5000.0], "painted": taken or [5000.0]}
        rows.append(row(f"a new choice, JupyterLab {link}", times, budget, worst=False))
        return rows
    finally:
        notebook.close()


def main() -> int:
    if find_chromium() is None:
        print("kipviz: this bench needs Chromium: install Debian's chromium", file=sys.stderr)
        return 0
    with contextlib.ExitStack() as undo:
        play = undo.enter_context(sync_playwright())
        browser = play.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_ARGUMENTS)
        undo.callback(browser.close)
        name = undo.enter_context(tempfile.TemporaryDirectory())
        lab = undo.enter_context(Lab(Path(name), browser))
        folder = Path(name)
        page = lab.new_page()
        rows = [*stepping(page, folder), *long_runs(page, folder)]
        page.close()
        path = f"import sys; sys.path.insert(0, {str(ROOT)!r})"
        cell = f"{path}\nimport kipviz\nkipviz.open('kip-1289-share-commit')"
        write_notebook(folder / "bench.ipynb", cell)
        rows += asking(lab, "on this machine", lab.port, CHOICE)
        with SlowLink(lab.port, LINK) as link:
            late = 2000 * LINK
            rows += asking(lab, f"behind {late:.0f} ms", link.port, CHOICE + late)
    if "--json" in sys.argv:
        print(json.dumps(rows))
    else:
        for one in rows:
            print("  ".join(f"{name} {value}" for name, value in one.items()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
