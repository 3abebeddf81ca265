"""The options of KIP-939's slots: the identity under which a kept transaction continues."""

from __future__ import annotations

from kipviz.designs.conditions import keeps_prepared
from kipviz.designs.slot import DRAFT, SHIPPED, Option, Slot
from kipviz.messages.errors import Errors
from kipviz.records.transaction_state import LAST_CLIENT_EPOCH

Identity = tuple[int, int]

# -- keep_prepared: Which identity can end a transaction that InitProducerId has kept? -------------


def next_epoch(producer_id: int, epoch: int, fresh: int) -> Identity | Errors:
    """Under the next epoch, which is logged; the previous producer cannot end the transaction."""
    return (fresh, 0) if epoch >= LAST_CLIENT_EPOCH else (producer_id, epoch + 1)


def the_same(producer_id: int, epoch: int, fresh: int) -> Identity | Errors:
    """Under its own, and nothing is logged; any producer with that identity can end the transaction."""
    return (producer_id, epoch)


def not_served(producer_id: int, epoch: int, fresh: int) -> Identity | Errors:
    """Under none: keepPreparedTxn is rejected with UNSUPPORTED_VERSION."""
    return Errors.UNSUPPORTED_VERSION


# -- kept_completion: Which epoch is stored when a kept transaction is complete? -------------------


def bumped_again(producer_id: int, epoch: int, fresh: int) -> Identity:
    """The epoch after the one that ended it, so that a late copy of the same EndTxn is fenced."""
    return (fresh, 0) if epoch >= LAST_CLIENT_EPOCH else (producer_id, epoch + 1)


def as_kept(producer_id: int, epoch: int, fresh: int) -> Identity:
    """The same epoch that ended it: InitProducerId has bumped the epoch already."""
    return (producer_id, epoch)


TWO_PHASE_SLOTS: tuple[Slot, ...] = (
    Slot(
        "keep_prepared",
        "Which identity can end a transaction that InitProducerId has kept?",
        "KIP-939",
        True,
        (
            Option("next_epoch", next_epoch, DRAFT, "KIP-939; pull request 21735 (open)"),
            Option("the_same", the_same, DRAFT, "KAFKA-20739, pull request 22704 (open)"),
            Option(
                "not_served",
                not_served,
                SHIPPED,
                "TransactionCoordinator.handleInitProducerId, 4.4.0",
            ),
        ),
        keeps_prepared,
        written="not_served",
    ),
    Slot(
        "kept_completion",
        "Which epoch is stored when a kept transaction is complete?",
        "KIP-939",
        True,
        (
            Option("bumped_again", bumped_again, DRAFT, "pull request 21735, 2026-04-28"),
            Option(
                "as_kept",
                as_kept,
                DRAFT,
                "the example of pull request 21735, refused there",
            ),
        ),
        keeps_prepared,
    ),
)
