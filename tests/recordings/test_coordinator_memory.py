"""What a transaction coordinator has in memory before its log says it."""

from pathlib import Path

import pytest

from kipviz.messages.errors import Errors
from kipviz.recordings.judging import accept
from kipviz.recordings.judging.accept import Acceptor
from kipviz.recordings.request_context.evidence import of_recording

FOLDER = Path(__file__).parent / "kafka-4.4.0" / "commit-and-abort"


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
    monkeypatch.setattr(accept, "in_transition", lambda *_: iter(()))
    (asked,) = somebody_else_asks(acceptor, first)
    assert asked.refused


def test_nobody_is_told_so_once_the_record_is_there(acceptor, first):
    number, exchange = first
    times = [e.at_ms for e in acceptor._entries if e.partition.startswith("__transaction")]
    between = (times[0] + times[1]) // 2
    later = exchange.but(earliest_ms=between, received_ms=between, answered_ms=between)
    (asked,) = somebody_else_asks(acceptor, (number, later))
    assert asked.refused
