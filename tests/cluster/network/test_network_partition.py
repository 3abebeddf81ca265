"""A cut between two sets of hosts is one fault with one repair, whatever its size."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.checking.search.symmetry import Renaming, interchangeable, rename_value
from kipviz.cluster.actions import Cut, Deliver, Heal
from kipviz.cluster.behaviour.catalogue import label
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.network.network_partition import cut_of, is_cut, narrow_cut, still_apart
from kipviz.cluster.network.partition_sides import BadSides
from kipviz.cluster.specs.spec import BadSpec, ClusterSpec, FaultBudget
from kipviz.cluster.world import World
from tests.checking.two_members import POLL, members
from tests.cluster.small_clusters import model_of, small_spec

SPEC = small_spec("group", budget=FaultBudget(cut=2, crash_broker=4), applications=2)
WIDE = Cut("B1/B3", "B5/app-1")


def model(**changes: Any) -> ClusterModel:
    return model_of(SPEC.but(**changes), "kafka")


def after(*actions: Any, **changes: Any) -> World:
    cluster = model(**changes)
    world = cluster.initial()
    for action in actions:
        world = cluster.step(world, action).world
    return world


def words(text: str, spec: ClusterSpec = SPEC) -> str:
    with pytest.raises(BadSides) as wrong:
        cut_of(spec, text)
    return str(wrong.value)


# -- what it does ----------------------------------------------------------------------------------


def test_no_message_passes_from_one_set_to_the_other_and_all_others_pass() -> None:
    world = after(WIDE)
    pairs = [
        (s, b) for s in ("app-1/producer", "B5/markers", "app-2/producer") for b in (1, 3, 5, 7)
    ]
    apart = [pair for pair in pairs if is_cut(world, *pair)]
    assert apart == [
        ("app-1/producer", 1),
        ("app-1/producer", 3),
        ("B5/markers", 1),
        ("B5/markers", 3),
    ]


def test_it_costs_one_unit_of_the_budget_and_one_repair_heals_it() -> None:
    world = after(WIDE)
    assert (world.cuts, world.budget.cut) == ((("B1/B3", "B5/app-1"),), 1)
    heals = [a for a in model().enabled(world) if isinstance(a, Heal)]
    assert heals == [Heal("B1/B3", "B5/app-1")]
    assert after(WIDE, *heals).cuts == ()


def test_what_is_on_the_wire_arrives_when_the_cut_is_healed() -> None:
    cluster = model()
    world = cluster.initial()
    for _ in range(2):
        world = cluster.step(world, cluster.enabled(world)[0]).world
    (delivery,) = [a for a in cluster.enabled(world) if isinstance(a, Deliver)]
    cut = cut_of(SPEC, "app-1 | *")
    apart = cluster.step(world, cut).world
    assert cluster.why_not(apart, delivery) == f"app-1 and B{delivery.broker} are partitioned"
    healed = cluster.step(apart, Heal(cut.one, cut.other)).world
    assert healed.connections == world.connections
    assert cluster.why_not(healed, delivery) is None


def test_where_two_cuts_overlap_hosts_talk_again_when_the_last_of_them_is_healed() -> None:
    pair = Cut("B1", "B5")
    world = after(pair, WIDE)
    assert [is_cut(world, "B5/markers", broker) for broker in (1, 3)] == [True, True]
    assert still_apart(world, Heal(WIDE.one, WIDE.other)) == (("B1", "B5"),)
    world = after(pair, WIDE, Heal(WIDE.one, WIDE.other))
    assert [is_cut(world, "B5/markers", broker) for broker in (1, 3)] == [True, False]
    assert after(pair, WIDE, Heal(WIDE.one, WIDE.other), Heal("B1", "B5")).cuts == ()


def test_a_part_of_a_cut_is_neither_cut_again_nor_healed_alone() -> None:
    world = after(WIDE)
    assert model().why_not(world, Cut("B1", "B5")) == "B1 and B5 are already partitioned"
    assert model().why_not(world, Heal("B1", "B5")) == (
        "the network partition of B1 and B5 heals as a whole: B1 B3 | B5 app-1"
    )
    assert model().why_not(world, Heal("B1", "B7")) == "B1 and B7 are not partitioned"
    assert Cut("B1", "B5") not in model().enabled(world)


def test_it_is_named_as_a_script_asks_for_it() -> None:
    world = after()
    assert label(world, WIDE) == "B1 B3 | B5 app-1 are partitioned"
    assert label(world, Heal(WIDE.one, WIDE.other)) == "B1 B3 | B5 app-1 are connected again"


# -- what is no cut ----------------------------------------------------------------------------------


def test_one_cut_is_written_in_one_way() -> None:
    assert cut_of(SPEC, "app-1, B5 | B3 B1") == WIDE
    assert cut_of(SPEC, "B1 | *") == Cut("B1", "B3/B5/B7/app-1/app-2")
    assert cut_of(SPEC, "* | B7") == Cut("B1/B3/B5/app-1/app-2", "B7")
    why = model().why_not(after(), Cut("B5/app-1", "B1/B3"))
    assert why == "this cut is written B1 B3 | B5 app-1: brokers first, and by number"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "B1 B3",
            "a network partition must have two sides with a bar between them, such as B1 B3 | B5 app-1, not 'B1 B3'",
        ),
        (
            "B1 | B3 | B5",
            "a network partition must have two sides with a bar between them, such as B1 B3 | B5 app-1, not ",
        ),
        (
            "B1 |",
            "a network partition needs at least one host on each side, such as B1 B3 | B5 app-1",
        ),
        ("B1 | B9", "there is no host B9; the hosts are B1, B3, B5, B7, app-1, app-2"),
        ("B1 B3 | B3", "B3 is on both sides of the network partition"),
        ("B1 B1 | B3", "B1 is twice on one side of the network partition"),
        (
            "app-1 | app-2",
            "applications do not talk to each other: one side of a network partition needs a broker",
        ),
        ("* | *", "* is all hosts but those of the other side: name some on one side"),
    ],
)
def test_sides_that_are_none_are_refused_with_one_sentence(text: str, sentence: str) -> None:
    assert words(text).startswith(sentence)


def test_a_cut_needs_two_hosts_that_run_and_talk() -> None:
    cluster = model()
    world = after()
    for broker in (1, 3):
        crash = next(a for a in cluster.enabled(world) if label(world, a) == f"B{broker} crashes")
        world = cluster.step(world, crash).world
    assert cluster.why_not(world, Cut("B1/B3", "app-1")) == (
        "it takes a broker and a host behind it in B5, B7, app-1, app-2, two that talk"
    )
    assert cluster.why_not(world, Cut("B1/B5", "app-1")) is None
    assert cluster.why_not(world, Cut("", "B5")).startswith(
        "a network partition needs at least one host"
    )


# -- what searches and dice try ------------------------------------------------------------------------


def test_a_search_tries_two_hosts_and_the_sets_that_the_spec_names() -> None:
    pairs = [a for a in model().enabled(after()) if isinstance(a, Cut)]
    assert all("/" not in cut.one + cut.other for cut in pairs)
    cluster = model(splits=("app-1 B5 | B1 B3", "B7 | *", "B1 | B3"))
    named = [a for a in cluster.enabled(after()) if isinstance(a, Cut) and a not in pairs]
    assert named == [WIDE, Cut("B1/B3/B5/app-1/app-2", "B7")]
    assert WIDE not in cluster.enabled(after(WIDE))


def test_a_spec_that_names_a_cut_which_is_none_is_refused() -> None:
    with pytest.raises(BadSpec, match="there is no host B9"):
        model(splits=("B1 | B9",))


def test_a_cut_in_a_renamed_world_is_written_in_order_again() -> None:
    swap = Renaming({"app-1": "app-2", "app-2": "app-1"})
    one, other = (
        after(Cut("B1/app-1", "B3/app-2")),
        after(Cut("B1/app-2", "B3/app-1")),
    )
    assert rename_value(one, swap).cuts == other.cuts
    assert swap.world(one) == Renaming({}).world(rename_value(one, swap))


def test_applications_that_a_named_cut_tells_apart_are_not_interchangeable() -> None:
    spec = members(POLL, 2, "").spec
    (alike,) = interchangeable(spec)
    assert [names[0] for names in alike] == ["app-1", "app-2"]
    assert interchangeable(spec.but(splits=("app-1 | *",))) == ()
    assert interchangeable(spec.but(splits=("B1 | *",))) == (alike,)


def test_a_cut_is_narrowed_by_one_host_at_a_time() -> None:
    assert list(narrow_cut(Cut("B1/app-1", "B3"))) == [Cut("B3", "app-1"), Cut("B1", "B3")]
    assert list(narrow_cut(Cut("B1", "B3/B5"))) == [Cut("B1", "B5"), Cut("B1", "B3")]
    assert list(narrow_cut(Cut("B1", "B3"))) == []
