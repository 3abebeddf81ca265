"""When a log forgets a producer, with a clock and without, and what protects from its forgetting."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.brokers.timers import ProducerExpiry
from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds
from kipviz.cluster.actions import MoveLeader, RunOut, Tick
from kipviz.cluster.behaviour import due_actions
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.timing.clock import Due
from kipviz.cluster.world import World
from kipviz.designs.catalogue import design
from kipviz.scenarios.applications import programs
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.setting_changes import apply_changes
from tests.cluster.timing.test_timers import at, go, running
from tests.scenarios.story import after

STORY = "kip-98-silent-for-a-day"
OUT = "output-A-0"
DAY = RunOut(3, "partition_leader", OUT, ProducerExpiry(9, OUT))
TIMED = ("clock=timed", "tick=next")


def model_of(faults: str, *settings: str) -> ClusterModel:
    known = searched_scenario(STORY)
    spec, chosen = apply_changes(known.spec, design("kafka"), settings)
    return known.but(spec=spec).model(chosen, budget_of(faults))


def heard(world: World) -> bool:
    return 9 in world.logs[OUT].producers


def test_without_a_clock_it_may_be_at_any_moment_and_spends_the_budget() -> None:
    model = model_of("run_out=1")
    world = go(model, model.initial(), heard)
    assert DAY in model.enabled(world)
    after_it = model.step(world, DAY).world
    assert not heard(after_it)
    assert after_it.budget.run_out == 0
    assert DAY not in model.enabled(after_it)
    why = model.why_not(after_it, DAY)
    assert why is not None
    assert "and they are used up (setting run_out)" in why


def test_without_the_setting_no_log_forgets_anybody() -> None:
    model = model_of("run_out=1", "producer_ids_expire=false")
    world = go(model, model.initial(), heard)
    assert DAY not in model.enabled(world)
    assert model.why_not(world, DAY) is not None


def test_with_a_clock_it_is_a_day_after_the_last_batch_and_a_new_leader_goes_on_counting() -> None:
    model = model_of("run_out=1,move_leader=1", *TIMED)
    world = go(model, model.initial(), heard)
    day, scan = 86_400_000, 600_000
    (deadline,) = running(world, Due.PRODUCER_ID)
    assert at(deadline) == (day, day + scan)
    assert due_actions.action_of(world, deadline) == DAY
    short = model_of(
        "run_out=1,move_leader=1", *TIMED, "producer.id.expiration.ms=30000", "pause_max_ms=9000"
    )
    world = go(short, short.initial(), heard)
    world = short.step(world, Tick()).world
    left = [at(d) for d in running(world, Due.PRODUCER_ID)]
    assert left[0][0] < 30_000
    moved = short.step(world, MoveLeader(OUT, 1)).world
    assert [at(d) for d in running(moved, Due.PRODUCER_ID)] == left
    one = len(world.logs[OUT].batches)
    more = go(short, moved, lambda w: len(w.logs[OUT].batches) > one)
    assert [at(d)[0] for d in running(more, Due.PRODUCER_ID)] == [30_000], "heard of again"


class Twice(Search):
    """A search that notes whether a record is ever in the log twice."""

    def __init__(self, model: ClusterModel) -> None:
        self.twice = False
        super().__init__(model)

    def note(self, number: int, world: Any, states: tuple[Any, ...], depth: int) -> None:
        values = [r.value for b in world.logs[OUT].batches for r in b.records]
        self.twice = self.twice or len(set(values)) < len(values)
        super().note(number, world, states, depth)


def one_record(faults: str, *settings: str) -> ClusterModel:
    """The story's cluster with one record, which is sent and waited for."""
    known, lines = searched_scenario(STORY), programs.SEND_FOUR
    app = known.spec.applications[0].but(program=(*lines[:2], lines[-1]))
    spec = known.spec.but(applications=(app,), records=(("src-0", 100, ("a",)),))
    spec, chosen = apply_changes(spec, design("kafka"), settings)
    return known.but(spec=spec).model(chosen, budget_of(faults))


@pytest.mark.parametrize(
    ("memory_ms", "pause_ms", "twice"),
    [
        (60_000, 0, False),
        (60_000, 60_000, True),
        (120_000, 60_000, False),
        (120_000, 120_000, True),
    ],
)
def test_a_memory_as_long_as_a_batch_may_be_sent_again_keeps_it_from_being_there_twice(
    memory_ms: int, pause_ms: int, twice: bool
) -> None:
    """Here a batch is sent again after as long as its thread may stand still.

    Kafka's advice is a memory of at least delivery.timeout.ms, because a producer that is not held up
    gives a batch up by then.
    """
    search = Twice(
        one_record(
            "run_out=1,lose_connection=1,delivery_timeout=1",
            *TIMED,
            "delay_max_ms=0",
            f"producer.id.expiration.ms={memory_ms}",
            f"pause_max_ms={pause_ms}",
        )
    )
    assert search.run(Bounds()).complete
    assert search.twice is twice


def values(world: World) -> list[str]:
    return [r.value for b in world.logs[OUT].batches for r in b.records]


def test_in_the_story_the_record_stays_and_then_is_there_twice() -> None:
    day = after(STORY, "kafka", "A day without a batch")
    assert (values(day), heard(day)) == (["f(a)"], False)
    next_one = after(STORY, "kafka", "It sends the next one: sequence 1")
    assert [span.first for span in next_one.logs[OUT].producers[9].batches] == [1]
    assert values(after(STORY, "kafka", "The same batch again")) == ["f(a)", "f(b)", "f(b)"]
