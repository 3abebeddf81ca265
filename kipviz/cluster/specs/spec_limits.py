"""The limits of the fields of a cluster's spec: types and ranges.

The range of a setting is in its definition (`kipviz.settings`). Limits that depend on other
fields are checked in `spec`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import starmap

import msgspec

from kipviz.brokers.settings import BrokerSettings, GroupConfig
from kipviz.cluster.specs.spec import ApplicationSpec, ClusterSpec
from kipviz.core.field_types import why_not_as_declared
from kipviz.core.values import Value
from kipviz.records.placement import INTERNAL_TOPICS
from kipviz.records.transaction_state import NOT_ENTERED
from kipviz.settings import client_configs, topic_configs
from kipviz.settings.broker_configs import LOG_RETENTION_MS
from kipviz.settings.consumer_configs import GROUP_ID, MAX_POLL_RECORDS
from kipviz.settings.setting_def import INT32, INT64, AnySetting, Place
from kipviz.settings.table import settings_in

INT16 = 2**15 - 1
# Topic.LEGAL_CHARS, Topic.MAX_NAME_LENGTH; a dash and the number of the partition.
PARTITION = re.compile(r"(?!\.{1,2}-\d+$)[a-zA-Z0-9._-]{1,249}-(0|[1-9][0-9]*)")
UUID = re.compile(r"[A-Za-z0-9_-]{22}")
RELEASE = re.compile(r"\d+\.\d+\.\d+")


class Limit(Value, frozen=True):
    """The range of a number, and Kafka's name of the setting; "" if it is not one of Kafka's."""

    lowest: int
    highest: int
    name: str = ""


def _limits_in(place: Place) -> dict[str, Limit]:
    """Return the limits of the numbers among the settings that one part of a spec has."""
    return {
        each.field: Limit(each.lowest, each.most, _name(each))
        for each in settings_in(place)
        if each.lowest is not None and each.field not in OTHERWISE
    }


def _name(setting: AnySetting) -> str:
    """Return Kafka's name of a setting, with the numbers that stand for names in the model."""
    if not setting.is_kafkas:
        return ""
    return f"{setting.name}, {setting.coded}," if setting.coded else setting.name


# These may be unset, or stand in `plain` in place of the application: `_numbers` checks them.
OTHERWISE = frozenset(
    {
        client_configs.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION.field,
        client_configs.BUFFER_MEMORY.field,
    }
)
OF_BROKERS: dict[str, Limit] = _limits_in(Place.BROKERS)
# Settings of one share group; 0 means the broker's.
OF_GROUPS: dict[str, Limit] = _limits_in(Place.GROUP)
OF_APPLICATIONS: dict[str, Limit] = {
    **_limits_in(Place.APPLICATION),
    # The head of a story has it under this name.
    MAX_POLL_RECORDS.field: Limit(1, INT32, MAX_POLL_RECORDS.field),
}
# TransactionLogValue.json, and the possible values of TransactionMetadata. An epoch of -1 is never written.
OF_TRANSACTIONS: dict[str, Limit] = {
    "producer_epoch": Limit(0, INT16, "the producer epoch"),
    "previous_producer_id": Limit(-1, INT64, "the previous producer id"),
    "next_producer_id": Limit(-1, INT64, "the next producer id"),
    "next_producer_epoch": Limit(-1, INT16, "the next producer epoch"),
    "timeout_ms": Limit(1, INT32, client_configs.TRANSACTION_TIMEOUT_MS.name),
    "client_transaction_version": Limit(0, 2, "the transaction version of the client"),
    "version": Limit(0, 1, "the version of the record"),
    "heartbeat_interval_ms": Limit(0, INT32, client_configs.TRANSACTION_HEARTBEAT_INTERVAL_MS.name),
    "start_timestamp_ms": Limit(-1, INT64, "the start timestamp"),
    "last_update_timestamp_ms": Limit(-1, INT64, "the timestamp of the last update"),
}
OF_CLUSTERS: dict[str, Limit] = {
    **_limits_in(Place.CLUSTER),
    "first_producer_id": Limit(0, INT64 - 1_000_000),
    "staging_transaction_version": Limit(1, 2),
}


def why_no_type(spec: ClusterSpec) -> str:
    """Return which field has the wrong type, or ""."""
    try:
        msgspec.convert(msgspec.to_builtins(spec), type(spec))
    except (msgspec.ValidationError, TypeError, ValueError, OverflowError) as wrong:
        told = (
            str(wrong)
            .replace("`", "")
            .replace("$.", "")
            .replace("object", "a value of its own kind")
        )
        return f"a field of the cluster has the wrong type: {told}"
    # For example, a dict in place of a value of a class, or a number beyond 64 bits.
    found = why_not_as_declared(spec, type(spec), "the cluster")
    return f"a field of the cluster has the wrong type: {found}" if found else ""


def why_out_of_range(limits: dict[str, Limit], held: Value, of: str = "") -> str:
    """Return which number is too small or too large, or ""; `of` names its owner."""
    for field, limit in limits.items():
        wrong = why_no_number(limit, getattr(held, field), limit.name or field, of)
        if wrong:
            return wrong
    return ""


def why_no_number(limit: Limit, number: int, name: str, of: str = "") -> str:
    """Return why a number is not valid for a setting, or ""."""
    if limit.lowest <= number <= limit.highest:
        return ""
    whose = f" of {of}" if of else ""
    return f"{name}{whose} must be from {limit.lowest} to {limit.highest}, not {number}"


def why_no_transactions(spec: ClusterSpec) -> str:
    """Return why the log cannot hold the records of earlier producers, or "".

    Source: TransactionLogValue.json, TransactionState.validPreviousStates.
    """
    first = spec.first_producer_id
    for left in spec.transactions:
        name = left.transactional_id
        if not name:
            return "a transaction that was left has a transactional id, not ''"
        if left.state in NOT_ENTERED:
            return f"no log holds {name} as {left.state.value}"
        if not 0 <= left.producer_id < first:
            return (
                f"{name} was left by a producer id below first_producer_id, which is {first}, "
                f"not by {left.producer_id}"
            )
        wrong = why_out_of_range(OF_TRANSACTIONS, left, name)
        if wrong:
            return wrong
    return ""


def why_no_numbers(spec: ClusterSpec) -> str:
    """Return which number of a cluster does not fit into Kafka's field for it, or ""."""
    return next(filter(None, starmap(why_no_number, _numbers(spec))), "")


def _numbers(spec: ClusterSpec) -> Iterator[tuple[Limit, int, str, str]]:
    for broker in spec.brokers:
        yield Limit(0, INT32), broker, "a broker's number", ""
    for partition, first, values in spec.records:
        yield Limit(0, INT64 - len(values)), first, "the first offset", partition
    for topic, least in spec.min_insync_replicas:
        yield Limit(1, INT32), least, topic_configs.MIN_INSYNC_REPLICAS.name, topic
    for app in spec.applications:
        most = app.max_in_flight if app.plain is None else app.plain.max_in_flight
        name = client_configs.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION.name
        yield Limit(1, INT32), most, name, app.name
        yield Limit(0, INT32), app.buffer, "buffer", app.name
    for name in spec.budget.__struct_fields__:
        yield Limit(0, INT32), getattr(spec.budget, name), f"the budget for {name}", ""


def why_no_settings(settings: BrokerSettings) -> str:
    """Return which setting is rejected by brokers, or ""."""
    return why_out_of_range(OF_BROKERS, settings) or settings.why_not or ""


def why_no_retention(spec: ClusterSpec) -> str:
    """Return why logs of a cluster cannot be deleted by age, or ""."""
    if spec.settings.log_retention_ms < 0 or spec.clock.stamps:
        return ""
    return (
        f"{LOG_RETENTION_MS.name} ({spec.settings.log_retention_ms}) needs times in records (clock=timed, stamps=true); "
        "-1 keeps them forever"
    )


def why_no_own_limits(config: GroupConfig) -> str:
    """Return which limit of a share group is not valid, or ""."""
    own = {field: limit for field, limit in OF_GROUPS.items() if getattr(config, field)}
    wrong = why_out_of_range(own, config, config.group_id)
    return f"{wrong}; 0 is the broker's" if wrong else ""


def why_no_isolation(app: ApplicationSpec) -> str:
    """Return why a process cannot have an isolation level of its own, or ""."""
    if not (app.share and app.read_uncommitted):
        return ""
    return (
        f"{app.name} is in a share group, which has one isolation level for all members: set isolation_level of "
        f"{app.group_id} in group_configs ({topic_configs.SHARE_ISOLATION_LEVEL.name}), not read_uncommitted"
    )


def why_no_names(spec: ClusterSpec) -> str:
    """Return which name or id is invalid, or occurs twice, or ""."""
    return next(_names(spec), "")


def _names(spec: ClusterSpec) -> Iterator[str]:
    placed = [each.partition for each in spec.placements]
    for partition in placed:
        if not PARTITION.fullmatch(partition):
            yield (
                "a partition is a topic of letters, digits, dots, dashes and underscores, a dash and "
                f"its number, such as src-0, not {partition!r}"
            )
    for placement in spec.placements:
        held = (placement.leader, *placement.others)
        if len({*held}) < len(held):
            yield f"{placement.partition} has one replica on a broker, not several: {held}"
    negative = [broker for broker in spec.brokers if broker < 0]
    if negative:
        yield f"a broker's number is 0 or more, not {negative[0]}"
    for topic, topic_id in spec.topic_ids:
        if not UUID.fullmatch(topic_id):
            yield f"the id of {topic} is 16 bytes in 22 letters of Base64, not {topic_id!r}"
    for remade in spec.remade:
        if not UUID.fullmatch(remade.topic_id):
            yield f"{remade.topic} is made again with an id of 22 letters, not {remade.topic_id!r}"
        if dict(spec.topic_ids).get(remade.topic) == remade.topic_id:
            yield f"{remade.topic} is made again with another id than it had"
    if not RELEASE.fullmatch(spec.kafka_version):
        yield f"kafka_version is a release such as 4.4.0, not {spec.kafka_version!r}"
    internal = [topic for topic in spec.dead_letter_topics if topic in INTERNAL_TOPICS]
    if internal:
        yield f"{internal[0]} is Kafka's own, and cannot be a dead-letter topic"
    yield from _twice(
        ("partition", "is placed", placed),
        ("partition", "has its records", [partition for partition, _, _ in spec.records]),
        ("topic", "has its id", [topic for topic, _ in spec.topic_ids]),
        ("topic id", "is given", [topic_id for _, topic_id in spec.topic_ids]),
        (
            "topic",
            f"has {topic_configs.MIN_INSYNC_REPLICAS.name}",
            [topic for topic, _ in spec.min_insync_replicas],
        ),
        ("share group", "is configured", [config.group_id for config in spec.group_configs]),
        ("transactional id", "was left", [left.transactional_id for left in spec.transactions]),
    )
    groups = [each.group_id for each in spec.applications]
    strangers = [config.group_id for config in spec.group_configs if config.group_id not in groups]
    if strangers:
        yield f"the share group {strangers[0]} is configured, but no application is in it"
    for application in spec.applications:
        if not application.admin and not application.group_id:
            yield f"{application.name} has no {GROUP_ID.name}, which its consumer needs"
        sources = (application.source, *application.further_sources)
        ids = (application.transactional_id, *application.tasks)
        yield from _twice(
            (f"source of {application.name}", "is named", list(sources)),
            (f"transactional id of {application.name}", "is named", list(ids)),
        )


def _twice(*lists: tuple[str, str, list[str]]) -> Iterator[str]:
    for kind, done, names in lists:
        again = next((name for name, times in Counter(names).items() if times > 1), None)
        if again is not None:
            yield f"each {kind} {done} once: {again} is there twice"
