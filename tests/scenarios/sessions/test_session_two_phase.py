"""A session and a database, with the process dying at every point: which order and which recovery hold."""

from __future__ import annotations

import pytest

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.cluster.specs.spec import SessionSpec
from kipviz.designs.catalogue import design
from kipviz.messages.events import CallReturned, TransactionDecided
from kipviz.properties.agreement import Agreement, OneOutcome
from kipviz.properties.verdict import BROKEN, HOLDS
from kipviz.scenarios.applications import programs as of_producers
from kipviz.scenarios.applications import session_two_phase as programs
from kipviz.scenarios.library import scenario
from kipviz.scenarios.scenario import PROPERTIES
from tests.scenarios.story import after, committed_outputs, nodes, play_once, running

ASKED = (*PROPERTIES, Agreement(), OneOutcome())
TORN = {"atomic", "stores agree"}


def search_story(name, faults, under="repaired"):
    """What breaks, by property, and how many states there are."""
    model = scenario(f"kip-1310-small-{name}").model(design(under), budget_of(faults))
    found = Search(model, ASKED).run(Bounds())
    assert found.complete
    return {c.property for c in found.counterexamples}, found.states


@pytest.mark.parametrize(
    ("recovery", "broken"),
    [
        ("initialize", {*TORN, "prepared transactions have one outcome"}),
        ("keeps", set()),
        ("resumes", set()),
        ("undoes", TORN),
        ("commits", TORN),
        ("swapped", set()),
    ],
    ids=["initialize", "keeps", "resumes", "undoes", "commits", "swapped"],
)
def test_which_recovery_of_a_session_survives_a_crash_at_every_point(recovery, broken) -> None:
    assert search_story(recovery, "")[0] == set()
    assert search_story(recovery, "crash_client=1")[0] == broken


def test_a_session_that_keeps_what_is_open_has_the_states_of_a_producer_that_does() -> None:
    def states(program, **changes):
        story = scenario("kip-939-small").but(spec=running(program, **changes))
        model = story.model(design("repaired"), budget_of("crash_client=1"))
        return Search(model, ASKED).run(Bounds()).states

    assert states(programs.KEEPS, session=SessionSpec()) == states(of_producers.DUAL_WRITE) == 1_137


@pytest.mark.thorough
@pytest.mark.parametrize("recovery", ["resumes", "swapped"])
@pytest.mark.parametrize("faults", ["crash_client=1,crash_broker=1", "crash_client=2"])
def test_nor_do_two_crashes_break_the_recoveries_that_hold(recovery, faults) -> None:
    assert search_story(recovery, faults)[0] == set()


def verdict(trace):
    return PROPERTIES[0].finding(trace.observations[0]).status


def test_a_resumed_session_completes_what_the_database_decided_or_is_not_allowed_to() -> None:
    kept, _ = play_once("kip-1310-complete", "repaired")
    assert verdict(kept) == HOLDS
    assert committed_outputs(kept.world) == {"src-0@0": 1}
    torn, _ = play_once("kip-1310-complete", "kip-1310")
    assert verdict(torn) == BROKEN
    assert committed_outputs(torn.world) == {}
    raised = [
        str(e.raised) for node in nodes(torn) for e in node.events if isinstance(e, CallReturned)
    ]
    assert "InvalidTxnStateException: completeTransaction() in state IN_TRANSACTION" in raised
    for trace in (kept, torn):
        assert trace.world.applications["app-1"].others["database"].rows == ("src-0@0",)


def test_the_pages_order_commits_a_transaction_whose_record_is_in_no_log() -> None:
    trace, _ = play_once("kip-1310-empty-commit", "repaired")
    ends = [e for node in nodes(trace) for e in node.events if isinstance(e, TransactionDecided)]
    assert [e.committed for e in ends] == [True]
    assert [b.control for b in trace.world.logs["output-A-0"].batches] == ["COMMIT"]
    assert trace.world.applications["app-1"].others["database"].rows == ("src-0@0",)
    assert verdict(trace) == BROKEN


def test_preparing_a_session_is_known_to_the_client_alone() -> None:
    before = after("kip-1310-complete", "repaired", "producer.send(output)")
    behind = after("kip-1310-complete", "repaired", "state = session.prepareTransaction()")
    app = behind.applications["app-1"]
    assert (
        app.session.manager.state
        is app.producer.manager.state
        is ProducerState.PREPARED_TRANSACTION
    )
    assert str(app.session.manager.prepared) == "9:0"
    assert behind.roles == before.roles
    assert behind.connections == before.connections
