"""Clusters and processes from which a story document starts, by name: the document states the differences.

Here they are in the profile `small`, as searches have them; in `kafka-defaults` they have Kafka's values for what that
profile leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kipviz.brokers.settings import BrokerSettings
from kipviz.cluster.specs.abstraction import SMALL, Profile
from kipviz.cluster.specs.kafka_defaults import CLASSIC
from kipviz.cluster.specs.spec import ApplicationSpec, ClusterSpec, Placement
from kipviz.records.placement import CONSUMER_OFFSETS, TRANSACTION_STATE
from kipviz.scenarios import group_setting
from kipviz.scenarios.applications import programs
from kipviz.scenarios.setting import (
    GROUP,
    GROUP_PLACEMENTS,
    PLAYGROUND,
    READER_PLACEMENT,
    READER_TOPIC_ID,
    SHARE_GROUP,
    SHARE_PLACEMENTS,
    TOPIC_IDS,
    TRANSACTIONAL_ID,
    group_app,
    home,
    reader_of,
    share_app,
    share_spec,
)

_REGULAR = SMALL.of_brokers(
    ClusterSpec(
        (1, 3, 4, 5), GROUP_PLACEMENTS, (), (("src-0", 100, ("a", "b")),), TOPIC_IDS, PLAYGROUND
    )
)
# Kafka's transactions beside an external database: two brokers are enough (KIP-939).
_DATABASE = SMALL.of_brokers(
    ClusterSpec(
        (1, 3),
        (
            Placement(home(TRANSACTION_STATE, TRANSACTIONAL_ID), 1, (3,)),
            Placement("output-A-0", 3, (1,)),
            Placement("src-0", 3, (1,)),
            Placement(home(CONSUMER_OFFSETS, GROUP), 3, (1,)),
        ),
        (),
        (("src-0", 0, ("a",)),),
        TOPIC_IDS,
        PLAYGROUND,
        settings=BrokerSettings(two_phase_commit_enable=True),
    )
)

# In the order in which the writer of documents takes the first base with the fewest differences.
CLUSTERS: Mapping[str, ClusterSpec] = {
    "regular-group": _REGULAR,
    "regular-group-and-reader": _REGULAR.but(
        placements=(*GROUP_PLACEMENTS, READER_PLACEMENT), topic_ids=(*TOPIC_IDS, READER_TOPIC_ID)
    ),
    "two-partitions": group_setting.spec_of(),
    "two-topics": group_setting.two_topics(),
    "share-group": share_spec(),
    "share-group-with-members": share_spec().but(
        placements=(*SHARE_PLACEMENTS, Placement(home(CONSUMER_OFFSETS, SHARE_GROUP), 1, (7,)))
    ),
    "database": _DATABASE,
}


def _group_member(name: str) -> ApplicationSpec:
    return group_setting.member(name, protocol="")


def _dual_writer(name: str) -> ApplicationSpec:
    app = _group_member(name)
    return app.but(program=programs.DUAL_WRITE, max_records=1, two_phase_commit=True, database=True)


def _operator(name: str) -> ApplicationSpec:
    return SMALL.of_application(ApplicationSpec(name, "", (), "", "", False, "", "", admin=True))


def _reader(name: str) -> ApplicationSpec:
    return reader_of(group_app()).but(name=name)


# Processes by kind: what an application of a given name is like. The number in the name, as in app-2, is also in the
# transactional id and the member id.
PROCESSES: Mapping[str, Callable[[str], ApplicationSpec]] = {
    "group-member": _group_member,
    "joining-member": group_setting.member,
    "classic-member": lambda name: group_setting.member(name, protocol=CLASSIC),
    "share-member": share_app,
    "share-reader": lambda name: share_app(name, program=programs.WORK, explicit=True),
    "dual-writer": _dual_writer,
    "reader": _reader,
    "operator": _operator,
}


def cluster_in(profile: Profile, name: str) -> ClusterSpec:
    """Return the cluster of a name, a key of `CLUSTERS`, in a profile."""
    base = CLUSTERS[name]
    return base if profile is SMALL else profile.of_brokers(base)


def process_in(profile: Profile, kind: str, name: str) -> ApplicationSpec:
    """Return the application of a name and a kind, a key of `PROCESSES`, in a profile."""
    base = PROCESSES[kind](name)
    return base if profile is SMALL else profile.of_application(base)


def process(kind: str, name: str, **changes: object) -> ApplicationSpec:
    """Return an application of a kind with some fields changed.

    Args:
        kind: a key of `PROCESSES`, such as "share-member".
        name: the application's name, such as "app-2".
        changes: fields of `ApplicationSpec` and their values.
    """
    return PROCESSES[kind](name).but(**changes)
