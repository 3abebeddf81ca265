"""The share coordinator: what is durable of a share-partition, and transactional acknowledgements until they are decided."""

from __future__ import annotations

import pytest

from kipviz.brokers.context import NOBODY, ReplyTo
from kipviz.brokers.local_calls import WriteMarker
from kipviz.brokers.logs.partition_log import append, replicate
from kipviz.brokers.share_coordinators import share_coordinator as sc
from kipviz.brokers.share_coordinators import share_state_maintenance
from kipviz.brokers.share_coordinators.share_state import ShareCoordinator
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_state import (
    DeleteShareGroupState,
    DeleteStateData,
    InitializeShareGroupState,
    InitializeStateData,
    ReadShareGroupState,
    ReadShareGroupStateSummary,
    ReadStateData,
    ReadStateSummaryData,
    TxnWriteShareGroupState,
    WriteShareGroupState,
    WriteStateData,
)
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    TxnPartitions,
)
from kipviz.records.batches import Batch
from kipviz.records.placement import partition_for
from kipviz.records.share_group_state import (
    RecordState,
    ShareSnapshotRecord,
    ShareStagedRecord,
    ShareUpdateRecord,
    StagedBatch,
    StateBatch,
)
from tests.brokers.coordinator_answers import enlisted, with_tag

AVL, ACK, ARCH = RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVED
KEY = "g1:AAAAAAAAAAAAAAAAAAAAAg:0"
HERE = f"__share_group_state-{partition_for(KEY, 50)}"
HOME = f"__transaction_state-{partition_for('t', 50)}"
ACCEPT, REJECT = 1, 3


def initialised_desk(start=0, batches=(), **settings):
    """A desk whose log holds the snapshot of one key: state epoch 2, leader epoch 0."""
    role = ShareCoordinator(HERE, loading=True)
    desk = Desk(sc, role, leaders={HERE: 1, HOME: 7}, **settings)
    record = ShareSnapshotRecord(KEY, 0, 2, 0, start, 0, batches)
    desk.logs[HERE] = replicate(append(desk.logs[HERE], Batch(0, (record,))))
    desk.do(sc.on_loaded(desk.role, desk.on))
    return desk


def batch(first, last, state=AVL, count=1):
    return StateBatch(first, last, state, count)


def write(desk, *batches, start=0, complete=0, state_epoch=2, leader_epoch=0, key=KEY):
    request = WriteShareGroupState(
        (WriteStateData(key, state_epoch, leader_epoch, start, complete, batches),)
    )
    return desk.ask(sc.on_write, request)


def read(desk, leader_epoch=0, key=KEY):
    return desk.ask(sc.on_read, ReadShareGroupState((ReadStateData(key, leader_epoch),)))


def stage(desk, *staged, epoch=0, pid=9, leader_epoch=0, start=-1, source=""):
    acknowledgements = tuple(StagedBatch(*s) for s in staged)
    request = TxnWriteShareGroupState(
        KEY, 2, leader_epoch, "t", pid, epoch, acknowledgements, start
    )
    return desk.ask(sc.on_txn_write, request, source)


def answer_enlistment(desk, epoch=0, pid=9, error=Errors.NONE):
    answer = enlisted(error, "t", pid, epoch, (HERE,))
    desk.do(sc.on_enlisted(desk.role, answer, desk.on))


def mark(desk, epoch=1, pid=9, *, commit=True):
    to = ReplyTo("B7/markers", 1, 0)
    marker = WriteMarker(to, HERE, pid, epoch, commit, 0, 2)
    desk.do(sc.on_write_marker(desk.role, marker, desk.on))


def state(desk):
    return desk.role.states[KEY]


def test_a_yes_from_before_a_marker_does_not_keep_a_transactional_acknowledgement_that_asks_after_it():
    """A marker of an older epoch that is late: its transaction was another one, and the guard is gone."""
    desk = initialised_desk(0, (batch(0, 9),))
    yes = enlisted(Errors.NONE, "t", 9, 5, (HERE,))
    stage(desk, (0, 4, ACCEPT, 1), epoch=5, source="B3/persister")
    mark(desk, epoch=4)
    stage(desk, (0, 4, ACCEPT, 1), epoch=5, source="B3/persister")
    asked = [r.tag for r in desk.requests]
    desk.do(sc.on_enlisted(desk.role, with_tag(yes, asked[0]), desk.on))
    assert desk.replies == []
    assert not desk.role.acknowledgements
    desk.do(sc.on_enlisted(desk.role, with_tag(yes, asked[1]), desk.on))
    assert desk.last.error is Errors.NONE
    assert [
        acknowledgement.producer_epoch for acknowledgement in desk.role.acknowledgements[9]
    ] == [5]


# -- reads and writes ---------------------------------------------------------------------------


def test_a_write_cannot_move_the_start_offset_back_nor_undo_a_higher_state():
    """SCS.testWriteStateDiscardsStartOffsetRegression."""
    desk = initialised_desk(5, (batch(11, 20, ARCH, 1),))
    assert write(desk, batch(0, 20), start=2).only.error is Errors.NONE
    assert state(desk).start_offset == 5
    assert state(desk).batches == (batch(5, 10), batch(11, 20, ARCH))


def test_the_write_behind_the_limit_is_a_snapshot_of_everything():
    """SCS.testSnapshotUpdateCountBoundary; recorded of Kafka 4.4.0 with a limit of 3."""
    desk = initialised_desk(updates_per_snapshot=2)
    for _ in range(3):
        write(desk, batch(0, 9))
    kinds = [type(r) for r in desk.written(HERE)[1:]]
    assert kinds == [ShareUpdateRecord, ShareUpdateRecord, ShareSnapshotRecord]
    assert desk.written(HERE)[-1].snapshot_epoch == 1
    assert state(desk).updates == 0


def test_a_share_partition_that_was_never_initialised_cannot_be_written_or_read():
    """SCS.testWriteFailsOnUninitializedPartition."""
    desk = initialised_desk()
    other = "g1:AAAAAAAAAAAAAAAAAAAAAg:1"
    assert write(desk, batch(0, 1), key=other).only.error is Errors.INVALID_REQUEST
    assert read(desk, key=other).only.error is Errors.INVALID_REQUEST
    assert len(desk.written(HERE)) == 1


@pytest.mark.parametrize(
    ("leader_epoch", "state_epoch", "error"),
    [
        (3, 2, Errors.NONE),
        (4, 2, Errors.NONE),
        (2, 2, Errors.FENCED_LEADER_EPOCH),
        (2, 1, Errors.FENCED_LEADER_EPOCH),
        (3, 1, Errors.FENCED_STATE_EPOCH),
    ],
)
def test_an_older_leader_and_an_older_state_epoch_are_fenced(leader_epoch, state_epoch, error):
    desk = initialised_desk()
    read(desk, leader_epoch=3)
    found = write(desk, batch(0, 0), leader_epoch=leader_epoch, state_epoch=state_epoch)
    assert found.only.error is error


def test_of_a_topic_that_is_gone_no_state_is_made_read_written_or_deleted():
    """ShareCoordinatorShard.maybeGetInitializeStateError, and the like of the other requests."""
    desk, gone = initialised_desk(), "g1:AAAAAAAAAAAAAAAAAAAAAQ:0"
    desk.role = desk.role.but(states=desk.role.states.set(gone, desk.role.states[KEY]))
    written = len(desk.written(HERE))
    answers = (
        read(desk, key=gone),
        write(desk, batch(0, 1), key=gone),
        desk.ask(sc.on_initialize, InitializeShareGroupState((InitializeStateData(gone, 3, -1),))),
        desk.ask(
            share_state_maintenance.on_delete, DeleteShareGroupState((DeleteStateData(gone),))
        ),
        desk.ask(
            share_state_maintenance.on_read_summary,
            ReadShareGroupStateSummary((ReadStateSummaryData(gone),)),
        ),
    )
    assert {answer.only.error for answer in answers} == {Errors.UNKNOWN_TOPIC_OR_PARTITION}
    assert len(desk.written(HERE)) == written


def test_a_read_by_a_new_leader_writes_its_epoch_and_an_equal_one_writes_nothing():
    """Recorded of Kafka 4.4.0: an update without batches, the start and count as they were."""
    desk = initialised_desk(0)
    write(desk, batch(0, 2, ACK), complete=3)
    assert read(desk, leader_epoch=0).only.error is Errors.NONE
    assert len(desk.written(HERE)) == 2
    assert read(desk, leader_epoch=2).only.batches == (batch(0, 2, ACK),)
    assert desk.written(HERE)[-1] == ShareUpdateRecord(KEY, 0, 2, 0, 3)
    assert read(desk, leader_epoch=1).only.error is Errors.FENCED_LEADER_EPOCH


@pytest.mark.parametrize(
    ("start", "complete", "stored"), [(5, 7, 7), (5, 1, 3), (4, 9, 3), (6, 1, 1)]
)
def test_the_count_of_finished_records_goes_with_the_start_offset(start, complete, stored):
    """ShareCoordinatorShard: equal start, the larger; older, what is stored; newer, the new one."""
    desk = initialised_desk(5)
    write(desk, batch(5, 5), start=5, complete=3)
    write(desk, batch(6, 6), start=start, complete=complete)
    assert state(desk).delivery_complete_count == stored


def test_a_read_is_answered_only_when_what_it_has_seen_is_replicated():
    desk = initialised_desk()
    desk.instant = False
    write(desk, batch(0, 0, ACK))
    assert read(desk) is None
    desk.replicate()
    assert desk.last.only.batches == (batch(0, 0, ACK),)


def test_while_it_loads_it_says_so():
    desk = initialised_desk()
    desk.role = ShareCoordinator(HERE, loading=True)
    loading = Errors.COORDINATOR_LOAD_IN_PROGRESS
    assert read(desk).only.error is write(desk).only.error is stage(desk).error is loading


# -- transactional acknowledgements (the repaired design) ------------------------------------------


def store_acknowledgement(*staged, **changes):
    desk = initialised_desk()
    assert stage(desk, *staged, **changes) is None
    answer_enlistment(desk)
    assert desk.last.error is Errors.NONE
    return desk


def test_a_transactional_acknowledgement_is_appended_once_its_partition_is_enlisted():
    desk = initialised_desk()
    assert stage(desk, (0, 1, ACCEPT, 1)) is None
    (asked,) = desk.requests
    assert (asked.broker, asked.message) == (
        7,
        AddPartitionsToTxn((TxnPartitions("t", 9, 0, (HERE,)),)),
    )
    answer_enlistment(desk)
    record = desk.written(HERE)[-1]
    assert record == ShareStagedRecord(KEY, (StagedBatch(0, 1, ACCEPT, 1),), -1)
    assert state(desk).batches == ()


def test_a_second_transactional_acknowledgement_of_the_transaction_asks_nobody():
    desk = store_acknowledgement((0, 0, ACCEPT, 1))
    assert stage(desk, (1, 1, ACCEPT, 1)).error is Errors.NONE
    assert len(desk.requests) == 1


@pytest.mark.parametrize(
    ("kind", "commit", "becomes"),
    [(ACCEPT, True, ACK), (REJECT, True, ARCH), (ACCEPT, False, AVL), (REJECT, False, AVL)],
)
def test_a_marker_makes_of_a_transactional_acknowledgement_what_it_says(kind, commit, becomes):
    """[PR] InFlightStateTxnTest, as far as the outcome goes."""
    desk = store_acknowledgement((0, 1, kind, 3))
    mark(desk, commit=commit)
    assert state(desk).batches == (batch(0, 1, becomes, 3),)
    assert not desk.role.acknowledgements


def test_a_marker_of_another_producer_leaves_a_transactional_acknowledgement_alone():
    desk = store_acknowledgement((0, 1, ACCEPT, 1))
    mark(desk, pid=8)
    assert len(desk.role.acknowledgements) == 1
    assert state(desk).batches == ()


def test_a_commit_wins_against_whatever_was_written_in_between():
    """Finding X15: a decision must not lose the join against the state that it decides."""
    desk = store_acknowledgement((0, 0, ACCEPT, 1))
    write(desk, batch(0, 0, AVL, 2))
    mark(desk, commit=True)
    assert state(desk).batches == (batch(0, 0, ACK, 1),)


def test_an_abort_does_not_undo_what_was_acknowledged_after_the_leader_gave_the_transactional_acknowledgement_up():
    """The transactional acknowledgement's answer was lost, its lock ran out, another member took the record."""
    desk = store_acknowledgement((0, 0, ACCEPT, 1))
    write(desk, batch(0, 0, ACK, 2))
    mark(desk, commit=False)
    assert state(desk).batches == (batch(0, 0, ACK, 2),)


def test_a_leader_that_was_fenced_while_its_transactional_acknowledgement_was_being_enlisted_stages_nothing():
    """Otherwise it would promise what its successor has not read."""
    desk = initialised_desk()
    stage(desk, (0, 0, ACCEPT, 1))
    read(desk, leader_epoch=1)
    answer_enlistment(desk)
    assert desk.last.error is Errors.FENCED_LEADER_EPOCH
    assert not desk.role.acknowledgements


def test_a_transactional_acknowledgement_that_is_enlisted_after_the_abort_marker_is_too_late():
    """Finding X4, the hanging stage."""
    desk = initialised_desk()
    stage(desk, (0, 0, ACCEPT, 1))
    mark(desk, commit=False)
    answer_enlistment(desk)
    assert desk.last.error is Errors.INVALID_PRODUCER_EPOCH
    assert not desk.role.acknowledgements


def test_a_transactional_acknowledgement_of_an_epoch_that_is_over_asks_nobody():
    desk = store_acknowledgement((0, 0, ACCEPT, 1))
    mark(desk)
    assert stage(desk, (1, 1, ACCEPT, 1)).error is Errors.INVALID_PRODUCER_EPOCH
    assert len(desk.requests) == 1


def test_a_transactional_acknowledgement_whose_transaction_has_no_coordinator_now_is_refused_at_once():
    desk = initialised_desk()
    desk.leaders[HOME] = NOBODY
    assert stage(desk, (0, 1, ACCEPT, 1)).error is Errors.COORDINATOR_NOT_AVAILABLE
    assert not desk.requests
    assert desk.role.enlisting == ()


def test_a_transactional_acknowledgement_that_is_asked_for_twice_is_kept_once_and_answered_when_replicated():
    desk = initialised_desk()
    stage(desk, (0, 0, ACCEPT, 1), source="B5/persister")
    desk.instant = False
    answer_enlistment(desk)
    again = stage(desk, (0, 0, ACCEPT, 1), source="B5/persister")
    assert again is None
    desk.replicate()
    assert desk.last.error is Errors.NONE
    assert len(desk.role.acknowledgements[9]) == 1


def test_transactional_acknowledgements_of_two_share_partitions_that_wait_for_one_enlistment_stand_one_behind_the_other():
    desk = initialised_desk()
    stage(desk, (0, 0, ACCEPT, 1), source="B5/persister")
    stage(desk, (1, 1, ACCEPT, 1), source="B3/persister")
    answer_enlistment(desk)
    assert [b.base_offset for b in desk.logs[HERE].batches] == [0, 1, 2]


def test_a_new_leader_is_told_which_transactional_acknowledgements_are_pending():
    desk = store_acknowledgement((0, 1, ACCEPT, 2))
    (pending,) = read(desk, leader_epoch=1).only.pending
    assert (pending.producer_id, pending.staged) == (9, StagedBatch(0, 1, ACCEPT, 2))
    mark(desk)
    assert read(desk, leader_epoch=1).only.pending == ()


def test_the_start_offset_that_comes_with_a_transactional_acknowledgement_counts_whatever_becomes_of_it():
    """Without it a share-partition that is only ever staged would keep its state for ever."""
    desk = initialised_desk()
    write(desk, batch(0, 4, ACK), complete=5)
    stage(desk, (5, 5, ACCEPT, 1), start=5)
    answer_enlistment(desk)
    assert (state(desk).start_offset, state(desk).batches) == (5, ())
    mark(desk, commit=False)
    assert (state(desk).start_offset, state(desk).batches) == (5, (batch(5, 5),))


def test_a_new_coordinator_finds_state_and_transactional_acknowledgements_in_the_log():
    desk = store_acknowledgement((0, 1, ACCEPT, 1))
    write(desk, batch(2, 3, ARCH))
    stage(desk, (4, 4, REJECT, 1))
    before = desk.role
    desk.role = ShareCoordinator(HERE, loading=True)
    desk.do(sc.on_loaded(desk.role, desk.on))
    assert desk.role == before


# -- the leader epoch of a state that is made anew -------------------------------------------------


def reset_at_leader_epoch(leader_epoch):
    desk = initialised_desk()
    read(desk, leader_epoch)
    desk.ask(sc.on_initialize, InitializeShareGroupState((InitializeStateData(KEY, 3, 10),)))
    return desk


def test_a_state_that_is_made_anew_has_no_leader_and_nothing_delivered_yet():
    """ShareGroupOffset.fromRequest: leader epoch 0, and a count only with a start offset."""
    desk = reset_at_leader_epoch(2)
    assert desk.written(HERE)[-1] == ShareSnapshotRecord(KEY, 1, 3, 0, 10, 0)
    summary = desk.ask(
        share_state_maintenance.on_read_summary,
        ReadShareGroupStateSummary((ReadStateSummaryData(KEY),)),
    )
    assert (summary.only.leader_epoch, summary.only.delivery_complete_count) == (0, 0)
    desk.ask(sc.on_initialize, InitializeShareGroupState((InitializeStateData(KEY, 4, -1),)))
    assert desk.role.states[KEY].delivery_complete_count == -1


def test_a_reset_does_not_let_older_leaders_in_again_and_its_own_leader_writes_no_epoch():
    desk = reset_at_leader_epoch(2)
    assert read(desk, leader_epoch=1).only.error is Errors.FENCED_LEADER_EPOCH
    assert write(desk, state_epoch=3, leader_epoch=1).only.error is Errors.FENCED_LEADER_EPOCH
    before = len(desk.written(HERE))
    assert read(desk, leader_epoch=2).only.error is Errors.NONE
    assert len(desk.written(HERE)) == before
    written = write(desk, batch(10, 10, ACK), start=10, state_epoch=3, leader_epoch=2)
    assert (written.only.error, desk.role.states[KEY].leader_epoch) == (Errors.NONE, 0)
    assert read(desk, leader_epoch=3).only.error is Errors.NONE
    assert desk.role.states[KEY].leader_epoch == 3


def test_a_coordinator_that_reads_a_log_that_was_pruned_has_forgotten_the_older_leader():
    desk = reset_at_leader_epoch(2)
    log = desk.logs[HERE]
    for kept, fenced in ((log.batches, 2), (log.batches[-1:], 0)):
        role = ShareCoordinator(HERE, loading=True)
        desk.logs[HERE] = log.but(batches=kept)
        loaded = sc.on_loaded(role, desk.on).state
        assert loaded.states[KEY].newest_leader == fenced


def test_a_new_leader_is_told_the_transactional_acknowledgements_of_its_own_share_partition_and_of_no_other():
    """Another group's leader that took them over would hold records that nobody has staged there."""
    other = KEY.replace("g1", "g2")
    role = ShareCoordinator(HERE, loading=True)
    desk = Desk(sc, role, leaders={HERE: 1, HOME: 7})
    records = tuple(ShareSnapshotRecord(key, 0, 2, 0, 0, 0, ()) for key in (KEY, other))
    desk.logs[HERE] = replicate(append(desk.logs[HERE], Batch(0, records)))
    desk.do(sc.on_loaded(desk.role, desk.on))
    stage(desk, (0, 1, ACCEPT, 2))
    answer_enlistment(desk)
    assert read(desk, leader_epoch=1, key=other).only.pending == ()
    assert [
        acknowledgement.staged for acknowledgement in read(desk, leader_epoch=1).only.pending
    ] == [StagedBatch(0, 1, ACCEPT, 2)]
