"""The groups that a transaction coordinator's producers work for.

A part of the transaction coordinator's role. WHERE IN KAFKA: nowhere. KIPS: KIP-447, first draft, abandoned before
Kafka 2.5. STATUS: draft.

The coordinator learns of a generation only from producers; the group coordinator sends it nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.checks import Check, in_order
from kipviz.brokers.rules import BrokerRules
from kipviz.core.table import Table
from kipviz.messages.transactions.group_transactions import InitProducerIdOfGroup
from kipviz.records.transaction_state import GroupAssignmentRecord

Assignments = Table[str, GroupAssignmentRecord]
NEVER_SEEN = -1


def newest(assignments: Assignments, group_id: str) -> int:
    """Return the newest generation of a group that a producer has named, or -1."""
    seen = (a.generation for a in assignments.values() if a.group_id == group_id)
    return max(seen, default=NEVER_SEEN)


@in_order
def generation_checks(
    assignments: Assignments, transactional_id: str, rules: BrokerRules
) -> Iterator[Check]:
    """Check that no newer generation of a producer's group has been seen."""
    mine = assignments.get(transactional_id)
    if mine is not None:
        known = newest(assignments, mine.group_id)
        error = rules.older_generation(mine.generation, known)
        yield Check("generation", mine.generation, known, error)


def before_in_its_partitions(
    assignments: Assignments, request: InitProducerIdOfGroup
) -> tuple[str, ...]:
    """Return the producers of older generations that had a partition which now belongs to the caller."""
    return tuple(
        name
        for name, each in assignments.items()
        if each.group_id == request.group_id
        and each.generation < request.generation
        and any(partition in request.assigned for partition in each.assigned)
    )
