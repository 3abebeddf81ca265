"""The leader of a partition: enlistment before the append, answers after replication."""

from __future__ import annotations

import pytest

from kipviz.brokers.context import NOBODY, ReplyTo
from kipviz.brokers.local_calls import MarkerWritten, WriteMarker
from kipviz.brokers.logs import partition_leader as pl
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.brokers.logs.partition_log import PartitionLog, append, delete_records, replicate
from kipviz.brokers.settings import SimplifiedConsumers
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.events import BatchAppended
from kipviz.messages.logs.list_offsets import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    ListOffsets,
    ListOffsetsPartition,
)
from kipviz.messages.logs.producing import (
    Fetch,
    FetchPartition,
    PartitionProduceData,
    PartitionProduceResponse,
    Produce,
    ProduceResponse,
)
from kipviz.messages.message_errors import error_in
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    TxnPartitions,
)
from kipviz.records.batches import NO_TIMESTAMP, Batch, DataRecord, size_in_bytes
from kipviz.records.placement import partition_for
from tests.brokers.coordinator_answers import answer_of, enlisted

HERE = "output-A-0"
HOME = f"__transaction_state-{partition_for('t', 50)}"
HOME_OF_U = f"__transaction_state-{partition_for('u', 50)}"


@pytest.fixture
def desk():
    return Desk(pl, PartitionLeader(HERE, 0), leaders={HERE: 1, HOME: 7, HOME_OF_U: 7})


def produce(desk, epoch=0, first=0, count=1, source=""):
    records = tuple(DataRecord(f"{epoch}:{first + i}") for i in range(count))
    request = Produce("t", (PartitionProduceData(HERE, 9, epoch, first, records),))
    return desk.ask(pl.on_produce, request, source)


def offset_in(answer):
    (result,) = answer.partition_responses
    return result.base_offset


def answer_enlistment(desk, error=Errors.NONE, epoch=0):
    desk.do(pl.on_enlisted(desk.role, enlisted(error, "t", 9, epoch, (HERE,)), desk.on))


def mark(desk, epoch=1, *, commit=False):
    to = ReplyTo("B7/markers", 1, 0)
    desk.do(pl.on_write_marker(desk.role, WriteMarker(to, HERE, 9, epoch, commit, 0, 2), desk.on))


def values(desk):
    return [r.value for r in desk.written(HERE)]


def test_the_first_batch_of_a_transaction_waits_until_the_partition_is_enlisted(desk):
    assert produce(desk) is None
    (asked,) = desk.requests
    assert (asked.broker, asked.message) == (
        7,
        AddPartitionsToTxn((TxnPartitions("t", 9, 0, (HERE,)),)),
    )
    assert values(desk) == []
    answer_enlistment(desk)
    assert desk.last == ProduceResponse((PartitionProduceResponse(HERE, Errors.NONE, 0),))
    assert values(desk) == ["0:0"]


def test_the_next_batch_of_the_transaction_asks_nobody(desk):
    produce(desk)
    answer_enlistment(desk)
    assert offset_in(produce(desk, first=1)) == 1
    assert len(desk.requests) == 1


def test_a_batch_of_an_older_epoch_is_refused_before_anybody_is_asked(desk):
    """Recorded of Kafka 4.4.0: Produce 47 without AddPartitionsToTxn."""
    produce(desk)
    answer_enlistment(desk)
    mark(desk)
    assert error_in(produce(desk, first=1)) is Errors.INVALID_PRODUCER_EPOCH
    assert len(desk.requests) == 1


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        (Errors.PRODUCER_FENCED, Errors.INVALID_PRODUCER_EPOCH),
        (Errors.NOT_COORDINATOR, Errors.NOT_ENOUGH_REPLICAS),
        (Errors.COORDINATOR_LOAD_IN_PROGRESS, Errors.NOT_ENOUGH_REPLICAS),
        (Errors.COORDINATOR_NOT_AVAILABLE, Errors.NOT_ENOUGH_REPLICAS),
        (Errors.NETWORK_EXCEPTION, Errors.NOT_ENOUGH_REPLICAS),
        (Errors.CONCURRENT_TRANSACTIONS, Errors.CONCURRENT_TRANSACTIONS),
        (Errors.INVALID_PRODUCER_ID_MAPPING, Errors.INVALID_PRODUCER_ID_MAPPING),
        (Errors.TRANSACTION_ABORTABLE, Errors.TRANSACTION_ABORTABLE),
    ],
)
def test_what_the_coordinator_says_is_translated_for_the_producer(desk, answer, seen):
    produce(desk)
    answer_enlistment(desk, answer)
    assert error_in(desk.last) is seen
    assert values(desk) == []


def test_without_a_coordinator_the_producer_has_to_try_again(desk):
    desk.leaders[HOME] = NOBODY
    assert error_in(produce(desk)) is Errors.NOT_ENOUGH_REPLICAS


def test_a_yes_that_comes_after_the_abort_marker_is_too_late(desk):
    """VerificationGuard: the coordinator's yes was for a transaction that is over."""
    produce(desk)
    mark(desk)
    answer_enlistment(desk)
    assert error_in(desk.last) is Errors.INVALID_PRODUCER_EPOCH
    assert values(desk) == []


def test_a_yes_for_a_batch_of_the_marker_s_own_epoch_still_counts(desk):
    """The marker of epoch 1 ended the transaction of epoch 0; the one of epoch 1 is the next."""
    produce(desk, epoch=1)
    mark(desk, epoch=1)
    answer_enlistment(desk, epoch=1)
    assert error_in(desk.last) is Errors.NONE


def test_a_yes_is_too_late_when_a_later_producer_s_marker_passed_by(desk):
    """Guarded by more than the epoch: here the waiting batch has the higher one."""
    produce(desk, epoch=5)
    mark(desk, epoch=4)
    answer_enlistment(desk, epoch=5)
    assert error_in(desk.last) is Errors.INVALID_TXN_STATE


def test_a_batch_that_is_sent_again_while_it_waits_is_appended_once(desk):
    produce(desk, source="p")
    produce(desk, source="p")
    assert [w.settled for w in desk.role.verifying] == [True, False]
    answer_enlistment(desk)
    assert len(desk.replies) == 1
    answer_enlistment(desk)
    assert (values(desk), desk.role.verifying) == (["0:0"], ())
    assert len(desk.replies) == 1


def test_a_batch_that_two_connections_bring_is_appended_once_and_answered_twice(desk):
    produce(desk, source="old")
    produce(desk, source="new")
    answer_enlistment(desk)
    assert values(desk) == ["0:0"]
    assert [(error_in(m), offset_in(m)) for _, m in desk.replies] == [(Errors.NONE, 0)] * 2


def test_an_answer_waits_for_the_replicas_and_so_does_that_to_a_duplicate(desk):
    desk.instant = False
    produce(desk, count=2)
    answer_enlistment(desk)
    assert produce(desk, count=2) is None
    assert desk.replies == []
    desk.replicate()
    assert [offset_in(m) for _, m in desk.replies] == [0, 0]
    assert offset_in(produce(desk, count=2)) == 0


def test_only_the_batches_whose_question_was_lost_have_to_be_sent_again(desk):
    produce(desk)
    other = Produce("u", (PartitionProduceData(HERE, 10, 0, 0, (DataRecord("u"),)),))
    desk.ask(pl.on_produce, other)
    lost = answer_of(TxnPartitions("t", 9, 0, (HERE,)), Errors.NETWORK_EXCEPTION)
    desk.do(pl.on_enlisted(desk.role, lost, desk.on))
    assert [error_in(m) for _, m in desk.replies] == [Errors.NOT_ENOUGH_REPLICAS]
    assert [w.producer_id for w in desk.role.verifying] == [10]


def test_a_marker_is_reported_when_it_is_replicated(desk):
    produce(desk)
    answer_enlistment(desk)
    desk.instant = False
    mark(desk, commit=True)
    assert desk.local == []
    desk.replicate()
    assert [c.message for c in desk.local] == [
        MarkerWritten(ReplyTo("B7/markers", 1, 0), HERE, Errors.NONE)
    ]


def fetch(desk, offset=0, *, committed=True, most=1_000_000, source="c"):
    request = Fetch((FetchPartition(HERE, offset, most),), committed)
    return read(desk.ask(pl.on_fetch, request, source))


def read(answer):
    """Return the result for the only partition of a response, None without a response."""
    if answer is None:
        return None
    (part,) = answer.responses
    return part


def test_a_read_committed_consumer_reads_below_the_lso_and_skips_what_was_aborted(desk):
    produce(desk, count=2)
    answer_enlistment(desk)
    assert fetch(desk) is None
    uncommitted = fetch(desk, committed=False, source="u")
    assert [r.offset for r in uncommitted.records] == [0, 1]
    mark(desk, commit=False)
    assert fetch(desk, source="d") is None  # aborted records and a marker: nothing to show
    produce(desk, epoch=1)
    answer_enlistment(desk, epoch=1)
    mark(desk, epoch=2, commit=True)
    committed = read(desk.answer_to(ReplyTo("c", 1, 0)))
    assert [(r.offset, r.value) for r in committed.records] == [(3, "1:0")]
    assert committed.next_offset == 5  # the position stands behind the marker


@pytest.mark.parametrize(("offset", "fits"), [(1, False), (2, True), (3, True), (4, False)])
def test_a_fetch_from_outside_of_the_log_is_refused_where_its_consumer_wants_to_be_told(
    desk, offset, fits
):
    """LocalLog.read, UnifiedLog.checkLogStartOffset: the end itself is inside."""
    desk.logs[HERE] = delete_records(plain_log(3), 2)
    request = Fetch((FetchPartition(HERE, offset),), read_committed=True, max_wait_ms=0)
    answer = read(desk.ask(pl.on_fetch, request))
    assert answer.error is (Errors.NONE if fits else Errors.OFFSET_OUT_OF_RANGE)
    desk.simplified = SimplifiedConsumers(without_reset=("app-1",))
    assert read(desk.ask(pl.on_fetch, request, "app-1/consumer")).error is Errors.NONE
    assert read(desk.ask(pl.on_fetch, request, "app-2/consumer")).error is answer.error


def listed(desk, asked, committed):
    (result,) = desk.ask(pl.on_list_offsets, ListOffsets((asked,), committed)).responses
    return result


def test_where_a_partition_begins_and_ends_depends_on_who_asks(desk):
    produce(desk)
    answer_enlistment(desk)
    asks = [(EARLIEST_TIMESTAMP, True), (LATEST_TIMESTAMP, True), (LATEST_TIMESTAMP, False)]
    told = [
        listed(desk, ListOffsetsPartition(HERE, at), committed).offset for at, committed in asks
    ]
    assert told == [0, 0, 1], "the transaction is open: the last stable offset is 0"
    desk.logs[HERE] = delete_records(plain_log(3), 2)
    told = [
        listed(desk, ListOffsetsPartition(HERE, at), committed).offset for at, committed in asks
    ]
    assert told == [2, 3, 3]


def test_a_record_is_found_by_its_time_below_what_may_be_read(desk):
    """What an open transaction holds back is not told by its time either, and is no error."""
    log = PartitionLog(HERE)
    for offset, at in enumerate((10, 20)):
        log = append(log, Batch(offset, (DataRecord("r"),), max_timestamp_ms=at))
    open_batch = Batch(2, (DataRecord("t"),), 9, 0, 0, True, max_timestamp_ms=30)
    desk.logs[HERE] = replicate(append(log, open_batch))

    def list_offset(at, committed):
        answer = listed(desk, ListOffsetsPartition(HERE, at), committed)
        return answer.error, answer.offset, answer.timestamp_ms

    assert list_offset(0, True) == (Errors.NONE, 0, 10)
    assert list_offset(11, True) == (Errors.NONE, 1, 20)
    assert list_offset(21, True) == (Errors.NONE, -1, NO_TIMESTAMP)
    assert list_offset(21, False) == (Errors.NONE, 2, 30)
    assert list_offset(31, False) == (Errors.NONE, -1, NO_TIMESTAMP)


def plain_log(count):
    log = PartitionLog(HERE)
    for offset in range(count):
        log = append(log, Batch(offset, (DataRecord(f"r{offset}"),)))
    return replicate(log)


def test_a_client_s_new_fetch_takes_the_place_of_the_one_that_waits(desk):
    fetch(desk)
    fetch(desk, offset=0)
    assert len(desk.role.parked) == 1


def test_a_fetch_gives_whole_batches_of_at_most_the_bytes_asked_for_and_one_in_any_case(desk):
    """Source: LogSegment.read with minOneMessage; an offset inside a batch is read from the batch's start on."""
    log = PartitionLog(HERE)
    for at, values in [(0, ("a", "b")), (2, ("c",)), (3, ("d",))]:
        log = append(log, Batch(at, tuple(map(DataRecord, values))))
    desk.logs[HERE] = replicate(log)
    two, one, _ = (size_in_bytes(batch) for batch in log.batches)
    for most, offsets, behind in [
        (1, [0, 1], 2),
        (two + one - 1, [0, 1], 2),
        (two + one, [0, 1, 2], 3),
        (two + 2 * one, [0, 1, 2, 3], 4),
    ]:
        read = fetch(desk, most=most)
        assert ([r.offset for r in read.records], read.next_offset) == (offsets, behind)
    assert [r.offset for r in fetch(desk, offset=1, most=two).records] == [1]
    assert [r.offset for r in fetch(desk, offset=2, most=1).records] == [2]


def test_a_fetch_that_only_hidden_batches_fill_is_answered_because_there_are_more(desk):
    """Source: DelayedFetch.tryComplete counts the bytes of hidden batches, too; otherwise a consumer would wait here
    for ever, since a later answer begins with the same batches."""
    produce(desk, count=2)
    answer_enlistment(desk)
    mark(desk, commit=False)
    size = sum(map(size_in_bytes, desk.logs[HERE].batches))
    assert (fetch(desk, most=size - 1).next_offset, desk.role.parked) == (2, ())
    assert fetch(desk, most=size, source="d") is None
    produce(desk, epoch=1)
    answer_enlistment(desk, epoch=1)
    assert fetch(desk, offset=2, source="e") is None
    assert fetch(desk, offset=0, most=size, source="f") is None
    assert fetch(desk, offset=0, most=size, committed=False, source="u").next_offset == 3
    mark(desk, epoch=2, commit=True)
    beyond = fetch(desk, offset=0, most=size, source="g")
    assert (beyond.records, beyond.next_offset) == ((), 3)


def test_a_fetch_that_waits_goes_on_waiting_when_what_it_would_read_is_deleted(desk):
    desk.logs[HERE] = plain_log(3)
    assert fetch(desk, offset=3) is None
    desk.logs[HERE] = delete_records(plain_log(5), 5)
    assert pl.on_replicated(desk.role, desk.on).replies == ()
    assert len(desk.role.parked) == 1


def test_everybody_who_waits_is_told_when_another_broker_leads(desk):
    desk.instant = False
    produce(desk, source="verifying")
    fetch(desk, source="parked")
    mark(desk, epoch=1)
    done = pl.on_resigned(desk.role, desk.on)
    errors = {r.to.source: error_in(r.message) for r in done.replies}
    assert errors == dict.fromkeys(("verifying", "parked"), Errors.NOT_LEADER_OR_FOLLOWER)
    assert [c.message.error for c in done.local] == [Errors.NOT_LEADER_OR_FOLLOWER]


def test_a_batch_that_is_appended_takes_the_guard_of_its_own_producer_s_other_epochs_only(desk):
    """VerificationStateEntry: the entry of a producer id goes when its transaction begins here."""
    produce(desk)
    produce(desk, epoch=1)
    desk.ask(
        pl.on_produce, Produce("u", (PartitionProduceData(HERE, 10, 3, 0, (DataRecord("u"),)),))
    )
    answer_enlistment(desk)
    assert values(desk) == ["0:0"]
    assert {(w.producer_id, w.producer_epoch): w.guarded for w in desk.role.verifying} == {
        (9, 1): False,
        (10, 3): True,
    }


@pytest.mark.parametrize(
    ("committed", "name"), [(True, "last stable offset"), (False, "high watermark")]
)
def test_a_fetch_looks_at_the_end_that_its_isolation_level_reads_to(desk, committed, name):
    produce(desk)
    answer_enlistment(desk)
    produce(desk, first=1)
    request = Fetch((FetchPartition(HERE, 0),), read_committed=committed, max_wait_ms=0)
    fetched = read(desk.ask(pl.on_fetch, request))
    assert len(fetched.records) == (0 if committed else 2)
    assert [(c.name, c.found) for c in desk.checks if c.name == name] == [
        (name, 0 if committed else 2)
    ]
    assert not {"last stable offset", "high watermark"} - {name} & {c.name for c in desk.checks}


def plain(desk, *, producer=9, sequence=0):
    return desk.ask(
        pl.on_produce,
        Produce("", (PartitionProduceData(HERE, producer, 0, sequence, (DataRecord("p"),)),)),
    )


def test_a_batch_outside_of_transactions_ends_no_verification(desk):
    """UnifiedLog.updateProducers clears the VerificationStateEntry for transactional batches only."""
    produce(desk)
    before = desk.role.verifications
    assert error_in(plain(desk)) is Errors.NONE
    assert desk.role.verifications == before != ()


def test_the_epoch_of_a_batch_outside_of_transactions_is_compared_at_its_append_alone(desk):
    """UnifiedLog.maybeStartTransactionVerification is called for transactional batches."""
    assert error_in(plain(desk)) is Errors.NONE
    assert [c.name for c in desk.checks].count("producer epoch") == 1
    mark(desk, epoch=5)
    assert error_in(plain(desk, sequence=1)) is Errors.INVALID_PRODUCER_EPOCH
    (compared,) = (c for c in desk.checks if c.name == "producer epoch")
    assert (compared.asked, compared.found) == (0, 5)
    assert error_in(plain(desk, producer=11)) is Errors.NONE
    (compared,) = (c for c in desk.checks if c.name == "producer epoch")
    assert compared.found == -1
    desk.image = {"min_insync_replicas": (("output-A", 2),), "offline": (99,)}
    assert error_in(plain(desk, sequence=1)) is Errors.NOT_ENOUGH_REPLICAS


def test_a_marker_takes_the_guard_of_its_own_producer_s_batches_only(desk):
    """ProducerStateManager.clearVerificationStateEntry removes the entry of one producer id."""
    produce(desk)
    desk.ask(
        pl.on_produce, Produce("u", (PartitionProduceData(HERE, 10, 0, 0, (DataRecord("u"),)),))
    )
    mark(desk)
    desk.do(pl.on_enlisted(desk.role, enlisted(Errors.NONE, "u", 10, 0, (HERE,)), desk.on))
    assert (error_in(desk.last), values(desk)) == (Errors.NONE, ["u"])


def test_a_marker_of_one_producer_makes_no_question_of_another_one_a_second_one(desk):
    produce(desk)
    mark(desk)
    desk.ask(
        pl.on_produce, Produce("u", (PartitionProduceData(HERE, 10, 0, 0, (DataRecord("u"),)),))
    )
    assert [r.tag.number for r in desk.requests] == ["", ""]


def test_a_duplicate_that_waits_for_the_replicas_is_not_appended_again(desk):
    """ReplicaManager.appendToLocalLog gives LogAppendInfo of the first one: KIP-98, idempotence."""
    desk.instant = False
    for _ in range(2):
        assert plain(desk) is None
    appends = [e for e in desk.events if isinstance(e, BatchAppended)]
    assert [e.partition for e in appends] == [HERE]


def test_a_read_uncommitted_consumer_reads_what_was_aborted(desk):
    """KIP-98 "Read Uncommitted": it skips the markers alone."""
    produce(desk, count=2)
    answer_enlistment(desk)
    mark(desk, commit=False)
    read = fetch(desk, committed=False)
    assert [r.value for r in read.records] == ["0:0", "0:1"]


def test_only_whoever_waits_is_told_why_when_another_broker_leads(desk):
    assert pl.on_resigned(desk.role, desk.on).checks == ()
    fetch(desk)
    desk.leaders[HERE] = 2
    done = pl.on_resigned(desk.role, desk.on)
    assert [(c.name, c.asked, c.found, c.error) for c in done.checks] == [
        ("leader", 1, 2, Errors.NOT_LEADER_OR_FOLLOWER)
    ]


def test_a_marker_of_an_epoch_that_is_over_is_refused_and_not_written(desk):
    """ProducerAppendInfo.checkProducerEpoch (KAFKA-19999): the zombie of a transaction coordinator."""
    mark(desk, epoch=5)
    before = desk.logs[HERE].end_offset
    mark(desk, epoch=4)
    assert desk.local[-1].message.error is Errors.INVALID_PRODUCER_EPOCH
    assert desk.logs[HERE].end_offset == before
