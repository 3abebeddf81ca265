"""The answers of a broker compared with the model on Spark, divided by the subjects of the requests.

The driver reads the logs and the requests and sends both to the workers, which need not see the folders. A task
compares the requests of some transactional ids and groups (`recordings.judging.accept_shares`), and the results are in
the order of the shares. There is one task for each core, because in every task the model reads all logs first.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from kipviz.campaigns.cancellation import CancelSwitch, OnProgress
from kipviz.recordings.judging.accept_shares import (
    AcceptShare,
    ShareAnswers,
    ask_share,
    merge_shares,
    shares_of,
)
from kipviz.recordings.judging.request_book import RequestBook
from kipviz.recordings.recording_error import RecordingError
from kipviz.recordings.replayed_roles.answer_text import ComparedAnswer
from kipviz.recordings.request_context.evidence import Evidence
from kipviz.spark.campaign import spark_schema
from kipviz.spark.sessions.failures import explain_error
from kipviz.spark.sessions.progress import watch_action
from kipviz.spark.sessions.session import cores
from kipviz.spark.workers.package_archive import ship

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = pa.schema([("said", pa.binary())])


def judge_on_spark(
    spark: SparkSession,
    evidence: Evidence,
    on_progress: OnProgress | None = None,
    switch: CancelSwitch | None = None,
) -> tuple[RequestBook, tuple[ComparedAnswer, ...]]:
    """Compare all requests of some evidence with the model on Spark; `report(…, judge=partial(judged_on, spark))`.

    Args:
        spark: the session.
        evidence: the requests and the logs.
        on_progress: gets Spark's tasks done and known so far.
        switch: cancels the comparison when it is turned.

    Raises:
        RecordingError: if a request or an answer lacks a field of its API.
        Cancelled: the switch was turned.
        CampaignFailed: Spark failed; in one sentence.
    """
    ship(spark)
    shares = shares_of(evidence, cores(spark))
    body = partial(ask_shares, evidence=evidence, shares=shares)
    asked = spark.range(0, len(shares), 1, len(shares)).mapInArrow(body, spark_schema(ROWS))
    try:
        rows = watch_action(spark, asked.toArrow, on_progress, switch).to_pylist()
    except Exception as error:
        raise explain_error(error) from error
    # An odd request may hold numbers that no plain format has. The bytes come from our own tasks, not from a file.
    found = [pickle.loads(row["said"]) for row in rows]  # noqa: S301
    for problem in (each for each in found if isinstance(each, RecordingError)):
        raise problem
    return merge_shares(evidence, found)


def ask_shares(
    batches: Iterable[pa.RecordBatch], *, evidence: Evidence, shares: Sequence[AcceptShare]
) -> Iterator[pa.RecordBatch]:
    """Compare some shares of the requests with the model; a row has the result of one, or why it cannot be judged.

    Args:
        batches: one column with the numbers of the shares.
        evidence: the requests and the logs.
        shares: the share of each task.
    """
    for batch in batches:
        for number in batch.column(0).to_pylist():
            found: ShareAnswers | RecordingError
            try:
                found = ask_share(evidence, shares[number])
            except RecordingError as problem:
                found = problem
            said = pa.array([pickle.dumps(found)], pa.binary())
            yield pa.RecordBatch.from_arrays([said], schema=ROWS)
