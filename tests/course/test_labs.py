"""Every lab accepts at least two different right answers and refuses two wrong ones."""

from functools import cache

import pytest

import kipviz
from kipviz.checking.single_run.permalink import open_link, permalink
from kipviz.course import judging
from kipviz.course.handout import SECONDS_A_CELL, SECONDS_A_STEP, WORDS_A_MINUTE
from kipviz.course.lab import KINDS, UnknownLab, lab_named, labs, read_lab
from kipviz.scenarios.documents.bad_story import BadStory
from kipviz.scenarios.script import follow

GO, QUIET = "app-1 goes on", "quiet"
LOOP = ("maybe app-1 goes on", "quiet")
POLLED = (GO, QUIET, GO, GO, QUIET, GO)
SENT = (*POLLED, GO, GO, QUIET)
DECIDING = (*SENT, GO, QUIET, GO, GO, "until EndTxn arrives at B1")
STAGED = (*POLLED, GO, GO, QUIET, GO, QUIET)
LOCK = "the lock of src-0@100 runs out"
RESTART = ("app-1 crashes", QUIET, "app-1 starts")
COMMITTED = (QUIET, "maybe app-1 goes on") * 8

RUNS_RIGHT = {
    "copy-twice": [
        (*COMMITTED, *RESTART, *LOOP * 8),
        (*COMMITTED, QUIET, *LOOP, *RESTART, *LOOP * 9),
    ],
    "deliver-twice": [(*POLLED, LOCK, *(GO, QUIET) * 8), (*POLLED, *RESTART, *LOOP * 6)],
    "survive-the-crash": [
        (*DECIDING, "B3 crashes", QUIET, *LOOP),
        (*DECIDING, "B4 crashes", QUIET, *LOOP),
    ],
    "free-the-reader": [
        (*SENT, "app-1 crashes", "my-txn times out", QUIET),
        (*SENT, "app-1 crashes", "app-1 starts", GO, QUIET, GO, QUIET),
    ],
    "time-it-out": [
        (*SENT, "my-txn times out", QUIET, *LOOP * 4),
        (*SENT, GO, QUIET, "my-txn times out", QUIET, *LOOP * 4),
    ],
    "break-the-draft": [
        (*STAGED, GO, "until EndTxn arrives at B1", LOCK),
        (*STAGED, LOCK, GO, QUIET),
    ],
}
RUNS_WRONG = {
    "copy-twice": [(), (*RESTART, *LOOP * 8)],
    "deliver-twice": [(), (*POLLED, "B5 crashes", QUIET, *LOOP * 8)],
    "survive-the-crash": [(*SENT, "B3 crashes", QUIET), (*SENT, GO, QUIET, GO, GO, QUIET, *LOOP)],
    "free-the-reader": [(*SENT, "app-1 crashes"), (*SENT, "my-txn times out", QUIET)],
    "time-it-out": [
        (*SENT, "my-txn times out", QUIET),
        (*SENT, *RESTART, *LOOP * 4),
    ],
    "break-the-draft": [(*STAGED, GO, QUIET, *LOOP), (*POLLED, LOCK)],
}
SETTINGS_RIGHT = {
    "repair-the-lock": ["lock_expiry=pinned_until_marker", "lock_expiry=noticed_by_nobody"],
    "repair-the-marker": ["marker_epoch=equal_or_next", "marker_epoch=at_least"],
    "find-the-lock": ["record_lock_duration_ms=60000", "record_lock_duration_ms=90000"],
}
SETTINGS_WRONG = {
    "repair-the-lock": ["lock_expiry=back_to_acquired", "marker_epoch=equal"],
    "repair-the-marker": ["lock_expiry=noticed_by_nobody", "lock_expiry=back_to_acquired"],
    "find-the-lock": ["record_lock_duration_ms=41000", "app-1.work_ms=1000"],
}
GIVEN = "4 commitTransaction, then 1, on error 5: producer.commitTransaction();\n5 "
STAGE = "sendOffsetsToTransaction, on error 6: producer.sendOffsetsToTransaction(offsets, group);"
COMMIT = "5 commitTransaction, then 1, on error 6: producer.commitTransaction();\n6 "
SEND = "3 send: producer.send(output(records));\n"
PROGRAMS_RIGHT = [
    ((GIVEN, f"4 {STAGE}\n{COMMIT}"),),
    ((SEND, f"3 {STAGE}\n"), (GIVEN, f"4 send: producer.send(output(records));\n{COMMIT}")),
]
PROGRAMS_WRONG = [
    (),
    (("3 send: producer", "3 send: other"),),
]


def permalink_of(name, steps):
    """Give the permalink to a learner's run of a lab: these steps from its start."""
    exercise = kipviz.lab(name)
    run = exercise.open().lab.run_at(0, 0)
    trace = run.trace.last() if exercise.document else run.trace.first()
    for step in steps:
        trace = follow(trace, run.model, step, "a step of the test")
    return permalink(run.at(trace))


@cache
def judge_lab(name, steps):
    return kipviz.lab(name).check(permalink_of(name, steps))


def check_program(changes):
    text = kipviz.lab("write-the-client").document
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    exercise = kipviz.lab("write-the-client")
    return exercise.check(exercise.open(document=text))


@pytest.mark.parametrize(
    ("name", "steps"), [(n, s) for n, each in RUNS_RIGHT.items() for s in each]
)
def test_a_run_that_reaches_every_goal_solves_the_lab(name, steps):
    assert judge_lab(name, steps).solved, judge_lab(name, steps)


@pytest.mark.parametrize(
    ("name", "steps"), [(n, s) for n, each in RUNS_RIGHT.items() for s in each]
)
def test_the_minutes_of_a_lab_have_room_for_its_text_its_hints_and_each_step_of_an_answer(
    name, steps
):
    lab = lab_named(name)
    words = len(" ".join((lab.text, *lab.hints)).split())
    run = open_link(permalink_of(name, steps))
    made = len(run.at(run.trace.last()).trace.line) - 1
    seconds = words * 60 / WORDS_A_MINUTE + made * SECONDS_A_STEP + 2 * SECONDS_A_CELL
    assert seconds <= lab.minutes * 60


@pytest.mark.parametrize(
    ("name", "steps"), [(n, s) for n, each in RUNS_WRONG.items() for s in each]
)
def test_a_run_that_misses_a_goal_does_not_and_says_which(name, steps):
    result = judge_lab(name, steps)
    assert not result.solved
    assert not result.refused
    assert "MISSING" in result.text


@pytest.mark.parametrize(
    ("name", "change"), [(n, c) for n, each in SETTINGS_RIGHT.items() for c in each]
)
def test_a_setting_that_saves_every_run_solves_the_lab(name, change):
    exercise = kipviz.lab(name)
    assert exercise.check(exercise.open(change)).solved


@pytest.mark.parametrize(
    ("name", "change"), [(n, c) for n, each in SETTINGS_WRONG.items() for c in each]
)
def test_a_setting_that_does_not_save_every_run_does_not(name, change):
    exercise = kipviz.lab(name)
    assert not exercise.check(exercise.open(change)).solved


@pytest.mark.parametrize("changes", PROGRAMS_RIGHT)
def test_a_client_that_survives_every_crash_solves_the_lab(changes):
    assert check_program(changes).solved, check_program(changes)


@pytest.mark.parametrize("changes", PROGRAMS_WRONG)
def test_a_client_that_copies_twice_does_not(changes):
    result = check_program(changes)
    assert not result.solved
    assert result.judged[0].reached, "it works until it crashes"


def test_every_lab_is_tried_with_two_right_answers_and_two_wrong_ones():
    right = {*RUNS_RIGHT, *SETTINGS_RIGHT, "write-the-client"}
    wrong = {*RUNS_WRONG, *SETTINGS_WRONG, "write-the-client"}
    names = {lab.name for lab in labs()}
    assert names == right == wrong
    assert len(names) >= 8
    tried = (RUNS_RIGHT, RUNS_WRONG, SETTINGS_RIGHT, SETTINGS_WRONG)
    assert all(len(set(each)) >= 2 for table in tried for each in table.values())


def test_a_lab_that_nobody_worked_on_says_that_there_is_no_step_yet():
    result = kipviz.lab("survive-the-crash").check(permalink_of("survive-the-crash", ()))
    assert "markers still due: the run has no step yet" in result.text
    result = kipviz.lab("copy-twice").check(permalink_of("copy-twice", ()))
    assert "two committed copies: no property is violated in this run" in result.text


@pytest.mark.parametrize("lab", labs(), ids=lambda lab: lab.name)
def test_a_lab_that_nobody_worked_on_is_not_solved(lab):
    exercise = kipviz.lab(lab.name)
    assert not exercise.check(exercise.open()).solved


def test_a_run_of_another_scenario_or_design_is_no_answer():
    lab = kipviz.lab("survive-the-crash")
    assert "is about kip-1289-group-commit" in lab.check(kipviz.open("kip-98-stuck-lso")).text
    old = kipviz.open("kip-1289-group-commit", "kafka-tv1")
    assert "the lab under kafka" in lab.check(old).text


def test_a_setting_that_the_lab_does_not_allow_is_refused():
    lab = kipviz.lab("deliver-twice")
    result = lab.check(lab.open("crash_broker=5"))
    assert result.reached == 0
    assert "crash_broker" in result.refused


def test_the_cluster_of_a_program_lab_may_not_be_changed():
    lab = kipviz.lab("write-the-client")
    other = lab.document.replace("[a]", "[a, b]")
    assert "are not those of the lab" in lab.check(lab.open(document=other)).refused


def test_a_judge_that_does_not_search_every_state_does_not_pass_a_run(monkeypatch):
    monkeypatch.setattr(judging, "STATES_MAX", 50)
    lab = lab_named("repair-the-lock")
    link = permalink(kipviz.lab(lab.name).open("lock_expiry=pinned_until_marker").lab.run_at(0, 0))
    result = judging.judge(lab, open_link(link))
    assert "are not all" in result.text
    assert not result.solved


def test_hints_come_one_by_one_and_the_last_one_stays():
    lab = kipviz.lab("deliver-twice")
    said = [lab.hint() for _ in range(4)]
    assert said[0] != said[1] != said[2] == said[3]


def test_an_unknown_lab_is_told_with_the_nearest_one():
    with pytest.raises(UnknownLab, match="deliver-twice"):
        kipviz.lab("deliver-twic")


LAB = lab_named("deliver-twice")
TEXT = "---\nname: n\norder: 1\nminutes: 1\nscenario: s\ndesign: d\n---\n\n# T\n\nTask.\n\n"


@pytest.mark.parametrize(
    ("goals", "said"),
    [
        ("- no judge", "ends with its judge"),
        ("- g: `reached delivered twic`", "Did you mean 'delivered twice'"),
        ("- g: `faults many`", "whole number"),
        ("- g: `holds today`", "nothing may follow holds"),
        ("- g: `search crash=1`", "crash"),
    ],
)
def test_a_document_that_is_no_lab_is_refused_with_its_line(goals, said):
    with pytest.raises(BadStory, match=said) as raised:
        read_lab(f"{TEXT}## Goals\n\n{goals}\n\n## Hints\n\n- h\n", "mine.md")
    assert str(raised.value).startswith("mine.md:")


def test_every_kind_of_goal_is_used_by_a_lab():
    assert {goal.kind for lab in labs() for goal in lab.goals} == set(KINDS)
