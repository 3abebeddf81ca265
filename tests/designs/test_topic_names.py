"""KIP-1319's rejected alternatives: a name beside each id in TxnOffsetCommit; two versions of it."""

from __future__ import annotations

import pytest

from kipviz.brokers.groups.group_coordinator import error_for_version
from kipviz.clients.transactions.topic_ids import TopicIds, build_request, next_metadata
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.spec import BadSpec
from kipviz.designs.catalogue import design
from kipviz.designs.design import slot_named
from kipviz.messages.cluster.metadata import Metadata
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import GroupOffset, TxnOffsetCommit, TxnOffsetCommitResponse
from kipviz.scenarios.library import searched_scenario
from tests.scenarios.story import nodes, play_once

HERE = "__consumer_offsets-7"
NAMES_TOO = "kafka+name_beside_id=names_too"
NEW_ID = "AAAAAAAAAAAAAAAAAAAABQ"


def answers(under: str, story: str = "kip-1319-both") -> list[Errors]:
    trace, _ = play_once(story, under)
    sent = (getattr(e, "message", None) for n in nodes(trace) for e in n.events)
    arrived = [m.error for m in sent if isinstance(m, TxnOffsetCommitResponse)]
    return arrived[::2]  # each is seen twice: sent, and delivered


@pytest.mark.parametrize(
    ("under", "error", "kept"),
    [(NAMES_TOO, Errors.NONE, (4, NEW_ID)), ("kafka", Errors.UNKNOWN_TOPIC_ID, None)],
)
def test_a_name_beside_the_id_takes_away_what_the_id_protects_from(under, error, kept) -> None:
    assert answers(under) == [Errors.NONE, error]
    trace, _ = play_once("kip-1319-both", under)
    world = nodes(trace)[-1].world
    offsets = world.roles[world.image.leader_of(HERE), "group_coordinator", HERE].offsets
    found = [o for (_, partition), o in offsets.items() if partition == "src-0"]
    assert [(o.offset, o.topic_id) for o in found] == ([kept] if kept else [])
    assert (trace.observations[0].broken != "") == (kept is not None)


def test_the_question_comes_up_where_a_topic_is_made_again_under_its_name() -> None:
    slot = slot_named("name_beside_id")
    assert slot.arises_in(searched_scenario("kip-1319-remade").spec)
    assert not slot.arises_in(searched_scenario("kip-447-race").spec)
    (difference,) = design(NAMES_TOO).differs_from(design("kafka"))
    assert difference == ("name_beside_id", "names_too", "ids_alone")


TWO = "kip-1319-two-versions"


@pytest.mark.parametrize(
    ("under", "error", "lost"),
    [(TWO, Errors.NONE, True), ("kafka", Errors.UNKNOWN_TOPIC_ID, False)],
)
def test_a_release_between_two_versions_says_what_is_wrong_and_loses_what_an_id_would_save(
    under, error, lost
) -> None:
    assert answers(under, TWO) == [Errors.NONE, error]
    trace, _ = play_once(TWO, under)
    assert (trace.observations[0].broken != "") == lost
    sent = {e.message for n in nodes(trace) for e in n.events if _is_commit(e)}
    assert {(m.version, bool(m.topic_ids)) for m in sent} == {(6, not lost)}
    wrong_epoch = Errors.STALE_MEMBER_EPOCH
    assert (
        error_for_version(6, wrong_epoch) is wrong_epoch
    )  # the errors are those of version 6 under both
    assert error_for_version(5, wrong_epoch) is Errors.ILLEGAL_GENERATION


def _is_commit(event: object) -> bool:
    return isinstance(getattr(event, "message", None), TxnOffsetCommit)


def test_where_an_id_is_missing_the_version_before_the_one_with_ids_is_spoken() -> None:
    request = TxnOffsetCommit("t", "g", 9, 0, "m", 1, (GroupOffset("src-0", 1),), version=7)
    for first in (6, 7):
        ids = TopicIds(looks_up=True, ids_from=first)
        assert build_request(ids, request).version == first - 1
        assert next_metadata(ids, request, first) == (Metadata(("src",)),)
        assert next_metadata(ids, request, first - 1) == ()
        assert ids.anew == ids


def test_ids_come_with_version_6_or_7() -> None:
    spec = searched_scenario(TWO).spec
    with pytest.raises(BadSpec, match="TxnOffsetCommit has topic ids from version 6 or 7, not 8"):
        check(spec.but(topic_ids_from=8))
