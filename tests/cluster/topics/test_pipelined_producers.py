"""Transactional producers with several batches in flight: order and exactly-once hold in random runs."""

from __future__ import annotations

import pytest

from kipviz.clients.application import Call, Line
from kipviz.clients.timers import BatchBackOff
from kipviz.cluster.actions import ClientTimer, CrashBroker, Send, Step, Tick
from kipviz.cluster.specs.spec import BadSpec, ClusterSpec, Placement, PlainSpec, SessionSpec
from kipviz.cluster.timing.clock import Clock, Due
from kipviz.messages.logs.producing import Produce, ProduceResponse
from kipviz.properties.atomic import Atomic
from kipviz.records.batches import DataRecord
from kipviz.scenarios.applications.programs import COPY_TWICE, MANY_IN_A_TRANSACTION
from kipviz.scenarios.script import next_by_itself
from tests.cluster.invariants import wrong_between, wrong_in
from tests.cluster.small_clusters import EVERYTHING, NO_FAULTS, model_of, small_spec, steps_of

LATE = EVERYTHING.but(request_timeout=2, delivery_timeout=2, crash_broker=3, max_block=1)


def spec_of(version: int = 2, room: int = 0, **changes: object) -> ClusterSpec:
    spec = small_spec(
        "group", budget=LATE, program=MANY_IN_A_TRANSACTION, max_records=1, records=6
    ).but(transaction_version=version, **changes)
    (app,) = spec.applications
    return spec.but(applications=(app.but(max_in_flight=5, buffer=room),))


def list_written(world) -> list[list[int]]:
    """The source offsets of what each transaction has written to the output, in the log's order."""
    found: list[list[int]] = []
    open_: dict[int, list[int]] = {}
    for batch in world.logs["output-A-0"].batches:
        if batch.control:
            open_.pop(batch.producer_id, None)
        for record in batch.records:
            if isinstance(record, DataRecord):
                if batch.producer_id not in open_:
                    open_[batch.producer_id] = []
                    found.append(open_[batch.producer_id])
                open_[batch.producer_id].append(int(record.origin.rpartition("@")[2]))
    return found


@pytest.mark.parametrize("replication", ["instant", "stepwise"])
@pytest.mark.parametrize(("version", "room"), [(1, 0), (2, 0), (2, 2)])
def test_whatever_goes_wrong_each_record_is_committed_once_and_in_order(version, room, replication):
    most, several = 0, 0
    spec = spec_of(version, room, replication=replication, min_insync_replicas=(("output-A", 2),))
    model = model_of(spec, "kafka")
    for seed in range(25):
        once = Atomic()
        ledger = once.initial(model.initial())
        for before, action, outcome in steps_of(model, seed, 250):
            ledger = once.observe(ledger, action, outcome)
            wrong = wrong_in(outcome.world) + wrong_between(before, outcome.world)
            assert not wrong, (seed, action, wrong)
            assert not ledger.broken, (seed, action, ledger.broken)
            batches = outcome.world.applications["app-1"].producer.accumulator.batches
            most = max(most, sum(b.broker >= 0 for b in batches))
        for offsets in list_written(outcome.world):
            assert offsets == sorted(set(offsets)), (seed, offsets)
            several += len(offsets) > 1
    assert most > 1
    assert several


@pytest.mark.parametrize(
    ("most", "says"),
    [(0, "at least one batch in flight, not 0"), (6, "because a leader knows the last 5, not 6")],
)
def test_more_in_flight_than_a_leader_remembers_is_refused(most, says):
    spec = spec_of()
    (app,) = spec.applications
    with pytest.raises(BadSpec, match=says):
        model_of(spec.but(applications=(app.but(max_in_flight=most),)))


@pytest.mark.parametrize(("most", "room"), [(1, 2), (5, -1)])
def test_a_buffer_is_a_number_of_batches_of_such_a_producer(most, room):
    spec = spec_of(room=room)
    (app,) = spec.applications
    with pytest.raises(BadSpec, match="buffer of app-1 is 0 or more batches"):
        model_of(spec.but(applications=(app.but(max_in_flight=most),)))


@pytest.mark.parametrize(
    "changes", [{"plain": PlainSpec(), "transactional_id": ""}, {"session": SessionSpec()}]
)
def test_several_in_flight_are_for_producers_with_transactions_of_their_own(changes):
    spec = spec_of()
    (app,) = spec.applications
    with pytest.raises(
        BadSpec, match="max_in_flight of app-1 is for a producer with a transaction"
    ):
        model_of(spec.but(applications=(app.but(max_in_flight=5, **changes),)))


def test_on_a_timed_clock_a_refused_batch_goes_out_again_after_a_growing_while():
    spec = spec_of(min_insync_replicas=(("output-A", 2),)).but(
        clock=Clock("timed", tick="next"), budget=NO_FAULTS.but(crash_broker=1)
    )
    rests = ClientTimer("app-1/producer", BatchBackOff(1))
    model = model_of(spec, "kafka")
    # It has the other replica of the output.
    world = model.step(model.initial(), CrashBroker(5)).world
    waits = []
    while len(waits) < 3:
        if model.why_not(world, rests) is None:
            world = model.step(world, rests).world
        elif "is due in" in str(model.why_not(world, rests)):
            waits.append(model.why_not(world, rests))
            while model.why_not(world, rests) is not None:
                world = model.step(world, Tick()).world
        else:
            action = next_by_itself(model, world)
            world = model.step(world, action or Step("app-1")).world
    assert waits == [f"it is due in {n} ms: time has to pass first" for n in (100, 200, 400)]


@pytest.mark.parametrize("pause", [-1, 0])
def test_a_request_to_a_broker_without_room_waits_and_time_passes(pause):
    """The coordinator of the group leads the output, too: all goes over one connection."""
    offsets = Line("producer.sendOffsetsToTransaction(...);", Call.SEND_OFFSETS)
    program = (*COPY_TWICE[:5], offsets, *COPY_TWICE[5:])
    spec = spec_of().but(clock=Clock("timed", tick="next", pause_max_ms=pause), budget=NO_FAULTS)
    (app,) = spec.applications
    spec = spec.but(
        brokers=(3,),
        placements=(Placement("src-0", 3), Placement("output-A-0", 3)),
        applications=(app.but(max_in_flight=2, program=program),),
    )
    model = model_of(spec, "kafka")
    world, send = model.initial(), Send("app-1/producer")
    while "allows" not in str(model.why_not(world, send)):
        able = [a for a in model.enabled(world) if a.KIND not in ("tick", "expiry", "fault")]
        able = [a for a in able if not _answers_a_batch(world, a)]
        able.sort(key=lambda a: not isinstance(a, Send))
        world = model.step(world, able[0]).world
    assert model.why_not(world, send) == (
        "as many requests of app-1/producer are in flight to broker 3 as max.in.flight.requests.per.connection allows"
    )
    assert send not in model.enabled(world)
    assert not any(d.kind == Due.SENDING for d in world.deadlines)


def _answers_a_batch(world, action):
    """Whether an action would bring a batch or its answer to the other side."""
    return action.KIND == "deliver" and any(
        isinstance(e.message, Produce | ProduceResponse)
        for e in (
            *world.connections[(action.source, action.broker)].requests,
            *world.connections[(action.source, action.broker)].responses,
        )
    )
