"""Goals of the stories about a partition's log: replicas that are missing, and what is appended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kipviz.cluster.actions import Load
from kipviz.messages.errors import Errors
from kipviz.messages.events import MessageSent, TransactionDecided
from kipviz.messages.producing import ProduceResponse
from kipviz.messages.transactions import (
    EndTxnResponse,
    InitProducerIdResponse,
    WriteTxnMarkersResponse,
)

# What an append that failed is to whoever asked for it.
FAILED = (Errors.COORDINATOR_NOT_AVAILABLE, Errors.NOT_ENOUGH_REPLICAS)


def _errors(message: Any) -> tuple[Errors, ...]:
    match message:
        case ProduceResponse() | EndTxnResponse() | InitProducerIdResponse():
            return (message.error,)
        case WriteTxnMarkersResponse():
            return tuple(result.error for result in message.results)
        case _:
            return ()


def _append_refused(moment: Any) -> bool:
    """An append was just answered with an error, because replicas were missing."""
    sent = (event.message for event in moment.events if isinstance(event, MessageSent))
    return any(error in FAILED for message in sent for error in _errors(message))


def _given_up(moment: Any) -> bool:
    """A record is in a log whose writer was told that it failed."""
    return any(log.given_up for log in moment.world.logs.values())


def _decided_by_the_next(moment: Any) -> bool:
    """A coordinator has just taken office, and its log held a decision that nobody was told of."""
    return (
        bool(moment.actions)
        and isinstance(moment.actions[-1], Load)
        and any(isinstance(event, TransactionDecided) for event in moment.events)
    )


GOALS: Mapping[str, Callable[[Any], bool]] = {
    "append refused": _append_refused,
    "record given up": _given_up,
    "decided by the next coordinator": _decided_by_the_next,
}
