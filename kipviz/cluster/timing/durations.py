"""Every duration of a timed clock, and when it can occur in a cluster.

Untimed nothing here is used. A duration is a setting (`kipviz.settings`). The values are the spec's: those of brokers and clients without another place are fields
of `Durations`, one for the whole cluster; a lock's and the scan's are in `BrokerSettings`, a transaction's and its
heartbeat's belong to an application. All are in ms.

A tick has to divide every duration that can occur in a cluster, so a row says when it can: a cluster without members
that join has no sessions, and no shorter tick because of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kipviz.clients.groups.subscribing import MODERN
from kipviz.clients.timers import ShortSenderBackOff, rest_ms
from kipviz.cluster.specs.kafka_defaults import CLASSIC
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.core.values import Value
from kipviz.messages.groups.reset_policy import reset_duration_ms
from kipviz.settings import broker_configs, client_configs, consumer_configs
from kipviz.settings.setting_def import MINUTE_MS, SettingDef, default_ms


class Duration(Value, frozen=True):
    """A duration of a timed clock: its setting, and which values of it a cluster has, none if it cannot occur."""

    definition: SettingDef[int]
    values: Callable[[ClusterSpec], tuple[int, ...]]

    @property
    def setting(self) -> str:
        """Kafka's name of the setting."""
        return self.definition.name

    @property
    def default_ms(self) -> int:
        """Kafka's default in ms."""
        return default_ms(self.definition)

    @property
    def what(self) -> str:
        """What happens when it is over."""
        return self.definition.says


def _of_the_cluster(definition: SettingDef[int], occurs: Callable[[ClusterSpec], bool]) -> Duration:
    """Return a duration that is a field of the cluster's `durations`, if it can occur."""
    field = definition.field
    return Duration(
        definition, lambda spec: (getattr(spec.durations, field),) if occurs(spec) else ()
    )


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
        broker_configs.GROUP_SHARE_RECORD_LOCK_DURATION_MS,
        lambda spec: (spec.settings.record_lock_duration_ms,),
    ),
    Duration(
        client_configs.TRANSACTION_TIMEOUT_MS,
        lambda spec: tuple(a.transaction_timeout_ms for a in spec.applications),
    ),
    Duration(
        broker_configs.TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS,
        lambda spec: (spec.settings.transaction_scan_ms,),
    ),
    Duration(client_configs.TRANSACTION_HEARTBEAT_INTERVAL_MS, _heartbeats),
    Duration(
        client_configs.TRANSACTION_SESSION_TIMEOUT_MS,
        lambda spec: tuple(
            a.session.session_timeout_ms
            for a in spec.applications
            if a.session is not None and a.session.session_timeout_ms > 0
        ),
    ),
    _of_the_cluster(broker_configs.GROUP_CONSUMER_SESSION_TIMEOUT_MS, joins_by_heartbeat),
    _of_the_cluster(broker_configs.GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS, joins_by_heartbeat),
    _of_the_cluster(consumer_configs.SESSION_TIMEOUT_MS, joins_classic),
    _of_the_cluster(consumer_configs.HEARTBEAT_INTERVAL_MS, joins_classic),
    Duration(
        broker_configs.GROUP_INITIAL_REBALANCE_DELAY_MS,
        lambda spec: (spec.settings.initial_rebalance_delay_ms,) if joins_classic(spec) else (),
    ),
    Duration(broker_configs.GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS, _interval),
    _of_the_cluster(consumer_configs.MAX_POLL_INTERVAL_MS, joins),
    _of_the_cluster(broker_configs.GROUP_SHARE_SESSION_TIMEOUT_MS, joins_shares),
    _of_the_cluster(broker_configs.GROUP_SHARE_HEARTBEAT_INTERVAL_MS, joins_shares),
    _of_the_cluster(broker_configs.TRANSACTIONAL_ID_EXPIRATION_MS, expires),
    _of_the_cluster(
        broker_configs.TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS, expires
    ),
    _of_the_cluster(broker_configs.PRODUCER_ID_EXPIRATION_MS, forgets),
    _of_the_cluster(broker_configs.PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS, forgets),
    Duration(
        broker_configs.OFFSETS_RETENTION_MINUTES,
        lambda spec: (offsets_retention_ms(spec),) if forgets_offsets(spec) else (),
    ),
    _of_the_cluster(broker_configs.OFFSETS_RETENTION_CHECK_INTERVAL_MS, forgets_offsets),
    Duration(client_configs.RETRY_BACKOFF_MS, _retry_backoff),
    _of_the_cluster(client_configs.RETRY_BACKOFF_MAX_MS, pipelines),
    _of_the_cluster(
        consumer_configs.FETCH_MAX_WAIT_MS,
        lambda spec: joins(spec) or rests(spec) or limits_sessions(spec),
    ),
    _of_the_cluster(
        client_configs.MAX_BLOCK_MS, lambda spec: looks_up(spec) or times_calls_out(spec)
    ),
    _of_the_cluster(client_configs.METADATA_MAX_IDLE_MS, looks_up),
    _of_the_cluster(
        client_configs.REQUEST_TIMEOUT_MS, lambda spec: gives_up(spec) or resets_by_time(spec)
    ),
    _of_the_cluster(client_configs.DELIVERY_TIMEOUT_MS, expires_batches),
    Duration(
        broker_configs.LOG_RETENTION_MS,
        lambda spec: (spec.settings.log_retention_ms,) if retains(spec) else (),
    ),
    _of_the_cluster(broker_configs.LOG_RETENTION_CHECK_INTERVAL_MS, retains),
)


def occurring(spec: ClusterSpec) -> Iterator[tuple[Duration, tuple[int, ...]]]:
    """Return the durations that can occur in a cluster, with their values there."""
    for row in DURATIONS:
        values = tuple(value for value in row.values(spec) if value > 0)
        if values:
            yield row, values
