"""KIP-1310: what its use cases do in both designs, read from events and logs."""

from __future__ import annotations

from collections import Counter

import pytest

from kipviz.clients.transaction_session import MANAGER, SENDERS, SESSION
from kipviz.messages.events import MessageSent
from kipviz.properties.verdict import HOLDS
from kipviz.scenarios.library import LIBRARY
from kipviz.scenarios.scenario import PROPERTIES
from kipviz.scenarios.stories import kip_1310
from tests.scenarios.story import nodes, played

PAIRS = [
    (one, other) for one, other in zip(kip_1310.STORIES[::2], kip_1310.STORIES[1::2], strict=True)
]
AS_PAIR = pytest.mark.parametrize(("today", "draft"), PAIRS, ids=[draft.name for _, draft in PAIRS])


def requests(story, under=None):
    """Who sent how many requests of each kind: (client, request) -> number."""
    found: Counter[tuple[str, str]] = Counter()
    trace, _ = played(story.name, under or story.designs[0])
    names = {app.name for app in story.spec.applications}
    for node in nodes(trace):
        for event in node.events:
            if isinstance(event, MessageSent) and event.way == "request":
                host, _, client = event.source.partition("/")
                if host in names:
                    found[client, type(event.message).__name__] += 1
    return found


def test_the_six_kinds_of_participant_have_a_pair_each() -> None:
    assert len(PAIRS) == 6
    for today, draft in PAIRS:
        assert today.name.removesuffix("-producer") == draft.name.removesuffix("-session")
    known = {story.name for story in LIBRARY}
    assert {story.name for story in kip_1310.STORIES} <= known


@AS_PAIR
def test_a_pair_has_one_cluster_one_order_of_beats_and_one_outcome(today, draft) -> None:
    assert today.spec.placements == draft.spec.placements
    assert today.spec.records == draft.spec.records
    assert len(today.beats) == len(draft.beats)
    logs = []
    for story in (today, draft):
        trace, _ = played(story.name, story.designs[0])
        verdicts = [
            p.finding(s).status for p, s in zip(PROPERTIES, trace.observations, strict=True)
        ]
        assert verdicts == [HOLDS, HOLDS]
        logs.append(trace.world.logs.values())
    assert logs[0] == logs[1]


@AS_PAIR
def test_the_same_requests_go_out_in_both_designs_from_other_clients(today, draft) -> None:
    def kinds(story):
        found: Counter[str] = Counter()
        for (_, request), count in requests(story).items():
            found[request] += count
        return found

    assert kinds(today) == kinds(draft)


def test_who_sends_what_is_the_pages_table() -> None:
    """KIP-1310 3.3; FindCoordinator is looked up, and under version 2 brokers enlist."""
    senders = {row.request: row for row in SENDERS}
    seen = set()
    for today, draft in PAIRS:
        for story, column, name in ((today, "today", "producer"), (draft, "draft", "session")):
            for client, request in requests(story):
                if request not in senders:
                    continue
                said = getattr(senders[request], column)
                if (client, request) == ("consumer", "TxnShareAcknowledge"):
                    continue  # KIP-1310 2.4 against 3.3: acknowledgeTransactionally() of the consumer
                owner = next(a for a in story.spec.applications if a.session or story is today)
                if column == "draft" and owner.name == "app-2" and client == "producer":
                    continue  # the writer of 4.1 is a producer of its own
                assert client == name
                assert said in (MANAGER, SESSION) or request == "TxnShareAcknowledge"
                seen.add((column, request))
    assert {request for column, request in seen if column == "draft"} == {
        "InitProducerId",
        "EndTxn",
        "TxnOffsetCommit",
        "TxnShareAcknowledge",
    }


@AS_PAIR
def test_a_session_costs_a_connection_only_to_a_broker_that_its_producer_talks_to_as_well(
    today, draft
) -> None:
    """And saves one where the consumer votes over the connection that it has anyway."""

    def brokers(story):
        trace, _ = played(story.name, story.designs[0])
        found = {}
        for source, broker in trace.world.connections:
            host, _, client = source.partition("/")
            if host in {app.name for app in story.spec.applications}:
                found.setdefault((host, client), set()).add(broker)
        return found

    before, after = brokers(today), brokers(draft)
    count = [sum(map(len, each.values())) for each in (before, after)]
    common = sum(
        len(after.get((host, "producer"), set()) & mine)
        for (host, client), mine in after.items()
        if client == "session"
    )
    votes = requests(draft)["consumer", "TxnShareAcknowledge"]
    assert count[1] - count[0] == common - votes
    assert common == 0  # no story has the coordinator on a broker that leads an output
