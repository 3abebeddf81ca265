"""Goals of the stories of TransactionSession (KIP-1310)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kipviz.messages.errors import Errors
from kipviz.messages.events import MessageSent
from kipviz.messages.producing import ProduceResponse


def _batch_refused(moment: Any) -> bool:
    """A leader has just refused a batch of a producer."""
    return any(
        isinstance(event, MessageSent)
        and isinstance(event.message, ProduceResponse)
        and event.message.error is not Errors.NONE
        for event in moment.events
    )


SESSION_GOALS: Mapping[str, Callable[[Any], bool]] = {"batch refused": _batch_refused}
