"""The options of what an operator, and the upkeep of a log, do to a share group's state.

`WRITTEN` says what is nearest to KIP-1289, which says nothing of either.
"""

from __future__ import annotations

from kipviz.designs.slot import DRAFT, OURS, SHIPPED, Option, Slot
from kipviz.messages.errors import Errors

# What a cluster has to have for these questions to come up: an operator who moves or deletes where
# a share group stands, or a `__share_group_state` that is looked after.
RESETS, UPKEEP = "resets", "upkeep"

# -- reset_epoch: which state epoch does an AlterShareGroupOffsets have? --------------------------


def as_it_stands(group_epoch: int) -> int:
    """The group's epoch as it stands: that the last member left has bumped it already."""
    return group_epoch


def bumped(group_epoch: int) -> int:
    """One more than the group's: each reset fences whoever has read the state before it."""
    return group_epoch + 1


# -- reset_while_pending: what comes of a reset while a vote is pending? --------------------------


def refused(pending: bool) -> tuple[Errors, bool]:
    """It is refused with CONCURRENT_TRANSACTIONS until the transaction is over."""
    return (Errors.CONCURRENT_TRANSACTIONS if pending else Errors.NONE), True


def fences_the_vote(pending: bool) -> tuple[Errors, bool]:
    """It is done, and the vote belongs to a state epoch that is over: it is dropped."""
    return Errors.NONE, False


# -- prune_floor: how far may __share_group_state be deleted from its front? ----------------------


def before_the_first_vote(redundant: int, first_pending: int) -> int:
    """Up to the oldest snapshot that is still needed, and not past a vote without a marker."""
    return min(redundant, first_pending)


def what_snapshots_replace(redundant: int, first_pending: int) -> int:
    """Up to the oldest snapshot that is still needed, whatever else lies before it."""
    return redundant


ADMIN_SLOTS: tuple[Slot, ...] = (
    Slot(
        "reset_epoch",
        "Which state epoch does an operator's reset of a share group have?",
        "KIP-932",
        True,
        (
            Option(
                "as_it_stands",
                as_it_stands,
                SHIPPED,
                "GroupMetadataManager.alterShareGroupOffsets, Kafka 4.4.0",
            ),
            Option(
                "bumped", bumped, SHIPPED, "KIP-932 AlterShareGroupOffsets; trunk after Kafka 4.4.0"
            ),
        ),
        RESETS,
    ),
    Slot(
        "reset_while_pending",
        "What comes of a reset of a share group while a vote of it is pending?",
        "X13",
        True,
        (
            Option("refused", refused, OURS, "finding X13"),
            Option(
                "fences_the_vote",
                fences_the_vote,
                DRAFT,
                "KIP-1289 says nothing; ShareCoordinatorShard.initializeState, FENCED_STATE_EPOCH",
            ),
        ),
        RESETS,
    ),
    Slot(
        "prune_floor",
        "How far may __share_group_state be deleted from its front?",
        "X16",
        True,
        (
            Option("before_the_first_vote", before_the_first_vote, OURS, "finding X16"),
            Option(
                "what_snapshots_replace",
                what_snapshots_replace,
                SHIPPED,
                "ShareCoordinatorOffsetsManager.lastRedundantOffset",
            ),
        ),
        UPKEEP,
    ),
)

WRITTEN: dict[str, str] = {
    "reset_epoch": "as_it_stands",
    "reset_while_pending": "fences_the_vote",
    "prune_floor": "what_snapshots_replace",
}
