"""Times in records: what they say, that nobody pays for them who did not ask, that a search ends."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kipviz.brokers.settings import GroupConfig
from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.search.explore import explore
from kipviz.clients.application import Call, Line
from kipviz.cluster.actions import ClusterAction, Tick
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.spec import OLDEST_MS, BadSpec
from kipviz.cluster.timing.record_timestamps import horizon_of, set_back
from kipviz.cluster.timing.timers import ages
from kipviz.cluster.world import World
from kipviz.core.scheduler import Scheduler
from kipviz.core.values import fingerprint
from kipviz.designs.catalogue import design
from kipviz.records.batches import NO_TIMESTAMP
from kipviz.records.transaction_state import TransactionRecord, TransactionState
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.setting_changes import BadChange, apply_changes
from tests.checking.counts import TIMED as COUNTS
from tests.cluster.small_clusters import HOSTILE

S = TransactionState
TIMED = ("clock=timed", "tick=next")
STAMPED = (*TIMED, "stamps=true")
LONG = "kip-994-who-takes-long"
FIND = (Line("kafka-transactions.sh find-hanging", Call.FIND_HANGING, target="output-A-0"),)


def model_of(story: str, faults: str, *settings: str, name: str = "") -> ClusterModel:
    known = searched_scenario(story)
    chosen = design(name or known.designs[0])
    spec, under = apply_changes(known.spec, chosen, settings)
    return known.but(spec=spec).model(under, budget_of(faults))


def walk(model: ClusterModel, seed: int, most: int = 250) -> list[tuple[ClusterAction, World]]:
    """A run by dice, with the world after each action."""
    dice, world = Scheduler(seed, HOSTILE), model.initial()
    found: list[tuple[ClusterAction, World]] = []
    for step in range(most):
        action = dice.choose(step, model.enabled(world), model.kind)
        if action is None:
            break
        world = model.step(world, action).world
        found.append((action, world))
    return found


def transactions(world: World) -> list[TransactionRecord]:
    return [
        record
        for name, log in world.logs.items()
        if name.startswith("__transaction_state")
        for batch in log.batches
        for record in batch.records
        if isinstance(record, TransactionRecord)
    ]


def timeless(world: World) -> World:
    """The same world as it would be if records carried no time."""
    return set_back(world.but(now_ms=world.now_ms + 10**9), 0).but(now_ms=NO_TIMESTAMP)


def test_without_being_asked_for_no_record_carries_a_time():
    for settings in ((), TIMED):
        _, world = walk(model_of("kip-1289-small", "", *settings, name="repaired"), 1)[-1]
        assert world.now_ms == NO_TIMESTAMP
        batches = [b for log in world.logs.values() for b in log.batches]
        assert batches
        assert {b.max_timestamp_ms for b in batches} == {NO_TIMESTAMP}
        assert {r.start_timestamp_ms for r in transactions(world)} == {NO_TIMESTAMP}
        assert set_back(world, 0) is world


def test_time_in_records_is_the_time_that_has_passed():
    model = model_of("kip-1289-small", "time_out=1", *STAMPED, name="repaired")
    passed = 0
    before = model.initial()
    assert before.now_ms == 0
    for action, world in walk(model, 4):
        if isinstance(action, Tick):
            assert world.now_ms > passed
            passed = world.now_ms
        assert world.now_ms == passed
        for name, log in world.logs.items():
            for batch in list(log.batches)[len(before.logs[name].batches) :]:
                assert batch.max_timestamp_ms == passed
        before = world
    assert passed > 0


@pytest.mark.parametrize("seed", range(6))
def test_a_transaction_keeps_its_start_until_the_next_one_begins(seed):
    model = model_of("kip-1289-small", "time_out=1", *STAMPED, name="repaired")
    last: dict[str, TransactionRecord] = {}
    for record in transactions(walk(model, seed)[-1][1]):
        before = last.get(record.transactional_id)
        if record.state is S.EMPTY:
            assert record.start_timestamp_ms == NO_TIMESTAMP
        elif before is not None and before.state in (S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT):
            assert record.start_timestamp_ms == before.start_timestamp_ms
        else:
            assert record.start_timestamp_ms == record.last_update_timestamp_ms
        if before is not None:
            assert record.last_update_timestamp_ms >= before.last_update_timestamp_ms
        last[record.transactional_id] = record
    assert last


def test_a_completion_has_the_time_of_its_decision():
    """Kafka prepares the record of COMPLETE_* before the markers are sent."""
    model = model_of("kip-1289-small", "time_out=1", *STAMPED, "delay_max_ms=5000", name="repaired")
    for seed in range(8):
        found = transactions(walk(model, seed)[-1][1])
        for one, other in pairwise(found):
            if one.state in (S.PREPARE_COMMIT, S.PREPARE_ABORT):
                assert other.last_update_timestamp_ms == one.last_update_timestamp_ms


def test_a_new_coordinator_reads_the_times_from_its_log():
    model = model_of("kip-1289-small", "move_leader=1,time_out=1", *STAMPED, name="repaired")
    seen = 0
    for seed in range(6):
        for action, world in walk(model, seed):
            if type(action).__name__ not in ("Load", "MoveLeader"):
                continue
            last = {r.transactional_id: r for r in transactions(world)}
            for role in world.roles.values():
                held = getattr(role, "transactions", None)
                for name, known in held.items() if held is not None and not role.loading else ():
                    if known.pending_state is None:
                        assert known.start_timestamp_ms == last[name].start_timestamp_ms
                        seen += 1
    assert seen


def test_the_start_in_the_record_is_as_old_as_what_is_counted():
    model = model_of(LONG, "move_leader=1,time_out=1", *STAMPED)
    seen = 0
    for seed in range(4):
        for _, world in walk(model, seed):
            began = {r.transactional_id: r.start_timestamp_ms for r in transactions(world)}
            for name, age in ages(world):
                if began[name] != NO_TIMESTAMP:
                    assert age == min(world.now_ms - began[name], OLDEST_MS)
                    seen += age > 0
    assert seen


# -- searches -------------------------------------------------------------------------------------


def size(model: ClusterModel) -> tuple[int, int, int]:
    found = explore(model)
    assert found.complete
    return (found.states, found.transitions, found.depth)


@pytest.mark.parametrize("faults", ["", pytest.param("time_out=1", marks=pytest.mark.thorough)])
def test_where_nobody_looks_back_a_search_visits_as_many_states_as_without_times(faults):
    def model(*settings: str) -> ClusterModel:
        return model_of("kip-1289-small", faults, *settings, name="repaired")

    assert size(model(*STAMPED)) == size(model(*TIMED))


@pytest.mark.thorough
def test_every_pinned_timed_count_is_the_same_with_times_in_the_records():
    for space in COUNTS:
        model = model_of(
            "kip-1289-small", space.faults, *space.settings, "stamps=true", name=space.design
        )
        assert size(model) == (space.states, space.transitions, space.depth)


def test_a_search_sets_the_clock_back_and_nothing_else():
    model = model_of(LONG, "time_out=1", *STAMPED)
    assert horizon_of(model.spec) == OLDEST_MS
    for _, world in walk(model, 2):
        shared = model.share_tables(world)
        assert shared.now_ms == OLDEST_MS
        assert model.search_key(shared) == model.search_key(world)
        assert timeless(shared) == timeless(world)
        for one, other in zip(transactions(world), transactions(shared), strict=True):
            if one.start_timestamp_ms != NO_TIMESTAMP:
                age = world.now_ms - one.start_timestamp_ms
                assert shared.now_ms - other.start_timestamp_ms == min(age, OLDEST_MS)


def test_two_situations_that_differ_in_the_time_of_day_are_one_state():
    model = model_of("kip-1289-small", "", *STAMPED, name="repaired")
    world = model.initial()
    later = world.but(now_ms=world.now_ms + 60_000)
    assert fingerprint(later) != fingerprint(world)
    assert model.search_key(later) == model.search_key(world)


def test_records_carry_their_time_with_a_timed_clock_only():
    known = searched_scenario("kip-1289-small").spec
    with pytest.raises(BadSpec, match="records carry their time with a timed clock only"):
        check(known.but(clock=known.clock.but(stamps=True)))
    with pytest.raises(BadChange, match="stamps must be true or false, not 'yes'"):
        apply_changes(known, design("repaired"), ("clock=timed", "stamps=yes"))


def test_who_asks_for_long_silence_needs_times_in_records():
    known = searched_scenario("kip-664-hanging").spec
    lines = [line.but(target=f"{line.target} max-transaction-timeout=1") for line in FIND]
    operator = next(a for a in known.applications if a.admin)
    others = tuple(a for a in known.applications if not a.admin)
    asking = known.but(applications=(*others, operator.but(program=tuple(lines))))
    with pytest.raises(BadSpec, match=r"takes times in records \(clock=timed, stamps=true\)"):
        check(asking)
    check(asking.but(clock=asking.clock.but(kind="timed", stamps=True)))


def test_a_search_tells_how_old_a_record_is_as_far_as_a_group_that_begins_by_duration_looks() -> (
    None
):
    story = searched_scenario("kip-932-slow-member")
    spec, _ = apply_changes(story.spec, design("kafka"), STAMPED)
    begins = GroupConfig("g1", auto_offset_reset="by_duration:PT10S")
    looks_back = spec.but(group_configs=(begins,))
    check(looks_back)
    assert (horizon_of(spec), horizon_of(looks_back)) == (0, 10_001)
    with pytest.raises(BadSpec, match="needs times in records"):
        check(story.spec.but(group_configs=(begins,)))
    wrong = begins.but(auto_offset_reset="by_duration:1h")
    with pytest.raises(BadSpec, match="a duration like PT10S, not 'by_duration:1h'"):
        check(looks_back.but(group_configs=(wrong,)))
