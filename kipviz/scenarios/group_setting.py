"""The cluster of the stories about regular groups: two source partitions, and members that join and leave."""

from __future__ import annotations

from kipviz.cluster.specs.abstraction import SMALL
from kipviz.cluster.specs.spec import ApplicationSpec, ClusterSpec, Placement
from kipviz.records.placement import CONSUMER_OFFSETS, TRANSACTION_STATE
from kipviz.scenarios.applications import programs
from kipviz.scenarios.setting import (
    GROUP,
    PLAYGROUND,
    TOPIC_IDS,
    TRANSACTIONAL_ID,
    group_app,
    home,
)

PLACEMENTS = (
    Placement(home(TRANSACTION_STATE, TRANSACTIONAL_ID), 1, (5,)),
    Placement(home(TRANSACTION_STATE, f"{TRANSACTIONAL_ID}-2"), 1, (5,)),
    Placement("output-A-0", 3, (1,)),
    Placement(home(CONSUMER_OFFSETS, GROUP), 4, (3,)),
    Placement("src-0", 5, (4,)),
    Placement("src-1", 5, (4,)),
)
OLD_ID = "AAAAAAAAAAAAAAAAAAAABA"
RECORDS = (("src-0", 100, ("a", "b")), ("src-1", 200, ("c", "d")))


def member(name: str = "app-1", **changes: object) -> ApplicationSpec:
    """Return an application whose consumer joins the group with its first poll (KIP-848)."""
    number = name.rpartition("-")[2]
    tid = TRANSACTIONAL_ID if number == "1" else f"{TRANSACTIONAL_ID}-{number}"
    app = group_app(
        name=name, transactional_id=tid, member_id=f"C{number}", protocol="consumer", max_records=2
    )
    return app.but(**changes)


def reader(name: str) -> ApplicationSpec:
    """Return a member that only reads."""
    return member(name, program=programs.READ)


def spec_of(*apps: ApplicationSpec) -> ClusterSpec:
    """Return the cluster: src-0 has a and b from offset 100 on, src-1 has c and d from 200 on."""
    spec = ClusterSpec((1, 3, 4, 5), PLACEMENTS, (), RECORDS, TOPIC_IDS, PLAYGROUND)
    return SMALL.of_brokers(spec).but(applications=apps)


def two_topics(*apps: ApplicationSpec) -> ClusterSpec:
    """Return the same cluster with another topic that members may subscribe to: old-0 has x at offset 300."""
    return spec_of(*apps).but(
        placements=(*PLACEMENTS, Placement("old-0", 5, (4,))),
        records=(("old-0", 300, ("x",)), *RECORDS),
        topic_ids=(*TOPIC_IDS, ("old", OLD_ID)),
    )
