"""The questions on which designs disagree that a client answers."""

from __future__ import annotations

from collections.abc import Callable

from kipviz.core.values import Value
from kipviz.messages.share_groups import AcknowledgementBatch


class ClientRules(Value, frozen=True):
    """What the clients of one design do where the proposals differ."""

    next_poll: Callable[[tuple[int, ...], tuple[int, ...]], tuple[AcknowledgementBatch, ...]]
    """What does the next poll() say of the batch before it: (offsets of the batch, offsets staged
    through the producer) -> acknowledgements? (KIP-1289 pseudo code; finding X1.)"""
