"""The numbers of held messages: an index changes when another message arrives, a number does not."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from kipviz.cluster.actions import Deliver
from kipviz.messages.message import Message


class HeldNumbers:
    """The number of each message that was listed as held; a message keeps its number until it is delivered or lost."""

    def __init__(self) -> None:
        self._next = count(1)
        self._known: dict[Deliver, tuple[Message, int]] = {}

    def number(self, held: Deliver, message: Message) -> int:
        """Return the number of a held message."""
        known = self._known.get(held)
        if known is None or known[0] is not message:
            known = self._known[held] = (message, next(self._next))
        return known[1]

    def forget(self, gone: Iterable[Deliver]) -> None:
        """Forget messages that were delivered or lost: an equal one is another message."""
        for held in gone:
            self._known.pop(held, None)

    def clear(self) -> None:
        """Forget all messages: the cluster went back."""
        self._known.clear()
