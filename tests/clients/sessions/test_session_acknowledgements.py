"""Transactional acknowledgements in the name of a session (KIP-1310, draft): several calls, one on the wire at a time, none lost."""

from __future__ import annotations

import pytest

from kipviz.clients.application import STAGING
from kipviz.clients.calls import CALLS
from kipviz.clients.settling import settle
from kipviz.clients.shares import share_consumer as sharing
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.core.table import Table
from kipviz.designs.catalogue import design
from kipviz.messages.errors import Errors
from kipviz.messages.logs.producing import FetchedRecord
from kipviz.messages.shares.share_groups import (
    AcknowledgeType,
    TxnShareAcknowledge,
    offsets_of,
)
from kipviz.scenarios.library import searched_scenario
from tests.clients.parts import session_of
from tests.messages.shares import staging_response

BROKER = 5
SESSION = "session"


def acknowledge_some(*offsets: int) -> ShareConsumer:
    """A consumer whose application has spoken of some records, one call for each."""
    app = (
        searched_scenario("kip-1310-share-session")
        .model(design("repaired"))
        .initial()
        .applications["app-1"]
    )
    app = app.but(records=tuple(FetchedRecord("src-0", o, "a", 1) for o in offsets))
    line = next(line for line in app.program if line.call in STAGING)
    for offset in offsets:
        of_one = line.but(verdicts=((offset, AcknowledgeType.ACCEPT),))
        app = CALLS[line.call].enter(app, of_one, design("repaired").client_rules())
    assert isinstance(app.consumer, ShareConsumer)
    return app.consumer


def on_the_wire(me: ShareConsumer) -> ShareConsumer:
    request = sharing.next_request(me)
    assert isinstance(request, TxnShareAcknowledge)
    return sharing.note_sent(me, request, BROKER)[0]


def answer_staging(me: ShareConsumer, error: Errors = Errors.NONE) -> ShareConsumer:
    return sharing.on_response(me, staging_response(error, "src-0"))


def offsets(me: ShareConsumer) -> list[int]:
    """What is sent from here on, one transactional acknowledgement after the other, if nothing goes wrong."""
    found: list[int] = []
    while me.transactional.next is not None:
        me = on_the_wire(me)
        assert isinstance(me.on_wire, TxnShareAcknowledge)
        found += offsets_of(me.on_wire.only.acknowledgements)
        me = answer_staging(me)
    return found


def test_what_was_said_in_several_calls_is_sent_in_their_order() -> None:
    assert acknowledge_some(100, 101, 102).current_fetch.staged == (100, 101, 102)
    assert offsets(acknowledge_some(100)) == [100]
    assert offsets(acknowledge_some(100, 101, 102)) == [100, 101, 102]


@pytest.mark.parametrize("after", [100, 101])
def test_a_transactional_acknowledgement_that_is_sent_again_goes_before_those_that_came_after_it(
    after: int,
) -> None:
    me = on_the_wire(acknowledge_some(*range(100, after + 1)))
    assert offsets(sharing.on_disconnected(me, BROKER)) == [*range(100, after + 1)]
    again = answer_staging(me, Errors.COORDINATOR_LOAD_IN_PROGRESS)
    assert offsets(again) == [*range(100, after + 1)]


def test_behind_a_transactional_acknowledgement_that_is_refused_no_other_one_is_sent() -> None:
    """The transaction can only be aborted: whose staging came to nothing is the consumer's again."""
    me = answer_staging(on_the_wire(acknowledge_some(100, 101)), Errors.INVALID_RECORD_STATE)
    assert (me.transactional.next, me.transactional.queue[1:], me.transactional.error) == (
        None,
        (),
        Errors.INVALID_RECORD_STATE,
    )
    assert [offsets_of(request.only.acknowledgements) for request in me.transactional.dropped] == [
        (100,),
        (101,),
    ]
    alone = answer_staging(on_the_wire(acknowledge_some(100)), Errors.INVALID_RECORD_STATE)
    assert [
        offsets_of(request.only.acknowledgements) for request in alone.transactional.dropped
    ] == [(100,)]


@pytest.mark.parametrize("on_its_way", [False, True])
def test_a_session_does_not_commit_over_a_transactional_acknowledgement_that_nobody_has_answered(
    on_its_way: bool,
) -> None:
    rules = design("repaired").client_rules()
    app = searched_scenario("kip-1310-share-session").model(design("repaired")).initial()
    me = app.applications["app-1"].but(others=Table.of({SESSION: session_of(SESSION, "t")}))
    consumer = acknowledge_some(0).but(source=me.consumer.source)
    waiting = settle(me.with_client(on_the_wire(consumer) if on_its_way else consumer), rules)
    assert waiting.session.held_back_by == (consumer.source,)
    answer = answer_staging(on_the_wire(consumer))
    assert settle(me.with_client(answer), rules).session.held_back_by == ()
