"""A right that goes in the middle of a transaction: what hangs, what is fenced, who can abort."""

from __future__ import annotations

from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.messages.events import CallReturned, MessageSent
from kipviz.messages.transactions.transactions import EndTxn
from tests.scenarios.story import after, markers, nodes, play_once


def list_thrown(name: str) -> list[tuple[str, str]]:
    trace, _ = play_once(name, "kafka")
    return [
        (event.call, str(event.raised))
        for node in nodes(trace)
        for event in node.events
        if isinstance(event, CallReturned) and event.raised
    ]


def test_who_loses_its_name_can_end_nothing_and_another_principal_can() -> None:
    trace, _ = play_once("kip-11-name-lost", "kafka")
    sent = [e.message for n in nodes(trace) for e in n.events if isinstance(e, MessageSent)]
    assert not any(isinstance(message, EndTxn) for message in sent)
    error = "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
    assert list_thrown("kip-11-name-lost") == [
        ("sendOffsetsToTransaction", f"TxnOffsetCommit: {error}"),
        ("initTransactions", f"FindCoordinator: {error}"),
    ]
    refused = after("kip-11-name-lost", "kafka", "The next process is rejected too")
    assert refused.logs["output-A-0"].last_stable_offset == 0
    assert refused.applications["app-1"].producer.manager.state is ProducerState.FATAL_ERROR
    assert markers(trace.world)["output-A-0"] == ["ABORT"]


def test_who_loses_its_source_ends_the_transaction_by_its_name_and_reads_nothing() -> None:
    trace, _ = play_once("kip-11-source-lost", "kafka")
    assert list_thrown("kip-11-source-lost") == [
        ("sendOffsetsToTransaction", "TxnOffsetCommit: TOPIC_AUTHORIZATION_FAILED"),
        ("poll", "OffsetFetch: TOPIC_AUTHORIZATION_FAILED"),
    ]
    assert markers(trace.world)["output-A-0"] == ["ABORT"]
