"""The drawn state machines against Kafka's tables, and against what runs really do."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import cycle

import pytest

from kipviz.brokers.share_leaders import in_flight
from kipviz.checking.single_run.runs import replay
from kipviz.checking.single_run.seeded_run import Task
from kipviz.clients.calls import CONSTRUCTORS
from kipviz.clients.transactions.producer_state import TRANSITIONS, ProducerState
from kipviz.messages.events import (
    WRITE_FAILED,
    CallStarted,
    RecordsMoved,
    TransactionMoved,
)
from kipviz.records.transaction_state import NOT_ENTERED, VALID_PREVIOUS
from kipviz.scenarios.library import LIBRARY
from kipviz.views.machines import (
    EVERYWHERE,
    PRODUCER,
    RECORD,
    SHIPPED_RECORD,
    TRANSACTION,
    TWO_PHASE_PRODUCER,
    Machine,
    Pair,
    drawing,
    pairs,
    way,
)
from tests.scenarios.story import nodes

MACHINES = (PRODUCER, TWO_PHASE_PRODUCER, TRANSACTION, RECORD, SHIPPED_RECORD)
ALL = tuple(state.name for state in ProducerState)

# TransactionManager.State.isTransitionValid of Kafka trunk: target -> sources.
KAFKA_PRODUCER = {
    "UNINITIALIZED": ("READY", "ABORTABLE_ERROR"),
    "INITIALIZING": ("UNINITIALIZED", "COMMITTING_TRANSACTION", "ABORTING_TRANSACTION"),
    "READY": ("INITIALIZING", "COMMITTING_TRANSACTION", "ABORTING_TRANSACTION"),
    "IN_TRANSACTION": ("READY",),
    "PREPARED_TRANSACTION": ("IN_TRANSACTION", "INITIALIZING"),
    "COMMITTING_TRANSACTION": ("IN_TRANSACTION", "PREPARED_TRANSACTION"),
    "ABORTING_TRANSACTION": ("IN_TRANSACTION", "PREPARED_TRANSACTION", "ABORTABLE_ERROR"),
    "ABORTABLE_ERROR": (
        "IN_TRANSACTION",
        "COMMITTING_TRANSACTION",
        "ABORTABLE_ERROR",
        "INITIALIZING",
    ),
    "FATAL_ERROR": ALL,
}
# The calls that make another session.
MADE = tuple(call.value for call in CONSTRUCTORS)
# A step of producers without a transactional id, which have no such card.
NOT_DRAWN = ("READY", "UNINITIALIZED")


@cache
def observe_runs() -> tuple[Counter[Pair], Counter[Pair], Counter[Pair], Counter[Pair]]:
    """What producers, transactions, records, and records after a failed write did in many runs."""
    producers: Counter[Pair] = Counter()
    transactions: Counter[Pair] = Counter()
    records: Counter[Pair] = Counter()
    undone: Counter[Pair] = Counter()
    accidents = cycle((("rough", 1), ("hostile", 3), ("hostile", 6)))
    for story, (faults, seed) in zip(LIBRARY, accidents, strict=False):
        run = replay(Task(story.name, story.designs[0], faults, seed, 300))
        lives: dict[str, tuple[int, str]] = {}
        for node in nodes(run.trace):
            made = any(isinstance(e, CallStarted) and e.call in MADE for e in node.events)
            for name, app in node.world.applications.items():
                life, state = lives.get(name, (0, ""))
                lives[name] = (app.life, app.producer.manager.state.name)
                if made:
                    continue  # another object, not another state
                if lives[name] != (life, state) and life == app.life:
                    producers[state, app.producer.manager.state.name] += 1
            for event in node.events:
                if isinstance(event, TransactionMoved) and event.before is not None:
                    transactions[event.before.name, event.after.name] += 1
                elif isinstance(event, RecordsMoved):
                    moved = undone if event.because == WRITE_FAILED else records
                    moved[event.before.name, event.after.name] += 1
    return producers, transactions, records, undone


def test_the_producers_table_is_kafkas() -> None:
    kafka = {(source, target) for target, sources in KAFKA_PRODUCER.items() for source in sources}
    assert set(pairs(TRANSITIONS)) == kafka
    drawn = {*TWO_PHASE_PRODUCER.transitions, *TWO_PHASE_PRODUCER.sudden}
    assert NOT_DRAWN in kafka - drawn


def test_producers_do_only_what_is_drawn() -> None:
    producers, *_ = observe_runs()
    assert len(producers) >= 10
    for before, after in producers:
        machine = TWO_PHASE_PRODUCER if "PREPARED_TRANSACTION" in (before, after) else PRODUCER
        taken = way(machine, before, after)
        assert taken, (before, after)
        assert {*taken} <= {*machine.transitions, *machine.sudden}


def test_transactions_do_only_what_is_drawn() -> None:
    _, transactions, *_ = observe_runs()
    assert len(transactions) >= 10
    assert set(transactions) <= set(TRANSACTION.transitions)


def test_records_do_only_what_is_drawn_and_a_failed_write_only_undoes() -> None:
    *_, records, undone = observe_runs()
    assert len(records) >= 5
    allowed = {*pairs(in_flight.TRANSITIONS), *pairs(in_flight.AT_ONCE)}
    assert set(records) <= allowed
    assert undone
    assert set(undone) <= set(pairs(in_flight.UNDONE))


def test_what_is_never_entered_is_not_drawn() -> None:
    assert {*VALID_PREVIOUS} - {*NOT_ENTERED} == {
        state for state in VALID_PREVIOUS if state.name in TRANSACTION.places
    }


@pytest.mark.parametrize("machine", MACHINES, ids=[machine.id for machine in MACHINES])
def test_every_transition_has_two_boxes_and_a_path(machine: Machine) -> None:
    drawn = drawing(machine)
    names = [state["name"] for state in drawn["states"]]
    edges = [edge for edge in drawn["edges"] if edge["from"] != EVERYWHERE]
    ends = [(edge["from"], edge["to"]) for edge in edges]
    assert len(set(ends)) == len(ends) == len(machine.transitions) + len(machine.sudden)
    assert {*machine.gutters} <= {*ends}
    assert len(drawn["edges"]) - len(edges) == bool(machine.everywhere)
    for edge in edges:
        assert {edge["from"], edge["to"]} <= {*names}
        assert edge["d"].startswith("M")
    places = [(state["x"], state["y"]) for state in drawn["states"]]
    assert len(set(places)) == len(places)


def test_a_step_through_several_states_is_told_as_several_transitions() -> None:
    assert way(PRODUCER, "IN_TRANSACTION", "READY") == (
        ("IN_TRANSACTION", "COMMITTING_TRANSACTION"),
        ("COMMITTING_TRANSACTION", "READY"),
    )
    assert way(PRODUCER, "READY", "FATAL_ERROR") == (("READY", "FATAL_ERROR"),)
    assert way(PRODUCER, "FATAL_ERROR", "READY") == ()
