"""KafkaApis of a broker, for requests that concern several roles at once.

WHO: every broker. WHERE IN KAFKA: KafkaApis.handleWriteTxnMarkersRequest and handleListTransactionsRequest.
KIPS: KIP-98, KIP-664; KIP-1289 adds a hook here (draft).
DURABILITY: volatile; after a broken connection the coordinator retries.
NOT MODELLED: quotas; failed authentication between brokers, which ends their requests with an error
(AddPartitionsToTxnManager, TransactionMarkerRequestCompletionHandler, PersisterStateManager). Kafka's trunk appends a
marker for `__share_group_state` without the share coordinator, which forces it to reload (finding X3); here the share
coordinator gets it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.authorizer import refusal, seen
from kipviz.brokers.checks import Check, Checks, compare, error_of, in_order, report_value
from kipviz.brokers.context import (
    NOBODY,
    Context,
    Effects,
    LocalCall,
    Reply,
    ReplyTo,
    Request,
    with_effects,
)
from kipviz.brokers.handling import takes
from kipviz.brokers.local_calls import (
    ApplyMarkerToShares,
    Listed,
    ListedHere,
    ListHere,
    ListRequest,
    MarkerApplied,
    MarkerWritten,
    OutcomeWritten,
    WriteMarker,
)
from kipviz.core.table import Table
from kipviz.core.values import Part, Value
from kipviz.messages.apis.api import COORDINATOR_OF, Role, leading_role
from kipviz.messages.apis.rights import Resource
from kipviz.messages.cluster.coordinators import (
    GROUP,
    OF_SHARES,
    SHARE,
    TRANSACTION,
    Coordinator,
    FindCoordinator,
    FindCoordinatorResponse,
    is_lookup_of_several,
    is_share_key,
)
from kipviz.messages.errors import Errors
from kipviz.messages.groups.group_admin import ListGroups, ListGroupsResponse
from kipviz.messages.groups.several_groups import GroupResult
from kipviz.messages.transactions.admin import ListTransactions, ListTransactionsResponse
from kipviz.messages.transactions.transactions import (
    PartitionResult,
    TxnMarker,
    TxnMarkerResult,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)
from kipviz.records.placement import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    topic_of,
)


class PendingMarkers(Value, frozen=True):
    """One marker of a request with partitions that are not answered yet."""

    reply_to: ReplyTo
    marker: TxnMarker
    left: tuple[str, ...]
    results: tuple[PartitionResult, ...] = ()


class TicketOfPart(ReplyTo, frozen=True):
    """Where the reply goes for a further transaction of a WriteTxnMarkers request; `place` is its index."""

    place: int = 0


class PendingListing(Value, frozen=True):
    """One pending list request: how many coordinators have not answered yet, and the list so far."""

    reply_to: ReplyTo
    left: int
    answer: Listed


class AskedTogether(Value, frozen=True):
    """One Produce request whose `partitions` wait for one answer of the coordinator about some of them."""

    reply_to: ReplyTo
    tag: str
    partitions: tuple[str, ...]
    question: tuple[str, ...]


class AskedOfNode(Value, frozen=True):
    """What one broker is asked about transactions: the questions in flight, and those that wait.

    Two questions that wait are about different transactional ids. See `add_partitions_manager`.
    """

    broker: int
    on_the_way: tuple[Request, ...]
    waiting: tuple[Request, ...] = ()


class PendingGroups(Value, frozen=True):
    """One request about several groups: the groups and their results so far."""

    reply_to: ReplyTo
    asked: tuple[str, ...]
    answers: tuple[GroupResult, ...] = ()


class KafkaApis(Part, frozen=True, cache_hash=True):
    """The requests that concern several roles and are pending on a broker, by their connection.

    `asking` are Produce requests for several partitions that wait for the transaction coordinator. `groups` are
    requests about several groups (`several_groups`), `nodes` the questions to other brokers.
    """

    pending: Table[str, PendingMarkers] = Table.of()
    listing: Table[str, PendingListing] = Table.of()
    asking: tuple[AskedTogether, ...] = ()
    groups: Table[str, PendingGroups] = Table.of()
    nodes: tuple[AskedOfNode, ...] = ()


# What coordinates each type of key, and the internal topic that holds its keys.
_COORDINATES = {
    GROUP: ("group coordinator", CONSUMER_OFFSETS),
    TRANSACTION: ("transaction coordinator", TRANSACTION_STATE),
    SHARE: ("share coordinator", SHARE_GROUP_STATE),
}


@takes(FindCoordinator)
def on_find_coordinator(
    me: KafkaApis, request: FindCoordinator, reply_to: ReplyTo, on: Context
) -> Effects[KafkaApis]:
    """Return the brokers that coordinate groups, transactional ids or share-partitions.

    WHEN: a client looks for coordinators. CHECKS: for each key that the partition to which it hashes has a leader; the
    type of the keys, and the form of a share-partition's key; of several keys also whether the sender is authorized for
    each. DOES: nothing. ANSWERS: at once, with an error of its own for each key.
    Clause: KIP-98 "Data Flow", step 1; KIP-699 (several keys); KafkaApis.getCoordinator.
    """
    found: list[Coordinator] = []
    made: Checks = ()
    for key in request.coordinator_keys:
        node = _coordinator_of(request.key_type, key, on)
        checks = _lookup_checks(request, key, node, reply_to.source, on)
        made += checks
        error = error_of(checks)
        found.append(Coordinator(key, error, NOBODY if error else node))
    answer = FindCoordinatorResponse(tuple(found))
    return Effects(me, replies=(Reply(reply_to, answer),), checks=made)


def _coordinator_of(key_type: int, key: str, on: Context) -> int:
    """Return the leader of the partition that holds a key, -1 without one or for an unknown type."""
    if key_type == TRANSACTION:
        return on.image.leader_of(on.image.home_of_transactions(key))
    if key_type not in _COORDINATES:
        return NOBODY
    _, topic = _COORDINATES[key_type]
    return on.image.leader_of(on.image.home_of(topic, key))


@in_order
def _lookup_checks(
    request: FindCoordinator, key: str, node: int, source: str, on: Context
) -> Iterator[Check]:
    """Check one key of a lookup: the right, the form, and that there is a coordinator."""
    if is_lookup_of_several(request) and on.image.acls is not None:
        error = refusal(on.image.acls, source, request.but(coordinator_keys=(key,)))
        yield report_value("key", key)
        yield Check("rights", source, error is Errors.NONE, error)
    kind, known = request.key_type, request.key_type in _COORDINATES
    if not known or (kind == SHARE and request.spoken < OF_SHARES):
        yield compare("type of the keys", kind, None, False, Errors.INVALID_REQUEST)
    if kind == SHARE:
        yield compare("share-partition", key, None, is_share_key(key), Errors.INVALID_REQUEST)
    error = Errors.COORDINATOR_NOT_AVAILABLE if node < 0 else Errors.NONE
    yield Check(_COORDINATES[kind][0] if known else "coordinator", key, node, error)


@takes(WriteTxnMarkers)
def on_write_txn_markers(
    me: KafkaApis, request: WriteTxnMarkers, reply_to: ReplyTo, on: Context
) -> Effects[KafkaApis]:
    """Pass the markers of each transaction to the roles that lead its partitions.

    A partition led elsewhere gets an error: NOT_LEADER_OR_FOLLOWER from a broker with a replica, otherwise the
    partition is unknown. The response waits until every transaction has its results (`cluster.topic_authorization`).

    Clause: KIP-98 "WriteTxnMarkerRequest"; KafkaApis.handleWriteTxnMarkersRequest.
    """
    parts: list[Effects[KafkaApis]] = []
    for place, each in enumerate(request.markers):
        at = (reply_to.source, reply_to.broker, reply_to.incarnation)
        part = _write(me, each, TicketOfPart(*at, place) if place else reply_to, on)
        me = part.state
        parts.append(part)
    return with_effects(me, *parts)


def _write(me: KafkaApis, marker: TxnMarker, reply_to: ReplyTo, on: Context) -> Effects[KafkaApis]:
    mine = tuple(p for p in marker.partitions if on.image.leader_of(p) == on.broker)
    refused = tuple(PartitionResult(p, _not_led(p, on)) for p in marker.partitions if p not in mine)
    pending = PendingMarkers(reply_to, marker, mine, refused)
    checks = tuple(
        Check("leader", on.broker, on.image.leader_of(r.partition), r.error) for r in refused
    )
    first = _hook(pending, on, before=True)
    if not mine:
        done = _finish(me, pending, on)
        return done.but(local=(*first, *done.local)).after(checks)
    calls = tuple(
        LocalCall(
            leading_role(p),
            p,
            WriteMarker(
                reply_to,
                p,
                marker.producer_id,
                marker.producer_epoch,
                marker.committed,
                marker.coordinator_epoch,
                marker.transaction_version,
            ),
        )
        for p in mine
    )
    kept = me.but(pending=me.pending.set(_key(reply_to), pending))
    return Effects(kept, local=(*first, *calls), checks=checks)


def on_marker_written(me: KafkaApis, done: MarkerWritten, on: Context) -> Effects[KafkaApis]:
    """Store one partition's result, and respond when it was the last one."""
    key = _key(done.ticket)
    pending = me.pending.get(key)
    if pending is None or pending.reply_to != done.ticket:
        return Effects(me)
    pending = pending.but(
        left=tuple(p for p in pending.left if p != done.partition),
        results=(*pending.results, PartitionResult(done.partition, done.error)),
    )
    if pending.left:
        return Effects(me.but(pending=me.pending.set(key, pending)))
    return _finish(me.but(pending=me.pending.without(key)), pending, on)


def on_marker_applied(me: KafkaApis, done: MarkerApplied, on: Context) -> Effects[KafkaApis]:
    """Respond to a request with markers, unless share-partitions still write the outcome (outcome_write)."""
    pending = me.pending[_key(done.ticket)]
    return _waiting(me, pending.but(left=done.keys))


def on_outcome_written(me: KafkaApis, done: OutcomeWritten, on: Context) -> Effects[KafkaApis]:
    """Store the result of one share-partition's outcome, and respond when it was the last one.

    A failed write fails the markers of `__share_group_state` in the request, or all markers if it has none for that
    topic: the coordinator sends them again. Source: pull request 22357 (draft); the choice of the error is our
    inference.
    """
    pending = me.pending.get(_key(done.ticket))
    if pending is None or pending.reply_to != done.ticket:
        return Effects(me)
    results, told = pending.results, Errors.NONE
    if done.error is not Errors.NONE:
        failed = [r.partition for r in results if topic_of(r.partition) == SHARE_GROUP_STATE]
        failed = failed or [r.partition for r in results]
        told = Errors.NOT_LEADER_OR_FOLLOWER
        results = tuple(
            r.but(error=told) if r.partition in failed and r.error is Errors.NONE else r
            for r in results
        )
    left = tuple(key for key in pending.left if key != done.key)
    check = Check("outcome durable", done.key, done.error, told)
    return _waiting(me, pending.but(left=left, results=results)).after((check,))


def _waiting(me: KafkaApis, pending: PendingMarkers) -> Effects[KafkaApis]:
    """Keep a request until its outcome is durable, or respond."""
    key = _key(pending.reply_to)
    if pending.left:
        return Effects(me.but(pending=me.pending.set(key, pending)))
    return Effects(me.but(pending=me.pending.without(key)), replies=(_answer(pending),))


def _answer(pending: PendingMarkers) -> Reply:
    """Return the response about one marker; those of one request are put together in `cluster.topic_authorization`."""
    result = TxnMarkerResult(pending.marker.producer_id, pending.results)
    return Reply(pending.reply_to, WriteTxnMarkersResponse((result,)))


def _key(ticket: ReplyTo) -> str:
    """Return the key of one transaction of a connection's request."""
    return f"{ticket.source} #{ticket.place}" if isinstance(ticket, TicketOfPart) else ticket.source


@takes(ListTransactions)
def on_list_transactions(
    me: KafkaApis, request: ListTransactions, reply_to: ReplyTo, on: Context
) -> Effects[KafkaApis]:
    """Ask every coordinator on this broker for its transactional ids.

    WHEN: an admin client asks one broker after the other. CHECKS: nothing. DOES: nothing. ANSWERS: the ids of all
    partitions of `__transaction_state` that are led here, or COORDINATOR_LOAD_IN_PROGRESS while one of them is loading.
    Clause: KIP-664 "ListTransactions"; TransactionCoordinator.handleListTransactions.
    """
    nothing = ListTransactionsResponse(Errors.NONE)
    return _ask_here(me, request, reply_to, on, TRANSACTION_STATE, nothing)


@takes(ListGroups)
def on_list_groups(
    me: KafkaApis, request: ListGroups, reply_to: ReplyTo, on: Context
) -> Effects[KafkaApis]:
    """Ask every coordinator on this broker for its groups, of every kind.

    WHEN: an admin client asks one broker after the other. CHECKS: nothing. DOES: nothing. ANSWERS: the groups of all
    partitions of `__consumer_offsets` that are led here and that the sender may describe, or
    COORDINATOR_LOAD_IN_PROGRESS while one of them is loading.
    Clause: KIP-518, KIP-848 "ListGroups"; GroupCoordinatorService.listGroups.
    """
    nothing = ListGroupsResponse(Errors.NONE)
    return _ask_here(me, request, reply_to, on, CONSUMER_OFFSETS, nothing)


def _ask_here(
    me: KafkaApis,
    request: ListRequest,
    reply_to: ReplyTo,
    on: Context,
    topic: str,
    nothing: Listed,
) -> Effects[KafkaApis]:
    """Ask the coordinators of the partitions of an internal topic that this broker leads."""
    here = tuple(
        partition
        for partition, held in on.image.leaders.items()
        if held.leader == on.broker and topic_of(partition) == topic
    )
    checks = (report_value(f"partitions of {topic} led here", here),)
    if not here:
        return Effects(me, replies=(Reply(reply_to, nothing),), checks=checks)
    pending = PendingListing(reply_to, len(here), nothing)
    ask = ListHere(reply_to, request)
    calls = tuple(LocalCall(COORDINATOR_OF[topic], p, ask) for p in here)
    me = me.but(listing=me.listing.set(reply_to.source, pending))
    return Effects(me, local=calls, checks=checks)


def on_listed(me: KafkaApis, told: ListedHere, on: Context) -> Effects[KafkaApis]:
    """Add one coordinator's list to the others, and respond when it was the last one."""
    source = told.ticket.source
    pending = me.listing[source]
    answer = _join_lists(pending.answer, told.answer)
    if pending.left > 1:
        pending = pending.but(left=pending.left - 1, answer=answer)
        return Effects(me.but(listing=me.listing.set(source, pending)))
    done = me.but(listing=me.listing.without(source))
    error = answer.error
    refused = (Check("every list complete", None, False, error),) if error else ()
    replies = (Reply(pending.reply_to, _visible(answer, source, on)),)
    return Effects(done, replies=replies, checks=refused)


def _join_lists(before: Listed, new: Listed) -> Listed:
    """Join two lists of the same kind; an error in either is the error of the whole."""
    if before.error is not Errors.NONE or new.error is not Errors.NONE:
        return new if new.error is not Errors.NONE else before
    if isinstance(before, ListGroupsResponse):
        assert isinstance(new, ListGroupsResponse)
        return new.but(groups=(*before.groups, *new.groups))
    assert isinstance(new, ListTransactionsResponse)
    return new.but(transactions=(*before.transactions, *new.transactions))


def _visible(answer: Listed, source: str, on: Context) -> Listed:
    """Remove what the sender may not describe."""
    acls = on.image.acls
    if isinstance(answer, ListGroupsResponse):
        groups = (g for g in answer.groups if seen(acls, source, Resource.GROUP, g.group_id))
        return answer.but(groups=tuple(groups))
    kind = Resource.TRANSACTIONAL_ID
    known = (t for t in answer.transactions if seen(acls, source, kind, t.transactional_id))
    return answer.but(transactions=tuple(known))


def _not_led(partition: str, on: Context) -> Errors:
    held = on.image.leaders.get(partition)
    if held is not None and on.broker in held.replicas:
        return Errors.NOT_LEADER_OR_FOLLOWER
    return Errors.UNKNOWN_TOPIC_OR_PARTITION


def _finish(me: KafkaApis, pending: PendingMarkers, on: Context) -> Effects[KafkaApis]:
    calls = _hook(pending, on, before=False)
    waits = bool(calls) and on.rules.outcome_write()
    me = me.but(pending=me.pending.set(_key(pending.reply_to), pending)) if waits else me
    replies = () if waits else (_answer(pending),)
    return Effects(me, replies=replies, local=calls)


def _hook(pending: PendingMarkers, on: Context, *, before: bool) -> tuple[LocalCall, ...]:
    """Return the call that resolves transactional acknowledgements in memory (KIP-1289), if it is made now.

    OPEN: marker_hook (before or after the markers are appended, and for which requests), outcome_write. A hook that
    runs first cannot delay the response: what it resolves is resolved already.
    """
    marker = pending.marker
    names_state = any(topic_of(p) == SHARE_GROUP_STATE for p in marker.partitions)
    if not on.rules.marker_hook(before, names_state):
        return ()
    ticket = pending.reply_to if on.rules.outcome_write() and not before else None
    hook = ApplyMarkerToShares(marker.producer_id, marker.producer_epoch, marker.committed, ticket)
    return (LocalCall(Role.SHARE_PARTITION_LEADER, "", hook),)
