"""The exhaustive search on Spark: level by level, with equal counts to the search in one process.

A wide level is one job: every waiting state is expanded where it is stored (``worker_search``). Reached states are sent
to the task of their sixteen-byte key, and so are the keys of all earlier levels, so that each task finds the new ones
with a set. Each level is a Parquet folder, written completely or not at all, and the next one is made from files only:
a lost worker costs its part of one level. The driver sees numbers, the paths of counterexamples and the dictionary of
parts, never states.

One worker handles many levels of few states in one job, because a job costs half a second.

A state is sent as the names of its parts (``state_bytes``), with its path. Of all shortest paths the smallest is kept,
so a counterexample is exactly the one that `checking.search.explore` finds, for every number of partitions. A bound on
the number of states is checked between levels.

Spark also decides what stays pending: backwards along the links, in one worker while they fit there and otherwise by
joins. States that do not lead back to calm are checked one by one, as in `checking.search.unresolved`.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kipviz.campaigns.cancellation import Cancelled, CancelSwitch
from kipviz.checking.search.explore import ProgressTold, Search, abstraction_of, clock_of
from kipviz.checking.search.liveness import FOR_EVER, UNDECIDED, settle
from kipviz.checking.search.search_result import (
    CANCELLED,
    Bounds,
    Counterexample,
    Explored,
    Stop,
    Stopped,
)
from kipviz.scenarios.scenario import PROPERTIES
from kipviz.spark.campaign import check_partitions, spark_schema
from kipviz.spark.saved.saved_levels import KeptLevels
from kipviz.spark.sessions.failures import CampaignFailed, explain_error, worker_died
from kipviz.spark.sessions.progress import watch_action
from kipviz.spark.sessions.session import cores, is_on_this_machine, session
from kipviz.spark.workers.package_archive import ship
from kipviz.spark.workers.state_bytes import Packing
from kipviz.spark.workers.worker_search import (
    BROKEN_HERE,
    CALM,
    KNOWN,
    LEVEL_SCHEMA,
    NARROW,
    PART,
    REACHED_SCHEMA,
    RESOLVED_SCHEMA,
    SEPARATOR,
    SETTLED_SCHEMA,
    TIMER,
    WAITING,
    encode_question,
    first_row,
    narrow_batches,
    once_batches,
    places,
    reached_batches,
    resolved_batches,
    settled_batches,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from kipviz.checking.search.reductions import Reduction
    from kipviz.core.model import Model
    from kipviz.properties.verdict import Property

T = TypeVar("T")

ATTEMPTS = 3
LINKS_AT_ONCE = 2_000_000  # about 300 MB in the one worker that follows them
_LEVELS_PER_FILE = 16
_WAITING_PER_PARTITION = 1_000
_SEEN_PER_PARTITION = 100_000
_LEVEL_SCHEMA = spark_schema(LEVEL_SCHEMA)
_NARROW_SEEN = 200_000  # keys that one worker holds
_ADAPTIVE = "spark.sql.adaptive.enabled"
_KEYS_SCHEMA = "`key` binary, `new` boolean"


def search(
    model: Model,
    bounds: Bounds = Bounds(),  # noqa: B008  a value never changes
    progress: ProgressTold | None = None,
    reductions: Iterable[Reduction] = (),
    properties: tuple[Property, ...] = PROPERTIES,
    *,
    spark: SparkSession | None = None,
    partitions: int | None = None,
    folder: str | None = None,
    resume: bool = False,
) -> Explored:
    """Visit every state that a model can reach, on Spark.

    Args:
        model: any model whose classes the workers can import.
        bounds: when to stop early; `memory_max` is rejected, because the states are in Spark's processes, whose memory
            its own settings limit, and so is `breaks_max`.
        progress: called with (states, depth) before each level, and from another thread whenever
            tasks of it end; when it returns False the search stops and keeps its results.
        reductions: as for `checking.search.explore`.
        properties: the properties to check.
        spark: the session to use; None takes ``session()``.
        partitions: Spark tasks per level; None chooses by the size of the level.
        folder: a folder that all workers can write to, needed on a cluster: levels stay there.
        resume: continue with the levels of an earlier search of the same question in the folder.

    Raises:
        ValueError: for a model that cannot be sent, a reduction that does not fit, an invalid number, a cluster without
            a folder, or a folder with another search.
        CampaignFailed: Spark failed before a level was done; in one sentence.
        SparkUnavailable: Spark is not available.
    """
    check_partitions(partitions)
    if bounds.memory_max:
        raise ValueError(
            "memory_max bounds a search in one process; on Spark the states are in Spark's processes: set "
            "spark.driver.memory and spark.executor.memory, or states_max"
        )
    if bounds.breaks_max:
        raise ValueError(
            "breaks_max ends a search in one process; on Spark a job goes down many levels before anybody asks "
            "what is broken: set depth_max or states_max"
        )
    if resume and folder is None:
        raise ValueError("a search is resumed from the folder that keeps its levels: name it")
    reductions = tuple(reductions)
    question = encode_question(model, properties, reductions)
    here = Search(model, properties, reductions)
    start = here.run(Bounds(depth_max=0))
    if not here.queue:
        return start
    spark = spark or session()
    if folder is None and not is_on_this_machine(spark):
        raise ValueError(
            "a search on a cluster needs a folder that all workers can write to, such as hdfs://..."
        )
    ship(spark)
    place = folder or Path(tempfile.mkdtemp(prefix="kipviz-search-")).as_uri()
    kept = None if folder is None else KeptLevels(spark, place, question, fresh=not resume)
    work = _Levels(spark, here, question, place, partitions, progress, kept)
    adaptive = spark.conf.get(_ADAPTIVE)
    spark.conf.set(_ADAPTIVE, "false")  # it plans every stage again, and merges small partitions
    try:
        return work.run(bounds)
    finally:
        spark.conf.set(_ADAPTIVE, adaptive)
        if folder is None:
            shutil.rmtree(place.removeprefix("file://"), ignore_errors=True)


class _Levels:
    """One search: the numbers that the driver knows, and the places of the levels."""

    def __init__(
        self,
        spark: SparkSession,
        here: Search,
        question: bytes,
        place: str,
        partitions: int | None,
        progress: ProgressTold | None,
        kept: KeptLevels | None,
    ) -> None:
        self._spark = spark
        self._kept = kept
        self._here = here
        self._question = question
        self._place = place.rstrip("/")
        self._partitions = partitions
        self._progress = progress
        self._switch = CancelSwitch()
        self._levels: list[str] = []
        self._keys: list[str] = []
        self._found: dict[str, Counterexample] = {}
        self._parts: dict[bytes, bytes] = {}
        self._waiting = 1
        self._reached = 0
        self._failure: Stopped | None = None
        self._undecided = 0
        self.states = 1
        self.transitions = 0
        self.depth = 0

    def run(self, bounds: Bounds) -> Explored:
        """Search level by level, then find what stays pending."""
        try:
            stopped = self._spread(bounds)
            if not stopped and self._here.progress_at >= 0:
                self._judge_for_ever()
        except Cancelled:
            stopped = CANCELLED
        except CampaignFailed as failure:
            if not self._levels[1:]:
                raise
            stopped = Stopped(Stop.FAILED, str(failure).rstrip("."))
        return Explored(
            self.states,
            self.transitions,
            self.depth,
            stopped is None,
            tuple(self._found[p.name] for p in self._here.properties if p.name in self._found),
            self._undecided,
            "" if stopped is None else stopped.words,
            tuple(r.name for r in self._here.reductions),
            clock_of(self._here.model),
            self._here.timers,
            abstraction_of(self._here.model),
            None if stopped is None else stopped.by,
        )

    # -- the levels ----------------------------------------------------------------------------

    def _spread(self, bounds: Bounds) -> Stopped | None:
        packing = Packing(self._parts)
        first = self._spark.createDataFrame([first_row(self._here, packing)], _LEVEL_SCHEMA)
        self._parts |= packing.fresh
        self._levels.append(self._kept_or_written("level-0", lambda: first))
        self._keys.append(self._levels[0])
        while self._waiting:
            reached = bounds.find_limit(self.states, self._reached, broken=0)
            if reached is not None:
                return reached
            self._tell()
            narrow = self._waiting <= NARROW and self.states <= _NARROW_SEEN
            following = partial(self._narrow_levels, bounds) if narrow else self._next_level
            level = self._kept_or_written(f"level-{self._reached + 1}", following)
            self._sum_up(level)
            if self._failure is not None:
                return self._failure
            self._levels.append(level)
            self._keys.append(level)
            if len(self._keys) > _LEVELS_PER_FILE:
                self._keys = [self._write_frame(self._find_known(), f"keys-{self._reached}")]
        return None

    def _those_that_wait(self) -> DataFrame:
        from pyspark.sql import functions as sql

        last = self._level(self._levels[-1]).where(sql.col("depth") == self._reached)
        waits = sql.col("new") & (sql.col("mood") != BROKEN_HERE)
        return last.where(waits).select("key", "way", "state")

    def _narrow_levels(self, bounds: Bounds) -> DataFrame:
        """The states of the next levels, searched by one worker."""
        from pyspark.sql import functions as sql

        waiting = self._those_that_wait()
        nothing = sql.lit(None).cast("binary")
        known = self._find_known().select("key", nothing.alias("way"), nothing.alias("state"))
        body = partial(
            narrow_batches,
            question=self._question,
            dictionary=self._parts,
            depth=self._reached,
            levels=bounds.depth_max - self._reached,
            states=bounds.states_max - self.states,
        )
        return waiting.unionByName(known).repartition(1).mapInArrow(body, _LEVEL_SCHEMA)

    def _next_level(self) -> DataFrame:
        """The states reached from the last level: each key once, and whether it is new."""
        from pyspark.sql import functions as sql

        body = partial(reached_batches, question=self._question, dictionary=self._parts)
        schema = spark_schema(REACHED_SCHEMA)
        reached = self._those_that_wait().mapInArrow(body, schema)
        known = self._find_known().select("key", sql.lit(KNOWN).cast("bigint").alias("mood"))
        together = reached.unionByName(known, allowMissingColumns=True)
        return together.repartition(self._partition_count(), "key").mapInArrow(
            partial(once_batches, depth=self._reached + 1), _LEVEL_SCHEMA
        )

    def _sum_up(self, level: str) -> None:
        """Add the numbers of levels, the nearest state that breaks each property, and new parts."""
        from pyspark.sql import functions as sql

        new = sql.col("new")
        columns: list[Column] = [
            sql.sum("times").alias("transitions"),
            sql.count_if(new).alias("states"),
            sql.count_if(new & (sql.col("mood") != BROKEN_HERE)).alias("waiting"),
            sql.min(sql.when(sql.col("error").isNotNull(), sql.struct("way", "error"))).alias(
                "failed"
            ),
            sql.collect_list(sql.when(sql.col("mood") == PART, sql.struct("key", "state"))).alias(
                "parts"
            ),
            sql.collect_set(
                sql.when(sql.col("mood") == TIMER, sql.struct("state", "broken"))
            ).alias("timers"),
        ]
        for at, prop in enumerate(self._here.properties):
            broken = sql.array_contains(sql.split("broken", SEPARATOR), prop.name)
            columns.append(sql.min(sql.when(new & broken, sql.col("way"))).alias(f"broken_{at}"))
        summed = self._level(level).groupBy("depth").agg(*columns).sort("depth")
        rows = self._run_job(summed.collect)
        if not rows:  # no state follows
            self.depth, self._waiting = self._reached, 0
        for row in rows:
            self._parts |= {bytes(part["key"]): bytes(part["state"]) for part in row["parts"]}
            self._here.noted.update(
                (bytes(t["state"]).decode(), t["broken"]) for t in row["timers"]
            )
            if row["failed"] is not None:
                steps = len(places(bytes(row["failed"]["way"]))) + 1
                why = f"after {steps} steps {row['failed']['error']}"
                self._failure = Stopped(Stop.FAILED, why)
                return
            self._take_over(row)

    def _take_over(self, row: Any) -> None:
        self.depth, self._reached = self._reached, row["depth"]
        self.states += row["states"]
        self.transitions += row["transitions"]
        self._waiting = row["waiting"]
        for at, prop in enumerate(self._here.properties):
            way = row[f"broken_{at}"]
            if way is not None and prop.name not in self._found:
                actions, _, states = self._follow_path(bytes(way))
                found = prop.finding(states[at])
                self._found[prop.name] = Counterexample(
                    prop.name, found.reason, actions, found.harm
                )

    def _partition_count(self) -> int:
        """One task for a thousand waiting states, with few enough keys in each."""
        if self._partitions is not None:
            return self._partitions
        wanted = max(self._waiting // _WAITING_PER_PARTITION, self.states // _SEEN_PER_PARTITION)
        return min(max(1, wanted), 4 * cores(self._spark))

    # -- pending forever ------------------------------------------------------------------------

    def _judge_for_ever(self) -> None:
        """Find the nearest state in which something stays pending."""
        from pyspark.sql import functions as sql

        everything = self._level(*self._levels)
        waiting = everything.where(sql.col("new") & (sql.col("mood") == WAITING))
        calm = everything.where(sql.col("new") & (sql.col("mood") == CALM)).select("key")
        links = everything.select(
            sql.explode("before").alias("before"), sql.col("key").alias("after")
        )
        links = links.join(waiting.select(sql.col("key").alias("before")), "before", "left_semi")
        links = self._read(self._write_frame(links, "links"), "before binary, after binary")
        resolved = self._find_resolved(links, calm.withColumnRenamed("key", "after"))
        due = waiting.join(resolved, "key", "left_anti").select("way", "state")
        due = self._read(self._write_frame(due, "due"), "way binary, state binary")
        asked_of = self._run_job(due.count)
        if not asked_of:
            return
        parts = min(asked_of, 4 * cores(self._spark))
        answers = due.repartition(parts).mapInArrow(
            partial(settled_batches, question=self._question, dictionary=self._parts),
            spark_schema(SETTLED_SCHEMA),
        )
        for_ever = sql.when(sql.col("answer") == FOR_EVER, sql.struct(sql.length("way"), "way"))
        row = self._one_row(
            answers.agg(
                sql.min(for_ever).alias("nearest"),
                sql.count_if(sql.col("answer") == UNDECIDED).alias("undecided"),
            )
        )
        self._undecided = row["undecided"]
        if row["nearest"] is not None:
            at = self._here.progress_at
            name = self._here.properties[at].name
            actions, world, states = self._follow_path(bytes(row["nearest"]["way"]))
            settled = settle(self._here.model, world, states[at])
            self._found[name] = Counterexample(name, settled.for_ever, actions, settled.harm)

    def _find_resolved(self, links: DataFrame, calm: DataFrame) -> DataFrame:
        """The keys of the states that lead back to calm by links."""
        from pyspark.sql import functions as sql

        calm = calm.join(links.select("after").distinct(), "after", "left_semi")
        if self._run_job(links.count) <= LINKS_AT_ONCE:
            rows = links.unionByName(
                calm.select(sql.lit(None).cast("binary").alias("before"), "after")
            )
            return rows.repartition(1).mapInArrow(resolved_batches, spark_schema(RESOLVED_SCHEMA))
        waves: list[str] = []
        wave = calm.withColumnRenamed("after", "key")
        while True:
            waves.append(self._write_frame(wave, f"wave-{len(waves)}"))
            last, every = (self._read(waves[-1:], "key binary"), self._read(waves, "key binary"))
            if not self._run_job(last.count):
                return every
            after = last.withColumnRenamed("key", "after")
            wave = links.join(after, "after", "left_semi").select(sql.col("before").alias("key"))
            wave = wave.distinct().join(every, "key", "left_anti")

    # -- files and jobs ------------------------------------------------------------------------

    def _level(self, *levels: str) -> DataFrame:
        return self._read(list(levels), _LEVEL_SCHEMA)

    def _find_known(self) -> DataFrame:
        """The keys of all states that were found."""
        return self._read(self._keys, _KEYS_SCHEMA).where("new")

    def _read(self, paths: str | list[str], schema: str) -> DataFrame:
        return self._spark.read.schema(schema).parquet(
            *([paths] if isinstance(paths, str) else paths)
        )

    def _write_frame(self, frame: DataFrame, name: str) -> str:
        """Write a frame, completely or not at all; return its path."""
        path = f"{self._place}/{name}"
        writer = frame.write.mode("overwrite").option("compression", "zstd")
        self._run_job(lambda: writer.parquet(path))
        return path

    def _kept_or_written(self, name: str, make: Callable[[], DataFrame]) -> str:
        """Return a level that the folder already has, or make it; it is kept once it is complete."""
        if self._kept is not None and self._kept.has(name):
            return f"{self._place}/{name}"
        path = self._write_frame(make(), name)
        if self._kept is not None:
            self._run_job(partial(self._kept.keep, name))
        return path

    def _one_row(self, frame: DataFrame) -> Any:
        return self._run_job(frame.collect)[0]

    def _run_job(self, action: Callable[[], T]) -> T:
        """Run a job; retry it if a worker was lost, because all its input is in files."""
        for left in reversed(range(ATTEMPTS)):
            try:
                return watch_action(self._spark, action, lambda *_: self._tell(), self._switch)
            except Exception as error:
                if not worker_died(error):
                    raise explain_error(error) from error
                if not left:
                    raise CampaignFailed(
                        f"a worker process died {ATTEMPTS} times at depth {self._reached + 1}"
                    ) from error
        raise AssertionError("unreachable")

    def _tell(self) -> None:
        if self._progress is not None and not self._progress(self.states, self.depth):
            self._switch.cancel()

    def _follow_path(self, way: bytes) -> tuple[tuple[Any, ...], Any, tuple[Any, ...]]:
        """Follow a path again: return its actions, its last world, and the states of the properties."""
        here = self._here
        world = here.model.initial()
        states = tuple(p.initial(world) for p in here.properties)
        actions = []
        for place in places(way):
            actions.append(here.model.enabled(world)[place])
            world, states = here.take(world, states, actions[-1])
        return tuple(actions), world, states
