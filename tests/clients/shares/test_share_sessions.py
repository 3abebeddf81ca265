"""A share consumer of several partitions: one session with each broker, and what is said in which of them.

Kafka has a ShareSessionHandler for each broker, with an epoch of its own, and gives up acknowledgements that belong to
a session that is gone (ShareConsumeRequestManager).
"""

from __future__ import annotations

import pytest

from kipviz.clients.shares import share_consume_requests as requesting
from kipviz.clients.shares import share_consumer as sc
from kipviz.clients.shares.acknowledge_requests import Completed
from kipviz.clients.shares.share_holding import Held, Owed
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.timers import FetchWait
from kipviz.messages.cluster.features import Features
from kipviz.messages.errors import Errors
from kipviz.messages.logs.producing import FetchedRecord
from kipviz.messages.shares.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
    AcquiredRecords,
    FetchedPartition,
    PartitionAcknowledgements,
    ShareFetch,
    ShareFetchResponse,
    batches_of,
)
from tests.clients.parts import change, make
from tests.messages.shares import acknowledge_response, acknowledges, fetch_response

ACCEPT, GAP = AcknowledgeType.ACCEPT, AcknowledgeType.GAP
NETWORK = Errors.NETWORK_EXCEPTION
BOTH = ("src-0", "src-1")
HERE, THERE = 5, 3  # HERE leads src-0, THERE leads src-1


def reader(**changes):
    me = make(ShareConsumer, "app-1/consumer", "g1", "M1", 2, "src-0", 10, callback=True)
    return change(me, **{"assigned": BOTH, **changes})


def accept_all(batch, staged):
    return batches_of(batch, ACCEPT)


def polls(me):
    return sc.poll(me, accept_all)


def sends(me, broker):
    """Send what is to be sent to a broker that leads one partition; give the request, and who waits for it."""
    request = sc.next_request(me)
    if isinstance(request, ShareFetch):
        request = request.but(
            partitions=request.partitions[:1]
        )  # routing leaves out what others lead
    me, request = sc.note_sent(me, request, broker)
    return request, me


def part(partition, *offsets, gaps=(), error=Errors.NONE, acknowledge_error=Errors.NONE):
    records = tuple(FetchedRecord(partition, o, f"r{o}", 1) for o in offsets)
    runs = tuple(AcquiredRecords(o, o, 1) for o in sorted((*offsets, *gaps)))
    return FetchedPartition(partition, error, acknowledge_error, records, runs)


def has(me, partition, *offsets, **said):
    """Take the answer of a broker that was asked for one partition."""
    told = part(partition, *offsets, **said)
    answer = fetch_response(
        told.error, partition, told.acknowledge_error, told.records, told.acquired
    )
    return sc.on_response(me, answer)


def bare(*partitions):
    return tuple(map(PartitionAcknowledgements, partitions))


def batch(*offsets, kind=ACCEPT):
    return AcknowledgementBatch(offsets[0], offsets[-1], kind)


def list_completed(me):
    return [(c.partition, c.acknowledgements, c.error) for c in me.acknowledging.completed]


# -- one partition after the other --------------------------------------------------------------------


def asked_both(**changes):
    """A consumer that has asked both brokers for their partitions, and neither had a record."""
    _, me = sends(polls(reader(**changes)), HERE)
    _, me = sends(has(me, "src-0"), THERE)
    return has(me, "src-1")


def test_each_broker_is_asked_in_its_turn_in_a_session_of_its_own():
    first, me = sends(polls(reader()), HERE)
    assert (first.names, first.session_epoch, first.max_wait_ms) == (("src-0",), 0, 0)
    second, me = sends(has(me, "src-0"), THERE)
    assert (second.names, second.session_epoch) == (("src-1",), 0)
    me = has(me, "src-1")
    assert (me.resting, me.done, sc.next_request(me)) == (True, False, None)
    assert sc.timers(me) == (FetchWait(),)
    third, me = sends(sc.on_timer(me, FetchWait()), HERE)
    assert (third.names, third.session_epoch, me.resting) == (("src-0",), 1, False)
    fourth, me = sends(has(me, "src-0"), THERE)
    assert (fourth.names, fourth.session_epoch) == (("src-1",), 1)


def test_the_partition_behind_the_one_that_had_records_is_asked_first_by_the_next_poll():
    _, me = sends(polls(reader()), HERE)
    me = has(me, "src-0", 7)
    assert (
        me.done,
        me.current_fetch.batch,
        me.partition,
        me.current_fetch.delivered_by,
        me.asking,
    ) == (
        True,
        (7,),
        "src-0",
        HERE,
        (),
    )
    staying, _ = sends(
        polls(me), HERE
    )  # what is acknowledged goes along with a fetch of its partition
    assert staying.first == PartitionAcknowledgements("src-0", (batch(7),))
    moving = sc.next_request(polls(change(me, batch=())))
    assert moving.names == ("src-1", "src-0")


def test_records_are_acknowledged_at_the_broker_that_delivered_them_and_nowhere_else():
    """The partition has moved to another leader: its acknowledgements cannot be said there."""
    _, me = sends(polls(reader()), HERE)
    me = has(me, "src-0", 7)
    there, me = sends(polls(me), THERE)
    assert (there.session_epoch, there.first.acknowledgements) == (0, ())
    assert [(b, e) for b, e, _ in me.sessions.others] == [(HERE, 1)]


def test_who_begins_again_because_of_gaps_has_nobody_left_to_ask_from_before():
    me = reader(
        asking=("src-1",), gaps=(3,), session_epoch=1, session_broker=HERE, delivered_by=HERE
    )
    again = requesting._ask_on(me)
    assert (again.asking, again.current_fetch.gaps) == ((), ())
    assert again.to_send.names == ("src-0", "src-1")
    assert again.to_send.first.acknowledgements == (batch(3, kind=GAP),)


def test_an_old_session_is_taken_up_again_where_it_was_left():
    me = asked_both()
    assert (me.sessions.broker, me.sessions.epoch, me.sessions.others) == (
        THERE,
        1,
        ((HERE, 1, "src-0"),),
    )
    _, me = sends(sc.on_timer(me, FetchWait()), HERE)
    assert (me.sessions.broker, me.sessions.epoch, me.sessions.others) == (
        HERE,
        1,
        ((THERE, 1, "src-1"),),
    )


@pytest.mark.parametrize(
    ("gone", "present", "others"), [(THERE, 0, ((HERE, 1, "src-0"),)), (HERE, 1, ()), (9, 1, None)]
)
def test_a_connection_that_breaks_takes_its_own_session_along(gone, present, others):
    me = asked_both()
    after = sc.on_disconnected(me, gone)
    assert (after.sessions.epoch, after.sessions.others) == (
        present,
        me.sessions.others if others is None else others,
    )
    assert after.resting
    alone = reader(session_broker=THERE, session_epoch=4)
    assert sc.on_disconnected(alone, HERE) == alone


def test_a_request_that_is_lost_with_its_connection_begins_a_new_session_and_no_other_does():
    me = asked_both()
    _, me = sends(sc.on_timer(me, FetchWait()), HERE)
    assert sc.on_disconnected(me, THERE).on_wire == me.on_wire
    me = sc.on_disconnected(me, HERE)
    again, me = sends(me, HERE)
    assert (again.session_epoch, again.names[0]) == (0, "src-0")
    assert (me.sessions.others, me.acknowledging.error) == (((THERE, 1, "src-1"),), NETWORK)


def test_close_ends_the_session_with_every_broker_one_after_the_other():
    """ShareConsumeRequestManager.acknowledgeOnClose: a final epoch (-1) to each node."""
    me = sc.close(asked_both())
    assert (me.done, sc.next_broker(me)) == (False, THERE)
    first, me = sends(me, THERE)
    assert first == acknowledges("g1", "M1", requesting.FINAL_EPOCH, "src-1", ())
    me = sc.on_response(me, acknowledge_response(Errors.NONE, "src-1"))
    assert (me.done, sc.next_broker(me)) == (False, HERE)
    second, me = sends(me, HERE)
    assert second == acknowledges("g1", "M1", requesting.FINAL_EPOCH, "src-0", ())
    me = sc.on_response(me, acknowledge_response(Errors.NONE, "src-0"))
    assert (me.done, me.sessions.others, me.sessions.epoch, sc.next_request(me)) == (
        True,
        (),
        0,
        None,
    )


def test_close_goes_on_at_the_other_brokers_where_the_present_session_is_lost():
    lost = sc.on_disconnected(asked_both(), THERE)
    assert sc.next_broker(sc.close(lost)) == HERE
    last, _ = sends(sc.close(lost), HERE)
    assert last.session_epoch == requesting.FINAL_EPOCH
    nowhere = sc.close(sc.on_disconnected(lost, HERE))
    assert (nowhere.done, sc.next_request(nowhere)) == (True, None)


def test_close_says_what_commit_async_has_not_sent_yet_in_the_order_of_offsets():
    me = reader(assigned=(), explicit=True, session_epoch=2, session_broker=HERE, batch=(4, 8))
    me = change(me, committing=(batch(8),), verdicts=((4, ACCEPT),), acknowledge_error=NETWORK)
    me = sc.close(me)
    assert (me.acknowledging.committing, me.current_fetch.batch, me.acknowledging.error) == (
        (),
        (),
        Errors.NONE,
    )
    assert me.to_send.message.partitions[0].acknowledgements == (batch(4), batch(8))


def test_commit_async_adds_to_what_waits_to_be_sent_in_the_order_of_offsets():
    me = reader(assigned=(), explicit=True, session_epoch=2, session_broker=HERE, batch=(4, 8))
    me = sc.commit_async(change(me, verdicts=((8, ACCEPT),)))
    me = sc.commit_async(change(me, verdicts=((4, ACCEPT),)))
    request, me = sends(me, HERE)
    assert request.partitions[0].acknowledgements == (batch(4), batch(8))
    assert (me.acknowledging.in_background, me.acknowledging.committing, sc.next_request(me)) == (
        True,
        (),
        None,
    )


def test_where_no_broker_of_a_fetch_may_be_read_the_poll_throws_and_says_which_right_is_missing():
    _, me = sends(polls(reader()), HERE)
    refused = fetch_response(Errors.NONE, "src-0", refused=("src-0",))
    me = sc.on_response(me, refused)
    assert (me.done, str(me.error), me.sessions.epoch) == (
        True,
        "ShareFetch: TOPIC_AUTHORIZATION_FAILED",
        1,
    )


def test_records_that_were_found_come_before_the_right_that_is_missing():
    _, me = sends(polls(reader()), HERE)
    found = part("src-0", 7)
    delivered = (found.records, found.acquired)
    answer = fetch_response(Errors.NONE, "src-0", Errors.NONE, *delivered, refused=("src-1",))
    me = sc.on_response(me, answer)
    assert (me.done, me.error, me.current_fetch.batch) == (True, "", (7,))


# -- a member is told what it reads --------------------------------------------------------------------


def test_a_member_without_partitions_waits_for_them_in_poll_and_asks_when_they_come():
    me = polls(reader(assigned=(), member=True))
    assert (me.subscription.awaiting, sc.next_request(me), me.done) == (True, None, False)
    assert sc.assigned_now(me, (), 3).subscription.awaiting
    me = sc.assigned_now(me, BOTH, 4)
    assert (me.subscription.awaiting, me.subscription.assigned, me.member_epoch) == (False, BOTH, 4)
    assert sc.next_request(me).names[0] == "src-0"


def test_what_a_poll_meant_to_ask_is_taken_back_when_the_last_partition_goes():
    unsent = polls(reader(member=True))
    assert sc.assigned_now(unsent, (), 3) == change(
        unsent, assigned=(), member_epoch=3, to_send=None, awaiting=True
    )
    resting = asked_both(member=True)
    after = sc.assigned_now(resting, (), 3)
    assert (after.resting, after.subscription.awaiting) == (False, True)
    assert sc.assigned_now(resting, ("src-1",), 3).resting, "something is left to ask for"
    kept = sc.assigned_now(unsent, ("src-1",), 3)
    assert (kept.to_send, kept.subscription.awaiting) == (unsent.to_send, False)


@pytest.mark.parametrize("changes", [{"member": False}, {"member": True, "closed": True}])
def test_who_is_no_member_or_is_closed_is_assigned_nothing(changes):
    me = reader(**changes)
    assert sc.assigned_now(me, ("src-1",), 9) == me


def test_a_poll_forgets_what_was_said_in_the_one_before_also_where_it_waits_for_partitions():
    me = reader(member=True, assigned=(), batch=(1,), staged=(1,), verdicts=((1, ACCEPT),))
    me = change(me, gaps=(2,), records=part("src-0", 1).records, error="x", done=True)
    me = polls(change(me, acknowledge_error=NETWORK))
    assert me == reader(member=True, assigned=(), awaiting=True)


def test_a_member_whose_fetch_failed_without_partitions_waits_for_new_ones():
    _, me = sends(polls(reader(member=True)), HERE)
    me = sc.assigned_now(me, (), 3)
    assert not me.subscription.awaiting, "its fetch is on the wire"
    lost = sc.on_disconnected(me, HERE)
    assert (lost.subscription.awaiting, lost.to_send) == (True, None)
    nothing = has(me, "src-0")
    assert (nothing.subscription.awaiting, nothing.resting) == (True, False)


# -- poll() gathers what all partitions have ----------------------------------------------------------


def gather_records():
    """A consumer that has one record of each partition, from two brokers."""
    _, me = sends(polls(reader(gathers=True)), HERE)
    _, me = sends(has(me, "src-0", 7, gaps=(8,)), THERE)
    return has(me, "src-1", 40)


def test_who_gathers_comes_back_with_what_every_partition_had():
    _, me = sends(polls(reader(gathers=True)), HERE)
    me = has(me, "src-0", 7, gaps=(8,))
    assert not me.done
    _, me = sends(me, THERE)
    me = has(me, "src-1", 40)
    assert (me.done, [r.offset for r in me.records], me.current_fetch.batch) == (True, [7, 40], ())
    assert me.current_fetch.beside == (
        Held("src-0", HERE, (7,), gaps=(8,)),
        Held("src-1", THERE, (40,)),
    )
    assert (me.partition, me.current_fetch.delivered_by) == ("src-1", THERE)


def test_what_was_gathered_is_acknowledged_with_the_next_fetch_of_each_partition():
    me = polls(gather_records())
    assert (me.current_fetch.beside, me.records, me.done) == ((), (), False)
    assert me.acknowledging.owed == (
        Owed("src-0", HERE, (batch(7), batch(8, kind=GAP))),
        Owed("src-1", THERE, (batch(40),)),
    )
    first, me = sends(me, HERE)
    assert (first.names, first.session_epoch) == (("src-0",), 1)
    assert first.first.acknowledgements == (batch(7), batch(8, kind=GAP))
    assert [o.partition for o in me.acknowledging.owed] == ["src-1"]
    second, me = sends(has(me, "src-0"), THERE)
    assert second.first.acknowledgements == (batch(40),)
    assert me.acknowledging.owed == ()


def test_what_was_gathered_is_not_acknowledged_in_a_session_that_begins():
    me = polls(gather_records())
    first, _ = sends(sc.on_disconnected(me, HERE), HERE)
    assert (first.session_epoch, first.first.acknowledgements) == (0, ())
    moved, _ = sends(me, 9)  # another leader
    assert (moved.session_epoch, moved.first.acknowledgements) == (0, ())


def test_who_closes_holds_nothing_any_more_and_owes_nobody_a_word():
    """What is held is given back by the broker with the session, accepted or not."""
    for me in (gather_records(), polls(gather_records())):
        closed = sc.close(me)
        assert (closed.held, closed.in_hand, closed.acknowledging.owed) == ((), (), ())


# -- one fetch for all partitions of a broker ----------------------------------------------------------


def in_session(**changes):
    return reader(gathers=True, by_session=True, **changes)


def asks_all(me, broker=HERE, first="src-0", *further):
    """Send its fetch to a broker that leads some of what it asks for."""
    wanted = sc.next_request(me)
    assert isinstance(wanted, ShareFetch)
    me, request = sc.note_sent(me, wanted.but(partitions=bare(first, *further)), broker)
    return request, me


def tells(me, *parts, error=Errors.NONE):
    return sc.on_response(me, ShareFetchResponse(error, parts))


def read_at_both():
    """One record of each partition, in a session with each broker."""
    _, me = asks_all(polls(in_session()))
    me = tells(me, part("src-0", 7))
    _, me = asks_all(me, THERE, "src-1")
    return tells(me, part("src-1", 40))


def test_one_broker_that_leads_everything_is_asked_once_and_may_wait():
    request, me = asks_all(polls(in_session()), HERE, *BOTH)
    assert (request.partitions, request.max_wait_ms) == (bare(*BOTH), 500)
    assert (request.forgotten, me.asking) == ((), ())
    assert me.sessions.told == ((HERE, BOTH),)
    me = tells(me, part("src-1", 40), part("src-0", 7))
    assert (me.done, [h.partition for h in me.current_fetch.beside]) == (True, ["src-1", "src-0"])
    again, _ = asks_all(polls(me), HERE, *BOTH)
    assert again.partitions == (
        PartitionAcknowledgements("src-1", (batch(40),)),
        PartitionAcknowledgements("src-0", (batch(7),)),
    )


def test_where_it_waited_in_vain_the_same_broker_is_asked_again_at_once():
    _, me = asks_all(polls(in_session()), HERE, *BOTH)
    me = tells(me)
    assert (me.done, me.resting) == (False, False)
    assert isinstance(sc.next_request(me), ShareFetch)


def test_two_brokers_are_asked_without_waiting_and_rest_when_neither_has_anything():
    request, me = asks_all(polls(in_session()))
    assert (request.partitions, request.max_wait_ms, me.asking) == (bare("src-0"), 0, ("src-1",))
    me = tells(me)
    assert me.to_send.names == ("src-1",)
    request, me = asks_all(me, THERE, "src-1")
    assert (request.partitions, request.session_epoch) == (bare("src-1"), 0)
    me = tells(me)
    assert (me.resting, me.sessions.told) == (True, ((THERE, ("src-1",)), (HERE, ("src-0",))))


@pytest.mark.parametrize("error", [Errors.NONE, Errors.NOT_LEADER_OR_FOLLOWER])
def test_a_partition_that_is_told_of_without_a_record_is_none_of_a_poll_s_finds(error):
    """ShareFetchCollector.collect: what was completed with an error or nothing fills no ShareFetch."""
    _, me = asks_all(polls(in_session()))
    me = tells(me, part("src-0", error=error))
    assert (me.current_fetch.beside, me.records) == ((), ())
    _, me = asks_all(me, THERE, "src-1")
    me = tells(me)
    assert (me.resting, me.done) == (True, False), "it waits before it asks both again"
    _, alone = sends(polls(reader(gathers=True)), HERE)
    _, alone = sends(has(alone, "src-0"), THERE)
    assert has(alone, "src-1").resting


def test_a_partition_that_has_moved_is_forgotten_in_the_old_session_and_its_records_are_lost():
    """ShareSessionHandler: toForget; acknowledgements for a leader of before fail."""
    _, me = asks_all(polls(in_session()), HERE, *BOTH)
    me = polls(tells(me, part("src-0", 7), part("src-1", 40)))
    request, me = asks_all(me)
    assert request.forgotten == ("src-1",)
    assert request.partitions == (PartitionAcknowledgements("src-0", (batch(7),)),)
    assert list_completed(me) == [("src-1", (batch(40),), Errors.NOT_LEADER_OR_FOLLOWER)]
    assert me.acknowledging.error is Errors.NOT_LEADER_OR_FOLLOWER


def test_in_a_session_that_begins_nothing_can_be_acknowledged():
    me = sc.on_disconnected(polls(read_at_both()), HERE)
    request, me = asks_all(me)
    assert (request.session_epoch, request.partitions) == (0, bare("src-0"))
    assert list_completed(me) == [("src-0", (batch(7),), NETWORK)]
    assert [o.partition for o in me.acknowledging.owed] == ["src-1"]


def test_each_partition_s_acknowledgements_come_to_what_the_answer_says_of_them():
    _, me = asks_all(polls(read_at_both()))
    me = tells(me, part("src-0", acknowledge_error=Errors.INVALID_RECORD_STATE))
    assert list_completed(me) == [("src-0", (batch(7),), Errors.INVALID_RECORD_STATE)]
    assert me.acknowledging.error is Errors.INVALID_RECORD_STATE
    _, me = asks_all(me, THERE, "src-1")
    me = tells(me)
    assert me.acknowledging.completed[-1] == Completed((batch(40),), Errors.NONE, "src-1")
    assert me.acknowledging.error is Errors.INVALID_RECORD_STATE, "told until the next poll"


def test_a_topic_that_may_not_be_read_is_thrown_by_a_poll_that_found_nothing_else():
    refused = part("src-1", error=Errors.TOPIC_AUTHORIZATION_FAILED)
    _, me = asks_all(polls(in_session()), HERE, *BOTH)
    nothing = tells(me, refused)
    assert (nothing.done, str(nothing.error)) == (True, "ShareFetch: TOPIC_AUTHORIZATION_FAILED")
    assert (nothing.asking, nothing.sessions.epoch) == ((), 1)
    found = tells(me, refused, part("src-0", 7))
    assert (found.done, found.error, len(found.records)) == (True, "", 1)
    elsewhere = tells(me, part("src-1", error=Errors.NOT_LEADER_OR_FOLLOWER))
    assert (elsewhere.done, elsewhere.error) == (False, "")


def test_a_fetch_that_is_refused_as_a_whole_begins_a_new_session():
    _, me = asks_all(polls(read_at_both()))
    me = tells(me, error=Errors.SHARE_SESSION_NOT_FOUND)
    assert (me.sessions.epoch, me.acknowledging.error) == (0, NETWORK)
    assert list_completed(me) == [("src-0", (batch(7),), NETWORK)]
    assert isinstance(me.to_send, ShareFetch)


def test_a_refused_fetch_without_acknowledgements_is_no_result_of_acknowledgements():
    _, me = asks_all(polls(in_session()), HERE, *BOTH)
    me = tells(me, error=Errors.GROUP_AUTHORIZATION_FAILED)
    assert (me.done, me.acknowledging.error) == (True, Errors.NONE)


def test_commit_sync_accepts_what_is_in_hand_in_one_request_to_each_broker():
    me = sc.commit_sync(read_at_both())
    assert (me.current_fetch.beside, me.done) == ((), False)
    assert sc.next_broker(me) == HERE
    first, me = sends(me, HERE)
    assert first == acknowledges("g1", "M1", 1, "src-0", (batch(7),))
    me = sc.on_response(me, acknowledge_response(Errors.NONE, "src-0"))
    assert (me.done, me.sessions.epoch) == (False, 2)
    assert sc.next_broker(me) == THERE
    second, me = sends(me, THERE)
    assert second == acknowledges("g1", "M1", 1, "src-1", (batch(40),))
    me = sc.on_response(me, acknowledge_response(Errors.NONE, "src-1"))
    assert (me.done, me.acknowledging.owed) == (True, ())
    assert list_completed(me) == [
        ("src-0", (batch(7),), Errors.NONE),
        ("src-1", (batch(40),), Errors.NONE),
    ]


def test_commit_sync_of_two_partitions_of_one_broker_is_one_request_with_two_results():
    _, me = asks_all(polls(in_session()), HERE, *BOTH)
    me = sc.commit_sync(tells(me, part("src-0", 7), part("src-1", 40)))
    request, me = sends(me, HERE)
    assert request == acknowledges(
        "g1",
        "M1",
        1,
        "src-0",
        (batch(7),),
        PartitionAcknowledgements("src-1", (batch(40),)),
    )
    wrong = ("src-1", Errors.INVALID_RECORD_STATE)
    me = sc.on_response(me, acknowledge_response(Errors.NONE, "src-0", wrong))
    assert list_completed(me) == [
        ("src-0", (batch(7),), Errors.NONE),
        ("src-1", (batch(40),), Errors.INVALID_RECORD_STATE),
    ]
    assert (me.done, me.acknowledging.error) == (True, Errors.INVALID_RECORD_STATE)


def test_commit_sync_fails_for_a_broker_whose_session_is_lost_and_goes_on_with_the_others():
    me = sc.commit_sync(sc.on_disconnected(read_at_both(), HERE))
    assert list_completed(me) == [("src-0", (batch(7),), NETWORK)]
    assert (me.to_send.broker, me.done) == (THERE, False)
    nobody = sc.commit_sync(sc.on_disconnected(sc.on_disconnected(read_at_both(), HERE), THERE))
    assert (nobody.done, nobody.to_send, len(nobody.acknowledging.completed)) == (True, None, 2)


def test_commit_sync_goes_on_with_the_other_broker_where_a_connection_breaks_on_the_way():
    _, me = sends(sc.commit_sync(read_at_both()), HERE)
    me = sc.on_disconnected(me, HERE)
    assert list_completed(me) == [("src-0", (batch(7),), NETWORK)]
    assert (me.to_send.broker, me.done) == (THERE, False)


def test_commit_sync_forgets_the_error_of_the_one_before_and_of_nothing_there_is_nothing_to_say():
    me = sc.commit_sync(in_session(acknowledge_error=NETWORK, session_epoch=1))
    assert (me.done, me.to_send, me.acknowledging.error) == (True, None, Errors.NONE)


# -- the next life --------------------------------------------------------------------------------------


def test_the_next_life_is_configured_as_the_one_before_and_remembers_nothing_of_it():
    me = change(read_at_both(), explicit=True, acquire_mode=1, staging_told=0)
    again = sc.restart(sc.restart(me, 2), 3)
    assert again == make(
        ShareConsumer,
        "app-1/consumer",
        "g1",
        "M1#3",
        2,
        me.partition,
        10,
        True,
        acquire_mode=1,
        callback=True,
        assigned=BOTH,
        gathers=True,
        by_session=True,
        staging_told=1,
    )
    assert sc.restart(change(me, member=True), 2).subscription.assigned == (), "its group tells it"
    assert sc.restart(change(me, member=True), 2).subscription.joins
    assert sc.restart(change(me, staging_told=-1), 2).handover.staging_told == -1


def test_broker_0_is_a_broker_like_any_other():
    me = reader(delivered_by=0, session_broker=0, session_epoch=1)
    assert sc.next_request(polls(me)).names[0] == "src-1", "src-0 was asked for already"
    never = reader()
    assert sc.next_request(polls(never)).names[0] == "src-0"


def test_before_anything_was_asked_no_member_is_named_and_nobody_asks_for_staging():
    """JoinGroupRequest.UNKNOWN_MEMBER_ID is "", and an epoch of -1 is nobody's."""
    me = reader()
    assert (me.handover.snapshot, me.handover.staging_told) == (("", -1), -1)
    assert sc.note_features(me, Features(share_version=3)) == me
    named = sc.share_group_metadata(me)
    assert named.handover.snapshot == ("M1", 2)
    assert named.but(member_epoch=3).handover.snapshot == ("M1", 2), (
        "an immutable snapshot (KIP-1289)"
    )
    assert named.held == (Held("src-0", -1),)


@pytest.mark.parametrize(("level", "told"), [(2, 0), (3, 1)])
def test_a_connection_tells_who_asks_whether_the_cluster_stages(level, told):
    me = reader(staging_told=1)
    after = sc.note_features(me, Features(share_version=level, staging_level=3))
    assert after.handover.staging_told == told
