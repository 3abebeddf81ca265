"""A broker's logs in the stepper: from a folder to a run that is stepped like any other."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from kipviz.checking.search.interrupted import GoOn
from kipviz.checking.single_run.runs import Run
from kipviz.cluster.real.rebuilt_cluster import RebuiltBatch
from kipviz.core.outside.validation import path as path_given
from kipviz.core.outside.validation import several
from kipviz.designs.catalogue import design as design_named
from kipviz.recordings.decoded.cluster_metadata import (
    ClusterMetadata,
    compacted_topics,
    partitions_of,
)
from kipviz.recordings.decoded.elections import (
    LeaderDecision,
    election_times,
    elections_of,
    placements_of,
)
from kipviz.recordings.files.broker_folder import topic_ids_in
from kipviz.recordings.files.cluster_folders import ClusterFolders, bytes_of, cluster_folders
from kipviz.recordings.rebuild import (
    STOPPED,
    entries_among,
    entries_of,
    internal_partitions_of,
)
from kipviz.recordings.recorded import LEADERS, load_recording
from kipviz.recordings.recording_error import RecordingError
from kipviz.records.placement import TRANSACTION_STATE
from kipviz.scenarios.log_scenario import DESIGN, scenario_of
from kipviz.widgets.lab import stepper_of
from kipviz.widgets.progress import saying
from kipviz.widgets.stepping.stepper import Stepper

# A page of so many steps still opens at once; earlier batches are read, but are no steps.
LAST = 500
# Larger logs are opened at their end: in the stepper, each MB of small records takes about a second and 30 MB of memory.
WHOLE_BYTES = 32 << 20
WINDOW = "Only batches around {} are read, and the first ones of transactions that are open there."
# So many damaged batches are named; a log that is damaged all over has thousands.
NAMED_MAX = 10
Place: TypeAlias = str | os.PathLike[str]


class DamagedLog(UserWarning):
    """Some of the logs could not be read; the message names the files and bytes."""


def run_of_logs(
    path: Place | Sequence[Place],
    topics: Sequence[str] = (),
    last: int = LAST,
    internal_partitions: int = 0,
    *,
    torn_tail: bool = False,
    at: tuple[str, int] | None = None,
    whole: bool = False,
    go_on: GoOn | None = None,
) -> Run:
    """Read logs and return them as a run that stands at its end; its story's `not_read` names damaged batches.

    Pass several paths for several brokers of one cluster. `at` is a partition and an offset: then only the batches
    around it are read, however large the logs are. Without it, logs of more than `WHOLE_BYTES` are read around their
    last batch; with `whole` all of them. The story's `window` says what was chosen. `go_on` is called with the number
    done, the total, and what is counted. Once it returns False, the remaining logs are listed in `not_read`, or the run
    stands at the last batch that was read, and the next batches are its next steps.

    Raises:
        RecordingError: if there is no log, or none can be read, with file and byte.
        ValueError: if a number is not valid, in one sentence.
    """
    for name, number, least in (("last", last, 1), ("internal_partitions", internal_partitions, 0)):
        if type(number) is not int or number < least:
            raise ValueError(f"{name} must be a whole number of at least {least}, not {number!r}")
    places = _places(path)
    recorded = load_recording(places[0]) if (places[0] / LEADERS).exists() else None
    folders = cluster_folders(places)
    known = folders.metadata or ClusterMetadata()
    decisions = recorded.decisions if recorded is not None else folders.decisions
    damages: list[RecordingError] = []
    topic_ids = {topic_id: topic for topic, topic_id in known.topics}
    topics = several("topics", topics, "orders")
    place, window = _choose_place(folders, topics, at, whole=whole)
    if place is None:
        entries = entries_of(
            folders.partitions,
            topics,
            torn_tail=torn_tail,
            topic_ids=topic_ids,
            elected=election_times(decisions),
            compacted=compacted_topics(known),
            damages=damages,
            go_on=_name_progress(go_on, "logs read"),
        )
    else:
        entries, last = _entries_around(folders, place, last, topics, topic_ids, decisions, damages)
    if not entries and damages:
        raise damages[0]
    if not entries:
        why = f"nothing is written in {', '.join(topics) or 'these logs'}"
        raise RecordingError(", ".join(map(str, places)), 0, why)
    told = recorded.partition_counts.get(TRANSACTION_STATE) if recorded is not None else 0
    told = told or partitions_of(known, TRANSACTION_STATE)
    count = internal_partitions or told or internal_partitions_of(entries)
    led = (placements_of(decisions), elections_of(decisions, entries))
    story = scenario_of(
        entries, " and ".join(each.resolve().name for each in places), count, last, *led
    ).but(not_read=(*map(str, damages), *(f"{each.name} {each.why}" for each in folders.unread)))
    if place is not None:
        title = f"{story.title}, around offset {place[1]:,} of {place[0]}"
        story = story.but(window=window, title=title, sentence=f"{story.sentence} {window}")
    design = design_named(DESIGN)
    if left := sum(each.why == STOPPED for each in damages):
        # The part that was read is kept, so it is replayed to its end.
        story, go_on = story.but(title=f"{story.title}, of which {left} logs were not read"), None
    trace, chapters = story.play(design, _name_progress(go_on, "batches replayed"))
    return Run(story, design, story.model(design), trace, chapters)


def _entries_around(
    folders: ClusterFolders,
    at: tuple[str, int],
    most: int,
    topics: Sequence[str],
    topic_ids: Mapping[str, str],
    decisions: Sequence[LeaderDecision],
    damages: list[RecordingError],
) -> tuple[tuple[RebuiltBatch, ...], int]:
    """Return what a window has, and how many of its last entries are steps; note damaged batches in `damages`."""
    # A window needs numpy, which a page lacks; whole logs do not.
    from kipviz.recordings.files.log_window import window_at

    window = window_at(folders, *at, most, topics)
    damages += window.damages
    ids = {**topic_ids, **topic_ids_in(folders.partitions)}
    entries = entries_among(
        window.partitions, ids, elected=election_times(decisions), damages=damages
    )
    return entries, max(1, sum(entry.at_ms >= window.begins_ms for entry in entries))


def _choose_place(
    folders: ClusterFolders, topics: Sequence[str], at: tuple[str, int] | None, *, whole: bool
) -> tuple[tuple[str, int] | None, str]:
    """Return where to open a window, None for the logs as a whole, and a sentence about the window."""
    if at is not None:
        return at, WINDOW.format(f"offset {at[1]:,} of {at[0]}")
    size = bytes_of(folders.partitions, topics)
    if whole or size <= WHOLE_BYTES:
        return None, ""
    from kipviz.recordings.files.log_window import end_of

    partition, offset = end_of(folders, topics)
    end = f"offset {offset:,} of {partition}, where the {size / 1e6:,.0f} MB of logs end,"
    return (partition, offset), WINDOW.format(end)


def _name_progress(go_on: GoOn | None, what: str) -> Callable[[int, int], bool] | None:
    return None if go_on is None else lambda done, there_are: go_on(done, there_are, what)


def _places(path: Place | Sequence[Place]) -> tuple[Path, ...]:
    """Return the named folders: one, or those of several brokers.

    Raises:
        ValueError: if one is not a path, or none is named.
    """
    if not isinstance(path, list | tuple):
        return (path_given("the folder of logs", path),)
    if not path:
        raise ValueError("name at least one broker's folder of logs")
    return tuple(path_given("a folder of logs", each) for each in path)


def _warn_of(not_read: Sequence[str]) -> None:
    """Name what could not be read; the title says where reading was stopped."""
    damaged = [each for each in not_read if not each.endswith(STOPPED)]
    if damaged:
        more = f"; and {len(damaged) - NAMED_MAX} more" if len(damaged) > NAMED_MAX else ""
        listed = "; ".join(damaged[:NAMED_MAX])
        warnings.warn(f"Not read: {listed}{more}", DamagedLog, stacklevel=3)


def step_of(run: Run, partition: str, offset: int) -> int:
    """Return the step of a rebuilt run at which the batch with a partition's offset is read.

    If no batch has the offset (it is damaged, or was deleted), it is the next batch, or else the last one.
    """
    model: Any = run.model
    own = [number for number, e in enumerate(model.entries) if e.partition == partition]
    behind = (number for number in own if model.entries[number].batch.last_offset >= offset)
    number = next(behind, own[-1])
    return max(0, number + 1 - model.skipped)


def rebuild(
    path: Place | Sequence[Place],
    topics: Sequence[str] = (),
    last: int = LAST,
    internal_partitions: int = 0,
    *,
    torn_tail: bool = False,
    at: tuple[str, int] | None = None,
    whole: bool = False,
) -> Stepper:
    """Open a broker's logs in the stepper, at their end or at an offset: every batch is a step.

    Args:
        path: a broker's folder of logs, or one partition's, such as `__transaction_state-45`; for several brokers of
            one cluster a list of folders.
        topics: the user topics to read besides Kafka's internal ones; default: all.
        last: how many batches are steps; earlier ones are read at the start.
        internal_partitions: how many partitions each internal topic has; by default it is detected.
        torn_tail: True if the files were copied from a running broker, so that a truncated end is no damage.
        at: a partition and an offset, such as a finding of an audit names: only the batches around it are read.
        whole: read logs of any size from their beginning; else of more than 32 MB only the batches around the last one
            are read, and the story says so.

    A batch that is damaged, and a log that cannot be read, is passed over, and a warning names it with file and byte.
    A notebook's stop button ends a long read: the stepper then stands at the last batch that was read, and can continue
    from there.

    Example:
        >>> import kipviz
        >>> kipviz.rebuild("tests/recordings/kafka-4.4.0/commit-and-abort").last_step
        34

    Raises:
        RecordingError: if there is no log, or none can be read, with file and byte.
        ValueError: if a number is not valid, in one sentence.
    """
    with saying(lambda done, there_are, what: f"{done:,} of {there_are:,} {what}") as go_on:
        run = run_of_logs(
            path,
            topics,
            last,
            internal_partitions,
            torn_tail=torn_tail,
            at=at,
            whole=whole,
            go_on=go_on,
        )
        stepper = stepper_of(run, progress=lambda *done: go_on(*done, "steps drawn")).last()
    _warn_of(run.scenario.not_read)  # type: ignore[attr-defined]
    if at is not None:
        stepper.step = min(step_of(run, *at), stepper.last_step)
    return stepper
