"""Fault points: when a transaction reaches a certain state, its coordinator crashes."""

from __future__ import annotations

from collections.abc import Iterable

from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.cluster.world import World
from kipviz.serving.delivery_rules import Rule


def find_reached(before: World, after: World, rules: Iterable[Rule]) -> tuple[Rule, int] | None:
    """Return the first fault point that a step has reached, and the coordinator's broker.

    A point is reached when a transactional id enters its state. A new coordinator that reads a state in its log does
    not enter it. Each rule counts once.
    """
    points = [r for r in rules if r.state is not None and not r.seen]
    if not points or before.roles is after.roles:
        return None
    for key, role in after.roles.items():
        old = before.roles.get(key)
        if role is old or not isinstance(role, TransactionCoordinator):
            continue
        if not isinstance(old, TransactionCoordinator) or old.loading:
            continue
        for name, now in role.transactions.items():
            then = old.transactions.get(name)
            if then is now or (then is not None and then.state is now.state):
                continue
            for rule in points:
                if rule.state is now.state:
                    return rule, key[0]
    return None
