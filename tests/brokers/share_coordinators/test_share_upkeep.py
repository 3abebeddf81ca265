"""What becomes of `__share_group_state` over time: deleted states, cold snapshots, pruning."""

from __future__ import annotations

import pytest

from kipviz.brokers.share_coordinators import share_coordinator as sc
from kipviz.brokers.share_coordinators import share_state_maintenance as upkeep
from kipviz.brokers.share_coordinators.share_state import ShareCoordinator
from kipviz.brokers.timers import ColdSnapshot, StatePruning
from kipviz.driving.desk import TOPIC_IDS, Desk
from kipviz.messages.errors import Errors
from kipviz.messages.events import LogPruned, ShareStateReset
from kipviz.messages.shares.share_state import (
    DeleteShareGroupState,
    DeleteStateData,
    InitializeShareGroupState,
    InitializeStateData,
    ReadShareGroupState,
    ReadShareGroupStateSummary,
    ReadStateData,
    ReadStateSummaryData,
    WriteShareGroupState,
    WriteStateData,
)
from kipviz.records.batches import ABORT, COMMIT, Batch
from kipviz.records.placement import partition_for
from kipviz.records.share_group_state import (
    RecordState,
    ShareSnapshotRecord,
    ShareStagedRecord,
    ShareTombstone,
    StagedBatch,
    StateBatch,
)

ONE, TWO = (f"g1:{TOPIC_IDS['src']}:{index}" for index in range(2))
HERE = f"__share_group_state-{partition_for(ONE, 50)}"


class State(Desk):
    """A share coordinator that has the state of one share-partition, or of two."""

    def __init__(self, *keys, rules="kafka", **settings):
        settings = {"state_upkeep": True, **settings}
        super().__init__(
            sc, ShareCoordinator(HERE), leaders={HERE: 1, "src-0": 5}, rules=rules, **settings
        )
        for key in keys or (ONE,):
            self.ask(
                sc.on_initialize, InitializeShareGroupState((InitializeStateData(key, 2, 100),))
            )

    def writes(self, key=ONE, first=100, last=100, start=100, done=1):
        batch = StateBatch(first, last, RecordState.ACKNOWLEDGED, 1)
        request = WriteShareGroupState((WriteStateData(key, 2, 0, start, done, (batch,)),))
        return self.ask(sc.on_write, request)

    def acknowledgements(self, producer_id=9, key=ONE):
        """Have a transactional acknowledgement in the log, whose transaction is open."""
        record = ShareStagedRecord(key, (StagedBatch(100, 100, 1, 1),), 100)
        end = self.logs[HERE].end_offset
        batch = Batch(end, (record,), producer_id, 0, 0, transactional=True)
        self.append(batch)

    def marker(self, producer_id=9, control=COMMIT):
        end = self.logs[HERE].end_offset
        batch = Batch(end, (), producer_id, 1, transactional=True, control=control)
        self.append(batch)

    def append(self, batch):
        role = sc.replay(self.role, batch, self.rules)
        self.do(sc.Effects(role, appends=((HERE, batch),)))

    def comes(self, kind, key=""):
        """Let the job of a kind come, of a share-partition if there is more than one."""
        set_now = upkeep.timers(self.role, self.on)
        (timer,) = [t for t in set_now if isinstance(t, kind) and (not key or t.key == key)]
        self.do(upkeep.on_timer(self.role, timer, self.on))

    @property
    def jobs(self):
        return upkeep.timers(self.role, self.on)

    @property
    def start(self):
        return self.logs[HERE].start_offset

    def load(self):
        return sc.on_loaded(ShareCoordinator(HERE, loading=True), self.on).state


def test_a_summary_says_where_a_share_partition_stands_and_fences_nobody():
    state = State()
    state.ask(sc.on_read, ReadShareGroupState((ReadStateData(ONE, 3),)))
    state.ask(
        sc.on_write,
        WriteShareGroupState(
            (
                WriteStateData(
                    ONE, 2, 3, 101, 4, (StateBatch(102, 105, RecordState.ACKNOWLEDGED, 1),)
                ),
            )
        ),
    )
    before = state.role
    answer = state.ask(
        upkeep.on_read_summary, ReadShareGroupStateSummary((ReadStateSummaryData(ONE),))
    )
    assert (answer.only.start_offset, answer.only.delivery_complete_count) == (101, 4)
    assert (answer.only.state_epoch, answer.only.leader_epoch) == (2, 3)
    assert state.role == before


def test_the_summary_of_what_nobody_knows_has_no_numbers_and_no_error():
    answer = State().ask(
        upkeep.on_read_summary, ReadShareGroupStateSummary((ReadStateSummaryData(TWO),))
    )
    assert (answer.only.error, answer.only.start_offset, answer.only.delivery_complete_count) == (
        Errors.NONE,
        -1,
        -1,
    )
    assert (answer.only.state_epoch, answer.only.leader_epoch) == (0, 0)


def test_a_deleted_state_is_a_tombstone_and_deleting_it_again_writes_nothing():
    state = State()
    answer = state.ask(upkeep.on_delete, DeleteShareGroupState((DeleteStateData(ONE),)))
    assert answer.only.error is Errors.NONE
    assert state.written(HERE)[-1] == ShareTombstone(ONE)
    assert ONE not in state.role.states
    assert ShareStateReset(ONE, -1, -1) in state.events
    end = state.logs[HERE].end_offset
    assert (
        state.ask(upkeep.on_delete, DeleteShareGroupState((DeleteStateData(ONE),))).only.error
        is Errors.NONE
    )
    assert state.logs[HERE].end_offset == end
    assert state.writes().only.error is Errors.INVALID_REQUEST
    assert state.load().states.keys() == ()


def test_a_state_made_after_a_deletion_begins_with_the_first_snapshot():
    state = State()
    state.ask(upkeep.on_delete, DeleteShareGroupState((DeleteStateData(ONE),)))
    state.ask(sc.on_initialize, InitializeShareGroupState((InitializeStateData(ONE, 2, 100),)))
    assert state.role.states[ONE].snapshot_epoch == 0


@pytest.mark.parametrize(
    ("handler", "request_"),
    [
        (upkeep.on_delete, DeleteShareGroupState((DeleteStateData(ONE),))),
        (upkeep.on_read_summary, ReadShareGroupStateSummary((ReadStateSummaryData(ONE),))),
    ],
)
def test_whoever_still_reads_its_log_says_so(handler, request_):
    state = State()
    state.role = state.role.but(loading=True)
    assert state.ask(handler, request_).only.error is Errors.COORDINATOR_LOAD_IN_PROGRESS
    assert state.jobs == ()


def test_without_the_setting_no_job_comes():
    state = State(state_upkeep=False)
    state.writes()
    state.ask(sc.on_initialize, InitializeShareGroupState((InitializeStateData(ONE, 3, 100),)))
    assert state.jobs == ()


def test_what_snapshots_have_replaced_is_deleted():
    state = State(updates_per_snapshot=1)
    assert not any(isinstance(job, StatePruning) for job in state.jobs)
    state.writes()
    state.writes(first=101, last=101, done=2)
    assert isinstance(state.written(HERE)[-1], ShareSnapshotRecord)
    before = state.role.states[ONE].batches
    state.comes(StatePruning)
    assert state.start == 2
    assert state.events[-1] == LogPruned(HERE, 0, 2)
    assert state.load().states[ONE].batches == before
    assert not any(isinstance(job, StatePruning) for job in state.jobs)


def test_the_share_partition_with_the_oldest_snapshot_holds_the_others_up():
    state = State(ONE, TWO, updates_per_snapshot=1)
    for offset in (100, 101):
        state.writes(TWO, offset, offset, done=offset - 99)
    assert upkeep.last_redundant_offset(state.logs[HERE]) == 0
    state.do(upkeep.on_timer(state.role, ColdSnapshot(ONE), state.on))
    assert upkeep.last_redundant_offset(state.logs[HERE]) == 3


def test_a_cold_snapshot_repeats_the_state_and_is_not_made_where_nothing_is_new():
    state = State()
    state.writes()
    before = state.role.states[ONE]
    state.comes(ColdSnapshot)
    after = state.role.states[ONE]
    assert (after.batches, after.start_offset) == (before.batches, before.start_offset)
    assert (after.snapshot_epoch, after.cold) == (before.snapshot_epoch + 1, True)
    assert not any(isinstance(job, ColdSnapshot) for job in state.jobs)
    state.writes(first=101, last=101, done=2)
    assert not state.role.states[ONE].cold
    assert any(isinstance(job, ColdSnapshot) for job in state.jobs)


def test_a_deleted_share_partition_holds_nobody_up():
    state = State(ONE, TWO)
    state.ask(upkeep.on_delete, DeleteShareGroupState((DeleteStateData(ONE),)))
    assert upkeep.last_redundant_offset(state.logs[HERE]) == 1
    state.ask(upkeep.on_delete, DeleteShareGroupState((DeleteStateData(TWO),)))
    assert upkeep.last_redundant_offset(state.logs[HERE]) == 3


def test_a_snapshot_that_is_not_on_every_replica_replaces_nothing_yet():
    """A new leader would have neither the snapshot nor what it was to replace."""
    state = State(updates_per_snapshot=1)
    state.instant = False
    state.writes()
    state.writes(first=101, last=101, done=2)
    assert isinstance(state.written(HERE)[-1], ShareSnapshotRecord)
    assert upkeep.floor(state.role, state.on) == 0
    state.instant = True
    state.writes(first=102, last=102, done=3)
    assert upkeep.floor(state.role, state.on) == 2


@pytest.mark.parametrize(("rules", "survives"), [("repaired", True), ("finding-X16", False)])
def test_a_transactional_acknowledgement_is_only_pruned_where_nothing_keeps_it(rules, survives):
    """Finding X16: a snapshot behind the transactional acknowledgement replaces everything but the acknowledgement."""
    state = State(rules=rules)
    state.acknowledgements()
    state.writes(first=101, last=101)
    state.comes(ColdSnapshot)
    if survives:
        assert upkeep.floor(state.role, state.on) == 1
    state.comes(StatePruning)
    state.role = state.load()
    assert bool(state.role.acknowledgements.get(9, ())) is survives
    state.marker()
    done = [b for b in state.role.states[ONE].batches if b.first <= 100 <= b.last]
    assert bool(done) is survives


@pytest.mark.parametrize(("control", "left"), [(COMMIT, RecordState.ACKNOWLEDGED), (ABORT, None)])
def test_a_decided_transactional_acknowledgement_is_kept_until_a_snapshot_has_its_outcome(
    control, left
):
    """The snapshot was made while the transactional acknowledgement was pending: without the acknowledgement the marker says nothing."""
    state = State(rules="repaired")
    state.acknowledgements()
    state.comes(ColdSnapshot)
    state.marker(control=control)
    decided = state.role.states[ONE]
    assert upkeep.floor(state.role, state.on) == 1
    state.comes(StatePruning)
    assert state.load().states[ONE] == decided
    assert decided.batches[0].state is (left or RecordState.AVAILABLE)
    state.comes(ColdSnapshot)
    assert upkeep.floor(state.role, state.on) == state.logs[HERE].end_offset - 1
    state.comes(StatePruning)
    assert state.load().states[ONE].batches == decided.batches
    assert state.jobs == ()


def test_a_transactional_acknowledgement_is_decided_by_its_marker_and_not_by_the_next_acknowledgement_of_its_producer():
    state = State(rules="repaired")
    state.acknowledgements()
    state.acknowledgements()
    state.comes(ColdSnapshot)
    state.marker()
    assert upkeep.first_acknowledgement_needed(state.logs[HERE]) == 1


def test_a_decided_transactional_acknowledgement_of_a_deleted_share_partition_is_not_kept():
    state = State(ONE, TWO, rules="repaired")
    state.acknowledgements()
    state.comes(ColdSnapshot, ONE)
    state.marker()
    state.ask(upkeep.on_delete, DeleteShareGroupState((DeleteStateData(ONE),)))
    assert upkeep.first_acknowledgement_needed(state.logs[HERE]) == state.logs[HERE].end_offset


@pytest.mark.parametrize(
    ("rules", "error", "kept"),
    [("repaired", Errors.CONCURRENT_TRANSACTIONS, True), ("finding-X13", Errors.NONE, False)],
)
@pytest.mark.parametrize("deletes", [True, False])
def test_a_reset_while_a_transactional_acknowledgement_is_pending_is_refused_or_drops_the_acknowledgement(
    rules, error, kept, deletes
):
    """Finding X13."""
    state = State(rules=rules)
    state.acknowledgements()
    answer = (
        state.ask(upkeep.on_delete, DeleteShareGroupState((DeleteStateData(ONE),)))
        if deletes
        else state.ask(
            sc.on_initialize, InitializeShareGroupState((InitializeStateData(ONE, 3, 100),))
        )
    )
    assert answer.only.error is error
    assert bool(state.role.acknowledgements.get(9, ())) is kept
    assert state.load().acknowledgements == state.role.acknowledgements
    state.marker()
    assert state.role.acknowledgements.get(9, ()) == ()


def test_the_same_state_asked_for_again_is_no_reset_in_later_code():
    state = State(rules="repaired")
    state.rules = state.rules.but(initialize_again=lambda: False)
    state.acknowledgements()
    answer = state.ask(
        sc.on_initialize, InitializeShareGroupState((InitializeStateData(ONE, 2, 100),))
    )
    assert answer.only.error is Errors.NONE
