"""The stories of producers are told under every transaction version."""

from __future__ import annotations

import pytest

from kipviz.designs.catalogue import design
from kipviz.scenarios.library import scenario
from kipviz.scenarios.setting_changes import BadChange, apply_changes

OLDER = ("kafka-tv0", "kafka-tv1")
GROUPS = ("kip-1289-group-commit", "kip-1289-group-abort")


@pytest.mark.parametrize("under", OLDER)
@pytest.mark.parametrize("name", GROUPS)
def test_the_loop_of_a_regular_group_runs_under_older_versions(name, under):
    story = scenario(name)
    trace, _ = story.play(design(under))
    producer = trace.world.applications["app-1"].producer
    assert (producer.manager.version, producer.manager.producer_epoch) == (int(under[-1]), 0)
    said = [o.finding(s).status for o, s in zip(trace.observers, trace.observations, strict=True)]
    assert said == ["holds", "holds"]


def test_a_setting_that_the_design_stands_for_cannot_be_changed():
    spec = scenario(GROUPS[0]).spec
    with pytest.raises(BadChange, match="is what it is by transaction_version=1"):
        apply_changes(spec, design("kafka-tv1"), ("transaction.version=2",))
    spec, _ = apply_changes(spec, design("kafka"), ("transaction.version=1",))
    assert spec.transaction_version == 1
    spec, _ = apply_changes(
        spec, design("kafka"), ("transaction.partition.verification.enable=false",)
    )
    assert spec.settings.partition_verification is False


def test_staged_acknowledgements_take_version_2():
    spec = scenario("kip-1289-share-commit").spec
    with pytest.raises(BadChange, match="needs transaction version 2, not 1"):
        apply_changes(spec, design("repaired"), ("transaction_version=1",))
    with pytest.raises(BadChange, match=r"transaction.version must be one of 0, 1, 2, not 3"):
        apply_changes(spec, design("repaired"), ("transaction_version=3",))
