"""auto.offset.reset of members that join, by both protocols: what a position that is not there becomes."""

from __future__ import annotations

import pytest

from kipviz.clients.groups import group_reading, kafka_consumer
from kipviz.clients.groups.consumer_coordinator import ConsumerCoordinator
from kipviz.clients.groups.consumer_membership import ConsumerMembership
from kipviz.clients.groups.subscription_state import ASKED
from kipviz.clients.throwing.client_errors import NoOffset, RequestError
from kipviz.clients.timers import FetchWait, ResetWait, RetryBackOff
from kipviz.core.table import Table
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import FetchedOffset, GroupOffset, OffsetFetch
from kipviz.messages.logs.list_offsets import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    ListOffsets,
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
)
from kipviz.messages.logs.producing import Fetch, FetchPartition, FetchResponse, PartitionData
from tests.clients.parts import change, stable_member
from tests.messages.offset_fetches import response_of, response_with

BOTH = pytest.mark.parametrize("protocol", [ConsumerMembership, ConsumerCoordinator])
BEYOND = FetchResponse((PartitionData("src-0", Errors.OFFSET_OUT_OF_RANGE),))
UNKNOWN = response_of(Errors.NONE, "src-0", -1)


def polling(protocol, policy, **changes):
    """A member in poll() that owns src-0 and does not know its position."""
    return stable_member(protocol, polling=True, auto_offset_reset=policy, **changes)


def answer_next(me, kind, answer):
    request = kafka_consumer.next_request(me)
    assert isinstance(request, kind)
    me, _ = kafka_consumer.note_sent(me, request, 4)
    return kafka_consumer.on_response(me, answer), request


def listed(offset, error=Errors.NONE):
    return ListOffsetsResponse((ListOffsetsPartitionResponse("src-0", error, offset),))


@BOTH
@pytest.mark.parametrize(
    ("policy", "timestamp"), [("earliest", EARLIEST_TIMESTAMP), ("latest", LATEST_TIMESTAMP)]
)
def test_a_group_that_has_read_nothing_asks_the_log_where_to_begin(protocol, policy, timestamp):
    me, _ = answer_next(polling(protocol, policy), OffsetFetch, UNKNOWN)
    told = listed(103)
    me, asked = answer_next(me, ListOffsets, told)
    assert (asked.partitions[0].timestamp, asked.read_committed) == (timestamp, True)
    fetch = kafka_consumer.next_request(me)
    assert isinstance(fetch, Fetch)
    assert fetch.partitions[0].fetch_offset == 103


@BOTH
def test_the_logs_are_asked_for_all_lost_positions_together_after_the_committed_offsets(protocol):
    """OffsetsRequestManager: one ListOffsets for each leader, once every committed offset is known."""
    me = change(polling(protocol, "earliest"), owned=("src-0", "src-1", "src-2"))
    committed = (FetchedOffset("src-0"), FetchedOffset("src-1", 7), FetchedOffset("src-2"))
    me, _ = answer_next(me, OffsetFetch, response_with(*committed))
    results = (
        ListOffsetsPartitionResponse("src-0", Errors.NOT_LEADER_OR_FOLLOWER),
        ListOffsetsPartitionResponse("src-2", Errors.NONE, 4),
    )
    me, asked = answer_next(me, ListOffsets, ListOffsetsResponse(results))
    assert [each.partition for each in asked.partitions] == ["src-0", "src-2"]
    me, asked = answer_next(me, ListOffsets, listed(100))
    assert [each.partition for each in asked.partitions] == ["src-0"]
    assert dict(me.subscription.positions) == {"src-0": 100, "src-1": 7, "src-2": 4}


@BOTH
def test_the_committed_offsets_of_all_partitions_without_a_position_are_fetched_together(protocol):
    """ConsumerCoordinator.initWithCommittedOffsetsIfNeeded, OffsetsRequestManager.initWithCommittedOffsetsIfNeeded."""
    at = Table.of({"src-1": 5})
    me = change(polling(protocol, ""), owned=("src-0", "src-1", "src-2"), positions=at)
    me, asked = answer_next(
        me, OffsetFetch, response_with(FetchedOffset("src-0", 7), FetchedOffset("src-2"))
    )
    assert asked.groups[0].partitions == ("src-0", "src-2")
    assert dict(me.subscription.positions) == {"src-0": 7, "src-1": 5, "src-2": 0}
    assert isinstance(kafka_consumer.next_request(me), Fetch)


@BOTH
def test_the_offset_of_a_partition_that_it_does_not_own_any_more_is_ignored(protocol):
    """ConsumerUtils.refreshCommittedOffsets."""
    me = change(polling(protocol, "earliest"), owned=("src-0", "src-1"))
    me, _ = kafka_consumer.note_sent(me, kafka_consumer.next_request(me), 4)
    me = change(me, owned=("src-1",))
    committed = (FetchedOffset("src-0", 3), FetchedOffset("src-1", 7))
    me = kafka_consumer.on_response(me, response_with(*committed))
    assert dict(me.subscription.positions) == {"src-1": 7}


@BOTH
def test_an_error_of_offsets_that_no_partition_waits_for_any_more_is_ignored(protocol):
    """ConsumerCoordinator.PendingCommittedOffsetRequest.sameRequest."""
    me = polling(protocol, "earliest")
    me, _ = kafka_consumer.note_sent(me, kafka_consumer.next_request(me), 4)
    me = change(me, owned=())
    after = kafka_consumer.on_response(me, response_of(Errors.UNKNOWN_MEMBER_ID, "src-0"))
    assert after == me.but(on_wire=None, on_wire_broker=-1)


@BOTH
def test_only_a_classic_consumer_throws_if_a_partition_does_not_exist(protocol):
    """ConsumerCoordinator.OffsetFetchResponseHandler, CommitRequestManager.handleRetriablePartitionErrors."""
    me = change(polling(protocol, ""), owned=("src-0", "src-1", "src-2"))
    me, asked = kafka_consumer.note_sent(me, kafka_consumer.next_request(me), 4)
    hidden = FetchedOffset("src-0", error=Errors.TOPIC_AUTHORIZATION_FAILED)
    gone = FetchedOffset("src-1", error=Errors.UNKNOWN_TOPIC_OR_PARTITION)
    alone = kafka_consumer.on_response(me, response_with(gone))
    beside = kafka_consumer.on_response(me, response_with(hidden, gone))
    if protocol is ConsumerCoordinator:
        error = "KafkaException: Topic or Partition src-1 does not exist"
        assert {str(alone.error), str(beside.error)} == {error}
        assert (alone.done, alone.polling) == (True, False)
    else:
        assert (alone.done, kafka_consumer.next_request(alone)) == (False, asked)
        assert str(beside.error) == "OffsetFetch: TOPIC_AUTHORIZATION_FAILED"
    elsewhere = kafka_consumer.on_response(change(me, owned=()), response_with(gone))
    assert not elsewhere.done


@BOTH
def test_one_offset_that_is_not_stable_lets_the_consumer_fetch_all_of_them_again(protocol):
    """KIP-447; ConsumerCoordinator.OffsetFetchResponseHandler, OffsetFetchRequestState.onSuccess."""
    me = change(polling(protocol, "none"), owned=("src-0", "src-1", "src-2"))
    unstable = FetchedOffset("src-1", error=Errors.UNSTABLE_OFFSET_COMMIT)
    answer = response_with(FetchedOffset("src-0", 7), unstable, FetchedOffset("src-2"))
    me, asked = answer_next(me, OffsetFetch, answer)
    assert (me.done, dict(me.subscription.positions)) == (False, {})
    assert kafka_consumer.next_request(me) is None, "it waits for retry.backoff.ms"
    assert kafka_consumer.next_request(kafka_consumer.on_timer(me, RetryBackOff())) == asked


@BOTH
def test_a_topic_that_may_not_be_described_is_thrown_before_an_unstable_offset_is_fetched_again(
    protocol,
):
    """ConsumerCoordinator.OffsetFetchResponseHandler, OffsetFetchRequestState.onSuccess."""
    me = change(polling(protocol, ""), owned=("src-0", "src-1", "src-2"))
    unstable = FetchedOffset("src-1", error=Errors.UNSTABLE_OFFSET_COMMIT)
    hidden = FetchedOffset("src-2", error=Errors.TOPIC_AUTHORIZATION_FAILED)
    answer = response_with(FetchedOffset("src-0", 7), unstable, hidden)
    me, _ = answer_next(me, OffsetFetch, answer)
    assert (me.done, str(me.error)) == (True, "OffsetFetch: TOPIC_AUTHORIZATION_FAILED")
    assert dict(me.subscription.positions) == {}


@BOTH
def test_without_a_policy_poll_throws_about_all_partitions_without_an_offset(protocol):
    """SubscriptionState.resetInitializingPositions: the offsets that were found are positions by then."""
    me = change(polling(protocol, "none"), owned=("src-0", "src-1", "src-2"))
    answer = response_with(
        FetchedOffset("src-0"), FetchedOffset("src-1", 7), FetchedOffset("src-2")
    )
    me, _ = answer_next(me, OffsetFetch, answer)
    assert (me.done, me.error) == (True, NoOffset("src-0, src-2"))
    assert dict(me.subscription.positions) == {"src-1": 7}
    _, asked = answer_next(kafka_consumer.poll(me), OffsetFetch, answer)
    assert asked.groups[0].partitions == ("src-0", "src-2")


@BOTH
def test_one_topic_that_may_not_be_described_is_enough_for_poll_to_throw(protocol):
    """OffsetFetcherUtils.handleListOffsetResponse: then no position of the response is used."""
    at = Table.of({"src-0": ASKED, "src-1": ASKED})
    me = change(polling(protocol, "earliest"), owned=("src-0", "src-1"), positions=at)
    results = (
        ListOffsetsPartitionResponse("src-0", Errors.NONE, 4),
        ListOffsetsPartitionResponse("src-1", Errors.TOPIC_AUTHORIZATION_FAILED),
    )
    me, _ = answer_next(me, ListOffsets, ListOffsetsResponse(results))
    assert me.done
    assert me.error == RequestError("ListOffsets", Errors.TOPIC_AUTHORIZATION_FAILED)
    assert dict(me.subscription.positions) == {"src-0": ASKED, "src-1": ASKED}


@BOTH
def test_a_position_that_the_log_does_not_have_is_asked_for_too(protocol):
    me = polling(protocol, "earliest", positions=Table.of({"src-0": 101}))
    me, _ = answer_next(me, Fetch, BEYOND)
    assert me.subscription.read_so_far == (), "nothing to commit while it is not known"
    again, _ = answer_next(me, ListOffsets, listed(-1, Errors.NOT_LEADER_OR_FOLLOWER))
    assert isinstance(kafka_consumer.next_request(again), ListOffsets)
    me, _ = answer_next(me, ListOffsets, listed(103))
    assert me.subscription.read_so_far == (GroupOffset("src-0", 103),)


@BOTH
def test_with_none_poll_throws_and_the_next_one_throws_again(protocol):
    me, _ = answer_next(polling(protocol, "none"), OffsetFetch, UNKNOWN)
    assert (me.done, str(me.error)) == (True, "NoOffsetForPartitionException: src-0")
    assert isinstance(kafka_consumer.next_request(me.but(polling=True)), OffsetFetch)
    me = polling(protocol, "none", positions=Table.of({"src-0": 101}))
    for _ in range(2):
        me, _ = answer_next(me.but(polling=True), Fetch, BEYOND)
        assert (me.done, str(me.error)) == (True, "OffsetOutOfRangeException: src-0@101")


@BOTH
def test_an_answer_for_a_partition_that_was_taken_away_is_nobodys(protocol):
    me = change(polling(protocol, "earliest"), owned=(), positions=Table.of())
    assert group_reading.on_told(me, listed(103)) is me
    asked = Fetch((FetchPartition("src-0", 101),), read_committed=True)
    assert group_reading.on_fetched(me, asked, BEYOND) == me


@BOTH
def test_without_a_policy_a_member_reads_from_the_first_record_at_once(protocol):
    me, _ = answer_next(polling(protocol, ""), OffsetFetch, UNKNOWN)
    fetch = kafka_consumer.next_request(me)
    assert isinstance(fetch, Fetch)
    assert fetch.partitions[0].fetch_offset == 0


@BOTH
def test_the_next_process_has_the_same_policy(protocol):
    assert (
        kafka_consumer.restart(polling(protocol, "latest"), 1).subscription.auto_offset_reset
        == "latest"
    )


@BOTH
def test_by_duration_asks_for_a_time_and_again_for_a_later_one(protocol):
    """Nothing is young enough at first; what is there when it asks again is where it begins."""
    me, _ = answer_next(polling(protocol, "by_duration:PT5S"), OffsetFetch, UNKNOWN)
    asked = kafka_consumer.next_request(me)
    dated = [kafka_consumer.at_clock(me, asked, now).partitions[0] for now in (3_000, 30_000)]
    assert [each.timestamp for each in dated] == [0, 25_000]
    me, _ = answer_next(me, ListOffsets, listed(-1))
    assert kafka_consumer.next_request(me) is None
    assert ResetWait() in kafka_consumer.timers(me)
    me = kafka_consumer.on_timer(me, ResetWait())
    found = listed(7)
    me, _ = answer_next(me, ListOffsets, found)
    assert kafka_consumer.next_request(me).partitions == (FetchPartition("src-0", 7),)
    assert ResetWait() not in kafka_consumer.timers(me)


@BOTH
def test_a_partition_without_a_position_keeps_no_other_one_from_being_read(protocol):
    at = Table.of({"src-0": ASKED, "src-1": 4})
    me = polling(protocol, "by_duration:PT5S", positions=at, unfound=("src-0",))
    me = change(me, owned=("src-0", "src-1"))
    fetch = kafka_consumer.next_request(me)
    assert fetch.partitions == (FetchPartition("src-1", 4),)
    me, _ = answer_next(me, Fetch, FetchResponse((PartitionData("src-1", Errors.NONE, (), 4),)))
    assert FetchWait() in kafka_consumer.timers(me)
    assert kafka_consumer.next_request(me) is None
