"""The partitions that a client adds to its transaction itself, below transaction version 2.

WHERE IN KAFKA: TransactionManager.maybeAddPartition, newPartitionsInTransaction and pendingPartitionsInTransaction.
KIPS: KIP-98.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kipviz.messages.transactions.transactions import AddPartitionsToTxn

if TYPE_CHECKING:
    from kipviz.clients.transactions.transaction_manager import TransactionManager


def adding(me: TransactionManager, partitions: tuple[str, ...]) -> TransactionManager:
    """Note that AddPartitionsToTxn must be sent for the partitions that are not in the transaction."""
    known = (*me.partitions, *me.to_add, *being_added(me))
    new = tuple(partition for partition in partitions if partition not in known)
    return me.but(to_add=(*me.to_add, *new)) if new else me


def partitions_of(request: AddPartitionsToTxn) -> tuple[str, ...]:
    """Return the partitions of a client's request, which is about its own transaction alone."""
    (only,) = request.transactions
    return only.partitions


def being_added(me: TransactionManager) -> tuple[str, ...]:
    """Return the partitions of an AddPartitionsToTxn that is in flight or to be sent again."""
    return tuple(
        partition
        for request in (me.on_wire, *me.queue)
        if isinstance(request, AddPartitionsToTxn)
        for partition in partitions_of(request)
    )
