"""A broker's answers held against the model, with a line of how far it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from kipviz.recordings.files.request_log import UTC
from kipviz.recordings.judging.report import Judge, Report, in_this_process, report
from kipviz.recordings.request_context.evidence import NO_SETTINGS, WORLDS_MAX
from kipviz.widgets.progress import saying


def accept(
    folder: str | Path | Sequence[str | Path],
    requests: str | Path | Sequence[str | Path | Sequence[str | Path]] | None = None,
    *,
    topics: tuple[str, ...] = (),
    utc_offset: str = UTC,
    settings: Mapping[str, str] = NO_SETTINGS,
    judge: Judge | None = None,
    worlds_max: int = WORLDS_MAX,
) -> Report:
    """Say whether the model could have given a broker's answers.

    A notebook's stop button ends a long one: the answers that were compared are in the report, and the others are said to be
    "stopped before this request".

    Args:
        folder: a recording, or a broker's folder of logs; of several brokers of one cluster a list of folders.
        requests: what the broker's logger kafka.request.logger wrote at DEBUG, in one file or several; of several brokers
            one for each folder. A recording brings its own.
        topics: the user topics to read besides Kafka's internal ones; default: all.
        utc_offset: how far the request log's times are from UTC, such as "+02:00".
        settings: the broker's settings that are not Kafka's defaults, by their names there.
        judge: what puts the requests to the model; default: this process. `spark.conformance` shares them out.
        worlds_max: of several brokers, how many states of the cluster are kept for requests of the same time.

    Example:
        >>> import kipviz
        >>> report = kipviz.accept("tests/recordings/kafka-4.4.0/commit-and-abort")
        >>> print(next(report.lines()))
        39 requests, 38 responses compared: 38 accepted, 0 refused, 0 that cannot be judged.

    Raises:
        RecordingError: if logs or requests cannot be read.
        ValueError: if the offset is none, a recording is given what it brings itself, or `worlds_max` is less than 1.
    """
    with saying(lambda done, there_are: f"{done:,} of {there_are:,} requests compared") as go_on:
        return report(
            folder,
            requests,
            topics=topics,
            utc_offset=utc_offset,
            settings=settings,
            judge=judge or partial(in_this_process, go_on=go_on),
            worlds_max=worlds_max,
        )
