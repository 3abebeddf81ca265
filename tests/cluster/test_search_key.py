"""By what a search knows a world: by content alone, whatever the model met before."""

from __future__ import annotations

import pytest

from kipviz.cluster.search_key import SearchKeys
from kipviz.cluster.world import World
from tests.cluster.small_clusters import EVERYTHING, model_of, small_spec, steps_of

TABLES = ("logs", "roles", "applications", "connections")


@pytest.mark.parametrize(("name", "flow"), [("repaired", "share"), ("as-written", "share-abort")])
def test_a_key_is_the_same_for_who_met_much_and_for_who_met_nothing(name: str, flow: str) -> None:
    # 0 and False are equal in Python and different content here: were both to stand in one field, the
    # key would depend on which of them was met first.
    spec = small_spec(flow, replication="stepwise", budget=EVERYTHING, applications=2)
    model = model_of(spec, name)
    for seed in range(4):
        for _, _, outcome in steps_of(model, seed, 120):
            world = outcome.world
            assert model.search_key(world) == SearchKeys().of(world)
            assert model.share_tables(world).digest == world.digest


def test_what_waits_is_made_of_what_was_met_first() -> None:
    model = model_of(small_spec("share", applications=2), "repaired")
    first = [outcome.world for _, _, outcome in steps_of(model, 1, 60)]
    kept = [model.share_tables(world) for world in first]
    again = [outcome.world for _, _, outcome in steps_of(model_of(model.spec, "repaired"), 1, 60)]
    assert again == first
    assert all(_is_made_of(model.share_tables(a), k) for a, k in zip(again, kept, strict=True))


def _is_made_of(one: World, other: World) -> bool:
    return all(getattr(one, name) is getattr(other, name) for name in (*TABLES, "image", "budget"))
