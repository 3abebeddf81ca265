"""Every field of a spec has a type, a range and names that can be: all else is refused in one sentence."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.brokers.settings import BrokerSettings, GroupConfig
from kipviz.cluster.specs import spec_limits
from kipviz.cluster.specs.spec import (
    ApplicationSpec,
    BadSpec,
    ClusterSpec,
    Durations,
    FaultBudget,
    Placement,
    PlainSpec,
    Remade,
)
from kipviz.designs.catalogue import REPAIRED
from kipviz.records.transaction_state import TransactionRecord, TransactionState
from kipviz.scenarios.library import LIBRARY, searched_scenario

SPEC = searched_scenario("kip-1289-small").spec
APP = SPEC.applications[0]
(SRC, ID), *_ = SPEC.topic_ids
LEFT = TransactionRecord("old-txn", 3, 0, TransactionState.EMPTY)
OTHER_ID = "A" * 21 + "w"


def read_refusal(spec: ClusterSpec) -> str:
    with pytest.raises(BadSpec) as wrong:
        REPAIRED.model(spec)
    return str(wrong.value)


def with_app(**changes: Any) -> ClusterSpec:
    return SPEC.but(applications=(APP.but(**changes),))


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (SPEC.but(brokers=(*SPEC.brokers, "x")), "Expected int, got str - at brokers[4]"),
        (SPEC.but(internal_partitions="50"), "Expected int, got str - at internal_partitions"),
        (SPEC.but(settings="x"), "Expected a value of its own kind, got str - at settings"),
        (SPEC.but(budget=FaultBudget(cut="1")), "Expected int, got str - at budget.cut"),
        (SPEC.but(clock=None), "Expected a value of its own kind, got null - at clock"),
        (
            with_app(program=("hello",)),
            "Expected a value of its own kind, got str - at applications[0].program[0]",
        ),
        (with_app(max_records=True), "Expected int, got bool - at applications[0].max_records"),
        (with_app(max_records=1.5), "Expected int, got float - at applications[0].max_records"),
        (
            SPEC.but(settings=BrokerSettings(offsets_expire=1)),
            "Expected bool, got int - at settings.offsets_expire",
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_named_with_its_place(spec: Any, sentence: str) -> None:
    assert read_refusal(spec) == f"a field of the cluster has the wrong type: {sentence}"


@pytest.mark.parametrize("story", LIBRARY, ids=lambda story: story.name)
def test_every_story_has_values_of_the_right_types_and_within_all_ranges(story: Any) -> None:
    assert spec_limits.why_no_type(story.spec) == ""
    assert spec_limits.why_no_settings(story.spec.settings) == ""
    assert spec_limits.why_no_names(story.spec) == ""


def spec_with_leftover(**changes: Any) -> ClusterSpec:
    return SPEC.but(transactions=(LEFT.but(**changes),))


TABLES: tuple[tuple[dict[str, spec_limits.Limit], Any], ...] = (
    (spec_limits.OF_BROKERS, lambda **k: SPEC.but(settings=SPEC.settings.but(**k))),
    (spec_limits.OF_APPLICATIONS, with_app),
    (spec_limits.OF_CLUSTERS, SPEC.but),
    (spec_limits.OF_TRANSACTIONS, spec_with_leftover),
)
BEYOND = [
    (f"{field}={number}", put(**{field: number}))
    for table, put in TABLES
    for field, limit in table.items()
    for number in (limit.lowest - 1, limit.highest + 1)
]


@pytest.mark.parametrize(
    ("case", "spec"), BEYOND, ids=lambda each: each if isinstance(each, str) else ""
)
def test_a_number_beyond_its_range_is_told_the_range(case: str, spec: ClusterSpec) -> None:
    said = read_refusal(spec)
    assert " must be from " in said
    assert said.endswith(f"not {case.partition('=')[2]}")


PARTITION, *_ = SPEC.records[0]


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (
            SPEC.but(brokers=(*SPEC.brokers, 2**31)),
            "a broker's number must be from 0 to 2147483647, not 2147483648",
        ),
        (
            SPEC.but(records=((PARTITION, 2**63 - 1, ("r",)),)),
            f"the first offset of {PARTITION} must be from 0 to 9223372036854775806, not 9223372036854775807",
        ),
        (
            SPEC.but(min_insync_replicas=((SRC, 2**31),)),
            f"min.insync.replicas of {SRC} must be from 1 to 2147483647, not 2147483648",
        ),
        (
            SPEC.but(budget=FaultBudget(cut=2**31)),
            "the budget for cut must be from 0 to 2147483647, not 2147483648",
        ),
        (
            with_app(transactional_id="", plain=PlainSpec(idempotence=False, max_in_flight=2**31)),
            "max.in.flight.requests.per.connection of app-1 must be from 1 to 2147483647, not 2147483648",
        ),
        (
            with_app(max_in_flight=5, buffer=2**31),
            "buffer of app-1 must be from 0 to 2147483647, not 2147483648",
        ),
        (
            SPEC.but(durations=Durations(request_timeout_ms=2**31)),
            "request_timeout_ms must be a whole number of ms from 1 to 2147483647, not 2147483648",
        ),
        (
            SPEC.but(durations=Durations(max_block_ms=2**63)),
            "max_block_ms must be a whole number of ms from 1 to 9223372036854775807, not 9223372036854775808",
        ),
        (
            spec_with_leftover(transactional_id=""),
            "a transaction that was left has a transactional id, not ''",
        ),
        (spec_with_leftover(state=TransactionState.DEAD), "no log holds old-txn as DEAD"),
        (
            spec_with_leftover(producer_epoch=70_000),
            "the producer epoch of old-txn must be from 0 to 32767, not 70000",
        ),
    ],
)
def test_a_number_that_kafka_has_no_field_for_is_refused(spec: ClusterSpec, sentence: str) -> None:
    assert read_refusal(spec) == sentence


@pytest.mark.parametrize("field", spec_limits.OF_GROUPS)
def test_a_share_group_may_leave_a_limit_to_the_broker(field: str) -> None:
    own = GroupConfig(APP.group_id)
    assert spec_limits.why_no_own_limits(own) == ""
    said = read_refusal(SPEC.but(group_configs=(own.but(**{field: 99_999}),)))
    assert f"{spec_limits.OF_GROUPS[field].name} of {APP.group_id} must be from" in said
    assert said.endswith("not 99999; 0 is the broker's")


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        (SPEC.but(placements=(*SPEC.placements, Placement("", 1))), "its number, such as src-0"),
        (SPEC.but(placements=(*SPEC.placements, Placement("we ird-0", 1))), "not 'we ird-0'"),
        (SPEC.but(placements=(*SPEC.placements, Placement("..-0", 1))), "not '..-0'"),
        (SPEC.but(placements=(*SPEC.placements, Placement("src", 1))), "not 'src'"),
        (
            SPEC.but(placements=(SPEC.placements[0], *SPEC.placements)),
            "each partition is placed once",
        ),
        (
            SPEC.but(placements=(*SPEC.placements, Placement("more-0", 1, (1,)))),
            "more-0 has one replica on a broker",
        ),
        (SPEC.but(brokers=(*SPEC.brokers, -1)), "a broker's number is 0 or more, not -1"),
        (SPEC.but(records=(*SPEC.records, *SPEC.records)), "each partition has its records once"),
        (SPEC.but(topic_ids=((SRC, "hello"),)), f"the id of {SRC} is 16 bytes in 22 letters"),
        (SPEC.but(topic_ids=(*SPEC.topic_ids, ("more", ID))), "each topic id is given once"),
        (SPEC.but(topic_ids=(*SPEC.topic_ids, (SRC, OTHER_ID))), "each topic has its id once"),
        (SPEC.but(remade=(Remade(SRC, ID, ()),)), f"{SRC} is made again with another id"),
        (SPEC.but(remade=(Remade(SRC, "x", ()),)), "with an id of 22 letters, not 'x'"),
        (SPEC.but(kafka_version="banana"), "a release such as 4.4.0, not 'banana'"),
        (
            SPEC.but(dead_letter_topics=("__consumer_offsets",)),
            "__consumer_offsets is Kafka's own",
        ),
        (
            SPEC.but(min_insync_replicas=((SRC, 1), (SRC, 2))),
            "each topic has min.insync.replicas once",
        ),
        (
            SPEC.but(group_configs=(GroupConfig(APP.group_id), GroupConfig(APP.group_id))),
            "each share group is configured once",
        ),
        (
            SPEC.but(group_configs=(GroupConfig("nobody's"),)),
            "the share group nobody's is configured, but no application is in it",
        ),
        (SPEC.but(transactions=(LEFT, LEFT)), "each transactional id was left once: old-txn"),
        (with_app(group_id=""), "app-1 has no group.id"),
        (with_app(further_sources=(APP.source,)), "each source of app-1 is named once"),
        (with_app(tasks=("x", "x")), "each transactional id of app-1 is named once"),
    ],
)
def test_a_name_that_cannot_be_or_stands_twice_is_named(spec: ClusterSpec, part: str) -> None:
    assert part in read_refusal(spec)


def test_the_tables_name_fields_that_there_are() -> None:
    assert set(spec_limits.OF_BROKERS) <= set(BrokerSettings.__struct_fields__)
    assert set(spec_limits.OF_GROUPS) <= set(GroupConfig.__struct_fields__)
    assert set(spec_limits.OF_APPLICATIONS) <= set(ApplicationSpec.__struct_fields__)
    assert set(spec_limits.OF_CLUSTERS) <= set(ClusterSpec.__struct_fields__)


INT16, INT32, INT64 = 2**15 - 1, 2**31 - 1, 2**63 - 1
# The ranges of Kafka's ConfigDefs: GroupCoordinatorConfig, ShareGroupConfig, ShareCoordinatorConfig, GroupConfig,
# TransactionStateManagerConfig, ServerLogConfigs. Where the model begins below Kafka, its own beginning stands third.
CONFIGS: dict[str, tuple[int, ...]] = {
    "group.share.delivery.count.limit": (2, 10, 1),
    "group.share.partition.max.record.locks": (100, 10_000, 1),
    "group.share.record.lock.duration.ms": (1_000, 3_600_000),
    "group.share.max.size": (1, 1_000),
    "group.share.max.share.sessions": (1, INT32),
    "share.coordinator.snapshot.update.records.per.snapshot": (0, 500),
    "group.initial.rebalance.delay.ms": (0, INT32),
    "group.consumer.max.size": (1, INT32),
    "group.consumer.assignment.interval.ms": (0, 15_000),
    "group.max.size": (1, INT32),
    "transaction.max.timeout.ms": (1, INT32),
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": (1, INT32),
    "log.retention.ms": (-1, INT64),
    "share.delivery.count.limit": (2, 10),
    "share.partition.max.record.locks": (100, 10_000, 1),
}


def test_a_setting_goes_as_far_as_kafka_s_configuration_lets_it() -> None:
    limits = (*spec_limits.OF_BROKERS.values(), *spec_limits.OF_GROUPS.values())
    found = {each.name: (each.lowest, each.highest) for each in limits}
    assert found == {
        name: (each[-1] if len(each) > 2 else each[0], each[1]) for name, each in CONFIGS.items()
    }


def test_a_transaction_s_record_has_numbers_that_fit_into_transaction_log_value_json() -> None:
    """Producer ids and timestamps are int64, epochs int16, timeouts int32; -1 stands for none."""
    widths = {
        "producer_epoch": (0, INT16),
        "previous_producer_id": (-1, INT64),
        "next_producer_id": (-1, INT64),
        "next_producer_epoch": (-1, INT16),
        "timeout_ms": (1, INT32),
        "client_transaction_version": (0, 2),
        "version": (0, 1),
        "heartbeat_interval_ms": (0, INT32),
        "start_timestamp_ms": (-1, INT64),
        "last_update_timestamp_ms": (-1, INT64),
    }
    found = {name: (e.lowest, e.highest) for name, e in spec_limits.OF_TRANSACTIONS.items()}
    assert found == widths


@pytest.mark.parametrize(
    ("name", "can_be"),
    [
        ("a-0", True),
        ("a.b_c-D9-12", True),
        ("a" * 249 + "-0", True),
        ("a" * 250 + "-0", False),
        (".-0", False),
        ("..-0", False),
        ("...-0", True),
        ("a-01", False),
        ("a b-0", False),
        ("a", False),
    ],
)
def test_a_partition_is_named_by_a_topic_that_kafka_lets_be(name: str, can_be: bool) -> None:
    """Topic.validate: 249 letters, digits, dots, dashes and underscores, neither "." nor ".."."""
    assert (spec_limits.PARTITION.fullmatch(name) is not None) is can_be
