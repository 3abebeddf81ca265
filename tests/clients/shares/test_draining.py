"""acknowledgementsForTransaction(): what leaves the consumer, what stays, and what a producer makes of it."""

from __future__ import annotations

import pytest

from kipviz.clients import thread
from kipviz.clients.application import Application, Call, Line
from kipviz.clients.shares import draining
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.designs.catalogue import design
from kipviz.messages.logs.producing import FetchedRecord
from kipviz.messages.shares.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
    TxnShareAcknowledge,
)
from tests.clients.parts import change, make, producer_of

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT
DRAIN = Line("drain", Call.DRAIN)
QUEUE = Line("drain", Call.DRAIN, target=draining.QUEUED)
STAGE = Line("stage", Call.SEND_SHARE_ACKNOWLEDGEMENTS, target=draining.DRAINED)
POLL = Line("poll", Call.POLL)


def application(*program: Line, verdicts=(), explicit=True, offsets=(0, 1, 2)) -> Application:
    """Give a process whose consumer holds records, each delivered for the second time."""
    records = tuple(FetchedRecord("src-0", o, "a", 2) for o in offsets)
    consumer = make(
        ShareConsumer,
        "app-1/consumer",
        "g1",
        "M1",
        7,
        "src-0",
        10,
        explicit,
        batch=tuple(offsets),
        verdicts=verdicts,
    )
    producer = producer_of(
        "app-1/producer",
        "t",
        producer_id=9,
        producer_epoch=0,
        state=ProducerState.IN_TRANSACTION,
    )
    return Application("app-1", program, "output-A-0", producer, consumer, records=records)


def take_steps(app: Application, rules: str = "repaired", times: int = 1) -> Application:
    for _ in range(times):
        app, _ = thread.step(app, design(rules).client_rules())
    return app


def test_drained_decisions_leave_the_consumer_and_the_rest_stays() -> None:
    verdicts = ((0, ACCEPT), (1, RELEASE), (2, REJECT))
    consumer = take_steps(application(DRAIN, verdicts=verdicts)).consumer
    assert consumer.current_fetch.verdicts == ((1, RELEASE),)
    assert consumer.current_fetch.batch == (1,)
    (drained,) = consumer.handover.drained
    assert drained.verdicts == ((0, ACCEPT), (2, REJECT))
    assert (drained.member_id, drained.member_epoch) == ("M1", 7)
    assert drained.deliveries == ((0, 2), (2, 2))


def test_decisions_that_stay_are_sent_once_more_by_the_next_poll() -> None:
    app = application(DRAIN, POLL, verdicts=((0, ACCEPT),), offsets=(0,))
    app = app.but(consumer=change(app.consumer, session_epoch=1))
    sent = [
        take_steps(app, rules, 2).consumer.to_send.first.acknowledgements
        for rules in ("repaired", "repaired+drain=decisions_stay")
    ]
    assert sent == [(), (AcknowledgementBatch(0, 0, ACCEPT),)]


def test_a_variable_is_overwritten_and_a_queue_is_not() -> None:
    def twice(line: Line) -> int:
        app = take_steps(application(line, line, verdicts=((0, ACCEPT),)))
        app = app.but(consumer=change(app.consumer, verdicts=((1, ACCEPT),)))
        return len(take_steps(app).consumer.handover.drained)

    assert (twice(DRAIN), twice(QUEUE)) == (1, 2)


def test_implicit_mode_has_nothing_to_drain_and_throws() -> None:
    app = take_steps(application(DRAIN, explicit=False))
    assert "implicit acknowledgement of delivery is being used" in app.ended


@pytest.mark.parametrize(
    ("rules", "deliveries"),
    [("repaired", ()), ("repaired+staged_deliveries=with_delivery_counts", ((0, 2),))],
)
def test_a_producer_stages_the_oldest_object_in_the_name_that_it_was_drained_in(
    rules: str, deliveries: tuple[tuple[int, int], ...]
) -> None:
    app = take_steps(application(DRAIN, STAGE, verdicts=((0, ACCEPT),)), rules)
    app = app.but(consumer=app.consumer.but(member_epoch=8))
    app = take_steps(app, rules)
    (request,) = app.producer.manager.queue
    assert isinstance(request, TxnShareAcknowledge)
    assert (request.member_id, request.member_epoch) == ("M1", 7)
    assert request.only.acknowledgements == (AcknowledgementBatch(0, 0, ACCEPT),)
    assert request.only.deliveries == deliveries
    assert app.consumer.handover.drained == ()


def test_without_an_object_nothing_is_staged() -> None:
    app = take_steps(application(STAGE))
    assert app.producer.manager.queue == ()
    assert not app.ended or "last line" in app.ended


def test_only_a_staging_line_names_whose_object_it_stages() -> None:
    member = STAGE.but(target=f"{draining.DRAINED} M9")
    assert draining.drained_member(member) == "M9"
    assert draining.drained_member(STAGE) == ""
    assert draining.drained_member(member.but(target="other M9")) == ""
    assert draining.drained_member(POLL.but(target=f"{draining.DRAINED} M9")) == ""


def test_programs_say_in_stored_words_which_object_they_stage_and_that_it_is_queued() -> None:
    """Stories and readers' programs have them in their text."""
    assert draining.drained_member(STAGE.but(target="drained M9")) == "M9"
    twice = application(
        DRAIN.but(target="queued"), DRAIN.but(target="queued"), verdicts=((0, ACCEPT),)
    )
    first = take_steps(twice)
    second = take_steps(first.but(consumer=change(first.consumer, verdicts=((1, ACCEPT),))))
    assert [d.verdicts for d in second.consumer.handover.drained] == [
        ((0, ACCEPT),),
        ((1, ACCEPT),),
    ]
