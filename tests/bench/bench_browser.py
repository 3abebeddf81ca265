"""How fast the stepper paints, steps, jumps, searches, plays and asks, in a real browser.

    python tests/bench/bench_browser.py [--json] [--beside FOLDER]

Script time is what our code holds the page for, from the key to the end of its handler; painted is
until the task after the next frame. Every walk is made several times and each of its steps counts
with its best time: what other programs on the machine cost is not ours. The last part opens a
scenario in JupyterLab, at once and behind a link that takes 150 ms there and back: stepping asks no
kernel, a new choice does. The figures are printed beside what they are meant to be; a slow machine
is no error.

With --beside, FOLDER holds another built stepper.js, as of an older commit. Both draw the same
payloads in one Chromium, in turns, and every line says what ours takes, what the other takes and
how many times as long ours is. Times are those of the page's own thread, so that a busy machine
changes them little; of several rounds the best one counts.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright  # noqa: E402

from tests.browser.bare_page import MODULE, wait_painted, write_page  # noqa: E402
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


# What Chromium says of a page's thread, and what we call it.
PARTS = {
    "ScriptDuration": "script",
    "RecalcStyleDuration": "style",
    "LayoutDuration": "layout",
    "TaskDuration": "all",
}
WIDTHS = (
    1280,
    900,
)  # of a window, and of a notebook beside the file browser: three columns and two


class Side:
    """One of two bundles that are measured in turns, on a page of its own."""

    def __init__(self, browser: Browser, module: Path, width: int) -> None:
        self.module = module
        self.page = browser.new_page(viewport={"width": width, "height": 800})
        self.session: CDPSession = self.page.context.new_cdp_session(self.page)
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def milliseconds(self) -> dict[str, float]:
        """The milliseconds of the page's thread so far, by part."""
        told = {
            one["name"]: one["value"]
            for one in self.session.send("Performance.getMetrics")["metrics"]
        }
        return {part: told[name] * 1000 for name, part in PARTS.items()}

    def paint(self, path: Path) -> dict[str, float]:
        """What the first picture of a page takes."""
        self.page.bring_to_front()
        self.page.goto("about:blank")
        before = self.milliseconds()
        self.page.goto(path.as_uri())
        wait_painted(self.page)
        after = self.milliseconds()
        # A page that is loaded counts from nothing, unless it has the renderer of the page before.
        return {part: after[part] - min(before[part], after[part]) for part in after}

    def walk(self, script: str, argument: Any, count: int) -> dict[str, float]:
        """What each step of a walk takes."""
        self.page.bring_to_front()
        before = self.milliseconds()
        self.page.evaluate(script, argument)
        after = self.milliseconds()
        return {part: (after[part] - before[part]) / count for part in after}


def ratios(
    what: str, ours: list[dict[str, float]], others: list[dict[str, float]]
) -> dict[str, Any]:
    """One line: the best round of each part of both sides, and how many times as long ours is."""
    line: dict[str, Any] = {"what": what}
    for part in PARTS.values():
        mine, other = (min(one[part] for one in rounds) for rounds in (ours, others))
        line[part] = f"{mine:.2f} : {other:.2f} = {mine / other:.2f}"
    return line


def beside(browser: Browser, folder: Path, other: Path, rounds: int) -> list[dict[str, Any]]:
    """First paint, a message, a big step and a jump of both bundles, in turns."""
    payloads = {
        "500 messages": flow.long_payload(500),
        "10,000 events, busy": flow.long_payload(5000, 5000),
        "10,000 events, polling": polls.payload(10_000),
    }
    rows = []
    for width in WIDTHS:
        sides = [Side(browser, module, width) for module in (MODULE, other)]
        for number, (name, payload) in enumerate(payloads.items()):
            if number and width != WIDTHS[0]:
                continue
            files = [
                write_page(
                    folder / f"{number}-{n}.html", payload, module=side.module, all_lanes=True
                )
                for n, side in enumerate(sides)
            ]
            place = f"{name}, {width} px"
            again = max(2, rounds // 2) if number else 2 * rounds
            paints = [
                [side.paint(file) for side, file in zip(sides, files, strict=True)]
                for _ in range(again)
            ]
            rows.append(ratios(f"first paint, {place}", *map(list, zip(*paints, strict=True))))
            last = len(payload["steps"]) - 1
            for side in sides:
                side.page.evaluate(JUMP, [last // 2])
            walks: dict[str, tuple[str, Any, int]] = {
                "one message": (PRESS, [["ArrowRight"] * 50 + ["ArrowLeft"] * 50, True], 100),
                "one big step": (PRESS, [["ArrowRight"] * 15 + ["ArrowLeft"] * 15, False], 30),
                "jump": (JUMP, [(k * 7919) % last for k in range(30)], 30),
            }
            for what, walk in walks.items():
                both = [[side.walk(*walk) for side in sides] for _ in range(rounds)]
                rows.append(ratios(f"{what}, {place}", *map(list, zip(*both, strict=True))))
        for side in sides:
            side.page.close()
    return rows


def alone(browser: Browser, folder: Path) -> list[dict[str, Any]]:
    """Every figure of this bundle, with the budgets."""
    with Lab(folder, browser) as lab:
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
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description="How fast the stepper is in a real browser.")
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    parser.add_argument(
        "--beside", type=Path, metavar="FOLDER", help="where another built stepper.js is"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of each walk, with --beside")
    asked = parser.parse_args()
    other = asked.beside and asked.beside / "stepper.js"
    if other and not other.is_file():
        parser.error(f"there is no {other}")
    if find_chromium() is None:
        print("kipviz: this bench needs Chromium: install Debian's chromium", file=sys.stderr)
        return 0
    with contextlib.ExitStack() as undo:
        play = undo.enter_context(sync_playwright())
        browser = play.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_ARGUMENTS)
        undo.callback(browser.close)
        folder = Path(undo.enter_context(tempfile.TemporaryDirectory()))
        rows = beside(browser, folder, other, asked.rounds) if other else alone(browser, folder)
    if asked.json:
        print(json.dumps(rows))
    else:
        for one in rows:
            print("  ".join(f"{name} {value}" for name, value in one.items()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
