"""What a prediction may offer: every error that a request gets in a story or a hostile run is among its legal ones."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from kipviz.checking import runs
from kipviz.checking.task import Task
from kipviz.core.trace import Node
from kipviz.lessons.replies import LEGAL, meaning_of
from kipviz.messages.errors import Errors
from kipviz.messages.events import ConnectionLost, MessageDelivered, MessageSent
from kipviz.views.lesson import LessonTelling
from tests.scenarios.story import nodes, played
from tests.views.test_checks import SAMPLE, STORIES, WILD, errors_of


def given(path: Iterable[Node]) -> set[tuple[str, Errors]]:
    """The errors in the responses of a path, each with the name of its request.

    A broker responds to the requests of a connection in their order.
    """
    asked: dict[tuple[str, int], list[str]] = {}
    found: set[tuple[str, Errors]] = set()
    for node in path:
        for event in node.events:
            if isinstance(event, MessageDelivered) and event.way == "request":
                name = type(event.message).__name__
                asked.setdefault((event.source, event.broker), []).append(name)
            elif isinstance(event, ConnectionLost):
                asked.pop((event.source, event.broker), None)
            elif isinstance(event, MessageSent) and event.way == "response":
                waiting = asked.get((event.source, event.broker))
                if waiting:
                    name = waiting.pop(0)
                    found |= {(name, error) for error in errors_of(event.message)}
    return found


def not_offered(path: Iterable[Node]) -> list[str]:
    """The errors of a path that a prediction about their request would not know."""
    wrong = ((name, e) for name, e in given(path) if name in LEGAL and e not in LEGAL[name])
    return sorted(f"{name} {error.name}" for name, error in wrong)


@pytest.mark.parametrize(("name", "under"), SAMPLE)
def test_every_error_of_a_story_is_legal_for_its_request(name, under):
    assert not_offered(nodes(played(name, under)[0])) == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "under"), STORIES)
def test_every_error_of_every_story_is_legal_for_its_request(name, under):
    assert not_offered(nodes(played(name, under)[0])) == []


@pytest.mark.parametrize(("name", "under", "seed"), WILD)
def test_every_error_of_a_hostile_run_is_legal_for_its_request(name, under, seed):
    run = runs.replay(Task(name, under, "hostile", seed, 250))
    assert not_offered(run.trace.node(node) for node in run.trace.line) == []


def asked_about(name: str, under: str) -> list[tuple[str, dict[str, tuple[bool, str]]]]:
    """The questions of a story about answers: their texts, and each option with whether it is right and its meaning."""
    trace, _ = played(name, under)
    telling = LessonTelling(trace.model, ())
    for k, node in enumerate(nodes(trace)):
        telling.see(k, node.action, node.world, node.events)
        telling.choices(k, node.world, [], None)
    asks = telling.told(-1)["asks"]
    texts = asks["texts"]
    return [
        (texts[text], {texts[o]: (bool(right), texts[say]) for o, right, say in options})
        for _, kind, text, _, options in asks["questions"]
        if kind == "answer"
    ]


SHARES = [
    story
    for story in STORIES
    if story[0].startswith(("kip-932", "kip-1289", "kip-1191", "kip-11-"))
]
UNKNOWN = meaning_of(Errors.UNKNOWN_SERVER_ERROR)


def badly_asked(name: str, under: str) -> list[str]:
    """The questions about share groups' requests that offer too little, or an error without a meaning."""
    of_shares = (each for each in asked_about(name, under) if "Share" in each[0].split()[0])
    return [
        text
        for text, options in of_shares
        if len(options) < 3
        or "no error" not in options
        or any(say == UNKNOWN for _, say in options.values())
    ]


@pytest.mark.parametrize(("name", "under"), SHARES[::8])
def test_a_share_request_is_asked_about_with_three_answers_at_least_that_have_a_meaning(
    name, under
):
    assert badly_asked(name, under) == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "under"), SHARES)
def test_every_share_request_is_asked_about_with_three_answers_at_least_that_have_a_meaning(
    name, under
):
    assert badly_asked(name, under) == []


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


def test_no_table_lists_the_answers_to_requests_of_share_groups():
    assert [name for name in LEGAL if "Share" in name] == []
