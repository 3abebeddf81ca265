"""Predicates on a story: the moments of findings, recognised from a world and its events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from kipviz.brokers.share_coordinators.share_state import ShareCoordinator
from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.brokers.transactions.transaction_metadata import COMPLETED
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.clients.throwing.client_errors import ExceptionClass, RequestError, exception_class
from kipviz.cluster.world import World
from kipviz.core.model import Event
from kipviz.messages.errors import Errors
from kipviz.messages.events import (
    BatchAppended,
    CallReturned,
    MessageSent,
    SharePartitionLoaded,
)
from kipviz.messages.message_errors import error_in
from kipviz.messages.shares.share_groups import (
    ShareFetchResponse,
    TxnShareAcknowledge,
    TxnShareAcknowledgeResponse,
)
from kipviz.properties.facts.share_facts import share_partitions
from kipviz.records.batches import COMMIT
from kipviz.records.placement import SHARE_GROUP_STATE, topic_of
from kipviz.records.share_group_state import RecordState

S = RecordState
Look: TypeAlias = Callable[[World, Sequence[Event]], bool]


def committed_and_pending(world: World, events: Sequence[Event]) -> bool:
    """Return whether a commit has just returned while a record is still staged."""
    returned = any(
        isinstance(event, CallReturned) and event.call == "commitTransaction" and not event.raised
        for event in events
    )
    return returned and any(record.state is S.TX_PENDING for record in _records(world))


def waits_behind_an_acknowledgement(world: World, events: Sequence[Event]) -> bool:
    """Return whether a fetch waits although the log has a record, because a staged record is first in the window."""
    for share in share_partitions(world):
        first = share.records.get(share.start_offset)
        more = world.logs[share.partition].high_watermark > share.next_offset
        if first is not None and first.state is S.TX_PENDING and more and share.parked:
            return not any(parked.acknowledging for parked in share.parked)
    return False


def staged_before_the_start(world: World, events: Sequence[Event]) -> bool:
    """Return whether a record is staged that the start offset has passed, because its log was deleted."""
    return any(
        record.state is S.TX_PENDING and offset < share.start_offset
        for share in share_partitions(world)
        for offset, record in share.records.items()
    )


def whole_batch_refused(world: World, events: Sequence[Event]) -> bool:
    """Return whether a poll's acknowledgements were just rejected, all of them because of a staged one."""
    return any(
        part.acknowledge_error is Errors.INVALID_RECORD_STATE
        for event in events
        if isinstance(event, MessageSent) and isinstance(event.message, ShareFetchResponse)
        for part in event.message.responses
    )


def staging_refused(world: World, events: Sequence[Event]) -> bool:
    """Return whether a staging was just rejected because of the state of its records."""
    return any(
        isinstance(event, MessageSent)
        and isinstance(event.message, TxnShareAcknowledgeResponse)
        and error_in(event.message) is Errors.INVALID_RECORD_STATE
        for event in events
    )


def half_of_a_call(world: World, events: Sequence[Event]) -> bool:
    """Return whether a part of a staging call was just rejected while another part of it is staged."""
    refused = {
        event.source
        for event in events
        if isinstance(event, MessageSent)
        and isinstance(event.message, TxnShareAcknowledgeResponse)
        and error_in(event.message) is not Errors.NONE
    }
    callers = {
        app.producer.manager.producer_id
        for app in world.applications.values()
        if app.producer.source in refused
    }
    return any(
        record.state is S.TX_PENDING and record.staged_producer_id in callers
        for record in _records(world)
    )


def held_and_stale(world: World, events: Sequence[Event]) -> bool:
    """Return whether a staging was just rejected for its epoch although its member holds the record."""
    refused = any(
        isinstance(event, MessageSent)
        and isinstance(event.message, TxnShareAcknowledgeResponse)
        and error_in(event.message) is Errors.STALE_MEMBER_EPOCH
        for event in events
    )
    return refused and any(record.state is S.ACQUIRED for record in _records(world))


def committed_and_loaded_without(world: World, events: Sequence[Event]) -> bool:
    """Return whether a share-partition was just loaded without a trace of a committed transactional acknowledgement."""
    committed = any(
        batch.control == COMMIT
        for name, log in world.logs.items()
        if name.startswith(SHARE_GROUP_STATE)
        for batch in log.batches
    )
    return committed and any(isinstance(e, SharePartitionLoaded) and not e.held for e in events)


def waits_for_nobody(world: World, events: Sequence[Event]) -> bool:
    """Return whether a record is staged, its transaction is complete, and no log contains the outcome."""
    done = _find_completed(world)
    kept = [role for role in world.roles.values() if isinstance(role, ShareCoordinator)]
    for share in share_partitions(world):
        state = next((role.states[share.key] for role in kept if share.key in role.states), None)
        if state is None or share.writes:
            continue
        for offset, record in share.records.items():
            pending = record.state is S.TX_PENDING and record.staged_producer_id in done
            told = any(batch.first <= offset <= batch.last for batch in state.batches)
            if pending and not told and state.start_offset <= offset:
                return True
    return False


def letter_outside(world: World, events: Sequence[Event]) -> bool:
    """Return whether a dead letter was just written outside a transaction, after the decision."""
    letters = world.image.dead_letter_topics
    outside = any(
        isinstance(event, BatchAppended)
        and event.producer_id < 0
        and topic_of(event.partition) in letters
        for event in events
    )
    return outside and not any(record.state is S.TX_PENDING for record in _records(world))


def complete_but_open(world: World, events: Sequence[Event]) -> bool:
    """Return whether a transaction is complete at its coordinator and still open in some log."""
    done = _find_completed(world)
    return any(pid in done for log in world.logs.values() for _, pid in log.open)


def unsupported_though_finalized(world: World, events: Sequence[Event]) -> bool:
    """Return whether a staging has just thrown although the feature is finalized."""
    return world.image.features.staging and any(
        isinstance(event, CallReturned)
        and exception_class(event.raised) is ExceptionClass.UNSUPPORTED_VERSION
        for event in events
    )


def ended_with_its_output_open(world: World, events: Sequence[Event]) -> bool:
    """Return whether a program has just ended with an exception while its transaction is open."""
    ended = {e.application for e in events if isinstance(e, CallReturned) and e.raised}
    return any(
        any(producer_id == app.producer.manager.producer_id for _, producer_id in log.open)
        for name in ended
        if (app := world.applications[name]).ended
        for log in world.logs.values()
    )


def thrown_by_the_commit(world: World, events: Sequence[Event]) -> bool:
    """Return whether commitTransaction() has just thrown the error of a staging."""
    return any(
        isinstance(event, CallReturned)
        and event.call == "commitTransaction"
        and isinstance(event.raised, RequestError)
        and event.raised.request is TxnShareAcknowledge
        for event in events
    )


def _find_completed(world: World) -> set[int]:
    """Return the producer ids whose transactions are complete at their coordinators."""
    return {
        known.producer_id
        for role in world.roles.values()
        if isinstance(role, TransactionCoordinator)
        for known in role.transactions.values()
        if known.state in COMPLETED
    }


def _records(world: World) -> Iterator[InFlight]:
    for share in share_partitions(world):
        yield from share.records.values()
