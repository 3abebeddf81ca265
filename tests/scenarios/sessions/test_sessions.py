"""KIP-1310: what its use cases do in both designs, read from events and logs."""

from __future__ import annotations

from collections import Counter

import pytest

from kipviz.clients.sessions.transaction_session import MANAGER, SENDERS, SESSION
from kipviz.messages.errors import Errors
from kipviz.messages.events import MessageSent, TransactionMoved
from kipviz.messages.groups.groups import TxnOffsetCommit
from kipviz.messages.logs.producing import ProduceResponse
from kipviz.messages.message_errors import error_in
from kipviz.messages.shares.share_groups import TxnShareAcknowledge, TxnShareAcknowledgeResponse
from kipviz.messages.transactions.transactions import EndTxnResponse
from kipviz.properties.verdict import HOLDS
from kipviz.records.share_group_state import RecordState as S
from kipviz.records.transaction_state import TransactionState
from kipviz.scenarios.library import LIBRARY, scenario
from kipviz.scenarios.scenario import PROPERTIES
from kipviz.studies.counting.sessions import USE_CASES
from tests.scenarios.story import committed_outputs, nodes, play_once, states_of

PAIRS = [
    (scenario(f"kip-1310-{case}-producer"), scenario(f"kip-1310-{case}-session"))
    for case in USE_CASES
]
# What the page leaves open.
LEFT_OPEN = [
    scenario(f"kip-1310-{name}")
    for name in (
        "close",
        "two-senders",
        "silent-loss",
        "unsent-batch",
        "next-epoch",
        "late-acknowledgement",
        "live-writer",
        "heartbeat",
    )
]
AS_PAIR = pytest.mark.parametrize(("today", "draft"), PAIRS, ids=[draft.name for _, draft in PAIRS])


def requests(story, under=None):
    """Who sent how many requests of each kind: (client, request) -> number."""
    found: Counter[tuple[str, str]] = Counter()
    trace, _ = play_once(story.name, under or story.designs[0])
    names = {app.name for app in story.spec.applications}
    for node in nodes(trace):
        for event in node.events:
            if isinstance(event, MessageSent) and event.way == "request":
                host, _, client = event.source.partition("/")
                if host in names:
                    found[client, type(event.message).__name__] += 1
    return found


def test_the_six_kinds_of_participant_have_a_pair_each() -> None:
    assert len(PAIRS) == 7  # six kinds, and the custom coordinator of 4.5
    for today, draft in PAIRS:
        assert today.name.removesuffix("-producer") == draft.name.removesuffix("-session")
    known = {story.name for story in LIBRARY}
    assert {story.name for pair in PAIRS for story in pair} <= known


@AS_PAIR
def test_a_pair_has_one_cluster_one_order_of_beats_and_one_outcome(today, draft) -> None:
    assert today.spec.placements == draft.spec.placements
    assert today.spec.records == draft.spec.records
    assert len(today.beats) == len(draft.beats)
    logs = []
    reflection = (
        "flink" in today.name
    )  # it commits as version 1 does: another marker, one more epoch
    for story in (today, draft):
        trace, _ = play_once(story.name, story.designs[0])
        verdicts = [
            p.finding(s).status for p, s in zip(PROPERTIES, trace.observations, strict=True)
        ]
        assert verdicts == [HOLDS, HOLDS]
        logs.append(trace.world.logs.values())
    assert (logs[0] == logs[1]) is not reflection


@AS_PAIR
def test_the_same_requests_go_out_in_both_designs_from_other_clients(today, draft) -> None:
    def kinds(story):
        found: Counter[str] = Counter()
        for (_, request), count in requests(story).items():
            found[request] += count
        return found

    more = Counter({"InitProducerId": 1}) if "flink" in today.name else Counter()
    assert kinds(today) == kinds(draft) + more


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


def leader_of(trace, partition):
    return trace.world.image.leaders[partition].leader


def list_sent(story, kind):
    """The client and the broker of every request of a kind, with the request."""
    trace, _ = play_once(story, "repaired")
    return trace, [
        (event.source, event.broker, event.message)
        for node in nodes(trace)
        for event in node.events
        if isinstance(event, MessageSent) and isinstance(event.message, kind)
    ]


def test_the_session_sends_the_offsets_to_the_coordinator_of_the_group() -> None:
    trace, ((source, broker, request),) = list_sent("kip-1310-streams-session", TxnOffsetCommit)
    assert (source, broker) == ("app-1/session", leader_of(trace, "__consumer_offsets-7"))
    session = trace.world.applications["app-1"].session
    assert (request.transactional_id, request.producer_id) == (
        session.manager.transactional_id,
        session.manager.producer_id,
    )


def test_the_session_sends_the_acknowledgements_to_the_leader_of_the_source() -> None:
    trace, acks = list_sent("kip-1310-sink-session", TxnShareAcknowledge)
    leader = leader_of(trace, "src-0")
    assert [(source, broker) for source, broker, _ in acks] == [("app-1/session", leader)] * 2


def test_a_share_consumer_acknowledges_with_the_identity_of_the_session() -> None:
    trace, ((source, _, request),) = list_sent("kip-1310-share-session", TxnShareAcknowledge)
    assert source == "app-1/consumer"
    session = trace.world.applications["app-1"].session
    assert (request.transactional_id, request.producer_id) == (
        session.manager.transactional_id,
        session.manager.producer_id,
    )
    assert states_of(trace, 100) == [S.ACQUIRED, S.TX_PENDING, S.ACKNOWLEDGED]


@AS_PAIR
def test_a_session_costs_a_connection_only_to_a_broker_that_its_producer_talks_to_as_well(
    today, draft
) -> None:
    """And saves one where the consumer sends its acknowledgements over the connection that it has anyway."""

    def brokers(story):
        trace, _ = play_once(story.name, story.designs[0])
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
    acknowledgements = requests(draft)["consumer", "TxnShareAcknowledge"]
    assert count[1] - count[0] == common - acknowledgements
    assert common == 0  # no story has the coordinator on a broker that leads an output


# -- what the page leaves open ------------------------------------------------------------------

BROKEN = "broken"
OPEN = {
    "kip-1310-close": (HOLDS, HOLDS),
    "kip-1310-two-senders": (BROKEN, HOLDS, HOLDS),
    "kip-1310-silent-loss": (BROKEN, BROKEN, HOLDS),
    "kip-1310-unsent-batch": (BROKEN, BROKEN, HOLDS),
    "kip-1310-next-epoch": (BROKEN, HOLDS, HOLDS, HOLDS),
    "kip-1310-late-acknowledgement": (BROKEN, BROKEN, HOLDS),
    "kip-1310-live-writer": (HOLDS, HOLDS),
    "kip-1310-heartbeat": (HOLDS, HOLDS),
}


@pytest.mark.parametrize("story", LEFT_OPEN, ids=lambda story: story.name)
def test_an_open_point_breaks_the_draft_and_not_the_repaired_design(story) -> None:
    said = []
    for name in story.designs:
        trace, _ = play_once(story.name, name)
        said.append(PROPERTIES[0].finding(trace.observations[0]).status)
    assert tuple(said) == OPEN[story.name]


def answers(story, under, kind):
    trace, _ = play_once(story, under)
    return [
        event.message
        for node in nodes(trace)
        for event in node.events
        if isinstance(event, MessageSent) and isinstance(event.message, kind)
    ]


def test_a_batch_of_a_second_producer_is_refused_as_out_of_order() -> None:
    first, second = answers("kip-1310-two-senders", "kip-1310", ProduceResponse)
    assert (error_in(first), error_in(second)) == (Errors.NONE, Errors.OUT_OF_ORDER_SEQUENCE_NUMBER)


def test_a_batch_of_a_second_producer_is_taken_for_a_duplicate_and_lost() -> None:
    first, second = answers("kip-1310-silent-loss", "kip-1310", ProduceResponse)
    assert first == second  # the response to f(c), f(d) has the offset of f(a)
    log = play_once("kip-1310-silent-loss", "kip-1310")[0].world.logs["output-A-0"]
    assert [r.value for b in log.batches if not b.control for r in b.records] == ["f(a)", "f(b)"]


def test_an_unsent_batch_starts_a_transaction_that_nobody_began() -> None:
    trace, _ = play_once("kip-1310-unsent-batch", "kip-1310-unaware")
    moves = [e for node in nodes(trace) for e in node.events if isinstance(e, TransactionMoved)]
    assert moves[-1].after is TransactionState.ONGOING
    assert trace.world.applications["app-1"].session.state_name == "READY"


def test_a_late_transactional_acknowledgement_is_refused_with_the_epoch_that_is_over() -> None:
    (acknowledgement,) = answers(
        "kip-1310-late-acknowledgement", "kip-1310", TxnShareAcknowledgeResponse
    )
    assert acknowledgement.responses[0].error is not Errors.NONE
    (acknowledgement,) = answers(
        "kip-1310-late-acknowledgement", "repaired", TxnShareAcknowledgeResponse
    )
    assert acknowledgement.responses[0].error is Errors.NONE


@pytest.mark.parametrize("under", ["repaired", "kip-1310"])
def test_close_closes_the_connection_of_the_session_and_of_nobody_else(under: str) -> None:
    trace, _ = play_once("kip-1310-close", under)
    opened = {source for (source, _), c in trace.world.connections.items() if c.open}
    assert "app-1/session" not in opened
    assert {"app-1/producer", "app-1/consumer"} <= opened
    assert trace.world.applications["app-1"].session.closed
    ends = answers("kip-1310-close", under, EndTxnResponse)
    assert [end.error for end in ends] == ([Errors.NONE] if under == "repaired" else [])
    moves = [e.after for n in nodes(trace) for e in n.events if isinstance(e, TransactionMoved)]
    assert moves[-1] is TransactionState.COMPLETE_ABORT


def test_a_resumed_session_commits_what_no_checkpoint_has() -> None:
    trace, _ = play_once("kip-1310-live-writer", "kip-1310")
    assert set(committed_outputs(trace.world)) == {"src-0@100", "src-0@101"}
    ends = [m.error for m in answers("kip-1310-live-writer", "kip-1310", EndTxnResponse)]
    assert ends[0] is Errors.NONE
