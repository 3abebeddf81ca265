"""Exactly once, over hand-made histories: every way to break it, and every way not to."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest

from kipviz.brokers.logs.partition_log import PartitionLog, append, replicate
from kipviz.core.model import Event
from kipviz.core.table import Table
from kipviz.core.values import fingerprint
from kipviz.messages.cluster.features import Features
from kipviz.messages.events import (
    BatchAppended,
    LeaderMoved,
    LogPruned,
    OffsetCommitted,
    TopicRemade,
)
from kipviz.properties.atomic import Atomic
from kipviz.properties.verdict import BROKEN, HOLDS
from kipviz.records.batches import ABORT, Batch, DataRecord
from kipviz.records.share_group_state import RecordState
from tests.properties.history import (
    WORLD,
    decision,
    drop_event,
    durable,
    findings,
    load_event,
    marker,
    moves,
    output,
    resolution,
    staging,
    states,
)

AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED
PENDING, ACKNOWLEDGED = RecordState.TX_PENDING, RecordState.ACKNOWLEDGED
ARCHIVED = RecordState.ARCHIVED
COMMITS, ABORTS = decision(committed=True), decision(committed=False)
SENT = (moves(ACQUIRED), output(100), moves(PENDING))

PRUNED = LogPruned("src-0", 100, 101)
HOLDING: dict[str, tuple[Event, ...]] = {
    "nothing happens": (),
    "the flow of the KIP, committed": (
        *SENT,
        COMMITS,
        marker("COMMIT"),
        durable(ACKNOWLEDGED),
        moves(ACKNOWLEDGED),
    ),
    "aborted, delivered again, committed": (
        *SENT,
        ABORTS,
        marker("ABORT"),
        moves(AVAILABLE),
        moves(ACQUIRED),
        output(100, epoch=1),
        moves(PENDING),
        decision(committed=True, epoch=1),
        durable(ACKNOWLEDGED),
    ),
    "the markers come long after the decision": (
        *SENT,
        COMMITS,
        output(101, epoch=1),
        decision(committed=False, epoch=1),
        marker("COMMIT"),
        moves(ACKNOWLEDGED),
    ),
    "a new leader holds the transactional acknowledgement": (
        *SENT,
        drop_event(),
        COMMITS,
        load_event(100),
    ),
    "a new leader holds the transactional acknowledgement before the decision": (
        *SENT,
        drop_event(),
        load_event(100),
        COMMITS,
    ),
    "a lock ran out in a memory that is gone, and the new leader holds the transactional acknowledgement": (
        *SENT,
        moves(AVAILABLE),
        drop_event(),
        load_event(100),
        COMMITS,
    ),
    "a new leader starts behind the record": (*SENT, COMMITS, load_event(start=101)),
    "another partition is loaded": (*SENT, COMMITS, load_event(partition="src-1")),
    "a leader without the transactional acknowledgement, but the transaction aborts": (
        *SENT,
        drop_event(),
        load_event(),
        ABORTS,
    ),
    "a lock that runs out before the transaction aborts": (*SENT, moves(AVAILABLE), ABORTS),
    "a lock that runs out and another owner who commits": (
        moves(ACQUIRED),
        output(100),
        moves(AVAILABLE),
        moves(ACQUIRED),
        output(100, pid=10),
        moves(PENDING),
        decision(committed=True, pid=10),
        decision(committed=False),
    ),
    "a record that is rejected and has no output": (moves(ACQUIRED), durable(ARCHIVED)),
    "a snapshot of what is acknowledged": (
        *SENT,
        COMMITS,
        durable(ACKNOWLEDGED),
        durable(ACKNOWLEDGED, snapshot=True),
    ),
    "a record that only is available in the log": (durable(AVAILABLE), durable(ACQUIRED)),
    "outputs without a transaction stand for nothing": (output(100, pid=-1), output(100, pid=-1)),
    "a decision about nothing": (COMMITS, ABORTS),
    "a group reads on with its outputs": (
        output(100, 101),
        staging(102),
        COMMITS,
        resolution(102),
        output(102, epoch=1),
        staging(103),
        decision(committed=True, epoch=1),
        resolution(103),
    ),
    "a group's offsets are dropped with the outputs": (
        output(100),
        staging(101),
        ABORTS,
        resolution(101, committed=False),
    ),
}

BREAKING: dict[str, tuple[tuple[Event, ...], str]] = {
    "a group reads past what the log has lost": (
        (LogPruned("src-0", 100, 101), staging(101), resolution(101)),
        (
            "group cg has read past src-0@100, which retention or DeleteRecords took from the log before "
            "an output of it was committed: it can no longer be read, and no transaction lost it"
        ),
    ),
    "a group reads past what the log has, and what it has lost comes later": (
        (LogPruned("src-1", 100, 101), staging(101), resolution(101)),
        "group cg has read past src-0@100, but no output of it is committed: it is lost",
    ),
    "a second output is committed": (
        (*SENT, COMMITS, output(100, pid=10), decision(committed=True, pid=10)),
        "src-0@100 has 2 committed outputs: it is duplicated",
    ),
    "two outputs in one transaction are committed": (
        (moves(ACQUIRED), output(100), output(100), moves(PENDING), COMMITS),
        "src-0@100 has 2 committed outputs: it is duplicated",
    ),
    "two outputs in one batch are committed": (
        (output(100, 100), COMMITS),
        "src-0@100 has 2 committed outputs: it is duplicated",
    ),
    "acknowledged for good before the decision": (
        (*SENT, durable(ACKNOWLEDGED)),
        "src-0@100 is acknowledged, but none of its outputs is committed: it is lost",
    ),
    "acknowledged for good after an abort": (
        (*SENT, ABORTS, durable(ACKNOWLEDGED)),
        "src-0@100 is acknowledged, but none of its outputs is committed: it is lost",
    ),
    "one too many is acknowledged": (
        (*SENT, COMMITS, durable(ACKNOWLEDGED, 100, 101)),
        "src-0@101 is acknowledged, but none of its outputs is committed: it is lost",
    ),
    "a snapshot says that it is acknowledged": (
        (*SENT, durable(ACKNOWLEDGED, snapshot=True)),
        "src-0@100 is acknowledged, but none of its outputs is committed: it is lost",
    ),
    "the lock runs out after the decision": (
        (*SENT, COMMITS, moves(AVAILABLE, because="the acquisition lock expired")),
        (
            "the output of src-0@100 is committed, but the acquisition lock expired and made it "
            "AVAILABLE: it will be delivered again"
        ),
    ),
    "many records are given away after the decision": (
        (output(101), COMMITS, moves(AVAILABLE, 100, 102, "the member left")),
        (
            "the output of src-0@101 is committed, but the member left and made it AVAILABLE: it "
            "will be delivered again"
        ),
    ),
    "an abort that goes back to the holder, after a commit": (
        (*SENT, COMMITS, moves(ACQUIRED, because="a marker came")),
        (
            "the output of src-0@100 is committed, but a marker came and made it ACQUIRED: it will "
            "be delivered again"
        ),
    ),
    "the lock ran out before the decision": (
        (*SENT, moves(AVAILABLE), COMMITS),
        "the output of src-0@100 is committed, but the record is available to be delivered again",
    ),
    "committed without ever being staged": (
        (moves(ACQUIRED), output(100), COMMITS),
        "the output of src-0@100 is committed, but the record is available to be delivered again",
    ),
    "a new leader finds no trace": (
        (*SENT, COMMITS, drop_event(), load_event()),
        (
            "the output of src-0@100 is committed, but the new share-partition leader finds no trace "
            "of its acknowledgement: it will be delivered again"
        ),
    ),
    "a new leader found no trace before the decision": (
        (*SENT, drop_event(), load_event(), COMMITS),
        "the output of src-0@100 is committed, but the record is available to be delivered again",
    ),
    "a new leader holds only the other one": (
        (output(100, 101), moves(PENDING, 100, 101), COMMITS, load_event(101)),
        (
            "the output of src-0@100 is committed, but the new share-partition leader finds no trace "
            "of its acknowledgement: it will be delivered again"
        ),
    ),
    "a group reads past a record without output": (
        (staging(101), COMMITS, resolution(101)),
        "group cg has read past src-0@100, but no output of it is committed: it is lost",
    ),
    "a group reads past the first record with the second one's output": (
        (output(101), staging(102), COMMITS, resolution(102)),
        "group cg has read past src-0@100, but no output of it is committed: it is lost",
    ),
    "a group's offset is committed with an aborted output": (
        (output(100), staging(101), ABORTS, resolution(101)),
        "group cg has read past src-0@100, but no output of it is committed: it is lost",
    ),
    "a group reads on past one without output": (
        (output(100), COMMITS, resolution(101), resolution(102)),
        "group cg has read past src-0@101, but no output of it is committed: it is lost",
    ),
}


@pytest.mark.parametrize("history", HOLDING.values(), ids=HOLDING.keys())
def test_it_holds_all_along(history: tuple[Event, ...]) -> None:
    assert {found.status for found in findings(Atomic(), *history)} == {HOLDS}


@pytest.mark.parametrize(("history", "reason"), BREAKING.values(), ids=BREAKING.keys())
def test_it_breaks_with_the_last_step_and_not_before(
    history: tuple[Event, ...], reason: str
) -> None:
    *before, last = findings(Atomic(), *history)
    assert {found.status for found in before} == {HOLDS}
    assert (last.status, last.reason) == (BROKEN, reason)


@pytest.mark.parametrize(("history", "reason"), BREAKING.values(), ids=BREAKING.keys())
def test_the_same_in_one_step_breaks_as_well(history: tuple[Event, ...], reason: str) -> None:
    assert findings(Atomic(), history)[-1].reason == reason


def test_a_broken_property_stays_broken_and_keeps_its_first_reason() -> None:
    history = (*SENT, durable(ACKNOWLEDGED), COMMITS, moves(AVAILABLE), output(100), COMMITS)
    along = findings(Atomic(), *history)
    assert [found.status for found in along] == [HOLDS] * 4 + [BROKEN] * 5
    assert len({found.reason for found in along[4:]}) == 1


# -- what a search needs: equal situations have equal states --------------------------------------

COMMUTING: dict[str, tuple[Event, ...]] = {
    "outputs of one transaction in two partitions": (
        output(100, to="out-0"),
        output(101, to="out-1"),
    ),
    "outputs of three transactions": (output(100), output(101, pid=10), output(102, pid=11)),
    "records of three members": (moves(ACQUIRED, 100), moves(PENDING, 101), moves(ACQUIRED, 102)),
    "decisions of two transactions": (decision(committed=True, pid=10), decision(committed=False)),
    "two groups": (resolution(100), resolution(100, group="other")),
    "a decision and another one's output": (COMMITS, output(101, pid=10)),
}


@pytest.mark.parametrize("events", COMMUTING.values(), ids=COMMUTING.keys())
def test_orders_that_lead_to_the_same_lead_to_one_state(events: tuple[Event, ...]) -> None:
    before = (output(104, pid=10), output(105))
    ends = [states(Atomic(), *before, *order)[-1] for order in itertools.permutations(events)]
    assert len(ends) > 1
    assert {fingerprint(end) for end in ends} == {fingerprint(ends[0])}
    assert all(end == ends[0] for end in ends)


def test_a_finished_transaction_leaves_only_its_committed_outputs() -> None:
    prop = Atomic()
    aborted = states(prop, output(100), ABORTS)[-1]
    assert fingerprint(aborted) == fingerprint(states(prop)[-1])
    committed = states(prop, output(100), COMMITS)[-1]
    assert fingerprint(committed) != fingerprint(aborted)
    assert fingerprint(states(prop, output(100), COMMITS)[-1]) == fingerprint(committed)


def test_a_step_that_says_nothing_to_it_gives_the_very_same_state() -> None:
    first, second = states(Atomic(), staging(101))
    assert second is first


def test_an_output_that_was_on_a_crashed_leader_alone_is_no_output() -> None:
    """A producer sends it again, and the log of the new leader has it once."""
    with_log = SimpleNamespace(
        image=WORLD.image, roles=WORLD.roles, logs=WORLD.logs.set("out-0", PartitionLog("out-0"))
    )
    moved = LeaderMoved("out-0", 3, 1, 1)
    history = (output(100), moved, output(100), moves(PENDING), COMMITS)
    assert [f.status for f in findings(Atomic(), *history, world=with_log)] == [HOLDS] * 6
    kept = append(PartitionLog("out-0"), Batch(0, output(100).records, 9, 0, 0, transactional=True))
    with_log.logs = WORLD.logs.set("out-0", kept)
    assert findings(Atomic(), *history, world=with_log)[-1].status == BROKEN


def test_below_version_2_a_crashed_leader_gives_no_earlier_transactions_outputs_back() -> None:
    """Both transactions have one epoch, and the outputs of the first are committed already."""
    first, second = output(100).records, output(101).records
    log = append(PartitionLog("out-0"), Batch(0, first, 9, 0, 0, transactional=True))
    log = append(log, Batch(1, (), 9, 0, transactional=True, control="COMMIT"))
    log = append(log, Batch(2, second, 9, 0, 1, transactional=True))
    image = SimpleNamespace(**vars(WORLD.image) | {"features": Features(transaction_version=1)})
    world = SimpleNamespace(image=image, roles=WORLD.roles, logs=WORLD.logs.set("out-0", log))
    moved = LeaderMoved("out-0", 3, 1, 1)
    history = (output(100), COMMITS, marker("COMMIT", epoch=0), output(101), moved, COMMITS)
    found = findings(Atomic(), *history, world=world)
    assert [f.status for f in found] == [HOLDS] * 7


def plain(offset: int, at: int = 0) -> Event:
    return BatchAppended("out-0", at, output(offset).records, 9, 0, "", plain=True)


def with_plain(*, replicated: bool) -> SimpleNamespace:
    log = append(PartitionLog("out-0"), Batch(0, output(100).records, 9, 0, 0))
    log = replicate(log) if replicated else log
    return SimpleNamespace(
        image=WORLD.image,
        roles=WORLD.roles,
        logs=WORLD.logs.set("out-0", log),
        applications=Table.of(),
    )


def test_an_output_outside_any_transaction_counts_once_the_replicas_have_it() -> None:
    read = (plain(100), staging(101), resolution(101))
    assert findings(Atomic(), *read, world=with_plain(replicated=True))[-1].status == HOLDS
    only_there = findings(Atomic(), *read, world=with_plain(replicated=False))
    assert only_there[-1].reason.endswith("no output of it is committed: it is lost")


def test_an_output_outside_any_transaction_that_no_log_has_any_more_is_none() -> None:
    gone = SimpleNamespace(
        image=WORLD.image, roles=WORLD.roles, logs=WORLD.logs.set("out-0", PartitionLog("out-0"))
    )
    start, told = states(Atomic(), plain(100), world=gone)
    assert told == start


def test_the_same_record_put_out_twice_without_a_transaction_is_duplicated() -> None:
    twice = findings(Atomic(), plain(100), plain(100), world=with_plain(replicated=True))
    assert twice[-1].reason == "src-0@100 has 2 committed outputs: it is duplicated"


def test_what_was_taken_is_forgotten_with_its_topic_or_once_an_output_is_committed() -> None:
    start = states(Atomic())[-1]
    assert states(Atomic(), PRUNED, TopicRemade("src", "old", "new"))[-1].taken == start.taken
    assert states(Atomic(), output(100), PRUNED, COMMITS)[-1].taken == start.taken
    internal = LogPruned("__share_group_state-7", 100, 101)
    assert states(Atomic(), internal)[-1] == start


def test_a_group_that_reads_past_a_marker_or_an_aborted_record_has_lost_nothing():
    records = (DataRecord("a"),)
    begun = append(
        PartitionLog("src-0", 100, end_offset=100), Batch(100, records, 7, 0, transactional=True)
    )
    mark = Batch(101, (), 7, 1, transactional=True, control=ABORT)
    aborted = append(begun, mark)
    past = OffsetCommitted("cg", "src-0", 102)
    for log, status in ((aborted, HOLDS), (begun, BROKEN)):
        world = SimpleNamespace(**vars(WORLD) | {"logs": Table.of({"src-0": replicate(log)})})
        assert findings(Atomic(), past, world=world)[-1].status == status
