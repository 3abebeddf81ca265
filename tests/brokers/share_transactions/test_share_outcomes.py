"""A marker whose outcome for a transactional acknowledgement in memory has to become durable (slot outcome_write)."""

from __future__ import annotations

from kipviz.brokers.share_leaders.share_partition import ShareLeader, SharePartition
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.cluster.model import ClusterModel
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.messages.errors import Errors
from kipviz.messages.events import MessageSent
from kipviz.messages.transactions.transactions import WriteTxnMarkersResponse
from kipviz.records.share_group_state import RecordState
from kipviz.records.transaction_state import TransactionState
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import PROPERTIES
from kipviz.scenarios.script import follow

STORY = searched_scenario("kip-1289-small-lost-outcome")
WRITTEN, DRAFT = "finding-X43", "pull-request-22357"
LOST = "B5/persister loses B7"
KEY = "src-0@100"


def at_the_marker(name: str) -> tuple[ClusterModel, Trace]:
    model = STORY.model(design(name))
    trace = Trace.start(model, PROPERTIES)
    for beat in STORY.beats[:9]:
        for step in beat.steps:
            trace = follow(trace, model, step, beat.title)
    return model, trace


def share_of(trace: Trace) -> SharePartition:
    (share,) = (
        share
        for role in trace.world.roles.values()
        if isinstance(role, ShareLeader)
        for share in role.shares.values()
    )
    return share


def state_of(trace: Trace) -> RecordState | None:
    record = share_of(trace).records.get(100)
    return record.state if record is not None else None


def transaction(trace: Trace) -> TransactionState:
    (known,) = (
        known
        for role in trace.world.roles.values()
        if isinstance(role, TransactionCoordinator)
        for known in role.transactions.values()
    )
    return known.state


def marker_answers(trace: Trace) -> list[Errors]:
    return [
        result.error
        for number in trace.line
        for event in trace.node(number).events
        if isinstance(event, MessageSent)
        and isinstance(event.message, WriteTxnMarkersResponse)
        and event.broker == 5
        for result in event.message.results
    ]


def lose(model: ClusterModel, trace: Trace, times: int) -> Trace:
    for _ in range(times):
        trace = follow(trace, model, LOST, "the write is lost")
    return trace


def test_as_written_the_start_offset_moves_and_the_marker_is_answered_before_anything_is_durable() -> (
    None
):
    _, trace = at_the_marker(WRITTEN)
    assert state_of(trace) is None  # behind the SPSO already
    assert share_of(trace).start_offset == 101
    assert marker_answers(trace) == [Errors.NONE]


def test_in_the_draft_the_record_stays_tx_pending_and_the_marker_waits_for_the_write() -> None:
    model, trace = at_the_marker(DRAFT)
    assert state_of(trace) is RecordState.TX_PENDING
    assert share_of(trace).start_offset == 100
    assert marker_answers(trace) == []
    trace = follow(
        trace,
        model,
        "until WriteShareGroupStateResponse from B7 arrives at B5/persister",
        "written",
    )
    assert share_of(trace).start_offset == 101
    assert marker_answers(trace) == [Errors.NONE]


def test_a_write_that_fails_fails_the_marker_and_leaves_the_transactional_acknowledgement_for_the_next_one() -> (
    None
):
    model, trace = at_the_marker(DRAFT)
    trace = lose(model, trace, 4)
    assert marker_answers(trace) == []
    trace = lose(model, trace, 1)
    assert marker_answers(trace) == [Errors.NOT_LEADER_OR_FOLLOWER]
    assert state_of(trace) is RecordState.TX_PENDING
    assert not share_of(trace).records[100].ongoing
    assert transaction(trace) is TransactionState.PREPARE_COMMIT
    trace = follow(trace, model, "quiet", "sent again")
    assert marker_answers(trace) == [Errors.NOT_LEADER_OR_FOLLOWER, Errors.NONE]
    assert transaction(trace) is TransactionState.COMPLETE_COMMIT
    assert share_of(trace).start_offset == 101


def test_a_marker_that_is_sent_again_waits_for_the_write_that_is_under_way() -> None:
    model, trace = at_the_marker(DRAFT)
    model = STORY.model(design(DRAFT), STORY.spec.budget.but(lose_connection=1))
    trace = follow(trace, model, "B1/markers loses B5", "the coordinator asks again")
    trace = follow(trace, model, "WriteTxnMarkers arrives at B5", "once more")
    assert marker_answers(trace) == []
    assert len(share_of(trace).writes) == 1
    trace = follow(trace, model, "quiet", "written")
    assert marker_answers(trace) == [Errors.NONE]
    assert share_of(trace).start_offset == 101


def test_as_written_a_failed_write_duplicates_the_record_and_in_the_draft_it_does_not() -> None:
    kept = {}
    for name in (WRITTEN, DRAFT):
        trace, _ = STORY.play(design(name))
        kept[name] = PROPERTIES[0].finding(trace.observations[0]).status
    assert kept == {WRITTEN: "broken", DRAFT: kept[DRAFT]}
    assert kept[DRAFT] != "broken"


def test_the_repaired_design_has_no_transactional_acknowledgement_in_memory_to_lose() -> None:
    trace, _ = STORY.play(design("repaired"))
    assert PROPERTIES[0].finding(trace.observations[0]).status != "broken"
    assert transaction(trace) is TransactionState.COMPLETE_COMMIT
