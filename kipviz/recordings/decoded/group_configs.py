"""The settings of share groups over time: from the cluster's metadata log, or from the request log.

The metadata log has every change with its time. Without it the IncrementalAlterConfigs requests show the changes
while the request log was written; a group's earlier settings stay unknown.
Source: ConfigRecord; IncrementalAlterConfigsRequest (SET is 0, DELETE is 1); GroupConfig.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kipviz.brokers.settings import GroupConfig
from kipviz.core.values import Value
from kipviz.messages.groups.reset_policy import BY_DURATION
from kipviz.recordings.recorded import Exchange
from kipviz.settings.topic_configs import GROUP_CONFIGS, SHARE_AUTO_OFFSET_RESET

API = "INCREMENTAL_ALTER_CONFIGS"
# ConfigResource.Type.GROUP, and the operations on a group's settings.
GROUP_RESOURCE = 32
SET, DELETE = 0, 1
RESET = SHARE_AUTO_OFFSET_RESET.name
# The settings of a share group that an operator may change, with their names in the model.
GROUP_SETTINGS: dict[str, tuple[str, Callable[[str], Any]]] = {
    each.name: (each.field, each.type.parse) for each in GROUP_CONFIGS
}


class ConfigChange(Value, frozen=True):
    """A setting of a group gets a value at a time in ms; None resets it to the default."""

    at_ms: int
    group_id: str
    key: str
    value: str | None


def changes_in(exchanges: Iterable[Exchange]) -> tuple[ConfigChange, ...]:
    """Return the changes in the requests of a log; a request that lacks fields of its API changes nothing."""
    found: list[ConfigChange] = []
    for exchange in exchanges:
        if exchange.api == API and not exchange.problem:
            try:
                found += _changes(exchange)
            except (KeyError, TypeError, ValueError, AttributeError):
                continue
    return tuple(found)


def _changes(exchange: Exchange) -> Iterator[ConfigChange]:
    said = exchange.request
    done = {
        each["resourceName"]
        for each in exchange.response["responses"]
        if each["resourceType"] == GROUP_RESOURCE and each["errorCode"] == 0
    }
    for resource in () if said["validateOnly"] else said["resources"]:
        group = resource["resourceName"]
        if resource["resourceType"] != GROUP_RESOURCE or group not in done:
            continue
        for config in resource["configs"]:
            if config["configOperation"] in (SET, DELETE):
                value = config["value"] if config["configOperation"] == SET else None
                yield ConfigChange(exchange.answered_ms, group, config["name"], value)


def configure_group(base: GroupConfig, changes: Iterable[ConfigChange]) -> GroupConfig:
    """Return the configuration of a group after some changes; an unreadable change is ignored."""
    told: dict[str, Any] = {}
    for change in changes:
        if change.group_id != base.group_id or change.key not in GROUP_SETTINGS:
            continue
        field, read = GROUP_SETTINGS[change.key]
        if change.value is None:
            told.pop(field, None)
            continue
        try:
            told[field] = read(change.value)
        except (TypeError, ValueError):
            continue
    return base.but(**told)


def groups_by_duration(
    configs: Iterable[GroupConfig], changes: Iterable[ConfigChange]
) -> frozenset[str]:
    """Return the groups whose start offset depends on the age of records (share.auto.offset.reset=by_duration:…)."""
    begun = {c.group_id for c in configs if c.auto_offset_reset.startswith(BY_DURATION)}
    changed = {
        c.group_id
        for c in changes
        if c.key == RESET and isinstance(c.value, str) and c.value.startswith(BY_DURATION)
    }
    return frozenset(begun | changed)
