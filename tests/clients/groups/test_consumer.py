"""A consumer by assign(): it continues from where its group left off."""

from __future__ import annotations

import pytest

from kipviz.clients.groups import kafka_consumer as c
from kipviz.clients.timers import RetryBackOff
from kipviz.core.table import Table
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import (
    GroupOffset,
    OffsetCommit,
    OffsetFetch,
    committed_response,
    fetch_offsets,
)
from kipviz.messages.logs.list_offsets import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    ListOffsets,
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
)
from kipviz.messages.logs.producing import (
    Fetch,
    FetchedRecord,
    FetchPartition,
    FetchResponse,
    PartitionData,
)
from tests.clients.parts import assigned_consumer_of
from tests.messages.offset_fetches import response_of

RECORDS = (FetchedRecord("src-0", 7, "a"),)


def asks(timestamp):
    return ListOffsets((ListOffsetsPartition("src-0", timestamp),), read_committed=True)


def told(error, offset=-1):
    return ListOffsetsResponse((ListOffsetsPartitionResponse("src-0", error, offset),))


def reading(position=-1, **fields):
    """A consumer whose position in src-0 is known, or not (-1)."""
    known = Table.of({} if position < 0 else {"src-0": position})
    return assigned_consumer_of("app-1/consumer", "g", "m", "src-0", 10, positions=known, **fields)


def polling(position=-1):
    me = reading(position)
    me = c.poll(me)
    me, request = c.note_sent(me, c.next_request(me), 5)
    return request, me


def test_a_poll_looks_the_position_up_first_and_always_wants_stable_offsets():
    request, me = polling()
    assert request == fetch_offsets("g", ("src-0",), require_stable=True)
    me = c.on_response(me, response_of(Errors.NONE, "src-0", 7))
    assert c.next_request(me) == Fetch((FetchPartition("src-0", 7),), read_committed=True)


def test_a_group_without_an_offset_starts_with_the_first_record():
    _, me = polling()
    me = c.on_response(me, response_of(Errors.NONE, "src-0", -1))
    assert c.next_request(me).partitions == (FetchPartition("src-0", 0),)


@pytest.mark.parametrize(
    "error",
    [
        Errors.UNSTABLE_OFFSET_COMMIT,
        Errors.NOT_COORDINATOR,
        Errors.COORDINATOR_LOAD_IN_PROGRESS,
    ],
)
def test_an_offset_that_is_not_to_be_had_yet_is_asked_for_again(error):
    """KIP-447: while a transaction may still move it."""
    request, me = polling()
    me = c.on_response(me, response_of(error, "src-0"))
    assert (c.next_request(me), me.done) == (request, False)


def test_the_position_goes_on_behind_what_was_fetched_and_hidden():
    _, me = polling(7)
    me = c.on_response(me, FetchResponse((PartitionData("src-0", Errors.NONE, RECORDS, 9),)))
    assert (me.records, me.position, me.done) == (RECORDS, 9, True)


def test_a_fetch_from_a_broker_that_leads_no_more_is_repeated():
    request, me = polling(7)
    me = c.on_response(me, FetchResponse((PartitionData("src-0", Errors.NOT_LEADER_OR_FOLLOWER),)))
    assert c.next_request(me) == request


def test_what_was_on_a_broken_connection_is_asked_again_and_nothing_else():
    request, me = polling(7)
    assert c.on_disconnected(me, 3) == me
    assert c.next_request(c.on_disconnected(me, 5)) == request
    idle = c.on_response(me, FetchResponse((PartitionData("src-0", Errors.NONE, RECORDS, 8),)))
    assert c.on_disconnected(idle, 5) == idle


def test_after_an_abort_the_committed_offset_is_looked_up_again():
    _, me = polling(7)
    me = c.on_response(me, FetchResponse((PartitionData("src-0", Errors.NONE, RECORDS, 8),)))
    request = c.next_request(c.poll(c.forget_positions(me)))
    assert isinstance(request, OffsetFetch)


def test_records_that_arrive_after_an_abort_are_dropped():
    """Another thread may abort during poll(). Source: FetchCollector.initialize, which ignores an outdated position."""
    _, me = polling(7)
    me = c.on_response(
        c.forget_positions(me), FetchResponse((PartitionData("src-0", Errors.NONE, RECORDS, 8),))
    )
    assert (me.records, me.done) == ((), False)
    assert isinstance(c.next_request(me), OffsetFetch)


def test_an_error_of_an_offset_that_a_retry_does_not_change_is_thrown():
    _, me = polling()
    me = c.on_response(me, response_of(Errors.INVALID_GROUP_ID, "src-0"))
    assert (me.done, me.polling, str(me.error)) == (True, False, "OffsetFetch: INVALID_GROUP_ID")


def test_it_sends_no_heartbeats_and_sets_no_timer():
    assert (c.timers(reading()), c.timers(c.poll(reading(7)))) == ((), ())
    assert c.next_request(reading(7)) is None
    assert not reading(7).in_group


def test_a_commit_is_of_the_member_that_its_group_knows():
    me = c.commit_sync(reading(7))
    me, request = c.note_sent(me, c.next_request(me), 5)
    assert request == OffsetCommit("g", "m", 2, (GroupOffset("src-0", 7),))
    assert c.on_response(me, committed_response(request)).done


def test_the_retry_back_off_is_waited_for_where_the_cluster_has_it():
    me = c.poll(reading(backs_off=True))
    me, _ = c.note_sent(me, c.next_request(me), 5)
    me = c.on_response(me, response_of(Errors.UNSTABLE_OFFSET_COMMIT, "src-0"))
    assert (c.next_request(me), c.timers(me)) == (None, (RetryBackOff(),))
    assert isinstance(c.next_request(c.on_timer(me, RetryBackOff())), OffsetFetch)


def resetting(policy, position=-1):
    me = reading(position, auto_offset_reset=policy)
    me = c.poll(me)
    return c.note_sent(me, c.next_request(me), 5)


@pytest.mark.parametrize(
    ("policy", "timestamp"), [("earliest", EARLIEST_TIMESTAMP), ("latest", LATEST_TIMESTAMP)]
)
def test_without_a_committed_offset_it_asks_where_the_log_begins_or_ends(policy, timestamp):
    me, _ = resetting(policy)
    me = c.on_response(me, response_of(Errors.NONE, "src-0", -1))
    assert c.next_request(me) == asks(timestamp)
    me = c.on_response(me, told(Errors.NOT_LEADER_OR_FOLLOWER))
    assert c.next_request(me) == asks(timestamp), "asked again"
    me = c.on_response(me, told(Errors.NONE, 40))
    assert c.next_request(me) == Fetch((FetchPartition("src-0", 40),), read_committed=True)


def test_a_position_that_the_log_has_no_more_is_reset():
    me, request = resetting("earliest", 7)
    assert request == Fetch((FetchPartition("src-0", 7),), read_committed=True)
    me = c.on_response(me, FetchResponse((PartitionData("src-0", Errors.OFFSET_OUT_OF_RANGE),)))
    assert (me.done, c.next_request(me)) == (False, asks(EARLIEST_TIMESTAMP))
    assert c.next_request(c.poll(c.forget_positions(me))) == fetch_offsets("g", ("src-0",))


def test_without_a_policy_poll_throws_and_the_position_stays():
    me, _ = resetting("none", 7)
    me = c.on_response(me, FetchResponse((PartitionData("src-0", Errors.OFFSET_OUT_OF_RANGE),)))
    assert (me.done, str(me.error)) == (True, "OffsetOutOfRangeException: src-0@7")
    assert c.next_request(c.poll(me)) == Fetch((FetchPartition("src-0", 7),), read_committed=True)
    me, _ = resetting("none")
    me = c.on_response(me, response_of(Errors.NONE, "src-0", -1))
    assert str(me.error) == "NoOffsetForPartitionException: src-0"


def test_the_next_life_of_a_process_has_the_same_policy():
    me, _ = resetting("latest", 7)
    again = c.restart(me, 1)
    assert again == reading(auto_offset_reset="latest"), "the same member with the same partition"
