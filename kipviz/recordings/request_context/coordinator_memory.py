"""The state that a transaction coordinator has only in its memory, as far as its log leaves it open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kipviz.brokers.transactions.transaction_metadata import (
    PREPARED,
    TransactionMetadata,
    metadata_of,
    prepare_completion,
)
from kipviz.cluster.real.rebuilt_cluster import Entry
from kipviz.cluster.world import RoleKey, World, role_key
from kipviz.records.transaction_state import TransactionRecord, TransactionState

NO_EPOCH = -1


def epoch_before(entries: tuple[Entry, ...], known: TransactionMetadata) -> int:
    """Return the previous epoch, -1 if the entries have none."""
    now = (known.producer_id, known.producer_epoch)
    return next(
        (
            record.producer_epoch
            for record in _records_of(reversed(entries), known.transactional_id)
            if (record.producer_id, record.producer_epoch) != now
        ),
        -1,
    )


def remembering_epochs(
    world: World, key: RoleKey, name: str | None, entries: tuple[Entry, ...]
) -> Iterator[World]:
    """Yield the world in which the coordinator of a transactional id remembers its previous epoch."""
    role: Any = world.roles.get(key)
    known = role.transactions.get(name) if name and role is not None else None
    if known is not None:
        last = known.but(last_producer_epoch=epoch_before(entries, known))
        remembering = role.but(transactions=role.transactions.set(name, last))
        yield world.but(roles=world.roles.set(key, remembering))


def in_transition(
    world: World, broker: int, name: str, coming: tuple[Entry, ...]
) -> Iterator[World]:
    """Yield the world in which a transition of a transactional id is being logged, if that is possible.

    The completion of a decided transaction is prepared before its markers are sent, so it is pending until it is
    logged. Any other transition is pending while its record is being appended: `coming` are the entries that were
    written before the answer. Meanwhile every request is answered with CONCURRENT_TRANSACTIONS, whatever its epoch,
    and so is a leader or group coordinator that asks on behalf of the producer. A new id is known even before its
    first record, with its producer id and without an epoch.
    Source: TransactionMetadata.prepareComplete, TransactionCoordinator (pendingTransitionInProgress,
    handleInitProducerId).
    """
    key = role_key(broker, world.image.home_of_transactions(name))
    role: Any = world.roles.get(key)
    known = getattr(role, "transactions", {}).get(name)
    following = next(_records_of(iter(coming), name), None)
    if known is None and following is not None and hasattr(role, "transactions"):
        known = metadata_of(following).but(producer_epoch=NO_EPOCH, state=TransactionState.EMPTY)
    if known is None or known.pending_state is not None:
        return
    if known.state in PREPARED:
        pending = prepare_completion(known, known.complete_timestamp_ms)
    elif following is not None:
        pending = known.but(pending_state=following.state)
    else:
        return
    transactions = role.transactions.set(name, pending)
    yield world.but(roles=world.roles.set(key, role.but(transactions=transactions)))


def _records_of(entries: Iterator[Entry], name: str) -> Iterator[TransactionRecord]:
    for entry in entries:
        for record in entry.batch.records:
            if isinstance(record, TransactionRecord) and record.transactional_id == name:
                yield record
