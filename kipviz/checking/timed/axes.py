"""The axes of a landscape: settings by Kafka's names, and three of the model's own."""

from __future__ import annotations

from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.cluster.timing.clock import ms
from kipviz.cluster.timing.durations import DURATIONS, occurring
from kipviz.core.values import Value
from kipviz.settings.broker_configs import (
    GROUP_SHARE_DELIVERY_COUNT_LIMIT,
    GROUP_SHARE_RECORD_LOCK_DURATION_MS,
)
from kipviz.settings.client_configs import (
    TRANSACTION_HEARTBEAT_INTERVAL_MS,
    TRANSACTION_TIMEOUT_MS,
)
from kipviz.settings.model_settings import DELAY_MAX_MS, REFRESH_MS, WORK_MS

WORK, DELAY, LOOK_UP = WORK_MS.name, DELAY_MAX_MS.name, REFRESH_MS.name
LOCK, TIMEOUT = GROUP_SHARE_RECORD_LOCK_DURATION_MS.name, TRANSACTION_TIMEOUT_MS.name
LIMIT = GROUP_SHARE_DELIVERY_COUNT_LIMIT.name
# The settings of an application, with the name of their field.
OF_MEMBERS: dict[str, str] = {
    each.name: each.field
    for each in (TRANSACTION_TIMEOUT_MS, TRANSACTION_HEARTBEAT_INTERVAL_MS, WORK_MS)
}
OWN: dict[str, str] = {
    each.name: each.says
    for each in (WORK_MS, DELAY_MAX_MS, REFRESH_MS, GROUP_SHARE_DELIVERY_COUNT_LIMIT)
}
# Every setting that can be an axis, with its meaning; Kafka's durations first.
SETTINGS: dict[str, str] = {**{row.setting: row.what for row in DURATIONS}, **OWN}


class BadLandscape(ValueError):
    """A landscape cannot have these settings; the message states the reason in one sentence."""


class Axis(Value, frozen=True):
    """One axis of a landscape: a setting and its values, in ascending order."""

    setting: str
    values: tuple[int, ...]

    def word(self, value: int) -> str:
        """Render a value: "30 s", or "5" if it is a count."""
        return str(value) if self.setting == LIMIT else ms(value)

    def changes(self, spec: ClusterSpec, value: int) -> tuple[str, ...]:
        """Return the changes that set a value in a cluster."""
        field = OF_MEMBERS.get(self.setting)
        if field is None:
            return (f"{self.setting}={value}",)
        return tuple(f"{app.name}.{field}={value}" for app in spec.members)


def check_axis(axis: Axis) -> None:
    """Reject an axis that is not valid.

    Raises:
        BadLandscape: with the reason and what is allowed.
    """
    if axis.setting not in SETTINGS:
        allowed = ", ".join(SETTINGS)
        raise BadLandscape(f"there is no axis {axis.setting!r}; the axes are {allowed}")
    fits = all(type(v) is int and 0 < v < 2**31 for v in axis.values)
    if not axis.values or not fits or list(axis.values) != sorted(set(axis.values)):
        said = ", ".join(map(str, axis.values)) or "none"
        raise BadLandscape(
            f"{axis.setting} must be whole numbers of at least 1, each greater than the previous one, not {said}"
        )


def settings_of(spec: ClusterSpec) -> tuple[str, ...]:
    """Return the settings that make a difference in a cluster: of timers that can start, and the model's own."""
    begin = tuple(row.setting for row, _ in occurring(spec))
    return (*begin, *OWN)
