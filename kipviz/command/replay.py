"""`kipviz replay`: one seeded run of a campaign, step by step."""

from __future__ import annotations

import argparse

from kipviz.command.arguments import add_form, add_task
from kipviz.command.output import answer, check_place
from kipviz.command.refused import Refused

HELP = "make one seeded run of a campaign again and tell it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    add_task(parser)
    parser.add_argument("--save", metavar="FILE", help="write the run to a trace file")
    add_form(parser)


def run(arguments: argparse.Namespace) -> int:
    """Make the run, tell it, judge it."""
    from kipviz.checking import runs
    from kipviz.checking.task import Task
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
        answer(document, (), as_json=True)
    else:
        answer({}, telling.lines_of(told, judged), as_json=False)
    return int(telling.fails(told, judged))
