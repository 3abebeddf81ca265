"""The consumer of a regular group: it continues from where its group left off."""

from __future__ import annotations

import pytest

from kipviz.clients.groups import consumer as c
from kipviz.clients.groups.consumer import Consumer
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import OffsetFetch, fetch_offset
from kipviz.messages.logs.list_offsets import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    ListOffsets,
    ListOffsetsResponse,
)
from kipviz.messages.logs.producing import Fetch, FetchedRecord, FetchResponse
from tests.messages.offset_fetches import response_of

RECORDS = (FetchedRecord("src-0", 7, "a"),)


def polling(position=-1):
    me = Consumer("app-1/consumer", "g", "m", 2, "src-0", 10, position)
    me = c.poll(me)
    me, request = c.sent(me, c.next_request(me), 5)
    return request, me


def test_a_poll_looks_the_position_up_first_and_always_wants_stable_offsets():
    request, me = polling()
    assert request == fetch_offset("g", "src-0", require_stable=True)
    me = c.on_response(me, response_of(Errors.NONE, "src-0", 7))
    assert me.to_send == Fetch("src-0", 7, 10, read_committed=True)


def test_a_group_without_an_offset_starts_with_the_first_record():
    _, me = polling()
    me = c.on_response(me, response_of(Errors.NONE, "src-0", -1))
    assert me.to_send.offset == 0


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
    assert (me.to_send, me.done) == (request, False)


def test_the_position_goes_on_behind_what_was_fetched_and_hidden():
    _, me = polling(7)
    me = c.on_response(me, FetchResponse(Errors.NONE, "src-0", RECORDS, 9))
    assert (me.records, me.position, me.done) == (RECORDS, 9, True)


def test_a_fetch_from_a_broker_that_leads_no_more_is_repeated():
    request, me = polling(7)
    me = c.on_response(me, FetchResponse(Errors.NOT_LEADER_OR_FOLLOWER, "src-0"))
    assert me.to_send == request


def test_what_was_on_a_broken_connection_is_asked_again_and_nothing_else():
    request, me = polling(7)
    assert c.on_disconnected(me, 3) == me
    assert c.on_disconnected(me, 5).to_send == request
    idle = c.on_response(me, FetchResponse(Errors.NONE, "src-0", RECORDS, 8))
    assert c.on_disconnected(idle, 5) == idle


def test_after_an_abort_the_committed_offset_is_looked_up_again():
    _, me = polling(7)
    request = c.poll(c.forget_position(me)).to_send
    assert isinstance(request, OffsetFetch)


def resetting(policy, position=-1):
    me = Consumer("app-1/consumer", "g", "m", 2, "src-0", 10, position, auto_offset_reset=policy)
    me = c.poll(me)
    return c.sent(me, c.next_request(me), 5)


@pytest.mark.parametrize(
    ("policy", "timestamp"), [("earliest", EARLIEST_TIMESTAMP), ("latest", LATEST_TIMESTAMP)]
)
def test_without_a_committed_offset_it_asks_where_the_log_begins_or_ends(policy, timestamp):
    me, _ = resetting(policy)
    me = c.on_response(me, response_of(Errors.NONE, "src-0", -1))
    assert me.to_send == ListOffsets("src-0", timestamp, read_committed=True)
    me = c.on_response(me, ListOffsetsResponse(Errors.NOT_LEADER_OR_FOLLOWER, "src-0"))
    assert me.to_send == ListOffsets("src-0", timestamp, read_committed=True), "asked again"
    me = c.on_response(me, ListOffsetsResponse(Errors.NONE, "src-0", 40))
    assert me.to_send == Fetch("src-0", 40, 10, read_committed=True)


def test_a_position_that_the_log_has_no_more_is_reset():
    me, request = resetting("earliest", 7)
    assert request == Fetch("src-0", 7, 10, read_committed=True)
    me = c.on_response(me, FetchResponse(Errors.OFFSET_OUT_OF_RANGE, "src-0"))
    assert (me.done, me.to_send) == (False, ListOffsets("src-0", EARLIEST_TIMESTAMP))
    assert c.poll(c.forget_position(me)).to_send == fetch_offset("g", "src-0")


def test_without_a_policy_poll_throws_and_the_position_stays():
    me, _ = resetting("none", 7)
    me = c.on_response(me, FetchResponse(Errors.OFFSET_OUT_OF_RANGE, "src-0"))
    assert (me.done, me.error) == (True, "OffsetOutOfRangeException: src-0@7")
    assert c.poll(me).to_send == Fetch("src-0", 7, 10, read_committed=True)
    me, _ = resetting("none")
    me = c.on_response(me, response_of(Errors.NONE, "src-0", -1))
    assert me.error == "NoOffsetForPartitionException: src-0"


def test_the_next_life_of_a_process_has_the_same_policy():
    me, _ = resetting("latest", 7)
    assert c.restarted(me, 1).auto_offset_reset == "latest"
