"""What a worker executes, with hand-made batches and without Spark."""

import pyarrow as pa

from kipviz.campaigns.plan import make_plan
from kipviz.spark.workers import worker_runs
from kipviz.spark.workers.worker_runs import (
    EVENT_SCHEMA,
    VERDICT_SCHEMA,
    event_batches,
    verdict_batches,
)
from tests.spark import stand_in_task
from tests.spark.conftest import STAND_IN


def places(*batches):
    return [pa.record_batch([pa.array(batch, pa.int64())], names=["id"]) for batch in batches]


def test_each_place_becomes_one_verdict_row_of_its_job(plan):
    rows = pa.Table.from_batches(verdict_batches(places([0, 1], [5]), plan)).to_pylist()
    assert [row["job"] for row in rows] == [plan.job_at(place) for place in (0, 1, 5)]
    for row in rows:
        verdict = stand_in_task.run(plan.task(row["job"]))
        assert row["fingerprint"] == verdict.fingerprint
        assert row["seed"] == verdict.task.seed


def test_no_places_give_no_batches(plan):
    assert list(verdict_batches(places([]), plan)) == []
    assert list(event_batches([], plan, None)) == []


def test_verdicts_come_in_small_batches_with_the_declared_schema(plan, monkeypatch):
    monkeypatch.setattr(worker_runs, "VERDICTS_PER_BATCH", 3)
    batches = list(verdict_batches(places(list(range(7))), plan))
    assert [batch.num_rows for batch in batches] == [3, 3, 1]
    assert all(batch.schema == VERDICT_SCHEMA for batch in batches)


def test_a_run_that_raises_becomes_an_error_row_with_its_reason_on_one_line():
    plan = make_plan("copy", "crashes", runs=5, task_module=STAND_IN)
    rows = pa.Table.from_batches(verdict_batches(places(list(range(5))), plan)).to_pylist()
    errors = [row for row in rows if row["status"] == "error"]
    assert [row["seed"] for row in errors] == [3]
    assert len(rows) == 5
    assert errors[0]["reason"].startswith("RuntimeError: the model has no answer for seed 3 (line ")
    assert errors[0]["reason"].endswith("of tests.spark.stand_in_task)")
    assert "\n" not in errors[0]["reason"]


def test_a_run_that_calls_exit_is_an_error_row_too(monkeypatch):
    def leaves(task):
        raise SystemExit(4)

    monkeypatch.setattr(stand_in_task, "run", leaves)
    plan = make_plan("copy", "right", runs=2, task_module=STAND_IN)
    rows = pa.Table.from_batches(verdict_batches(places([0, 1]), plan)).to_pylist()
    assert [row["status"] for row in rows] == ["error", "error"]


def test_events_are_the_rows_of_the_task_in_order(plan):
    batch = next(iter(event_batches(places([0]), plan, (2,))))
    assert batch.schema == EVENT_SCHEMA
    expected = list(stand_in_task.rows(plan.task(2)))
    assert [row["step"] for row in batch.to_pylist()] == [event.step for event in expected]
    assert [row["kind"] for row in batch.to_pylist()] == [event.kind for event in expected]


def test_events_of_a_crash_end_with_its_reason():
    plan = make_plan("copy", "crashes", seed=3, runs=1, task_module=STAND_IN)
    rows = pa.Table.from_batches(event_batches(places([0]), plan, None)).to_pylist()
    assert rows[-1]["kind"] == "run_failed"
    assert "no answer for seed 3" in rows[-1]["text"]
    assert rows[-1]["design"] == "crashes"


def test_events_of_one_long_run_come_in_several_batches(plan, monkeypatch):
    monkeypatch.setattr(worker_runs, "EVENTS_PER_BATCH", 10)
    batches = list(event_batches(places([0]), plan, None))
    assert len(batches) > 2
    assert {batch.num_rows for batch in batches[:-1]} == {10}
