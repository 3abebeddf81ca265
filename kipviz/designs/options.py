"""The options of every slot: plain functions, each with where it comes from.

`SLOTS` maps a slot's name to its options; the first option is that of the repaired design.
Status words: "shipped" is in a Kafka release, "draft" is in a KIP's text, "our inference" is ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kipviz.brokers.in_flight import InFlight
from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.share_groups import AcknowledgementBatch, AcknowledgeType, batches_of
from kipviz.records.placement import share_partition_key
from kipviz.records.share_group_state import RecordState, StagedBatch

# -- staged_acks: what of a vote is durable before it is promised? ------------------------------


def share_group_state(staged: tuple[StagedBatch, ...]) -> tuple[StagedBatch, ...]:
    """All of it, in the share coordinator's log."""
    return staged


def memory_only(staged: tuple[StagedBatch, ...]) -> tuple[StagedBatch, ...]:
    """Nothing: the vote is in the share-partition leader's memory."""
    return ()


# -- participant: where is the transaction told to look for the vote? ---------------------------


def state_partition_by_key(group_id: str, topic_id: str, index: int) -> tuple[str, ...]:
    """In the partition that holds the share-partition's state, by group:topicId:partition."""
    return (share_partition_key(group_id, topic_id, index),)


def state_partition_by_group(group_id: str, topic_id: str, index: int) -> tuple[str, ...]:
    """In the partition that the group id alone hashes to."""
    return (group_id,)


def nowhere(group_id: str, topic_id: str, index: int) -> tuple[str, ...]:
    """Nowhere: the coordinator does not track share-partitions."""
    return ()


# -- enlistment: which broker is asked to enlist it? --------------------------------------------


def transaction_coordinator(own: int, coordinator: int) -> int:
    """The one that coordinates the transaction, over the wire."""
    return coordinator


def own_broker(own: int, coordinator: int) -> int:
    """The broker itself, whether or not it coordinates the transaction."""
    return own


# -- lock_expiry: what when the lock of a TX_PENDING record runs out? ---------------------------


def pinned_until_marker(record: InFlight) -> InFlight | None:
    """The timer does not run: only the transaction's end may free the record."""
    return None


def back_to_available(record: InFlight) -> InFlight | None:
    """The record can be acquired again, whatever the transaction does."""
    return record.unstaged(RecordState.AVAILABLE)


# -- marker_epoch: which marker resolves a vote? ------------------------------------------------


def greater(staged_epoch: int, marker_epoch: int) -> bool:
    """One with a higher epoch: under transaction version 2 the decision bumps it."""
    return marker_epoch > staged_epoch


def equal(staged_epoch: int, marker_epoch: int) -> bool:
    """One with exactly the epoch that the vote was staged with."""
    return marker_epoch == staged_epoch


# -- marker_reach: which share-partitions does a marker touch in memory? -------------------------


def none_of_them(held: tuple[str, ...]) -> tuple[str, ...]:
    """None: the share coordinator resolves votes, the leaders ask it."""
    return ()


def every_one_on_the_broker(held: tuple[str, ...]) -> tuple[str, ...]:
    """All that the broker leads that the marker came to."""
    return held


# -- abort_target: what does a staged record become when its transaction aborts? ------------------


def available(record: InFlight) -> InFlight:
    """Free for anybody, with its delivery count."""
    return record.unstaged(RecordState.AVAILABLE)


def acquired(record: InFlight) -> InFlight:
    """Held again by the member that had it; its lock goes on."""
    return record.unstaged(RecordState.ACQUIRED, member_id=record.member_id, lock=record.lock)


# -- stage_retry: what does an equal second staging answer? ---------------------------------------


def idempotent() -> Errors:
    """Success: it is staged."""
    return Errors.NONE


def invalid_record_state() -> Errors:
    """INVALID_RECORD_STATE: the records are not ACQUIRED any more."""
    return Errors.INVALID_RECORD_STATE


# -- eviction: may a share-partition with a pending vote be dropped from memory? ------------------


def refused() -> bool:
    """No."""
    return False


def allowed() -> bool:
    """Yes, when the last member of the group on this broker is gone."""
    return True


# -- next_poll: what does the next poll() say of the batch before it? -----------------------------


def release_the_unstaged(
    batch: tuple[int, ...], staged: tuple[int, ...]
) -> tuple[AcknowledgementBatch, ...]:
    """It gives back what was not staged, and leaves what was to the transaction."""
    return batches_of((o for o in batch if o not in staged), AcknowledgeType.RELEASE)


def accept_the_unstaged(
    batch: tuple[int, ...], staged: tuple[int, ...]
) -> tuple[AcknowledgementBatch, ...]:
    """It accepts what was not staged, as implicit mode does, and leaves the rest."""
    return batches_of((o for o in batch if o not in staged), AcknowledgeType.ACCEPT)


def accept_all(batch: tuple[int, ...], staged: tuple[int, ...]) -> tuple[AcknowledgementBatch, ...]:
    """It accepts the whole batch, as implicit mode does: nobody told it about the staging."""
    return batches_of(batch, AcknowledgeType.ACCEPT)


class UnknownDesign(ValueError):
    """A design, slot or option of a name that there is not."""


class Option(Value, frozen=True):
    """One way to fill a slot, and where it comes from."""

    name: str
    choose: Callable[..., Any]
    status: str
    source: str

    @property
    def sentence(self) -> str:
        """What the option does, in one sentence."""
        return (self.choose.__doc__ or "").strip()


class Slot(Value, frozen=True):
    """A question on which designs disagree."""

    name: str
    question: str
    finding: str
    on_brokers: bool
    options: tuple[Option, ...]

    def option(self, name: str) -> Option:
        """Give an option by name.

        Raises:
            UnknownDesign: if there is none of that name; the message lists what there is.
        """
        for option in self.options:
            if option.name == name:
                return option
        allowed = ", ".join(o.name for o in self.options)
        raise UnknownDesign(f"slot {self.name} has no option {name!r}; it has {allowed}")


SHIPPED = "shipped"
DRAFT = "draft"
OURS = "our inference"
# From settled to unsettled.
STATUSES = (SHIPPED, DRAFT, OURS)

SLOTS: tuple[Slot, ...] = (
    Slot(
        "staged_acks",
        "What of a vote is durable before the producer is told that it is staged?",
        "E",
        True,
        (
            Option("share_group_state", share_group_state, OURS, "KIP-1289 Follow-up KIP"),
            Option("memory_only", memory_only, DRAFT, "KIP-1289 corner case 1"),
        ),
    ),
    Slot(
        "participant",
        "Which partition stands for the vote in the transaction?",
        "C",
        True,
        (
            Option(
                "state_partition_by_key", state_partition_by_key, OURS, "SharePartitionKey, 4.4"
            ),
            Option(
                "state_partition_by_group",
                state_partition_by_group,
                DRAFT,
                "KIP-1289 Flow, partitionFor(groupId)",
            ),
            Option("nowhere", nowhere, DRAFT, "KIP-1289 Existing RPCs, AddPartitionsToTxn"),
        ),
    ),
    Slot(
        "enlistment",
        "Which broker is asked to enlist the participant?",
        "X2",
        True,
        (
            Option(
                "transaction_coordinator",
                transaction_coordinator,
                DRAFT,
                "KIP-1289 Flow, broker-internal AddPartitionsToTxn; AddPartitionsToTxnManager",
            ),
            Option("own_broker", own_broker, DRAFT, "KIP-1289 Flow, txnCoordinator.handleAdd..."),
        ),
    ),
    Slot(
        "lock_expiry",
        "What when the acquisition lock of a TX_PENDING record runs out?",
        "D",
        True,
        (
            Option("pinned_until_marker", pinned_until_marker, OURS, "KIP-1289 draft code"),
            Option("back_to_available", back_to_available, DRAFT, "KIP-1289 corner case 6"),
        ),
    ),
    Slot(
        "marker_epoch",
        "Which marker resolves a vote?",
        "I",
        True,
        (
            Option("greater", greater, OURS, "KIP-1228, ProducerAppendInfo"),
            Option("equal", equal, DRAFT, "KIP-1289 Existing RPCs, WriteTxnMarkers"),
        ),
    ),
    Slot(
        "marker_reach",
        "Which share-partitions does a marker touch in memory?",
        "B",
        True,
        (
            Option("none_of_them", none_of_them, OURS, "share_coordinator resolves"),
            Option(
                "every_one_on_the_broker",
                every_one_on_the_broker,
                DRAFT,
                "KIP-1289 Existing RPCs, WriteTxnMarkers",
            ),
        ),
    ),
    Slot(
        "abort_target",
        "What does a staged record become when its transaction aborts?",
        "F",
        True,
        (
            Option("available", available, DRAFT, "KIP-1289 Test Plan, pseudo code"),
            Option("acquired", acquired, DRAFT, "KIP-1289 javadoc, State machine additions"),
        ),
    ),
    Slot(
        "stage_retry",
        "What does an equal second staging by the same transaction answer?",
        "K",
        True,
        (
            Option("idempotent", idempotent, OURS, "finding K"),
            Option("invalid_record_state", invalid_record_state, DRAFT, "KIP-1289 State machine"),
        ),
    ),
    Slot(
        "eviction",
        "May a share-partition with a pending vote be dropped from memory?",
        "X5",
        True,
        (
            Option("refused", refused, OURS, "finding X5"),
            Option("allowed", allowed, SHIPPED, "SharePartitionManager.onGroupEmpty, 4.4"),
        ),
    ),
    Slot(
        "next_poll",
        "What does the next poll() say of the batch before it?",
        "X1",
        False,
        (
            Option("release_the_unstaged", release_the_unstaged, OURS, "finding X1"),
            Option("accept_the_unstaged", accept_the_unstaged, OURS, "finding X1, half a repair"),
            Option("accept_all", accept_all, DRAFT, "KIP-1289 Pseudo code, implicit mode"),
        ),
    ),
)
