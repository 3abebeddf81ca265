"""A coordinator at its desk with members of the classic protocol: what they ask, and how far they have come."""

from __future__ import annotations

from kipviz.brokers.context import ReplyTo
from kipviz.brokers.groups import group_coordinator as gc
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.membership import classic_membership as classic
from kipviz.brokers.membership.classic_group import GroupState
from kipviz.brokers.timers import InitialRebalanceDelay
from kipviz.driving.desk import Desk
from kipviz.messages.groups.classic_groups import (
    Assigned,
    Heartbeat,
    JoinGroup,
    SyncGroup,
)
from kipviz.records.classic_groups import Subscription

HERE = "__consumer_offsets-0"
S = GroupState
FRESH = Subscription(("src",))
FIRST = Subscription(("src",), generation=1)


def make_desk():
    """A coordinator of groups at its desk."""
    return Desk(gc, GroupCoordinator(HERE), leaders={HERE: 1, "src-0": 5, "src-1": 5})


def group(desk):
    return desk.role.classic_groups["g"]


def ask_to_join(desk, name, client="", subscription=FRESH, source=""):
    request = JoinGroup("g", name, subscription)
    return desk.ask(classic.on_join_group, request, source or f"{client or name}/join")


def sync(desk, name, generation=1, *given):
    request = SyncGroup("g", generation, name, tuple(Assigned(*each) for each in given))
    return desk.ask(classic.on_sync_group, request, f"{name}/sync")


def beat(desk, name, generation=1):
    return desk.ask(classic.on_heartbeat, Heartbeat("g", generation, name)).error


def answer_of(desk, source):
    return desk.answer_to(ReplyTo(source, 1, 0))


def over(desk):
    desk.do(gc.on_delay(desk.role, InitialRebalanceDelay("g"), desk.on))


def run_out(desk, timer):
    desk.do(gc.on_timer(desk.role, timer, desk.on))


def carry(desk):
    """Carry the calls next door that the desk has piled up."""
    while desk.local:
        call = desk.local.pop(0)
        desk.do(classic.on_group_stored(desk.role, call.message, desk.on))


def alone(desk):
    """C1.1 is the only member of generation 1, with both partitions."""
    ask_to_join(desk, "", "C1")
    ask_to_join(desk, "C1.1")
    over(desk)
    sync(desk, "C1.1", 1, ("C1.1", ("src-0", "src-1")))
    carry(desk)


def second(desk):
    """C2.2 has asked to join generation 2."""
    ask_to_join(desk, "", "C2")
    return ask_to_join(desk, "C2.2")
