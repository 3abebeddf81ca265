"""What is said of hosts that are cut apart, join again, stand still and wake up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kipviz.cluster.actions import ClusterAction, Cut, Heal, Pause, Resume
from kipviz.cluster.cutting import across, still_apart
from kipviz.cluster.sides import are_two, both, hosts_on, is_broker
from kipviz.cluster.world import World
from kipviz.views.facts import listed
from kipviz.views.traffic import between

NAMED_MAX = 4  # so many hosts a lane has room for


def told_of_hosts(before: World, action: Cut | Heal | Pause | Resume) -> str:
    """Tell what happens to hosts in one sentence."""
    match action:
        case Pause(host=host):
            return f"{host} stands still: nothing runs on it, nothing on its way to it is read."
        case Resume(host=host):
            return f"{host} wakes up, and knows what it knew before."
        case Cut(one=one, other=other):
            if are_two(one, other):
                return f"{one} and {other} are cut apart: nothing passes between them."
            said = f"{named(one)} can no longer reach {named(other)}, nor the other way round."
            return said[0].upper() + said[1:]
        case Heal(one=one, other=other):
            apart = still_apart(before, action)
            but = f", but another cut still holds {_pairs(apart)} apart" if apart else ""
            if not are_two(one, other):
                said = f"{named(one)} can reach {named(other)} again{but}."
                return said[0].upper() + said[1:]
            if apart:
                return f"The cut of {one} and {other} is healed{but}."
            return f"{one} and {other} can talk again."


def notes_of_hosts(before: World, action: ClusterAction) -> Iterator[dict[str, str]]:
    """Give what stands on the lanes of the hosts where a cut between sets begins or is healed."""
    if not isinstance(action, Cut | Heal) or are_two(action.one, action.other):
        return
    text, tone = (
        ("cut off from", "warning") if isinstance(action, Cut) else ("reaches again", "done")
    )
    apart = still_apart(before, action) if isinstance(action, Heal) else ()
    facing = [pair for pair in across(action.one, action.other) if pair not in apart]
    for host in dict.fromkeys(host for pair in facing for host in pair):
        far = [b if a == host else a for a, b in facing if host in (a, b)]
        names = " ".join(far) if len(far) <= NAMED_MAX else f"{len(far)} hosts"
        yield {"lane": host, "text": text, "sub": names, "tone": tone}


def guards_of_cut(world: World, action: Cut) -> Iterator[tuple[str, str]]:
    """Give what a cut meets: the messages that it holds up, and the cuts that there are."""
    yield "messages held up", between(world, across(action.one, action.other))
    yield "other cuts", listed(tuple(both(a, b) for a, b in world.cuts if a != b))
    yield "cuts left", str(world.budget.cut)


def guards_of_heal(world: World, action: Heal) -> Iterator[tuple[str, str]]:
    """Give what a repair meets: the messages that go on, and what another cut still holds apart."""
    apart = still_apart(world, action)
    free = tuple(pair for pair in across(action.one, action.other) if pair not in apart)
    yield "messages that go on", between(world, free)
    yield "cut apart", both(action.one, action.other)
    if apart:
        yield "still apart by another cut", _pairs(apart)


def named(side: str) -> str:
    """Name the hosts of a side: "brokers 1 and 3 and app-1"."""
    hosts = hosts_on(side)
    numbers = [host[1:] for host in hosts if is_broker(host)]
    brokers = [f"broker{'s' if len(numbers) > 1 else ''} {_and(numbers)}"] if numbers else []
    return _and([*brokers, *(host for host in hosts if not is_broker(host))])


def _and(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{one} and {other}" for one, other in pairs)
