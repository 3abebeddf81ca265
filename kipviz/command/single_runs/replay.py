"""`kipviz replay`: one seeded run of a campaign, step by step."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kipviz.command.arguments import add_form, add_task
from kipviz.command.bad_input import RefusedInput
from kipviz.command.output import answer, check_place

if TYPE_CHECKING:
    from kipviz.checking.single_run.runs import Run
    from kipviz.checking.single_run.violation import Breaking

HELP = "repeat one seeded run of a campaign and print it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    add_task(parser)
    parser.add_argument("--save", metavar="FILE", help="write the run to a trace file")
    parser.add_argument(
        "--saves",
        action="store_true",
        help="if a property breaks, say which single decision would have prevented it",
    )
    add_form(parser)


def run(arguments: argparse.Namespace) -> int:
    """Make the run, print it and judge it."""
    from kipviz.checking.single_run import runs
    from kipviz.checking.single_run.seeded_run import Task
    from kipviz.command import run_report

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
        raise RefusedInput(str(wrong)) from None
    judged = runs.judge(told)
    if arguments.save is not None:
        run_report.save(told, arguments.save)
    if arguments.json:
        document = run_report.document_of(told, judged) | {"saved": arguments.save}
        if arguments.saves:
            document["decisions"] = _decisions(told)
        answer(document, (), as_json=True)
    else:
        lines = list(run_report.lines_of(told, judged))
        answer({}, [*lines, *(_saves(told) if arguments.saves else ())], as_json=False)
    return int(run_report.fails(told, judged))


def _find_break(told: Run) -> Breaking | None:
    """Return where a run breaks a property, or None."""
    from kipviz.checking.single_run.violation import breaking

    try:
        return breaking(told)
    except LookupError:
        return None


def _saves(told: Run) -> list[str]:
    from kipviz.checking.single_run.saving_decisions import decisions
    from kipviz.views.exports.markdown import lines_of
    from kipviz.views.reports.review import saves_page

    broken = _find_break(told)
    return ["", *lines_of(saves_page(broken, decisions(broken)))] if broken else []


def _decisions(told: Run) -> list[dict[str, object]]:
    from kipviz.checking.single_run.saving_decisions import decisions

    broken = _find_break(told)
    return [
        {"slot": d.slot, "option": d.option, "on_this_course": d.verdict}
        for d in (decisions(broken) if broken else ())
    ]
