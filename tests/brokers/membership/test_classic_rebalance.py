"""Rebalances of a classic group: who is waited for, who is told, what each keeps meanwhile."""

from __future__ import annotations

import pytest

from kipviz.brokers.groups import group_coordinator as gc
from kipviz.brokers.membership import classic_membership as classic
from kipviz.brokers.timers import GroupRebalance, MemberSession
from kipviz.messages.errors import Errors
from kipviz.messages.events import AssignmentMoved
from tests.brokers.groups.classic_desk import (
    FIRST,
    HERE,
    S,
    alone,
    ask_to_join,
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


def two_members(desk):
    """C1.1 leads generation 2, in which C2.2 is a follower."""
    alone(desk)
    second(desk)
    ask_to_join(desk, "C1.1", subscription=FIRST)
    leader = group(desk).leader
    assert leader == "C1.1"
    sync(desk, "C1.1", 2, ("C1.1", ("src-0",)), ("C2.2", ("src-1",)))
    sync(desk, "C2.2", 2)
    carry(desk)
    assert group(desk).state is S.STABLE


def test_a_member_that_has_joined_again_need_not_beat_until_it_is_answered(desk):
    """ClassicGroupMember.hasSatisfiedHeartbeat: it awaits the response to its JoinGroup."""
    alone(desk)
    second(desk)
    assert MemberSession("C1.1", "g") in gc.timers(desk.role, desk.on)
    third = ask_to_join(desk, "", "C3").member_id
    ask_to_join(desk, "C1.1", subscription=FIRST)
    assert MemberSession("C1.1", "g") not in gc.timers(desk.role, desk.on)
    assert MemberSession(third, "g") in gc.timers(desk.role, desk.on)


def test_a_follower_that_joins_again_while_the_group_rebalances_waits_for_the_next_generation(desk):
    """GroupMetadataManager.classicGroupJoinExistingMember, PREPARING_REBALANCE."""
    two_members(desk)
    ask_to_join(desk, ask_to_join(desk, "", "C3").member_id)
    assert group(desk).state is S.PREPARING_REBALANCE
    assert group(desk).leader == "C1.1"
    assert ask_to_join(desk, "C2.2", source="C2/again") is None


def test_the_leader_of_a_stable_group_that_joins_again_begins_a_rebalance(desk):
    """GroupMetadataManager.classicGroupJoinExistingMember: only the leader can make it balance anew."""
    two_members(desk)
    assert ask_to_join(desk, "C1.1", subscription=FIRST, source="C1/again") is None
    assert group(desk).state is S.PREPARING_REBALANCE


def test_what_a_join_waits_for_is_shown_beside_it(desk):
    alone(desk)
    second(desk)
    assert [c.found for c in desk.checks if c.name == "has not rejoined"] == [("C1.1", "C2.2")]
    third = ask_to_join(desk, "", "C3").member_id
    assert Errors.MEMBER_ID_REQUIRED in [c.error for c in desk.checks]
    assert "who has the group.instance.id" not in [c.name for c in desk.checks]
    ask_to_join(desk, third)
    assert [c.found for c in desk.checks if c.name == "has not rejoined"] == [("C1.1", third)]


def test_what_a_generation_moves_is_reported_with_the_generation_before(desk):
    two_members(desk)
    ask_to_join(desk, "C1.1", subscription=FIRST, source="C1/again")
    ask_to_join(desk, "C2.2", source="C2/again")
    sync(desk, "C1.1", 3, ("C1.1", ("src-0",)), ("C2.2", ("src-1",)))
    carry(desk)
    assert (group(desk).state, group(desk).generation) == (S.STABLE, 3)
    moved = [
        (e.member_id, e.epoch_before, e.epoch, e.before, e.after)
        for e in desk.events
        if isinstance(e, AssignmentMoved)
    ]
    assert moved == [
        ("C1.1", 0, 1, (), ("src-0", "src-1")),
        ("C1.1", 1, 2, ("src-0", "src-1"), ("src-0",)),
        ("C2.2", 0, 2, (), ("src-1",)),
    ]


def test_members_keep_what_they_have_while_the_next_generation_is_prepared(desk):
    """GroupMetadataManager.prepareRebalance resets assignments in COMPLETING_REBALANCE only."""
    two_members(desk)
    ask_to_join(desk, ask_to_join(desk, "", "C3").member_id)
    assert [group(desk).members[name].assigned for name in ("C1.1", "C2.2")] == [
        ("src-0",),
        ("src-1",),
    ]


@pytest.mark.parametrize("waits", [True, False])
def test_only_who_waits_for_its_assignment_is_told_that_the_group_rebalances(desk, waits):
    alone(desk)
    second(desk)
    ask_to_join(desk, "C1.1", subscription=FIRST)
    if waits:
        sync(desk, "C2.2", 2)
    ask_to_join(desk, ask_to_join(desk, "", "C3").member_id)
    told = [c for c in desk.checks if c.error is Errors.REBALANCE_IN_PROGRESS]
    assert [c.name for c in told] == (["group state"] if waits else [])


def test_a_pending_member_id_whose_session_ends_leaves_a_stable_or_empty_group_as_it_is(desk):
    """GroupMetadataManager.removePendingMemberAndUpdateClassicGroup."""
    pending = ask_to_join(desk, "", "C9").member_id
    run_out(desk, MemberSession(pending, "g"))
    assert (group(desk).state, group(desk).generation, group(desk).pending) == (S.EMPTY, 0, ())
    two_members_after = ask_to_join(desk, "", "C1").member_id
    ask_to_join(desk, two_members_after)
    over(desk)
    sync(desk, two_members_after, 1, (two_members_after, ("src-0",)))
    carry(desk)
    pending = ask_to_join(desk, "", "C2").member_id
    run_out(desk, MemberSession(pending, "g"))
    assert (group(desk).state, group(desk).generation, group(desk).pending) == (S.STABLE, 1, ())


def test_the_first_generation_waits_for_its_delay_whoever_falls_silent_meanwhile(desk):
    """GroupMetadataManager.maybeCompleteJoinPhase does not complete the initial rebalance."""
    first = ask_to_join(desk, "", "C1").member_id
    other = ask_to_join(desk, "", "C2").member_id
    ask_to_join(desk, first)
    assert GroupRebalance("g") not in gc.timers(desk.role, desk.on)
    run_out(desk, MemberSession(other, "g"))
    assert (group(desk).state, group(desk).generation) == (S.PREPARING_REBALANCE, 0)
    assert gc.delays(desk.role)
    over(desk)
    assert group(desk).generation == 1


def test_without_a_delay_the_first_generation_waits_for_no_pending_member_id():
    """GroupMetadataManager.prepareRebalance: group.initial.rebalance.delay.ms is all that it waits."""
    desk = make_desk()
    desk.settings = desk.settings.but(initial_rebalance_delay_ms=0)
    first = ask_to_join(desk, "", "C1").member_id
    ask_to_join(desk, "", "C2")
    assert ask_to_join(desk, first).generation == 1


def test_only_a_new_group_is_written_when_a_member_id_is_given_out(desk):
    ask_to_join(desk, "", "C1")
    written = len(desk.written(HERE))
    ask_to_join(desk, "", "C2")
    assert len(desk.written(HERE)) == written == 1


def test_nobody_waits_for_the_record_of_a_group_without_members(desk):
    desk.instant = False
    alone_name = ask_to_join(desk, "", "C1").member_id
    assert desk.role.waiting == ()
    ask_to_join(desk, alone_name)
    over(desk)
    run_out(desk, MemberSession(alone_name, "g"))
    assert group(desk).state is S.EMPTY
    assert desk.role.waiting == ()


def test_who_waits_for_nothing_is_told_nothing_when_the_coordinator_moves(desk):
    """GroupMetadataManager.onUnloaded completes the futures that there are."""
    two_members(desk)
    assert classic.on_resigned(desk.role) == ()
    ask_to_join(desk, ask_to_join(desk, "", "C3").member_id, source="C3/join")
    told = classic.on_resigned(desk.role)
    assert [(r.to.source, r.message.error) for r in told] == [("C3/join", Errors.NOT_COORDINATOR)]
