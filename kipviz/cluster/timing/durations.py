"""Every duration of a timed clock: Kafka's name of the setting, its default, and where it is set.

Untimed nothing here is used. The values are the spec's: those of brokers and clients without another place are fields
of `Durations`, one for the whole cluster; a lock's and the scan's are in `BrokerSettings`, a transaction's and its
heartbeat's belong to an application. All are in ms.

A tick has to divide every duration that can occur in a cluster, so a row says when it can: a cluster without members
that join has no sessions, and no shorter tick because of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kipviz.clients.groups.subscribing import MODERN
from kipviz.clients.timers import ShortSenderBackOff
from kipviz.clients.transactions.transaction_manager import rest_ms
from kipviz.cluster.specs.kafka_defaults import CLASSIC
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.core.values import Value
from kipviz.messages.groups.reset_policy import reset_duration_ms

MINUTE_MS = 60_000
SHIPPED, DRAFT, OURS = "shipped", "draft", "our inference"


class Duration(Value, frozen=True):
    """One row: the setting as Kafka calls it, its default in ms, and its owner.

    `values` returns a cluster's values of it, none if it cannot occur.
    """

    setting: str
    default_ms: int
    of: str
    what: str
    status: str
    source: str
    values: Callable[[ClusterSpec], tuple[int, ...]]


def _durations_of(
    name: str, occurs: Callable[[ClusterSpec], bool]
) -> Callable[..., tuple[int, ...]]:
    """Return a value of the cluster's `durations` if it can occur."""
    return lambda spec: (getattr(spec.durations, name),) if occurs(spec) else ()


def joins(spec: ClusterSpec) -> bool:
    """Return whether members join and leave a regular group."""
    return any(a.protocol and not a.share for a in spec.applications)


def joins_by_heartbeat(spec: ClusterSpec) -> bool:
    """Return whether members join and leave a regular group by KIP-848."""
    return any(a.protocol == MODERN for a in spec.applications)


def _interval(spec: ClusterSpec) -> tuple[int, ...]:
    takes = spec.settings.consumer_assignment_interval_ms
    return (takes,) if takes and joins_by_heartbeat(spec) else ()


def joins_classic(spec: ClusterSpec) -> bool:
    """Return whether members join and leave a regular group by the classic protocol."""
    return any(a.protocol == CLASSIC for a in spec.applications)


def joins_shares(spec: ClusterSpec) -> bool:
    """Return whether members join and leave a share group."""
    return any(a.protocol and a.share for a in spec.applications)


def rests(spec: ClusterSpec) -> bool:
    """Return whether a share consumer asks several brokers in turn, and backs off if none has records."""
    return any(a.share and (a.protocol or a.further_sources) for a in spec.applications)


def resets_by_time(spec: ClusterSpec) -> bool:
    """Return whether a consumer resets to a record by its age (auto.offset.reset=by_duration)."""
    return any(reset_duration_ms(a.auto_offset_reset) >= 0 for a in spec.applications)


def limits_sessions(spec: ClusterSpec) -> bool:
    """Return whether there are more share consumers than a broker may have share sessions."""
    return sum(a.share for a in spec.applications) > spec.settings.share_sessions_max


def looks_up(spec: ClusterSpec) -> bool:
    """Return whether producers look up the ids of topics."""
    return spec.look_up_topics


def expires(spec: ClusterSpec) -> bool:
    """Return whether an unused transactional id may expire."""
    return spec.settings.transactional_ids_expire


def forgets(spec: ClusterSpec) -> bool:
    """Return whether a log may forget an idle producer."""
    return spec.settings.producer_ids_expire


def retains(spec: ClusterSpec) -> bool:
    """Return whether a log is deleted by age."""
    return spec.settings.log_retention_ms >= 0


def forgets_offsets(spec: ClusterSpec) -> bool:
    """Return whether unused offsets may expire."""
    return spec.settings.offsets_expire


def offsets_retention_ms(spec: ClusterSpec) -> int:
    """Return offsets.retention.minutes in ms: it is the only duration here that Kafka counts in minutes."""
    return spec.durations.offsets_retention_minutes * MINUTE_MS


def gives_up(spec: ClusterSpec) -> bool:
    """Return whether a request may time out; otherwise it may be in flight without a limit."""
    return bool(spec.budget.request_timeout)


def expires_batches(spec: ClusterSpec) -> bool:
    """Return whether a batch may expire."""
    return bool(spec.budget.delivery_timeout)


def backs_off(spec: ClusterSpec) -> bool:
    """Return whether a producer with transactions backs off before it retries."""
    return spec.clock.backs_off or pipelines(spec)


def _retry_backoff(spec: ClusterSpec) -> tuple[int, ...]:
    """Return retry.backoff.ms, and the shorter one of a client that adds its first partitions itself."""
    first_ms = spec.durations.retry_backoff_ms
    if not (joins(spec) or looks_up(spec) or backs_off(spec)):
        return ()
    if spec.transaction_version >= 2 or not backs_off(spec):
        return (first_ms,)
    return (first_ms, rest_ms(ShortSenderBackOff(), first_ms))


def pipelines(spec: ClusterSpec) -> bool:
    """Return whether a producer with transactions has several batches in flight, and backs off."""
    return any(a.max_in_flight > 1 for a in spec.applications)


def times_calls_out(spec: ClusterSpec) -> bool:
    """Return whether a blocking call of a producer may return without its result."""
    return bool(spec.budget.max_block)


def misses_polls(spec: ClusterSpec) -> bool:
    """Return whether a consumer that does not poll in time leaves its group."""
    return bool(spec.budget.miss_poll)


def _heartbeats(spec: ClusterSpec) -> tuple[int, ...]:
    sessions = (a.session.heartbeat_interval_ms for a in spec.applications if a.session)
    return (*(a.heartbeat_interval_ms for a in spec.applications), *sessions)


def beats(spec: ClusterSpec) -> bool:
    """Return whether a transaction has heartbeats (KIP-1309, draft)."""
    return any(_heartbeats(spec))


DURATIONS: tuple[Duration, ...] = (
    Duration(
        "group.share.record.lock.duration.ms",
        30_000,
        "brokers",
        "an acquisition lock expires",
        SHIPPED,
        "KIP-932; SharePartition.AcquisitionLockTimerTask",
        lambda spec: (spec.settings.record_lock_duration_ms,),
    ),
    Duration(
        "transaction.timeout.ms",
        60_000,
        "producer",
        "an open transaction is aborted by the scan that finds it, an append to its log times out",
        SHIPPED,
        "KIP-98; TransactionStateManager.timedOutTransactions",
        lambda spec: tuple(a.transaction_timeout_ms for a in spec.applications),
    ),
    Duration(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        10_000,
        "brokers",
        "the coordinator scans for transactions past their timeout",
        SHIPPED,
        "TransactionStateManagerConfig",
        lambda spec: (spec.settings.transaction_scan_ms,),
    ),
    Duration(
        "transaction.heartbeat.interval.ms",
        0,
        "producer",
        "a heartbeat is due; after three silent intervals the transaction is aborted",
        DRAFT,
        "KIP-1309; where the interval begins is our inference",
        _heartbeats,
    ),
    Duration(
        "transaction.session.timeout.ms",
        -1,
        "session",
        "a silent session expires; no page says how often it sends heartbeats: a third of this here",
        DRAFT,
        "KIP-1310 2.2, for the issue of KIP-1309",
        lambda spec: tuple(
            a.session.session_timeout_ms
            for a in spec.applications
            if a.session is not None and a.session.session_timeout_ms > 0
        ),
    ),
    Duration(
        "group.consumer.session.timeout.ms",
        45_000,
        "brokers",
        "a silent member is removed from a regular group",
        SHIPPED,
        "KIP-848; GroupMetadataManager.scheduleConsumerGroupSessionTimeout",
        _durations_of("consumer_session_timeout_ms", joins_by_heartbeat),
    ),
    Duration(
        "group.consumer.heartbeat.interval.ms",
        5_000,
        "brokers",
        "a member's next heartbeat is due, from when the last one was sent",
        SHIPPED,
        "KIP-848; AbstractHeartbeatRequestManager",
        _durations_of("consumer_heartbeat_interval_ms", joins_by_heartbeat),
    ),
    Duration(
        "session.timeout.ms",
        45_000,
        "consumer",
        "a silent member is removed from a classic group",
        SHIPPED,
        "KIP-62, KIP-735; GroupMetadataManager.rescheduleClassicGroupMemberHeartbeat",
        _durations_of("session_timeout_ms", joins_classic),
    ),
    Duration(
        "heartbeat.interval.ms",
        3_000,
        "consumer",
        "a classic member's next heartbeat is due",
        SHIPPED,
        "KIP-62; AbstractCoordinator.HeartbeatThread",
        _durations_of("heartbeat_interval_ms", joins_classic),
    ),
    Duration(
        "group.initial.rebalance.delay.ms",
        3_000,
        "brokers",
        "an empty classic group begins its first generation, or waits once more",
        SHIPPED,
        "KIP-134; GroupMetadataManager.tryCompleteInitialRebalanceElseSchedule",
        lambda spec: (spec.settings.initial_rebalance_delay_ms,) if joins_classic(spec) else (),
    ),
    Duration(
        "group.consumer.assignment.interval.ms",
        1_000,
        "brokers",
        "a group of KIP-848 may have its next target; 0 here unless it is set",
        SHIPPED,
        "KIP-1263; GroupMetadataManager.canComputeNextTargetAssignment",
        _interval,
    ),
    Duration(
        "max.poll.interval.ms",
        300_000,
        "consumer",
        "a member that has to revoke partitions or rejoin is removed (rebalance timeout); a consumer that did not poll leaves its group",
        SHIPPED,
        "KIP-62, KIP-848; GroupMetadataManager.scheduleConsumerGroupRebalanceTimeout, "
        "AbstractCoordinator.HeartbeatThread, AbstractHeartbeatRequestManager.poll",
        _durations_of("max_poll_interval_ms", joins),
    ),
    Duration(
        "group.share.session.timeout.ms",
        45_000,
        "brokers",
        "a silent member is removed from a share group",
        SHIPPED,
        "KIP-932; GroupMetadataManager.scheduleShareGroupSessionTimeout",
        _durations_of("share_session_timeout_ms", joins_shares),
    ),
    Duration(
        "group.share.heartbeat.interval.ms",
        5_000,
        "brokers",
        "a share group member's next heartbeat is due",
        SHIPPED,
        "KIP-932; ShareHeartbeatRequestManager",
        _durations_of("share_heartbeat_interval_ms", joins_shares),
    ),
    Duration(
        "transactional.id.expiration.ms",
        604_800_000,
        "brokers",
        "an unused transactional id expires, in the scan that finds it",
        SHIPPED,
        "KIP-98; TransactionStateManager.removeExpiredTransactionalIds",
        _durations_of("transactional_id_expiration_ms", expires),
    ),
    Duration(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        3_600_000,
        "brokers",
        "the coordinator scans for unused transactional ids",
        SHIPPED,
        "TransactionStateManagerConfig",
        _durations_of("transactional_id_scan_ms", expires),
    ),
    Duration(
        "producer.id.expiration.ms",
        86_400_000,
        "brokers",
        "a log expires a silent producer, in the check that finds it",
        SHIPPED,
        "KIP-854; ProducerStateManager.isProducerExpired",
        _durations_of("producer_id_expiration_ms", forgets),
    ),
    Duration(
        "producer.id.expiration.check.interval.ms",
        600_000,
        "brokers",
        "a log scans for silent producers",
        SHIPPED,
        "TransactionLogConfig (internal); UnifiedLog",
        _durations_of("producer_id_scan_ms", forgets),
    ),
    Duration(
        "offsets.retention.minutes",
        604_800_000,
        "brokers",
        "an unneeded offset expires, in the check that finds it",
        SHIPPED,
        "KIP-211, KIP-496; OffsetMetadataManager.cleanupExpiredOffsets",
        lambda spec: (offsets_retention_ms(spec),) if forgets_offsets(spec) else (),
    ),
    Duration(
        "offsets.retention.check.interval.ms",
        600_000,
        "brokers",
        "the coordinator scans for unneeded offsets",
        SHIPPED,
        "KIP-211; GroupCoordinatorService",
        _durations_of("offsets_retention_check_ms", forgets_offsets),
    ),
    Duration(
        "retry.backoff.ms",
        100,
        "clients",
        "a request that failed with a retriable error is sent again, also one for unstable offsets (KIP-447)",
        SHIPPED,
        "CommonClientConfigs; batches that are sent again grow it (KIP-580), other requests do not",
        _retry_backoff,
    ),
    Duration(
        "retry.backoff.max.ms",
        1_000,
        "producer",
        "a batch that failed several times is sent again",
        SHIPPED,
        "KIP-580; ExponentialBackoff, without its jitter",
        _durations_of("retry_backoff_max_ms", pipelines),
    ),
    Duration(
        "fetch.max.wait.ms",
        500,
        "consumer",
        "a poll() without new records fetches again",
        SHIPPED,
        "ConsumerConfig; the brokers wait in Kafka, the client here",
        _durations_of(
            "fetch_max_wait_ms", lambda spec: joins(spec) or rests(spec) or limits_sessions(spec)
        ),
    ),
    Duration(
        "max.block.ms",
        60_000,
        "producer",
        "a blocking call returns without its result",
        SHIPPED,
        "KIP-98, KIP-1319; KafkaProducer",
        _durations_of("max_block_ms", lambda spec: looks_up(spec) or times_calls_out(spec)),
    ),
    Duration(
        "metadata.max.idle.ms",
        300_000,
        "producer",
        "the metadata of an unused topic expires",
        SHIPPED,
        "KIP-526; ProducerMetadata",
        _durations_of("metadata_max_idle_ms", looks_up),
    ),
    Duration(
        "request.timeout.ms",
        30_000,
        "clients and brokers",
        "a client closes the connection of a request without a response; a by_duration reset without a record asks again",
        SHIPPED,
        "NetworkClient.handleTimedOutRequests",
        _durations_of("request_timeout_ms", lambda spec: gives_up(spec) or resets_by_time(spec)),
    ),
    Duration(
        "delivery.timeout.ms",
        120_000,
        "producer",
        "a batch expires, from when it was made",
        SHIPPED,
        "KIP-91; RecordAccumulator.expiredBatches",
        _durations_of("delivery_timeout_ms", expires_batches),
    ),
    Duration(
        "log.retention.ms",
        604_800_000,
        "brokers",
        "a batch is deleted from the front of its log",
        SHIPPED,
        "KIP-107; UnifiedLog.deleteRetentionMsBreachedSegments (log.retention.hours is 168)",
        lambda spec: (spec.settings.log_retention_ms,) if retains(spec) else (),
    ),
    Duration(
        "log.retention.check.interval.ms",
        300_000,
        "brokers",
        "a job scans for expired data",
        SHIPPED,
        "LogManager.cleanupLogs",
        _durations_of("log_retention_check_ms", retains),
    ),
)

# Kafka's names by those of the fields of `Durations`.
FIELDS: dict[str, str] = {
    "group.consumer.session.timeout.ms": "consumer_session_timeout_ms",
    "group.consumer.heartbeat.interval.ms": "consumer_heartbeat_interval_ms",
    "group.share.session.timeout.ms": "share_session_timeout_ms",
    "group.share.heartbeat.interval.ms": "share_heartbeat_interval_ms",
    "max.poll.interval.ms": "max_poll_interval_ms",
    "transactional.id.expiration.ms": "transactional_id_expiration_ms",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "transactional_id_scan_ms",
    "retry.backoff.ms": "retry_backoff_ms",
    "retry.backoff.max.ms": "retry_backoff_max_ms",
    "fetch.max.wait.ms": "fetch_max_wait_ms",
    "max.block.ms": "max_block_ms",
    "metadata.max.idle.ms": "metadata_max_idle_ms",
    "request.timeout.ms": "request_timeout_ms",
    "delivery.timeout.ms": "delivery_timeout_ms",
    "session.timeout.ms": "session_timeout_ms",
    "heartbeat.interval.ms": "heartbeat_interval_ms",
    "producer.id.expiration.ms": "producer_id_expiration_ms",
    "producer.id.expiration.check.interval.ms": "producer_id_scan_ms",
    "offsets.retention.minutes": "offsets_retention_minutes",
    "offsets.retention.check.interval.ms": "offsets_retention_check_ms",
    "log.retention.check.interval.ms": "log_retention_check_ms",
}


def occurring(spec: ClusterSpec) -> Iterator[tuple[Duration, tuple[int, ...]]]:
    """Return the durations that can occur in a cluster, with their values there."""
    for row in DURATIONS:
        values = tuple(value for value in row.values(spec) if value > 0)
        if values:
            yield row, values
