"""What was put out, and what of it a new leader, a marker or a batch that is sent again leaves."""

from __future__ import annotations

from kipviz.brokers.logs.partition_log import PartitionLog, append
from kipviz.core.table import Table
from kipviz.messages.events import BatchAppended, LeaderMoved
from kipviz.properties.atomic import Atomic
from kipviz.properties.facts.outputs import end_late_batches, fold_batch, forget_truncated
from kipviz.records.batches import Batch, DataRecord
from kipviz.records.consumer_offsets import OffsetTombstone
from tests.properties.history import decision, marker, output, states, with_log

ABORTS = decision(committed=False)
EMPTY = with_log(PartitionLog("out-0"))


def test_a_new_leader_keeps_the_outputs_that_its_log_has_and_forgets_the_others() -> None:
    def batch(at: int, record: str, pid: int = 9, epoch: int = 0) -> Batch:
        return Batch(at, (DataRecord("f", record),), pid, epoch, 0, transactional=True)

    mine = Table.of({(9, 0): (("src-0@1", "out-0"), ("src-0@2", "out-0"), ("src-0@3", "out-1"))})
    log = append(PartitionLog("out-0"), batch(0, "src-0@2"))
    log = append(log, batch(1, "src-0@7", pid=10))
    log = append(log, batch(2, "src-0@8", epoch=1))
    log = append(log, batch(3, ""))
    log = append(log, Batch(4, (), 10, 0, control="COMMIT", transactional=True))
    log = append(log, Batch(5, (OffsetTombstone("g", "src-0"),), 9, 0, 1, transactional=True))
    there = with_log(log)
    left = forget_truncated(mine, "out-0", there)
    assert dict(left.items()) == {(9, 0): (("src-0@2", "out-0"), ("src-0@3", "out-1"))}
    assert forget_truncated(left, "out-0", there) is left
    assert forget_truncated(left, "out-2", there) is left
    elsewhere = mine.set((8, 0), (("src-0@9", "out-1"),))
    assert forget_truncated(elsewhere, "out-0", there) == left.set((8, 0), (("src-0@9", "out-1"),))
    ledger = states(Atomic(), output(100), LeaderMoved("out-1", 3, 1, 1), world=there)
    assert ledger[-1] is ledger[-2]


def test_what_is_sent_again_is_cut_off_no_longer_and_what_is_decided_neither() -> None:
    sent = (output(100, 101), LeaderMoved("out-0", 3, 1, 1))
    *_, before = states(Atomic(), *sent, world=EMPTY)
    assert dict(before.cut.items()) == {(9, 0): (("src-0@100", "out-0"), ("src-0@101", "out-0"))}
    *_, again = states(Atomic(), *sent, output(100), world=EMPTY)
    assert dict(again.cut.items()) == {(9, 0): (("src-0@101", "out-0"),)}
    *_, whole = states(Atomic(), *sent, output(100), output(101), world=EMPTY)
    assert whole == states(Atomic(), output(100), output(101))[-1]
    *_, over = states(Atomic(), *sent, ABORTS, world=EMPTY)
    assert over.cut == Table.of()


def test_only_what_the_new_leader_lacks_is_cut_off_of_whom_it_lacks_something() -> None:
    mine = (output(100), output(101, to="out-1"))
    sent = (*mine, output(102, pid=10, to="out-1"), LeaderMoved("out-0", 3, 1, 1))
    *_, ledger = states(Atomic(), *sent, world=EMPTY)
    assert dict(ledger.cut.items()) == {(9, 0): (("src-0@100", "out-0"),)}
    assert dict(ledger.open.items()) == {
        (9, 0): (("src-0@101", "out-1"),),
        (10, 0): (("src-0@102", "out-1"),),
    }


def test_a_marker_ends_the_outputs_of_all_older_epochs_and_of_no_other_producer() -> None:
    waiting = Table.of(
        {
            (8, 0): (("src-0@6", "out-0"),),
            (9, 0): (("src-0@1", "out-0"), ("src-0@2", "out-1")),
            (9, 1): (("src-0@3", "out-0"),),
            (9, 2): (("src-0@4", "out-0"),),
            (10, 0): (("src-0@5", "out-0"),),
        }
    )
    committing = BatchAppended("out-0", 1, (), 9, 2, "COMMIT")
    left, ended = end_late_batches(waiting, committing)
    assert ended == (("src-0@1", "out-0"), ("src-0@3", "out-0"))
    assert dict(left.items()) == {
        (8, 0): (("src-0@6", "out-0"),),
        (9, 0): (("src-0@2", "out-1"),),
        (9, 2): (("src-0@4", "out-0"),),
        (10, 0): (("src-0@5", "out-0"),),
    }
    aborting = BatchAppended("out-0", 1, (), 9, 2, "ABORT")
    assert end_late_batches(waiting, aborting) == (left, ())


def test_a_marker_written_by_hand_leaves_the_very_same_where_it_ends_nothing() -> None:
    waiting = fold_batch(Table.of(), output(100))
    assert fold_batch(waiting, marker("ABORT", epoch=0, to="out-1")) is waiting
    assert fold_batch(waiting, marker("COMMIT", epoch=0)) is waiting
    assert fold_batch(waiting, marker("ABORT", epoch=0)) == Table.of()
    bare = BatchAppended("out-0", 0, (DataRecord("f"),), 10, 0, "")
    assert fold_batch(waiting, bare) is waiting
