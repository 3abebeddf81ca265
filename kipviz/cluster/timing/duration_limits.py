"""Invalid durations, alone or together: what Kafka rejects when it reads its configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kipviz.cluster.specs.spec_limits import INT32, INT64

if TYPE_CHECKING:
    from kipviz.cluster.specs.spec import Durations


# Kafka reads these as a LONG, every other one as an INT (ConsumerConfig, ProducerConfig, the brokers' configs).
LONGS = (
    "retry_backoff_ms",
    "retry_backoff_max_ms",
    "max_block_ms",
    "metadata_max_idle_ms",
    "offsets_retention_check_ms",
    "log_retention_check_ms",
)


def why_no_durations(durations: Durations) -> str | None:
    """Return what is wrong with the durations of a cluster, or None."""
    for name in durations.__struct_fields__:
        value = getattr(durations, name)
        most = INT64 if name in LONGS else INT32
        if type(value) is not int or not 1 <= value <= most:
            unit = "minutes" if name.endswith("_minutes") else "ms"
            return f"{name} must be a whole number of {unit} from 1 to {most}, not {value!r}"
    for kind in ("consumer_", "share_", ""):
        beat = getattr(durations, f"{kind}heartbeat_interval_ms")
        session = getattr(durations, f"{kind}session_timeout_ms")
        if beat >= session:
            of = f"group.{kind[:-1]}." if kind else ""
            return (
                f"{of}heartbeat.interval.ms ({beat}) has to be less than "
                f"{of}session.timeout.ms ({session})"
            )
    if durations.delivery_timeout_ms < durations.request_timeout_ms:
        return (
            f"delivery.timeout.ms ({durations.delivery_timeout_ms}) has to be at least "
            f"request.timeout.ms ({durations.request_timeout_ms})"
        )
    return None
