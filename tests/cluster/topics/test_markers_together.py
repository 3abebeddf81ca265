"""Markers of several transactions in one request: each has results of its own, on the wire and at both ends."""

from __future__ import annotations

import pytest

from kipviz.brokers import kafka_apis as apis
from kipviz.brokers.context import Effects, MarkersOf, ReplyTo, Request
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.local_calls import MarkerWritten, WriteMarker
from kipviz.brokers.transactions import marker_requests as markers
from kipviz.brokers.transactions import transaction_coordinator as tc
from kipviz.brokers.transactions.transaction_append import merge_markers
from kipviz.brokers.transactions.transaction_metadata import TransactionMetadata
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.cluster import rejections, topic_authorization
from kipviz.cluster.world import Envelope
from kipviz.core.table import Table
from kipviz.core.values import fingerprint
from kipviz.driving.desk import Desk
from kipviz.messages.apis.api import Role
from kipviz.messages.errors import Errors
from kipviz.messages.events import MessageSent
from kipviz.messages.transactions.transactions import (
    PartitionResult,
    TxnMarker,
    TxnMarkerResult,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)
from kipviz.records.transaction_state import TransactionState
from tests.scenarios.story import nodes, play_once

S = TransactionState
HOME = "__transaction_state-0"
ONE, OTHER = (
    TxnMarker(9, 1, True, ("out-0",), 2),
    TxnMarker(10, 1, False, ("out-0",), 2),
)
BOTH = WriteTxnMarkers((ONE, OTHER))
TO = ReplyTo("B7/markers", 1, 0)
REFUSED = Errors.INVALID_PRODUCER_EPOCH


def answer(first: Errors, second: Errors) -> WriteTxnMarkersResponse:
    results = (
        TxnMarkerResult(pid, (PartitionResult("out-0", error),))
        for pid, error in ((9, first), (10, second))
    )
    return WriteTxnMarkersResponse(tuple(results))


@pytest.fixture
def desk():
    decided = (
        TransactionMetadata(
            name, pid, 1, S.PREPARE_COMMIT, S.COMPLETE_COMMIT, partitions=("out-0",)
        )
        for name, pid in (("t", 9), ("u", 10))
    )
    known = Table.of({each.transactional_id: each for each in decided})
    role = TransactionCoordinator(HOME, 2, transactions=known)
    return Desk(tc, role, leaders={HOME: 1, "out-0": 3})


def states(desk: Desk) -> dict[str, TransactionState]:
    return {name: t.state for name, t in desk.role.transactions.items()}


def test_a_new_coordinator_sends_all_markers_for_one_broker_in_one_request():
    trace, _ = play_once("kip-98-markers-together", "kafka")
    sent = [e.message for n in nodes(trace) for e in n.events if isinstance(e, MessageSent)]
    asked = [m for m in sent if isinstance(m, WriteTxnMarkers)]
    assert [len(m.markers) for m in asked] == [1, 1, 2]
    (told,) = [m for m in sent if isinstance(m, WriteTxnMarkersResponse)]
    assert [each.producer_id for each in told.markers] == [
        each.producer_id for each in asked[-1].markers
    ]
    log = trace.node(trace.line[-1]).world.logs["output-A-0"]
    assert [b.producer_id for b in log.batches if b.control] == [9, 10]


def test_only_what_goes_to_one_broker_goes_together():
    def to(broker: int, *those: TxnMarker) -> Request:
        tag = MarkersOf(2, str(those[0].producer_id))
        message = WriteTxnMarkers(those)
        return Request("markers", broker, message, Role.TRANSACTION_COORDINATOR, HOME, tag)

    asked = (to(3, ONE), to(5, ONE), to(3, OTHER))
    assert merge_markers(Effects(None, requests=asked)).requests == (to(3, ONE, OTHER), to(5, ONE))


def test_the_results_of_each_transaction_are_its_own(desk):
    done = markers.on_markers_answered(
        desk.role, answer(Errors.NONE, Errors.NOT_LEADER_OR_FOLLOWER), MarkersOf(2, "t"), desk.on
    )
    desk.do(done)
    assert states(desk) == {"t": S.COMPLETE_COMMIT, "u": S.PREPARE_COMMIT}
    (again,) = desk.requests
    assert ([m.producer_id for m in again.message.markers], again.tag) == ([10], MarkersOf(2, "u"))


@pytest.mark.parametrize("lost", [BOTH, answer(Errors.NONE, Errors.NONE)])
def test_a_lost_request_or_answer_is_sent_again_for_all_in_one(desk, lost):
    desk.do(markers.on_markers_lost(desk.role, lost, MarkersOf(2, "t"), desk.on))
    (again,) = desk.requests
    assert [each.producer_id for each in again.message.markers] == [9, 10]


def test_a_transaction_that_is_forgotten_meanwhile_is_nobodys(desk):
    desk.role = desk.role.but(transactions=desk.role.transactions.without("u"))
    desk.do(
        markers.on_markers_answered(
            desk.role, answer(Errors.NONE, Errors.NONE), MarkersOf(2, "t"), desk.on
        )
    )
    assert states(desk) == {"t": S.COMPLETE_COMMIT}


def test_a_broker_tells_two_markers_of_one_partition_apart():
    desk = Desk(apis, KafkaApis(), leaders={"out-0": 1})
    desk.do(apis.on_write_txn_markers(desk.role, BOTH, TO, desk.on))
    first, second = [call.message for call in desk.local]
    assert isinstance(first, WriteMarker)
    assert first.ticket != second.ticket
    desk.do(
        apis.on_marker_written(desk.role, MarkerWritten(second.ticket, "out-0", REFUSED), desk.on)
    )
    desk.do(
        apis.on_marker_written(
            desk.role, MarkerWritten(first.ticket, "out-0", Errors.NONE), desk.on
        )
    )
    serving, whole = Envelope(BOTH), None
    for _, part in desk.replies:
        assert whole is None
        serving, whole = topic_authorization.collect_part(serving, part)
    assert whole == answer(Errors.NONE, REFUSED)
    assert not desk.role.pending


def test_a_request_that_is_refused_as_a_whole_is_answered_for_each_transaction():
    told = rejections.reject_request(BOTH, Errors.UNSUPPORTED_VERSION)
    assert told == answer(Errors.UNSUPPORTED_VERSION, Errors.UNSUPPORTED_VERSION)
    assert topic_authorization.collect_part(Envelope(BOTH), told) == (Envelope(BOTH), told)


def test_the_tag_of_markers_is_stored_as_its_text() -> None:
    assert fingerprint(MarkersOf(2, "my txn")) == fingerprint("2 my txn")
