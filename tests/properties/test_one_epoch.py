"""Where transaction.version is lowered in the middle of a transaction, its markers are told from those of the one before."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from kipviz.checking.single_run.seeded_run import Task
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.core.model import Outcome
from kipviz.core.table import Table
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.messages.cluster.features import Features
from kipviz.messages.events import (
    BatchAppended,
    MessageSent,
    TransactionDecided,
    TransactionMoved,
)
from kipviz.messages.logs.producing import PartitionProduceData, Produce
from kipviz.properties.facts.one_epoch import (
    batch_of,
    learned_below_2,
    learned_in_order,
    learned_of_old_clients,
    orders_transactions,
)
from kipviz.properties.facts.run_facts import Facts
from kipviz.properties.invariants import INVARIANTS
from kipviz.properties.verdict import BROKEN
from kipviz.records.batches import Batch, DataRecord
from kipviz.records.transaction_state import TransactionState
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.script import play
from tests.properties.history import WORLD, after, decision, output
from tests.properties.hostile import broken_in

S = TransactionState
# What the one before left behind: at version 2 its markers have the epoch that the next one begins with.
BEFORE = Facts(markers=Table.of({(9, 1): "COMMIT"}))


def move_event(before: TransactionState, after: TransactionState) -> TransactionMoved:
    return TransactionMoved("my-txn", 9, 1, before, after, ("out-0",))


def world(upgrades: int) -> Any:
    return SimpleNamespace(budget=FaultBudget(upgrade=upgrades))


def test_a_transaction_begun_before_the_level_was_lowered_has_no_marker_when_it_is_decided() -> (
    None
):
    begun = learned_of_old_clients(BEFORE, move_event(S.COMPLETE_COMMIT, S.ONGOING), world(1))
    assert begun.markers == BEFORE.markers
    decided = learned_below_2(begun, move_event(S.ONGOING, S.PREPARE_ABORT))
    assert (9, 1) not in decided.markers
    assert (9, 1) not in decided.begun_at_2


def test_one_that_began_below_version_2_keeps_the_markers_that_came_meanwhile() -> None:
    began = learned_below_2(BEFORE, move_event(S.COMPLETE_COMMIT, S.ONGOING))
    late = began.but(markers=began.markers.set((9, 1), "COMMIT"))
    decided = learned_below_2(late, move_event(S.ONGOING, S.PREPARE_ABORT))
    assert decided.markers.get((9, 1)) == "COMMIT", "a late marker of the one before ended this one"


@pytest.mark.parametrize("upgrades", [0, 1])
def test_nothing_is_noted_where_the_level_cannot_be_lowered(upgrades: int) -> None:
    begun = learned_of_old_clients(BEFORE, move_event(S.EMPTY, S.ONGOING), world(upgrades))
    assert len(begun.begun_at_2) == upgrades
    ended = learned_of_old_clients(begun, move_event(S.ONGOING, S.PREPARE_COMMIT), world(upgrades))
    assert len(ended.begun_at_2) == 0


def level(now: int, upgrades: int = 1) -> Any:
    image = SimpleNamespace(features=Features(now))
    logs = Table.of({"out-0": SimpleNamespace(batches=(BATCH,), open=())})
    return SimpleNamespace(
        image=image, logs=logs, roles=Table.of(), budget=FaultBudget(upgrade=upgrades)
    )


BATCH = Batch(3, (DataRecord("r", "src-0@100"),), 9, 1, 0, transactional=True)
BEGINS = TransactionMoved("my-txn", 9, 1, S.COMPLETE_COMMIT, S.ONGOING, ("out-0",))
APPENDED = BatchAppended("out-0", 3, BATCH.records, 9, 1, "")


def send_event(version: int) -> MessageSent:
    batch = Produce("my-txn", (PartitionProduceData("out-0", 9, 1, 0, BATCH.records),), version)
    return MessageSent("app-1/producer", 3, "request", batch)


def broken_by(*steps: tuple[Any, Any]) -> dict[str, str]:
    facts = Facts()
    for event, seen in steps:
        facts = INVARIANTS[0].observe(facts, None, Outcome(seen, (event,)))
    return dict(facts.broken.items())


def test_what_was_enlisted_before_the_level_was_lowered_hangs_nowhere() -> None:
    """The partition is in the transaction, though nobody has said so since the level is 1."""
    at_2, at_1 = level(2), level(1, 0)
    assert broken_by((send_event(12), at_2), (BEGINS, at_2), (APPENDED, at_1)) == {}
    # Where nobody has enlisted it, it hangs.
    assert set(broken_by((send_event(12), at_2), (APPENDED, at_1))) == {"nothing hangs"}


def test_a_batch_that_was_sent_before_the_level_was_lowered_belongs_to_the_transaction_it_begins() -> (
    None
):
    at_2, at_1 = level(2), level(1, 0)
    first = ((send_event(12), at_2), (BEGINS, at_2), (APPENDED, at_1))
    assert broken_by(*first) == {}
    # The same batch in the transaction behind that is in another one.
    ended = TransactionDecided("my-txn", 9, 1, True)
    marker = BatchAppended("out-0", 4, (), 9, 1, "COMMIT")
    late = (*first[:2], (ended, at_1), (marker, at_1), (BEGINS, at_1), (APPENDED, at_1))
    assert set(broken_by(*late)) == {"batch stays in its transaction"}


def test_an_older_clients_batch_belongs_to_the_transaction_that_is_open() -> None:
    at_1 = level(1, 0)
    assert broken_by((BEGINS, at_1), (send_event(11), at_1), (APPENDED, at_1)) == {}


def test_a_decision_is_due_no_more_for_its_own_producer_s_partitions_alone() -> None:
    """WriteTxnMarkers of one producer id: another one's partitions wait for their own."""
    other = TransactionMoved("other-txn", 10, 0, S.EMPTY, S.ONGOING, ("out-0",))
    facts = learned_in_order(Facts(), move_event(S.EMPTY, S.ONGOING))
    facts = learned_in_order(facts, other)
    assert dict(facts.due.items()) == {("out-0", 9): True, ("out-0", 10): True}
    facts = learned_in_order(facts, TransactionDecided("my-txn", 9, 1, True))
    assert dict(facts.due.items()) == {("out-0", 9): False, ("out-0", 10): True}


@pytest.mark.parametrize(
    ("now", "upgrades", "counted"),
    [(0, 0, True), (1, 0, True), (2, 0, False), (2, 1, True), (1, 1, True)],
)
def test_transactions_are_counted_where_an_epoch_has_several_or_may_have(now, upgrades, counted):
    """From version 2 on an epoch names its transaction: states that differ in a count alone are one."""
    assert orders_transactions(level(now, upgrades)) is counted
    facts = INVARIANTS[0].observe(Facts(), None, Outcome(level(now, upgrades), (BEGINS,)))
    assert bool(facts.rounds) is counted


def test_a_partition_that_is_added_begins_no_other_transaction() -> None:
    """AddPartitionsToTxn comes once for each partition; what was sent before the second is of the same one."""
    at_1 = level(1, 0)
    adds = TransactionMoved("my-txn", 9, 1, S.ONGOING, S.ONGOING, ("out-0", "out-1"))
    assert broken_by((BEGINS, at_1), (send_event(11), at_1), (adds, at_1), (APPENDED, at_1)) == {}


def test_a_batch_that_is_sent_again_is_of_the_transaction_in_which_it_was_sent_first() -> None:
    """A retry of the sender's has the same sequence, and may reach the log in the next transaction."""
    at_1 = level(1, 0)
    ended = TransactionDecided("my-txn", 9, 1, False)
    marker = BatchAppended("out-0", 2, (), 9, 1, "ABORT")
    first = ((BEGINS, at_1), (send_event(11), at_1), (ended, at_1), (marker, at_1), (BEGINS, at_1))
    found = broken_by(*first, (send_event(11), at_1), (APPENDED, at_1))
    assert set(found) == {"batch stays in its transaction"}


ENDS = {word: TransactionDecided("my-txn", 9, 1, word == "COMMIT") for word in ("COMMIT", "ABORT")}
MARKERS = {word: BatchAppended("out-0", 4, (), 9, 1, word) for word in ("COMMIT", "ABORT")}
ADDS = TransactionMoved("my-txn", 9, 1, S.ONGOING, S.ONGOING, ("out-0", "out-1"))


def broken_at_1(*events: Any) -> set[str]:
    return set(broken_by(*((event, level(1, 0)) for event in events)))


def test_of_two_transactions_in_one_epoch_each_has_its_own_outcome() -> None:
    first = (BEGINS, ENDS["COMMIT"], MARKERS["COMMIT"])
    assert broken_at_1(*first, BEGINS, ENDS["ABORT"], MARKERS["ABORT"]) == set()
    assert broken_at_1(*first, ENDS["ABORT"]) == {"one outcome"}


def test_a_late_marker_ends_the_transaction_that_is_open_though_it_takes_further_partitions() -> (
    None
):
    """The log cannot tell it from its own: with another outcome it is the second one."""
    late = (BEGINS, MARKERS["COMMIT"], ADDS)
    assert broken_at_1(*late, ENDS["ABORT"], MARKERS["ABORT"]) == {"one outcome"}
    assert broken_at_1(*late, ENDS["COMMIT"], MARKERS["COMMIT"]) == set()


def test_every_batch_in_front_of_the_marker_is_ended_by_it_and_none_behind_it() -> None:
    late = (BEGINS, ENDS["ABORT"], APPENDED, APPENDED)
    assert broken_at_1(*late) == set()
    assert broken_at_1(*late, MARKERS["ABORT"], APPENDED) == {"nothing hangs"}


def test_a_late_marker_leaves_due_the_one_of_the_transaction_that_is_open() -> None:
    assert broken_at_1(BEGINS, MARKERS["COMMIT"], APPENDED) == set()


OTHERS = TransactionMoved("other-txn", 10, 0, S.EMPTY, S.ONGOING, ("out-0",))


@pytest.mark.parametrize(
    ("before", "version", "number"),
    [
        ((), 11, 0),
        ((), 12, 1),
        ((BEGINS,), 11, 1),
        ((BEGINS,), 12, 1),
        ((BEGINS, ENDS["COMMIT"]), 11, 1),
        ((BEGINS, ENDS["COMMIT"]), 12, 2),
        ((OTHERS,), 12, 1),
        ((OTHERS, BEGINS), 12, 1),
        ((BEGINS, ENDS["COMMIT"], OTHERS), 12, 2),
    ],
)
def test_a_batch_that_enlists_its_partition_begins_the_next_transaction_where_none_is_open(
    before: tuple[Any, ...], version: int, number: int
) -> None:
    """KIP-890: with Produce 12 it is the leader that adds the partition."""
    facts = Facts()
    for event in (*before, send_event(version)):
        facts = learned_in_order(facts, event)
    assert dict(facts.sent_in.items()) == {("out-0", 9, 1, 0): number}


def test_a_partition_that_is_added_leaves_noted_that_the_transaction_began_before() -> None:
    begun = learned_of_old_clients(BEFORE, move_event(S.COMPLETE_COMMIT, S.ONGOING), world(1))
    added = learned_of_old_clients(begun, move_event(S.ONGOING, S.ONGOING), world(1))
    late = added.but(markers=added.markers.set((9, 1), "COMMIT"))
    decided = learned_below_2(late, move_event(S.ONGOING, S.PREPARE_ABORT))
    assert (9, 1) not in decided.markers, "it is the one before's, as at version 2"


@pytest.mark.parametrize("second", [ENDS["ABORT"], MARKERS["ABORT"]])
def test_a_transaction_that_is_complete_keeps_its_outcome_until_the_next_one_begins(second) -> None:
    """At version 2 an old client, which speaks EndTxn 4, has one epoch for both."""
    ends, completes = (
        move_event(S.ONGOING, S.PREPARE_COMMIT),
        move_event(S.PREPARE_COMMIT, S.COMPLETE_COMMIT),
    )
    whole = (BEGINS, ends, ENDS["COMMIT"], MARKERS["COMMIT"], completes)
    next_one = (BEGINS, move_event(S.ONGOING, S.PREPARE_ABORT))
    at_2 = level(2, 0)
    assert set(broken_by(*((event, at_2) for event in (*whole, second)))) == {"one outcome"}
    assert broken_by(*((event, at_2) for event in (*whole, *next_one, second))) == {}


def test_a_batch_is_known_by_its_sequence_in_the_log_wherever_it_stands_there() -> None:
    later = Batch(4, (DataRecord("r"),), 9, 1, 1, transactional=True)
    there = SimpleNamespace(logs=Table.of({"out-0": SimpleNamespace(batches=(BATCH, later))}))
    assert batch_of(APPENDED, there) == ("out-0", 9, 1, 0)
    gone = SimpleNamespace(logs=Table.of({"out-0": SimpleNamespace(batches=(later,))}))
    assert batch_of(APPENDED, gone) == ("out-0", 9, 1, -1), "a new leader lacks it"


# -- transaction versions 0 and 1: one epoch for many transactions ------------------------------


def test_a_batch_that_joins_the_transaction_after_its_own_breaks_its_invariant() -> None:
    """As a client would make it that neither bumps its epoch nor is asked for its partition."""
    batch = Batch(1, (DataRecord("r", "src-0@100"),), 9, 0, 0, transactional=True)
    logs = Table.of({"out-0": SimpleNamespace(batches=(batch,))})
    image = SimpleNamespace(features=Features(1))
    world = SimpleNamespace(logs=logs, roles=Table.of(), image=image, budget=WORLD.budget)
    sent = MessageSent(
        "A1/producer",
        3,
        "request",
        Produce("t", (PartitionProduceData("out-0", 9, 0, 0, batch.records),)),
    )
    begun = TransactionMoved("t", 9, 0, S.COMPLETE_ABORT, S.ONGOING, ("out-0",))
    late = BatchAppended("out-0", 1, batch.records, 9, 0, "")
    first = (begun, sent, decision(committed=False), BatchAppended("out-0", 0, (), 9, 0, "ABORT"))
    assert "the transaction will never end" in after((*first, late), world).broken["nothing hangs"]
    facts = after((*first, begun, late), world)
    assert facts.broken == Table.of(
        {
            "batch stays in its transaction": (
                "out-0 took a batch that producer 9 sent in its transaction 1, and it will end with "
                "transaction 2"
            )
        }
    )


@pytest.mark.parametrize(
    ("story", "under", "broken"),
    [
        ("kip-1289-group-commit", "kafka-tv1", set()),
        ("kip-1289-group-abort", "kafka-tv0", set()),
        ("kip-98-zombie", "kafka-tv1", set()),
        ("kip-890-too-late", "kafka-tv1", set()),
        ("kip-890-hanging", "kafka-tv0", {"nothing hangs", "fenced producer cannot write"}),
        ("kip-890-hanging", "kafka-tv1", set()),
        ("kip-890-late-commit", "kafka-tv1", set()),
        ("kip-890-upgrade", "kafka-tv1", set()),
    ],
)
def test_transactions_of_one_epoch_are_told_apart(story, under, broken):
    played_story = searched_scenario(story)
    model = played_story.model(design(under))
    trace, _ = play(Trace.start(model, INVARIANTS), model, played_story.beats)
    pairs = zip(trace.observers, trace.observations, strict=True)
    assert {o.name for o, state in pairs if o.finding(state).status == BROKEN} == broken


@pytest.mark.parametrize("level", [0, 1])
def test_a_batch_without_a_transactional_id_waits_for_no_marker(level: int) -> None:
    below = SimpleNamespace(
        **vars(WORLD)
        | {
            "image": SimpleNamespace(
                topic_ids=WORLD.image.topic_ids, features=Features(transaction_version=level)
            ),
            "logs": Table.of({"out-0": SimpleNamespace(batches=(Batch(0, (), 9, 0, 0),))}),
        }
    )
    batch = output(100)
    assert "nothing hangs" in after((batch,), below).broken
    assert after((msgspec.structs.replace(batch, plain=True),), below).broken == Table.of()


@pytest.mark.parametrize("under", ["kafka-tv0", "kafka-tv1", "kafka"])
def test_idempotent_producers_keep_every_invariant_whatever_the_level(under: str) -> None:
    """Found by a sweep: below transaction version 2 their batches were taken for transactional ones."""
    assert broken_in(Task("kip-98-in-flight", under, "hostile", 3)) == {}
