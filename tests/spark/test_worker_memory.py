"""What a worker of Spark sets aside after a task, so that Spark's collection does not look at it."""

import gc
import itertools
import weakref

import pyarrow as pa
import pytest

from kipviz.spark.campaign import in_a_loop, on_spark
from kipviz.spark.workers import worker_memory
from kipviz.spark.workers.worker_memory import LOOK_EVERY, set_aside, sparing


class Node:
    """An object that can be part of a circle and be watched."""

    def __init__(self):
        self.other = None


@pytest.fixture
def tasks(monkeypatch):
    """A worker that has done no task; afterwards nothing of this process is set aside."""
    monkeypatch.setattr(worker_memory, "_tasks_done", itertools.count())
    yield
    gc.unfreeze()


def circle():
    """Two objects that only a garbage collection can free."""
    one, two = Node(), Node()
    one.other, two.other = two, one
    return one


@pytest.mark.usefixtures("tasks")
def test_what_a_task_remembers_is_exempt_from_the_collection_that_follows():
    kept = circle()
    set_aside()
    # A collection looks at what this list has.
    assert not any(each is kept for each in gc.get_objects())


@pytest.mark.usefixtures("tasks")
def test_what_a_task_leaves_behind_is_not_kept():
    left = weakref.ref(circle())
    set_aside()
    assert left() is None


@pytest.mark.usefixtures("tasks")
def test_what_was_set_aside_and_is_not_wanted_any_more_is_freed_by_the_sixteenth_task():
    kept = circle()
    seen = weakref.ref(kept)
    set_aside()
    del kept
    for _ in range(LOOK_EVERY - 2):
        set_aside()
        gc.collect()  # what Spark does after each task
    assert seen() is not None
    set_aside()
    gc.collect()
    assert seen() is None


@pytest.mark.usefixtures("tasks")
def test_a_task_is_done_before_anything_is_set_aside(monkeypatch):
    done = []
    monkeypatch.setattr(worker_memory, "set_aside", lambda: done.append("set aside"))

    def work(batches, add):
        for batch in batches:
            yield batch
            done.append(f"{batch.num_rows + add} rows")

    batch = pa.record_batch([pa.array([1, 2])], names=["id"])
    assert list(sparing(work, [batch], add=3)) == [batch]
    assert done == ["5 rows", "set aside"]


@pytest.mark.spark
def test_a_worker_of_a_campaign_has_set_its_objects_aside(spark, plan):
    def count_frozen(batches):
        for batch in batches:
            held = pa.array([gc.get_freeze_count()] * batch.num_rows, pa.int64())
            yield pa.record_batch([held], names=["held"])

    # Spark gives a task to the worker that has been idle the longest, and others may be there: each of them is asked.
    slots = spark.sparkContext.defaultParallelism

    def most_frozen():
        tasks = spark.range(0, 2 * slots, 1, 2 * slots)
        return max(tasks.mapInArrow(count_frozen, "held bigint").toArrow()["held"].to_pylist())

    # One task by one: of sixteen in a row fifteen leave something aside.
    found = []
    for _ in range(LOOK_EVERY):
        assert on_spark(spark, plan, 1).equals(in_a_loop(plan))
        found.append(most_frozen())
    assert sum(each > 10_000 for each in found) >= LOOK_EVERY - 2
