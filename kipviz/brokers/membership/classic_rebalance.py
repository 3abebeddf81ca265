"""Rebalances of a classic group: from one generation to the next, and the records of it.

A part of the group coordinator's role (`group_coordinator`): `classic_membership` handles the requests and timers, and
calls this with what they change. WHERE IN KAFKA: GroupMetadataManager (prepareRebalance, completeClassicGroupJoin,
storeGroup). KIPS: KIP-62, KIP-134 (initial delay), KIP-345 (static members).
"""

from __future__ import annotations

from kipviz.brokers.checks import Check, Checks
from kipviz.brokers.context import Context, Effects, LocalCall, Reply
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.local_calls import GroupStored
from kipviz.brokers.logs.replication import (
    WaitingForReplicas,
    batch_appended,
    respond_when_replicated,
)
from kipviz.brokers.membership import classic_group
from kipviz.brokers.membership.classic_group import ClassicGroup, GroupState
from kipviz.core.model import Event
from kipviz.core.values import Value
from kipviz.messages.apis.api import Role
from kipviz.messages.errors import Errors
from kipviz.messages.events import AssignmentMoved, ClassicGroupMoved
from kipviz.messages.groups.classic_groups import (
    NO_MEMBER,
    Assigned,
    JoinGroupResponse,
    SyncGroupResponse,
)
from kipviz.records.batches import COORDINATOR_SEQUENCE, Batch

S = GroupState
DID_NOT_JOIN = "it did not join the next generation in time"
# The unit in which the members of such a group count their epochs.
COUNTED = "generation"


class RebalanceStep(Value, frozen=True):
    """The result of one step for a group: responses, and members that were removed.

    `written` means that the group is written to the log as it is now, `given` is the assignment in that record, which
    becomes valid once it is replicated; `then` is the response that waits for it. `checks` are what decided the errors
    of the responses.
    """

    group: ClassicGroup
    replies: tuple[Reply, ...] = ()
    written: bool = False
    given: tuple[Assigned, ...] | None = None
    then: Reply | None = None
    gone: tuple[tuple[str, tuple[str, ...], str], ...] = ()
    checks: Checks = ()

    def after(self, before: RebalanceStep) -> RebalanceStep:
        """Return the same result after an earlier one: with its responses and removed members."""
        return self.but(
            replies=(*before.replies, *self.replies),
            gone=(*before.gone, *self.gone),
            checks=(*before.checks, *self.checks),
        )


# -- from one generation to the next ----------------------------------------------------------------


def start_or_complete(group: ClassicGroup, on: Context) -> RebalanceStep:
    """Start a rebalance if none is under way, otherwise complete it if all members have joined."""
    return (
        prepare_rebalance(group, on) if group.can_rebalance else complete_if_all_joined(group, on)
    )


def prepare_rebalance(group: ClassicGroup, on: Context) -> RebalanceStep:
    """Start a rebalance: a member that waits for its assignment has to join again.

    Source: prepareRebalance. An empty group waits for more members first, if it is configured to.
    """
    replies: tuple[Reply, ...] = ()
    checks: Checks = ()
    if group.state is S.COMPLETING_REBALANCE:
        told = SyncGroupResponse(Errors.REBALANCE_IN_PROGRESS)
        waiting = tuple(m.syncing for m in group.members.values())
        replies = tuple(Reply(to, told) for to in waiting if to is not None)
        if replies:
            checks = (Check("group state", None, S.PREPARING_REBALANCE, told.error),)
        members = group.members
        for name, member in group.members.items():
            members = members.set(name, member.but(assigned=(), syncing=None, assignment=None))
        group = group.but(members=members)
    group = classic_group.to(group.but(unsynced=()), S.PREPARING_REBALANCE)
    done = RebalanceStep(group, replies, checks=checks)
    if group.is_first and on.settings.initial_rebalance_delay_ms:
        return done
    if group.all_joined or group.is_first:
        return complete_join(group, on).after(done)
    return done


def complete_if_all_joined(group: ClassicGroup, on: Context) -> RebalanceStep:
    """Complete the rebalance if that is possible now. Source: maybeCompleteJoinPhase."""
    ready = group.state is S.PREPARING_REBALANCE and not group.is_first and group.all_joined
    return complete_join(group, on) if ready else RebalanceStep(group)


def complete_join(group: ClassicGroup, on: Context) -> RebalanceStep:
    """Start the next generation with the members that have joined; other dynamic members are removed.

    Static members keep their place until their session expires; if none has joined, the group continues to wait.
    Source: completeClassicGroupJoin.
    """
    done = RebalanceStep(group)
    for name, member in group.members.items():
        if member.joining is None and not member.instance_id:
            done = out(done.group, name, DID_NOT_JOIN, on).after(done)
    led = classic_group.elect_joined_leader(done.group)
    if led is None and len(done.group.members):
        return done
    group = classic_group.next_generation(led or done.group)
    if group.state is S.EMPTY:
        return RebalanceStep(group, written=True).after(done)
    replies, members = [], group.members
    for name, member in group.members.items():
        if member.joining is not None:
            replies.append(Reply(member.joining, join_response(group, name)))
        members = members.set(name, member.but(joining=None, is_new=False))
    group = group.but(members=members, unsynced=tuple(group.members))
    return RebalanceStep(group, tuple(replies)).after(done)


def out(group: ClassicGroup, name: str, because: str, on: Context) -> RebalanceStep:
    """Remove a member, and respond to its waiting JoinGroup."""
    member = group.members.get(name)
    after = classic_group.without(group, name)
    if member is None:
        return RebalanceStep(after)
    gone = ((name, member.assigned, because),)
    if member.joining is None:
        return RebalanceStep(after, gone=gone)
    unknown = Errors.UNKNOWN_MEMBER_ID
    answer = Reply(member.joining, JoinGroupResponse(unknown, NO_MEMBER))
    return RebalanceStep(
        after, (answer,), gone=gone, checks=(Check("member id", name, None, unknown),)
    )


def join_response(group: ClassicGroup, name: str) -> JoinGroupResponse:
    """Return the JoinGroup response for a member of the generation; the leader gets the members, too."""
    members = classic_group.roster(group) if group.leader == name else ()
    told = (name, group.generation, group.leader, members)
    return JoinGroupResponse(Errors.NONE, *told, protocol=group.protocol)


# -- effects ----------------------------------------------------------------------------------------


def effects(
    me: GroupCoordinator, group_id: str, done: RebalanceStep, on: Context
) -> Effects[GroupCoordinator]:
    """Store the group, append its record if there is one, and respond.

    The record is not replayed: the state in memory is newer. Source: CoordinatorResult with replayRecords false.
    """
    before = me.classic_groups.get(group_id) or ClassicGroup()
    events = _events(group_id, before, done)
    me = me.but(classic_groups=me.classic_groups.set(group_id, done.group))
    log = on.log(me.shard)
    if not done.written:
        waiting, replies = (
            respond_when_replicated(log, done.then) if done.then is not None else ((), ())
        )
        me = me.but(waiting=(*me.waiting, *waiting))
        said = (*done.replies, *replies)
        return Effects(me, replies=said, events=events, checks=done.checks)
    record = classic_group.make_record(group_id, done.group, done.given)
    batch = Batch(log.end_offset, (record,), base_sequence=COORDINATOR_SEQUENCE)
    call = None
    if done.given is not None:
        stored = GroupStored(group_id, done.group.generation, done.given)
        call = LocalCall(Role.GROUP_COORDINATOR, me.shard, stored)
    wait: tuple[WaitingForReplicas, ...] = ()
    if call is not None or done.then is not None:
        wait = (WaitingForReplicas(batch.last_offset, done.then, call),)
    return Effects(
        me.but(waiting=(*me.waiting, *wait)),
        appends=((me.shard, batch),),
        replies=done.replies,
        events=(batch_appended(me.shard, batch), *events),
        checks=done.checks,
    )


def _events(group_id: str, before: ClassicGroup, done: RebalanceStep) -> tuple[Event, ...]:
    group = done.group
    gone = tuple(
        AssignmentMoved(group_id, name, before.generation, 0, had, (), because, COUNTED)
        for name, had, because in done.gone
    )
    if (before.state, before.generation) == (group.state, group.generation):
        return gone
    members = tuple(group.members)
    moved = (before.state.name, group.state.name, group.generation, members)
    return (*gone, ClassicGroupMoved(group_id, *moved))
