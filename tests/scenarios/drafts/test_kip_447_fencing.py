"""KIP-447: how a request is fenced before, between and beside the two rolling bounces."""

from __future__ import annotations

from kipviz.messages.errors import Errors
from kipviz.messages.events import CallReturned, MessageSent
from kipviz.messages.message_errors import error_in
from tests.scenarios.story import markers, nodes, play_once


def refusals(story: str, under: str) -> list[tuple[str, str, Errors]]:
    """Who got which error for which request, without those that a client only has to ask again."""
    trace, _ = play_once(story, under)
    return [
        (event.source, type(event.message).__name__.removesuffix("Response"), error)
        for node in nodes(trace)
        for event in node.events
        if isinstance(event, MessageSent)
        and event.way == "response"
        and (error := error_in(event.message))
        and error not in (Errors.CONCURRENT_TRANSACTIONS, Errors.MEMBER_ID_REQUIRED)
    ]


def list_thrown(story: str, under: str) -> list[tuple[str, str]]:
    trace, _ = play_once(story, under)
    events = (event for node in nodes(trace) for event in node.events)
    return [(e.call, str(e.raised)) for e in events if isinstance(e, CallReturned) and e.raised]


def test_the_second_process_of_a_task_aborts_and_fences_the_first_one_by_its_transactional_id() -> (
    None
):
    for under in ("before-447", "kafka"):
        assert refusals("kip-447-task-ids", under) == [
            ("app-1/producer", "EndTxn", Errors.PRODUCER_FENCED)
        ]
        assert list_thrown("kip-447-task-ids", under) == [
            ("commitTransaction", "EndTxn: PRODUCER_FENCED")
        ]
        trace, _ = play_once("kip-447-task-ids", under)
        assert markers(trace.world) == {
            "__consumer_offsets-7": ["ABORT"],
            "output-A-0": ["ABORT"],
        }


def test_the_version_between_two_bounces_fences_by_name_and_is_fenced_by_its_member() -> None:
    """v1 knows names alone and v3 members alone; v2 can be mixed with either."""
    assert list_thrown("kip-447-two-bounces", "kafka") == [
        ("sendOffsetsToTransaction", "TxnOffsetCommit: PRODUCER_FENCED"),
        ("sendOffsetsToTransaction", "TxnOffsetCommit: UNKNOWN_MEMBER_ID"),
    ]
    refused = [
        (client, request, error)
        for client, request, error in refusals("kip-447-two-bounces", "kafka")
        if request == "TxnOffsetCommit"
    ]
    assert refused == [
        ("v1/producer", "TxnOffsetCommit", Errors.INVALID_PRODUCER_EPOCH),
        ("v2/producer", "TxnOffsetCommit", Errors.UNKNOWN_MEMBER_ID),
    ]


def test_a_group_that_begins_again_is_refused_by_the_copy_that_remembers_its_generation() -> None:
    assert refusals("kip-447-two-copies", "kip-447-first-draft") == [
        ("app-1/producer", "InitProducerId", Errors.ILLEGAL_GENERATION)
    ]
    assert list_thrown("kip-447-two-copies", "kip-447-first-draft") == [
        ("poll", "InitProducerIdOfGroup: ILLEGAL_GENERATION")
    ]
    assert refusals("kip-447-two-copies", "kafka") == []
