"""`kipviz outcomes`: how the runs of a scenario end, and how many end in each way."""

from __future__ import annotations

import argparse
from functools import partial

from kipviz.command.arguments import add_json, count
from kipviz.command.bad_input import RefusedInput
from kipviz.command.output import Progress, answer, check_place, until_interrupted
from kipviz.command.own_code import add_rules

HELP = "group completed runs by outcome: of many seeds, or of every interleaving"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    parser.add_argument("scenario", metavar="SCENARIO")
    parser.add_argument("--design", required=True, metavar="DESIGN")
    add_rules(parser, "--design")
    parser.add_argument(
        "--faults",
        default="",
        metavar="FAULTS",
        help="expire_lock=1, …; with --seeds the name of a fault profile",
    )
    parser.add_argument(
        "--seeds",
        type=count,
        metavar="N",
        help="number of seeded runs; default: every interleaving",
    )
    parser.add_argument("--states-max", type=count, default=200_000, metavar="N")
    parser.add_argument("--row", type=count, default=1, metavar="N", help="the row to save (1)")
    parser.add_argument("--save", metavar="FILE", help="write the row's run to a trace file")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Group the runs by their outcome; the status is 0, because an outcome is no verdict."""
    from kipviz.checking.judging.budgets import budget_of
    from kipviz.checking.judging.outcomes import group_interleavings, group_seeds
    from kipviz.checking.search.search_result import Bounds
    from kipviz.command import run_report
    from kipviz.views.exports.markdown import lines_of
    from kipviz.views.reports.review import outcomes_page

    check_place(arguments.save)
    names = (arguments.scenario, arguments.design)
    try:
        with Progress() as progress:
            if arguments.seeds is None:
                budget, bounds = budget_of(arguments.faults), Bounds(arguments.states_max)
                with until_interrupted(progress.states) as go_on:
                    found = group_interleavings(*names, budget, bounds, go_on)
            else:
                told = partial(progress.runs, there_are=arguments.seeds)
                seeds = range(arguments.seeds)
                with until_interrupted(told) as go_on:
                    found = group_seeds(*names, arguments.faults or "calm", seeds, go_on)
    except ValueError as wrong:
        raise RefusedInput(str(wrong)) from None
    if (arguments.save is not None or arguments.row > 1) and arguments.row > len(found.groups):
        raise RefusedInput(f"there is no row {arguments.row}; rows are 1 to {len(found.groups)}")
    if arguments.save is not None:
        run_report.save(found.run(found.groups[arguments.row - 1]), arguments.save)
    document = {
        "scenario": found.scenario,
        "design": found.design,
        "sentence": found.sentence,
        "outcomes": [
            {
                "outputs": dict(group.ended.outputs),
                "records": dict(group.ended.records),
                "committed": group.ended.committed,
                "aborted": group.ended.aborted,
                "how": group.ended.how,
                "count": group.count,
                "steps": group.steps,
                "seed": None if group.task is None else group.task.seed,
            }
            for group in found.groups
        ],
    }
    answer(document, lines_of(outcomes_page(found)), as_json=arguments.json)
    return 0
