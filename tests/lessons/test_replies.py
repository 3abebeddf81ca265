"""What a prediction about an answer offers: what the checks of the handlers led to, and could have led to."""

from __future__ import annotations

import pytest

from kipviz.lessons.error_meanings import meaning_of
from kipviz.messages.errors import Errors
from kipviz.scenarios.library import LIBRARY
from kipviz.views.lesson import LessonTelling
from tests.scenarios.story import nodes, play_once, under_one_design_each


def asked_about(name: str, under: str) -> list[tuple[str, dict[str, tuple[bool, str]]]]:
    """The questions of a story about answers: their texts, and each option with whether it is right and its meaning."""
    trace, _ = play_once(name, under)
    telling = LessonTelling(trace.model, ())
    for k, node in enumerate(nodes(trace)):
        telling.see(k, node.action, node.world, node.events)
        telling.choices(k, node.world, [], None)
    asks = telling.news_since(-1)["asks"]
    texts = asks["texts"]
    return [
        (texts[text], {texts[o]: (bool(right), texts[say]) for o, right, say in options})
        for _, kind, text, _, options in asks["questions"]
        if kind == "answer"
    ]


UNKNOWN = meaning_of(Errors.UNKNOWN_SERVER_ERROR)


def badly_asked(name: str, under: str) -> list[str]:
    """The questions that offer too little, have not one right answer, or an error without a meaning."""
    return [
        text
        for text, options in asked_about(name, under)
        if len(options) < 2
        or "no error" not in options
        or [right for right, _ in options.values()].count(True) != 1
        or any(say == UNKNOWN for _, say in options.values())
    ]


@pytest.mark.parametrize(("name", "under"), under_one_design_each())
def test_every_request_is_asked_about_with_its_answer_and_others_that_each_have_a_meaning(
    name: str, under: str
) -> None:
    assert badly_asked(name, under) == []


@pytest.mark.slow
def test_nearly_all_questions_about_answers_have_more_than_two():
    """Where the very first check of a request fails, nothing is known of what the others lead to."""
    sizes = [len(options) for s in LIBRARY for _, options in asked_about(s.name, s.designs[0])]
    assert len(sizes) > 1_000
    assert sum(size == 2 for size in sizes) < len(sizes) / 33


def test_the_answers_offered_for_an_acknowledgement_are_those_of_its_checks():
    (question,) = (
        options
        for text, options in asked_about("kip-932-slow-member", "kafka")
        if text.startswith("ShareAcknowledge ") and "INVALID_RECORD_STATE" in options
    )
    checked = {
        "SHARE_SESSION_NOT_FOUND",
        "INVALID_SHARE_SESSION_EPOCH",
        "INVALID_REQUEST",
        "UNKNOWN_TOPIC_OR_PARTITION",
    }
    assert [name for name, (right, _) in question.items() if right] == ["INVALID_RECORD_STATE"]
    assert len(question) == 4
    assert set(question) <= {"INVALID_RECORD_STATE", "no error", *checked}
