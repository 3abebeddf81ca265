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

from kipviz.brokers import deleted_topics
from kipviz.brokers.authorizer import refusal, seen
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
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.local_calls import AskedOfOne, ListedHere, ListHere
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.brokers.logs.partition_log import ProducerEntry
from kipviz.brokers.membership.patterns import BadPattern, compile_pattern
from kipviz.brokers.transactions.transaction_metadata import TransactionMetadata
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.messages.apis.api import Role, leading_role
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
    PartitionProducers,
    TransactionDescription,
    TransactionListing,
)
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
    me: TransactionCoordinator | KafkaApis,
    request: DescribeTransactions,
    reply_to: ReplyTo,
    on: Context,
) -> Effects[TransactionCoordinator | KafkaApis]:
    """Return the state of transactional ids to an operator.

    WHEN: an admin client asks the coordinator. CHECKS: loading, whether the id is known; of several ids first whether
    the sender is authorized for each, and whether it is coordinated here. An error of one id does not affect the
    others. DOES: nothing. ANSWERS: for each id its state, its identity, the partitions that have no marker yet, and
    when the transaction began.
    Clause: KIP-664 "DescribeTransactions"; KafkaApis.handleDescribeTransactionsRequest,
    TransactionCoordinator.handleDescribeTransactions.
    """
    if isinstance(me, KafkaApis):
        return _describe_each(me, request, reply_to, on)
    (name,) = request.transactional_ids
    checks = _describe_checks(me, name)
    told = TransactionDescription(name, error_of(checks))
    if told.error is Errors.NONE:
        told = _describe(me.transactions[name], reply_to.source, on)
    answer = DescribeTransactionsResponse((told,))
    return Effects(me, replies=(Reply(reply_to, answer),), checks=checks)


def _describe(known: TransactionMetadata, source: str, on: Context) -> TransactionDescription:
    """Return the description of a transactional id, with the partitions of topics that the operator may see."""
    return TransactionDescription(
        known.transactional_id,
        Errors.NONE,
        known.state,
        known.timeout_ms,
        known.producer_id,
        known.producer_epoch,
        tuple(
            p for p in known.partitions if seen(on.image.acls, source, Resource.TOPIC, topic_of(p))
        ),
        known.start_timestamp_ms,
    )


def _describe_each(
    me: KafkaApis, request: DescribeTransactions, reply_to: ReplyTo, on: Context
) -> Effects[TransactionCoordinator | KafkaApis]:
    """Pass each of several transactional ids to its coordinator on this broker."""
    refused: list[Reply] = []
    calls: list[LocalCall] = []
    made: Checks = ()
    for name in request.transactional_ids:
        alone = request.but(transactional_ids=(name,))
        home = on.image.home_of_transactions(name)
        checks = _right_checks(alone, name, home, reply_to.source, on)
        made += checks
        if (error := error_of(checks)) is Errors.NONE:
            asked = AskedOfOne(reply_to, alone)
            calls.append(LocalCall(Role.TRANSACTION_COORDINATOR, home, asked))
        else:
            told = TransactionDescription(name, error)
            refused.append(Reply(reply_to, DescribeTransactionsResponse((told,))))
    return Effects(me, replies=tuple(refused), local=tuple(calls), checks=made)


@in_order
def _right_checks(
    alone: DescribeTransactions, name: str, home: str, source: str, on: Context
) -> Iterator[Check]:
    """Check that the sender is authorized for a transactional id, and that the id is coordinated here."""
    yield report_value("transactional id", name)
    if on.image.acls is not None:
        error = refusal(on.image.acls, source, alone)
        yield Check("rights", source, error is Errors.NONE, error)
    yield compare("transactional id", name or None, None, bool(name), Errors.INVALID_REQUEST)
    leader = on.image.leader_of(home)
    yield compare("leader", on.broker, leader, leader == on.broker, Errors.NOT_COORDINATOR)


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
    me: PartitionLeader | KafkaApis, request: DescribeProducers, reply_to: ReplyTo, on: Context
) -> Effects[PartitionLeader | KafkaApis]:
    """Return the producers in the logs of partitions to an operator.

    WHEN: an admin client asks the leader. CHECKS: nothing but the leader; of several partitions also that each exists.
    DOES: nothing. ANSWERS: for each producer its epoch, its last sequence, the time of its last batch or marker, the
    coordinator epoch of its last marker and the start of its open transaction.
    Clause: KIP-664 "DescribeProducers"; KafkaApis.handleDescribeProducersRequest, ReplicaManager.activeProducerState.
    """
    if isinstance(me, KafkaApis):
        return _producers_of_each(me, request, reply_to, on)
    (partition,) = request.partitions
    log = on.log(partition)
    producers = log.producers
    active = tuple(_active(pid, producers[pid]) for pid in sorted(producers))
    told = PartitionProducers(partition, Errors.NONE, active)
    opened = tuple(f"{pid}@{first}" for first, pid in log.open)
    checks = (
        report_value("producer ids known", tuple(sorted(producers))),
        report_value("open transactions", opened),
    )
    answer = DescribeProducersResponse((told,))
    return Effects(me, replies=(Reply(reply_to, answer),), checks=checks)


def _producers_of_each(
    me: KafkaApis, request: DescribeProducers, reply_to: ReplyTo, on: Context
) -> Effects[PartitionLeader | KafkaApis]:
    """Pass each of several partitions to its leader on this broker."""
    refused: list[Reply] = []
    calls: list[LocalCall] = []
    made: list[Check] = []
    for partition in request.partitions:
        checks = deleted_topics.partition_checks(partition, on)
        made += (report_value("partition", partition), *checks)
        if (error := error_of(checks)) is Errors.NONE:
            asked = AskedOfOne(reply_to, request.but(partitions=(partition,)))
            calls.append(LocalCall(leading_role(partition), partition, asked))
        else:
            told = PartitionProducers(partition, error)
            refused.append(Reply(reply_to, DescribeProducersResponse((told,))))
    return Effects(me, replies=tuple(refused), local=tuple(calls), checks=tuple(made))


def _takes_long(known: TransactionMetadata, duration_ms: int, on: Context) -> bool:
    began = on.began_ms(known.transactional_id)
    return known.state is TransactionState.EMPTY or began >= duration_ms


def _active(producer_id: int, entry: ProducerEntry) -> ActiveProducer:
    return ActiveProducer(
        producer_id,
        entry.epoch,
        entry.batches[-1].last if entry.batches else -1,
        entry.coordinator_epoch,
        entry.transaction_first_offset,
        entry.last_timestamp_ms,
    )
