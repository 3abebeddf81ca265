"""The stepper on a page of its own: the built module, and a model that does what Jupyter's does.

Most of what the stepper does needs no kernel, so most tests need no JupyterLab: this page is a file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

MODULE = Path(__file__).parents[2] / "kipviz" / "widgets" / "static" / "stepper.js"
THEMES = {
    "light": "--jp-layout-color1:#fff;--jp-content-font-color1:rgba(0,0,0,.87)",
    "dark": "--jp-layout-color1:#212121;--jp-content-font-color1:#fff",
    "": "",
}
PAGE = """<!doctype html><html lang="en" style="{style}"><meta charset="utf-8"><title>stepper</title>
<body style="margin:8px"><script id="module" type="text/plain">{module}</script>
<script id="state" type="application/json">{state}</script>
<script>
const state = JSON.parse(document.getElementById("state").textContent);
const heard = {{}};
window.sent = [];
window.model = {{
  state,
  get: (name) => state[name],
  set(name, value) {{
    if (state[name] === value) return;
    state[name] = value;
    for (const listener of [...(heard["change:" + name] ?? [])]) listener();
  }},
  save_changes() {{
    const {{ step, branch, command, answers, selection }} = state;
    window.sent.push(structuredClone({{ step, branch, command, answers, selection }}));
  }},
  on(name, listener) {{ (heard[name] ??= []).push(listener); }},
  off(name, listener) {{ heard[name] = (heard[name] ?? []).filter((other) => other !== listener); }},
}};
const source = new Blob([document.getElementById("module").textContent], {{ type: "text/javascript" }});
const begin = performance.now();
import(URL.createObjectURL(source)).then((module) => {{
  const el = document.body.appendChild(document.createElement("div"));
  window.cleanup = module.default.render({{ model: window.model, el }});
  requestAnimationFrame(() => setTimeout(() => {{ window.painted = performance.now() - begin; }}));
}});
</script></body></html>"""


def state_of(payload: dict[str, Any], **traits: Any) -> dict[str, Any]:
    """What the synced traits are when a stepper is first drawn."""
    blank = {"branches": [], "step": 0, "branch": 0, "selection": {}, "answers": {}}
    return {
        "payload": payload,
        **blank,
        "all_lanes": False,
        "presenter": False,
        "command": {},
        "answer": {},
        **traits,
    }


def write_page(
    path: Path, payload: dict[str, Any], *, theme: str = "", module: Path = MODULE, **traits: Any
) -> Path:
    """Write a page that shows a payload; nothing in it can end its script elements early."""
    script = module.read_text(encoding="utf-8")
    assert "</script" not in script
    state = json.dumps(state_of(payload, **traits)).replace("<", "\\u003c")
    path.write_text(PAGE.format(style=THEMES[theme], module=script, state=state), encoding="utf-8")
    return path


def wait_painted(page: Page) -> float:
    """Wait for the first picture; gives the milliseconds it took."""
    page.wait_for_function("() => window.painted !== undefined")
    return page.evaluate("() => window.painted")


def step_named(payload: dict[str, Any], title: str) -> int:
    """Return the number of the first step with a title: numbers move when a story gets a step more."""
    return next(k for k, step in enumerate(payload["steps"]) if step["title"] == title)


def step_of(page: Page) -> int:
    """The small step that the stepper stands on."""
    return page.evaluate("() => window.model.get('step')")


def no_error(page: Page) -> bool:
    """Whether the stepper says that nothing went wrong."""
    return page.locator(".kv-error").is_hidden()
