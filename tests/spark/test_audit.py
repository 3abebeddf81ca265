"""Audits against a plain fold, on logs with known faults."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kipviz.campaigns.cancellation import Cancelled, CancelSwitch
from kipviz.campaigns.plan import TASK_MODULE, known_names, make_plan
from kipviz.checking.single_run import seeded_run as real
from kipviz.spark.audit import (
    NotAnEventLog,
    audit,
    audit_log,
    only_unfinished_runs,
    read_events,
)
from kipviz.spark.workers.worker_runs import EVENT_SCHEMA, as_batch, event_rows
from tests.spark.conftest import STAND_IN
from tests.spark.event_logs import COLUMNS, END, GOOD, SMALL_LOGS, table_of
from tests.spark.reference_audit import findings

pytestmark = pytest.mark.spark


def audit_rows(spark, rows):
    """What Spark finds, after checking it against the plain fold."""
    log = spark.createDataFrame(table_of(rows))
    table = audit(log).select(*COLUMNS).toArrow().to_pylist()
    on_spark = sorted(tuple(entry.values()) for entry in table)
    assert on_spark == findings(rows)
    return [(offset, finding, step) for *_, offset, finding, step, _, _ in on_spark]


@pytest.mark.parametrize(("rows", "expected"), SMALL_LOGS)
def test_a_small_log_gives_exactly(spark, rows, expected):
    assert audit_rows(spark, rows) == expected


def test_the_stand_in_s_faults_are_found_where_they_are(spark):
    designs = ("right", "twice", "forgets", "sticks")
    plan = make_plan("copy", designs, ("calm", "rough"), runs=12, task_module=STAND_IN)
    rows = [
        dict(zip(EVENT_SCHEMA.names, event, strict=True))
        for job in range(plan.jobs)
        for event in event_rows(plan, job)
    ]
    assert audit_rows(spark, rows)
    kinds = {(r[1], r[6]) for r in findings(rows)}
    assert kinds == {("twice", "duplicate"), ("forgets", "loss"), ("sticks", "stuck")}


def test_logs_of_the_real_model_are_audited_as_the_plain_fold_does(spark):
    told = ("kip-1289-share-", "kip-1289-lock-", "kip-1289-two-", "kip-1191-", "kip-932-renew")
    scenarios = [name for name in known_names(TASK_MODULE)["scenarios"] if name.startswith(told)]
    assert len(scenarios) >= 6
    rows = []
    for scenario in scenarios:
        for design in ("repaired", "finding-I", "finding-D", "as-written"):
            task = real.Task(scenario, design, "rough", 3, steps_max=150)
            rows += [
                {name: getattr(event, name) for name in EVENT_SCHEMA.names}
                for event in real.rows(task)
            ]
    audit_rows(spark, rows)
    assert {"output_appended", "transaction_decided", "record_state", "run_ended"} <= {
        r["kind"] for r in rows
    }


def test_the_partitioning_of_a_log_does_not_change_what_is_found(spark, tmp_path):
    plan = make_plan("copy", ("twice", "sticks"), runs=20, task_module=STAND_IN)
    rows = [event for job in range(plan.jobs) for event in event_rows(plan, job)]
    for part in range(5):
        batch = as_batch(rows[part::5], EVENT_SCHEMA)
        pq.write_table(pa.Table.from_batches([batch]), tmp_path / f"{part}.parquet")
    seen = []
    result = audit_log(spark, tmp_path, lambda done, known: seen.append((done, known)))
    whole = [dict(zip(EVENT_SCHEMA.names, event, strict=True)) for event in rows]
    assert [tuple(entry.values()) for entry in result.table.select(COLUMNS).to_pylist()] == (
        findings(whole)
    )
    assert (result.runs, result.unfinished) == (40, 0)
    assert repr(result) == (
        f"Audit of 40 runs: {result.count('duplicate')} duplicates, 0 losses, "
        f"{result.count('stuck')} stuck records"
    )
    assert seen


def test_runs_that_stop_in_the_middle_are_named(spark):
    log = spark.createDataFrame(table_of([*GOOD, {**END, "seed": 2}, {**END, "seed": 3}]))
    assert [(r["seed"], r["step"]) for r in only_unfinished_runs(log).collect()] == [(1, 5)]


def test_an_audit_can_be_cancelled(spark, tmp_path):
    pq.write_table(table_of([*GOOD, END]), tmp_path / "log.parquet")
    switch = CancelSwitch()
    switch.cancel()
    with pytest.raises(Cancelled):
        audit_log(spark, tmp_path / "log.parquet", None, switch)


def test_a_log_of_smaller_whole_numbers_is_read(spark, tmp_path):
    table = table_of([*GOOD, END])
    small = [pa.field(f.name, pa.int32() if f.type == pa.int64() else f.type) for f in EVENT_SCHEMA]
    pq.write_table(table.cast(pa.schema(small)), tmp_path / "log.parquet")
    assert audit_log(spark, tmp_path / "log.parquet").runs == 1


def test_a_path_with_nothing_at_it_is_told(spark, tmp_path):
    with pytest.raises(NotAnEventLog, match=r"^there is nothing at .*/no$"):
        read_events(spark, tmp_path / "no")


def test_a_folder_without_parquet_is_told(spark, tmp_path):
    (tmp_path / "log").mkdir()
    with pytest.raises(
        NotAnEventLog, match="is not an event log: there are no Parquet files in it"
    ):
        read_events(spark, tmp_path / "log")


def test_a_file_of_another_format_is_told(spark, tmp_path):
    (tmp_path / "log.parquet").write_text("once upon a time there was a log\n" * 20)
    with pytest.raises(NotAnEventLog, match="is not an event log: it cannot be read as Parquet"):
        read_events(spark, tmp_path / "log.parquet")


def test_a_foreign_parquet_is_told_with_the_columns_it_lacks(spark, tmp_path):
    table = table_of([*GOOD, END]).drop_columns(["kind", "producer_epoch"])
    pq.write_table(table, tmp_path / "log.parquet")
    with pytest.raises(NotAnEventLog, match="it lacks the columns kind, producer_epoch"):
        read_events(spark, tmp_path / "log.parquet")


def test_a_column_of_another_type_is_told(spark, tmp_path):
    fields = [pa.field(f.name, pa.string() if f.name == "step" else f.type) for f in EVENT_SCHEMA]
    pq.write_table(table_of([END]).cast(pa.schema(fields)), tmp_path / "log.parquet")
    with pytest.raises(NotAnEventLog, match="its column step must hold whole numbers, not string"):
        read_events(spark, tmp_path / "log.parquet")
