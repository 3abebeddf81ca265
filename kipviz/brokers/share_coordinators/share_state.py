"""What a share coordinator keeps of its share-partitions: their states, and the transactional acknowledgements that are
pending.

A part of the share coordinator's role (`share_coordinator`). WHERE IN KAFKA: ShareCoordinatorShard, ShareGroupOffset.
KIPS: KIP-932. The pending transactional acknowledgements are our inference.
"""

from __future__ import annotations

from kipviz.brokers.logs.add_to_transaction import Enlisting
from kipviz.brokers.logs.replication import WaitingForReplicas
from kipviz.core.table import Table
from kipviz.core.values import Part, Value
from kipviz.messages.share_state import PendingBatch
from kipviz.records.share_group_state import StagedBatch, StateBatch

# The state epoch of a share-partition whose state is deleted.
NO_EPOCH = -1


class ShareState(Part, frozen=True):
    """The joined state of one share-partition (ShareGroupOffset.java).

    `cold` says that nothing has changed since a snapshot that was made because nothing did. `fenced_below` is a leader
    epoch that was read with before the state was made again: the new state has 0 for it, and older leaders are fenced
    all the same (leaderEpochMap), until the log is read again without what is deleted of it.
    """

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...]
    updates: int = 0
    cold: bool = False
    fenced_below: int = 0

    @property
    def newest_leader(self) -> int:
        """The highest leader epoch that the coordinator has heard of."""
        return max(self.leader_epoch, self.fenced_below)


class Vote(Value, frozen=True):
    """Staged acknowledgements of one share-partition by one producer. Status: our inference."""

    key: str
    producer_epoch: int
    staged: tuple[StagedBatch, ...]
    archiving: bool = False


class ShareCoordinator(Part, frozen=True, cache_hash=True):
    """The coordinator of one partition of `__share_group_state`.

    `behind` says that its log has a marker of which it does not know (finding X3).
    """

    shard: str
    loading: bool = False
    states: Table[str, ShareState] = Table.of()
    votes: Table[int, tuple[Vote, ...]] = Table.of()
    enlisting: tuple[Enlisting, ...] = ()
    waiting: tuple[WaitingForReplicas, ...] = ()
    behind: bool = False

    def pending_votes(self, key: str) -> tuple[PendingBatch, ...]:
        """Return the transactional acknowledgements about a share-partition that no marker has resolved, as a response
        carries them.
        """
        return tuple(
            PendingBatch(producer_id, vote.producer_epoch, staged)
            for producer_id, votes in self.votes.items()
            for vote in votes
            if vote.key == key
            for staged in vote.staged
        )
