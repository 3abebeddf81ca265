"""What a landscape can be drawn over: settings by Kafka's names, and three of the model's own."""

from __future__ import annotations

from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.cluster.timing.clock import ms
from kipviz.cluster.timing.durations import DURATIONS, occurring
from kipviz.core.values import Value

WORK, DELAY, LOOK_UP = "work_ms", "delay_max_ms", "refresh_ms"
LOCK, TIMEOUT = "group.share.record.lock.duration.ms", "transaction.timeout.ms"
LIMIT = "group.share.delivery.count.limit"
# What an application is configured with: the name of its field.
OF_MEMBERS = {
    TIMEOUT: "transaction_timeout_ms",
    "transaction.heartbeat.interval.ms": "heartbeat_interval_ms",
    WORK: "work_ms",
}
OWN = {
    WORK: "how long an application works on a batch before it commits",
    DELAY: "how long a message is on the wire at most",
    LOOK_UP: "how often a leader looks up the outcome of transactional acknowledgements (our inference)",
    LIMIT: "how often a record is delivered at most",
}
# Every setting that can be an axis, with what it says; Kafka's durations first.
SETTINGS: dict[str, str] = {**{row.setting: row.what for row in DURATIONS}, **OWN}


class BadLandscape(ValueError):
    """Settings that no landscape can be made of, in one sentence."""


class Axis(Value, frozen=True):
    """One direction of a landscape: a setting and its values, each greater than the last."""

    setting: str
    values: tuple[int, ...]

    def word(self, value: int) -> str:
        """Say a value: "30 s", or "5" where it is a count."""
        return str(value) if self.setting == LIMIT else ms(value)

    def changes(self, spec: ClusterSpec, value: int) -> tuple[str, ...]:
        """Give what is changed in a cluster to have a value."""
        field = OF_MEMBERS.get(self.setting)
        if field is None:
            return (f"{self.setting}={value}",)
        return tuple(f"{app.name}.{field}={value}" for app in spec.members)


def check_axis(axis: Axis) -> None:
    """Refuse what is no axis.

    Raises:
        BadLandscape: what is wrong and what is allowed.
    """
    if axis.setting not in SETTINGS:
        allowed = ", ".join(SETTINGS)
        raise BadLandscape(f"there is no axis {axis.setting!r}; the axes are {allowed}")
    fits = all(type(v) is int and 0 < v < 2**31 for v in axis.values)
    if not axis.values or not fits or list(axis.values) != sorted(set(axis.values)):
        said = ", ".join(map(str, axis.values)) or "none"
        raise BadLandscape(
            f"{axis.setting} takes whole numbers from 1, each greater than the last, not {said}"
        )


def settings_of(spec: ClusterSpec) -> tuple[str, ...]:
    """Give the settings that make a difference in a cluster: what can begin, and the model's own."""
    begin = tuple(row.setting for row, _ in occurring(spec))
    return (*begin, *OWN)
