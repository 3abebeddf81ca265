"""Every action has a class that knows all of it; what is missing is named."""

from __future__ import annotations

from typing import get_args

import pytest

from kipviz.cluster.actions import ClusterAction, Deliver, RunOut, Step
from kipviz.cluster.behaviour.behaviour import Behaviour
from kipviz.cluster.behaviour.catalogue import BEHAVIOUR_OF, BEHAVIOURS, clause_of
from kipviz.cluster.spec import FaultBudget

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
