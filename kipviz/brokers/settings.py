"""The brokers' configuration, as far as the protocol's decisions depend on it."""

from __future__ import annotations

from collections.abc import Mapping

from kipviz.brokers.authorizer import principal_of
from kipviz.core.values import Value
from kipviz.messages.groups.reset_policy import BY_DURATION, EARLIEST, LATEST, reset_duration_ms


class SimplifiedConsumers(Value, frozen=True):
    """The processes whose consumers a cluster's spec simplifies (profile small); a broker serves those differently.

    Consumers `without_reset` have no auto.offset.reset. Share consumers `without_session` fetch from one partition at
    a time.
    """

    without_reset: tuple[str, ...] = ()
    without_session: tuple[str, ...] = ()

    def reads_on(self, source: str) -> bool:
        """Return whether a consumer whose position the log does not have reads on from the first record.

        This leaves out the round trips of auto.offset.reset=earliest.
        """
        return principal_of(source) in self.without_reset

    def fetches_by_session(self, source: str) -> bool:
        """Return whether a share consumer fetches all partitions of its session in one request, as Kafka's does."""
        return principal_of(source) not in self.without_session


class BrokerSettings(Value, frozen=True):
    """Limits that an operator sets; the defaults are Kafka's.

    `delivery_count_limit` is group.share.delivery.count.limit, `record_locks_max` is
    group.share.partition.max.record.locks, `updates_per_snapshot` is
    share.coordinator.snapshot.update.records.per.snapshot, `transaction_max_timeout_ms` is transaction.max.timeout.ms,
    `two_phase_commit_enable` is transaction.two.phase.commit.enable, `partition_verification` is
    transaction.partition.verification.enable: does a leader verify that a client of transaction version 0 or 1 has
    added its partition? `transactional_ids_expire` lets transactional.id.expiration.ms elapse, which is a week and
    longer than any story. `offsets_expire` lets offsets.retention.minutes elapse for a group without members, also a
    week. `initial_rebalance_delay_ms` is group.initial.rebalance.delay.ms, 0 for none. `record_lock_duration_ms` is
    group.share.record.lock.duration.ms and `transaction_scan_ms`
    transaction.abort.timed.out.transaction.cleanup.interval.ms; a timed clock reads these two. `targets_wait` says that
    group.consumer.assignment.interval.ms and group.share.assignment.interval.ms have not passed since the last target
    of any group (KIP-1263): one with members keeps its target for now. With an untimed clock this holds for a whole run
    or not at all. `state_upkeep` lets the share coordinator's two maintenance jobs run:
    share.coordinator.state.topic.prune.interval.ms and share.coordinator.cold.partition.snapshot.interval.ms, five
    minutes and longer than most stories. `log_retention_ms` is log.retention.ms of users' topics, -1 forever; Kafka's
    default is a week. `producer_ids_expire` lets producer.id.expiration.ms elapse, a day without a batch of a producer.
    `share_group_max_size` is group.share.max.size, `share_sessions_max` group.share.max.share.sessions,
    `consumer_group_max_size` is group.consumer.max.size, `group_max_size` group.max.size of classic groups: both
    without a limit unless one is set. `dead_letter_prefix` is errors.deadletterqueue.topic.name.prefix: a topic with
    another name gets no copies; `dead_letter_auto_create` is errors.deadletterqueue.auto.create.topics.enable.
    `asks_together` means that a broker has at most one AddPartitionsToTxn in flight to each coordinator, and that later
    questions wait for the next one, as in Kafka; otherwise each waiting request sends its own.
    `remembers_verifications` means that a leader keeps every failed verification, as in Kafka, even if only a client of
    another version with the same transactional id, a forged epoch or a late batch of an earlier epoch could notice.
    `consumer_assignment_interval_ms` is group.consumer.assignment.interval.ms as a duration; with 0 every target is
    computed at once. `share_auto_offset_reset` is the start of a share group without a share.auto.offset.reset of its
    own.
    """

    delivery_count_limit: int = 5
    record_locks_max: int = 2_000
    updates_per_snapshot: int = 500
    transaction_max_timeout_ms: int = 900_000
    two_phase_commit_enable: bool = False
    partition_verification: bool = True
    transactional_ids_expire: bool = False
    record_lock_duration_ms: int = 30_000
    transaction_scan_ms: int = 10_000
    targets_wait: bool = False
    initial_rebalance_delay_ms: int = 3_000
    offsets_expire: bool = False
    state_upkeep: bool = False
    share_group_max_size: int = 200
    share_sessions_max: int = 2_000
    producer_ids_expire: bool = False
    dead_letter_prefix: str = "dlq."
    consumer_group_max_size: int = 2**31 - 1
    group_max_size: int = 2**31 - 1
    dead_letter_auto_create: bool = False
    consumer_assignment_interval_ms: int = 1_000
    log_retention_ms: int = -1
    asks_together: bool = True
    remembers_verifications: bool = True
    share_auto_offset_reset: str = LATEST

    @property
    def why_not(self) -> str | None:
        """Return why no broker starts with these settings, or None if one does (ShareGroupConfig.validate)."""
        if self.share_auto_offset_reset not in (EARLIEST, LATEST):
            return (
                f"share.auto.offset.reset of groups without one must be {EARLIEST} or {LATEST}, "
                f"not {self.share_auto_offset_reset!r}"
            )
        if self.share_sessions_max >= self.share_group_max_size:
            return None
        return (
            f"group.share.max.share.sessions ({self.share_sessions_max}) has to be at least "
            f"group.share.max.size ({self.share_group_max_size})"
        )


READ_COMMITTED, READ_UNCOMMITTED = "read_committed", "read_uncommitted"


class GroupConfig(Value, frozen=True):
    """The configuration of one share group, which Kafka keeps in the metadata log.

    A limit of 0 and an `auto_offset_reset` of "" mean the broker's setting. Source: GroupConfig.java; KIP-932,
    KIP-1191, KIP-1222.
    """

    group_id: str
    auto_offset_reset: str = ""
    isolation_level: str = READ_UNCOMMITTED
    delivery_count_limit: int = 0
    record_locks_max: int = 0
    renew_acknowledge_enable: bool = True
    dead_letter_topic: str = ""
    dead_letter_copy_record: bool = False


def why_no_group(
    config: GroupConfig, settings: BrokerSettings, topics: Mapping[str, str], *, dated: bool
) -> str:
    """Return why a share group cannot be configured so in a cluster with these topics, or ""."""
    return _why_no_reset(config, dated=dated) or _why_no_dead_letters(config, settings, topics)


def _why_no_reset(config: GroupConfig, *, dated: bool) -> str:
    """Return why a group cannot start as its reset policy says, or ""; `dated` is whether records have timestamps."""
    name, reset = config.group_id, config.auto_offset_reset
    if reset in ("", EARLIEST, LATEST):
        return ""
    if reset_duration_ms(reset) < 0:
        return (
            f"share.auto.offset.reset of {name} must be {EARLIEST}, {LATEST} or {BY_DURATION} with a duration "
            f"like PT10S, not {reset!r}"
        )
    if dated:
        return ""
    return (
        f"share.auto.offset.reset of {name} is by_duration, which needs times in records "
        "(clock=timed, stamps=true)"
    )


def _why_no_dead_letters(
    config: GroupConfig, settings: BrokerSettings, topics: Mapping[str, str]
) -> str:
    """Return why brokers cannot create a group's dead-letter topic, or ""."""
    topic = config.dead_letter_topic
    if not settings.dead_letter_auto_create or not topic or topic in topics:
        return ""
    return (
        f"brokers are to make {topic}, the dead-letter topic of {config.group_id}: it needs an id and a place "
        "(topic_ids, placements), and later_topics says that it is not there at first"
    )
