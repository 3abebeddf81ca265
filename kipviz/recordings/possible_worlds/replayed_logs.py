"""A broker's logs, replayed by the model: its worlds from the first request to the last.

The recording does not show the order of log writes during a request. A request is therefore compared at each moment
between its arrival and its answer; a moment is a number of entries that the logs have.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.cluster.real.rebuilt_cluster import BROKER, RebuiltBatch, RebuiltModel
from kipviz.cluster.world import World
from kipviz.designs.catalogue import design
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.request_context.arrival import span_of
from kipviz.recordings.request_context.evidence import Evidence, cluster_of


class ReplayedLogs:
    """A broker's logs in the model.

    Attributes:
        entries: the batches of all logs, in the order in which they were written.
        skipped: how many of them were written before the first request.
        model: the broker of the recording.
        waiting: the same broker, whose new target assignments are late (KIP-1263).
        worlds: the world after each entry, from the first request on.
        timed: the same worlds with their times in ms; the first one has time 0.
        own: what a single broker's roles could read there, with the same times.
    """

    def __init__(
        self,
        evidence: Evidence,
        exchanges: tuple[Exchange, ...],
        brought: Iterable[tuple[str, int]],
    ) -> None:
        """Replay the logs; `brought` are the partitions and offsets of the batches that requests appended."""
        self.entries = evidence.entries
        # A merge of logs is ordered by their times.
        self._times = [entry.at_ms for entry in self.entries]
        self._places = {(e.partition, e.batch.base_offset): n for n, e in enumerate(self.entries)}
        self.skipped = self._before_all(exchanges, brought)
        chosen = design("kafka")
        rules = (chosen.broker_rules(), chosen.client_rules())
        spec = cluster_of(evidence)
        self.model = RebuiltModel(spec, *rules, self.entries, self.skipped)
        waiting = spec.but(settings=spec.settings.but(targets_wait=True))
        self.waiting = RebuiltModel(waiting, *rules, self.entries, self.skipped)
        self.worlds = [self.model.initial()]
        while possible := self.model.enabled(self.worlds[-1]):
            self.worlds.append(self.model.step(self.worlds[-1], possible[0]).world)
        times = (0, *(entry.at_ms for entry in self.entries[self.skipped :]))
        self.timed = tuple(zip(times, self.worlds, strict=True))
        self.own = [(at, self.model.context(world, BROKER)) for at, world in self.timed]

    def _before_all(
        self, exchanges: tuple[Exchange, ...], brought: Iterable[tuple[str, int]]
    ) -> int:
        """Return the number of entries that were written before the first request: those that no request appended.

        The timestamp of a producer's batch is the time of its creation, and its request may have been sent much later.
        """
        first = min((x.received_ms for x in exchanges if not x.problem), default=0)
        times = [self._times[self._places[at]] for at in brought if at in self._places]
        # A line may be late, and each request may have written something before its line.
        return max(bisect_left(self._times, min((first, *times))) - len(exchanges), 0)

    def moments(self, exchange: Exchange, behind_ms: int = 0) -> Iterator[int]:
        """Yield the numbers of entries that the logs may have had at some time of an exchange."""
        first = bisect_left(self._times, span_of(exchange)[0] - behind_ms)
        last = bisect_right(self._times, exchange.answered_ms)
        yield from (at - self.skipped for at in range(max(first, self.skipped), last + 1))

    def find_append(self, partition: str, offset: int) -> int:
        """Return the moment before a batch was in the log, -1 if the log has it from the beginning on.

        The timestamp of a producer's batch is the time of its creation, not of its append.
        """
        return max(self._places.get((partition, offset), -1) - self.skipped, -1)

    def next_written_ms(self, moment: int) -> int:
        """Return the time at which the next entry after a moment was written."""
        return self._times[moment + self.skipped]

    def past(self, moment: int) -> tuple[RebuiltBatch, ...]:
        """Return the entries that the logs have at a moment."""
        return self.entries[: moment + self.skipped]

    def world_after(self, entries: int) -> World | None:
        """Return the world after a number of entries of all logs; None if that was before the first request."""
        return self.worlds[entries - self.skipped] if entries >= self.skipped else None

    def log_after(self, partition: str, entries: int) -> PartitionLog | None:
        """Return a partition's log after a number of entries of all logs."""
        return self.worlds[max(entries - self.skipped, 0)].logs.get(partition)
