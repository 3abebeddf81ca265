"""`kipviz swarm`: runs of random clusters, each with a random part of the faults switched off."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from kipviz.command.arguments import add_json, count, names, seed
from kipviz.command.bad_input import RefusedInput
from kipviz.command.output import Progress, answer, until_interrupted
from kipviz.properties.verdict import title_of

if TYPE_CHECKING:
    from kipviz.checking.judging.swarm import SwarmVerdict

HELP = "make random runs on random clusters, with random faults switched off, and judge them"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    parser.add_argument("--seed", default=0, type=seed, metavar="K", help="the first seed (0)")
    parser.add_argument("--runs", default=100, type=count, metavar="N", help="how many (100)")
    parser.add_argument("--designs", type=names, metavar="D[,D]", help="kafka,repaired")
    parser.add_argument(
        "--steps-max",
        type=count,
        default=400,
        metavar="N",
        help="maximum number of steps of a run (400)",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Make the runs; the status is 1 if one breaks a property or ends in an error."""
    from kipviz.checking.judging import swarm as searched
    from kipviz.checking.judging.coverage import Coverage

    coverage, verdicts = Coverage(), []
    designs = arguments.designs or searched.DESIGNS

    with Progress() as progress, until_interrupted(progress.runs) as go_on:
        try:
            found = searched.swarm(
                arguments.seed,
                arguments.runs,
                designs,
                steps_max=arguments.steps_max,
                coverage=coverage,
            )
            for verdict in found:
                verdicts.append(verdict)
                if not go_on(len(verdicts), arguments.runs):
                    break
        except ValueError as wrong:
            raise RefusedInput(str(wrong)) from None
    failed = [verdict for verdict in verdicts if verdict.status != "holds"]
    actions = [row for row in coverage.rows() if row.role == "action"]
    errors = {
        row.guard for row in coverage.rows() if row.guard and row.role not in ("slot", "action")
    }
    document: dict[str, Any] = {
        "seed": arguments.seed,
        "runs": len(verdicts),
        "steps": sum(verdict.steps for verdict in verdicts),
        "designs": list(designs),
        "stories": len({verdict.drawn.story for verdict in verdicts}),
        "actions": {row.rule: row.times for row in actions},
        "answers": sorted(errors),
        "failed": [_document(verdict) for verdict in failed],
        "holds": not failed,
    }
    never = [row.rule for row in actions if not row.times]
    size = f"{len(verdicts):,} runs, {document['steps']:,} steps, {document['stories']} clusters"
    reached = f"kinds of actions: {len(actions) - len(never)} of {len(actions)}"
    lines = [
        f"{size}: {len(failed)} failed",
        f"{reached}; never {', '.join(never)}" if never else reached,
        f"answers: {', '.join(document['answers'])}",
        *(_line(verdict) for verdict in failed),
    ]
    answer(document, lines, as_json=arguments.json)
    return int(bool(failed))


def _document(verdict: SwarmVerdict) -> dict[str, Any]:
    return {
        "seed": verdict.drawn.seed,
        "story": verdict.drawn.story,
        "design": verdict.drawn.design,
        "faults": list(verdict.drawn.switched_on),
        "status": verdict.status,
        "broken": verdict.broken,
        "step": verdict.step,
        "reason": verdict.reason,
    }


def _line(verdict: SwarmVerdict) -> str:
    drawn = verdict.drawn
    what = f"{title_of(verdict.broken)} breaks" if verdict.status == "breaks" else "error"
    return (
        f"seed {drawn.seed}: {drawn.design}, {drawn.story}, step {verdict.step}: {what}: "
        f"{verdict.reason}"
    )
