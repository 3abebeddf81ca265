"""The timers and delays of a broker's roles: each is a value that says what it belongs to.

A timer expires (`RunOut`), a delay ends (`DelayOver`); what happens then is in the role that owns it. The text of each
is a language: saved runs, links and stories contain it, so it is never reworded. A reader sees `WORDS` where a timer
has them. `NAME` is the kind of timer, in words: a search states below its verdict which kinds expired.
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias, get_args

from kipviz.clauses import DRAFT, SHIPPED, Clause
from kipviz.core.values import TextValue
from kipviz.core.written import reader_of
from kipviz.settings.broker_configs import (
    LOG_RETENTION_MS,
    PRODUCER_ID_EXPIRATION_MS,
    TRANSACTIONAL_ID_EXPIRATION_MS,
)
from kipviz.settings.client_configs import TRANSACTIONAL_ID

_RETENTION = Clause(
    "on_timer",
    "KIP-211 offsets.retention.minutes",
    SHIPPED,
    "OffsetMetadataManager.cleanupExpiredOffsets",
)
_REBALANCE = Clause(
    "on_timer",
    "KIP-62 max.poll.interval.ms; KIP-848 Member Failures, rebalance timeout",
    SHIPPED,
    "GroupMetadataManager, rebalance timeout timers",
)


class MemberSession(TextValue, frozen=True):
    """The session of a member of any kind of group: its next heartbeat."""

    TEXT: ClassVar[str] = "the session of %s in %s"
    NAME: ClassVar[str] = "a member's session"
    CLAUSE: ClassVar[Clause] = Clause(
        "on_timer",
        "KIP-62, KIP-848 Member Failures; KIP-932 Managing durable share-partition state, session timeout",
        SHIPPED,
        "GroupMetadataManager, session timeout timers",
    )
    member_id: str
    group_id: str


class MemberRebalance(TextValue, frozen=True):
    """The rebalance timeout of a KIP-848 group's member: it has partitions to revoke."""

    TEXT: ClassVar[str] = "the rebalance time-out of %s in %s"
    NAME: ClassVar[str] = "a member's rebalance time-out"
    CLAUSE: ClassVar[Clause] = _REBALANCE
    member_id: str
    group_id: str


class GroupRebalance(TextValue, frozen=True):
    """The rebalance timeout of a classic group: the JoinGroup of its members."""

    TEXT: ClassVar[str] = "the rebalance time-out of %s"
    NAME: ClassVar[str] = "a member's rebalance time-out"
    CLAUSE: ClassVar[Clause] = _REBALANCE
    group_id: str


class GroupSync(TextValue, frozen=True):
    """The sync timeout of a classic group: the SyncGroup of its members."""

    TEXT: ClassVar[str] = "the sync time-out of %s"
    NAME: ClassVar[str] = "a member's sync time-out"
    CLAUSE: ClassVar[Clause] = Clause(
        "on_timer",
        "KIP-62, rebalance timeout between JoinGroup and SyncGroup",
        SHIPPED,
        "GroupMetadataManager.expirePendingSync",
    )
    group_id: str


class GroupRetention(TextValue, frozen=True):
    """offsets.retention.minutes of all offsets of a group without members."""

    TEXT: ClassVar[str] = "the retention of the offsets of %s"
    NAME: ClassVar[str] = "the retention of offsets"
    CLAUSE: ClassVar[Clause] = _RETENTION
    group_id: str


class OffsetRetention(TextValue, frozen=True):
    """offsets.retention.minutes of one offset, which are counted from its commit."""

    TEXT: ClassVar[str] = "the retention of the offset of %s in %s"
    NAME: ClassVar[str] = "the retention of offsets"
    CLAUSE: ClassVar[Clause] = _RETENTION
    partition: str
    group_id: str


class LogRetention(TextValue, frozen=True):
    """log.retention.ms of the oldest batch of a log."""

    TEXT: ClassVar[str] = "the log retention of %s"
    NAME: ClassVar[str] = LOG_RETENTION_MS.name
    CLAUSE: ClassVar[Clause] = Clause(
        "on_timer",
        "KIP-107 log.retention.ms",
        SHIPPED,
        "UnifiedLog.deleteRetentionMsBreachedSegments",
    )
    partition: str


class ProducerExpiry(TextValue, frozen=True):
    """producer.id.expiration.ms of a producer in a log."""

    TEXT: ClassVar[str] = "producer id %s of %s"
    NAME: ClassVar[str] = PRODUCER_ID_EXPIRATION_MS.name
    CLAUSE: ClassVar[Clause] = Clause(
        "on_timer",
        "KIP-854 producer.id.expiration.ms",
        SHIPPED,
        "ProducerStateManager.removeExpiredProducers",
    )
    producer_id: int
    partition: str


class StatePruning(TextValue, frozen=True):
    """share.coordinator.state.topic.prune.interval.ms of a partition of __share_group_state."""

    TEXT: ClassVar[str] = "the prune interval of %s"
    NAME: ClassVar[str] = "the share coordinator's prune interval"
    CLAUSE: ClassVar[Clause] = Clause(
        "on_timer",
        "KIP-932 Share-group state topic, pruning",
        SHIPPED,
        "ShareCoordinatorService.setupRecordPruning; ShareCoordinatorOffsetsManager",
    )
    partition: str


class ColdSnapshot(TextValue, frozen=True):
    """share.coordinator.cold.partition.snapshot.interval.ms of a share-partition, by its key."""

    TEXT: ClassVar[str] = "the cold snapshot interval of %s"
    NAME: ClassVar[str] = "the share coordinator's cold snapshot interval"
    CLAUSE: ClassVar[Clause] = Clause(
        "on_timer",
        "KIP-932 Share-group state topic, snapshots",
        SHIPPED,
        "ShareCoordinatorShard.snapshotColdPartitions",
    )
    key: str


class AppendTimeout(TextValue, frozen=True):
    """The replicas of a record that a transaction coordinator has appended, by its offset and partition."""

    TEXT: ClassVar[str] = "the append at %s of %s"
    NAME: ClassVar[str] = "a coordinator's append"
    CLAUSE: ClassVar[Clause] = Clause(
        "fail_append",
        "KIP-98 Transaction log; the append's time-out is transaction.timeout.ms",
        SHIPPED,
        "TransactionStateManager.appendTransactionToLog",
    )
    offset: int
    partition: str


class TransactionalIdExpiry(TextValue, frozen=True):
    """transactional.id.expiration.ms of an unused transactional id."""

    TEXT: ClassVar[str] = f"{TRANSACTIONAL_ID.name} %s"
    NAME: ClassVar[str] = TRANSACTIONAL_ID_EXPIRATION_MS.name
    CLAUSE: ClassVar[Clause] = Clause(
        "on_timer",
        "KIP-98 transactional.id.expiration.ms",
        SHIPPED,
        "TransactionStateManager.removeExpiredTransactionalIds",
    )
    transactional_id: str


class TransactionLiveness(TextValue, frozen=True):
    """The heartbeats of a producer with an open transaction (KIP-1309, a draft)."""

    TEXT: ClassVar[str] = "the liveness of %s"
    NAME: ClassVar[str] = "a transaction's heartbeat session"
    CLAUSE: ClassVar[Clause] = Clause(
        "on_timer",
        "KIP-1309 heartbeats of transactions",
        DRAFT,
        "KAFKA-20381, open: TransactionCoordinator",
    )
    transactional_id: str


# The timers with which a broker removes or rewrites what is old; no client waits for one.
Cleanup: TypeAlias = (
    GroupRetention
    | OffsetRetention
    | LogRetention
    | ProducerExpiry
    | TransactionalIdExpiry
    | StatePruning
    | ColdSnapshot
)

RoleTimer: TypeAlias = (
    MemberSession
    | MemberRebalance
    | GroupRebalance
    | GroupSync
    | AppendTimeout
    | TransactionLiveness
    | Cleanup
)


class AssignmentInterval(TextValue, frozen=True):
    """group.consumer.assignment.interval.ms of a group, before its next target assignment."""

    TEXT: ClassVar[str] = "the assignment interval of %s"
    group_id: str


class InitialRebalanceDelay(TextValue, frozen=True):
    """group.initial.rebalance.delay.ms of a classic group, before its first generation."""

    TEXT: ClassVar[str] = "the initial delay of %s"
    group_id: str


class RefusedFetchWait(TextValue, frozen=True):
    """The wait of a fetch for which there was no room among the share sessions, until it is rejected."""

    TEXT: ClassVar[str] = "the wait of the fetch of %s"
    member_id: str


RoleDelay: TypeAlias = AssignmentInterval | InitialRebalanceDelay | RefusedFetchWait

ROLE_TIMERS: tuple[type[RoleTimer], ...] = get_args(RoleTimer)
ROLE_DELAYS: tuple[type[RoleDelay], ...] = get_args(RoleDelay)
read_timer = reader_of(ROLE_TIMERS)
"""Read the text of a timer of a role."""
read_delay = reader_of(ROLE_DELAYS)
"""Read the text of a delay of a role."""
