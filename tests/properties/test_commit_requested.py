"""Commits as asked: a commit for each call of commitTransaction(), and never one more."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kipviz.core.model import Event
from kipviz.core.table import Table
from kipviz.messages.events import CallStarted
from kipviz.properties.commit_requested import CommitsAsAsked
from kipviz.properties.verdict import BROKEN, HOLDS, Finding
from tests.properties.history import WORLD, decision, findings


def app(producer_id: int) -> SimpleNamespace:
    return SimpleNamespace(
        producer=SimpleNamespace(manager=SimpleNamespace(producer_id=producer_id))
    )


APPS = SimpleNamespace(
    **vars(WORLD) | {"applications": Table.of({"app-1": app(9), "app-2": app(10)})}
)
ONE_MORE = "my-txn has {} committed transactions of producer 9, and commitTransaction() was called {} times"


def calls(call: str = "commitTransaction", name: str = "app-1") -> Event:
    return CallStarted(name, 3, call)


COMMIT, ABORT = decision(committed=True), decision(committed=False)
LATER = decision(committed=True, epoch=1)
HOLDING = {
    "nothing happens": (),
    "a call, then its commit": (calls(), COMMIT),
    "a call that comes to nothing": (calls(), ABORT),
    "an abort that nobody asked for": (ABORT,),
    "two calls, two commits": (calls(), COMMIT, calls(), LATER),
    "two calls, then two commits": (calls(), calls(), COMMIT, LATER),
    "a producer of its own": (calls(name="app-2"), decision(committed=True, pid=10)),
}
BREAKING = {
    "a commit that nobody asked for": ((COMMIT,), ONE_MORE.format(1, 0)),
    "a second commit for one call": ((calls(), COMMIT, LATER), ONE_MORE.format(2, 1)),
    "a third commit for two calls": (
        (calls(), COMMIT, calls(), LATER, decision(committed=True, epoch=2)),
        ONE_MORE.format(3, 2),
    ),
    "another call was made": ((calls("abortTransaction"), COMMIT), ONE_MORE.format(1, 0)),
    "another producer's application called": ((calls(name="app-2"), COMMIT), ONE_MORE.format(1, 0)),
}


@pytest.mark.parametrize("history", HOLDING.values(), ids=HOLDING.keys())
def test_it_holds_all_along(history: tuple[Event, ...]) -> None:
    found = findings(CommitsAsAsked(), *history, world=APPS)
    assert {each.status for each in found} == {HOLDS}


@pytest.mark.parametrize(("history", "reason"), BREAKING.values(), ids=BREAKING.keys())
def test_it_breaks_with_the_last_step_and_not_before(
    history: tuple[Event, ...], reason: str
) -> None:
    *before, last = findings(CommitsAsAsked(), *history, world=APPS)
    assert {each.status for each in before} == {HOLDS}
    assert last == Finding(BROKEN, reason)


def test_its_first_reason_stays() -> None:
    found = findings(CommitsAsAsked(), COMMIT, LATER, calls(), calls(), calls(), world=APPS)
    assert {each.reason for each in found[1:]} == {ONE_MORE.format(1, 0)}
