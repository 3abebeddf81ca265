"""Which producer an instance of Kafka Streams uses, and what happens if a bounce is left out."""

from __future__ import annotations

import pytest

from kipviz.scenarios.applications.streams import WITH_TASKS, WITH_THREADS, StreamsConfig, instance
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import PROPERTIES
from tests.scenarios.story import committed_outputs, play_once

OLD, BETWEEN, NEW = searched_scenario("kip-447-two-bounces").spec.applications


@pytest.mark.parametrize(
    ("config", "per_thread", "names_member"),
    [
        (StreamsConfig(WITH_TASKS), False, False),
        (StreamsConfig(WITH_THREADS, upgrade_from=WITH_TASKS), False, True),
        (StreamsConfig(WITH_THREADS), True, True),
        (StreamsConfig(WITH_THREADS, group_aware=True), True, True),
        (StreamsConfig(WITH_THREADS, group_aware=False), False, True),
        (StreamsConfig(WITH_TASKS, group_aware=True), False, False),
    ],
)
def test_a_version_and_a_configuration_choose_the_producer(config, per_thread, names_member):
    assert (config.per_thread, config.names_member) == (per_thread, names_member)


def test_the_three_versions_of_two_bounces_are_what_the_configurations_choose():
    assert instance("v1", 1, StreamsConfig(WITH_TASKS)) == OLD
    assert instance("v2", 2, StreamsConfig(WITH_THREADS, upgrade_from=WITH_TASKS)) == BETWEEN
    assert instance("v3", 3, StreamsConfig(WITH_THREADS)) == NEW


def test_without_the_version_in_between_nobody_fences_the_old_one():
    trace, _ = play_once("kip-447-one-bounce", "kafka")
    assert PROPERTIES[0].finding(trace.observations[0]).status == "broken"
    assert set(committed_outputs(trace.world).values()) == {2}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"version": "2.2"}, "must have version 2.3 or 2.4"),
        (
            {"version": WITH_THREADS, "upgrade_from": "2.4"},
            "upgraded from 2.3 or nothing, not '2.4' from '2.4'",
        ),
        (
            {"version": WITH_THREADS, "upgrade_from": WITH_TASKS, "group_aware": True},
            "one configuration or the other",
        ),
    ],
)
def test_a_configuration_that_cannot_be_is_refused_in_one_sentence(wrong, says):
    with pytest.raises(ValueError, match=says):
        StreamsConfig(**wrong)
