"""KIP-1319's rejected alternative: a name beside each id in TxnOffsetCommit."""

from __future__ import annotations

import pytest

from kipviz.designs.catalogue import design
from kipviz.designs.design import comes_up, slot_named
from kipviz.messages.errors import Errors
from kipviz.messages.groups import TxnOffsetCommitResponse
from kipviz.scenarios.library import scenario
from kipviz.scenarios.stories.kip_1319 import NAMES_TOO, NEW_ID
from tests.scenarios.story import nodes, played

HERE = "__consumer_offsets-7"


def answers(under: str) -> list[Errors]:
    trace, _ = played("kip-1319-both", under)
    sent = (getattr(e, "message", None) for n in nodes(trace) for e in n.events)
    arrived = [m.error for m in sent if isinstance(m, TxnOffsetCommitResponse)]
    return arrived[::2]  # each is seen twice: sent, and delivered


@pytest.mark.parametrize(
    ("under", "error", "kept"),
    [(NAMES_TOO, Errors.NONE, (4, NEW_ID)), ("kafka", Errors.UNKNOWN_TOPIC_ID, None)],
)
def test_a_name_beside_the_id_takes_away_what_the_id_protects_from(under, error, kept) -> None:
    assert answers(under) == [Errors.NONE, error]
    trace, _ = played("kip-1319-both", under)
    world = nodes(trace)[-1].world
    offsets = world.roles[world.image.leader_of(HERE), "group_coordinator", HERE].offsets
    found = [o for (_, partition), o in offsets.items() if partition == "src-0"]
    assert [(o.offset, o.topic_id) for o in found] == ([kept] if kept else [])
    assert (trace.observations[0].broken != "") == (kept is not None)


def test_the_question_comes_up_where_a_topic_is_made_again_under_its_name() -> None:
    slot = slot_named("name_beside_id")
    assert comes_up(slot, scenario("kip-1319-remade").spec)
    assert not comes_up(slot, scenario("kip-447-race").spec)
    (difference,) = design(NAMES_TOO).differs_from(design("kafka"))
    assert difference == ("name_beside_id", "names_too", "ids_alone")
