"""The head of a lane, when its text differs from that at the start.

A broker's lane starts with the partitions that it leads. When a leader changes, when a host crashes or pauses, and when
a client is fenced, the head of its lane shows it for as long as it lasts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kipviz.brokers.context import Image
from kipviz.clients.application import Application
from kipviz.clients.throwing.client_errors import RequestError
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.cluster.behaviour.naming import short_name
from kipviz.cluster.network.network_partition import across
from kipviz.cluster.network.paused_hosts import list_paused
from kipviz.cluster.world import World, broker_host
from kipviz.core.table import pairs
from kipviz.messages.errors import Errors
from kipviz.views.page_parts import CutPart, HeadPart, Part

CRASHED, PAUSED, FENCED, FATAL = "crashed", "paused", "fenced", "fatal error"
FENCING = (
    Errors.PRODUCER_FENCED,
    Errors.INVALID_PRODUCER_EPOCH,
    Errors.INVALID_PRODUCER_ID_MAPPING,
    Errors.FENCED_INSTANCE_ID,
    Errors.FENCED_MEMBER_EPOCH,
)


class LaneHeads:
    """The heads of lanes along a branch, and the pairs of hosts that a network partition separates."""

    def __init__(self, subs: Mapping[str, str]) -> None:
        """Store the text of each lane's head at the start, by the lane."""
        self._subs = subs
        self.heads: list[HeadPart] = []
        self.cuts: list[CutPart] = []
        self._open: dict[str, HeadPart] = {}
        self._open_cuts: dict[tuple[str, str], CutPart] = {}
        self._led: tuple[object, Mapping[str, str]] = (None, {})

    def see(self, k: int, world: World) -> None:
        """Record the world after step `k`."""
        for lane, sub, mark in _heads(world, self._subs, self._list_led(world.image)):
            known = self._open.get(lane)
            if known is not None and (known["sub"], known["mark"]) != (sub, mark):
                known["to"] = k
                del self._open[lane]
                known = None
            if known is None and (sub, mark) != (self._subs[lane], ""):
                self._open[lane] = {"lane": lane, "sub": sub, "mark": mark, "from": k, "to": None}
                self.heads.append(self._open[lane])
        pairs = dict.fromkeys(
            p for one, other in world.cuts if one != other for p in across(one, other)
        )
        for pair in [pair for pair in self._open_cuts if pair not in pairs]:
            self._open_cuts.pop(pair)["to"] = k
        for one, other in pairs:
            if (one, other) not in self._open_cuts and {one, other} <= self._subs.keys():
                span: CutPart = {"one": one, "other": other, "from": k, "to": None}
                self._open_cuts[one, other] = span
                self.cuts.append(span)

    def _list_led(self, image: Image) -> Mapping[str, str]:
        """Return the partitions that each lane's broker leads; leaders seldom change."""
        if self._led[0] is not image.leaders:
            led: dict[str, list[str]] = {}
            for partition, held in pairs(image.leaders):
                led.setdefault(broker_host(held.leader), []).append(short_name(partition))
            words = {lane: _render_led(sub, led.get(lane, [])) for lane, sub in self._subs.items()}
            self._led = (image.leaders, words)
        return self._led[1]

    def changes_since(self, since: int) -> Part:
        """Return what differs after a step."""
        return {
            name: [s for s in spans if s["from"] > since or (s["to"] or since) > since]
            for name, spans in (("heads", self.heads), ("cuts", self.cuts))
        }


def _heads(
    world: World, subs: Mapping[str, str], leads: Mapping[str, str]
) -> Iterator[tuple[str, str, str]]:
    still = list_paused(world)
    up = {f"B{broker}" for broker in world.up}
    for lane, sub in subs.items():
        app = world.applications.get(lane)
        if app is not None:
            mark = "" if app.alive else CRASHED
            yield lane, sub, mark or (PAUSED if lane in still else _trouble(app))
        else:
            mark = "" if lane in up else CRASHED
            yield lane, leads[lane], mark or (PAUSED if lane in still else "")


def _render_led(before: str, now: list[str]) -> str:
    """Return the partitions that a broker leads, in the order of the start, followed by new ones."""
    first = before.split(", ")
    return ", ".join(
        sorted(now, key=lambda name: (first.index(name) if name in first else len(first), name))
    )


def _trouble(app: Application) -> str:
    manager = app.manager
    if manager.state is not ProducerState.FATAL_ERROR:
        return ""
    return (
        FENCED
        if isinstance(manager.error, RequestError) and manager.error.error in FENCING
        else FATAL
    )
