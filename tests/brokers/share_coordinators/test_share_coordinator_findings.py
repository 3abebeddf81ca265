"""What the share coordinator does where the KIP-1289 review finds the text wanting."""

from __future__ import annotations

from kipviz.brokers.share_coordinators import share_coordinator as sc
from kipviz.designs.catalogue import design
from kipviz.messages.errors import Errors
from kipviz.records.share_group_state import RecordState
from tests.brokers.share_coordinators.test_share_coordinator import (
    ACCEPT,
    ACK,
    KEY,
    REJECT,
    answer_enlistment,
    batch,
    initialised_desk,
    mark,
    read,
    stage,
    write,
)


def store_acknowledgement(name: str, kind: int = ACCEPT):
    """A desk under a design whose log holds one transactional acknowledgement, for offset 100."""
    desk = initialised_desk()
    desk.rules = design(name).broker_rules()
    stage(desk, (100, 100, kind, 1))
    answer_enlistment(desk)
    return desk


def test_a_marker_behind_its_back_is_in_the_log_and_resolves_no_transactional_acknowledgement() -> (
    None
):
    desk = store_acknowledgement("finding-X3")
    mark(desk)
    assert desk.role.behind
    assert desk.logs[desk.role.shard].batches[-1].control == "COMMIT"
    assert read(desk).only.pending


def test_the_next_write_finds_it_out_of_step_and_it_reads_its_log_again() -> None:
    desk = store_acknowledgement("finding-X3")
    mark(desk)
    answer = write(desk, batch(105, 105))
    assert answer.only.error is Errors.NOT_COORDINATOR
    assert desk.role == sc.ShareCoordinator(desk.role.shard, loading=True)
    assert read(desk).only.error is Errors.COORDINATOR_LOAD_IN_PROGRESS
    desk.do(sc.on_loaded(desk.role, desk.on))
    again = read(desk).only
    assert again.pending == ()
    assert batch(100, 100, ACK) in again.batches
    assert batch(105, 105) in again.batches  # told NOT_COORDINATOR, and in the log all the same


def test_a_marker_through_the_coordinator_keeps_it_in_step() -> None:
    desk = store_acknowledgement("repaired")
    mark(desk)
    assert not desk.role.behind
    assert write(desk, batch(105, 105)).only.error is Errors.NONE


def test_a_marker_may_be_answered_before_the_replicas_have_it() -> None:
    for name, answered in (("repaired", 0), ("finding-H", 1)):
        desk = store_acknowledgement(name)
        desk.instant = False
        before = len(desk.local)
        mark(desk)
        assert len(desk.local) - before == answered
        desk.replicate()
        assert len(desk.local) - before == 1


def test_an_outcome_that_is_joined_loses_against_the_transactional_acknowledgement() -> None:
    desk = store_acknowledgement("finding-X15")
    mark(desk)
    (stored,) = desk.role.states[KEY].batches
    assert stored.state is RecordState.TX_PENDING


def test_a_commit_may_acknowledge_what_was_rejected() -> None:
    for name, state in (("repaired", RecordState.ARCHIVED), ("finding-G", ACK)):
        desk = store_acknowledgement(name, REJECT)
        mark(desk)
        assert desk.role.states[KEY].batches[0].state is state
