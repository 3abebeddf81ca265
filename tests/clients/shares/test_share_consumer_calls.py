"""The calls of a share consumer beside poll(): what they send, what they throw, who is told."""

from __future__ import annotations

import pytest

from kipviz.clients import thread
from kipviz.clients.application import Application, Call, Line
from kipviz.clients.kinds import next_broker, next_request, note_sent, on_disconnected, on_response
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.designs.catalogue import design
from kipviz.messages.errors import Errors
from kipviz.messages.events import AcknowledgementsCompleted
from kipviz.messages.logs.producing import FetchedRecord
from kipviz.messages.shares.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
    AcquiredRecords,
    ShareFetch,
)
from tests.clients.parts import make, producer_of
from tests.messages.shares import acknowledge_response, acknowledges, fetch_response

ACCEPT, RENEW = AcknowledgeType.ACCEPT, AcknowledgeType.RENEW
RULES = design("kafka").client_rules()
BROKER = 5
POLL = Line("poll", Call.POLL)
COMMIT = Line("commitSync", Call.COMMIT_SYNC)
ASYNC = Line("commitAsync", Call.COMMIT_ASYNC)
CLOSE = Line("close", Call.CLOSE_CONSUMER)


def says(kind, target=""):
    return Line("acknowledge", Call.ACKNOWLEDGE, verdicts=((-1, kind),), target=target)


class Desk:
    """An application with a share consumer, and a broker that answers when it is told to."""

    def __init__(self, *program, explicit=True, callback=True):
        consumer = make(
            ShareConsumer, "app-1/consumer", "g1", "M1", 2, "src-0", 10, explicit, callback=callback
        )
        producer = producer_of("app-1/producer", "t")
        self.app = Application("app-1", program, "output-A-0", producer, consumer)
        self.events = []

    @property
    def consumer(self):
        return self.app.consumer

    def step(self, times=1):
        for _ in range(times):
            self.app, events = thread.step(self.app, RULES)
            self.events += events
        return self

    def wire(self):
        """Put the next request on the wire and give it."""
        request = next_request(self.consumer)
        client, request = note_sent(self.consumer, request, BROKER)
        self.app = self.app.with_client(client)
        return request

    def answers(self, answer):
        self.app = self.app.with_client(on_response(self.consumer, answer))
        return self

    def delivers(self, *offsets, error=Errors.NONE):
        records = tuple(FetchedRecord("src-0", o, f"r{o}", 1) for o in offsets)
        runs = tuple(AcquiredRecords(o, o, 1) for o in offsets)
        return self.answers(fetch_response(Errors.NONE, "src-0", error, records, runs))

    def answer_acknowledge(self, error=Errors.NONE):
        return self.answers(acknowledge_response(error, "src-0"))

    def poll_records(self, *offsets):
        self.step()
        self.wire()
        return self.delivers(*offsets).step()

    @property
    def told(self):
        return [
            (e.first, e.last, e.error)
            for e in self.events
            if isinstance(e, AcknowledgementsCompleted)
        ]


def batch(first, last, kind=ACCEPT):
    return AcknowledgementBatch(first, last, kind)


def test_commit_async_comes_back_at_once_and_its_request_goes_before_the_next_fetch():
    desk = Desk(POLL, says(ACCEPT), ASYNC, POLL).poll_records(0, 1).step(3)
    assert desk.app.waiting  # in poll() again
    assert next_broker(desk.consumer) == BROKER
    assert desk.wire() == acknowledges("g1", "M1", 1, "src-0", (batch(0, 1),))
    assert next_request(desk.consumer) is None  # one request at a time
    desk.answer_acknowledge()
    assert not desk.consumer.done
    fetch = desk.wire()
    assert (fetch.session_epoch, fetch.first.acknowledgements) == (2, ())


def test_the_callback_is_told_in_the_next_call_what_became_of_the_records():
    desk = Desk(POLL, says(ACCEPT), ASYNC, ASYNC).poll_records(0, 1).step(2)
    desk.wire()
    desk.answer_acknowledge(Errors.INVALID_RECORD_STATE)
    assert not desk.told
    desk.step()
    assert desk.told == [(0, 1, "INVALID_RECORD_STATE")]


def test_the_callback_hears_of_what_went_along_with_a_fetch_when_poll_comes_back():
    desk = Desk(POLL, says(ACCEPT), POLL).poll_records(0).step(2)
    desk.wire()
    desk.delivers(1)
    assert not desk.told
    desk.step()
    assert desk.told == [(0, 0, "NONE")]


def test_without_a_callback_nothing_is_remembered():
    desk = Desk(POLL, says(ACCEPT), COMMIT, callback=False).poll_records(0).step(2)
    desk.wire()
    desk.answer_acknowledge().step()
    assert (desk.told, desk.consumer.acknowledging.completed) == ([], ())


def test_a_connection_that_breaks_leaves_an_asynchronous_commit_in_doubt():
    desk = Desk(POLL, says(ACCEPT), ASYNC, POLL).poll_records(0).step(3)
    desk.wire()
    desk.app = desk.app.with_client(on_disconnected(desk.consumer, BROKER))
    assert not desk.consumer.done
    assert desk.wire().session_epoch == 0
    desk.delivers(1).step()
    assert desk.told == [(0, 0, "NETWORK_EXCEPTION")]


@pytest.mark.parametrize(
    ("line", "explicit", "why"),
    [
        (says(ACCEPT), False, "implicit acknowledgement of delivery is being used"),
        (says(ACCEPT, "7"), True, "the record cannot be acknowledged"),
        (POLL, True, "all records must be acknowledged in explicit mode"),
    ],
)
def test_a_call_that_the_mode_does_not_allow_throws(line, explicit, why):
    desk = Desk(POLL, line, explicit=explicit).poll_records(0).step()
    assert desk.app.ended.endswith(f"IllegalStateException: {why}")


def test_one_record_is_acknowledged_by_its_offset():
    desk = Desk(POLL, says(ACCEPT, "1"), COMMIT).poll_records(0, 1).step(2)
    assert desk.wire().partitions[0].acknowledgements == (batch(1, 1),)
    assert desk.consumer.current_fetch.batch == (0,)


def test_renewed_records_come_back_by_the_next_poll_once_the_broker_has_said_yes():
    desk = Desk(POLL, says(RENEW), COMMIT, POLL, says(ACCEPT), COMMIT).poll_records(0, 1).step(2)
    assert desk.wire().partitions[0].acknowledgements == (batch(0, 1, RENEW),)
    desk.answer_acknowledge().step(3)
    assert [r.offset for r in desk.app.records] == [0, 1]
    desk.step(2)
    assert desk.wire().partitions[0].acknowledgements == (batch(0, 1),)


def test_a_poll_that_renews_asks_for_no_records_and_gives_the_renewed_ones():
    desk = Desk(POLL, says(RENEW), POLL).poll_records(0, 1).step(2)
    fetch = desk.wire()
    assert isinstance(fetch, ShareFetch)
    assert (fetch.max_records, fetch.first.acknowledgements) == (0, (batch(0, 1, RENEW),))
    desk.delivers().step()
    assert [r.offset for r in desk.app.records] == [0, 1]


def test_records_whose_renewal_is_refused_do_not_come_back():
    desk = Desk(POLL, says(RENEW), POLL).poll_records(0).step(2)
    desk.wire()
    desk.delivers(error=Errors.INVALID_RECORD_STATE)
    assert (desk.consumer.done, desk.wire().max_records) == (False, 10)


@pytest.mark.parametrize(("explicit", "last"), [(True, (batch(0, 1),)), (False, ())])
def test_close_sends_what_was_said_and_accepts_nothing_by_itself(explicit, last):
    lines = (POLL, says(ACCEPT), CLOSE) if explicit else (POLL, CLOSE)
    desk = Desk(*lines, explicit=explicit).poll_records(0, 1).step(len(lines) - 1)
    assert next_broker(desk.consumer) == BROKER
    assert desk.wire() == acknowledges("g1", "M1", -1, "src-0", last)
    desk.answer_acknowledge().step()
    assert desk.app.ended == "it ran to its last line"


@pytest.mark.parametrize("line", [POLL, says(ACCEPT), COMMIT, ASYNC])
def test_nothing_can_be_asked_of_a_consumer_that_was_closed(line):
    desk = Desk(CLOSE, line).step(2)
    assert not next_request(desk.consumer)  # it had no session to close
    desk.step()
    assert "this consumer has already been closed" in desk.app.ended
