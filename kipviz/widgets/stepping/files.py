"""The files that the page requests from the kernel: a run as a page, a trace file, a test, a diagram, and others."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from kipviz.checking.single_run import runs
from kipviz.checking.single_run.learner_record import NOTHING, Learned
from kipviz.checking.tla.itf import itf_of
from kipviz.views.exports.plantuml import plantuml
from kipviz.views.exports.pytest_source import pytest_source
from kipviz.views.exports.shiviz import shiviz
from kipviz.views.page_parts import Shown
from kipviz.views.payload import payload as told_line
from kipviz.widgets.pages.page import page

if TYPE_CHECKING:
    from kipviz.widgets.stepping.lines import Lab

KINDS = {
    "html": "text/html",
    "trace": "application/json",
    "pytest": "text/x-python",
    "plantuml": "text/plain",
    "itf": "application/json",
    "shiviz": "text/plain",
}


class MadeFile(TypedDict):
    """A file of a run, and its media type."""

    name: str
    type: str
    text: str


class SentFile(MadeFile):
    """The file that the page asked for in its request `id`."""

    id: int | None


class NoFile(TypedDict):
    """Why there is no file for the request `id`."""

    id: int | None
    error: str


def file_of(
    what: str,
    payload: Shown,
    branch: int,
    step: int,
    lab: Lab | None,
    learned: Learned = NOTHING,
) -> MadeFile:
    """Return a file's name, type and text; `payload` has all branches, `lab` the model if there is one.

    Raises:
        ValueError: if the kind of file is unknown, or needs a model and there is none.
    """
    if not isinstance(what, str) or what not in KINDS:
        raise ValueError(f"there is no file of the kind {what!r}; there are {', '.join(KINDS)}")
    stem = f"{payload.get('scenario') or 'run'}-step-{step}"
    if what == "html":
        return _file(f"{stem}.html", what, page(payload, branch, step, learned))
    if lab is None:
        raise ValueError("this stepper shows a recorded run: there is no model behind it to ask")
    if what == "trace":
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "run.trace")
            runs.save(lab.run_with_branches(branch, step, learned), path)
            return _file(f"{stem}.trace", what, path.read_text(encoding="utf-8"))
    run = lab.run_at(branch, step)
    if what == "itf":
        return _file(f"{stem}.itf.json", what, itf_of(run))
    if what in ("plantuml", "shiviz"):
        told, _ = told_line(run.scenario, run.design, run.model, run.trace, run.told)
        if what == "plantuml":
            return _file(f"{stem}.puml", what, plantuml(told))
        return _file(f"{stem}.shiviz.log", what, shiviz(told))
    name = f"test_{stem.replace('-', '_')}.py"
    return _file(name, what, pytest_source(run, runs.judge(run)))


def _file(name: str, what: str, text: str) -> MadeFile:
    return {"name": name, "type": KINDS[what], "text": text}
