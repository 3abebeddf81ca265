"""Study 'producers': what one thread has and says, counted from its run."""

from __future__ import annotations

from kipviz.scenarios.applications import programs
from kipviz.studies.counting.producers import (
    BROKERS,
    ONE_FOR_ALL,
    PARTITIONS,
    count_thread,
    scaling,
)


def test_a_producer_per_task_grows_with_the_partitions_and_one_per_thread_does_not() -> None:
    heads, rows = scaling()
    assert len(heads) == len(rows[0])
    by = {(int(row[0]), row[1]): list(map(int, row[2:])) for row in rows}
    for count in PARTITIONS:
        task, thread = by[count, "a producer per task"], by[count, "a producer per thread"]
        assert (task[0], task[1], task[3], task[4]) == (count, count, count, count)
        assert (thread[0], thread[1], thread[3], thread[4]) == (1, 1, 1, 1)
        assert task[5] == 2 * count  # output and offsets, for every transaction
        assert thread[5] == 2
    most = PARTITIONS[-1]
    assert by[most, "a producer per thread"][6] < by[most, "a producer per task"][6]


def test_several_transactional_ids_in_one_producer_save_objects_and_connections_and_no_request() -> (
    None
):
    _, rows = scaling()
    by = {(int(row[0]), row[1]): list(map(int, row[2:])) for row in rows}
    for count in PARTITIONS:
        one, task = by[count, ONE_FOR_ALL], by[count, "a producer per task"]
        assert (one[0], one[1]) == (1, count)
        assert one[3:] == task[3:]  # InitProducerId, transactions, markers and requests
        assert int(by[count, "a producer per thread"][0]) == 1
        assert task[0] == count
    most = PARTITIONS[-1]
    one, thread = by[most, ONE_FOR_ALL], by[most, "a producer per thread"]
    # A connection to each broker that any of its ids needs: no more than all brokers.
    assert thread[2] <= one[2] <= len(BROKERS) < by[most, "a producer per task"][2]


def test_a_pool_saves_objects_and_no_transactions() -> None:
    names = ("", "task-1", "", "task-1")
    pooled = count_thread(4, ("task-1",), programs.per_task(names))
    assert (pooled[0], pooled[4]) == ("2", "4")
