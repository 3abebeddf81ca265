"""KIP-1319: offsets whose epoch is over, by either version of TxnOffsetCommit."""

from __future__ import annotations

import pytest

from kipviz.brokers.groups.group_coordinator import GroupCoordinator
from kipviz.messages.errors import Errors
from kipviz.messages.events import CallReturned, MessageDelivered
from kipviz.messages.groups.groups import TxnOffsetCommit, TxnOffsetCommitResponse
from tests.scenarios.story import nodes, play_once


@pytest.mark.parametrize(
    ("story", "version", "error"),
    [
        ("kip-1319-stale", 6, Errors.STALE_MEMBER_EPOCH),
        ("kip-1319-stale-v5", 5, Errors.ILLEGAL_GENERATION),
    ],
)
def test_the_same_offsets_are_refused_in_the_words_of_their_version(
    story: str, version: int, error: Errors
) -> None:
    trace, _ = play_once(story, "kafka")
    events = [event for node in nodes(trace) for event in node.events]
    told = [event.message for event in events if isinstance(event, MessageDelivered)]
    (request,) = (m for m in told if isinstance(m, TxnOffsetCommit))
    (answer,) = (m for m in told if isinstance(m, TxnOffsetCommitResponse))
    assert (request.version, request.member_epoch, answer.error) == (version, 2, error)
    raised = [str(e.raised) for e in events if isinstance(e, CallReturned) and e.raised]
    assert raised == [f"TxnOffsetCommit: {error.name}"]
    groups = [r for r in trace.world.roles.values() if isinstance(r, GroupCoordinator) and r.groups]
    assert groups[0].groups["my-group-4"].members["C1"].epoch == 3
