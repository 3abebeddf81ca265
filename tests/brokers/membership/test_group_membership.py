"""The group coordinator and the members of a group: they join, beat, let go, fall silent, leave."""

from __future__ import annotations

import pytest

from kipviz.brokers.context import ReplyTo
from kipviz.brokers.groups import group_coordinator as gc
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.membership.group_membership import (
    on_consumer_group_heartbeat,
    on_leave_group,
)
from kipviz.brokers.timers import AssignmentInterval, MemberRebalance, MemberSession
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.events import AssignmentMoved
from kipviz.messages.groups.classic_groups import LeaveGroup, Leaver
from kipviz.messages.groups.membership import Assignment, ConsumerGroupHeartbeat
from tests.messages.offset_fetches import fetch_offset_of

HERE = "__consumer_offsets-0"
BOTH = ("src-0", "src-1")


@pytest.fixture
def desk():
    return Desk(gc, GroupCoordinator(HERE), leaders={HERE: 1, "src-0": 5, "src-1": 5, "out-0": 5})


def beat(desk, name, epoch, owned=None, names=None):
    request = ConsumerGroupHeartbeat("g", name, epoch, names, owned)
    return desk.ask(on_consumer_group_heartbeat, request)


def join(desk, name):
    return beat(desk, name, 0, (), ("src",))


def test_a_member_joins_at_the_group_s_next_epoch(desk):
    answer = join(desk, "C1")
    assert (answer.error, answer.member_epoch) == (Errors.NONE, 2)
    assert answer.assignment == Assignment(BOTH)
    assert [type(r).__name__ for r in desk.written(HERE)] == [
        "SubscriptionRecord",
        "GroupEpochRecord",
        "TargetRecord",
        "TargetEpochRecord",
        "MemberRecord",
    ]


def test_a_full_group_takes_nobody_in_and_keeps_whom_it_has_also_by_a_static_name(desk):
    desk.settings = desk.settings.but(consumer_group_max_size=1)
    static = ConsumerGroupHeartbeat("g", "C1", 0, ("src",), (), "one")
    assert desk.ask(on_consumer_group_heartbeat, static).error is Errors.NONE
    written = len(desk.written(HERE))
    assert join(desk, "C2").error is Errors.GROUP_MAX_SIZE_REACHED
    assert beat(desk, "C2", 5).error is Errors.GROUP_MAX_SIZE_REACHED
    assert len(desk.written(HERE)) == written
    assert beat(desk, "C1", 2).error is Errors.NONE
    double = static.but(member_id="C2")
    assert desk.ask(on_consumer_group_heartbeat, double).error is Errors.UNRELEASED_INSTANCE_ID


def test_a_member_of_version_0_gets_its_member_id_from_its_coordinator(desk):
    """GroupMetadataManager.consumerGroupHeartbeat; those of two members differ."""
    first = ConsumerGroupHeartbeat("g", "", 0, ("src",), (), version=0)
    named = [desk.ask(on_consumer_group_heartbeat, first).member_id for _ in range(2)]
    assert named == ["member.1", "member.2"]
    assert sorted(desk.role.groups["g"].members) == named
    static = first.but(instance_id="one")
    taken = desk.ask(on_consumer_group_heartbeat, static).member_id
    away = static.but(member_epoch=-2)
    assert desk.ask(on_consumer_group_heartbeat, away).error is Errors.FENCED_INSTANCE_ID
    assert desk.ask(on_consumer_group_heartbeat, away.but(member_id=taken)).error is Errors.NONE
    back = desk.ask(on_consumer_group_heartbeat, static)
    assert back.error is Errors.NONE
    assert back.member_id not in (*named, taken)
    assert back.member_id in desk.role.groups["g"].members


def test_a_heartbeat_that_changes_nothing_writes_nothing_and_brings_no_assignment(desk):
    join(desk, "C1")
    before, written = desk.role, len(desk.written(HERE))
    answer = beat(desk, "C1", 2)
    assert (answer.member_epoch, answer.assignment) == (2, None)
    assert desk.role == before
    assert len(desk.written(HERE)) == written


def test_a_heartbeat_brings_the_assignment_again_only_if_it_says_everything(desk):
    """Recorded of Kafka 4.4.0: one that says what it owns, and not its topics, is told nothing."""
    join(desk, "C1")
    assert beat(desk, "C1", 2, BOTH).assignment is None
    assert beat(desk, "C1", 2, BOTH, ("src",)).assignment == Assignment(BOTH)


def test_the_last_member_that_leaves_takes_the_target_along(desk):
    """Recorded of Kafka 4.4.0: a group without members has the target of its own epoch."""
    join(desk, "C1")
    join(desk, "C2")
    beat(desk, "C1", -1)
    assert [type(r).__name__ for r in desk.written(HERE)][-1] == "GroupEpochRecord"
    beat(desk, "C2", -1)
    last = [(type(r).__name__, r.epoch) for r in desk.written(HERE)[-2:]]
    assert last == [("GroupEpochRecord", 5), ("TargetEpochRecord", 5)]
    assert desk.role.groups["g"].target_epoch == 5


def test_a_target_that_has_to_wait_leaves_a_new_member_without_partitions(desk):
    """Recorded of Kafka 4.3.1: whoever comes within the assignment interval gets the old epoch."""
    join(desk, "C1")
    desk.settings = desk.settings.but(targets_wait=True)
    late = join(desk, "C2")
    assert (late.member_epoch, late.assignment) == (2, Assignment(()))
    desk.settings = desk.settings.but(targets_wait=False)
    assert beat(desk, "C1", 2).member_epoch == 2
    assert desk.role.groups["g"].target_epoch == 3


def test_a_target_is_kept_for_the_assignment_interval_and_the_next_one_is_for_all_who_came(desk):
    """KIP-1263: two members come within a second, and the group's second target is for both."""
    join(desk, "C1")
    assert gc.delays(desk.role) == ()  # 0, as it is unless a spec says else: the next one at once
    desk.do(gc.on_loaded(GroupCoordinator(HERE, loading=True), desk.on))
    desk.settings = desk.settings.but(consumer_assignment_interval_ms=1_000)
    join(desk, "C2")
    (interval,) = gc.delays(desk.role)
    assert interval == AssignmentInterval("g")
    assert [join(desk, name).member_epoch for name in ("C3", "C4")] == [3, 3]
    group = desk.role.groups["g"]
    assert (group.epoch, group.target_epoch) == (5, 3)
    desk.do(gc.on_delay(desk.role, interval, desk.on))
    assert (gc.delays(desk.role), desk.role.groups["g"].target_epoch) == ((), 3)
    beat(desk, "C3", 3)
    assert desk.role.groups["g"].target_epoch == 5
    assert gc.delays(desk.role) == (interval,)


def test_a_target_that_is_not_written_begins_no_interval(desk):
    desk.settings = desk.settings.but(consumer_assignment_interval_ms=1_000)
    desk.image = {"min_insync_replicas": (("__consumer_offsets", 2),), "offline": (99,)}
    assert join(desk, "C1").error is Errors.COORDINATOR_NOT_AVAILABLE
    assert gc.delays(desk.role) == ()


def test_the_first_member_of_a_group_does_not_wait_for_its_target(desk):
    desk.settings = desk.settings.but(targets_wait=True)
    assert join(desk, "C1").assignment == Assignment(BOTH)


def test_a_partition_goes_from_one_member_to_another_in_three_heartbeats(desk):
    join(desk, "C1")
    assert join(desk, "C2").assignment == Assignment(())
    told = beat(desk, "C1", 2)
    assert (told.member_epoch, told.assignment) == (2, Assignment(("src-0",)))
    assert beat(desk, "C2", 3).assignment is None
    assert beat(desk, "C1", 2, ("src-0",)).member_epoch == 3
    assert beat(desk, "C2", 3).assignment == Assignment(("src-1",))


@pytest.mark.parametrize(
    ("name", "epoch", "error"),
    [
        ("C1", 3, Errors.FENCED_MEMBER_EPOCH),
        ("C1", 1, Errors.FENCED_MEMBER_EPOCH),
        ("C9", 2, Errors.UNKNOWN_MEMBER_ID),
        ("C9", -1, Errors.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_stranger_or_a_wrong_epoch_is_refused(desk, name, epoch, error):
    join(desk, "C1")
    assert beat(desk, name, epoch).error is error


@pytest.mark.parametrize("epoch", [2, -1])
def test_a_group_that_does_not_exist_has_no_members(desk, epoch):
    assert beat(desk, "C1", epoch).error is Errors.GROUP_ID_NOT_FOUND


def test_a_join_whose_answer_was_lost_can_be_repeated(desk):
    first = join(desk, "C1")
    desk.role = desk.role.but(groups=desk.role.groups)
    again = beat(desk, "C1", 0, (), ("src",))
    assert (again.error, again.member_epoch) == (Errors.NONE, first.member_epoch)
    assert again.assignment == first.assignment


def test_a_silent_member_is_taken_out_and_the_group_goes_on(desk):
    join(desk, "C1")
    join(desk, "C2")
    timer = MemberSession("C1", "g")
    assert timer in gc.timers(desk.role, desk.on)
    desk.do(gc.on_timer(desk.role, timer, desk.on))
    assert list(desk.role.groups["g"].members) == ["C2"]
    assert desk.role.groups["g"].epoch == 4
    (gone,) = [e for e in desk.events if isinstance(e, AssignmentMoved) and e.epoch == 0]
    assert (gone.member_id, gone.because) == ("C1", "its session expired")
    assert beat(desk, "C2", 3).assignment == Assignment(BOTH)
    assert beat(desk, "C1", 2).error is Errors.UNKNOWN_MEMBER_ID


def test_a_member_joins_with_epoch_0_lives_by_heartbeats_and_leaves_with_epoch_minus_1(desk):
    assert join(desk, "C1").member_epoch == 2
    assert join(desk, "C2").member_epoch == 3
    timer = MemberSession("C1", "g")
    for _ in range(2):
        assert beat(desk, "C1", 2).error is Errors.NONE
        assert timer in gc.timers(desk.role, desk.on)
    desk.do(gc.on_timer(desk.role, timer, desk.on))  # without a heartbeat
    assert beat(desk, "C1", 2).error is Errors.UNKNOWN_MEMBER_ID
    assert beat(desk, "C2", -1).member_epoch == -1
    assert not desk.role.groups["g"].members
    assert beat(desk, "C2", 3).error is Errors.UNKNOWN_MEMBER_ID


def test_only_who_has_to_let_go_has_a_rebalance_time_out(desk):
    join(desk, "C1")
    join(desk, "C2")
    assert not any("rebalance" in timer.text for timer in gc.timers(desk.role, desk.on))
    beat(desk, "C1", 2)
    timer = MemberRebalance("C1", "g")
    assert timer in gc.timers(desk.role, desk.on)
    desk.do(gc.on_timer(desk.role, timer, desk.on))
    assert list(desk.role.groups["g"].members) == ["C2"]


def test_a_member_that_leaves_is_gone_at_once(desk):
    join(desk, "C1")
    assert beat(desk, "C1", -1).member_epoch == -1
    assert not desk.role.groups["g"].members
    assert desk.role.groups["g"].epoch == 3


def test_a_loading_coordinator_knows_nobody_yet(desk):
    desk.role = desk.role.but(loading=True)
    assert join(desk, "C1").error is Errors.COORDINATOR_LOAD_IN_PROGRESS


def test_the_answer_waits_until_the_records_are_replicated(desk):
    desk.instant = False
    assert join(desk, "C1") is None
    assert beat(desk, "C1", 2) is None  # it has seen what is not replicated
    desk.replicate()
    assert len(desk.replies) == 2


@pytest.mark.parametrize(
    ("name", "epoch", "error"),
    [
        *(("C1", 2, 0), ("C1", 1, 113), ("C9", 2, 25), ("", -1, 0), ("", -2, 0)),
        # Only who names neither is let in unseen.
        *(("C1", -1, 113), ("C9", -1, 25), ("", 2, 25)),
    ],
)
def test_who_asks_for_an_offset_as_a_member_has_to_be_one(desk, name, epoch, error):
    join(desk, "C1")
    assert fetch_offset_of(desk, member_id=name, member_epoch=epoch).error.value == error


def test_a_new_coordinator_finds_the_same_members_in_the_log(desk):
    join(desk, "C1")
    join(desk, "C2")
    beat(desk, "C1", 2)
    before = desk.role
    desk.role = GroupCoordinator(HERE, loading=True)
    desk.do(gc.on_loaded(desk.role, desk.on))
    assert desk.role == before


def test_whoever_waits_hears_that_the_coordinator_is_elsewhere(desk):
    desk.instant = False
    join(desk, "C1")
    effects = gc.on_resigned(desk.role, desk.on)
    assert [r.message.error for r in effects.replies] == [Errors.NOT_COORDINATOR]
    assert isinstance(effects.replies[0].to, ReplyTo)


def test_a_heartbeat_that_says_its_topics_but_not_what_it_owns_is_told_nothing(desk):
    """GroupMetadataManager.consumerGroupHeartbeat: a full request has the topics and the owned partitions."""
    join(desk, "C1")
    assert beat(desk, "C1", 2, None, ("src",)).assignment is None


def test_only_a_regular_expression_is_looked_at_as_one(desk):
    join(desk, "C1")
    assert "regular expression" not in [check.name for check in desk.checks]
    wrong = ConsumerGroupHeartbeat("g", "C2", 0, None, (), regex="(")
    answer = desk.ask(on_consumer_group_heartbeat, wrong)
    assert answer.error is Errors.INVALID_REGULAR_EXPRESSION
    assert desk.checks[-1].name == "regular expression"
    leaves = wrong.but(member_id="C1", member_epoch=-1)
    assert desk.ask(on_consumer_group_heartbeat, leaves).error is Errors.NONE


INVALID = Errors.INVALID_REQUEST


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({}, Errors.NONE),
        ({"member_id": ""}, INVALID),
        ({"group_id": ""}, INVALID),
        ({"owned": ("src-0",)}, INVALID),
        ({"owned": None}, INVALID),
        ({"subscribed_topic_names": None}, INVALID),
        ({"member_epoch": -2}, INVALID),
        ({"member_epoch": -3, "instance_id": "one"}, INVALID),
        ({"member_epoch": -2, "instance_id": "one"}, Errors.GROUP_ID_NOT_FOUND),
    ],
)
def test_a_heartbeat_has_the_form_of_its_epoch(desk, changes, error):
    """GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid."""
    request = ConsumerGroupHeartbeat("g", "C1", 0, ("src",), ()).but(**changes)
    assert desk.ask(on_consumer_group_heartbeat, request).error is error
    if request.member_epoch == -2:
        named = [c.asked for c in desk.checks if c.name == "group.instance.id"]
        assert named == [request.instance_id or None]


def test_a_heartbeat_shows_whom_it_found_and_what_that_one_has_and_shall_have(desk):
    join(desk, "C1")
    beat(desk, "C1", 2)
    assert [c.found for c in desk.checks if c.name == "target"] == [BOTH]
    assert [c.found for c in desk.checks if c.name == "partitions to revoke"] == [()]
    for name, found in (("C9", None), ("C1", "C1")):
        beat(desk, name, -1)
        assert [(c.asked, c.found) for c in desk.checks if c.name == "member id"] == [(name, found)]


def test_who_leaves_needs_no_room(desk):
    """GroupMetadataManager.throwIfConsumerGroupIsFull is for those that join or stay."""
    desk.settings = desk.settings.but(consumer_group_max_size=1)
    join(desk, "C1")
    assert beat(desk, "C9", -1).error is Errors.UNKNOWN_MEMBER_ID


def test_each_move_of_a_member_is_reported_with_its_reason_and_nothing_else_is(desk):
    join(desk, "C1")
    beat(desk, "C1", 2)
    join(desk, "C2")
    beat(desk, "C1", 2, BOTH)
    beat(desk, "C1", 2, ("src-0",))
    moved = [(e.member_id, e.because) for e in desk.events if isinstance(e, AssignmentMoved)]
    assert moved == [
        ("C1", "it joined"),
        ("C2", "it joined"),
        ("C1", "its assignment moved towards its target"),
        ("C1", "its assignment moved towards its target"),
    ]


def test_an_operator_that_names_a_member_twice_takes_it_out_once_and_nobody_writes_nothing(desk):
    """GroupMetadataManager.classicGroupLeaveToConsumerGroup: the members are a set."""
    join(desk, "C1")
    join(desk, "C2")
    written = len(desk.written(HERE))
    desk.ask(on_leave_group, LeaveGroup("g", (Leaver("C9"),)))
    assert len(desk.written(HERE)) == written
    desk.ask(on_leave_group, LeaveGroup("g", (Leaver("C1"), Leaver("C1"))))
    left = [type(r).__name__ for r in desk.written(HERE)[written:]]
    assert left == ["MemberTombstone"] * 3 + ["GroupEpochRecord"]


def test_only_the_targets_that_change_are_written(desk):
    """TargetAssignmentBuilder.build: a record for each member whose target is another one."""
    for name in ("C1", "C2"):
        join(desk, name)
    written = len(desk.written(HERE))
    join(desk, "C3")
    kinds = [type(r).__name__ for r in desk.written(HERE)[written:]]
    assert "TargetRecord" not in kinds
    assert "TargetEpochRecord" in kinds


def test_while_a_target_waits_a_new_partition_is_no_reason_for_another_epoch(desk):
    """KIP-1263: the target that is due is computed of what is there then."""
    desk.settings = desk.settings.but(consumer_assignment_interval_ms=1_000)
    join(desk, "C1")
    join(desk, "C2")
    desk.leaders["src-2"] = 5
    epochs = []
    for _ in range(2):
        beat(desk, "C1", 2)
        epochs.append(desk.role.groups["g"].epoch)
    assert epochs == [3, 3]


def test_a_heartbeat_that_makes_no_target_begins_no_interval(desk):
    """GroupMetadataManager.canComputeNextTargetAssignment; each group has an interval of its own."""
    desk.settings = desk.settings.but(consumer_assignment_interval_ms=1_000)
    join(desk, "C1")
    other = ConsumerGroupHeartbeat("h", "D1", 0, ("src",), ())
    desk.ask(on_consumer_group_heartbeat, other)
    assert gc.delays(desk.role) == (AssignmentInterval("g"), AssignmentInterval("h"))
    desk.do(gc.on_delay(desk.role, AssignmentInterval("g"), desk.on))
    assert gc.delays(desk.role) == (AssignmentInterval("h"),)
    written = len(desk.written(HERE))
    join(desk, "C2")
    assert gc.delays(desk.role) == (AssignmentInterval("h"), AssignmentInterval("g"))
    beat(desk, "C1", 2, BOTH)
    assert len(desk.written(HERE)) > written
    assert gc.delays(desk.role) == (AssignmentInterval("h"), AssignmentInterval("g"))


def test_a_member_that_joins_again_from_another_rack_is_written_and_has_not_moved(desk):
    """GroupMetadataManager.hasMemberSubscriptionChanged: a rack is no reason for another epoch."""
    join(desk, "C1")
    reported, written = len(desk.events), len(desk.written(HERE))
    request = ConsumerGroupHeartbeat("g", "C1", 0, ("src",), (), rack="there")
    assert desk.ask(on_consumer_group_heartbeat, request).member_epoch == 2
    assert len(desk.written(HERE)) == written + 1
    assert not [e for e in desk.events[reported:] if isinstance(e, AssignmentMoved)]
