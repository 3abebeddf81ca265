"""Rules about committed offsets and outputs: a transaction that has one of them without the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kipviz.clients.operators import operator_commands as commands
from kipviz.recordings.auditing import audit_findings as words
from kipviz.recordings.auditing.audit_evidence import (
    AuditedDecision,
    PartitionEnd,
    PartitionTransaction,
    Surroundings,
)
from kipviz.recordings.auditing.audit_findings import LIKELY, POSSIBLE, LogFinding
from kipviz.recordings.auditing.marker_matching import MarkerMatching
from kipviz.records.placement import CONSUMER_OFFSETS, INTERNAL_TOPICS, topic_of


class OffsetComparison:
    """Compares committed offsets with outputs, as far as the logs are here, of all epochs of a producer id."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._both: dict[str, None] = {}
        # Of each transactional id, how many have output only, and the first of them.
        self._outputs: dict[str, tuple[int, AuditedDecision]] = {}

    def take(
        self,
        decision: AuditedDecision,
        matching: MarkerMatching,
        marks: Mapping[str, PartitionTransaction | None],
        around: Surroundings,
    ) -> Iterator[LogFinding]:
        """Look at one decision and the markers of its participants."""
        if not decision.committed or decision.complete_ms < 0:
            return
        name = decision.transactional_id
        offsets = [p for p in decision.participants if topic_of(p) == CONSUMER_OFFSETS]
        users = [p for p in decision.participants if topic_of(p) not in INTERNAL_TOPICS]
        if not offsets:
            if users:
                count, first = self._outputs.get(name, (0, decision))
                first = min(first, decision, key=lambda each: (each.log, each.offset))
                self._outputs[name] = (count + 1, first)
        elif any(_has_batch(marks[p], counts_agree=matching.is_whole(p)) for p in users):
            self._both[name] = None
        elif all(_is_whole(around.end_of(p)) for p in users):
            where = (
                f"{', '.join(users)} took part and has no record of it"
                if users
                else "no user partition took part"
            )
            yield LogFinding(
                "offsets-without-output",
                decision.log,
                decision.offset,
                f"{name} committed offsets at {words.moment_of(decision.prepare_ms)}; {where}.",
                "readers of the output, if the input should have made some",
                LIKELY if users else POSSIBLE,
                (commands.describe_of(name),),
                decision.producer_id,
                decision.epoch,
                name,
                decision.prepare_ms,
            )

    def end(self) -> Iterator[LogFinding]:
        """Yield the transactional ids with some transactions that have offsets and some that have none."""
        for name in sorted(self._both.keys() & self._outputs.keys()):
            count, first = self._outputs[name]
            which = (
                f"A committed transaction of {name} has output and no offsets, that of"
                if count == 1
                else f"{count} committed transactions of {name} have output and no offsets, the first at"
            )
            yield LogFinding(
                "output-without-offsets",
                first.log,
                first.offset,
                f"{which} {words.moment_of(first.prepare_ms)}; others have both.",
                "readers of the output: the input of these transactions may be processed again",
                POSSIBLE,
                (commands.describe_of(name),),
                first.producer_id,
                first.epoch,
                name,
                first.prepare_ms,
            )


def _has_batch(mark: PartitionTransaction | None, *, counts_agree: bool) -> bool:
    """Return whether a partition has a batch of a transaction; True if its marker is not distinguishable from others."""
    return not counts_agree or (mark is not None and mark.batches > 0)


def _is_whole(end: PartitionEnd | None) -> bool:
    """Return whether a partition's log is here from its beginning on."""
    return end is not None and end.first_offset == 0
