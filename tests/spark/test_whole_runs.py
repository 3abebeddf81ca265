"""Runs whose events stand together: one pass finds what a plain fold finds."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kipviz.campaigns.plan import make_plan
from kipviz.spark import audit as audits
from kipviz.spark.audit import audit_log
from kipviz.spark.whole_runs import (
    A_RUN,
    ROWS,
    UNREAD,
    UnknownLayout,
    audit_files,
    rows_of,
    whole_runs,
)
from kipviz.spark.workers.worker_runs import EVENT_SCHEMA, as_batch, event_rows
from tests.spark.conftest import STAND_IN
from tests.spark.event_logs import (
    COLUMNS,
    END,
    GOOD,
    IDENTITY,
    SMALL_LOGS,
    decision,
    output,
    row,
    state,
    table_of,
)
from tests.spark.reference_audit import findings


def audit_rows(rows):
    """What one pass finds, after checking it against the plain fold."""
    told = rows_of(table_of(rows)).to_pylist()
    in_one_pass = sorted(tuple(r[name] for name in COLUMNS) for r in told if r["finding"] != A_RUN)
    assert in_one_pass == findings(rows)
    return [(offset, finding, step) for *_, offset, finding, step, _, _ in in_one_pass]


def together(rows):
    """The rows with the events of a run one after the other, in the order in which the runs begin."""
    runs = {}
    for each in rows:
        key = tuple(each[name] for name in IDENTITY)
        runs.setdefault(key, []).append(each)
    return [each for run in runs.values() for each in run]


@pytest.mark.parametrize(("rows", "expected"), SMALL_LOGS)
def test_a_small_log_gives_exactly(rows, expected):
    assert audit_rows(together(rows)) == expected


RECORD = {"offset": st.sampled_from([0, 1, 2**40]), "source": st.sampled_from(["src-0", "src-1"])}
PRODUCER = {"producer_id": st.sampled_from([-1, 8, 9]), "epoch": st.integers(0, 1)}
STEP = st.integers(0, 6)
EVENT = st.one_of(
    st.builds(output, STEP, **PRODUCER, **RECORD),
    st.builds(decision, STEP, committed=st.integers(0, 1), **PRODUCER),
    st.builds(
        state,
        STEP,
        st.sampled_from(["ACQUIRED", "TX_PENDING", "ACKNOWLEDGED", "ARCHIVED"]),
        delivery_count=st.integers(1, 2),
        **RECORD,
    ),
    st.builds(row, st.just(0), st.just("no_output_expected"), source=RECORD["source"]),
    st.just(END),
)
RUN_OF_EVENTS = st.tuples(
    st.sampled_from(["repaired", "as-written"]), st.integers(0, 3), st.lists(EVENT, max_size=14)
)


@settings(max_examples=100, deadline=None)
@given(st.lists(RUN_OF_EVENTS, max_size=4))
def test_one_pass_finds_what_the_plain_fold_finds_in_any_runs(runs):
    audit_rows(
        together(
            [{**r, "design": design, "seed": seed} for design, seed, rows in runs for r in rows]
        )
    )


def stand_in_rows(*designs, runs=12):
    plan = make_plan("copy", designs, ("calm", "rough"), runs=runs, task_module=STAND_IN)
    events = [event for job in range(plan.jobs) for event in event_rows(plan, job)]
    return [dict(zip(EVENT_SCHEMA.names, event, strict=True)) for event in events]


def test_batches_of_any_size_are_cut_between_runs():
    rows = stand_in_rows("twice", "forgets", "sticks", "right", runs=1)
    whole = rows_of(table_of(rows))
    for size in (1, 50, len(rows)):
        parts = list(whole_runs(table_of(rows).to_batches(max_chunksize=size)))
        joined = pa.concat_tables(map(rows_of, parts))
        keys = [(name, "ascending") for name in ROWS.names]
        assert joined.sort_by(keys).to_pylist() == whole.sort_by(keys).to_pylist()
        assert size > 1 or len(parts) == 8


def test_a_run_beyond_the_bound_is_cut_and_seen_twice():
    rows = [*GOOD, END, *({**r, "seed": 2} for r in [*GOOD, END])]
    batches = table_of(rows).to_batches(max_chunksize=2)
    seeds = [
        r["seed"]
        for part in whole_runs(batches, run_events_max=4)
        for r in rows_of(part).to_pylist()
        if r["finding"] == A_RUN
    ]
    assert seeds == [1, 1, 2, 2]


def test_dictionaries_that_differ_from_batch_to_batch_name_the_same_things():
    first, second = GOOD[:2], [*GOOD[2:], output(6, 1), decision(7, 1), END]
    batches = [
        pa.RecordBatch.from_arrays(
            [
                table.column(f.name).combine_chunks().dictionary_encode()
                if pa.types.is_string(f.type)
                else table.column(f.name).combine_chunks()
                for f in EVENT_SCHEMA
            ],
            names=EVENT_SCHEMA.names,
        )
        for table in (table_of(first), table_of(second))
    ]
    (part,) = whole_runs(batches)
    told = [r["finding"] for r in rows_of(part).to_pylist()]
    assert told == [A_RUN, "duplicate"]


def test_a_missing_value_or_a_step_beyond_all_bounds_is_not_judged_here():
    with pytest.raises(UnknownLayout, match="a value of the column step is missing"):
        rows_of(table_of([*GOOD, {**END, "step": None}]))
    with pytest.raises(UnknownLayout, match="a step is beyond all bounds"):
        rows_of(table_of([*GOOD, {**END, "step": 2**39}]))


def test_a_file_that_cannot_be_read_here_is_one_row(tmp_path):
    (tmp_path / "a b.parquet").write_text("no Parquet")
    pq.write_table(table_of([END]).drop_columns(["seed"]), tmp_path / "less.parquet")
    files = [(tmp_path / name).as_uri() for name in ("a b.parquet", "less.parquet", "none.parquet")]
    files.append("unheard-of://bucket/part-0.parquet")
    share = pa.record_batch([pa.array([0])], names=["id"])
    told = pa.Table.from_batches(audit_files([share], (tuple(files),))).to_pylist()
    assert [r["finding"] for r in told] == [UNREAD] * 4


@pytest.mark.spark
def test_a_log_whose_runs_stand_together_is_audited_without_joins(spark, tmp_path, monkeypatch):
    monkeypatch.delattr(audits, "by_joins")
    rows = stand_in_rows("twice", "sticks", runs=5)
    for part, seeds in enumerate(((0, 1), (2,), (3, 4))):
        some = [r for r in rows if r["seed"] in seeds]
        pq.write_table(table_of(some), tmp_path / f"part {part}.parquet", row_group_size=50)
    result = audit_log(spark, tmp_path)
    assert [tuple(r.values()) for r in result.table.select(COLUMNS).to_pylist()] == findings(rows)
    assert (result.runs, result.unfinished) == (20, 0)


@pytest.mark.spark
def test_columns_that_stand_in_names_of_folders_are_left_to_spark(spark, tmp_path):
    rows = stand_in_rows("twice", runs=2)
    table = table_of(rows)
    for seed in (0, 1):
        some = [r for r in rows if r["seed"] == seed]
        folder = tmp_path / f"seed={seed}"
        folder.mkdir()
        pq.write_table(table_of(some).drop_columns(["seed"]), folder / "part.parquet")
    assert table.num_rows
    result = audit_log(spark, tmp_path)
    assert [tuple(r.values()) for r in result.table.select(COLUMNS).to_pylist()] == findings(rows)


@pytest.mark.spark
def test_scattered_runs_and_whole_ones_give_the_same_table(spark, tmp_path):
    batch = as_batch([tuple(r.values()) for r in stand_in_rows("twice", "forgets")], EVENT_SCHEMA)
    whole, scattered = tmp_path / "whole", tmp_path / "scattered"
    for folder, tables in (
        (whole, [pa.Table.from_batches([batch])]),
        (
            scattered,
            [pa.Table.from_batches([batch]).take(list(range(k, len(batch), 3))) for k in range(3)],
        ),
    ):
        folder.mkdir()
        for part, table in enumerate(tables):
            pq.write_table(table, folder / f"{part}.parquet")
    one, other = audit_log(spark, whole), audit_log(spark, scattered)
    assert one.table.num_rows
    assert one.table.equals(other.table)
    assert (one.runs, one.unfinished) == (other.runs, other.unfinished)
