"""Records at the front of a log are deleted: what the log, its readers and the next leader know after it."""

from __future__ import annotations

import pytest

from kipviz.brokers.checks import error_of
from kipviz.brokers.logs import partition_log as logs
from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.brokers.share_leaders import share_acquiring
from kipviz.brokers.share_leaders.share_partition import SharePartition
from kipviz.cluster.actions import DeleteRecords, MoveLeader
from kipviz.cluster.behaviour.catalogue import script_name
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.cluster.world import World
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import REPAIRED
from kipviz.messages.errors import Errors
from kipviz.messages.events import LogPruned, RecordsMoved
from kipviz.records.batches import ABORT, COMMIT, Batch, DataRecord
from kipviz.records.share_group_state import RecordState
from kipviz.scenarios.applications.programs import SHARE_ABORT, SHARE_LOOP
from kipviz.scenarios.script import follow
from tests.cluster.invariants import wrong_between, wrong_in
from tests.cluster.small_clusters import EVERYTHING, FIRST_OFFSET, model_of, small_spec, steps_of
from tests.messages.shares import fetches

RULES = REPAIRED.broker_rules()


def put(log: PartitionLog, pid: int, sequence: int, control: str = "", epoch: int = 0):
    records = () if control else (DataRecord(f"{pid}:{sequence}"),)
    batch = Batch(log.end_offset, records, pid, epoch, sequence, True, control)
    return logs.append(log, batch)


def shares_of(world: World) -> tuple[SharePartition, ...]:
    return world.roles[5, "share_partition_leader", ""].shares.values()


def open_at_0() -> PartitionLog:
    """Producer 9 has a transaction from offset 0 on, producer 8 an aborted one from 1 to 2."""
    log = put(PartitionLog("a-0"), 9, 0)
    log = put(log, 8, 0)
    log = put(log, 8, -1, ABORT, 1)
    return logs.replicate(put(log, 9, 1))


def test_the_last_stable_offset_is_never_before_the_log():
    log = logs.delete_records(open_at_0(), 1)
    assert (log.start_offset, log.first_unstable_offset, log.last_stable_offset) == (1, 0, 1)


def test_a_producer_is_still_known_when_its_records_are_gone():
    log = logs.delete_records(open_at_0(), 4)
    assert not log.batches
    following = Batch(4, (DataRecord("x"),), 9, 0, 2, True)
    assert error_of(
        logs.check_client_batch(log, following, RULES, verified=True, origin_client=True)
    ) is (Errors.NONE)
    gap = following.but(base_sequence=3)
    assert error_of(
        logs.check_client_batch(log, gap, RULES, verified=True, origin_client=True)
    ) is (Errors.OUT_OF_ORDER_SEQUENCE_NUMBER)


@pytest.mark.parametrize("up_to", [1, 2, 3, 4])
def test_the_next_leader_knows_the_same_as_the_one_before(up_to):
    log = logs.delete_records(open_at_0(), up_to)
    longer = put(log, 9, 2)
    again = logs.rebuild(longer)
    assert again.producers == log.producers
    assert (again.open, again.start_offset, again.end_offset) == (log.open, up_to, log.end_offset)


def test_a_transaction_whose_first_records_are_gone_still_ends_with_its_marker():
    log = logs.delete_records(open_at_0(), 1)
    log = logs.replicate(put(log, 9, -1, COMMIT, 1))
    assert (log.open, log.last_stable_offset) == ((), 5)
    twice = logs.delete_records(logs.delete_records(open_at_0(), 1), 2)
    assert twice == logs.delete_records(open_at_0(), 2)


def test_an_aborted_transaction_is_forgotten_with_its_marker():
    log = open_at_0()
    assert len(logs.delete_records(log, 2).aborted) == 1
    assert len(logs.delete_records(log, 3).aborted) == 0


def test_the_oldest_batch_below_the_high_watermark_can_be_deleted_in_a_cluster():
    model = model_of(small_spec("share", budget=FaultBudget(delete_records=5)))
    world = model.initial()
    action = DeleteRecords("src-0")
    assert action in model.enabled(world)
    assert script_name(world, action) == "the oldest batch of src-0 is deleted"
    outcome = model.step(world, action)
    assert outcome.events == (LogPruned("src-0", 100, 101),)
    for _ in range(3):
        outcome = model.step(outcome.world, action)
    assert "no batch below" in model.why_not(outcome.world, action)
    internal = DeleteRecords(next(p for p in world.logs if p.startswith("__")))
    assert "is not a partition of a user's topic" in model.why_not(world, internal)


def test_a_new_group_begins_where_the_log_does_now():
    spec = small_spec(
        "share", program=SHARE_LOOP, budget=FaultBudget(delete_records=2, move_leader=1)
    )
    model = model_of(spec)
    trace = Trace.start(model, ())
    for instruction in ("app-1 goes on", "quiet", "app-1 goes on", "app-1 goes on"):
        trace = follow(trace, model, instruction, "")
    for _ in range(2):
        trace = trace.take(DeleteRecords("src-0"))
    assert not shares_of(trace.world)
    trace = follow(trace, model, "quiet", "")
    (share,) = shares_of(trace.world)
    assert (share.start_offset, [*share.records]) == (102, [102, 103])
    trace = trace.take(MoveLeader("src-0", 3))
    assert trace.world.logs["src-0"].start_offset == 102


@pytest.mark.parametrize(
    ("program", "becomes"), [(SHARE_LOOP, "ACKNOWLEDGED"), (SHARE_ABORT, "ARCHIVED")]
)
def test_a_record_that_is_deleted_while_it_is_staged_is_delivered_to_nobody(program, becomes):
    """Finding X17: the start offset passes the transactional acknowledgement, and its outcome comes all the same."""
    budget = FaultBudget(delete_records=2)
    model = model_of(small_spec("share", program=program, max_records=1, budget=budget))
    trace = Trace.start(model, ())
    for instruction in ("app-1 goes on", "quiet") * 7:
        trace = follow(trace, model, instruction, "")
    for _ in range(2):
        trace = trace.take(DeleteRecords("src-0"))
    (share,) = shares_of(trace.world)
    assert share.start_offset == FIRST_OFFSET  # nobody has read in front of the log
    for instruction in ("app-1 goes on", "quiet") * 3:
        trace = follow(trace, model, instruction, "")
    (share,) = shares_of(trace.world)
    assert (share.start_offset, share.records[FIRST_OFFSET].state) == (
        FIRST_OFFSET + 2,
        RecordState.TX_PENDING,
    )
    for instruction in ("maybe B5 refreshes src-0", "quiet"):
        trace = follow(trace, model, instruction, "")
    events = (e for node in trace.line for e in trace.node(node).events)
    moves = [
        e.after.name for e in events if isinstance(e, RecordsMoved) and e.first == FIRST_OFFSET
    ]
    assert moves[-1] == becomes


@pytest.mark.parametrize("flow", ["share", "group"])
@pytest.mark.parametrize("replication", ["instant", "stepwise"])
def test_what_holds_in_every_world_holds_when_records_are_deleted(flow, replication):
    budget = EVERYTHING.but(delete_records=3)
    spec = small_spec(flow, replication=replication, budget=budget)
    for seed in range(4):
        for step, (before, action, outcome) in enumerate(steps_of(model_of(spec), seed, 150)):
            wrong = wrong_in(outcome.world) + wrong_between(before, outcome.world)
            assert not wrong, (seed, step, action, wrong)


def test_a_record_that_is_deleted_while_a_member_holds_it_is_gone_when_somebody_reads_it():
    """Its lock ends, it is free, and only the fetch that reads it finds that the log begins behind it."""
    budget = FaultBudget(delete_records=1, expire_lock=1)
    model = model_of(small_spec("share", program=SHARE_LOOP, max_records=1, budget=budget))
    trace = Trace.start(model, ())
    for instruction in ("app-1 goes on", "quiet") * 4:
        trace = follow(trace, model, instruction, "")
    trace = trace.take(DeleteRecords("src-0"))
    (share,) = shares_of(trace.world)
    held = share.records[FIRST_OFFSET]
    assert (share.start_offset, held.state) == (FIRST_OFFSET, RecordState.ACQUIRED)
    trace = follow(trace, model, "the lock of src-0@100 runs out", "")
    trace = follow(trace, model, "quiet", "")
    (share,) = shares_of(trace.world)
    assert share_acquiring.next_fetch_offset(share) == FIRST_OFFSET
    assert share.records[FIRST_OFFSET].state is RecordState.AVAILABLE
    asks = fetches("M1", 1, "src-0", 1)
    assert share_acquiring.catch_records(share, asks, model.context(trace.world, 5)).too_early
