"""What becomes of a share-partition when the share coordinator refuses a write of it.

Kafka drops it after an acknowledgement or a release that ends in one of four errors
(SharePartitionManager.fencedSharePartitionHandler); a lock that ran out and a copy that was tried are
only told, and the broker's log says that it did not work (releaseAcquisitionLockOnTimeout,
initiateDLQAndArchive).
"""

from __future__ import annotations

import pytest

from kipviz.brokers.local_calls import ApplyMarkerToShares
from kipviz.brokers.share_leaders import share_partition_leader as spl
from kipviz.messages.errors import Errors
from kipviz.messages.events import SharePartitionDropped
from kipviz.messages.shares.share_state import ReadShareGroupStateResponse, ReadStateResult
from tests.brokers.coordinator_answers import enlisted
from tests.brokers.share_leaders.share_place import (
    ACQ,
    ARCH,
    AVL,
    KEY,
    REJECT,
    SharePlace,
    batch_of,
)

FENCED = (Errors.FENCED_LEADER_EPOCH, Errors.FENCED_STATE_EPOCH)
GONE = (*FENCED, Errors.GROUP_ID_NOT_FOUND, Errors.UNKNOWN_TOPIC_OR_PARTITION)


def acknowledging() -> SharePlace:
    place = SharePlace().load()
    place.fetch("M1", 1)
    place.acknowledge("M1", batch_of(0, 0))
    return place


def releasing() -> SharePlace:
    place = SharePlace().load()
    place.fetch("M1", 1)
    place.fetch("M2", 0)
    place.do(spl.on_disconnected(place.role, "M1/consumer", place.on))
    return place


def running_out() -> SharePlace:
    place = SharePlace().load()
    place.fetch("M1", 1)
    place.expire(0)
    return place


def copying() -> SharePlace:
    place = SharePlace(last=1, group={"dead_letter_topic": "dlq.g1"}).load()
    place.fetch("M1", 1)
    place.acknowledge("M1", batch_of(0, 0, REJECT))
    place.coordinator()
    place.answer_copy()
    return place


def deciding() -> SharePlace:
    """A marker decides a transactional acknowledgement that is kept in memory (KIP-1289 as written)."""
    place = SharePlace(rules="as-written").load()
    place.fetch("M1", 1)
    place.stage("M1", batch_of(0, 0))
    told = enlisted(Errors.NONE, "t", 9, 0, place.requests[-1].message.transactions[0].partitions)
    place.do(spl.on_enlisted(place.role, told, place.on))
    place.do(spl.on_marker(place.role, ApplyMarkerToShares(9, 0, committed=True), place.on))
    return place


def refuse_for_good(place: SharePlace, error: Errors) -> SharePlace:
    """Let the share coordinator refuse for good; what may be asked again is refused five times."""
    for _ in range(5 if error is Errors.UNKNOWN_TOPIC_OR_PARTITION else 1):
        place.refuses(error)
    return place


@pytest.mark.parametrize("error", GONE)
@pytest.mark.parametrize("writing", [acknowledging, releasing, deciding])
def test_a_write_that_is_refused_so_drops_the_share_partition(writing, error):
    place = refuse_for_good(writing(), error)
    assert KEY not in place.role.shares
    assert isinstance(place.events[-1], SharePartitionDropped)


@pytest.mark.parametrize("error", [*GONE, Errors.INVALID_REQUEST])
@pytest.mark.parametrize(("writing", "state"), [(running_out, AVL), (copying, ARCH)])
def test_what_is_only_told_drops_nothing_when_it_is_refused(writing, state, error):
    place = writing()
    assert place.states(0, 0) == [state]
    refuse_for_good(place, error)
    assert not place.share.writes
    assert not any(isinstance(event, SharePartitionDropped) for event in place.events)
    assert place.share.start_offset == (0 if state is AVL else 1)


def test_after_a_lock_s_note_was_fenced_the_next_acknowledgement_finds_it_out():
    place = refuse_for_good(running_out(), Errors.FENCED_STATE_EPOCH)
    place.fetch("M1", 1)
    assert place.states(0, 0) == [ACQ]
    place.acknowledge("M1", batch_of(0, 0))
    place.refuses(Errors.FENCED_STATE_EPOCH)
    assert place.last.error is Errors.NOT_LEADER_OR_FOLLOWER
    assert KEY not in place.role.shares


@pytest.mark.parametrize("writing", [acknowledging, releasing])
def test_a_write_that_fails_for_any_other_reason_gives_the_member_its_records_back(writing):
    place = refuse_for_good(writing(), Errors.INVALID_REQUEST)
    assert place.states(0, 0) == [ACQ]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Errors.GROUP_ID_NOT_FOUND, Errors.GROUP_ID_NOT_FOUND),
        (Errors.FENCED_LEADER_EPOCH, Errors.NOT_LEADER_OR_FOLLOWER),
        (Errors.INVALID_REQUEST, Errors.UNKNOWN_SERVER_ERROR),
    ],
)
def test_a_fetch_hears_in_kafka_s_words_why_nothing_can_be_loaded(error, told):
    """SharePartition.maybeInitialize, SharePartitionManager.handleInitializationException."""
    place = SharePlace()
    place.fetch("M1", 1)
    place.coordinator(ReadShareGroupStateResponse((ReadStateResult(error, KEY, -1, -1),)))
    assert place.last.error is told
    assert KEY not in place.role.shares
