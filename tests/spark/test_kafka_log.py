"""Kafka's logs and request logs as tables of Spark: the rows that the same reading gives without Spark."""

import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest

from kipviz.recordings.log_parts import log_folders
from kipviz.recordings.log_rows import SCHEMAS, rows_of
from kipviz.recordings.request_log import exchanges_in
from kipviz.spark.kafka_log import register
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
    found = reading.option("rows", rows).option("partBytes", 2_000).load(str(whole[0])).toArrow()
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
