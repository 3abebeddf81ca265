"""A share-partition leader at its desk, whose share coordinator answers when it is told to."""

from __future__ import annotations

from typing import Any

from kipviz.brokers.context import ReplyTo
from kipviz.brokers.logs.partition_log import PartitionLog, append, replicate
from kipviz.brokers.settings import GroupConfig
from kipviz.brokers.share_leaders import (
    share_acquiring,
    share_partition,
    share_timers,
    share_writes,
)
from kipviz.brokers.share_leaders import share_partition_leader as spl
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.driving.desk import TOPIC_IDS, Desk, source_log
from kipviz.messages.errors import Errors
from kipviz.messages.logs.producing import PartitionProduceResponse, ProduceResponse
from kipviz.messages.shares.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
)
from kipviz.messages.shares.share_state import (
    ReadShareGroupStateResponse,
    ReadStateResult,
    TxnWriteShareGroupState,
    TxnWriteShareGroupStateResponse,
    WriteShareGroupState,
    WriteShareGroupStateResponse,
    WriteStateResult,
)
from kipviz.records.batches import Batch, DataRecord
from kipviz.records.placement import partition_for
from kipviz.records.share_group_state import RecordState, StateBatch
from tests.messages.shares import acknowledges, fetches, stages

AVL, ACQ, ACK, ARCHIVING, ARCH, TXP = (
    RecordState.AVAILABLE,
    RecordState.ACQUIRED,
    RecordState.ACKNOWLEDGED,
    RecordState.ARCHIVING,
    RecordState.ARCHIVED,
    RecordState.TX_PENDING,
)
ACCEPT, RELEASE, REJECT, GAP, RENEW = (
    AcknowledgeType.ACCEPT,
    AcknowledgeType.RELEASE,
    AcknowledgeType.REJECT,
    AcknowledgeType.GAP,
    AcknowledgeType.RENEW,
)
KEY = f"g1:{TOPIC_IDS['src']}:0"
STATE = f"__share_group_state-{partition_for(KEY, 50)}"
BY_GROUP = f"__share_group_state-{partition_for('g1', 50)}"
HOME = f"__transaction_state-{partition_for('t', 50)}"


class SharePlace(Desk):
    """A share-partition leader whose share coordinator answers when it is told to."""

    def __init__(
        self,
        *,
        rules="repaired",
        first=0,
        last=40,
        batches=(),
        group=None,
        log_start=None,
        **settings,
    ):
        leaders = {"src-0": 1, STATE: 7, BY_GROUP: 7, HOME: 3, "dlq.g1-0": 3}
        super().__init__(spl, ShareLeader(), leaders=leaders, rules=rules, **settings)
        self.logs["src-0"] = log_of(*batches) if batches else source_log(first, last)
        if log_start is not None:  # the log has gaps in front of its first batch
            self.logs["src-0"] = self.logs["src-0"].but(start_offset=log_start)
        self.epochs: dict[str, int] = {}
        if group is not None:
            config = GroupConfig("g1", **group)
            self.image = {"group_configs": (config,), "dead_letter_topics": ("dlq.g1",)}

    @property
    def share(self):
        return self.role.shares[KEY]

    @property
    def last(self):
        return only_result(super().last)

    def ask(self, handler, request, source=""):
        return only_result(super().ask(handler, request, source))

    def load(self, start=0, *batches, pending=()):
        """Open a session for M1, load this durable state, and let nobody wait for records."""
        self.fetch("M1", 0)
        self.coordinator(
            ReadShareGroupStateResponse(
                (ReadStateResult(Errors.NONE, KEY, 3, start, batches, pending),)
            )
        )
        idle = self.share.but(parked=())
        self.role = self.role.but(shares=self.role.shares.set(KEY, idle))
        return self

    def fetch(self, member, most, *said, mode=0, epoch=None):
        """ShareFetch on the member's session, opening it if there is none."""
        epoch = self.epochs.get(member, 0) if epoch is None else epoch
        self.epochs[member] = epoch + 1
        request = fetches(member, epoch, "src-0", most, *said, mode=mode)
        return self.ask(spl.on_share_fetch, request, f"{member}/consumer")

    def grow(self, *batches):
        """Let the source's log have these batches, and tell the leader."""
        self.logs["src-0"] = log_of(*batches)
        self.do(spl.on_replicated(self.role, "src-0", self.on))

    def delete_up_to(self, offset):
        """Move the start of the source's log, and let the leader know it, as from a read in front of it."""
        self.logs["src-0"] = self.logs["src-0"].but(start_offset=offset)
        share, events = share_partition.log_start_moved(self.share, offset)
        self.role = self.role.but(shares=self.role.shares.set(KEY, share))
        self.events += events

    def answer_copy(self, error=Errors.NONE):
        """Let the leader of the dead-letter topic answer."""
        answer = ProduceResponse((PartitionProduceResponse("dlq.g1-0", error),))
        self.do(spl.on_dead_letter_answered(self.role, KEY, "0", answer, self.on))

    @property
    def next_fetch(self):
        return share_acquiring.next_fetch_offset(self.share)

    @property
    def complete(self):
        return share_partition.delivery_complete_count(self.share)

    @property
    def writes(self):
        return self.sent(WriteShareGroupState)

    def acknowledge(self, member, *said, epoch=None):
        epoch = self.epochs[member] if epoch is None else epoch
        self.epochs[member] = epoch + 1
        request = acknowledges("g1", member, epoch, "src-0", said)
        return self.ask(spl.on_share_acknowledge, request, f"{member}/consumer")

    def acknowledge_unchecked(self, member, *said):
        """Acknowledge as SharePartition.acknowledge does, which KafkaApis has checked the batches for."""
        to = ReplyTo(f"{member}/consumer", self.on.broker, 1)
        effects, error = share_writes.acknowledge(
            self.share, member, said, to, self.on, with_fetch=False
        )
        self.do(share_partition.keep(self.role, effects))
        return error

    def stage(self, member, *said, epoch=0, source=""):
        request = stages("t", "g1", 9, epoch, member, 2, "src-0", said)
        return self.ask(spl.on_txn_share_acknowledge, request, source)

    def coordinator(self, answer=None, tag="0"):
        """Let the share coordinator answer the request that is on the wire."""
        if answer is None:
            answer = WriteShareGroupStateResponse((WriteStateResult(Errors.NONE, KEY),))
            if isinstance(self.requests[-1].message, TxnWriteShareGroupState):
                answer = TxnWriteShareGroupStateResponse(Errors.NONE, KEY)
        self.do(spl.on_state_answered(self.role, KEY, tag, answer, self.on))

    def read_answer(self, start, *batches):
        return ReadShareGroupStateResponse((ReadStateResult(Errors.NONE, KEY, 3, start, batches),))

    def refuses(self, error):
        self.coordinator(WriteShareGroupStateResponse((WriteStateResult(error, KEY),)))

    def expire(self, lock):
        assert share_timers.why_no_lock_expiry(self.role, KEY, lock, self.on) is None
        self.do(spl.on_lock_expiry(self.role, KEY, lock, self.on))

    def states(self, first, last):
        return [self.share.records[o].state for o in range(first, last + 1)]

    def counts(self, first, last):
        return [self.share.records[o].delivery_count for o in range(first, last + 1)]


def only_result(answer):
    """The result for the only partition of an answer; an answer that has none, as it is."""
    results = getattr(answer, "responses", ())
    return results[0] if len(results) == 1 else answer


def log_of(*batches: Any) -> PartitionLog:
    """A source whose batches are (first, last), or (first, last, producer id) in a transaction."""
    log = PartitionLog("src-0", batches[0][0], end_offset=batches[0][0])
    for first, last, *producer in batches:
        records = tuple(DataRecord(f"r{offset}") for offset in range(first, last + 1))
        pid = producer[0] if producer else -1
        log = append(log, Batch(first, records, pid, 0, transactional=bool(producer)))
    return replicate(log)


def batch_of(first, last, kind=ACCEPT):
    return AcknowledgementBatch(first, last, kind)


def durable(first, last, state=AVL, count=1):
    return StateBatch(first, last, state, count)


def list_acquired(place, member="M1"):
    """The ranges of the last fetch's answer."""
    answer = place.last
    return [(r.first, r.last, r.delivery_count) for r in answer.acquired]
