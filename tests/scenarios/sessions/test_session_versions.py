"""A session below transaction version 2: it adds partitions, keeps its epoch, and bumps it itself."""

from __future__ import annotations

import pytest

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds
from kipviz.clients.sessions.transaction_session import SENDERS
from kipviz.cluster.specs.spec import SessionSpec
from kipviz.designs.catalogue import design
from kipviz.messages.errors import Errors
from kipviz.messages.events import MessageSent
from kipviz.messages.logs.producing import ProduceResponse
from kipviz.messages.message_errors import error_in
from kipviz.messages.transactions.transactions import AddPartitionsToTxn, EndTxn
from kipviz.properties.verdict import BROKEN, HOLDS
from kipviz.scenarios.applications import session_programs
from kipviz.scenarios.library import scenario, searched_scenario
from kipviz.scenarios.scenario import PROPERTIES
from tests.scenarios.story import committed_outputs, nodes, play_once

POLL = "records = consumer.poll(Duration.ofSeconds(5));"


def at(version, name, under="repaired"):
    """Play a story at a level of transaction.version."""
    story = scenario(name)
    story = story.but(spec=story.spec.but(transaction_version=version))
    return story.play(design(under))[0]


def requests(trace):
    """What the clients of app-1 sent: (client, request, version)."""
    return [
        (e.source.partition("/")[2], type(e.message).__name__, getattr(e.message, "version", None))
        for node in nodes(trace)
        for e in node.events
        if isinstance(e, MessageSent) and e.way == "request" and e.source.startswith("app-1/")
    ]


def verdict(trace):
    return PROPERTIES[0].finding(trace.observations[0]).status


@pytest.mark.parametrize("version", [0, 1])
def test_below_version_2_the_session_sends_all_of_the_pages_table(version: int) -> None:
    """KIP-1310 3.3, with the two rows that version 2 leaves out."""
    trace = at(version, "kip-1310-streams-session")
    senders = {row.request for row in SENDERS}
    assert [r for r in requests(trace) if r[1] in senders] == [
        ("session", "InitProducerId", 5),
        ("session", "AddPartitionsToTxn", 3),
        ("session", "AddOffsetsToTxn", 4),
        ("session", "TxnOffsetCommit", 4),
        ("session", "EndTxn", 4),
    ]
    batches = trace.world.logs["output-A-0"].batches
    assert [(b.control, b.producer_epoch) for b in batches] == [("", 0), ("COMMIT", 0)]
    assert verdict(trace) == HOLDS


def test_a_session_and_a_producer_send_the_same_below_version_2() -> None:
    def kinds(trace):
        return [request for _, *request in requests(trace)]

    for pair in ("streams", "produce", "source"):
        today, draft = (at(1, f"kip-1310-{pair}-{who}") for who in ("producer", "session"))
        assert kinds(today) == kinds(draft)


@pytest.mark.parametrize(("version", "ends"), [(0, 4), (1, 4), (2, 5)])
@pytest.mark.parametrize("name", ["kip-1310-flink-session", "kip-1310-two-phase-session"])
def test_a_resumed_session_ends_as_the_cluster_has_it(name: str, version: int, ends: int) -> None:
    trace = at(version, name)
    found = [
        e.message.version
        for node in nodes(trace)
        for e in node.events
        if isinstance(e, MessageSent) and isinstance(e.message, EndTxn)
    ]
    assert found == [ends]
    assert verdict(trace) == HOLDS


def test_what_the_application_names_is_added_before_anything_is_written() -> None:
    for under in ("repaired", "kip-1310"):
        trace, _ = play_once("kip-1310-add-partitions", under)
        names = [request for _, request, _ in requests(trace)]
        assert names.index("AddPartitionsToTxn") < names.index("Produce")
        assert verdict(trace) == HOLDS


def test_a_partition_of_which_nobody_told_the_session_is_refused_and_the_offset_committed() -> None:
    draft, _ = play_once("kip-1310-unnamed-partition", "kip-1310")
    answers = [
        error_in(e.message)
        for node in nodes(draft)
        for e in node.events
        if isinstance(e, MessageSent) and isinstance(e.message, ProduceResponse)
    ]
    assert answers == [Errors.TRANSACTION_ABORTABLE]
    assert committed_outputs(draft.world) == {}
    assert verdict(draft) == BROKEN
    repaired, _ = play_once("kip-1310-unnamed-partition", "repaired")
    assert verdict(repaired) == HOLDS
    assert ("session", "AddPartitionsToTxn", 3) in requests(repaired)


@pytest.mark.parametrize(("under", "added"), [("repaired", 0), ("kip-1310", 1)])
def test_under_version_2_it_is_noted_or_sent_all_the_same(under: str, added: int) -> None:
    trace = at(2, "kip-1310-add-partitions", under)
    sent = [r for r in requests(trace) if r[1] == AddPartitionsToTxn.__name__]
    assert len(sent) == added
    assert committed_outputs(trace.world) == {"src-0@100": 1, "src-0@101": 1}
    assert verdict(trace) == HOLDS


@pytest.mark.parametrize(
    ("version", "faults", "states"),
    [
        (0, "time_out=1", 947),
        (1, "time_out=1", 947),
        (1, "crash_client=1", 4_512),
        (1, "lose_connection=1", 1_629),
    ],
)
def test_no_accident_breaks_a_session_below_version_2(version, faults, states) -> None:
    program = session_programs.loop(POLL, session_programs.SEND, session_programs.SEND_OFFSETS)
    spec = searched_scenario("kip-939-small").spec
    (writer,) = spec.applications
    app = writer.but(two_phase_commit=False, database=False, session=SessionSpec(), program=program)
    spec = spec.but(applications=(app,), transaction_version=version)
    model = scenario("kip-939-small").but(spec=spec).model(design("repaired"), budget_of(faults))
    found = Search(model, PROPERTIES).run(Bounds())
    assert found.complete
    assert (list(found.counterexamples), found.states) == ([], states)
