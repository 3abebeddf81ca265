"""`kipviz ablate`: switch off Kafka's own rules one at a time and show what breaks first."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from kipviz.command.arguments import add_json, count, names
from kipviz.command.output import Progress, answer, until_interrupted

if TYPE_CHECKING:
    from kipviz.checking.judging.ablation import Ablated

HELP = "switch off Kafka's own rules, alone and in pairs, and find what breaks first"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    parser.add_argument(
        "scenario", nargs="?", default="kip-1289-small", metavar="SCENARIO", help="kip-1289-small"
    )
    parser.add_argument("--design", default="repaired", metavar="DESIGN", help="repaired")
    parser.add_argument("--rules", type=names, metavar="RULE,…", help="default: all")
    parser.add_argument(
        "--faults",
        action="append",
        metavar="FAULTS",
        help="a fault budget to search; may be repeated. Smaller ones first",
    )
    parser.add_argument("--alone", action="store_true", help="each rule alone, no pairs")
    parser.add_argument(
        "--runs",
        type=count,
        default=0,
        metavar="N",
        help="number of seeded runs where a search was too large and broke nothing; default: none",
    )
    parser.add_argument(
        "--profile", default="hostile", metavar="PROFILE", help="their fault profile (hostile)"
    )
    parser.add_argument("--states-max", type=count, default=15_000, metavar="N")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Search; the status is 0, because it is expected that something breaks without its rule."""
    from kipviz.checking.judging.ablation import BUDGETS, RULES, ablate
    from kipviz.checking.search.search_result import Bounds
    from kipviz.command.bad_input import RefusedInput
    from kipviz.views.exports.markdown import lines_of
    from kipviz.views.reports.review import ablation_page

    try:
        with Progress() as progress, until_interrupted(progress.designs) as go_on:
            searched = ablate(
                arguments.scenario,
                arguments.design,
                arguments.rules or RULES,
                tuple(arguments.faults or BUDGETS),
                Bounds(states_max=arguments.states_max),
                go_on,
                pairs=not arguments.alone,
                runs=arguments.runs,
                profile=arguments.profile,
            )
            rows = tuple(searched)
    except ValueError as wrong:
        raise RefusedInput(str(wrong)) from None
    document = {
        "scenario": arguments.scenario,
        "design": arguments.design,
        "rows": [_document(row) for row in rows],
    }
    answer(document, lines_of(ablation_page(rows)), as_json=arguments.json)
    return 0


def _document(row: Ablated) -> dict[str, Any]:
    from kipviz.checking.judging.budgets import budget_words

    cell, first = row.cell, row.first
    return {
        "off": list(row.rules),
        "design": row.design,
        "breaks": None if cell is None else cell.asked,
        "steps": None if cell is None else len(cell.actions),
        "faults": None if first is None else budget_words(first.budget),
        "reason": None if cell is None else cell.reason,
        "sampled": None
        if row.sampled is None
        else {
            "profile": row.sampled.profile,
            "runs": row.sampled.runs,
            "breaks": None if row.sampled.broken is None else row.sampled.broken.broken,
            "seed": None if row.sampled.broken is None else row.sampled.broken.task.seed,
        },
        "held": [
            {"faults": held.faults, "states": held.states, "complete": held.complete}
            for held in row.held
        ],
    }
