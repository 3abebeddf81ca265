"""A cluster that remembers what steps did does exactly what one without a memory does."""

import pytest

from kipviz.checking.judging import faults as profiles
from kipviz.cluster import step_memory
from kipviz.cluster.model import ClusterModel
from kipviz.core.model import NotEnabled
from kipviz.core.scheduler import Scheduler
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import searched_scenario

STORIES = (
    "kip-1289-share-commit",
    "kip-447-generation",
    "kip-848-rebalance",
    "kip-890-hanging",
    "kip-1289-threads-poll-on",
    "kip-98-in-flight",
    "kip-98-topic-deleted",
)


def model_of(story: str) -> ClusterModel:
    """A story's cluster with accidents of every kind, under its first design."""
    known = searched_scenario(story)
    return known.model(design(known.designs[0]), profiles.faults("hostile").budget)


def walk(plain: ClusterModel, other: ClusterModel, seed: int, steps: int) -> int:
    """Take a random run in both at once, and compare every outcome."""
    dice = Scheduler(seed, profiles.faults("hostile").profile)
    here, there = plain.initial(), other.initial()
    for step in range(1, steps + 1):
        enabled = plain.enabled(here)
        assert other.enabled(there) == enabled
        action = dice.choose(step, enabled, plain.kind)
        if action is None:
            return step
        done, again = plain.step(here, action), other.step(there, action)
        assert again == done, f"seed {seed}, step {step}, {action}"
        here, there = done.world, again.world
    return steps


@pytest.mark.parametrize("story", STORIES)
def test_a_remembered_step_has_the_world_the_events_and_the_checks_of_the_step(story: str) -> None:
    plain = model_of(story)
    other = plain.remembering()
    for seed in (1, 2, 3, 1, 2, 3):
        walk(plain, other, seed, 120)


def test_the_same_run_again_is_all_remembered() -> None:
    other = model_of("kip-1289-share-commit").remembering()
    taken = 0
    carry_out = other._apply_action

    def count_step(*given: object) -> object:
        nonlocal taken
        taken += 1
        return carry_out(*given)  # type: ignore[arg-type]

    other._apply_action = count_step  # type: ignore[method-assign, assignment]
    counts = []
    for _ in range(2):
        taken, world = 0, other.initial()
        for step in range(1, 100):
            calm = Scheduler(5, profiles.faults("calm").profile)
            action = calm.choose(step, other.enabled(world), other.kind)
            if action is None:
                break
            world = other.step(world, action).world
        counts.append(taken)
    assert counts[0] > 40
    assert counts[1] == 0


def test_two_steps_in_either_order_lead_to_the_very_same_tables() -> None:
    other = searched_scenario("kip-1289-two-members").model(design("repaired")).remembering()
    world = other.initial()
    one, two = (a for a in other.enabled(world) if a.KIND == "application")
    here = other.step(other.step(world, one).world, two).world
    there = other.step(other.step(world, two).world, one).world
    assert here == there
    assert here is not there
    for name in step_memory.TABLES:
        assert getattr(here, name) is getattr(there, name)


@pytest.mark.parametrize("bound", ["STEPS_MAX", "TABLES_MAX"])
def test_a_full_memory_begins_anew_and_stays_right(
    bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_memory, bound, 25)
    plain = model_of("kip-1289-share-commit")
    other = plain.remembering()
    for seed in (1, 2, 1, 2):
        walk(plain, other, seed, 80)


def test_a_cluster_with_a_timed_clock_remembers_no_steps() -> None:
    known = searched_scenario("kip-1289-share-commit")
    spec = known.spec.but(clock=known.spec.clock.but(kind="timed"))
    chosen = design("repaired")
    model = chosen.model(spec)
    assert model.remembering()._memory is None


def test_an_action_that_is_not_possible_is_refused_in_the_same_words() -> None:
    plain = model_of("kip-1289-share-commit")
    other = plain.remembering()
    world = plain.initial()
    action = plain.enabled(world)[0]
    after = plain.step(world, action).world
    impossible = next(a for a in plain.enabled(world) if plain.why_not(after, a) is not None)
    with pytest.raises(NotEnabled) as here:
        plain.step(after, impossible)
    with pytest.raises(NotEnabled) as there:
        other.step(after, impossible)
    assert str(here.value) == str(there.value)
