"""The options of KIP-1289's draft implementation where the KIP's text is silent, each a slot of its own.

Sources: pull request 22357 of Apache Kafka (a draft, never merged) in its distinguishable iterations, called early,
middle and late here. "Seen in source" is what its code or its tests show; anything else is our inference and says so.
`Slot.written` names the option of the designs that are called "as written".
"""

from __future__ import annotations

from typing import TypeAlias

from kipviz.designs.conditions import drains
from kipviz.designs.slot import DRAFT, OURS, SHIPPED, Option, Slot
from kipviz.records import share_group_state
from kipviz.records.share_group_state import Rank, StateBatch

EARLY = "pull request 22357, early iteration: draft implementation, seen in source"
MIDDLE = "pull request 22357, middle iteration: draft implementation, seen in source"
LATE = "pull request 22357, late iteration: draft implementation, seen in source"

Deliveries: TypeAlias = tuple[tuple[int, int], ...]

# -- acknowledgement_form: In which form does an acknowledgement become durable? -------------------


def batch_of_the_transaction() -> bool:
    """As a batch of the transaction, which the share coordinator appends after it has added its own partition."""
    return False


def delivery_state_5() -> bool:
    """As delivery state TX_PENDING in an ordinary state write, after the leader has added the participant."""
    return True


# -- pending_resolver: Which role resolves a durable TX_PENDING? -----------------------------------


def share_coordinator_completes() -> bool:
    """The share coordinator completes it when the marker reaches its log, and the leader reads it again."""
    return True


def leader_completes() -> bool:
    """The share-partition leader alone, in memory; then it writes the outcome like any other state."""
    return False


# -- state_rank: Which of two durable states of one offset wins? -----------------------------------


def by_state_number(batch: StateBatch) -> Rank:
    """The higher delivery count, then the higher state number: TX_PENDING (5) outranks every outcome."""
    return share_group_state.rank_by_number(batch)


def pending_below_outcomes(batch: StateBatch) -> Rank:
    """The higher delivery count, then the higher state number, but TX_PENDING ranks below all others."""
    return share_group_state.rank_with_pending_last(batch)


# -- marker_hook: When does a marker resolve acknowledgements in memory? ---------------------------


def after_the_append(before: bool, names_state: bool) -> bool:
    """When the request's markers are appended, whichever partitions the request names."""
    return not before


def before_the_append(before: bool, names_state: bool) -> bool:
    """First of all, before leadership is checked and before anything is appended."""
    return before


def for_state_markers_alone(before: bool, names_state: bool) -> bool:
    """When the markers are appended, if the request names a partition of __share_group_state."""
    return not before and names_state


# -- abort_limit: Is the delivery limit checked when a transaction aborts? -------------------------


def not_asked(delivery_count: int, limit: int) -> bool:
    """No: the record becomes AVAILABLE again, so one whose transaction is aborted each time (a poison record) is never archived."""
    return False


def archived_at_the_limit(delivery_count: int, limit: int) -> bool:
    """Yes, as when a record is released: at the limit it is archived."""
    return delivery_count >= limit


# -- rollback_lock: Does the acquisition lock run again after a staging that failed? ---------------


def timer_runs(lock: int) -> int:
    """Yes: the record is ACQUIRED under its lock again."""
    return lock


def no_timer(lock: int) -> int:
    """No: the timer was cancelled when the record was staged, and the record is ACQUIRED without one."""
    return -1


# -- participant_order: Is the participant added before or after the acknowledgement is staged? ----


def added_first() -> bool:
    """The participant is added first; if that is rejected, nothing is staged."""
    return True


def staged_first() -> bool:
    """The records are staged first; then the participant is added, if the transaction is still open."""
    return False


# -- refresh_match: Which acknowledgements does the response to a refresh resolve? -----------------


def noted_before_the_read(noted: bool) -> bool:
    """The acknowledgements that were durable when the read was sent, record by record."""
    return noted


def of_a_noted_transaction(noted: bool) -> bool:
    """Every acknowledgement with the producer id and epoch of one that was durable then, even if it was staged meanwhile."""
    return True


# -- unanswered_acknowledgement: What happens to a TX_PENDING record that a refresh does not find in the durable state? --


def dropped_with_the_share_partition() -> bool:
    """The share-partition is dropped and loaded again: no later read would have an outcome of that acknowledgement."""
    return False


def stays_pending() -> bool:
    """It stays TX_PENDING; a record below the start offset of the state counts as ARCHIVED."""
    return True


# -- drain: Does draining for a transaction remove acknowledgements from the consumer? -------------


def decisions_leave() -> bool:
    """Yes: drained decisions are not sent as ordinary acknowledgements."""
    return True


def decisions_stay() -> bool:
    """No: the next poll(), commitSync() or close() sends them again, outside the transaction."""
    return False


# -- staged_deliveries: Does a staging name the delivery that it is about? -------------------------


def of_no_delivery(deliveries: Deliveries) -> Deliveries:
    """No: it names only the member, so two deliveries to the same member look alike."""
    return ()


def with_delivery_counts(deliveries: Deliveries) -> Deliveries:
    """Yes: it carries the delivery count of each record, and another count is rejected."""
    return deliveries


IMPLEMENTATION_SLOTS: tuple[Slot, ...] = (
    Slot(
        "acknowledgement_form",
        "In which form does an acknowledgement become durable?",
        "as implemented",
        True,
        (
            Option("batch_of_the_transaction", batch_of_the_transaction, OURS, "finding E"),
            Option("delivery_state_5", delivery_state_5, DRAFT, MIDDLE),
        ),
        written="delivery_state_5",
    ),
    Slot(
        "pending_resolver",
        "Which role resolves a durable TX_PENDING?",
        "as implemented",
        True,
        (
            Option("share_coordinator_completes", share_coordinator_completes, DRAFT, LATE),
            Option("leader_completes", leader_completes, DRAFT, MIDDLE),
        ),
        written="leader_completes",
    ),
    Slot(
        "state_rank",
        "Which of two durable states of one offset wins?",
        "as implemented",
        True,
        (
            Option("by_state_number", by_state_number, SHIPPED, "PersisterStateBatchCombiner"),
            Option(
                "pending_below_outcomes",
                pending_below_outcomes,
                OURS,
                "a repair of the merge with delivery state 5",
            ),
        ),
    ),
    Slot(
        "marker_hook",
        "When does a marker resolve acknowledgements in memory?",
        "as implemented",
        True,
        (
            Option(
                "after_the_append",
                after_the_append,
                DRAFT,
                "KIP-1289 Flow - Share Group, 'Appends the COMMIT control batch', 'Fires the hook'",
            ),
            Option("before_the_append", before_the_append, DRAFT, EARLY),
            Option("for_state_markers_alone", for_state_markers_alone, DRAFT, MIDDLE),
        ),
    ),
    Slot(
        "abort_limit",
        "Is the delivery limit checked when a transaction aborts?",
        "as implemented",
        True,
        (
            Option("not_asked", not_asked, DRAFT, MIDDLE),
            Option(
                "archived_at_the_limit",
                archived_at_the_limit,
                OURS,
                "KIP-932, as release and lock expiry do; whether the late iteration does is not known",
            ),
        ),
    ),
    Slot(
        "rollback_lock",
        "Does the acquisition lock run again after a staging that failed?",
        "as implemented",
        True,
        (
            Option(
                "timer_runs",
                timer_runs,
                DRAFT,
                "KIP-1289 State machine additions, 'lock continues'",
            ),
            Option(
                "no_timer",
                no_timer,
                OURS,
                "InFlightState of pull request 22357 arms none; whether SharePartition does is not known",
            ),
        ),
    ),
    Slot(
        "participant_order",
        "Is the participant added before or after the acknowledgement is staged?",
        "as implemented",
        True,
        (
            Option(
                "added_first",
                added_first,
                DRAFT,
                "KIP-1289 Flow - Share Group, 'Only on success'; " + EARLY,
            ),
            Option("staged_first", staged_first, OURS, "the order that the text rules out"),
        ),
    ),
    Slot(
        "refresh_match",
        "Which acknowledgements does the response to a refresh resolve?",
        "as implemented",
        True,
        (
            Option("noted_before_the_read", noted_before_the_read, DRAFT, LATE),
            Option(
                "of_a_noted_transaction",
                of_a_noted_transaction,
                OURS,
                "a leader that goes by producer id and epoch alone; under transaction version 1 two transactions share them",
            ),
        ),
    ),
    Slot(
        "unanswered_acknowledgement",
        "What happens to a TX_PENDING record that a refresh does not find in the durable state?",
        "as implemented",
        True,
        (
            Option(
                "dropped_with_the_share_partition",
                dropped_with_the_share_partition,
                OURS,
                "a repair: a reset of the group leaves no batch of the acknowledgement, and often the same state epoch",
            ),
            Option("stays_pending", stays_pending, DRAFT, LATE),
        ),
        written="stays_pending",
    ),
    Slot(
        "drain",
        "Does draining for a transaction remove acknowledgements from the consumer?",
        "as implemented",
        False,
        (
            Option("decisions_leave", decisions_leave, DRAFT, MIDDLE),
            Option(
                "decisions_stay",
                decisions_stay,
                OURS,
                "a consumer that does not learn the outcome of its decisions, as in KIP-1289 Pseudo code",
            ),
        ),
        drains,
    ),
    Slot(
        "staged_deliveries",
        "Does a staging name the delivery that it is about?",
        "as implemented",
        False,
        (
            Option("of_no_delivery", of_no_delivery, DRAFT, "KIP-1289 TxnShareAcknowledgeRequest"),
            Option(
                "with_delivery_counts",
                with_delivery_counts,
                OURS,
                "a repair: two deliveries to one member are distinguished",
            ),
        ),
    ),
)
