"""The checks of a step as the page shows them: the request's value, the value found, and the error that follows.

A row has a check's name and one line: "request 0 · coordinator 1 → PRODUCER_FENCED". Nothing is computed here: the rows
are those that the handlers of the step returned (`brokers.checks`).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, IntEnum
from typing import Any

from kipviz.brokers.checks import Check, Checked, Fact
from kipviz.brokers.context import NOBODY
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.behaviour.naming import number, render_list, short_name
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.world import World
from kipviz.messages.apis.api import Role
from kipviz.messages.errors import Errors
from kipviz.settings.client_configs import TRANSACTION_TIMEOUT_MS
from kipviz.settings.topic_configs import SHARE_RENEW_ACKNOWLEDGE_ENABLE

# The owner of the value found, if it is not the broker as a whole.
HOLDER: dict[str, str] = {
    Role.TRANSACTION_COORDINATOR: "coordinator",
    Role.GROUP_COORDINATOR: "group",
    Role.PARTITION_LEADER: "log",
    Role.SHARE_COORDINATOR: "durable",
    Role.SHARE_PARTITION_LEADER: "share-partition",
}
# Checks with their own words for both sides.
WORDS = {
    "outcome durable": ("of", "result:"),
    "leader": ("this is Broker", "leader: Broker"),
    TRANSACTION_TIMEOUT_MS.name: ("request", "at most"),
    "transaction version": ("needs", "finalized"),
    "share.version": ("needs", "finalized"),
    "request version": ("version", "instead of"),
    "rights": ("of", "allowed:"),
    "answer of the coordinator": ("request about", "response:"),
    "kind of group": ("request", "kind:"),
    "answer for several requests": ("sent as", "instead of"),
    "members": ("at most", "has"),
    "assignors": ("request", "supported by all members:"),
    "state of the transaction": ("of", "is"),
    "topics of the group": ("of", "subscribed to:"),
    "topics it may describe": ("of", "allowed:"),
    "pending in a transaction": ("of", "pending:"),
    "member epoch": ("request", "group"),
    "partition there": ("of", "there:"),
    "resource name": ("of", "allowed:"),
    "topic of a user": ("of", "allowed:"),
    "ACL exists": ("of", "exists:"),
    "topic created": ("of", "created:"),
    "state of the topic": ("of", "partitions:"),
    "result": ("of", "result:"),
    "epoch of the reset": ("reset", "group"),
    "share session": ("of", "known:"),
    "session epoch": ("request", "session"),
    "share sessions": ("at most", "open:"),
    "records requested with a renewal": ("request", "allowed:"),
    SHARE_RENEW_ACKNOWLEDGE_ENABLE.name: ("needs", "configured"),
    "acknowledge type": ("request", "allowed:"),
    "first offset": ("request", "cached from"),
    "last offset": ("request", "cached up to"),
    "record state": ("needs", "is"),
    "held by": ("asked by", "held by"),
    "end of a batch": ("ends at", "begins at"),
    "begin of a batch": ("begins at", "batch before ends at"),
    "below the high watermark": ("reads from", "up to"),
    "below the last stable offset": ("reads from", "up to"),
    "log start offset": ("reads from", "log starts at"),
    "room for records": ("asks for", "room for"),
    "attempts": ("at most", "made:"),
    "epoch of the acknowledgement": ("marker", "acknowledgement"),
    "group coordinator": ("this is Broker", "leader: Broker"),
    "acknowledged": ("of", "result:"),
    "fetched": ("of", "result:"),
    "staged": ("of", "result:"),
    "staged with the others": ("of", "valid on its own:"),
    "state epoch of the answer": ("answer", "loaded"),
}


def checks_of(model: ClusterModel, before: World, action: ClusterAction) -> tuple[Checked, ...]:
    """Take a step and return the checks of its handlers; none if the action is not possible."""
    if model.why_not(before, action) is not None:
        return ()
    made = model.step(before, action).checks
    return tuple(each for each in made if isinstance(each, Checked))


def rows(made: Iterable[Checked]) -> tuple[tuple[str, str], ...]:
    """Return a name and a line for each check; if several partitions are checked, each line names its partition."""
    made = tuple(made)
    shards: dict[str, dict[str, None]] = {}
    for each in made:
        shards.setdefault(each.role, {})[each.shard] = None
    found: list[tuple[str, str]] = []
    for each in made:
        several = len(shards[each.role]) > 1 and each.shard
        suffix = f", {short_name(each.shard)}" if several else ""
        found += [
            _leader(check, each.shard)
            if check.name == "leader" and each.shard
            else (check.name + suffix, line(check, each.role))
            for check in each.checks
        ]
    return tuple(found)


def _leader(check: Check, shard: str) -> tuple[str, str]:
    """Return the partition that a request is about, and its leader, in words."""
    who = f"Broker {words(check.found)}" if check.found != NOBODY else "none"
    if check.found != check.asked:
        who = f"{who}, not this one"
    refused = f" → {check.error.name}" if check.error is not Errors.NONE else ""
    return f"leader of {short_name(shard)}", who + refused


def line(check: Check, role: str) -> str:
    """Return what a check compared, and the error that follows if it failed, in words."""
    holder = HOLDER.get(role, "broker")
    ask, find = WORDS.get(check.name, ("request", holder))
    if isinstance(check.found, Errors) and check.found is not check.error:
        return (
            f"{check.found.name} → {'no error' if check.error is Errors.NONE else check.error.name}"
        )
    there = words(check.found)
    said = there if check.asked is None else f"{ask} {words(check.asked)} · {find} {there}"
    return said if check.error is Errors.NONE else f"{said} → {check.error.name}"


def words(fact: Fact) -> str:
    """Render one side of a check."""
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    if isinstance(fact, Errors):
        return fact.name
    if isinstance(fact, Enum):
        return fact.name if isinstance(fact, IntEnum) else str(fact.value)
    if isinstance(fact, int):
        return number(fact)
    if isinstance(fact, tuple):
        each: tuple[Any, ...] = fact
        return render_list(tuple(short_name(v) if isinstance(v, str) else v for v in each))
    return short_name(fact) if fact else "none"
