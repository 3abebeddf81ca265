"""The start offsets of logs: deletions by an operator (DeleteRecords), and pruning by a share coordinator.

Segments keep the records before a log's start offset until a whole segment can be deleted, so a recorded log does not
show its start offset over time. The answers to DeleteRecords do. A share coordinator deletes redundant records once in
share.coordinator.state.topic.prune.interval.ms, so its log starts at an offset that was redundant at some time in the
last two intervals.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import product

from kipviz.brokers.context import Context
from kipviz.brokers.logs.partition_log import PartitionLog, delete_records
from kipviz.brokers.share_coordinators.share_state_maintenance import last_redundant_offset
from kipviz.core.table import Table
from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.replayed_roles.answer_text import Said, error_name

HIGH_WATERMARK = -1
API = "DELETE_RECORDS"


class Deleted(Value, frozen=True):
    """A log has a start offset: possibly since `begin_ms`, certainly since `known_ms`."""

    offset: int
    begin_ms: int
    known_ms: int


class Deletion(Value, frozen=True):
    """The deletion that a request asks for in one partition, and the answer."""

    partition: str
    before: int
    recorded: Said


def deletions_in(exchange: Exchange) -> Iterator[Deletion]:
    """Yield the deletions of a request.

    Raises:
        KeyError, TypeError, ValueError: if it lacks a field of its version.
    """
    told = {
        f"{topic['name']}-{part['partitionIndex']}": part
        for topic in exchange.response["topics"]
        for part in topic["partitions"]
    }
    for topic in exchange.request["topics"]:
        for part in topic["partitions"]:
            partition = f"{topic['name']}-{part['partitionIndex']}"
            answer = told[partition]
            recorded = _make_saying(error_name(answer["errorCode"]), answer["lowWatermark"])
            yield Deletion(partition, part["offset"], recorded)


def deletion_said(log: PartitionLog, before: int) -> Said:
    """Return a leader's answer to a deletion of records.

    Clause: KIP-107 "DeleteRecords"; UnifiedLog.deleteRecords, Partition.deleteRecordsOnLeader.
    """
    up_to = log.high_watermark if before == HIGH_WATERMARK else before
    if up_to > log.high_watermark:
        return _make_saying(Errors.OFFSET_OUT_OF_RANGE.name, -1)
    return _make_saying(Errors.NONE.name, max(up_to, log.start_offset))


def _make_saying(error: str, low_watermark: int) -> Said:
    return (("error", error), ("low watermark", low_watermark))


class Fronts:
    """The possible start offsets of a broker's logs, at any time."""

    def __init__(self, exchanges: tuple[Exchange, ...], prune_ms: int) -> None:
        self._prune_ms = prune_ms
        self.deleted: dict[str, list[Deleted]] = {}
        for exchange in exchanges:
            for one in deletions_in(exchange) if exchange.api == API else ():
                said = dict(one.recorded)
                if said["error"] == Errors.NONE.name:
                    times = (exchange.received_ms, exchange.answered_ms)
                    begins = Deleted(said["low watermark"], *times)
                    self.deleted.setdefault(one.partition, []).append(begins)

    def between(
        self, logs: Table[str, PartitionLog], begin_ms: int, end_ms: int
    ) -> Iterator[Table[str, PartitionLog]]:
        """Yield logs with the start offsets that they may have at some time."""
        choices = [
            [(partition, offset) for offset in self._starts(partition, begin_ms, end_ms)]
            for partition in self.deleted
        ]
        for chosen in product(*choices):
            found = logs
            for partition, offset in chosen:
                found = found.set(partition, start_at(found[partition], offset))
            yield found

    def contexts(self, own: list[tuple[int, Context]]) -> list[tuple[int, Context]]:
        """Return the contexts of a broker over time, including those in which a log's start offset moves."""
        moved = sorted(d.known_ms for each in self.deleted.values() for d in each)
        found = list(own)
        for at in moved:
            place = bisect_right([time for time, _ in found], at)
            found.insert(place, (at, found[max(place - 1, 0)][1]))
        return [(at, self._start_logs(on, at)) for at, on in found]

    def _start_logs(self, on: Context, at: int) -> Context:
        logs = on.logs
        for partition, each in self.deleted.items():
            for one in each:
                if one.known_ms <= at:
                    logs = logs.set(partition, start_at(logs[partition], one.offset))
        return on if logs is on.logs else on.but(logs=logs)

    def _starts(self, partition: str, begin_ms: int, end_ms: int) -> Iterator[int]:
        known = [Deleted(0, 0, 0), *self.deleted[partition]]
        for each, later in zip(known, [*known[1:], None], strict=True):
            if each.begin_ms <= end_ms and (later is None or later.known_ms >= begin_ms):
                yield each.offset

    def prune_log(
        self, log: PartitionLog, history: list[tuple[int, PartitionLog]], begin_ms: int
    ) -> Iterator[PartitionLog]:
        """Yield a share coordinator's log with the start offsets that pruning may have set; `history` has it over time."""
        since = begin_ms - 2 * self._prune_ms
        later = [at for at, _ in history[1:]]
        recent = [
            each
            for (_, each), over in zip(history, [*later, begin_ms], strict=True)
            if over >= since
        ]
        for offset in dict.fromkeys(last_redundant_offset(each) for each in recent):
            yield start_at(log, max(offset, log.start_offset))


def start_at(log: PartitionLog, offset: int) -> PartitionLog:
    """Return a log that starts at an offset; unchanged if it starts there or later."""
    return delete_records(log, offset) if offset > log.start_offset else log
