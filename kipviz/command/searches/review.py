"""`kipviz review`: one folder for a mailing list, with tables, stories, diagrams and traces."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kipviz.command.arguments import add_json, count
from kipviz.command.bad_input import RefusedInput
from kipviz.command.output import Progress, answer, make_folder, until_interrupted, write_whole
from kipviz.command.own_code import add_rules

if TYPE_CHECKING:
    from kipviz.checking.judging.verdicts import DesignVerdicts
    from kipviz.studies.draft_implementation.draft_stories import PlayedStory

HELP = "write a review of designs: verdicts, shortest counterexamples, diagrams, traces"
DESIGNS = "repaired,finding-I,finding-D,as-written"
# A file name may have 255 bytes; the name of a design with many decisions can be longer.
NAME_MAX = 200


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    parser.add_argument(
        "scenario", nargs="?", metavar="SCENARIO", help="kip-1289-small is made for this"
    )
    parser.add_argument(
        "--drafts",
        action="store_true",
        help="instead of a scenario: KIP-1289's draft implementation, its stories and its first users",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="with --drafts: the stories alone, without the searches",
    )
    parser.add_argument(
        "--designs", default=DESIGNS, metavar="DESIGN,…", help=f"default: {DESIGNS}"
    )
    add_rules(parser, "the design repaired, to be named in --designs")
    parser.add_argument("--faults", default="", metavar="FAULTS", help="expire_lock=1, …")
    parser.add_argument("--states-max", type=count, default=200_000, metavar="N")
    parser.add_argument(
        "--into",
        required=True,
        metavar="FOLDER",
        help="the folder to write; created if it does not exist",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Search every design and write the results."""
    from kipviz.checking.judging.budgets import budget_of
    from kipviz.checking.judging.verdicts import verdict_table
    from kipviz.checking.search.search_result import Bounds
    from kipviz.command import run_report
    from kipviz.designs.catalogue import design as design_named
    from kipviz.scenarios.library import scenario as scenario_named
    from kipviz.views.reports.review_pack import write_pack

    if arguments.drafts:
        return _drafts(arguments)
    if arguments.quick:
        raise RefusedInput("--quick belongs to --drafts")
    if arguments.scenario is None:
        raise RefusedInput("name a SCENARIO, such as kip-1289-small, or ask for --drafts")
    designs = tuple(name.strip() for name in arguments.designs.split(",") if name.strip())
    with run_report.refusing():
        if not designs:
            raise RefusedInput("name at least one design")
        scenario = scenario_named(arguments.scenario)
        budget = budget_of(arguments.faults)
        for name in designs:
            scenario.model(design_named(name), budget)
    folder = make_folder(arguments.into)
    with Progress() as progress, until_interrupted(progress.designs) as go_on:
        bounds = Bounds(states_max=arguments.states_max)
        rows = verdict_table(scenario.name, designs, budget, bounds, go_on)
    with run_report.refusing():
        try:
            files = list(write_pack(rows, folder))
        except OSError as error:
            raise RefusedInput(
                f"cannot write {error.filename}: {error.strerror or error}"
            ) from None
    verdicts = [_verdict(row) for row in rows]
    document = {"folder": str(folder), "files": files, "verdicts": verdicts}
    answer(document, [f"{folder}/{name}" for name in files], as_json=arguments.json)
    return int(any(cell.fails for row in rows for cell in row.cells))


def _drafts(arguments: argparse.Namespace) -> int:
    """Write the review of the draft implementation; the status is 0, because a finding is no failure."""
    from kipviz.studies.draft_implementation import draft_stories, implementation
    from kipviz.studies.study import answer as answered
    from kipviz.views.reports.draft_review import draft_review

    if arguments.scenario is not None:
        raise RefusedInput("--drafts has stories of its own: leave the SCENARIO out")
    folder = make_folder(arguments.into)
    with Progress() as progress, until_interrupted(progress.stories) as go_on:
        played = list(draft_stories.play_stories(go_on))
    answers = []
    for study in () if arguments.quick or go_on.stopped else implementation.STUDIES:
        with Progress() as progress, until_interrupted(progress.parts) as going:
            answers.append(answered(study, progress=going))
        if going.stopped:
            break
    write_whole(str(folder / "review.md"), draft_review(played, answers))
    files = ["review.md", *_runs_of(folder, played)]
    verdicts = [
        {
            "story": each.run.scenario.name,
            "design": each.run.design.name,
            "status": each.run.design.status,
            "broken": [{"property": j.property, "reason": j.reason} for j in each.broken],
        }
        for each in played
    ]
    document = {"folder": str(folder), "files": files, "verdicts": verdicts}
    answer(document, [f"{folder}/{name}" for name in files], as_json=arguments.json)
    return 0


def _runs_of(folder: Path, played: Sequence[PlayedStory]) -> Iterator[str]:
    """Write every story that breaks a property as a diagram and as a trace that can be reopened."""
    from kipviz.command import run_report
    from kipviz.views.exports.mermaid import mermaid

    for each in played:
        if not each.broken:
            continue
        name = f"{each.run.scenario.name}--{each.run.design.name}"[:NAME_MAX]
        write_whole(str(folder / f"{name}.mmd"), mermaid(run_report.payload_of(each.run)))
        run_report.save(each.run, str(folder / f"{name}.trace"))
        yield from (f"{name}.mmd", f"{name}.trace")


def _verdict(row: DesignVerdicts) -> dict[str, Any]:
    return {
        "design": row.design,
        "states": row.explored.states,
        "complete": row.explored.complete,
        "cells": [
            {"property": c.asked, "verdict": c.verdict, "reason": c.reason, "blame": c.blame}
            for c in row.cells
        ],
    }
