"""The cluster of the stories about regular groups: two source partitions, members that come and go."""

from __future__ import annotations

from kipviz.cluster.spec import ApplicationSpec, ClusterSpec, Placement
from kipviz.records.placement import CONSUMER_OFFSETS, TRANSACTION_STATE
from kipviz.scenarios import programs
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.setting import (
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
    """Give an application whose consumer joins the group with its first poll (KIP-848)."""
    number = name.rpartition("-")[2]
    tid = TRANSACTIONAL_ID if number == "1" else f"{TRANSACTIONAL_ID}-{number}"
    app = group_app(
        name=name, transactional_id=tid, member_id=f"C{number}", protocol="consumer", max_records=2
    )
    return app.but(**changes)


def reader(name: str) -> ApplicationSpec:
    """Give a member that reads and does nothing else."""
    return member(name, program=programs.READ)


def spec_of(*apps: ApplicationSpec) -> ClusterSpec:
    """Give the cluster: src-0 has a and b from offset 100 on, src-1 has c and d from 200 on."""
    return ClusterSpec((1, 3, 4, 5), PLACEMENTS, apps, RECORDS, TOPIC_IDS, PLAYGROUND)


def two_topics(*apps: ApplicationSpec) -> ClusterSpec:
    """Give the same cluster with another topic that members may subscribe to: old-0 has x at offset 300."""
    return spec_of(*apps).but(
        placements=(*PLACEMENTS, Placement("old-0", 5, (4,))),
        records=(("old-0", 300, ("x",)), *RECORDS),
        topic_ids=(*TOPIC_IDS, ("old", OLD_ID)),
    )


def up_to_send(name: str) -> tuple[str, ...]:
    """Give the instructions by which an application begins a transaction and sends its outputs."""
    goes = f"{name} goes on"
    return (goes, "quiet", goes, goes, "quiet", goes, goes, goes, "quiet")


def aborts_and_beats(name: str) -> tuple[str, ...]:
    """Give the instructions by which a member aborts, and hears of its group by its next heartbeat."""
    goes = f"{name} goes on"
    return (goes, "quiet", goes, f"the heartbeat interval of {name}/consumer is over", "quiet")


def commits(name: str) -> tuple[str, ...]:
    """Give the instructions by which an application sends its offsets and commits."""
    goes = f"{name} goes on"
    return (goes, "quiet", goes, goes, "quiet", goes)


APP_1_READS = Beat(
    "app-1 reads and writes",
    "C1 is the group's only member: it joins at epoch 2 and gets src-0 and src-1. It reads a and b "
    "of src-0, begins a transaction, and sends their outputs.",
    up_to_send("app-1"),
)
HEARD_NO_MORE = Beat(
    "app-1 is heard of no more",
    "The process stands still: a long pause, a page that is swapped in. No heartbeat comes for "
    "group.consumer.session.timeout.ms, and Broker 4 takes C1 out of the group.",
    ("the session of C1 in * runs out at B4",),
)

# How a roll begins, of one bounce or of two.
OLD_STANDS_STILL = (
    Beat(
        "v1, the old version, has a transaction open",
        "It works under the name of its task, and tells its producer no more than the group's id.",
        up_to_send("v1"),
    ),
    Beat(
        "v1 stands still",
        "Its session runs out in the middle of the roll.",
        ("the session of C1 in * runs out at B4",),
    ),
)
