"""What a share coordinator makes of its log, batch by batch: transactional acknowledgements of several producers and share-partitions."""

from __future__ import annotations

import pytest

from kipviz.brokers.context import NOT_ASKED
from kipviz.brokers.logs.partition_log import append, replicate
from kipviz.brokers.share_coordinators import share_coordinator as sc
from kipviz.brokers.share_coordinators.share_state import (
    ShareCoordinator,
    TransactionalAcknowledgement,
)
from kipviz.designs.catalogue import design
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.events import ShareStateReset
from kipviz.messages.shares.share_state import InitializeShareGroupState, InitializeStateData
from kipviz.records.batches import ABORT, COMMIT, Batch
from kipviz.records.share_group_state import (
    RecordState,
    ShareSnapshotRecord,
    ShareStagedRecord,
    ShareTombstone,
    ShareUpdateRecord,
    StagedBatch,
    StateBatch,
)
from tests.brokers.share_coordinators.test_share_coordinator import (
    HERE,
    KEY,
    answer_enlistment,
    initialised_desk,
    read,
    stage,
)

RULES = design("repaired").broker_rules()
FORGETS = design("repaired+reset_while_pending=fences_the_acknowledgement").broker_rules()
OTHER = KEY.replace("g1:", "g2:")
AVL, ACK, ARCHIVING, ARCH = (
    RecordState.AVAILABLE,
    RecordState.ACKNOWLEDGED,
    RecordState.ARCHIVING,
    RecordState.ARCHIVED,
)
ACCEPT, REJECT = 1, 3
PID, ELSE = 9, 8


def plain(*records):
    return Batch(0, records)


def snapshot(key=KEY, state_epoch=2, leader_epoch=0, start=0, batches=()):
    return ShareSnapshotRecord(key, 0, state_epoch, leader_epoch, start, 0, batches)


def acknowledgement(key=KEY, pid=PID, epoch=0, kind=ACCEPT, start=-1, **more):
    record = ShareStagedRecord(key, (StagedBatch(0, 4, kind, 1),), start, **more)
    return Batch(0, (record,), pid, epoch, transactional=True)


def marker(pid=PID, epoch=1, control=COMMIT):
    """Write a marker as transaction version 2 does: one epoch above the data."""
    return Batch(0, (), pid, epoch, transactional=True, control=control)


def replay_all(*batches, me=None, rules=RULES):
    me = me or ShareCoordinator(HERE)
    for batch in batches:
        me = sc.replay(me, batch, rules)
    return me


def producers(me):
    """Who has transactional acknowledgements pending, and in which share-partitions."""
    return {
        pid: [each.key for each in acknowledgements]
        for pid, acknowledgements in me.acknowledgements.items()
    }


STAGED = (
    plain(snapshot(), snapshot(OTHER)),
    acknowledgement(),
    acknowledgement(OTHER),
    acknowledgement(OTHER, ELSE),
)


def test_a_state_that_is_made_anew_forgets_its_own_transactional_acknowledgements_and_no_other_share_partition_s():
    anew, other = plain(snapshot(state_epoch=3)), plain(snapshot(OTHER, state_epoch=3))
    assert producers(replay_all(*STAGED, rules=FORGETS)) == {PID: [KEY, OTHER], ELSE: [OTHER]}
    assert producers(replay_all(*STAGED, anew, rules=FORGETS)) == {PID: [OTHER], ELSE: [OTHER]}
    assert producers(replay_all(*STAGED, other, rules=FORGETS)) == {PID: [KEY]}
    assert producers(replay_all(*STAGED, other)) == {PID: [KEY, OTHER], ELSE: [OTHER]}


def test_a_snapshot_of_the_same_state_keeps_its_transactional_acknowledgements_and_a_tombstone_takes_them_along():
    same = replay_all(*STAGED, plain(snapshot()), rules=FORGETS)
    assert producers(same) == {PID: [KEY, OTHER], ELSE: [OTHER]}
    gone = replay_all(*STAGED, plain(ShareTombstone(OTHER)), rules=FORGETS)
    assert producers(gone) == {PID: [KEY]}
    assert set(gone.states.keys()) == {KEY}


def test_a_state_that_is_made_anew_fences_the_leaders_that_the_old_one_had_heard_of():
    before = replay_all(plain(snapshot(leader_epoch=7)))
    assert replay_all(plain(snapshot(state_epoch=3)), me=before).states[KEY].fenced_below == 7
    same = replay_all(plain(snapshot(state_epoch=3, leader_epoch=7)), me=before)
    assert same.states[KEY].fenced_below == 0
    assert replay_all(plain(snapshot(leader_epoch=7))).states[KEY].fenced_below == 0


def test_a_transactional_acknowledgement_moves_the_start_offset_on_and_never_back_and_waits_without_a_state():
    there = (StateBatch(0, 9, AVL, 1),)
    known = replay_all(plain(snapshot(start=3, batches=there)))
    assert replay_all(acknowledgement(start=5), me=known).states[KEY].start_offset == 5
    assert replay_all(acknowledgement(start=5), me=known).states[KEY].batches == (
        StateBatch(5, 9, AVL, 1),
    )
    for start in (-1, 2, 3):
        assert replay_all(acknowledgement(start=start), me=known).states[KEY] == known.states[KEY]
    alone = replay_all(acknowledgement(start=5))
    assert (set(alone.states.keys()), producers(alone)) == (set(), {PID: [KEY]})


@pytest.mark.parametrize(
    ("control", "kind", "archiving", "becomes"),
    [
        (COMMIT, ACCEPT, False, ACK),
        (COMMIT, ACCEPT, True, ACK),
        (COMMIT, REJECT, False, ARCH),
        (COMMIT, REJECT, True, ARCHIVING),
        (ABORT, ACCEPT, False, AVL),
        (ABORT, REJECT, True, AVL),
    ],
)
def test_a_marker_makes_of_a_transactional_acknowledgement_what_it_says(
    control, kind, archiving, becomes
):
    done = replay_all(
        plain(snapshot()), acknowledgement(kind=kind, archiving=archiving), marker(control=control)
    )
    assert done.states[KEY].batches == (StateBatch(0, 4, becomes, 1),)
    assert not done.acknowledgements


def test_a_marker_decides_what_its_epoch_fits_and_leaves_the_other_transactional_acknowledgements_of_its_producer():
    later = replay_all(
        plain(snapshot(), snapshot(OTHER)), acknowledgement(), acknowledgement(OTHER, epoch=5)
    )
    done = replay_all(marker(), me=later)
    assert done.acknowledgements[PID] == (
        TransactionalAcknowledgement(OTHER, 5, (StagedBatch(0, 4, ACCEPT, 1),)),
    )
    assert done.states[KEY].batches == (StateBatch(0, 4, ACK, 1),)
    assert done.states[OTHER].batches == ()


def test_a_marker_of_another_producer_and_one_without_transactional_acknowledgements_change_nothing():
    before = replay_all(*STAGED)
    assert replay_all(marker(pid=77), me=before) == before
    assert producers(replay_all(marker(pid=ELSE), me=before)) == {PID: [KEY, OTHER]}


def test_a_marker_goes_over_transactional_acknowledgements_of_a_state_that_is_gone():
    done = replay_all(plain(snapshot()), acknowledgement(OTHER), acknowledgement(), marker())
    assert set(done.states.keys()) == {KEY}
    assert done.states[KEY].batches == (StateBatch(0, 4, ACK, 1),)
    assert not done.acknowledgements


def test_an_update_before_its_snapshot_begins_a_state_of_its_own():
    found = replay_all(plain(ShareUpdateRecord(KEY, 4, 6, 2, 1, (StateBatch(2, 3, ACK, 1),))))
    state = found.states[KEY]
    assert (state.state_epoch, state.start_offset, state.leader_epoch) == (-1, 2, 6)
    again = replay_all(plain(ShareUpdateRecord(KEY, 4, 6, 1, 1)), me=found).states[KEY]
    assert (again.start_offset, again.updates) == (2, 2)


def test_a_binary_without_kip_1289_goes_over_the_records_of_transactional_acknowledgements():
    role = ShareCoordinator(HERE, loading=True)
    for name, acknowledgements in (("4.4", {}), ("", {PID: [KEY]})):
        desk = Desk(sc, role, leaders={HERE: 1})
        for number, batch in enumerate((plain(snapshot()), acknowledgement())):
            desk.logs[HERE] = replicate(append(desk.logs[HERE], batch.but(base_offset=number)))
        if name:
            desk.image = {"releases": ((1, name),)}
        desk.do(sc.on_loaded(desk.role, desk.on))
        assert producers(desk.role) == acknowledgements
        assert set(desk.role.states.keys()) == {KEY}


def test_a_state_that_is_made_anew_is_reported_and_a_first_one_only_where_it_says_its_start():
    desk = initialised_desk()

    def resets():
        return [
            (e.state_epoch, e.start_offset) for e in desk.events if isinstance(e, ShareStateReset)
        ]

    def initialise(key, epoch, start):
        request = InitializeShareGroupState((InitializeStateData(key, epoch, start),))
        return desk.ask(sc.on_initialize, request).only.error

    assert initialise(KEY, 3, -1) is Errors.NONE
    assert resets() == [(3, -1)]
    assert initialise(OTHER, 1, -1) is Errors.NONE
    assert resets() == [(3, -1)]
    third = OTHER.replace("g2:", "g3:")
    assert initialise(third, 1, 5) is Errors.NONE
    assert resets() == [(3, -1), (1, 5)]
    assert desk.role.states[KEY].snapshot_epoch == 1
    assert desk.role.states[third].snapshot_epoch == 0


def test_a_read_of_a_state_that_is_not_there_is_refused_and_changes_nothing():
    desk = initialised_desk()
    before = desk.role
    answer = read(desk, key=OTHER)
    assert answer.only.error is not Errors.NONE
    assert (desk.role, desk.written(HERE)) == (before, [snapshot()])


# -- transactional acknowledgements whose transaction is asked for ---------------------------------


def test_a_transactional_acknowledgement_whose_partition_the_transaction_does_not_take_is_refused_and_not_in_the_log():
    desk = initialised_desk()
    stage(desk, (0, 4, ACCEPT, 1), source="B3/persister")
    written = desk.written(HERE)
    answer_enlistment(desk, error=Errors.PRODUCER_FENCED)
    assert desk.last.error is not Errors.NONE
    assert (producers(desk.role), desk.written(HERE)) == ({}, written)


def test_a_transactional_acknowledgement_that_still_asks_its_transaction_is_told_when_the_coordinator_resigns():
    desk = initialised_desk()
    stage(desk, (0, 4, ACCEPT, 1), source="B3/persister")
    left = sc.on_resigned(desk.role, desk.on)
    assert [reply.message.error for reply in left.replies] == [Errors.NOT_COORDINATOR]


def test_a_coordinator_that_is_behind_its_log_writes_the_transactional_acknowledgement_and_reads_its_log_again():
    desk = initialised_desk()
    stage(desk, (0, 4, ACCEPT, 1), source="B3/persister")
    desk.role = desk.role.but(behind=True)
    answer_enlistment(desk)
    assert desk.last.error is Errors.NOT_COORDINATOR
    assert desk.role == ShareCoordinator(HERE, loading=True)
    assert isinstance(desk.written(HERE)[-1], ShareStagedRecord)


def test_a_record_that_nobody_has_asked_for_leaves_nobody_waiting():
    desk = initialised_desk()
    done = sc.write(desk.role, snapshot(), None, None, desk.on)
    assert (done.state.waiting, len(done.appends)) == ((), 1)


def test_what_is_staged_in_the_state_itself_is_resolved_only_where_the_coordinator_does_it():
    staged = StateBatch(0, 4, RecordState.TX_PENDING, 1, PID, 0, ACCEPT)
    before = replay_all(plain(snapshot(batches=(staged,))))
    resolves, leaves = (
        RULES.but(pending_resolver=lambda does=does: does) for does in (True, False)
    )
    assert replay_all(marker(), me=before, rules=leaves).states[KEY].batches == (staged,)
    (done,) = replay_all(marker(), me=before, rules=resolves).states[KEY].batches
    assert (done.first, done.last, done.state) == (0, 4, ACK)


def test_a_transactional_acknowledgement_of_a_transaction_that_has_no_participant_here_asks_nobody():
    desk = initialised_desk()
    desk.rules = desk.rules.but(participant=lambda *_: ())
    stage(desk, (0, 4, ACCEPT, 1), source="B3/persister")
    assert desk.requests == []
    assert producers(desk.role) == {PID: [KEY]}


def test_a_transactional_acknowledgement_whose_participant_is_another_partition_asks_although_its_own_log_is_in_the_transaction():
    desk = initialised_desk()
    stage(desk, (0, 4, ACCEPT, 1), source="B3/persister")
    answer_enlistment(desk)
    asked = len(desk.requests)
    stage(desk, (5, 9, ACCEPT, 1), source="B3/persister")
    assert len(desk.requests) == asked  # it is in the transaction already
    desk.rules = desk.rules.but(participant=lambda *_: ("another group",))
    stage(desk, (10, 14, ACCEPT, 1), source="B3/persister")
    assert len(desk.requests) == asked + 1


def test_where_the_client_adds_the_participant_itself_a_transactional_acknowledgement_asks_nobody():
    desk = initialised_desk()
    desk.rules = desk.rules.but(enlistment=lambda *_: NOT_ASKED)
    stage(desk, (0, 4, ACCEPT, 1), source="B3/persister")
    assert desk.requests == []
    assert desk.last.error is not Errors.NONE or producers(desk.role) == {PID: [KEY]}
