"""Small clusters, dice that like faults, and runs of them."""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.clients.application import Line
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.abstraction import SMALL
from kipviz.cluster.specs.spec import ApplicationSpec, ClusterSpec, FaultBudget, Placement
from kipviz.cluster.world import World
from kipviz.core.model import Outcome
from kipviz.core.scheduler import Profile, Scheduler
from kipviz.designs.catalogue import design
from kipviz.scenarios.applications.programs import GROUP_ABORT, GROUP_LOOP, SHARE_ABORT, SHARE_LOOP

PROGRAMS = {
    "share": SHARE_LOOP,
    "share-abort": SHARE_ABORT,
    "group": GROUP_LOOP,
    "group-abort": GROUP_ABORT,
}
SOURCE_ID, OUTPUT_ID = "AAAAAAAAAAAAAAAAAAAAAg", "AAAAAAAAAAAAAAAAAAAAAw"
KEY = f"g1:{SOURCE_ID}:0"
FIRST_OFFSET = 100
NO_FAULTS = FaultBudget()
EVERYTHING = FaultBudget(2, 2, 3, 1, 2, 2, 2)

HOSTILE = Profile(
    "hostile",
    (
        ("application", 8),
        ("sender", 8),
        ("deliver", 14),
        ("replicate", 8),
        ("load", 6),
        ("expiry", 2),
        ("refresh", 2),
        ("late", 2),
        ("fault", 1),
        ("repair", 3),
        ("tick", 4),
    ),
)


def small_spec(
    flow: str = "share",
    *,
    replication: str = "instant",
    budget: FaultBudget = NO_FAULTS,
    applications: int = 1,
    records: int = 4,
    max_records: int = 2,
    program: tuple[Line, ...] = (),
) -> ClusterSpec:
    """Four brokers, a source that B5 leads and an output that B3 leads, as in KIP-1289's example."""
    return SMALL.of_brokers(
        ClusterSpec(
            (1, 3, 5, 7),
            (Placement("src-0", 5, (3,)), Placement("output-A-0", 3, (5,))),
            tuple(
                SMALL.of_application(
                    ApplicationSpec(
                        f"app-{i}",
                        f"txn-{i}",
                        program or PROGRAMS[flow],
                        "g1",
                        f"M{i}",
                        flow.startswith("share"),
                        "src-0",
                        "output-A-0",
                        max_records,
                    )
                )
                for i in range(1, applications + 1)
            ),
            (("src-0", FIRST_OFFSET, tuple(f"r{i}" for i in range(records))),),
            (("src", SOURCE_ID), ("output-A", OUTPUT_ID)),
            budget,
        )
    ).but(replication=replication)


def model_of(spec: ClusterSpec, name: str = "repaired") -> ClusterModel:
    """A model of a cluster under a named design."""
    chosen = design(name)
    return chosen.model(spec)


def steps_of(
    model: ClusterModel, seed: int, length: int
) -> Iterator[tuple[World, ClusterAction, Outcome]]:
    """A random run: the world before, the action, what it gave."""
    world, dice = model.initial(), Scheduler(seed, HOSTILE)
    for step in range(length):
        action = dice.choose(step, model.enabled(world), model.kind)
        if action is None:
            return
        outcome = model.step(world, action)
        yield world, action, outcome
        world = outcome.world


def world_after(model: ClusterModel, seed: int, length: int) -> World:
    """The world at the end of a random run."""
    world = model.initial()
    for _, _, outcome in steps_of(model, seed, length):
        world = outcome.world
    return world
