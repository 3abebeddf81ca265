"""What to look for in a story: moments that a finding is about, told from a world and its events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from kipviz.brokers.transaction_coordinator import TransactionCoordinator
from kipviz.brokers.transaction_metadata import COMPLETED
from kipviz.cluster.world import World
from kipviz.core.model import Event
from kipviz.core.table import Table
from kipviz.messages.errors import Errors
from kipviz.messages.events import CallReturned, MessageSent
from kipviz.messages.features import STAGING_LEVEL
from kipviz.messages.share_groups import ShareFetchResponse, TxnShareAcknowledgeResponse
from kipviz.records.share_group_state import RecordState

S = RecordState
Look: TypeAlias = Callable[[World, Sequence[Event]], bool]


def committed_and_pending(world: World, events: Sequence[Event]) -> bool:
    """Say whether a commit has just returned while a record is still staged."""
    returned = any(
        isinstance(event, CallReturned) and event.call == "commitTransaction" and not event.raised
        for event in events
    )
    return returned and any(record.state is S.TX_PENDING for record in _records(world))


def waits_behind_a_vote(world: World, events: Sequence[Event]) -> bool:
    """Say whether a fetch waits although the log has a record, because a vote is at the front."""
    for share in _shares(world):
        first = share.records.get(share.start_offset)
        more = world.logs[share.partition].high_watermark > share.next_offset
        if first is not None and first.state is S.TX_PENDING and more and share.parked:
            return not any(parked.acknowledging for parked in share.parked)
    return False


def whole_batch_refused(world: World, events: Sequence[Event]) -> bool:
    """Say whether a poll's acknowledgements were just refused, all for the sake of a staged one."""
    return any(
        isinstance(event, MessageSent)
        and isinstance(event.message, ShareFetchResponse)
        and event.message.acknowledge_error is Errors.INVALID_RECORD_STATE
        for event in events
    )


def staging_refused(world: World, events: Sequence[Event]) -> bool:
    """Say whether a staging was just refused because of the state of its records."""
    return any(
        isinstance(event, MessageSent)
        and isinstance(event.message, TxnShareAcknowledgeResponse)
        and event.message.error is Errors.INVALID_RECORD_STATE
        for event in events
    )


def complete_but_open(world: World, events: Sequence[Event]) -> bool:
    """Say whether a transaction is complete at its coordinator and still open in some log."""
    done = {
        known.producer_id
        for role in world.roles.values()
        if isinstance(role, TransactionCoordinator)
        for known in role.transactions.values()
        if known.state in COMPLETED
    }
    return any(pid in done for log in world.logs.values() for _, pid in log.open)


def unsupported_though_finalized(world: World, events: Sequence[Event]) -> bool:
    """Say whether a staging has just thrown although the feature is finalized."""
    return world.image.features.share_version >= STAGING_LEVEL and any(
        isinstance(event, CallReturned) and event.raised.startswith("UnsupportedVersion")
        for event in events
    )


def _shares(world: World) -> Iterator[Any]:
    for role in world.roles.values():
        yield from getattr(role, "shares", Table.of()).values()


def _records(world: World) -> Iterator[Any]:
    for share in _shares(world):
        yield from share.records.values()
