"""What the stories of a partition's log show, read from logs and roles."""

from __future__ import annotations

import pytest

from kipviz.messages.events import TransactionDecided
from kipviz.records.transaction_state import TransactionState
from kipviz.views.reasons.blockers import why_log_is_blocked
from tests.scenarios.story import after, first_step, nodes, play_once

LOG = "__transaction_state-45"


def values(name: str) -> list[str]:
    trace, _ = play_once(name, "kafka")
    batches = trace.world.logs["output-A-0"].batches
    return [record.value for batch in batches for record in batch.records]


def coordinator(world, broker: int):
    return world.roles[broker, "transaction_coordinator", LOG].transactions["my-txn"]


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("kip-98-idempotent-retry", "ab"),
        ("kip-98-in-flight", "abcd"),
        ("kip-98-in-flight-without", "acdb"),
        ("kip-98-in-flight-unknown", "bc"),
    ],
)
def test_what_a_producer_sent_is_in_the_log_in_this_order(name, order):
    assert values(name) == [f"f({value})" for value in order]


def test_the_producer_whose_first_batch_never_fitted_knows_what_it_gave_up():
    trace, _ = play_once("kip-98-in-flight-unknown", "kafka")
    assert trace.world.applications["app-1"].producer.failed == ("f(a)",)


def test_an_open_transaction_cannot_be_deleted_away():
    story = ("kip-98-deleted-transaction", "kafka")
    deleted = after(*story, "The records of app-1 are deleted")
    log = deleted.logs["output-A-0"]
    assert (log.start_offset, log.last_stable_offset, log.high_watermark) == (2, 2, 5)
    hold = why_log_is_blocked(deleted, log)
    assert hold is not None
    assert "A transaction is open since offset 0, which was deleted" in hold.text
    trace, _ = play_once(*story)
    assert len(trace.world.applications["reader"].consumer.records) == 2


def test_nothing_is_logged_while_a_replica_of_the_coordinators_log_is_missing():
    story = ("kip-98-too-few-replicas", "kafka")
    before = after(*story, "Broker 6 crashes")
    during = after(*story, "app-1 commits, and has to retry")
    assert before.logs[LOG] == during.logs[LOG]
    assert coordinator(during, 1).state is TransactionState.ONGOING


def test_a_given_up_decision_is_in_the_log_and_not_in_memory_until_another_one_reads_it():
    story = ("kip-98-given-up-decision", "kafka")
    given_up = after(*story, "Broker 6 crashes, and Broker 1 times out")
    assert coordinator(given_up, 1).state is TransactionState.ONGOING
    (record,) = given_up.logs[LOG].batches[-1].records
    assert record.state is TransactionState.PREPARE_COMMIT
    assert given_up.logs[LOG].given_up == (given_up.logs[LOG].end_offset - 1,)
    trace, _ = play_once(*story)
    decided = first_step(trace, TransactionDecided, committed=True)
    assert nodes(trace)[decided].action.KIND == "load"
