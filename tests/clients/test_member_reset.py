"""auto.offset.reset of members that join, by both protocols: what a position that is not there becomes."""

from __future__ import annotations

import pytest

from kipviz.clients.groups import classic_consumer, group_consumer, group_reading
from kipviz.clients.groups.subscription_state import ASKED
from kipviz.clients.timers import FetchWait, ResetWait
from kipviz.core.table import Table
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import GroupOffset, OffsetFetch
from kipviz.messages.logs.list_offsets import (
    BY_TIME,
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    ListOffsets,
    ListOffsetsResponse,
    dated,
)
from kipviz.messages.logs.producing import Fetch, FetchResponse
from tests.clients.parts import changed, stable_member
from tests.messages.offset_fetches import response_of

BOTH = pytest.mark.parametrize("clients", [group_consumer, classic_consumer])
BEYOND = FetchResponse(Errors.OFFSET_OUT_OF_RANGE, "src-0")
UNKNOWN = response_of(Errors.NONE, "src-0", -1)


def polling(clients, policy, **changes):
    """A member in poll() that owns src-0 and does not know its position."""
    return stable_member(clients, polling=True, auto_offset_reset=policy, **changes)


def answered(clients, me, kind, answer):
    request = clients.next_request(me)
    assert isinstance(request, kind)
    me, _ = clients.sent(me, request, 4)
    return clients.on_response(me, answer), request


@BOTH
@pytest.mark.parametrize(
    ("policy", "timestamp"), [("earliest", EARLIEST_TIMESTAMP), ("latest", LATEST_TIMESTAMP)]
)
def test_a_group_that_has_read_nothing_asks_the_log_where_to_begin(clients, policy, timestamp):
    me, _ = answered(clients, polling(clients, policy), OffsetFetch, UNKNOWN)
    told = ListOffsetsResponse(Errors.NONE, "src-0", 103)
    me, asked = answered(clients, me, ListOffsets, told)
    assert (asked.timestamp, asked.read_committed) == (timestamp, True)
    fetch = clients.next_request(me)
    assert isinstance(fetch, Fetch)
    assert fetch.offset == 103


@BOTH
def test_a_position_that_the_log_does_not_have_is_asked_for_too(clients):
    me = polling(clients, "earliest", positions=Table.of({"src-0": 101}))
    me, _ = answered(clients, me, Fetch, BEYOND)
    assert me.subscription.read_so_far == (), "nothing to commit while it is not known"
    again, _ = answered(
        clients, me, ListOffsets, ListOffsetsResponse(Errors.NOT_LEADER_OR_FOLLOWER, "src-0")
    )
    assert isinstance(clients.next_request(again), ListOffsets)
    me, _ = answered(clients, me, ListOffsets, ListOffsetsResponse(Errors.NONE, "src-0", 103))
    assert me.subscription.read_so_far == (GroupOffset("src-0", 103),)


@BOTH
def test_with_none_poll_throws_and_the_next_one_throws_again(clients):
    me, _ = answered(clients, polling(clients, "none"), OffsetFetch, UNKNOWN)
    assert (me.done, me.error) == (True, "NoOffsetForPartitionException: src-0")
    assert isinstance(clients.next_request(me.but(polling=True)), OffsetFetch)
    me = polling(clients, "none", positions=Table.of({"src-0": 101}))
    for _ in range(2):
        me, _ = answered(clients, me.but(polling=True), Fetch, BEYOND)
        assert (me.done, me.error) == (True, "OffsetOutOfRangeException: src-0")


@BOTH
def test_an_answer_for_a_partition_that_was_taken_away_is_nobodys(clients):
    me = changed(polling(clients, "earliest"), owned=(), positions=Table.of())
    assert group_reading.on_told(me, ListOffsetsResponse(Errors.NONE, "src-0", 103)) is me
    assert group_reading.on_records(me, BEYOND) is me


@BOTH
def test_without_a_policy_a_member_reads_from_the_first_record_at_once(clients):
    me, _ = answered(clients, polling(clients, ""), OffsetFetch, UNKNOWN)
    fetch = clients.next_request(me)
    assert isinstance(fetch, Fetch)
    assert fetch.offset == 0


@BOTH
def test_the_next_process_has_the_same_policy(clients):
    assert (
        clients.restarted(polling(clients, "latest"), 1).subscription.auto_offset_reset == "latest"
    )


@BOTH
def test_by_duration_asks_for_a_time_and_again_for_a_later_one(clients):
    """Nothing is young enough at first; what is there when it asks again is where it begins."""
    me, _ = answered(clients, polling(clients, "by_duration:PT5S"), OffsetFetch, UNKNOWN)
    asked = clients.next_request(me)
    assert (asked.timestamp, asked.duration_ms) == (BY_TIME, 5_000)
    assert [dated(asked, now).timestamp_ms for now in (3_000, 30_000)] == [0, 25_000]
    me, _ = answered(clients, me, ListOffsets, ListOffsetsResponse(Errors.NONE, "src-0", -1))
    assert clients.next_request(me) is None
    assert ResetWait() in clients.timers(me)
    me = clients.on_timer(me, ResetWait())
    found = ListOffsetsResponse(Errors.NONE, "src-0", 7, 26_000)
    me, _ = answered(clients, me, ListOffsets, found)
    assert clients.next_request(me).offset == 7
    assert ResetWait() not in clients.timers(me)


@BOTH
def test_a_partition_without_a_position_keeps_no_other_one_from_being_read(clients):
    at = Table.of({"src-0": ASKED, "src-1": 4})
    me = polling(clients, "by_duration:PT5S", positions=at, unfound=("src-0",))
    me = changed(me, owned=("src-0", "src-1"))
    fetch = clients.next_request(me)
    assert (fetch.partition, fetch.offset) == ("src-1", 4)
    me, _ = answered(clients, me, Fetch, FetchResponse(Errors.NONE, "src-1", (), 4))
    assert FetchWait() in clients.timers(me)
    assert clients.next_request(me) is None
