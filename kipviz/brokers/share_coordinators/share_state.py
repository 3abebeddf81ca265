"""A share coordinator's state: share-partitions, and their pending transactional acknowledgements.

A part of the share coordinator's role (`share_coordinator`). WHERE IN KAFKA: ShareCoordinatorShard, ShareGroupOffset.
KIPS: KIP-932. The pending transactional acknowledgements are our inference.
"""

from __future__ import annotations

from typing import ClassVar

from kipviz.brokers.logs.add_to_transaction import Enlisting
from kipviz.brokers.logs.replication import WaitingForReplicas
from kipviz.core.table import Table
from kipviz.core.values import Part, Value
from kipviz.messages.shares.share_state import PendingBatch
from kipviz.records.share_group_state import StagedBatch, StateBatch

# The state epoch of a share-partition whose state was deleted.
NO_EPOCH = -1


class ShareState(Part, frozen=True):
    """The merged state of one share-partition (ShareGroupOffset.java).

    `cold` means that nothing has changed since a snapshot that was made because nothing had changed. `fenced_below` is
    a leader epoch of a read before the state was created again: the new state has 0 for it, and older leaders are
    fenced all the same (leaderEpochMap), until the log is read again after the deletion.
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
        """The highest leader epoch that the coordinator has seen."""
        return max(self.leader_epoch, self.fenced_below)


class TransactionalAcknowledgement(Value, frozen=True):
    """What one producer has staged in one share-partition with one request. Status: our inference."""

    STORED_NAME: ClassVar[str] = "Vote"

    key: str
    producer_epoch: int
    staged: tuple[StagedBatch, ...]
    archiving: bool = False


class ShareCoordinator(Part, frozen=True, cache_hash=True):
    """The coordinator of one partition of `__share_group_state`.

    `behind` means that its log has a marker that it has not seen (finding X3).
    """

    shard: str
    loading: bool = False
    states: Table[str, ShareState] = Table.of()
    acknowledgements: Table[int, tuple[TransactionalAcknowledgement, ...]] = Table.of()
    enlisting: tuple[Enlisting, ...] = ()
    waiting: tuple[WaitingForReplicas, ...] = ()
    behind: bool = False

    def pending_acknowledgements(self, key: str) -> tuple[PendingBatch, ...]:
        """Return the unresolved transactional acknowledgements of a share-partition, as a response contains them."""
        return tuple(
            PendingBatch(producer_id, acknowledgement.producer_epoch, staged)
            for producer_id, acknowledgements in self.acknowledgements.items()
            for acknowledgement in acknowledgements
            if acknowledgement.key == key
            for staged in acknowledgement.staged
        )
