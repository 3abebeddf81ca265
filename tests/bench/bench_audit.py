"""How many rows a second an audit reads: python tests/bench/bench_audit.py [rows].

Spark makes the log in a temporary folder, with a known number of duplicates, losses and stuck records.
"""

import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from kipviz.spark.audit import FINDINGS, audit_log
from kipviz.spark.session import session, stop

RECORDS_PER_RUN = 100
EVENTS_PER_RECORD = 5
WRONG_EVERY = 10_000
KIND = """
  WHEN part = 5 THEN 'run_ended'
  WHEN part = 1 OR part = 2 AND wrong = 1 THEN 'output_appended'
  WHEN part = 3 AND wrong <> 3 THEN 'transaction_decided'
  WHEN part >= 3 AND wrong = 3 THEN 'timer_fired'
"""
STATE = "WHEN part = 0 THEN 'ACQUIRED' WHEN part = 2 THEN 'TX_PENDING' WHEN part = 4 THEN 'ACKNOWLEDGED'"


def made_log(spark: SparkSession, rows: int) -> DataFrame:
    """Events of many runs, five for each source record and one at the end of a run.

    One record in ten thousand each is decided twice, lost and never resolved.
    """
    records = spark.range(rows // EVENTS_PER_RECORD).selectExpr(
        f"id % {WRONG_EVERY} AS wrong",
        f"id % {RECORDS_PER_RUN} AS record",
        f"id div {RECORDS_PER_RUN} AS seed",
        f"explode(sequence(0, IF(id % {RECORDS_PER_RUN} = {RECORDS_PER_RUN - 1}, 5, 4))) AS part",
    )
    return records.selectExpr(
        "'copy' AS scenario",
        "IF(seed % 2 = 0, 'as written', 'repaired') AS design",
        "'rough' AS faults",
        "seed",
        f"record * {EVENTS_PER_RECORD} + part AS step",
        f"CASE {KIND} ELSE 'record_state' END AS kind",
        "'share-partition-leader' AS actor",
        "IF(part IN (3, 5), '', 'src-0') AS source",
        "IF(part IN (3, 5), -1L, record) AS offset",
        f"CASE {STATE} ELSE '' END AS state",
        "1L AS delivery_count",
        "'tx' AS transactional_id",
        "IF(part IN (0, 5), -1L, 7L) AS producer_id",
        "IF(part IN (0, 5), -1L, record) AS producer_epoch",
        "IF(part = 3, IF(wrong = 2, 0L, 1L), -1L) AS committed",
        "concat('record ', record, ' of run ', seed) AS text",
    )


def main(rows: int) -> None:
    """Make the log, audit it twice, print rows a second and what was found."""
    spark = session()
    with tempfile.TemporaryDirectory(prefix="kipviz-bench-") as folder:
        path = Path(folder, "log")
        start = time.perf_counter()
        made_log(spark, rows).write.parquet(str(path))
        print(f"made {rows} rows in {time.perf_counter() - start:.1f} s")
        for turn in ("first", "second"):
            start = time.perf_counter()
            result = audit_log(spark, path)
            seconds = time.perf_counter() - start
            print(f"{turn} audit: {seconds:.1f} s, {rows / seconds:,.0f} rows/s, {result!r}")
    expected = rows // EVENTS_PER_RECORD // WRONG_EVERY
    assert all(result.count(kind) == expected for kind in FINDINGS), expected
    stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
