"""`kipviz log --accept`: check that the model could have given the answers that a broker gave."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kipviz.command.arguments import count, names
from kipviz.command.bad_input import RefusedInput
from kipviz.command.campaigns.campaign import explaining, spark_for
from kipviz.command.output import Progress, answer, until_interrupted

if TYPE_CHECKING:
    from kipviz.recordings.judging.report import Judge


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    parser.add_argument(
        "--accept",
        action="store_true",
        help="say whether the model could have given the broker's answers; FOLDER is a recording, or "
        "a broker's folder of logs with --requests",
    )
    parser.add_argument(
        "--requests",
        metavar="FILE",
        nargs="+",
        action="append",
        help="with --accept: the output of the broker's logger kafka.request.logger at DEBUG; the files of a "
        "log that was rolled, in any order; with several FOLDERs once for each, in their order",
    )
    parser.add_argument(
        "--utc-offset",
        metavar="+HH:MM",
        help="with --requests: how far the broker's clock time is from UTC (+00:00)",
    )
    parser.add_argument(
        "--settings",
        type=names,
        default=(),
        metavar="NAME=VALUE[,…]",
        help="with --requests: settings of the broker that are not Kafka's defaults",
    )
    parser.add_argument(
        "--worlds-max",
        type=count,
        metavar="N",
        help="with --accept of several brokers: maximum number of cluster states in memory (20000); fewer take less "
        "memory and more time",
    )
    parser.add_argument(
        "--spark",
        action="store_true",
        help="with --accept: distribute the requests on Spark, by transactional ids and groups",
    )
    parser.add_argument(
        "--master", metavar="M", help="with --accept: Spark's master, such as local[4] or sc://..."
    )


def run(arguments: argparse.Namespace, folders: list[Path]) -> int:
    """Print how many answers were accepted, and each answer that the model could not have given.

    With one folder all request logs belong to its broker.

    Raises:
        Refused: if the logs or the requests cannot be read.
    """
    from kipviz.recordings.files.request_log import UTC
    from kipviz.recordings.judging.report import report
    from kipviz.recordings.recording_error import RecordingError
    from kipviz.recordings.request_context.evidence import WORLDS_MAX

    settings = dict(_setting(each) for each in arguments.settings)
    logs: list[list[str]] | list[str] | None = arguments.requests
    if arguments.requests is not None and len(folders) == 1:
        logs = [each for some in arguments.requests for each in some]
    try:
        with _judge(arguments) as judge:
            found = report(
                folders[0] if len(folders) == 1 else folders,
                logs,
                topics=arguments.topics,
                utc_offset=UTC if arguments.utc_offset is None else arguments.utc_offset,
                settings=settings,
                judge=judge,
                worlds_max=arguments.worlds_max or WORLDS_MAX,
            )
    except (RecordingError, ValueError) as wrong:
        raise RefusedInput(str(wrong)) from None
    answer(found.document(), list(found.lines()), as_json=arguments.json)
    return int(bool(found.refused))


@contextmanager
def _judge(arguments: argparse.Namespace) -> Iterator[Judge]:
    """Yield a function that judges the requests: in this process, or on Spark."""
    from kipviz.recordings.judging.report import in_this_process

    if not (arguments.spark or arguments.master):
        with Progress() as progress, until_interrupted(progress.requests) as go_on:
            yield partial(in_this_process, go_on=go_on)
        return
    with Progress() as progress, explaining():
        from kipviz.spark.conformance import judge_on_spark

        yield partial(judge_on_spark, spark_for(arguments.master), on_progress=progress.tasks)


def _setting(text: str) -> tuple[str, str]:
    from kipviz.brokers.settings import BrokerSettings
    from kipviz.recordings.request_context.evidence import setting_of
    from kipviz.scenarios.setting_changes import KAFKA_NAMES

    name, equals, value = text.partition("=")
    fields = BrokerSettings.__struct_fields__
    known = [kafka for kafka, ours in KAFKA_NAMES.items() if ours in fields]
    if not equals or name not in known:
        raise RefusedInput(
            f"a setting must be NAME=VALUE with one of {', '.join(known)}, not {text!r}"
        )
    try:
        setting_of(name, value)
    except ValueError as wrong:
        raise RefusedInput(str(wrong)) from None
    return name, value
