"""Each simplification of the profile `small` makes the difference that its row says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.logs import partition_leader
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.clients.application import Call, Line
from kipviz.cluster.actions import Replicate, Step
from kipviz.cluster.specs.simplifications import CHOSEN, Owner
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.driving.cluster import Cluster
from kipviz.driving.desk import Desk
from kipviz.messages.cluster.metadata import Metadata
from kipviz.messages.errors import Errors
from kipviz.messages.events import MessageSent
from kipviz.messages.groups.classic_groups import JoinGroup
from kipviz.messages.groups.groups import TxnOffsetCommit
from kipviz.messages.logs.list_offsets import ListOffsets
from kipviz.messages.logs.producing import FetchedRecord, PartitionProduceData, Produce
from kipviz.messages.shares.share_groups import ShareFetch
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    InitProducerId,
)
from kipviz.records.batches import DataRecord
from kipviz.records.placement import TRANSACTION_STATE, partition_for
from kipviz.scenarios.applications.programs import MANY_IN_A_TRANSACTION
from kipviz.scenarios.bases import CLUSTERS, process
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.script import next_by_itself
from tests.brokers.coordinator_answers import answer_of

ROWS = {row.field: row for row in CHOSEN}
POLL = Line("poll", Call.POLL)


def with_value(spec: ClusterSpec, field: str, simple: bool) -> ClusterSpec:
    """The same cluster with one row at Kafka's value or at the simple one, whatever else it leaves out."""
    row = ROWS[field]
    value = row.values[simple]
    if row.owner is Owner.APPLICATION:
        apps = (app.but(**{field: value}) for app in spec.applications)
        return spec.but(applications=tuple(apps))
    if row.owner is Owner.BROKERS:
        return spec.but(settings=spec.settings.but(**{field: value}))
    return spec.but(**{field: value})


def list_sent(cluster: Cluster, kind: type) -> list[Any]:
    """The requests of a kind that were sent."""
    said = (event.message for event in cluster.events if isinstance(event, MessageSent))
    return [message for message in said if isinstance(message, kind)]


def goes_on(cluster: Cluster, times: int, name: str = "app-1") -> Cluster:
    """Let a process go on so often, with everything quiet between two of its lines."""
    for _ in range(times):
        cluster.quiet()
        if cluster.why_not(Step(name)) is None:
            cluster.take(f"{name} goes on")
    return cluster.quiet()


def read(cluster: Cluster) -> tuple[FetchedRecord, ...]:
    """The records of the largest of four batches that poll() returns to the process."""
    most: tuple[FetchedRecord, ...] = ()
    for _ in range(4):
        goes_on(cluster, 1)
        records = cluster.world.applications["app-1"].records
        most = max(most, records, key=len)
    return most


def group(**changes: object) -> ClusterSpec:
    app = process("group-member", "app-1", program=(POLL, POLL.but(then=0)), **changes)
    return CLUSTERS["two-partitions"].but(applications=(app,))


def share(**changes: object) -> ClusterSpec:
    app = process("share-member", "app-1", program=(POLL, POLL.but(then=0)), **changes)
    return CLUSTERS["share-group"].but(applications=(app,))


def joins(simple: bool) -> object:
    """Whether the consumer joins its group."""
    return bool(list_sent(goes_on(Cluster(with_value(group(), "protocol", simple)), 3), JoinGroup))


def resets(simple: bool) -> object:
    """How many records the first poll() returns, and whether the consumer asks where the log ends."""
    cluster = Cluster(with_value(group(), "auto_offset_reset", simple))
    return len(read(cluster)), bool(list_sent(cluster, ListOffsets))


def flies(simple: bool) -> object:
    """How many batches of a partition are on the way at most, if nothing arrives between two calls of send()."""
    app = process("group-member", "app-1", program=MANY_IN_A_TRANSACTION, max_records=1)
    spec = CLUSTERS["two-partitions"].but(
        records=(("src-0", 100, ("a", "b", "c")),), applications=(app,)
    )
    cluster, most = Cluster(with_value(spec, "max_in_flight", simple)), 0
    for _ in range(30):
        cluster.quiet("Produce arrives at *")
        batches = cluster.world.applications["app-1"].producer.accumulator.batches
        most = max(most, sum(batch.broker >= 0 for batch in batches))
        if cluster.why_not(Step("app-1")) is not None:
            break
        cluster.take("app-1 goes on")
    return most


def measure_fetch(field: str, simple: bool) -> tuple[int, bool]:
    """Of how many partitions poll() returns records, and whether a ShareFetch asks for a whole session."""
    spec = searched_scenario("kip-932-one-answer").spec
    if field == "gathers":
        spec = with_value(spec, "by_session", True)
    cluster = Cluster(with_value(spec, field, simple))
    records = read(cluster)
    return len({record.partition for record in records}), any(
        len(f.partitions) > 1 for f in list_sent(cluster, ShareFetch)
    )


def returned_of(simple: bool) -> object:
    """Of how many partitions a poll() returns records."""
    return measure_fetch("gathers", simple)[0]


def fetches(simple: bool) -> object:
    """Whether a ShareFetch asks for all of a share session."""
    return measure_fetch("by_session", simple)[1]


def count_returned(simple: bool) -> object:
    """How many records the first poll() returns; the source has two."""
    return len(read(Cluster(with_value(share(), "max_records", simple))))


def strategies(simple: bool) -> object:
    """What a classic member says that it can do."""
    spec = with_value(group(protocol="classic"), "assignors", simple)
    return list_sent(goes_on(Cluster(spec), 3), JoinGroup)[0].protocols


def looks_up(simple: bool) -> object:
    """Whether a producer asks for topics before it sends offsets."""
    spec = searched_scenario("kip-1289-group-commit").spec
    cluster = goes_on(Cluster(with_value(spec, "look_up_topics", simple)), 8)
    assert list_sent(cluster, TxnOffsetCommit)
    return bool(list_sent(cluster, Metadata))


def replicates(simple: bool) -> object:
    """Whether a follower has a step of its own after an append."""
    spec = CLUSTERS["regular-group"].but(applications=(process("group-member", "app-1"),))
    cluster = Cluster(with_value(spec, "replication", simple))
    cluster.take("app-1 goes on").until("InitProducerId arrives at B*")
    return any(isinstance(action, Replicate) for action in cluster.model.enabled(cluster.world))


def needs_a_follower(simple: bool) -> object:
    """Whether a coordinator that has lost its only follower answers initTransactions()."""
    spec = CLUSTERS["regular-group"].but(applications=(process("group-member", "app-1"),))
    cluster = Cluster(with_value(spec, "min_insync_replicas", simple)).quiet()
    cluster.take("B5 crashes", "app-1 goes on")
    for _ in range(60):  # who gets no answer asks again and again
        action = next_by_itself(cluster.model, cluster.world)
        cluster = cluster if action is None else cluster.take(action)
    return bool(list_sent(cluster, InitProducerId)) and cluster.why_not(Step("app-1")) is None


def asks(simple: bool) -> object:
    """How many AddPartitionsToTxn three producers of one leader cause, before the first one is answered."""
    story = searched_scenario("kip-890-asked-together")
    cluster = Cluster(with_value(story.spec, "asks_together", simple))
    cluster.take(*story.beats[0].steps)
    cluster.quiet("AddPartitionsToTxn arrives at *")
    return len(list_sent(cluster, AddPartitionsToTxn))


def remembers(simple: bool) -> object:
    """Whether a leader keeps the verification of a batch that came to nothing."""
    keeps = ROWS["remembers_verifications"].values[simple]
    leader = Desk(
        partition_leader,
        PartitionLeader("out-0", 0),
        leaders={"out-0": 1, f"{TRANSACTION_STATE}-{partition_for('t', 50)}": 3},
        asks_together=False,
        remembers_verifications=keeps,
    )
    batch = Produce("t", (PartitionProduceData("out-0", 9, 0, 0, (DataRecord("r", "src-0@100"),)),))
    assert leader.ask(partition_leader.on_produce, batch) is None
    (asked,) = leader.requests[-1].message.transactions
    answer = answer_of(asked, Errors.NETWORK_EXCEPTION)
    leader.do(partition_leader.on_enlisted(leader.role, answer, leader.on))
    return bool(leader.role.verifications)


def keeps_a_target(simple: bool) -> object:
    """Whether a group waits before it makes the next target."""
    story = searched_scenario("kip-1263-interval")
    cluster = Cluster(with_value(story.spec, "consumer_assignment_interval_ms", simple))
    cluster.take(*story.beats[0].steps)
    roles = cluster.world.roles.values()
    return any(role.fresh for role in roles if isinstance(role, GroupCoordinator))


def begins(simple: bool) -> object:
    """How many of the records that were there before it a share group reads."""
    return len(read(Cluster(with_value(share(max_records=10), "share_auto_offset_reset", simple))))


# By row: what is looked at, what it is in Kafka, and what it is in the profile small.
DIFFERENCES: dict[str, tuple[Callable[[bool], object], object, object]] = {
    "protocol": (joins, True, False),
    "auto_offset_reset": (resets, (0, True), (2, False)),
    "max_in_flight": (flies, 3, 1),
    "gathers": (returned_of, 2, 1),
    "by_session": (fetches, True, False),
    "max_records": (count_returned, 2, 1),
    "assignors": (strategies, ("range", "cooperative-sticky"), ("range",)),
    "look_up_topics": (looks_up, True, False),
    "replication": (replicates, True, False),
    "min_insync_replicas": (needs_a_follower, False, True),
    "asks_together": (asks, 1, 3),
    "remembers_verifications": (remembers, True, False),
    "consumer_assignment_interval_ms": (keeps_a_target, True, False),
    "share_auto_offset_reset": (begins, 0, 2),
}


@pytest.mark.parametrize("field", ROWS)
def test_each_simplification_that_a_profile_chooses_makes_a_difference(field: str) -> None:
    look, in_kafka, in_small = DIFFERENCES[field]
    assert (look(False), look(True)) == (in_kafka, in_small)
