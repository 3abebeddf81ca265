"""Find every duplicate, loss and stuck record in an event log.

An event log is what ``event_log.write_events`` writes: one row per event of each run, a run being (scenario, design,
faults, seed). Four kinds of rows matter here:

* ``output_appended``: an output for source record (source, offset) by (producer_id, producer_epoch);
* ``transaction_decided``: the transaction of (producer_id, producer_epoch) committed or aborted; it
  decides the outputs of that pair appended before it and not decided yet;
* ``record_state``: the source record's state in its share group, and its delivery count;
* ``no_output_expected``: only groups without outputs read the source, so none of its records is lost.

From these: a *duplicate* is a source record with more than one committed output, a *loss* one that ends ACKNOWLEDGED
without any, a *stuck* record one that ends TX_PENDING. Losses and stuck records are reported for ended runs only
(``run_ended``): in a log that stops in the middle they would be guesses.

There are two ways, with the same findings. If the events of each run are together in one file, as ``write_events``
writes them, tasks read the files themselves and judge whole runs (``whole_runs``): one pass, without joins. If a run is
in two places, is too long for a task, or only Spark can read a file, the log is audited by joins and counts
(``audit``), which accept events in any order and which Spark spills to disk.

Functions named ``with_`` and ``only_`` take a DataFrame and return one; no row passes through Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as f

from kipviz.campaigns.cancellation import CancelSwitch, OnProgress
from kipviz.properties.harm import Harm
from kipviz.scenarios.applications.program_faults import THE_PROGRAM, blame_for_harm
from kipviz.scenarios.library import UnknownScenario
from kipviz.scenarios.library import scenario as scenario_named
from kipviz.spark.campaign import spark_schema
from kipviz.spark.saved.log_digests import what_is_damaged
from kipviz.spark.sessions.failures import explain_error
from kipviz.spark.sessions.progress import watch_action
from kipviz.spark.sessions.session import cores, first_line
from kipviz.spark.whole_runs import (
    A_RUN,
    DELIVERIES_MAX,
    ORDER_BASE,
    ROWS,
    RUN,
    STATES,
    STEP_SHIFT,
    UNREAD,
    audit_files,
)
from kipviz.spark.workers.package_archive import ship
from kipviz.spark.workers.worker_runs import EVENT_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

RECORD = (*RUN, "source", "offset")
_RECORD_KEY = ("place", "seed", "offset")
_PRODUCER_KEY = ("setting", "seed", "producer_id", "producer_epoch")
FINDINGS = (Harm.DUPLICATE, Harm.LOSS, Harm.STUCK)
# One finding of a kind, and several, in words.
WORDS = {
    Harm.DUPLICATE: ("duplicate", "duplicates"),
    Harm.LOSS: ("loss", "losses"),
    Harm.STUCK: ("stuck record", "stuck records"),
}
FOUND = ROWS.remove(ROWS.get_field_index("ended"))
_WHOLE_NUMBERS = {"tinyint", "smallint", "int", "bigint"}
_TEXT = {"string"}


class NotAnEventLog(ValueError):
    """The path holds no event log; the sentence says what it lacks."""


def read_events(spark: SparkSession, path: str | Path) -> DataFrame:
    """Open an event log in Parquet: a file, a folder or an address the cluster knows.

    Raises:
        NotAnEventLog: if there is nothing, it is not Parquet, a file was changed, or columns are missing or have
            another type.
    """
    here = "://" not in str(path) and Path(path).is_dir()
    if here and (damaged := what_is_damaged(Path(path))):
        raise NotAnEventLog(damaged)
    try:
        events = spark.read.parquet(str(path))
        kinds = dict(events.dtypes)
    except Exception as error:
        raise NotAnEventLog(_why_unreadable(path, error)) from error
    missing = [name for name in EVENT_SCHEMA.names if name not in kinds]
    if missing:
        raise NotAnEventLog(
            f"{path} is not an event log: it lacks {_render_names('column', missing)}"
        )
    for field in EVENT_SCHEMA:
        number = str(field.type) == "int64"
        if kinds[field.name] not in (_WHOLE_NUMBERS if number else _TEXT):
            needed = "whole numbers" if number else "text"
            raise NotAnEventLog(
                f"{path} is not an event log: its column {field.name} must hold {needed}, "
                f"not {kinds[field.name]}"
            )
    return events


def audit(events: DataFrame) -> DataFrame:
    """Everything that is wrong in the log, one row each, in no particular order.

    Columns: the run, the source record, ``finding`` (one of ``FINDINGS``), the ``step`` at which it shows, the
    committed ``outputs`` and the ``deliveries`` of the record.
    """
    keyed = events.transform(with_keys)
    found = keyed.transform(with_fates).transform(with_findings)
    certain = found.transform(partial(only_certain, keyed=keyed))
    certain = certain.transform(partial(only_where_outputs_are_expected, keyed=keyed))
    return certain.transform(partial(with_names, keyed=keyed))


def with_keys(events: DataFrame) -> DataFrame:
    """The events with one number for the text of a run and one for the text of a source record.

    Grouping by four columns of text takes three times as long as by a number (measured), and more memory than the
    driver has. The numbers are 64-bit hashes of the names alone, of which a log has a handful; seed, offset and
    producer are not hashed.
    """
    return events.select(
        "*",
        f.xxhash64("scenario", "design", "faults").alias("setting"),
        f.xxhash64("scenario", "design", "faults", "source").alias("place"),
    )


def with_decisions(keyed: DataFrame) -> DataFrame:
    """The outputs, each with ``committed_at``: the step of the commit that decided it, else null.

    Reads each producer's events backwards, carrying the decision met last. An output without a
    producer id belongs to no transaction and counts from the step it was appended.
    """
    is_decision = f.col("kind") == "transaction_decided"
    commits = f.when(f.col("committed") == 1, 1).otherwise(0)
    backwards = (
        Window.partitionBy(*_PRODUCER_KEY)
        .orderBy(f.col("step").desc(), f.col("decision").isNotNull().desc())
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    decided = f.last("decision", ignorenulls=True).over(backwards)
    alone = f.col("producer_id") == -1
    return (
        keyed.where(f.col("kind").isin("output_appended", "transaction_decided"))
        .select(
            *_PRODUCER_KEY,
            "place",
            "offset",
            "step",
            f.when(is_decision, f.col("step") * 2 + commits).alias("decision"),
            f.when(alone & ~is_decision, f.col("step")).alias("at_once"),
        )
        .withColumn("decided", decided)
        .where(f.col("decision").isNull())
        .withColumn("commit", f.when(f.col("decided") % 2 == 1, f.shiftright("decided", 1)))
        .select("setting", *_RECORD_KEY, f.coalesce("at_once", "commit").alias("committed_at"))
    )


def with_fates(keyed: DataFrame) -> DataFrame:
    """One row per source record: its last state, and the number of its committed outputs.

    Columns ``state`` (the last one, null if there was none), ``state_at``, ``deliveries``, ``outputs``, ``second_at``
    (the step of the second committed output, else null).
    """
    nothing = f.lit(None).cast("bigint")
    in_turn = Window.partitionBy(*_RECORD_KEY).orderBy("committed_at")
    outputs = (
        with_decisions(keyed)
        .where(f.col("committed_at").isNotNull())
        .withColumn("turn", f.row_number().over(in_turn))
        .withColumn("second_at", f.when(f.col("turn") == 2, f.col("committed_at")))
        .select(
            "setting",
            *_RECORD_KEY,
            nothing.alias("order"),
            nothing.alias("delivery_count"),
            f.lit(1).alias("output"),
            "second_at",
        )
    )
    states = keyed.where(f.col("kind") == "record_state").select(
        "setting",
        *_RECORD_KEY,
        _order().alias("order"),
        "delivery_count",
        f.lit(0).alias("output"),
        nothing.alias("second_at"),
    )
    names = f.array(*(f.lit(name) for name in STATES))
    return (
        states.unionByName(outputs)
        .groupBy(*_RECORD_KEY)
        .agg(
            f.max("setting").alias("setting"),
            f.max("order").alias("order"),
            f.max("delivery_count").alias("deliveries"),
            f.sum("output").alias("outputs"),
            f.min("second_at").alias("second_at"),
        )
        .withColumn("state", f.get(names, (f.col("order") % ORDER_BASE).cast("int")))
        .withColumn("state_at", f.shiftright("order", STEP_SHIFT))
        .drop("order")
    )


def with_findings(fates: DataFrame) -> DataFrame:
    """One row per thing that is wrong with a record; a record may be wrong in more than one way."""
    wrong = {
        Harm.DUPLICATE: (f.col("outputs") > 1, f.col("second_at")),
        Harm.LOSS: (
            (f.col("state") == "ACKNOWLEDGED") & (f.col("outputs") == 0),
            f.col("state_at"),
        ),
        Harm.STUCK: (f.col("state") == "TX_PENDING", f.col("state_at")),
    }
    entries = [
        f.when(is_wrong, f.struct(f.lit(finding.value).alias("finding"), step.alias("step")))
        for finding, (is_wrong, step) in wrong.items()
    ]
    return (
        fates.where(reduce(lambda a, b: a | b, (is_wrong for is_wrong, _ in wrong.values())))
        .withColumn("entry", f.explode(f.array_compact(f.array(*entries))))
        .select("setting", *_RECORD_KEY, "entry.finding", "entry.step", "outputs", "deliveries")
    )


def only_certain(findings: DataFrame, keyed: DataFrame) -> DataFrame:
    """The findings without losses and stuck records of runs that did not end."""
    ended = keyed.where(f.col("kind") == "run_ended").select("setting", "seed").distinct()
    marked = findings.join(ended.withColumn("ended", f.lit(True)), ["setting", "seed"], "left")
    sure = f.col("finding") == Harm.DUPLICATE.value
    return marked.where(sure | f.col("ended")).drop("ended")


def only_where_outputs_are_expected(findings: DataFrame, keyed: DataFrame) -> DataFrame:
    """The findings without losses from sources that only groups without outputs read in the same run."""
    silent = keyed.where(f.col("kind") == "no_output_expected").select("place", "seed").distinct()
    marked = findings.join(silent.withColumn("silent", f.lit(True)), ["place", "seed"], "left")
    return marked.where((f.col("finding") != Harm.LOSS.value) | f.col("silent").isNull()).drop(
        "silent"
    )


def with_names(findings: DataFrame, keyed: DataFrame) -> DataFrame:
    """The findings with the names behind their numbers."""
    names = keyed.select("place", "scenario", "design", "faults", "source").distinct()
    return findings.join(f.broadcast(names), "place").select(
        *RECORD, "finding", "step", "outputs", "deliveries"
    )


def only_unfinished_runs(events: DataFrame) -> DataFrame:
    """The runs whose log stops in the middle, with their last step."""
    return (
        events.groupBy(*RUN)
        .agg(
            f.max("step").alias("step"),
            f.max((f.col("kind") == "run_ended").cast("int")).alias("ended"),
        )
        .where(f.col("ended") == 0)
        .drop("ended")
    )


@dataclass(frozen=True)
class AuditResult:
    """The findings of an audit; ``table`` has the columns that ``audit`` names."""

    table: pa.Table
    runs: int
    unfinished: int

    def count(self, finding: str) -> int:
        """How many findings of one kind."""
        return self.table["finding"].to_pylist().count(finding)

    @cached_property
    def blames(self) -> tuple[str, ...]:
        """For each row, the program of its story that causes it under every design, "" if the design does."""
        rows = self.table.select(["scenario", "finding"]).to_pylist()
        return tuple(blame_of(row["scenario"], row["finding"]) for row in rows)

    @property
    def fails(self) -> bool:
        """Whether there is a finding that the design causes."""
        return not all(self.blames)

    def __repr__(self) -> str:
        counts = ((self.count(kind), *WORDS[kind]) for kind in FINDINGS)
        found = ", ".join(f"{count} {one if count == 1 else more}" for count, one, more in counts)
        rest = f" ({self.unfinished} of them not ended)" if self.unfinished else ""
        excused = sum(map(bool, self.blames))
        whose = f"; {excused} of them by {THE_PROGRAM}" if excused else ""
        return f"Audit of {self.runs} runs{rest}: {found}{whose}"


@cache
def blame_of(scenario: str, finding: str) -> str:
    """Return the program of a story that causes a finding under every design, "" if none or if the story is unknown."""
    try:
        spec = scenario_named(scenario).spec
    except UnknownScenario:
        return ""  # a log of another version, or a user's own
    return blame_for_harm(spec, Harm(finding))


def audit_log(
    spark: SparkSession,
    path: str | Path,
    on_progress: OnProgress | None = None,
    switch: CancelSwitch | None = None,
) -> AuditResult:
    """Audit an event log in Parquet and bring the findings here.

    Args:
        spark: the session.
        path: the log.
        on_progress: gets Spark's tasks done and known so far.
        switch: cancels the audit when it is turned.

    Raises:
        NotAnEventLog: see ``read_events``.
        Cancelled: the switch was turned.
        CampaignFailed: Spark failed; in one sentence.
    """
    events = read_events(spark, path)
    try:
        return watch_action(spark, partial(_audit_events, spark, events), on_progress, switch)
    except Exception as error:
        raise explain_error(error) from error


def _audit_events(spark: SparkSession, events: DataFrame) -> AuditResult:
    files = sorted(events.inputFiles())
    return _in_one_pass(spark, files) or by_joins(events)


def _in_one_pass(spark: SparkSession, files: Sequence[str]) -> AuditResult | None:
    """Audit a log whose runs are each in one place, each file by one task; None if its runs are scattered."""
    ship(spark)
    tasks = max(1, min(len(files), 8 * cores(spark)))
    shares = tuple(tuple(files[task::tasks]) for task in range(tasks))
    body = partial(audit_files, shares=shares)
    rows = spark.range(0, tasks, 1, tasks).mapInArrow(body, spark_schema(ROWS)).persist()
    try:
        places = rows.where(f.col("finding").isin(A_RUN, UNREAD)).groupBy(*RUN, "finding")
        runs = places.agg(f.count("*").alias("places"), f.max("ended").alias("ended"))
        counts = runs.agg(
            f.count("*"),
            f.count_if(~f.col("ended")),
            f.count_if((f.col("places") > 1) | (f.col("finding") == UNREAD)),
        ).collect()[0]
        if counts[2]:
            return None
        table = rows.where(f.col("finding") != A_RUN).drop("ended").toArrow()
    finally:
        rows.unpersist()
    return _result(table, counts[0], counts[1])


def by_joins(events: DataFrame) -> AuditResult:
    """Audit a log with its events in any order and place."""
    ended = (f.col("kind") == "run_ended").cast("int")
    runs = events.groupBy(*RUN).agg(f.max(ended).alias("ended"))
    counts = runs.agg(f.count("*"), f.sum(1 - f.col("ended"))).collect()[0]
    return _result(audit(events).toArrow(), counts[0], counts[1] or 0)


def _result(table: pa.Table, runs: int, unfinished: int) -> AuditResult:
    ordered = table.cast(FOUND).sort_by([(name, "ascending") for name in (*RECORD, "finding")])
    return AuditResult(ordered.combine_chunks(), runs, unfinished)


def _order() -> Column:
    """A record's state as one number that grows during its life: step, then delivery, then state."""
    rank = f.lit(None).cast("bigint")
    for number, name in enumerate(STATES):
        rank = f.when(f.col("state") == name, number).otherwise(rank)
    delivery = f.least(
        f.greatest(f.col("delivery_count"), f.lit(-1)) + 1, f.lit(DELIVERIES_MAX - 1)
    )
    return (f.col("step") * DELIVERIES_MAX + delivery) * ORDER_BASE + rank


def _why_unreadable(path: str | Path, error: Exception) -> str:
    text = str(error)
    if "PATH_NOT_FOUND" in text or "Path does not exist" in text:
        return f"there is nothing at {path}"
    if "UNABLE_TO_INFER_SCHEMA" in text or "Unable to infer schema" in text:
        return f"{path} is not an event log: there are no Parquet files in it"
    if "not a Parquet file" in text or "CANNOT_READ_FILE_FOOTER" in text or "footer" in text:
        return f"{path} is not an event log: it cannot be read as Parquet"
    return f"{path} cannot be read as an event log: {first_line(error)}"


def _render_names(noun: str, names: list[str]) -> str:
    return f"the {noun}{'s' if len(names) > 1 else ''} {', '.join(names)}"
