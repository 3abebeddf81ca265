"""The options for single findings of the KIP-1289 review, each a slot of its own.

`Slot.written` names the option of the KIP's text. Where the text is silent, it names the nearest option.
"""

from __future__ import annotations

from kipviz.designs.slot import DRAFT, OURS, SHIPPED, Option, Slot
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_groups import AcknowledgeType
from kipviz.records.share_group_state import RecordState, StateBatch, merge, replace

Batches = tuple[StateBatch, ...]

# -- commit_target: What does a staged record become when its transaction commits? -----------------


def by_its_type(acknowledge_type: int) -> RecordState:
    """ACCEPT makes it ACKNOWLEDGED, REJECT makes it ARCHIVED."""
    accepted = acknowledge_type == AcknowledgeType.ACCEPT
    return RecordState.ACKNOWLEDGED if accepted else RecordState.ARCHIVED


def acknowledged_either_way(acknowledge_type: int) -> RecordState:
    """It becomes ACKNOWLEDGED: "same for RELEASE and REJECT"."""
    return RecordState.ACKNOWLEDGED


# -- marker_answer: When does the coordinator learn that a marker is written to __share_group_state? --


def when_replicated() -> bool:
    """When all in-sync replicas have it."""
    return True


def when_appended() -> bool:
    """As soon as the leader has appended it to its own log."""
    return False


# -- outcome_write: What happens to a marker whose outcome for an acknowledgement in memory cannot be made durable? --


def counts_as_done() -> bool:
    """The marker counts as written: memory has the outcome, and the failed write is not repeated."""
    return False


def keeps_the_acknowledgement() -> bool:
    """The record stays TX_PENDING and the marker fails: the coordinator sends it again."""
    return True


# -- state_marker: Is the share coordinator notified of a marker that is written to its log? -------


def through_the_coordinator() -> bool:
    """Yes: its own runtime appends the marker, like the group coordinator's."""
    return True


def behind_its_back() -> bool:
    """No: the log accepts the marker, and the coordinator's next write finds that it is out of step."""
    return False


# -- staging_starts: Does staging an acknowledgement start the producer's transaction? -------------


def staging_counts() -> bool:
    """Yes, like sendOffsetsToTransaction()."""
    return True


def only_sends_count() -> bool:
    """No: only send() and sendOffsetsToTransaction() do; a transaction without them commits without an EndTxn."""
    return False


# -- outcome_join: How does the outcome of an acknowledgement enter the durable state? -------------


def replaces(stored: Batches, decided: Batches, committed: bool, start: int) -> Batches:
    """A commit overwrites the stored state; an abort only updates the delivery."""
    return (replace if committed else merge)(stored, decided, start)


def joined_with_the_acknowledgement(
    stored: Batches, decided: Batches, committed: bool, start: int
) -> Batches:
    """It is merged with the stored TX_PENDING, and of two states the one with the higher id wins."""
    staged = tuple(batch.but(state=RecordState.TX_PENDING) for batch in decided)
    return merge(merge(stored, staged, start), decided, start)


# -- member_check: How does the share-partition leader check the member? ---------------------------


def whoever_holds_the_record(own: int, coordinator: int) -> Errors:
    """The record's state: the member that has acquired the record may stage it, whatever its epoch is."""
    return Errors.NONE


def epoch_at_the_own_broker(own: int, coordinator: int) -> Errors:
    """The group coordinator's state on its own broker, which seldom coordinates this group."""
    return Errors.NONE if own == coordinator else Errors.NOT_COORDINATOR


# -- marker_below_level: Does a marker resolve acknowledgements in memory after a downgrade? -------


def still_resolves(finalized: bool) -> bool:
    """Yes: acknowledgements staged before the downgrade are resolved after it."""
    return True


def not_known_any_more(finalized: bool) -> bool:
    """No: the hook is part of the feature, and is removed with it."""
    return finalized


FINDING_SLOTS: tuple[Slot, ...] = (
    Slot(
        "commit_target",
        "What does a staged record become when its transaction commits?",
        "G",
        True,
        (
            Option("by_its_type", by_its_type, DRAFT, "KIP-1289 javadoc"),
            Option(
                "acknowledged_either_way",
                acknowledged_either_way,
                DRAFT,
                "KIP-1289 State machine additions, 'same for RELEASE and REJECT'",
            ),
        ),
    ),
    Slot(
        "marker_answer",
        "When does the coordinator learn that a marker is written to __share_group_state?",
        "H",
        True,
        (
            Option("when_replicated", when_replicated, SHIPPED, "KafkaApis, acks=-1 for markers"),
            Option("when_appended", when_appended, OURS, "KIP-1289 does not say"),
        ),
    ),
    Slot(
        "outcome_write",
        "What happens to a marker whose outcome for an acknowledgement in memory cannot be made durable?",
        "X43",
        True,
        (
            Option(
                "counts_as_done",
                counts_as_done,
                DRAFT,
                "KIP-1289 Flow - Share Group; pull request 22357, its first iteration",
            ),
            Option(
                "keeps_the_acknowledgement",
                keeps_the_acknowledgement,
                DRAFT,
                "pull request 22357: draft implementation, seen in source",
            ),
        ),
    ),
    Slot(
        "state_marker",
        "Is the share coordinator notified of a marker that is written to its log?",
        "X3",
        True,
        (
            Option(
                "through_the_coordinator",
                through_the_coordinator,
                DRAFT,
                "KIP-1289 Flow, mirroring __consumer_offsets; GroupCoordinator.completeTransaction",
            ),
            Option(
                "behind_its_back",
                behind_its_back,
                SHIPPED,
                "KafkaApis.handleWriteTxnMarkersRequest, CoordinatorRuntime 'out of sync'",
            ),
        ),
    ),
    Slot(
        "outcome_join",
        "How does the outcome of an acknowledgement enter the durable state?",
        "X15",
        True,
        (
            Option("replaces", replaces, OURS, "finding X15"),
            Option(
                "joined_with_the_acknowledgement",
                joined_with_the_acknowledgement,
                DRAFT,
                "KIP-1289 Future, ShareSnapshotValue.DeliveryState; PersisterStateBatchCombiner",
            ),
        ),
        written="joined_with_the_acknowledgement",
    ),
    Slot(
        "member_check",
        "How does the share-partition leader check the member?",
        "X8",
        True,
        (
            Option(
                "whoever_holds_the_record",
                whoever_holds_the_record,
                SHIPPED,
                "SharePartition.acknowledge",
            ),
            Option(
                "epoch_at_the_own_broker",
                epoch_at_the_own_broker,
                DRAFT,
                "KIP-1289 corner case 8 and its draft code",
            ),
        ),
    ),
    Slot(
        "marker_below_level",
        "Does a marker resolve acknowledgements in memory after a downgrade?",
        "S",
        True,
        (
            Option("still_resolves", still_resolves, OURS, "finding S"),
            Option(
                "not_known_any_more",
                not_known_any_more,
                DRAFT,
                "KIP-1289 Phase 1, 'code is dormant'; Downgrade",
            ),
        ),
        written="not_known_any_more",
    ),
    Slot(
        "staging_starts",
        "Does staging an acknowledgement start the producer's transaction?",
        "X11",
        False,
        (
            Option(
                "staging_counts",
                staging_counts,
                DRAFT,
                "KIP-1289, mirroring sendOffsetsToTransaction",
            ),
            Option(
                "only_sends_count",
                only_sends_count,
                SHIPPED,
                "TransactionManager.transactionStarted, 4.4",
            ),
        ),
    ),
)
