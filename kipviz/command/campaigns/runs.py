"""`kipviz runs`: a saved campaign, its runs grouped by the broken property, and what changed since another one."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from kipviz.command.arguments import add_json, count
from kipviz.command.bad_input import RefusedInput
from kipviz.command.campaigns.campaign import explaining, replay_words
from kipviz.command.output import answer

if TYPE_CHECKING:
    from kipviz.spark.campaign import ArrowResult
    from kipviz.spark.saved.campaign_changes import CampaignChanges
    from kipviz.spark.saved.saved_runs import SavedCampaign

HELP = "list the runs of a saved campaign, and what changed since another one"
LISTED = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    parser.add_argument(
        "folder", metavar="DIR", help="the folder of `kipviz campaign --resume DIR`"
    )
    parser.add_argument("--design", metavar="D", help="only the runs of this design")
    parser.add_argument(
        "--broken", metavar="PROPERTY", help="only the runs that break this property"
    )
    parser.add_argument(
        "--against",
        metavar="DIR",
        help="the folder of an earlier campaign: list the runs whose verdict changed",
    )
    parser.add_argument(
        "--limit",
        type=count,
        default=LISTED,
        metavar="N",
        help=f"maximum number of runs to list ({LISTED})",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the table of a saved campaign, its runs that break a property, and what changed.

    Raises:
        Refused: if a folder holds no campaign, or the campaign has no such design or property.
    """
    from kipviz.checking.judging.verdicts import property_named
    from kipviz.spark.campaign import ArrowResult
    from kipviz.spark.saved.campaign_changes import changes_between
    from kipviz.spark.saved.saved_runs import saved_campaign

    with explaining():
        saved = saved_campaign(arguments.folder)
        earlier = None if arguments.against is None else saved_campaign(arguments.against)
        # A property of another version is still valid if the runs name it.
        if arguments.broken not in {None, *saved.table["broken"].unique().to_pylist()}:
            property_named(arguments.broken)
    if arguments.design is not None and arguments.design not in saved.plan.designs:
        raise RefusedInput(f"this campaign has the designs {', '.join(saved.plan.designs)}")
    result = ArrowResult(saved.plan, saved.table)
    broken = [row for row in result.rows_except("holds", "program") if _meant(row, arguments)]
    changes = None if earlier is None else changes_between(earlier.table, saved.table)
    document = _document(saved, result, broken[: arguments.limit], len(broken), changes)
    lines = [*_lines(saved, result, broken, arguments.limit)]
    if earlier is not None and changes is not None:
        lines += ["", *_changed_lines(arguments.against, earlier, changes, saved)]
    answer(document, lines, as_json=arguments.json)
    return int(bool(broken) if changes is None else bool(changes.changed))


def _meant(row: dict[str, Any], arguments: argparse.Namespace) -> bool:
    return (arguments.design in {None, row["design"]}) and (
        arguments.broken in {None, row["broken"]}
    )


def _document(
    saved: SavedCampaign,
    result: ArrowResult,
    listed: list[dict[str, Any]],
    broken: int,
    changes: CampaignChanges | None,
) -> dict[str, Any]:
    import msgspec

    steps_max = saved.plan.steps_max
    return {
        "plan": str(saved.plan),
        "version": saved.version,
        "runs": saved.plan.jobs,
        "made": saved.table.num_rows,
        "damaged": list(saved.damaged),
        "summary": msgspec.to_builtins(result.summary()),
        "broken": broken,
        "listed": [row | {"command": replay_words(row, steps_max)} for row in listed],
        "changes": None
        if changes is None
        else msgspec.to_builtins(changes) | {"changed": changes.changed},
    }


def _lines(
    saved: SavedCampaign, result: ArrowResult, broken: list[dict[str, Any]], limit: int
) -> Iterator[str]:
    yield from repr(result).splitlines()
    made = saved.table.num_rows
    if made < saved.plan.jobs:
        yield f"{saved.plan.jobs - made:,} runs are still to be made: kipviz campaign --resume continues with them."
    yield from (f"{name} is damaged, and its runs are not counted." for name in saved.damaged)
    if broken:
        yield ""
        yield f"{len(broken):,} runs break a property:"
    for row in islice(broken, limit):
        what = row["broken"] or row["status"]
        when = f"at step {row['step']}" if row["step"] >= 0 else "at the end"
        yield f"  {row['design']}: {what} {when}: {row['reason']}"
        yield f"    {replay_words(row, saved.plan.steps_max)}"
    if len(broken) > limit:
        yield f"  and {len(broken) - limit:,} more (--limit, --design and --broken choose among them)"


def _changed_lines(
    folder: str, earlier: SavedCampaign, changes: CampaignChanges, saved: SavedCampaign
) -> Iterator[str]:
    versions = "" if earlier.version == saved.version else f", made by kipviz {earlier.version}"
    yield f"Against {folder}{versions}: {changes.changed:,} runs have another verdict, {changes.same:,} the same one."
    if changes.other_steps:
        yield f"Of these {changes.other_steps:,} have other steps."
    for count_, where in ((changes.only_after, "here"), (changes.only_before, f"in {folder}")):
        if count_:
            yield f"{count_:,} runs are only {where}."
    for each in changes.changes:
        row = {name: getattr(each, name) for name in ("scenario", "design", "faults", "seed")}
        why = f": {each.reason}" if each.reason else ""
        yield f"  {each.design}: {each.count:,} from {each.before} to {each.after}{why}"
        yield f"    {replay_words(row, saved.plan.steps_max)}"
