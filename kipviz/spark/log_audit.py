"""The audit of a cluster's logs on Spark, with the same evidence and the same rules as in one process.

First each task reads stretches of partitions, a range of bytes of a large one, so that one large partition is read by
as many tasks as many small ones. Then the evidence of each producer id is collected, the stretches' open ends are
joined in the order of their logs, and each task judges some producer ids. Evidence with names (transactional ids,
share-partitions) is joined before that, if a partition of such a topic was cut at all. Many producer ids share a
bucket, and a task's evidence for a bucket is one row of bytes, because one row for each transaction costs more than
reading the log. The number of buckets grows with the size of the log, so that the work of one task does not. Only the
extents of the stretches, and the findings, reach the driver.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import pyarrow as pa

from kipviz.campaigns.cancellation import CancelSwitch, OnProgress
from kipviz.recordings.auditing.audit_evidence import (
    AuditedDecision,
    Damaged,
    Evidence,
    Irregular,
    Latest,
    OpenEnds,
    PartitionEnd,
    PartitionTransaction,
    ProducerEnds,
    ShareEnds,
    ShareState,
    Surroundings,
    TransactionEnds,
    surroundings,
)
from kipviz.recordings.auditing.audit_findings import LogFinding
from kipviz.recordings.auditing.audit_rules import findings_together
from kipviz.recordings.auditing.gathered_evidence import GatheredEvidence, keys_of
from kipviz.recordings.auditing.log_audit import AuditPlan, LogAudit, audit_of, audit_plan
from kipviz.recordings.auditing.partition_fold import NAMED_TOPICS, join_stretches, joined_extent
from kipviz.recordings.auditing.single_evidence import findings_alone
from kipviz.recordings.auditing.stretches import (
    ExtentIn,
    OpenIn,
    Stretch,
    read_stretch,
    stretches_of,
)
from kipviz.recordings.files.log_parts import PART_BYTES
from kipviz.recordings.recording_error import RecordingError
from kipviz.spark.campaign import spark_schema
from kipviz.spark.sessions.failures import explain_error
from kipviz.spark.sessions.progress import watch_action
from kipviz.spark.sessions.session import cores
from kipviz.spark.workers.package_archive import ship

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The `kind` of a row: evidence of a bucket of producer ids, open ends of a bucket of names, extents of stretches,
# findings, a failure.
EVIDENCE, NAMED, EXTENTS, FINDINGS, FAILURE = range(5)
ROWS = pa.schema([("kind", pa.int32()), ("bucket", pa.int64()), ("said", pa.binary())])
JUDGED = pa.schema([("said", pa.binary())])
# A transaction leaves about as much evidence as a small batch has bytes, so a bucket's evidence is smaller than this.
BUCKET_BYTES = 16 << 20
# A smaller stretch is not worth a task; a larger one takes long to read again if its task is lost.
STRETCH_LEAST, STRETCH_MOST = 4 << 20, 1 << 30
_AT_ONCE = 50_000
_Any: TypeAlias = (
    PartitionTransaction
    | Irregular
    | AuditedDecision
    | Latest
    | ShareState
    | Damaged
    | PartitionEnd
    | ProducerEnds
)
_EVIDENCE = msgspec.msgpack.Decoder(list[_Any])
_NAMED = msgspec.msgpack.Decoder(list[TransactionEnds | ShareEnds])
_EXTENTS = msgspec.msgpack.Decoder(list[ExtentIn])
_FINDINGS = msgspec.msgpack.Decoder(list[LogFinding])
_encode = msgspec.msgpack.encode


def audit_logs_on(
    spark: SparkSession,
    paths: Iterable[str | os.PathLike[str]],
    topics: Sequence[str] = (),
    *,
    check_crc: bool = True,
    part_bytes: int = PART_BYTES,
    on_progress: OnProgress | None = None,
    switch: CancelSwitch | None = None,
) -> LogAudit:
    """Audit the logs of one or several brokers on Spark; workers must see the folders at the same places.

    Args:
        spark: the session.
        paths: the brokers' folders, or a folder that holds them.
        topics: only these topics, and Kafka's internal ones; default: all.
        check_crc: compare every batch's checksum.
        part_bytes: how many bytes of a log a worker has in memory at once.
        on_progress: gets Spark's tasks done and known so far.
        switch: cancels the audit when it is turned.

    Raises:
        RecordingError: a path is not a folder, holds no log, or cannot be read.
        ValueError: `part_bytes` is less than 1.
        Cancelled: the switch was turned.
        CampaignFailed: Spark failed; in one sentence.
    """
    plan = audit_plan(paths, topics, part_bytes)
    try:
        return watch_action(
            spark, partial(_audit_plan, spark, plan, check_crc), on_progress, switch
        )
    except RecordingError:
        raise
    except Exception as error:
        raise explain_error(error) from error


def _audit_plan(spark: SparkSession, plan: AuditPlan, check_crc: bool) -> LogAudit:
    ship(spark)
    at_once = 4 * cores(spark)
    size = sum(part.end - part.start for parts in plan.partitions for part in parts)
    stretches = stretches_of(plan, min(max(STRETCH_LEAST, size // at_once), STRETCH_MOST))
    shares = _shares(stretches, max(at_once, size // STRETCH_MOST))
    buckets = max(at_once, size // BUCKET_BYTES)
    body = partial(
        read_shares, shares=tuple(map(_encode, shares)), buckets=buckets, check_crc=check_crc
    )
    places = spark.range(0, len(shares), 1, max(1, len(shares)))
    read = places.mapInArrow(body, spark_schema(ROWS)).persist()
    try:
        told: dict[int, list[bytes]] = {}
        for row in read.where(f"kind >= {EXTENTS}").toArrow().to_pylist():
            told.setdefault(row["kind"], []).append(row["said"])
        if FAILURE in told:
            problem = msgspec.msgpack.decode(min(told[FAILURE]), type=tuple[str, int, str])
            raise RecordingError(*problem)
        around = surroundings(extents(told.get(EXTENTS, ())), plan.coordinators)
        evidence = read.where(f"kind = {EVIDENCE}")
        if any(not each.only and each.parts[0].topic in NAMED_TOPICS for each in stretches):
            named = read.where(f"kind = {NAMED}").repartition(at_once, "bucket")
            body = partial(join_names, buckets=buckets)
            named = named.sortWithinPartitions("bucket").mapInArrow(body, spark_schema(ROWS))
            named = named.persist()
            for row in named.where(f"kind = {FINDINGS}").toArrow().to_pylist():
                told.setdefault(FINDINGS, []).append(row["said"])
            evidence = evidence.unionByName(named.where(f"kind = {EVIDENCE}"))
        judge = partial(judge_buckets, buckets=buckets, around=_encode(around))
        gathered = evidence.repartition(at_once, "bucket").sortWithinPartitions("bucket")
        judged = gathered.mapInArrow(judge, spark_schema(JUDGED)).toArrow()
    finally:
        read.unpersist()
    said = (*told.get(FINDINGS, ()), *judged["said"].to_pylist())
    return audit_of((each for some in said for each in _FINDINGS.decode(some)), plan, around)


def extents(said: Iterable[bytes]) -> Iterator[PartitionEnd]:
    """Yield the extents of partitions, joined from all their stretches."""
    found: dict[str, list[ExtentIn]] = {}
    for each in (each for some in said for each in _EXTENTS.decode(some)):
        found.setdefault(each.extent.partition, []).append(each)
    for stretches in found.values():
        stretches.sort(key=lambda each: each.number)
        yield joined_extent(each.extent for each in stretches)


def _shares(stretches: list[Stretch], tasks: int) -> list[tuple[Stretch, ...]]:
    """Divide the stretches into shares of about the same size: the largest one left goes to the smallest share."""
    shares: list[list[Stretch]] = [[] for _ in range(tasks)]
    sizes = [(0, task) for task in range(tasks)]
    for stretch in sorted(stretches, key=lambda each: -each.bytes):
        least, task = sizes[0]
        shares[task].append(stretch)
        heapq.heapreplace(sizes, (least + stretch.bytes + 1, task))
    return [tuple(share) for share in shares if share]


_SHARE = msgspec.msgpack.Decoder(tuple[Stretch, ...])


def read_shares(
    batches: Iterable[pa.RecordBatch], *, shares: Sequence[bytes], buckets: int, check_crc: bool
) -> Iterator[pa.RecordBatch]:
    """Read the stretches of some shares, and yield the evidence for an audit.

    Args:
        batches: one column with the numbers of the shares.
        shares: for each task its stretches, as bytes.
        buckets: the number of buckets for producer ids and names.
        check_crc: compare every batch's checksum.
    """
    for batch in batches:
        for share in batch.column(0).to_pylist():
            yield from _read(_SHARE.decode(shares[share]), buckets, check_crc=check_crc)


def _read(share: tuple[Stretch, ...], buckets: int, *, check_crc: bool) -> Iterator[pa.RecordBatch]:
    out = _Rows(buckets)
    try:
        for stretch in share:
            for each in read_stretch(stretch, buckets, check_crc=check_crc):
                out.add(each)
                if out.count >= _AT_ONCE:
                    yield out.take_rows()
    except RecordingError as problem:
        said = _encode((problem.file, problem.at, problem.why))
        yield _as_batch([(FAILURE, -1, said)])
    yield out.take_rows()


class _Rows:
    """The rows found since the last call of `take_rows`, by bucket."""

    def __init__(self, buckets: int) -> None:
        self.buckets = buckets
        self._begin()

    def _begin(self) -> None:
        self.count = 0
        self.evidence: dict[int, list[Evidence | OpenEnds]] = {}
        self.named: dict[int, list[OpenEnds]] = {}
        self.extents: list[ExtentIn] = []
        self.findings: list[LogFinding] = []

    def add(self, each: Evidence | OpenIn | ExtentIn) -> None:
        """Add one thing to its bucket."""
        self.count += 1
        if isinstance(each, ExtentIn):
            self.extents.append(each)
        elif isinstance(each, OpenIn):
            by_bucket = self.evidence if isinstance(each.ends, ProducerEnds) else self.named
            by_bucket.setdefault(each.bucket, []).append(each.ends)
        else:
            self.findings += findings_alone(each)
            for bucket in {key % self.buckets: None for key in keys_of(each)}:
                self.evidence.setdefault(bucket, []).append(each)

    def take_rows(self) -> pa.RecordBatch:
        """Return the rows, and start again with none."""
        rows = [(EVIDENCE, bucket, _encode(some)) for bucket, some in self.evidence.items()]
        rows += [(NAMED, bucket, _encode(some)) for bucket, some in self.named.items()]
        rows += [(EXTENTS, -1, _encode(self.extents)), (FINDINGS, -1, _encode(self.findings))]
        self._begin()
        return _as_batch(rows)


def _as_batch(rows: list[tuple[int, int, bytes]]) -> pa.RecordBatch:
    kinds, in_buckets, said = zip(*rows, strict=True)
    columns = (pa.array(kinds, pa.int32()), pa.array(in_buckets, pa.int64()))
    return pa.RecordBatch.from_arrays([*columns, pa.array(said, pa.binary())], schema=ROWS)


def join_names(batches: Iterable[pa.RecordBatch], *, buckets: int) -> Iterator[pa.RecordBatch]:
    """Join the open ends of buckets of names, in rows sorted by bucket; yield rows of evidence and findings.

    Args:
        batches: the columns of `ROWS`.
        buckets: the number of buckets of producer ids.
    """
    out = _Rows(buckets)
    for _, said in _by_bucket(batches):
        for each in join_stretches(each for some in said for each in _NAMED.decode(some)):
            out.add(each)
            if out.count >= _AT_ONCE:
                yield out.take_rows()
    yield out.take_rows()


def judge_buckets(
    batches: Iterable[pa.RecordBatch], *, buckets: int, around: bytes
) -> Iterator[pa.RecordBatch]:
    """Judge the evidence of buckets of producer ids, in rows sorted by bucket.

    Args:
        batches: the columns of `ROWS`.
        buckets: the number of buckets.
        around: the `Surroundings`, as bytes.
    """
    known = msgspec.msgpack.decode(around, type=Surroundings)
    for bucket, said in _by_bucket(batches):
        ends: list[ProducerEnds] = []
        with GatheredEvidence(bucket, buckets) as together:
            for each in (each for some in said for each in _EVIDENCE.decode(some)):
                if isinstance(each, ProducerEnds):
                    ends.append(each)
                else:
                    together.add(each)
            for each in join_stretches(ends):
                together.add(each)
            found: list[LogFinding] = []
            for producer in together.producers():
                for finding in findings_together(producer, known):
                    found.append(finding)
                    if len(found) >= _AT_ONCE:
                        yield _as_findings(found)
                        found = []
            if found:
                yield _as_findings(found)


def _as_findings(found: list[LogFinding]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([_encode(found)], pa.binary())], schema=JUDGED)


def _by_bucket(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Iterator[bytes]]]:
    """Return the rows of each bucket, which come together; a bucket's are read before the next one is asked for."""
    rows = (
        row
        for batch in batches
        for row in zip(
            batch.column("bucket").to_pylist(), batch.column("said").to_pylist(), strict=True
        )
    )
    for bucket, group in groupby(rows, key=itemgetter(0)):
        yield bucket, (said for _, said in group)
