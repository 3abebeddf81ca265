"""A share coordinator that tells the leader of the source what became of its transactional acknowledgements (study B2)."""

from __future__ import annotations

from collections import Counter

import pytest

from kipviz.checking.judging.verdicts import EVERY_PROPERTY
from kipviz.checking.search.explore import explore
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.designs.catalogue import design
from kipviz.messages.events import MessageDelivered
from kipviz.records.share_group_state import RecordState
from kipviz.scenarios.library import scenario
from kipviz.studies.timed.marker_hops import hops

STORY = "kip-1289-small-told"
TELLS = "repaired+outcome_news=the_coordinator_tells"


def record(trace):
    (share,) = (s for r in trace.world.roles.values() for s in getattr(r, "shares", {}).values())
    return share.records.get(100), share.start_offset


def test_the_record_leaves_tx_pending_and_its_leader_has_asked_nothing() -> None:
    trace, _ = scenario(STORY).play(design(TELLS))
    arrived = Counter(
        type(event.message).__name__
        for number in trace.line
        for event in trace.node(number).events
        if isinstance(event, MessageDelivered)
    )
    assert arrived["ReadShareGroupState"] == 1, "the one with which the leader begins"
    assert arrived["TellShareGroupState"] == arrived["TellShareGroupStateResponse"] == 1
    found, start = record(trace)
    assert start == 101 or found.state is RecordState.ACKNOWLEDGED


def test_who_is_told_knows_one_message_earlier_than_who_asks() -> None:
    asked, told = hops("repaired")[0], hops(TELLS)[0]
    assert len(asked) - len(told) == 1
    assert (asked[-2:], told[-1:]) == (
        ("ReadShareGroupState", "ReadShareGroupStateResponse"),
        ("TellShareGroupState",),
    )


@pytest.mark.parametrize("faults", [{"lose_connection": 1}, {"move_leader": 1}], ids=str)
def test_news_that_is_lost_or_comes_to_the_wrong_broker_harms_nobody(faults) -> None:
    """The leader may ask all the same, and a new leader reads the state anyway."""
    model = scenario("kip-1289-small-apart").model(design(TELLS), FaultBudget(**faults))
    found = explore(model, properties=EVERY_PROPERTY, states_max=5_000)
    assert found.counterexamples == ()
    assert found.states > 2_000
