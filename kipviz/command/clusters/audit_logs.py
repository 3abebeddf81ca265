"""`kipviz audit --logs FOLDER...`: what is wrong in the logs of a real cluster, and how to fix it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kipviz.command.arguments import count, names
from kipviz.command.bad_input import RefusedInput
from kipviz.command.campaigns.campaign import explaining, spark_for
from kipviz.command.output import Progress, answer

if TYPE_CHECKING:
    from kipviz.recordings.auditing.audit_findings import LogFinding
    from kipviz.recordings.auditing.log_audit import LogAudit

# So many findings of one kind are printed in full; JSON has all of them.
TOLD = 10
PART_MB = 64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    parser.add_argument(
        "--logs",
        nargs="+",
        metavar="FOLDER",
        help="audit the logs of real brokers instead: their folders, or a folder that holds them",
    )
    parser.add_argument(
        "--topics",
        type=names,
        default=(),
        metavar="T[,T]",
        help="with --logs: only these topics, and Kafka's internal ones",
    )
    parser.add_argument(
        "--no-checksums", action="store_true", help="with --logs: trust every batch; reads faster"
    )
    parser.add_argument(
        "--spark", action="store_true", help="with --logs: distribute the logs on Spark"
    )
    parser.add_argument(
        "--part-mb",
        type=count,
        metavar="N",
        help=f"with --logs: hold so many MB of a log at once in each process (default: {PART_MB})",
    )


def run(arguments: argparse.Namespace) -> int:
    """Audit logs and print every finding.

    Raises:
        Refused: if there is no log, or it cannot be read.
    """
    from kipviz.recordings.auditing.log_audit import audit_logs
    from kipviz.recordings.recording_error import RecordingError

    how: dict[str, Any] = {
        "check_crc": not arguments.no_checksums,
        "part_bytes": (arguments.part_mb or PART_MB) << 20,
    }
    try:
        with Progress() as progress:
            if arguments.spark or arguments.master:
                with explaining():
                    from kipviz.spark.log_audit import audit_logs_on

                    spark = spark_for(arguments.master)
                    found = audit_logs_on(
                        spark, arguments.logs, arguments.topics, on_progress=progress.tasks, **how
                    )
            else:

                def report_parts(done: int, there_are: int) -> None:
                    progress.say(f"{done:,} of {there_are:,} partitions")

                found = audit_logs(
                    arguments.logs, arguments.topics, on_partition=report_parts, **how
                )
    except (RecordingError, ValueError) as wrong:
        raise RefusedInput(str(wrong)) from None
    answer(_document(found), _lines(found), as_json=arguments.json)
    return int(found.fails)


def _document(found: LogAudit) -> dict[str, Any]:
    from kipviz.recordings.auditing.audit_findings import KINDS

    kinds = [each.kind for each in found.findings]
    return {
        "partitions": found.partitions,
        "batches": found.batches,
        "bytes": found.bytes,
        "coordinators_complete": found.coordinators_complete,
        "counts": {kind: kinds.count(kind) for kind in KINDS},
        "findings": [
            {name: getattr(each, name) for name in each.__struct_fields__}
            | {"weight": each.weight, "meaning": each.meaning, "window": found.window(each)}
            for each in found.findings
        ],
        "replicas_left_out": list(found.replicas),
        "not_read": [f"{each.name} {each.why}" for each in found.set_aside],
    }


def _lines(found: LogAudit) -> Iterator[str]:
    size = f"{found.partitions:,} partitions, {found.batches:,} batches, {found.bytes:,} bytes"
    yield f"{size}: {_counts(found) or 'nothing found'}"
    if not found.coordinators_complete:
        yield (
            "Not all partitions of __transaction_state are here, or their number is unknown: another coordinator may know a transaction that is unknown here."
        )
    if found.replicas:
        yield f"Other copies of the same partitions are not audited: {len(found.replicas)}."
    yield from (f"not read: {each.name} {each.why}" for each in found.set_aside)
    told: dict[str, int] = {}
    for each in found.findings:
        told[each.kind] = told.get(each.kind, 0) + 1
        if told[each.kind] <= TOLD:
            yield from _of_finding(each, found.window(each), first=told[each.kind] == 1)
        elif told[each.kind] == TOLD + 1:
            count = sum(other.kind == each.kind for other in found.findings) - TOLD
            yield f"  and {count:,} more of this kind (--json has all of them)"


def _counts(found: LogAudit) -> str:
    kinds = [each.kind for each in found.findings]
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))


def _of_finding(each: LogFinding, window: str, *, first: bool) -> Iterator[str]:
    yield ""
    yield f"{each.kind} ({each.weight}, {each.certainty}): {each.partition} at offset {each.offset}"
    if first:
        yield f"  {each.meaning}"
    yield f"  {each.what}"
    yield f"  affected: {each.affected}"
    yield from (f"  repair: {mend}" for mend in each.mends)
    yield f"  open: {window}"
