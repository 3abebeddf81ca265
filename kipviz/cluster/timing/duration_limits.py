"""Invalid durations, alone or together: what Kafka rejects when it reads its configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kipviz.settings import broker_configs, consumer_configs
from kipviz.settings.client_configs import DELIVERY_TIMEOUT_MS, REQUEST_TIMEOUT_MS
from kipviz.settings.setting_def import Place
from kipviz.settings.table import setting_in

if TYPE_CHECKING:
    from kipviz.cluster.specs.spec import Durations


# The interval of a member's heartbeats, and the session that ends without them.
BEATS = (
    (
        broker_configs.GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS,
        broker_configs.GROUP_CONSUMER_SESSION_TIMEOUT_MS,
    ),
    (
        broker_configs.GROUP_SHARE_HEARTBEAT_INTERVAL_MS,
        broker_configs.GROUP_SHARE_SESSION_TIMEOUT_MS,
    ),
    (consumer_configs.HEARTBEAT_INTERVAL_MS, consumer_configs.SESSION_TIMEOUT_MS),
)


def why_no_durations(durations: Durations) -> str | None:
    """Return what is wrong with the durations of a cluster, or None."""
    for name in durations.__struct_fields__:
        value, setting = getattr(durations, name), setting_in(Place.DURATIONS, name)
        if type(value) is not int or not (setting.lowest or 0) <= value <= setting.most:
            return (
                f"{name} must be a whole number of {setting.unit} from {setting.lowest} to {setting.most}, "
                f"not {value!r}"
            )
    for interval, timeout in BEATS:
        beat, session = getattr(durations, interval.field), getattr(durations, timeout.field)
        if beat >= session:
            return f"{interval.name} ({beat}) has to be less than {timeout.name} ({session})"
    if durations.delivery_timeout_ms < durations.request_timeout_ms:
        return (
            f"{DELIVERY_TIMEOUT_MS.name} ({durations.delivery_timeout_ms}) has to be at least "
            f"{REQUEST_TIMEOUT_MS.name} ({durations.request_timeout_ms})"
        )
    return None
