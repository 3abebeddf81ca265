"""`kipviz replay`: one seeded run of a campaign, step by step."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kipviz.command.arguments import add_form, add_task
from kipviz.command.output import answer, check_place
from kipviz.command.refused import Refused

if TYPE_CHECKING:
    from kipviz.checking.courses.breaking import Breaking
    from kipviz.checking.courses.runs import Run

HELP = "make one seeded run of a campaign again and tell it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    add_task(parser)
    parser.add_argument("--save", metavar="FILE", help="write the run to a trace file")
    parser.add_argument(
        "--saves",
        action="store_true",
        help="if a promise breaks, say which single decision would have saved this run",
    )
    add_form(parser)


def run(arguments: argparse.Namespace) -> int:
    """Make the run, tell it, judge it."""
    from kipviz.checking.courses import runs
    from kipviz.checking.courses.task import Task
    from kipviz.command import telling

    check_place(arguments.save)
    task = Task(
        arguments.scenario,
        arguments.design,
        arguments.faults,
        arguments.seed,
        arguments.steps_max,
    )
    try:
        told = runs.replay(task)
    except ValueError as wrong:
        raise Refused(str(wrong)) from None
    judged = runs.judge(told)
    if arguments.save is not None:
        telling.save(told, arguments.save)
    if arguments.json:
        document = telling.document_of(told, judged) | {"saved": arguments.save}
        if arguments.saves:
            document["decisions"] = _decisions(told)
        answer(document, (), as_json=True)
    else:
        lines = list(telling.lines_of(told, judged))
        answer({}, [*lines, *(_saves(told) if arguments.saves else ())], as_json=False)
    return int(telling.fails(told, judged))


def _broken(told: Run) -> Breaking | None:
    """Give where a run breaks a promise, if it does."""
    from kipviz.checking.courses.breaking import breaking

    try:
        return breaking(told)
    except LookupError:
        return None


def _saves(told: Run) -> list[str]:
    from kipviz.checking.courses.saves import decisions
    from kipviz.views.reports.review import saves_page

    broken = _broken(told)
    return ["", *saves_page(broken, decisions(broken)).splitlines()] if broken else []


def _decisions(told: Run) -> list[dict[str, object]]:
    from kipviz.checking.courses.saves import decisions

    broken = _broken(told)
    return [
        {"slot": d.slot, "option": d.option, "on_this_course": d.verdict}
        for d in (decisions(broken) if broken else ())
    ]
