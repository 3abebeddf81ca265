"""Groups of the classic protocol, followed: what their members were told, and where their groups are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kipviz.brokers.groups import group_coordinator
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.membership.classic_group import ClassicGroup, ClassicMember, GroupState
from kipviz.cluster.real.rebuilt_cluster import BROKER
from kipviz.cluster.world import role_key
from kipviz.core.table import Table
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.recordings.answer_mutations import mutate_answer
from kipviz.recordings.followed_members.joining import (
    JOINING,
    Joining,
    with_no_member,
    worlds_of_group,
)
from kipviz.recordings.judging.accept import Acceptor
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.recording_error import RecordingError
from kipviz.recordings.request_context.admission import Admission
from kipviz.recordings.request_context.evidence import Evidence, elections_of, of_recording
from kipviz.records.classic_groups import Subscription

RELEASE = Path(__file__).parents[1] / "kafka-4.4.0"
FOLLOWED = [
    "classic-members",
    "classic-static",
    "group-answers",
    "groups-restart",
    "older-client-members",
]


def refused(evidence: Evidence, number: int, other: Exchange) -> bool:
    """Say whether a recording is not accepted any more with another exchange in it."""
    wire = evidence.exchanges
    exchanges = (*wire[:number], other, *wire[number + 1 :])
    try:
        return any(
            not v.accepted
            for v in Acceptor(evidence.but(exchanges=exchanges)).groups.judge_classic_groups()
        )
    except RecordingError:
        return True


@pytest.mark.parametrize("name", FOLLOWED)
def test_every_answer_to_a_member_is_one_of_the_model_s(name: str) -> None:
    evidence = of_recording(RELEASE / name)
    verdicts = Acceptor(evidence).groups.judge_classic_groups()
    for verdict in verdicts:
        assert verdict.accepted, verdict
    asked = Counter(verdict.api for verdict in verdicts)
    sent = Counter(x.api for x in evidence.exchanges if x.api in JOINING)
    assert asked >= sent  # one request to leave may name several members
    assert set(asked) == set(sent)


def test_the_recordings_have_what_can_become_of_a_member() -> None:
    errors = {
        value
        for name in FOLLOWED
        for verdict in Acceptor(of_recording(RELEASE / name)).groups.judge_classic_groups()
        for what, value in verdict.recorded
        if what in ("error", "member")
    }
    assert errors >= {
        "NONE",
        "MEMBER_ID_REQUIRED",
        "REBALANCE_IN_PROGRESS",
        "ILLEGAL_GENERATION",
        "UNKNOWN_MEMBER_ID",
        "FENCED_INSTANCE_ID",
    }


def test_a_group_goes_on_from_the_log_after_a_restart() -> None:
    """Who joins then is in the next generation, and who is refused by nobody in office comes again."""
    evidence = of_recording(RELEASE / "groups-restart")
    assert len(elections_of(evidence.entries)["__consumer_offsets-7"]) == 2
    verdicts = Acceptor(evidence).groups.judge_classic_groups()
    generations = [dict(v.recorded).get("generation", 0) for v in verdicts]
    assert max(generations) >= 3


@pytest.mark.parametrize("name", FOLLOWED)
def test_an_answer_with_any_number_changed_is_not_accepted(name: str) -> None:
    evidence = of_recording(RELEASE / name)
    beats: Counter[Any] = Counter()
    for number, exchange in enumerate(evidence.exchanges):
        if exchange.api not in JOINING:
            continue
        beats[exchange.api, exchange.response["errorCode"]] += 1
        if beats[exchange.api, exchange.response["errorCode"]] > 3:
            continue  # heartbeats are many, and all alike
        for answer in mutate_answer(exchange.response):
            assert refused(evidence, number, exchange.but(response=answer)), (number, answer)


def test_another_leader_or_another_assignment_is_not_accepted() -> None:
    evidence = of_recording(RELEASE / "classic-members")
    wire = evidence.exchanges
    joins = [n for n, x in enumerate(wire) if x.api == "JOIN_GROUP" and x.response["leader"]]
    for number in joins:
        other = wire[number].response.set("leader", "somebody")
        assert refused(evidence, number, wire[number].but(response=other))
    syncs = [n for n, x in enumerate(wire) if x.api == "SYNC_GROUP" and x.response["assignment"]]
    given = {wire[n].response["assignment"]: n for n in syncs}
    assert len(given) > 1
    for number in syncs:
        mine = wire[number].response["assignment"]
        theirs = next(each for each in given if each != mine)
        other = wire[number].response.set("assignment", theirs)
        assert refused(evidence, number, wire[number].but(response=other))


def test_a_name_that_is_not_made_of_the_client_s_own_is_not_accepted() -> None:
    evidence = of_recording(RELEASE / "classic-members")
    number, join = next((n, x) for n, x in enumerate(evidence.exchanges) if x.api == "JOIN_GROUP")
    assert join.response["memberId"].startswith("member-1-")
    other = join.response.set("memberId", "another-1")
    assert refused(evidence, number, join.but(response=other))


def test_a_commit_is_asked_of_the_group_as_its_members_have_made_it() -> None:
    """Between JoinGroup and SyncGroup nothing of the group is in the log."""
    acceptor = Acceptor(of_recording(RELEASE / "group-answers"))
    found = [
        asked
        for number, exchange in enumerate(acceptor.exchanges)
        if exchange.api == "OFFSET_COMMIT" and exchange.request["groupId"] == "my-group-5"
        for asked in acceptor.of(number, exchange)
    ]
    said = [asked.recorded for asked in found]
    assert (("src-0", "REBALANCE_IN_PROGRESS"),) in said
    assert all(asked.accepted for asked in found)


def test_a_broker_that_is_asked_and_does_not_coordinate_the_group_yet_is_asked_as_it_is() -> None:
    """Found at three brokers, seeds 7005 and 7033: a commit arrived while the group's coordinator moved."""
    (world, *_) = Acceptor(of_recording(RELEASE / "classic-members")).logs.worlds
    home = role_key(BROKER, "__consumer_offsets-0")
    ways = (Table.of({"g": ClassicGroup()}),)
    elsewhere = world.but(roles=world.roles.without(home))
    assert tuple(worlds_of_group(elsewhere, home, "g", ways)) == (elsewhere,)
    (here,) = worlds_of_group(world, home, "g", ways)
    assert here.roles[home].classic_groups["g"] == ClassicGroup()


def test_a_request_that_lacks_a_field_is_a_row_of_its_own() -> None:
    evidence = of_recording(RELEASE / "classic-members")
    wire = evidence.exchanges
    number = next(n for n, x in enumerate(wire) if x.api == "SYNC_GROUP")
    other = wire[number].but(request=Table.of({"groupId": "my-group-4"}))
    acceptor = Acceptor(evidence.but(exchanges=(*wire[:number], other, *wire[number + 1 :])))
    assert number not in {asked.number for asked in acceptor.compare_all()}
    assert acceptor.why_not(number).startswith(f"Request {number} is not SYNC_GROUP version ")
    assert "'generationId'" in acceptor.why_not(number)


def test_a_group_whose_log_is_a_generation_ahead_has_lost_members_since_their_last_request() -> (
    None
):
    acceptor = Acceptor(of_recording(RELEASE / "classic-members"))
    world, key, group_id, group = next(
        (world, key, group_id, group)
        for world in reversed(acceptor.logs.worlds)
        for key, role in world.roles.items()
        for group_id, group in getattr(role, "classic_groups", Table.of()).items()
        if group.generation > 1
    )
    for generation, logged in ((group.generation - 1, True), (group.generation, False)):
        way = Table.of({group_id: group.but(generation=generation)})
        found = tuple(worlds_of_group(world, key, group_id, (way,)))
        assert [w.roles[key].classic_groups[group_id].generation for w in found] == [
            *([group.generation] if logged else []),
            generation,
        ]


def test_a_coordinator_that_still_loads_repeats_no_member_s_id() -> None:
    said = (("error", "COORDINATOR_LOAD_IN_PROGRESS"), ("member", "c-1"), ("generation", -1))
    assert with_no_member(said) == (said[0], ("member", ""), said[2])


def coordinator_of(shard: str, generation: int) -> GroupCoordinator:
    """Give a coordinator that has read one stable generation of g in the log, with one member."""
    members = Table.of({"m": ClassicMember("m", Subscription(("src",)))})
    group = ClassicGroup(GroupState.STABLE, generation=generation, leader="m", members=members)
    return GroupCoordinator(shard, classic_groups=Table.of({"g": group}))


def beat(generation: int, error: str, received_ms: int, answered_ms: int) -> Exchange:
    asks = {"groupId": "g", "generationId": generation, "memberId": "m", "groupInstanceId": None}
    answer = Table.of({"errorCode": int(Errors[error])})
    return Exchange("HEARTBEAT", 4, "m", received_ms, answered_ms, Table.of(asks), answer)


@pytest.mark.parametrize("received_ms", [150, 95])
def test_a_group_is_read_from_the_log_at_every_election_of_its_coordinator(
    received_ms: int,
) -> None:
    """CoordinatorRuntime.scheduleLoadOperation; a request may arrive before its election is known, too."""
    shard = "__consumer_offsets-3"
    on = Desk(group_coordinator, GroupCoordinator(shard), leaders={shard: 1}).on
    assert on.image.home_of("__consumer_offsets", "g") == shard
    contexts = [
        (at, on, {(on.broker, "group_coordinator", shard): coordinator_of(shard, generation)})
        for at, generation in ((0, 1), (100, 5), (200, 7))
    ]
    asked = (
        beat(1, "ILLEGAL_GENERATION", received_ms, received_ms + 10),
        beat(5, "NONE", 160, 161),
        beat(7, "NONE", 250, 251),
    )
    elections = {shard: ((0, 0), (100, 110), (200, 210))}
    followed = Joining(asked, contexts, elections, Admission(()), leaders_known=True)
    assert [each.accepted for each in followed.verdicts] == [True, True, True]
