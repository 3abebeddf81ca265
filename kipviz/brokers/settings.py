"""The brokers' configuration, as far as the protocol's decisions depend on it."""

from __future__ import annotations

from collections.abc import Mapping

from kipviz.brokers.authorizer import principal_of
from kipviz.core.values import Value
from kipviz.messages.groups.reset_policy import BY_DURATION, EARLIEST, LATEST, reset_duration_ms
from kipviz.settings import broker_configs, model_settings, topic_configs


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
    """The settings of brokers, with Kafka's defaults; `kipviz.settings` has Kafka's name and the question of each.

    The model's own are `transactional_ids_expire`, `offsets_expire` and `producer_ids_expire`, which let a duration
    pass that is longer than most stories (a week, a week, and a day without a batch of a producer); `state_upkeep`,
    which lets the share coordinator prune its log and write snapshots of idle share-partitions; and `targets_wait`:
    group.consumer.assignment.interval.ms and group.share.assignment.interval.ms have not passed since the last target
    of any group (KIP-1263), so one with members keeps its target for now. With an untimed clock this holds for a whole
    run or not at all; `consumer_assignment_interval_ms` is the first of these as a duration, and with 0 every target is
    computed at once.
    `asks_together` means that a broker has at most one AddPartitionsToTxn in flight to each coordinator, and that later
    questions wait for the next one, as in Kafka; otherwise each waiting request sends its own.
    `remembers_verifications` means that a leader keeps every failed verification, as in Kafka, even if only a client of
    another version with the same transactional id, a forged epoch or a late batch of an earlier epoch could notice.
    `share_auto_offset_reset` is the start of a share group without one of its own. `record_lock_duration_ms`,
    `transaction_scan_ms` and `log_retention_ms` (-1 for never) are read by a timed clock alone. A topic whose name does
    not start with `dead_letter_prefix` gets no copies.
    """

    delivery_count_limit: int = broker_configs.GROUP_SHARE_DELIVERY_COUNT_LIMIT.ours
    record_locks_max: int = broker_configs.GROUP_SHARE_PARTITION_MAX_RECORD_LOCKS.ours
    updates_per_snapshot: int = (
        broker_configs.SHARE_COORDINATOR_SNAPSHOT_UPDATE_RECORDS_PER_SNAPSHOT.ours
    )
    transaction_max_timeout_ms: int = broker_configs.TRANSACTION_MAX_TIMEOUT_MS.ours
    two_phase_commit_enable: bool = broker_configs.TRANSACTION_TWO_PHASE_COMMIT_ENABLE.ours
    partition_verification: bool = broker_configs.TRANSACTION_PARTITION_VERIFICATION_ENABLE.ours
    transactional_ids_expire: bool = model_settings.TRANSACTIONAL_IDS_EXPIRE.ours
    record_lock_duration_ms: int = broker_configs.GROUP_SHARE_RECORD_LOCK_DURATION_MS.ours
    transaction_scan_ms: int = (
        broker_configs.TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS.ours
    )
    targets_wait: bool = model_settings.TARGETS_WAIT.ours
    initial_rebalance_delay_ms: int = broker_configs.GROUP_INITIAL_REBALANCE_DELAY_MS.ours
    offsets_expire: bool = model_settings.OFFSETS_EXPIRE.ours
    state_upkeep: bool = model_settings.STATE_UPKEEP.ours
    share_group_max_size: int = broker_configs.GROUP_SHARE_MAX_SIZE.ours
    share_sessions_max: int = broker_configs.GROUP_SHARE_MAX_SHARE_SESSIONS.ours
    producer_ids_expire: bool = model_settings.PRODUCER_IDS_EXPIRE.ours
    dead_letter_prefix: str = broker_configs.ERRORS_DEADLETTERQUEUE_TOPIC_NAME_PREFIX.ours
    consumer_group_max_size: int = broker_configs.GROUP_CONSUMER_MAX_SIZE.ours
    group_max_size: int = broker_configs.GROUP_MAX_SIZE.ours
    dead_letter_auto_create: bool = (
        broker_configs.ERRORS_DEADLETTERQUEUE_AUTO_CREATE_TOPICS_ENABLE.ours
    )
    consumer_assignment_interval_ms: int = broker_configs.GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS.ours
    log_retention_ms: int = broker_configs.LOG_RETENTION_MS.ours
    asks_together: bool = model_settings.ASKS_TOGETHER.ours
    remembers_verifications: bool = model_settings.REMEMBERS_VERIFICATIONS.ours
    share_auto_offset_reset: str = model_settings.SHARE_AUTO_OFFSET_RESET.ours
    auto_create_topics: bool = broker_configs.AUTO_CREATE_TOPICS_ENABLE.ours

    @property
    def why_not(self) -> str | None:
        """Return why no broker starts with these settings, or None if one does (ShareGroupConfig.validate)."""
        if self.share_auto_offset_reset not in (EARLIEST, LATEST):
            return (
                f"{topic_configs.SHARE_AUTO_OFFSET_RESET.name} of groups without one must be {EARLIEST} or {LATEST}, "
                f"not {self.share_auto_offset_reset!r}"
            )
        if self.share_sessions_max >= self.share_group_max_size:
            return None
        return (
            f"{broker_configs.GROUP_SHARE_MAX_SHARE_SESSIONS.name} ({self.share_sessions_max}) has to be at least "
            f"{broker_configs.GROUP_SHARE_MAX_SIZE.name} ({self.share_group_max_size})"
        )


READ_COMMITTED, READ_UNCOMMITTED = "read_committed", "read_uncommitted"


class GroupConfig(Value, frozen=True):
    """The configuration of one share group, which Kafka keeps in the metadata log.

    A limit of 0 and an `auto_offset_reset` of "" mean the broker's setting. Source: GroupConfig.java; KIP-932,
    KIP-1191, KIP-1222.
    """

    group_id: str
    auto_offset_reset: str = topic_configs.SHARE_AUTO_OFFSET_RESET.ours
    isolation_level: str = topic_configs.SHARE_ISOLATION_LEVEL.ours
    delivery_count_limit: int = topic_configs.SHARE_DELIVERY_COUNT_LIMIT.ours
    record_locks_max: int = topic_configs.SHARE_PARTITION_MAX_RECORD_LOCKS.ours
    renew_acknowledge_enable: bool = topic_configs.SHARE_RENEW_ACKNOWLEDGE_ENABLE.ours
    dead_letter_topic: str = topic_configs.ERRORS_DEADLETTERQUEUE_TOPIC_NAME.ours
    dead_letter_copy_record: bool = topic_configs.ERRORS_DEADLETTERQUEUE_COPY_RECORD_ENABLE.ours


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
            f"{topic_configs.SHARE_AUTO_OFFSET_RESET.name} of {name} must be {EARLIEST}, {LATEST} or {BY_DURATION} with a duration "
            f"like PT10S, not {reset!r}"
        )
    if dated:
        return ""
    return (
        f"{topic_configs.SHARE_AUTO_OFFSET_RESET.name} of {name} is by_duration, which needs times in records "
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
