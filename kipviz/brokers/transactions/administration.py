"""Operators' queries: the transactional ids of a broker, and the producers of a log.

WHO: every broker for what it coordinates and leads.
WHERE IN KAFKA: KafkaApis, TransactionCoordinator.handleListTransactions and handleDescribeTransactions,
ReplicaManager.activeProducerState.
KIPS: KIP-664; KIP-994 and KIP-1152 add filters.
DURABILITY: none; everything is read from the state of other roles.
NOT MODELLED: that a transaction is listed only when it took longer than the filter by 1 ms.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.authorizer import seen
from kipviz.brokers.checks import (
    Check,
    Checks,
    compare,
    error_of,
    has_loaded,
    in_order,
    report_value,
)
from kipviz.brokers.context import Context, Effects, LocalCall, Reply, ReplyTo
from kipviz.brokers.handling import takes
from kipviz.brokers.local_calls import ListedHere, ListHere
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.brokers.logs.partition_log import ProducerEntry
from kipviz.brokers.membership.patterns import BadPattern, compile_pattern
from kipviz.brokers.transactions.transaction_metadata import TransactionMetadata
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.messages.apis.api import Role
from kipviz.messages.apis.rights import Resource
from kipviz.messages.errors import Errors
from kipviz.messages.transactions.admin import (
    STATE_NAMES,
    ActiveProducer,
    DescribeProducers,
    DescribeProducersResponse,
    DescribeTransactions,
    DescribeTransactionsResponse,
    ListTransactions,
    ListTransactionsResponse,
    TransactionListing,
)
from kipviz.records.batches import NO_TIMESTAMP
from kipviz.records.placement import topic_of
from kipviz.records.transaction_state import TransactionState


def listing(
    me: TransactionCoordinator, request: ListTransactions, on: Context
) -> tuple[ListTransactionsResponse, Checks]:
    """Return the transactional ids of a coordinator that pass a request's filters, and the checks.

    An unknown name of a state matches nothing, and is reported. The filter for a duration (KIP-994) uses the start of
    the last transaction, completed or not; a transactional id without a transaction has no such time and always passes.
    Source: TransactionStateManager.listTransactionStates.
    """
    is_pattern, pattern = True, None
    if request.pattern:
        try:
            pattern = compile_pattern(request.pattern)
        except BadPattern:
            is_pattern = False
    checks = _listing_checks(me, request, is_pattern)
    if error_of(checks) is not Errors.NONE:
        return ListTransactionsResponse(error_of(checks)), checks
    names = {name: state for state, name in STATE_NAMES.items()}
    wanted = [names[name] for name in request.states if name in names]
    found = tuple(
        TransactionListing(t.transactional_id, t.producer_id, t.state)
        for t in me.transactions.values()
        if t.state is not TransactionState.DEAD
        and (not request.producer_ids or t.producer_id in request.producer_ids)
        and (not request.states or t.state in wanted)
        and (request.duration_ms < 0 or _takes_long(t, request.duration_ms, on))
        and (pattern is None or pattern.fullmatch(t.transactional_id))
    )
    unknown = tuple(name for name in request.states if name not in names)
    return ListTransactionsResponse(Errors.NONE, unknown, found), checks


@in_order
def _listing_checks(
    me: TransactionCoordinator, request: ListTransactions, is_pattern: bool
) -> Iterator[Check]:
    """Check that the coordinator has loaded its log, and that the pattern is valid."""
    yield has_loaded(me.loading)
    if request.pattern:
        error = Errors.INVALID_REGULAR_EXPRESSION
        yield compare("regular expression", request.pattern, None, is_pattern, error)
    yield report_value("transactional ids known", len(me.transactions))


def on_list_here(
    me: TransactionCoordinator, call: ListHere, on: Context
) -> Effects[TransactionCoordinator]:
    """Return to KafkaApis of this broker the transactional ids that are coordinated here."""
    assert isinstance(call.request, ListTransactions)
    answer, checks = listing(me, call.request, on)
    told = ListedHere(call.ticket, answer)
    return Effects(me, local=(LocalCall(Role.KAFKA_APIS, "", told),), checks=checks)


@takes(DescribeTransactions)
def on_describe_transactions(
    me: TransactionCoordinator, request: DescribeTransactions, reply_to: ReplyTo, on: Context
) -> Effects[TransactionCoordinator]:
    """Return the state of a transactional id to an operator.

    WHEN: an admin client asks the coordinator. CHECKS: loading, whether the id is known. DOES: nothing. ANSWERS: state,
    identity, the partitions that have no marker yet, and how long ago the transaction began.
    Clause: KIP-664 "DescribeTransactions"; TransactionCoordinator.handleDescribeTransactions.
    """
    name = request.transactional_id
    checks = _describe_checks(me, name)
    if (error := error_of(checks)) is not Errors.NONE:
        refused = DescribeTransactionsResponse(error, name)
        return Effects(me, replies=(Reply(reply_to, refused),), checks=checks)
    known = me.transactions[name]
    answer = DescribeTransactionsResponse(
        Errors.NONE,
        name,
        known.state,
        known.timeout_ms,
        known.producer_id,
        known.producer_epoch,
        tuple(
            p
            for p in known.partitions
            if seen(on.image.acls, reply_to.source, Resource.TOPIC, topic_of(p))
        ),
        on.began_ms(name),
        known.start_timestamp_ms,
    )
    return Effects(me, replies=(Reply(reply_to, answer),), checks=checks)


@in_order
def _describe_checks(me: TransactionCoordinator, name: str) -> Iterator[Check]:
    """Check that the transactional id exists, and that the coordinator has loaded its log."""
    yield compare("transactional id", name or None, None, bool(name), Errors.INVALID_REQUEST)
    yield has_loaded(me.loading)
    known = me.transactions.get(name)
    state = known.state if known is not None else None
    there = state not in (None, TransactionState.DEAD)
    yield compare("state of the transaction", name, state, there, Errors.TRANSACTIONAL_ID_NOT_FOUND)


@takes(DescribeProducers)
def on_describe_producers(
    me: PartitionLeader, request: DescribeProducers, reply_to: ReplyTo, on: Context
) -> Effects[PartitionLeader]:
    """Return the producers in the log of a partition to an operator.

    WHEN: an admin client asks the leader. CHECKS: nothing but the leader. DOES: nothing. ANSWERS: for each producer its
    epoch, its last sequence, the time of its last batch or marker, the coordinator epoch of its last marker and the
    start of its open transaction.
    Clause: KIP-664 "DescribeProducers"; ReplicaManager.activeProducerState.
    """
    log = on.log(request.partition)
    producers = log.producers
    active = tuple(_active(pid, producers[pid], on.now_ms) for pid in sorted(producers))
    answer = DescribeProducersResponse(Errors.NONE, request.partition, active)
    opened = tuple(f"{pid}@{first}" for first, pid in log.open)
    checks = (
        report_value("producer ids known", tuple(sorted(producers))),
        report_value("open transactions", opened),
    )
    return Effects(me, replies=(Reply(reply_to, answer),), checks=checks)


def _takes_long(known: TransactionMetadata, duration_ms: int, on: Context) -> bool:
    began = on.began_ms(known.transactional_id)
    return known.state is TransactionState.EMPTY or began >= duration_ms


def _active(producer_id: int, entry: ProducerEntry, now_ms: int) -> ActiveProducer:
    last_sequence = entry.batches[-1].last if entry.batches else -1
    return ActiveProducer(
        producer_id,
        entry.epoch,
        last_sequence,
        entry.coordinator_epoch,
        entry.transaction_first_offset,
        entry.last_timestamp_ms,
        -1
        if NO_TIMESTAMP in (now_ms, entry.last_timestamp_ms)
        else now_ms - entry.last_timestamp_ms,
    )
