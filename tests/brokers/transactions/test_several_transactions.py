"""A question about several transactions: what a broker refuses itself, and what it passes to its coordinators."""

from __future__ import annotations

from kipviz.brokers import kafka_apis as apis
from kipviz.brokers.context import ReplyTo
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.local_calls import AskedOfOne
from kipviz.brokers.transactions import several_transactions as several
from kipviz.brokers.transactions import transaction_coordinator as tc
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    InitProducerId,
    TxnPartitions,
    refused_partitions,
)
from kipviz.records.placement import TRANSACTION_STATE, partition_for

E = Errors
HOME = {name: f"{TRANSACTION_STATE}-{partition_for(name, 50)}" for name in ("t", "u")}
HERE, ELSEWHERE = (TxnPartitions(name, 9, 0, ("out-0",)) for name in ("t", "u"))
TO = ReplyTo("B3/add-partitions", 1, 0)


def ask_broker(*transactions: TxnPartitions) -> Desk:
    """Ask a broker that coordinates t, and not u."""
    desk = Desk(apis, KafkaApis(), leaders={HOME["t"]: 1, HOME["u"]: 3, "out-0": 5})
    desk.do(several.on_add_partitions(desk.role, AddPartitionsToTxn(transactions), TO, desk.on))
    return desk


def test_each_transaction_is_passed_to_its_coordinator_here_or_refused_by_itself() -> None:
    desk = ask_broker(HERE, ELSEWHERE)
    assert [(call.role, call.shard, call.message) for call in desk.local] == [
        ("transaction_coordinator", HOME["t"], AskedOfOne(TO, AddPartitionsToTxn((HERE,))))
    ]
    refused = refused_partitions(ELSEWHERE, E.NOT_COORDINATOR)
    assert desk.replies == [(TO, AddPartitionsToTxnResponse((refused,)))]
    decided = [(c.name, c.asked, c.found, c.error) for c in desk.checks]
    assert decided == [("leader", 1, 3, E.NOT_COORDINATOR)]


def test_a_partition_that_is_gone_refuses_its_transaction_before_anybody_is_asked() -> None:
    gone = HERE.but(partitions=("gone-0", "out-0"))
    desk = ask_broker(gone, HERE)
    alone = AddPartitionsToTxn((HERE,))
    assert [call.message for call in desk.local] == [AskedOfOne(TO, alone)]
    ((_, response),) = desk.replies
    (answer,) = response.results
    assert (answer.transactional_id, answer.error) == ("t", E.UNKNOWN_TOPIC_OR_PARTITION)
    kept_out, check = desk.checks
    assert kept_out.error is answer.error_of("out-0") is E.OPERATION_NOT_ATTEMPTED
    assert (check.name, check.asked, check.found) == (
        "partitions there",
        ("gone-0", "out-0"),
        ("gone-0",),
    )
    assert check.error is answer.error


def test_a_coordinator_that_is_asked_itself_answers_for_its_own_transaction() -> None:
    desk = Desk(tc, TransactionCoordinator(HOME["t"], 2), leaders={HOME["t"]: 1, "out-0": 5})
    desk.ask(tc.on_init_producer_id, InitProducerId("t"))
    response = desk.ask(several.on_add_partitions, AddPartitionsToTxn((HERE,)))
    (answer,) = response.results
    assert (answer.error, desk.role.transactions["t"].partitions) == (E.NONE, ("out-0",))


def test_of_a_partition_that_is_gone_a_broker_says_so_also_where_it_is_no_coordinator() -> None:
    """KafkaApis.handleAddPartitionsToTxnRequest looks for the partitions first."""
    ((_, response),) = ask_broker(ELSEWHERE.but(partitions=("gone-0",)), HERE).replies
    (answer,) = response.results
    assert (answer.transactional_id, answer.error) == ("u", E.UNKNOWN_TOPIC_OR_PARTITION)
