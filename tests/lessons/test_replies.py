"""What a prediction may offer: every error that a request gets in a story or a hostile run is among its legal ones."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from kipviz.checking import runs
from kipviz.checking.task import Task
from kipviz.core.trace import Node
from kipviz.lessons.replies import LEGAL
from kipviz.messages.errors import Errors
from kipviz.messages.events import ConnectionLost, MessageDelivered, MessageSent
from kipviz.messages.message import Message
from kipviz.messages.share_groups import TxnShareAcknowledgeResponse
from tests.scenarios.story import nodes, played
from tests.views.test_checks import SAMPLE, STORIES, WILD, errors_of


def told(message: Message) -> list[Errors]:
    """The errors in a response: of the whole, and of each further partition."""
    if isinstance(message, TxnShareAcknowledgeResponse):
        found = (message.error, *(error for _, error in message.further))
        return [error for error in found if error is not Errors.NONE]
    return errors_of(message)


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
                    found |= {(name, error) for error in told(event.message)}
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
