"""`kipviz play`: a scenario's story, step by step."""

from __future__ import annotations

import argparse

from kipviz.command.arguments import add_form, add_run
from kipviz.command.output import answer, check_place
from kipviz.command.own_code import add_rules

HELP = "play a scenario's story and judge it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    add_run(parser)
    add_rules(parser, "--design")
    parser.add_argument("--save", metavar="FILE", help="write the run to a trace file")
    add_form(parser)


def run(arguments: argparse.Namespace) -> int:
    """Play the story, print it, judge it and save it."""
    from kipviz.checking.single_run.runs import judge_to_the_end
    from kipviz.command import run_report

    check_place(arguments.save)
    told = run_report.run_of(arguments)
    judged = judge_to_the_end(told)
    if arguments.save is not None:
        run_report.save(told, arguments.save)
    if arguments.json:
        document = run_report.document_of(told, judged) | {"saved": arguments.save}
        answer(document, (), as_json=True)
    else:
        answer({}, run_report.lines_of(told, judged), as_json=False)
    return int(run_report.fails(told, judged))
