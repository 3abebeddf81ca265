"""The score: what was said before the answer was shown, and where the learner stood."""

from __future__ import annotations

import json

import pytest

import kipviz

STORY = "kip-1289-share-commit-1"


@pytest.fixture
def stepper():
    return kipviz.open("kip-1289-share-commit")


def asks(stepper, kind: str) -> list:
    return [q for q in stepper.payload["asks"]["questions"] if q[1] == kind]


def right_of(question) -> int:
    return next(n for n, (_, right, _) in enumerate(question[4]) if right)


def name_of(stepper, question) -> str:
    letter = {"next": "n", "cannot": "c", "answer": "a"}[question[1]]
    return f"{letter}{stepper.payload['steps'][question[0]]['node']}"


def test_a_fresh_stepper_has_gained_nothing_and_says_of_how_much(stepper):
    assert stepper.score == {
        "answered": 0,
        "right": 0,
        "questions": 1,
        "goals": 0,
        "of": 3,
        "reached": [],
    }
    assert json.loads(json.dumps(stepper.score)) == stepper.score


def test_an_answer_counts_as_it_was_when_its_question_was_revealed(stepper):
    stepper.answers = {STORY: 0}
    stepper.answers = {STORY: 2}
    stepper.last()
    stepper.answers = {STORY: 0}
    assert (stepper.score["answered"], stepper.score["right"]) == (1, 1)


def test_the_score_gives_no_answer_away_before_it_is_shown(stepper):
    for option in range(3):
        stepper.answers = {STORY: option}
        assert (stepper.score["answered"], stepper.score["right"]) == (0, 0)


def test_nothing_is_gained_by_an_answer_after_the_reveal(stepper):
    stepper.last()
    stepper.step = 0
    stepper.answers = {STORY: 2}
    assert (stepper.score["answered"], stepper.score["right"]) == (0, 0)


def test_a_prediction_counts_until_the_page_reveals_it(stepper):
    first, second = asks(stepper, "cannot")[:2]
    stepper.answers = {name_of(stepper, first): right_of(first)}
    assert (stepper.score["right"], stepper.score["questions"]) == (0, 2)
    stepper.revealed = [name_of(stepper, first), name_of(stepper, second)]
    stepper.answers = {**stepper.answers, name_of(stepper, second): right_of(second)}
    assert (stepper.score["answered"], stepper.score["right"]) == (1, 1)


def test_a_question_that_there_is_not_gains_nothing(stepper):
    known = name_of(stepper, asks(stepper, "next")[0])
    stepper.answers = {"n999": 0, "x": 1, known: 17}
    stepper.revealed = ["n999", "x", known]
    assert stepper.score["right"] == 0
    assert stepper.score["answered"] == 1


def test_a_goal_is_reached_by_standing_where_it_holds_not_by_saying_so(stepper):
    stepper.reached = ["crashed after the decision", "nonsense"]
    assert stepper.score["goals"] == 0
    stepper.step = 20
    assert stepper.score["reached"] == ["lso held back"]
    stepper.step = 0
    assert stepper.score["goals"] == 1


def test_a_goal_of_a_branch_is_reached_on_the_branch(stepper):
    stepper.step = 33
    stepper.take(next(text for text in stepper.possible() if text == "B5 crashes"))
    assert "crashed after the decision" in stepper.score["reached"]
    assert stepper.score["goals"] == 2


def test_a_notebook_can_watch_the_score(stepper):
    heard = []
    stepper.observe(lambda change: heard.append(change["new"]["goals"]), "score")
    stepper.step = 20
    stepper.step = 21
    assert heard == [1]


def test_a_branch_has_predictions_of_its_own(stepper):
    stepper.step = 33
    stepper.take("B5 crashes")
    branch = stepper.branches[0]
    questions = branch["asks"]["questions"]
    assert questions
    node = branch["steps"][questions[1][0] - branch["at"] - 1]["node"]
    letter = {"next": "n", "cannot": "c", "answer": "a"}[questions[1][1]]
    stepper.answers = {f"{letter}{node}": right_of(questions[1])}
    stepper.revealed = [f"{letter}{node}"]
    assert stepper.score["right"] == 1


def test_an_answer_on_a_branch_that_was_pruned_still_counts_and_breaks_nothing(stepper):
    stepper.step = 5
    stepper.take(next(words for words in stepper.possible() if words.endswith("crashes")))
    branch = stepper.branches[-1]
    question = next(q for q in branch["asks"]["questions"] if q[0] > branch["at"])
    letter = {"next": "n", "cannot": "c", "answer": "a"}[question[1]]
    node = branch["steps"][question[0] - branch["at"] - 1]["node"]
    name = f"{letter}{node}"
    stepper.answers = {name: right_of(question)}
    stepper.revealed = [name]
    assert stepper.score["right"] == 1
    stepper.prune()
    stepper.step += 1
    assert stepper.score["right"] == 1


def test_questions_of_a_run_under_another_setting_have_names_of_their_own():
    stepper = kipviz.open("kip-1289-lock-expiry")
    main = {step["node"] for step in stepper.payload["steps"]}
    stepper.step = stepper._line.last
    stepper.change("lock_expiry=pinned_until_marker")
    nodes = {step["node"] for step in stepper.branches[-1]["steps"]}
    assert nodes
    assert not nodes & main
