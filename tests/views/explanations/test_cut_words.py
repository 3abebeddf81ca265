"""A cut between sets of hosts in words: on a step, beside it, and on the lanes."""

from __future__ import annotations

from typing import Any

from kipviz.cluster.actions import Cut, Heal
from kipviz.cluster.behaviour.catalogue import lane_of, read_guards, title_of
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.cluster.world import World
from kipviz.views.explanations.guards import guards
from kipviz.views.explanations.network_sentences import notes_of_hosts
from kipviz.views.explanations.sentences import tell
from tests.cluster.small_clusters import model_of, small_spec

MODEL = model_of(small_spec("group", budget=FaultBudget(cut=3)), "kafka")
WIDE = Cut("B1/B3", "B5/B7/app-1")
HEAL = Heal(WIDE.one, WIDE.other)


def after(*actions: Any) -> World:
    world = MODEL.initial()
    for action in actions:
        world = MODEL.step(world, action).world
    return world


def test_a_cut_says_who_can_no_longer_reach_whom() -> None:
    words = tell(after(), WIDE, ())
    assert words.title == "B1 B3 | B5 B7 app-1 are partitioned"
    assert words.sentence == (
        "Brokers 1 and 3 and brokers 5 and 7 and app-1 can no longer reach each other."
    )
    assert lane_of(after(), WIDE) == "B1"


def test_a_repair_says_what_another_cut_still_holds_apart() -> None:
    assert tell(after(WIDE), HEAL, ()).sentence == (
        "Brokers 1 and 3 and brokers 5 and 7 and app-1 can reach each other again."
    )
    both = after(Cut("B1", "B5"), WIDE)
    assert title_of(both, HEAL) == "B1 B3 | B5 B7 app-1 are connected again"
    assert tell(both, HEAL, ()).sentence.endswith(
        "again, but another partition still separates B1 and B5."
    )
    assert tell(both, Heal("B1", "B5"), ()).sentence == (
        "The network partition of B1 and B5 heals, but another partition still separates B1 and B5."
    )
    assert ("still separated by another partition", "B1 and B5") in list(read_guards(both, HEAL))
    assert dict(guards(MODEL, both, HEAL))["partitioned"] == "B1 B3 | B5 B7 app-1"


def test_on_each_lane_stands_whom_it_cannot_reach_and_whom_it_reaches_again() -> None:
    notes = list(notes_of_hosts(after(), WIDE))
    assert [(n["lane"], n["text"], n["sub"]) for n in notes] == [
        ("B1", "partitioned from", "B5 B7 app-1"),
        ("B5", "partitioned from", "B1 B3"),
        ("B7", "partitioned from", "B1 B3"),
        ("app-1", "partitioned from", "B1 B3"),
        ("B3", "partitioned from", "B5 B7 app-1"),
    ]
    joined = list(notes_of_hosts(after(Cut("B1", "B5"), WIDE), HEAL))
    assert {(n["lane"], n["sub"]) for n in joined} >= {("B1", "B7 app-1"), ("B5", "B3")}
    assert list(notes_of_hosts(after(), Cut("B1", "B3"))) == []
