"""Kafka's logs and request logs as tables of Spark: the rows that the same reading gives without Spark."""

import shutil
import tempfile
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kipviz.recordings.auditing.audit_evidence import PartitionEnd
from kipviz.recordings.auditing.audit_findings import LogFinding
from kipviz.recordings.auditing.audit_rules import surroundings
from kipviz.recordings.auditing.log_audit import audit_logs, audit_of, audit_plan
from kipviz.recordings.files.log_parts import log_folders
from kipviz.recordings.files.log_rows import SCHEMAS, rows_of
from kipviz.recordings.files.request_log import exchanges_in
from kipviz.spark.kafka_log import register
from kipviz.spark.log_audit import (
    ENDS,
    EVIDENCE,
    FAILURE,
    FINDINGS,
    audit_logs_on,
    judge_buckets,
    read_shares,
)
from tests.recordings.made_logs import START, batch, marker, transaction, write
from tests.recordings.whole_folder import unpacked

pytestmark = pytest.mark.spark
BY_PLACE = [("topic", "ascending"), ("partition", "ascending"), ("position", "ascending")]


@pytest.fixture(scope="module")
def whole():
    folder = Path(tempfile.mkdtemp(prefix="kipviz-test-"))
    yield unpacked(folder)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def reading(spark):
    register(spark)
    return spark.read.format("kafka-log")


@pytest.mark.parametrize("rows", ["batches", "said"])
def test_spark_reads_the_rows_that_are_read_without_it(reading, whole, rows):
    found = reading.option("rows", rows).option("partBytes", 4_000).load(str(whole[0])).toArrow()
    parts = log_folders([whole[0]]).parts
    here = pa.Table.from_batches((b for p in parts for b in rows_of(p, rows)), SCHEMAS[rows])
    order = [*BY_PLACE, ("offset" if rows == "said" else "base_offset", "ascending")]
    assert found.sort_by(order).to_pylist() == here.sort_by(order).to_pylist()


def test_records_of_one_topic_have_their_headers(reading, whole):
    found = reading.option("rows", "records").option("topics", "src").load(str(whole[0])).collect()
    assert found
    assert {row.topic for row in found} == {"src"}
    assert all(isinstance(row.headers, list) for row in found)


def test_request_logs_are_tables_too(spark, reading, whole):
    requests = spark.read.format("kafka-requests").option("partBytes", 60_000).load(str(whole[1]))
    counts = {row.api: row["count"] for row in requests.groupBy("api").count().collect()}
    theirs = [exchange.api for exchange in exchanges_in(whole[1])]
    assert counts == {api: theirs.count(api) for api in theirs}


@pytest.mark.parametrize(
    ("option", "value", "why"),
    [
        ("rows", "all", "the option rows is one of batches, records, said, not 'all'"),
        ("checksums", "maybe", "the option checksums is true or false, not 'maybe'"),
        ("partBytes", "1 MB", "the option partbytes is a number of bytes from 1, not '1 MB'"),
        ("topics", "nosuch", "There is no log of a topic 'nosuch' here."),
    ],
)
def test_a_wrong_option_is_refused_in_a_sentence(spark, whole, option, value, why):
    with pytest.raises(Exception, match="(?s)" + why):
        spark.read.format("kafka-log").option(option, value).load(str(whole[0])).count()


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """Logs in which several things are wrong, of several producers, in several partitions."""
    folder = tmp_path_factory.mktemp("broken")
    rows = [(0, "ONGOING", 0), (1, "PREPARE_COMMIT", 1), (1, "COMPLETE_COMMIT", 2)]
    for pid in range(5, 9):
        name, parts = f"app-{pid}", (f"out-{pid}", "out-0")
        states = (
            transaction(k, name, pid, epoch, state, parts, at=START + 1_000 * s, start=START)
            for k, (epoch, state, s) in enumerate(rows)
        )
        write(folder, f"__transaction_state-{pid}", *states)
        late = batch(2, pid=pid, epoch=1, sequence=0, at=START + 9_000)
        first = batch(0, pid=pid, epoch=0, sequence=0)
        write(folder, f"out-{pid}", first, marker(1, pid, 1), *([late] if pid % 2 else []))
    write(
        folder,
        "out-0",
        *(batch(k, pid=k + 5, epoch=0, sequence=0) for k in range(4)),
        marker(4, 5, 1),
        marker(5, 6, 1, commit=False),
        bytes(99),
        batch(6),
    )
    return folder


def test_an_audit_on_spark_finds_what_an_audit_in_one_process_finds(spark, whole, broken):
    for folder in (broken, whole[0]):
        assert audit_logs_on(spark, [folder]) == audit_logs([folder])
    kinds = {each.kind for each in audit_logs([broken]).findings}
    assert kinds == {"hanging", "missing-marker", "wrong-marker", "damaged"}


def test_a_log_that_cannot_be_read_on_spark_is_refused_with_its_place(spark, broken):
    parts = audit_plan([broken]).partitions[0]
    gone = tuple(part.but(path=part.path + ".gone") for part in parts)
    place = pa.record_batch({"id": [0]})
    shares = (msgspec.msgpack.encode((gone,)),)
    rows = pa.Table.from_batches(read_shares([place], shares=shares, buckets=3, check_crc=True))
    (said,) = (row["said"] for row in rows.to_pylist() if row["kind"] == FAILURE)
    file, at, why = msgspec.msgpack.decode(said)
    assert file.endswith(".gone")
    assert (at, why) == (0, "The file cannot be read (No such file or directory).")


def test_evidence_of_a_log_of_many_transactions_travels_in_few_rows(broken):
    plan = audit_plan([broken])
    place = pa.record_batch({"id": [0]})
    shares = (msgspec.msgpack.encode(plan.partitions),)
    batches = list(read_shares([place], shares=shares, buckets=3, check_crc=True))
    rows = pa.Table.from_batches(batches).sort_by([("bucket", "ascending")])
    assert [row["kind"] for row in rows.to_pylist()].count(EVIDENCE) == 3
    assert {row["bucket"] for row in rows.to_pylist() if row["kind"] == EVIDENCE} == {0, 1, 2}
    ends = [
        end
        for each in rows.to_pylist()
        if each["kind"] == ENDS
        for end in msgspec.msgpack.decode(each["said"], type=list[PartitionEnd])
    ]
    around = msgspec.msgpack.encode(surroundings(ends, plan.coordinators))
    evidence = rows.filter(pc.equal(rows["kind"], EVIDENCE)).to_batches(max_chunksize=1)
    judged = pa.Table.from_batches(judge_buckets(evidence, buckets=3, around=around))
    alone = (each["said"] for each in rows.to_pylist() if each["kind"] == FINDINGS)
    found = [
        f
        for said in (*alone, *judged["said"].to_pylist())
        for f in msgspec.msgpack.decode(said, type=list[LogFinding])
    ]
    assert audit_of(found, plan, surroundings(ends, plan.coordinators)) == audit_logs([broken])
