"""Exactly once, clause by clause: for each one a run that only this clause refuses, and a neighbour that it accepts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from kipviz.brokers.logs.partition_log import PartitionLog, append, replicate
from kipviz.core.model import Event
from kipviz.core.table import Table
from kipviz.messages.cluster.features import Features
from kipviz.messages.events import (
    BatchAppended,
    LeaderMoved,
    LogPruned,
    OffsetCommitted,
    ShareStateReset,
    TopicDeleted,
    TopicRemade,
)
from kipviz.properties.atomic import Atomic
from kipviz.properties.harm import Harm
from kipviz.properties.verdict import BROKEN, HOLDS, Finding
from kipviz.records.batches import ABORT, Batch, DataRecord
from kipviz.records.share_group_state import RecordState, ShareUpdateRecord, StateBatch
from tests.properties.history import (
    KEY,
    WORLD,
    completion,
    decision,
    durable,
    findings,
    load_event,
    marker,
    moves,
    output,
    resolution,
    states,
    states_from,
    with_log,
    world,
)

COMMITS, ABORTS = decision(committed=True), decision(committed=False)
AVAILABLE, ACKNOWLEDGED = RecordState.AVAILABLE, RecordState.ACKNOWLEDGED
TWICE = "src-0@100 has 2 committed outputs: it is duplicated"
FREE = "the output of src-0@100 is committed, but the record is available to be delivered again"
UNTRACED = (
    "the output of src-0@100 is committed, but the new share-partition leader finds no trace of its "
    "acknowledgement: it will be delivered again"
)
AGAIN = (
    "the output of src-0@100 is committed, but it was so and made it AVAILABLE: it will be "
    "delivered again"
)
READ = "group cg has read past src-0@100, but no output of it is committed: it is lost"
LOST = "src-0@100 is acknowledged, but none of its outputs is committed: it is lost"
OWED = "src-0@100 is acknowledged by its transaction, but no output of it is committed: it is lost"
TAKEN = (
    "group cg has read past src-0@100, which retention or DeleteRecords took from the log before "
    "an output of it was committed: it can no longer be read, and no transaction lost it"
)

COSTS = {
    "it is duplicated": Harm.DUPLICATE,
    "it is lost": Harm.LOSS,
    "be delivered again": Harm.AGAIN,
    "no transaction lost it": None,
}


def cost_of(reason: str) -> Harm | None:
    (cost,) = (harm for end, harm in COSTS.items() if reason.endswith(end))
    return cost


def version(level: int) -> SimpleNamespace:
    image = SimpleNamespace(**vars(WORLD.image) | {"features": Features(transaction_version=level)})
    return world(image=image)


def reset(start: int, topic_id: str = "SRC-ID", index: int = 0) -> Event:
    return ShareStateReset(f"g1:{topic_id}:{index}", 2, start)


def prune_event(before: int, after: int, partition: str = "src-0") -> Event:
    return LogPruned(partition, before, after)


DONE = (output(100), COMMITS)


class Clause(NamedTuple):
    """A run that the property refuses with its last step, and one like it that keeps it."""

    refused: tuple[Event, ...]
    reason: str
    kept: tuple[Event, ...]
    world: Any = WORLD


OTHERS_ABORT, OTHERS_COMMIT = (decision(committed=c, pid=10) for c in (False, True))
# The output of another producer's transaction is not in the log of the new leader.
EMPTY = with_log(PartitionLog("out-0"))
CUT_OFF = (output(100, pid=10), LeaderMoved("out-0", 3, 1, 1), completion())
OWED_FIRST = (output(100, pid=10), completion(), LeaderMoved("out-0", 3, 1, 1))
CUT_ELSEWHERE = (output(100), output(101, to="out-1"), LeaderMoved("out-0", 3, 1, 1))
LATE = (*DONE, output(100))  # a batch of an epoch that is decided already
CLAUSES = {
    "below version 2 the producer's next marker commits what came late": Clause(
        (*LATE, marker("COMMIT")), TWICE, (*LATE, marker("ABORT")), version(1)
    ),
    "version 0 is below version 2": Clause(
        (*LATE, marker("COMMIT")), TWICE, (*LATE, marker("COMMIT", pid=10)), version(0)
    ),
    "a marker ends only what is in its own partition": Clause(
        (*LATE, marker("COMMIT")), TWICE, (*LATE, marker("COMMIT", to="out-1")), version(1)
    ),
    "a marker ends only what has an older epoch": Clause(
        (*LATE, marker("COMMIT", epoch=1)), TWICE, (*LATE, marker("COMMIT", epoch=0)), version(1)
    ),
    "a marker that is written by hand takes its partition's outputs out of the transaction": Clause(
        (output(100), output(100, to="out-1"), marker("ABORT", epoch=0, to="out-2"), COMMITS),
        TWICE,
        (output(100), output(100, to="out-1"), marker("ABORT", epoch=0, to="out-1"), COMMITS),
    ),
    "a batch of data ends nothing, below version 2 either": Clause(
        (output(100), output(101, epoch=1), ABORTS, resolution(101)),
        READ,
        (output(100), output(101, epoch=1), COMMITS, resolution(101)),
        version(1),
    ),
    "what a marker has committed is not committed by the next one again": Clause(
        (output(100), marker("COMMIT"), output(100), marker("COMMIT")),
        TWICE,
        (output(100), marker("COMMIT"), marker("COMMIT")),
        version(1),
    ),
    "only an ABORT marker takes outputs out of a transaction": Clause(
        (*DONE, output(100, epoch=1), marker("COMMIT"), decision(committed=True, epoch=1)),
        TWICE,
        (*DONE, output(100, epoch=1), marker("ABORT"), decision(committed=True, epoch=1)),
    ),
    "a transaction is decided by producer and epoch": Clause(
        (*DONE, output(100, epoch=1), decision(committed=True, epoch=1)),
        TWICE,
        (*DONE, output(100, epoch=1), decision(committed=True, pid=10, epoch=1)),
    ),
    "producer id 0 is a producer": Clause(
        (*DONE, output(100, pid=0), decision(committed=True, pid=0)),
        TWICE,
        (*DONE, output(100, pid=-1), decision(committed=True, pid=-1)),
    ),
    "what a reset gives back may be delivered again, and nothing before it": Clause(
        (*DONE, reset(101), moves(AVAILABLE)), AGAIN, (*DONE, reset(100), moves(AVAILABLE))
    ),
    "a reset of another partition gives nothing back": Clause(
        (*DONE, reset(100, index=1), moves(AVAILABLE)),
        AGAIN,
        (*DONE, reset(0), moves(AVAILABLE)),
    ),
    "a reset of another topic gives nothing back": Clause(
        (*DONE, reset(100, "OTHER-ID"), moves(AVAILABLE)),
        AGAIN,
        (*DONE, reset(-1), moves(AVAILABLE)),
    ),
    "a transaction that commits after a reset counts": Clause(
        (output(100), reset(100), moves(AVAILABLE), COMMITS),
        FREE,
        (output(100), reset(100), moves(AVAILABLE), ABORTS),
    ),
    "a topic that was made again has other records": Clause(
        (*DONE, TopicRemade("other", "a", "b"), moves(AVAILABLE)),
        AGAIN,
        (*DONE, TopicRemade("src", "SRC-ID", "b"), moves(AVAILABLE)),
    ),
    "a topic that was deleted has no records": Clause(
        (*DONE, TopicDeleted("other", "a"), moves(AVAILABLE)),
        AGAIN,
        (*DONE, TopicDeleted("src", "SRC-ID"), moves(AVAILABLE)),
    ),
    "an open transaction's output of a topic that is gone is of no record": Clause(
        (
            *DONE,
            output(100, epoch=1),
            TopicDeleted("other", "a"),
            decision(committed=True, epoch=1),
        ),
        TWICE,
        (
            output(100, epoch=1),
            TopicDeleted("src", "a"),
            decision(committed=True, epoch=1),
            *DONE,
        ),
    ),
    "a topic that was made again is read from its beginning": Clause(
        (*DONE, resolution(101), resolution(101), TopicRemade("src", "a", "b"), resolution(1)),
        READ.replace("@100", "@0"),
        (*DONE, resolution(101), TopicRemade("other", "a", "b"), resolution(101)),
    ),
    "a group that had read a topic reads its successor from the beginning": Clause(
        (TopicRemade("src", "a", "b"), resolution(1)),
        READ.replace("@100", "@0"),
        (TopicRemade("src", "a", "b"), resolution(0)),
    ),
    "an offset that is committed without a transaction counts": Clause(
        (OffsetCommitted("cg", "src-0", 101),),
        READ,
        (OffsetCommitted("cg", "src-0", 100),),
    ),
    "an offset that goes back reads nothing, and what follows is read again": Clause(
        (*DONE, resolution(101), resolution(100), resolution(102)),
        READ.replace("@100", "@101"),
        (*DONE, resolution(101), resolution(100), resolution(101)),
    ),
    "a log whose beginning nobody knows begins at 0": Clause(
        (OffsetCommitted("cg", "src-9", 1),),
        READ.replace("src-0@100", "src-9@0"),
        (OffsetCommitted("cg", "src-9", 0),),
    ),
    "what a group has read is not read by it again": Clause(
        (*DONE, reset(100), resolution(101)),
        READ,
        (*DONE, resolution(101), reset(100), resolution(101)),
    ),
    "another topic's end leaves what a group has read": Clause(
        (*DONE, resolution(101), reset(100), TopicDeleted("src", "a"), resolution(1)),
        READ.replace("@100", "@0"),
        (*DONE, resolution(101), reset(100), TopicDeleted("other", "a"), resolution(101)),
    ),
    "a record whose output was committed is not taken by retention": Clause(
        (*DONE, prune_event(100, 101), reset(100), resolution(101)),
        READ,
        (*DONE, prune_event(100, 101), resolution(101)),
    ),
    "each group reads for itself": Clause(
        (*DONE, resolution(101), output(102), resolution(102, group="other")),
        READ.replace("cg", "other").replace("@100", "@101"),
        (*DONE, resolution(101), resolution(101, group="other")),
    ),
    "what retention took is of no transaction": Clause(
        (prune_event(100, 102), resolution(101)),
        TAKEN,
        (*DONE, prune_event(100, 102), resolution(101)),
    ),
    "retention takes what lies between its two offsets": Clause(
        (prune_event(101, 102), resolution(101)), READ, (prune_event(101, 102), resolution(100))
    ),
    "what is below retention's end only is taken": Clause(
        (prune_event(90, 100), resolution(101)), READ, (prune_event(90, 100), resolution(100))
    ),
    "what was taken from an internal topic is nobody's record": Clause(
        (prune_event(100, 101, "__consumer_offsets-0"), resolution(101)),
        READ,
        (prune_event(100, 101, "__consumer_offsets-0"), resolution(100)),
    ),
    "a new topic has lost nothing to the old one's retention": Clause(
        (prune_event(0, 1), TopicRemade("src", "a", "b"), resolution(1)),
        READ.replace("@100", "@0"),
        (prune_event(0, 1), TopicRemade("src", "a", "b"), resolution(0)),
    ),
    "another topic's end forgets nothing that was taken": Clause(
        (prune_event(100, 101), TopicRemade("other", "a", "b"), resolution(101)),
        TAKEN,
        (*DONE, prune_event(100, 101), TopicRemade("other", "a", "b"), resolution(101)),
    ),
    "a batch of states is acknowledged record by record": Clause(
        (*DONE, durable(ACKNOWLEDGED, 99, 100)),
        LOST.replace("@100", "@99"),
        (*DONE, durable(ACKNOWLEDGED, 100, 100)),
    ),
    "a transaction's acknowledgement needs a committed output": Clause(
        (completion(),), OWED, (*DONE, completion())
    ),
    "each record that a transaction acknowledges needs one": Clause(
        (*DONE, completion(100, 101)), OWED.replace("@100", "@101"), (*DONE, completion(100, 100))
    ),
    "only what was staged is acknowledged by a transaction": Clause(
        (completion(before=RecordState.TX_PENDING),),
        OWED,
        (completion(before=RecordState.ACQUIRED),),
    ),
    "a record that was available is acknowledged by no transaction": Clause(
        (completion(before=RecordState.TX_PENDING),),
        OWED,
        (completion(before=AVAILABLE), completion(after=RecordState.ARCHIVED)),
    ),
    "what is being archived is not acknowledged": Clause(
        (completion(),), OWED, (completion(after=RecordState.ARCHIVING),)
    ),
    "the output may still be open in another producer's transaction, which has to commit": Clause(
        (output(100, pid=10), completion(), decision(committed=False, pid=10)),
        OWED,
        (output(100, pid=10), completion(), decision(committed=True, pid=10)),
    ),
    "an open output of another record is none of this one": Clause(
        (output(101, pid=10), completion()), OWED, (output(101, 100, pid=10), completion())
    ),
    "another transaction's decision leaves open what is owed": Clause(
        (output(100, pid=10), completion(), COMMITS, decision(committed=False, pid=10)),
        OWED,
        (output(100, pid=10), completion(), COMMITS, ABORTS, decision(committed=True, pid=10)),
    ),
    "what was owed and is committed is owed no longer": Clause(
        (output(100, pid=10), completion(), reset(100), decision(committed=False, pid=10)),
        OWED,
        (output(100, pid=10), completion(), decision(committed=True, pid=10), reset(100), COMMITS),
    ),
    "the duplicate comes first where one decision leaves another record without an output": Clause(
        (*DONE, output(100, 101, pid=10), completion(101), decision(committed=True, pid=10)),
        TWICE,
        (*DONE, output(101, pid=10), completion(101), decision(committed=True, pid=10)),
    ),
    "an output that a new leader lacks may be sent again until its transaction is decided": Clause(
        (*CUT_OFF, COMMITS, decision(committed=True, pid=10)),
        OWED,
        (*CUT_OFF, COMMITS, output(100, pid=10), ABORTS, decision(committed=True, pid=10)),
        EMPTY,
    ),
    "what was owed when a new leader lacked its output is owed still": Clause(
        (*OWED_FIRST, COMMITS, decision(committed=False, pid=10)),
        OWED,
        (*OWED_FIRST, COMMITS, output(100, pid=10), decision(committed=True, pid=10)),
        EMPTY,
    ),
    "only what the new leader lacks is sent again": Clause(
        (output(101, pid=10), LeaderMoved("out-0", 3, 1, 1), completion()),
        OWED,
        (output(101, 100, pid=10), LeaderMoved("out-0", 3, 1, 1), completion()),
        EMPTY,
    ),
    "a marker that is written by hand ends what a new leader of another partition left open": Clause(
        (*CUT_ELSEWHERE, marker("ABORT", epoch=0, to="out-1"), completion(101)),
        OWED.replace("@100", "@101"),
        (*CUT_ELSEWHERE, marker("ABORT", epoch=0, to="out-2"), completion(101)),
        EMPTY,
    ),
    "a record may be free where a new leader of its share-partition does not hold it, and be sent again": Clause(
        (output(100), LeaderMoved("out-0", 3, 1, 1), load_event(start=100), output(100), COMMITS),
        FREE,
        (output(100), LeaderMoved("out-0", 3, 1, 1), load_event(100), output(100), COMMITS),
        EMPTY,
    ),
    "nothing is owed of a topic that is gone": Clause(
        (output(100, pid=10), completion(), TopicDeleted("other", "a"), ABORTS, OTHERS_ABORT),
        OWED,
        (output(100, pid=10), completion(), TopicDeleted("src", "SRC-ID"), OTHERS_ABORT),
    ),
    "what a new leader lacks of a topic that is gone is sent again for no record": Clause(
        (*CUT_OFF[:2], TopicDeleted("src", "SRC-ID"), completion()),
        OWED,
        (*CUT_OFF[:2], TopicDeleted("other", "a"), completion()),
        EMPTY,
    ),
    "a record that was free and is held again may be committed": Clause(
        (moves(AVAILABLE, 100, 101), moves(RecordState.TX_PENDING, 101), *DONE),
        FREE,
        (moves(AVAILABLE, 100, 101), moves(RecordState.TX_PENDING, 100), *DONE),
    ),
    "a new leader holds the record or begins behind it": Clause(
        (*DONE, load_event(101, start=100)), UNTRACED, (*DONE, load_event(101, start=101))
    ),
    "a record in an open transaction is free once a new leader does not hold it": Clause(
        (output(100, 101), load_event(101), COMMITS),
        FREE,
        (output(100, 101), load_event(101), ABORTS),
    ),
    "a new leader of one partition frees nothing of another": Clause(
        (output(100), load_event(), COMMITS),
        FREE,
        (output(100), load_event(partition="src-1"), COMMITS),
    ),
    "what a new leader holds is free no longer": Clause(
        (moves(AVAILABLE, 100, 101), output(100), load_event(101, start=101), COMMITS),
        FREE,
        (moves(AVAILABLE, 100, 101), output(101), load_event(101, start=101), COMMITS),
    ),
}


@pytest.mark.parametrize("clause", CLAUSES.values(), ids=CLAUSES.keys())
def test_the_clause_refuses_the_one_with_its_last_step_and_accepts_the_other(
    clause: Clause,
) -> None:
    *before, last = findings(Atomic(), *clause.refused, world=clause.world)
    assert {found.status for found in before} == {HOLDS}
    assert last == Finding(BROKEN, clause.reason, cost_of(clause.reason))
    kept = findings(Atomic(), *clause.kept, world=clause.world)
    assert {found.status for found in kept} == {HOLDS}


def test_from_version_2_on_a_marker_of_another_epoch_commits_nothing() -> None:
    assert findings(Atomic(), *LATE, marker("COMMIT"), world=version(2))[-1].status == HOLDS


# -- state batches of other kinds, keys and groups ----------------------------------------------


def update(key: str, *batches: StateBatch) -> Event:
    record = ShareUpdateRecord(key, 0, 0, 100, 0, batches)
    return BatchAppended("__share_group_state-7", 1, (record,), -1, -1, "")


def test_only_acknowledged_batches_are_looked_at_wherever_they_stand() -> None:
    archived = StateBatch(100, 101, RecordState.ARCHIVED, 1)
    lost = StateBatch(102, 102, RecordState.ACKNOWLEDGED, 1)
    assert findings(Atomic(), update(KEY, archived))[-1].status == HOLDS
    found = findings(Atomic(), update(KEY, archived, lost))[-1]
    assert found.reason == LOST.replace("@100", "@102")


def test_a_group_id_may_have_colons_and_a_topic_may_be_known_by_its_id_alone() -> None:
    lost = StateBatch(100, 100, RecordState.ACKNOWLEDGED, 1)
    assert findings(Atomic(), update("a:b:SRC-ID:0", lost))[-1].reason == LOST
    unknown = findings(Atomic(), update("g1:T:3", lost))[-1].reason
    assert unknown == LOST.replace("src-0", "T-3")


def test_a_reset_takes_a_group_id_with_colons_apart_as_well() -> None:
    given_back = ShareStateReset("a:b:SRC-ID:0", 2, 100)
    assert findings(Atomic(), *DONE, given_back, moves(AVAILABLE))[-1].status == HOLDS


def test_a_marker_of_the_coordinator_s_own_topic_acknowledges_nothing() -> None:
    state = StateBatch(100, 100, RecordState.ACKNOWLEDGED, 1)
    record = ShareUpdateRecord(KEY, 0, 0, 100, 0, (state,))
    written = BatchAppended("__share_group_state-7", 1, (record,), 9, 0, "COMMIT")
    assert findings(Atomic(), written)[-1].status == HOLDS


# -- outputs without a transaction -----------------------------------------------------------------


def plain(record: int, at: int, to: str = "out-0") -> Event:
    return BatchAppended(to, at, (DataRecord("f", f"src-0@{record}"),), 9, 0, "", plain=True)


def log_of(*records: int, replicated: int) -> PartitionLog:
    log = PartitionLog("out-0")
    for number, record in enumerate(records):
        batch = Batch(number, (DataRecord("f", f"src-0@{record}"),), 9, 0, number)
        log = append(log, batch)
        log = replicate(log) if number < replicated else log
    return log


def test_each_output_outside_a_transaction_counts_when_it_is_replicated_itself() -> None:
    events = (plain(100, 0), plain(100, 1))
    once = findings(Atomic(), *events, world=with_log(log_of(100, 100, replicated=1)))
    assert once[-1].status == HOLDS
    twice = findings(Atomic(), *events, world=with_log(log_of(100, 100, replicated=2)))
    assert twice[-1].reason == TWICE


def test_an_output_outside_a_transaction_is_looked_at_again_until_it_counts() -> None:
    prop = Atomic()
    waiting, there = (with_log(log_of(100, replicated=n)) for n in (0, 1))
    state = states(prop, plain(100, 0), world=waiting)[-1]
    assert list(state.plain) == [("out-0", 0)]
    assert state.committed == Table.of()
    state = states_from(prop, state, resolution(100), world=there)
    assert (state.plain, dict(state.committed.items())) == (Table.of(), {"src-0@100": 1})
    state = states_from(prop, state, resolution(101), world=there)
    assert prop.finding(state).status == HOLDS


def test_an_output_that_waits_does_not_hold_up_another_partition_s() -> None:
    there = log_of(101, replicated=1)
    logs = {"out-0": log_of(100, replicated=0), "out-1": there.but(name="out-1")}
    state = states(
        Atomic(), plain(100, 0), plain(101, 0, "out-1"), world=world(logs=Table.of(logs))
    )[-1]
    assert list(state.plain) == [("out-0", 0)]
    assert dict(state.committed.items()) == {"src-0@101": 1}


def test_a_batch_outside_a_transaction_that_is_made_of_no_record_is_no_output() -> None:
    bare = BatchAppended("out-0", 0, (DataRecord("f"),), 9, 0, "", plain=True)
    assert states(Atomic(), bare)[-1].plain == Table.of()


def test_the_first_reason_stays_when_more_breaks_in_the_same_step() -> None:
    """A step that breaks one thing counts no outputs any more: one reason, the earliest."""
    both = (durable(ACKNOWLEDGED, 105), plain(100, 0), plain(100, 1))
    there = with_log(log_of(100, 100, replicated=2))
    assert findings(Atomic(), both, world=there)[-1].reason == LOST.replace("@100", "@105")
    two = (durable(ACKNOWLEDGED, 105), durable(ACKNOWLEDGED, 106))
    assert findings(Atomic(), two)[-1].reason == LOST.replace("@100", "@105")
    later = (plain(100, 0), plain(100, 1), plain(101, 2), plain(101, 3))
    there = with_log(log_of(100, 100, 101, 101, replicated=4))
    assert findings(Atomic(), later, world=there)[-1].reason == TWICE


def test_a_break_keeps_what_was_known_before_it() -> None:
    """What follows a break in one step is not taken in, and a replicated output is not counted."""
    there = with_log(log_of(100, replicated=1))
    waiting = states(Atomic(), plain(100, 0), world=with_log(log_of(100, replicated=0)))[-1]
    broken = states_from(Atomic(), waiting, durable(ACKNOWLEDGED, 105), world=there)
    assert broken.broken
    assert list(broken.plain) == [("out-0", 0)]
    assert broken.committed == Table.of()


def test_a_reader_passes_over_markers_and_aborted_records_and_over_nothing_else() -> None:
    log = append(PartitionLog("src-1"), Batch(0, (DataRecord("a"),), 9, 0, 0, transactional=True))
    log = append(log, Batch(1, (), 9, 0, control=ABORT, transactional=True))
    log = append(log, Batch(2, (DataRecord("b"),)))
    there = with_log(replicate(log))
    assert findings(Atomic(), OffsetCommitted("cg", "src-1", 2), world=there)[-1].status == HOLDS
    found = findings(Atomic(), OffsetCommitted("cg", "src-1", 3), world=there)[-1]
    assert found.reason == READ.replace("src-0@100", "src-1@2")


def test_a_reader_passes_over_the_marker_of_a_committed_transaction_and_not_over_its_records() -> (
    None
):
    log = append(PartitionLog("src-1"), Batch(0, (DataRecord("a"),), 9, 0, 0, transactional=True))
    log = append(log, Batch(1, (), 9, 0, control="COMMIT", transactional=True))
    there = with_log(replicate(log))
    begun = (BatchAppended("out-0", 0, (DataRecord("f", "src-1@0"),), 10, 0, ""), OTHERS_COMMIT)
    read = OffsetCommitted("cg", "src-1", 2)
    assert findings(Atomic(), *begun, read, world=there)[-1].status == HOLDS
    found = findings(Atomic(), read, world=there)[-1]
    assert found.reason == READ.replace("src-0@100", "src-1@0")
