"""The audit of a cluster's logs, shared out on Spark: the same evidence and the same rules as in one process.

First each task reads whole partitions, large ones first; then what has one producer id is brought together, and each
task judges some producer ids. Evidence travels by the thousand: producer ids share a bucket, and what a task has found for a
bucket is one row of bytes, because a row of its own for each transaction costs more than reading the log. The number of
buckets goes with the size of the log, so that what a task judges at once does not. Only where the logs end, and the
findings, come to the driver. A partition is not divided: it is read in ranges, one after the other, within one task.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import pyarrow as pa

from kipviz.recordings.auditing.audit_evidence import (
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
from kipviz.recordings.auditing.audit_findings import LogFinding
from kipviz.recordings.auditing.audit_rules import (
    Surroundings,
    findings_alone,
    findings_together,
    keys_of,
    surroundings,
)
from kipviz.recordings.auditing.log_audit import AuditPlan, LogAudit, audit_of, audit_plan
from kipviz.recordings.files.log_parts import LogPart
from kipviz.recordings.recording_error import RecordingError
from kipviz.spark.campaign import spark_schema
from kipviz.spark.package_archive import ship
from kipviz.spark.session import cores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# `kind` of a row: evidence of a bucket of producer ids, where partitions end, findings, a failure.
EVIDENCE, ENDS, FINDINGS, FAILURE = range(4)
ROWS = pa.schema([("kind", pa.int32()), ("bucket", pa.int64()), ("said", pa.binary())])
JUDGED = pa.schema([("said", pa.binary())])
# A transaction leaves about as much as a small batch has, so a bucket's evidence is less than this.
BUCKET_BYTES = 16 << 20
_AT_ONCE = 50_000
_Any: TypeAlias = Held | Irregular | Decision | Latest | ShareState | Damaged | PartitionEnd
_EVIDENCE = msgspec.msgpack.Decoder(list[_Any])
_ENDS = msgspec.msgpack.Decoder(list[PartitionEnd])
_FINDINGS = msgspec.msgpack.Decoder(list[LogFinding])
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
        topics: only these topics, internal ones included; default: all.
        check_crc: compare every batch's checksum.

    Raises:
        RecordingError: a place is no folder, holds no log, or cannot be read.
    """
    ship(spark)
    plan = audit_plan(paths, topics)
    at_once = 4 * cores(spark)
    shares = _shares(plan, max(1, min(len(plan.partitions), at_once)))
    size = sum(part.end - part.start for parts in plan.partitions for part in parts)
    buckets = max(at_once, size // BUCKET_BYTES)
    body = partial(
        read_shares, shares=tuple(map(_encode, shares)), buckets=buckets, check_crc=check_crc
    )
    places = spark.range(0, len(shares), 1, max(1, len(shares)))
    read = places.mapInArrow(body, spark_schema(ROWS)).persist()
    try:
        told: dict[int, list[bytes]] = {}
        for row in read.where(f"kind <> {EVIDENCE}").toArrow().to_pylist():
            told.setdefault(row["kind"], []).append(row["said"])
        if FAILURE in told:
            problem = msgspec.msgpack.decode(min(told[FAILURE]), type=tuple[str, int, str])
            raise RecordingError(*problem)
        ends = (end for said in told.get(ENDS, ()) for end in _ENDS.decode(said))
        around = surroundings(ends, plan.coordinators)
        judged = (
            read.where(f"kind = {EVIDENCE}")
            .repartition(at_once, "bucket")
            .sortWithinPartitions("bucket")
            .mapInArrow(
                partial(judge_buckets, buckets=buckets, around=_encode(around)),
                spark_schema(JUDGED),
            )
            .toArrow()
        )
    finally:
        read.unpersist()
    said = (*told.get(FINDINGS, ()), *judged["said"].to_pylist())
    return audit_of((each for some in said for each in _FINDINGS.decode(some)), plan, around)


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


def read_shares(
    batches: Iterable[pa.RecordBatch], *, shares: Sequence[bytes], buckets: int, check_crc: bool
) -> Iterator[pa.RecordBatch]:
    """Read the partitions of some shares and return what an audit goes by.

    Args:
        batches: one column with the numbers of the shares.
        shares: for each task its partitions, as bytes.
        buckets: how many buckets the producer ids fall into.
        check_crc: compare every batch's checksum.
    """
    for batch in batches:
        for share in batch.column(0).to_pylist():
            yield from _read(_SHARE.decode(shares[share]), buckets, check_crc=check_crc)


def _read(
    share: tuple[tuple[LogPart, ...], ...], buckets: int, *, check_crc: bool
) -> Iterator[pa.RecordBatch]:
    evidence: dict[int, list[Evidence]] = {}
    ends: list[PartitionEnd] = []
    found: list[LogFinding] = []
    count = 0
    try:
        for each in (each for parts in share for each in evidence_of(parts, check_crc=check_crc)):
            found += findings_alone(each)
            if isinstance(each, PartitionEnd):
                ends.append(each)
            for bucket in sorted({key % buckets for key in keys_of(each)}):
                evidence.setdefault(bucket, []).append(each)
                count += 1
            if count + len(found) >= _AT_ONCE:
                yield _rows(evidence, found)
                evidence, found, count = {}, [], 0
    except RecordingError as problem:
        said = _encode((problem.file, problem.at, problem.why))
        yield _as_batch([(FAILURE, -1, said)])
    yield _rows(evidence, found)
    yield _as_batch([(ENDS, -1, _encode(ends))])


def _rows(evidence: dict[int, list[Evidence]], found: list[LogFinding]) -> pa.RecordBatch:
    rows = [(EVIDENCE, bucket, _encode(some)) for bucket, some in evidence.items()]
    return _as_batch([*rows, (FINDINGS, -1, _encode(found))])


def _as_batch(rows: list[tuple[int, int, bytes]]) -> pa.RecordBatch:
    kinds, in_buckets, said = zip(*rows, strict=True)
    columns = (pa.array(kinds, pa.int32()), pa.array(in_buckets, pa.int64()))
    return pa.RecordBatch.from_arrays([*columns, pa.array(said, pa.binary())], schema=ROWS)


def judge_buckets(
    batches: Iterable[pa.RecordBatch], *, buckets: int, around: bytes
) -> Iterator[pa.RecordBatch]:
    """Judge the evidence of buckets of producer ids, whose rows come sorted by bucket.

    Args:
        batches: the columns of `ROWS`.
        buckets: how many buckets there are.
        around: the `Surroundings`, as bytes.
    """
    known = msgspec.msgpack.decode(around, type=Surroundings)
    for bucket, evidence in _by_bucket(batches):
        together: dict[int, list[Evidence]] = {}
        for each in evidence:
            for key in keys_of(each):
                if key % buckets == bucket:
                    together.setdefault(key, []).append(each)
        found = [f for key in sorted(together) for f in findings_together(together[key], known)]
        for first in range(0, len(found), _AT_ONCE):
            said = pa.array([_encode(found[first : first + _AT_ONCE])], pa.binary())
            yield pa.RecordBatch.from_arrays([said], schema=JUDGED)


def _by_bucket(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, list[Evidence]]]:
    now = -1
    group: list[Evidence] = []
    for batch in batches:
        in_buckets = batch.column("bucket").to_pylist()
        for bucket, said in zip(in_buckets, batch.column("said").to_pylist(), strict=True):
            if bucket != now and group:
                yield now, group
                group = []
            now = bucket
            group += _EVIDENCE.decode(said)
    if group:
        yield now, group
