"""How a producer learns the ids of topics (KIP-1319)."""

from __future__ import annotations

import pytest

from kipviz.clients import kinds
from kipviz.clients.sending import producer as client
from kipviz.clients.sending.producer import Producer
from kipviz.clients.timers import MaxBlock, MaxIdle, RetryBackOff
from kipviz.clients.transactions import topic_ids
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.clients.transactions.topic_ids import TopicIds
from kipviz.messages.cluster.features import Features
from kipviz.messages.cluster.metadata import Metadata, MetadataResponse, TopicId
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import (
    GroupOffset,
    TxnOffsetCommit,
    TxnOffsetCommitResponse,
    committed_response,
)
from kipviz.messages.transactions.liveness import TxnHeartbeat
from kipviz.messages.transactions.transactions import (
    AddOffsetsToTxn,
    AddOffsetsToTxnResponse,
    EndTxn,
    PartitionResult,
)
from tests.clients.parts import (
    change,
    offsets_response,
    producer_of,
    send_offsets,
    topic_ids_given_up,
)

SRC, OTHER = TopicId("src", "AAAAAAAAAAAAAAAAAAAAAg"), TopicId("other", "AAAAAAAAAAAAAAAAAAAABg")
OFFSETS = (GroupOffset("src-0", 2), GroupOffset("other-1", 5))
REQUEST = TxnOffsetCommit("t", "g", 9, 0, "m", 3, OFFSETS)


def start_producer(*known: TopicId, looks_up: bool = True) -> Producer:
    return producer_of(
        "app-1/producer",
        "t",
        state=ProducerState.IN_TRANSACTION,
        producer_id=9,
        producer_epoch=0,
        topics=TopicIds(looks_up, known),
    )


def staging(me: Producer, *offsets: GroupOffset) -> Producer:
    return send_offsets(me, "g", "m", 3, offsets or OFFSETS[:1])


def send(me: Producer):
    request = client.next_request(me)
    assert request is not None
    me, request = client.note_sent(me, request, 4)
    return me, request


def test_only_unknown_topics_are_looked_up_and_each_once():
    both = (*OFFSETS, GroupOffset("src-1", 7))
    assert topic_ids.missing(TopicIds(True), REQUEST.but(offsets=both)) == ("src", "other")
    assert topic_ids.missing(TopicIds(True, (SRC,)), REQUEST) == ("other",)
    assert topic_ids.missing(TopicIds(), REQUEST) == ()


def test_a_request_is_built_by_ids_or_as_a_whole_by_names():
    """KIP-1319 Fallback: all or nothing."""
    by_id = topic_ids.build_request(TopicIds(True, (SRC, OTHER)), REQUEST)
    assert (by_id.version, by_id.topic_ids) == (
        6,
        (("src", SRC.topic_id), ("other", OTHER.topic_id)),
    )
    by_name = topic_ids.build_request(TopicIds(True, (SRC,)), REQUEST)
    assert (by_name.version, by_name.topic_ids) == (5, ())
    assert topic_ids.build_request(TopicIds(), REQUEST) is REQUEST


def test_what_is_sent_again_is_the_same_request():
    newer = TopicIds(True, (SRC.but(topic_id="AAAAAAAAAAAAAAAAAAAACg"), OTHER))
    by_id = topic_ids.build_request(TopicIds(True, (SRC, OTHER)), REQUEST)
    assert topic_ids.build_request(newer, by_id) is by_id
    assert topic_ids.build_request(newer, REQUEST.but(version=5)).topic_ids == ()


def test_the_first_commit_waits_for_the_id_and_the_second_does_not():
    me, asked = send(staging(start_producer()))
    assert asked == Metadata(("src",))
    me, request = send(client.on_response(me, MetadataResponse(Errors.NONE, (SRC,))))
    assert request.topic_ids == (("src", SRC.topic_id),)
    me = client.on_response(me, offsets_response(Errors.NONE))
    assert me.done
    _, request = send(staging(me))
    assert isinstance(request, TxnOffsetCommit)


def test_an_id_that_is_told_anew_takes_the_place_of_the_one_before():
    """A topic that was deleted and made again under its name has another id."""
    newer = SRC.but(topic_id="AAAAAAAAAAAAAAAAAAAACg")
    me = topic_ids.learn_ids(TopicIds(True, (SRC, OTHER)), (newer, TopicId("gone", "")))
    assert me.known == (OTHER, newer)


def test_a_topic_that_nobody_knows_sends_the_whole_by_name():
    me, _ = send(staging(start_producer()))
    _, request = send(client.on_response(me, MetadataResponse(Errors.NONE, (TopicId("src", ""),))))
    assert (request.version, request.topic_ids) == (5, ())


@pytest.mark.parametrize(("newest", "version"), [(6, 6), (5, 5)])
def test_the_version_is_the_newest_that_both_sides_know(newest, version):
    me = client.note_features(start_producer(SRC), Features(2, newest))
    _, request = send(staging(me))
    assert request.version == version
    assert bool(request.topic_ids) == (version == 6)


def test_below_transaction_version_2_the_id_is_looked_up_and_not_sent():
    """TxnOffsetCommitRequest.Builder: at most version 4, whatever the brokers know."""
    me, asked = send(staging(change(start_producer(), version=1)))
    assert asked == Metadata(("src",))
    me, first = send(client.on_response(me, MetadataResponse(Errors.NONE, (SRC,))))
    assert isinstance(first, AddOffsetsToTxn)
    _, request = send(client.on_response(me, AddOffsetsToTxnResponse(Errors.NONE)))
    assert (request.version, request.topic_ids) == (4, ())
    older = client.note_features(change(start_producer(), version=1), Features(1, 5))
    assert isinstance(send(staging(older))[1], AddOffsetsToTxn)


def test_an_unknown_id_is_sent_again_after_the_back_off_until_max_block_ms():
    me, request = send(staging(start_producer(SRC)))
    me = client.on_response(me, offsets_response(Errors.UNKNOWN_TOPIC_ID))
    assert client.next_request(me) is None
    assert client.timers(me) == (RetryBackOff(), MaxBlock())
    assert client.next_request(client.on_timer(me, RetryBackOff())) == request
    over = client.on_timer(me, MaxBlock())
    assert (over.manager.state, over.done) == (ProducerState.IN_TRANSACTION, True)
    assert over.manager.timed_out == "sendOffsetsToTransaction"
    assert client.timers(over) == (RetryBackOff(),), "the call is over, the request is not"


def test_what_ends_the_transaction_waits_behind_offsets_that_nobody_waits_for():
    """TransactionManager.Priority: ADD_PARTITIONS_OR_OFFSETS goes before END_TXN, also in an abort."""
    me, request = send(staging(start_producer(SRC)))
    me = client.on_response(me, offsets_response(Errors.UNKNOWN_TOPIC_ID))
    me = change(client.on_timer(me, MaxBlock()), timed_out="")
    me = client.end_transaction(me, committed=False)
    assert [type(m).__name__ for m in me.manager.queue] == ["TxnOffsetCommit", "EndTxn"]
    for _ in range(2):
        assert client.next_request(me) is None
        me, again = send(client.on_timer(me, RetryBackOff()))
        assert again == request
        me = client.on_response(me, offsets_response(Errors.UNKNOWN_TOPIC_ID))
    me, _ = send(client.on_timer(me, RetryBackOff()))
    me = client.on_response(me, offsets_response(Errors.NONE))
    assert isinstance(client.next_request(me), EndTxn)
    assert not me.done


def test_offsets_that_wait_for_the_id_of_their_topic_are_taken_back_when_the_call_gives_up():
    me = staging(start_producer())
    assert topic_ids_given_up(me).manager.queue == ()
    me, _ = send(me)
    assert topic_ids_given_up(me).manager.queue == ()
    known, _ = send(staging(start_producer(SRC)))
    assert topic_ids_given_up(known) == known


def test_what_an_earlier_call_sends_again_stays_when_a_later_one_gives_up_its_lookup():
    """KafkaProducer.sendOffsetsToTransaction: a call that waits for its topics has enqueued nothing yet."""
    me, first = send(staging(start_producer(SRC), GroupOffset("src-0", 2), GroupOffset("src-1", 3)))
    me = change(client.on_timer(me, MaxBlock()), timed_out="")
    me = staging(me, GroupOffset("other-1", 5))
    assert topic_ids_given_up(me).manager.on_wire == first
    assert topic_ids_given_up(me).manager.queue == ()
    half = (
        PartitionResult("src-0", Errors.NONE),
        PartitionResult("src-1", Errors.COORDINATOR_LOAD_IN_PROGRESS),
    )
    me = client.on_response(me, TxnOffsetCommitResponse(half))
    beat = TxnHeartbeat("t", 9, 0)
    me = change(me, queue=(*me.manager.queue, beat))
    given_up = topic_ids_given_up(me).manager
    assert (given_up.queue, given_up.accepted) == ((first, beat), ("src-0",))


def results(*errors):
    """The response for both partitions, in the order of the request."""
    places = zip(OFFSETS, errors, strict=True)
    return TxnOffsetCommitResponse(tuple(PartitionResult(o.partition, e) for o, e in places))


def test_a_request_of_which_one_partition_is_refused_is_sent_again_as_it_was():
    """TransactionManager.TxnOffsetCommitHandler: what is enqueued again is the request with all partitions."""
    me, request = send(staging(start_producer(SRC, OTHER), *OFFSETS))
    me = client.on_response(me, results(Errors.NONE, Errors.UNKNOWN_TOPIC_ID))
    assert not me.done
    _, again = send(client.on_timer(me, RetryBackOff()))
    assert again == request


def test_offsets_are_committed_when_each_partition_was_accepted_in_some_response():
    """TransactionManager.pendingTxnOffsetCommits: an error of a partition that was accepted before does not count."""
    me, request = send(staging(start_producer(SRC, OTHER), *OFFSETS))
    me = client.on_response(me, results(Errors.NONE, Errors.UNKNOWN_TOPIC_OR_PARTITION))
    assert (me.done, me.manager.accepted) == (False, (OFFSETS[0].partition,))
    me, again = send(me)
    assert again == request
    me = client.on_response(me, results(Errors.COORDINATOR_LOAD_IN_PROGRESS, Errors.NONE))
    assert (me.done, me.manager.accepted, me.manager.queue) == (True, (), ())


def test_a_partition_that_was_accepted_before_and_fails_now_ends_the_transaction():
    me, _ = send(staging(start_producer(SRC, OTHER), *OFFSETS))
    me = client.on_response(me, results(Errors.NONE, Errors.UNKNOWN_TOPIC_OR_PARTITION))
    me, _ = send(me)
    me = client.on_response(me, results(Errors.FENCED_INSTANCE_ID, Errors.NONE))
    assert (me.manager.state, me.manager.accepted) == (ProducerState.ABORTABLE_ERROR, ())


@pytest.mark.parametrize("error", [Errors.NONE, Errors.FENCED_INSTANCE_ID])
def test_what_was_accepted_before_is_forgotten_when_the_offsets_are_done_or_fail_in_an_abort(error):
    """A partition that is accepted in one transaction says nothing about the next one."""
    me, _ = send(staging(start_producer(SRC, OTHER), *OFFSETS))
    me = client.on_response(me, results(Errors.NONE, Errors.UNKNOWN_TOPIC_OR_PARTITION))
    me = client.end_transaction(change(me, done=True), committed=False)
    me, _ = send(me)
    me = client.on_response(me, results(Errors.NONE, error))
    assert me.manager.state is ProducerState.ABORTING_TRANSACTION
    assert me.manager.accepted == ()
    assert isinstance(client.next_request(me), EndTxn)


def test_a_partition_whose_id_is_unknown_makes_all_that_is_retried_wait_for_the_back_off():
    """Whichever partition comes first in the response."""
    me, request = send(staging(start_producer(SRC, OTHER), *OFFSETS))
    for unknown in ("src-0", "other-1"):
        own = (PartitionResult(unknown, Errors.UNKNOWN_TOPIC_ID),)
        moved = committed_response(REQUEST, Errors.NOT_COORDINATOR, own)
        waits = client.on_response(me, moved)
        assert (waits.manager.topics.refused, waits.manager.queue) == (True, (request,))


def test_a_partition_that_is_refused_while_the_transaction_ends_is_asked_for_again_too():
    """TransactionManager.TxnOffsetCommitHandler: its retries do not depend on the state."""
    me, _ = send(staging(start_producer(SRC, OTHER), *OFFSETS))
    me = client.end_transaction(change(me, done=True), committed=False)
    own = (PartitionResult("other-1", Errors.COORDINATOR_LOAD_IN_PROGRESS),)
    me = client.on_response(me, committed_response(REQUEST, own=own))
    _, again = send(me)
    assert again.offsets == OFFSETS


def test_what_is_idle_is_forgotten_between_two_transactions_only():
    me = start_producer(SRC)
    assert client.timers(me) == ()
    me = change(me, state=ProducerState.READY)
    assert client.timers(me) == (MaxIdle(),)
    me = client.on_timer(me, MaxIdle())
    assert me.manager.topics == TopicIds(True)
    assert client.timers(me) == ()


def test_the_next_life_of_the_process_knows_no_ids():
    assert client.restart(start_producer(SRC), 2).manager.topics == TopicIds(True)


def test_who_does_not_look_topics_up_sets_no_timer():
    assert client.timers(change(start_producer(looks_up=False), state=ProducerState.READY)) == ()


def test_the_time_of_the_call_goes_on_while_its_request_is_on_the_way_again():
    waiting = (RetryBackOff(), MaxBlock())
    me, _ = send(staging(start_producer(SRC)))
    assert (kinds.timers(me), kinds.running(me)) == ((), (MaxBlock(),))
    me = client.on_response(me, offsets_response(Errors.UNKNOWN_TOPIC_ID))
    assert kinds.timers(me) == kinds.running(me) == waiting
    me, _ = send(client.on_timer(me, RetryBackOff()))
    assert (kinds.timers(me), kinds.running(me)) == ((), (MaxBlock(),))
    me = client.on_response(me, offsets_response(Errors.NONE))
    assert kinds.running(me) == ()
    me, _ = send(staging(start_producer(looks_up=False)))
    assert kinds.running(me) == (), "who looks nothing up does not wait here"


def test_max_block_ms_is_the_time_of_a_call_and_ends_with_it():
    """KafkaProducer.sendOffsetsToTransaction: what it asked for goes on when it has come back."""
    me, _ = send(staging(start_producer(SRC)))
    assert kinds.running(me) == (MaxBlock(),)
    assert kinds.running(change(me, done=True)) == ()
    assert kinds.running(change(me, state=ProducerState.ABORTABLE_ERROR)) == ()
