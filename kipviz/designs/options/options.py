"""The options of every slot: plain functions, each with its source.

`SLOTS` has all slots with their options; the first option of a slot is that of the repaired design. Status words:
"shipped" is in a Kafka release, "draft" is in a KIP's text, "our inference" is ours.
"""

from __future__ import annotations

from kipviz.brokers.context import NOT_ASKED
from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.designs.options.finding_options import FINDING_SLOTS
from kipviz.designs.options.group_options import GROUP_SLOTS
from kipviz.designs.options.implementation_options import EARLY, IMPLEMENTATION_SLOTS, LATE, MIDDLE
from kipviz.designs.options.liveness_options import LIVENESS_SLOTS
from kipviz.designs.options.session_options import SESSION_SLOTS
from kipviz.designs.options.share_admin_options import ADMIN_SLOTS
from kipviz.designs.options.staging_options import STAGING_SLOTS
from kipviz.designs.options.two_phase_options import TWO_PHASE_SLOTS
from kipviz.designs.slot import (
    DRAFT,
    KAFKAS_OWN,
    OURS,
    SHIPPED,
    STATUSES,
    Option,
    Slot,
    UnknownDesign,
)
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_groups import AcknowledgementBatch, AcknowledgeType, batches_of
from kipviz.records.placement import share_partition_key
from kipviz.records.share_group_state import RecordState, StagedBatch

# -- staged_acks: What part of an acknowledgement is durable before the response to the producer? --


def share_group_state(staged: tuple[StagedBatch, ...]) -> tuple[StagedBatch, ...]:
    """All of it, in the share coordinator's log."""
    return staged


def memory_only(staged: tuple[StagedBatch, ...]) -> tuple[StagedBatch, ...]:
    """Nothing: the acknowledgement is in the share-partition leader's memory."""
    return ()


# -- participant: Which partition represents the acknowledgement in the transaction? ---------------


def state_partition_by_key(group_id: str, topic_id: str, index: int) -> tuple[str, ...]:
    """In the partition that holds the share-partition's state, by group:topicId:partition."""
    return (share_partition_key(group_id, topic_id, index),)


def state_partition_by_group(group_id: str, topic_id: str, index: int) -> tuple[str, ...]:
    """In the partition that the group id alone hashes to."""
    return (group_id,)


def nowhere(group_id: str, topic_id: str, index: int) -> tuple[str, ...]:
    """Nowhere: the coordinator does not track share-partitions."""
    return ()


# -- enlistment: Which broker is asked to add the participant? -------------------------------------


def transaction_coordinator(own: int, coordinator: int) -> int:
    """The broker that coordinates the transaction, with a request."""
    return coordinator


def own_broker(own: int, coordinator: int) -> int:
    """The broker itself, whether or not it coordinates the transaction."""
    return own


def nobody(own: int, coordinator: int) -> int:
    """None: the client has added the participant with AddPartitionsToTxn, and the broker trusts it."""
    return NOT_ASKED


# -- lock_expiry: What happens when the acquisition lock of a TX_PENDING record expires? -----------


def pinned_until_marker(record: InFlight) -> InFlight | None:
    """The timer does not run: only the transaction's end may free the record."""
    return None


def back_to_available(record: InFlight) -> InFlight | None:
    """The record can be acquired again, whatever the transaction does."""
    return record.without_staging(RecordState.AVAILABLE)


def back_to_acquired(record: InFlight) -> InFlight | None:
    """Its member holds the record again, under an expired lock without a timer."""
    return record.without_staging(RecordState.ACQUIRED, member_id=record.member_id)


def noticed_by_nobody(record: InFlight) -> InFlight | None:
    """The timer finds it not ACQUIRED and does nothing; it fires once and is not set again."""
    return record.but(lock=-1)


# -- marker_epoch: Which marker resolves an acknowledgement? ---------------------------------------


def greater(staged_epoch: int, marker_epoch: int) -> bool:
    """A marker with a higher epoch: under transaction version 2 the decision bumps it."""
    return marker_epoch > staged_epoch


def equal(staged_epoch: int, marker_epoch: int) -> bool:
    """A marker with exactly the epoch of the acknowledgement."""
    return marker_epoch == staged_epoch


def at_least(staged_epoch: int, marker_epoch: int) -> bool:
    """A marker with the same or a higher epoch."""
    return marker_epoch >= staged_epoch


def equal_or_next(staged_epoch: int, marker_epoch: int) -> bool:
    """A marker with the same epoch or the next: transaction version 2 bumps the epoch by one."""
    return marker_epoch - staged_epoch in (0, 1)


def any_epoch(staged_epoch: int, marker_epoch: int) -> bool:
    """Any marker of the same producer id."""
    return True


# -- marker_reach: Which share-partitions does a marker touch in memory? ---------------------------


def none_of_them(held: tuple[str, ...]) -> tuple[str, ...]:
    """None: the share coordinator resolves acknowledgements, and the leaders ask it."""
    return ()


def every_one_on_the_broker(held: tuple[str, ...]) -> tuple[str, ...]:
    """All that the broker leads which received the marker."""
    return held


# -- outcome_news: Who acts first when a marker has resolved acknowledgements of records that another broker leads? --


def the_leader_asks() -> bool:
    """The leader of the source partition: it asks the share coordinator from time to time."""
    return False


def the_coordinator_tells() -> bool:
    """The share coordinator: it notifies the leader as soon as its log has the marker; the leader asks for lost notifications."""
    return True


# -- end_txn_response: When does the transaction coordinator respond to EndTxn? --------------------


def at_the_decision() -> bool:
    """When PREPARE_COMMIT or PREPARE_ABORT is in its log, before any marker is written."""
    return False


def at_completion() -> bool:
    """When COMPLETE_COMMIT or COMPLETE_ABORT is in its log: every marker is written by then."""
    return True


# -- abort_target: What does a staged record become when its transaction aborts? -------------------


def available(record: InFlight) -> InFlight:
    """AVAILABLE to every member, with its delivery count."""
    return record.without_staging(RecordState.AVAILABLE)


def acquired(record: InFlight) -> InFlight:
    """ACQUIRED again by the same member; its lock keeps running."""
    return record.without_staging(
        RecordState.ACQUIRED, member_id=record.member_id, lock=record.lock
    )


def available_uncounted(record: InFlight) -> InFlight:
    """AVAILABLE to every member, and the delivery does not count, as long as this leader leads."""
    count = max(record.delivery_count - 1, 0)
    return record.without_staging(RecordState.AVAILABLE, delivery_count=count)


# -- stage_retry: What is the response to an identical second staging by the same transaction? -----


def idempotent() -> Errors:
    """Success: it is staged already."""
    return Errors.NONE


def invalid_record_state() -> Errors:
    """INVALID_RECORD_STATE: the records are no longer ACQUIRED."""
    return Errors.INVALID_RECORD_STATE


# -- eviction: May a share-partition with a pending acknowledgement be dropped from memory? --------


def refused() -> bool:
    """No."""
    return False


def allowed() -> bool:
    """Yes, when the last member of the group on this broker is gone."""
    return True


# -- next_poll: How does the next poll() acknowledge the previous batch? ---------------------------


def release_the_unstaged(
    batch: tuple[int, ...], staged: tuple[int, ...]
) -> tuple[AcknowledgementBatch, ...]:
    """It releases the records that were not staged, and leaves the others to the transaction."""
    return batches_of((o for o in batch if o not in staged), AcknowledgeType.RELEASE)


def accept_the_unstaged(
    batch: tuple[int, ...], staged: tuple[int, ...]
) -> tuple[AcknowledgementBatch, ...]:
    """It accepts the records that were not staged, as implicit mode does, and leaves the others."""
    return batches_of((o for o in batch if o not in staged), AcknowledgeType.ACCEPT)


def accept_all(batch: tuple[int, ...], staged: tuple[int, ...]) -> tuple[AcknowledgementBatch, ...]:
    """It accepts the whole batch, as implicit mode does: the consumer does not know of the staging."""
    return batches_of(batch, AcknowledgeType.ACCEPT)


# -- epoch_check, sequence_check, verification_guard, marker_fencing, lock_timeout: checks of Kafka --
# Every design keeps these checks. An option that switches one off shows what breaks without it.


def older_epochs_are_refused(epoch: int, last_epoch: int) -> bool:
    """A log rejects an epoch below the last one that it has seen."""
    return epoch < last_epoch


def no_epoch_is_refused(epoch: int, last_epoch: int) -> bool:
    """Switched off: a log accepts any epoch."""
    return False


def sequences_are_checked() -> bool:
    """A repeated batch is recognised, and one that does not follow is rejected."""
    return True


def sequences_are_ignored() -> bool:
    """Switched off: a repeated batch is appended again."""
    return False


def guarded_until_the_marker(guarded: bool) -> bool:
    """The coordinator's verification ends with the transaction's marker."""
    return guarded


def never_guarded(guarded: bool) -> bool:
    """Switched off: the coordinator's verification never ends."""
    return True


def older_coordinators_are_fenced(coordinator_epoch: int, last_epoch: int) -> bool:
    """A log rejects a marker of an older coordinator than the last one."""
    return coordinator_epoch < last_epoch


def no_coordinator_is_fenced(coordinator_epoch: int, last_epoch: int) -> bool:
    """Switched off: a log accepts the markers of any coordinator."""
    return False


def locks_run_out() -> bool:
    """A record that its member does not acknowledge in time becomes available again."""
    return True


def locks_last_for_ever() -> bool:
    """Switched off: a record stays with its member until that member releases it."""
    return False


__all__ = ["KAFKAS_OWN", "SLOTS", "STATUSES", "Option", "Slot", "UnknownDesign"]

SLOTS: tuple[Slot, ...] = (
    Slot(
        "staged_acks",
        "What part of an acknowledgement is durable before the response to the producer?",
        "E",
        True,
        (
            Option(
                "share_group_state", share_group_state, DRAFT, f"KIP-1289 Follow-up KIP; {MIDDLE}"
            ),
            Option("memory_only", memory_only, DRAFT, "KIP-1289 corner case 1"),
        ),
        written="memory_only",
    ),
    Slot(
        "participant",
        "Which partition represents the acknowledgement in the transaction?",
        "C",
        True,
        (
            Option(
                "state_partition_by_key",
                state_partition_by_key,
                DRAFT,
                f"SharePartitionKey, 4.4; {EARLY}",
            ),
            Option(
                "state_partition_by_group",
                state_partition_by_group,
                DRAFT,
                "KIP-1289 Flow, partitionFor(groupId)",
            ),
            Option("nowhere", nowhere, DRAFT, "KIP-1289 Existing RPCs, AddPartitionsToTxn"),
        ),
        written="state_partition_by_group",
    ),
    Slot(
        "enlistment",
        "Which broker is asked to add the participant?",
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
            Option(
                "nobody",
                nobody,
                OURS,
                "a rival: the client adds the participant itself, as with KIP-98, and nothing is verified",
            ),
        ),
    ),
    Slot(
        "lock_expiry",
        "What happens when the acquisition lock of a TX_PENDING record expires?",
        "D",
        True,
        (
            Option("pinned_until_marker", pinned_until_marker, DRAFT, MIDDLE),
            Option("back_to_available", back_to_available, DRAFT, "KIP-1289 corner case 6"),
            Option(
                "back_to_acquired",
                back_to_acquired,
                DRAFT,
                "KIP-1289 corner case 6 by the letter, 'reverts to ACQUIRED'",
            ),
            Option(
                "noticed_by_nobody",
                noticed_by_nobody,
                SHIPPED,
                "SharePartition.releaseAcquisitionLockOnTimeout skips what is not ACQUIRED",
            ),
        ),
        written="back_to_available",
    ),
    Slot(
        "marker_epoch",
        "Which marker resolves an acknowledgement?",
        "I",
        True,
        (
            Option("greater", greater, OURS, "KIP-1228, ProducerAppendInfo"),
            Option("equal", equal, DRAFT, "KIP-1289 Existing RPCs, WriteTxnMarkers"),
            Option("at_least", at_least, OURS, "between the two"),
            Option(
                "equal_or_next",
                equal_or_next,
                OURS,
                "the narrowest rule under which the commits that the draft's tests see can work",
            ),
            Option("any_epoch", any_epoch, OURS, "the producer id alone"),
        ),
        written="equal",
    ),
    Slot(
        "marker_reach",
        "Which share-partitions does a marker touch in memory?",
        "B",
        True,
        (
            Option("none_of_them", none_of_them, DRAFT, LATE),
            Option(
                "every_one_on_the_broker",
                every_one_on_the_broker,
                DRAFT,
                "KIP-1289 Existing RPCs, WriteTxnMarkers",
            ),
        ),
        written="every_one_on_the_broker",
    ),
    Slot(
        "outcome_news",
        "Who acts first when a marker has resolved acknowledgements of records that another broker leads?",
        "B2",
        True,
        (
            Option(
                "the_leader_asks",
                the_leader_asks,
                DRAFT,
                "KIP-1289 Existing RPCs NOT changed, no ShareCoordinatorShard changes",
            ),
            Option("the_coordinator_tells", the_coordinator_tells, OURS, "study B2"),
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
            Option("available_uncounted", available_uncounted, OURS, "study B11"),
        ),
        written="acquired",
    ),
    Slot(
        "stage_retry",
        "What is the response to an identical second staging by the same transaction?",
        "K",
        True,
        (
            Option("idempotent", idempotent, OURS, "finding K"),
            Option("invalid_record_state", invalid_record_state, DRAFT, "KIP-1289 State machine"),
        ),
        written="invalid_record_state",
    ),
    Slot(
        "eviction",
        "May a share-partition with a pending acknowledgement be dropped from memory?",
        "X5",
        True,
        (
            Option("refused", refused, OURS, "finding X5"),
            Option("allowed", allowed, SHIPPED, "SharePartitionManager.onGroupEmpty, 4.4"),
        ),
        written="allowed",
    ),
    Slot(
        "next_poll",
        "How does the next poll() acknowledge the previous batch?",
        "X1",
        False,
        (
            Option("release_the_unstaged", release_the_unstaged, OURS, "finding X1"),
            Option("accept_the_unstaged", accept_the_unstaged, OURS, "finding X1, half a repair"),
            Option("accept_all", accept_all, DRAFT, "KIP-1289 Pseudo code, implicit mode"),
        ),
        written="accept_all",
    ),
    Slot(
        "epoch_check",
        "Does a log reject an older epoch of a producer?",
        KAFKAS_OWN,
        True,
        (
            Option(
                "older_epochs_are_refused",
                older_epochs_are_refused,
                SHIPPED,
                "ProducerAppendInfo.checkProducerEpoch",
            ),
            Option("no_epoch_is_refused", no_epoch_is_refused, OURS, "a rule switched off"),
        ),
    ),
    Slot(
        "sequence_check",
        "Does a log check the sequences of batches?",
        KAFKAS_OWN,
        True,
        (
            Option(
                "sequences_are_checked",
                sequences_are_checked,
                SHIPPED,
                "ProducerAppendInfo.checkSequence, ProducerStateEntry.findDuplicateBatch",
            ),
            Option("sequences_are_ignored", sequences_are_ignored, OURS, "a rule switched off"),
        ),
    ),
    Slot(
        "verification_guard",
        "How long is the coordinator's confirmation of a new partition valid?",
        KAFKAS_OWN,
        True,
        (
            Option(
                "guarded_until_the_marker", guarded_until_the_marker, SHIPPED, "VerificationGuard"
            ),
            Option("never_guarded", never_guarded, OURS, "a rule switched off"),
        ),
    ),
    Slot(
        "marker_fencing",
        "Does a log reject the markers of an older coordinator?",
        KAFKAS_OWN,
        True,
        (
            Option(
                "older_coordinators_are_fenced",
                older_coordinators_are_fenced,
                SHIPPED,
                "ProducerAppendInfo.checkCoordinatorEpoch",
            ),
            Option(
                "no_coordinator_is_fenced", no_coordinator_is_fenced, OURS, "a rule switched off"
            ),
        ),
    ),
    Slot(
        "lock_timeout",
        "Does the acquisition lock of a record expire?",
        KAFKAS_OWN,
        True,
        (
            Option("locks_run_out", locks_run_out, SHIPPED, "AcquisitionLockTimerTask"),
            Option("locks_last_for_ever", locks_last_for_ever, OURS, "a rule switched off"),
        ),
    ),
    *SESSION_SLOTS,
    *FINDING_SLOTS,
    *TWO_PHASE_SLOTS,
    *LIVENESS_SLOTS,
    *GROUP_SLOTS,
    *STAGING_SLOTS,
    *ADMIN_SLOTS,
    *IMPLEMENTATION_SLOTS,
    Slot(
        "end_txn_response",
        "When does the transaction coordinator respond to EndTxn?",
        "B6",
        True,
        (
            Option(
                "at_the_decision",
                at_the_decision,
                SHIPPED,
                "KIP-98, Data Flow 5.1; TransactionCoordinator.endTransaction, sendTxnMarkersCallback",
            ),
            Option(
                "at_completion",
                at_completion,
                OURS,
                "what KIP-1289's 'true synchronisation point' would take; no draft says it",
            ),
        ),
    ),
)
