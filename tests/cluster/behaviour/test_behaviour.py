"""Every action has a class that knows all of it; what is missing is named."""

from __future__ import annotations

from typing import get_args

import pytest

from kipviz.cluster.actions import (
    ClusterAction,
    DeleteAcls,
    Deliver,
    DeliverLate,
    ExpireBatch,
    GiveUp,
    MissPoll,
    ReadLog,
    Receive,
    Replicate,
    RunOut,
    Send,
    StartClient,
    Step,
    Tick,
    TimeOutCall,
)
from kipviz.cluster.behaviour.behaviour import Behaviour
from kipviz.cluster.behaviour.catalogue import BEHAVIOUR_OF, BEHAVIOURS, clause_of
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.cluster.timing.clock import Due
from kipviz.cluster.timing.timers import AGES
from kipviz.cluster.world import PARTS
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import searched_scenario

ACTIONS = get_args(ClusterAction)


def test_every_action_has_one_behaviour_and_every_behaviour_an_action() -> None:
    lost = [action.__name__ for action in ACTIONS if action not in BEHAVIOUR_OF]
    assert not lost, f"no class in cluster/behaviour for {', '.join(lost)}"
    assert set(BEHAVIOUR_OF) == set(ACTIONS)
    assert len(BEHAVIOURS) == len(BEHAVIOUR_OF)


@pytest.mark.parametrize("each", BEHAVIOURS, ids=lambda each: each.action.__name__)
def test_a_behaviour_spends_a_field_of_the_budget_and_says_what_that_is(
    each: Behaviour[ClusterAction],
) -> None:
    assert bool(each.spends) == bool(each.spent_as)
    assert not each.spends or each.spends in FaultBudget.__struct_fields__
    borrowed = (Step, Deliver, RunOut)  # the rule is a call's, a message's, a timer's
    assert (each.clause is None) == (each.action in borrowed)


def test_every_field_of_the_budget_is_spent_by_some_action() -> None:
    assert {each.spends for each in BEHAVIOURS} - {""} == set(FaultBudget.__struct_fields__)


def test_one_field_of_the_budget_is_called_the_same_by_all_that_spend_it() -> None:
    names = {each.spends: each.spent_as for each in BEHAVIOURS}
    assert all(each.spent_as == names[each.spends] for each in BEHAVIOURS)


def test_a_behaviour_that_lacks_a_method_cannot_be_made() -> None:
    class Half(Behaviour[Step]):
        action = Step

    with pytest.raises(TypeError, match=r"apply.*name.*why_not"):
        Half()  # type: ignore[abstract]


def test_an_action_whose_rule_is_another_things_says_so() -> None:
    with pytest.raises(AssertionError, match="Step follows a call, a message or a timer"):
        clause_of(Step("app-1"))


# Found with the clients, which are remembered; and offered with those that create an ACL, in the order of the spec.
OFFERED_ELSEWHERE = (StartClient, DeleteAcls)


@pytest.mark.parametrize("each", BEHAVIOURS, ids=lambda each: each.action.__name__)
def test_an_accident_or_a_repair_has_a_place_and_says_when_it_is_offered(
    each: Behaviour[ClusterAction],
) -> None:
    offers = type(each).possible_actions is not Behaviour.possible_actions
    assert offers == bool(each.place), (
        f"{each.action.__name__}: `place` and `possible_actions` belong together"
    )
    if each.action.KIND in ("fault", "repair") and each.action not in OFFERED_ELSEWHERE:
        assert offers, f"{each.action.__name__} is offered by nobody: it has no `possible_actions`"


# What arrives is told by the message, a call by its program's line, and the time by what is due.
TOLD_BY_ANOTHER = (Step, TimeOutCall, Send, Deliver, DeliverLate, Tick)


@pytest.mark.parametrize("each", BEHAVIOURS, ids=lambda each: each.action.__name__)
def test_an_action_has_a_sentence_a_text_and_says_what_it_looks_at(
    each: Behaviour[ClusterAction],
) -> None:
    of = type(each)
    name = each.action.__name__
    assert (of.sentence is Behaviour.sentence) == (each.action is Deliver), f"{name}: no sentence"
    assert each.verbs, f"{name}: no text in scripts"
    told = each.action in TOLD_BY_ANOTHER
    assert (of.looks_at is Behaviour.looks_at) == told, f"{name}: no looks_at"


# A client outside the model sends what it likes, a log is read by who rebuilds a cluster, and what is replicated, and
# the time, are the whole world's.
GIVEN_BY_OTHERS = (Receive, ReadLog, Replicate, Tick, DeleteAcls)
GIVES = ("of_process", "of_client", "of_connection", "of_new_role", "of_role", "possible_actions")


@pytest.mark.parametrize("each", BEHAVIOURS, ids=lambda each: each.action.__name__)
def test_an_action_says_when_it_is_possible(each: Behaviour[ClusterAction]) -> None:
    gives = [name for name in GIVES if getattr(type(each), name) is not getattr(Behaviour, name)]
    wanted = 0 if each.action in GIVEN_BY_OTHERS else 1
    assert len(gives) == wanted, f"{each.action.__name__} is given by {gives or 'nobody'}"


# They come at any time: from outside, as soon as a broker reads, or when all else is due.
AT_ANY_TIME = (Receive, DeliverLate, Tick, ReadLog)


@pytest.mark.parametrize("each", BEHAVIOURS, ids=lambda each: each.action.__name__)
def test_an_action_that_is_no_fault_has_a_deadline(each: Behaviour[ClusterAction]) -> None:
    name = each.action.__name__
    free = each.action.KIND in ("fault", "repair") or each.action in AT_ANY_TIME
    assert bool(each.dues) != free, f"{name}: no `dues`, the kind of its deadline"
    assert (each.action.KIND == "expiry") == bool(each.timer or each.action is RunOut), (
        f"{name}: what expires has the name of its `timer`"
    )
    assert not each.expires_at_rest or each.spends, f"{name}: a search lends it no budget"


def test_every_kind_of_deadline_is_of_one_action_or_an_age() -> None:
    dues = [due for each in BEHAVIOURS for due in each.dues]
    assert sorted(dues) == sorted(set(Due) - set(AGES))


# A message's cause is who sent it; what a client waits for in vain has none, and neither has the time.
WITHOUT_CAUSE = (Deliver, DeliverLate, Receive, GiveUp, ExpireBatch, MissPoll, Tick)


@pytest.mark.parametrize("each", BEHAVIOURS, ids=lambda each: each.action.__name__)
def test_an_action_that_is_no_fault_has_a_cause(each: Behaviour[ClusterAction]) -> None:
    name, of = each.action.__name__, type(each)
    free = each.action.KIND in ("fault", "repair") or each.action in WITHOUT_CAUSE
    assert (of.main_cause is Behaviour.main_cause) == free, f"{name}: no `main_cause`"
    caused = of.main_cause is not Behaviour.main_cause
    told = of.deadline_cause is not Behaviour.deadline_cause
    assert not each.dues or caused != told, f"{name}: what sets its deadline?"
    assert each.delivers == (each.action in (Deliver, DeliverLate))
    assert [part for part in PARTS if part in each.parts_read] == list(each.parts_read)


def test_no_two_behaviours_have_one_place() -> None:
    places = [each.place for each in BEHAVIOURS if each.place]
    assert len(places) == len(set(places))


@pytest.mark.parametrize(
    "name", ["kip-1289-share-commit", "kip-98-zombie", "kip-11-heartbeat", "kip-1289-rolling"]
)
def test_what_is_offered_is_possible_and_stands_in_the_order_of_the_places(name: str) -> None:
    story = searched_scenario(name)
    every = FaultBudget(**dict.fromkeys(FaultBudget.__struct_fields__, 1))
    model = story.model(design(story.designs[0]), every)
    world, met = model.initial(), set()
    for number in range(40):
        possible = model.enabled(world)
        assert [a for a in possible if model.why_not(world, a) is not None] == []
        places = [BEHAVIOUR_OF[type(a)].place for a in possible]
        ranked = [place for place in places if place]
        assert ranked == sorted(ranked)
        met |= set(ranked)
        if not possible:
            break
        world = model.step(world, possible[number * 7 % len(possible)]).world
    assert len(met) > 5
