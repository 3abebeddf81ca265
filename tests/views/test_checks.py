"""Where a response has an error, a check of the step names it; where designs respond differently, their checks differ."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kipviz.brokers.checks import Check, Checked, compare, error_of, in_order, translated
from kipviz.checking import runs
from kipviz.checking.task import Task
from kipviz.cluster.model import ClusterModel
from kipviz.core.trace import Node
from kipviz.messages.errors import Errors
from kipviz.messages.events import MessageSent
from kipviz.messages.transactions import (
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnResponse,
    EndTxnResponse,
    InitProducerIdResponse,
)
from kipviz.scenarios.library import LIBRARY
from kipviz.views import checks
from tests.scenarios.story import nodes, played

# The responses whose errors are explained by checks.
EXPLAINED = (
    InitProducerIdResponse,
    AddPartitionsToTxnResponse,
    AddOffsetsToTxnResponse,
    EndTxnResponse,
)
STORIES = [(s.name, d) for s in LIBRARY for d in s.designs]
# Every seventh in the order of the library; all of them are among the slow tests.
SAMPLE = STORIES[::7]
WILD = [
    ("kip-98-zombie", "kafka", 5),
    ("kip-1289-group-commit", "kafka", 5),
    ("kip-98-stuck-lso", "kafka", 7),
    ("kip-447-zombie", "kafka", 3),
    ("kip-1289-share-commit", "repaired", 11),
]


def unexplained(model: ClusterModel, path: list[Node]) -> list[tuple[int, str]]:
    """The responses with an error that no check of their step names as the one that decided."""
    found = []
    for step, (before, node) in enumerate(pairwise(path), 1):
        told = [
            (type(message).__name__, each.error)
            for event in node.events
            if isinstance(event, MessageSent) and event.way == "response"
            for message in (event.message,)
            if isinstance(message, EXPLAINED)
            for each in (message, *getattr(message, "further", ()))
            if each.error is not Errors.NONE
        ]
        if not told:
            continue
        made = checks.checks_of(model, before.world, node.action)
        decided = {error_of(each.checks) for each in made}
        found += [(step, f"{name} {error.name}") for name, error in told if error not in decided]
    return found


@pytest.mark.parametrize(("name", "under"), SAMPLE)
def test_every_error_of_a_story_is_decided_by_a_check(name, under):
    trace, _ = played(name, under)
    assert unexplained(trace.model, nodes(trace)) == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "under"), STORIES)
def test_every_error_of_every_story_is_decided_by_a_check(name, under):
    trace, _ = played(name, under)
    assert unexplained(trace.model, nodes(trace)) == []


@pytest.mark.parametrize(("name", "under", "seed"), WILD)
def test_every_error_of_a_hostile_run_is_decided_by_a_check(name, under, seed):
    run = runs.replay(Task(name, under, "hostile", seed, 250))
    assert unexplained(run.model, [run.trace.node(node) for node in run.trace.line]) == []


def test_checks_end_with_the_first_one_that_fails():
    @in_order
    def made():
        yield compare("one", 1, 1, True, Errors.INVALID_REQUEST)
        yield compare("two", 1, 2, False, Errors.PRODUCER_FENCED)
        raise AssertionError("nobody looks any further")

    assert made() == (Check("one", 1, 1), Check("two", 1, 2, Errors.PRODUCER_FENCED))
    assert error_of(made()) is Errors.PRODUCER_FENCED
    assert error_of(()) is Errors.NONE


def test_an_error_that_becomes_another_one_is_one_more_check():
    fenced = (Check("producer epoch", 0, 1, Errors.PRODUCER_FENCED),)
    older = translated(fenced, "request version", 1, Errors.INVALID_PRODUCER_EPOCH)
    assert error_of(older) is Errors.INVALID_PRODUCER_EPOCH
    assert older[-1].found is Errors.PRODUCER_FENCED
    assert translated(fenced, "request version", 2, Errors.PRODUCER_FENCED) == fenced


def test_a_row_says_what_was_asked_what_was_there_and_the_error_that_follows():
    fenced = Check("producer epoch", 0, 1, Errors.PRODUCER_FENCED)
    made = (Checked(1, "transaction_coordinator", "__transaction_state-45", (fenced,)),)
    assert checks.rows(made) == (("producer epoch", "request 0 · coordinator 1 → PRODUCER_FENCED"),)


def test_rows_of_several_partitions_say_which():
    found = Check("enough replicas", None, True)
    made = tuple(Checked(1, "partition_leader", f"out-{n}", (found,)) for n in (0, 1))
    assert checks.rows(made) == (
        ("enough replicas, out-0", "yes"),
        ("enough replicas, out-1", "yes"),
    )
