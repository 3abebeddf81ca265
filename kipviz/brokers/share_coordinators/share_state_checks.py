"""The checks of a share coordinator's requests, in Kafka's order.

WHERE IN KAFKA: ShareCoordinatorShard.maybeGetReadStateError, maybeGetWriteStateError, maybeGetInitializeStateError,
maybeGetDeleteStateError and maybeGetReadStateSummaryError. KIPS: KIP-932. Each function returns the checks up to the
first one that fails; see `checks`. The check of pending transactional acknowledgements is our inference.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers import deleted_topics
from kipviz.brokers.checks import Check, compare, has_loaded, in_order, report_value
from kipviz.brokers.context import Context
from kipviz.brokers.share_coordinators.share_state import ShareCoordinator, ShareState
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_state import (
    DeleteStateData,
    InitializeStateData,
    ReadStateData,
    ReadStateSummaryData,
    TxnWriteShareGroupState,
    WriteStateData,
)


@in_order
def read_checks(me: ShareCoordinator, request: ReadStateData, on: Context) -> Iterator[Check]:
    """Check that a leader may read a state: it exists, no newer leader has read it, its topic exists."""
    yield has_loaded(me.loading)
    state = me.states.get(request.key)
    yield _is_initialized(state)
    assert state is not None
    yield _leader_epoch(state, request.leader_epoch)
    yield _topic_there(request.key, on)
    yield report_value("start offset", state.start_offset)
    yield report_value("acknowledgements of producer ids", _producers(me, request.key))


@in_order
def write_checks(
    me: ShareCoordinator, request: WriteStateData | TxnWriteShareGroupState, on: Context
) -> Iterator[Check]:
    """Check that a leader may write a state: since its read there was no newer leader and no reset."""
    yield has_loaded(me.loading)
    state = me.states.get(request.key)
    yield _is_initialized(state)
    assert state is not None
    yield _leader_epoch(state, request.leader_epoch)
    yield _state_epoch(state, request.state_epoch)
    yield _topic_there(request.key, on)
    yield Check("start offset", request.start_offset, state.start_offset)


@in_order
def initialize_checks(
    me: ShareCoordinator, request: InitializeStateData, on: Context
) -> Iterator[Check]:
    """Check that a state can be created, or created again.

    Its epoch must not be older, and a pending transactional acknowledgement may prevent it.
    """
    yield has_loaded(me.loading)
    state = me.states.get(request.key)
    if state is None:
        yield report_value("state", None)
    else:
        yield _state_epoch(state, request.state_epoch)
    yield _topic_there(request.key, on)
    if is_there_as_asked(state, request, on):
        yield report_value("state as asked for", True)
    else:
        yield pending_acknowledgements(me, request.key, on)


@in_order
def delete_checks(me: ShareCoordinator, request: DeleteStateData, on: Context) -> Iterator[Check]:
    """Check that a state can be deleted; one that does not exist counts as deleted."""
    yield has_loaded(me.loading)
    yield _topic_there(request.key, on)
    yield pending_acknowledgements(me, request.key, on)
    state = me.states.get(request.key)
    yield report_value("state epoch", state.state_epoch if state is not None else None)


@in_order
def summary_checks(
    me: ShareCoordinator, request: ReadStateSummaryData, on: Context
) -> Iterator[Check]:
    """Check that a summary can be returned; for a state that does not exist it is empty."""
    yield has_loaded(me.loading)
    yield _topic_there(request.key, on)
    state = me.states.get(request.key)
    yield report_value("start offset", state.start_offset if state is not None else None)


def is_there_as_asked(state: ShareState | None, request: InitializeStateData, on: Context) -> bool:
    """Return whether an Initialize repeats the existing state, and the design then keeps that state."""
    if state is None or on.rules.initialize_again():
        return False
    return (state.state_epoch, state.start_offset) == (request.state_epoch, request.start_offset)


def pending_acknowledgements(me: ShareCoordinator, key: str, on: Context) -> Check:
    """Check that pending transactional acknowledgements do not prevent a new creation, or a deletion, of a state."""
    producers = _producers(me, key)
    error = on.rules.reset_while_pending(bool(producers))[0]
    refusal = on.rules.reset_while_pending(True)[0]
    otherwise = (refusal,) if refusal is not Errors.NONE else ()
    return Check("acknowledgements of producer ids", None, producers, error, otherwise)


def _producers(me: ShareCoordinator, key: str) -> tuple[int, ...]:
    return tuple(
        p
        for p, acknowledgements in me.acknowledgements.items()
        if any(acknowledgement.key == key for acknowledgement in acknowledgements)
    )


def _is_initialized(state: ShareState | None) -> Check:
    there = state is not None
    return compare("state initialized", None, there, there, Errors.INVALID_REQUEST)


def _leader_epoch(state: ShareState, epoch: int) -> Check:
    newest = state.newest_leader
    return compare("leader epoch", epoch, newest, newest <= epoch, Errors.FENCED_LEADER_EPOCH)


def _state_epoch(state: ShareState, epoch: int) -> Check:
    known = state.state_epoch
    return compare("state epoch", epoch, known, known <= epoch, Errors.FENCED_STATE_EPOCH)


def _topic_there(key: str, on: Context) -> Check:
    error = deleted_topics.why_no_state(key, on.image)
    there = error is Errors.NONE
    return compare("topic there", None, there, there, Errors.UNKNOWN_TOPIC_OR_PARTITION)
