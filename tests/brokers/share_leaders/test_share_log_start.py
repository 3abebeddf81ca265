"""What a share-partition does when the front of its log is deleted under it (SharePartition.updateCacheAndOffsets)."""

from __future__ import annotations

import pytest

from kipviz.brokers.context import ReplyTo
from kipviz.brokers.share_leaders import share_acquiring
from kipviz.brokers.share_leaders.share_partition import ParkedFetch
from kipviz.core.log import Log
from kipviz.messages.errors import Errors
from kipviz.messages.events import ShareStartFollowed
from kipviz.messages.groups.reset_policy import reset_duration_ms
from kipviz.messages.shares.share_groups import FetchedPartition
from kipviz.messages.shares.share_state import ReadShareGroupStateResponse, ReadStateResult
from tests.brokers.share_leaders.share_place import (
    ACK,
    ACQ,
    ARCH,
    AVL,
    KEY,
    REJECT,
    RELEASE,
    SharePlace,
    batch_of,
    list_acquired,
    log_of,
)
from tests.messages.shares import fetches


def delete_records(place: SharePlace, up_to: int) -> None:
    """Let the source's log begin later; nobody tells the share-partition."""
    place.logs["src-0"] = place.logs["src-0"].but(start_offset=up_to)


def held_and_free() -> SharePlace:
    """M1 holds 0 to 4, 5 to 9 are free again, M1 holds 10 to 14."""
    place = SharePlace(batches=[(0, 4), (5, 9), (10, 14), (15, 19)]).load()
    for _ in range(3):
        place.fetch("M1", 5)
    place.acknowledge("M1", batch_of(5, 9, RELEASE))
    place.coordinator()
    return place


def test_who_reads_behind_the_log_s_start_does_not_hear_of_it():
    place = SharePlace(batches=[(0, 4), (5, 9)]).load()
    place.fetch("M1", 5)
    delete_records(place, 3)
    place.fetch("M2", 5)
    assert list_acquired(place) == [(5, 9, 1)]
    assert place.share.start_offset == 0
    place.acknowledge("M1", batch_of(0, 4))
    place.coordinator()
    assert (place.last.error, place.share.start_offset) == (Errors.NONE, 5)


def test_who_reads_in_front_of_it_is_answered_with_nothing_and_no_error():
    place = held_and_free()
    delete_records(place, 7)
    place.fetch("M2", 5)
    assert place.last == FetchedPartition("src-0")
    assert place.share.start_offset == 7
    assert place.events[-3:-2] == [ShareStartFollowed("src-0", "g1", 0, 7)]
    assert place.states(0, 9) == [ACQ] * 5 + [ARCH] * 2 + [AVL] * 3
    place.fetch("M2", 5)
    assert list_acquired(place, "M2") == [(7, 9, 2), (15, 19, 1)]


def test_a_fetch_that_does_not_wait_goes_on_to_its_next_partition():
    place = held_and_free()
    delete_records(place, 7)
    asks = fetches("M2", 1, "src-0", 5, further=("src-1",), max_wait_ms=0)
    parked = (ParkedFetch(asks, ReplyTo("M2/consumer", 1, 0)),)
    served = share_acquiring.serve(place.share.but(parked=parked), place.on)
    assert [type(call.message).__name__ for call in served.local] == ["FetchFurther"]
    assert (served.state.start_offset, served.replies) == (7, ())


def test_a_held_record_behind_the_log_s_start_keeps_the_start_offset_where_it_is():
    """SharePartition.findLastOffsetAcknowledgedAndMetadata begins with the first batch in memory."""
    place = held_and_free()
    delete_records(place, 10)
    place.fetch("M2", 5)
    assert (place.share.start_offset, place.states(5, 9)) == (10, [ARCH] * 5)
    place.acknowledge("M1", batch_of(10, 14))
    place.coordinator()
    assert (place.share.start_offset, place.states(10, 14)) == (10, [ACK] * 5)
    place.expire(0)
    assert place.writes[-1].only.batches[0].state is ARCH
    place.coordinator()
    assert (place.share.start_offset, len(place.share.records)) == (15, 0)
    # With nothing behind the start, the record at the start alone decides.
    place.fetch("M2", 5)
    place.acknowledge("M2", batch_of(15, 19))
    place.coordinator()
    assert (place.share.start_offset, len(place.share.records)) == (20, 0)
    # Where no record is at the start, the held one behind it decides (cachedState.floorEntry).
    gap = SharePlace(batches=[(0, 4), (8, 9)]).load()
    gap.fetch("M1", 5)
    gap.delete_up_to(8)
    assert (gap.share.records.get(8), gap.states(0, 4)) == (None, [ACQ] * 5)
    gap.expire(0)
    gap.coordinator()
    assert (gap.share.start_offset, len(gap.share.records)) == (8, 0)


def test_an_acknowledgement_of_what_is_behind_it_is_taken_and_changes_nothing():
    place = held_and_free()
    delete_records(place, 10)
    place.fetch("M2", 5)
    written = len(place.writes)
    place.acknowledge("M1", batch_of(0, 4))
    assert place.last.error is Errors.NONE
    assert (len(place.writes), place.states(0, 4)) == (written, [ACQ] * 5)


def test_a_release_that_is_not_durable_yet_is_archived_for_good():
    place = held_and_free()
    place.fetch("M2", 5)
    place.acknowledge("M1", batch_of(0, 4, RELEASE))
    place.acknowledge("M2", batch_of(5, 9, RELEASE))
    assert place.states(0, 9) == [AVL] * 10
    assert place.next_fetch == 15
    place.delete_up_to(8)
    assert place.states(0, 9) == [ARCH] * 8 + [AVL] * 2
    for _ in range(2):
        place.refuses(Errors.UNKNOWN_SERVER_ERROR)
    assert place.states(0, 9) == [ARCH] * 8 + [ACQ] * 2
    assert not any(place.share.records[o].ongoing for o in range(10))


def test_a_failed_write_may_free_a_record_that_no_fetch_can_ever_read():
    """Read from the source of 4.4.0, not tried with a broker: the fetch offset stays in front of the log.

    InFlightState.completeStateTransition does not look at the start offset, nextFetchOffset neither, and
    updateCacheAndOffsets does nothing where the start offset is the log's start already.
    """
    place = held_and_free()
    place.acknowledge("M1", batch_of(0, 4, REJECT))
    place.expire(0)
    delete_records(place, 7)
    place.fetch("M2", 5)
    assert place.share.start_offset == 7
    place.refuses(Errors.UNKNOWN_SERVER_ERROR)
    assert place.states(0, 4) == [AVL] * 5
    for _ in range(3):
        place.fetch("M2", 5)
        assert place.last == FetchedPartition("src-0")
    assert place.states(7, 9) == [AVL] * 3  # what the log does have waits behind it
    assert place.next_fetch == 0


def test_where_the_log_begins_behind_all_that_is_in_memory_the_next_fetch_begins_there():
    place = SharePlace(batches=[(0, 4), (8, 9)]).load()
    place.fetch("M1", 5)
    place.delete_up_to(8)
    assert (place.next_fetch, place.share.start_offset) == (8, 8)
    place.expire(0)
    place.coordinator()
    assert (place.share.start_offset, len(place.share.records)) == (8, 0)


def test_a_start_offset_in_a_gap_of_the_log_moves_on_with_what_is_before_the_gap():
    place = SharePlace(batches=[(0, 1)]).load()
    place.fetch("M1", 2)
    place.grow((0, 1), (5, 6))
    place.fetch("M1", 2)
    place.acknowledge("M1", batch_of(5, 6))
    place.coordinator()
    place.delete_up_to(4)
    assert (place.share.start_offset, place.states(5, 6)) == (4, [ACK] * 2)
    place.expire(0)
    place.coordinator()
    assert (place.share.start_offset, len(place.share.records)) == (7, 0)


def test_an_acknowledgement_may_begin_in_a_gap_of_the_log():
    place = SharePlace(batches=[(0, 1)]).load()
    place.fetch("M1", 2)
    place.grow((0, 1), (5, 6))
    place.fetch("M1", 2)
    assert place.acknowledge("M1", batch_of(3, 6)) is None
    assert place.states(0, 1) + place.states(5, 6) == [ACQ, ACQ, ACK, ACK]


def test_a_leader_that_loads_a_start_in_front_of_the_log_finds_it_with_its_first_fetch():
    place = SharePlace(batches=[(20, 24)])
    place.logs["src-0"] = log_of((20, 24))
    place.load(start=3)
    assert place.share.start_offset == 3
    place.fetch("M1", 5)
    assert (list_acquired(place), place.share.start_offset) == ([], 20)
    place.fetch("M1", 5)
    assert list_acquired(place) == [(20, 24, 1)]


def stamp_batches(*times: int) -> SharePlace:
    """A source whose batches of five were appended at these times, in a group that begins PT10S ago."""
    group = {"auto_offset_reset": "by_duration:PT10S"}
    place = SharePlace(group=group)
    batches = tuple((5 * i, 5 * i + 4) for i in range(len(times)))
    log = log_of(*batches)
    dated = (b.but(max_timestamp_ms=t) for b, t in zip(log.batches, times, strict=True))
    place.logs["src-0"] = log.but(batches=Log.of(tuple(dated)))
    place.now_ms = 60_000
    return place


@pytest.mark.parametrize(
    ("times", "start"),
    [((-1, 49_999, 50_000, 55_000), 10), ((51_000, 20_000), 0), ((0, 60_000), 5)],
)
def test_a_group_that_begins_by_duration_begins_at_the_first_record_that_is_young_enough(
    times, start
):
    place = stamp_batches(*times).load(-1)
    assert place.share.start_offset == start


def test_without_a_record_that_is_young_enough_a_group_cannot_begin():
    """A regular consumer would ask again after a while; a share-partition fails to load."""
    place = stamp_batches(0, 49_999)
    place.fetch("M1", 5)
    place.coordinator(ReadShareGroupStateResponse((ReadStateResult(Errors.NONE, KEY, 3, -1),)))
    assert place.last == FetchedPartition("src-0", Errors.OFFSET_NOT_AVAILABLE)
    assert len(place.role.shares) == 0


@pytest.mark.parametrize(
    ("reset", "ms"),
    [
        ("by_duration:PT10S", 10_000),
        ("by_duration:P1DT2H3M4.5S", 93_784_500),
        ("by_duration:P2D", 172_800_000),
        ("by_duration:PT0.25S", 250),
        ("by_duration:PT", -1),
        ("by_duration:P1DT", -1),
        ("by_duration:10s", -1),
        ("by_duration", -1),
        ("latest", -1),
    ],
)
def test_a_duration_is_written_as_in_iso_8601(reset, ms):
    assert reset_duration_ms(reset) == ms
