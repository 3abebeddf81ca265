"""The expiry of offsets on a timed clock: a week after their commit, or after their group became empty.

The times are in the log (OffsetCommitValue.CommitTimestamp, GroupMetadataValue.CurrentStateTimestamp), so they pass
also while a coordinator moves or loads. An offset's age always passes; whether it matters is decided when its timer is
set (`brokers.groups.group_retention.timers`): an offset that is older than a week when its topic loses its last reader
expires with the next check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kipviz.brokers.context import Context
from kipviz.brokers.groups import group_retention
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.timers import GroupRetention, OffsetRetention
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.cluster.timing.changed_roles import changed_roles
from kipviz.cluster.timing.clock import NEVER, Deadline, Due, Place
from kipviz.cluster.timing.durations import offsets_retention_ms
from kipviz.cluster.world import World, has_active_coordinator
from kipviz.records.placement import CONSUMER_OFFSETS


def place_of(timer: GroupRetention | OffsetRetention) -> Place:
    """Return the deadline of a group coordinator's timer."""
    if isinstance(timer, GroupRetention):
        return Due.GROUP_OFFSETS, (timer.group_id,)
    return Due.OFFSET, (timer.group_id, timer.partition)


def timer_of(kind: Due, place: tuple[object, ...]) -> GroupRetention | OffsetRetention:
    """Return the timer of a deadline."""
    if kind == Due.GROUP_OFFSETS:
        return GroupRetention(str(place[0]))
    return OffsetRetention(str(place[1]), str(place[0]))


def home(world: World, place: tuple[object, ...]) -> str:
    """Return the partition that holds the offsets of a group."""
    return world.image.home_of(CONSUMER_OFFSETS, str(place[0]))


def deadlines(
    spec: ClusterSpec, world: World, known: dict[Place, Deadline], context: Callable[[int], Context]
) -> Iterator[Deadline]:
    """Return the age of every offset, and the deadlines; they pass while a coordinator is not active, too."""
    keeps, check = offsets_retention_ms(spec), spec.durations.offsets_retention_check_ms
    for key, role in world.roles.items():
        if not isinstance(role, GroupCoordinator) or role.loading:
            continue
        for committed in role.offsets:
            yield Deadline(Due.OFFSET_AGE, committed, keeps, NEVER)
        for timer in group_retention.timers(role, context(key[0])):
            due = kind, place = place_of(timer)
            age = known.get((Due.OFFSET_AGE, place))
            left = keeps if age is None else age.after
            if kind == Due.GROUP_OFFSETS and not _has_offsets(role, place[0]):
                left = 0  # No reason is left to keep it: it expires with the next check.
            yield Deadline(*due, left, left + check)
    for (kind, place), deadline in known.items():
        if kind in (Due.OFFSET, Due.GROUP_OFFSETS, Due.OFFSET_AGE) and not has_active_coordinator(
            world, home(world, place)
        ):
            yield deadline


def recommitted_places(before: World, world: World) -> Iterator[Place]:
    """Return the deadlines that a commit restarts."""
    for _, was, role in changed_roles(before, world, GroupCoordinator):
        if was.loading:
            continue
        for place, now in role.offsets.items():
            if was.offsets.get(place) is not now:
                yield Due.OFFSET_AGE, place
                yield Due.OFFSET, place
                if not _has_offsets(was, place[0]):
                    yield Due.GROUP_OFFSETS, place[:1]


def _has_offsets(role: GroupCoordinator, group_id: object) -> bool:
    return any(known == group_id for known, _ in role.offsets)
