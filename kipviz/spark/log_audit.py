"""The audit of a cluster's logs, shared out on Spark: the same evidence and the same rules as in one process.

First each task reads whole partitions, large ones first; then what has one producer id is brought together, and each
task judges some producer ids. Evidence travels as bytes with its producer id. Only where the logs end, and the findings,
come to the driver. A partition is not divided: it is read in ranges, one after the other, within one task.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import pyarrow as pa

from kipviz.recordings.audit_evidence import (
    Damaged,
    Decision,
    Evidence,
    Held,
    Irregular,
    Latest,
    PartitionEnd,
    ShareState,
    evidence_of,
)
from kipviz.recordings.audit_findings import LogFinding
from kipviz.recordings.audit_rules import (
    Surroundings,
    findings_alone,
    findings_together,
    keys_of,
    surroundings,
)
from kipviz.recordings.log_audit import AuditPlan, LogAudit, audit_of, audit_plan
from kipviz.recordings.log_parts import LogPart
from kipviz.recordings.recording_error import RecordingError
from kipviz.spark.campaign import spark_schema
from kipviz.spark.session import cores
from kipviz.spark.shipping import ship

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# `kind` of a row: evidence to be brought together by its producer id, the end of a partition, a finding, a failure.
EVIDENCE, END, FINDING, FAILURE = range(4)
ROWS = pa.schema([("kind", pa.int32()), ("producer_id", pa.int64()), ("said", pa.binary())])
FINDINGS = pa.schema([("said", pa.binary())])
_ROWS_AT_ONCE = 5_000
_Any: TypeAlias = Held | Irregular | Decision | Latest | ShareState | Damaged | PartitionEnd
_EVIDENCE = msgspec.msgpack.Decoder(_Any)
_FINDING = msgspec.msgpack.Decoder(LogFinding)
_encode = msgspec.msgpack.encode


def audit_logs_on(
    spark: SparkSession,
    paths: Iterable[str | os.PathLike[str]],
    topics: Sequence[str] = (),
    *,
    check_crc: bool = True,
) -> LogAudit:
    """Audit the logs of one or several brokers on Spark; workers must see the folders at the same places.

    Args:
        spark: the session.
        paths: the brokers' folders, or a folder that holds them.
        topics: only these topics, internal ones included; all of them if left out.
        check_crc: compare every batch's checksum.

    Raises:
        RecordingError: a place is no folder, holds no log, or cannot be read.
    """
    ship(spark)
    plan = audit_plan(paths, topics)
    tasks = max(1, min(len(plan.partitions), 4 * cores(spark)))
    shares = [_encode(share) for share in _shares(plan, tasks)]
    table = pa.table({"share": pa.array(shares, pa.binary())})
    read = (
        spark.createDataFrame(table)
        .repartitionByRange(len(shares), "share")
        .mapInArrow(partial(read_shares, check_crc=check_crc), spark_schema(ROWS))
        .persist()
    )
    try:
        first = read.where(f"kind <> {EVIDENCE}").toArrow().to_pylist()
        failures = [row["said"] for row in first if row["kind"] == FAILURE]
        if failures:
            raise RecordingError(*msgspec.msgpack.decode(min(failures), type=tuple[str, int, str]))
        ends = [_EVIDENCE.decode(row["said"]) for row in first if row["kind"] == END]
        around = surroundings((e for e in ends if isinstance(e, PartitionEnd)), plan.coordinators)
        judged = (
            read.where(f"kind = {EVIDENCE}")
            .repartition(4 * cores(spark), "producer_id")
            .sortWithinPartitions("producer_id")
            .mapInArrow(partial(judge_producers, around=_encode(around)), spark_schema(FINDINGS))
            .toArrow()
        )
    finally:
        read.unpersist()
    alone = [_FINDING.decode(row["said"]) for row in first if row["kind"] == FINDING]
    found = [_FINDING.decode(each) for each in judged["said"].to_pylist()]
    return audit_of([*alone, *found], plan, around)


def _shares(plan: AuditPlan, tasks: int) -> list[tuple[tuple[LogPart, ...], ...]]:
    """Give each task partitions of about as many bytes: the largest one left to the task with the fewest."""
    shares: list[list[tuple[LogPart, ...]]] = [[] for _ in range(tasks)]
    sizes = [0] * tasks
    for parts in sorted(plan.partitions, key=lambda p: -sum(e.end - e.start for e in p)):
        least = sizes.index(min(sizes))
        shares[least].append(parts)
        sizes[least] += sum(each.end - each.start for each in parts) + 1
    return [tuple(share) for share in shares if share]


_SHARE = msgspec.msgpack.Decoder(tuple[tuple[LogPart, ...], ...])


def read_shares(batches: Iterable[pa.RecordBatch], *, check_crc: bool) -> Iterator[pa.RecordBatch]:
    """Read the partitions of some shares and return what an audit goes by."""
    rows: list[tuple[int, int, bytes]] = []
    for batch in batches:
        for share in batch.column("share").to_pylist():
            for parts in _SHARE.decode(share):
                for row in _read(parts, check_crc=check_crc):
                    rows.append(row)
                    if len(rows) == _ROWS_AT_ONCE:
                        yield _as_batch(rows)
                        rows = []
    if rows:
        yield _as_batch(rows)


def _read(parts: tuple[LogPart, ...], *, check_crc: bool) -> Iterator[tuple[int, int, bytes]]:
    try:
        for each in evidence_of(parts, check_crc=check_crc):
            yield from ((FINDING, -1, _encode(found)) for found in findings_alone(each))
            if isinstance(each, PartitionEnd):
                yield END, -1, _encode(each)
            keys = keys_of(each)
            if keys:
                said = _encode(each)
                yield from ((EVIDENCE, key, said) for key in keys)
    except RecordingError as problem:
        yield FAILURE, -1, _encode((problem.file, problem.at, problem.why))


def _as_batch(rows: list[tuple[int, int, bytes]]) -> pa.RecordBatch:
    kinds, producers, said = zip(*rows, strict=True)
    columns = (pa.array(kinds, pa.int32()), pa.array(producers, pa.int64()))
    return pa.RecordBatch.from_arrays([*columns, pa.array(said, pa.binary())], schema=ROWS)


def judge_producers(
    batches: Iterable[pa.RecordBatch], *, around: bytes
) -> Iterator[pa.RecordBatch]:
    """Judge the evidence of producer ids, which comes sorted by them."""
    known = msgspec.msgpack.decode(around, type=Surroundings)
    found: list[bytes] = []
    for evidence in _by_producer(batches):
        found += map(_encode, findings_together(evidence, known))
        if len(found) >= _ROWS_AT_ONCE:
            yield pa.RecordBatch.from_arrays([pa.array(found, pa.binary())], schema=FINDINGS)
            found = []
    if found:
        yield pa.RecordBatch.from_arrays([pa.array(found, pa.binary())], schema=FINDINGS)


def _by_producer(batches: Iterable[pa.RecordBatch]) -> Iterator[list[Evidence]]:
    now = -1
    group: list[Evidence] = []
    for batch in batches:
        producers = batch.column("producer_id").to_pylist()
        for producer_id, said in zip(producers, batch.column("said").to_pylist(), strict=True):
            if producer_id != now and group:
                yield group
                group = []
            now = producer_id
            group.append(_EVIDENCE.decode(said))
    if group:
        yield group
