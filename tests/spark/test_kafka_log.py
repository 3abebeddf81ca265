"""Kafka's logs and request logs as tables of Spark: the rows that the same reading gives without Spark."""

import shutil
import tempfile
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kipviz.recordings.auditing.audit_evidence import surroundings
from kipviz.recordings.auditing.audit_findings import LogFinding
from kipviz.recordings.auditing.log_audit import audit_logs, audit_of, audit_plan
from kipviz.recordings.auditing.stretches import stretches_of
from kipviz.recordings.files.log_parts import log_folders
from kipviz.recordings.files.log_rows import SCHEMAS, rows_of
from kipviz.recordings.files.request_log import exchanges_in
from kipviz.spark import log_audit
from kipviz.spark.kafka_log import register
from kipviz.spark.log_audit import (
    EVIDENCE,
    EXTENTS,
    FAILURE,
    FINDINGS,
    NAMED,
    audit_logs_on,
    join_names,
    judge_buckets,
    read_shares,
)
from tests.recordings.made_logs import START, batch, marker, transaction, write
from tests.recordings.whole_folder import unpack_folder

pytestmark = pytest.mark.spark
BY_PLACE = [("topic", "ascending"), ("partition", "ascending"), ("position", "ascending")]


@pytest.fixture(scope="module")
def whole():
    folder = Path(tempfile.mkdtemp(prefix="kipviz-test-"))
    yield unpack_folder(folder)
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
        ("rows", "all", "the option rows must be one of batches, records, said, not 'all'"),
        ("checksums", "maybe", "the option checksums must be true or false, not 'maybe'"),
        (
            "partBytes",
            "1 MB",
            "the option partbytes must be a number of bytes of at least 1, not '1 MB'",
        ),
        ("topics", "nosuch", "there is no log of a topic 'nosuch' here"),
    ],
)
@pytest.mark.usefixtures("reading")
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
    seen = []
    for folder in (broken, whole[0]):
        audited = audit_logs_on(spark, [folder], on_progress=lambda *now: seen.append(now))
        assert audited == audit_logs([folder])
    assert 0 < seen[-1][0] <= seen[-1][1]
    kinds = {each.kind for each in audit_logs([broken]).findings}
    assert kinds == {"hanging", "missing-marker", "wrong-marker", "damaged"}


def test_on_spark_many_tasks_read_one_partition(spark, whole, broken, monkeypatch):
    monkeypatch.setattr(log_audit, "STRETCH_LEAST", 150)
    monkeypatch.setattr(log_audit, "STRETCH_MOST", 2_000)
    for folder in (broken, whole[0]):
        assert audit_logs_on(spark, [folder]) == audit_logs([folder])


def rows_of_shares(plan, bytes_each, shares_of=lambda stretches: [stretches]):
    """Read all stretches of a plan as tasks would."""
    shares = [msgspec.msgpack.encode(s) for s in shares_of(stretches_of(plan, bytes_each))]
    places = pa.record_batch({"id": list(range(len(shares)))})
    read = read_shares([places], shares=shares, buckets=3, check_crc=True)
    return pa.Table.from_batches(read)


def in_bucket_order(rows, kind):
    chosen = rows.filter(pc.equal(rows["kind"], kind)).sort_by("bucket")
    return chosen.to_batches(max_chunksize=1)


def test_a_log_that_cannot_be_read_on_spark_is_refused_with_its_place(spark, broken):
    plan = audit_plan([broken])
    gone = tuple(part.but(path=part.path + ".gone") for part in plan.partitions[0])
    rows = rows_of_shares(plan.but(partitions=(gone,)), 1 << 20)
    (said,) = (row["said"] for row in rows.to_pylist() if row["kind"] == FAILURE)
    file, at, why = msgspec.msgpack.decode(said)
    assert file.endswith(".gone")
    assert (at, why) == (0, "the file cannot be read (No such file or directory)")


@pytest.mark.parametrize("bytes_each", [1 << 20, 200])
def test_evidence_of_a_log_of_many_transactions_travels_in_few_rows(broken, bytes_each):
    plan = audit_plan([broken])
    rows = rows_of_shares(plan, bytes_each, lambda all_: [all_[::2], all_[1::2]])
    named = pa.Table.from_batches(join_names(in_bucket_order(rows, NAMED), buckets=3))
    if bytes_each == 200:
        assert {row["bucket"] for row in rows.to_pylist() if row["kind"] == NAMED}
    rows = pa.concat_tables([rows, named])
    buckets = [row["bucket"] for row in rows.to_pylist() if row["kind"] == EVIDENCE]
    assert set(buckets) == {0, 1, 2}
    assert len(buckets) <= 3 * 3
    told = [row["said"] for row in rows.to_pylist() if row["kind"] == EXTENTS]
    around = surroundings(log_audit.extents(told), plan.coordinators)
    evidence = in_bucket_order(rows, EVIDENCE)
    judged = judge_buckets(evidence, buckets=3, around=msgspec.msgpack.encode(around))
    said = [row["said"] for row in rows.to_pylist() if row["kind"] == FINDINGS]
    said += pa.Table.from_batches(judged)["said"].to_pylist()
    found = [f for each in said for f in msgspec.msgpack.decode(each, type=list[LogFinding])]
    assert audit_of(found, plan, around) == audit_logs([broken])
