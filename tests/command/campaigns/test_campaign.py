"""campaign and audit: runs by the dozen, their events, and the way back to one of them."""

import re
import shlex

import pyarrow as pa
import pytest

from kipviz.checking.single_run.seeded_run import Task, run

WORDS = ("--scenario", "kip-1289-two-members", "--faults", "rough", "--runs", "12", "--seed", "1")
BOTH = ("--designs", "repaired,finding-D")


def test_a_campaign_counts_verdicts_and_names_the_runs_to_open(kipviz):
    done = kipviz("campaign", *WORDS, *BOTH, "--way", "loop", "--json")
    assert done.status == 1
    told = done.document
    assert told["runs"] == 24
    assert len(told["verdicts"]) == 24
    for row in told["verdicts"][:3]:
        task = Task(row["scenario"], row["design"], row["faults"], row["seed"])
        verdict = run(task)
        assert (row["status"], row["fingerprint"]) == (verdict.status, verdict.fingerprint)
    assert told["broken"]
    for line in told["broken"]:
        assert "--design finding-D" in line
    words = shlex.split(told["broken"][0])
    assert words[0] == "kipviz"
    assert kipviz(*words[1:]).status == 1
    # Progress is told every two seconds, so a slow machine hears of it before the end.
    assert all(re.fullmatch(r"\d+ of 24 runs", line) for line in done.err.splitlines())


def test_a_campaign_in_which_everything_holds_is_exit_status_0(kipviz):
    done = kipviz("campaign", *WORDS, "--designs", "repaired", "--way", "loop")
    assert done.status == 0
    assert "repaired  12    12" in done.out
    assert "kipviz replay" not in done.out


def test_the_text_of_a_campaign_tells_how_to_open_the_first_broken_run(kipviz):
    done = kipviz("campaign", *WORDS, *BOTH, "--way", "loop", "--steps-max", "500")
    (line,) = [each.strip() for each in done.out.splitlines() if "kipviz replay" in each]
    assert line.endswith("--steps-max 500")
    assert kipviz(*shlex.split(line)[1:]).status == 1


def test_the_table_of_a_campaign_has_a_line_for_each_design(kipviz):
    done = kipviz("campaign", *WORDS, *BOTH, "--way", "loop")
    assert "\\n" not in done.out
    title, heads, *rows = done.out.splitlines()
    assert title.startswith("Campaign of ")
    assert heads.split()[:2] == ["runs", "holds"]
    assert [row.split()[0] for row in rows[:2]] == BOTH[1].split(",")


def test_what_a_story_s_own_program_breaks_fails_no_design(kipviz):
    words = ("--scenario", "kip-1289-small-members", "--designs", "repaired", "--runs", "4")
    done = kipviz("campaign", *words, "--way", "loop")
    assert done.status == 0
    assert done.out.splitlines()[1].split() == ["runs", "holds", "the", "program", "errors"]
    assert "; the program, not the design: app-2 acknowledges what it reads" in done.out
    told = kipviz("campaign", *words, "--way", "loop", "--json").document
    assert told["holds"]
    assert told["broken"] == []
    assert sum(row["program"] for row in told["summary"]) > 0
    line = next(each.strip() for each in done.out.splitlines() if "kipviz replay" in each)
    again = kipviz(*shlex.split(line)[1:])
    assert again.status == 0
    assert "  the program, not the design: app-2 acknowledges what it reads" in again.out


def test_a_search_says_that_the_program_breaks_it(kipviz):
    words = ("explore", "kip-1289-small-members", "--design", "repaired", "--states-max", "3000")
    done = kipviz(*words, "--json")
    assert done.status == 0
    (example,) = done.document["counterexamples"]
    assert example["blame"].startswith("app-2 acknowledges what it reads")
    assert "the program, not the design: app-2" in kipviz(*words).out


def test_an_audit_fails_for_what_a_design_does_and_not_for_what_a_program_does():
    pytest.importorskip("pyspark")
    from kipviz.spark.audit import AuditResult

    def result(*rows):
        columns = {"scenario": [s for s, _ in rows], "finding": [f for _, f in rows]}
        return AuditResult(pa.table(columns), 2, 0)

    lost = ("kip-1289-small-members", "loss")
    assert not result(lost).fails
    assert repr(result(lost)).endswith("1 of them by the program, not the design")
    assert result(lost, ("kip-1289-small-members", "stuck")).fails
    assert result(("kip-1289-small", "duplicate")).fails
    assert result(("a story of somebody else", "loss")).fails
    assert not result().fails


@pytest.mark.spark
@pytest.mark.thorough
def test_an_audit_says_whose_program_loses_records(kipviz, spark, tmp_path):
    log = tmp_path / "events"
    words = ("--scenario", "kip-1289-small-members", "--designs", "repaired", "--runs", "2")
    assert kipviz("campaign", *words, "--events", log).status == 0
    done = kipviz("audit", log)
    assert done.status == 0
    assert "of them by the program, not the design" in done.out.splitlines()[0]
    assert "  the program, not the design: app-2 acknowledges" in done.out


@pytest.mark.spark
@pytest.mark.slow
def test_an_audit_finds_by_its_events_what_the_campaign_broke(kipviz, spark, tmp_path):
    log = tmp_path / "events"
    done = kipviz("campaign", *WORDS, *BOTH, "--events", log, "--json")
    assert done.status == 1
    broken = {v["seed"] for v in done.document["verdicts"] if v["broken"] == "atomic"}
    audit = kipviz("audit", log, "--json")
    assert audit.status == 1
    told = audit.document
    assert told["runs"] == 24
    found = {f["seed"] for f in told["findings"] if f["finding"] == "duplicate"}
    assert found
    assert found <= broken
    assert {f["design"] for f in told["findings"]} == {"finding-D"}
    assert sum(told["counts"].values()) == len(told["findings"])
    assert kipviz(*shlex.split(told["findings"][0]["command"])[1:]).status == 1
    text = kipviz("audit", log)
    for finding in told["findings"]:
        assert f"{finding['finding']}: {finding['source']}@{finding['offset']}" in text.out
        assert finding["command"] in text.out


@pytest.mark.spark
@pytest.mark.slow
def test_an_audit_of_runs_that_hold_is_exit_status_0(kipviz, spark, tmp_path):
    log = tmp_path / "events"
    words = ("--scenario", "kip-1289-small", "--designs", "repaired", "--runs", "4")
    assert kipviz("campaign", *words, "--events", log).status == 0
    done = kipviz("audit", log)
    assert done.status == 0
    assert done.out == "Audit of 4 runs: 0 duplicates, 0 losses, 0 stuck records\n"


@pytest.mark.spark
def test_a_log_that_is_none_is_refused(refused, spark, tmp_path):
    assert "there is nothing at" in refused("audit", tmp_path / "none")
    (tmp_path / "empty").mkdir()
    assert "no Parquet files in it" in refused("audit", tmp_path / "empty")


def test_events_are_not_written_over_something_else(refused, tmp_path):
    (tmp_path / "events").mkdir()
    said = refused("campaign", *WORDS, *BOTH, "--events", tmp_path / "events")
    assert "there is something at" in said or "it is a folder" in said
    assert "no folder" in refused("campaign", *WORDS, *BOTH, "--events", tmp_path / "a" / "b")


def test_a_worker_that_dies_is_told_in_one_sentence(refused, monkeypatch):
    from kipviz.spark import campaign
    from kipviz.spark.sessions.failures import explain_error

    class PythonException(Exception):
        __module__ = "pyspark.errors"

    def dies(plan, *_):
        raise explain_error(
            PythonException("Python worker exited unexpectedly (crashed)\n\tat a.b.C")
        )

    monkeypatch.setattr(campaign, "in_processes", dies)
    said = refused("campaign", *WORDS, *BOTH, "--way", "processes")
    assert said.startswith("a worker process died in the middle")


@pytest.mark.spark
def test_a_master_that_is_none_is_refused(refused, spark):
    assert "is not a Spark master" in refused("campaign", *WORDS, *BOTH, "--master", "moon")
    assert "'moon' is not a Spark master" in refused("audit", "x", "--master", "moon")


def test_a_campaign_tells_a_minimal_story_and_which_rules_fired(kipviz):
    words = ("campaign", *WORDS, "--designs", "finding-D", "--way", "loop")
    done = kipviz(*words, "--shrink", "--coverage", "--json")
    (story,) = done.document["stories"]
    assert len(story["steps"]) < story["actions"] / 3
    assert story["steps"]
    fired = {(r["role"], r["rule"]): r["times"] for r in done.document["coverage"]}
    assert fired["action", "CrashBroker"] == 0
    assert fired["transaction_coordinator", "EndTxn"] > 0
    text = kipviz(*words, "--shrink", "--coverage").out
    assert "atomic breaks in" in text
    assert "never fired):" in text
