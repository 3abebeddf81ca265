"""A client reads the bytes that a client sent, as long as their batch can be read, and none that are another's."""

from kipviz.brokers.logs.partition_log import PartitionLog, append, delete_records
from kipviz.recordings.files.segments import batches
from kipviz.records.batches import Batch, DataRecord
from kipviz.serving import served_cluster
from kipviz.serving.cleaning import retention
from kipviz.serving.delivery_rules import rule
from kipviz.serving.translating.batch_bytes import (
    OVERHEAD,
    TEXT_MAX,
    KeptBatches,
    batch_in,
    records_of,
)
from tests.recordings import made_logs
from tests.serving.cleaning.test_log_cleaning import TOPIC_ID, Producer
from tests.soaking import raw_client as raw
from tests.soaking.raw_client import encode_frame


def batch(offset, value="v"):
    return Batch(offset, (DataRecord(value),))


def sent(key, value=b"v"):
    return made_logs.batch(0, ((key, value),))


def log_of(*values, start=0):
    log = PartitionLog("orders-0", start_offset=start, end_offset=start)
    for value in values:
        log = append(log, batch(log.end_offset, value))
    return log


def test_bytes_are_found_by_content_until_their_offset_is_known_and_the_oldest_of_equal_ones_first():
    kept = KeptBatches()
    first, second = sent(b"first"), sent(b"second")
    kept.arrive("orders-0", batch(0), first)
    kept.arrive("orders-0", batch(0), second)
    assert kept.find("orders-1", batch(7)) is None
    assert kept.find("orders-0", batch(7)) == first
    assert kept.find("orders-0", batch(8)) == second
    assert kept.find("orders-0", batch(7)) == first
    assert kept.find("orders-0", batch(9)) is None
    assert kept.size == len(first) + len(second) + 2 * OVERHEAD


def test_the_bytes_of_an_answered_request_belong_to_its_offset_alone():
    kept = KeptBatches()
    first, second = sent(b"first"), sent(b"second")
    for data in (first, second):
        kept.arrive("orders-0", batch(0), data)
    kept.keep("orders-0", batch(8), second)
    kept.keep("orders-0", batch(8), sent(b"a repeated request"))  # the batch is a duplicate
    assert kept.size == len(first) + len(second) + 2 * OVERHEAD
    assert kept.find("orders-0", batch(8)) == second
    assert kept.find("orders-0", batch(9)) == first


def test_bytes_are_forgotten_with_their_batch_and_requests_without_one_the_second_time():
    kept = KeptBatches()
    data = {value: sent(b"key", value.encode()) for value in ("a", "b", "lost")}
    for value, each in data.items():
        kept.arrive("orders-0", batch(0, value), each)
    kept.retain((log_of("a", "b"),))
    assert kept.size == sum(len(each) + OVERHEAD for each in data.values())
    kept.retain((log_of("b", start=1),))
    assert kept.find("orders-0", batch(1, "b")) == data["b"]
    assert kept.find("orders-0", batch(0, "a")) is None
    assert kept.find("orders-0", batch(2, "lost")) is None
    assert kept.size == len(data["b"]) + OVERHEAD


def test_a_batch_keeps_its_bytes_if_records_up_to_its_middle_are_deleted():
    kept = KeptBatches()
    data = made_logs.batch(0, ((b"key", b"a"), (b"key", b"b"), (b"key", b"c")))
    three = Batch(0, (DataRecord("a"), DataRecord("b"), DataRecord("c")))
    kept.arrive("orders-0", three, data)
    log = append(PartitionLog("orders-0"), three)
    kept.keep("orders-0", log.batches[0], data)
    kept.retain((delete_records(log.but(high_watermark=3), 1),))
    assert kept.find("orders-0", log.batches[0]) == data


def test_the_model_keeps_of_a_long_value_its_start_its_size_and_its_checksum():
    short, long = b"x" * TEXT_MAX, b"x" * (TEXT_MAX + 1)
    values = [
        r.value for r in records_of(batch_in(made_logs.batch(0, ((b"k", short), (b"k", long)))))
    ]
    assert values[0] == short.decode()
    assert values[1].startswith(short.decode() + "… (1,001 bytes, CRC-32C ")
    other = records_of(batch_in(made_logs.batch(0, ((b"k", b"x" * TEXT_MAX + b"y"),))))
    assert other[0].value != values[1]


class Sender(Producer):
    """A producer without transactions, whose records have keys and bytes that are no text."""

    def produce(self, number, *, answered=True):
        data = made_logs.batch(0, ((b"key %d" % number, b"\xff" * 500),))
        leader = self.cluster.world.image.leader_of("orders-0")
        part = {"Index": 0, "Records": data}
        said = {
            "TransactionalId": None,
            "Acks": -1,
            "TimeoutMs": 1_000,
            "TopicData": ({"TopicId": TOPIC_ID, "PartitionData": (part,)},),
        }
        if answered:
            self.ask(leader, raw.PRODUCE, **said)
            return
        # The batch is in the log, and the connection breaks before the response is delivered.
        caller = self.cluster.connect(leader)
        self.cluster.rules.append(rule("lose the 1st ProduceResponse"))
        self.cluster.feed(caller, encode_frame(raw.PRODUCE, 13, **said)[4:])
        assert not caller.out

    def read(self):
        """Return (offset, key) of each record from the log's start on."""
        leader = self.cluster.world.image.leader_of("orders-0")
        log = self.cluster.world.logs["orders-0"]
        wanted = {"Partition": 0, "FetchOffset": log.start_offset, "PartitionMaxBytes": 10_000_000}
        told = self.ask(
            leader,
            raw.FETCH,
            MaxWaitMs=0,
            MinBytes=0,
            MaxBytes=10_000_000,
            IsolationLevel=0,
            Topics=({"TopicId": TOPIC_ID, "Partitions": (wanted,)},),
        )
        (part,) = told["Responses"][0]["Partitions"]
        assert part["ErrorCode"] == 0
        found = []
        for each in batches(part["Records"] or b"", "what was fetched"):
            for record in each.records:
                assert record.value == b"\xff" * 500
                found.append((record.offset, record.key))
        return found


def test_a_reader_gets_each_record_as_it_was_sent_however_much_was_sent(monkeypatch):
    monkeypatch.setattr(served_cluster, "SENT_MAX", 8_000)
    monkeypatch.setattr(retention, "BYTES_MAX", 60_000)
    run, starts = Sender(), set()
    for number in range(120):
        run.produce(number)
        log = run.cluster.world.logs["orders-0"]
        starts.add(log.start_offset)
        if number % 7 == 0:
            assert run.read() == [(n, b"key %d" % n) for n in range(log.start_offset, number + 1)]
    assert run.cluster.trace.depth < run.cluster.steps  # no steps are kept any more
    assert len(starts) > 2  # the oldest records were deleted, and no others were changed
    kept = run.cluster.desk.kept
    assert kept.size < 60_000 + 3 * 8_000


def test_a_reader_gets_a_record_as_it_was_sent_when_its_producer_got_no_response():
    run = Sender()
    run.produce(0, answered=False)
    run.produce(1)
    assert run.read() == [(0, b"key 0"), (1, b"key 1")]


def test_what_the_kept_steps_can_read_is_there_after_the_cluster_went_back(monkeypatch):
    monkeypatch.setattr(served_cluster, "SENT_MAX", 8_000)
    monkeypatch.setattr(retention, "BYTES_MAX", 30_000)
    run = Sender()
    for number in range(100):
        run.produce(number)
    assert run.cluster.world.logs["orders-0"].start_offset > 0
    run.cluster.back(run.cluster.trace.depth)
    known = run.read()
    assert known == [(n, b"key %d" % n) for n in range(len(known))]
    assert len(known) > 4
    run.produce(500)
    assert run.read() == [*known, (len(known), b"key 500")]
