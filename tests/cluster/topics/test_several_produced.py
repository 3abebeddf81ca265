"""Producers whose batches for one broker go out together: each partition has its own result."""

from __future__ import annotations

import pytest

from kipviz.clients.application import Call, Line
from kipviz.cluster.actions import Step
from kipviz.cluster.specs.spec import ClusterSpec, PlainSpec
from kipviz.messages.errors import Errors
from kipviz.messages.events import MessageSent
from kipviz.messages.logs.producing import Produce, ProduceResponse
from kipviz.records.batches import COMMIT
from kipviz.scenarios.applications.programs import COPY, MANY_IN_A_TRANSACTION
from kipviz.scenarios.script import next_by_itself
from tests.cluster.invariants import wrong_between, wrong_in
from tests.cluster.small_clusters import EVERYTHING, model_of, small_spec, steps_of
from tests.scenarios.story import nodes, play_once

OTHER = Line("producer.send(other);", Call.SEND, target="output-B-0")
BOTH = ("output-A-0", "output-B-0")
MANY = tuple(
    each.but(on_error=13 if each.on_error == 10 else each.on_error)
    for line in MANY_IN_A_TRANSACTION
    for each in ((line, line.but(target="output-B-0")) if line.call is Call.SEND else (line,))
)
LATE = EVERYTHING.but(request_timeout=2, delivery_timeout=2, crash_broker=3, max_block=1)


def spec_of(version: int, most: int, **changes: object) -> ClusterSpec:
    spec = small_spec("group", budget=LATE, program=MANY, max_records=1, records=6)
    (app,) = spec.applications
    held = next(each for each in spec.placements if each.partition == "output-A-0")
    return spec.but(
        applications=(app.but(max_in_flight=most),),
        placements=(*spec.placements, held.but(partition="output-B-0")),
        topic_ids=(*spec.topic_ids, ("output-B", "AAAAAAAAAAAAAAAAAAAAEA")),
        transaction_version=version,
        **changes,
    )


def answers(story: str) -> list[tuple[tuple[str, Errors], ...]]:
    sent = (
        e.message
        for node in nodes(play_once(story, "kafka")[0])
        for e in node.events
        if isinstance(e, MessageSent)
    )
    found = [m for m in sent if isinstance(m, ProduceResponse)]
    return [tuple((each.partition, each.error) for each in m.partition_responses) for m in found]


def requests(story: str) -> list[tuple[str, ...]]:
    sent = (
        e.message
        for node in nodes(play_once(story, "kafka")[0])
        for e in node.events
        if isinstance(e, MessageSent)
    )
    return [tuple(b.partition for b in m.partition_data) for m in sent if isinstance(m, Produce)]


def test_one_request_is_appended_in_one_partition_and_refused_in_the_other():
    name = "kip-98-two-partitions"
    assert requests(name) == [("output-A-0", "output-B-0"), ("output-B-0",)]
    assert answers(name) == [
        (("output-A-0", Errors.NONE), ("output-B-0", Errors.NOT_ENOUGH_REPLICAS)),
        (("output-B-0", Errors.NONE),),
    ]


def test_a_forbidden_topic_is_taken_out_of_a_request_and_stands_in_its_answer():
    name = "kip-98-two-partitions-forbidden"
    assert answers(name) == [
        (("output-A-0", Errors.NONE), ("output-B-0", Errors.TOPIC_AUTHORIZATION_FAILED))
    ]


@pytest.mark.parametrize("replication", ["instant", "stepwise"])
@pytest.mark.parametrize(("version", "most"), [(1, 1), (2, 1), (1, 5), (2, 5)])
def test_whatever_goes_wrong_each_record_is_committed_once_in_both_or_in_none(
    version, most, replication
):
    spec = spec_of(version, most, replication=replication, min_insync_replicas=(("output-B", 2),))
    model, together = model_of(spec, "kafka"), 0
    for seed in range(8):
        for before, action, outcome in steps_of(model, seed, 250):
            wrong = wrong_in(outcome.world) + wrong_between(before, outcome.world)
            assert not wrong, (seed, action, wrong)
            sent = (e.message for e in outcome.events if isinstance(e, MessageSent))
            together += any(isinstance(m, Produce) and len(m.partition_data) > 1 for m in sent)
        committed = {p: list_written(outcome.world, p, closed=True) for p in BOTH}
        for partition in BOTH:
            mine = committed[partition]
            assert mine == sorted(set(mine)), (seed, partition, mine)
            others = {o for p in BOTH if p != partition for o in list_written(outcome.world, p)}
            assert set(mine) <= others, (seed, committed)
    assert together


def list_written(world, partition: str, *, closed: bool = False) -> list[int]:
    """The source offsets of what is committed in a partition, or might be."""
    found: list[int] = []
    open_: dict[int, list[int]] = {}
    for batch in world.logs[partition].batches:
        if batch.control:
            ended = open_.pop(batch.producer_id, [])
            found += ended if batch.control == COMMIT else []
            continue
        origins = (record.origin.rpartition("@")[2] for record in batch.records)
        open_.setdefault(batch.producer_id, []).extend(map(int, origins))
    return found if closed else [*found, *(o for each in open_.values() for o in each)]


def test_a_producer_without_a_name_sends_several_partitions_in_one_request_that_counts_once():
    spec = spec_of(2, 1)
    (app,) = spec.applications
    lines = (COPY[1], COPY[3], OTHER, COPY[3], OTHER, Line("producer.flush();", Call.FLUSH))
    app = app.but(
        transactional_id="",
        max_in_flight=1,
        plain=PlainSpec(max_in_flight=1),
        program=tuple(line.but(on_error=-1) for line in lines),
    )
    model = model_of(spec.but(applications=(app,)), "kafka")
    world, out = model.initial(), []
    for _ in range(60):
        step = Step("app-1")
        action = step if model.why_not(world, step) is None else next_by_itself(model, world)
        if action is None:
            break
        outcome = model.step(world, action)
        world = outcome.world
        sent = (e.message for e in outcome.events if isinstance(e, MessageSent))
        out += [
            [(b.partition, b.base_sequence) for b in m.partition_data]
            for m in sent
            if isinstance(m, Produce)
        ]
    assert out == [[("output-A-0", n), ("output-B-0", n)] for n in (0, 1)]
    assert all(len(list_written(world, partition)) == 2 for partition in BOTH)
