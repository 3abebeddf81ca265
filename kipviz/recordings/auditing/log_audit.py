"""An exactly-once audit of a cluster's logs in one process: each partition by itself, then all together."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence

from kipviz.core.values import Value
from kipviz.recordings.auditing.audit_evidence import PartitionEnd, Surroundings, surroundings
from kipviz.recordings.auditing.audit_findings import WRONG, LogFinding, order_of
from kipviz.recordings.auditing.audit_rules import findings_together
from kipviz.recordings.auditing.gathered_evidence import GatheredEvidence
from kipviz.recordings.auditing.partition_fold import evidence_of
from kipviz.recordings.auditing.single_evidence import findings_alone
from kipviz.recordings.decoded.cluster_metadata import (
    CLUSTER_METADATA,
    ClusterMetadata,
    partitions_of,
)
from kipviz.recordings.files.broker_folder import SetAside
from kipviz.recordings.files.log_parts import PART_BYTES, LogFolders, LogPart, log_folders
from kipviz.records.placement import INTERNAL_TOPICS, TRANSACTION_STATE


class AuditPlan(Value, frozen=True):
    """The parts to audit: one broker's copy of each partition; `replicas` are the copies left out."""

    partitions: tuple[tuple[LogPart, ...], ...]
    coordinators: int
    replicas: tuple[str, ...]
    set_aside: tuple[SetAside, ...]


class LogAudit(Value, frozen=True):
    """The findings of an audit, what it read, and what it left out.

    `folders` is sorted by partition and names the folder of the broker whose copy is audited.
    """

    findings: tuple[LogFinding, ...]
    partitions: int
    batches: int
    bytes: int
    coordinators_complete: bool
    replicas: tuple[str, ...]
    set_aside: tuple[SetAside, ...]
    folders: tuple[tuple[str, str], ...]

    def window(self, finding: LogFinding) -> str:
        """Return the command line that opens the audited copy of a finding's partition in the stepper."""
        place = bisect_left(self.folders, (finding.partition, ""))
        return finding.window(self.folders[place][1])

    @property
    def fails(self) -> bool:
        """Whether something is wrong."""
        return any(each.weight == WRONG for each in self.findings)


OnPartition = Callable[[int, int], None]


def audit_plan(
    paths: Iterable[str | os.PathLike[str]],
    topics: Sequence[str] = (),
    part_bytes: int = PART_BYTES,
) -> AuditPlan:
    """Choose the copy of each partition to audit: the leader's, or the longest.

    Kafka's internal topics are always read: a coordinator's log says what became of a transaction, and without it an
    ongoing one would look like a hanging one.

    Raises:
        RecordingError: see `log_folders`.
        ValueError: see `log_folders`.
    """
    found = log_folders(paths, topics, part_bytes, INTERNAL_TOPICS)
    copies: dict[str, dict[tuple[int, str], list[LogPart]]] = {}
    for part in found.parts:
        if part.topic != CLUSTER_METADATA:
            folder = part.path.rpartition(os.sep)[0]
            copies.setdefault(part.partition, {}).setdefault((part.broker, folder), []).append(part)
    leaders = {each.partition: each.leader for each in found.known.decisions}
    chosen, replicas = [], []
    for partition, each in sorted(copies.items()):
        best = max(each, key=lambda who: _rank(who, each[who], leaders.get(partition, -1)))
        chosen.append(tuple(each[best]))
        replicas += [f"{partition} of broker {who[0]}" for who in each if who != best]
    coordinators = _coordinators(found.known, found)
    return AuditPlan(tuple(chosen), coordinators, tuple(replicas), found.set_aside)


def _rank(who: tuple[int, str], parts: list[LogPart], leader: int) -> tuple[bool, int, str]:
    return (who[0] == leader >= 0, sum(part.end - part.start for part in parts), who[1])


def _coordinators(known: ClusterMetadata, found: LogFolders) -> int:
    """Return the number of partitions of __transaction_state, 0 if unknown; a recording keeps only those with batches."""
    told = partitions_of(known, TRANSACTION_STATE)
    return told or (
        50 if len({p.partition for p in found.parts if p.topic == TRANSACTION_STATE}) >= 50 else 0
    )


def audit_logs(
    paths: Iterable[str | os.PathLike[str]],
    topics: Sequence[str] = (),
    *,
    check_crc: bool = True,
    part_bytes: int = PART_BYTES,
    on_partition: OnPartition | None = None,
) -> LogAudit:
    """Audit the logs of one or several brokers of a cluster.

    Args:
        paths: the brokers' folders, or a folder that holds them.
        topics: only these topics, and Kafka's internal ones; default: all.
        check_crc: compare every batch's checksum.
        part_bytes: how many bytes of a log are in memory at once.
        on_partition: is called with the number of partitions read so far, and the total.

    Raises:
        RecordingError: if a path is not a folder, holds no log, or cannot be read.
        ValueError: if `part_bytes` is less than 1.
    """
    plan = audit_plan(paths, topics, part_bytes)
    alone: list[LogFinding] = []
    ends: list[PartitionEnd] = []
    with GatheredEvidence() as together:
        for number, parts in enumerate(plan.partitions, 1):
            for each in evidence_of(parts, check_crc=check_crc):
                alone += findings_alone(each)
                if isinstance(each, PartitionEnd):
                    ends.append(each)
                together.add(each)
            if on_partition is not None:
                on_partition(number, len(plan.partitions))
        around = surroundings(ends, plan.coordinators)
        for producer in together.producers():
            alone += findings_together(producer, around)
    return audit_of(alone, plan, around)


def audit_of(findings: Iterable[LogFinding], plan: AuditPlan, around: Surroundings) -> LogAudit:
    """Return the result of an audit; a transactional id that has had two producer ids is reported once."""
    ordered = tuple(sorted(dict.fromkeys(findings), key=order_of))
    return LogAudit(
        ordered,
        len(plan.partitions),
        sum(end.batches for end in around.ends),
        sum(end.bytes for end in around.ends),
        around.coordinators_complete,
        plan.replicas,
        plan.set_aside,
        tuple((parts[0].partition, parts[0].folder) for parts in plan.partitions),
    )
