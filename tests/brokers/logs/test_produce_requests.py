"""A Produce request for several partitions: who is asked, who waits, and what each partition answers."""

from __future__ import annotations

import pytest

from kipviz.brokers.context import ReplyTo
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.local_calls import AppendPart, Enlisted, PartVerified, WriteMarker
from kipviz.brokers.logs import partition_leader as pl
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.brokers.logs.requests import produce_requests as several
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.logs.producing import (
    PartitionProduceData,
    PartitionProduceResponse,
    Produce,
    ProduceResponse,
)
from kipviz.messages.message_errors import error_in
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    PartitionResult,
    TxnPartitions,
    TxnPartitionsResult,
)
from kipviz.records.batches import DataRecord
from kipviz.records.placement import partition_for
from tests.brokers.coordinator_answers import answer_of, with_tag

A, B, C = "output-A-0", "output-A-1", "output-A-2"
HOME = f"__transaction_state-{partition_for('t', 50)}"
WHO = ReplyTo("app-1/producer", 1, 0)
BOTH = (A, B)


def batch(partition: str, epoch: int = 0, first: int = 0) -> PartitionProduceData:
    return PartitionProduceData(partition, 9, epoch, first, (DataRecord(partition),))


def produce(*batches: PartitionProduceData, name: str = "t", version: int = 13) -> Produce:
    return Produce(name, batches, version)


def alone(partition: str, epoch: int = 0, first: int = 0, version: int = 13) -> Produce:
    return produce(batch(partition, epoch, first), version=version)


@pytest.fixture
def front():
    return Desk(several, KafkaApis(), leaders={A: 1, B: 1, C: 3, HOME: 7})


def leader(partition: str) -> Desk:
    return Desk(pl, PartitionLeader(partition, 0), leaders={partition: 1, HOME: 7})


def ask(front: Desk, *batches: PartitionProduceData, name: str = "t", version: int = 13) -> None:
    request = produce(*batches, name=name, version=version)
    front.do(several.on_produce(front.role, request, WHO, front.on))


def calls(front: Desk) -> list[tuple[str, object]]:
    return [(call.shard, call.message) for call in front.local]


def verdicts(front: Desk) -> dict[str, Errors]:
    return {call.shard: call.message.error for call in front.local if _is_verdict(call.message)}


def _is_verdict(message: object) -> bool:
    return isinstance(message, PartVerified)


def write(desk: Desk, message: object) -> None:
    handler = pl.on_part if isinstance(message, AppendPart) else pl.on_part_verified
    desk.do(handler(desk.role, message, desk.on))


def test_the_coordinator_is_asked_once_about_all_partitions_that_are_new(front):
    ask(front, batch(A), batch(B))
    (asked,) = front.requests
    assert (asked.broker, asked.message) == (
        7,
        AddPartitionsToTxn((TxnPartitions("t", 9, 0, BOTH),)),
    )
    assert calls(front) == [(p, AppendPart(WHO, alone(p), BOTH)) for p in BOTH]


def test_below_version_2_it_is_asked_whether_the_client_has_added_them(front):
    ask(front, batch(A), batch(B), version=11)
    assert front.requests[0].message.transactions[0].verify_only
    tag = front.requests[0].tag
    verified = (PartitionResult(A, Errors.NONE), PartitionResult(B, Errors.TRANSACTION_ABORTABLE))
    asked = front.requests[0].message.transactions[0]
    answer = Enlisted(asked, TxnPartitionsResult("t", verified))
    front.do(several.on_enlisted(front.role, with_tag(answer, tag), front.on))
    assert verdicts(front) == {A: Errors.NONE, B: Errors.TRANSACTION_ABORTABLE}


def test_a_partition_that_is_in_the_transaction_is_not_asked_about_and_waits_all_the_same(front):
    at_a = leader(A)
    write(at_a, AppendPart(WHO, alone(A)))
    front.logs[A] = at_a.logs[A]
    ask(front, batch(A, first=1), batch(B))
    assert front.requests[0].message.transactions[0].partitions == (B,)
    assert [call.question for _, call in calls(front)] == [(B,), (B,)]
    front.do(
        several.on_enlisted(
            front.role,
            with_tag(
                answer_of(front.requests[0].message.transactions[0], Errors.NETWORK_EXCEPTION),
                "app-1/producer 0",
            ),
            front.on,
        )
    )
    assert verdicts(front) == {A: Errors.NONE, B: Errors.NETWORK_EXCEPTION}
    assert front.role == KafkaApis(), "nothing is remembered"


def test_what_is_led_elsewhere_or_nowhere_is_refused_at_once_and_the_rest_goes_on(front):
    ask(front, batch(A), batch(C), batch("gone-0"))
    told = {each.partition: each.error for _, m in front.replies for each in m.partition_responses}
    assert told == {C: Errors.NOT_LEADER_OR_FOLLOWER, "gone-0": Errors.UNKNOWN_TOPIC_ID}
    assert [shard for shard, _ in calls(front)] == [A]


def test_a_batch_of_an_epoch_that_is_over_is_refused_before_anybody_is_asked(front):
    at_a = leader(A)
    write(at_a, AppendPart(WHO, alone(A, epoch=5)))
    front.logs[A] = at_a.logs[A]
    ask(front, batch(A, epoch=4), batch(B, epoch=4))
    assert [error_in(m) for _, m in front.replies] == [Errors.INVALID_PRODUCER_EPOCH]
    assert front.requests[0].message.transactions[0].partitions == (B,)


def test_without_a_coordinator_what_is_new_is_refused_and_the_rest_is_appended(front):
    front.leaders[HOME] = -1
    ask(front, batch(A), batch(B))
    assert front.requests == []
    for shard, call in calls(front):
        desk = leader(shard)
        write(desk, call)
        assert error_in(desk.last) is Errors.NOT_ENOUGH_REPLICAS


@pytest.mark.parametrize("name", ["", "t"])
def test_nobody_is_asked_about_a_producer_without_a_name_or_where_brokers_do_not_verify(name):
    front = Desk(
        several, KafkaApis(), leaders={A: 1, B: 1, HOME: 7}, partition_verification=not name
    )
    ask(front, *map(batch, BOTH), name=name, version=11)
    assert front.requests == []
    for shard, call in calls(front):
        desk = leader(shard)
        write(desk, call)
        assert desk.last == ProduceResponse((PartitionProduceResponse(shard, Errors.NONE, 0),))


def test_a_leader_goes_on_with_the_answer_unless_a_marker_came_between():
    for marked in (False, True):
        desk = leader(A)
        write(desk, AppendPart(WHO, alone(A, version=11), BOTH))
        assert desk.replies == []
        if marked:
            marker = WriteMarker(ReplyTo("B7/markers", 1, 0), A, 9, 0, False, 0, 1)
            desk.do(pl.on_write_marker(desk.role, marker, desk.on))
        write(desk, PartVerified(WHO))
        assert error_in(desk.last) is (Errors.INVALID_TXN_STATE if marked else Errors.NONE)


def test_a_leader_remembers_the_sequence_of_what_was_refused_if_it_was_asked_about():
    for question, remembered in ((BOTH, 3), ((B,), None)):
        desk = leader(A)
        write(desk, AppendPart(WHO, alone(A, first=3, version=11), question))
        write(desk, PartVerified(WHO, Errors.TRANSACTION_ABORTABLE))
        assert error_in(desk.last) is Errors.TRANSACTION_ABORTABLE
        found = [each.lowest for each in desk.role.verifications]
        assert found == ([] if remembered is None else [remembered])


def test_an_answer_is_for_nobody_where_the_leader_is_new_or_the_client_has_asked_again():
    desk = leader(A)
    write(desk, PartVerified(WHO))
    assert desk.replies == []
    write(desk, AppendPart(WHO, alone(A), BOTH))
    again = ReplyTo("app-1/producer", 1, 1)
    write(desk, AppendPart(again, alone(A), BOTH))
    write(desk, PartVerified(WHO))
    assert (desk.replies, len(desk.role.verifying)) == ([], 1)
    write(desk, PartVerified(again))
    assert (error_in(desk.last), desk.role.verifying) == (Errors.NONE, ())


def test_a_request_of_one_partition_is_its_leaders():
    desk = leader(A)
    assert desk.ask(several.on_produce, alone(A)) is None
    assert desk.requests[0].message == AddPartitionsToTxn((TxnPartitions("t", 9, 0, (A,)),))


def test_each_answer_is_for_the_client_whose_request_it_belongs_to():
    """DelayedProduce has one callback for each request, whichever arrived first."""
    desk = leader(A)
    other = ReplyTo("app-2/producer", 1, 0)
    write(desk, AppendPart(other, produce(batch(A).but(producer_id=10)), BOTH))
    write(desk, AppendPart(WHO, alone(A), BOTH))
    write(desk, PartVerified(WHO))
    assert [to for to, _ in desk.replies] == [WHO]
    assert [w.reply_to for w in desk.role.verifying] == [other]


def test_an_answer_about_several_partitions_does_not_end_a_question_about_one():
    """Two requests of one connection: the first one has asked for its own partition."""
    desk = leader(A)
    assert desk.ask(pl.on_produce, alone(A), WHO.source) is None
    write(desk, AppendPart(WHO, alone(A, first=1), BOTH))
    write(desk, PartVerified(WHO, Errors.TRANSACTION_ABORTABLE))
    assert [w.request for w in desk.role.verifying] == [alone(A)]


def test_a_refused_first_batch_of_a_producer_leaves_nothing_behind():
    """Nothing that the log would accept is refused by it, so that a state without it is the same one."""
    desk = leader(A)
    write(desk, AppendPart(WHO, alone(A), BOTH))
    write(desk, PartVerified(WHO, Errors.TRANSACTION_ABORTABLE))
    assert (error_in(desk.last), desk.role.verifications) == (Errors.TRANSACTION_ABORTABLE, ())


def test_each_of_two_clients_goes_on_with_the_answer_to_its_own_question(front):
    """KafkaApis has a callback for each request (AddPartitionsToTxnManager.PartitionsToTxnData)."""
    other = ReplyTo("app-2/producer", 1, 0)
    ask(front, batch(A), batch(B))
    front.do(several.on_produce(front.role, produce(batch(A), batch(B)), other, front.on))
    first, second = front.requests
    said = answer_of(second.message.transactions[0], Errors.NETWORK_EXCEPTION)
    front.do(several.on_enlisted(front.role, with_tag(said, second.tag), front.on))
    assert [c.message.ticket for c in front.local if _is_verdict(c.message)] == [other, other]
    assert [each.tag for each in front.role.asking] == [first.tag.number]


def test_without_a_coordinator_what_is_in_the_transaction_waits_for_nobody(front):
    at_a = leader(A)
    write(at_a, AppendPart(WHO, alone(A)))
    front.logs[A] = at_a.logs[A]
    front.leaders[HOME] = -1
    ask(front, batch(A, first=1), batch(B))
    assert [(p, c.question, c.error) for p, c in calls(front)] == [
        (A, (), Errors.NONE),
        (B, (), Errors.COORDINATOR_NOT_AVAILABLE),
    ]
