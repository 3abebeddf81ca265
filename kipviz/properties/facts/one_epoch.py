"""Transactions below version 2: many of them share an epoch, so their order distinguishes them."""

from __future__ import annotations

from kipviz.brokers.logs.add_to_transaction import enlists
from kipviz.cluster.world import World
from kipviz.core.model import Event
from kipviz.messages.events import (
    BatchAppended,
    MessageSent,
    TransactionDecided,
    TransactionMoved,
)
from kipviz.messages.logs.producing import Produce
from kipviz.properties.facts.run_facts import Facts, SentBatch
from kipviz.records.transaction_state import TransactionState


def orders_transactions(world: World) -> bool:
    """Return whether a producer's transactions are distinguished by order: below version 2, or if that may come."""
    return level_of(world) < 2 or world.budget.upgrade > 0


def learned_in_order(facts: Facts, event: Event) -> Facts:
    """Count a producer's transactions, the markers due in each, and the transaction of each batch.

    A batch that relies on the broker to add its partition to the transaction starts the next transaction, if none is
    open.
    """
    match event:
        case TransactionMoved(after=TransactionState.ONGOING, producer_id=pid):
            if event.before is not TransactionState.ONGOING:
                facts = facts.but(rounds=facts.rounds.set(pid, facts.rounds.get(pid, 0) + 1))
            due = facts.due
            for partition in event.partitions:
                due = due.set((partition, pid), True)
            return facts.but(due=due)
        case TransactionDecided(producer_id=pid):
            due = facts.due
            for waiting in facts.due:
                if waiting[1] == pid:
                    due = due.set(waiting, False)
            return facts.but(due=due)
        case MessageSent(message=Produce() as request):
            for batch in request.partition_data:
                key = (batch.partition, *batch.identity, batch.base_sequence)
                if key not in facts.sent_in:
                    begins = enlists(request) and not _has_open(facts, batch.producer_id)
                    now = facts.rounds.get(batch.producer_id, 0) + begins
                    facts = facts.but(sent_in=facts.sent_in.set(key, now))
            return facts
        case BatchAppended(partition=partition, producer_id=pid) if event.control:
            # A late marker, in the middle of a transaction, is not the one that is due.
            undecided = facts.due.get((partition, pid))
            return facts if undecided else facts.but(due=facts.due.without((partition, pid)))
        case _:
            return facts


def _has_open(facts: Facts, producer_id: int) -> bool:
    """Return whether a producer has a transaction that is not decided."""
    return any(undecided and of == producer_id for (_, of), undecided in facts.due.items())


def learned_below_2(facts: Facts, event: Event) -> Facts:
    """Forget at the right moment the facts of an epoch with several transactions: versions 0 and 1."""
    match event:
        case TransactionMoved(after=TransactionState.ONGOING, producer_id=pid):
            place = (pid, event.producer_epoch)
            if event.before is TransactionState.ONGOING:
                return facts
            return facts.but(
                decided=facts.decided.without(place), markers=facts.markers.without(place)
            )
        case TransactionMoved(before=TransactionState.ONGOING, producer_id=pid):
            place = (pid, event.producer_epoch)
            if place not in facts.begun_at_2:
                return facts
            # The level was lowered in the middle of it: so far the epoch's markers are those of the previous
            # transaction.
            return facts.but(
                markers=facts.markers.without(place), begun_at_2=facts.begun_at_2.without(place)
            )
        case _:
            return facts


def learned_of_old_clients(facts: Facts, event: TransactionMoved, world: World) -> Facts:
    """Distinguish transactions that share an epoch because of their client, in a cluster of version 2.

    A new transaction is not decided, and one that is being decided has no marker yet. For a client that bumps its epoch
    there are no facts to forget. If the level may still be lowered, the transactions that began before that are noted.
    """
    place = (event.producer_id, event.producer_epoch)
    if event.before is TransactionState.ONGOING and event.after is not TransactionState.ONGOING:
        begun = facts.begun_at_2.without(place)
        return facts.but(markers=facts.markers.without(place), begun_at_2=begun)
    if event.before is not TransactionState.ONGOING and event.after is TransactionState.ONGOING:
        facts = facts.but(decided=facts.decided.without(place))
        if world.budget.upgrade:
            facts = facts.but(begun_at_2=facts.begun_at_2.set(place, True))
        return facts
    return facts


def level_of(world: World) -> int:
    """Return the finalized transaction version of a cluster."""
    return world.image.features.transaction_version


def batch_of(event: BatchAppended, world: World) -> SentBatch:
    """Return the key of a data batch in the log, with -1 for no sequence."""
    newest_first = reversed(tuple(world.logs[event.partition].batches))
    mine = (batch.base_sequence for batch in newest_first if batch.base_offset == event.base_offset)
    return (event.partition, event.producer_id, event.producer_epoch, next(mine, -1))
