"""The network splits in two: what a transaction does meanwhile, and when the sides are joined."""

from __future__ import annotations

from kipviz.cluster.actions import Cut, Deliver, Heal
from kipviz.cluster.network.network_partition import are_apart
from kipviz.cluster.world import broker_host, host_of
from kipviz.records.transaction_state import TransactionState
from tests.scenarios.story import after, committed_outputs, nodes, play_once

STORY = "kip-98-split-network"
SIDES = "B1/B5/app-1", "B3/B4"


def test_a_decision_on_one_side_of_a_cut_is_carried_out_when_it_is_healed() -> None:
    split = after(STORY, "kafka", "commitTransaction() returns")
    log = split.logs["output-A-0"]
    (coordinator,) = [
        role
        for (broker, kind, _), role in split.roles.items()
        if kind == "transaction_coordinator" and broker == 1
    ]
    assert coordinator.transactions["my-txn"].state is TransactionState.PREPARE_COMMIT
    assert (log.last_stable_offset, log.high_watermark) == (0, 1)
    assert committed_outputs(split) == {}
    assert committed_outputs(after(STORY, "kafka", "The switch is replaced")) == {"src-0@100": 1}


def test_between_the_two_sides_nothing_arrives_until_one_repair_joins_them() -> None:
    steps = [(node.action, node.world) for node in nodes(play_once(STORY, "kafka")[0])]
    actions = [action for action, _ in steps]
    first, last = actions.index(Cut(*SIDES)), actions.index(Heal(*SIDES))
    split = steps[first][1]
    assert {world.cuts for _, world in steps[first:last]} == {(SIDES,)}
    arrived = [a for a in actions[first:last] if isinstance(a, Deliver)]
    assert arrived
    assert not any(are_apart(split, host_of(a.source), broker_host(a.broker)) for a in arrived)
    assert steps[-1][1].budget.cut == steps[0][1].budget.cut - 1
