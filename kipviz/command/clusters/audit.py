"""`kipviz audit`: every duplicate, lost and stuck record of an event log, or what is wrong in a cluster's logs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kipviz.command.arguments import add_json, add_steps_max
from kipviz.command.bad_input import RefusedInput
from kipviz.command.campaigns.campaign import explaining, replay_words, spark_for
from kipviz.command.clusters import audit_logs
from kipviz.command.output import Progress, answer

if TYPE_CHECKING:
    from kipviz.spark.audit import AuditResult

HELP = "find every duplicate, lost and stuck record in an event log, or anomalies in brokers' logs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    parser.add_argument(
        "log", nargs="?", metavar="DIR", help="what `kipviz campaign --events DIR` wrote"
    )
    audit_logs.add_arguments(parser)
    parser.add_argument(
        "--master", metavar="M", help="Spark's master, such as local[4] or sc://..."
    )
    add_steps_max(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Audit the log and name every run worth opening.

    Raises:
        Refused: if neither an event log nor brokers' logs are named, or both.
    """
    if (arguments.log is None) == (arguments.logs is None):
        raise RefusedInput("name an event log, or brokers' folders after --logs")
    if arguments.logs is not None:
        return audit_logs.run(arguments)
    if arguments.topics or arguments.no_checksums or arguments.spark or arguments.part_mb:
        raise RefusedInput("--topics, --no-checksums, --part-mb and --spark are for --logs")
    with Progress() as progress, explaining():
        from kipviz.spark.audit import audit_log

        result = audit_log(spark_for(arguments.master), arguments.log, progress.tasks)
    findings = result.table.to_pylist()
    document = {
        "log": arguments.log,
        "runs": result.runs,
        "unfinished": result.unfinished,
        "counts": {kind: result.count(kind) for kind in _kinds()},
        "findings": [
            {**row, "blame": blame, "command": replay_words(row, arguments.steps_max)}
            for row, blame in zip(findings, result.blames, strict=True)
        ],
    }
    answer(document, _lines(result, findings, arguments.steps_max), as_json=arguments.json)
    return int(result.fails)


def _kinds() -> tuple[str, ...]:
    from kipviz.spark.audit import FINDINGS

    return FINDINGS


def _lines(result: AuditResult, findings: list[dict[str, Any]], steps_max: int) -> Iterator[str]:
    from kipviz.scenarios.applications.program_faults import THE_PROGRAM

    yield repr(result)
    for row, blame in zip(findings, result.blames, strict=True):
        outputs = f"{row['outputs']} committed output{'s' if row['outputs'] != 1 else ''}"
        yield ""
        yield (
            f"{row['finding']}: {row['source']}@{row['offset']} at step {row['step']}, {outputs}, "
            f"delivered {row['deliveries']} times"
        )
        if blame:
            yield f"  {THE_PROGRAM}: {blame}"
        yield f"  {replay_words(row, steps_max)}"
