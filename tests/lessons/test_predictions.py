"""Predictions: made from what is possible, the same on every machine, and no option tells on itself."""

from __future__ import annotations

import pytest

from kipviz.lessons.error_meanings import MEANING
from kipviz.lessons.predictions import Answer, Possible, prediction, what_is_answered
from kipviz.messages.errors import Errors
from kipviz.messages.groups.membership import ConsumerGroupHeartbeat
from kipviz.messages.logs.producing import Fetch
from kipviz.messages.transactions.transactions import EndTxn

FAILURES = (
    Errors.PRODUCER_FENCED,
    Errors.INVALID_TXN_STATE,
    Errors.NOT_COORDINATOR,
    Errors.NOT_LEADER_OR_FOLLOWER,
)
CAN = [Possible(f"deliver {n}", f"message {n} arrives at B{n}", enabled=True) for n in range(4)]
CANNOT = [
    Possible(f"run out {n}", f"timer {n} runs out on B{n}", False, f"reason {n}") for n in range(4)
]


def questions(many: int = 200) -> list:
    found = []
    for n in range(many):
        can = [Possible(f"{n}: {item.id}", f"{n}: {item.text}", True) for item in CAN[: 1 + n % 4]]
        found.append(prediction([*can, *CANNOT[: 1 + n % 3]], None))
    return found


def test_exactly_one_option_is_right_and_each_says_why():
    for question in questions():
        assert sum(option.right for option in question.options) == 1
        assert 2 <= len(question.options) <= 4
        assert len({option.text for option in question.options}) == len(question.options)
        assert all(option.say for option in question.options)


def test_what_cannot_happen_says_the_models_own_reason():
    question = next(q for q in questions() if q.kind == "cannot")
    right = next(option for option in question.options if option.right)
    number = right.text.split()[1]
    assert right.say == f"It cannot happen: reason {number}."
    question = next(q for q in questions() if q.kind == "next")
    for option in question.options:
        assert option.say.startswith("This can" if option.right else "It cannot happen: reason")


def test_the_place_of_the_right_option_tells_nothing():
    full = [q for q in questions(800) if len(q.options) == 4]
    places = [next(n for n, o in enumerate(q.options) if o.right) for q in full]
    for place in range(4):
        assert 0.15 < places.count(place) / len(places) < 0.35


def test_the_order_does_not_depend_on_which_option_is_right():
    flipped = [Possible(item.id, item.text, not item.enabled, "so") for item in (*CAN, *CANNOT)]
    one, other = prediction([*CAN, *CANNOT], None), prediction(flipped, None)
    assert {one.kind, other.kind} <= {"next", "cannot"}
    assert prediction([*CAN, *CANNOT], None) == one


def test_where_nothing_is_to_be_told_apart_there_is_no_question():
    assert prediction(CAN, None) is None
    assert prediction(CANNOT, None) is None
    assert prediction([], None) is None


def test_an_accident_is_the_right_answer_only_where_nothing_else_can_happen():
    accidents = [Possible(f"crash {n}", f"B{n} crashes", True, "", True) for n in range(3)]
    question = prediction([CAN[0], *accidents, *CANNOT[:1]], None)
    if question.kind == "next":
        assert next(o for o in question.options if o.right).text == CAN[0].text
    question = prediction([accidents[0], *CANNOT], None)
    assert next(o for o in question.options if o.right).text == "B0 crashes"


@pytest.mark.parametrize("error", MEANING)
def test_no_error_always_stands_among_the_answers_and_one_is_right(error):
    checked = tuple(dict.fromkeys((error, *FAILURES)))
    question = what_is_answered(Answer(EndTxn, "B1", error, 9, checked))
    assert [option.right for option in question.options].count(True) == 1
    assert "no error" in {option.text for option in question.options}
    assert question.reveal == 9


def test_a_question_about_an_answer_is_asked_where_it_decides_or_fails():
    items = [*CAN, *CANNOT]
    assert prediction(items, Answer(EndTxn, "B1", Errors.NONE, 7, FAILURES)).kind == "answer"
    assert prediction(items, Answer(Fetch, "B1", Errors.NONE, 7, FAILURES)).kind != "answer"
    failed = prediction(items, Answer(Fetch, "B1", Errors.NOT_LEADER_OR_FOLLOWER, 7, FAILURES))
    assert next(o for o in failed.options if o.right).text == "NOT_LEADER_OR_FOLLOWER"


def test_a_question_offers_the_errors_that_the_checks_could_have_led_to():
    checked = (Errors.UNKNOWN_MEMBER_ID, Errors.FENCED_MEMBER_EPOCH)
    answer = Answer(ConsumerGroupHeartbeat, "B1", Errors.FENCED_MEMBER_EPOCH, 3, checked)
    options = {option.text: option.right for option in prediction(CAN, answer).options}
    assert options == {"no error": False, "UNKNOWN_MEMBER_ID": False, "FENCED_MEMBER_EPOCH": True}
    assert prediction(CAN, answer.but(checked=())) is None


def test_other_words_change_neither_which_options_there_are_nor_their_order():
    for can, cannot in ((4, 4), (1, 3), (2, 1)):
        items = [*CAN[:can], *CANNOT[:cannot]]
        reworded = [item.but(text=f"Nr. {-n}", why="so") for n, item in enumerate(items)]
        one, other = prediction(items, None), prediction(reworded, None)
        assert [option.id for option in one.options] == [option.id for option in other.options]
        assert one.kind == other.kind
