"""A host that stands still: a long garbage collection, a machine that is suspended.

Nothing runs on it and nothing on its way to it is read, but nothing breaks either: its connections
stay open, its timers are late, and what it believes grows old. In a world it is a host that is cut
off from itself.

NOT MODELLED: that the controller fences a broker whose heartbeats stay away (a leader's move is an
action of its own), and that such a broker takes itself for the leader until it hears of it.
"""

from __future__ import annotations

from kipviz.cluster.actions import (
    ClientTimer,
    ClusterAction,
    DelayOver,
    Deliver,
    DeliverLate,
    ExpireBatch,
    ExpireLock,
    GiveUp,
    Load,
    MissPoll,
    Pause,
    Refresh,
    Replicate,
    Resume,
    RunOut,
    Send,
    Step,
    TimeOutCall,
    TimeOutTransaction,
)
from kipviz.cluster.world import World, broker_host, host_of


def paused(world: World) -> tuple[str, ...]:
    """Give the hosts that stand still."""
    return tuple(one for one, other in world.cuts if one == other)


def pausable(world: World) -> tuple[str, ...]:
    """Give the hosts that run and may stand still next."""
    running = [*map(broker_host, world.up), *(n for n, a in world.applications.items() if a.alive)]
    still = paused(world)
    return tuple(host for host in running if host not in still)


def runs_on(world: World, action: ClusterAction) -> str:
    """Give the host whose threads an action needs, "" for what happens to hosts."""
    match action:
        case Step(application=name) | TimeOutCall(application=name):
            return name
        case Send(source=source) | ClientTimer(source=source) | ExpireBatch(source=source):
            return host_of(source)
        case (
            GiveUp(source=source) | MissPoll(source=source) | Deliver(source=source, way="response")
        ):
            return host_of(source)
        case Replicate(partition=partition):
            return broker_host(world.image.leader_of(partition))
        case (
            Deliver(broker=broker)
            | DeliverLate(broker=broker)
            | Load(broker=broker)
            | ExpireLock(broker=broker)
            | TimeOutTransaction(broker=broker)
            | RunOut(broker=broker)
            | DelayOver(broker=broker)
            | Refresh(broker=broker)
        ):
            return broker_host(broker)
        case _:
            return ""


def why_still(world: World, action: ClusterAction) -> str | None:
    """Say that the host which would have to act stands still, if it does."""
    host = runs_on(world, action)
    return f"{host} stands still" if host in paused(world) else None


def why_no_pause(world: World, action: Pause) -> str | None:
    """Say why a host cannot stand still from now on, or None when it can."""
    if action.host in pausable(world):
        return None
    if action.host in paused(world):
        return f"{action.host} stands still already"
    return f"{action.host!r} does not run; running are {', '.join(pausable(world))}"


def why_no_resume(world: World, action: Resume) -> str | None:
    """Say why a host cannot go on again, or None when it can."""
    return None if action.host in paused(world) else f"{action.host} does not stand still"
