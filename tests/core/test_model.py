"""The contract, kept by a small model."""

import pytest

from kipviz.core.model import Action, Event, Model, NotEnabled
from tests.core.two_phase_commit import Commit, Prepare, StateChanged, TwoPhaseCommit


def reachable(model: Model):
    """Return every reachable world, breadth first."""
    worlds = [model.initial()]
    seen = {model.search_key(worlds[0])}
    for world in worlds:
        for action in model.enabled(world):
            after = model.step(world, action).world
            key = model.search_key(after)
            if key not in seen:
                seen.add(key)
                worlds.append(after)
    return worlds


@pytest.mark.parametrize(("rms", "states"), [(1, 12), (2, 56), (3, 288)])
def test_two_phase_commit_has_exactly_as_many_states_as_it_should(rms, states):
    assert len(reachable(TwoPhaseCommit(rms))) == states


def test_two_phase_commit_is_consistent_and_a_hasty_manager_is_found():
    def find_broken(model):
        return [w for w in reachable(model) if {"aborted", "committed"} <= set(w.rms.values())]

    assert not find_broken(TwoPhaseCommit(3))
    assert find_broken(TwoPhaseCommit(2, hasty=True))


def test_a_step_leaves_the_world_it_was_given_as_it_is():
    model = TwoPhaseCommit(2)
    world = model.initial()
    outcome = model.step(world, Prepare(0))
    assert world == model.initial()
    assert outcome.world.rms[0] == "prepared"
    assert outcome.events == (StateChanged("rm 0", "prepared"),)


def test_two_steps_that_commute_meet_in_one_world():
    model = TwoPhaseCommit(2)

    def after(*actions):
        world = model.initial()
        for action in actions:
            world = model.step(world, action).world
        return world

    one, other = after(Prepare(0), Prepare(1)), after(Prepare(1), Prepare(0))
    assert one == other
    assert model.search_key(one) == model.search_key(other)


def test_a_step_that_is_not_enabled_says_why():
    model = TwoPhaseCommit(2)
    with pytest.raises(NotEnabled) as refused:
        model.step(model.initial(), Commit())
    assert refused.value.action == Commit()
    assert refused.value.why == "not everybody is prepared"
    assert str(refused.value) == "Commit() is not possible here: not everybody is prepared"


def test_actions_and_events_of_different_classes_are_never_equal():
    class Up(Action, frozen=True):
        by: int

    class Down(Action, frozen=True):
        by: int

    class Rose(Event, frozen=True):
        by: int

    assert Up(1) == Up(1)
    assert Up(1) != Down(1)
    assert Up(1) != Rose(1)
