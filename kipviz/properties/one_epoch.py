"""Transactions below version 2: many of them have one epoch, so they are told apart by their order."""

from __future__ import annotations

from kipviz.cluster.world import World
from kipviz.core.model import Event
from kipviz.messages.events import (
    BatchAppended,
    MessageSent,
    TransactionDecided,
    TransactionMoved,
)
from kipviz.messages.producing import Produce
from kipviz.properties.run_facts import Facts, SentBatch
from kipviz.records.transaction_state import TransactionState


def learned_below_2(facts: Facts, event: Event, world: World) -> Facts:
    """Tell transactions apart that have one epoch: transaction versions 0 and 1."""
    match event:
        case TransactionMoved(after=TransactionState.ONGOING, producer_id=pid):
            place = (pid, event.producer_epoch)
            if event.before is not TransactionState.ONGOING:
                facts = facts.but(
                    decided=facts.decided.without(place),
                    markers=facts.markers.without(place),
                    rounds=facts.rounds.set(pid, facts.rounds.get(pid, 0) + 1),
                )
            due = facts.due
            for partition in event.partitions:
                due = due.set((partition, pid), True)
            return facts.but(due=due)
        case TransactionMoved(before=TransactionState.ONGOING, producer_id=pid):
            place = (pid, event.producer_epoch)
            if place not in facts.begun_at_2:
                return facts
            # The level was lowered in the middle of it: so far the epoch's markers are those of the one before.
            return facts.but(
                markers=facts.markers.without(place), begun_at_2=facts.begun_at_2.without(place)
            )
        case TransactionDecided(producer_id=pid):
            due = facts.due
            for waiting in facts.due:
                if waiting[1] == pid:
                    due = due.set(waiting, False)
            return facts.but(due=due)
        case MessageSent(message=Produce() as request):
            for batch in request.parts:
                who = (batch.producer_id, batch.producer_epoch)
                key = (batch.partition, *who, batch.base_sequence)
                if key not in facts.sent_in:
                    now = facts.rounds.get(batch.producer_id, 0)
                    facts = facts.but(sent_in=facts.sent_in.set(key, now))
            return facts
        case BatchAppended(partition=partition, producer_id=pid) if event.control:
            # A marker that comes late, in the middle of a transaction, is not the one that is due.
            undecided = facts.due.get((partition, pid), False)
            return facts if undecided else facts.but(due=facts.due.without((partition, pid)))
        case _:
            return facts


def learned_of_old_clients(facts: Facts, event: TransactionMoved, world: World) -> Facts:
    """Tell transactions apart that have one epoch because of their client, in a cluster of version 2.

    A transaction that begins is not decided, and one that is being decided has no marker yet. Of a client
    that bumps its epoch nothing is known there that could be forgotten. Where the level may still be lowered,
    it is noted which transactions have begun before that.
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
    """Give the finalized transaction version of a cluster."""
    return world.image.features.transaction_version


def batch_of(event: BatchAppended, world: World) -> SentBatch:
    """Give the key of a batch of data in the log, -1 where it has no sequence."""
    sequence = -1
    for batch in reversed(tuple(world.logs[event.partition].batches)):
        if batch.base_offset == event.base_offset:
            sequence = batch.base_sequence
            break
    return (event.partition, event.producer_id, event.producer_epoch, sequence)
