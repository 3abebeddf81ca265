"""Changes of a setting: Kafka's own rules are questions under every design, a draft's are not."""

from __future__ import annotations

import pytest

from kipviz.designs.catalogue import design
from kipviz.designs.options.options import KAFKAS_OWN, SLOTS
from kipviz.scenarios.library import scenario
from kipviz.scenarios.setting_changes import BadChange, apply_changes, settings

SPEC = scenario("pain-timed-out").spec
OWN = [slot for slot in SLOTS if slot.finding == KAFKAS_OWN]


@pytest.mark.parametrize("slot", OWN, ids=lambda slot: slot.name)
def test_a_rule_of_kafkas_own_can_be_switched_off_under_kafka_as_it_is(slot):
    kafka = design("kafka")
    assert slot.name in [s.name for s in settings(SPEC, kafka)]
    off = slot.options[-1].name
    _, other = apply_changes(SPEC, kafka, [f"{slot.name}={off}"])
    assert design(other.name) == other
    assert other.choices[slot.name] == off


def test_what_only_a_draft_asks_is_no_setting_of_kafka_as_it_is():
    with pytest.raises(BadChange, match="there is no setting 'staged_acks'"):
        apply_changes(SPEC, design("kafka"), ["staged_acks=memory_only"])


def test_a_duration_is_set_by_kafkas_name_and_shown_where_it_can_begin():
    spec, kafka = scenario("kip-848-rebalance").spec, design("kafka")
    names = [s.name for s in settings(spec, kafka)]
    assert "consumer_session_timeout_ms" not in names, "an untimed clock reads none"
    timed, _ = apply_changes(
        spec, kafka, ["clock=timed", "group.consumer.session.timeout.ms=20000"]
    )
    shown = {s.name: s for s in settings(timed, kafka)}
    assert shown["consumer_session_timeout_ms"].now == "20000"
    assert "group.consumer.session.timeout.ms" in shown["consumer_session_timeout_ms"].asks
    assert "share_session_timeout_ms" not in shown, "nobody joins a share group here"
    assert shown["app-1.heartbeat_interval_ms"].now == "0"


def test_a_profile_is_the_present_one_only_if_the_cluster_has_all_of_it():
    story, kafka = scenario("kip-447-race"), design("kafka")
    now = {
        name: next(s.now for s in settings(spec, kafka) if s.name == "profile")
        for name, spec in (("story", story.spec), ("searched", story.searched.spec))
    }
    assert now == {"story": "", "searched": "small"}


def test_durations_that_do_not_go_together_are_refused_as_kafka_does():
    with pytest.raises(BadChange, match=r"less than group\.consumer\.session\.timeout"):
        apply_changes(SPEC, design("kafka"), ["group.consumer.session.timeout.ms=4000"])


def test_a_setting_that_is_a_text_is_taken_as_it_is_and_shown_where_it_is_not_kafkas():
    spec, kafka = scenario("kip-1191-poison-record").spec, design("kafka")
    assert "dead_letter_prefix" not in [s.name for s in settings(spec, kafka)]
    other, _ = apply_changes(spec, kafka, ["errors.deadletterqueue.topic.name.prefix=dead."])
    assert {s.name: s.now for s in settings(other, kafka)}["dead_letter_prefix"] == "dead."
