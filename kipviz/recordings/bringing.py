"""Which request brought which batch: a batch that stands in a log was brought by one, and by one only.

A request log has no batches, so an answer alone does not say what was asked. The log does: where two requests are
answered with the same batch, and the batch beside it is told to nobody, one of the two brought that one. The answers
to a connection are in the order of the appends, so before the batch it was the first request, behind it the last.

Source: our inference from ReplicaManager.appendRecords and RequestChannel.updateRequestMetrics, which logs each request.
"""

from __future__ import annotations

from collections.abc import Iterable

from kipviz.recordings.leaders import Produced

# Answers that tell no offset though the batch may stand in the log.
MAY_STAND = ("REQUEST_TIMED_OUT", "NOT_ENOUGH_REPLICAS_AFTER_APPEND")


class Bringing:
    """The batches that were told, by the numbers of the exchanges that were told of them."""

    def __init__(
        self, told: Iterable[tuple[int, Produced]], batches: Iterable[tuple[str, int]]
    ) -> None:
        self._told: dict[tuple[str, int], list[int]] = {}
        self._unclear: dict[str, None] = {}
        for number, one in told:
            if dict(one.recorded)["error"] in MAY_STAND:
                self._unclear[one.partition] = None
            self._told.setdefault((one.partition, one.at), []).append(number)
        self._offsets: dict[str, list[int]] = {}
        for partition, offset in sorted(batches):
            self._offsets.setdefault(partition, []).append(offset)

    def first(self, partition: str, at: int) -> int:
        """Return which exchange was told of a batch first; -1 if there is none."""
        return next(iter(self._told.get((partition, at), ())), -1)

    def offsets(self) -> tuple[tuple[str, int], ...]:
        """Return (partition, offset) of all that were told."""
        return tuple(self._told)

    def meant(self, number: int, one: Produced) -> int:
        """Return where the batch of a request stands: beside the one of the answer, if only that fits the log."""
        if one.at < 0 or one.partition in self._unclear:
            return one.at
        offsets = self._offsets.get(one.partition, [])
        others = [n for n in self._told.get((one.partition, one.at), ()) if n != number]
        if not others or one.at not in offsets:
            return one.at
        here = offsets.index(one.at)
        beside = offsets[max(here - 1, 0) : here] if number < others[0] else []
        beside += offsets[here + 1 : here + 2] if number > others[-1] else []
        return next((at for at in beside if not self._told_to_another(number, one, at)), one.at)

    def _told_to_another(self, number: int, one: Produced, at: int) -> bool:
        return any(n != number for n in self._told.get((one.partition, at), ()))
