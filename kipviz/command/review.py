"""`kipviz review`: one folder for a mailing list, with tables, stories, diagrams and traces."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kipviz.command.arguments import add_json, count
from kipviz.command.output import Progress, answer, until_interrupted, write_whole
from kipviz.command.refused import Refused

if TYPE_CHECKING:
    from kipviz.checking.verdicts import Judged

HELP = "write a review of designs: verdicts, shortest counterexamples, diagrams, traces"
DESIGNS = "repaired,finding-I,finding-D,as-written"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("scenario", metavar="SCENARIO", help="kip-1289-small is made for this")
    parser.add_argument(
        "--designs", default=DESIGNS, metavar="DESIGN,…", help=f"default: {DESIGNS}"
    )
    parser.add_argument("--faults", default="", metavar="FAULTS", help="expire_lock=1, …")
    parser.add_argument("--states-max", type=count, default=200_000, metavar="N")
    parser.add_argument("--into", required=True, metavar="FOLDER", help="made if it is not there")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Search every design and write what came of it."""
    from kipviz.checking.budgets import budget_of
    from kipviz.checking.found import Bounds
    from kipviz.checking.verdicts import verdict_table
    from kipviz.command import telling
    from kipviz.designs.catalogue import design as design_named
    from kipviz.scenarios.library import scenario as scenario_named
    from kipviz.views.review import review

    designs = tuple(name.strip() for name in arguments.designs.split(",") if name.strip())
    with telling.refusing():
        if not designs:
            raise Refused("name at least one design")
        scenario = scenario_named(arguments.scenario)
        budget = budget_of(arguments.faults)
        for name in designs:
            scenario.model(design_named(name), budget)
    folder = Path(arguments.into)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refused(f"cannot make the folder {folder}: {error.strerror or error}") from None
    with Progress() as progress, until_interrupted(progress.designs) as go_on:
        bounds = Bounds(states_max=arguments.states_max)
        rows = verdict_table(scenario.name, designs, budget, bounds, go_on)
    write_whole(str(folder / "review.md"), review(rows))
    files = ["review.md", *_stories(folder, rows)]
    verdicts = [_verdict(row) for row in rows]
    document = {"folder": str(folder), "files": files, "verdicts": verdicts}
    answer(document, [f"{folder}/{name}" for name in files], as_json=arguments.json)
    return int(any(cell.fails for row in rows for cell in row.cells))


def _verdict(row: Judged) -> dict[str, Any]:
    return {
        "design": row.design,
        "states": row.explored.states,
        "complete": row.explored.complete,
        "cells": [
            {"property": c.asked, "verdict": c.verdict, "reason": c.reason, "blame": c.blame}
            for c in row.cells
        ],
    }


def _stories(folder: Path, rows: Sequence[Judged]) -> Iterator[str]:
    """Write every shortest counterexample as a diagram and as a trace that reopens."""
    from kipviz.checking.verdicts import BREAKS
    from kipviz.command import telling
    from kipviz.views.mermaid import mermaid
    from kipviz.views.review import told

    for row in rows:
        for cell in row.cells:
            if cell.verdict != BREAKS:
                continue
            made = told(row, cell).run
            name = f"{row.design}--{cell.asked.replace(' ', '-')}"
            write_whole(str(folder / f"{name}.mmd"), mermaid(telling.payload_of(made)))
            telling.save(made, str(folder / f"{name}.trace"))
            yield from (f"{name}.mmd", f"{name}.trace")
