"""For ever: the nearest state that does not settle is found, and nothing behind it is asked."""

from __future__ import annotations

import pytest

from kipviz.checking.judging.verdicts import property_named
from kipviz.checking.search import unresolved
from kipviz.checking.search.explore import Search
from kipviz.checking.search.liveness import settle
from kipviz.checking.search.search_result import Bounds
from kipviz.checking.search.unresolved import Forever
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import searched_scenario

PENDING = (property_named("no stuck transactions or records"),)


@pytest.fixture(scope="module")
def searched() -> Search:
    """Return a finished search of a design that leaves records pending."""
    model = searched_scenario("kip-1289-draft-small-together").model(
        design("draft-middle"), FaultBudget()
    )
    search = Search(model, PENDING)
    assert search.run(Bounds(states_max=2_000)).complete
    return search


def test_the_state_that_is_told_is_the_first_one_of_which_the_future_resolves_nothing(
    searched: Search,
) -> None:
    (told,) = searched.found.values()
    for number in range(len(searched.graph)):
        world, (pending,) = searched.state(number)
        if settle(searched.model, world, pending).answer == "for ever":
            assert searched.story(number) == told.actions
            return
    pytest.fail("every state settles")


def test_nothing_is_asked_behind_the_nearest_state_that_does_not_settle(
    searched: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    answers: list[str] = []
    state = searched.state

    def noting(number: int):
        asked.append(number)
        return state(number)

    def settling(*arguments, **named):
        settled = settle(*arguments, **named)
        answers.append(settled.answer)
        return settled

    monkeypatch.setattr(searched, "state", noting)
    monkeypatch.setattr(unresolved, "settle", settling)
    assert Forever(searched, searched.progress_at).judge(lambda: True)
    nearest = len(searched.graph)
    # The last one is asked again for its reason.
    for number, answer in list(zip(asked, answers, strict=True))[:-1]:
        assert number < nearest
        nearest = number if answer == "for ever" else nearest
