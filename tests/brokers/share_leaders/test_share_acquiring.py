"""What a fetch of a share-partition takes: what is free, what is new, and what it archives on the way."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.brokers.logs.partition_log import PartitionLog, append, replicate
from kipviz.brokers.share_leaders import share_acquiring
from kipviz.brokers.share_leaders import share_partition_leader as spl
from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.brokers.share_leaders.share_acquiring import Catch
from kipviz.brokers.share_leaders.share_partition import SharePartition, Status
from kipviz.core.table import Table
from kipviz.messages.events import ABORTED_AT_SOURCE, DELIVERED, NOT_IN_LOG
from kipviz.messages.shares.share_groups import RECORD_LIMIT, ShareFetch
from kipviz.records.batches import ABORT, Batch, DataRecord
from tests.brokers.share_leaders.share_place import (
    ACQ,
    ARCH,
    AVL,
    KEY,
    RELEASE,
    SharePlace,
    batch_of,
    durable,
    list_acquired,
)
from tests.messages.shares import fetches

COMMITTED = {"isolation_level": "read_committed"}
FREE, HELD = InFlight(AVL, 1), InFlight(ACQ, 1, "M1", 0)


def share(records: dict[int, InFlight], *, start: int = 0, ahead: int = 9) -> SharePartition:
    made = SharePartition(KEY, "g1", "src-0", 0, status=Status.ACTIVE, start_offset=start)
    return made.but(next_offset=ahead, records=Table.of(records))


def catch(place: SharePlace, me: SharePartition, most: int = 9, **fields: Any) -> Catch:
    request = fetches("M1", 1, "src-0", most).but(**fields)
    return share_acquiring.catch_records(me, request, place.on)


def source(*batches: Batch) -> PartitionLog:
    log = PartitionLog("src-0")
    for batch in batches:
        log = append(log, batch)
    return replicate(log)


def records(*values: str) -> tuple[DataRecord, ...]:
    return tuple(DataRecord(value) for value in values)


# An aborted transaction at 0-1 with its marker at 2, a plain record at 3, an open transaction at 4.
MIXED = source(
    Batch(0, records("a", "b"), 5, 0, transactional=True),
    Batch(2, (), 5, 0, transactional=True, control=ABORT),
    Batch(3, records("c")),
    Batch(4, records("d"), 6, 0, transactional=True),
    Batch(5, records("e")),
)


def place_of_mixed(group: dict[str, str]) -> SharePlace:
    place = SharePlace(group=group)
    place.logs["src-0"] = MIXED
    return place.load()


# -- what is committed ---------------------------------------------------------------------------


def test_without_read_committed_a_group_gets_what_is_replicated() -> None:
    place = place_of_mixed({})
    place.fetch("M1", 9)
    assert [r.value for r in place.last.records] == ["a", "b", "c", "d", "e"]
    assert place.states(0, 5) == [ACQ] * 6


def test_with_read_committed_a_group_gets_what_is_stable_and_aborted_records_are_archived() -> None:
    """KIP-932, share.isolation.level."""
    place = place_of_mixed(COMMITTED)
    place.fetch("M1", 9)
    assert [r.value for r in place.last.records] == ["c"]
    assert place.states(0, 3) == [ARCH, ARCH, ACQ, ACQ]
    assert place.counts(0, 3) == [1, 1, 1, 1]
    assert place.share.next_offset == 4
    assert [e.because for e in place.events[-4:]] == [ABORTED_AT_SOURCE] * 2 + [DELIVERED] * 2


@pytest.mark.parametrize(
    ("group", "bound", "end"), [({}, "high watermark", 6), (COMMITTED, "last stable offset", 4)]
)
def test_a_fetch_is_compared_with_the_end_of_what_its_group_reads(
    group: dict[str, str], bound: str, end: int
) -> None:
    place = place_of_mixed(group)
    place.fetch("M1", 9)
    assert (f"below the {bound}", end) in [(c.name, c.found) for c in place.checks]


def test_a_fetch_that_only_archives_need_not_wait() -> None:
    assert Catch(0, 9, 5).nothing
    for field in ("offsets", "aborted", "vanished"):
        assert not Catch(0, 9, 5).but(**{field: (1,)}).nothing
    place = place_of_mixed(COMMITTED)
    place.logs["src-0"] = source(*MIXED.batches[:2])
    assert place.fetch("M1", 2) is not None
    assert place.states(0, 1) == [ARCH, ARCH]


# -- what waits -----------------------------------------------------------------------------------


def goes_on(member: str, epoch: int, *further: str) -> ShareFetch:
    return fetches(member, epoch, "src-0", 1, further=further, max_wait_ms=0)


def test_a_fetch_that_does_not_wait_goes_on_or_is_answered_with_nothing() -> None:
    place = SharePlace(batches=[(0, 0)]).load()
    place.fetch("M1", 1)
    assert place.fetch("M2", 1) is None
    place.fetch("M3", 0)
    answer = place.ask(spl.on_share_fetch, goes_on("M3", 1), "M3/consumer")
    assert answer is not None
    assert not answer.acquired  # type: ignore[attr-defined]
    assert place.ask(spl.on_share_fetch, goes_on("M3", 2, "src-1"), "M3/consumer") is None
    (call,) = place.local
    assert call.message.request.names == ("src-1",)
    assert [p.request.member_id for p in place.share.parked] == ["M2"]


def test_who_is_served_waits_no_longer_and_everybody_else_does() -> None:
    place = SharePlace(batches=[(0, 0)]).load()
    place.fetch("M1", 1)
    for member in ("M2", "M3"):
        assert place.fetch(member, 1) is None
    place.grow((0, 0), (1, 1))
    assert [p.request.member_id for p in place.share.parked] == ["M3"]
    assert place.share.records[1].member_id == "M2"


def test_what_was_refused_of_a_fetch_s_acknowledgements_is_a_check_of_its_answer() -> None:
    place = SharePlace(last=3).load()
    place.fetch("M1", 1)
    assert "acknowledgements accepted" not in {check.name for check in place.checks}
    place.fetch("M1", 1, batch_of(7, 7))
    assert "acknowledgements accepted" in {check.name for check in place.checks}


# -- where it begins --------------------------------------------------------------------------------


def test_a_fetch_in_front_of_the_log_s_start_is_compared_with_that() -> None:
    place = SharePlace(batches=[(3, 5)]).load(0)
    place.fetch("M1", 1)
    assert {check.name for check in place.checks} >= {"log start offset"}
    assert place.share.start_offset == 3


def test_the_next_fetch_begins_at_what_is_free_first_unless_all_of_that_is_deleted() -> None:
    written = FREE.but(ongoing=True)
    me = share({0: HELD, 1: written, 2: FREE, 3: FREE})
    assert share_acquiring.next_fetch_offset(me) == 2
    assert share_acquiring.next_fetch_offset(share({0: HELD})) == 9
    assert share_acquiring.next_fetch_offset(share({1: FREE}, start=5, ahead=5)) == 5


def test_records_that_are_not_in_the_log_are_archived_if_they_are_available() -> None:
    place = SharePlace(batches=[(3, 5)], log_start=0)
    written = FREE.but(ongoing=True)
    me = share({0: FREE, 1: HELD, 2: FREE, 3: FREE, 4: written, 5: FREE}, ahead=6)
    found = catch(place, me)
    assert (found.vanished, found.offsets) == ((0, 2), (3, 5))
    place.load(0, durable(0, 3, AVL, 2))
    place.fetch("M1", 9)
    assert place.states(0, 5) == [ARCH] * 3 + [ACQ] * 3
    assert place.counts(0, 3) == [2, 2, 2, 3]
    moved = [(e.first, e.because) for e in place.events if hasattr(e, "because")]
    assert [first for first, because in moved if because == NOT_IN_LOG] == [0, 1, 2]


# -- how much ---------------------------------------------------------------------------------------


def test_as_many_records_are_locked_as_the_limit_says() -> None:
    """group.share.record.lock.limit, of a share-partition of which nothing is in memory yet."""
    place = SharePlace(record_locks_max=2).load()
    place.fetch("M1", 9)
    assert list_acquired(place) == [(0, 1, 1)]


def test_a_suspect_batch_is_delivered_without_anything_that_is_new() -> None:
    place = SharePlace().load(0, durable(0, 3, AVL, 3))
    place.fetch("M1", 9)
    assert list_acquired(place) == [(0, 1, 4)]
    place.acknowledge("M1", batch_of(0, 1, RELEASE))
    place.coordinator()
    place.fetch("M1", 9)
    assert list_acquired(place) == [(0, 0, 5)]


@pytest.mark.parametrize(
    ("limit", "count", "taken"),
    [(2, 2, (0, 1, 2, 3)), (3, 2, (0, 1, 2)), (5, 2, (0, 1, 2, 3)), (5, 3, (0, 1, 2, 3))],
)
def test_a_last_attempt_is_one_by_itself_where_there_is_more_than_one_attempt(
    limit: int, count: int, taken: tuple[int, ...]
) -> None:
    """A limit that was lowered leaves records of a batch with more deliveries than others of it."""
    place = SharePlace(delivery_count_limit=limit)
    batch = {"batch_first": 0, "batch_last": 3}
    me = share(
        {o: InFlight(AVL, 1, **batch) for o in range(3)} | {3: InFlight(AVL, count, **batch)}
    )
    again, _ = share_acquiring._again(me, 9, 0, 9, place.on)
    assert again == taken


def test_the_first_record_of_a_suspect_batch_says_how_many_of_it_are_delivered() -> None:
    place = SharePlace(delivery_count_limit=6)
    batch = {"batch_first": 0, "batch_last": 3}
    me = share({o: InFlight(AVL, 3 + o % 2, **batch) for o in range(4)})
    assert share_acquiring._again(me, 9, 0, 9, place.on) == ((0, 1), True)


def test_two_suspect_batches_are_delivered_one_after_the_other() -> None:
    place = SharePlace()
    first, second = ({"batch_first": b, "batch_last": b + 1} for b in (0, 2))
    me = share({o: InFlight(AVL, 3, **(first if o < 2 else second)) for o in range(4)} | {4: FREE})
    again = share_acquiring._again(me, 9, 0, 9, place.on)
    assert again == ((0,), True)
    me = me.but(records=me.records.set(0, HELD).set(1, HELD))
    assert share_acquiring._again(me, 9, 0, 9, place.on) == ((2,), True)
    me = me.but(records=me.records.set(2, HELD).set(3, HELD))
    assert share_acquiring._again(me, 9, 0, 9, place.on) == ((4,), False)


def test_only_free_records_with_many_deliveries_make_a_batch_suspect() -> None:
    batch = {"batch_first": 0, "batch_last": 1}
    me = share(
        {
            0: InFlight(AVL, 3, **batch),
            1: InFlight(AVL, 3, **batch),
            2: InFlight(AVL, 2, batch_first=2, batch_last=3),
            4: InFlight(ACQ, 3, "M1", 4, batch_first=4, batch_last=5),
            6: InFlight(AVL, 3, ongoing=True, batch_first=6, batch_last=7),
            8: InFlight(AVL, 4),
        }
    )
    assert share_acquiring._suspects(me, 3) == ((0, 1), (8, 8))


def test_new_records_come_in_whole_batches_and_a_gap_of_the_log_is_counted_like_records() -> None:
    """SharePartition.lastOffsetFromBatchWithRequestOffset: where no batch has the offset, it is the last one."""
    place = SharePlace(batches=[(0, 1), (4, 6), (7, 9)])
    assert catch(place, share({}, ahead=0), 1).offsets == (0, 1)
    assert catch(place, share({}, ahead=0), 3).offsets == (0, 1, 2)
    assert catch(place, share({}, ahead=0), 5).offsets == tuple(range(7))
    behind = share({0: HELD, 1: HELD}, ahead=2)
    assert catch(place, behind, 1).offsets == (4, 5, 6)
    beside = share({0: FREE, 1: HELD}, ahead=2)
    assert catch(place, beside, 2).offsets == (0, 2)
    assert catch(place, beside, 4).offsets == (0, *range(2, 7))
    assert catch(place, share({0: HELD}, ahead=10)).offsets == ()


def test_with_the_mode_record_limit_what_is_too_much_stays_free() -> None:
    """KIP-1206."""
    place = SharePlace(batches=[(0, 3), (4, 6)]).load()
    place.fetch("M1", 2, mode=RECORD_LIMIT)
    assert list_acquired(place) == [(0, 1, 1)]
    assert place.states(0, 3) == [ACQ, ACQ, AVL, AVL]
    assert place.counts(2, 3) == [0, 0]
    place.fetch("M2", 4, mode=RECORD_LIMIT)
    assert list_acquired(place) == [(2, 5, 1)]
    assert place.states(4, 6) == [ACQ, ACQ, AVL]
    place.fetch("M3", 9, mode=RECORD_LIMIT)
    assert list_acquired(place) == [(6, 6, 1)]
    other = SharePlace(batches=[(0, 3)])
    assert catch(other, share({}, ahead=0), acquire_mode=RECORD_LIMIT).offsets == (0, 1, 2, 3)


def test_behind_the_last_batch_a_log_may_end_in_a_gap() -> None:
    """Compaction leaves the end of the log where it is."""
    place = SharePlace(batches=[(0, 1)])
    place.logs["src-0"] = place.logs["src-0"].but(end_offset=6, high_watermark=6)
    assert catch(place, share({0: FREE, 1: HELD}, ahead=2)).offsets == (0,)
    held = share({0: HELD, 1: FREE}, ahead=2)
    assert catch(place, held).offsets == (1,)


def test_the_ends_of_a_batch_are_kept_from_the_delivery_on_that_makes_it_suspect() -> None:
    """KIP-932, throttling of poison records."""
    place = SharePlace(batches=[(0, 1), (2, 2), (3, 4)]).load(
        0, durable(0, 1, AVL, 2), durable(2, 2, AVL, 1), durable(3, 4, AVL, 1)
    )
    place.fetch("M1", 9)
    ends = {o: (r.batch_first, r.batch_last) for o, r in place.share.records.items()}
    assert ends == {0: (0, 1), 1: (0, 1), 2: (-1, -1), 3: (-1, -1), 4: (-1, -1)}
    alone = SharePlace(batches=[(0, 0)]).load(0, durable(0, 0, AVL, 3))
    alone.fetch("M1", 1)
    assert alone.share.records[0].batch_first == -1
    again = SharePlace(batches=[(0, 3)]).load(0, durable(0, 3, AVL, 3))
    again.fetch("M1", 9)
    ends = {o: (r.batch_first, r.batch_last) for o, r in again.share.records.items()}
    assert set(ends.values()) == {(0, 3)}


def test_a_share_partition_of_which_nothing_is_in_memory_begins_at_the_first_record() -> None:
    place = SharePlace(batches=[(3, 4)], log_start=0).load(0)
    place.fetch("M1", 9)
    assert (place.share.start_offset, list_acquired(place)) == (3, [(3, 4, 1)])
    place.grow((3, 4), (8, 8))
    place.fetch("M1", 9)
    assert place.share.start_offset == 3
