"""Two views of one moment: client's view and brokers' view, where they disagree."""

from __future__ import annotations

import pytest

from kipviz.checking.single_run import runs
from kipviz.clients.kinds import Holder
from kipviz.clients.throwing.client_errors import REQUESTS
from kipviz.clients.throwing.exceptions import (
    ABORTS,
    ADVICE,
    ENDS,
    RETRIES,
    class_of,
    exception_for,
)
from kipviz.clients.transactions.producer_errors import ends_the_transaction
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.cluster.actions import CrashBroker, CrashClient, StartClient, TimeOutTransaction
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.scenarios.library import LIBRARY, scenario
from kipviz.scenarios.script import quiet
from kipviz.views.reasons.beliefs import BeliefRow, Beliefs, RememberedResponses, beliefs, hear
from tests.scenarios.story import after, play_once

COMMIT = "kip-1289-share-commit"
GROUP = "kip-1289-group-abort"


def views(trace: Trace, spec) -> list[dict[str, BeliefRow]]:
    """Both views at every step of the line."""
    (app,) = spec.applications
    heard, found = RememberedResponses(), []
    for node in map(trace.node, trace.line):
        heard = hear(heard, node.world.applications[app.name], node.events)
        found.append({row.topic: row for row in beliefs(app, node.world, heard)})
    return found


@pytest.fixture(scope="module")
def commit():
    run = runs.play(COMMIT)
    return run, views(run.trace.last(), run.model.spec)


def at(run, label: str) -> int:
    return runs.labels(run).index(label) + 1


def test_before_the_answer_the_client_does_not_know_what_is_decided(commit):
    run, seen = commit
    row = seen[at(run, "EndTxn arrives at B1")]["transaction"]
    assert row.client == "not known: commitTransaction() has not returned"
    assert row.broker == "PREPARE_COMMIT: 2 markers missing"
    assert (row.verdict, row.words) == (
        "differs",
        "The coordinator decided to commit. The client does not know it.",
    )


def test_after_the_answer_the_client_is_ahead_of_the_logs_until_the_last_marker(commit):
    run, seen = commit
    returned = at(run, "EndTxnResponse arrives at app-1/producer") + 1
    words = [(view["transaction"].client, view["transaction"].verdict) for view in seen]
    assert words[returned] == ("committed", "differs")
    assert words[-1] == ("committed", "agrees")
    done = words.index(("committed", "agrees"))
    assert seen[done - 1]["transaction"].broker == "PREPARE_COMMIT: 1 marker missing"
    output = seen[returned]["output-A-0"]
    assert output.client == "what it sent is committed"
    assert output.words == "Written, but read_committed consumers see nothing from offset 0 on."


def test_a_transaction_that_is_open_only_for_the_client_is_marked(commit):
    run, seen = commit
    row = seen[at(run, "app-1/producer sends Produce") - 1]["transaction"]
    assert (row.client, row.broker, row.verdict) == ("a transaction is open", "EMPTY", "differs")


def test_a_call_is_blocked_while_its_answer_is_on_its_way_back(commit):
    run, seen = commit
    row = seen[at(run, "EndTxn arrives at B1")]["call"]
    assert row.client == "blocked in commitTransaction()"
    assert row.broker == "EndTxnResponse of B1 is on its way"
    assert row.verdict == "differs"


def test_staged_records_are_held_by_both_and_agree_until_the_leader_is_gone(commit):
    run, seen = commit
    staged = at(run, "TxnShareAcknowledge arrives at B5")
    row = seen[staged]["records held"]
    assert (row.client, row.broker) == ("100 staged, 101 staged", "100 TX_PENDING, 101 TX_PENDING")
    assert row.verdict == "agrees"
    trace = run.trace.last().jump(run.trace.last().line[staged]).take(CrashBroker(5))
    row = views(trace, run.model.spec)[-1]["records held"]
    assert row.verdict == "differs"
    assert "as its own; the leader does not" in row.words


def test_a_regular_consumers_position_is_ahead_of_what_its_group_has_committed():
    run = runs.play(GROUP)
    seen = views(run.trace.last(), run.model.spec)
    row = seen[at(run, "FetchResponse arrives at app-1/consumer")]["position"]
    assert (row.client, row.broker) == ("continues from 102", "nothing committed yet")
    assert row.words == "If the process died now, the group would resume from the beginning."
    staged = [view["position"].broker for view in seen]
    assert "nothing committed yet, pending 102" in staged


def test_a_transaction_that_timed_out_is_open_for_the_client_and_aborted_for_the_coordinator():
    run = runs.play(COMMIT)
    trace = run.trace.last()
    there = trace.jump(trace.line[at(run, "app-1/producer sends TxnShareAcknowledge")])
    world = there.world
    shard = next(key for key in world.roles if key[1] == "transaction_coordinator")
    after = there.take(TimeOutTransaction(shard[0], shard[2], "my-txn"))
    row = views(after, run.model.spec)[-1]["transaction"]
    assert row.client == "a transaction is open"
    assert row.broker.startswith("PREPARE_ABORT")
    assert row.words == "The client believes it open; the coordinator decided to abort."
    done = quiet(after, run.model, "")
    last = views(done, run.model.spec)[-1]
    assert last["producer"].words == (
        "The client's epoch is not the coordinator's: its next request will be rejected."
    )
    failed = done.world.applications["app-1"].producer.manager.state
    assert failed in {ProducerState.ABORTABLE_ERROR, ProducerState.FATAL_ERROR}
    assert last["exception"].client.endswith(
        ("abortable, abort the transaction and continue", "fatal, close this producer")
    )


def test_a_process_that_is_down_believes_nothing_and_its_next_life_starts_afresh():
    run = runs.play(COMMIT)
    trace = run.trace.last().take(CrashClient("app-1"))
    (row,) = views(trace, run.model.spec)[-1].values()
    assert (row.topic, row.client) == ("process", "down")
    again = trace.take(StartClient("app-1"))
    assert views(again, run.model.spec)[-1]["transaction"].client == "no transaction yet"


def test_the_cards_are_the_same_objects_while_nothing_changes():
    run = runs.play(COMMIT)
    made = Beliefs(run.model.spec)
    node = run.trace.node(0)
    assert made.snapshot(node.world) == made.snapshot(node.world)
    first, second = (made.snapshot(node.world)["beliefs:app-1"] for _ in range(2))
    assert first is second


# -- exceptions --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_name", "error", "words"),
    [
        ("EndTxn", Errors.INVALID_PRODUCER_EPOCH, "ProducerFencedException: fatal"),
        ("Produce", Errors.INVALID_PRODUCER_EPOCH, "InvalidProducerEpochException: abortable"),
        ("Produce", Errors.PRODUCER_FENCED, "ProducerFencedException: fatal"),
        ("Produce", Errors.INVALID_TXN_STATE, "TransactionAbortableException: abortable"),
        ("EndTxn", Errors.INVALID_TXN_STATE, "InvalidTxnStateException: fatal"),
        ("EndTxn", Errors.TRANSACTION_ABORTABLE, "TransactionAbortableException: abortable"),
        ("TxnOffsetCommit", Errors.STALE_MEMBER_EPOCH, "CommitFailedException: abortable"),
        (
            "InitProducerId",
            Errors.CONCURRENT_TRANSACTIONS,
            "ConcurrentTransactionsException: retri",
        ),
        ("EndTxn", Errors.INVALID_PRODUCER_ID_MAPPING, "InvalidPidMappingException: fatal"),
        ("Produce", Errors.UNKNOWN_PRODUCER_ID, "UnknownProducerIdException: abortable"),
        ("AddPartitionsToTxn", Errors.UNKNOWN_PRODUCER_ID, "UnknownProducerIdException: abortable"),
        ("AddOffsetsToTxn", Errors.UNKNOWN_PRODUCER_ID, "UnknownProducerIdException: abortable"),
        ("EndTxn", Errors.UNKNOWN_PRODUCER_ID, "UnknownProducerIdException: abortable"),
        ("TxnOffsetCommit", Errors.UNKNOWN_PRODUCER_ID, "KafkaException: fatal"),
    ],
)
def test_an_error_is_thrown_as_kafkas_client_throws_it(request_name, error, words):
    assert exception_for(REQUESTS[request_name], error).words.startswith(words)


TRANSACTIONAL = ("AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn")


@pytest.mark.parametrize("request_name", [*TRANSACTIONAL, "InitProducerId", "FindCoordinator"])
def test_what_is_thrown_ends_in_the_state_that_the_modelled_producer_enters(request_name):
    for error in (each for each in Errors if each is not Errors.NONE):
        kind = exception_for(REQUESTS[request_name], error).kind
        if kind == "retriable":
            assert error in RETRIABLE
        else:
            assert (kind == "abortable") == ends_the_transaction(REQUESTS[request_name], error), (
                error
            )


@pytest.mark.parametrize(
    ("request_name", "error", "words"),
    [
        ("AddPartitionsToTxn", Errors.OPERATION_NOT_ATTEMPTED, "KafkaException: abortable"),
        ("AddPartitionsToTxn", Errors.TOPIC_AUTHORIZATION_FAILED, "TopicAuthorizationException: a"),
        ("AddOffsetsToTxn", Errors.GROUP_AUTHORIZATION_FAILED, "GroupAuthorizationException: ab"),
        ("TxnOffsetCommit", Errors.TOPIC_AUTHORIZATION_FAILED, "KafkaException: fatal"),
        ("TxnOffsetCommit", Errors.INVALID_TXN_STATE, "KafkaException: fatal"),
        ("InitProducerId", Errors.INVALID_TRANSACTION_TIMEOUT, "KafkaException: fatal"),
        ("FindCoordinator", Errors.TRANSACTION_ABORTABLE, "TransactionAbortableException: abor"),
    ],
)
def test_what_a_handler_does_not_know_is_a_kafka_exception(request_name, error, words):
    """The last branch of each handler of TransactionManager."""
    assert exception_for(REQUESTS[request_name], error).words.startswith(words)


def test_an_exception_has_the_name_that_it_has_in_java():
    """org.apache.kafka.common.protocol.Errors: the classes of which the code does not give the name."""
    told = {
        Errors.REQUEST_TIMED_OUT: "TimeoutException",
        Errors.NETWORK_EXCEPTION: "NetworkException",
        Errors.CLUSTER_AUTHORIZATION_FAILED: "ClusterAuthorizationException",
        Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "TransactionalIdAuthorizationException",
        Errors.TOPIC_ALREADY_EXISTS: "TopicExistsException",
        Errors.KAFKA_STORAGE_ERROR: "KafkaStorageException",
        Errors.NON_EMPTY_GROUP: "GroupNotEmptyException",
        Errors.INVALID_REGULAR_EXPRESSION: "InvalidRegularExpression",
        Errors.UNKNOWN_TOPIC_ID: "UnknownTopicIdException",
    }
    assert {error: class_of(error) for error in told} == told


def test_who_holds_records_of_several_partitions_has_a_row_for_each() -> None:
    world = after("kip-1289-several-partitions", "repaired", "Three acknowledgements")
    (spec,) = scenario("kip-1289-several-partitions").spec.applications
    rows = {row.topic: row for row in beliefs(spec, world, RememberedResponses())}
    assert rows["records of src-1"].client == "200 staged"
    assert rows["records of pay-0"].broker == "300 TX_PENDING"


def test_what_is_left_to_do_follows_from_the_state_of_the_client_in_every_story():
    """The same error code is asked again, or ends the transaction, or the producer, or neither."""
    kinds = set()
    for story in (each for each in LIBRARY if each.beats):
        trace, _ = play_once(story.name, story.designs[0])
        spec = trace.model.spec
        made = Beliefs(spec)
        for number in trace.line:
            node = trace.node(number)
            made.observe(node.world, node.events)
            for member in spec.members:
                app = node.world.applications[member.name]
                if not app.alive:
                    continue
                row = made.snapshot(node.world)[f"beliefs:{member.name}"].get("exception")
                in_error = {
                    p.manager.state for p in app.clients if isinstance(p, Holder) and p.error
                }
                if row is None:
                    assert not in_error, (story.name, number)
                    continue
                words = row["client"]
                kinds.add(words.partition(", ")[0].rpartition(": ")[2])
                where = (story.name, number, words, in_error)
                if ADVICE[ENDS] in words:
                    assert ProducerState.FATAL_ERROR in in_error, where
                if ADVICE[ABORTS] in words:
                    assert ProducerState.ABORTABLE_ERROR in in_error, where
                if ADVICE[RETRIES] in words:
                    assert not in_error, where
                if app.manager.state is ProducerState.FATAL_ERROR:
                    assert ADVICE[ENDS] in words, where
                if app.manager.state is ProducerState.ABORTABLE_ERROR:
                    assert ADVICE[ABORTS] in words, where
    assert kinds == set(ADVICE)


def test_a_batch_whose_time_is_over_leaves_a_transaction_to_abort():
    """delivery.timeout.ms expires: the client does not ask again."""
    words = set()
    trace, _ = scenario("kip-98-in-flight-given-up").play(design("kafka"))
    made = Beliefs(scenario("kip-98-in-flight-given-up").model(design("kafka")).spec)
    for number in trace.line:
        node = trace.node(number)
        made.observe(node.world, node.events)
        app = node.world.applications["app-1"]
        if app.producer.manager.state is ProducerState.ABORTABLE_ERROR:
            assert str(app.producer.error) == "Produce: REQUEST_TIMED_OUT"
            words.add(made.snapshot(node.world)["beliefs:app-1"]["exception"]["client"])
    assert words == {"TransactionAbortableException: abortable, abort the transaction and continue"}
