"""The connections of share groups' members to one broker, and what breaks of them at once.

Each connection belongs to one of the broker's network threads, and two threads may handle two broken connections at
once: what one of them finds depends on how far the other one is. Source: SharePartitionManager.releaseSession,
ShareSessionCache.checkAndNotifyListenersOnGroupEmpty, ShareGroupListenerImpl.onGroupEmpty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from kipviz.brokers.context import Context, Effects, with_effects
from kipviz.brokers.share_leaders import share_partition_leader
from kipviz.brokers.share_leaders.share_partition import ShareLeader, SharePartition
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_groups import ShareAcknowledge, ShareFetch
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.request_context.arrival import thread_of
from kipviz.records.share_group_state import RecordState

# What becomes of a share-partition, and why, when its group has no member left at its leader.
EMPTY, MOVED = "no member of the group is left here", Errors.NOT_LEADER_OR_FOLLOWER


class MemberConnections:
    """The connections of members, each with its last request."""

    def __init__(
        self,
        exchanges: tuple[Exchange, ...],
        requests: Mapping[int, tuple[str, tuple[ShareFetch | ShareAcknowledge, ...]]],
    ) -> None:
        """Store the requests of each exchange, with their connection."""
        self._exchanges = exchanges
        self._requests = requests
        self._last = {source: n for n, (source, _) in requests.items()}

    def list_finished(self, leader: ShareLeader, number: int) -> list[str]:
        """Return the connections that a leader knows and that had their last request before an exchange."""
        sources = {s.source for s in leader.sessions.values()} | set(leader.closed)
        return sorted(s for s in sources if self._last.get(s, -1) < number)

    def close(
        self, leader: ShareLeader, source: str, number: int, on: Context
    ) -> Iterator[Effects[ShareLeader]]:
        """Yield what a leader may do when a connection breaks."""
        for removed in ((), *self._list_removed_first(leader, source, number)):
            done = Effects(leader)
            for key in removed:
                done = share_partition_leader.drop(done.state, key, EMPTY, MOVED, done)
            left = share_partition_leader.on_disconnected(done.state, source, on)
            yield with_effects(left.state, done, left)

    def _list_removed_first(
        self, leader: ShareLeader, source: str, number: int
    ) -> Iterator[tuple[str, ...]]:
        """Yield the share-partitions that may be removed before what a broken connection's member holds is released.

        The session of a group's last member is removed, and then its share-partitions release its records one by one.
        A connection of another member that broke on another network thread finds no session meanwhile, and removes the
        group's share-partitions. Source: SharePartitionManager.releaseSession,
        ShareSessionCache.checkAndNotifyListenersOnGroupEmpty, ShareGroupListenerImpl.onGroupEmpty.
        """
        mine = {each: s.source == source for each, s in leader.sessions.items()}
        for group, member in (each for each, is_mine in mine.items() if is_mine):
            last = not any(each[0] == group and each[1] != member for each in mine)
            if last and self._broke_beside(source, group, number, leader):
                shares = leader.shares.items()
                held = [k for k, s in shares if s.group_id == group and _holds(s, member)]
                for count in range(len(held)):
                    yield from combinations(held, count + 1)

    def _broke_beside(self, source: str, group: str, number: int, leader: ShareLeader) -> bool:
        """Return whether another connection of a group has broken, on another network thread."""
        own = thread_of(self._exchanges[self._last[source]].connection)
        return any(
            last < number
            and other not in leader.closed
            and any(m.group_id == group for m in self._requests[last][1])
            and thread_of(self._exchanges[last].connection) != own
            for other, last in self._last.items()
        )


def _holds(share: SharePartition, member: str) -> bool:
    """Return whether a member has acquired records of a share-partition."""
    records = share.records.values()
    return any(r.state is RecordState.ACQUIRED and r.member_id == member for r in records)
