"""The dice."""

from collections import Counter

import pytest

from kipviz.core.scheduler import Profile, Scheduler
from tests.core.two_phase_commit import TwoPhaseCommit

CALM = Profile("calm", (("deliver", 8), ("timer", 2), ("fault", 0)))
ACTIONS = ("deliver 1", "deliver 2", "deliver 3", "timer 1", "fault 1", "fault 2")


def kind(action):
    return action.split()[0]


def test_the_same_seed_chooses_the_same_and_another_seed_something_else():
    chosen = [
        [Scheduler(seed, CALM).choose(step, ACTIONS, kind) for step in range(50)]
        for seed in (7, 7, 8)
    ]
    assert chosen[0] == chosen[1] != chosen[2]


def test_dice_stay_what_they_were():
    """Seeds stand in links and papers: the run of a seed must not change."""
    scheduler = Scheduler(7, CALM)
    assert [scheduler.choose(step, ACTIONS, kind) for step in range(6)] == [
        "timer 1",
        "timer 1",
        "timer 1",
        "deliver 3",
        "deliver 3",
        "timer 1",
    ]


def test_a_step_is_chosen_without_the_steps_before_it():
    scheduler = Scheduler(3, CALM)
    forwards = [scheduler.choose(step, ACTIONS, kind) for step in range(20)]
    backwards = [scheduler.choose(step, ACTIONS, kind) for step in reversed(range(20))]
    assert forwards == backwards[::-1]


def test_kinds_are_drawn_by_their_weights_and_actions_of_a_kind_evenly():
    scheduler = Scheduler(1, CALM)
    counted = Counter(scheduler.choose(step, ACTIONS, kind) for step in range(10_000))
    assert set(counted) == {"deliver 1", "deliver 2", "deliver 3", "timer 1"}
    assert counted["timer 1"] == pytest.approx(2000, rel=0.1)
    for number in (1, 2, 3):
        assert counted[f"deliver {number}"] == pytest.approx(8000 / 3, rel=0.1)


def test_how_many_faults_are_possible_does_not_make_faults_more_frequent():
    profile = Profile("rough", (("deliver", 9), ("fault", 1)))
    many = ("deliver 1", *(f"fault {number}" for number in range(100)))
    counted = Counter(kind(Scheduler(1, profile).choose(step, many, kind)) for step in range(5_000))
    assert counted["fault"] == pytest.approx(500, rel=0.15)


def test_nothing_is_chosen_when_the_profile_allows_nothing():
    assert Scheduler(1, CALM).choose(0, (), kind) is None
    assert Scheduler(1, CALM).choose(0, ("fault 1", "fault 2"), kind) is None


@pytest.mark.parametrize("seed", ["7", 7.0, None, True])
def test_a_seed_that_is_no_whole_number_is_refused(seed):
    with pytest.raises(ValueError, match=f"a seed must be a whole number, such as 7, not {seed!r}"):
        Scheduler(seed, CALM)


def test_a_scheduler_is_printed_with_its_seed():
    assert repr(Scheduler(7, CALM)) == "Scheduler(seed=7, profile='calm')"


def test_any_whole_number_is_a_seed():
    assert Scheduler(-1, CALM).choose(0, ACTIONS, kind) in ACTIONS
    assert Scheduler(10**30, CALM).choose(0, ACTIONS, kind) in ACTIONS


def test_a_kind_without_a_weight_is_refused_with_the_kinds_that_have_one():
    with pytest.raises(
        ValueError, match="'calm' has no weight for actions of kind 'load'; it weighs deliver, ti"
    ):
        Scheduler(1, CALM).choose(0, ("load 1",), kind)


@pytest.mark.parametrize("weight", [-1, 0.5, "1", True, None])
def test_a_weight_that_is_no_whole_number_from_zero_is_refused(weight):
    with pytest.raises(ValueError, match="profile 'odd': the weight of 'timer' must be a whole"):
        Profile("odd", (("timer", weight),))


def test_a_kind_weighed_twice_is_refused():
    with pytest.raises(ValueError, match="profile 'odd' weighs 'timer' more than once"):
        Profile("odd", (("timer", 1), ("fault", 1), ("timer", 2)))


def test_a_random_run_without_faults_commits():
    model, scheduler = TwoPhaseCommit(3), Scheduler(5, CALM)
    world = model.initial()
    for step in range(200):
        action = scheduler.choose(step, model.enabled(world), model.kind)
        if action is None:
            break
        world = model.step(world, action).world
    assert world.manager == "committed"
    assert set(world.rms.values()) == {"committed"}
