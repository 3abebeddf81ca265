"""Every action has a name of its own, by which a script can pick it."""

from __future__ import annotations

from kipviz.cluster.actions import Deliver, DeliverLate, ExpireLock, Send
from kipviz.cluster.behaviour.catalogue import label, name_action, script_name
from kipviz.designs.catalogue import REPAIRED, design
from kipviz.scenarios.library import searched_scenario


def test_no_two_things_that_can_happen_at_once_have_one_name() -> None:
    for story in ("kip-1289-share-commit", "kip-1289-share-abort", "kip-1289-lock-expiry"):
        played = searched_scenario(story)
        model = played.model(REPAIRED)
        trace, _ = played.play(REPAIRED)
        for node in trace.line:
            world = trace.node(node).world
            enabled = model.enabled(world)
            names = [name_action(world, action) for action in enabled]
            texts = [script_name(world, action) for action in enabled]
            assert len(set(names)) == len(set(texts)) == len(enabled), (story, node, sorted(texts))


def test_a_lock_names_its_group_only_where_several_groups_share() -> None:
    story = searched_scenario("kip-932-slow-member")
    for groups, expected in (
        (("g1", "g1"), "the lock of src-0@100 expires"),
        (("g1", "g2"), "the lock of src-0@100 in g1 expires"),
    ):
        apps = tuple(
            a.but(group_id=group) for a, group in zip(story.spec.applications, groups, strict=True)
        )
        model = story.but(spec=story.spec.but(applications=apps)).model(design("kafka"))
        world = model.initial()
        key = f"g1:{world.image.topic_ids['src']}:0"
        assert label(world, ExpireLock(5, key, 100)) == expected


def test_what_is_not_there_any_more_still_has_a_name() -> None:
    world = searched_scenario("kip-1289-small").model(REPAIRED).initial()
    assert (
        label(world, Deliver("app-1/producer", 9, "request")) == "nothing (request) arrives at B9"
    )
    assert label(world, DeliverLate("app-1/producer", 9)) == "late nothing arrives at B9"
    assert label(world, Send("app-1/consumer")) == "app-1/consumer sends nothing"
    gone = "my-group:AAAAAAAAAAAAAAAAAAAAGg:0"
    assert label(world, ExpireLock(5, gone, 100)) == f"the lock of {gone}@100 expires"
