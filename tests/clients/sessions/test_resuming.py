"""What resume() of a session is given, by a line or by a database, and what it refuses (KIP-1310, draft)."""

from __future__ import annotations

import pytest

from kipviz.clients.application import Application, Call, Line
from kipviz.clients.sessions import transaction_session as sessions
from kipviz.clients.sessions.session_calls import (
    IN_DOUBT,
    ON_GIVEN,
    STORED,
    resume_target,
    why_no_resume,
)
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.transactions import external_database as db
from kipviz.clients.transactions.external_database import NAME, ExternalDatabase
from kipviz.clients.transactions.prepared_txn_state import PreparedTxnState
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.core.table import Table
from kipviz.designs.catalogue import design
from kipviz.messages.transactions.transactions import EndTxn
from tests.clients.parts import change, producer_of, session_of

EMPTY = ExternalDatabase("app-1/database")
OPEN = db.insert(EMPTY, ("src-0@4",), PreparedTxnState(9, 0))
RULES = design("repaired").client_rules()


def process(line: Line, database: ExternalDatabase) -> Application:
    """A process with a session and a database, before the line that resumes."""
    consumer = ShareConsumer("app-1/consumer", "g1", "M1", 2, "src-0", 10)
    others = {"session": session_of("app-1/session", "t"), NAME: database}
    producer = producer_of("app-1/producer", "t")
    return Application("app-1", (line,), "out-0", producer, consumer, others=Table.of(others))


@pytest.mark.parametrize(
    ("target", "database", "refused"),
    [
        (STORED, EMPTY, True),
        (STORED, OPEN, True),
        (STORED, db.commit(OPEN), False),
        (IN_DOUBT, EMPTY, True),
        (IN_DOUBT, OPEN, True),
        (IN_DOUBT, db.prepare(OPEN), False),
        (IN_DOUBT, db.commit(OPEN), True),
        ("t 9 0", EMPTY, False),
    ],
)
def test_resume_refuses_what_a_database_has_no_identity_for(target, database, refused) -> None:
    line = Line("r", Call.RESUME, client="session", target=target)
    me = process(line, database)
    assert ("IllegalArgumentException" in str(why_no_resume(me, line))) is refused


def test_another_call_resumes_nothing_and_is_not_refused_for_it() -> None:
    line = Line("c", Call.COMPLETE_TRANSACTION, client="session", target=STORED)
    assert why_no_resume(process(line, EMPTY), line) == ""


@pytest.mark.parametrize("text", ["t ٩ 0", "t 9 ٠", "t ² 0"])
def test_the_numbers_of_an_identity_are_in_the_digits_that_java_prints(text: str) -> None:
    with pytest.raises(ValueError, match="a transactional id, a producer id and an epoch"):
        resume_target(text)


def test_a_session_in_a_fatal_error_sends_nothing_of_what_it_had_to_say() -> None:
    """Sender.runOnce comes back before maybeSendAndPollTransactionalRequest."""
    waiting = (EndTxn("t", 9, 0, True),)
    session = change(session_of("app-1/session", "t"), queue=waiting, producer_id=9)
    ending = change(session, state=ProducerState.COMMITTING_TRANSACTION)
    assert isinstance(sessions.next_request(ending), EndTxn)
    assert sessions.next_request(change(session, state=ProducerState.FATAL_ERROR)) is None


def test_the_session_of_a_producer_has_the_calls_of_a_transaction_and_of_its_two_phases() -> None:
    """KIP-1310: resume() and the calls of other clients are none of KafkaProducer.transactionSession()."""
    assert [call.value for call in ON_GIVEN] == [
        "initialize",
        "beginTransaction",
        "sendOffsetsToTransaction",
        "prepareTransaction",
        "completeTransaction",
        "commitTransaction",
        "abortTransaction",
    ]
