"""Each invariant, clause by clause: what is known of a run so far, an event that breaks it, and its neighbours."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from kipviz.core.model import Event, Outcome
from kipviz.core.table import Table
from kipviz.messages.cluster.features import Features
from kipviz.messages.events import BatchAppended, RecordsMoved, TimePassed, TransactionMoved
from kipviz.properties.facts.share_record import ShareRecord
from kipviz.properties.invariants import INVARIANTS, Facts, Invariant
from kipviz.records.batches import Batch, DataRecord
from kipviz.records.share_group_state import RecordState, ShareUpdateRecord
from kipviz.records.transaction_state import TransactionState
from tests.properties.history import KEY, WORLD, decision, marker, output, world

S = RecordState
RECORD = ShareRecord("g1", "src-0", 100)
COMMITS, ABORTS = decision(committed=True), decision(committed=False)
BELOW_2 = world(
    image=SimpleNamespace(topic_ids=WORLD.image.topic_ids, features=Features(transaction_version=1))
)


def invariant(name: str) -> Invariant:
    return next(each for each in INVARIANTS if each.name == name)


def breaks(name: str, facts: Facts, event: Event, where: Any = WORLD) -> str:
    return invariant(name).breaks(facts, event, where)


def moves(before: RecordState, after: RecordState, member: str = "M1") -> Event:
    return RecordsMoved("src-0", "g1", 100, 100, before, after, 1, member, "it was so", 9, 0)


def states(*starts: int, key: str = KEY) -> Event:
    """A batch of the share coordinator with start offsets, behind a record of something else."""
    records = (DataRecord("x"), *(ShareUpdateRecord(key, 0, 0, start, 0, ()) for start in starts))
    return BatchAppended("__share_group_state-7", 1, records, -1, -1, "")


# -- share groups ----------------------------------------------------------------------------------


def test_a_second_owner_is_one_to_whom_the_record_is_given() -> None:
    held = Facts().but(owners=Table.of({RECORD: "M1"}))
    given = "g1 src-0@100 is held by M1 and was given to M2"
    assert breaks("one owner", held, moves(S.ACQUIRED, S.ACQUIRED, "M2")) == given
    assert breaks("one owner", held, moves(S.ACQUIRED, S.ACQUIRED, "M1")) == ""
    assert breaks("one owner", held, moves(S.ACQUIRED, S.AVAILABLE, "M2")) == ""
    assert breaks("one owner", Facts(), moves(S.AVAILABLE, S.ACQUIRED, "M2")) == ""


def test_a_start_offset_goes_back_wherever_in_its_batch_it_stands() -> None:
    name, facts = "start offset only advances", Facts().but(starts=Table.of({KEY: 100}))
    back = "the start offset of src-0 for g1 moved back from 100 to 99"
    assert breaks(name, facts, states(99)) == back
    assert breaks(name, facts, states(-1, 99)) == back
    assert breaks(name, facts, states(0)) == back.replace("99", "0")
    assert breaks(name, facts, states(-1)) == ""
    assert breaks(name, facts, states(100)) == ""
    assert breaks(name, Facts(), states(99)) == ""


def test_a_start_offset_at_zero_is_known_also_where_nobody_knows_the_log() -> None:
    name, key = "start offset only advances", "g1:OTHER:0"
    facts = Facts().but(starts=Table.of({key: 0}))
    past = "the start offset of OTHER-0 for g1 went past g1 OTHER-0@0, which is not done"
    assert breaks(name, facts, states(1, key=key)) == past
    done = facts.but(done=Table.of({ShareRecord("g1", "OTHER-0", 0): True}))
    assert breaks(name, done, states(1, key=key)) == ""


@pytest.mark.parametrize(
    ("changes", "passes"),
    [
        ({}, False),
        ({"done": Table.of({RECORD: True})}, True),
        ({"outcomes": Table.of({RECORD: "commit"})}, True),
        ({"outcomes": Table.of({RECORD: "abort"})}, False),
        ({"staging": Table.of({RECORD: (9, 0)})}, False),
        (
            {"staging": Table.of({RECORD: (9, 0)}), "decided": Table.of({(9, 0): "commit"})},
            True,
        ),
        (
            {"staging": Table.of({RECORD: (9, 0)}), "decided": Table.of({(9, 0): "abort"})},
            False,
        ),
        (
            {"staging": Table.of({RECORD: (9, 1)}), "decided": Table.of({(9, 0): "commit"})},
            False,
        ),
    ],
    ids=[
        *("in use", "done", "committed", "aborted", "staged"),
        *("committed, unheard", "aborted, unheard", "another's commit"),
    ],
)
def test_a_start_offset_passes_what_is_done_or_committed(
    changes: dict[str, Any], passes: bool
) -> None:
    facts = Facts().but(starts=Table.of({KEY: 100}), **changes)
    found = breaks("start offset only advances", facts, states(101))
    assert (found == "") is passes


# -- transactions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("pid", [0, 9])
def test_a_batch_behind_the_marker_of_its_epoch_hangs_whoever_wrote_it(pid: int) -> None:
    ended = Facts().but(ended=Table.of({("out-0", pid): 1}))
    assert "after the marker of epoch 1" in breaks("nothing hangs", ended, output(100, pid=pid))
    assert breaks("nothing hangs", ended, output(100, pid=pid, epoch=1)) == ""
    assert breaks("nothing hangs", ended, output(100, pid=pid, to="out-1")) == ""
    assert breaks("nothing hangs", ended, output(100, pid=pid + 1)) == ""
    assert breaks("nothing hangs", ended, marker("ABORT", pid=pid, epoch=0)) == ""


@pytest.mark.parametrize("pid", [0, 9])
def test_below_version_2_a_batch_hangs_that_no_coordinator_has_in_a_transaction(pid: int) -> None:
    found = breaks("nothing hangs", Facts(), output(100, pid=pid), BELOW_2)
    assert found.startswith(
        f"out-0 took a batch of producer {pid}, epoch 0, and no coordinator has"
    )
    due = Facts().but(due=Table.of({("out-0", pid): True}))
    assert breaks("nothing hangs", due, output(100, pid=pid), BELOW_2) == ""
    assert breaks("nothing hangs", due, output(100, pid=pid, to="out-1"), BELOW_2) != ""
    assert breaks("nothing hangs", Facts(), output(100, pid=-1, epoch=-1), BELOW_2) == ""
    assert breaks("nothing hangs", Facts(), marker("COMMIT", pid=pid), BELOW_2) == ""


def test_a_batch_stays_in_the_transaction_in_which_it_was_sent() -> None:
    name = "batch stays in its transaction"
    batch = Batch(0, (DataRecord("f"),), 9, 0, 3, transactional=True)
    logs = Table.of({"out-0": SimpleNamespace(batches=(batch,))})
    there = SimpleNamespace(**vars(BELOW_2) | {"logs": logs})
    event = BatchAppended("out-0", 0, batch.records, 9, 0, "")
    sent = {("out-0", 9, 0, 3): 0}
    late = Facts().but(
        sent_in=Table.of(sent), rounds=Table.of({9: 1}), due=Table.of({("out-0", 9): True})
    )
    assert breaks(name, late, event, there) == (
        "out-0 took a batch that producer 9 sent in its transaction 0, and it will end with transaction 1"
    )
    assert breaks(name, late.but(rounds=Table.of()), event, there) == ""
    assert breaks(name, late.but(rounds=Table.of({9: 0})), event, there) == ""
    assert breaks(name, late.but(sent_in=Table.of()), event, there) == ""
    assert breaks(name, late.but(due=Table.of()), event, there) == ""
    assert breaks(name, late, msgspec.structs.replace(event, plain=True), there) == ""
    assert breaks(name, late, TimePassed(5), there) == ""
    at_2 = SimpleNamespace(**vars(WORLD) | {"logs": logs})
    assert breaks(name, late, event, at_2) == ""


@pytest.mark.parametrize(
    "after", [TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT]
)
def test_whichever_way_a_transaction_ends_it_is_closed_in_every_log(
    after: TransactionState,
) -> None:
    logs = Table.of({"out-0": SimpleNamespace(open=((5, 9),))})
    there = world(logs=logs)
    ended = TransactionMoved("t", 9, 0, TransactionState.PREPARE_COMMIT, after, ("out-0",))
    assert breaks("complete means closed", Facts(), ended, there) == (
        f"t is {after.value}, but its transaction is open in out-0"
    )
    dead = msgspec.structs.replace(ended, after=TransactionState.DEAD)
    assert breaks("complete means closed", Facts(), dead, there) == ""


def test_a_fenced_producer_commits_and_writes_nothing_and_may_abort() -> None:
    fenced = Facts().but(epochs=Table.of({9: 1, 0: 1}))
    commits, writes = "fenced producer cannot commit", "fenced producer cannot write"
    assert breaks(commits, fenced, COMMITS).endswith("after a newer producer was given epoch 1")
    assert breaks(commits, fenced, ABORTS) == ""
    assert breaks(commits, fenced, decision(committed=True, epoch=1)) == ""
    assert breaks(commits, Facts(), COMMITS) == ""
    for pid in (0, 9):
        assert "after a newer producer" in breaks(writes, fenced, output(100, pid=pid))
        assert breaks(writes, fenced, output(100, pid=pid, epoch=1)) == ""
        assert breaks(writes, fenced, marker("ABORT", pid=pid, epoch=0)) == ""
    nobody = Facts().but(epochs=Table.of({-1: 1}))
    assert breaks(writes, nobody, output(100, pid=-1, epoch=0)) == ""


# -- all invariants in one pass --------------------------------------------------------------------------


def facts_after(facts: Facts, *events: Event, where: Any = WORLD) -> Facts:
    return INVARIANTS[0].observe(facts, None, Outcome(where, events))


def test_an_event_that_nobody_looks_at_hides_none_behind_it() -> None:
    broken = facts_after(Facts(), COMMITS, TimePassed(5), ABORTS).broken
    assert tuple(broken) == ("one outcome",)


def test_an_invariant_that_is_broken_hides_none_behind_it() -> None:
    fenced = Facts().but(epochs=Table.of({9: 1}), broken=Table.of({"committed stays": "so"}))
    assert tuple(facts_after(fenced, COMMITS).broken) == (
        "committed stays",
        "fenced producer cannot commit",
    )


def test_one_step_is_told_anew_to_each_run_that_takes_it() -> None:
    """Two runs that share a step's outcome differ in what came before it."""
    fenced, outcome = Facts().but(epochs=Table.of({9: 1})), Outcome(WORLD, (COMMITS,))
    for facts, broken in ((Facts(), 0), (fenced, 1), (Facts(), 0)):
        assert len(INVARIANTS[0].observe(facts, None, outcome).broken) == broken
    for events, broken in (((ABORTS,), 0), ((COMMITS,), 1)):
        assert len(INVARIANTS[0].observe(fenced, None, Outcome(WORLD, events)).broken) == broken
