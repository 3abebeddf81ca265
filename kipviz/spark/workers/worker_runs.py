"""The code that a worker executes: iterators from job places to rows, without Spark.

Spark passes a worker batches of one column, ``id``, and gets batches back; the loop and the processes of ``campaign``
use the same functions, and tests call them with hand-made batches. Exceptions are caught for each run, so a crash in
one of a million runs is a row with its reason, not the end of the campaign.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kipviz.campaigns.verdict_rows import one_line, verdict_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kipviz.campaigns.plan import Plan

VERDICT_SCHEMA = pa.schema(
    [
        ("job", pa.int64()),
        ("scenario", pa.string()),
        ("design", pa.string()),
        ("faults", pa.string()),
        ("seed", pa.int64()),
        ("status", pa.string()),
        ("broken", pa.string()),
        ("step", pa.int64()),
        ("reason", pa.string()),
        ("steps", pa.int64()),
        ("transactions", pa.int64()),
        ("fingerprint", pa.string()),
    ]
)

EVENT_SCHEMA = pa.schema(
    [
        ("scenario", pa.string()),
        ("design", pa.string()),
        ("faults", pa.string()),
        ("seed", pa.int64()),
        ("step", pa.int64()),
        ("kind", pa.string()),
        ("actor", pa.string()),
        ("source", pa.string()),
        ("offset", pa.int64()),
        ("state", pa.string()),
        ("delivery_count", pa.int64()),
        ("transactional_id", pa.string()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int64()),
        ("committed", pa.int64()),
        ("text", pa.string()),
    ]
)

VERDICTS_PER_BATCH = 256
EVENTS_PER_BATCH = 20_000
RUN_FAILED = "run_failed"


def verdict_batches(batches: Iterable[pa.RecordBatch], plan: Plan) -> Iterator[pa.RecordBatch]:
    """Run the job at each place and yield the verdicts, some hundred at a time."""
    rows: list[tuple[Any, ...]] = []
    for batch in batches:
        for place in batch.column(0).to_pylist():
            rows.append(verdict_row(plan, plan.job_at(place)))
            if len(rows) >= VERDICTS_PER_BATCH:
                yield as_batch(rows, VERDICT_SCHEMA)
                rows = []
    if rows:
        yield as_batch(rows, VERDICT_SCHEMA)


def event_batches(
    batches: Iterable[pa.RecordBatch], plan: Plan, jobs: tuple[int, ...] | None
) -> Iterator[pa.RecordBatch]:
    """Run the job at each place and yield its steps as event rows.

    ``jobs`` limits the log to some jobs; a place is then a position in it.
    """
    rows: list[tuple[Any, ...]] = []
    for batch in batches:
        for place in batch.column(0).to_pylist():
            for row in event_rows(plan, plan.job_at(place) if jobs is None else jobs[place]):
                rows.append(row)
                if len(rows) >= EVENTS_PER_BATCH:
                    yield as_batch(rows, EVENT_SCHEMA)
                    rows = []
    if rows:
        yield as_batch(rows, EVENT_SCHEMA)


def event_rows(plan: Plan, job: int) -> Iterator[tuple[Any, ...]]:
    """The events of one job in the order of ``EVENT_SCHEMA``; a crash ends them with its reason."""
    task = plan.task(job)
    step = 0
    try:
        for event in import_module(plan.task_module).rows(task):
            step = event.step
            yield tuple(getattr(event, name) for name in EVENT_SCHEMA.names)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a crash is a row, not the end
        unknown = ("", "", -1, "", -1, "", -1, -1, -1)
        identity = (task.scenario, task.design, task.faults, task.seed)
        yield (*identity, step, RUN_FAILED, *unknown, one_line(error))


def as_batch(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    """Rows as one Arrow batch."""
    columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
    arrays = [
        pa.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)
    ]
    return pa.record_batch(arrays, schema=schema)
