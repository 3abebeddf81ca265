"""The test plan of KIP-1289, row by row: each test bears the name of its row.

The plan is a draft's and names no cases; what it asks for is asked of the repaired design, and
of the text as it stands where that comes out otherwise.
"""

from __future__ import annotations

import pytest

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds
from kipviz.checking.single_run.seeded_run import Task, run
from kipviz.cluster.actions import CrashBroker
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.messages.errors import Errors
from kipviz.messages.events import MessageSent, RecordsMoved, TransactionMoved
from kipviz.messages.message_errors import error_of_response
from kipviz.messages.shares.share_groups import TxnShareAcknowledgeResponse
from kipviz.properties.atomic import Atomic
from kipviz.records.share_group_state import RecordState
from kipviz.records.transaction_state import TransactionState
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.script import Beat, follow, play
from kipviz.studies.review_findings.findings import first_break
from kipviz.studies.test_plan import chaos, cost
from tests.scenarios.story import committed_outputs, first_step, nodes, play_once, states_of

BEATS = searched_scenario("kip-1289-share-commit").beats
BEGIN, STAGE, COMMIT = BEATS[:4], BEATS[4:6], BEATS[6:8]

S = RecordState
SMALL = searched_scenario("kip-1289-small")


def play_story(name: str, *beats: Beat) -> Trace:
    """A story of the plan's own on the small cluster."""
    model = SMALL.model(design(name))
    return play(Trace.start(model), model, beats)[0]


# -- Unit Tests: "validates state transitions, idempotency of operations, and transaction
# -- timeout/auto-abort logic" ---------------------------------------------------------------------


def test_unit_state_transitions_from_acquired_to_acknowledged_on_commit() -> None:
    trace, _ = play_once("kip-1289-share-commit", "repaired")
    assert states_of(trace, 100) == [S.ACQUIRED, S.TX_PENDING, S.ACKNOWLEDGED]


def test_unit_state_transitions_to_available_on_abort() -> None:
    trace, _ = play_once("kip-1289-share-abort", "repaired")
    assert states_of(trace, 100)[:3] == [S.ACQUIRED, S.TX_PENDING, S.AVAILABLE]


@pytest.mark.parametrize(
    ("name", "answer"), [("repaired", Errors.NONE), ("finding-K", Errors.INVALID_RECORD_STATE)]
)
def test_unit_idempotency_of_a_staging_that_is_sent_again(name: str, answer: Errors) -> None:
    lost = Beat(
        "",
        "",
        (
            "app-1 goes on",
            "quiet but TxnShareAcknowledgeResponse*",
            "app-1/producer loses B5",
            "quiet",
        ),
    )
    trace = play_story(name, *BEGIN, lost)
    answers = [
        error_of_response(event.message)
        for node in nodes(trace)
        for event in node.events
        if isinstance(event, MessageSent) and isinstance(event.message, TxnShareAcknowledgeResponse)
    ]
    assert answers == [Errors.NONE, answer]
    assert states_of(trace, 100) == [S.ACQUIRED, S.TX_PENDING]


def test_unit_idempotency_of_a_marker_that_comes_twice() -> None:
    trace, _ = play_once("kip-1289-corner-5", "repaired")
    assert states_of(trace, 100) == [S.ACQUIRED, S.TX_PENDING, S.ACKNOWLEDGED]
    assert committed_outputs(trace.world) == {"src-0@100": 1}


def test_unit_transaction_timeout_and_auto_abort() -> None:
    trace, _ = play_once("kip-1289-corner-7", "repaired")
    aborted = first_step(trace, TransactionMoved, after=TransactionState.COMPLETE_ABORT)
    freed = first_step(trace, RecordsMoved, before=S.TX_PENDING, after=S.AVAILABLE)
    again = [e for n in nodes(trace)[freed:] for e in n.events if isinstance(e, RecordsMoved)]
    assert aborted < freed
    assert again[-1].delivery_count == 2


# -- Integration Tests: "end-to-end commit/abort flows, coordinator recovery, and multi-consumer
# -- behavior within a single group during network partitions" -----------------------------------


def test_integration_end_to_end_commit_flow() -> None:
    trace, _ = play_once("kip-1289-share-commit", "repaired")
    assert committed_outputs(trace.world) == {"src-0@100": 1, "src-0@101": 1}


def test_integration_end_to_end_abort_flow() -> None:
    trace, _ = play_once("kip-1289-share-abort", "repaired")
    assert committed_outputs(trace.world) == {}


@pytest.mark.parametrize(
    "broker", ["B1", "B7"], ids=["transaction coordinator", "share coordinator"]
)
def test_integration_coordinator_recovery(broker: str) -> None:
    """The decision is logged, and then the coordinator dies."""
    crash = Beat("", "", (f"{broker} crashes", "quiet", "B5 refreshes src-0", "quiet"))
    trace = play_story("repaired", *BEGIN, *STAGE, *COMMIT, crash)
    assert states_of(trace, 100) == [S.ACQUIRED, S.TX_PENDING, S.ACKNOWLEDGED]
    assert committed_outputs(trace.world) == {"src-0@100": 1}


def test_integration_multi_consumer_behavior_within_a_single_group_during_network_partitions() -> (
    None
):
    """One member is cut off with staged records; the other one goes on with what is free."""
    story = searched_scenario("kip-1289-two-members")
    model = story.model(design("repaired"))
    beats = (
        *BEGIN,
        *STAGE,
        Beat("", "", ("B5 and app-1 are cut apart",)),
        Beat("", "", ("app-2 goes on", "quiet", "app-2 goes on", "app-2 goes on", "quiet")),
    )
    trace, _ = play(Trace.start(model), model, beats)
    assert trace.world.applications["app-2"].consumer.current_fetch.batch == (102, 103)
    for instruction in (
        "app-1 goes on",
        "quiet",
        "maybe B5 refreshes src-0",
        "B5 and app-1 are joined",
        "quiet",
    ):
        trace = follow(trace, model, instruction, "the cut is healed")
    assert states_of(trace, 100) == [S.ACQUIRED, S.TX_PENDING, S.ACKNOWLEDGED]


# -- System & Performance Tests: "benchmarks transactional vs. non-transactional modes and verifies
# -- exactly-once delivery" -----------------------------------------------------------------------


def test_system_and_performance_transactional_against_non_transactional_modes() -> None:
    """Counted, not timed: what has to be sent and stored for one batch of two records."""
    plain, staged = cost.bills()
    print()
    for row in cost.table()[1]:
        print(" | ".join(row))
    assert (plain.sent, staged.sent) == (15, 23)
    assert (plain.sent_bytes, staged.sent_bytes) == (1137, 1660)
    assert plain.without_schema == staged.without_schema == ()
    one, other = dict(plain.records), dict(staged.records)
    assert other["__share_group_state"] == one["__share_group_state"] == 1
    assert other["__share_group_state, markers"] == 1
    assert other["__transaction_state"] == one["__transaction_state"] + 1


def test_system_and_performance_the_cost_of_a_batch_does_not_grow_with_its_records() -> None:
    for few, many in zip(cost.bills(records=2), cost.bills(records=20), strict=True):
        assert few.sent == many.sent


@pytest.mark.parametrize("seed", range(6))
def test_system_verifies_exactly_once_delivery(seed: int) -> None:
    verdict = run(Task("kip-1289-two-members", "repaired", "rough", seed))
    assert verdict.status != "breaks", verdict.reason


# -- Chaos Tests: "simulates broker and coordinator crashes specifically during critical phases
# -- like PREPARE_COMMIT to ensure protocol durability" --------------------------------------------


def test_chaos_every_broker_crashes_at_every_step_around_prepare_commit() -> None:
    crashes = tuple(chaos.sweep("repaired"))
    assert len(crashes) == 84
    assert {crash.outcome for crash in crashes} == {chaos.KEPT}
    assert any(crash.before.startswith("EndTxnResponse") for crash in crashes)


def test_chaos_as_the_text_has_it_no_run_is_exactly_once() -> None:
    """A transactional acknowledgement is forgotten with the leader of the source; in all other runs no marker fits, and the lock frees it."""
    crashes = tuple(chaos.sweep("as-written"))
    assert {crash.outcome for crash in crashes} == {chaos.BROKEN_WORD}
    forgotten = [c for c in crashes if "finds no trace of its acknowledgement" in c.reason]
    assert len(forgotten) == 16
    assert {crash.broker for crash in forgotten} == {5}
    others = [crash for crash in crashes if crash not in forgotten]
    assert all(crash.reason.startswith("left alone, the run breaks it") for crash in others)
    assert all("the acquisition lock expired" in crash.reason for crash in others)


@pytest.mark.thorough
def test_chaos_every_interleaving_with_one_crash_anywhere() -> None:
    search = Search(SMALL.model(design("repaired"), budget_of("crash_broker=1")))
    explored = search.run(Bounds(states_max=400_000))
    assert (explored.states, explored.complete) == (222_164, True)
    assert explored.counterexamples == ()


@pytest.mark.slow
def test_chaos_a_crash_breaks_the_text_where_even_the_placement_is_kind_to_it() -> None:
    together = searched_scenario("kip-1289-small-together")
    found, _ = first_break(
        together.model(design("finding-E"), budget_of("crash_broker=1")), Atomic()
    )
    assert found is not None
    assert isinstance(found.actions[-1], CrashBroker) or "finds no trace" in found.reason
