"""Static members of a group of KIP-848: names that are taken, released, taken over, and in use."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.brokers.checks import error_of
from kipviz.brokers.groups import group_coordinator as gc
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.membership import classic_membership, static_members
from kipviz.brokers.membership import group_membership as membership
from kipviz.brokers.membership.consumer_group import ConsumerGroup, commit_checks
from kipviz.brokers.timers import MemberSession
from kipviz.clients.groups import kafka_consumer
from kipviz.clients.groups.consumer_membership import MemberState
from kipviz.core.table import Table
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.events import AssignmentMoved
from kipviz.messages.groups.classic_groups import LeaveGroup, Leaver, Left
from kipviz.messages.groups.groups import GroupOffset, OffsetCommit
from kipviz.messages.groups.membership import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatResponse
from tests.clients.groups.test_group_consumer import BOTH, reading, send
from tests.clients.parts import change

E = Errors
HERE = "__consumer_offsets-0"


def beat(desk: Desk, name: str, epoch: int, instance: str = "i1", **fields: Any) -> Any:
    request = ConsumerGroupHeartbeat("g", name, epoch, instance_id=instance, **fields)
    return desk.ask(membership.on_consumer_group_heartbeat, request)


def joins(desk: Desk, name: str, instance: str = "i1") -> Any:
    return beat(desk, name, 0, instance, subscribed_topic_names=("src",), owned=())


@pytest.fixture
def desk() -> Desk:
    """A group with the static member C1, under the name i1."""
    here = Desk(gc, GroupCoordinator(HERE), leaders={HERE: 1, "src-0": 5, "src-1": 5})
    assert joins(here, "C1").error is E.NONE
    return here


def group(desk: Desk) -> ConsumerGroup:
    found: ConsumerGroup = desk.role.groups["g"]
    return found


def test_a_name_is_kept_with_the_member_also_in_the_log(desk: Desk) -> None:
    assert group(desk).members["C1"].instance_id == "i1"
    again = gc.on_loaded(GroupCoordinator(HERE, loading=True), desk.on).state
    assert again.groups["g"] == group(desk)


def test_a_name_that_is_in_use_cannot_be_joined_with_not_even_by_its_own_member(desk: Desk) -> None:
    before = group(desk)
    assert joins(desk, "C9").error is E.UNRELEASED_INSTANCE_ID
    assert joins(desk, "C1").error is E.UNRELEASED_INSTANCE_ID
    assert group(desk) == before


def test_who_goes_for_a_while_keeps_what_it_has_at_epoch_minus_2(desk: Desk) -> None:
    answer = beat(desk, "C1", -2)
    assert (answer.error, answer.member_epoch) == (E.NONE, -2)
    away = group(desk).members["C1"]
    assert (away.epoch, away.assigned) == (-2, (("src-0", 0), ("src-1", 0)))
    assert group(desk).epoch == 2
    assert MemberSession("C1", "g") in membership.timers(desk.role, desk.on)


def test_who_is_back_takes_its_place_under_a_new_id_and_the_group_stays_at_its_epoch(
    desk: Desk,
) -> None:
    assert joins(desk, "C2").error is E.UNRELEASED_INSTANCE_ID
    beat(desk, "C1", -2)
    answer = joins(desk, "C2")
    assert (answer.error, answer.member_epoch, answer.assignment.partitions) == (E.NONE, 2, BOTH)
    assert (tuple(group(desk).members), group(desk).epoch) == (("C2",), 2)
    assert "i1" in desk.events[-1].because


@pytest.mark.parametrize("epoch", [2, -1, -2])
def test_an_older_id_is_fenced_whatever_it_says(desk: Desk, epoch: int) -> None:
    beat(desk, "C1", -2)
    joins(desk, "C2")
    joins(desk, "C1", instance="")
    assert beat(desk, "C1", epoch).error is E.FENCED_INSTANCE_ID


def test_a_name_that_nobody_has_is_an_unknown_member(desk: Desk) -> None:
    assert beat(desk, "C1", 2, "i7").error is E.UNKNOWN_MEMBER_ID
    assert beat(desk, "C1", 2).error is E.NONE


def test_who_goes_for_good_leaves_its_name_free(desk: Desk) -> None:
    assert beat(desk, "C1", -1).error is E.NONE
    assert joins(desk, "C9").member_epoch == 4


@pytest.mark.parametrize(
    ("leaver", "error", "left"),
    [
        (Leaver("", "i1"), E.NONE, ()),
        (Leaver("C1", "i1"), E.NONE, ()),
        (Leaver("C9", "i1"), E.FENCED_INSTANCE_ID, ("C1",)),
        (Leaver("", "i7"), E.UNKNOWN_MEMBER_ID, ("C1",)),
    ],
)
def test_an_operator_takes_a_static_member_out_by_its_name(
    desk: Desk, leaver: Leaver, error: Errors, left: tuple[str, ...]
) -> None:
    answer: Any = desk.ask(classic_membership.on_leave_group, LeaveGroup("g", (leaver,)))
    assert answer.members == (Left(leaver.member_id, leaver.instance_id, error),)
    assert tuple(group(desk).members) == left


def test_offsets_are_checked_by_the_member_s_id_and_not_by_its_name(desk: Desk) -> None:
    """Whoever has the name now: the older id is no member, and FENCED_INSTANCE_ID is for heartbeats."""
    beat(desk, "C1", -2)
    joins(desk, "C2")
    offsets = (GroupOffset("src-0", 101),)

    def commits(name: str, epoch: int, instance: str) -> Any:
        request = OffsetCommit("g", name, epoch, offsets, instance)
        return desk.ask(gc.on_offset_commit, request).error

    assert commits("C1", 2, "i1") is E.UNKNOWN_MEMBER_ID
    assert commits("C2", 2, "i1") is commits("C2", 2, "of nobody") is E.NONE
    staged = {"transactional": True, "partitions": ("src-0",)}
    assert error_of(commit_checks(group(desk), "", -1, **staged)) is E.NONE
    assert (
        error_of(commit_checks(group(desk), "", -1, **staged, instance_id="i1"))
        is E.UNKNOWN_MEMBER_ID
    )


# -- the client -------------------------------------------------------------------------------------


def test_a_static_consumer_says_its_name_each_time_and_leaves_with_epoch_minus_2() -> None:
    me, request = send(kafka_consumer.unsubscribe(reading(*BOTH, instance_id="i1")))
    assert request == ConsumerGroupHeartbeat("g", "C1", -2, instance_id="i1")
    me = kafka_consumer.on_response(me, ConsumerGroupHeartbeatResponse(E.NONE, "C1", -2))
    assert (me.state, me.done) == (MemberState.UNSUBSCRIBED, True)
    late = kafka_consumer.on_missed_poll(reading(*BOTH, instance_id="i1").but(polling=False))
    assert send(late)[1] == request
    assert kafka_consumer.restart(me, 2).instance_id == "i1"


def test_a_static_consumer_says_its_name_with_its_offsets() -> None:
    me = change(reading(*BOTH, instance_id="i1"), positions=Table.of({"src-0": 101}), polling=False)
    _, request = send(kafka_consumer.commit_sync(me))
    assert request == OffsetCommit("g", "C1", 2, (GroupOffset("src-0", 101),), "i1")


@pytest.mark.parametrize("error", [E.UNRELEASED_INSTANCE_ID, E.FENCED_INSTANCE_ID])
def test_what_is_wrong_with_its_name_ends_a_consumer(error: Errors) -> None:
    me, request = send(kafka_consumer.poll(change(reading(*BOTH, instance_id="i1"), beat=True)))
    assert isinstance(request, ConsumerGroupHeartbeat)
    assert request.instance_id == "i1"
    me = kafka_consumer.on_response(me, ConsumerGroupHeartbeatResponse(error, "C1"))
    assert (me.state, str(me.error)) == (MemberState.FATAL, f"ConsumerGroupHeartbeat: {error.name}")


def test_who_is_back_is_shown_what_its_place_has_and_why_it_moves(desk: Desk) -> None:
    beat(desk, "C1", -2)
    joins(desk, "C2")
    assert [c.found for c in desk.checks if c.name == "target"] == [BOTH]
    assert [e.because for e in desk.events if isinstance(e, AssignmentMoved)] == [
        "it joined",
        "it replaces the previous member of i1",
    ]


IN_USE = "who has the group.instance.id"


def test_a_heartbeat_shows_which_member_has_the_group_instance_id(desk: Desk) -> None:
    for name, epoch, instance, found in (
        ("C2", 0, "i1", "C1"),
        ("C2", 0, "i2", None),
        ("C1", 2, "i1", "C1"),
        ("C1", 2, "i9", None),
    ):
        fields = {"subscribed_topic_names": ("src",), "owned": ()} if epoch == 0 else {}
        beat(desk, name, epoch, instance, **fields)
        shown = [(c.asked, c.found) for c in desk.checks if c.name == IN_USE]
        assert shown == [(name, found)]


@pytest.mark.parametrize(
    ("leaver", "name", "asked", "found", "error"),
    [
        (Leaver("", "i1"), "C1", None, "C1", E.NONE),
        (Leaver("C1", "i1"), "C1", "C1", "C1", E.NONE),
        (Leaver("C9", "i1"), "C1", "C9", "C1", E.FENCED_INSTANCE_ID),
        (Leaver("C9", "i9"), "C9", "C9", None, E.UNKNOWN_MEMBER_ID),
    ],
)
def test_whom_an_operator_means_by_a_group_instance_id(
    desk: Desk, leaver: Leaver, name: str, asked: str | None, found: str | None, error: Errors
) -> None:
    """GroupMetadataManager.classicGroupLeaveToConsumerGroup, throwIfInstanceIdIsFenced."""
    meant, check = static_members.leaver_of(desk.role.groups["g"], leaver)
    assert meant == name
    assert (check.asked, check.found, check.error) == (asked, found, error)
