"""Timers that run out because nothing else can happen: where they do, what they spend, and what breaks then."""

from __future__ import annotations

import pickle

import pytest

from kipviz.brokers.timers import (
    GroupRetention,
    LogRetention,
    MemberSession,
    OffsetRetention,
    ProducerExpiry,
    TransactionalIdExpiry,
    TransactionLiveness,
)
from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.judging.verdicts import property_named
from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds
from kipviz.checking.single_run.continuation import breaks_later
from kipviz.checking.single_run.quiescence import (
    TimersAtRest,
    _lend_timers,
    raise_budget,
    with_timers_at_rest,
)
from kipviz.checking.single_run.runs import follow, judge, judge_to_the_end, play, replay
from kipviz.checking.single_run.seeded_run import Task, moments, run
from kipviz.cluster.actions import CrashClient, ExpireLock, RunOut, Step, TimeOutTransaction
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.cluster.world import World
from kipviz.core.model import NotEnabled
from kipviz.designs.catalogue import CATALOGUE, design
from kipviz.properties.verdict import BROKEN, HOLDS
from kipviz.scenarios.library import LIBRARY, searched_scenario
from kipviz.scenarios.scenario import PROPERTIES
from tests.core.two_phase_commit import TwoPhaseCommit

OF_DAYS = (GroupRetention, OffsetRetention, LogRetention, ProducerExpiry, TransactionalIdExpiry)

SMALL = "kip-1289-small"
ATOMIC = (property_named("atomic"),)
WORK = ("load", "deliver", "replicate", "sender", "application")


def resting(name: str = SMALL, under: str = "as-written", faults: str = "") -> TimersAtRest:
    return TimersAtRest(searched_scenario(name).model(design(under), budget_of(faults)))


def reach_worlds(model: TimersAtRest, every: int = 1) -> list[World]:
    """The worlds that a search comes to; it goes no further where a record was delivered twice."""
    search = Search(model.cluster, ATOMIC)
    search.run(Bounds())
    return [search.state(number)[0] for number in range(0, len(search.graph), every)]


def test_a_timer_runs_out_only_where_nothing_else_can_happen_and_spends_nothing() -> None:
    model = resting()
    seen = 0
    for world in reach_worlds(model):
        busy = any(action.KIND in WORK for action in model.cluster.enabled(world))
        timers = model.at_rest(world)
        assert not (busy and timers)
        for timer in timers:
            seen += 1
            assert model.cluster.why_not(world, timer) is not None  # its budget is 0
            assert model.why_not(world, timer) is None
            assert model.step(world, timer).world.budget == world.budget == FaultBudget()
    assert seen


def test_a_lock_that_is_set_runs_out_nowhere_else() -> None:
    model = resting()
    for world in reach_worlds(model):
        lock = ExpireLock(5, "g1:AAAAAAAAAAAAAAAAAAAAAg:0", 100)
        if lock not in model.at_rest(world):
            with pytest.raises(NotEnabled):
                model.step(world, lock)


def test_the_places_of_all_other_steps_stay_what_they_were() -> None:
    model = resting()
    for world in reach_worlds(model):
        own = model.cluster.enabled(world)
        assert model.enabled(world)[: len(own)] == own
        assert len(set(model.enabled(world))) == len(model.enabled(world))


def test_what_asks_again_and_finds_something_new_goes_before_a_timer() -> None:
    """The leader's look-up of a decided transactional acknowledgement resolves it: no lock may run out before that."""
    model = resting(under="finding-D")
    looks = 0
    for world in reach_worlds(model):
        enabled = model.cluster.enabled(world)
        if any(a.KIND in WORK for a in enabled) or not any(a.KIND == "refresh" for a in enabled):
            continue
        looks += 1
        new = any(
            type(event).__name__ == "RecordsMoved"
            for action in enabled
            if action.KIND == "refresh"
            for event in _round(model, world, action)
        )
        assert not (new and model.at_rest(world))
    assert looks
    assert Search(model.cluster, ATOMIC).run(Bounds()).counterexamples == ()


def _round(model: TimersAtRest, world: World, action: object) -> list[object]:
    events: list[object] = []
    for _ in range(100):
        outcome = model.cluster.step(world, action)
        events += outcome.events
        world = outcome.world
        work = [a for a in model.cluster.enabled(world) if a.KIND in WORK]
        if not work:
            break
        action = min(work, key=lambda a: WORK.index(a.KIND))
    return events


def worked_off(model: TimersAtRest, world: World) -> World:
    """The world in which nothing is left to do but what waits for time."""
    for _ in range(300):
        work = [a for a in model.cluster.enabled(world) if a.KIND in WORK]
        if not work:
            break
        world = model.step(world, min(work, key=lambda a: WORK.index(a.KIND))).world
    return world


def sessions(model: TimersAtRest, world: World) -> list[MemberSession]:
    timers = model.at_rest(world)
    found = [t.timer for t in timers if isinstance(t, RunOut)]
    return [timer for timer in found if isinstance(timer, MemberSession)]


def test_at_rest_a_timer_leaves_the_budget_for_a_race() -> None:
    model = resting(faults="expire_lock=1")
    world = worked_off(model, model.initial())
    timers = model.at_rest(world)
    assert timers
    assert world.budget == FaultBudget(expire_lock=1)
    for timer in timers:
        assert model.step(world, timer).world.budget == world.budget


def test_the_session_of_a_member_that_lives_does_not_run_out_and_that_of_a_dead_one_does() -> None:
    model = resting("kip-932-members", "kafka", "crash_client=1")
    world = worked_off(model, model.initial())
    joined = [a for a in model.cluster.enabled(_lend_timers(world)) if isinstance(a, RunOut)]
    assert joined, "there are sessions that could run out"
    assert sessions(model, world) == []
    world = worked_off(model, model.step(world, CrashClient("app-1")).world)
    (timer,) = sessions(model, world)
    dead = [getattr(c, "member_id", "") for c in world.applications["app-1"].clients]
    assert timer in [MemberSession(member, "g1") for member in dead]


def test_a_transaction_outlives_a_producer_that_sends_heartbeats_only_until_it_crashes() -> None:
    story = searched_scenario("kip-1309-small")
    (app,) = story.spec.applications
    sends = app.but(program=app.program[:6])  # it ends with its transaction open
    story = story.but(spec=story.spec.but(applications=(sends,)))
    model = TimersAtRest(story.model(design("kip-1309"), budget_of("crash_client=1")))
    world = worked_off(model, model.initial())
    assert model.at_rest(world) == ()
    world = worked_off(model, model.step(world, CrashClient("app-1")).world)
    (silent,) = model.at_rest(world)
    assert isinstance(silent, RunOut)
    assert silent.timer == TransactionLiveness("my-txn")


def test_retention_and_other_timers_of_days_are_left_to_the_budget() -> None:
    for story in LIBRARY:
        if not story.beats:
            continue
        told = play(story.name)
        if type(told.model).__name__ != "ClusterModel":
            continue
        model = TimersAtRest(told.model)
        for node in told.trace.line[:: max(1, len(told.trace.line) // 8)]:
            for timer in model.at_rest(told.trace.node(node).world):
                assert not isinstance(getattr(timer, "timer", None), OF_DAYS), timer


# -- what it changes ------------------------------------------------------------------------------


def test_the_text_duplicates_every_committed_record_without_any_accident() -> None:
    found = Search(searched_scenario(SMALL).model(design("as-written"), FaultBudget()), ATOMIC).run(
        Bounds()
    )
    (broken,) = found.counterexamples
    assert len(broken.actions) == 41
    assert isinstance(broken.actions[-1], ExpireLock)
    assert not any(a.KIND in {"fault", "late"} for a in broken.actions)
    assert broken.reason.endswith("it will be delivered again")


def test_a_run_with_timers_at_rest_opens_under_a_budget_that_allows_them() -> None:
    story, chosen = searched_scenario(SMALL), design("as-written")
    (broken,) = Search(story.model(chosen, FaultBudget()), ATOMIC).run(Bounds()).counterexamples
    told = follow(story, chosen, FaultBudget(), broken.actions)
    assert told.budget == FaultBudget(expire_lock=1)
    assert {j.property: j.status for j in judge(told)}["atomic"] == BROKEN
    assert raise_budget(FaultBudget(expire_lock=3), broken.actions) == FaultBudget(expire_lock=3)


def test_no_design_holds_where_its_own_next_steps_break_the_property() -> None:
    """Of every design: a state in which all properties hold breaks none when the cluster is left alone."""
    judged = 0
    for chosen in CATALOGUE:
        if not chosen.stages_shares:
            continue
        model = searched_scenario(SMALL).model(chosen, FaultBudget()).remembering()
        search = Search(model, ATOMIC)
        found = search.run(Bounds(states_max=4_000))
        if not found.complete or found.counterexamples:
            continue
        judged += 1
        for number in range(0, len(search.graph), 7):
            world, states = search.state(number)
            assert breaks_later(model, world, states, ATOMIC) == (), chosen.name
    assert judged > 5


def test_a_story_is_judged_along_what_the_cluster_does_next_by_itself() -> None:
    told = play("kip-1289-share-commit", "as-written")
    at_its_end = {j.property: j for j in judge(told)}
    to_the_end = {j.property: j for j in judge_to_the_end(told)}
    assert at_its_end["atomic"].status == HOLDS
    assert to_the_end["atomic"].status == BROKEN
    assert to_the_end["atomic"].reason.startswith(
        "left alone, the run breaks it 1 step later (the lock of src-0@100 expires): "
    )
    kept = judge_to_the_end(play("kip-1289-share-commit", "repaired"))
    assert {j.status for j in kept} == {HOLDS}


def test_seeded_runs_come_to_the_locks_that_run_out_in_the_end_and_can_be_opened() -> None:
    task = Task(SMALL, "as-written", "calm", 3)
    verdict = run(task)
    assert (verdict.status, verdict.broken) == ("breaks", "atomic")
    made = tuple(moment.action for moment in moments(task))
    assert any(isinstance(action, ExpireLock | TimeOutTransaction) for action in made)
    opened = replay(task)
    assert not opened.error
    assert len(opened.trace.line) == len(made) + 1
    assert run(task.but(design="repaired")).status == "holds"


def test_seeded_runs_end() -> None:
    for name in (SMALL, "kip-1289-small-members", "kip-1289-several-partitions", "kip-932-members"):
        for seed in range(3):
            assert (
                run(Task(name, searched_scenario(name).designs[0], "calm", seed, 3_000)).steps
                < 3_000
            )


# -- pieces ---------------------------------------------------------------------------------------


def test_other_models_are_left_as_they_are_and_a_cluster_travels() -> None:
    other = TwoPhaseCommit(2)
    assert with_timers_at_rest(other) is other
    model = resting()
    away = pickle.loads(pickle.dumps(model))
    world = model.initial()
    assert away.enabled(world) == model.enabled(world)


def test_a_step_of_a_person_is_no_timer() -> None:
    model = resting()
    world = model.initial()
    assert isinstance(model.enabled(world)[0], Step)
    assert model.at_rest(world) == ()
    assert PROPERTIES[0].name == "atomic"
