"""`kipviz explore`: every interleaving of a small cluster, and the shortest run that breaks."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kipviz.command.arguments import add_json, count
from kipviz.command.output import Progress, answer, check_place

if TYPE_CHECKING:
    from kipviz.checking.found import Counterexample, Explored
    from kipviz.checking.runs import Run

HELP = "visit every state that a scenario's cluster can reach"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("scenario", metavar="SCENARIO", help="kip-1289-small is made for this")
    parser.add_argument("--design", required=True, metavar="DESIGN")
    parser.add_argument(
        "--faults",
        default="",
        metavar="FAULTS",
        help="crash_broker=1,expire_lock=1, or a profile; none if left out",
    )
    parser.add_argument("--states-max", type=count, default=200_000, metavar="N")
    parser.add_argument(
        "--save", metavar="FILE", help="write the shortest counterexample to a trace file"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Search, and tell what was found."""
    from kipviz.checking import runs
    from kipviz.checking.budgets import budget_of
    from kipviz.checking.explore import explore
    from kipviz.command import telling
    from kipviz.designs.catalogue import design as design_named
    from kipviz.scenarios.library import scenario as scenario_named

    check_place(arguments.save)
    with telling.refusing():
        scenario = scenario_named(arguments.scenario)
        design = design_named(arguments.design)
        budget = budget_of(arguments.faults)
        model = scenario.model(design, budget)
    progress = Progress()
    try:
        found = explore(model, arguments.states_max, progress.states)
    finally:
        progress.end()
    broken = [(e, runs.follow(scenario, design, budget, e.actions)) for e in found.counterexamples]
    saved = None
    if arguments.save is not None and broken:
        _, shortest = min(broken, key=lambda pair: len(pair[0].actions))
        telling.save(shortest, arguments.save)
        saved = arguments.save
    document = {
        "scenario": scenario.name,
        "design": design.name,
        "budget": {kind: getattr(budget, kind) for kind in budget.__struct_fields__},
        "states": found.states,
        "transitions": found.transitions,
        "depth": found.depth,
        "complete": found.complete,
        "sentence": found.sentence,
        "counterexamples": [
            {"property": e.property, "reason": e.reason, "steps": runs.labels(r)} for e, r in broken
        ],
        "saved": saved,
    }
    answer(document, _lines(found, broken, saved), as_json=arguments.json)
    return int(bool(broken))


def _lines(
    found: Explored, broken: list[tuple[Counterexample, Run]], saved: str | None
) -> list[str]:
    from kipviz.checking.runs import labels

    lines = [found.sentence]
    for example, made in broken:
        lines += ["", f"✗ {example.property} breaks after {len(example.actions)} steps:"]
        lines += [f"{n:>4}  {text}" for n, text in enumerate(labels(made), 1)]
        lines.append(f"      {example.reason}")
    if saved is not None:
        lines += ["", f"saved to {saved}: kipviz play --from-trace {saved}"]
    return lines
