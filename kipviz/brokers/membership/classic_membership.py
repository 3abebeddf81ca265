"""Members of a classic group: join, sync, heartbeats, leaving, and timeouts.

A part of the group coordinator's role (`group_coordinator`), with the same state; `classic_group` has the state of one
group. WHERE IN KAFKA: GroupMetadataManager (classicGroupJoin, -Sync, -Heartbeat, -Leave).
KIPS: KIP-62, KIP-134 (initial delay), KIP-345 (static members), KIP-394 (MEMBER_ID_REQUIRED).
DURABILITY: the group is in memory, and in the log once a generation has its assignment; JoinGroup is answered at once,
SyncGroup when that record is replicated.
NOT MODELLED: a group.max.size that is lowered later, the limits of session.timeout.ms (a served cluster checks them),
the five minutes that a new member may wait in its first JoinGroup (here: its session), a record that cannot be written.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.checks import (
    Check,
    Checks,
    compare,
    error_of,
    has_loaded,
    in_order,
    report_value,
)
from kipviz.brokers.context import Context, Effects, Reply, ReplyTo
from kipviz.brokers.groups import group_kinds
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.groups.group_writes import HEARD_NO_MORE, make_member_id
from kipviz.brokers.handling import takes
from kipviz.brokers.local_calls import GroupStored
from kipviz.brokers.logs.replication import respond_when_replicated
from kipviz.brokers.membership import classic_group, group_membership
from kipviz.brokers.membership.classic_group import ClassicGroup, ClassicMember, GroupState
from kipviz.brokers.membership.classic_rebalance import (
    COUNTED,
    RebalanceStep,
    complete_if_all_joined,
    complete_join,
    effects,
    join_response,
    out,
    prepare_rebalance,
    start_or_complete,
)
from kipviz.brokers.timers import (
    GroupRebalance,
    GroupSync,
    InitialRebalanceDelay,
    MemberSession,
    RoleTimer,
)
from kipviz.messages.apis.catalogue import reject_request
from kipviz.messages.errors import Errors
from kipviz.messages.events import AssignmentMoved
from kipviz.messages.groups.classic_groups import (
    NO_MEMBER,
    SKIPS_ASSIGNMENT,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeaveGroupResponse,
    Left,
    SyncGroup,
    SyncGroupResponse,
)
from kipviz.messages.message import Message
from kipviz.settings.consumer_configs import GROUP_INSTANCE_ID

S = GroupState
DID_NOT_SYNC = "it did not ask for its assignment in time"
ITS_LEADER_SAID = "the leader of the group has assigned it"
IT_LEFT = "it left"
NO_ROOM = "the group is full, and others came before it"


# -- requests -------------------------------------------------------------------------------------


@takes(JoinGroup)
def on_join_group(
    me: GroupCoordinator, request: JoinGroup, reply_to: ReplyTo, on: Context
) -> Effects[GroupCoordinator]:
    """Add a consumer to the next generation of its group.

    WHEN: a consumer joins, or rejoins because the group rebalances.
    CHECKS: the id does not belong to a share group; there is room (KIP-389); the consumer has an assignor that all
    members support; a member id that it names is a member's or pending; for a static member only the newest id is
    valid.
    DOES: a consumer without a member id gets one and has to join again with it, so that a lost response leaves no
    member behind (KIP-394; clients before version 4 of the request are members at once). A new member, the leader, or a member with another subscription starts a rebalance; it ends
    when all members have joined, or when the time is over. A restarted static member takes over its place without a
    rebalance (KIP-345).
    ANSWERS: when the generation has started: with the generation and its leader; the leader also gets the members.
    Clause: KIP-62; GroupMetadataManager.classicGroupJoin, completeClassicGroupJoin.
    """
    checks = _join_checks(me, request, on)
    group = me.classic_groups.get(request.group_id)
    return _join_checked(me, group, request, reply_to, on, checks).after(checks)


def _join_checked(
    me: GroupCoordinator,
    group: ClassicGroup | None,
    request: JoinGroup,
    reply_to: ReplyTo,
    on: Context,
    checks: Checks,
) -> Effects[GroupCoordinator]:
    """Carry out the result of a JoinGroup's checks."""
    error = error_of(checks)
    if error is Errors.GROUP_MAX_SIZE_REACHED:
        assert group is not None, "a group that is not there has room"
        # A former member that comes too late is removed.
        full = Reply(reply_to, JoinGroupResponse(error, NO_MEMBER))
        gone = out(group, request.member_id, NO_ROOM, on).after(RebalanceStep(group, (full,)))
        return effects(me, request.group_id, gone, on)
    if error in (Errors.NONE, Errors.MEMBER_ID_REQUIRED) and request.member_id == NO_MEMBER:
        return _first_time(me, group, request, reply_to, on)
    if error is not Errors.NONE:
        return _reject(me, request, reply_to, error)
    assert group is not None, "who comes with a name has it from this group"
    if request.member_id in group.pending:
        return effects(me, request.group_id, _new(group, request, reply_to, on), on)
    known = group.members[request.member_id]
    said = (request.subscription, request.protocols)
    same = (known.subscription, known.protocols) == said
    stays = group.state is S.COMPLETING_REBALANCE or (
        group.state is S.STABLE and group.leader != request.member_id
    )
    if same and stays:
        # Its response was lost: it is in the current generation, and gets the response again.
        told = Reply(reply_to, join_response(group, request.member_id))
        return effects(me, request.group_id, RebalanceStep(group, (told,)), on)
    return effects(me, request.group_id, _again(group, request, reply_to, on), on)


@in_order
def _join_checks(me: GroupCoordinator, request: JoinGroup, on: Context) -> Iterator[Check]:
    """Check that a consumer may join a group, with the member id that it names or without one."""
    yield has_loaded(me.loading)
    regular = group_kinds.why_not_regular(me, request.group_id) is Errors.NONE
    kind, wrong = group_kinds.kind_of(me, request.group_id), Errors.INCONSISTENT_GROUP_PROTOCOL
    yield compare("kind of group", request.group_id, kind, regular, wrong)
    group, name = me.classic_groups.get(request.group_id), request.member_id
    if group is not None:
        yield report_value("group state", group.state)
        late = (each for each, m in group.members.items() if m.joining is None)
        yield report_value("has not rejoined", (*late, *group.pending))
        most = on.settings.group_max_size
        room, count = classic_group.accepts(group, name, most), len(group.members)
        yield compare("members", most, count, room, Errors.GROUP_MAX_SIZE_REACHED)
        shared = classic_group.supports(group, request.protocols)
        yield compare("assignors", request.protocols, classic_group.common(group), shared, wrong)
    if name == NO_MEMBER and request.instance_id:
        holder = classic_group.holder_of(group, request.instance_id) if group is not None else ""
        yield report_value(f"who has the {GROUP_INSTANCE_ID.name}", holder or None)
    elif name == NO_MEMBER:
        fits = not request.needs_member_id
        yield compare("member id", None, None, fits, Errors.MEMBER_ID_REQUIRED)
    elif group is None:
        yield compare("member id", name, None, False, Errors.UNKNOWN_MEMBER_ID)
    elif name in group.pending:
        yield report_value("member id assigned before", name)
    else:
        yield from classic_group.member_checks(group, name, request.instance_id)


@takes(SyncGroup)
def on_sync_group(
    me: GroupCoordinator, request: SyncGroup, reply_to: ReplyTo, on: Context
) -> Effects[GroupCoordinator]:
    """Return a member's assignment from the leader, once it is durable.

    WHEN: a member knows its generation. CHECKS: the member and the generation.
    DOES: writes the leader's assignment to the log, with the whole group; then it is valid for all members and the
    group is stable.
    ANSWERS: the others wait for the leader; REBALANCE_IN_PROGRESS if the next generation is prepared before its
    assignment arrives.
    Clause: KIP-62; GroupMetadataManager.classicGroupSync.
    """
    checks = _sync_checks(me, request)
    if error_of(checks) is not Errors.NONE:
        return _reject(me, request, reply_to, error_of(checks)).after(checks)
    group, name = me.classic_groups[request.group_id], request.member_id
    group = group.but(unsynced=tuple(each for each in group.unsynced if each != name))
    member = group.members[name]
    if group.state is S.STABLE:
        told = SyncGroupResponse(Errors.NONE, member.assigned, group.protocol, member.assignment)
        answer = Reply(reply_to, told)
        return effects(me, request.group_id, RebalanceStep(group, (answer,)), on).after(checks)
    group = group.but(members=group.members.set(name, member.but(syncing=reply_to)))
    if name != group.leader:
        return effects(me, request.group_id, RebalanceStep(group), on).after(checks)
    done = RebalanceStep(group, written=True, given=request.assignments)
    return effects(me, request.group_id, done, on).after(checks)


@in_order
def _sync_checks(me: GroupCoordinator, request: SyncGroup) -> Iterator[Check]:
    """Check that the sender is a member of the current generation, and that no next one is being prepared."""
    yield has_loaded(me.loading)
    group, name = me.classic_groups.get(request.group_id), request.member_id
    if group is None:
        yield compare("member id", name, None, False, Errors.UNKNOWN_MEMBER_ID)
        return
    who = (name, request.generation, request.instance_id)
    yield from classic_group.generation_checks(group, *who)
    yield _not_preparing(group)


def _not_preparing(group: ClassicGroup) -> Check:
    """Check that a group does not prepare its next generation; a member that gets this error joins again."""
    waits = group.state is S.PREPARING_REBALANCE
    return compare("group state", None, group.state, not waits, Errors.REBALANCE_IN_PROGRESS)


def on_group_stored(
    me: GroupCoordinator, stored: GroupStored, on: Context
) -> Effects[GroupCoordinator | None]:
    """Make an assignment valid that is now replicated; if it could not be, the coordinator resigns.

    CHECKS: the group still waits for this assignment; a rebalance may have started meanwhile.
    DOES: gives every member its assignment, and the group becomes stable. ANSWERS: all members that wait for it.
    Clause: GroupMetadataManager.setAndPropagateAssignment.
    """
    if stored.error is not Errors.NONE:
        return Effects(None)
    group = me.classic_groups.get(stored.group_id)
    if group is None or (group.state, group.generation) != (
        S.COMPLETING_REBALANCE,
        stored.generation,
    ):
        return Effects(me)
    given = classic_group.assignments_by_member(stored.given)
    members, replies, events = group.members, [], []
    for name, member in group.members.items():
        partitions, data = given[name].partitions, given[name].assignment
        if member.syncing is not None:
            answer = SyncGroupResponse(Errors.NONE, partitions, group.protocol, data)
            replies.append(Reply(member.syncing, answer))
        members = members.set(name, member.but(assigned=partitions, syncing=None, assignment=data))
        if member.assigned != partitions:
            before = group.generation - 1 if member.assigned else 0
            moved = (
                before,
                group.generation,
                member.assigned,
                partitions,
                ITS_LEADER_SAID,
                COUNTED,
            )
            events.append(AssignmentMoved(stored.group_id, name, *moved))
    group = classic_group.to(group.but(members=members), S.STABLE)
    done = effects(me, stored.group_id, RebalanceStep(group, tuple(replies)), on)
    return done.but(events=(*done.events, *events))


@takes(Heartbeat)
def on_heartbeat(
    me: GroupCoordinator, request: Heartbeat, reply_to: ReplyTo, on: Context
) -> Effects[GroupCoordinator]:
    """Restart a member's session, and answer whether the group rebalances.

    CHECKS: the member and its generation. DOES: its session starts over.
    ANSWERS: REBALANCE_IN_PROGRESS while the next generation is prepared; that is how members learn that they have to
    join again. A coordinator that is loading knows no members and answers NONE.
    Clause: KIP-62; GroupMetadataManager.classicGroupHeartbeat, GroupCoordinatorService.heartbeat.
    """
    if me.loading:
        loading = report_value("loading", True)
        return _reject(me, request, reply_to, Errors.NONE).after((loading,))
    checks = _heartbeat_checks(me, request)
    answer = Reply(reply_to, HeartbeatResponse(error_of(checks)))
    waiting, replies = respond_when_replicated(on.log(me.shard), answer)
    return Effects(me.but(waiting=(*me.waiting, *waiting)), replies=replies, checks=checks)


@in_order
def _heartbeat_checks(me: GroupCoordinator, request: Heartbeat) -> Iterator[Check]:
    """Check that the sender is a member of the current generation, and that no next one is being prepared."""
    group = me.classic_groups.get(request.group_id)
    if group is None:
        yield compare("member id", request.member_id, None, False, Errors.UNKNOWN_MEMBER_ID)
        return
    who = (request.member_id, request.generation, request.instance_id)
    yield from classic_group.generation_checks(group, *who)
    yield _not_preparing(group)


@takes(LeaveGroup)
def on_leave_group(
    me: GroupCoordinator, request: LeaveGroup, reply_to: ReplyTo, on: Context
) -> Effects[GroupCoordinator]:
    """Remove members from the group.

    WHEN: a consumer leaves, or an operator removes members. CHECKS: each is a member, or its id is pending. A leaver
    with only a group.instance.id means the member that has it now.
    DOES: the others rebalance at once, without waiting for sessions, and once for all leavers. A waiting JoinGroup of a
    leaver is answered, a waiting SyncGroup never is (removeMemberAndUpdateClassicGroup).
    ANSWERS: a result for each leaver, without waiting for the rebalance. For an unknown group every member is unknown.
    Clause: KIP-62, KIP-345; GroupMetadataManager.classicGroupLeave.
    """
    loaded = has_loaded(me.loading)
    if loaded.error is not Errors.NONE:
        return _reject(me, request, reply_to, loaded.error).after((loaded,))
    if request.group_id in me.groups:
        return group_membership.on_leave_group(me, request, reply_to, on).after((loaded,))
    group = me.classic_groups.get(request.group_id)
    if group is None:
        unknown = Errors.UNKNOWN_MEMBER_ID
        gone = tuple(Left(m.member_id, m.instance_id, unknown) for m in request.members)
        unknown_members = (compare("member id", m.member_id, None, False, unknown) for m in gone)
        return Effects(
            me,
            replies=(Reply(reply_to, LeaveGroupResponse(Errors.NONE, gone)),),
            checks=(loaded, *unknown_members),
        )
    done, results = RebalanceStep(group, checks=(loaded,)), list[Left]()
    for leaver in request.members:
        name, error = leaver.member_id, Errors.NONE
        if name == NO_MEMBER:
            name = classic_group.holder_of(done.group, leaver.instance_id)
        if name in done.group.pending:
            checks: Checks = (report_value("member id assigned before", name),)
        else:
            checks = classic_group.member_checks(done.group, name, leaver.instance_id)
            error = error_of(checks)
        done = done.but(checks=(*done.checks, *checks))
        results.append(Left(leaver.member_id, leaver.instance_id, error))
        if error is Errors.NONE:
            done = out(done.group, name, IT_LEFT, on).after(done)
    answer = Reply(reply_to, LeaveGroupResponse(Errors.NONE, tuple(results)))
    if done.group is group:
        return effects(me, request.group_id, done.but(then=answer), on)
    if done.group.state in (S.STABLE, S.COMPLETING_REBALANCE):
        done = start_or_complete(done.group, on).after(done)
    else:
        done = complete_if_all_joined(done.group, on).after(done)
    return effects(me, request.group_id, done.but(then=answer), on)


# -- timers ---------------------------------------------------------------------------------------


def timers(me: GroupCoordinator, on: Context) -> tuple[RoleTimer, ...]:
    """Return the timers of members' sessions, of pending member ids, and of rebalances.

    A member that waits for a response need not send heartbeats. Timers are in memory only.
    """
    return tuple(_running(me))


def delays(me: GroupCoordinator) -> tuple[InitialRebalanceDelay, ...]:
    """Return the initial rebalance delays of empty groups.

    They end without any fault: group.initial.rebalance.delay.ms is a time to wait for more members.
    """
    return tuple(
        InitialRebalanceDelay(group_id)
        for group_id, group in me.classic_groups.items()
        if group.is_first
    )


def on_delay(
    me: GroupCoordinator, delay: InitialRebalanceDelay, on: Context
) -> Effects[GroupCoordinator]:
    """Start the first generation, or wait once more if a member has joined meanwhile.

    Clause: KIP-134; GroupMetadataManager.tryCompleteInitialRebalanceElseSchedule.
    """
    group_id = delay.group_id
    group = me.classic_groups[group_id]
    if group.growing:
        return effects(me, group_id, RebalanceStep(group.but(growing=False)), on)
    return effects(me, group_id, complete_join(group, on), on)


def on_timer(me: GroupCoordinator, timer: RoleTimer, on: Context) -> Effects[GroupCoordinator]:
    """Remove a member that sent no heartbeat, no JoinGroup or no SyncGroup in time.

    The first generation begins with its delay, also if no other member is awaited (maybeCompleteJoinPhase).
    Clause: GroupMetadataManager.expireClassicGroupMemberHeartbeat, completeClassicGroupJoin, expirePendingSync
    (session.timeout.ms, max.poll.interval.ms as the rebalance timeout).
    """
    group_id, name = _running(me)[timer]
    group = me.classic_groups[group_id]
    if isinstance(timer, GroupRebalance):
        return effects(me, group_id, complete_join(group, on), on)
    if isinstance(timer, GroupSync):
        done = RebalanceStep(group)
        for late in group.unsynced:
            done = out(done.group, late, DID_NOT_SYNC, on).after(done)
        return effects(me, group_id, prepare_rebalance(done.group, on).after(done), on)
    done = out(group, name, HEARD_NO_MORE, on)
    goes_on = start_or_complete if name in group.members else complete_if_all_joined
    return effects(me, group_id, goes_on(done.group, on).after(done), on)


def _running(me: GroupCoordinator) -> dict[RoleTimer, tuple[str, str]]:
    """Return the (group, member) of each timer; the timers of a group have no member."""
    found: dict[RoleTimer, tuple[str, str]] = {}
    for group_id, group in me.classic_groups.items():
        for name, member in group.members.items():
            if member.is_new or not member.waits:
                found[MemberSession(name, group_id)] = (group_id, name)
        for name in group.pending:
            found[MemberSession(name, group_id)] = (group_id, name)
        if group.state is S.PREPARING_REBALANCE and not group.is_first:
            found[GroupRebalance(group_id)] = (group_id, "")
        if group.unsynced:
            found[GroupSync(group_id)] = (group_id, "")
    return found


def on_resigned(me: GroupCoordinator) -> tuple[Reply, ...]:
    """Return the errors for waiting members when the coordinator has moved."""
    moved = Errors.NOT_COORDINATOR
    replies = []
    for group in me.classic_groups.values():
        for name, member in group.members.items():
            if member.joining is not None:
                replies.append(Reply(member.joining, JoinGroupResponse(moved, name)))
            if member.syncing is not None:
                replies.append(Reply(member.syncing, SyncGroupResponse(moved)))
    return tuple(replies)


# -- members that join ---------------------------------------------------------------------------


def _first_time(
    me: GroupCoordinator,
    known: ClassicGroup | None,
    request: JoinGroup,
    reply_to: ReplyTo,
    on: Context,
) -> Effects[GroupCoordinator]:
    """Return a member id to a consumer without one, or add it at once; a new group is written to the log as empty.

    Kafka makes the id of the client.id, or the group.instance.id, and a random UUID.
    """
    group = known or ClassicGroup()
    me, name = make_member_id(me, request.instance_id or on.client_id, on)
    before = classic_group.holder_of(group, request.instance_id)
    if request.needs_member_id:
        answer = JoinGroupResponse(Errors.MEMBER_ID_REQUIRED, name)
        done = RebalanceStep(group.but(pending=(*group.pending, name)), (Reply(reply_to, answer),))
    elif before:
        done = _replace_static_member(group, before, request.but(member_id=name), reply_to, on)
    else:
        done = _new(group, request.but(member_id=name), reply_to, on)
    if known is None:
        done = done.but(written=True)
    return effects(me, request.group_id, done, on)


def _new(group: ClassicGroup, request: JoinGroup, reply_to: ReplyTo, on: Context) -> RebalanceStep:
    """Add a new member. Source: addMemberThenRebalanceOrCompleteJoin."""
    member = ClassicMember(
        on.client_id,
        request.subscription,
        joining=reply_to,
        is_new=True,
        instance_id=request.instance_id,
        protocols=request.protocols,
    )
    group = group.but(growing=group.is_first)
    return start_or_complete(classic_group.with_member(group, request.member_id, member), on)


def _again(
    group: ClassicGroup, request: JoinGroup, reply_to: ReplyTo, on: Context
) -> RebalanceStep:
    """Let a member join again. Source: updateMemberThenRebalanceOrCompleteJoin."""
    member = group.members[request.member_id]
    member = member.but(
        subscription=request.subscription, joining=reply_to, protocols=request.protocols
    )
    return start_or_complete(classic_group.with_member(group, request.member_id, member), on)


def _replace_static_member(
    group: ClassicGroup, before: str, request: JoinGroup, reply_to: ReplyTo, on: Context
) -> RebalanceStep:
    """Let a restarted static member take its own place.

    In a stable group no other member notices, unless the old process had not sent its SyncGroup yet: its id is awaited
    until that time is over, and the group rebalances. A consumer that still uses the old member id is fenced.
    Source: updateStaticMemberThenRebalanceOrCompleteJoin, ClassicGroup.replaceStaticMember.
    """
    old, name = group.members[before], request.member_id
    fenced = Errors.FENCED_INSTANCE_ID
    replies: tuple[Reply, ...] = ()
    if old.joining is not None:
        replies += (Reply(old.joining, JoinGroupResponse(fenced, before)),)
    if old.syncing is not None:
        replies += (Reply(old.syncing, SyncGroupResponse(fenced)),)
    checks = (
        (Check(f"who has the {GROUP_INSTANCE_ID.name}", before, name, fenced),) if replies else ()
    )
    member = old.but(subscription=request.subscription, joining=reply_to, syncing=None)
    member = member.but(protocols=request.protocols)
    leader = name if group.leader == before else group.leader
    group = group.but(members=group.members.without(before).set(name, member), leader=leader)
    if group.state is S.COMPLETING_REBALANCE:
        return prepare_rebalance(group, on).after(RebalanceStep(group, replies, checks=checks))
    if group.state is not S.STABLE:
        return complete_if_all_joined(group, on).after(RebalanceStep(group, replies, checks=checks))
    group = group.but(members=group.members.set(name, member.but(joining=None)))
    answer = join_response(group, name).but(skip_assignment=name == leader)
    if request.version < SKIPS_ASSIGNMENT and name == leader:
        # An older leader would assign again, so it is told that its former member id leads.
        answer = answer.but(skip_assignment=False, leader=before, members=())
    return RebalanceStep(group, replies, written=True, then=Reply(reply_to, answer), checks=checks)


def _reject(
    me: GroupCoordinator, request: Message, reply_to: ReplyTo, error: Errors
) -> Effects[GroupCoordinator]:
    return Effects(me, replies=(Reply(reply_to, reject_request(request, error)),))
