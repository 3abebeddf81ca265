"""Findings that one piece of evidence shows by itself: a damaged or irregular batch, the state of a share-partition.

Source: UnifiedLog.analyzeAndValidateProducerState, ProducerStateManager, SharePartition.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from kipviz.clients.operators import operator_commands as commands
from kipviz.recordings.auditing import audit_findings as words
from kipviz.recordings.auditing.audit_evidence import (
    AuditedDecision,
    Damaged,
    Evidence,
    Irregular,
    Latest,
    PartitionEnd,
    PartitionTransaction,
    ShareState,
)
from kipviz.recordings.auditing.audit_findings import POSSIBLE, SURE, LogFinding
from kipviz.records.share_group_state import RecordState
from kipviz.settings.broker_configs import PRODUCER_ID_EXPIRATION_MS

# A broker forgets a producer, with its sequences, that was silent for so long.
FORGOTTEN_MS = PRODUCER_ID_EXPIRATION_MS.default


def findings_alone(evidence: Evidence) -> Iterator[LogFinding]:
    """Yield the findings that one piece of evidence shows by itself."""
    match evidence:
        case Damaged():
            yield _report_damage(evidence)
        case ShareState():
            yield from _share(evidence)
        case PartitionTransaction() | Irregular() | AuditedDecision() | Latest() | PartitionEnd():
            return
        case _:
            assert_never(evidence)


def judge_irregular(each: Irregular, name: str) -> LogFinding:
    """Return the finding of a batch that does not follow its producer's previous one; `name` is its transactional id."""
    silent = each.at_ms - each.since_ms
    forgotten = silent >= FORGOTTEN_MS
    by = f"Producer id {each.producer_id}, epoch {each.epoch}, at offset {each.offset}"
    kind = "epoch-back" if each.what == "epoch" else each.what
    what = {
        "epoch": f"{by}: the batch before it, at {each.before}, has epoch {each.expected}.",
        "duplicate": f"{by}: sequence {each.found} again; behind offset {each.before} it should be {each.expected}.",
        "gap": f"{by}: sequence {each.found}; behind offset {each.before} it should be {each.expected}.",
    }[each.what]
    if forgotten:
        what += f" The producer was silent for {words.span_of(silent)}, so the broker may have forgotten it."
    readers = "records twice" if each.what == "duplicate" else "no record of those that are missing"
    if each.what == "epoch":
        readers = "records of a producer that was fenced"
    return LogFinding(
        kind,
        each.partition,
        each.offset,
        what,
        f"readers of {each.partition} get {readers}",
        POSSIBLE if forgotten else SURE,
        (commands.producers_of(each.partition), f"{words.DUMP_HINT} of {each.partition}"),
        each.producer_id,
        each.epoch,
        name,
        each.since_ms,
        each.at_ms,
    )


def _report_damage(each: Damaged) -> LogFinding:
    return LogFinding(
        "damaged",
        each.partition,
        max(each.offset, 0),
        f"{each.segment}, byte {each.position:,}, {each.size:,} bytes: {each.why}.",
        f"readers of {each.partition}, and its followers",
        SURE,
        (
            f"{words.DUMP} {each.partition}/{each.segment} --deep-iteration shows the same on the broker",
            "take the replica from another broker: stop this one, remove the partition's folder, start it again",
        ),
    )


def _share(state: ShareState) -> Iterator[LogFinding]:
    """Find stuck and archived records of a share-partition."""
    at = f"{state.group} at {state.topic_id}, partition {state.partition}"
    base = LogFinding(
        "share-archived",
        state.log,
        state.offset,
        "",
        f"the members of {state.group}",
        SURE,
        (f"{words.SHARE_GROUPS} --describe --group {state.group} --offsets",),
        since_ms=state.at_ms,
    )
    pending = [b for b in state.batches if b.state is RecordState.TX_PENDING]
    if pending:
        spans = ", ".join(f"{b.first} to {b.last}" for b in pending)
        staged = ", ".join(dict.fromkeys(str(b.staged_producer_id) for b in pending))
        yield base.but(
            kind="share-pending",
            what=f"{at}: offsets {spans} are TX_PENDING, staged by producer id {staged}.",
            producer_id=pending[0].staged_producer_id,
            mends=(
                f"{commands.transactions_tool()} list --producer-id-filter {staged.replace(', ', ',')}",
                *base.mends,
            ),
        )
    archived = [b for b in state.batches if b.state is RecordState.ARCHIVED]
    if archived:
        count = sum(b.last - b.first + 1 for b in archived)
        which = (
            f"the record at offset {archived[0].first} is archived"
            if count == 1
            else f"{count} records are archived, the first at offset {archived[0].first}"
        )
        most = max(b.delivery_count for b in archived)
        yield base.but(
            what=f"{at}: {which}, after {most} {'delivery' if most == 1 else 'deliveries'} at most."
        )
    first = next((b for b in state.batches), None)
    behind = [
        b for b in state.batches[1:] if b.state in {RecordState.ACKNOWLEDGED, RecordState.ARCHIVED}
    ]
    if first and first.state is RecordState.AVAILABLE and first.delivery_count > 0 and behind:
        yield base.but(
            kind="share-stuck",
            what=f"{at}: offset {first.first} was delivered {first.delivery_count} times and holds the start "
            f"offset {state.start_offset}; {sum(b.last - b.first + 1 for b in behind)} records behind it are done.",
        )
