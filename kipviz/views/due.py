"""What a timed clock has to say: how long something has left, and what is due later."""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.clock import ms
from kipviz.cluster.deadlines import LOCK, TRANSACTION, action_of, deadline_of, find
from kipviz.cluster.labels import label
from kipviz.cluster.world import World


def left(world: World, action: ClusterAction) -> Iterator[tuple[str, str]]:
    """Give how long a timer has left; an untimed clock says nothing."""
    deadline = deadline_of(world, action)
    if deadline is not None:
        yield "time left", ms(deadline.after) if deadline.after else "none: it is due"


def later(world: World) -> Iterator[tuple[str, str]]:
    """Give everything that is due later, and when."""
    for deadline in world.deadlines:
        if deadline.after or deadline.by > 0:
            name = label(world, action_of(world, deadline))
            early, late = ms(deadline.after), ms(max(deadline.by, 0))
            yield name, f"in {early}" if early == late else f"in {early} to {late}"


def of_transaction(world: World, transactional_id: str) -> str:
    """Say when an open transaction times out; an untimed clock does not know."""
    deadline = find(world, (TRANSACTION, (transactional_id,)))
    if deadline is None:
        return ""
    if not deadline.after:
        return f", within {ms(deadline.by)}" if deadline.by else ", now"
    return f", in {ms(deadline.after)} to {ms(deadline.by)}"


def locks(world: World, broker: int, key: str) -> tuple[tuple[int, int], ...]:
    """Give the locks of a share-partition with the ms that each has left; none if untimed."""
    return tuple(
        (d.place[2], d.after)
        for d in world.deadlines
        if d.kind == LOCK and d.place[:2] == (broker, key)
    )
