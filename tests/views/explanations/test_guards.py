"""Every step says why: a rule, values of the world before it, a clause, a status, a Kafka class."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from kipviz.checking.single_run import runs
from kipviz.checking.single_run.seeded_run import Task
from kipviz.cluster.actions import (
    ClusterAction,
    CrashBroker,
    CrashClient,
    Cut,
    Heal,
    LoseConnection,
    MoveLeader,
    StartBroker,
    StartClient,
    TimeOutTransaction,
)
from kipviz.cluster.behaviour.catalogue import script_name
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.world import World
from kipviz.core.traces.trace import Node
from kipviz.designs.options.options import STATUSES
from kipviz.views.explanations.guards import guards, why
from tests.scenarios.story import nodes, play_once, under_one_design_each

WILD = [
    *(("kip-1289-two-members", design, 3) for design in ("repaired", "as-written")),
    ("kip-1289-share-commit", "repaired", 11),
    ("kip-1289-group-commit", "kafka", 5),
    ("kip-98-stuck-lso", "kafka", 7),
]


def check(model: ClusterModel, path: list[Node]) -> None:
    for k, (before, node) in enumerate(pairwise(path), 1):
        said = why(model, before.world, node.action)
        where = (k, node.action, said)
        assert said["rule"], where
        assert said["guards"], where
        assert all(name and value for name, value in said["guards"]), where
        # A line of a program may have "<" in it; elsewhere that would be a value that nobody put into words.
        assert all("<" not in value for name, value in said["guards"] if name != "line"), where
        assert said["status"] in STATUSES, where
        for written in (said["clause"], said["kafka"]):
            assert written, where
            inferred = said["status"] == "our inference" or written.startswith("none yet (PR ")
            assert inferred or not written.startswith("none"), where


@pytest.mark.parametrize(("name", "under"), under_one_design_each())
def test_every_step_of_a_story_has_a_rule_guards_a_clause_and_a_kafka_class(name, under):
    trace, _ = play_once(name, under)
    check(trace.model, nodes(trace))


@pytest.mark.parametrize(("name", "under", "seed"), WILD)
def test_every_step_of_a_hostile_run_has_a_rule_guards_a_clause_and_a_kafka_class(
    name, under, seed
):
    run = runs.replay(Task(name, under, "hostile", seed, 250))
    check(run.model, [run.trace.node(node) for node in run.trace.line])


def before(name: str, under: str, title: str) -> tuple[ClusterModel, World, ClusterAction]:
    trace, _ = play_once(name, under)
    for here, node in pairwise(nodes(trace)):
        if script_name(here.world, node.action) == title:
            return trace.model, here.world, node.action
    raise AssertionError(f"no step {title}")


def guards_of(name: str, under: str, title: str) -> dict[str, Any]:
    return dict(guards(*before(name, under, title)))


def test_the_end_of_a_transaction_looks_at_its_state_its_epochs_and_what_is_pending():
    assert guards_of("kip-1289-share-commit", "repaired", "EndTxn arrives at B1") == {
        "leader of transactions-45": "Broker 1",
        "loading": "no",
        "transactional id": "request my-txn · coordinator my-txn",
        "pending transition": "none",
        "producer id": "request 9 · coordinator 9",
        "producer epoch": "request 0 · coordinator 0",
        "state": "request COMMIT · coordinator ONGOING",
        "partitions": "share state-16, output-A-0",
    }


def test_a_batch_looks_at_the_epoch_and_the_last_sequence_of_the_log():
    assert guards_of("kip-1289-share-commit", "repaired", "Produce arrives at B3") == {
        "leader of output-A-0": "Broker 3",
        "producer epoch": "request 0 · log none",
        "partition added": "no",
    }


def test_a_lock_that_runs_out_says_who_holds_what_and_how_often_it_may_be_delivered():
    found = guards_of("kip-1289-lock-expiry", "finding-D", "the lock of src-0@100 runs out")
    assert (found["delivery count"], found["delivery count limit"]) == ("1", "5")
    assert found["records"] == "100"
    assert (found["record state"], found["held by"]) == ("TX_PENDING", "M1")


@pytest.mark.parametrize(
    ("action", "name", "value"),
    [
        (CrashBroker(1), "leads", "transactions-45"),
        (MoveLeader("src-0", 4), "leader", "Broker 5, epoch 0"),
        (LoseConnection("app-1/producer", 1), "messages lost", "EndTxn"),
        (Cut("B1", "app-1"), "messages delayed", "EndTxn"),
        (CrashClient("app-1"), "at", "commitTransaction()"),
        (TimeOutTransaction(1, "__transaction_state-45", "my-txn"), "state", "ONGOING"),
    ],
)
def test_an_accident_says_what_it_takes_away(action, name, value):
    model, world, _ = before("kip-1289-share-commit", "repaired", "EndTxn arrives at B1")
    assert value in dict(guards(model, world, action))[name]


@pytest.mark.parametrize(
    ("accident", "repair", "name", "value"),
    [
        (CrashBroker(1), StartBroker(1), "restarts with", "transactions-45"),
        (Cut("B1", "app-1"), Heal("B1", "app-1"), "messages that resume", "EndTxn"),
        (CrashClient("app-1"), StartClient("app-1"), "transactional id", "my-txn"),
    ],
)
def test_a_repair_says_what_comes_back(accident, repair, name, value):
    model, world, _ = before("kip-1289-share-commit", "repaired", "EndTxn arrives at B1")
    after = model.step(world, accident).world
    assert value in dict(guards(model, after, repair))[name]


def test_a_call_of_a_session_is_a_drafts_and_the_same_call_of_a_producer_is_shipped():
    def status(name, call):
        trace, _ = play_once(name, "repaired")
        path = nodes(trace)
        said = [why(trace.model, before.world, node.action) for before, node in pairwise(path)]
        return {each["status"] for each in said if each["rule"] == call}

    for call in ("beginTransaction", "commitTransaction"):
        assert status("kip-1310-share-session", call) == {"draft"}
        assert status("kip-1310-share-producer", call) == {"shipped"}
