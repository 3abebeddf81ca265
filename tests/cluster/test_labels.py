"""Every action has a name of its own, by which a script can pick it."""

from __future__ import annotations

from kipviz.cluster.labels import label
from kipviz.designs.catalogue import REPAIRED
from kipviz.scenarios.library import scenario


def test_no_two_things_that_can_happen_at_once_have_one_name() -> None:
    for story in ("kip-1289-share-commit", "kip-1289-share-abort", "kip-1289-lock-expiry"):
        played = scenario(story)
        model = played.model(REPAIRED)
        trace, _ = played.play(REPAIRED)
        for node in trace.line:
            world = trace.node(node).world
            names = [label(world, action) for action in model.enabled(world)]
            assert len(set(names)) == len(names), (story, node, sorted(names))
