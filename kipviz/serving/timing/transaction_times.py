"""When transactions began and producers last wrote, by the listeners' clock: the model of a served cluster has no time.

Source: TransactionMetadata.txnStartTimestamp, ProducerStateEntry.lastTimestamp.
"""

from __future__ import annotations

from collections.abc import Callable
from time import time_ns

from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.cluster.world import World
from kipviz.records.batches import NO_TIMESTAMP
from kipviz.records.transaction_state import TransactionState

Clock = Callable[[], int]


def no_time() -> int:
    """Return the time without a clock."""
    return NO_TIMESTAMP


def wall_ms() -> int:
    """Return the time of this machine in ms since 1970."""
    return time_ns() // 1_000_000


class Moments:
    """The times in a broker's state in Kafka, in ms since 1970, noted step by step."""

    def __init__(self, clock: Clock = no_time) -> None:
        self._clock = clock
        self._began: dict[str, int] = {}
        self._wrote: dict[tuple[str, int], int] = {}

    def begin_ms(self, transactional_id: str) -> int:
        """Return when the last transaction of an id began; NO_TIMESTAMP if unknown."""
        return self._began.get(transactional_id, NO_TIMESTAMP)

    def write_ms(self, partition: str, producer_id: int) -> int:
        """Return when a producer's last batch or marker was appended; NO_TIMESTAMP if unknown."""
        return self._wrote.get((partition, producer_id), NO_TIMESTAMP)

    def forget_gone(self, world: World) -> None:
        """Forget the times of transactional ids and producers that expired."""
        coordinators = [r for r in world.roles.values() if isinstance(r, TransactionCoordinator)]
        if not any(role.loading for role in coordinators):  # one that loads finds the times here
            ids = {name for role in coordinators for name in role.transactions}
            self._began = {name: at for name, at in self._began.items() if name in ids}
        self._wrote = {
            (partition, producer_id): at
            for (partition, producer_id), at in self._wrote.items()
            if partition in world.logs and producer_id in world.logs[partition].producers
        }

    def note(self, before: World, after: World) -> None:
        """Note the transactions and batches of a step."""
        if before.roles is not after.roles:
            self._note_transactions(before, after)
        if before.logs is not after.logs:
            self._note_batches(before, after)

    def _note_transactions(self, before: World, after: World) -> None:
        ongoing = TransactionState.ONGOING
        for key, role in after.roles.items():
            old = before.roles.get(key)
            if role is old or not isinstance(role, TransactionCoordinator):
                continue
            known = old if isinstance(old, TransactionCoordinator) else None
            for name, now in role.transactions.items():
                then = None if known is None else known.transactions.get(name)
                # A coordinator that loads its log finds the start times of ongoing transactions there.
                read = then is None and name in self._began
                if (
                    now.state is ongoing
                    and (then is None or then.state is not ongoing)
                    and not read
                ):
                    self._began[name] = self._clock()

    def _note_batches(self, before: World, after: World) -> None:
        for partition, log in after.logs.items():
            old = before.logs.get(partition)
            if log is old:
                continue
            for producer_id, entry in log.producers.items():
                if old is None or old.producers.get(producer_id) is not entry:
                    self._wrote[partition, producer_id] = self._clock()
