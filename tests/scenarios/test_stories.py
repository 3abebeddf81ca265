"""What the stories show, read from logs and events and not from the verdicts."""

from __future__ import annotations

import pytest

from kipviz.messages.events import (
    CallReturned,
    MessageDelivered,
    OffsetResolved,
    OffsetStaged,
    RecordsMoved,
    TransactionDecided,
    TransactionMoved,
)
from kipviz.messages.transactions.transactions import EndTxnResponse, WriteTxnMarkersResponse
from kipviz.records.share_group_state import RecordState
from kipviz.records.transaction_state import TransactionRecord, TransactionState
from tests.scenarios.story import (
    after,
    committed_outputs,
    first_step,
    markers,
    nodes,
    play_once,
    states_of,
)

SHARE, GROUP = "kip-1289-share-commit", "kip-1289-group-commit"
LOCK = "kip-1289-lock-expiry"
BOTH = pytest.mark.parametrize("story", [SHARE, GROUP])
COORDINATOR = "__transaction_state-45"
ACQUIRED, PENDING = RecordState.ACQUIRED, RecordState.TX_PENDING
ACKNOWLEDGED, AVAILABLE = RecordState.ACKNOWLEDGED, RecordState.AVAILABLE


# -- what commitTransaction() waits for --------------------------------------------------------


@BOTH
def test_commit_transaction_has_waited_for_a_durable_prepare_commit(story: str) -> None:
    trace, _ = play_once(story, "repaired")
    returned = first_step(trace, CallReturned, call="commitTransaction", raised="")
    log = nodes(trace)[returned].world.logs[COORDINATOR]
    last = log.batches[-1]
    (record,) = last.records
    assert isinstance(record, TransactionRecord)
    assert record.state is TransactionState.PREPARE_COMMIT
    assert last.last_offset < log.high_watermark


@BOTH
def test_commit_transaction_has_not_waited_for_any_marker(story: str) -> None:
    trace, _ = play_once(story, "repaired")
    returned = first_step(trace, CallReturned, call="commitTransaction")
    assert markers(nodes(trace)[returned].world) == {}
    completed = first_step(trace, TransactionMoved, after=TransactionState.COMPLETE_COMMIT)
    assert returned < completed
    answers = [
        step
        for step, node in enumerate(nodes(trace))
        for event in node.events
        if isinstance(event, MessageDelivered) and isinstance(event.message, EndTxnResponse)
    ]
    assert answers == [returned - 1]


@BOTH
def test_the_transaction_is_complete_only_after_every_participant_has_its_marker(
    story: str,
) -> None:
    trace, _ = play_once(story, "repaired")
    completed = first_step(trace, TransactionMoved, after=TransactionState.COMPLETE_COMMIT)
    side = "__share_group_state-16" if story == SHARE else "__consumer_offsets-7"
    assert markers(nodes(trace)[completed].world) == {"output-A-0": ["COMMIT"], side: ["COMMIT"]}
    answers = [
        event
        for node in nodes(trace)[: completed + 1]
        for event in node.events
        if isinstance(event, MessageDelivered)
        and isinstance(event.message, WriteTxnMarkersResponse)
    ]
    assert len(answers) == 2


def test_the_participants_of_the_share_flow_are_the_output_and_the_partition_of_the_state() -> None:
    trace, _ = play_once(SHARE, "repaired")
    decided = first_step(trace, TransactionMoved, after=TransactionState.PREPARE_COMMIT)
    (event,) = [e for e in nodes(trace)[decided].events if isinstance(e, TransactionMoved)]
    assert event.partitions == ("__share_group_state-16", "output-A-0")


@BOTH
def test_the_last_stable_offset_waits_for_the_marker_and_the_high_watermark_does_not(
    story: str,
) -> None:
    output = "marker in output-A-0" if story == GROUP else "COMMIT marker in output-A-0"

    def marks(title: str) -> tuple[int, int, int]:
        log = after(story, "repaired", title).logs["output-A-0"]
        return (log.last_stable_offset, log.high_watermark, log.end_offset)

    assert marks('producer.send("output-A", record)') == (0, 2, 2)
    assert marks("commitTransaction() returns") == (0, 2, 2)
    assert marks(output) == (3, 3, 3)


# -- what becomes of the records ---------------------------------------------------------------


@pytest.mark.parametrize("offset", [100, 101])
def test_under_the_repaired_design_a_record_is_acknowledged_with_its_transaction(
    offset: int,
) -> None:
    trace, _ = play_once(SHARE, "repaired")
    assert states_of(trace, offset) == [ACQUIRED, PENDING, ACKNOWLEDGED]
    assert committed_outputs(trace.world) == {"src-0@100": 1, "src-0@101": 1}


@pytest.mark.parametrize("offset", [100, 101])
def test_under_finding_i_a_record_stays_pending_after_everything_is_complete(offset: int) -> None:
    trace, _ = play_once(SHARE, "finding-I")
    assert states_of(trace, offset) == [ACQUIRED, PENDING]
    completed = first_step(trace, TransactionMoved, after=TransactionState.COMPLETE_COMMIT)
    assert completed < trace.depth
    assert committed_outputs(trace.world) == {"src-0@100": 1, "src-0@101": 1}


def test_under_finding_d_the_lock_frees_a_record_between_the_decision_and_the_marker() -> None:
    trace, _ = play_once(LOCK, "finding-D")
    decided = first_step(trace, TransactionDecided, committed=True)
    freed = first_step(trace, RecordsMoved, after=AVAILABLE)
    assert decided < freed
    assert markers(nodes(trace)[freed].world) == {}
    (again, *_) = [
        step
        for step, node in enumerate(nodes(trace))
        for event in node.events
        if isinstance(event, RecordsMoved) and event.after is ACQUIRED and event.delivery_count == 2
    ]
    assert freed < again
    assert markers(nodes(trace)[again].world) == {}


def test_under_finding_d_one_record_ends_with_two_committed_outputs() -> None:
    trace, _ = play_once(LOCK, "finding-D")
    assert states_of(trace, 100) == [ACQUIRED, PENDING, AVAILABLE, ACQUIRED, PENDING]
    assert committed_outputs(trace.world) == {"src-0@100": 2}


def test_under_the_repaired_design_the_lock_of_a_staged_record_does_not_run_out() -> None:
    trace, chapters = play_once(LOCK, "repaired")
    (expiry,) = [c for c in chapters if c.title == "The lock expires"]
    assert expiry.first == expiry.end
    assert AVAILABLE not in states_of(trace, 100)
    assert committed_outputs(trace.world) == {"src-0@100": 1}


# -- aborts ------------------------------------------------------------------------------------


def test_after_an_abort_the_records_come_again_with_a_higher_delivery_count() -> None:
    trace, _ = play_once("kip-1289-share-abort", "repaired")
    for offset in (100, 101):
        assert states_of(trace, offset) == [ACQUIRED, PENDING, AVAILABLE, ACQUIRED]
    last = [e for e in nodes(trace) for e in e.events if isinstance(e, RecordsMoved)][-1]
    assert last.delivery_count == 2
    assert committed_outputs(trace.world) == {}
    assert markers(trace.world)["output-A-0"] == ["ABORT"]


def test_a_committed_group_offset_is_pending_until_its_marker() -> None:
    trace, _ = play_once(GROUP, "repaired")
    staged = first_step(trace, OffsetStaged, offset=102)
    resolved = first_step(trace, OffsetResolved, offset=102, committed=True)
    decided = first_step(trace, TransactionDecided, committed=True)
    assert staged < decided < resolved
    assert markers(nodes(trace)[resolved].world)["__consumer_offsets-7"] == ["COMMIT"]


def test_an_aborted_group_offset_is_dropped_and_the_group_reads_the_same_again() -> None:
    trace, _ = play_once("kip-1289-group-abort", "repaired")
    first_step(trace, OffsetResolved, offset=102, committed=False)
    assert committed_outputs(trace.world) == {}
    delivered = [
        [record.offset for record in node.world.applications["app-1"].consumer.records]
        for node in nodes(trace)
    ]
    assert [d for d, before in zip(delivered[1:], delivered, strict=False) if d and not before] == [
        [100, 101],
        [100, 101],
    ]
