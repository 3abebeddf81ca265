"""The clusters of the stories: which broker leads which partition, and which programs run; as searches have them."""

from __future__ import annotations

from kipviz.cluster.specs.abstraction import SMALL
from kipviz.cluster.specs.spec import ApplicationSpec, ClusterSpec, FaultBudget, Placement
from kipviz.records.placement import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    partition_for,
    share_partition_key,
)
from kipviz.scenarios.applications import programs

SOURCE_ID = "AAAAAAAAAAAAAAAAAAAAAg"
OUTPUT_ID = "AAAAAAAAAAAAAAAAAAAAAw"
TOPIC_IDS = (("src", SOURCE_ID), ("output-A", OUTPUT_ID))
TRANSACTIONAL_ID = "my-txn"
SHARE_GROUP = "g1"

# In KIP-1289 "my-group" hashes to 7; Kafka's hash returns 12 of 50 for it, and 7 for this name.
GROUP = "my-group-4"

PLAYGROUND = FaultBudget(
    crash_broker=3,
    move_leader=3,
    lose_connection=3,
    cut=2,
    crash_client=2,
    expire_lock=4,
    time_out=3,
    run_out=3,
)


def home(topic: str, key: str) -> str:
    """Return the partition of an internal topic to which a key hashes, of 50 as in Kafka's default."""
    return f"{topic}-{partition_for(key, 50)}"


STATE_BY_KEY = home(SHARE_GROUP_STATE, share_partition_key(SHARE_GROUP, SOURCE_ID, 0))
STATE_BY_GROUP = home(SHARE_GROUP_STATE, SHARE_GROUP)

SHARE_PLACEMENTS = (
    Placement(home(TRANSACTION_STATE, TRANSACTIONAL_ID), 1, (7,)),
    Placement("output-A-0", 3, (1,)),
    Placement("src-0", 5, (3,)),
    Placement(STATE_BY_KEY, 7, (3,)),
    # In the KIP's drawing the state partition of the group is on the broker that leads the source.
    Placement(STATE_BY_GROUP, 5, (7,)),
)
GROUP_PLACEMENTS = (
    Placement(home(TRANSACTION_STATE, TRANSACTIONAL_ID), 1, (5,)),
    Placement("output-A-0", 3, (1,)),
    Placement(home(CONSUMER_OFFSETS, GROUP), 4, (3,)),
    Placement("src-0", 5, (4,)),
)


# Where a reader would write its outputs, of which it has none.
READER_PLACEMENT = Placement("output-B-0", 4, (3,))
READER_TOPIC_ID = ("output-B", "AAAAAAAAAAAAAAAAAAAABA")


def reader_of(app: ApplicationSpec) -> ApplicationSpec:
    """Return a read_committed consumer, in its own group, that reads what an application produces."""
    return app.but(
        name="reader",
        transactional_id="my-txn-3",
        program=programs.READ,
        group_id="readers",
        member_id="R1",
        source=app.output,
        output="output-B-0",
        max_records=10,
    )


def share_app(name: str = "app-1", **changes: object) -> ApplicationSpec:
    """Return a member of the share group that runs the loop of KIP-1289, with some fields changed."""
    number = name.rpartition("-")[2]
    tid = TRANSACTIONAL_ID if number == "1" else f"{TRANSACTIONAL_ID}-{number}"
    app = ApplicationSpec(
        name, tid, programs.SHARE_LOOP, SHARE_GROUP, f"M{number}", True, "src-0", "output-A-0", 2
    )
    return SMALL.of_application(app).but(**changes)


def group_app(**changes: object) -> ApplicationSpec:
    """Return a member of the regular group that runs the loop of KIP-1289, with some fields changed."""
    app = ApplicationSpec(
        "app-1",
        TRANSACTIONAL_ID,
        programs.GROUP_LOOP,
        GROUP,
        "C1",
        False,
        "src-0",
        "output-A-0",
        2,
    )
    return SMALL.of_application(app).but(**changes)


def share_spec(*apps: ApplicationSpec, values: tuple[str, ...] = ("a", "b")) -> ClusterSpec:
    """Return the cluster of the share group stories: source records with these values from offset 100 on."""
    spec = ClusterSpec(
        (1, 3, 5, 7), SHARE_PLACEMENTS, (), (("src-0", 100, values),), TOPIC_IDS, PLAYGROUND
    )
    return SMALL.of_brokers(spec).but(applications=apps)


def group_spec(app: ApplicationSpec) -> ClusterSpec:
    """Return the cluster of the regular group stories."""
    spec = ClusterSpec(
        (1, 3, 4, 5),
        GROUP_PLACEMENTS,
        (),
        (("src-0", 100, ("a", "b")),),
        TOPIC_IDS,
        PLAYGROUND,
    )
    return SMALL.of_brokers(spec).but(applications=(app,))
