"""What the stories of KIP-1310 5 to 7 show, read from events and logs."""

from __future__ import annotations

import pytest

from kipviz.core.traces.trace import Trace
from kipviz.messages.events import CallReturned, MessageSent
from kipviz.messages.groups.groups import TxnOffsetCommit
from kipviz.messages.transactions.liveness import TxnHeartbeat
from kipviz.messages.transactions.transactions import EndTxn, InitProducerId
from kipviz.records.transaction_state import TransactionState
from tests.scenarios.story import committed_outputs, markers, nodes, play_once

BOTH = pytest.mark.parametrize("under", ["repaired", "kip-1310"])


def list_sent(trace: Trace, kind: type, source: str = "") -> list[MessageSent]:
    return [
        e
        for node in nodes(trace)
        for e in node.events
        if isinstance(e, MessageSent)
        and isinstance(e.message, kind)
        and e.source.startswith(source)
    ]


def list_thrown(trace: Trace) -> list[str]:
    """The exceptions of calls, without the program's words around them."""
    events = (e for node in nodes(trace) for e in node.events)
    return [str(e.raised) for e in events if isinstance(e, CallReturned) and e.raised]


@BOTH
def test_a_session_fences_a_producer_of_the_same_name_with_the_same_request(under: str) -> None:
    trace, _ = play_once("kip-1310-mixed", under)
    producers, sessions = (list_sent(trace, InitProducerId, f"app-{n}/") for n in (1, 2))
    assert {e.message for e in producers} == {e.message for e in sessions}
    assert list_thrown(trace) == ["EndTxn: PRODUCER_FENCED"]
    assert committed_outputs(trace.world) == {"src-0@100": 1, "src-0@101": 1}


@BOTH
def test_a_refused_commit_of_a_bound_producer_is_no_request(under: str) -> None:
    trace, _ = play_once("kip-1310-bound-calls", under)
    assert [words.partition(":")[0] for words in list_thrown(trace)] == [
        "IllegalStateException"
    ] * 2
    assert list_sent(trace, EndTxn) == []
    assert markers(trace.world)["output-A-0"] == ["ABORT"]
    assert committed_outputs(trace.world) == {}


@BOTH
def test_the_request_that_is_not_in_the_table_of_rights_is_the_one_that_is_refused(
    under: str,
) -> None:
    trace, _ = play_once("kip-1310-rights", under)
    assert list_thrown(trace) == ["TxnOffsetCommit: GROUP_AUTHORIZATION_FAILED"]
    assert [e.source for e in list_sent(trace, TxnOffsetCommit)] == ["app-1/session"]
    assert markers(trace.world) == {"output-A-0": ["ABORT"]}


@BOTH
def test_a_heartbeat_does_not_set_back_the_time_limit(under: str) -> None:
    trace, chapters = play_once("kip-1310-heartbeat-by-hand", under)
    assert len(list_sent(trace, TxnHeartbeat)) == 2
    quiet = nodes(trace)[chapters[0].end].world, nodes(trace)[chapters[2].end].world
    before, after = (world.roles for world in quiet)
    assert before == after
    assert list_thrown(trace) == ["EndTxn: INVALID_TXN_STATE"]
    (aborted,) = (
        role.transactions["my-txn"]
        for role in trace.world.roles.values()
        if hasattr(role, "transactions")
    )
    assert aborted.state is TransactionState.COMPLETE_ABORT
