"""Clients made, changed and called in one line, whichever of their parts a field or a call is in."""

from __future__ import annotations

from typing import Any, TypeVar

from kipviz.clients.groups import consumer_coordinator, consumer_membership
from kipviz.clients.groups.consumer import (
    ClassicConsumer,
    Consumer,
    Fetcher,
    GroupConsumer,
    OffsetRequests,
)
from kipviz.clients.groups.consumer_coordinator import ConsumerCoordinator
from kipviz.clients.groups.consumer_membership import ConsumerMembership
from kipviz.clients.groups.subscription_state import SubscriptionState
from kipviz.clients.sending.producer import Producer
from kipviz.clients.sessions.transaction_session import TransactionSession
from kipviz.clients.transactions import producer_timers
from kipviz.clients.transactions import transaction_manager as managing
from kipviz.clients.transactions.transaction_manager import TransactionManager
from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import TxnOffsetCommitResponse
from kipviz.messages.logs.producing import PartitionProduceData, Produce
from kipviz.messages.shares.share_groups import TxnPartitionAcknowledgements
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxnResponse,
    PartitionResult,
    TxnPartitionsResult,
)

V = TypeVar("V", bound=Value)
H = TypeVar("H", bound=Producer | TransactionSession)

PARTS = (
    "manager",
    "accumulator",
    "partition_map",
    "subscription",
    "fetcher",
    "offsets",
    "membership",
    "sessions",
    "current_fetch",
    "acknowledging",
    "handover",
    "transactional",
)
# What a field is called in one line where its part and its name there would be another one's.
LONGER = {
    "session_epoch": ("sessions", "epoch"),
    "session_broker": ("sessions", "broker"),
    "in_session": ("sessions", "told"),
    "acknowledge_error": ("acknowledging", "error"),
    "member": ("subscription", "joins"),
    "waits_for_staging": ("handover", "poll_waits"),
    "offset_fetch_version": ("offsets", "fetch_version"),
}


def producer_of(source: str, transactional_id: str = "", **fields: Any) -> Producer:
    """Return a producer with some fields of its parts, or of its own."""
    return change(Producer(source, TransactionManager(transactional_id)), **fields)


def session_of(source: str, transactional_id: str) -> TransactionSession:
    """Return a session."""
    return TransactionSession(source, TransactionManager(transactional_id))


def member_of(
    source: str,
    group_id: str,
    member_id: str,
    topic: str,
    partition: str,
    max_records: int,
    **fields: Any,
) -> GroupConsumer:
    """Return a member by KIP-848 with some fields of its parts, or of its own."""
    names = (source, group_id, partition, SubscriptionState((topic,)), Fetcher(max_records))
    return change(Consumer(*names, ConsumerMembership(member_id)), **fields)


def classic_member_of(
    source: str,
    group_id: str,
    client_id: str,
    topic: str,
    partition: str,
    max_records: int,
    topic_partitions: tuple[str, ...],
    **fields: Any,
) -> ClassicConsumer:
    """Return a member by the classic protocol with some fields of its parts, or of its own."""
    names = (source, group_id, partition, SubscriptionState((topic,)), Fetcher(max_records))
    mine = ConsumerCoordinator(client_id, topic_partitions)
    return change(Consumer(*names, mine), **fields)


def assigned_consumer_of(
    source: str, group_id: str, member_id: str, partition: str, max_records: int, **fields: Any
) -> GroupConsumer:
    """Return a consumer by assign(), which its group knows as a member in epoch 2, with some fields of its parts."""
    names = (source, group_id, partition, SubscriptionState.assign((partition,)))
    parts = (Fetcher(max_records), ConsumerMembership(member_id, member_epoch=2))
    return change(Consumer(*names, *parts, OffsetRequests(backs_off=False)), **fields)


def stable_member(membership: type, **fields: Any) -> GroupConsumer | ClassicConsumer:
    """Return a member that owns src-0, with this kind of membership."""
    names = ("src", "src-0", 2)
    me: GroupConsumer | ClassicConsumer
    if membership is ConsumerMembership:
        me = member_of("app-1/consumer", "g", "C1", *names)
        me = change(me, state=consumer_membership.S.STABLE, member_epoch=2, target=("src-0",))
    else:
        me = classic_member_of("app-1/consumer", "g", "C1", *names, ("src-0",))
        mine = {"member_id": "C1-1", "generation": 1, "rejoin": False}
        me = change(me, state=consumer_coordinator.S.STABLE, **mine)
    return change(me, owned=("src-0",), **fields)


def make(kind: type[V], *names: Any, **fields: Any) -> V:
    """Return a client with some fields of its parts, or of its own."""
    own = {name: value for name, value in fields.items() if name in kind.__struct_fields__}
    others = {name: value for name, value in fields.items() if name not in own}
    return change(kind(*names, **own), **others)


def change(me: V, **fields: Any) -> V:
    """Return the same client with some fields changed, each in the part that it is of."""
    for name, value in fields.items():
        if name in me.__struct_fields__:
            me = me.but(**{name: value})
            continue
        found = [
            (part, name)
            for part in me.__struct_fields__
            if part in PARTS and name in getattr(me, part).__struct_fields__
        ]
        assert found or name in LONGER, name
        for part, field in [LONGER[name]] if name in LONGER else found:
            me = me.but(**{part: getattr(me, part).but(**{field: value})})
    return me


def offsets_response(error: Errors, *partitions: str) -> TxnOffsetCommitResponse:
    """Return the response to a TxnOffsetCommit: one error for each partition, which is src-0 if none is named."""
    named = partitions or ("src-0",)
    return TxnOffsetCommitResponse(tuple(PartitionResult(p, error) for p in named))


def partitions_response(error: Errors, *partitions: str) -> AddPartitionsToTxnResponse:
    """Return the response to an AddPartitionsToTxn: one error for each partition."""
    results = tuple(PartitionResult(p, error) for p in partitions)
    return AddPartitionsToTxnResponse((TxnPartitionsResult("t", results),))


def init_transactions(me: H, *, keep_prepared_txn: bool = False) -> H:
    """Call initTransactions()."""
    asked = managing.init_transactions(me.manager, keep_prepared_txn=keep_prepared_txn)
    return me.but(manager=asked)


def begin_transaction(me: H) -> H:
    """Call beginTransaction()."""
    return me.but(manager=managing.begin_transaction(me.manager))


def send_offsets(me: H, *said: Any) -> H:
    """Call sendOffsetsToTransaction()."""
    return me.but(manager=managing.send_offsets(me.manager, *said))


def send_share_acknowledgements(me: H, *said: Any) -> H:
    """Call sendShareAcknowledgementsToTransaction() for one partition."""
    *member, partition, batches = said
    parts = (TxnPartitionAcknowledgements(partition, batches),)
    return me.but(manager=managing.send_share_acknowledgements(me.manager, *member, parts))


def topic_ids_given_up(me: H) -> H:
    """Take offsets back that wait for the id of their topic."""
    return me.but(manager=producer_timers.topic_ids_given_up(me.manager))


def batch_of(request: Produce) -> PartitionProduceData:
    """The batch of a request for one partition."""
    (batch,) = request.partition_data
    return batch
