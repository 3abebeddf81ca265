"""The timed clock: deadlines are relative, time passes in steps, and what is due comes first."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.cluster.actions import ExpireLock, Step, Tick, TimeOutTransaction
from kipviz.cluster.behaviour.due_actions import deadline_of
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import BadSpec, FaultBudget
from kipviz.cluster.timing.clock import (
    Clock,
    Deadline,
    Due,
    advance_deadlines,
    clock_named,
    ms,
    next_tick,
    unit_of,
    why_no_clock,
)
from kipviz.cluster.timing.deadlines import after_step, find, unit
from kipviz.cluster.world import World
from kipviz.core.model import NotEnabled
from kipviz.core.values import fingerprint
from kipviz.designs.catalogue import design
from kipviz.messages.events import DELIVERED, WRITE_FAILED, RecordsMoved, TimePassed
from kipviz.records.share_group_state import RecordState
from tests.cluster.small_clusters import EVERYTHING, FIRST_OFFSET, model_of, small_spec, steps_of

BUDGET = FaultBudget(expire_lock=1, time_out=1)
TIMED = Clock("timed")


def timed_model(
    clock: Clock = TIMED, budget: FaultBudget = BUDGET, **settings: int
) -> ClusterModel:
    spec = small_spec("share", budget=budget, records=1, max_records=1)
    spec = spec.but(clock=clock, settings=spec.settings.but(**settings))
    chosen = design("repaired")
    return chosen.model(spec)


def until(model: ClusterModel, world: World, kind: str) -> World:
    """Go on without timers and ticks, programs last, until a deadline of a kind is running."""
    while not any(d.kind == kind for d in world.deadlines):
        usual = [a for a in model.enabled(world) if a.KIND not in ("expiry", "tick", "fault")]
        world = model.step(world, min(usual, key=lambda a: isinstance(a, Step))).world
    return world


# -- values --------------------------------------------------------------------------------------


def test_durations_are_told_as_people_say_them() -> None:
    assert [ms(d) for d in (0, 200, 1_000, 2_500, 30_000)] == [
        "0 ms",
        "200 ms",
        "1 s",
        "2.5 s",
        "30 s",
    ]


def test_a_tick_is_the_greatest_common_divisor_of_what_can_be_due() -> None:
    assert unit_of((30_000, 10_000, 60_000, -1, 0)) == 10_000
    assert unit_of(()) == 1
    spec = timed_model(transaction_scan_ms=4_000).spec
    assert unit(spec) == 2_000


def test_time_passes_for_every_deadline_and_stops_at_nothing_left() -> None:
    due = (Deadline(Due.LOCK, (1,), 30, 30), Deadline(Due.DELIVERY, (2,), 0, -1))
    assert [(d.after, d.by) for d in advance_deadlines(due, 20)] == [(10, 10), (0, -1)]
    assert [(d.after, d.by) for d in advance_deadlines(due, 40)] == [(0, 0), (0, -1)]


def test_the_next_tick_goes_to_what_is_due_next_or_is_one_unit() -> None:
    due = (Deadline(Due.LOCK, (1,), 30, 40), Deadline(Due.LOCK, (2,), 70, 70))
    assert next_tick(due, 10, "next") == 30
    assert next_tick(due, 10, "exact") == 10
    assert next_tick((Deadline(Due.LOCK, (1,), 0, 0),), 10, "exact") == 0


@pytest.mark.parametrize(
    ("clock", "sentence"),
    [
        (("sundial",), "the clock must be untimed or timed, not 'sundial'"),
        (
            ("timed", -2),
            "delay_max_ms must be a whole number of at least 0, or -1 for no bound, not -2",
        ),
        (("timed", 5, "slow"), "a tick must be exact or next, not 'slow'"),
    ],
)
def test_a_clock_that_cannot_be_is_refused_in_one_sentence(clock: tuple, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        clock_named(*clock)
    with pytest.raises(BadSpec, match=sentence):
        timed_model(Clock(*clock))


def test_a_sender_rests_with_a_timed_clock_only() -> None:
    with pytest.raises(BadSpec, match="a sender rests with a timed clock only"):
        timed_model(Clock(backs_off=True))


@pytest.mark.parametrize(
    ("clock", "words"),
    [
        (Clock(), "untimed"),
        (Clock("timed"), "timed (every tick, free delays)"),
        (
            Clock("timed", 200, "next", 1_000),
            "timed (tick by deadline, delays up to 200 ms, pauses up to 1 s)",
        ),
    ],
)
def test_a_verdict_says_what_bounds_the_clock_keeps(clock: Clock, words: str) -> None:
    assert clock.words == words


# -- the model -----------------------------------------------------------------------------------


def test_without_a_timed_clock_no_time_passes_and_nothing_is_kept_of_it() -> None:
    model = model_of(small_spec("share", budget=EVERYTHING))
    for world, action, outcome in steps_of(model, 3, 200):
        assert not world.deadlines
        assert not isinstance(action, Tick)
        assert not outcome.world.deadlines
    why = model.why_not(model.initial(), Tick())
    assert why == "this cluster's clock is untimed: a timer may expire at any moment"


def test_a_lock_runs_out_when_its_time_is_over_and_not_before() -> None:
    model = timed_model()
    world = until(model, model.initial(), Due.LOCK)
    (lock,) = (d for d in world.deadlines if d.kind == Due.LOCK)
    expiry = ExpireLock(*lock.place)
    assert model.why_not(world, expiry) == "it is due in 30 s: time has to pass first"
    with pytest.raises(NotEnabled, match="due in 30 s"):
        model.step(world, expiry)
    for left in ("20 s", "10 s"):
        outcome = model.step(world, Tick())
        assert outcome.events == (TimePassed(10_000),)
        world = outcome.world
        assert left in str(model.why_not(world, expiry))
    world = model.step(world, Tick()).world
    assert expiry in model.enabled(world)


def test_time_does_not_pass_by_what_is_due() -> None:
    model = timed_model(Clock("timed", tick="next"), transaction_scan_ms=60_000)
    world = model.step(until(model, model.initial(), Due.TRANSACTION), Tick()).world
    assert Tick() not in model.enabled(world)
    why = model.why_not(world, Tick())
    assert why == "the lock of src-0@100 expires: that is due now, so time cannot pass it"


def test_a_timer_that_the_budget_forbids_ends_the_time_of_a_run() -> None:
    model = timed_model(Clock("timed", tick="next"), FaultBudget())
    world = model.step(until(model, model.initial(), Due.LOCK), Tick()).world
    assert not [a for a in model.enabled(world) if a.KIND in ("expiry", "tick")]


def test_a_record_that_is_delivered_anew_has_its_whole_lock_again() -> None:
    model = timed_model(Clock("timed", tick="next"))
    world = until(model, model.initial(), Due.LOCK)
    first = find(world, (Due.LOCK, next(d.place for d in world.deadlines if d.kind == Due.LOCK)))
    assert first is not None
    world = model.step(model.step(world, Tick()).world, ExpireLock(*first.place)).world
    assert find(world, (Due.LOCK, first.place)) is None
    world = until(model, world, Due.LOCK)
    assert find(world, (Due.LOCK, first.place)) == first


@pytest.mark.parametrize(
    ("because", "offset", "left"),
    [
        (DELIVERED, FIRST_OFFSET, 30_000),
        (
            WRITE_FAILED,
            FIRST_OFFSET,
            20_000,
        ),  # back to its member: Kafka cancels no timer before the write
        (DELIVERED, FIRST_OFFSET + 7, 20_000),  # delivered, and gone again within the step
    ],
)
def test_a_lock_begins_with_a_delivery_and_not_with_a_write_that_failed(
    because: str, offset: int, left: int
) -> None:
    model = timed_model()
    world = model.step(until(model, model.initial(), Due.LOCK), Tick()).world
    states = (RecordState.AVAILABLE, RecordState.ACQUIRED)
    event = RecordsMoved("src-0", "g1", offset, offset, *states, 1, "M1", because)
    other = world.but(roles=world.roles.set((99, "none", ""), None))
    due = after_step(model.spec, world, other, (event,), lambda *_: None)
    assert [d.after for d in due if d.kind == Due.LOCK] == [left]


def test_a_transaction_times_out_between_its_timeout_and_the_scan_that_finds_it() -> None:
    model = timed_model(Clock("timed"), record_lock_duration_ms=600_000)
    world = until(model, model.initial(), Due.TRANSACTION)
    assert [(d.after, d.by) for d in world.deadlines if d.kind == Due.TRANSACTION] == [
        (60_000, 70_000)
    ]
    for _ in range(6):
        assert not any(isinstance(a, TimeOutTransaction) for a in model.enabled(world))
        world = model.step(world, Tick()).world
    both = {type(a) for a in model.enabled(world)}
    assert {TimeOutTransaction, Tick} <= both
    world = model.step(world, Tick()).world
    assert Tick() not in model.enabled(world)
    (time_out,) = (a for a in model.enabled(world) if isinstance(a, TimeOutTransaction))
    assert deadline_of(world, time_out) is not None
    assert not model.step(world, time_out).world.deadlines[1:]


def test_a_transaction_keeps_its_time_while_its_coordinator_moves() -> None:
    model = timed_model(Clock("timed"), EVERYTHING)
    world = model.step(until(model, model.initial(), Due.TRANSACTION), Tick()).world
    (before,) = (d for d in world.deadlines if d.kind == Due.TRANSACTION)
    home = world.image.home_of("__transaction_state", before.place[0])
    crash = next(
        a
        for a in model.enabled(world)
        if type(a).__name__ == "CrashBroker" and a.broker == world.image.leader_of(home)
    )
    world = model.step(world, crash).world
    assert before in world.deadlines
    load = next(a for a in model.enabled(world) if a.KIND == "load" and a.shard == home)
    assert before in model.step(world, load).world.deadlines


def test_a_bounded_delay_makes_time_wait_for_the_wire() -> None:
    model = timed_model(Clock("timed", 0))
    world = until(model, model.initial(), Due.LOCK)
    assert world.connections
    moving = [a for a in model.enabled(world) if a.KIND == "deliver"]
    assert moving
    assert Tick() not in model.enabled(world)
    assert "so time cannot pass it" in str(model.why_not(world, Tick()))


@pytest.mark.parametrize("replication", ["instant", "stepwise"])
@pytest.mark.parametrize(
    "clock",
    [
        Clock("timed"),
        Clock("timed", 5_000),
        Clock("timed", 0, "next"),
        Clock("timed", 5_000, "next", 1_000, 5_000),
    ],
)
def test_deadlines_stand_in_one_order_and_stay_within_their_bounds(
    clock: Clock, replication: str
) -> None:
    spec = small_spec("share", budget=EVERYTHING, max_records=1, replication=replication)
    chosen = design("repaired")
    model = chosen.model(spec.but(clock=clock))
    ticks = 0
    for seed in range(4):
        for _, action, outcome in steps_of(model, seed, 150):
            due = outcome.world.deadlines
            ticks += isinstance(action, Tick)
            assert [(d.kind, d.place) for d in due] == sorted({(d.kind, d.place) for d in due})
            assert all(0 <= d.after <= max(d.by, d.after) for d in due)
    assert ticks


@pytest.mark.parametrize(
    ("clock", "why"),
    [
        (Clock("timed", 0, "next", 0, 0, stamps=True, backs_off=True), None),
        (Clock("timed", -1, "exact", -1, -1), None),
        (Clock("solar"), "the clock must be untimed or timed, not 'solar'"),
        (Clock("timed", tick="often"), "a tick must be exact or next, not 'often'"),
        (
            Clock("timed", -2),
            "delay_max_ms must be a whole number of at least 0, or -1 for no bound, not -2",
        ),
        (
            Clock("timed", pause_max_ms=-2),
            "pause_max_ms must be a whole number of at least 0, or -1 for",
        ),
        (
            Clock("timed", refresh_ms=-2),
            "refresh_ms must be a whole number of at least 0, or -1 for no bound",
        ),
        (
            Clock("timed", True),
            "delay_max_ms must be a whole number of at least 0, or -1 for no bound, not T",
        ),
        (Clock(stamps=True), "records carry their time with a timed clock only: leave stamps at"),
        (Clock(backs_off=True), "a sender rests with a timed clock only: leave backs_off at false"),
    ],
)
def test_of_a_clock_each_part_is_checked(clock: Clock, why: str | None) -> None:
    said = why_no_clock(clock)
    assert (said is None) if why is None else str(said).startswith(why)


@pytest.mark.parametrize(
    ("clock", "words"),
    [
        (Clock(), "untimed"),
        (Clock("untimed", 5), "untimed"),
        (Clock("timed"), "timed (every tick, free delays)"),
        (Clock("timed", 0, "next"), "timed (tick by deadline, delays up to 0 ms)"),
        (
            Clock("timed", 50, "exact", 0),
            "timed (every tick, delays up to 50 ms, pauses up to 0 ms)",
        ),
    ],
)
def test_a_verdict_says_how_its_time_passed(clock: Clock, words: str) -> None:
    assert clock.words == words


def test_the_next_tick_is_the_unit_or_leads_to_the_next_thing_that_is_due() -> None:
    due = (
        Deadline(Due.LOCK, (1,), 30, 40),
        Deadline(Due.SENDING, (2,), 0, -1),
        Deadline(Due.SENDING, (3,), 0, 20),
    )
    assert (next_tick(due, 10, "exact"), next_tick(due, 10, "next")) == (10, 20)
    assert next_tick(due[1:2], 10, "exact") == 0, "it may happen at any moment"
    assert next_tick((), 10, "next") == 0


@pytest.mark.parametrize("due", Due)
def test_what_a_deadline_is_for_is_stored_as_its_text(due: Due) -> None:
    as_text: Any = due.value
    assert fingerprint(Deadline(due, (1,), 3, 4)) == fingerprint(Deadline(as_text, (1,), 3, 4))
