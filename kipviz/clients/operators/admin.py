"""The admin client: an operator's queries about transactions and groups, and the changes to them.

WHO: an operator's process. WHERE IN KAFKA: KafkaAdminClient, AbortTransactionHandler, FenceProducersHandler,
  TransactionsCommand (kafka-transactions.sh); ListShareGroupOffsetsHandler, AlterShareGroupOffsetsHandler,
  DeleteShareGroupOffsetsHandler, DeleteShareGroupsHandler (kafka-share-groups.sh).
KIPS: KIP-664, KIP-360 (fencing), KIP-994 (duration), KIP-1152 (pattern), KIP-932, KIP-140 (ACLs).
DURABILITY: none; a response is what the broker knew at that moment.
NOT MODELLED: FindCoordinator and Metadata (every leader and coordinator is known at once), the timeout of a call (it
  retries as long as the error is retriable), an operator's clock that differs from the brokers'; calls about several
  transactional ids or partitions; that find-hanging always has a
  --max-transaction-timeout (15 minutes): without one every open transaction is old enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kipviz.clients.addressed import Addressed, Outgoing, broker_of, message_of
from kipviz.clients.operators import group_targets, several_groups
from kipviz.clients.throwing.client_errors import (
    ClientError,
    NothingToAbort,
    ProducersUnknown,
    Raised,
    request_error,
)
from kipviz.core.values import Part, Value
from kipviz.messages.apis.catalogue import api_of
from kipviz.messages.cluster.acls import (
    AclEntry,
    CreateAclsResponse,
    DeleteAclsResponse,
    DescribeAclsResponse,
)
from kipviz.messages.errors import Errors
from kipviz.messages.groups.classic_groups import NO_MEMBER, LeaveGroup, LeaveGroupResponse, Leaver
from kipviz.messages.groups.group_admin import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribeResponse,
    DescribedClassicGroup,
    DescribedConsumerGroup,
    DescribeGroups,
    DescribeGroupsResponse,
    GroupListing,
    ListGroups,
    ListGroupsResponse,
    OffsetDeleteResponse,
)
from kipviz.messages.groups.several_groups import GroupResult, GroupsResponse, OfGroups
from kipviz.messages.message import Message
from kipviz.messages.message_errors import any_error_in
from kipviz.messages.shares.share_admin import (
    AlterShareGroupOffsets,
    AlterShareGroupOffsetsResponse,
    DeleteGroups,
    DeleteGroupsResponse,
    DeleteShareGroupOffsets,
    DeleteShareGroupOffsetsResponse,
    DescribedShareGroup,
    DescribeShareGroupOffsets,
    DescribeShareGroupOffsetsResponse,
    ShareGroupDescribe,
    ShareGroupDescribeResponse,
    ShareOffset,
    ShareOffsetsGroup,
)
from kipviz.messages.transactions.admin import (
    ActiveProducer,
    DescribeProducers,
    DescribeProducersResponse,
    DescribeTransactions,
    DescribeTransactionsResponse,
    ListTransactions,
    ListTransactionsResponse,
    TransactionDescription,
    TransactionListing,
)
from kipviz.messages.transactions.transactions import (
    InitProducerId,
    InitProducerIdResponse,
    TxnMarker,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)
from kipviz.records.batches import NO_TIMESTAMP

NAME = "admin"
# Requests that only the broker itself can answer.
TO_EACH_BROKER = (ListTransactions, ListGroups)

# A coordinator's description of a regular group, in either protocol.
GroupDescription: TypeAlias = DescribedClassicGroup | DescribedConsumerGroup


class Admin(Part, frozen=True):
    """What the admin client keeps between two calls: the requests still to send, and the responses.

    `brokers` are bootstrap.servers. `producers` are those of `partition`; `descriptions` are the coordinators' answers
    about `listings`. `candidates` are the producers whose open transaction in `partition` abortTransaction() may end:
    after describeProducers() every open one, after find-hanging those that no coordinator will end. `finding` says that
    find-hanging still looks for these, among the open ones that have been silent for long enough. `silent_for_ms` is its --max-transaction-timeout: it considers producers that
    have been silent for longer. `share_group` is the coordinator's last description of a share group, `share_offsets`
    its start offsets. `groups` are those of the last list, `group` is the regular group that was described last;
    `removing` says that all of its members are to be removed. `acls` are those that were listed or deleted last.
    `several` says that the call is about several groups, of which one may fail and the others not; `described` are the
    coordinators' answers about those.
    """

    source: str
    brokers: tuple[int, ...]
    queue: tuple[Outgoing, ...] = ()
    on_wire: Message | None = None
    on_wire_broker: int = -1
    partition: str = ""
    producers: tuple[ActiveProducer, ...] = ()
    listings: tuple[TransactionListing, ...] = ()
    descriptions: tuple[TransactionDescription, ...] = ()
    candidates: tuple[ActiveProducer, ...] = ()
    finding: bool = False
    fenced: tuple[int, int] = (-1, -1)
    done: bool = False
    error: Raised = ""
    share_group: DescribedShareGroup | None = None
    share_offsets: tuple[ShareOffset, ...] = ()
    groups: tuple[GroupListing, ...] = ()
    group: GroupDescription | None = None
    removing: bool = False
    silent_for_ms: int = -1
    acls: tuple[AclEntry, ...] = ()
    several: bool = False
    described: tuple[GroupResult, ...] = ()


class Filters(Value, frozen=True):
    """The filters of a list of transactions; empty, or a duration of -1, selects everything."""

    states: tuple[str, ...] = ()
    producer_ids: tuple[int, ...] = ()
    pattern: str = ""
    duration_ms: int = -1


def filters_of(text: str) -> Filters:
    """Parse filters in the form of the command line: "state=Ongoing producer=9 id=my-.* duration=9000".

    Raises:
        ValueError: if a word is not a filter.
    """
    states: tuple[str, ...] = ()
    producer_ids: tuple[int, ...] = ()
    pattern = ""
    duration_ms = -1
    for word in text.split():
        name, _, value = word.partition("=")
        match name:
            case "state":
                states = (*states, value)
            case "producer" if value.isdecimal():
                producer_ids = (*producer_ids, int(value))
            case "id":
                pattern = value
            case "duration" if value.isdecimal():
                duration_ms = int(value)
            case _:
                raise ValueError(
                    f"{word!r} is not a filter: write state=Ongoing, producer=9, id=my-.* or "
                    "duration=30000"
                )
    return Filters(states, producer_ids, pattern, duration_ms)


def starts_of(text: str) -> AlterShareGroupOffsets:
    """Parse a group and its new start offsets: "g1 src-0=100 src-1=5".

    Raises:
        ValueError: if the group, a partition, or an offset of at least 0 is missing.
    """
    group_id, *words = text.split() or [""]
    starts: tuple[tuple[str, int], ...] = ()
    for word in words:
        partition, _, offset = word.partition("=")
        if not partition or not offset.isdecimal():
            raise ValueError(f"{word!r} is not the start offset of a partition: write src-0=100")
        starts = (*starts, (partition, int(offset)))
    if not starts:
        raise ValueError(f"{text!r} names no group with start offsets: write 'g1 src-0=100'")
    return AlterShareGroupOffsets(group_id, starts)


def topic_offsets_of(text: str) -> DeleteShareGroupOffsets:
    """Parse a group and the topic whose start offsets it deletes: "g1 src".

    Raises:
        ValueError: if the text is not these two words.
    """
    words = text.split()
    if len(words) != len(("group", "topic")):
        raise ValueError(f"{text!r} is not a group and a topic: write 'g1 src'")
    group_id, topic = words
    return DeleteShareGroupOffsets(group_id, (topic,))


# -- calls of the operator ----------------------------------------------------------------------


def list_transactions(me: Admin, filters: Filters) -> Admin:
    """Ask every broker for the transactional ids that it coordinates. Blocks."""
    return ask(me, *_to_every_broker(me, filters)).but(listings=())


def describe_transactions(me: Admin, transactional_id: str) -> Admin:
    """Ask the coordinator of a transactional id to describe its transaction. Blocks."""
    return ask(me, DescribeTransactions((transactional_id,))).but(descriptions=())


def describe_producers(me: Admin, partition: str) -> Admin:
    """Ask the leader of a partition for the producers in its log. Blocks."""
    asked = ask(me, DescribeProducers((partition,)))
    return asked.but(partition=partition, producers=(), candidates=())


class Hanging(Value, frozen=True):
    """The partition that find-hanging examines, and how long a producer must be silent; -1 for any time."""

    partition: str
    silent_for_ms: int = -1


MINUTE_MS = 60_000
MAX_TIMEOUT = "max-transaction-timeout="


def hanging_of(text: str) -> Hanging:
    """Parse the target of find-hanging: "out-0 max-transaction-timeout=15", in minutes.

    Raises:
        ValueError: if a word is neither.
    """
    partition, _, limit = text.partition(" ")
    minutes = limit.removeprefix(MAX_TIMEOUT)
    if limit and (not limit.startswith(MAX_TIMEOUT) or not minutes.isdecimal()):
        raise ValueError(
            f"{limit!r} is not a limit of find-hanging: write {MAX_TIMEOUT}15, in minutes"
        )
    return Hanging(partition, int(minutes) * MINUTE_MS if limit else -1)


def find_hanging(me: Admin, target: str) -> Admin:
    """Find the open transactions of a partition that no coordinator will end. Blocks.

    With a limit it considers only those whose producer has written nothing for longer, because a younger one may still
    be in progress. First it asks for the producers of the partition, then for the transactional ids of those with an
    open transaction, then for the coordinators' descriptions. Source: FindHangingTransactionsCommand.
    """
    wanted = hanging_of(target)
    asked = describe_producers(me, wanted.partition)
    return asked.but(listings=(), descriptions=(), finding=True, silent_for_ms=wanted.silent_for_ms)


def abort_transaction(me: Admin, partition: str) -> Admin:
    """End the oldest open transaction of a partition with a marker of the operator. Blocks.

    The producer is the one that describeProducers() or find-hanging returned last; kafka-transactions.sh finds it by
    the transaction's first offset. The marker goes directly to the partition's leader, not through the coordinator,
    with the epoch in the log and as of transaction version 0.
    """
    if partition != me.partition:
        return _fail_call(me, ProducersUnknown(partition))
    if not me.candidates:
        return _fail_call(me, NothingToAbort(partition))
    oldest = min(me.candidates, key=lambda p: p.current_txn_start_offset)
    marker = TxnMarker(
        oldest.producer_id,
        oldest.producer_epoch,
        False,
        (partition,),
        max(oldest.coordinator_epoch, 0),
        0,
    )
    return ask(me, WriteTxnMarkers((marker,)))


def fence_producers(me: Admin, transactional_id: str) -> Admin:
    """Fence every producer of a transactional id. Blocks.

    Its open transaction is aborted first: until then the coordinator returns a retriable error.
    """
    return ask(me, InitProducerId(transactional_id))


def describe_share_group(me: Admin, groups: str) -> Admin:
    """Ask the coordinators for the members of one or several share groups: "g1 g2". Blocks."""
    return _of_groups(me, ShareGroupDescribe, groups).but(share_group=None)


def list_share_group_offsets(me: Admin, group_id: str) -> Admin:
    """Ask for a share group's start offset in every partition for which it has state. Blocks."""
    return ask(me, DescribeShareGroupOffsets((ShareOffsetsGroup(group_id),))).but(share_offsets=())


def alter_share_group_offsets(me: Admin, starts: str) -> Admin:
    """Set the start offsets of an empty share group: "g1 src-0=100". Blocks."""
    return ask(me, starts_of(starts))


def delete_share_group_offsets(me: Admin, topic: str) -> Admin:
    """Delete a share group's start offsets in a topic: "g1 src". Blocks."""
    return ask(me, topic_offsets_of(topic))


def delete_share_group(me: Admin, groups: str) -> Admin:
    """Delete empty share groups and their durable state: "g1 g2". Blocks."""
    return _of_groups(me, DeleteGroups, groups)


def list_groups(me: Admin, filters: str) -> Admin:
    """Ask every broker for its groups, all or filtered: "state=Empty type=share". Blocks."""
    wanted = group_targets.group_filters_of(filters)
    asked = ListGroups(*wanted)
    return ask(me, *(Addressed(broker, asked) for broker in me.brokers)).but(groups=())


def describe_consumer_group(me: Admin, groups: str) -> Admin:
    """Ask the coordinators for the members of one or several regular groups, in either protocol. Blocks.

    The request is for a group of KIP-848 first; if the coordinator has no such group, it is for a classic one.
    """
    return _of_groups(me, ConsumerGroupDescribe, groups).but(group=None)


def delete_consumer_group(me: Admin, groups: str) -> Admin:
    """Delete empty regular groups with all their offsets: "g1 g2". Blocks."""
    return _of_groups(me, DeleteGroups, groups)


def delete_consumer_group_offsets(me: Admin, partitions: str) -> Admin:
    """Delete a group's offsets: "g1 src-0". No member of it may subscribe to that topic. Blocks."""
    return ask(me, group_targets.group_offsets_of(partitions))


def list_consumer_group_offsets(me: Admin, groups: str) -> Admin:
    """Ask for the committed offsets of one or several regular groups: "g1 g2 requireStable=true". Blocks.

    The result leaves out a partition whose offset is not stable, without an error.
    Source: ListConsumerGroupOffsetsHandler.
    """
    return ask(me, group_targets.parse_offset_groups(groups)).but(several=True)


def remove_members(me: Admin, members: str) -> Admin:
    """Remove members from a group: "g1 C1.1 instance=i2", or all of them: "g1". Blocks.

    To remove all, it first asks for the members. Source: RemoveMembersFromConsumerGroupHandler,
    KafkaAdminClient.getMembersFromGroup.
    """
    group_id, leavers = group_targets.members_of(members)
    if not leavers:
        return describe_consumer_group(me, group_id).but(removing=True)
    return ask(me, LeaveGroup(group_id, leavers))


# -- the network thread -------------------------------------------------------------------------


def next_request(me: Admin) -> Message | None:
    """Return the request that the network thread sends next, or None."""
    return message_of(me.queue[0]) if me.queue and me.on_wire is None else None


def next_broker(me: Admin) -> int:
    """Return the broker that the next request is addressed to, -1 if its contents say it."""
    return broker_of(me.queue[0] if me.queue else None)


def note_sent(me: Admin, request: Message, broker: int) -> tuple[Admin, Message]:
    """Note that a request is in flight."""
    rest = several_groups.remaining_groups(message_of(me.queue[0]), request)
    return me.but(queue=(*rest, *me.queue[1:]), on_wire=request, on_wire_broker=broker), request


def on_response(me: Admin, answer: Message, now_ms: int = NO_TIMESTAMP) -> Admin:
    """Handle a response: keep its contents, retry, or fail the call. `now_ms` is the time by the operator's clock."""
    request = me.on_wire
    if request is None:
        return me
    broker, me = me.on_wire_broker, me.but(on_wire=None, on_wire_broker=-1)
    if me.several:
        return _keep_answer(me, request, answer)
    error = any_error_in(answer)
    if isinstance(request, ConsumerGroupDescribe) and error is Errors.GROUP_ID_NOT_FOUND:
        return me.but(queue=(DescribeGroups(request.group_ids),))
    if error in _retried_errors(request):
        again = Addressed(broker, request) if isinstance(request, TO_EACH_BROKER) else request
        return me.but(queue=(again, *me.queue))
    if error is not Errors.NONE and not _is_an_answer(me, error):
        return _fail_call(me, request_error(type(request), error))
    match answer:
        case ListTransactionsResponse():
            me = me.but(listings=(*me.listings, *answer.transactions))
        case DescribeTransactionsResponse():
            told = tuple(each for each in answer.transaction_states if not each.error)
            me = me.but(descriptions=(*me.descriptions, *told))
        case DescribeProducersResponse(responses=(only,)):
            found = only.active_producers
            me = me.but(producers=found, candidates=_candidates(me, found, now_ms))
        case InitProducerIdResponse():
            me = me.but(fenced=(answer.producer_id, answer.producer_epoch))
        case WriteTxnMarkersResponse():
            me = me.but(producers=(), candidates=())
        case ShareGroupDescribeResponse(groups=(share_group,)):
            me = me.but(share_group=share_group)
        case DescribeShareGroupOffsetsResponse(groups=(of_group,)):
            me = me.but(share_offsets=of_group.offsets)
        case ListGroupsResponse():
            me = me.but(groups=(*me.groups, *answer.groups))
        case (
            DescribeGroupsResponse(groups=(group,)) | ConsumerGroupDescribeResponse(groups=(group,))
        ):
            return _keep_description(me, group)
        case DescribeAclsResponse():
            me = me.but(acls=answer.acls)
        case DeleteAclsResponse():
            deleted = (acl for result in answer.deleted for acl in result.acls)
            me = me.but(acls=tuple(dict.fromkeys(deleted)))
        case (
            CreateAclsResponse()
            | OffsetDeleteResponse()
            | LeaveGroupResponse()
            | AlterShareGroupOffsetsResponse()
            | DeleteShareGroupOffsetsResponse()
            | DeleteGroupsResponse()
        ):
            pass
        case _:
            raise AssertionError(f"no admin client asked for {type(answer).__name__}")
    return me if me.queue else _next_of_finding(me, answer)


def on_disconnected(me: Admin, broker: int) -> Admin:
    """Retry the request of a broken connection, unless only that broker could answer it.

    Only the broker itself can list the transactional ids that it coordinates. If it is gone, other brokers coordinate
    them and are asked anyway.
    """
    request = me.on_wire
    if request is None or me.on_wire_broker != broker:
        return me
    me = me.but(on_wire=None, on_wire_broker=-1)
    if not isinstance(request, TO_EACH_BROKER):
        return me.but(queue=(request, *me.queue))
    return me if me.queue else _next_of_finding(me, ListTransactionsResponse(Errors.NONE))


def restart(me: Admin, life: int) -> Admin:
    """Return the admin client of the process's next life: it knows only the brokers."""
    return Admin(me.source, me.brokers)


# -- pieces -------------------------------------------------------------------------------------


def ask(me: Admin, *requests: Outgoing) -> Admin:
    """Begin a call: these requests are sent one after the other."""
    me = me.but(queue=requests, done=False, error="", finding=False, removing=False)
    return me.but(several=False, described=())


def _of_groups(me: Admin, kind: Callable[[tuple[str, ...]], OfGroups], target: str) -> Admin:
    """Send a request about one group or several."""
    groups = several_groups.parse_groups(target)
    return ask(me, kind(groups)).but(several=len(groups) > 1)


def _keep_answer(me: Admin, request: Message, answer: Message) -> Admin:
    """Keep the result for each of several groups; the call ends when no request is left."""
    assert isinstance(request, OfGroups)
    assert isinstance(answer, GroupsResponse)
    heard = several_groups.sort_results(request, answer, _retried_errors(request))
    told = () if isinstance(answer, DeleteGroupsResponse) else heard.told
    me = me.but(
        queue=(*heard.asks, *me.queue),
        described=(*me.described, *told),
        error=me.error or heard.error,
    )
    return me if me.queue else me.but(done=True)


def _fail_call(me: Admin, error: ClientError) -> Admin:
    return me.but(queue=(), done=True, error=error, finding=False, removing=False)


def _keep_description(me: Admin, group: GroupDescription) -> Admin:
    """Keep the description of a group, or remove its members next: static ones by their instance ids."""
    me = me.but(group=group)
    leavers = tuple(
        Leaver(NO_MEMBER, m.instance_id) if m.instance_id else Leaver(m.member_id)
        for m in group.members
    )
    if me.removing and leavers:
        return me.but(queue=(LeaveGroup(group.group_id, leavers),), removing=False)
    return me.but(done=True, removing=False)


def _to_every_broker(me: Admin, filters: Filters) -> tuple[Outgoing, ...]:
    asked = ListTransactions(
        filters.states, filters.producer_ids, filters.pattern, filters.duration_ms
    )
    return tuple(Addressed(broker, asked) for broker in me.brokers)


def _retried_errors(request: Message) -> tuple[Errors, ...]:
    """Return the errors after which a request is sent again: to the new leader, or a little later."""
    errors = api_of(request).admin_retries
    assert errors is not None, f"no admin client sends {type(request).__name__}"
    return errors


def _is_an_answer(me: Admin, error: Errors) -> bool:
    """Return whether an error is the result that find-hanging looks for: no coordinator has that transaction."""
    return me.finding and error is Errors.TRANSACTIONAL_ID_NOT_FOUND


def _next_of_finding(me: Admin, answer: Message) -> Admin:
    """End the call, or send the next request of find-hanging."""
    if not me.finding:
        return me.but(done=True)
    if isinstance(answer, DescribeProducersResponse) and me.candidates:
        wanted = Filters(producer_ids=tuple(p.producer_id for p in me.candidates))
        return me.but(queue=_to_every_broker(me, wanted))
    if isinstance(answer, ListTransactionsResponse) and me.listings:
        return me.but(queue=tuple(DescribeTransactions((t.transactional_id,)) for t in me.listings))
    name_of = {t.producer_id: t.transactional_id for t in me.listings}
    expected = {d.transactional_id: d.partitions for d in me.descriptions}
    hanging = tuple(
        p
        for p in me.candidates
        if me.partition not in expected.get(name_of.get(p.producer_id, ""), ())
    )
    return me.but(candidates=hanging, done=True, finding=False)


def _candidates(
    me: Admin, producers: tuple[ActiveProducer, ...], now_ms: int
) -> tuple[ActiveProducer, ...]:
    """Return the producers with an open transaction; find-hanging leaves out those that have written too recently."""
    found = tuple(p for p in producers if p.current_txn_start_offset >= 0)
    if not me.finding or me.silent_for_ms < 0:
        return found
    return tuple(p for p in found if age_ms(p.last_timestamp, now_ms) > me.silent_for_ms)


def age_ms(timestamp_ms: int, now_ms: int) -> int:
    """Return how long ago a timestamp of a response is by the operator's clock, or -1 if there is none.

    Source: TransactionsCommand.DescribeTransactionsCommand, FindHangingTransactionsCommand.
    """
    return -1 if NO_TIMESTAMP in (timestamp_ms, now_ms) else now_ms - timestamp_ms
