"""What share groups are set to is taken from the metadata log or from IncrementalAlterConfigs, each from its time on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kipviz.brokers.settings import READ_COMMITTED, READ_UNCOMMITTED, GroupConfig
from kipviz.recordings.decoded.group_configs import (
    API,
    DELETE,
    GROUP_RESOURCE,
    RESET,
    SET,
    ConfigChange,
    changes_in,
    configure_group,
)
from kipviz.recordings.judging.inconclusive import AGE_OF_RECORDS
from kipviz.recordings.judging.report import of_evidence
from kipviz.recordings.recorded import Exchange, load_recording, plain
from kipviz.recordings.request_context.evidence import (
    Evidence,
    of_broker,
    of_recording,
    setting_of,
)
from tests.recordings.whole_folder import unpack_folder

RELEASE = Path(__file__).parents[1] / "kafka-4.4.0"
ISOLATION = "share.isolation.level"


def alteration(
    at_ms: int, settings: dict[str, str | None], *, code: int = 0, validate: bool = False
) -> Exchange:
    """IncrementalAlterConfigs of group g1, as a request log has it."""
    configs = [
        {"name": name, "configOperation": DELETE if value is None else SET, "value": value}
        for name, value in settings.items()
    ]
    resource: dict[str, Any] = {"resourceType": GROUP_RESOURCE, "resourceName": "g1"}
    said = {"resources": [resource | {"configs": configs}], "validateOnly": validate}
    answer = {"responses": [resource | {"errorCode": code, "errorMessage": None}]}
    return Exchange(API, 1, "admin", at_ms - 5, at_ms, plain(said), plain(answer))


def without_settings(name: str) -> Evidence:
    """A recording as a broker's own logs have it: nobody says what groups are set to."""
    return of_recording(RELEASE / name).but(configs=())


def test_the_isolation_level_of_a_share_group_comes_from_the_request_that_set_it() -> None:
    evidence = without_settings("share-committed")
    assert of_evidence(evidence).refused[0].api == "SHARE_FETCH"
    call = next(
        c
        for c in load_recording(RELEASE / "share-committed").calls
        if c.name == "incrementalAlterConfigs"
    )
    settings = dict(call.arguments["settings"].items())
    changes = changes_in((alteration(call.returned_ms, settings),))
    assert of_evidence(evidence.but(config_changes=changes)).refused == ()
    late = changes_in((alteration(evidence.exchanges[-1].answered_ms + 9, settings),))
    assert of_evidence(evidence.but(config_changes=late)).refused != ()


def test_a_setting_counts_from_its_time_on_until_it_is_taken_back() -> None:
    changes = changes_in(
        (
            alteration(10, {ISOLATION: READ_COMMITTED, "share.delivery.count.limit": "3"}),
            alteration(20, {ISOLATION: None}),
            alteration(30, {"share.delivery.count.limit": "many"}),
        )
    )

    def at(ms: int) -> GroupConfig:
        return configure_group(GroupConfig("g1"), [c for c in changes if c.at_ms <= ms])

    assert (at(9).isolation_level, at(9).delivery_count_limit) == (READ_UNCOMMITTED, 0)
    assert (at(10).isolation_level, at(10).delivery_count_limit) == (READ_COMMITTED, 3)
    assert (at(20).isolation_level, at(20).delivery_count_limit) == (READ_UNCOMMITTED, 3)
    assert at(30) == at(20)
    assert configure_group(GroupConfig("g2"), changes) == GroupConfig("g2")


def test_what_was_refused_only_validated_or_cannot_be_read_changes_nothing() -> None:
    odd = alteration(10, {ISOLATION: READ_COMMITTED})
    assert len(changes_in((odd,))) == 1
    assert changes_in((alteration(10, {ISOLATION: READ_COMMITTED}, code=42),)) == ()
    assert changes_in((alteration(10, {ISOLATION: READ_COMMITTED}, validate=True),)) == ()
    assert changes_in((odd.but(request=plain({"resources": [3]})),)) == ()
    assert changes_in((odd.but(response=None),)) == ()


@pytest.mark.parametrize("source", ["metadata log", "request log"])
def test_both_sources_of_a_broker_s_folder_say_the_same(source: str, tmp_path: Path) -> None:
    logs, requests = unpack_folder(tmp_path)
    if source == "request log":
        (logs / "__cluster_metadata-0").rename(tmp_path / "away")
    found = of_broker(logs, (requests,))
    assert {(c.group_id, c.key, c.value) for c in found.config_changes} == {
        ("sharers", RESET, "earliest")
    }
    first = next(x for x in found.exchanges if x.api == "SHARE_FETCH")
    assert all(c.at_ms <= first.received_ms for c in found.config_changes)


def test_a_group_that_begins_by_the_age_of_records_cannot_be_judged() -> None:
    evidence = without_settings("share-committed").but(
        config_changes=(ConfigChange(0, "g1", RESET, "by_duration:PT10S"),)
    )
    told = of_evidence(evidence)
    assert told.refused == ()
    assert {reason for _, reason, _ in told.cannot_judge} == {AGE_OF_RECORDS}


def test_a_number_of_a_broker_s_settings_is_read_as_one_and_a_flag_as_one() -> None:
    """KafkaConfig: ConfigDef.Type.INT and BOOLEAN."""
    assert setting_of("group.consumer.max.size", "7") == ("consumer_group_max_size", 7)
    verifies = "transaction.partition.verification.enable"
    assert setting_of(verifies, "false") == ("partition_verification", False)
    with pytest.raises(ValueError, match="true or false"):
        setting_of(verifies, "7")
