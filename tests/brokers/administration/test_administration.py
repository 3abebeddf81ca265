"""What a broker tells an operator."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kipviz.brokers import kafka_apis as apis
from kipviz.brokers.context import ReplyTo
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.local_calls import ListedHere
from kipviz.brokers.logs import partition_leader
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.brokers.logs.partition_log import append
from kipviz.brokers.transactions import administration as asked
from kipviz.brokers.transactions import transaction_coordinator
from kipviz.brokers.transactions.transaction_metadata import TransactionMetadata
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.core.table import Table
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.transactions.admin import (
    STATE_NAMES,
    ActiveProducer,
    DescribeProducers,
    DescribeTransactions,
    ListTransactions,
    ListTransactionsResponse,
    PartitionProducers,
    TransactionDescription,
    TransactionListing,
)
from kipviz.records.batches import ABORT, Batch, DataRecord
from kipviz.records.transaction_state import TransactionState

S = TransactionState
HOME = "__transaction_state-0"
KNOWN = (
    TransactionMetadata("my-a", 4, 1, S.ONGOING, partitions=("out-0",)),
    TransactionMetadata("my-b", 5, 0, S.EMPTY),
    TransactionMetadata("your-c", 6, 2, S.PREPARE_ABORT, pending_state=S.COMPLETE_ABORT),
    TransactionMetadata("dead", 7, 2, S.DEAD),
)
COORDINATOR = TransactionCoordinator(
    HOME, 2, transactions=Table.of({t.transactional_id: t for t in KNOWN})
)


def test_the_states_have_the_names_that_operators_know():
    assert list(STATE_NAMES.values()) == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, ["my-a", "my-b", "your-c"]),
        ({"states": ("Ongoing", "Empty")}, ["my-a", "my-b"]),
        ({"states": ("Dead",)}, []),
        ({"states": ("ongoing",)}, []),
        ({"producer_ids": (5, 6)}, ["my-b", "your-c"]),
        ({"pattern": "my-.*"}, ["my-a", "my-b"]),
        ({"pattern": "my-"}, []),
        ({"pattern": ".*", "states": ("Ongoing",), "producer_ids": (5,)}, []),
        ({"duration_ms": 40_001}, ["my-b", "your-c"]),
    ],
)
def test_a_list_has_what_passes_every_filter_and_never_the_dead(filters, found):
    """TransactionStateManager.listTransactionStates; a pattern has to match the whole name."""
    answer = asked.listing(COORDINATOR, ListTransactions(**filters), context_with_ages())[0]
    assert [t.transactional_id for t in answer.transactions] == found


def test_names_of_states_that_there_are_not_are_told():
    answer = asked.listing(
        COORDINATOR, ListTransactions(("Ongoing", "Hanging")), context_with_ages()
    )[0]
    assert (answer.error, answer.unknown_states) == (Errors.NONE, ("Hanging",))
    assert answer.transactions == (TransactionListing("my-a", 4, S.ONGOING),)


def test_a_pattern_that_is_none_and_a_coordinator_that_loads_are_errors():
    bad = asked.listing(COORDINATOR, ListTransactions(pattern="("), context_with_ages())[0]
    assert bad.error is Errors.INVALID_REGULAR_EXPRESSION
    loading = asked.listing(COORDINATOR.but(loading=True), ListTransactions(), context_with_ages())[
        0
    ]
    assert loading.error is Errors.COORDINATOR_LOAD_IN_PROGRESS


def test_how_long_a_transaction_has_taken_is_looked_up_only_for_who_asks_for_it():
    """What a step reads is among its causes on the page."""
    nothing_to_read = SimpleNamespace()
    for_all = asked.listing(COORDINATOR, ListTransactions(), nothing_to_read)[0]
    assert len(for_all.transactions) == 3
    with pytest.raises(AttributeError, match="began_ms"):
        asked.listing(COORDINATOR, ListTransactions(duration_ms=1), nothing_to_read)


def test_a_pattern_is_compared_only_where_there_is_one():
    for pattern, named in (("", []), ("my-.*", ["regular expression"])):
        checks = asked.listing(COORDINATOR, ListTransactions(pattern=pattern), context_with_ages())[
            1
        ]
        assert [c.name for c in checks] == ["loading", *named, "transactional ids known"]


def test_a_description_names_what_was_asked_for_and_nothing_where_no_id_was():
    for name in ("my-a", ""):
        desk = Desk(transaction_coordinator, COORDINATOR, leaders={HOME: 1})
        desk.ask(asked.on_describe_transactions, DescribeTransactions((name,)))
        assert (desk.checks[0].name, desk.checks[0].asked) == ("transactional id", name or None)


@pytest.fixture
def front():
    """The front desk of a broker that leads two partitions of __transaction_state."""
    leaders = {HOME: 1, "__transaction_state-7": 1, "__transaction_state-8": 3, "out-0": 1}
    return Desk(apis, KafkaApis(), leaders=leaders)


def hear(desk, answer):
    call = desk.local[-1].message
    desk.do(apis.on_listed(desk.role, ListedHere(call.ticket, answer), desk.on))


def test_a_broker_lists_what_all_its_coordinators_know(front):
    assert front.ask(apis.on_list_transactions, ListTransactions()) is None
    assert [c.shard for c in front.local] == [HOME, "__transaction_state-7"]
    one, other = TransactionListing("a", 1, S.EMPTY), TransactionListing("b", 2, S.ONGOING)
    hear(front, ListTransactionsResponse(Errors.NONE, ("X",), (one,)))
    assert not front.replies
    hear(front, ListTransactionsResponse(Errors.NONE, ("X",), (other,)))
    assert front.last == ListTransactionsResponse(Errors.NONE, ("X",), (one, other))
    assert not front.role.listing


@pytest.mark.parametrize("first", [True, False])
def test_one_coordinator_that_loads_makes_the_whole_list_unknown(front, first):
    front.ask(apis.on_list_transactions, ListTransactions())
    answers = [
        ListTransactionsResponse(Errors.COORDINATOR_LOAD_IN_PROGRESS),
        ListTransactionsResponse(Errors.NONE, (), (TransactionListing("a", 1, S.EMPTY),)),
    ]
    for answer in answers if first else reversed(answers):
        hear(front, answer)
    assert front.last == ListTransactionsResponse(Errors.COORDINATOR_LOAD_IN_PROGRESS)


def test_a_broker_without_coordinators_has_an_empty_list(front):
    front.leaders |= {HOME: 3, "__transaction_state-7": 3}
    answer = front.ask(apis.on_list_transactions, ListTransactions())
    assert answer == ListTransactionsResponse(Errors.NONE)


def describe(name, role=COORDINATOR):
    desk = Desk(transaction_coordinator, role, leaders={HOME: 1})
    answer = desk.ask(asked.on_describe_transactions, DescribeTransactions((name,)))
    (told,) = answer.transaction_states
    return told


def test_a_description_has_what_the_coordinator_knows():
    assert describe("my-a") == TransactionDescription(
        "my-a", Errors.NONE, S.ONGOING, 60_000, 4, 1, ("out-0",)
    )


@pytest.mark.parametrize(("name", "error"), [("", 42), ("nobody", 105), ("dead", 105), ("my-b", 0)])
def test_a_name_that_nobody_has_cannot_be_described(name, error):
    """TransactionCoordinator.handleDescribeTransactions."""
    assert describe(name).error == error


def test_a_coordinator_that_loads_does_not_describe():
    loading = describe("my-a", COORDINATOR.but(loading=True))
    assert loading.error is Errors.COORDINATOR_LOAD_IN_PROGRESS


def test_the_producers_of_a_log_are_told_with_what_they_have_open():
    """ReplicaManager.activeProducerState."""
    desk = Desk(partition_leader, PartitionLeader("out-0", 0), leaders={"out-0": 1})
    log = desk.logs["out-0"]
    two = (DataRecord("a"), DataRecord("b"))
    log = append(log, Batch(0, two, 9, 0, 0, transactional=True))
    log = append(log, Batch(2, two, 4, 3, 0, transactional=True))
    ended = Batch(4, (), 9, 1, transactional=True, control=ABORT, coordinator_epoch=6)
    desk.logs["out-0"] = append(log, ended)
    answer = desk.ask(asked.on_describe_producers, DescribeProducers(("out-0",)))
    found = (ActiveProducer(4, 3, 1, -1, 2), ActiveProducer(9, 1, -1, 6, -1))
    assert answer.responses == (PartitionProducers("out-0", Errors.NONE, found),)


AGES = (("my-a", 40_000), ("your-c", 90_000))


def context_with_ages():
    """What a coordinator looks at while a clock counts how long ago transactions began."""
    on = Desk(transaction_coordinator, COORDINATOR, leaders={HOME: 1, "out-0": 3}).on
    return on.but(ages=AGES)


@pytest.mark.parametrize(
    ("duration", "found"),
    [
        (-1, ["my-a", "my-b", "your-c"]),
        (0, ["my-a", "my-b", "your-c"]),
        (40_000, ["my-a", "my-b", "your-c"]),
        (40_001, ["my-b", "your-c"]),
        (90_001, ["my-b"]),
    ],
)
def test_a_filter_for_a_duration_looks_at_the_last_beginning(duration, found):
    """What has never begun has no beginning, and Kafka lists it always (start timestamp -1)."""
    answer = asked.listing(
        COORDINATOR, ListTransactions(duration_ms=duration), context_with_ages()
    )[0]
    assert [t.transactional_id for t in answer.transactions] == found


def test_where_records_carry_their_time_an_operator_is_told_it():
    begun = KNOWN[0].but(start_timestamp_ms=30_000)
    role = COORDINATOR.but(transactions=Table.of({"my-a": begun}))
    desk = Desk(transaction_coordinator, role, leaders={HOME: 1, "out-0": 3})
    to = ReplyTo("operator/admin", 1, 0)
    told = asked.on_describe_transactions(role, DescribeTransactions(("my-a",)), to, desk.on)
    (described,) = told.replies[0].message.transaction_states
    assert described.transaction_start_time_ms == 30_000
    leader = Desk(partition_leader, PartitionLeader("out-0", 0), leaders={"out-0": 1})
    sent = Batch(0, (DataRecord("x"),), 4, 1, 0, transactional=True, max_timestamp_ms=31_000)
    ended = Batch(1, (), 4, 1, transactional=True, control=ABORT, max_timestamp_ms=90_000)
    heard = []
    for batch in (sent, ended):
        leader.logs["out-0"] = append(leader.logs["out-0"], batch)
        request = DescribeProducers(("out-0",))
        answer = asked.on_describe_producers(leader.role, request, to, leader.on)
        (told,) = answer.replies[0].message.responses
        heard += [p.last_timestamp for p in told.active_producers]
    assert heard == [31_000, 90_000], "a marker is heard of, too"
