"""A group of the classic protocol as a value: states, leaders, who may commit, and the log."""

from __future__ import annotations

import pytest

from kipviz.brokers.checks import error_of
from kipviz.brokers.context import ReplyTo
from kipviz.brokers.membership import classic_group
from kipviz.brokers.membership.classic_group import (
    VALID_PREVIOUS,
    ClassicGroup,
    ClassicMember,
    GroupState,
    accepts,
    chosen_protocol,
    commit_checks,
    common,
    elect_joined_leader,
    load_group,
    make_record,
    next_generation,
    supports,
    to,
    with_member,
    without,
)
from kipviz.messages.errors import Errors
from kipviz.messages.groups.classic_groups import Assigned
from kipviz.records.classic_groups import Subscription

S = GroupState
E = Errors
JOINED = ReplyTo("app-1/consumer", 4, 0)


def member(**changes):
    return ClassicMember("C", Subscription(("src",))).but(**changes)


def group(state=S.STABLE, generation=3, **members):
    made = ClassicGroup(state, generation=generation)
    for name, known in members.items():
        made = with_member(made, name, known)
    return made


@pytest.mark.parametrize("before", S)
@pytest.mark.parametrize("after", S)
def test_a_state_is_entered_from_its_predecessors_only(before, after):
    if before in VALID_PREVIOUS[after]:
        assert to(group(before), after).previous is before
    else:
        with pytest.raises(AssertionError):
            to(group(before), after)


def test_the_first_member_leads_and_then_whoever_is_first_by_name():
    both = group(B=member(), A=member())
    assert both.leader == "B"
    assert without(both, "B").leader == "A"
    assert without(without(both, "B"), "A").leader == ""


def test_a_leader_that_has_not_joined_again_leads_no_more():
    late = group(A=member(), B=member(joining=JOINED))
    assert late.leader == "A"
    led = elect_joined_leader(late)
    assert led is not None
    assert led.leader == "B"
    assert elect_joined_leader(group(A=member())) is None


@pytest.mark.parametrize(
    ("state", "name", "generation", "beside", "inside"),
    [
        (S.STABLE, "A", 3, E.NONE, E.NONE),
        (S.PREPARING_REBALANCE, "A", 3, E.NONE, E.NONE),
        (S.COMPLETING_REBALANCE, "A", 3, E.REBALANCE_IN_PROGRESS, E.NONE),
        (S.STABLE, "A", 2, E.ILLEGAL_GENERATION, E.ILLEGAL_GENERATION),
        (S.STABLE, "X", 3, E.UNKNOWN_MEMBER_ID, E.UNKNOWN_MEMBER_ID),
        (S.STABLE, "", -1, E.UNKNOWN_MEMBER_ID, E.NONE),
        (S.STABLE, "A", -1, E.ILLEGAL_GENERATION, E.ILLEGAL_GENERATION),
        (S.STABLE, "", 3, E.UNKNOWN_MEMBER_ID, E.UNKNOWN_MEMBER_ID),
    ],
)
def test_who_may_commit_beside_and_inside_a_transaction(state, name, generation, beside, inside):
    known = group(state, A=member())
    assert error_of(commit_checks(known, name, generation, transactional=False)) is beside
    assert error_of(commit_checks(known, name, generation, transactional=True)) is inside


def test_anybody_may_commit_for_an_empty_group_who_claims_no_generation():
    empty = ClassicGroup(generation=4)
    assert error_of(commit_checks(empty, "", -1, transactional=False)) is E.NONE
    assert error_of(commit_checks(empty, "A", 4, transactional=True)) is E.UNKNOWN_MEMBER_ID


def test_of_a_static_member_only_the_newest_is_one():
    known = group(**{"i.2": member(instance_id="i")})
    checked = classic_group.member_checks
    assert error_of(checked(known, "i.2", "i")) is E.NONE
    assert error_of(checked(known, "i.1", "i")) is E.FENCED_INSTANCE_ID
    assert error_of(checked(known, "i.2", "j")) is E.UNKNOWN_MEMBER_ID
    said = commit_checks(known, "", -1, transactional=True, instance_id="i")
    assert error_of(said) is E.FENCED_INSTANCE_ID


def test_a_group_comes_back_from_its_record_as_it_was_assigned():
    known = group(S.COMPLETING_REBALANCE, A=member(joining=JOINED), B=member(instance_id="i"))
    back = load_group(make_record("g", known, (Assigned("A", ("src-0",)),)))
    assert (back.state, back.generation, back.leader) == (S.STABLE, 3, "A")
    assert back.members["A"] == member(assigned=("src-0",))
    assert back.members["B"] == member(instance_id="i", assignment=b"")
    assert load_group(make_record("g", ClassicGroup(generation=5))).state is S.EMPTY


def test_a_record_without_an_assignment_leaves_each_member_what_it_has():
    """GroupCoordinatorRecordHelpers.newGroupMetadataRecord of a static member that is started again."""
    known = group(A=member(assigned=("src-0",)), B=member())
    assert [m.assigned for m in make_record("g", known).members] == [("src-0",), ()]


def test_who_goes_takes_along_what_waits_for_it_and_no_more():
    """ClassicGroup.remove: the leader stays, unless it is the one that goes."""
    known = group(B=member(), A=member(), C=member())
    known = known.but(pending=("P", "Q"), unsynced=("A", "C"))
    left = without(known, "C")
    assert (left.leader, left.pending, left.unsynced) == ("B", ("P", "Q"), ("A",))
    left = without(left, "P")
    assert (left.pending, left.unsynced, tuple(left.members)) == (("Q",), ("A",), ("A", "B"))


def test_a_leader_that_has_joined_goes_on_leading():
    """ClassicGroup.maybeElectNewJoinedLeader."""
    led = elect_joined_leader(group(B=member(joining=JOINED), A=member(joining=JOINED)))
    assert led is not None
    assert led.leader == "B"


def test_a_deleted_group_waits_for_no_first_generation():
    assert to(ClassicGroup(), S.PREPARING_REBALANCE).is_first
    assert not to(ClassicGroup(), S.DEAD).is_first


def of(*protocols):
    return member(protocols=protocols)


def test_the_next_generation_has_an_assignor_that_all_its_members_know():
    """ClassicGroup.selectProtocol: each member votes for the first one that all support."""
    known = group(S.PREPARING_REBALANCE, A=of("x", "b", "c"), B=of("y", "b", "c"), C=of("c", "b"))
    assert common(known) == ("b", "c")
    assert chosen_protocol(known) == "b"
    assert next_generation(known).protocol == "b"
    assert next_generation(ClassicGroup(S.PREPARING_REBALANCE, protocol="b")).protocol == "b"


def test_who_knows_no_assignor_of_the_group_does_not_fit_it():
    """ClassicGroup.supportsProtocols; an empty group takes whoever names one."""
    known = group(A=of("b", "c"), B=of("c"))
    assert (supports(known, ("c",)), supports(known, ("b",))) == (True, False)
    assert (supports(ClassicGroup(), ("b",)), supports(ClassicGroup(), ())) == (True, False)


@pytest.mark.parametrize(("name", "fits"), [("A", True), ("B", False), ("X", False)])
def test_while_a_full_group_rebalances_those_that_wait_keep_their_place(name, fits):
    """GroupMetadataManager.acceptJoiningMember: group.max.size counts who awaits a response."""
    known = group(S.PREPARING_REBALANCE, A=member(joining=JOINED), B=member())
    assert accepts(known, name, 1) is fits
