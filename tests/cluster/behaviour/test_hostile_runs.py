"""Random runs in which everything goes wrong: what must hold in each of their worlds."""

from __future__ import annotations

import pytest

from kipviz.designs.catalogue import CATALOGUE
from tests.cluster.invariants import wrong_between, wrong_in
from tests.cluster.small_clusters import EVERYTHING, model_of, small_spec, steps_of

SEEDS = 2
LENGTH = 200
# The regular group's flow asks no slot: one design matches all.
RUNS = [
    *((d.name, flow) for d in CATALOGUE for flow in ("share", "share-abort")),
    ("repaired", "group"),
    ("repaired", "group-abort"),
]

# Each flow of a design comes with one kind of replication, and from one design to the next with the other one;
# what is left is thorough.
WAYS = [
    pytest.param(
        *run,
        replication,
        marks=() if (number + number // 2 + at) % 2 == 0 else pytest.mark.thorough,
    )
    for number, run in enumerate(RUNS)
    for at, replication in enumerate(("instant", "stepwise"))
]


@pytest.mark.parametrize(("name", "flow", "replication"), WAYS)
def test_no_fault_breaks_what_holds_in_every_world(name, flow, replication):
    for applications in (1, 2):
        spec = small_spec(
            flow, replication=replication, budget=EVERYTHING, applications=applications
        )
        model = model_of(spec, name)
        first = SEEDS * RUNS.index((name, flow))  # every design has runs of its own
        for seed in range(first, first + SEEDS):
            for step, (before, action, outcome) in enumerate(steps_of(model, seed, LENGTH)):
                after = outcome.world
                wrong = wrong_in(after) + wrong_between(before, after)
                assert not wrong, (applications, seed, step, action, wrong)


def test_the_dice_of_these_runs_reach_every_kind_of_action():
    model = model_of(small_spec("share", replication="stepwise", budget=EVERYTHING))
    late = EVERYTHING.but(
        request_timeout=4, delivery_timeout=2, upgrade=2, pause=2, max_block=2, delete_records=2
    )
    other = model_of(small_spec("group", budget=late), "kafka")
    seen = {
        type(a).__name__
        for one in (model, other)
        for seed in range(12)
        for _, a, _ in steps_of(one, seed, LENGTH)
    }
    # No role of this cluster sets a timer besides locks and transactions, no client sets one,
    # no topic comes or goes, there are no ACLs and no binaries, and the clock is untimed; nobody joins.
    timers = {"RunOut", "ClientTimer", "RemakeTopic", "Tick", "ReadLog", "DelayOver"}
    timers |= {"CreateAcls", "DeleteAcls", "InstallRelease", "MissPoll"}
    timers |= {"DeleteTopic", "CreateTopic"}
    timers |= {"Receive"}  # a real client's request, which only a served cluster takes
    assert seen == {kind.__name__ for kind in model.action_type.__args__} - timers
