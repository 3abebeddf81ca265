"""What the program that presses ^C takes for a good end."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from pathlib import Path

import pytest

import tests.interrupting.__main__ as program
from tests.interrupting.__main__ import NO_MOMENT, TRIES, Moments
from tests.interrupting.moments import COMMANDS, Ended
from tests.tidy.source import ROOT

WHOLE = Ended(0, '{"runs": 2, "seconds": 5}', "", 9.0, interrupted=False)
PARTLY = "kipviz: interrupted; showing the results so far\n"


@pytest.mark.parametrize(
    ("status", "err", "why"),
    [
        (130, "kipviz: interrupted\n", ""),
        (-signal.SIGINT, "", ""),
        (0, "", "status 0"),
        (1, "", "status 1"),
        (130, "Traceback (most recent call last)", "Traceback"),
        (130, "Exception ignored in: <function f>", "Exception ignored"),
    ],
)
def test_an_end_is_well_if_it_has_the_status_of_an_interruption_and_is_quiet(status, err, why):
    wrong = Ended(status, "", err, 1.0, interrupted=True).wrong()
    assert wrong.startswith(why)
    assert bool(wrong) is bool(why)


FROZEN = 'Traceback (most recent call last):\n  File "<frozen runpy>", line 189, in _run_module_as_main\nKeyboardInterrupt\n'
OURS = FROZEN.replace(
    "KeyboardInterrupt", '  File "kipviz/__init__.py", line 1, in <module>\nKeyboardInterrupt'
)


@pytest.mark.parametrize(
    ("status", "err", "why"),
    [
        (-signal.SIGINT, FROZEN, ""),
        (-signal.SIGINT, OURS, "Traceback"),
        (130, FROZEN, "Traceback"),
    ],
)
def test_what_python_says_before_it_reaches_a_line_of_ours_is_its_own(status, err, why):
    wrong = Ended(status, "", err, 1.0, interrupted=True).wrong()
    assert wrong.startswith(why)
    assert bool(wrong) is bool(why)


SITE = "Fatal Python error: init_import_site: Failed to import the site module\nTraceback (most recent call last):\n"
HACK = f'  File "{ROOT}/.venv/lib/python3/site-packages/_distutils_hack/__init__.py", line 80, in <module>\n'
RUNPY = (
    "Could not import runpy module\nTraceback (most recent call last):\n"
    '  File "/usr/lib/python3/contextlib.py", line 6, in <module>\n'
)
IN_US = f'{SITE}  File "{ROOT}/kipviz/__main__.py", line 1, in <module>\n'


@pytest.mark.parametrize(
    ("status", "err", "early"),
    [
        (1, SITE + HACK + "KeyboardInterrupt\n", True),
        (1, RUNPY + "KeyboardInterrupt\n", True),
        (1, IN_US + "KeyboardInterrupt\n", False),
        (1, FROZEN, False),
        (1, SITE, False),
        (130, RUNPY + "KeyboardInterrupt\n", False),
    ],
)
def test_a_moment_is_too_early_only_if_python_says_that_it_could_not_start(status, err, early):
    ended = Ended(status, "", err, 0.1, interrupted=True)
    assert ended.came_too_early() is early
    assert ended.wrong() != "", "another moment is drawn: nobody counts this one as well"


def test_the_name_of_a_moments_own_folder_is_no_part_of_its_answer():
    folder = Path("/somewhere/of-its-own")
    ended = Ended(0, f"{folder}/page.html: 42 steps", "", 9.0, interrupted=True).in_folder(folder)
    assert ended.came_too_late(Ended(0, "FOLDER/page.html: 42 steps", "", 9.0, interrupted=False))


def test_how_many_inputs_a_stated_time_had_room_for_is_no_part_of_an_answer():
    whole = Ended(0, "wire  2,505 inputs, 0 failed", "", 6.0, interrupted=False)
    told = "wire  1,270 inputs, {} failed"
    assert Ended(0, told.format(0), "", 6.0, interrupted=True).came_too_late(whole)
    assert not Ended(0, told.format(1), "", 6.0, interrupted=True).came_too_late(whole)


def test_a_process_that_runs_on_is_wrong_whatever_the_status():
    assert Ended(130, "", "", 1.0, interrupted=True, left=True).wrong() == "a process is left"


@pytest.mark.parametrize(
    ("status", "out", "err", "late"),
    [
        (0, '{"runs": 2, "seconds": 7}', "", True),
        (0, '{"runs": 1, "seconds": 7}', "", False),
        (0, '{"runs": 2, "seconds": 7}', PARTLY, False),
        (130, '{"runs": 2, "seconds": 7}', "", False),
    ],
)
def test_an_interruption_came_too_late_only_if_the_whole_answer_is_there(status, out, err, late):
    ended = Ended(status, out, err, 9.0, interrupted=True)
    assert ended.came_too_late(WHOLE) is late


def test_a_command_that_is_done_at_every_moment_is_not_said_to_end_well(monkeypatch):
    """It may ignore ^C, as what a shell starts with `&` does."""
    done = Ended(0, "all", "", 9.0, interrupted=True)
    monkeypatch.setattr(program, "run", lambda *_: done)
    moments = Moments(1, COMMANDS[:1])
    assert moments.draw(0) == NO_MOMENT
    assert moments.list_unheard() == [f"explore: {NO_MOMENT}, so it may not hear ^C"]
    assert moments.document(1)["wrong"] == moments.list_unheard()


def test_a_moment_that_was_missed_is_no_fault_of_a_command_that_heard_another(monkeypatch):
    ends = [Ended(0, "all", "", 9.0, interrupted=True)] * (1 + TRIES)
    ends += [Ended(130, "", "", 9.0, interrupted=True)]
    monkeypatch.setattr(program, "run", lambda *_: ends.pop(0))
    moments = Moments(1, [replace(COMMANDS[0], lost=lambda *_: "")])
    assert [moments.draw(0), moments.draw(0)] == [NO_MOMENT, ""]
    assert moments.list_unheard() == []


def test_at_200_moments_on_record_every_command_heard_the_interruption_and_lost_nothing():
    runs = json.loads(program.RECORD.read_text(encoding="utf-8"))
    assert max(sum(run["moments"].values()) for run in runs) >= 200
    for run in runs:
        assert run["wrong"] == [], run["seed"]
        assert set(run["moments"]) == {command.name for command in COMMANDS}
