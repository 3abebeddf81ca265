"""What caused this: the steps that led to a step, and the honesty of naming no other ones."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from kipviz.checking.single_run import runs
from kipviz.checking.single_run.seeded_run import Task
from kipviz.cluster.actions import CrashBroker, Tick
from kipviz.cluster.behaviour.catalogue import script_name
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.timing.timers import ages
from kipviz.core.traces.trace import Node
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import scenario
from kipviz.views.choices import choice_id
from kipviz.views.reasons.causes import TABLES, Causes, chain, cone, reads, writes
from kipviz.widgets.lab import Lab
from tests.scenarios.story import nodes, play_once, under_one_design_each

Part = dict[str, Any]
SEEDED = [("calm", 0), ("rough", 1), ("hostile", 0), ("hostile", 2)]


def causes_of(model: ClusterModel, path: list[Node]) -> list[list[Any]]:
    """The causes of every step of a path."""
    causes, found = Causes(model), [list[Any]()]
    for k, (before, node) in enumerate(pairwise(path), 1):
        found.append(causes.of(before.world, node.action))
        causes.add(k, before.world, node.world, node.events)
    return found


class Replays:
    """Worlds that come of taking only some steps of a path; all of the taken ones have to be possible.

    Cones of one path mostly begin alike: what they have in common is taken once.
    """

    def __init__(self, model: ClusterModel, path: list[Node]) -> None:
        self.model, self.path = model, path
        self._worlds: dict[tuple[int, ...], Any] = {(): path[0].world}

    def after(self, steps: tuple[int, ...]) -> Any:
        worlds = self._worlds
        known = next(n for n in range(len(steps), -1, -1) if steps[:n] in worlds)
        for n in range(known, len(steps)):
            action = self.path[steps[n]].action
            worlds[steps[: n + 1]] = self.model.step(worlds[steps[:n]], action).world
        return worlds[steps]


def check_cone(replays: Replays, found: list[list[Any]], step: int) -> None:
    steps, path = cone(found, step), replays.path
    assert steps[-1] == step
    world = replays.after(tuple(each for each in steps if each))
    for name, key in writes(path[step - 1].world, path[step].world):
        if name in TABLES:
            made = getattr(world, name).get(key)
            assert made == getattr(path[step].world, name).get(key), (step, name, key)


@cache
def replay_seed(faults: str, seed: int) -> tuple[ClusterModel, list[Node]]:
    run = runs.replay(Task("kip-1289-two-members", "repaired", faults, seed, 300))
    return run.model, [run.trace.node(node) for node in run.trace.line]


@cache
def payload(name: str, under: str) -> Part:
    return Lab(runs.play(name, under)).payload


def step_of(told: Part, title: str) -> int:
    return next(k for k, step in enumerate(told["steps"]) if step["title"] == title)


@pytest.mark.parametrize(("name", "under"), under_one_design_each())
def test_the_cone_of_any_step_of_a_story_alone_makes_the_same_values(name: str, under: str) -> None:
    trace, _ = play_once(name, under)
    path, model = nodes(trace), trace.model
    assert isinstance(model, ClusterModel)
    found, replays = causes_of(model, path), Replays(model, path)
    for step in range(1, len(path)):
        assert all(earlier < step for earlier, _ in found[step])
        check_cone(replays, found, step)


@pytest.mark.parametrize(("faults", "seed"), SEEDED)
def test_the_cone_of_a_step_of_a_wild_run_alone_makes_the_same_values(
    faults: str, seed: int
) -> None:
    model, path = replay_seed(faults, seed)
    found, replays = causes_of(model, path), Replays(model, path)
    for step in range(1, len(path), 5):
        check_cone(replays, found, step)


def test_a_cone_leaves_out_what_did_not_matter() -> None:
    model, path = replay_seed("calm", 0)
    found = causes_of(model, path)
    shares = [len(cone(found, step)) / step for step in range(1, len(path))]
    assert sum(shares) / len(shares) < 0.9


def test_a_delivery_is_caused_by_who_sent_it_and_by_what_its_role_knew() -> None:
    told = payload("kip-1289-share-commit", "repaired")
    decided = step_of(told, "EndTxn arrives at B1")
    sent, known = told["steps"][decided]["causes"]
    assert (told["steps"][sent[0]]["title"], sent[1]) == (
        "producer sends EndTxn",
        "sent its message",
    )
    assert told["steps"][known[0]]["title"] == "AddPartitionsToTxn arrives at B1"
    assert (
        known[1]
        == "changed the transaction coordinator on Broker 1, the log __transaction_state-45"
    )


def test_the_main_line_leads_from_a_marker_to_the_call_that_began_it() -> None:
    told = payload("kip-1289-group-commit", "kafka")
    marker = step_of(told, "WriteTxnMarkers arrives at B3")
    titles = [told["steps"][step]["title"] for step, _ in chain(told["steps"], marker)]
    assert titles[:4] == [
        "WriteTxnMarkers arrives at B3",
        "EndTxn arrives at B1",
        "producer sends EndTxn",
        "commitTransaction()",
    ]
    assert titles[-1] == "initTransactions()"


def test_nothing_made_an_accident_happen_and_what_it_found_is_told_beside_it() -> None:
    lab = Lab(runs.play("kip-1289-share-commit", "repaired"))
    at = step_of(lab.payload, "TxnShareAcknowledge arrives at B5")
    branch = lab.respond({"branch": 0, "step": at, "choice": choice_id(CrashBroker(5))})["branch"]
    crash = branch["steps"][0]
    assert crash["accident"] is True
    assert any(
        "share partition leader on Broker 5" in words or "connection" in words
        for _, words in crash["causes"]
    )
    steps = [*lab.payload["steps"][: at + 1], *branch["steps"]]
    assert chain(steps, at + 1) == ((at + 1, ""),)
    after = next(k for k, step in enumerate(steps) if k > at + 1 and step["causes"])
    assert any(earlier >= at + 1 for earlier, _ in steps[after]["causes"])


def test_what_a_step_reads_is_seen_and_its_outcome_is_the_real_one() -> None:
    trace, _ = play_once("kip-1289-share-commit", "repaired")
    model = trace.model
    assert isinstance(model, ClusterModel)
    before, node = nodes(trace)[15:17]
    seen = reads(model, before.world, node.action)
    assert ("connections", ("app-1/producer", 3)) in seen
    assert ("roles", (3, "partition_leader", "output-A-0")) in seen
    assert ("logs", "output-A-0") in seen
    assert ("logs", "src-0") not in seen
    assert ("roles", (3, "partition_leader", "output-A-0")) in writes(before.world, node.world)


def test_what_the_time_brought_about_has_the_passing_of_time_among_its_causes() -> None:
    known = scenario("kip-994-who-takes-long")
    spec = known.spec.but(clock=known.spec.clock.but(stamps=False))
    trace, _ = known.but(spec=spec).play(design("kafka"))
    path, model = nodes(trace), trace.model
    assert isinstance(model, ClusterModel)
    found = causes_of(model, path)
    (tick,) = (k for k, node in enumerate(path) if isinstance(node.action, Tick))
    told = [k for k, causes in enumerate(found) if [tick, "changed the time"] in causes]
    asked = [
        k
        for k in told
        if "ListTransactions arrives" in script_name(path[k - 1].world, path[k].action)
    ]
    assert told
    assert told == asked, "nothing else looks at the time in this story"
    began = min(k for k, node in enumerate(path) if ages(node.world))
    assert began in [earlier for earlier, _ in found[tick]], "it goes to what is due next"
