"""The questions on which designs disagree that a client answers."""

from __future__ import annotations

from collections.abc import Callable

from kipviz.core.values import Value


class ClientRules(Value, frozen=True):
    """What the clients of one design do where the proposals differ."""

    staged_records: Callable[[tuple[int, ...], tuple[int, ...]], tuple[int, ...]]
    """Which records of its current batch does the share consumer still count as its own:
    (offsets of the batch, offsets staged through the producer) -> offsets? What it still counts
    is acknowledged by the next poll() in implicit mode. (KIP-1289 pseudo code; finding X1.)"""
