"""The answers of a broker against the model on Spark: the groups that one process finds."""

import json
import pickle
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from kipviz.campaigns.cancellation import Cancelled, CancelSwitch
from kipviz.command.main import main
from kipviz.recordings.judging.report import of_evidence, report
from kipviz.recordings.recording_error import RecordingError
from kipviz.recordings.request_context.evidence import of_recording
from kipviz.spark import conformance
from kipviz.spark.conformance import judge_on_spark
from tests.recordings.brokers_folders import brokers_folders
from tests.recordings.whole_folder import unpack_folder

pytestmark = pytest.mark.spark
RELEASE = Path(__file__).parents[1] / "recordings" / "kafka-4.4.0"


def test_a_recording_with_answers_of_each_group_gives_the_same_report(spark):
    evidence = of_recording(RELEASE / "share-locks")
    # Without the operator's settings the members' answers differ, and one is too odd for any plain format.
    odd = evidence.exchanges[-1]
    odd = odd.but(response=odd.response.set("errorCode", 2**70))
    topics = evidence.exchanges[-1].but(api="METADATA")
    changed = evidence.but(configs=(), exchanges=(*evidence.exchanges[:-1], odd, topics))
    seen = []
    judge = partial(judge_on_spark, spark, on_progress=lambda *now: seen.append(now))
    found = of_evidence(changed, judge)
    assert found == of_evidence(changed)
    assert found.accepted
    assert found.refused
    assert found.not_asked
    assert seen


def test_a_broker_s_own_logs_are_judged_on_spark_by_the_same_command(spark, tmp_path, capsys):
    logs, requests = unpack_folder(tmp_path)
    words = ["log", str(logs), "--accept", "--requests", str(requests), "--json"]
    assert main(words) == 0
    one = json.loads(capsys.readouterr().out)
    assert main([*words, "--spark"]) == 0
    assert json.loads(capsys.readouterr().out) == one
    assert one["accepted"] == 74


def test_the_folders_of_several_brokers_are_judged_on_spark_by_the_same_command(
    spark, tmp_path, capsys
):
    found = brokers_folders(RELEASE / "leader-move", tmp_path)
    requests = [word for _, path in found for word in ("--requests", str(path))]
    words = ["log", *(str(logs) for logs, _ in found), "--accept", *requests, "--json"]
    assert main(words) == 0
    one = json.loads(capsys.readouterr().out)
    assert main([*words, "--spark", "--worlds-max", "50"]) == 0
    assert json.loads(capsys.readouterr().out) == one
    assert one["accepted"] >= 20
    assert one["refused"] == []


def test_evidence_that_cannot_be_judged_is_a_row_with_its_place(monkeypatch):
    def fails(*_):
        raise RecordingError("wire.jsonl", 7, "A request lacks what its API has.")

    monkeypatch.setattr(conformance, "ask_share", fails)
    evidence = of_recording(RELEASE / "idempotent")
    place = pa.record_batch([pa.array([0])], names=["id"])
    (batch,) = conformance.ask_shares([place], evidence=evidence, shares=(None,))
    (row,) = batch.to_pylist()
    assert str(pickle.loads(row["said"])) == (
        "wire.jsonl, byte 7: A request lacks what its API has."
    )


def test_it_can_be_cancelled(spark):
    switch = CancelSwitch()
    switch.cancel()
    with pytest.raises(Cancelled):
        report(RELEASE / "idempotent", judge=partial(judge_on_spark, spark, switch=switch))
