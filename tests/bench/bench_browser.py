"""How fast the stepper steps, jumps and first paints in a real browser; exit status 1 when over budget.

    python tests/bench/bench_browser.py [--json]

Script time is what our code holds the page for, from the key to the end of its handler; painted is
until the task after the next frame. Every walk is made several times and each of its steps counts
with its best time: what other programs on the machine cost is not ours. No kernel takes part:
stepping never asks one.
"""

from __future__ import annotations

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
from tests.browser.harness import CHROMIUM_ARGUMENTS, find_chromium  # noqa: E402
from tests.widgets import flow  # noqa: E402

# milliseconds: p95 of script time per step, worst jump, first paint
BUDGETS = {"step": 4.0, "jump": 50.0, "paint": 1000.0}

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


ROUNDS = 6


def best(page: Page, script: str, argument: Any) -> dict[str, list[float]]:
    """Make the same walk several times; the best time of each of its steps."""
    runs = [page.evaluate(script, argument) for _ in range(ROUNDS)]
    return {
        name: [min(times) for times in zip(*(run[name] for run in runs), strict=True)]
        for name in ("script", "painted")
    }


def p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


def row(what: str, times: dict[str, list[float]], budget: float, key: str) -> dict[str, Any]:
    script, painted = times["script"], times["painted"]
    measured = max(script) if key == "jump" else p95(script)
    return {
        "what": what,
        "n": len(script),
        "script p50": round(statistics.median(script), 2),
        "script p95": round(p95(script), 2),
        "script max": round(max(script), 2),
        "painted p95": round(p95(painted), 1),
        "budget": budget,
        "within": measured <= budget,
    }


def measure(page: Page, folder: Path) -> list[dict[str, Any]]:
    rows = []
    for messages, others in ((500, 0), (2500, 2500)):
        payload = flow.long_payload(messages, others)
        page.goto(write_page(folder / f"{messages}.html", payload, all_lanes=True).as_uri())
        first = wait_painted(page)
        size = f"{messages} messages, {len(payload['steps'])} steps"
        if messages == 500:
            paint = {"script": [first], "painted": [first]}
            rows.append(row(f"first paint, {size}", paint, BUDGETS["paint"], "jump"))
        keys = ["ArrowRight"] * 100 + ["ArrowLeft"] * 100
        page.evaluate(JUMP, [len(payload["steps"]) // 2])
        rows.append(
            row(f"one message, {size}", best(page, PRESS, [keys, True]), BUDGETS["step"], "step")
        )
        keys = ["ArrowRight"] * 20 + ["ArrowLeft"] * 20
        rows.append(
            row(f"one big step, {size}", best(page, PRESS, [keys, False]), BUDGETS["step"], "step")
        )
        last = len(payload["steps"]) - 1
        places = [(k * 7919) % last for k in range(60)]
        rows.append(row(f"jump, {size}", best(page, JUMP, places), BUDGETS["jump"], "jump"))
    return rows


def main() -> int:
    chromium = find_chromium()
    if chromium is None:
        print("kipviz: this bench needs Chromium: install Debian's chromium", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        rows = measure(page, Path(folder))
        browser.close()
    if "--json" in sys.argv:
        print(json.dumps(rows))
    else:
        for one in rows:
            print("  ".join(f"{name} {value}" for name, value in one.items()))
    return 0 if all(one["within"] for one in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
