"""The share consumer: what it says of a batch, and what a lost session does to it."""

from __future__ import annotations

import pytest

from kipviz.clients import thread
from kipviz.clients.application import Application, Call, Line
from kipviz.clients.shares import share_consume_requests as requesting
from kipviz.clients.shares import share_consumer as sc
from kipviz.clients.shares import share_throws
from kipviz.clients.shares.acknowledge_requests import Completed
from kipviz.clients.shares.share_holding import Held
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.throwing.client_errors import NotAllAcknowledged
from kipviz.designs.catalogue import REPAIRED, design
from kipviz.messages.errors import Errors
from kipviz.messages.logs.producing import FetchedRecord
from kipviz.messages.shares.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
    AcquiredRecords,
    ShareFetch,
    batches_of,
)
from tests.clients.parts import change, producer_of
from tests.messages.shares import acknowledge_response, acknowledges, fetch_response, fetches

RULES = REPAIRED.client_rules()
ACCEPT, RELEASE, GAP = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.GAP


def accept_all(batch, staged):
    return batches_of(batch, ACCEPT)


def consumer(*, explicit=False):
    return ShareConsumer("app-1/consumer", "g1", "M1", 2, "src-0", 10, explicit)


def sends(me, broker=5):
    me, request = sc.note_sent(me, sc.next_request(me), broker)
    return request, me


def deliver(me, *offsets, gaps=(), broker=5, error=Errors.NONE):
    """Poll, and let the broker deliver these offsets."""
    _, me = sends(sc.poll(me, accept_all), broker)
    return answer_fetch(me, *offsets, gaps=gaps, error=error)


def answer_fetch(me, *offsets, gaps=(), error=Errors.NONE):
    records = tuple(FetchedRecord("src-0", o, f"r{o}", 1) for o in offsets)
    acquired = tuple(AcquiredRecords(o, o, 1) for o in sorted((*offsets, *gaps)))
    answer = fetch_response(error, "src-0", records=records, acquired=acquired)
    return sc.on_response(me, answer)


def test_the_first_poll_opens_a_session_and_the_next_one_accepts_the_batch():
    request, me = sends(sc.poll(consumer(), accept_all))
    assert request == fetches("M1", 0, "src-0", 10)
    me = answer_fetch(me, 0, 1)
    assert (me.done, me.current_fetch.batch) == (True, (0, 1))
    request, _ = sends(sc.poll(me, accept_all))
    assert request.session_epoch == 1
    assert request.first.acknowledgements == (AcknowledgementBatch(0, 1, ACCEPT),)


def test_the_epoch_of_a_session_goes_on_at_1_behind_the_last_one():
    """ShareRequestMetadata.nextEpoch: 0 would open another session."""
    me = change(deliver(consumer(), 0), session_epoch=2**31 - 1)
    request, me = sends(sc.poll(me, accept_all))
    assert request.session_epoch == 2**31 - 1
    assert answer_fetch(me, 1).sessions.epoch == 1


def test_offsets_without_a_record_are_acknowledged_as_gaps():
    me = deliver(consumer(), 0, 2, gaps=(1,))
    request, _ = sends(sc.poll(me, accept_all))
    assert request.first.acknowledgements == (
        AcknowledgementBatch(0, 0, ACCEPT),
        AcknowledgementBatch(1, 1, GAP),
        AcknowledgementBatch(2, 2, ACCEPT),
    )


def test_a_fetch_that_brings_only_gaps_goes_on_by_itself():
    _, me = sends(sc.poll(consumer(), accept_all))
    me = answer_fetch(me, gaps=(0, 1))
    assert not me.done
    request, _ = sends(me)
    assert (request.session_epoch, request.first.acknowledgements) == (
        1,
        (AcknowledgementBatch(0, 1, GAP),),
    )


@pytest.mark.parametrize(
    "error",
    [
        Errors.SHARE_SESSION_NOT_FOUND,
        Errors.INVALID_SHARE_SESSION_EPOCH,
        Errors.NOT_LEADER_OR_FOLLOWER,
        Errors.UNKNOWN_SERVER_ERROR,
    ],
)
def test_after_an_error_the_poll_opens_a_new_session_and_its_acknowledgements_are_lost(error):
    me = deliver(consumer(), 0)
    _, me = sends(sc.poll(me, accept_all))
    me = answer_fetch(me, error=error)
    request, _ = sends(me)
    assert (request.session_epoch, request.first.acknowledgements, me.done) == (0, (), False)


def test_a_session_ends_with_its_connection_and_with_no_other():
    me = deliver(consumer(), 0)
    assert sc.on_disconnected(me, 3).sessions.epoch == 1
    gone = sc.on_disconnected(me, 5)
    request, _ = sends(sc.poll(gone, accept_all))
    assert (request.session_epoch, request.first.acknowledgements) == (0, ())


def test_a_poll_that_was_not_sent_yet_is_not_sent_into_a_session_that_is_gone():
    me = sc.poll(deliver(consumer(), 0), accept_all)
    request, _ = sends(sc.on_disconnected(me, 5))
    assert (request.session_epoch, request.first.acknowledgements) == (0, ())


def test_records_of_one_leader_are_not_acknowledged_at_the_next_one():
    me = deliver(consumer(), 0)
    request, me = sends(sc.poll(me, accept_all), broker=3)
    assert (request.session_epoch, request.first.acknowledgements) == (0, ())
    assert me.sessions.broker == 3


def test_in_explicit_mode_every_record_has_to_be_acknowledged_before_the_next_poll():
    me = deliver(consumer(explicit=True), 0, 1)
    assert share_throws.why_no_poll(me, RULES) == NotAllAcknowledged()
    me = sc.acknowledge(me, ((0, ACCEPT),))
    assert share_throws.why_no_poll(me, RULES) is not None
    me = sc.acknowledge(me, ((0, RELEASE), (1, ACCEPT)))  # the last word counts
    assert share_throws.why_no_poll(me, RULES) is None
    request, _ = sends(sc.poll(me, accept_all))
    assert request.first.acknowledgements == (
        AcknowledgementBatch(0, 0, RELEASE),
        AcknowledgementBatch(1, 1, ACCEPT),
    )


def test_in_explicit_mode_a_staged_record_is_acknowledged_where_the_design_says_so():
    me = change(deliver(consumer(explicit=True), 0, 1), staged=(0, 1))
    assert share_throws.why_no_poll(me, RULES) is None
    for other in ("as-written", "kafka", "finding-X27"):
        why = share_throws.why_no_poll(me, design(other).client_rules())
        assert why == NotAllAcknowledged()
    said = sc.acknowledge(me, ((0, ACCEPT), (1, ACCEPT)))
    assert share_throws.why_no_poll(said, design("as-written").client_rules()) is None


def test_implicit_mode_never_minds():
    assert share_throws.why_no_poll(deliver(consumer(), 0), RULES) is None


def committing(*, gaps=()):
    me = sc.acknowledge(deliver(consumer(explicit=True), 0, 1, gaps=gaps), ((0, ACCEPT),))
    return sends(sc.commit_sync(me))


def test_commit_sync_sends_what_was_said_and_leaves_the_rest():
    request, me = committing(gaps=(2,))
    assert request == acknowledges(
        "g1",
        "M1",
        1,
        "src-0",
        (AcknowledgementBatch(0, 0, ACCEPT), AcknowledgementBatch(2, 2, GAP)),
    )
    assert me.current_fetch.batch == (1,)
    assert not me.done
    me = sc.on_response(me, acknowledge_response(Errors.NONE, "src-0"))
    assert (me.done, me.sessions.epoch, me.acknowledging.error) == (True, 2, Errors.NONE)


def test_commit_sync_reports_what_was_refused_and_the_session_goes_on():
    """Recorded of Kafka 4.4.0: InvalidRecordStateException in the result."""
    _, me = committing()
    me = sc.on_response(me, acknowledge_response(Errors.INVALID_RECORD_STATE, "src-0"))
    assert (me.done, me.sessions.epoch) == (True, 2)
    assert me.acknowledging.error is Errors.INVALID_RECORD_STATE


@pytest.mark.parametrize(
    "error", [Errors.SHARE_SESSION_NOT_FOUND, Errors.INVALID_SHARE_SESSION_EPOCH]
)
def test_commit_sync_into_a_session_that_is_not_known_any_more_ends_it(error):
    _, me = committing()
    me = sc.on_response(me, acknowledge_response(error, "src-0"))
    assert (me.done, me.sessions.epoch) == (True, 0)
    assert me.acknowledging.error is Errors.NETWORK_EXCEPTION  # it cannot be sent again


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Errors.SHARE_SESSION_NOT_FOUND, Errors.NETWORK_EXCEPTION),
        (Errors.GROUP_AUTHORIZATION_FAILED, Errors.GROUP_AUTHORIZATION_FAILED),
    ],
)
def test_a_fetch_that_is_refused_tells_the_callback_of_the_acknowledgements_it_brought(error, told):
    """ShareConsumeRequestManager.handleShareFetchSuccess."""
    me = deliver(change(consumer(), callback=True), 0)
    _, me = sends(sc.poll(me, accept_all))
    me = answer_fetch(me, error=error)
    (completed,) = me.acknowledging.completed
    assert completed.acknowledgements == (AcknowledgementBatch(0, 0, ACCEPT),)
    assert completed.error is told


def test_commit_sync_on_a_broken_connection_has_an_unknown_outcome():
    _, me = committing()
    me = sc.on_disconnected(me, 5)
    assert (me.done, me.sessions.epoch) == (True, 0)
    assert me.acknowledging.error is Errors.NETWORK_EXCEPTION


def test_commit_sync_without_a_session_or_without_anything_to_say_asks_nobody():
    me = sc.acknowledge(deliver(consumer(explicit=True), 0), ((0, ACCEPT),))
    lost = sc.commit_sync(sc.on_disconnected(me, 5))
    assert (lost.done, lost.to_send) == (True, None)
    assert lost.acknowledging.error is Errors.NETWORK_EXCEPTION
    nothing = sc.commit_sync(deliver(consumer(explicit=True), 0))
    assert (nothing.done, nothing.to_send, nothing.acknowledging.error) == (True, None, Errors.NONE)


def test_a_member_tells_the_broker_of_its_gaps_before_it_asks_the_next_one():
    assigned = ("src-0", "src-1")
    me = change(consumer(), member=True, assigned=assigned)
    first, me = sends(sc.poll(me, accept_all))
    me = answer_fetch(me, gaps=(0, 1))
    assert (me.done, me.current_fetch.gaps, me.resting) == (False, (), False)
    again, _ = sends(me)
    assert (again.names[0], again.session_epoch) == (first.names[0], 1)
    assert again.first.acknowledgements == (AcknowledgementBatch(0, 1, GAP),)


def test_an_asynchronous_commit_that_was_not_sent_is_lost_with_its_session():
    me = deliver(change(consumer(explicit=True), callback=True), 0)
    me = sc.commit_async(sc.acknowledge(me, ((0, ACCEPT),)))
    me = sc.on_disconnected(me, 5)
    assert (me.acknowledging.committing, me.sessions.epoch, sc.next_request(me)) == ((), 0, None)
    (told,) = me.acknowledging.completed
    assert told.acknowledgements == (AcknowledgementBatch(0, 0, ACCEPT),)
    assert told.error is Errors.NETWORK_EXCEPTION


@pytest.mark.parametrize("how", ["broken", "not known"])
def test_nor_does_it_outlive_the_session_that_a_fetch_has_lost(how):
    me = deliver(change(consumer(explicit=True), callback=True), 0)
    me = sc.commit_async(sc.acknowledge(me, ((0, ACCEPT),)))
    me, _ = sc.note_sent(me, sc.next_request(me), 5)  # another record is to be committed meanwhile
    me = sc.commit_async(change(me, verdicts=((1, ACCEPT),), batch=(1,)))
    if how == "broken":
        me = sc.on_disconnected(me, 5)
    else:
        me = sc.on_response(me, acknowledge_response(Errors.SHARE_SESSION_NOT_FOUND, "src-0"))
    assert (me.acknowledging.committing, me.sessions.epoch, me.acknowledging.in_background) == (
        (),
        0,
        False,
    )
    assert [done.acknowledgements[0].first for done in me.acknowledging.completed] == [0, 1]
    assert me.acknowledging.completed[1].error is Errors.NETWORK_EXCEPTION


def test_without_a_session_an_asynchronous_commit_fails_at_once():
    me = deliver(change(consumer(explicit=True), callback=True), 0)
    me = sc.on_disconnected(me, 5)
    me = sc.commit_async(sc.acknowledge(me, ((0, ACCEPT),)))
    assert me.acknowledging.committing == ()
    assert [done.error for done in me.acknowledging.completed] == [Errors.NETWORK_EXCEPTION]
    request, _ = sends(sc.poll(me, accept_all))
    assert (request.session_epoch, request.first.acknowledgements) == (0, ())


def test_a_fetch_that_loses_its_session_takes_what_waits_behind_it_along():
    me = deliver(change(consumer(explicit=True), callback=True), 0)
    _, me = sends(sc.poll(change(me, batch=()), accept_all))
    me = change(me, committing=(AcknowledgementBatch(0, 0, ACCEPT),))
    me = sc.on_disconnected(me, 5)
    assert me.acknowledging.committing == ()
    assert isinstance(me.to_send, ShareFetch)
    assert me.acknowledging.completed[-1].error is Errors.NETWORK_EXCEPTION


def test_what_is_in_hand_of_several_partitions_has_names():
    me = change(consumer(), gathers=True, beside=(Held("src-0", 5, (1, 2)), Held("src-1", 5, (7,))))
    assert me.in_hand == ("src-0@1", "src-0@2", "src-1@7")
    assert me.held == me.current_fetch.beside
    assert deliver(consumer(), 1, 2).in_hand == (1, 2)


def test_a_poll_that_found_gaps_alone_goes_on_and_says_them_with_the_next_fetch():
    _, me = sends(sc.poll(consumer().but(gathers=True), accept_all))
    me = answer_fetch(me, gaps=(3,))
    assert (me.done, me.current_fetch.beside) == (False, ())
    request, _ = sends(me)
    assert request.first.acknowledgements == (AcknowledgementBatch(3, 3, GAP),)


def test_only_the_records_for_which_more_time_was_asked_are_renewed():
    me = deliver(consumer(explicit=True), 0, 1, 2)
    verdicts = ((0, AcknowledgeType.RENEW), (1, ACCEPT))
    request, me = sends(sc.poll(change(me, verdicts=verdicts), accept_all))
    assert [record.offset for record in me.current_fetch.renewing] == [0]
    assert request.max_records == 0
    other, _ = sends(sc.poll(deliver(consumer(explicit=True), 0), accept_all))
    assert other.max_records == 10


def test_an_error_of_acknowledgements_is_told_until_the_next_poll():
    me = change(deliver(consumer(), 0), acknowledge_error=Errors.INVALID_RECORD_STATE)
    assert sc.poll(me, accept_all).acknowledging.error is Errors.NONE


def test_acknowledgements_of_another_partition_that_came_through_are_no_error():
    me = change(consumer(), acknowledge_error=Errors.NONE, callback=True)
    said = (AcknowledgementBatch(0, 1, ACCEPT),)
    refused = me.acknowledging.come_to(said, Errors.INVALID_RECORD_STATE, "src-1")
    assert refused.error is Errors.INVALID_RECORD_STATE
    kept = refused.come_to(said, Errors.NONE, "src-1")
    assert kept.error is Errors.INVALID_RECORD_STATE
    assert [(c.error, c.partition) for c in kept.completed] == [
        (Errors.INVALID_RECORD_STATE, "src-1"),
        (Errors.NONE, "src-1"),
    ]
    own = me.acknowledging.come_to(said, Errors.INVALID_RECORD_STATE)
    assert own.error is Errors.NONE


def test_after_the_last_partition_that_was_left_poll_comes_back_with_what_there_is():
    records = (FetchedRecord("src-0", 0, "r0", 1),)
    left = consumer().but(asking=("src-1", "src-2"), records=records)
    asked = requesting._ask_the_rest(left).to_send
    assert asked.names == ("src-1", "src-2")
    done = requesting._ask_the_rest(left.but(asking=()))
    assert (done.done, done.resting) == (True, False)
    empty = requesting._ask_the_rest(left.but(asking=(), records=()))
    assert (empty.done, empty.resting) == (False, True)


def test_the_callback_hears_the_partition_and_where_none_is_named_the_consumer_s_own():
    told = (AcknowledgementBatch(0, 1, ACCEPT), AcknowledgementBatch(4, 4, ACCEPT))
    completed = (Completed(told[:1], Errors.NONE), Completed(told[1:], Errors.NONE, "src-1"))
    sharing = change(consumer(), callback=True, completed=completed)
    program = (Line("consumer.poll()", Call.POLL),)
    me = Application("app-1", program, "out", producer_of("app-1/producer", "t"), sharing)
    after, events = thread._invoke_callback(me, me.program[0])
    assert [(e.partition, e.first, e.last) for e in events] == [("src-0", 0, 1), ("src-1", 4, 4)]
    assert after.consumer.acknowledging.completed == ()
