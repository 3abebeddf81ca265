"""Changes of a setting: Kafka's own rules are questions under every design, a draft's are not."""

from __future__ import annotations

import pytest

from kipviz.designs.catalogue import design
from kipviz.designs.options import KAFKAS_OWN, SLOTS
from kipviz.scenarios.changes import BadChange, changed, settings
from kipviz.scenarios.library import scenario

SPEC = scenario("pain-timed-out").spec
OWN = [slot for slot in SLOTS if slot.finding == KAFKAS_OWN]


@pytest.mark.parametrize("slot", OWN, ids=lambda slot: slot.name)
def test_a_rule_of_kafkas_own_can_be_switched_off_under_kafka_as_it_is(slot):
    kafka = design("kafka")
    assert slot.name in [s.name for s in settings(SPEC, kafka)]
    off = slot.options[-1].name
    _, other = changed(SPEC, kafka, [f"{slot.name}={off}"])
    assert design(other.name) == other
    assert dict(zip([s.name for s in SLOTS], other.chosen, strict=True))[slot.name] == off


def test_what_only_a_draft_asks_is_no_setting_of_kafka_as_it_is():
    with pytest.raises(BadChange, match="there is no setting 'staged_acks'"):
        changed(SPEC, design("kafka"), ["staged_acks=memory_only"])
