"""Producers without a transactional id in a cluster: what is in a log is once there, and in order."""

from __future__ import annotations

import pytest

from kipviz.cluster.specs.spec import BadSpec, ClusterSpec, FaultBudget, PlainSpec
from kipviz.records.batches import DataRecord
from kipviz.scenarios.applications.programs import SEND_THREE
from tests.cluster.invariants import wrong_between, wrong_in
from tests.cluster.small_clusters import EVERYTHING, model_of, small_spec, steps_of

LATE = EVERYTHING.but(request_timeout=2, delivery_timeout=1, crash_broker=3)


def spec_of(plain: PlainSpec, budget: FaultBudget = LATE, **changes: object) -> ClusterSpec:
    spec = small_spec("group", budget=budget, program=SEND_THREE, max_records=1).but(**changes)
    (app,) = spec.applications
    return spec.but(applications=(app.but(transactional_id="", plain=plain),))


def offsets(world) -> list[int]:
    """The source offsets of what is in the output, in its order."""
    records = (r for batch in world.logs["output-A-0"].batches for r in batch.records)
    return [int(r.origin.rpartition("@")[2]) for r in records if isinstance(r, DataRecord)]


@pytest.mark.parametrize("replication", ["instant", "stepwise"])
@pytest.mark.parametrize("most", [1, 5])
def test_one_process_of_an_idempotent_producer_writes_each_record_once_and_in_order(
    most, replication
):
    needs_two = (("output-A", 2),)
    for seed in range(12):
        spec = spec_of(
            PlainSpec(max_in_flight=most),
            LATE.but(crash_client=0),
            replication=replication,
            min_insync_replicas=needs_two,
        )
        for before, action, outcome in steps_of(model_of(spec, "kafka"), seed, 150):
            wrong = wrong_in(outcome.world) + wrong_between(before, outcome.world)
            assert not wrong, (seed, action, wrong)
        written = offsets(outcome.world)
        assert written == sorted(set(written)), (seed, written)


def test_without_idempotence_the_same_faults_write_records_twice_or_out_of_order():
    found = []
    for seed in range(12):
        spec = spec_of(PlainSpec(idempotence=False), LATE.but(crash_client=0))
        *_, (_, _, last) = steps_of(model_of(spec, "kafka"), seed, 150)
        found.append(offsets(last.world))
    assert any(written != sorted(set(written)) for written in found)


def test_a_sixth_batch_in_flight_is_refused_with_idempotence_and_taken_without():
    with pytest.raises(BadSpec, match="at most 5 batches of a partition in flight"):
        model_of(spec_of(PlainSpec(max_in_flight=6)))
    assert model_of(spec_of(PlainSpec(idempotence=False, max_in_flight=6)))


@pytest.mark.parametrize("plain", [None, PlainSpec()])
def test_a_producer_has_a_transactional_id_or_is_a_plain_one(plain):
    spec = small_spec("group")
    (app,) = spec.applications
    half = app.but(plain=plain, transactional_id="" if plain is None else "t")
    with pytest.raises(BadSpec, match="has a plain producer if its transactional id is empty"):
        model_of(spec.but(applications=(half,)))
