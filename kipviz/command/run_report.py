"""One run on the command line: where it comes from, how it is printed, and its verdicts."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kipviz.checking.judging.budgets import budget_of, counts_of
from kipviz.checking.judging.faults import UnknownFaults
from kipviz.checking.single_run import runs
from kipviz.checking.single_run.permalink import head_of, is_link, open_link, permalink
from kipviz.checking.single_run.runs import Judgement, Run
from kipviz.checking.tla.trace_replay import load
from kipviz.command.bad_input import RefusedInput
from kipviz.core.links.link import BadLink
from kipviz.core.traces.tracefile import TraceFileError
from kipviz.core.values import fingerprint
from kipviz.designs.options.options import UnknownDesign
from kipviz.properties.verdict import BROKEN, title_of
from kipviz.scenarios.applications.program_faults import THE_PROGRAM
from kipviz.scenarios.library import UnknownScenario
from kipviz.scenarios.scenario import Unplayable
from kipviz.scenarios.script import ScriptError
from kipviz.scenarios.setting_changes import BadChange
from kipviz.views.payload import payload
from kipviz.views.role_cards.own_view import View, own_views
from kipviz.views.tones import SIGN_OF_STATUS
from kipviz.widgets.pages import text_view
from kipviz.widgets.pages.line import Line, line_of

_WORDS = (
    UnknownScenario,
    UnknownDesign,
    UnknownFaults,
    BadChange,
    Unplayable,
    ScriptError,
    TraceFileError,
    BadLink,
)


@contextmanager
def refusing() -> Iterator[None]:
    """Turn the errors of unknown names and bad values into bad input."""
    try:
        yield
    except _WORDS as wrong:
        raise RefusedInput(str(wrong)) from None


def run_of(arguments: argparse.Namespace) -> Run:
    """Return the run that the arguments name: a story, or a saved run.

    Raises:
        Refused: if there is no such story, or the file holds no run.
    """
    if arguments.from_trace is None:
        if arguments.module is not None or arguments.trace_faults is not None:
            raise RefusedInput("--module and --trace-faults are for --from-trace")
        if arguments.scenario is None:
            raise RefusedInput("name a SCENARIO or a permalink, or a file with --from-trace")
        with refusing():
            if not is_link(arguments.scenario):
                return runs.play(arguments.scenario, arguments.design)
            linked = open_link(arguments.scenario)
        if arguments.design not in (None, linked.design.name):
            raise RefusedInput(f"the permalink is about the design {linked.design.name}")
        return linked
    with refusing():
        run = load(
            arguments.from_trace,
            module=arguments.module,
            scenario=arguments.scenario or "",
            design=arguments.design,
            budget=budget_of(arguments.trace_faults or ""),
        )
    told = (("scenario", run.scenario.name), ("design", run.design.name))
    for what, name in told:
        asked = getattr(arguments, what)
        if asked is not None and asked != name:
            raise RefusedInput(f"{arguments.from_trace} is about the {what} {name}, not {asked}")
    return run


def save(run: Run, path: str) -> None:
    """Write a run to a trace file.

    Raises:
        Refused: if it cannot be written.
    """
    with refusing():
        runs.save(run, path)


def payload_of(run: Run, views: Sequence[View] = ()) -> dict[str, Any]:
    """Return the payload that a stepper shows for a run's branch, with the reader's own views."""
    head, own = head_of(run), own_views(views)
    told, _ = payload(
        run.scenario,
        run.design,
        run.model,
        run.trace,
        run.told,
        head,
        own,
        settings=run.settings,
    )
    return told


def lines_of(run: Run, judged: tuple[Judgement, ...]) -> Iterator[str]:
    """Render a run: every big step with its small steps below, then its verdicts."""
    shown = payload_of(run)
    yield shown["title"]
    yield f"design {run.design.name} ({run.design.status}) · {shown['spec_line']}"
    yield from (f"changed: {change}" for change in run.changes)
    yield ""
    yield from text_view.table(line_of(shown, [], 0), -1)
    yield ""
    yield from verdict_lines(run, judged)


def verdict_lines(run: Run, judged: tuple[Judgement, ...]) -> Iterator[str]:
    """Render the verdict of each property, and the fingerprint of the world in which the run ends."""
    for found in judged:
        where = f" breaks at step {found.step}" if found.status == BROKEN else f" {found.status}"
        reason = f": {found.reason}" if found.reason else ""
        yield f"{SIGN_OF_STATUS[found.status]} {title_of(found.property)}{where}{reason}"
        if found.blame:
            yield f"  {THE_PROGRAM}: {found.blame}"
    if run.error:
        yield f"! the model failed: {run.error}"
    yield f"fingerprint {mark(run)}"


def document_of(run: Run, judged: tuple[Judgement, ...]) -> dict[str, Any]:
    """Return everything that `lines_of` renders as one document."""
    shown = payload_of(run)
    line = line_of(shown, [], 0)
    spec = run.model.spec
    return {
        "scenario": run.scenario.name,
        "title": run.scenario.title,
        "design": run.design.name,
        "design_status": run.design.status,
        "kafka_version": spec.kafka_version,
        "budget": counts_of(run.budget),
        "seed": None if run.task is None else run.task.seed,
        "faults": None if run.task is None else run.task.faults,
        "bigs": [{"number": n, **big} for n, big in enumerate(shown["bigs"], 1)],
        "steps": list(_steps(run, line)),
        "verdicts": [
            {
                "property": found.property,
                "sentence": found.sentence,
                "status": found.status,
                "step": found.step,
                "reason": found.reason,
                "blame": found.blame,
            }
            for found in judged
        ],
        "holds": not fails(run, judged),
        "error": run.error,
        "fingerprint": mark(run),
        "permalink": _link(run),
        "changes": list(run.changes),
    }


def fails(run: Run, judged: tuple[Judgement, ...]) -> bool:
    """Return whether the design breaks a property, or the model failed."""
    return bool(run.error) or any(f.status == BROKEN and not f.blame for f in judged)


def mark(run: Run) -> str:
    """Return the fingerprint of the world at the end of a run."""
    return fingerprint(run.trace.last().world).hex()


def _link(run: Run) -> str | None:
    """Return the permalink to a run's current step, or None if it is too long or its scenario is unknown."""
    try:
        return permalink(run)
    except ValueError:
        return None


def _steps(run: Run, line: Line) -> Iterator[dict[str, Any]]:
    names = ["", *runs.labels(run)]
    for number, step in enumerate(line.steps):
        yield {
            "step": number,
            "big": line.big_number(number),
            "actor": step["actor"],
            "kind": step["kind"],
            "action": names[number],
            "sentence": step["sentence"],
            "verdicts": {v["property"]: v["state"] for v in line.verdicts_at(number)},
        }
