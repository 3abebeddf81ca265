"""How far a new leader has shown a partition: by its own answers, and by no length of time."""

import pytest

from kipviz.cluster.real.rebuilt_cluster import RebuiltBatch
from kipviz.core.table import Table
from kipviz.recordings.decoded.elections import LeaderDecision
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.request_context.appends import SeenEnds
from kipviz.records.batches import COMMIT, Batch, DataRecord

PLACE = "orders-0"
OLD, NEW = 3, 2
ELECTED = 1_000
BATCHES = {(PLACE, at): Batch(at, (DataRecord("x"),), 7, 0, at) for at in (0, 1)}
# The second batch stands in the log 4 s before anybody asks.
ENTRIES = (
    RebuiltBatch(PLACE, BATCHES[PLACE, 0], 500, ""),
    RebuiltBatch(PLACE, BATCHES[PLACE, 1], 2_000, ""),
)
DECISIONS = (
    LeaderDecision(PLACE, OLD, 0, (1, 2, 3), (1, 2, 3), 100),
    LeaderDecision(PLACE, NEW, 1, (1, 2, 3), (1, 2, 3), ELECTED),
)


def make_exchange(offset, at_ms, broker, acks=-1):
    part = Table.of({"index": 0, "errorCode": 0, "baseOffset": offset})
    told = (Table.of({"name": "orders", "partitionResponses": (part,)}),)
    answer = Table.of({"responses": told})
    asked = Table.of({"acks": acks})
    return Exchange("PRODUCE", 11, "a", at_ms - 1, at_ms, asked, answer, broker)


def read(mark, at_ms, broker):
    part = Table.of({"partitionIndex": 0, "errorCode": 0, "highWatermark": mark})
    topics = (Table.of({"topic": "orders", "partitions": (part,)}),)
    answer = Table.of({"responses": topics})
    return Exchange("FETCH", 11, "r", at_ms - 1, at_ms, Table.of({}), answer, broker)


def hidden_for(*exchanges):
    seen = SeenEnds(exchanges, {}, BATCHES, DECISIONS, ENTRIES)
    asks = Exchange("FETCH", 11, "r", 6_000, 6_001, Table.of({}), Table.of({}), NEW)
    return seen.not_shown_ms(PLACE, asks.but(earliest_ms=6_000))


@pytest.mark.parametrize(
    ("told", "age"),
    [
        # What the leader before has shown does not bound the new one.
        ((make_exchange(0, 600, OLD), read(2, 900, OLD)), 5_501),
        ((make_exchange(0, 1_500, NEW),), 4_001),
        ((read(1, 1_500, NEW),), 4_001),
        ((make_exchange(1, 2_500, NEW),), 0),
        # A batch that is answered before it is copied says nothing.
        ((make_exchange(1, 2_500, NEW, acks=1),), 5_501),
        ((), 5_501),
    ],
)
def test_a_batch_may_be_hidden_until_its_leader_has_shown_it(told, age):
    assert hidden_for(*told) == age


LATE = Exchange("FETCH", 11, "r", 6_000, 6_001, Table.of({}), Table.of({}), NEW)


@pytest.mark.parametrize(
    ("earliest_ms", "age"),
    [
        # The answer at 2,500 shows the batch of 2,000 to those who ask after it.
        (5_999, 0),
        (2_501, 0),
        (2_500, 2_001),
        (2_000, 1_501),
        # Before its election the broker has shown nothing, however late the line is.
        (900, 401),
    ],
)
def test_an_answer_bounds_a_request_only_if_it_cannot_have_arrived_before(earliest_ms, age):
    seen = SeenEnds((make_exchange(1, 2_500, NEW),), {}, BATCHES, DECISIONS, ENTRIES)
    assert seen.not_shown_ms(PLACE, LATE.but(earliest_ms=earliest_ms)) == age


def test_a_request_may_have_arrived_under_a_later_leader_that_has_shown_nothing_yet():
    """What the broker showed at 700 does not bound it as the leader that it is from 1,000 on."""
    told = (read(2, 700, NEW), make_exchange(1, 2_500, NEW))
    seen = SeenEnds(told, {}, BATCHES, DECISIONS, ENTRIES[:1])
    early = LATE.but(earliest_ms=900)
    assert seen.not_shown_ms(PLACE, early.but(received_ms=950)) == 0
    assert seen.not_shown_ms(PLACE, early) == 401


@pytest.mark.parametrize(
    ("earliest_ms", "age"),
    [
        # Its line is of the new term; the answer may be of the earlier one, or cannot be.
        (2_999, 4_001),
        (3_000, 0),
    ],
)
def test_a_late_line_of_a_leader_that_came_back_may_be_one_of_its_earlier_term(earliest_ms, age):
    back = LeaderDecision(PLACE, OLD, 2, (1, 2, 3), (1, 2, 3), 3_000)
    told = make_exchange(1, 3_500, OLD).but(earliest_ms=earliest_ms)
    seen = SeenEnds((told,), {}, BATCHES, (*DECISIONS, back), ENTRIES[1:])
    assert seen.not_shown_ms(PLACE, LATE.but(broker=OLD, earliest_ms=6_000)) == age


@pytest.mark.parametrize(("earliest_ms", "age"), [(4_001, 0), (4_000, 2_001), (3_000, 1_001)])
def test_a_late_line_of_a_single_brokers_reader_may_be_one_of_while_the_batch_was_appended(
    earliest_ms, age
):
    exchanges = (make_exchange(0, 600, NEW), make_exchange(1, 4_000, NEW, acks=1))
    seen = SeenEnds(exchanges, {}, BATCHES, (), ENTRIES)
    assert seen.not_shown_ms(PLACE, LATE.but(earliest_ms=earliest_ms)) == age


def test_a_transaction_coordinator_has_read_what_stood_in_its_log_when_it_was_elected():
    place = "__transaction_state-1"
    batches = [Batch(at, (DataRecord("x"),), 7, 0, at) for at in (0, 1)]
    before = RebuiltBatch(place, batches[0], 500, "", leader_epoch=0)
    since = RebuiltBatch(place, batches[1], 2_000, "", leader_epoch=1)
    decisions = tuple(each.but(partition=place) for each in DECISIONS)
    asks = Exchange("END_TXN", 5, "a", 6_000, 6_001, Table.of({}), Table.of({}), NEW)

    def hidden_time(*entries):
        seen = SeenEnds((), {}, {}, decisions, entries)
        return seen.not_shown_ms(place, asks.but(earliest_ms=6_000))

    assert hidden_time(before) == 0
    assert hidden_time(before, since) == 4_001


@pytest.mark.parametrize(
    ("answered_ms", "age"),
    # The batch has its time at 2,000, and a reader asks at 6,000.
    [(5_999, 0), (6_000, 4_001), (7_000, 4_001)],
)
def test_a_single_broker_may_hide_a_batch_while_its_request_is_under_way(answered_ms, age):
    exchanges = (make_exchange(0, 600, NEW), make_exchange(1, answered_ms, NEW, acks=1))
    seen = SeenEnds(exchanges, {}, BATCHES, (), ENTRIES)
    asks = Exchange("FETCH", 11, "r", 6_000, 6_001, Table.of({}), Table.of({}), NEW)
    assert seen.not_shown_ms(PLACE, asks.but(earliest_ms=6_000)) == age


@pytest.mark.parametrize(("answered_ms", "age"), [(5_999, 0), (6_000, 4_001)])
def test_a_single_broker_may_hide_a_marker_while_its_request_is_under_way(answered_ms, age):
    control = Batch(1, (), 7, 0, -1, transactional=True, control=COMMIT)
    entries = (ENTRIES[0], RebuiltBatch(PLACE, control, 2_000, ""))
    topics = (Table.of({"name": "orders", "partitionIndexes": (0,)}),)
    marker = Table.of({"producerId": 7, "producerEpoch": 0, "topics": topics})
    others = marker.set("producerEpoch", 1)

    def hidden_time(*markers):
        asked = Table.of({"markers": markers})
        told = Exchange("WRITE_TXN_MARKERS", 1, "c", 1_990, answered_ms, asked, Table.of({}), NEW)
        exchanges = (make_exchange(0, 600, NEW), told)
        seen = SeenEnds(exchanges, {}, BATCHES, (), entries)
        asks = Exchange("FETCH", 11, "r", 6_000, 6_001, Table.of({}), Table.of({}), NEW)
        return seen.not_shown_ms(PLACE, asks.but(earliest_ms=6_000))

    assert hidden_time(marker) == age
    assert hidden_time(others) == 0
