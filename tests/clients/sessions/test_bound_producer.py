"""A producer that is bound to a session: what its process keeps of it, and what it borrows (KIP-1310, draft)."""

from __future__ import annotations

import msgspec
import pytest

from kipviz.clients.application import Call, Line
from kipviz.clients.sending import producer as p
from kipviz.clients.sending import sender
from kipviz.clients.sending.awaited_topics import KnownTopics
from kipviz.clients.sending.outgoing import OutgoingBatch
from kipviz.clients.sending.producer import Producer
from kipviz.clients.sending.record_accumulator import RecordAccumulator
from kipviz.clients.sessions.bound_producer import (
    BoundProducer,
    Failed,
    Lookup,
    Reported,
    borrow,
    give_back,
    restart_bound,
)
from kipviz.clients.settling import settle
from kipviz.clients.throwing.client_errors import request_error
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.clients.transactions.transaction_manager import TransactionManager
from kipviz.messages.cluster.metadata import Metadata, MetadataResponse, TopicId
from kipviz.messages.errors import Errors
from kipviz.messages.logs.producing import PartitionProduceResponse, Produce, ProduceResponse
from kipviz.records.batches import DataRecord
from tests.clients.parts import change
from tests.clients.sessions.test_transaction_session import (
    LOOP,
    REPAIRED,
    WRITTEN,
    answer_next,
    initialize,
    on_session,
    sent_one,
    step,
)

S = ProducerState
NAME = "app-1/producer"
SENT = OutgoingBatch("out-0", (DataRecord("a"),), 0, 1, sent=True)
OPEN = TransactionManager("t", state=S.IN_TRANSACTION, producer_id=9, producer_epoch=4)
FAILED = request_error(Produce, Errors.INVALID_TXN_STATE)
FENCED = request_error(Produce, Errors.PRODUCER_FENCED)
REFUSED = ProduceResponse((PartitionProduceResponse("out-0", Errors.INVALID_TXN_STATE),))


def managers_in(value):
    """The transaction managers that a value contains."""
    if isinstance(value, TransactionManager):
        return [value]
    if isinstance(value, msgspec.Struct):
        return managers_in(tuple(getattr(value, name) for name in value.__struct_fields__))
    if isinstance(value, tuple):
        return [found for item in value for found in managers_in(item)]
    return managers_in(value.values()) if hasattr(value, "values") else []


def test_a_process_with_a_session_has_one_transaction_manager_and_the_session_holds_it() -> None:
    me = sent_one()
    assert managers_in(me) == [me.session.manager]
    _, me = answer_next(me, NAME, REFUSED, WRITTEN)
    assert managers_in(me) == [me.session.manager]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"identity": (9, 3)},
        {"failed": Failed(S.ABORTABLE_ERROR, FAILED)},
        {"reported": Reported(started=True, to_add=("out-1",), bump=True)},
        {"metadata": KnownTopics(True, held=(("out-0", (DataRecord("a"),)),))},
        {"lookup": Lookup(on_wire=Metadata(("out",)), on_wire_broker=3)},
        {"accumulator": RecordAccumulator((SENT,)), "heartbeat_interval_ms": 5},
    ],
)
def test_what_a_producer_borrowed_and_did_not_change_leaves_it_as_it_was(changes) -> None:
    me = BoundProducer(NAME).but(**changes)
    assert give_back(borrow(me, OPEN), OPEN) == me


def test_a_bound_producer_reads_the_state_of_its_session_and_has_its_own_identity() -> None:
    for manager in (OPEN, OPEN.but(state=S.ABORTING_TRANSACTION, version=1)):
        lent = borrow(BoundProducer(NAME, identity=(9, 3)), manager).manager
        assert (lent.state, lent.version) == (manager.state, manager.version)
        assert (lent.transactional_id, lent.identity) == ("t", (9, 3))
    failed = BoundProducer(NAME, failed=Failed(S.FATAL_ERROR, FENCED))
    producer = borrow(failed, OPEN)
    assert (producer.state_name, producer.error) == ("FATAL_ERROR", FENCED)


def test_below_version_2_it_sends_to_what_its_session_has_added_or_is_not_adding() -> None:
    waiting = OutgoingBatch("out-0", (DataRecord("a"),))
    me = BoundProducer(NAME, RecordAccumulator((waiting,)), identity=(9, 4))
    below = OPEN.but(version=1)
    asked = below.but(to_add=("out-0",))
    added = below.but(partitions=("out-0",))
    for manager, sends in ((asked, False), (added, True), (below, True)):
        assert isinstance(p.next_request(borrow(me, manager)), Produce) is sends


def test_the_own_failure_of_a_producer_lasts_until_its_session_has_ended() -> None:
    _, me = answer_next(sent_one(WRITTEN), NAME, REFUSED, WRITTEN)
    assert me.own_producer.failed == Failed(S.ABORTABLE_ERROR, FAILED)
    assert me.session.state_name == "IN_TRANSACTION"
    ended = me.with_client(change(me.session, state=S.READY))
    _, again = answer_next(sent_one(REPAIRED), NAME, REFUSED, REPAIRED)
    assert again.own_producer.failed is None
    assert (again.session.state_name, again.producer.state_name) == ("ABORTABLE_ERROR",) * 2
    assert settle(ended, WRITTEN).own_producer.failed is None


def test_an_abort_that_needs_no_request_ends_a_transaction_whose_batch_expired() -> None:
    """The failure is heard once: after the abort the session does not fail again with it."""
    end = on_session(Call.ABORT_TRANSACTION)
    me = initialize(*LOOP[:2], Line("send", Call.SEND, on_error=4), end)
    me = me.with_client(change(me.session, version=1, finalized=1))
    for _ in range(2):
        me, _ = step(me)
    me = settle(me.with_client(sender.fail_expired(me.producer)), REPAIRED)
    assert me.session.state_name == "ABORTABLE_ERROR"
    me, raised = step(me)
    assert raised == ["Produce: REQUEST_TIMED_OUT"]
    me, _ = step(me)
    assert (me.session.state_name, me.session.error) == ("INITIALIZING", "")


def test_a_failure_of_the_session_alone_is_not_one_of_its_producers() -> None:
    me = sent_one(WRITTEN)
    failed = change(me.session, state=S.ABORTABLE_ERROR, error=FENCED)
    me = settle(me.with_client(failed), WRITTEN)
    assert (me.own_producer.failed, me.producer.error) == (None, FENCED)
    me = settle(me.with_client(change(me.session, state=S.ABORTING_TRANSACTION)), WRITTEN)
    assert me.producer.state_name == "ABORTING_TRANSACTION"


def test_a_bound_producer_looks_up_a_topic_by_itself() -> None:
    me = initialize(*LOOP)
    waits = me.own_producer.but(metadata=KnownTopics(looks_up=True))
    me, _ = step(me.with_client(waits))
    me, raised = step(me)
    assert (raised, p.send_waits(me.producer), me.session.on_wire) == ([], True, None)
    request, me = answer_next(me, NAME, MetadataResponse(Errors.NONE, (TopicId("out", "id"),)))
    assert request == Metadata(("out",))
    me, raised = step(me)
    assert (raised, len(me.producer.accumulator.batches)) == ([""], 1)


def test_the_producer_of_the_next_life_knows_only_its_settings() -> None:
    me = BoundProducer(NAME, RecordAccumulator((SENT,), buffer=2), identity=(9, 4))
    assert restart_bound(me) == BoundProducer(NAME, RecordAccumulator(buffer=2))
    assert isinstance(borrow(restart_bound(me), OPEN), Producer)
