"""A broker's questions to transaction coordinators: one request to each broker at a time, each name once."""

from __future__ import annotations

import pytest

from kipviz.brokers.context import Channel, LocalCall, Request
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.local_calls import AddOrVerify, Enlisted
from kipviz.brokers.logs import add_partitions_manager as manager
from kipviz.brokers.logs import partition_leader as pl
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.driving.desk import Desk
from kipviz.messages.apis.api import Role
from kipviz.messages.errors import Errors
from kipviz.messages.logs.producing import PartitionProduceData, Produce
from kipviz.messages.message_errors import error_in
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    TxnPartitions,
    refused_partitions,
    response_with_error,
)
from kipviz.records.batches import DataRecord
from kipviz.records.placement import TRANSACTION_STATE, partition_for
from tests.brokers.coordinator_answers import answer_of, with_tag

HERE = "out-0"


def about(name: str, epoch: int = 0, to: int = 4, tag: str = "") -> Request:
    asked = AddPartitionsToTxn((TxnPartitions(name, 9, epoch, (HERE,)),))
    return Request(Channel.ADD_PARTITIONS, to, asked, Role.PARTITION_LEADER, HERE, tag)


@pytest.fixture
def desk() -> Desk:
    return Desk(manager, KafkaApis(), leaders={HERE: 1})


def ask(desk: Desk, *questions: Request) -> None:
    for question in questions:
        desk.do(manager.on_question(desk.role, AddOrVerify(question), desk.on))


def answer(desk: Desk, broker: int = 4, error: Errors = Errors.NONE) -> None:
    """Answer what is on the way to a broker, with one error for all of it."""
    asked = next(r for r in reversed(desk.requests) if r.broker == broker)
    desk.do(
        manager.on_answered(
            desk.role, response_with_error(asked.message, error), desk.on, asked.tag
        )
    )


def names(desk: Desk) -> list[list[str]]:
    """The transactional ids of each request that went out."""
    return [[t.transactional_id for t in r.message.transactions] for r in desk.requests]


def list_answers(desk: Desk) -> list[tuple[str, str, Errors]]:
    """Whose question came to what: name, tag, error."""
    calls = [call.message for call in desk.local]
    assert all(isinstance(c, LocalCall) and c.role == Role.PARTITION_LEADER for c in desk.local)
    assert all(isinstance(call, Enlisted) for call in calls)
    return [(call.answer.transactional_id, call.number, call.answer.error) for call in calls]


def test_the_first_question_goes_out_and_the_others_wait_for_its_answer(desk: Desk) -> None:
    ask(desk, about("t", tag="1"), about("u"), about("v"))
    assert names(desk) == [["t"]]
    assert desk.role.nodes[0].waiting == (about("u"), about("v"))
    answer(desk)
    assert list_answers(desk) == [("t", "1", Errors.NONE)]
    assert names(desk) == [["t"], ["u", "v"]]
    answer(desk, error=Errors.CONCURRENT_TRANSACTIONS)
    assert list_answers(desk)[1:] == [(name, "", Errors.CONCURRENT_TRANSACTIONS) for name in "uv"]
    assert desk.role == KafkaApis(), "nothing is remembered"


def test_brokers_are_asked_beside_each_other(desk: Desk) -> None:
    ask(desk, about("t"), about("u", to=5), about("v", to=5))
    assert [r.broker for r in desk.requests] == [4, 5]
    answer(desk, 5)
    assert names(desk) == [["t"], ["u"], ["v"]]
    assert [node.broker for node in desk.role.nodes] == [4, 5]


def test_each_transaction_has_its_own_answer(desk: Desk) -> None:
    ask(desk, about("s"), about("t"), about("u"))
    answer(desk)
    one, other = desk.requests[-1].message.transactions
    results = (
        refused_partitions(one, Errors.NONE),
        refused_partitions(other, Errors.INVALID_TXN_STATE),
    )
    said = AddPartitionsToTxnResponse(results)
    desk.do(manager.on_answered(desk.role, said, desk.on, "4"))
    assert list_answers(desk)[1:] == [("t", "", Errors.NONE), ("u", "", Errors.INVALID_TXN_STATE)]


@pytest.mark.parametrize(
    ("before", "after", "refused", "error"),
    [
        (3, 3, "old", Errors.NETWORK_EXCEPTION),
        (3, 4, "old", Errors.INVALID_PRODUCER_EPOCH),
        (4, 3, "new", Errors.INVALID_PRODUCER_EPOCH),
    ],
)
def test_of_two_questions_that_wait_about_one_name_one_makes_room(
    desk: Desk, before: int, after: int, refused: str, error: Errors
) -> None:
    old, new = about("u", before, tag="old"), about("u", after, tag="new")
    ask(desk, about("t"), old, about("v"), new)
    assert list_answers(desk) == [("u", refused, error)]
    assert desk.role.nodes[0].waiting == (
        (about("v"), new) if refused == "old" else (old, about("v"))
    )


def test_a_question_that_is_on_its_way_makes_no_room(desk: Desk) -> None:
    ask(desk, about("t", tag="1"), about("t", tag="2"))
    assert list_answers(desk) == []
    answer(desk)
    assert list_answers(desk) == [("t", "1", Errors.NONE)]
    assert names(desk) == [["t"], ["t"]]


def test_a_leader_tells_a_batch_apart_from_the_same_one_that_came_before_it() -> None:
    home = f"{TRANSACTION_STATE}-{partition_for('t', 50)}"
    leader = Desk(pl, PartitionLeader(HERE, 0), leaders={HERE: 1, home: 4}, asks_together=True)
    request = Produce("t", (PartitionProduceData(HERE, 9, 0, 0, (DataRecord("a"),)),))
    leader.ask(pl.on_produce, request, "app-1/producer")
    leader.ask(pl.on_produce, request, "app-1/producer")
    questions = [call.message.question for call in leader.local]
    assert [q.tag for q in questions] == ["", "1"]
    assert not leader.requests, "what goes out is the manager's to say"
    asked = questions[0].message
    room = answer_of(asked.transactions[0], Errors.NETWORK_EXCEPTION)
    leader.do(pl.on_enlisted(leader.role, with_tag(room, ""), leader.on))
    assert leader.replies == [], "the first one is given up, the second one waits"
    yes = answer_of(asked.transactions[0], Errors.NONE)
    leader.do(pl.on_enlisted(leader.role, with_tag(yes, "1"), leader.on))
    assert error_in(leader.last) is Errors.NONE
    assert leader.role.verifying == ()
