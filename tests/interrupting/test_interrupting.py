"""What the program that presses ^C takes for a good end."""

from __future__ import annotations

import signal

import pytest

from tests.interrupting.moments import Ended

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
