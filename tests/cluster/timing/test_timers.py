"""Timers with a name under the timed clock: each has Kafka's duration, begins and ends as in Kafka."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kipviz.brokers.timers import (
    GroupRetention,
    MemberSession,
    OffsetRetention,
    RefusedFetchWait,
    TransactionalIdExpiry,
)
from kipviz.checking.judging.budgets import budget_of
from kipviz.cluster.actions import (
    ClientTimer,
    ClusterAction,
    DelayOver,
    ExpireBatch,
    GiveUp,
    RunOut,
    Tick,
)
from kipviz.cluster.behaviour import due_actions
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.spec import BadSpec, ClusterSpec, Durations
from kipviz.cluster.timing import deadlines, timers
from kipviz.cluster.timing.clock import Clock, Deadline, Due
from kipviz.cluster.timing.durations import DURATIONS, occurring
from kipviz.cluster.turn import Turn
from kipviz.cluster.world import Envelope, World
from kipviz.core.scheduler import Scheduler
from kipviz.core.traces.trace import Trace
from kipviz.core.values import TextValue
from kipviz.designs.catalogue import design
from kipviz.messages.groups.membership import ConsumerGroupHeartbeat
from kipviz.messages.logs.producing import Fetch
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.script import follow
from kipviz.scenarios.setting_changes import apply_changes
from kipviz.settings.setting_def import Place
from tests.cluster.small_clusters import HOSTILE, small_spec

JOINING, SHARING, BEATING = "kip-848-rebalance", "kip-932-members", "kip-1309-dead-writer"
LOOKING_UP = "kip-1319-by-id"


def model_of(story: str, faults: str, *settings: str, name: str = "") -> ClusterModel:
    known = searched_scenario(story)
    chosen = design(name or known.designs[0])
    spec, under = apply_changes(known.spec, chosen, ("clock=timed", "tick=next", *settings))
    return known.but(spec=spec).model(under, budget_of(faults))


def render_place(place: tuple[object, ...]) -> str:
    """What a deadline is of, in words."""
    return " ".join(each.text if isinstance(each, TextValue) else str(each) for each in place)


def running(world: World, kind: str, holds: str = "") -> list[Deadline]:
    return [d for d in world.deadlines if d.kind == kind and holds in render_place(d.place)]


def go(
    model: ClusterModel,
    world: World,
    until: Callable[[World], Any],
    *,
    takes: Callable[[ClusterAction], bool] = lambda _: True,
    most: int = 400,
) -> World:
    """Go on without accidents until something is so; time passes where nothing else can happen."""
    for _ in range(most):
        if until(world):
            return world
        found = [a for a in model.enabled(world) if a.KIND not in ("fault", "repair", "expiry")]
        found = [a for a in found if takes(a)]
        found.sort(
            key=lambda a: (isinstance(a, Tick), a.KIND == "refresh", a.KIND == "application")
        )
        assert found, "nothing can happen any more"
        world = model.step(world, found[0]).world
    raise AssertionError("it is never so")


def at(deadline: Deadline) -> tuple[int, int]:
    return deadline.after, deadline.by


# -- the table -------------------------------------------------------------------------------------


def test_every_duration_has_kafkas_name_a_default_and_a_source() -> None:
    names = [row.setting for row in DURATIONS]
    assert len(set(names)) == len(names)
    assert all(name.endswith((".ms", ".minutes")) for name in names)
    assert all(row.definition.source and row.what and row.definition.status for row in DURATIONS)
    fields = [each.field for row in DURATIONS if (each := row.definition).place is Place.DURATIONS]
    assert sorted(fields) == sorted(Durations.__struct_fields__)


def test_a_sender_that_rests_has_below_version_2_a_shorter_rest_for_its_first_partitions() -> None:
    spec = small_spec("share").but(clock=Clock("timed", backs_off=True))
    rests = {
        version: {row.setting: values for row, values in occurring(of)}["retry.backoff.ms"]
        for version, of in ((1, spec.but(transaction_version=1)), (2, spec))
    }
    assert rests == {1: (100, 20), 2: (100,)}


def test_the_defaults_of_the_table_are_those_of_a_cluster() -> None:
    spec = small_spec("share").but(look_up_topics=True)
    forgotten = ("transactional_ids_expire", "producer_ids_expire", "offsets_expire")
    expire = dict.fromkeys(forgotten, True)
    keeps = {"consumer_assignment_interval_ms": 1_000, "log_retention_ms": 604_800_000}
    spec = spec.but(settings=spec.settings.but(**expire, **keeps))
    spec = spec.but(budget=spec.budget.but(request_timeout=1, delivery_timeout=1))
    spec = spec.but(applications=(spec.applications[0].but(protocol="share"),))
    said = {row.setting: (values, row.default_ms) for row, values in occurring(spec)}
    member = {"share": False, "protocol": "consumer", "max_in_flight": 5}
    regular = spec.but(applications=(spec.applications[0].but(**member),))
    said |= {row.setting: (values, row.default_ms) for row, values in occurring(regular)}
    classic = spec.but(applications=(spec.applications[0].but(share=False, protocol="classic"),))
    said |= {row.setting: (values, row.default_ms) for row, values in occurring(classic)}
    beats = {"transaction.heartbeat.interval.ms", "transaction.session.timeout.ms"}
    assert set(said) | beats == {row.setting for row in DURATIONS}
    for setting, (values, default) in said.items():
        assert set(values) == {default}, setting


def test_a_duration_that_cannot_begin_makes_no_tick_shorter() -> None:
    spec = small_spec("share")
    assert deadlines.unit(spec) == 10_000
    assert not timers.of_roles(spec)
    assert not timers.of_clients(spec)
    asking = spec.but(budget=spec.budget.but(request_timeout=1))
    assert timers.of_clients(asking)
    joining = model_of(JOINING, "").spec
    assert deadlines.unit(joining) == 100


@pytest.mark.parametrize(
    ("durations", "sentence"),
    [
        (
            Durations(retry_backoff_ms=0),
            "retry_backoff_ms must be a whole number of ms from 1 to 9223372036854775807, not 0",
        ),
        (
            Durations(consumer_session_timeout_ms=5_000),
            r"group.consumer.heartbeat.interval.ms \(5000\) has to be less than",
        ),
        (
            Durations(delivery_timeout_ms=20_000),
            r"delivery.timeout.ms \(20000\) has to be at least request.timeout.ms \(30000\)",
        ),
    ],
)
def test_durations_that_cannot_be_are_refused_in_one_sentence(
    durations: Durations, sentence: str
) -> None:
    with pytest.raises(BadSpec, match=sentence):
        check(small_spec("share").but(durations=durations))


def test_an_untimed_cluster_reads_no_duration() -> None:
    spec = searched_scenario(JOINING).spec
    short = spec.but(durations=Durations(consumer_session_timeout_ms=6_000))
    chosen = design("kafka")

    def list_enabled(of: ClusterSpec) -> list[tuple[ClusterAction, ...]]:
        model = chosen.model(of)
        world, found = model.initial(), []
        for step in range(60):
            choices = model.enabled(world)
            found.append(choices)
            action = Scheduler(3, HOSTILE).choose(step, choices, model.kind)
            assert action is not None
            world = model.step(world, action).world
            assert not world.deadlines
        return found

    assert list_enabled(spec) == list_enabled(short)


# -- members ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("story", "beat"), [(JOINING, 5_000), (SHARING, 5_000)])
def test_a_member_beats_after_the_interval_and_its_session_begins_again(
    story: str, beat: int
) -> None:
    model = model_of(story, "run_out=1", "pause_max_ms=0", "delay_max_ms=0")
    world = go(model, model.initial(), lambda w: running(w, Due.ROLE_TIMER, "the session"))
    (session,) = running(world, Due.ROLE_TIMER, "the session")
    assert at(session) == (45_000, 45_000)
    (heart,) = running(world, Due.CLIENT_TIMER, "heartbeat")
    assert at(heart) == (beat, beat)
    place = (Due.ROLE_TIMER, session.place)
    world = go(model, world, lambda w: (deadlines.find(w, place) or session).after < 45_000)
    world = go(model, world, lambda w: not running(w, Due.CLIENT_TIMER, "heartbeat")[0].after)
    late = deadlines.find(world, place)
    assert late is not None
    assert late.after == 40_000
    timer = ClientTimer(*heart.place)  # type: ignore[arg-type]
    assert timer in model.enabled(world)
    assert Tick() not in model.enabled(world), "a prompt client beats when its heartbeat is due"
    world = model.step(world, timer).world
    world = go(model, world, lambda w: deadlines.find(w, place) == session)
    assert heart in running(world, Due.CLIENT_TIMER, "heartbeat")


def test_a_classic_group_begins_after_its_delay_and_waits_once_more_for_who_came_meanwhile() -> (
    None
):
    model = model_of("kip-62-rebalance", "run_out=1", "pause_max_ms=0", "delay_max_ms=0")
    world = go(model, model.initial(), lambda w: running(w, Due.ROLE_DELAY))
    (delay,) = running(world, Due.ROLE_DELAY)
    assert at(delay) == (3_000, 3_000)
    over = DelayOver(*delay.place)  # type: ignore[arg-type]
    assert "it is due in 3 s" in str(model.why_not(world, over))
    world = go(model, world, lambda w: over in model.enabled(w))
    again = model.step(world, over).world
    assert running(again, Due.ROLE_DELAY) == [delay], "app-2 has joined while app-1 waited"
    world = go(model, again, lambda w: running(w, Due.CLIENT_TIMER, "heartbeat"))
    (session, *_) = running(world, Due.ROLE_TIMER, "the session")
    assert session.by == 45_000
    (heart, *_) = running(world, Due.CLIENT_TIMER, "heartbeat")
    assert at(heart) == (3_000, 3_000)


def test_a_group_keeps_its_target_for_the_assignment_interval() -> None:
    model = model_of("kip-1263-interval", "run_out=1", "pause_max_ms=0", "delay_max_ms=0")
    world = go(model, model.initial(), lambda w: running(w, Due.ROLE_DELAY))
    (interval,) = running(world, Due.ROLE_DELAY)
    assert at(interval) == (1_000, 1_000)
    over = DelayOver(*interval.place)  # type: ignore[arg-type]
    world = go(model, world, lambda w: over in model.enabled(w))
    assert not running(model.step(world, over).world, Due.ROLE_DELAY)


def test_a_silent_member_is_taken_out_when_its_session_is_over_and_not_before() -> None:
    model = model_of(JOINING, "run_out=1,crash_client=1")
    world = go(model, model.initial(), lambda w: running(w, Due.ROLE_TIMER, "the session of C1"))
    crash = next(
        a for a in model.enabled(world) if type(a).__name__ == "CrashClient" and "1" in str(a)
    )
    world = model.step(world, crash).world
    (session,) = running(world, Due.ROLE_TIMER, "the session of C1")
    end = RunOut(*session.place)  # type: ignore[arg-type]
    assert "it is due in 45 s" in str(model.why_not(world, end))
    world = go(model, world, lambda w: end in model.enabled(w), takes=lambda a: isinstance(a, Tick))
    assert Tick() not in model.enabled(world)
    world = model.step(world, end).world
    assert not running(world, Due.ROLE_TIMER, "the session of C1")


def test_what_a_consumer_fetches_meanwhile_does_not_put_its_heartbeat_off() -> None:
    model = model_of(JOINING, "", "pause_max_ms=0", "delay_max_ms=0")

    def fetching(world: World) -> bool:
        app = world.applications["app-1"]
        return any(isinstance(getattr(c, "on_wire", None), Fetch) for c in app.clients)

    world = go(model, model.initial(), fetching)
    kept = running(world, Due.CLIENT_TIMER, "heartbeat")
    assert kept, "its time passes while a fetch is under way"
    timer = ClientTimer(*kept[0].place)  # type: ignore[arg-type]
    assert "has not set" in str(model.why_not(world, timer))


def test_an_answer_that_refuses_a_heartbeat_begins_no_session() -> None:
    model = model_of(JOINING, "")
    world = go(model, model.initial(), lambda w: running(w, Due.ROLE_TIMER, "the session of C1"))
    world = go(model, world, lambda w: running(w, Due.ROLE_TIMER)[0].after < 45_000)
    (session,) = running(world, Due.ROLE_TIMER, "the session of C1")
    stranger = ConsumerGroupHeartbeat("g1", "C1", 99)
    key = session.place[:3]
    source = next(iter(world.applications.values())).clients[1].source
    chosen = design("kafka")
    turn = Turn(world, model.spec, chosen.broker_rules(), chosen.client_rules())
    turn.put_request(source, key[0], Envelope(stranger.but(group_id=_group(world))))
    turn.deliver_request(source, key[0])
    after = turn.world()
    assert running(after, Due.ROLE_TIMER, "the session of C1") == [session]


def _group(world: World) -> str:
    timer = running(world, Due.ROLE_TIMER, "the session of C1")[0].place[3]
    assert isinstance(timer, MemberSession)
    return timer.group_id


# -- transactions -----------------------------------------------------------------------------------


def test_three_silent_intervals_after_the_last_heartbeat_are_too_many() -> None:
    model = model_of(BEATING, "run_out=1,crash_client=1", "pause_max_ms=0", "delay_max_ms=0")
    world = go(model, model.initial(), lambda w: running(w, Due.ROLE_TIMER, "the liveness"))
    (liveness,) = running(world, Due.ROLE_TIMER, "the liveness")
    assert at(liveness) == (15_000, 15_000)
    (interval,) = running(world, Due.CLIENT_TIMER, "the heartbeat interval")
    assert at(interval) == (5_000, 5_000)


def test_a_heartbeat_that_is_taken_begins_the_silence_anew() -> None:
    model = model_of(BEATING, "run_out=1", "delay_max_ms=0")

    def silence(world: World) -> tuple[int, int]:
        return at(running(world, Due.ROLE_TIMER, "the liveness")[0])

    world = go(model, model.initial(), lambda w: running(w, Due.ROLE_TIMER, "the liveness"))
    busy = {"takes": lambda a: a.KIND != "application"}  # the application thread is at work
    still = go(model, world, lambda w: silence(w) == (10_000, 10_000), **busy)
    heard = go(model, still, lambda w: silence(w) == (15_000, 15_000), **busy, most=5)
    assert len(running(heard, Due.ROLE_TIMER, "the liveness")) == 1


def test_a_transactional_id_is_forgotten_a_week_after_its_last_use_by_the_next_scan() -> None:
    spec = small_spec("share", budget=budget_of("run_out=1,move_leader=1"))
    settings = spec.settings.but(transactional_ids_expire=True)
    chosen = design("repaired")
    spec, _ = apply_changes(spec.but(settings=settings), chosen, ("clock=timed", "tick=next"))
    model = chosen.model(spec)
    world = go(model, model.initial(), lambda w: running(w, Due.TRANSACTIONAL_ID))
    (week,) = running(world, Due.TRANSACTIONAL_ID)
    assert at(week) == (604_800_000, 608_400_000)
    # By then nothing else is under way: only time passes.
    still = go(
        model,
        world,
        lambda w: not running(w, Due.TRANSACTIONAL_ID)[0].after,
        takes=lambda a: isinstance(a, Tick),
    )
    (action,) = (a for a in model.enabled(still) if isinstance(a, RunOut))
    assert action.timer == TransactionalIdExpiry("txn-1")
    assert due_actions.action_of(still, running(still, Due.TRANSACTIONAL_ID)[0]) == action
    assert Tick() in model.enabled(still), "the scan may come up to an hour later"
    home = still.image.home_of("__transaction_state", "txn-1")
    move = next(a for a in model.enabled(still) if getattr(a, "partition", "") == home)
    moved = model.step(still, move).world
    assert running(moved, Due.TRANSACTIONAL_ID) == running(still, Due.TRANSACTIONAL_ID), (
        "the log has the time"
    )
    gone = model.step(still, action).world
    assert not running(gone, Due.TRANSACTIONAL_ID)


# -- requests and batches ---------------------------------------------------------------------------


def test_a_request_is_given_up_after_its_time_and_a_batch_after_a_longer_one() -> None:
    spec = small_spec("share", budget=budget_of("request_timeout=1,delivery_timeout=1"))
    chosen = design("repaired")
    settings = ("clock=timed", "tick=next", "pause_max_ms=0", "transaction_scan_ms=600000")
    spec, _ = apply_changes(spec, chosen, (*settings, "record_lock_duration_ms=600000"))
    model = chosen.model(spec)
    world = go(model, model.initial(), lambda w: running(w, Due.REQUEST))
    (asked,) = running(world, Due.REQUEST)
    assert at(asked) == (30_000, 30_000)
    give_up = GiveUp(*asked.place)  # type: ignore[arg-type]
    assert "it is due in 30 s" in str(model.why_not(world, give_up))
    later = model.step(world, Tick()).world
    assert give_up in model.enabled(later)
    assert Tick() not in model.enabled(later)
    world = go(model, world, lambda w: running(w, Due.BATCH))
    (batch,) = running(world, Due.BATCH)
    assert at(batch) == (120_000, 120_000)
    assert "it is due in" in str(model.why_not(world, ExpireBatch(str(batch.place[0]))))
    for deadline in world.deadlines:
        assert due_actions.deadline_of(world, due_actions.action_of(world, deadline)) == deadline


def test_without_a_bound_for_pauses_a_client_may_be_late_and_a_broker_may_not() -> None:
    model = model_of(JOINING, "run_out=1")
    world = go(model, model.initial(), lambda w: running(w, Due.CLIENT_TIMER))
    assert at(running(world, Due.CLIENT_TIMER)[0]) == (5_000, -1)
    assert all(d.by == d.after for d in running(world, Due.ROLE_TIMER))


# -- runs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("story", [JOINING, SHARING, BEATING, LOOKING_UP])
def test_what_a_timed_run_does_an_untimed_one_may_do_as_well(story: str) -> None:
    faults = "run_out=2,crash_client=1,request_timeout=1,delivery_timeout=1,time_out=1"
    timed = model_of(story, faults)
    known = searched_scenario(story)
    free = known.model(design(known.designs[0]), budget_of(faults))
    ticks = 0
    for seed in range(3):
        world, dice = timed.initial(), Scheduler(seed, HOSTILE)
        for step in range(160):
            action = dice.choose(step, timed.enabled(world), timed.kind)
            if action is None:
                break
            assert timed.why_not(world, action) is None
            after = timed.step(world, action).world
            places = [(d.kind, d.place) for d in after.deadlines]
            assert places == sorted(set(places))
            if isinstance(action, Tick):
                ticks += 1
            else:
                apart = free.step(world.but(deadlines=()), action).world
                assert apart == after.but(deadlines=())
            world = after
    assert ticks


# -- what operators ask -----------------------------------------------------------------------------

LONG = "kip-994-who-takes-long"


def test_how_long_ago_a_transaction_began_is_counted_where_an_operator_asks() -> None:
    model = model_of(LONG, "move_leader=1,time_out=1")
    assert timers.asked_ages(model.spec) == (30_000, 3_600_000)
    assert timers.asked_ages(model_of(JOINING, "").spec) == ()
    world = go(model, model.initial(), timers.ages, takes=lambda a: not isinstance(a, Tick))
    assert timers.ages(world) == (("my-txn", 0),)
    world = model.step(world, Tick()).world
    assert timers.ages(world) == (("my-txn", 30_000),)
    home = world.image.home_of("__transaction_state", "my-txn")
    move = next(a for a in model.enabled(world) if getattr(a, "partition", "") == home)
    world = model.step(world, move).world
    assert timers.ages(world) == (("my-txn", 30_000),), "the log has the time at which it began"


@pytest.mark.parametrize(
    ("settings", "target", "sentence"),
    [
        (("clock=untimed",), "duration=30000", "needs a timed clock"),
        ((), "duration=3600001", "it is counted up to 3600000"),
        (
            (),
            "duration=long",
            "'duration=long' is not a filter: write state=Ongoing, producer=9, id=",
        ),
    ],
)
def test_a_duration_that_nobody_counts_is_refused(
    settings: tuple[str, ...], target: str, sentence: str
) -> None:
    spec = searched_scenario(LONG).spec
    asks = spec.applications[-1]
    program = (asks.program[0].but(target=target), *asks.program[1:])
    spec = spec.but(applications=(*spec.applications[:-1], asks.but(program=program)))
    if settings:
        spec = spec.but(clock=spec.clock.but(kind="untimed", stamps=False))
    with pytest.raises(BadSpec, match=sentence):
        check(spec)


# -- locks -------------------------------------------------------------------------------------------


def test_a_lock_that_is_renewed_has_its_whole_time_again() -> None:
    model = model_of("kip-932-renew", "expire_lock=1", "tick=exact")
    world = go(model, model.initial(), lambda w: running(w, Due.LOCK))
    world = model.step(world, Tick()).world
    assert [at(d) for d in running(world, Due.LOCK)] == [(20_000, 20_000)]

    def whole(world: World) -> bool:
        return (30_000, 30_000) in [at(d) for d in running(world, Due.LOCK)]

    # Both records are held, so a lock with its whole time can only be a renewed one.
    world = go(model, world, whole, takes=lambda a: not isinstance(a, Tick))
    assert [at(d) for d in running(world, Due.LOCK)] == [(30_000, 30_000)]


def test_locks_of_two_partitions_begin_each_by_itself() -> None:
    model = model_of("kip-932-several-partitions", "expire_lock=1", "tick=exact")
    seen: set[str] = set()

    def two(world: World) -> bool:
        seen.update(str(d.place[1]) for d in running(world, Due.LOCK))
        return len(seen) > 1

    go(model, model.initial(), two)


# -- what has no duration, and what has not begun --------------------------------------------------


def test_an_empty_group_that_has_no_offsets_goes_with_the_next_check() -> None:
    model = model_of("kip-211-forgotten", "run_out=1", "offsets.retention.minutes=2")

    def forgets(world: World) -> list[ClusterAction]:
        return [
            a
            for a in model.enabled(world)
            if isinstance(getattr(a, "timer", None), GroupRetention | OffsetRetention)
        ]

    world = go(model, model.initial(), forgets)
    assert [at(d)[0] for d in running(world, Due.GROUP_OFFSETS)] == [0]


def test_an_append_waits_for_replicas_as_long_as_its_transaction_may_take() -> None:
    model = model_of("kip-98-too-few-replicas", "run_out=1", "replication=stepwise")
    world = go(model, model.initial(), lambda w: running(w, Due.ROLE_TIMER, "the append at"))
    (append, *_) = running(world, Due.ROLE_TIMER, "the append at")
    assert append.by == 60_000


def test_a_producer_with_an_open_transaction_is_not_forgotten() -> None:
    model = model_of("kip-1289-small", "run_out=1", "producer_ids_expire=true")
    world = go(model, model.initial(), lambda w: w.logs["output-A-0"].open)
    assert not running(world, Due.PRODUCER_ID)
    world = go(model, world, lambda w: not w.logs["output-A-0"].open)
    assert running(world, Due.PRODUCER_ID, "output-A-0")


def test_of_two_names_at_one_coordinator_only_the_one_that_moves_begins_anew() -> None:
    both = small_spec("group", applications=2)
    first, second = both.applications
    names = (first, second.but(transactional_id="txn-54"))  # its partition is that of txn-1
    settings = both.settings.but(transactional_ids_expire=True)
    spec = both.but(applications=names, settings=settings, clock=both.clock.but(kind="timed"))
    chosen = design("kafka")
    model = chosen.model(spec)
    assert model.initial().image.home_of_transactions("txn-54") == "__transaction_state-10"
    world = go(model, model.initial(), lambda w: len(running(w, Due.TRANSACTIONAL_ID)) == 2)
    kept = dict.fromkeys(d.place for d in running(world, Due.TRANSACTIONAL_ID))
    assert list(kept) == [("txn-1",), ("txn-54",)]


def test_a_fetch_without_room_for_its_session_waits_for_fetch_max_wait_ms() -> None:
    model = model_of("kip-932-no-room", "")
    trace = Trace.start(model, ())
    for instruction in ("app-1 goes on", "quiet", "app-1 goes on", "app-2 goes on", "quiet"):
        trace = follow(trace, model, instruction, "")
    (waits,) = running(trace.world, Due.ROLE_DELAY)
    assert (waits.place[-1], waits.after, waits.by) == (RefusedFetchWait("M2"), 500, 500)
