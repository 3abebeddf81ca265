"""The share sessions of a consumer: one with each broker from which it has fetched, each with its own epoch.

WHERE IN KAFKA: ShareSessionHandler, of which ShareConsumeRequestManager has one for each node. KIPS: KIP-932.
DURABILITY: none; a session ends with its connection.
"""

from __future__ import annotations

from kipviz.core.values import Value
from kipviz.messages.shares.share_groups import next_session_epoch


class ShareSessions(Value, frozen=True):
    """The session with the `broker` that was asked last, and the sessions with others.

    `epoch` is that of the next request to it (0: it opens a session), `asked` the partition that was fetched from it.
    `others` are (broker, epoch, partition) of the sessions with other brokers. `told` are the partitions that each
    broker's session has, if a consumer fetches all partitions of a broker in one ShareFetch.
    """

    broker: int = -1
    epoch: int = 0
    asked: str = ""
    others: tuple[tuple[int, int, str], ...] = ()
    told: tuple[tuple[int, tuple[str, ...]], ...] = ()

    @property
    def advanced(self) -> ShareSessions:
        """The same after a response: the next request has the next epoch."""
        return self.but(epoch=next_session_epoch(self.epoch))

    @property
    def lost(self) -> ShareSessions:
        """The same without the current session."""
        return self.but(epoch=0)

    def epoch_at(self, broker: int) -> int:
        """Return the epoch of the session with a broker, 0 if there is none."""
        if broker == self.broker:
            return self.epoch
        return next((epoch for each, epoch, _ in self.others if each == broker), 0)

    def known_partitions(self, broker: int) -> tuple[str, ...] | None:
        """Return the partitions that the current session has, None if it is new."""
        return dict(self.told).get(broker, ()) if self.epoch else None

    def switch_to(self, broker: int) -> ShareSessions:
        """Switch to the session with a broker, which may be a new one; the previous session is kept."""
        if broker == self.broker:
            return self
        others = tuple(each for each in self.others if each[0] != broker)
        if self.epoch:
            others = tuple(sorted((*others, (self.broker, self.epoch, self.asked))))
        return self.but(broker=broker, epoch=self.epoch_at(broker), others=others)

    def with_told(self, broker: int, partitions: tuple[str, ...]) -> ShareSessions:
        """Note which partitions a broker's session has."""
        return self.but(told=tuple(sorted({**dict(self.told), broker: partitions}.items())))

    def without(self, broker: int) -> ShareSessions:
        """Forget the session with a broker other than the current one."""
        if not self.others:
            return self
        return self.but(others=tuple(each for each in self.others if each[0] != broker))
