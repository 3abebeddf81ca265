"""`kipviz campaign`: seeded runs by the thousand, on Spark, in processes or in a loop."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kipviz.command.arguments import add_json, add_steps_max, count, names, seed
from kipviz.command.bad_input import RefusedInput
from kipviz.command.output import Progress, answer, check_place, cut_short, was_cut_short
from kipviz.command.own_code import add_rules

if TYPE_CHECKING:
    from kipviz.campaigns.loop import LoopCampaign
    from kipviz.campaigns.result import CampaignResult
    from kipviz.checking.judging.coverage import Coverage
    from kipviz.spark.campaign import Campaign

HELP = "make seeded runs over scenarios x designs x fault profiles and count the verdicts"
WAYS = ("spark", "processes", "loop")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    parser.add_argument("--scenario", required=True, type=names, metavar="S[,S]")
    parser.add_argument("--designs", required=True, type=names, metavar="D[,D]")
    parser.add_argument("--faults", default=("calm",), type=names, metavar="F[,F]", help="calm")
    parser.add_argument("--runs", default=100, type=count, metavar="N", help="seeds for each (100)")
    parser.add_argument("--seed", default=0, type=seed, metavar="K", help="the first seed (0)")
    add_steps_max(parser)
    parser.add_argument("--way", choices=WAYS, default="spark", help="where the runs are made")
    parser.add_argument(
        "--master", metavar="M", help="Spark's master, such as local[4] or sc://..."
    )
    parser.add_argument(
        "--resume",
        metavar="DIR",
        help="save finished parts in this folder, and continue from those already there (`kipviz runs DIR` lists them)",
    )
    parser.add_argument("--events", metavar="DIR", help="write every event of every run as Parquet")
    parser.add_argument(
        "--shrink", action="store_true", help="print a minimal story of the first run of each kind"
    )
    parser.add_argument(
        "--coverage",
        action="store_true",
        help="repeat the runs here and list which rules fired",
    )
    add_rules(parser, "the design repaired, to be named in --designs")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the campaign, count its outcomes, and write its events if --events asks for them."""
    if arguments.master is not None and arguments.way != "spark":
        raise RefusedInput("--master is for --way spark")
    if arguments.events is not None:
        check_place(arguments.events)
        if Path(arguments.events).exists():
            raise RefusedInput(f"{arguments.events} already exists: choose another place")
    with Progress() as progress:
        with explaining():
            work = _campaign(arguments)
            with _interruptible(work, arguments.resume):
                work.run(progress.runs)
            result = work.result
            assert result is not None
            for name in work.damaged:
                progress.say(f"{name} was damaged, so its runs were repeated", last=True)
            if arguments.events is not None and not was_cut_short():
                _write_events(arguments, work, progress)
        broken = result.rows_except("holds", "program")
        whole = not was_cut_short()
        stories = _stories(broken, arguments.steps_max) if arguments.shrink and whole else []
        coverage = _coverage(result, progress) if arguments.coverage and whole else None
    document = _document(arguments, result, broken) if arguments.json else {}
    lines = [] if arguments.json else [*_lines(result, broken)]
    if arguments.shrink:
        document["stories"] = stories
        lines += [line for story in stories for line in _story_lines(story)]
    if coverage is not None:
        document["coverage"] = [
            {"role": r.role, "rule": r.rule, "guard": r.guard, "times": r.times}
            for r in coverage.rows()
        ]
        lines += ["", f"rules ({len(coverage.never())} never fired):", *coverage.lines()]
    answer(document, lines, as_json=arguments.json)
    return int(bool(broken))


@contextmanager
def explaining() -> Iterator[None]:
    """Turn errors about names, Java, Spark and its workers into bad input."""
    from kipviz.campaigns.cancellation import Cancelled
    from kipviz.spark.sessions.failures import CampaignFailed
    from kipviz.spark.sessions.session import SparkUnavailable

    try:
        yield
    except (ValueError, OSError, CampaignFailed, Cancelled, SparkUnavailable) as wrong:
        raise RefusedInput(str(wrong) or type(wrong).__name__) from None


def spark_for(master: str | None) -> Any:
    """Return the Spark session for a master; only the floor `spark` knows its type."""
    from kipviz.spark.sessions.session import session

    return session(master)


def replay_words(row: Mapping[str, Any], steps_max: int = 600) -> str:
    """Return the command line that repeats one run of a campaign."""
    words = ["kipviz", "replay"]
    for name in ("scenario", "design", "faults", "seed"):
        words += [f"--{name}={row[name]}"] if name == "seed" else [f"--{name}", row[name]]
    if steps_max != 600:
        words += ["--steps-max", str(steps_max)]
    return shlex.join(words)


def _campaign(arguments: argparse.Namespace) -> Campaign | LoopCampaign:
    settings = (arguments.scenario, arguments.designs, arguments.faults, arguments.runs)
    if arguments.way == "loop" and arguments.resume is None:
        from kipviz.campaigns.loop import LoopCampaign

        return LoopCampaign(*settings, arguments.seed, arguments.steps_max)
    from kipviz.spark.campaign import Campaign

    # It starts Spark itself and makes the first runs in the meantime.
    return Campaign(
        *settings,
        arguments.seed,
        arguments.steps_max,
        way=arguments.way,
        folder=arguments.resume,
        master=arguments.master,
    )


@contextmanager
def _interruptible(work: Campaign | LoopCampaign, folder: str | None) -> Iterator[None]:
    """Let the first ^C cancel a campaign, without the messages of its workers about their end."""
    from kipviz.campaigns.cancellation import Cancelled
    from kipviz.checking.search.interrupted import is_ignored

    before = signal.getsignal(signal.SIGINT)

    def cancel(_: int, __: object) -> None:
        signal.signal(signal.SIGINT, before)  # a second ^C is meant
        work.cancel()

    if not is_ignored():
        signal.signal(signal.SIGINT, cancel)
    try:
        yield
    except Cancelled:
        if work.result is not None and work.result.rows("job"):
            cut_short()  # a loop still has the runs that it made
            return
        if folder is not None:
            print(f"kipviz: finished parts are saved in {folder}", file=sys.stderr)
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGINT, before)


def _write_events(
    arguments: argparse.Namespace, work: Campaign | LoopCampaign, progress: Progress
) -> None:
    from kipviz.spark.saved.event_log import write_events

    write_events(
        spark_for(arguments.master), work.plan, arguments.events, on_progress=progress.runs
    )


def _document(
    arguments: argparse.Namespace, result: CampaignResult, broken: list[dict[str, Any]]
) -> dict[str, Any]:
    import msgspec

    return {
        "plan": str(result.plan),
        "runs": result.plan.jobs,
        "summary": msgspec.to_builtins(result.summary(), enc_hook=str),
        "verdicts": [{k: v for k, v in row.items() if k != "job"} for row in result.each_row()],
        "broken": [replay_words(row, arguments.steps_max) for row in broken],
        "events": arguments.events,
        "holds": not broken,
    }


def _stories(broken: list[dict[str, Any]], steps_max: int) -> list[dict[str, Any]]:
    """Shrink the first run of each kind that breaks a property."""
    from kipviz.checking.single_run import runs
    from kipviz.checking.single_run.seeded_run import Task, moments, replay_model
    from kipviz.checking.single_run.shrink import shrink
    from kipviz.designs.catalogue import design
    from kipviz.scenarios.library import scenario

    stories = []
    for row in _first_of_each_kind(broken):
        if row["status"] != "breaks":
            continue
        task = Task(row["scenario"], row["design"], row["faults"], row["seed"], steps_max)
        actions = tuple(moment.action for moment in moments(task))
        model = replay_model(task, actions)
        story = shrink(model, actions, row["broken"])
        told = runs.follow_found(
            scenario(task.scenario), design(task.design), model.spec.budget, story.actions
        )
        stories.append(
            {
                "run": replay_words(row, steps_max),
                "property": story.property,
                "actions": len(actions),
                "steps": list(runs.labels(told)),
            }
        )
    return stories


def _story_lines(story: dict[str, Any]) -> Iterator[str]:
    steps = story["steps"]
    yield ""
    yield f"{story['property']} breaks in {len(steps)} of {story['actions']} steps of {story['run']}:"
    yield from (f"{n:>4}  {text}" for n, text in enumerate(steps, 1))


def _coverage(result: CampaignResult, progress: Progress) -> Coverage:
    from kipviz.checking.judging.coverage import coverage_of
    from kipviz.checking.single_run.seeded_run import Task

    jobs = result.plan.jobs

    def tell(done: int) -> bool:
        progress.runs(done, jobs)
        return True

    def each_task() -> Iterator[Task]:
        for job in range(jobs):
            task = result.plan.task(job)
            assert isinstance(task, Task), "the command has no task module but the model's"
            yield task

    return coverage_of(each_task(), tell)


def _first_of_each_kind(broken: list[dict[str, Any]]) -> list[dict[str, Any]]:
    first: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in broken:
        first.setdefault((row["design"], row["status"], row["broken"]), row)
    return list(first.values())


def _lines(result: CampaignResult, broken: list[dict[str, Any]]) -> Iterator[str]:
    yield from repr(result).splitlines()
    first = _first_of_each_kind(broken)
    if first:
        yield ""
        yield "the first run of each kind:"
    for row in first:
        what = f"{row['broken']} breaks" if row["status"] == "breaks" else "error"
        yield f"  {row['design']}: {what}: {row['reason']}"
        yield f"    {replay_words(row, result.plan.steps_max)}"
    programs = result.rows_except("holds", "breaks", "error")
    if programs:
        yield ""
        yield "the first run of each scenario that only its own program breaks:"
    for row in {row["scenario"]: row for row in reversed(programs)}.values():
        yield f"  {row['scenario']}: {row['broken']} breaks: {row['reason']}"
        yield f"    {replay_words(row, result.plan.steps_max)}"
