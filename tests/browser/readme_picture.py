"""Draw the picture of the README: `python -m tests.browser.readme_picture`, with Chromium.

Beside the picture stands what it was drawn from; `test_readme_picture` compares that with the
story and the front end as they are now.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from kipviz.widgets.lab import open_run
from kipviz.widgets.pages.page import page
from kipviz.widgets.pages.payload import fingerprint
from kipviz.widgets.stepping.stepper import FRONT

FOLDER = Path(__file__).parents[2] / "notebooks" / "images"
PICTURE = FOLDER / "stepper.png"
MADE_FROM = FOLDER / "stepper.json"
SCENARIO, DESIGN, TITLE = "kip-1289-lock-expiry", "finding-D", "the lock of src-0@100 expires"


def made_from() -> dict[str, Any]:
    """Say what the picture shows now: the run, the step, and which front end draws it."""
    run = open_run(SCENARIO, DESIGN).go_to(TITLE)
    return {
        "made by": "python -m tests.browser.readme_picture",
        "scenario": SCENARIO,
        "design": DESIGN,
        "step": run.step,
        "payload": fingerprint(run.payload),
        "front": FRONT.read_text(encoding="utf-8").splitlines()[2],
    }


def draw() -> None:
    """Draw the picture at 1,280 px in light colours."""
    from playwright.sync_api import sync_playwright

    from tests.browser.harness import CHROMIUM_ARGUMENTS, find_chromium

    wanted = made_from()
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "page.html"
        file.write_text(page(open_run(SCENARIO, DESIGN).payload), encoding="utf-8")
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=CHROMIUM_ARGUMENTS
        )
        sheet = browser.new_page(viewport={"width": 1280, "height": 720}, color_scheme="light")
        sheet.goto(f"{file.as_uri()}#step={wanted['step']}")
        sheet.get_by_text("message 33 of", exact=False).first.wait_for()
        sheet.screenshot(path=str(PICTURE))
        browser.close()
    MADE_FROM.write_text(json.dumps(wanted, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    draw()
