"""How many rows a second an audit reads, beside DuckDB: python tests/bench/bench_audit.py [rows] [--without-joins].

Spark makes the log in a temporary folder, with a known number of duplicates, losses and stuck records. It is audited as
it stands (one pass), and by the joins that a log whose runs are scattered needs. Where the package duckdb is installed, a
query with the same rules reads the same files with two threads; its findings must be equal. Each way has two turns, the
first of which is cold. The aim is at most 1.5 times DuckDB. On a busy machine believe the seconds of the processor, in which
Spark's JVM and its workers are counted.
"""

import importlib
import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench_campaign import processor_seconds
from pyspark.sql import DataFrame, SparkSession

from kipviz.spark.audit import (
    FINDINGS,
    FOUND,
    RECORD,
    AuditResult,
    audit_log,
    by_joins,
    read_events,
)
from kipviz.spark.sessions.session import session, stop
from kipviz.spark.whole_runs import STATES

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
    records = (
        spark.range(rows // EVENTS_PER_RECORD // RECORDS_PER_RUN)
        .selectExpr("id AS seed", f"explode(sequence(0L, {RECORDS_PER_RUN - 1}L)) AS record")
        .selectExpr(
            f"(seed * {RECORDS_PER_RUN} + record) % {WRONG_EVERY} AS wrong",
            "record",
            "seed",
            f"explode(sequence(0, IF(record = {RECORDS_PER_RUN - 1}, 5, 4))) AS part",
        )
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


BY_DUCKDB = """
WITH event AS (SELECT * FROM read_parquet('{files}')),
decided AS (SELECT * FROM event WHERE kind = 'transaction_decided'),
output AS (
  SELECT o.*, CASE WHEN o.producer_id = -1 THEN o.step WHEN d.committed = 1 THEN d.step END AS committed_at
  FROM (SELECT * FROM event WHERE kind = 'output_appended') o ASOF LEFT JOIN decided d
    ON {same_run} AND o.producer_id = d.producer_id AND o.producer_epoch = d.producer_epoch AND d.step >= o.step
),
committed AS (
  SELECT {record}, count(*) AS outputs, min(committed_at, 2)[2] AS second_at
  FROM output WHERE committed_at IS NOT NULL GROUP BY ALL
),
last AS (
  SELECT {record}, max(delivery_count) AS deliveries, arg_max({{'state': state, 'step': step}},
    (step * 1048576 + greatest(delivery_count, -1) + 1) * 8 + list_position({states}, state)) AS state
  FROM event WHERE kind = 'record_state' GROUP BY ALL
),
fate AS (
  SELECT {record}, coalesce(outputs, 0) AS outputs, second_at, deliveries, state.state AS state, state.step AS state_at
  FROM last FULL JOIN committed USING ({record})
),
ended AS (SELECT DISTINCT {run}, true AS ended FROM event WHERE kind = 'run_ended'),
silent AS (SELECT DISTINCT {run}, source, true AS silent FROM event WHERE kind = 'no_output_expected'),
known AS (SELECT * FROM fate LEFT JOIN ended USING ({run}) LEFT JOIN silent USING ({run}, source))
SELECT {record}, 'duplicate', second_at, outputs, deliveries FROM known WHERE outputs > 1
UNION ALL
SELECT {record}, 'loss', state_at, outputs, deliveries FROM known
WHERE state = 'ACKNOWLEDGED' AND outputs = 0 AND ended AND silent IS NULL
UNION ALL
SELECT {record}, 'stuck', state_at, outputs, deliveries FROM known WHERE state = 'TX_PENDING' AND ended
"""


def by_duckdb(path: Path) -> list[tuple[Any, ...]]:
    """Return the findings of a query of DuckDB, sorted."""
    run = ("scenario", "design", "faults", "seed")
    words = {
        "files": f"{path}/*.parquet",
        "run": ", ".join(run),
        "record": ", ".join(f'"{name}"' for name in RECORD),
        "same_run": " AND ".join(f"o.{name} = d.{name}" for name in run),
        "states": list(STATES),
    }
    connection = importlib.import_module("duckdb").connect()
    connection.execute("SET threads = 2")
    return sorted(connection.execute(BY_DUCKDB.format(**words)).fetchall())


def rows_of(result: AuditResult) -> list[tuple[Any, ...]]:
    """Return the findings of an audit, sorted as those of DuckDB."""
    return sorted(tuple(row[name] for name in FOUND.names) for row in result.table.to_pylist())


def main(rows: int, *, joins: bool) -> None:
    """Make the log, audit it in each way twice, and print rows a second and what was found."""
    spark = session()
    with tempfile.TemporaryDirectory(prefix="kipviz-bench-") as folder:
        path = Path(folder, "log")
        start = time.perf_counter()
        made_log(spark, rows).write.parquet(str(path))
        size = sum(file.stat().st_size for file in path.glob("*.parquet"))
        print(
            f"made {rows:,} rows, {size / 1e6:,.0f} MB, in {time.perf_counter() - start:.1f} s",
            flush=True,
        )
        ways: dict[str, Callable[[], list[tuple[Any, ...]]]] = {
            "one pass": lambda: rows_of(audit_log(spark, path)),
        }
        if joins:
            ways["by joins"] = lambda: rows_of(by_joins(read_events(spark, path)))
        if importlib.util.find_spec("duckdb"):
            ways["DuckDB"] = lambda: by_duckdb(path)
        else:
            print("DuckDB is left out: python -m pip install duckdb")
        found, best, used = {}, {}, {}
        for turn in ("cold", "warm"):
            for way, audited in ways.items():
                start, busy = time.perf_counter(), processor_seconds()
                found[way] = audited()
                best[way] = time.perf_counter() - start
                used[way] = processor_seconds() - busy
                print(
                    f"{way}, {turn}: {best[way]:.1f} s, {rows / best[way]:,.0f} rows/s, "
                    f"{used[way]:.1f} s of processor",
                    flush=True,
                )
        expected = rows // EVENTS_PER_RECORD // WRONG_EVERY
        counts = {kind: sum(row[6] == kind for row in found["one pass"]) for kind in FINDINGS}
        assert set(counts.values()) == {expected}, counts
        assert all(each == found["one pass"] for each in found.values())
        print(f"found {counts}, equal in {len(ways)} ways")
        if "DuckDB" in ways:
            ratios = (each["one pass"] / each["DuckDB"] for each in (best, used))
            print(
                "one pass takes {:.2f} times as long as DuckDB, {:.2f} by processor".format(*ratios)
            )
    stop()


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdecimal()]
    main(numbers[0] if numbers else 10_000_000, joins="--without-joins" not in sys.argv)
