"""A broker's answers compared with the model, with a line of progress."""

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
    """Check whether the model could have given a broker's answers.

    A notebook's stop button ends a long check: the report has the answers that were compared, and marks the others as
    "stopped before this request".

    Args:
        folder: a recording, or a broker's folder of logs; for several brokers of one cluster a list of folders.
        requests: the output of the broker's logger kafka.request.logger at DEBUG, in one or more files; for several
            brokers one entry for each folder. A recording contains its own.
        topics: the user topics to read besides Kafka's internal ones; default: all.
        utc_offset: the offset of the request log's times from UTC, such as "+02:00".
        settings: the broker's settings that differ from Kafka's defaults, by Kafka's names.
        judge: the function that judges the requests; by default in this process. `spark.conformance` distributes them.
        worlds_max: for several brokers, the maximum number of cluster states that are kept for requests of the same
            time.

    Example:
        >>> import kipviz
        >>> report = kipviz.accept("tests/recordings/kafka-4.4.0/commit-and-abort")
        >>> print(next(report.lines()))
        39 requests, 38 responses compared: 38 accepted, 0 refused, 0 that cannot be judged.

    Raises:
        RecordingError: if logs or requests cannot be read.
        ValueError: if the offset is not valid, a recording is given requests that it contains itself, or `worlds_max`
            is less than 1.
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
