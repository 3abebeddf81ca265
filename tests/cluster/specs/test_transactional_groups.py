"""Who is configured with a group's id, and which partition coordinates it (KIP-447, first draft)."""

from __future__ import annotations

from kipviz.cluster.start.first_world import first_world
from kipviz.records.placement import TRANSACTION_STATE
from kipviz.scenarios.bases import process
from kipviz.scenarios.group_setting import member, spec_of
from kipviz.scenarios.setting import GROUP, home

APPS = (process("classic-member", "app-1", tasks=("task-1",)), member("app-2"))


def test_the_group_s_id_finds_the_coordinator_of_members_with_generations_and_no_others() -> None:
    world = first_world(spec_of(*APPS).but(transactional_group_id=True))
    of_group = home(TRANSACTION_STATE, GROUP)
    assert world.image.home_of_transactions("my-txn") == of_group
    assert of_group in world.logs
    for name in ("my-txn-2", "my-txn-task-1"):
        assert world.image.home_of_transactions(name) == home(TRANSACTION_STATE, name)
    groups = [c.manager.group_id for c in world.applications["app-1"].clients[1:]]
    assert groups == [GROUP, ""]
    assert world.applications["app-2"].producer.manager.group_id == ""


def test_as_shipped_a_producer_s_name_finds_its_coordinator() -> None:
    image = first_world(spec_of(*APPS)).image
    assert image.transactional_groups == ()
    assert image.home_of_transactions("my-txn") == home(TRANSACTION_STATE, "my-txn")
