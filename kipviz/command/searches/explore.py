"""`kipviz explore`: search every interleaving of a small cluster for the shortest run that breaks a property."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kipviz.command.arguments import add_json, count, names
from kipviz.command.bad_input import RefusedInput
from kipviz.command.output import Progress, answer, check_place, until_interrupted
from kipviz.command.own_code import add_rules
from kipviz.command.searches.tla_module import add_module, check_module, write_module
from kipviz.properties.verdict import title_of

if TYPE_CHECKING:
    from kipviz.checking.search.explore import Search
    from kipviz.checking.search.search_result import Bounds, Counterexample, Explored
    from kipviz.checking.single_run.saving_decisions import SavingDecision
    from kipviz.checking.single_run.violation import Breaking
    from kipviz.cluster.model import ClusterModel

HELP = "visit every state that a scenario's cluster can reach"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    parser.add_argument("scenario", metavar="SCENARIO", help="kip-1289-small is made for this")
    parser.add_argument("--design", required=True, metavar="DESIGN")
    add_rules(parser, "--design")
    parser.add_argument(
        "--faults",
        default="",
        metavar="FAULTS",
        help="crash_broker=1,expire_lock=1, or a profile; default: none",
    )
    parser.add_argument(
        "--cut",
        action="append",
        default=[],
        metavar="SIDES",
        help="also try this network partition between sets of hosts, such as 'B1 B3 | B5 app-1' or 'B1 | *'; may "
        "be repeated, and takes cut=1 or more in --faults",
    )
    parser.add_argument(
        "--clock",
        metavar="{untimed,timed}",
        help="untimed (a timer expires when nothing else can happen, and earlier as often as --faults allows) "
        "or timed (when it is due)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="another setting, such as record_lock_duration_ms=15000; may be repeated",
    )
    parser.add_argument("--states-max", type=count, default=200_000, metavar="N")
    parser.add_argument("--depth-max", type=count, metavar="N", help="how deep; default: unlimited")
    parser.add_argument(
        "--reduce",
        type=names,
        default=(),
        metavar="R[,R]",
        help="symmetry (interchangeable applications), order (lone steps first); default: none",
    )
    parser.add_argument(
        "--resume",
        metavar="FILE",
        help="continue the search saved in this file, and save it there if it stops again",
    )
    parser.add_argument(
        "--full-states",
        action="store_true",
        help="keep up to 100,000 full states beside their digests and compare",
    )
    _add_spark(parser)
    parser.add_argument("--shrink", action="store_true", help="shorten each counterexample")
    parser.add_argument(
        "--saves",
        action="store_true",
        help="say which single decision saves each counterexample, and what a search says of it",
    )
    parser.add_argument(
        "--save", metavar="FILE", help="write the shortest counterexample to a trace file"
    )
    add_module(parser)
    add_json(parser)


def _add_spark(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--spark",
        action="store_true",
        help="search on Spark, level by level; the counts are the same",
    )
    parser.add_argument("--master", metavar="M", help="Spark's master, such as local[4] or yarn")
    parser.add_argument(
        "--folder",
        metavar="URI",
        help="where Spark stores its levels, such as hdfs://...; a cluster needs one",
    )
    parser.add_argument(
        "--go-on",
        action="store_true",
        help="with --folder: continue from the levels that an earlier search left there",
    )


def run(arguments: argparse.Namespace) -> int:
    """Search, and print the result."""
    from kipviz.checking.judging.budgets import budget_of
    from kipviz.checking.single_run import runs
    from kipviz.checking.single_run.violation import breaking
    from kipviz.command import run_report
    from kipviz.designs.catalogue import design as design_named
    from kipviz.scenarios.library import scenario as scenario_named
    from kipviz.scenarios.setting_changes import change_story

    check_place(arguments.save)
    check_place(arguments.resume)
    _check_spark(arguments)
    check_module(arguments)
    with run_report.refusing():
        scenario = scenario_named(arguments.scenario)
        design = design_named(arguments.design)
        budget = budget_of(arguments.faults)
        settings = _settings(arguments)
        searched, under = change_story(scenario.searched, design, settings)
        model = searched.model(under, budget)
    if arguments.cut and not budget.cut:
        raise RefusedInput("a search with a network partition takes --faults cut=1 or more")
    bounds = _bounds(arguments)
    with Progress() as progress:
        if arguments.spark:
            found = _on_spark(arguments, model, bounds, progress)
        else:
            search = _search(arguments, model)
            with until_interrupted(progress.states) as go_on:
                found = search.run(bounds, go_on)
            _keep(arguments, search, found)
        examples = [_shrink_example(arguments, model, each) for each in found.counterexamples]
        broken = [
            breaking(runs.follow_found(scenario, design, budget, e.actions, settings), e.property)
            for e in examples
        ]
        decided = [_decisions(each, bounds, progress) if arguments.saves else () for each in broken]
        module = write_module(arguments, scenario, design, budget, settings, progress)
    saved = None
    if arguments.save is not None and broken:
        run_report.save(min(broken, key=lambda each: each.step).run, arguments.save)
        saved = arguments.save
    document = {
        "scenario": scenario.name,
        "design": design.name,
        "budget": {kind: getattr(budget, kind) for kind in budget.__struct_fields__},
        "states": found.states,
        "transitions": found.transitions,
        "depth": found.depth,
        "complete": found.complete,
        "stopped": found.stopped,
        "clock": found.clock,
        "timers": found.timers.document,
        "abstraction": found.abstraction,
        "settings": list(settings),
        "reductions": list(found.reductions),
        "sentence": found.sentence,
        "counterexamples": [
            _example(each, runs.labels(each.run), tried)
            for each, tried in zip(broken, decided, strict=True)
        ],
        "saved": saved,
        "tla": None if module is None else {"files": list(module.files), "lines": module.lines},
    }
    lines = [*_lines(found, broken, decided, saved), *(() if module is None else module.lines)]
    answer(document, lines, as_json=arguments.json)
    return int(any(not each.blame for each in broken))


def _settings(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return the changes to the cluster that are made before the search."""
    from kipviz.scenarios.setting_changes import SPLITS

    clock = () if arguments.clock is None else (f"clock={arguments.clock}",)
    splits = (f"{SPLITS}={'; '.join(arguments.cut)}",) if arguments.cut else ()
    return (*clock, *splits, *arguments.set)


def _bounds(arguments: argparse.Namespace) -> Bounds:
    from kipviz.checking.search.search_result import Bounds

    bounds = Bounds(states_max=arguments.states_max)
    return bounds if arguments.depth_max is None else bounds.but(depth_max=arguments.depth_max)


def _search(arguments: argparse.Namespace, model: ClusterModel) -> Search:
    from pathlib import Path

    from kipviz.checking.search import saved_search
    from kipviz.checking.search.explore import Search
    from kipviz.checking.search.reduction_names import reduction

    try:
        reductions = [reduction(name) for name in arguments.reduce]
        if arguments.resume is not None and Path(arguments.resume).exists():
            if arguments.full_states:
                raise RefusedInput("--full-states is for a search from its start, not for --resume")
            return saved_search.load(arguments.resume, model, reductions)
        return Search(model, reductions=reductions, full_states=arguments.full_states)
    except (ValueError, OSError) as wrong:
        raise RefusedInput(str(wrong)) from None


def _check_spark(arguments: argparse.Namespace) -> None:
    if not arguments.spark and (arguments.master is not None or arguments.folder is not None):
        raise RefusedInput("--master and --folder are for --spark")
    if arguments.spark and (arguments.full_states or arguments.resume is not None):
        raise RefusedInput("--full-states and --resume are for a search without --spark")
    if arguments.go_on and arguments.folder is None:
        raise RefusedInput("--go-on is for a search on Spark with a --folder that keeps its levels")


def _on_spark(
    arguments: argparse.Namespace, model: ClusterModel, bounds: Bounds, progress: Progress
) -> Explored:
    from kipviz.checking.search.reduction_names import reduction
    from kipviz.command.campaigns.campaign import explaining, spark_for
    from kipviz.spark.search import search

    with explaining():
        reductions = [reduction(name) for name in arguments.reduce]
        spark = spark_for(arguments.master)  # installs its own handler of ^C when it starts
        with until_interrupted(progress.states) as go_on:
            return search(
                model,
                bounds,
                go_on,
                reductions,
                spark=spark,
                folder=arguments.folder,
                resume=arguments.go_on,
            )


def _keep(arguments: argparse.Namespace, search: Search, found: Explored) -> None:
    """Save an unfinished search to the file from which --resume continues."""
    from kipviz.checking.search import saved_search

    if arguments.resume is None or found.complete:
        return
    try:
        saved_search.save(search, arguments.resume)
    except OSError as wrong:
        raise RefusedInput(f"cannot write {arguments.resume}: {wrong.strerror or wrong}") from None


def _shrink_example(
    arguments: argparse.Namespace, model: ClusterModel, example: Counterexample
) -> Counterexample:
    from kipviz.checking.single_run.shrink import shrink

    if not arguments.shrink:
        return example
    return example.but(actions=shrink(model, example.actions, example.property).actions)


def _decisions(broken: Breaking, bounds: Bounds, progress: Progress) -> tuple[SavingDecision, ...]:
    from kipviz.checking.single_run.saving_decisions import decisions

    with until_interrupted(progress.designs) as go_on:
        return decisions(broken, bounds, go_on)


def _example(
    broken: Breaking, steps: tuple[str, ...], tried: tuple[SavingDecision, ...]
) -> dict[str, object]:
    return {
        "property": broken.broken,
        "reason": broken.reason,
        "blame": broken.blame,
        "steps": steps,
        "saving_step": None if broken.saved is None else broken.saved.at + 1,
        "sentence": broken.sentence,
        "decisions": [_document(d) for d in tried],
    }


def _document(decision: SavingDecision) -> dict[str, object]:
    return {
        "slot": decision.slot,
        "option": decision.option,
        "design": decision.design,
        "on_this_course": decision.verdict,
        "missing": [missing.name for missing in decision.missing],
        "every_interleaving": decision.searched,
    }


def _lines(
    found: Explored,
    broken: list[Breaking],
    decided: list[tuple[SavingDecision, ...]],
    saved: str | None,
) -> list[str]:
    from kipviz.checking.single_run.runs import labels
    from kipviz.scenarios.applications.program_faults import THE_PROGRAM
    from kipviz.views.exports.markdown import lines_of
    from kipviz.views.reports.review import saves_page

    lines = [found.sentence, found.timers.sentence, found.under]
    for each in broken:
        lines += ["", f"✗ {title_of(each.broken)} breaks after {each.step} steps:"]
        lines += [f"{n:>4}  {text}" for n, text in enumerate(labels(each.run), 1)]
        lines += [f"      {each.reason}", f"      {each.sentence}"]
        if each.blame:
            lines += [
                f"      {THE_PROGRAM}: {each.blame}",
                "      The search did not continue below that state.",
            ]
    for each, tried in zip(broken, decided, strict=True):
        if tried:
            lines += ["", *lines_of(saves_page(each, tried))]
    if saved is not None:
        lines += ["", f"saved to {saved}: kipviz play --from-trace {saved}"]
    return lines
