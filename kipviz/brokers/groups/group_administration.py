"""Operators' requests about regular groups: list and describe them, delete them or their offsets.

A part of the group coordinator's role (`group_coordinator`), with the same state. Share groups are listed and deleted
  here, too; their other requests are in `share_administration`.
WHERE IN KAFKA: GroupCoordinatorService, GroupCoordinatorShard, OffsetMetadataManager.deleteOffsets.
KIPS: KIP-229 (DeleteGroups), KIP-496 (OffsetDelete), KIP-518 and KIP-848 (filters of ListGroups).
A request about several groups arrives here group by group (`several_groups`).
NOT MODELLED: the client's host; the assignment of members that existed before the run.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.authorizer import topics_seen
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
from kipviz.brokers.groups import group_retention, share_administration
from kipviz.brokers.groups.group_kinds import kind_of
from kipviz.brokers.groups.group_state import GroupCoordinator, as_replicated
from kipviz.brokers.groups.group_writes import append_records
from kipviz.brokers.handling import takes
from kipviz.brokers.local_calls import ListedHere, ListHere
from kipviz.brokers.membership.classic_group import ClassicGroup, GroupState
from kipviz.brokers.membership.consumer_group import ConsumerGroup
from kipviz.core.values import Value
from kipviz.messages.apis.api import Role
from kipviz.messages.apis.catalogue import reject_request
from kipviz.messages.errors import Errors
from kipviz.messages.events import OffsetsExpired
from kipviz.messages.groups.group_admin import (
    CLASSIC,
    CONSUMER,
    SHARE,
    ConsumerGroupDescribe,
    ConsumerGroupDescribeResponse,
    DescribedClassicGroup,
    DescribedConsumerGroup,
    DescribeGroups,
    DescribeGroupsResponse,
    GroupListing,
    GroupMemberDescription,
    ListGroups,
    ListGroupsResponse,
    OffsetDelete,
    OffsetDeleteResponse,
)
from kipviz.messages.message import Message
from kipviz.messages.shares.share_admin import (
    EMPTY,
    STABLE,
    DeletedGroup,
    DeleteGroups,
    DeleteGroupsResponse,
)
from kipviz.messages.transactions.transactions import PartitionResult
from kipviz.records.consumer_offsets import STABLE as RECONCILED
from kipviz.records.consumer_offsets import OffsetTombstone
from kipviz.records.placement import topic_of

TOPIC_REFUSED = Errors.TOPIC_AUTHORIZATION_FAILED
# States of a KIP-848 group that the other kinds do not have (ConsumerGroup.ConsumerGroupState).
ASSIGNING, RECONCILING, DEAD = "Assigning", "Reconciling", "Dead"
CONSUMER_TYPE, SHARE_TYPE = "consumer", "share"
# The coordinator's only assignor for KIP-848 groups.
UNIFORM = "uniform"


# -- handlers ----------------------------------------------------------------------------------


def on_list_here(me: GroupCoordinator, call: ListHere, on: Context) -> Effects[GroupCoordinator]:
    """Return to KafkaApis of this broker the groups that are coordinated here."""
    assert isinstance(call.request, ListGroups)
    checks = (has_loaded(me.loading), report_value("groups known", len(known_groups(me))))
    told = ListedHere(call.ticket, listing(as_replicated(me, on), call.request))
    return Effects(me, local=(LocalCall(Role.KAFKA_APIS, "", told),), checks=checks)


def listing(me: GroupCoordinator, request: ListGroups) -> ListGroupsResponse:
    """Return the groups of a coordinator that pass a request's filters; case is ignored.

    Source: GroupMetadataManager.listGroups.
    """
    if me.loading:
        return ListGroupsResponse(Errors.COORDINATOR_LOAD_IN_PROGRESS)
    states = [state.lower() for state in request.states]
    types = [kind.lower() for kind in request.types]
    found = (_make_listing(me, group_id) for group_id in known_groups(me))
    return ListGroupsResponse(
        Errors.NONE,
        tuple(
            each
            for each in found
            if (not states or each.state.lower() in states)
            and (not types or each.group_type in types)
        ),
    )


@takes(DescribeGroups)
def on_describe_groups(
    me: GroupCoordinator, request: DescribeGroups, reply_to: ReplyTo, on: Context
) -> Effects[GroupCoordinator]:
    """Return the members of a classic group and each member's assignment.

    WHEN: describeClassicGroups(), and describeConsumerGroups() of a group that is not a KIP-848 group.
    CHECKS: that there is such a group. ANSWERS: assignments of a stable group only. A group that does not exist is
    DEAD, and since version 6 GROUP_ID_NOT_FOUND (KIP-1043).
    Clause: KIP-848 "DescribeGroups"; GroupMetadataManager.describeGroups.
    """
    (group_id,) = request.groups
    checks = _is_there(me, me, group_id, CLASSIC)
    if (error := error_of(checks)) is Errors.GROUP_ID_NOT_FOUND:
        gone = DescribeGroupsResponse((DescribedClassicGroup(error, group_id, DEAD),))
        return Effects(me, replies=(Reply(reply_to, gone),), checks=checks)
    if error is not Errors.NONE:
        return _respond(me, request, reply_to, checks)
    group = me.classic_groups.get(group_id) or ClassicGroup()
    stable = group.state is GroupState.STABLE
    members = tuple(
        GroupMemberDescription(
            name,
            member.assigned if stable else (),
            member.instance_id,
            member.client_id,
            member.subscription.topics,
            metadata=member.metadata_for(group.protocol) if stable else None,
            assignment=member.assignment if stable else None,
        )
        for name, member in group.members.items()
    )
    described = DescribedClassicGroup(
        Errors.NONE, group_id, group.state.value, group.protocol if stable else "", members
    )
    answer = DescribeGroupsResponse((described,))
    checks = (*checks, report_value("group state", group.state))
    return Effects(me, replies=(Reply(reply_to, answer),), checks=checks)


@takes(ConsumerGroupDescribe)
def on_consumer_group_describe(
    me: GroupCoordinator, request: ConsumerGroupDescribe, reply_to: ReplyTo, on: Context
) -> Effects[GroupCoordinator]:
    """Return the members of a KIP-848 group: their epochs, current and target assignments.

    WHEN: describeConsumerGroups(). CHECKS: that there is such a group of this protocol, and that the sender may
    describe every topic that its members have.
    ANSWERS: the group's epoch, its target's epoch, and the members, as already replicated.
    Clause: KIP-848 "ConsumerGroupDescribe"; GroupMetadataManager.consumerGroupDescribe.
    """
    (group_id,), seen = request.group_ids, as_replicated(me, on)
    checks = _is_there(me, seen, group_id, CONSUMER)
    if error_of(checks) is not Errors.NONE:
        return _respond(me, request, reply_to, checks)
    group = seen.groups.get(group_id)
    if group is None:
        given = ((name, epoch) for (known, name), epoch in me.members.items() if known == group_id)
        members = tuple(
            GroupMemberDescription(name, (), member_epoch=epoch) for name, epoch in given
        )
        given_group = DescribedConsumerGroup(Errors.NONE, group_id, STABLE, members=members)
        answer = ConsumerGroupDescribeResponse((given_group,))
        return Effects(me, replies=(Reply(reply_to, answer),), checks=checks)
    described = tuple(
        GroupMemberDescription(
            name,
            m.partitions,
            m.instance_id,
            subscribed_topic_names=m.subscribed_topic_names,
            member_epoch=m.epoch,
            target=m.target,
            regex=m.regex,
            rack=m.rack,
        )
        for name, m in group.members.items()
    )
    held = tuple(p for m in described for p in (*m.partitions, *m.target))
    if on.image.acls is not None:
        allowed = topics_seen(on.image.acls, reply_to.source, held)
        topics, refused = tuple(dict.fromkeys(map(topic_of, held))), TOPIC_REFUSED
        checks = (*checks, compare("topics it may describe", topics, allowed, allowed, refused))
        if not allowed:
            return _respond(me, request, reply_to, checks)
    whole = DescribedConsumerGroup(
        Errors.NONE,
        group_id,
        state_of(group),
        group.epoch,
        group.target_epoch,
        UNIFORM,
        described,
    )
    answer = ConsumerGroupDescribeResponse((whole,))
    checks = (*checks, report_value("group epoch", group.epoch))
    return Effects(me, replies=(Reply(reply_to, answer),), checks=checks)


@in_order
def _is_there(
    me: GroupCoordinator, seen: GroupCoordinator, group_id: str, *kinds: str
) -> Iterator[Check]:
    """Check that the coordinator has loaded its log, and that a group of one of some kinds exists."""
    yield has_loaded(me.loading)
    kind = kind_of(seen, group_id)
    yield compare("kind of group", group_id, kind, kind in kinds, Errors.GROUP_ID_NOT_FOUND)


@takes(DeleteGroups)
def on_delete_groups(
    me: GroupCoordinator, request: DeleteGroups, reply_to: ReplyTo, on: Context
) -> Effects[GroupCoordinator]:
    """Delete an empty group with all its offsets.

    WHEN: deleteConsumerGroups(), deleteShareGroups(). CHECKS: the group exists and is empty.
    DOES: a share group's state is deleted first (`share_administration`). A regular group loses every offset, even
    those that are pending in a transaction: that transaction can still commit its outputs.
    ANSWERS: when the tombstones are replicated.
    Clause: KIP-229 "DeleteGroups"; GroupCoordinatorShard.deleteGroups, OffsetMetadataManager.deleteAllOffsets.
    """
    (group_id,) = request.groups_names
    kind = kind_of(me, group_id)
    if me.loading or not group_id or kind == SHARE:
        return share_administration.on_delete_groups(me, request, reply_to, on)
    checks = _deletable_checks(me, group_id, kind)
    deleted = DeletedGroup(error_of(checks), group_id)
    answer = Reply(reply_to, DeleteGroupsResponse((deleted,)))
    if error_of(checks) is not Errors.NONE:
        return Effects(me, replies=(answer,), checks=checks)
    places = tuple(_offsets_of(me, group_id))
    records: tuple[Value, ...] = (
        *(OffsetTombstone(group_id, partition) for partition in places),
        *group_retention.tombstones(me, group_id),
    )
    forgotten = OffsetsExpired(group_id, places, True)
    return append_records(me, records, (forgotten,), answer, on).after(checks)


@in_order
def _deletable_checks(me: GroupCoordinator, group_id: str, kind: str) -> Iterator[Check]:
    """Check that a regular group exists and is empty."""
    yield compare("kind of group", group_id, kind, bool(kind), Errors.GROUP_ID_NOT_FOUND)
    yield report_value("pending in a transaction", tuple(group_retention.pending_of(me, group_id)))
    empty = group_retention.is_empty(me, group_id)
    yield compare("group is empty", None, empty, empty, Errors.NON_EMPTY_GROUP)


@takes(OffsetDelete)
def on_offset_delete(
    me: GroupCoordinator, request: OffsetDelete, reply_to: ReplyTo, on: Context
) -> Effects[GroupCoordinator]:
    """Delete a group's offsets of some partitions, even while it consumes others.

    WHEN: deleteConsumerGroupOffsets(). CHECKS: the group exists; none of its members subscribes to the topic.
    DOES: writes a tombstone for each offset that is committed, or pending in a transaction.
    ANSWERS: one result per partition, when that is replicated; a partition without an offset is no error.
    Clause: KIP-496; OffsetMetadataManager.deleteOffsets.
    """
    group_id = request.group_id
    checks: Checks = ()
    # KafkaApis responds itself if the request names no partition that exists.
    if not request.partitions or any(p in on.image.leaders for p in request.partitions):
        checks = _is_there(me, me, group_id, CLASSIC, CONSUMER)
    if error_of(checks) is not Errors.NONE:
        return _respond(me, request, reply_to, checks)
    found = {p: _deletable(me, group_id, p, on) for p in request.partitions}
    results = tuple(PartitionResult(p, error_of(made)) for p, made in found.items())
    checks += tuple(check for made in found.values() for check in made)
    gone = tuple(r.partition for r in results if r.error is Errors.NONE)
    known = _offsets_of(me, group_id)
    records = tuple(OffsetTombstone(group_id, p) for p in gone if p in known)
    answer = Reply(reply_to, OffsetDeleteResponse(Errors.NONE, group_id, results))
    forgotten = OffsetsExpired(group_id, tuple(r.partition for r in records), False)
    return append_records(me, records, (forgotten,), answer, on).after(checks)


# -- a coordinator's groups ---------------------------------------------------------------------


def known_groups(me: GroupCoordinator) -> tuple[str, ...]:
    """Return the groups of a coordinator, ordered by name; a group may consist of offsets alone."""
    pending = (p.group_id for staged in me.pending.values() for p in staged)
    given = (group_id for group_id, _ in me.members)
    kept = (group_id for group_id, _ in me.offsets)
    kinds = (*me.groups, *me.classic_groups, *me.share_groups)
    return tuple(sorted(dict.fromkeys((*kinds, *given, *kept, *pending))))


def state_of(group: ConsumerGroup) -> str:
    """Return the state of a KIP-848 group. Source: ConsumerGroup.maybeUpdateGroupState."""
    if not len(group.members):
        return EMPTY
    if group.epoch > group.target_epoch:
        return ASSIGNING
    there = (
        m.state == RECONCILED and m.epoch == group.target_epoch for m in group.members.values()
    )
    return STABLE if all(there) else RECONCILING


# -- pieces ------------------------------------------------------------------------------------


def _make_listing(me: GroupCoordinator, group_id: str) -> GroupListing:
    kind = kind_of(me, group_id)
    shared, classic, group = (
        me.share_groups.get(group_id),
        me.classic_groups.get(group_id),
        me.groups.get(group_id),
    )
    if shared is not None:
        state = STABLE if len(shared.members) else EMPTY
        return GroupListing(group_id, SHARE_TYPE, state, kind)
    if classic is not None:
        return GroupListing(group_id, CONSUMER_TYPE, classic.state.value, kind)
    if kind == CLASSIC:
        return GroupListing(group_id, "", EMPTY, kind)
    return GroupListing(group_id, CONSUMER_TYPE, state_of(group) if group else STABLE, kind)


def _offsets_of(me: GroupCoordinator, group_id: str) -> dict[str, bool]:
    """Return the partitions for which a group has an offset, committed or pending."""
    kept = (partition for known, partition in me.offsets if known == group_id)
    return dict.fromkeys((*kept, *group_retention.pending_of(me, group_id)), True)


@in_order
def _deletable(me: GroupCoordinator, group_id: str, partition: str, on: Context) -> Iterator[Check]:
    """Check that an offset may be deleted: its partition exists, and no member of the group reads its topic."""
    there, topic = partition in on.image.leaders, topic_of(partition)
    yield compare("partition there", partition, there, there, Errors.UNKNOWN_TOPIC_OR_PARTITION)
    read = group_retention.subscribed_topics(me, group_id)
    free = topic not in read and not group_retention.is_given(me, group_id)
    yield compare("topics of the group", topic, tuple(read), free, Errors.GROUP_SUBSCRIBED_TO_TOPIC)


def _respond(
    me: GroupCoordinator, request: Message, reply_to: ReplyTo, checks: Checks
) -> Effects[GroupCoordinator]:
    answer = reject_request(request, error_of(checks))
    return Effects(me, replies=(Reply(reply_to, answer),), checks=checks)
