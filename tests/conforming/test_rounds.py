"""A refused program is shrunk to the steps that it needs."""

import pytest

from kipviz.conforming.programs import ClientStep, program
from kipviz.conforming.real_cluster import CannotStart, release_of
from kipviz.conforming.rounds import ATTEMPTS_MAX, Refusal, shrink
from kipviz.recordings.replayed_roles.answer_text import ComparedAnswer

COMMIT, JOIN = ClientStep("a", "end", ("now", "commit")), ClientStep("m", "join")


def make_asked(api="END_TXN", error="NONE"):
    return ComparedAnswer(0, api, "x", (("error", error),), ())


def broker(needed, *, other=None):
    """Return an attempt at a broker whose answer is refused when it gets some steps in this order, and what was tried."""
    tried = []

    def attempt(programs):
        tried.append(len(programs))
        return tuple(map(judge_program, programs))

    def judge_program(made):
        left = list(needed)
        for at, step in enumerate(made.steps):
            if left and step == left[0]:
                left.pop(0)
                if not left:
                    return Refusal(made, make_asked(), at)
        return None if other is None else Refusal(made, other)

    return attempt, tried


def long_program():
    """Return a program of 40 steps with the two that matter far apart."""
    steps = list(program(5).steps)
    quiet = [step for step in steps if step not in (COMMIT, JOIN)]
    return program(5).but(steps=(*quiet[:9], JOIN, *quiet[9:24], COMMIT, *quiet[24:]))


def test_no_step_is_left_that_is_not_needed():
    attempt, tried = broker((JOIN, COMMIT))
    made = long_program()
    short = shrink(Refusal(made, make_asked(), made.steps.index(COMMIT)), attempt)
    assert short.program.steps == (JOIN, COMMIT)
    # Each attempt is the start of a broker.
    assert len(tried) <= ATTEMPTS_MAX


def test_what_comes_behind_the_refused_answer_is_left_out_first():
    attempt, tried = broker((JOIN, COMMIT))
    made = long_program()
    shrink(Refusal(made, make_asked(), made.steps.index(COMMIT)), attempt)
    assert tried[0] == 1


def test_another_refusal_is_not_taken_for_the_same_one():
    attempt, _ = broker((JOIN, COMMIT), other=make_asked("PRODUCE", "NONE"))
    made = long_program()
    short = shrink(Refusal(made, make_asked()), attempt)
    assert short.program.steps == (JOIN, COMMIT)


def test_a_refusal_that_does_not_come_again_keeps_its_program():
    made = long_program()
    refusal = Refusal(made, make_asked(), len(made.steps) - 1)
    assert shrink(refusal, lambda programs: (None,) * len(programs)).program == made


def test_it_stops_when_it_is_told_to():
    made = long_program()
    refusal = Refusal(made, make_asked())
    attempt, tried = broker((JOIN, COMMIT))
    assert shrink(refusal, attempt, lambda: False) == refusal
    assert tried == []


def test_a_folder_without_a_release_is_one_sentence(tmp_path):
    with pytest.raises(CannotStart, match="there is no folder"):
        release_of(tmp_path / "none")
    (tmp_path / "kafka-clients-4.4.0.jar").touch()
    with pytest.raises(CannotStart, match=r"has no jar of the broker, kafka_2.13 and of log4j"):
        release_of(tmp_path)
    (tmp_path / "kafka_2.13-4.4.0.jar").touch()
    (tmp_path / "log4j-core-2.25.4.jar").touch()
    assert release_of(tmp_path) == "4.4.0"
