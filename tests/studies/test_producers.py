"""Study 'producers': what one thread has and says, counted from its run."""

from __future__ import annotations

from kipviz.scenarios import programs
from kipviz.studies.producers import PARTITIONS, counted, scaling


def test_a_producer_per_task_grows_with_the_partitions_and_one_per_thread_does_not() -> None:
    heads, rows = scaling()
    assert len(heads) == len(rows[0])
    by = {(int(row[0]), row[1]): list(map(int, row[2:])) for row in rows}
    for count in PARTITIONS:
        task, thread = by[count, "a producer per task"], by[count, "a producer per thread"]
        assert (task[0], task[2], task[3]) == (count, count, count)
        assert (thread[0], thread[2], thread[3]) == (1, 1, 1)
        assert task[4] == 2 * count  # output and offsets, for every transaction
        assert thread[4] == 2
    most = PARTITIONS[-1]
    assert by[most, "a producer per thread"][5] < by[most, "a producer per task"][5]


def test_a_pool_saves_objects_and_no_transactions() -> None:
    names = ("", "task-1", "", "task-1")
    pooled = counted(4, ("task-1",), programs.per_task(names))
    assert (pooled[0], pooled[3]) == ("2", "4")
