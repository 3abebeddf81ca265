"""The exception that an error code is thrown as, what it asks of the application, and which catch block takes it."""

from __future__ import annotations

import pytest

from kipviz.clients import catching
from kipviz.clients.application import Application, Call, Line
from kipviz.clients.catching import KAFKA_EXCEPTION
from kipviz.clients.throwing import client_errors, exceptions
from kipviz.clients.throwing.client_errors import (
    REQUESTS,
    CallTimedOut,
    NothingToAbort,
    OwnError,
    request_error,
)
from kipviz.clients.transactions.prepared_txn_state import PreparedTxnState
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.core.values import fingerprint
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import OffsetCommit, TxnOffsetCommit
from kipviz.messages.logs.producing import Fetch
from kipviz.messages.transactions.transactions import EndTxn
from kipviz.settings.client_configs import MAX_BLOCK_MS
from tests.clients.parts import change, classic_member_of, producer_of

E = Errors
SAMPLE = ("flush", PreparedTxnState(9, 1), PreparedTxnState(9, 0))


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (E.UNKNOWN_SERVER_ERROR, "UnknownServerException"),
        (E.OUT_OF_ORDER_SEQUENCE_NUMBER, "OutOfOrderSequenceException"),
        (E.DUPLICATE_SEQUENCE_NUMBER, "DuplicateSequenceException"),
        (E.INVALID_PRODUCER_ID_MAPPING, "InvalidPidMappingException"),
        (E.INVALID_TRANSACTION_TIMEOUT, "InvalidTxnTimeoutException"),
        (E.REQUEST_TIMED_OUT, "TimeoutException"),
        (E.NETWORK_EXCEPTION, "NetworkException"),
        (E.TOPIC_AUTHORIZATION_FAILED, "TopicAuthorizationException"),
        (E.GROUP_AUTHORIZATION_FAILED, "GroupAuthorizationException"),
        (E.CLUSTER_AUTHORIZATION_FAILED, "ClusterAuthorizationException"),
        (E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "TransactionalIdAuthorizationException"),
        (E.TOPIC_ALREADY_EXISTS, "TopicExistsException"),
        (E.KAFKA_STORAGE_ERROR, "KafkaStorageException"),
        (E.NON_EMPTY_GROUP, "GroupNotEmptyException"),
        (E.INVALID_REGULAR_EXPRESSION, "InvalidRegularExpression"),
        (E.PRODUCER_FENCED, "ProducerFencedException"),
        (E.INVALID_TXN_STATE, "InvalidTxnStateException"),
        (E.UNKNOWN_MEMBER_ID, "UnknownMemberIdException"),
        (E.FENCED_INSTANCE_ID, "FencedInstanceIdException"),
        (E.TRANSACTION_ABORTABLE, "TransactionAbortableException"),
    ],
)
def test_an_error_code_has_the_class_that_org_apache_kafka_common_errors_gives_it(error, name):
    assert exceptions.class_of(error) == name


RETRIES, ABORTS, ENDS = exceptions.RETRIES, exceptions.ABORTS, exceptions.ENDS


@pytest.mark.parametrize(
    ("request_name", "error", "exception", "kind"),
    [
        # Sender.failBatch, TransactionManager.maybeTransitionToErrorState
        ("Produce", E.NOT_LEADER_OR_FOLLOWER, "TransactionAbortableException", RETRIES),
        ("Produce", E.INVALID_TXN_STATE, "TransactionAbortableException", ABORTS),
        ("Produce", E.OUT_OF_ORDER_SEQUENCE_NUMBER, "OutOfOrderSequenceException", ABORTS),
        ("Produce", E.INVALID_PRODUCER_EPOCH, "InvalidProducerEpochException", ABORTS),
        ("Produce", E.PRODUCER_FENCED, "ProducerFencedException", ENDS),
        ("Produce", E.CLUSTER_AUTHORIZATION_FAILED, "ClusterAuthorizationException", ENDS),
        ("Produce", E.UNSUPPORTED_VERSION, "UnsupportedVersionException", ENDS),
        # TransactionManager.AddPartitionsToTxnHandler
        (
            "AddPartitionsToTxn",
            E.CONCURRENT_TRANSACTIONS,
            "ConcurrentTransactionsException",
            RETRIES,
        ),
        ("AddPartitionsToTxn", E.INVALID_TXN_STATE, "InvalidTxnStateException", ENDS),
        ("AddPartitionsToTxn", E.INVALID_PRODUCER_EPOCH, "ProducerFencedException", ENDS),
        ("AddPartitionsToTxn", E.TOPIC_AUTHORIZATION_FAILED, "TopicAuthorizationException", ABORTS),
        ("AddPartitionsToTxn", E.TRANSACTION_ABORTABLE, "TransactionAbortableException", ABORTS),
        ("AddPartitionsToTxn", E.UNKNOWN_SERVER_ERROR, "KafkaException", ABORTS),
        # AddOffsetsToTxnHandler
        ("AddOffsetsToTxn", E.GROUP_AUTHORIZATION_FAILED, "GroupAuthorizationException", ABORTS),
        ("AddOffsetsToTxn", E.UNKNOWN_PRODUCER_ID, "UnknownProducerIdException", ABORTS),
        ("AddOffsetsToTxn", E.INVALID_PRODUCER_ID_MAPPING, "InvalidPidMappingException", ENDS),
        ("AddOffsetsToTxn", E.UNKNOWN_SERVER_ERROR, "KafkaException", ENDS),
        # TxnOffsetCommitHandler
        ("TxnOffsetCommit", E.COORDINATOR_LOAD_IN_PROGRESS, None, RETRIES),
        ("TxnOffsetCommit", E.ILLEGAL_GENERATION, "CommitFailedException", ABORTS),
        ("TxnOffsetCommit", E.UNKNOWN_MEMBER_ID, "CommitFailedException", ABORTS),
        ("TxnOffsetCommit", E.STALE_MEMBER_EPOCH, "CommitFailedException", ABORTS),
        ("TxnOffsetCommit", E.FENCED_INSTANCE_ID, "FencedInstanceIdException", ABORTS),
        ("TxnOffsetCommit", E.GROUP_AUTHORIZATION_FAILED, "GroupAuthorizationException", ABORTS),
        ("TxnOffsetCommit", E.INVALID_PRODUCER_EPOCH, "ProducerFencedException", ENDS),
        ("TxnOffsetCommit", E.UNKNOWN_SERVER_ERROR, "KafkaException", ENDS),
        # EndTxnHandler
        ("EndTxn", E.INVALID_TXN_STATE, "InvalidTxnStateException", ENDS),
        ("EndTxn", E.PRODUCER_FENCED, "ProducerFencedException", ENDS),
        ("EndTxn", E.UNKNOWN_PRODUCER_ID, "UnknownProducerIdException", ABORTS),
        ("EndTxn", E.TRANSACTION_ABORTABLE, "TransactionAbortableException", ABORTS),
        # InitProducerIdHandler, FindCoordinatorHandler
        ("InitProducerId", E.PRODUCER_FENCED, "ProducerFencedException", ENDS),
        (
            "InitProducerId",
            E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            "TransactionalIdAuthorizationException",
            ABORTS,
        ),
        ("FindCoordinator", E.TRANSACTION_ABORTABLE, "TransactionAbortableException", ABORTS),
        ("FindCoordinator", E.INVALID_REQUEST, "KafkaException", ENDS),
        # A request of a draft has no handler in Kafka, so its errors keep their classes.
        ("TxnShareAcknowledge", E.INVALID_RECORD_STATE, "InvalidRecordStateException", ABORTS),
        ("TxnShareAcknowledge", E.NOT_COORDINATOR, "NotCoordinatorException", ABORTS),
    ],
)
def test_a_handler_throws_its_own_errors_as_such_and_of_others_a_kafka_exception(
    request_name, error, exception, kind
):
    found = exceptions.exception_for(REQUESTS[request_name], error)
    assert found.kind == kind
    assert exception in (None, found.exception)
    assert found.words.startswith(f"{found.exception}: {kind}, ")


@pytest.mark.parametrize("error", E)
def test_the_error_of_a_request_is_a_value_that_is_stored_as_both_names(error):
    texts = set()
    for name, request in REQUESTS.items():
        raised = request_error(request, error)
        assert (raised.request, raised.error) == (request, error)
        assert raised.text == str(raised) == raised.words == f"{name}: {error.name}"
        assert fingerprint(raised) == fingerprint(raised.text)
        assert client_errors.exception_class(raised) is None
        texts.add(raised.text)
    assert len(texts) == len(REQUESTS)


@pytest.mark.parametrize("kind", OwnError.__subclasses__())
def test_an_exception_of_a_client_itself_is_stored_as_its_class_and_message(kind):
    raised = kind(*SAMPLE[: len(kind.__struct_fields__)])
    assert kind.__module__ == client_errors.__name__
    assert raised.text == f"{kind.EXCEPTION}: {kind.TEXT % SAMPLE[: len(kind.__struct_fields__)]}"
    assert (str(raised), raised.words) == (raised.text, raised.text)
    assert fingerprint(raised) == fingerprint(raised.text)
    assert client_errors.exception_class(raised) is kind.EXCEPTION


def test_no_two_exceptions_of_clients_have_one_text():
    texts = [(kind.EXCEPTION, kind.TEXT) for kind in OwnError.__subclasses__()]
    assert len(set(texts)) == len(texts) > 30
    assert client_errors.exception_class("") is None


def test_an_exception_is_reworded_on_the_screen_alone(monkeypatch):
    monkeypatch.setattr(CallTimedOut, "WORDS", "no result of %s()")
    raised = CallTimedOut("flush")
    assert raised.text == f"TimeoutException: flush() took longer than {MAX_BLOCK_MS.name}"
    assert (
        raised.words == exceptions.render_error(raised) == "TimeoutException: no result of flush()"
    )
    assert exceptions.render_error("") == "none"


# -- catch blocks ----------------------------------------------------------------------------------------

COMMIT = Line("commit", Call.COMMIT_TRANSACTION, on_error=1)
ABORT = Line("abort", Call.ABORT_TRANSACTION)


def process(*program, transactional_id="t", **changes):
    producer = change(producer_of("app-1/producer", transactional_id), **changes)
    consumer = classic_member_of("app-1/consumer", "g", "C1", "src", "src-0", 2, ("src-0",))
    return Application("app-1", program, "out-0", producer, consumer)


@pytest.mark.parametrize(
    ("call", "transactional_id", "raised", "name"),
    [
        (
            Call.COMMIT_TRANSACTION,
            "t",
            request_error(TxnOffsetCommit, E.ILLEGAL_GENERATION),
            "CommitFailedException",
        ),
        (
            Call.COMMIT_TRANSACTION,
            "t",
            request_error(EndTxn, E.UNKNOWN_SERVER_ERROR),
            KAFKA_EXCEPTION,
        ),
        (Call.COMMIT_TRANSACTION, "t", CallTimedOut("commitTransaction"), "TimeoutException"),
        # The handlers of TransactionManager have no say over a producer without transactions, or over a consumer.
        (Call.SEND, "", request_error(EndTxn, E.UNKNOWN_SERVER_ERROR), "UnknownServerException"),
        (
            Call.COMMIT_SYNC,
            "t",
            request_error(OffsetCommit, E.UNKNOWN_MEMBER_ID),
            "CommitFailedException",
        ),
        (
            Call.COMMIT_SYNC,
            "t",
            request_error(OffsetCommit, E.GROUP_AUTHORIZATION_FAILED),
            "GroupAuthorizationException",
        ),
        (Call.POLL, "t", request_error(Fetch, E.UNKNOWN_MEMBER_ID), "UnknownMemberIdException"),
    ],
)
def test_the_class_of_what_is_thrown_depends_on_who_throws_it(call, transactional_id, raised, name):
    line = Line("x", call)
    me = process(line, transactional_id=transactional_id).but(waiting=True)
    assert catching.class_thrown(me, line, raised) == name


@pytest.mark.parametrize("state", [ProducerState.ABORTABLE_ERROR, ProducerState.FATAL_ERROR])
def test_a_producer_that_is_in_error_already_throws_a_kafka_exception_around_the_first_one(state):
    """TransactionManager.maybeFailWithError."""
    me = process(COMMIT, ABORT, state=state)
    raised = request_error(EndTxn, E.PRODUCER_FENCED)
    assert catching.class_thrown(me, COMMIT, raised) == KAFKA_EXCEPTION
    assert catching.class_thrown(me.but(waiting=True), COMMIT, raised) == "ProducerFencedException"


@pytest.mark.parametrize(
    ("changes", "caught"),
    [
        ({}, True),
        ({"on_error": -1}, False),
        ({"catches": ("TimeoutException",)}, False),
        ({"catches": ("ProducerFencedException",)}, True),
        ({"on_error": 2}, True),  # the end of the program
        ({"on_error": 2, "catches": ("TimeoutException",)}, False),
    ],
)
def test_a_catch_block_takes_what_it_names(changes, caught):
    line = COMMIT.but(**changes)
    me = process(line, ABORT).but(waiting=True)
    assert catching.is_caught(me, line, request_error(EndTxn, E.PRODUCER_FENCED)) is caught


def test_a_catch_block_that_throws_it_again_has_not_caught_it():
    """KIP-1289 Pseudo code: 'throw fatal'."""
    again = ABORT.but(rethrows=("ProducerFencedException", "TimeoutException"))
    me = process(COMMIT, again).but(waiting=True)
    assert not catching.is_caught(me, COMMIT, CallTimedOut("commitTransaction"))
    assert catching.is_caught(me, COMMIT, NothingToAbort("src-0"))


def test_a_catch_block_names_what_its_call_can_throw_and_a_producer_survives():
    assert catching.catchable(Call.COMMIT_TRANSACTION) == (
        "CoordinatorNotAvailableException",
        "FencedLeaderEpochException",
        "FencedStateEpochException",
        "GroupAuthorizationException",
        "InvalidRecordStateException",
        "InvalidRequestException",
        "NotCoordinatorException",
        "NotLeaderOrFollowerException",
        "StaleMemberEpochException",
        "TimeoutException",
        "TopicAuthorizationException",
        "TransactionAbortableException",
        "UnknownMemberIdException",
        "UnknownProducerIdException",
        "UnknownTopicOrPartitionException",
    )


@pytest.mark.parametrize(
    ("call", "classes"),
    [
        (Call.ABORT_TRANSACTION, ("TimeoutException",)),
        (Call.SHARE_GROUP_METADATA, ("TimeoutException",)),
        (Call.SEND_SHARE_ACKNOWLEDGEMENTS, ("UnsupportedVersionException",)),
        (Call.COMPLETE_TRANSACTION, ("InvalidTxnStateException", "TimeoutException")),
        (Call.POLL, ("NoOffsetForPartitionException", "OffsetOutOfRangeException")),
        (Call.COMMIT_SYNC, ("CommitFailedException", "RebalanceInProgressException")),
        (
            Call.INIT_TRANSACTIONS,
            (
                "ClusterAuthorizationException",
                "TimeoutException",
                "TransactionAbortableException",
                "TransactionalIdAuthorizationException",
            ),
        ),
        (
            Call.SEND_OFFSETS,
            (
                "CommitFailedException",
                "FencedInstanceIdException",
                "GroupAuthorizationException",
                "TimeoutException",
                "TransactionAbortableException",
                "UnknownProducerIdException",
            ),
        ),
        (Call.FLUSH, ()),
    ],
)
def test_each_call_throws_classes_of_its_own_that_a_producer_survives(call, classes):
    assert catching.catchable(call) == classes


def test_a_prepare_throws_what_a_commit_does_but_for_the_state_in_place_of_the_time():
    commit, prepare = map(catching.catchable, (Call.COMMIT_TRANSACTION, Call.PREPARE_TRANSACTION))
    assert set(commit) ^ set(prepare) == {"InvalidTxnStateException", "TimeoutException"}
    assert "InvalidTxnStateException" in prepare


@pytest.mark.parametrize(
    ("call", "elsewhere"),
    [
        (Call.NEW_SESSION, True),
        (Call.RESUME, True),
        (Call.DATABASE_COMMIT, True),
        (Call.ABORT_TRANSACTION, False),
        (Call.POLL, False),
    ],
)
def test_a_catch_block_goes_on_elsewhere_with_a_new_session_or_a_database(call, elsewhere):
    me = process(COMMIT, Line("x", call))
    assert catching.goes_on_elsewhere(me, COMMIT) is elsewhere
    assert not catching.goes_on_elsewhere(me, COMMIT.but(on_error=2)), "the end of the program"
