"""The effects of a response that a coordinator's log must contain: a new producer epoch, or a member's new epoch.

The model is asked at each moment at which a request may have been handled, also at those at which its own records are
already in the log. There it returns another epoch, which is in no log. Such a response cannot be the recorded one.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import Any

from kipviz.cluster.real.rebuilt_cluster import RebuiltBatch
from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.groups.membership import ConsumerGroupHeartbeat
from kipviz.messages.message import Message
from kipviz.messages.message_errors import error_in
from kipviz.messages.shares.share_membership import ShareGroupHeartbeat
from kipviz.messages.transactions.transactions import InitProducerId
from kipviz.records.consumer_offsets import MemberRecord
from kipviz.records.placement import CONSUMER_OFFSETS, TRANSACTION_STATE, topic_of
from kipviz.records.share_group_members import ShareGroupAssignmentRecord
from kipviz.records.transaction_state import TransactionRecord

# The owner of an epoch: a transactional id, or a member of a group.
Owner = tuple[str, str]


class EpochPeriod(Value, frozen=True):
    """An epoch that an owner has from some time on, and its producer id, -1 for a member's."""

    at_ms: int
    producer_id: int
    epoch: int


class LoggedEffects:
    """The epochs in coordinators' logs, in order, with their times."""

    def __init__(self, entries: Iterable[RebuiltBatch]) -> None:
        self._written: dict[Owner, list[EpochPeriod]] = {}
        ends: dict[str, int] = {}
        self._compacted: dict[str, None] = {}
        for entry in entries:
            begins = ends.get(entry.partition, entry.batch.base_offset)
            if entry.batch.base_offset != begins:
                self._compacted[topic_of(entry.partition)] = None
            ends[entry.partition] = entry.batch.last_offset + 1
            for record in entry.batch.records:
                self._note(record, entry.at_ms)

    def _note(self, record: Value, at_ms: int) -> None:
        match record:
            case TransactionRecord():
                owner = record.transactional_id, ""
                written = EpochPeriod(at_ms, record.producer_id, record.producer_epoch)
            case MemberRecord() | ShareGroupAssignmentRecord():
                owner = record.group_id, record.member_id
                written = EpochPeriod(at_ms, -1, record.member_epoch)
            case _:
                return
        self._written.setdefault(owner, []).append(written)

    def allow(self, message: Message, reply: Any, begin_ms: int, end_ms: int) -> bool:
        """Return whether the log has the effect of a reply: a new identity between two times, a member's epoch by then."""
        if error_in(reply) is not Errors.NONE:
            return True
        match message:
            case InitProducerId(transactional_id=str() as name) if name:
                told = reply.producer_id, reply.producer_epoch
                return TRANSACTION_STATE in self._compacted or any(
                    begin_ms <= each.at_ms <= end_ms and (each.producer_id, each.epoch) == told
                    for each in self._written.get((name, ""), ())
                )
            case ConsumerGroupHeartbeat() | ShareGroupHeartbeat():
                known = reply.member_epoch in (message.member_epoch, -1, 0)
                if known or not message.member_id or CONSUMER_OFFSETS in self._compacted:
                    return True
                return self._has(message, reply.member_epoch, begin_ms, end_ms)
            case _:
                return True

    def _has(
        self,
        message: ConsumerGroupHeartbeat | ShareGroupHeartbeat,
        epoch: int,
        begin_ms: int,
        end_ms: int,
    ) -> bool:
        """Return whether a member has an epoch between two times: one that joins again may keep its own."""
        written = self._written.get((message.group_id, message.member_id), [])
        return any(
            each.epoch == epoch
            and each.at_ms <= end_ms
            and (later is None or later.at_ms >= begin_ms)
            for each, later in zip_longest(written, written[1:])
        )
