"""Which batch a produce request appended, as the other requests and the log tell it.

A request log has the sizes of batches and not the batches, and to look the batch up at the offset that the response
tells would ask with the answer. So the batch is one that no other request claims: it stands behind the batches of
the requests that were answered before this one can have come, and before those of the requests that came later. Only
a request that finds no such batch may repeat one that another request of its client appended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kipviz.core.values import Value
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.replayed_roles.answer_text import named
from kipviz.records.batches import Batch

PRODUCE = "PRODUCE"
Place = tuple[str, int]


class Claim(Value, frozen=True):
    """A request was told that its batch stands at an offset."""

    number: int
    client: str
    offset: int
    earliest_ms: int
    answered_ms: int


class Appends:
    """The batches of producers, and which requests claim them."""

    def __init__(
        self,
        exchanges: Iterable[Exchange],
        names: Mapping[str, str],
        batches: Mapping[Place, Batch],
    ) -> None:
        """Keep the batches by partition and first offset, and the claims.

        Raises:
            KeyError, TypeError, ValueError: if a request or its answer lacks what its version has.
        """
        self.batches = batches
        self._offsets: dict[str, list[int]] = {}
        for partition, offset in sorted(batches):
            self._offsets.setdefault(partition, []).append(offset)
        self._claims: dict[str, list[Claim]] = {}
        for number, exchange in enumerate(exchanges):
            if exchange.api != PRODUCE:
                continue
            for partition, told in answers_of(exchange, names):
                if told["errorCode"] == 0:
                    times = (exchange.earliest_ms, exchange.answered_ms)
                    claim = Claim(number, exchange.client, told["baseOffset"], *times)
                    self._claims.setdefault(partition, []).append(claim)

    def of(
        self, number: int, exchange: Exchange, partition: str
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return where the batches begin that a request may have appended, and those that it may repeat.

        What it was told itself does not count. There are none to repeat where there is one that it may have appended.
        """
        others = [c for c in self._claims.get(partition, ()) if c.number != number]
        claimed = {c.offset for c in others}
        before = [c.offset for c in others if c.answered_ms < exchange.earliest_ms]
        after = [c.offset for c in others if exchange.answered_ms < c.earliest_ms]
        offsets = self._offsets.get(partition, ())
        first = max(before, default=-1)
        last = min((o for o in after if o > first), default=None)
        transactional = bool(exchange.request["transactionalId"])
        own = tuple(
            o
            for o in offsets
            if o > first
            and (last is None or o < last)
            and o not in claimed
            and self.batches[partition, o].transactional == transactional
        )
        of_client = (c.offset for c in others if c.client == exchange.client)
        known = (o for o in dict.fromkeys(of_client) if (partition, o) in self.batches)
        return (own, ()) if own else ((), tuple(known))


def answers_of(exchange: Exchange, names: Mapping[str, str]) -> Iterable[tuple[str, Any]]:
    """Return what a produce request was told of each partition.

    Raises:
        KeyError, TypeError, ValueError: if the answer lacks what its version has.
    """
    return tuple(
        (f"{named(topic, names)}-{part['index']}", part)
        for topic in exchange.response["responses"]
        for part in topic["partitionResponses"]
    )
