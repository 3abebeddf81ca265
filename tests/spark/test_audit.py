"""Audits against a plain fold, on logs with known faults."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kipviz.checking import task as real
from kipviz.spark.audit import (
    NotAnEventLog,
    audit,
    audit_log,
    only_unfinished_runs,
    read_events,
)
from kipviz.spark.plan import TASK_MODULE, known_names, make_plan
from kipviz.spark.progress import Cancelled, CancelSwitch
from kipviz.spark.shipped import EVENT_SCHEMA, as_batch, event_rows
from tests.spark.conftest import STAND_IN
from tests.spark.reference_audit import findings

pytestmark = pytest.mark.spark
COLUMNS = ["scenario", "design", "faults", "seed", "source", "offset"]
COLUMNS += ["finding", "step", "outputs", "deliveries"]
IDENTITY = {"scenario": "s", "design": "d", "faults": "calm", "seed": 1}
BLANK = {"actor": "", "source": "", "offset": -1, "state": "", "delivery_count": -1}
BLANK |= {"transactional_id": "", "producer_id": -1, "producer_epoch": -1, "committed": -1}


def row(step, kind, **fields):
    return {**IDENTITY, **BLANK, "text": "", "step": step, "kind": kind, **fields}


def output(step, epoch, offset=0, **fields):
    at = {"source": "src-0", "offset": offset, "producer_id": 9, "producer_epoch": epoch}
    return row(step, "output_appended", **{**at, **fields})


def decision(step, epoch, committed=1, **fields):
    of = {"producer_id": 9, "producer_epoch": epoch, "committed": committed}
    return row(step, "transaction_decided", **{**of, **fields})


def state(step, name, offset=0, delivery_count=1, **fields):
    at = {"source": "src-0", "offset": offset, "delivery_count": delivery_count, "state": name}
    return row(step, "record_state", **{**at, **fields})


END = row(99, "run_ended")


def table_of(rows):
    return pa.Table.from_pylist(rows, schema=EVENT_SCHEMA)


def found(spark, rows):
    """What Spark finds, after checking it against the plain fold."""
    log = spark.createDataFrame(table_of(rows))
    table = audit(log).select(*COLUMNS).toArrow().to_pylist()
    on_spark = sorted(tuple(entry.values()) for entry in table)
    assert on_spark == findings(rows)
    return [(offset, finding, step) for *_, offset, finding, step, _, _ in on_spark]


GOOD = [state(1, "ACQUIRED"), output(2, 0), state(3, "TX_PENDING"), decision(4, 0)]
GOOD += [state(5, "ACKNOWLEDGED")]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([*GOOD, END], [], id="a clean run has no findings"),
        pytest.param(
            [*GOOD, output(6, 1), decision(7, 1), END],
            [(0, "duplicate", 7)],
            id="a second committed output is a duplicate at its commit",
        ),
        pytest.param(
            [*GOOD, output(6, 1), decision(7, 1), output(8, 2), decision(9, 2), END],
            [(0, "duplicate", 7)],
            id="three committed outputs are one duplicate at the second commit",
        ),
        pytest.param(
            [*GOOD, output(6, 1), decision(7, 1, committed=0), END],
            [],
            id="an aborted second output is no duplicate",
        ),
        pytest.param(
            [*GOOD, output(6, 1), END], [], id="an undecided second output is no duplicate"
        ),
        pytest.param(
            [*GOOD, output(6, 0), decision(8, 0, committed=0), END],
            [],
            id="the same producer epoch decides each output once and only by the next decision",
        ),
        pytest.param(
            [*GOOD, output(6, 0), decision(8, 0), decision(9, 0, committed=0), END],
            [(0, "duplicate", 8)],
            id="a later decision does not undo an earlier one",
        ),
        pytest.param(
            [output(4, 0), decision(4, 0), output(5, 1), decision(5, 1), END],
            [(0, "duplicate", 5)],
            id="a decision in the step of its output decides it",
        ),
        pytest.param(
            [output(2, -1, producer_id=-1), *GOOD, END],
            [(0, "duplicate", 4)],
            id="an output without a producer id counts at once",
        ),
        pytest.param(
            [output(2, 0), output(3, 0), decision(4, 0), END],
            [(0, "duplicate", 4)],
            id="two outputs in one transaction are a duplicate",
        ),
        pytest.param(
            [state(1, "ACQUIRED"), output(2, 0), decision(4, 0, 0), state(5, "ACKNOWLEDGED"), END],
            [(0, "loss", 5)],
            id="an acknowledged record without a committed output is a loss",
        ),
        pytest.param(
            [state(1, "ACKNOWLEDGED"), END], [(0, "loss", 1)], id="no output at all is a loss, too"
        ),
        pytest.param(
            [state(1, "ACKNOWLEDGED"), state(3, "AVAILABLE", delivery_count=2), END],
            [],
            id="only the last state counts",
        ),
        pytest.param([state(1, "ARCHIVED"), END], [], id="an archived record is not lost"),
        pytest.param(
            [state(1, "ACQUIRED"), output(2, 0), state(3, "TX_PENDING"), decision(4, 0), END],
            [(0, "stuck", 3)],
            id="a record that ends TX_PENDING is stuck",
        ),
        pytest.param(
            [
                output(2, 0),
                decision(3, 0),
                output(4, 1),
                decision(5, 1),
                state(6, "TX_PENDING"),
                END,
            ],
            [(0, "duplicate", 5), (0, "stuck", 6)],
            id="one record can be wrong in two ways",
        ),
        pytest.param(
            [state(3, "TX_PENDING"), state(3, "ACKNOWLEDGED"), output(1, 0), decision(2, 0), END],
            [],
            id="of two states in one step the later one in a record's life counts",
        ),
        pytest.param(
            [row(0, "no_output_expected", source="src-0"), state(2, "ACKNOWLEDGED"), END],
            [],
            id="what a group acknowledges that puts nothing out is not lost",
        ),
        pytest.param(
            [row(0, "no_output_expected", source="src-1"), state(2, "ACKNOWLEDGED"), END],
            [(0, "loss", 2)],
            id="that a group puts nothing out says nothing of another source",
        ),
        pytest.param(
            [state(1, "TX_PENDING"), state(2, "ACKNOWLEDGED", offset=1)],
            [],
            id="nothing is claimed lost or stuck in a run that has not ended",
        ),
        pytest.param(
            [*GOOD, END, *({**r, "seed": 2} for r in [*GOOD, END])],
            [],
            id="the same record in two runs is no duplicate",
        ),
        pytest.param(
            [*GOOD, *({**r, "source": "src-1"} for r in GOOD if r["source"]), END],
            [],
            id="the same offset of two sources is no duplicate",
        ),
    ],
)
def test_a_small_log_gives_exactly(spark, rows, expected):
    assert found(spark, rows) == expected


def test_the_stand_in_s_faults_are_found_where_they_are(spark):
    designs = ("right", "twice", "forgets", "sticks")
    plan = make_plan("copy", designs, ("calm", "rough"), runs=12, task_module=STAND_IN)
    rows = [
        dict(zip(EVENT_SCHEMA.names, event, strict=True))
        for job in range(plan.jobs)
        for event in event_rows(plan, job)
    ]
    assert found(spark, rows)
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
    found(spark, rows)
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
        f"Audit of 40 runs: {result.count('duplicate')} duplicate, 0 loss, "
        f"{result.count('stuck')} stuck"
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
    with pytest.raises(NotAnEventLog, match=r"^There is nothing at .*/no\.$"):
        read_events(spark, tmp_path / "no")


def test_a_folder_without_parquet_is_told(spark, tmp_path):
    (tmp_path / "log").mkdir()
    with pytest.raises(NotAnEventLog, match="is no event log: there are no Parquet files in it"):
        read_events(spark, tmp_path / "log")


def test_a_file_of_another_format_is_told(spark, tmp_path):
    (tmp_path / "log.parquet").write_text("once upon a time there was a log\n" * 20)
    with pytest.raises(NotAnEventLog, match="is no event log: it cannot be read as Parquet"):
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
