"""The timers of groups by this machine's clock: sessions, rebalances, and acquisition locks.

A session starts again with each heartbeat that its coordinator accepts. A rebalance has its time from its beginning, a
lock from its delivery. All of them are in a broker's memory: a new coordinator or leader starts them afresh. A classic
member chooses its times with JoinGroup, and a member of a KIP-848 group its time for a rebalance with its heartbeat; the
others are the brokers' defaults. A new member of a classic group that waits for its first generation has five minutes,
because no heartbeat is expected of it yet.

Source: GroupCoordinatorConfig.CLASSIC_GROUP_NEW_MEMBER_JOIN_TIMEOUT_MS, ClassicGroupMember.sessionTimeoutMs and rebalanceTimeoutMs, ClassicGroup.rebalanceTimeoutMs,
ConsumerGroupMember.rebalanceTimeoutMs,
GroupMetadataManager.scheduleConsumerGroupSessionTimeout, SharePartition.scheduleAcquisitionLockTimeout.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import monotonic
from typing import assert_never

from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.share_leaders.share_partition import ShareLeader, locks
from kipviz.brokers.timers import (
    AppendTimeout,
    Cleanup,
    GroupRebalance,
    GroupSync,
    MemberRebalance,
    MemberSession,
    RoleTimer,
    TransactionLiveness,
)
from kipviz.cluster import dispatch
from kipviz.cluster.actions import ExpireLock, RunOut
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.timing.clock import Due
from kipviz.cluster.timing.deadlines import restarted_places
from kipviz.cluster.timing.timers import restarted_timers
from kipviz.cluster.world import World
from kipviz.core.model import Event
from kipviz.messages.apis.catalogue import api_of
from kipviz.messages.events import DELIVERED, MessageDelivered, MessageSent, RecordsMoved
from kipviz.messages.groups.classic_groups import JoinGroupResponse, SyncGroupResponse

NEW_MEMBER_MS = 5 * 60 * 1_000
MEMBERS_MAX = 20_000  # the times of members that joined longer ago are the defaults again
Running = tuple[RunOut | ExpireLock, object, int]


class GroupTimes:
    """Since when each timer of a group runs, and the times that members have asked for, in ms.

    `any_running` says that a timer may run, so `due` has to be asked often.
    """

    def __init__(self) -> None:
        self._asked: dict[tuple[str, str], tuple[int, int]] = {}
        self._since: dict[object, float] = {}
        self.any_running = False

    def ask(self, group_id: str, member_id: str, session_ms: int, rebalance_ms: int) -> None:
        """Note a member's times: those of its JoinGroup, before version 1 both the session's, or of its heartbeat."""
        self.any_running = True
        times = (session_ms, session_ms if rebalance_ms < 0 else rebalance_ms)
        self._asked.pop((group_id, member_id), None)
        self._asked[group_id, member_id] = times
        if len(self._asked) > MEMBERS_MAX:
            del self._asked[next(iter(self._asked))]

    def note(self, before: World, after: World, events: Sequence[Event]) -> None:
        """Start the timers again that a step has restarted."""
        if any(map(_is_heard, events)):
            self.any_running = True
            now = monotonic()
            for kind, place in restarted_timers(before, after, events):
                if kind == Due.ROLE_TIMER:
                    self._since[place] = now
        if any(isinstance(e, RecordsMoved) and e.because == DELIVERED for e in events):
            self.any_running = True
            now = monotonic()
            for kind, place in restarted_places(before, after, events):
                if kind == Due.LOCK:
                    self._since[place] = now

    def forget(self) -> None:
        """Count every timer afresh: the cluster went back to an earlier step."""
        self._since.clear()

    def due(self, model: ClusterModel, world: World) -> tuple[RunOut | ExpireLock, ...]:
        """Return the timers whose time is over; those seen for the first time start now."""
        now = monotonic()
        running = tuple(self._running(model, world))
        self._since = {place: self._since.get(place, now) for _, place, _ in running}
        self.any_running = bool(running)
        return tuple(
            action for action, place, ms in running if now - self._since[place] >= ms / 1_000
        )

    def _running(self, model: ClusterModel, world: World) -> Iterator[Running]:
        for key, role in world.roles.items():
            broker = key[0]
            if isinstance(role, GroupCoordinator) and not role.loading:
                for timer in dispatch.timers(role, model.context(world, broker)):
                    ms = self._duration_of(model, role, timer)
                    if ms is not None:
                        yield RunOut(*key, timer), (*key, timer, *_round_of(role, timer)), ms
            elif isinstance(role, ShareLeader):
                on = model.context(world, broker)
                for name, share in role.shares.items():
                    for lock in locks(share, on):
                        ms = model.spec.settings.record_lock_duration_ms
                        yield ExpireLock(broker, name, lock), (broker, name, lock), ms

    def _duration_of(
        self, model: ClusterModel, role: GroupCoordinator, timer: RoleTimer
    ) -> int | None:
        """Return the duration of a timer; None for what is not ended here."""
        usual = model.spec.durations
        match timer:
            case MemberSession(member_id, group_id):
                if group_id in role.classic_groups:
                    member = role.classic_groups[group_id].members.get(member_id)
                    if member is not None and member.is_new:
                        return NEW_MEMBER_MS
                    asked = self._asked.get((group_id, member_id))
                    return asked[0] if asked else usual.session_timeout_ms
                if group_id in role.share_groups:
                    return usual.share_session_timeout_ms
                return usual.consumer_session_timeout_ms
            case MemberRebalance(member_id, group_id):
                asked = self._asked.get((group_id, member_id))
                return asked[1] if asked else usual.max_poll_interval_ms
            case GroupRebalance(group_id) | GroupSync(group_id):
                members = role.classic_groups[group_id].members
                asked_for = [
                    self._asked[group_id, name][1]
                    for name in members
                    if (group_id, name) in self._asked
                ]
                return max(asked_for, default=usual.max_poll_interval_ms)
            case AppendTimeout() | TransactionLiveness():
                return None  # neither runs in a served cluster: its replicas are all there, its producers are released
            case _:
                if isinstance(timer, Cleanup):
                    return None  # retention and the expiry of ids take hours or days
                assert_never(timer)


def _is_heard(event: Event) -> bool:
    """Return whether a step with this event may restart a session."""
    if isinstance(event, MessageDelivered):
        return event.way == "request" and api_of(event.message).heartbeat
    return isinstance(event, MessageSent) and isinstance(
        event.message, JoinGroupResponse | SyncGroupResponse
    )


def _round_of(role: GroupCoordinator, timer: RoleTimer) -> tuple[int, ...]:
    """Return what tells one rebalance from the next one of the same group; a session has its heartbeats."""
    if isinstance(timer, GroupRebalance | GroupSync):
        return (role.classic_groups[timer.group_id].generation,)
    if isinstance(timer, MemberRebalance):
        return (role.groups[timer.group_id].members[timer.member_id].epoch,)
    return ()
