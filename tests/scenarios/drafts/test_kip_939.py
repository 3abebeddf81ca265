"""Two stores under crashes at every point: which order of calls keeps them alike."""

from __future__ import annotations

import pytest

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.designs.catalogue import design
from kipviz.messages.events import (
    BatchAppended,
    DatabaseChanged,
    TransactionDecided,
    TransactionMoved,
)
from kipviz.messages.transactions.transactions import EndTxn
from kipviz.properties.agreement import Agreement, OneOutcome
from kipviz.scenarios.applications import programs
from kipviz.scenarios.library import scenario
from kipviz.scenarios.scenario import PROPERTIES
from tests.scenarios.story import (
    after,
    committed_outputs,
    first_step,
    markers,
    nodes,
    play_once,
    running,
)

KEPT, RELEASED = "kip-939-dual-write", "kip-939-released-only"
ASKED = (*PROPERTIES, Agreement(), OneOutcome())


def search_program(program, faults, under="kip-939"):
    """What breaks, by property, and how many states there are."""
    story = scenario("kip-939-small")
    model = story.but(spec=running(program)).model(design(under), budget_of(faults))
    found = Search(model, ASKED).run(Bounds())
    assert found.complete
    return {c.property: len(c.actions) for c in found.counterexamples}, found.states


# -- the stories --------------------------------------------------------------------------------


def test_preparing_is_known_to_the_client_alone():
    trace, chapters = play_once(KEPT, "kip-939")
    (chapter,) = [c for c in chapters if c.title.startswith("state = ")]
    before, behind = nodes(trace)[chapter.first].world, nodes(trace)[chapter.end].world
    assert behind.applications["app-1"].producer.manager.state is ProducerState.PREPARED_TRANSACTION
    assert str(behind.applications["app-1"].producer.manager.prepared) == "9:0"
    assert behind.roles is before.roles
    assert behind.connections is before.connections


def test_the_next_process_commits_what_the_database_has_committed():
    trace, _ = play_once(KEPT, "kip-939")
    decision = first_step(trace, DatabaseChanged, what="committed")
    kept = first_step(trace, TransactionMoved, kept_for="9:1")
    ended = first_step(trace, TransactionDecided, committed=True, producer_epoch=0)
    assert decision < kept < ended
    assert trace.world.applications["app-1"].others["database"].rows == ("src-0@0",)
    assert committed_outputs(trace.world) == {"src-0@0": 1}
    end = _only_end(trace)
    assert (end.producer_epoch, end.committed) == (1, True)


def _only_end(trace):
    sent = {
        getattr(event, "message", None)
        for node in nodes(trace)
        for event in node.events
        if isinstance(getattr(event, "message", None), EndTxn)
    }
    (end,) = sent
    return end


def test_the_next_process_aborts_what_the_database_has_not_heard_of():
    trace, _ = play_once("kip-939-undone", "kip-939")
    first_step(trace, DatabaseChanged, what="rolled back")
    first_step(trace, TransactionDecided, committed=False)
    assert markers(trace.world)["output-A-0"] == ["ABORT"]
    assert committed_outputs(trace.world) == {}


@pytest.mark.parametrize("under", ["kafka", "kip-939"])
def test_without_keeping_the_next_process_aborts_what_the_database_has_committed(under):
    trace, _ = play_once(RELEASED, under)
    assert trace.world.applications["app-1"].others["database"].rows == ("src-0@0",)
    assert committed_outputs(trace.world) == {}
    assert markers(trace.world)["output-A-0"] == ["ABORT"]


def test_a_release_refuses_to_keep_so_the_program_of_the_kip_does_not_start():
    trace, _ = scenario("kip-939-small").but(beats=scenario(KEPT).beats[:1]).play(design("kafka"))
    ended = trace.world.applications["app-1"].ended
    assert ended == "initTransactions() threw InitProducerId: UNSUPPORTED_VERSION"


def test_kafka_first_leaves_an_output_that_the_database_never_gets():
    world = after("kip-1310-kafka-first", "kip-939", "The next process")
    assert world.applications["app-1"].others["database"].rows == ()
    assert committed_outputs(world) == {"src-0@0": 1}


def test_an_operator_who_ends_a_prepared_transaction_can_tear_the_two_stores_apart():
    trace, _ = play_once("kip-939-force-terminate", "kip-939")
    assert trace.world.applications["app-1"].others["database"].rows == ("src-0@0",)
    assert markers(trace.world)["output-A-0"] == ["ABORT"]
    torn = [PROPERTIES[0].finding(node.observations[0]).status == "broken" for node in nodes(trace)]
    assert torn.index(True) == first_step(trace, TransactionDecided, committed=False)


def test_a_coordinator_that_waits_for_heartbeats_aborts_what_only_the_next_process_may_end():
    torn, _ = play_once("kip-1309-prepared", "kip-1309")
    first_step(torn, TransactionDecided, committed=False)
    kept, _ = play_once("kip-1309-prepared", "kip-939+liveness=not_in_two_phases")
    assert committed_outputs(kept.world) == {"src-0@0": 1}
    for trace, held in ((torn, False), (kept, True)):
        assert (PROPERTIES[0].finding(trace.observations[0]).status == "holds") is held
        assert trace.world.applications["app-1"].others["database"].rows == ("src-0@0",)


def test_keeping_a_transaction_does_not_keep_its_writer_out_of_it():
    trace, _ = play_once("kip-939-still-writing", "kip-939")
    kept = first_step(trace, TransactionMoved, kept_for="9:1")
    second = first_step(trace, BatchAppended, partition="output-A-0", base_offset=1, control="")
    assert kept < second
    assert committed_outputs(trace.world) == {"src-0@0": 1, "src-0@1": 1}
    writer = trace.world.applications["app-1"]
    assert writer.ended == "commitTransaction() threw EndTxn: PRODUCER_FENCED"


# -- every interleaving, with the application dying once at any point ----------------------------


def test_when_the_database_decides_no_crash_of_the_application_tears_the_two_stores_apart():
    assert search_program(programs.DUAL_WRITE, "crash_client=1") == ({}, 1_137)


def test_with_what_is_released_one_crash_is_enough():
    broken, _ = search_program(programs.DUAL_WRITE_RELEASED, "crash_client=1", "kafka")
    assert set(broken) == {"atomic", "stores agree", "prepared transactions have one outcome"}


@pytest.mark.parametrize("program", [programs.KAFKA_FIRST_UNDOES, programs.KAFKA_FIRST_COMMITS])
def test_when_kafka_goes_first_and_nothing_is_written_down_neither_recovery_is_right(program):
    broken, _ = search_program(program, "crash_client=1")
    assert set(broken) == {"atomic", "stores agree"}
    assert search_program(program, "")[0] == {}


def test_with_its_two_preparations_the_other_way_round_kafka_first_holds():
    """Our inference: a database in doubt then says that Kafka has all of it."""
    assert search_program(programs.KAFKA_FIRST_REPAIRED, "crash_client=1")[0] == {}


@pytest.mark.thorough
@pytest.mark.parametrize("program", [programs.DUAL_WRITE, programs.KAFKA_FIRST_REPAIRED])
def test_nor_does_a_crash_of_the_application_and_one_of_a_broker(program):
    assert search_program(program, "crash_client=1,crash_broker=1")[0] == {}
