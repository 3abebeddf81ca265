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
    commit_checks,
    elect_joined_leader,
    loaded,
    recorded,
    to,
    with_member,
    without,
)
from kipviz.messages.classic_groups import Assigned
from kipviz.messages.errors import Errors
from kipviz.records.classic_groups import Subscription

S = GroupState
E = Errors
JOINED = ReplyTo("app-1/consumer", 4, 0)


def member(**changes):
    return ClassicMember("C", Subscription("src")).but(**changes)


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


def test_a_group_comes_back_from_its_record_as_it_was_assigned():
    known = group(S.COMPLETING_REBALANCE, A=member(joining=JOINED), B=member(instance_id="i"))
    back = loaded(recorded("g", known, (Assigned("A", ("src-0",)),)))
    assert (back.state, back.generation, back.leader) == (S.STABLE, 3, "A")
    assert back.members["A"] == member(assigned=("src-0",))
    assert back.members["B"] == member(instance_id="i")
    assert loaded(recorded("g", ClassicGroup(generation=5))).state is S.EMPTY
