"""`kipviz landscape`: vary two settings against each other, and show which property breaks where."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from kipviz.checking.timed.axes import LOCK, TIMEOUT, Axis
from kipviz.command.arguments import add_json, count, names
from kipviz.command.bad_input import RefusedInput
from kipviz.command.output import Progress, answer, check_place, until_interrupted

if TYPE_CHECKING:
    from kipviz.checking.timed.landscape import Spot

HELP = "search a grid of two settings, such as timeouts, with the timed clock"


def axis(text: str) -> Axis:
    """Parse a setting and its values: "transaction.timeout.ms=5000,60000"."""
    setting, _, values = text.partition("=")
    return Axis(setting.strip(), tuple(count(part) for part in names(values)))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    parser.add_argument(
        "scenario", nargs="?", default="kip-1289-small", metavar="SCENARIO", help="kip-1289-small"
    )
    parser.add_argument(
        "--designs", type=names, metavar="D,…", help="repaired,finding-D,as-written"
    )
    parser.add_argument("--down", type=axis, metavar="NAME=N,…", help=f"{LOCK}=10000,30000,60000")
    parser.add_argument(
        "--across", type=axis, metavar="NAME=N,…", help=f"{TIMEOUT}=5000,15000,30000,60000"
    )
    parser.add_argument(
        "--set",
        dest="fixed",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="delay_max_ms=5000",
    )
    parser.add_argument(
        "--work", type=count, metavar="MS", help="how long a batch takes before its commit (20000)"
    )
    parser.add_argument("--faults", metavar="FAULTS", help="expire_lock=1,time_out=1")
    parser.add_argument("--states-max", type=count, default=200_000, metavar="N")
    parser.add_argument(
        "--open", metavar="D,DOWN,ACROSS", help="the cell whose shortest run --save writes"
    )
    parser.add_argument("--save", metavar="FILE", help="write that run to a trace file")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Search every cell; the status is 1 if a property breaks in one of them."""
    from kipviz.checking.search.search_result import Bounds
    from kipviz.checking.timed import landscape as searched
    from kipviz.command import run_report
    from kipviz.views.exports.markdown import lines_of
    from kipviz.views.measures.landscape import landscape_page

    check_place(arguments.save)
    if (arguments.save is None) != (arguments.open is None):
        raise RefusedInput("--open names the cell whose run --save writes: they go together")
    question = searched.LandscapeQuestion(
        arguments.scenario,
        arguments.designs or searched.DESIGNS,
        arguments.down or searched.LOCKS,
        arguments.across or searched.TIMEOUTS,
        arguments.work or searched.WORK_MS,
        searched.FAULTS if arguments.faults is None else arguments.faults,
        tuple(arguments.fixed),
    )
    bounds = Bounds(states_max=arguments.states_max)
    try:
        with Progress() as progress, until_interrupted(progress.designs) as go_on:
            spots = tuple(searched.landscape(question, bounds, go_on))
    except ValueError as wrong:
        raise RefusedInput(str(wrong)) from None
    found = searched.Landscape(question, spots)
    if arguments.save is not None:
        cell = _cell(arguments.open)
        try:
            run_report.save(found.find_break(*cell).run, arguments.save)
        except LookupError as wrong:
            raise RefusedInput(str(wrong)) from None
    document = {
        "scenario": question.scenario,
        "down": question.down.setting,
        "across": question.across.setting,
        "work_ms": question.work_ms,
        "faults": question.faults,
        "cells": [_document(spot) for spot in spots],
    }
    answer(document, lines_of(landscape_page(found)), as_json=arguments.json)
    return int(any(spot.explored.counterexamples for spot in spots))


def _cell(text: str) -> tuple[str, int, int]:
    parts = text.rsplit(",", 2)
    if len(parts) != 3 or not all(part.strip().isdecimal() for part in parts[1:]):
        raise RefusedInput(
            f"--open must be DESIGN,DOWN,ACROSS, such as finding-D,10000,60000, not {text}"
        )
    return parts[0].strip(), int(parts[1]), int(parts[2])


def _document(spot: Spot) -> dict[str, Any]:
    return {
        "design": spot.design,
        "down": spot.down,
        "across": spot.across,
        "verdict": spot.verdict,
        "states": spot.explored.states,
        "complete": spot.explored.complete,
        "commits": spot.commits,
        "clock": spot.explored.clock,
        "breaks": [
            {"property": c.property, "steps": len(c.actions), "reason": c.reason}
            for c in spot.explored.counterexamples
        ],
    }
