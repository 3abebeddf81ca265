"""KIP-1310 1.2 and section 4: each use case, as the draft has it and with today's producer.

The calls that returned and the requests that clients sent stand in their order, with the markers at the end.
"""

from __future__ import annotations

import pytest

from kipviz.messages.events import CallReturned, MessageSent
from kipviz.messages.logs.producing import Produce
from kipviz.messages.transactions.transactions import EndTxn
from kipviz.scenarios.library import scenario
from kipviz.studies.counting.sessions import USE_CASES
from tests.scenarios.story import markers, nodes, play_once

# What reads the source is no part of a transaction.
READS = ("OffsetFetch", "Fetch", "ShareFetch")
OUTPUT, OFFSETS, ACKNOWLEDGEMENTS = "output-A-0", "__consumer_offsets-7", "__share_group_state-16"


def line_of(event):
    """Give one line for a call that returned or a request of a client, and none for anything else."""
    if isinstance(event, CallReturned):
        return f"{event.call}()" + (f" throws {event.raised}" if event.raised else "")
    if not isinstance(event, MessageSent) or event.way != "request":
        return ""
    host, _, client = event.source.partition("/")
    request = event.message
    name = type(request).__name__
    if not host.startswith("app-") or name in READS:
        return ""
    who = client if host == "app-1" else event.source
    match request:
        case Produce():
            to = ", ".join(batch.partition for batch in request.partition_data)
            return f"{who}: Produce to {to}"
        case EndTxn():
            return f"{who}: EndTxn, {'COMMIT' if request.committed else 'ABORT'}"
    return f"{who}: {name}"


def lines(name):
    trace, _ = play_once(name, scenario(name).designs[0])
    return [line for node in nodes(trace) for event in node.events if (line := line_of(event))]


def begin_lines(who, starts="initTransactions", request="InitProducerId"):
    """Take a name, read, and write one batch."""
    return [
        f"{who}: {request}",
        f"{starts}()",
        "poll()",
        "beginTransaction()",
        "send()",
        f"producer: Produce to {OUTPUT}",
    ]


def end_lines(who, how="COMMIT"):
    return [f"{who}: EndTxn, {how}", f"{how.lower()}Transaction()"]


TODAY, DRAFT = begin_lines("producer"), begin_lines("session", "initialize")


def sink(who, call):
    """One batch is aborted because something has thrown, and is put and acknowledged again."""
    acknowledgements = [f"{call}()", f"{who}: TxnShareAcknowledge"]
    return [
        *acknowledgements,
        *end_lines(who, "ABORT"),
        *DRAFT[2:],
        *acknowledgements,
        *end_lines(who),
    ]


PREPARED = ["database.prepareTransaction()", "prepareTransaction()"]
ONE = {OUTPUT: ["COMMIT"]}
SOURCE = ["send()", "producer: Produce to connect-offsets-0"]
LINES = {
    "produce-producer": [*TODAY, *end_lines("producer")],
    "produce-session": [*DRAFT, *end_lines("session")],
    "streams-producer": [
        *TODAY,
        "producer: TxnOffsetCommit",
        "sendOffsetsToTransaction()",
        *end_lines("producer"),
    ],
    "streams-session": [
        *DRAFT,
        "session: TxnOffsetCommit",
        "sendOffsetsToTransaction()",
        *end_lines("session"),
    ],
    # Another process ends what app-1 has written. Flink's reflection ends it as version 1 does.
    "flink-producer": [
        *TODAY,
        "resumeTransaction()",
        "app-2/producer: EndTxn, COMMIT",
        "app-2/producer: InitProducerId",
        "commitTransaction()",
    ],
    "flink-session": [*TODAY, "resume()", *end_lines("app-2/session"), "close()"],
    "share-producer": [
        *TODAY,
        "sendShareAcknowledgementsToTransaction()",
        "producer: TxnShareAcknowledge",
        *end_lines("producer"),
    ],
    "share-session": [
        *DRAFT,
        "acknowledgeTransactionally()",
        "consumer: TxnShareAcknowledge",
        *end_lines("session"),
    ],
    "source-producer": [*TODAY, *SOURCE, *end_lines("producer")],
    "source-session": [*DRAFT, *SOURCE, *end_lines("session")],
    "sink-producer": [*TODAY, *sink("producer", "sendShareAcknowledgementsToTransaction")],
    "sink-session": [*DRAFT, *sink("session", "addShareAcksToTransaction")],
    "two-phase-producer": [
        *begin_lines("producer", request="InitProducerId"),
        *PREPARED,
        *end_lines("producer"),
        "database.commitTransaction()",
    ],
    "two-phase-session": [
        *begin_lines("session", "initialize", "InitProducerId"),
        *PREPARED,
        "resume()",
        *end_lines("session"),
        "database.commitTransaction()",
    ],
}
MARKERS = {
    "streams": {OUTPUT: ["COMMIT"], OFFSETS: ["COMMIT"]},
    "share": {OUTPUT: ["COMMIT"], ACKNOWLEDGEMENTS: ["COMMIT"]},
    "source": {OUTPUT: ["COMMIT"], "connect-offsets-0": ["COMMIT"]},
    "sink": {OUTPUT: ["ABORT", "COMMIT"], ACKNOWLEDGEMENTS: ["ABORT", "COMMIT"]},
}


@pytest.mark.parametrize("name", LINES)
def test_a_use_case_makes_these_calls_and_its_clients_send_these_requests(name: str) -> None:
    story = f"kip-1310-{name}"
    assert lines(story) == LINES[name]
    trace, _ = play_once(story, scenario(story).designs[0])
    assert markers(trace.world) == MARKERS.get(name.rpartition("-")[0], ONE)


def test_every_use_case_is_there() -> None:
    assert {f"kip-1310-{name}" for name in LINES} == {
        f"kip-1310-{case}-{side}" for case in USE_CASES for side in ("producer", "session")
    }
