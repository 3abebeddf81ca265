"""The options for operators, log maintenance and members that affect a share group's pending acknowledgements.

`Slot.written` names the option of KIP-1289 or, where it is silent, the nearest one.
"""

from __future__ import annotations

from kipviz.designs.conditions import changes_start_offsets, has_members_that_join, maintains_state
from kipviz.designs.slot import DRAFT, OURS, SHIPPED, Option, Slot
from kipviz.messages.errors import Errors

# -- reset_epoch: Which state epoch does an operator's reset of a share group have? ----------------


def as_it_stands(group_epoch: int) -> int:
    """The group's current epoch: the departure of its last member has bumped it already."""
    return group_epoch


def bumped(group_epoch: int) -> int:
    """One more than the group's: each reset fences every leader that has read the state before it."""
    return group_epoch + 1


# -- reset_while_pending: What happens to a reset of a share group while one of its acknowledgements is pending? --


def refused(pending: bool) -> tuple[Errors, bool]:
    """It is rejected with CONCURRENT_TRANSACTIONS until the transaction is over."""
    return (Errors.CONCURRENT_TRANSACTIONS if pending else Errors.NONE), True


def fences_the_acknowledgement(pending: bool) -> tuple[Errors, bool]:
    """It succeeds, and the acknowledgement belongs to an old state epoch: it is dropped."""
    return Errors.NONE, False


# -- initialize_again: Does a repeated request initialize the state of a share-partition again? ----


def made_anew() -> bool:
    """Yes: a request that is sent twice loses the acknowledgements in between."""
    return True


def left_as_it_is() -> bool:
    """No, as long as the start offset has not moved since."""
    return False


# -- prune_floor: How far may __share_group_state be deleted from its front? -----------------------


def before_the_first_acknowledgement(redundant: int, first_pending: int) -> int:
    """Up to the oldest snapshot that is still needed, but not past an acknowledgement without an outcome."""
    return min(redundant, first_pending)


def what_snapshots_replace(redundant: int, first_pending: int) -> int:
    """Up to the oldest snapshot that is still needed, whatever lies before it."""
    return redundant


# -- member_epoch: Is a staging checked against the member's epoch? --------------------------------


def whatever_it_is(own: int, known: tuple[int, int] | None) -> Errors:
    """No: any member that has acquired the record may stage it."""
    return Errors.NONE


def the_current_one(own: int, known: tuple[int, int] | None) -> Errors:
    """Yes: it must be the member's current epoch at the group coordinator."""
    if known is None:
        return Errors.UNKNOWN_MEMBER_ID
    return Errors.NONE if own == known[0] else Errors.STALE_MEMBER_EPOCH


def the_current_or_the_one_before(own: int, known: tuple[int, int] | None) -> Errors:
    """Yes, but the previous epoch is accepted, too, as in a heartbeat."""
    if known is None:
        return Errors.UNKNOWN_MEMBER_ID
    return Errors.NONE if own in known else Errors.STALE_MEMBER_EPOCH


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
        changes_start_offsets,
    ),
    Slot(
        "reset_while_pending",
        "What happens to a reset of a share group while one of its acknowledgements is pending?",
        "X13",
        True,
        (
            Option("refused", refused, OURS, "finding X13"),
            Option(
                "fences_the_acknowledgement",
                fences_the_acknowledgement,
                DRAFT,
                "KIP-1289 says nothing; ShareCoordinatorShard.initializeState, FENCED_STATE_EPOCH",
            ),
        ),
        changes_start_offsets,
        written="fences_the_acknowledgement",
    ),
    Slot(
        "initialize_again",
        "Does a repeated request initialize the state of a share-partition again?",
        "KIP-932",
        True,
        (
            Option(
                "made_anew",
                made_anew,
                SHIPPED,
                "ShareCoordinatorShard.initializeState, Kafka 4.4.0",
            ),
            Option(
                "left_as_it_is",
                left_as_it_is,
                SHIPPED,
                "pull request 23190; trunk after Kafka 4.4.0",
            ),
        ),
        changes_start_offsets,
    ),
    Slot(
        "prune_floor",
        "How far may __share_group_state be deleted from its front?",
        "X16",
        True,
        (
            Option(
                "before_the_first_acknowledgement",
                before_the_first_acknowledgement,
                OURS,
                "finding X16",
            ),
            Option(
                "what_snapshots_replace",
                what_snapshots_replace,
                SHIPPED,
                "ShareCoordinatorOffsetsManager.lastRedundantOffset",
            ),
        ),
        maintains_state,
        written="what_snapshots_replace",
    ),
    Slot(
        "member_epoch",
        "Is a staging checked against the member's epoch?",
        "L",
        True,
        (
            Option("whatever_it_is", whatever_it_is, SHIPPED, "SharePartition.acknowledge"),
            Option("the_current_one", the_current_one, DRAFT, "KIP-1289 corner case 8"),
            Option(
                "the_current_or_the_one_before",
                the_current_or_the_one_before,
                DRAFT,
                "pull request 22357: a test refuses the next epoch and the one before last, and "
                "asks nothing of the one before; finding L",
            ),
        ),
        has_members_that_join,
        written="the_current_one",
    ),
)
