"""Notes about hosts that are partitioned, reach each other again, pause and resume."""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.cluster.actions import ClusterAction, Cut, Heal
from kipviz.cluster.network.network_partition import across, still_apart
from kipviz.cluster.network.partition_sides import are_two
from kipviz.cluster.world import World
from kipviz.views.page_parts import LaneNote

NAMED_MAX = 4  # the number of hosts that fit on a lane


def notes_of_hosts(before: World, action: ClusterAction) -> Iterator[LaneNote]:
    """Yield the notes on the lanes of the hosts when a network partition between sets begins or heals."""
    if not isinstance(action, Cut | Heal) or are_two(action.one, action.other):
        return
    text, tone = (
        ("partitioned from", "warning") if isinstance(action, Cut) else ("reaches again", "done")
    )
    apart = still_apart(before, action) if isinstance(action, Heal) else ()
    facing = [pair for pair in across(action.one, action.other) if pair not in apart]
    for host in dict.fromkeys(host for pair in facing for host in pair):
        far = [b if a == host else a for a, b in facing if host in (a, b)]
        names = " ".join(far) if len(far) <= NAMED_MAX else f"{len(far)} hosts"
        yield {"lane": host, "text": text, "sub": names, "tone": tone}
