"""A short soak of the served cluster; `make soak` goes on for as long as one likes."""

from __future__ import annotations

import itertools
import json
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.patience import until
from tests.soaking import __main__ as program
from tests.soaking import server_process
from tests.soaking import soak as soak_module
from tests.soaking.ledger import ABORTED, COMMITTED, UNKNOWN, Ledger
from tests.soaking.raw_client import Tally
from tests.soaking.server_process import Stuck
from tests.soaking.soak import Failed, Soak, Summary
from tests.soaking.workers import Worker

PLACE = ("orders", 0)


def soak(tmp_path, seconds, seed, **settings):
    told: list[str] = []
    summary = Soak(seed, tmp_path, told.append, **settings).run(seconds)
    assert not summary.failure, summary.line()
    return summary


def test_many_clients_and_random_faults_for_a_few_seconds(tmp_path):
    summary = soak(tmp_path, 4.0, 20, real=0, check_every_s=2.0)
    assert summary.checks >= 2
    assert summary.compared > 0
    assert sum((summary.faults or {}).values()) > 0


@pytest.mark.thorough
def test_many_clients_and_random_faults_for_two_minutes(tmp_path):
    summary = soak(tmp_path, 120.0, 21)
    assert summary.committed > 20
    assert summary.backs > 0


class Counting(Worker):
    def work(self):
        pass


def count_pieces(pace_s, seconds):
    worker = Counting("counting", 7, {}, Tally(), Ledger())
    worker.pace_s = pace_s
    worker.start()
    time.sleep(seconds)
    return worker


def test_a_client_with_a_pace_rests_between_pieces_of_work_and_a_pause_ends_its_rest():
    worker = count_pieces(1_000.0, 0.1)
    assert worker.pieces == 1
    worker.pause()
    assert worker.paused.wait(5.0)
    assert worker.pieces == 1
    worker.resume()
    until(lambda: worker.pieces == 2)
    worker.stop()
    worker.join(5.0)
    assert not worker.is_alive()


def test_a_client_without_a_pace_does_not_rest():
    worker = count_pieces(0.0, 0.1)
    worker.stop()
    worker.join(5.0)
    assert worker.pieces > 100


def test_all_clients_of_a_soak_have_its_pace_and_its_summary_says_it(tmp_path):
    made = Soak(3, tmp_path, print, real=0, pace_s=2.5)
    try:
        assert {worker.pace_s for worker in made._workers} == {2.5}
        assert "seed 3, pace 2.5 s: " in made._summary.line()
        assert asdict(made._summary)["pace_s"] == 2.5
    finally:
        made.server.end()


@pytest.mark.parametrize(
    ("pace_s", "checks", "waited_s", "fails"),
    [
        (0.0, 8, 0.0, True),
        (0.0, 7, 0.0, False),
        (60.0, 8, 239.0, False),  # four of the longest rests are not over yet
        (60.0, 8, 240.0, True),
    ],
)
def test_clients_with_a_pace_have_more_time_for_a_piece_of_work(
    tmp_path, monkeypatch, pace_s, checks, waited_s, fails
):
    made = Soak(3, tmp_path, print, real=0, pace_s=pace_s)
    try:
        made._summary.checks = checks
        monkeypatch.setattr(made, "_progress_seen", (0, 1_000.0 - waited_s))
        monkeypatch.setattr(made, "_running_s", lambda: 1_000.0)
        if fails:
            with pytest.raises(Failed, match="makes no progress any more"):
                made._look_for_progress()
        else:
            made._look_for_progress()
    finally:
        made.server.end()


@pytest.mark.parametrize(
    ("samples", "now", "fails"),
    [
        ([50] * 20 + [150] * 60, 211, True),
        ([50] * 20 + [150] * 60, 210, False),
        ([50] * 42 + [150] * 40, 150, True),  # it began to grow in the second half
        ([50] * 39 + [150] * 40, 150, False),
        ([50] * 28 + [150] * 30, 250, False),  # less than an hour
    ],
)
def test_growth_in_the_second_half_is_a_failure(tmp_path, monkeypatch, samples, now, fails):
    made = Soak(3, tmp_path, print, real=0)
    try:
        made._summary.memory_samples_mb = list(samples)
        monkeypatch.setattr(made.server, "measure", lambda: (now, 1, 1, 1.0))
        if fails:
            with pytest.raises(Failed, match="the server's memory grows"):
                made._note_memory()
        else:
            made._note_memory()
    finally:
        made.server.end()


@pytest.mark.parametrize(("limit", "value"), [("ANSWER_S", 2.0), ("ANSWER_CPU_S", 0.5)])
def test_a_server_that_does_not_answer_is_aborted_and_says_where_it_was(
    tmp_path, monkeypatch, limit, value
):
    monkeypatch.setattr(server_process, limit, value)
    made = server_process.ServerProcess(tmp_path / "err")
    try:
        if limit == "ANSWER_CPU_S":
            used = iter(range(100))  # seconds of processor time, one more at each look
            monkeypatch.setattr(made, "_cpu_s", lambda: float(next(used)))
        with pytest.raises(Stuck, match=r"(?s)no answer to 'wait-held'.*in wait_held"):
            made.do("wait-held", message="EndTxn", seconds=600)
    finally:
        made.end()


@pytest.mark.parametrize("starved", [True, False])
def test_time_in_which_a_server_waits_for_a_processor_does_not_count(
    tmp_path, monkeypatch, starved
):
    monkeypatch.setattr(soak_module, "TRIES_MIN", 1)
    made = Soak(4, tmp_path, print, real=0)
    seconds = itertools.count(0.0, 10.0)
    wrong = [OSError("no broker answers")] * 3
    clock = [0.0]

    def probe():
        clock[0] = next(seconds)
        if wrong:
            raise wrong.pop()

    try:
        monkeypatch.setattr(soak_module.time, "monotonic", lambda: clock[0])
        monkeypatch.setattr(made.server, "waited_s", lambda: clock[0] if starved else 0.0)
        monkeypatch.setattr(made.server, "do", lambda _: {"held": []})
        if starved:
            made._retry("it answers", 5.0, probe)
            assert not wrong
        else:
            with pytest.raises(Failed, match="it answers: not within 10 s, tried 2 times"):
                made._retry("it answers", 5.0, probe)
    finally:
        monkeypatch.undo()
        made.server.end()


def test_how_long_a_process_waited_for_a_processor_only_grows(tmp_path, monkeypatch):
    made = server_process.ServerProcess(tmp_path / "err")
    told = Path("/proc/self/schedstat").exists()  # elsewhere no time counts as waited
    try:
        first = made.waited_s()
        made.do("step")
        assert (first > 0) == told
        assert made.waited_s() >= first
        monkeypatch.setattr(server_process, "_run_queue_s", lambda _: 0.0)  # its threads have ended
        assert made.waited_s() >= first
    finally:
        made.end()


def test_the_cluster_goes_back_ever_more_seldom(tmp_path, monkeypatch):
    made = Soak(3, tmp_path, print, real=0)
    went = []
    try:
        for name in (
            "_pause",
            "_probe",
            "_expect_no_open_transaction",
            "_read",
            "_look",
            "_look_for_progress",
        ):
            monkeypatch.setattr(made, name, lambda: None)
        monkeypatch.setattr(made, "_back", lambda: went.append(made._summary.checks))
        for _ in range(45):
            made._check()
    finally:
        made.server.end()
    assert went == [5, 10, 20, 40]


@pytest.mark.parametrize(
    ("outcome", "offsets", "seen", "wrong"),
    [
        (COMMITTED, (0, 1), ((0, "a"), (1, "b")), ""),
        (COMMITTED, (0, 1), ((0, "a"),), "a committed record is missing"),
        (COMMITTED, (0, 1), ((0, "a"), (1, "b"), (2, "b")), "more than once"),
        (COMMITTED, (0, 5), ((0, "a"), (1, "b")), "its writer was told"),
        (COMMITTED, (0, 50), ((0, "a"),), ""),  # the reader was not there yet
        (ABORTED, (0, 1), (), ""),
        (ABORTED, (0, 1), ((1, "b"),), "of an aborted transaction is visible"),
        (UNKNOWN, (0, 1), (), ""),
        (UNKNOWN, (0, 1), ((0, "a"), (1, "b")), ""),
        (UNKNOWN, (0, 1), ((0, "a"),), "visible in part"),
        (UNKNOWN, (0, -1), ((0, "a"),), ""),  # nothing is known about the second record
    ],
)
def test_the_ledger_tells_what_the_logs_contradict(outcome, offsets, seen, wrong):
    ledger = Ledger()
    written = ledger.begin("w")
    written.records = dict(zip("ab", ((PLACE, offset) for offset in offsets), strict=True))
    written.outcome = outcome
    for offset, value in seen:
        ledger.see(PLACE, offset, value)
    found = ledger.compare({PLACE: 10})
    assert bool(found) is bool(wrong)
    assert wrong in "; ".join(found)


def test_a_run_is_appended_to_the_record(tmp_path):
    path = tmp_path / "record.json"
    for seed in (1, 2):
        program.record(Summary(seed, seconds=3.0, requests=4), "abc", path)
    assert [(run["seed"], run["requests"]) for run in json.loads(path.read_text())] == [
        (1, 4),
        (2, 4),
    ]


def test_the_record_has_what_each_run_did_and_what_failed():
    runs = json.loads(Path(program.RECORD).read_text(encoding="utf-8"))
    for run in runs:
        assert {"commit", "made", "seed", "seconds", "requests", "faults", "failure"} <= set(run)
        assert run["seconds"] > 0
        assert not run["failure"] or run["since"]  # what was done about it
