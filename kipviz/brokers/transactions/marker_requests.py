"""Markers of several transactions in one request: each transaction has its own results.

WHO: a transaction coordinator. WHERE IN KAFKA: TransactionMarkerChannelManager,
TransactionMarkerRequestCompletionHandler.
KIPS: KIP-98.
DURABILITY: none; after a broken connection the coordinator retries.

Which transactions go into one request is decided where the markers are sent (`transaction_append.merge_markers`): those that
one step of a coordinator ends on one broker, such as all decided ones that a new coordinator finds.

NOT MODELLED: that a broker's coordinators share one queue, so that the decisions between two rounds of its thread go
into one request, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kipviz.brokers.context import Context, Effects, MarkersOf, with_effects
from kipviz.brokers.transactions import transaction_coordinator
from kipviz.brokers.transactions.transaction_append import merge_markers
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.messages.transactions.transactions import (
    TxnMarker,
    TxnMarkerResult,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)

# The marker of a transaction, or its result.
M = TypeVar("M", bound=TxnMarker | TxnMarkerResult)


def on_markers_answered(
    me: TransactionCoordinator, response: WriteTxnMarkersResponse, tag: MarkersOf, on: Context
) -> Effects[TransactionCoordinator]:
    """Handle the results of each transaction of a request.

    WHEN: a broker answers WriteTxnMarkers. CHECKS and DOES: for each transaction what
    `transaction_coordinator.on_markers_answered` does. ANSWERS: no request.
    Clause: KIP-98 "WriteTxnMarkerRequest"; TransactionMarkerRequestCompletionHandler.onComplete.
    """
    return _each(me, response.markers, tag, on, transaction_coordinator.on_markers_answered)


def on_markers_lost(
    me: TransactionCoordinator,
    lost: WriteTxnMarkers | WriteTxnMarkersResponse,
    tag: MarkersOf,
    on: Context,
) -> Effects[TransactionCoordinator]:
    """Send the markers of each transaction again after a connection broke, before or after the response."""
    return _each(me, lost.markers, tag, on, transaction_coordinator.on_markers_lost)


def _each(
    me: TransactionCoordinator,
    markers: tuple[M, ...],
    tag: MarkersOf,
    on: Context,
    handler: Callable[
        [TransactionCoordinator, M, MarkersOf, Context], Effects[TransactionCoordinator]
    ],
) -> Effects[TransactionCoordinator]:
    parts: list[Effects[TransactionCoordinator]] = []
    for place, each in enumerate(markers):
        mine = _tag_of(me, each.producer_id, tag) if place else tag
        part = handler(me, each, mine, on.after(*parts))
        me = part.state
        parts.append(part)
    return merge_markers(with_effects(me, *parts))


def _tag_of(me: TransactionCoordinator, producer_id: int, tag: MarkersOf) -> MarkersOf:
    """Return the tag of a further transaction in a request, which has the first one's coordinator epoch."""
    found = (t for t in me.transactions.values() if t.producer_id == producer_id)
    return tag.but(transactional_id=next((t.transactional_id for t in found), ""))
