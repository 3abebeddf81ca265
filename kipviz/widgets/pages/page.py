"""A run as one HTML file, which steps without a kernel and without a network.

The file holds the built front end, the payload, and a replacement for the model that Jupyter gives to a widget.
`#step=12` at the end of its address opens it at that step, and stepping keeps the address current.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from collections.abc import Mapping
from pathlib import Path

import kipviz
from kipviz.checking.single_run.learner_record import NOTHING, Learned
from kipviz.views.page_parts import Shown
from kipviz.widgets.pages import payload as payloads
from kipviz.widgets.pages import text_view
from kipviz.widgets.pages.line import line_of
from kipviz.widgets.pages.open_question import flow_of, title_of
from kipviz.widgets.pages.score import Score

HERE = Path(__file__).parents[1]
MODULE = HERE / "static" / "stepper.js"
TEMPLATE = HERE / "page.html"

# A longer payload is compressed: a run of 1,000 steps has 2 MB, and a 20th of that when compressed.
PLAIN_MAX = 300_000

_EXPORT = re.compile(r"export\s*\{\s*([\w$]+) as default\s*\};?\s*$")
_MARKUP = re.compile(r"</script|<script|<!--", re.IGNORECASE)
_SCRIPT = re.compile(r'<script type="module">(.*?)</script>', re.DOTALL)
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_SHEET = re.compile(r"^// sheet (sha256-[A-Za-z0-9+/]{43}=)$", re.MULTILINE)
_PLACE = re.compile(r"\{\{(\w+)\}\}")


def page(payload: Shown, branch: int = 0, step: int = 0, learned: Learned = NOTHING) -> str:
    """Return the page of a stepper's payload, or of a comparison's; it opens at a step of a branch.

    `learned` are the reader's answers so far; the page shows them and continues from there.

    Raises:
        ValueError: if it is not a payload, in one sentence.
    """
    halves = [payload["left"], payload["right"]] if "left" in payload else [payload]
    for half in halves:
        payloads.read(half)
    code = MODULE.read_text(encoding="utf-8")
    module, entry = _module(code)
    sheet = sheet_of(code)
    kind, data = _embed_payload(payload)
    fields = {
        "version": kipviz.__version__,
        "title": _escape_text(title_of(payload, learned.revealed)),
        "words": "\n".join(_words(half, learned) for half in halves),
        "type": kind,
        "payload": data,
        "module": module,
        "entry": entry,
        "place": f"#step={step:d}&amp;branch={branch:d}",
        "learned": _escape_text(_encode_answers(payload, learned)),
    }
    template = TEMPLATE.read_text(encoding="utf-8")
    script = _SCRIPT.search(template)
    style = _STYLE.search(template)
    if script is None or style is None:
        raise RuntimeError(f"{TEMPLATE.name} needs a module and a style sheet")
    fields["script"] = _source(_fill_template(script[1], fields))
    fields["styles"] = f"'{_source(style[1])}' '{sheet}'"
    return _fill_template(template, fields)


def _encode_answers(payload: Shown, learned: Learned) -> str:
    """Return the reader's answers as the initial values of the page."""
    answers = dict(learned.answers)
    values: dict[str, object] = {"answers": answers}
    if answers or learned.revealed or learned.reached:
        branches = payload.get("branches", [])
        seen, reached = list(learned.revealed), list(learned.reached)
        score = Score(payload).update(branches, (0, 0), answers, seen, reached)
        values |= {"revealed": seen, "reached": reached, "score": score}
    return json.dumps(values, ensure_ascii=False)


def _fill_template(template: str, fields: Mapping[str, str]) -> str:
    """Fill all placeholders in one pass, so that the content of one field is not taken for a placeholder."""
    return _PLACE.sub(lambda place: fields[place[1]], template)


def sheet_of(code: str) -> str:
    """Return the hash of the one style sheet that the built module adds to a page."""
    found = _SHEET.search(code)
    if found is None:
        raise RuntimeError(
            f"{MODULE.name} needs the hash of its style sheet: run `make front` again"
        )
    return found[1]


def _source(script: str) -> str:
    """Return the hash of a script or style sheet that the page may use, for its Content-Security-Policy (CSP 3, 2.3.1)."""
    # A browser normalises every line ending to a line feed before it computes the hash.
    text = script.replace("\r\n", "\n").replace("\r", "\n")
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _module(code: str) -> tuple[str, str]:
    """Remove the export from the built module: inside a page its entry is used directly."""
    found = _EXPORT.search(code)
    if found is None or _MARKUP.search(code):
        raise RuntimeError(f"{MODULE.name} cannot be in a page: run `make front` again")
    return code[: found.start()], found[1]


def _embed_payload(payload: Shown) -> tuple[str, str]:
    """Return a payload as the text of a script element that no text in it can close."""
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    # Half a surrogate pair cannot be encoded in UTF-8; as a backslash escape it is valid JSON.
    data = text.encode("utf-8", "backslashreplace")
    if len(data) > PLAIN_MAX:
        packed = gzip.compress(data, mtime=0)
        return "application/gzip", base64.b64encode(packed).decode("ascii")
    return "application/json", data.decode("utf-8").replace("<", "\\u003c")


def _escape_text(text: str) -> str:
    """Escape a text for HTML; half a surrogate pair cannot be in a file and becomes a question mark."""
    return html.escape(text.encode("utf-8", "replace").decode("utf-8"))


def _words(payload: Shown, learned: Learned) -> str:
    """Return the text of the page for readers whose browser runs no script; what tells an open answer is folded."""
    line = line_of(payload, [], 0)
    design = payload["design"]
    title = title_of(payload, learned.revealed)
    told, rest = flow_of(payload, line, learned.revealed)
    end = text_view.verdict_words(line, line.last)
    head = [title, f"design {design['name']} ({design['status']})", *told]
    if not rest:
        return _preformat([*head, end])
    later = _preformat([payload["title"], *rest, end])
    return f"{_preformat(head)}<details><summary>What happens</summary>{later}</details>"


def _preformat(lines: list[str]) -> str:
    return f"<pre>{_escape_text(chr(10).join(lines))}</pre>"
