"""One WriteTxnMarkers about several transactions: each has its own results, and is sent again by itself."""

from __future__ import annotations

import pytest

from kipviz.brokers.transactions import marker_requests
from kipviz.brokers.transactions import transaction_coordinator as tc
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    EndTxn,
    InitProducerId,
    PartitionResult,
    TxnMarkerResult,
    TxnPartitions,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)
from kipviz.records.transaction_state import TransactionState

HOME = "__transaction_state-0"
S = TransactionState


@pytest.fixture
def desk():
    """Two transactions whose markers are on the way."""
    made = Desk(tc, TransactionCoordinator(HOME, 2), leaders={HOME: 1, "out-0": 3})
    for number, name in enumerate(("t", "u")):
        made.ask(tc.on_init_producer_id, InitProducerId(name))
        made.ask(
            tc.on_add_partitions,
            AddPartitionsToTxn((TxnPartitions(name, 9 + number, 0, ("out-0",)),)),
        )
        made.ask(tc.on_end_txn, EndTxn(name, 9 + number, 0, True))
    return made


def states(desk):
    return {name: known.state for name, known in desk.role.transactions.items()}


@pytest.mark.parametrize(
    ("error", "left"),
    [(Errors.NONE, S.COMPLETE_COMMIT), (Errors.NOT_LEADER_OR_FOLLOWER, S.PREPARE_COMMIT)],
)
def test_each_transaction_takes_its_own_results(desk, error, left):
    assert states(desk) == {"t": S.PREPARE_COMMIT, "u": S.PREPARE_COMMIT}
    answer = WriteTxnMarkersResponse(
        (
            TxnMarkerResult(9, (PartitionResult("out-0", Errors.NONE),)),
            TxnMarkerResult(10, (PartitionResult("out-0", error),)),
        )
    )
    tag = desk.requests[0].tag
    desk.do(marker_requests.on_markers_answered(desk.role, answer, tag, desk.on))
    assert states(desk) == {"t": S.COMPLETE_COMMIT, "u": left}


def test_markers_of_both_are_sent_again_when_their_connection_breaks(desk):
    first = desk.requests[0].tag
    asked = [marker for r in desk.requests for marker in r.message.markers]
    together = WriteTxnMarkers(tuple(asked))
    done = marker_requests.on_markers_lost(desk.role, together, first, desk.on)
    sent = [part for r in done.requests for part in r.message.markers]
    assert [(m.producer_id, m.partitions) for m in sent] == [(9, ("out-0",)), (10, ("out-0",))]


def test_the_first_transaction_of_an_answer_is_the_one_that_its_tag_names(desk):
    """TransactionMarkerRequestCompletionHandler finds a transaction by its id, whichever producer id it has now."""
    known = desk.role.transactions["t"].but(producer_id=12)
    desk.role = desk.role.but(transactions=desk.role.transactions.set("t", known))
    result = TxnMarkerResult(9, (PartitionResult("out-0", Errors.NONE),))
    answer = WriteTxnMarkersResponse((result,))
    tag = desk.requests[0].tag
    desk.do(marker_requests.on_markers_answered(desk.role, answer, tag, desk.on))
    assert states(desk) == {"t": S.COMPLETE_COMMIT, "u": S.PREPARE_COMMIT}
