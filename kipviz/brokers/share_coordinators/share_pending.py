"""Delivery state 5: transactional acknowledgements as an ordinary part of the durable state, and their markers.

WHO: the share coordinator, under a design whose leader writes TX_PENDING as a delivery state (slot acknowledgement_form).
WHERE IN KAFKA: nowhere; SOURCE: pull request 22357 (draft implementation, seen in source), middle and late iterations:
the state batch has a staged producer id, epoch, acknowledge type and state, and the share coordinator completes the
records. NOT KNOWN: its rule for the marker's epoch (slot marker_epoch), and how an outcome passes the merge, where
TX_PENDING has the highest number (slot outcome_join).
"""

from __future__ import annotations

from kipviz.brokers.rules import BrokerRules
from kipviz.brokers.share_coordinators.share_state import ShareCoordinator
from kipviz.records.batches import COMMIT, Batch
from kipviz.records.share_group_state import RecordState, StateBatch


def resolve_pending(me: ShareCoordinator, marker: Batch, rules: BrokerRules) -> ShareCoordinator:
    """Resolve the TX_PENDING batches of this coordinator's states that belong to a marker.

    OPEN: marker_epoch (which batches), commit_target, outcome_join (how an outcome is merged into the state).
    """
    committed = marker.control == COMMIT
    for key, state in me.states.items():
        fits = tuple(b for b in state.batches if _fits(b, marker, rules))
        if not fits:
            continue
        decided = tuple(_outcome(b, rules, committed=committed) for b in fits)
        # The outcome replaces the batch, for a commit and for an abort: neither competes with a transactional
        # acknowledgement.
        joined = rules.outcome_join(state.batches, decided, True, state.start_offset)
        me = me.but(states=me.states.set(key, state.but(batches=joined, cold=False)))
    return me


def _fits(batch: StateBatch, marker: Batch, rules: BrokerRules) -> bool:
    if batch.state is not RecordState.TX_PENDING or batch.staged_producer_id != marker.producer_id:
        return False
    return rules.marker_epoch(batch.staged_producer_epoch, marker.producer_epoch)


def _outcome(batch: StateBatch, rules: BrokerRules, *, committed: bool) -> StateBatch:
    """Return the outcome of a batch: on commit the state chosen when it was staged, on abort AVAILABLE."""
    state = RecordState.AVAILABLE
    if committed:
        state = rules.commit_target(batch.staged_type)
        if state is RecordState.ARCHIVED and batch.staged_state == RecordState.ARCHIVING:
            state = RecordState.ARCHIVING
    return StateBatch(batch.first, batch.last, state, batch.delivery_count)
