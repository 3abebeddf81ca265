"""The brokers' configuration, as far as the protocol's decisions read it."""

from __future__ import annotations

from kipviz.core.values import Value


class BrokerSettings(Value, frozen=True):
    """Limits that an operator sets; the defaults are Kafka's.

    `delivery_count_limit` is group.share.delivery.count.limit, `record_locks_max` is
    group.share.partition.max.record.locks, `updates_per_snapshot` is
    share.coordinator.snapshot.update.records.per.snapshot, `transaction_max_timeout_ms` is
    transaction.max.timeout.ms, `two_phase_commit_enable` is transaction.two.phase.commit.enable.
    """

    delivery_count_limit: int = 5
    record_locks_max: int = 2_000
    updates_per_snapshot: int = 500
    transaction_max_timeout_ms: int = 900_000
    two_phase_commit_enable: bool = False
