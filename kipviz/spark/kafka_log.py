"""Kafka's logs as tables of Spark: `spark.read.format("kafka-log").load(FOLDER)`.

Each task reads one segment or several small ones, or one range of bytes of a large one, and yields Arrow batches;
`recordings.files.log_rows` lists the columns. Options, besides the folders for `load` (or `paths`, separated by
commas):

rows batches (default), records or said topics only these topics, separated by commas checksums true (default): a batch
whose checksum is wrong is damage; false reads headers about twice as fast partBytes a segment that is larger is read in
ranges of so many bytes (64 MB)

`spark.read.format("kafka-requests").load(FILE)` reads request logs likewise, the files of a log that was rolled
together.

Source: pyspark.sql.datasource (Python Data Source API of Spark 4).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from kipviz.recordings.files.log_parts import PART_BYTES, LogPart, log_folders
from kipviz.recordings.files.log_rows import SCHEMAS, rows_of
from kipviz.recordings.files.request_log import UTC
from kipviz.recordings.files.request_rows import REQUESTS, RequestPart, request_parts, request_rows
from kipviz.spark.campaign import spark_schema
from kipviz.spark.workers.package_archive import ship

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

LOG, OF_REQUESTS = "kafka-log", "kafka-requests"
_ANSWERS = {"true": True, "false": False}


def register(spark: SparkSession) -> None:
    """Register the formats of Kafka's logs and request logs in a session."""
    ship(spark)
    spark.dataSource.register(KafkaLog)
    spark.dataSource.register(KafkaRequests)


class _Parts(InputPartition):
    """The parts that one task reads."""

    def __init__(self, parts: tuple[LogPart | RequestPart, ...]) -> None:
        super().__init__(parts)


def in_bundles(
    parts: Sequence[LogPart | RequestPart], bytes_least: int
) -> Iterator[tuple[LogPart | RequestPart, ...]]:
    """Group small parts, because a task costs as much as reading a few megabytes."""
    bundle: list[LogPart | RequestPart] = []
    for part in parts:
        bundle.append(part)
        if sum(each.end - each.start for each in bundle) * 2 >= bytes_least:
            yield tuple(bundle)
            bundle = []
    if bundle:
        yield tuple(bundle)


class KafkaLog(DataSource):
    """The logs of one or several brokers."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return LOG

    def schema(self) -> StructType:
        """The columns, which depend on the option `rows`."""
        return spark_schema(SCHEMAS[_rows(self.options)])

    def reader(self, schema: StructType) -> DataSourceReader:
        """Plan the reading."""
        return _LogReader(dict(self.options))


class _LogReader(DataSourceReader):
    def __init__(self, options: dict[str, str]) -> None:
        self.paths = _paths(options)
        self.rows = _rows(options)
        self.topics = _several(options.get("topics", ""))
        self.check_crc = _yes(options, "checksums", "true")
        self.part_bytes = _number(options, "partbytes", PART_BYTES)

    def partitions(self) -> Sequence[_Parts]:
        found = log_folders(self.paths, self.topics, self.part_bytes)
        return [_Parts(parts) for parts in in_bundles(found.parts, self.part_bytes)]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        for part in partition.value:
            yield from rows_of(part, self.rows, check_crc=self.check_crc)


class KafkaRequests(DataSource):
    """The request logs of brokers."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return OF_REQUESTS

    def schema(self) -> StructType:
        """The columns."""
        return spark_schema(REQUESTS)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Plan the reading."""
        return _RequestReader(dict(self.options))


class _RequestReader(DataSourceReader):
    def __init__(self, options: dict[str, str]) -> None:
        self.paths = _paths(options)
        self.utc_offset = options.get("utcoffset", UTC)
        self.part_bytes = _number(options, "partbytes", PART_BYTES)

    def partitions(self) -> Sequence[_Parts]:
        found = request_parts(self.paths, self.part_bytes)
        return [_Parts(parts) for parts in in_bundles(found, self.part_bytes)]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        for part in partition.value:
            yield from request_rows(part, self.utc_offset)


def _paths(options: dict[str, str]) -> tuple[Path, ...]:
    found = _several(options.get("paths", "") or options.get("path", ""))
    if not found:
        raise ValueError("name a folder of logs: .load(FOLDER), or .option('paths', 'A,B').load()")
    return tuple(Path(each).expanduser() for each in found)


def _rows(options: Any) -> str:
    rows = options.get("rows", "batches")
    if rows not in SCHEMAS:
        raise ValueError(f"the option rows must be one of {', '.join(SCHEMAS)}, not {rows!r}")
    return str(rows)


def _several(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(",") if each.strip())


def _yes(options: dict[str, str], name: str, otherwise: str) -> bool:
    text = options.get(name, otherwise).lower()
    if text not in _ANSWERS:
        raise ValueError(f"the option {name} must be true or false, not {text!r}")
    return _ANSWERS[text]


def _number(options: dict[str, str], name: str, otherwise: int) -> int:
    text = options.get(name, str(otherwise))
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"the option {name} must be a number of bytes of at least 1, not {text!r}")
    return int(text)
