"""What a transaction coordinator has in memory before its log says it."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from kipviz.core.table import Table
from kipviz.messages.errors import Errors
from kipviz.messages.transactions.admin import DescribeTransactions
from kipviz.messages.transactions.transactions import EndTxn
from kipviz.recordings.decoded.elections import LeaderDecision
from kipviz.recordings.judging.accept import Acceptor
from kipviz.recordings.possible_worlds import coordinator_memory
from kipviz.recordings.possible_worlds.coordinator_memory import (
    COMPLETE,
    Transitions,
    with_unacknowledged_markers,
)
from kipviz.recordings.request_context.evidence import of_recording
from kipviz.records.transaction_state import TransactionRecord

FOLDER = Path(__file__).parents[1] / "kafka-4.4.0" / "commit-and-abort"


@pytest.fixture(scope="module")
def acceptor():
    return Acceptor(of_recording(FOLDER))


@pytest.fixture(scope="module")
def first(acceptor):
    """Give the number and the exchange by which the transactional id got its first producer id."""
    return next(
        (number, x)
        for number, x in enumerate(acceptor.exchanges)
        if x.api == "INIT_PRODUCER_ID" and x.response["errorCode"] == 0
    )


def somebody_else_asks(acceptor, first):
    """Ask for the same transactional id, with an identity, while its first record is being written."""
    number, exchange = first
    response = exchange.response.set("errorCode", int(Errors.CONCURRENT_TRANSACTIONS))
    other = exchange.but(response=response.set("producerId", -1).set("producerEpoch", -1))
    return tuple(acceptor.of(number, other))


def test_an_id_whose_first_record_is_being_written_is_known_already(acceptor, first, monkeypatch):
    (asked,) = somebody_else_asks(acceptor, first)
    assert asked.accepted
    monkeypatch.setattr(coordinator_memory, "in_transition", lambda *_: iter(()))
    (asked,) = somebody_else_asks(acceptor, first)
    assert asked.refused


def test_nobody_is_told_so_once_the_record_is_there(acceptor, first):
    number, exchange = first
    times = [e.at_ms for e in acceptor.logs.entries if e.partition.startswith("__transaction")]
    between = (times[0] + times[1]) // 2
    later = exchange.but(earliest_ms=between, received_ms=between, answered_ms=between)
    (asked,) = somebody_else_asks(acceptor, (number, later))
    assert asked.refused


def find_completion(acceptor):
    """Give the place of the first completion, its time, and an exchange that is answered while it may be pending."""
    place, entry = next(
        (place, entry)
        for place, entry in enumerate(acceptor.logs.entries)
        for record in entry.batch.records
        if isinstance(record, TransactionRecord) and record.state in COMPLETE
    )
    (name,) = (record.transactional_id for record in entry.batch.records)
    asked = next(x for x in acceptor.exchanges if x.api == "END_TXN")
    return place, entry.at_ms, name, at(asked, entry.at_ms + 10)


def at(exchange, ms):
    """Give an exchange that arrives and is answered at a time, on a connection of its own."""
    return exchange.but(earliest_ms=ms, received_ms=ms, answered_ms=ms, connection="")


def test_a_completion_may_be_pending_until_an_answer_shows_that_it_was_applied(acceptor, first):
    place, ms, name, asked = find_completion(acceptor)
    _, taken = first
    refused = taken.response.set("errorCode", int(Errors.CONCURRENT_TRANSACTIONS))
    for shown, pending in (
        ((), True),
        ((at(taken, ms + 5),), False),
        # These arrived before the completion, after the question, or were answered while it was pending.
        ((at(taken, ms),), True),
        ((at(taken, ms + 10),), True),
        ((at(taken.but(response=refused), ms + 5),), True),
    ):
        transitions = Transitions(shown, acceptor.logs.entries)
        found = transitions.may_be_pending(name, place + 1, asked)
        assert found == (place if pending else -1)


def test_a_coordinator_elected_after_a_completion_reads_it_in_its_log(acceptor):
    place, ms, name, asked = find_completion(acceptor)
    home = acceptor.logs.entries[place].partition
    for moved, found in ((ms + 5, -1), (ms + 15, place)):
        decision = LeaderDecision(home, 2, 1, (1, 2), (1, 2), moved)
        transitions = Transitions((), acceptor.logs.entries, (decision,))
        assert transitions.may_be_pending(name, place + 1, asked) == found


def test_a_transition_is_prepared_by_a_request_that_is_served_at_the_same_time(acceptor, first):
    _, taken = first
    name = taken.request["transactionalId"]
    now = taken.answered_ms - 1
    served = taken.but(earliest_ms=now - 1, received_ms=now - 1, connection="")
    transitions = Transitions((served,), acceptor.logs.entries)
    assert transitions.prepared_end_ms(name, at(taken, now)) == taken.answered_ms
    assert transitions.prepared_end_ms(name, at(taken, now - 1)) == now - 1
    assert transitions.prepared_end_ms("another", at(taken, now)) == now


def test_a_marker_that_a_log_has_may_be_unknown_to_the_coordinator(acceptor):
    place, _, name, asked = find_completion(acceptor)
    world = acceptor.logs.worlds[place - acceptor.logs.skipped]
    key = next(
        key for key, role in world.roles.items() if name in getattr(role, "transactions", ())
    )
    assert world.roles[key].transactions[name].partitions == ()
    entries = acceptor.logs.entries[:place]
    decided = next(
        record
        for entry in reversed(entries)
        for record in entry.batch.records
        if isinstance(record, TransactionRecord) and record.transactional_id == name
    )
    some = decided.partitions[0]
    for listed, left in (((some,), (some,)), ((), None), (("stranger-0",), None)):
        topics = tuple(
            Table.of({"topic": p.rpartition("-")[0], "partitions": (int(p.rpartition("-")[2]),)})
            for p in listed
        )
        state = Table.of({"transactionalId": name, "topics": topics})
        exchange = asked.but(response=Table.of({"transactionStates": (state,)}))
        told = (world, key, entries, exchange, DescribeTransactions((name,)))
        found = [
            w.roles[key].transactions[name].partitions for w in with_unacknowledged_markers(*told)
        ]
        assert found == ([left] if left else [])


def test_whether_there_is_a_leader_yet_is_asked_of_the_entries_before_the_first_request_too(
    acceptor, monkeypatch
):
    _, _, _, asked = find_completion(acceptor)
    question = SimpleNamespace(message=EndTxn("my-txn", 9, 0, committed=True))
    seen = []

    def is_between_leaders(entries, message):
        seen.append((entries, message))
        return True

    monkeypatch.setattr(acceptor, "_decisions", ())
    monkeypatch.setattr(acceptor.logs, "skipped", 3)
    monkeypatch.setattr(acceptor.known_leaders, "is_between_leaders", is_between_leaders)
    assert next(acceptor._possible((5,), asked, question))
    assert seen == [(8, question.message)]
