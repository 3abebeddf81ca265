"""A process with several share consumers: whose decisions a line drains and stages, and which processes cannot have them."""

from __future__ import annotations

import pytest

from kipviz.clients.application import Call, Line, restart
from kipviz.clients.shares.draining import DRAINED
from kipviz.clients.shares.share_member import ShareMember
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.spec import BadSpec, ClusterSpec
from kipviz.messages.events import RecordsMoved
from kipviz.records.share_group_state import RecordState
from kipviz.scenarios.library import searched_scenario
from kipviz.views.reasons.beliefs import RememberedResponses, beliefs
from tests.scenarios.story import nodes, play_once

STORY = "kip-1289-flink-shuffle"


def cluster(**changes: object) -> ClusterSpec:
    spec = searched_scenario(STORY).spec
    return spec.but(applications=(spec.applications[0].but(**changes),))


def test_each_member_acquires_a_record_and_the_first_staging_is_of_the_first_member() -> None:
    trace, _ = play_once(STORY, "draft-late")
    moves = [e for node in nodes(trace) for e in node.events if isinstance(e, RecordsMoved)]
    acquired = [(m.first, m.member_id) for m in moves if m.after is RecordState.ACQUIRED]
    assert acquired == [(100, "M1"), (101, "M9")]
    assert [m.first for m in moves if m.after is RecordState.TX_PENDING] == [100]


def test_after_both_stagings_no_drained_object_is_left_in_either_consumer() -> None:
    trace, _ = play_once(STORY, "draft-late")
    consumers = trace.world.applications["app-1"].share_consumers
    assert [c.member_id for c in consumers] == ["M1", "M9"]
    assert [c.handover.drained for c in consumers] == [(), ()]


def test_the_beliefs_have_a_row_for_each_member_of_the_process() -> None:
    spec = searched_scenario(STORY).spec
    trace, _ = play_once(STORY, "draft-late")
    # Source B has its record, and its decision is not drained yet.
    world = next(
        node.world
        for node in nodes(trace)
        if node.world.applications["app-1"].others["M9"].current_fetch.batch
    )
    names = [row.topic for row in beliefs(spec.applications[0], world, RememberedResponses())]
    assert [n for n in names if n.startswith("records held")] == [
        "records held by M1",
        "records held by M9",
    ]


JOINING = "kip-1289-flink-shuffle-epoch"


def test_where_the_process_joins_in_the_run_each_member_has_a_membership_of_its_own() -> None:
    trace, _ = play_once(JOINING, "draft-late")
    app = trace.world.applications["app-1"]
    members = [c for c in app.clients if isinstance(c, ShareMember)]
    assert [(m.source, m.member_id) for m in members] == [
        ("app-1/M9-member", "M9"),
        ("app-1/member", "M1"),
    ]
    told = {m.member_id: m.member_epoch for m in members}
    assert told == {c.member_id: c.member_epoch for c in app.share_consumers}


def test_the_members_of_the_next_life_are_others_than_before() -> None:
    trace, _ = play_once(JOINING, "draft-late")
    again = restart(trace.world.applications["app-1"])
    assert [c.member_id for c in again.share_consumers] == ["M1#2", "M9#2"]
    assert {m.member_id for m in again.clients if isinstance(m, ShareMember)} == {"M1#2", "M9#2"}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"further_members": ("M1",)}, "is a name of its own such as 'M9', not 'M1'"),
        ({"further_members": ("M9", "M9")}, "is a name of its own such as 'M9', not 'M9'"),
        ({"further_members": ("a/b",)}, "is a name of its own such as 'M9', not 'a/b'"),
        ({"further_members": ()}, "is a call of one of '', not of 'M9'"),
        ({"explicit": False}, "explicit acknowledgement"),
        (
            {"program": (Line("stage", Call.SEND_SHARE_ACKNOWLEDGEMENTS, target=f"{DRAINED} M8"),)},
            "stages the decisions of 'M8', which is not in further_members",
        ),
    ],
)
def test_a_process_that_cannot_have_its_further_members_is_refused_in_a_sentence(
    changes: dict[str, object], why: str
) -> None:
    with pytest.raises(BadSpec, match=why):
        check(cluster(**changes))
