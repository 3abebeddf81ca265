"""Nothing pending for ever, over hand-made histories: what opens and what closes."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest

from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.core.model import Event, Outcome
from kipviz.core.table import Table
from kipviz.core.values import fingerprint
from kipviz.messages.events import BatchAppended, DatabaseChanged, RecordsMoved, TopicDeleted
from kipviz.properties.facts.share_record import ShareRecord
from kipviz.properties.pending import NothingPending, Open, without_former_leaders
from kipviz.properties.verdict import HOLDS, PENDING, Finding
from kipviz.records.batches import DataRecord
from kipviz.records.consumer_offsets import OffsetCommitRecord, OffsetTombstone
from kipviz.records.share_group_state import RecordState
from kipviz.records.transaction_state import TransactionState
from tests.properties.history import (
    WORLD,
    drop_event,
    findings,
    load_event,
    moves,
    resolution,
    staging,
    states,
    transaction,
)

OPENING = [
    (transaction(TransactionState.ONGOING), "transaction my-txn is ONGOING"),
    (transaction(TransactionState.PREPARE_COMMIT), "transaction my-txn is PREPARE_COMMIT"),
    (transaction(TransactionState.PREPARE_ABORT), "transaction my-txn is PREPARE_ABORT"),
    (moves(RecordState.TX_PENDING), "record src-0@100 is TX_PENDING"),
    (staging(101), "offset of cg in src-0 by producer 9 is staged"),
]
CLOSING = [
    (transaction(TransactionState.ONGOING), transaction(TransactionState.COMPLETE_COMMIT)),
    (transaction(TransactionState.PREPARE_COMMIT), transaction(TransactionState.COMPLETE_COMMIT)),
    (transaction(TransactionState.PREPARE_ABORT), transaction(TransactionState.COMPLETE_ABORT)),
    (transaction(TransactionState.ONGOING), transaction(TransactionState.EMPTY)),
    (moves(RecordState.TX_PENDING), moves(RecordState.ACKNOWLEDGED)),
    (moves(RecordState.TX_PENDING), moves(RecordState.AVAILABLE)),
    (moves(RecordState.TX_PENDING), moves(RecordState.ACQUIRED)),
    (moves(RecordState.TX_PENDING), moves(RecordState.ARCHIVED)),
    (moves(RecordState.TX_PENDING), drop_event()),
    (moves(RecordState.TX_PENDING, 100, 103), moves(RecordState.ACKNOWLEDGED, 100, 103)),
    (staging(101), resolution(101)),
    (staging(101), resolution(101, committed=False)),
]


@pytest.mark.parametrize(("event", "due"), OPENING)
def test_what_has_no_outcome_yet_is_pending_and_named(event: Event, due: str) -> None:
    assert findings(NothingPending(), event) == [Finding(HOLDS), Finding(PENDING, due)]


@pytest.mark.parametrize(("opens", "closes"), CLOSING)
def test_an_outcome_closes_what_was_open(opens: Event, closes: Event) -> None:
    prop = NothingPending()
    start, pending, done = states(prop, opens, closes)
    assert prop.finding(pending).status == PENDING
    assert prop.finding(done) == Finding(HOLDS)
    assert fingerprint(done) == fingerprint(start)


def test_a_run_of_records_is_pending_record_by_record() -> None:
    found = findings(
        NothingPending(),
        moves(RecordState.TX_PENDING, 100, 101),
        moves(RecordState.ACKNOWLEDGED, 100),
    )
    assert found[1].reason == "record src-0@100 is TX_PENDING, record src-0@101 is TX_PENDING"
    assert found[2].reason == "record src-0@101 is TX_PENDING"


def test_the_outcome_of_one_leaves_the_others_pending() -> None:
    found = findings(
        NothingPending(),
        (transaction(TransactionState.ONGOING), transaction(TransactionState.ONGOING, "other")),
        transaction(TransactionState.COMPLETE_ABORT, "other"),
    )
    assert [f.reason for f in found[1:]] == [
        "transaction my-txn is ONGOING, transaction other is ONGOING",
        "transaction my-txn is ONGOING",
    ]


def test_offsets_that_two_producers_hold_are_two_things() -> None:
    found = findings(NothingPending(), staging(101), staging(102, pid=10), resolution(101))
    assert found[-1] == Finding(PENDING, "offset of cg in src-0 by producer 10 is staged")


def test_forgetting_a_share_partition_forgets_its_records_and_nothing_else() -> None:
    found = findings(
        NothingPending(),
        (transaction(TransactionState.ONGOING), staging(101), moves(RecordState.TX_PENDING)),
        drop_event(),
    )
    assert found[-1].reason == (
        "offset of cg in src-0 by producer 9 is staged, transaction my-txn is ONGOING"
    )


def with_acknowledgements(
    *offsets: int, group: str = "g1", partition: str = "src-0"
) -> SimpleNamespace:
    """A world whose share-partition leader holds transactional acknowledgements for some records, and another record.

    It leads a share-partition of another topic, too, which comes first.
    """
    held = dict.fromkeys(offsets, SimpleNamespace(state=RecordState.TX_PENDING))
    records = Table.of({99: SimpleNamespace(state=RecordState.ACQUIRED), **held})
    share = SimpleNamespace(partition=partition, group_id=group, records=records)
    other = SimpleNamespace(partition="other-0", group_id="g1", records=Table.of())
    role = ShareLeader(shares=Table.of({"g1:A-ID:0": other, "g1:SRC-ID:0": share}))
    return SimpleNamespace(
        image=WORLD.image, logs=WORLD.logs, roles=Table.of({"B1": role, "B2": SimpleNamespace()})
    )


def test_a_new_leader_takes_over_the_transactional_acknowledgements_that_it_finds() -> None:
    history = (moves(RecordState.TX_PENDING), load_event(100, 101))
    found = findings(NothingPending(), *history, world=with_acknowledgements(100, 101))
    assert found[-1].reason == "record src-0@100 is TX_PENDING, record src-0@101 is TX_PENDING"


def test_a_transactional_acknowledgement_that_a_new_leader_does_not_find_is_pending_no_more() -> (
    None
):
    history = (moves(RecordState.TX_PENDING), load_event())
    assert findings(NothingPending(), *history, world=with_acknowledgements())[-1] == Finding(HOLDS)


def test_a_new_leader_of_one_group_does_not_take_over_the_transactional_acknowledgements_of_another() -> (
    None
):
    assert findings(NothingPending(), load_event(), world=with_acknowledgements(100, group="g2"))[
        -1
    ] == Finding(HOLDS)


def test_a_new_leader_of_one_partition_does_not_take_over_the_transactional_acknowledgements_of_another() -> (
    None
):
    there = with_acknowledgements(100, partition="src-1")
    assert findings(NothingPending(), load_event(), world=there)[-1] == Finding(HOLDS)


# -- the last stable offset of a log, and a database -----------------------------------------------


def test_a_log_is_due_as_long_as_a_transaction_is_open_in_it() -> None:
    """Each log for itself, and as its leader has it after the step: others may be open in it, too."""
    opens, marker = (BatchAppended("out-0", at, (DataRecord("r"),), 9, 0, "") for at in (0, 2))
    held, free = (
        SimpleNamespace(logs=Table.of({"out-0": SimpleNamespace(open=open_)}))
        for open_ in (((0, 9),), ())
    )
    prop, state = NothingPending(), NothingPending().initial(WORLD)
    state = prop.observe(state, None, Outcome(held, (opens,)))
    assert prop.finding(state) == Finding(PENDING, "last stable offset of out-0 is held")
    state = prop.observe(state, None, Outcome(held, (marker,)))
    assert prop.finding(state).status == PENDING, "another transaction is open in it"
    state = prop.observe(state, None, Outcome(free, (marker,)))
    assert prop.finding(state) == Finding(HOLDS)


@pytest.mark.parametrize("outcome", ["committed", "rolled back"])
def test_a_prepared_transaction_of_a_database_is_in_doubt_until_it_is_over(outcome: str) -> None:
    """KIP-939: what is prepared survives its process, so somebody has to end it."""
    written, prepared, ended = (
        DatabaseChanged("app-1", what, ("src-0@100",), "9:0")
        for what in ("written", "prepared", outcome)
    )
    doubt = "database transaction of app-1 is in doubt"
    found = findings(NothingPending(), written, prepared, ended)
    assert found == [Finding(HOLDS), Finding(HOLDS), Finding(PENDING, doubt), Finding(HOLDS)]


# -- what a leader that is gone leaves behind ------------------------------------------------------


def test_a_record_is_due_where_somebody_holds_it_as_staged() -> None:
    """What no leader holds as staged is nobody's, and what is not a record stays due."""
    due = {ShareRecord("g1", "src-0", offset): True for offset in (99, 100, 101)}
    state = Open(records=Table.of(due), transactions=Table.of({"my-txn": TransactionState.ONGOING}))
    left = without_former_leaders(state, with_acknowledgements(100))
    assert left == state.but(records=Table.of({ShareRecord("g1", "src-0", 100): True}))
    assert without_former_leaders(left, with_acknowledgements(100)) is left
    assert without_former_leaders(left, with_acknowledgements()) == state.but(records=Table.of())


def test_without_a_staged_record_no_leader_is_asked() -> None:
    state = Open(transactions=Table.of({"my-txn": TransactionState.ONGOING}))
    assert without_former_leaders(state, SimpleNamespace()) is state


def test_each_group_has_its_own_state_of_a_record() -> None:
    """What another group does with a record leaves the record of this one pending."""
    states_ = RecordState.ACQUIRED, RecordState.TX_PENDING
    staged = RecordsMoved("src-0", "share", 100, 100, *states_, 1, "m-1", "it was staged")
    others = RecordsMoved(
        "src-0", "other", 100, 100, RecordState.AVAILABLE, RecordState.ACQUIRED, 1, "m-2", "so"
    )
    both = RecordsMoved("src-0", "other", 100, 100, *states_, 1, "m-2", "it was staged")
    found = findings(NothingPending(), staged, others, both)
    assert [f.reason for f in found[1:]] == [
        "record src-0@100 is TX_PENDING",
        "record src-0@100 is TX_PENDING",
        "record src-0@100 of other is TX_PENDING, record src-0@100 of share is TX_PENDING",
    ]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_what_was_pending_first_does_not_matter(order: tuple[int, ...]) -> None:
    events = [
        transaction(TransactionState.ONGOING),
        staging(101),
        moves(RecordState.TX_PENDING),
        moves(RecordState.TX_PENDING, 101),
    ]
    here = states(NothingPending(), *events)[-1]
    there = states(NothingPending(), *(events[i] for i in order))[-1]
    assert fingerprint(here) == fingerprint(there)
    assert NothingPending().finding(here) == NothingPending().finding(there)


def test_a_step_that_says_nothing_to_it_gives_the_very_same_state() -> None:
    first, second = states(NothingPending(), moves(RecordState.ACQUIRED))
    assert second is first


def test_a_pending_offset_whose_topic_or_group_is_deleted_is_not_due_any_more() -> None:
    """A tombstone takes committed and pending alike; nobody tells of the pending one any more."""
    home = "__consumer_offsets-7"
    world = SimpleNamespace(logs=Table.of({home: SimpleNamespace(open=())}))
    gone = BatchAppended(home, 1, (OffsetTombstone("cg", "src-0"),), -1, -1, "")
    beside = BatchAppended(home, 1, (OffsetTombstone("cg", "src-1"),), -1, -1, "")
    written = BatchAppended(home, 1, (OffsetCommitRecord("cg", "src-0", 101),), 9, 0, "")
    found = findings(NothingPending(), staging(101), written, beside, gone, world=world)
    assert [f.status for f in found] == [HOLDS, PENDING, PENDING, PENDING, HOLDS]


def test_what_held_the_logs_of_a_topic_is_gone_with_it_and_no_other_topic_s():
    held = Table.of(dict.fromkeys(("out-0", "out-1", "out-2-0", "other-0"), True))
    state = NothingPending().initial(WORLD).but(held=held)
    outcome = Outcome(WORLD, (TopicDeleted("out", "an id"),))
    left = NothingPending().observe(state, None, outcome)
    assert left.held.keys() == ("other-0", "out-2-0")
