"""Groups of the classic protocol: joined, synced, beaten, left, timed out, moved to another broker."""

from __future__ import annotations

import pytest

from kipviz.brokers.checks import compare
from kipviz.brokers.context import ReplyTo
from kipviz.brokers.groups import group_coordinator as gc
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.local_calls import GroupStored
from kipviz.brokers.membership import classic_membership as classic
from kipviz.brokers.timers import GroupRebalance, GroupSync, InitialRebalanceDelay, MemberSession
from kipviz.driving.desk import Desk
from kipviz.messages.apis.catalogue import reject_request
from kipviz.messages.errors import Errors
from kipviz.messages.events import AssignmentMoved, ClassicGroupMoved
from kipviz.messages.groups.classic_groups import (
    Assigned,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeaveGroupResponse,
    Leaver,
    Left,
    Subscribed,
    SyncGroupResponse,
)
from kipviz.messages.groups.groups import GroupOffset, OffsetCommit
from kipviz.records.classic_groups import GroupMetadataRecord, Subscription
from tests.brokers.groups.classic_desk import (
    FIRST,
    FRESH,
    HERE,
    S,
    alone,
    answer_of,
    ask_to_join,
    beat,
    carry,
    group,
    make_desk,
    over,
    run_out,
    second,
    sync,
)


@pytest.fixture
def desk():
    return make_desk()


def test_who_has_no_name_gets_one_and_has_to_come_again(desk):
    assert ask_to_join(desk, "", "C1") == JoinGroupResponse(Errors.MEMBER_ID_REQUIRED, "C1.1")
    assert (group(desk).state, group(desk).pending) == (S.EMPTY, ("C1.1",))
    assert desk.written(HERE) == [GroupMetadataRecord("g", 0)]
    assert ask_to_join(desk, "C1.1") is None
    assert (group(desk).state, group(desk).pending) == (S.PREPARING_REBALANCE, ())


def test_a_name_is_given_out_once_also_by_the_next_coordinator(desk):
    assert [ask_to_join(desk, "", "C1").member_id for _ in range(2)] == ["C1.1", "C1.2"]
    on = desk.on
    leaders = on.image.leaders
    moved = on.image.but(leaders=leaders.set(HERE, leaders[HERE].but(epoch=3)))
    later = classic.on_join_group(
        GroupCoordinator(HERE),
        JoinGroup("g", "", FRESH),
        ReplyTo("x", 1, 0),
        on.but(image=moved, client_id="C1"),
    )
    assert later.replies[0].message.member_id == "C1.3.1"


def test_an_empty_group_waits_once_more_when_somebody_else_has_joined(desk):
    ask_to_join(desk, "", "C1")
    ask_to_join(desk, "C1.1")
    assert gc.delays(desk.role) == (InitialRebalanceDelay("g"),)
    second(desk)
    over(desk)
    assert group(desk).state is S.PREPARING_REBALANCE
    over(desk)
    assert group(desk).state is S.COMPLETING_REBALANCE
    told = answer_of(desk, "C1.1/join")
    assert (told.generation, told.leader) == (1, "C1.1")
    assert told.members == (Subscribed("C1.1", FRESH), Subscribed("C2.2", FRESH))
    assert answer_of(desk, "C2.2/join") == JoinGroupResponse(Errors.NONE, "C2.2", 1, "C1.1")


def test_without_a_delay_the_first_generation_begins_at_once():
    desk = Desk(gc, GroupCoordinator(HERE), leaders={HERE: 1}, initial_rebalance_delay_ms=0)
    ask_to_join(desk, "", "C1")
    assert ask_to_join(desk, "C1.1").generation == 1
    assert gc.delays(desk.role) == ()


def test_the_assignment_is_valid_when_it_is_replicated(desk):
    ask_to_join(desk, "", "C1")
    ask_to_join(desk, "C1.1")
    second(desk)
    over(desk)
    over(desk)
    desk.instant = False
    assert sync(desk, "C2.2") is None
    assert sync(desk, "C1.1", 1, ("C1.1", ("src-0",)), ("C2.2", ("src-1",))) is None
    assert group(desk).state is S.COMPLETING_REBALANCE
    desk.replicate()
    carry(desk)
    assert group(desk).state is S.STABLE
    assert answer_of(desk, "C1.1/sync") == SyncGroupResponse(Errors.NONE, ("src-0",))
    assert answer_of(desk, "C2.2/sync") == SyncGroupResponse(Errors.NONE, ("src-1",))
    record = desk.written(HERE)[-1]
    assert (record.generation, record.leader) == (1, "C1.1")
    assert [(m.member_id, m.assigned) for m in record.members] == [
        ("C1.1", ("src-0",)),
        ("C2.2", ("src-1",)),
    ]


def test_who_asks_for_its_assignment_late_gets_it_from_the_stable_group(desk):
    ask_to_join(desk, "", "C1")
    ask_to_join(desk, "C1.1")
    second(desk)
    over(desk)
    over(desk)
    sync(desk, "C1.1", 1, ("C1.1", ("src-0", "src-1")))
    carry(desk)
    assert GroupSync("g") in gc.timers(desk.role, desk.on)
    # Its leader did not know it: there are no bytes for it (GroupMetadataManager.classicGroupSync).
    assert sync(desk, "C2.2") == SyncGroupResponse(Errors.NONE, (), assignment=b"")
    assert GroupSync("g") not in gc.timers(desk.role, desk.on)


def test_a_second_member_waits_until_the_first_has_joined_again(desk):
    alone(desk)
    assert second(desk) is None
    assert (group(desk).state, group(desk).generation) == (S.PREPARING_REBALANCE, 1)
    assert ask_to_join(desk, "C1.1", subscription=FIRST).generation == 2
    assert answer_of(desk, "C2.2/join").generation == 2
    assert group(desk).unsynced == ("C1.1", "C2.2")


def test_a_heartbeat_tells_that_the_group_rebalances(desk):
    alone(desk)
    assert beat(desk, "C1.1") is Errors.NONE
    second(desk)
    assert beat(desk, "C1.1") is Errors.REBALANCE_IN_PROGRESS
    ask_to_join(desk, "C1.1", subscription=FIRST)
    assert beat(desk, "C1.1", 2) is Errors.NONE


@pytest.mark.parametrize(
    ("name", "generation", "error"),
    [
        ("C1.1", 0, Errors.ILLEGAL_GENERATION),
        ("C1.1", 2, Errors.ILLEGAL_GENERATION),
        ("C9.9", 1, Errors.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_stranger_and_a_wrong_generation_are_refused(desk, name, generation, error):
    alone(desk)
    assert beat(desk, name, generation) is error
    assert sync(desk, name, generation).error is error


def test_nobody_is_known_of_a_group_that_is_not_there(desk):
    assert beat(desk, "C1.1") is Errors.UNKNOWN_MEMBER_ID
    assert sync(desk, "C1.1").error is Errors.UNKNOWN_MEMBER_ID
    assert ask_to_join(desk, "C1.1").error is Errors.UNKNOWN_MEMBER_ID
    left = desk.ask(classic.on_leave_group, LeaveGroup("g", (Leaver("C1.1"),)))
    assert left == LeaveGroupResponse(Errors.NONE, (Left("C1.1", "", Errors.UNKNOWN_MEMBER_ID),))


def test_a_member_that_joins_again_with_what_it_said_before_hears_of_its_generation(desk):
    alone(desk)
    second(desk)
    ask_to_join(desk, "C1.1", subscription=FIRST)
    again = ask_to_join(desk, "C1.1", subscription=FIRST, source="new connection")
    assert (again.generation, len(again.members)) == (2, 2)
    assert group(desk).state is S.COMPLETING_REBALANCE


def test_a_follower_that_says_something_else_begins_a_rebalance_and_who_waits_is_told(desk):
    alone(desk)
    second(desk)
    ask_to_join(desk, "C1.1", subscription=FIRST)
    assert sync(desk, "C2.2", 2) is None
    ask_to_join(desk, "C1.1", subscription=Subscription(("src",), generation=2), source="other")
    assert answer_of(desk, "C2.2/sync").error is Errors.REBALANCE_IN_PROGRESS
    assert group(desk).state is S.PREPARING_REBALANCE


def test_an_assignment_that_is_replicated_too_late_is_worth_nothing(desk):
    alone(desk)
    second(desk)
    ask_to_join(desk, "C1.1", subscription=FIRST)
    desk.instant = False
    sync(desk, "C1.1", 2, ("C1.1", ("src-0",)))
    ask_to_join(desk, "", "C3")
    ask_to_join(desk, "C3.3")
    assert answer_of(desk, "C1.1/sync").error is Errors.REBALANCE_IN_PROGRESS
    desk.replicate()
    carry(desk)
    assert group(desk).state is S.PREPARING_REBALANCE


def test_a_silent_member_is_taken_out_and_the_others_rebalance(desk):
    alone(desk)
    second(desk)
    ask_to_join(desk, "C1.1", subscription=FIRST)
    sync(desk, "C1.1", 2, ("C1.1", ("src-0",)), ("C2.2", ("src-1",)))
    carry(desk)
    run_out(desk, MemberSession("C1.1", "g"))
    assert (group(desk).state, group(desk).leader) == (S.PREPARING_REBALANCE, "C2.2")
    gone = [e for e in desk.events if isinstance(e, AssignmentMoved) and e.epoch == 0]
    assert [(e.member_id, e.before) for e in gone] == [("C1.1", ("src-0",))]
    assert beat(desk, "C1.1", 2) is Errors.UNKNOWN_MEMBER_ID


def test_who_waits_for_an_answer_need_not_beat_but_a_new_member_may_give_up(desk):
    alone(desk)
    second(desk)
    assert MemberSession("C2.2", "g") in gc.timers(desk.role, desk.on)
    sync(desk, "C1.1")
    ask_to_join(desk, "C1.1", subscription=FIRST)
    sync(desk, "C2.2", 2)
    assert MemberSession("C2.2", "g") not in gc.timers(desk.role, desk.on)


def test_a_name_that_nobody_came_back_with_holds_the_group_up_until_its_session_ends(desk):
    alone(desk)
    ask_to_join(desk, "", "C2")
    assert group(desk).state is S.STABLE
    second_name = ask_to_join(desk, "", "C2").member_id
    ask_to_join(desk, second_name, "C2")
    assert ask_to_join(desk, "C1.1", subscription=FIRST) is None
    run_out(desk, MemberSession("C2.2", "g"))
    assert group(desk).generation == 2


def test_the_group_goes_on_without_who_does_not_join_in_time(desk):
    alone(desk)
    second(desk)
    run_out(desk, GroupRebalance("g"))
    assert (group(desk).generation, tuple(group(desk).members)) == (2, ("C2.2",))
    assert answer_of(desk, "C2.2/join").leader == "C2.2"


def test_who_does_not_sync_in_time_is_out_and_the_group_rebalances(desk):
    alone(desk)
    second(desk)
    ask_to_join(desk, "C1.1", subscription=FIRST)
    sync(desk, "C2.2", 2)
    run_out(desk, GroupSync("g"))
    assert tuple(group(desk).members) == ("C2.2",)
    assert answer_of(desk, "C2.2/sync").error is Errors.REBALANCE_IN_PROGRESS


def test_a_member_that_leaves_is_missed_by_nobody(desk):
    alone(desk)
    second(desk)
    ask_to_join(desk, "C1.1", subscription=FIRST)
    left = desk.ask(classic.on_leave_group, LeaveGroup("g", (Leaver("C2.2"),)))
    assert left == LeaveGroupResponse(Errors.NONE, (Left("C2.2", "", Errors.NONE),))
    assert group(desk).state is S.PREPARING_REBALANCE
    twice = desk.ask(classic.on_leave_group, LeaveGroup("g", (Leaver("C2.2"),)))
    assert twice.members[0].error is Errors.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(("waits_in", "told"), [("join", Errors.UNKNOWN_MEMBER_ID), ("sync", None)])
def test_who_is_taken_out_while_it_waits_is_told_in_its_join_and_never_in_its_sync(
    desk, waits_in, told
):
    """As in Kafka 4.4.0: the client's request time-out ends what nobody answers."""
    alone(desk)
    second(desk)
    if waits_in == "sync":
        ask_to_join(desk, "C1.1", subscription=FIRST)
        sync(desk, "C2.2", 2)
    desk.ask(classic.on_leave_group, LeaveGroup("g", (Leaver("C2.2"),)))
    answer = answer_of(desk, f"C2.2/{waits_in}")
    assert (answer.error if answer else None) is told


def test_a_name_that_nobody_came_back_with_can_leave_too(desk):
    ask_to_join(desk, "", "C1")
    left = desk.ask(classic.on_leave_group, LeaveGroup("g", (Leaver("C1.1"),)))
    assert left == LeaveGroupResponse(Errors.NONE, (Left("C1.1", "", Errors.NONE),))
    assert (group(desk).state, group(desk).pending) == (S.EMPTY, ())


def test_who_leaves_and_says_neither_an_id_nor_a_name_is_unknown(desk):
    alone(desk)
    nobody = desk.ask(classic.on_leave_group, LeaveGroup("g", (Leaver(""),)))
    assert nobody.members[0].error is Errors.UNKNOWN_MEMBER_ID
    assert tuple(group(desk).members) == ("C1.1",)


def test_when_the_last_one_that_a_rebalance_waits_for_leaves_the_next_generation_begins(desk):
    alone(desk)
    second(desk)
    assert answer_of(desk, "C2.2/join") is None
    desk.ask(classic.on_leave_group, LeaveGroup("g", (Leaver("C1.1"),)))
    assert (group(desk).state, group(desk).generation) == (S.COMPLETING_REBALANCE, 2)
    told = answer_of(desk, "C2.2/join")
    assert (told.generation, told.leader, told.members) == (
        2,
        "C2.2",
        (Subscribed("C2.2", FRESH),),
    )


def test_the_last_one_that_leaves_leaves_an_empty_group_in_the_log(desk):
    alone(desk)
    desk.ask(classic.on_leave_group, LeaveGroup("g", (Leaver("C1.1"),)))
    assert (group(desk).state, group(desk).generation) == (S.EMPTY, 2)
    assert desk.written(HERE)[-1] == GroupMetadataRecord("g", 2)
    assert sync(desk, "C1.1", 2).error is Errors.UNKNOWN_MEMBER_ID


def test_a_new_coordinator_goes_on_from_the_last_generation_in_the_log(desk):
    alone(desk)
    second(desk)
    ask_to_join(desk, "C1.1", subscription=FIRST)
    assert group(desk).generation == 2
    desk.role = gc.on_loaded(GroupCoordinator(HERE, loading=True), desk.on).state
    assert (group(desk).state, group(desk).generation) == (S.STABLE, 1)
    assert tuple(group(desk).members) == ("C1.1",)
    assert sync(desk, "C1.1", 2).error is Errors.ILLEGAL_GENERATION
    assert sync(desk, "C2.2", 2).error is Errors.UNKNOWN_MEMBER_ID
    assert sync(desk, "C1.1", 1) == SyncGroupResponse(Errors.NONE, ("src-0", "src-1"))


def test_a_coordinator_that_loads_answers_heartbeats_blindly(desk):
    desk.role = GroupCoordinator(HERE, loading=True)
    assert beat(desk, "C1.1") is Errors.NONE
    loading = Errors.COORDINATOR_LOAD_IN_PROGRESS
    assert ask_to_join(desk, "", "C1").error is loading
    assert sync(desk, "C1.1").error is loading
    assert desk.ask(classic.on_leave_group, LeaveGroup("g", (Leaver("C1.1"),))).error is loading


def test_who_waits_is_told_when_the_coordinator_moves(desk):
    alone(desk)
    second(desk)
    desk.do(gc.on_resigned(desk.role, desk.on))
    moved = Errors.NOT_COORDINATOR
    assert answer_of(desk, "C2.2/join") == JoinGroupResponse(moved, "C2.2")
    assert reject_request(Heartbeat("g", 1, "C1.1"), moved) == HeartbeatResponse(moved)


def test_who_waits_for_its_assignment_is_told_when_the_coordinator_moves(desk):
    alone(desk)
    second(desk)
    ask_to_join(desk, "C1.1", subscription=FIRST)
    assert sync(desk, "C2.2", 2) is None
    desk.do(gc.on_resigned(desk.role, desk.on))
    assert answer_of(desk, "C2.2/sync") == SyncGroupResponse(Errors.NOT_COORDINATOR)


def test_a_coordinator_that_cannot_store_an_assignment_is_out(desk):
    """Whoever waits was told when it resigned; what comes back afterwards finds nobody."""
    desk.instant = False
    ask_to_join(desk, "", "C1")
    ask_to_join(desk, "C1.1")
    over(desk)
    sync(desk, "C1.1", 1, ("C1.1", ("src-0", "src-1")))
    desk.do(gc.on_resigned(desk.role, desk.on))
    assert answer_of(desk, "C1.1/sync") == SyncGroupResponse(Errors.NOT_COORDINATOR)
    (stored,) = [call.message for call in desk.local]
    assert stored.error is Errors.NOT_LEADER_OR_FOLLOWER
    before = len(desk.replies)
    desk.do(classic.on_group_stored(desk.role, stored, desk.on))
    assert desk.role is None
    assert len(desk.replies) == before


def commit(desk, name, generation):
    request = OffsetCommit("g", name, generation, (GroupOffset("src-0", 5),))
    return desk.ask(gc.on_offset_commit, request).error


def test_offsets_are_taken_of_the_present_generation_while_the_next_is_prepared(desk):
    alone(desk)
    second(desk)
    assert commit(desk, "C1.1", 1) is Errors.NONE
    ask_to_join(desk, "C1.1", subscription=FIRST)
    assert commit(desk, "C1.1", 1) is Errors.ILLEGAL_GENERATION
    assert commit(desk, "C1.1", 2) is Errors.REBALANCE_IN_PROGRESS
    assert commit(desk, "C9.9", 1) is Errors.UNKNOWN_MEMBER_ID
    assert commit(desk, "", -1) is Errors.UNKNOWN_MEMBER_ID


def test_a_sync_that_a_rebalance_has_ended_is_not_answered_again_in_the_next_generation(desk):
    alone(desk)
    second(desk)
    ask_to_join(desk, "C1.1", subscription=FIRST)
    assert sync(desk, "C2.2", 2) is None  # it waits for the leader's assignment
    ask_to_join(desk, "", "C3")
    ask_to_join(desk, "C3.3")
    ended = [m for to, m in desk.replies if to.source == "C2.2/sync"]
    assert ended == [SyncGroupResponse(Errors.REBALANCE_IN_PROGRESS)]
    assert group(desk).members["C2.2"].syncing is None
    assert {member.assigned for member in group(desk).members.values()} == {()}


def test_each_change_of_state_or_generation_is_reported_with_the_members(desk):
    alone(desk)
    moved = [e for e in desk.events if isinstance(e, ClassicGroupMoved)]
    assert [(e.before, e.after, e.generation, e.members) for e in moved] == [
        ("EMPTY", "PREPARING_REBALANCE", 0, ("C1.1",)),
        ("PREPARING_REBALANCE", "COMPLETING_REBALANCE", 1, ("C1.1",)),
        ("COMPLETING_REBALANCE", "STABLE", 1, ("C1.1",)),
    ]
    before = len(desk.events)
    assert beat(desk, "C1.1") is Errors.NONE
    assert desk.events[before:] == []


def test_a_heartbeat_is_answered_when_what_it_has_seen_is_replicated(desk):
    """CoordinatorRuntime: a write operation without records waits for the last write before it."""
    alone(desk)
    desk.instant = False
    commit = OffsetCommit("g", "C1.1", 1, (GroupOffset("src-0", 3),))
    assert desk.ask(gc.on_offset_commit, commit) is None
    for source in ("one", "two"):
        assert desk.ask(classic.on_heartbeat, Heartbeat("g", 1, "C1.1"), source) is None
    desk.replicate()
    assert [answer_of(desk, source) for source in ("one", "two")] == [
        HeartbeatResponse(Errors.NONE)
    ] * 2


def test_an_assignment_that_is_stored_for_a_group_that_is_gone_is_nobody_s(desk):
    alone(desk)
    stored = GroupStored("g", 1, (Assigned("C1.1", ("src-0",)),), Errors.NONE)
    for role in (GroupCoordinator(HERE), desk.role):
        done = classic.on_group_stored(role, stored, desk.on)
        assert (done.state, done.replies, done.events) == (role, (), ())


def test_who_is_no_member_is_found_nowhere_and_who_is_one_by_its_name(desk):
    alone(desk)
    assert beat(desk, "C9.9") is Errors.UNKNOWN_MEMBER_ID
    assert [(c.name, c.asked, c.found) for c in desk.checks] == [("member id", "C9.9", None)]
    assert beat(desk, "C1.1") is Errors.NONE
    assert desk.checks[0] == compare("member id", "C1.1", "C1.1", True, Errors.UNKNOWN_MEMBER_ID)
