"""`kipviz repair`: the smallest sets of other decisions with which a broken design keeps its properties."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from kipviz.command.arguments import add_json, count
from kipviz.command.output import Progress, answer, until_interrupted
from kipviz.command.own_code import add_rules

if TYPE_CHECKING:
    from kipviz.checking.judging.repair import Attempt

HELP = "find the smallest set of decisions that repairs a design"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    parser.add_argument("scenario", metavar="SCENARIO", help="a small one, such as kip-1289-small")
    parser.add_argument(
        "--from", dest="design", default="as-written", metavar="DESIGN", help="as-written"
    )
    parser.add_argument(
        "--to",
        dest="other",
        default="repaired",
        metavar="DESIGN[,DESIGN]",
        help="whose decisions are tried (repaired); any tries every option of every slot",
    )
    add_rules(parser, "--from")
    parser.add_argument("--faults", default="", metavar="FAULTS", help="such as expire_lock=1")
    parser.add_argument(
        "--property",
        action="append",
        default=[],
        metavar="NAME",
        help="a property to keep; may be repeated; default: all",
    )
    parser.add_argument(
        "--decisions-max",
        type=count,
        default=3,
        metavar="N",
        help="try at most N decisions together (3)",
    )
    parser.add_argument("--states-max", type=count, default=30_000, metavar="N")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Search; the status is 0 if the design holds or something repairs it, and 1 if nothing tried does."""
    from kipviz.checking.judging.budgets import budget_of
    from kipviz.checking.judging.repair import RepairQuestion, repair
    from kipviz.checking.judging.verdicts import HOLDS
    from kipviz.command.bad_input import RefusedInput
    from kipviz.views.exports.markdown import lines_of
    from kipviz.views.reports.repair_page import repair_page

    try:
        question = RepairQuestion(
            arguments.scenario,
            arguments.design,
            arguments.other,
            budget_of(arguments.faults),
            tuple(arguments.property),
            arguments.decisions_max,
            arguments.states_max,
        )
        with Progress() as progress, until_interrupted(progress.designs) as go_on:
            found = repair(question, go_on)
    except ValueError as wrong:
        raise RefusedInput(str(wrong)) from None
    document = {
        "scenario": question.scenario,
        "from": question.design,
        "to": question.other,
        "faults": arguments.faults,
        "decisions": list(found.slots),
        "whole": found.whole,
        "sentence": found.sentence,
        "repairs": [list(each.slots) for each in found.repairs],
        "attempts": [_document(each) for each in found.attempts],
    }
    answer(document, lines_of(repair_page(found)), as_json=arguments.json)
    holds = any(each.verdict == HOLDS for each in found.attempts)
    return 0 if holds else 1


def _document(attempt: Attempt) -> dict[str, Any]:
    return {
        "decisions": list(attempt.slots),
        "design": attempt.design,
        "verdict": attempt.verdict,
        "states": attempt.states,
        "property": attempt.property_name or None,
        "steps": attempt.step or None,
    }
