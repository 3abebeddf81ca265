"""Which role of a broker a request is for, and which roles hear of a change of the metadata."""

from __future__ import annotations

import pytest

from kipviz.brokers.context import Leadership
from kipviz.brokers.groups import group_state
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.cluster import dispatch
from kipviz.cluster.actions import CrashBroker
from kipviz.cluster.specs.spec import FaultBudget, Placement
from kipviz.cluster.world import has_active_coordinator, host_roles, leadership, role_key
from kipviz.messages.groups.groups import GroupOffset, TxnOffsetCommit, fetch_offsets
from kipviz.messages.logs.producing import Fetch, FetchPartition, PartitionProduceData, Produce
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    EndTxn,
    InitProducerId,
    TxnPartitions,
)
from kipviz.records.batches import Batch, DataRecord
from kipviz.records.consumer_offsets import OffsetCommitRecord
from tests.cluster.small_clusters import model_of, small_spec
from tests.messages.shares import acknowledges, fetches

MODEL = model_of(small_spec("group", budget=FaultBudget(crash_broker=4)))
WORLD = MODEL.initial()
IMAGE = WORLD.image
(APP,) = MODEL.spec.applications
T, G = APP.transactional_id, APP.group_id
TXN, GROUP = IMAGE.home_of("__transaction_state", T), IMAGE.home_of("__consumer_offsets", G)
OFFSET = (GroupOffset("src-0", 1),)


def produce(*partitions: str) -> Produce:
    data = (PartitionProduceData(each, 9, 0, 0, (DataRecord("a"),)) for each in partitions)
    return Produce(T, tuple(data))


@pytest.mark.parametrize(
    ("message", "role"),
    [
        (InitProducerId(T), role_key(5, TXN)),
        (InitProducerId(None), (5, "kafka_apis", "")),
        (EndTxn(T, 9, 0, True), role_key(5, TXN)),
        (AddPartitionsToTxn((TxnPartitions(T, 9, 0, ("src-0",)),)), role_key(5, TXN)),
        (TxnOffsetCommit(T, G, 9, 0, "m", 1, OFFSET), role_key(5, GROUP)),
        (fetch_offsets(G, ("src-0",)), role_key(5, GROUP)),
        (produce("src-0"), role_key(5, "src-0")),
        (produce("src-0", "output-A-0"), (5, "kafka_apis", "")),
        (Fetch((FetchPartition("src-0", 0),), read_committed=True), role_key(5, "src-0")),
        (fetches("M1", 0, "src-0", 10), (5, "share_partition_leader", "")),
        (acknowledges("g1", "M1", 1, "src-0", ()), (5, "share_partition_leader", "")),
    ],
    ids=lambda each: type(each).__name__ if not isinstance(each, tuple) else "",
)
def test_a_request_is_for_the_role_that_has_what_it_is_about(message, role) -> None:
    """KafkaApis divides what has several parts, and gives ids to producers without a name itself."""
    assert dispatch.role_for(message, 5, IMAGE) == role


@pytest.mark.parametrize(
    ("partition", "was_leaderless", "heeds"),
    [
        ("__share_group_state-3", True, True),
        ("__share_group_state-3", False, False),
        ("src-0", True, False),
    ],
)
def test_a_share_leader_heeds_that_its_state_has_a_coordinator_again(
    partition, was_leaderless, heeds
) -> None:
    found = dispatch.heeds_image(ShareLeader(), partition, was_leaderless=was_leaderless)
    assert found is heeds
    assert not dispatch.heeds_image(GroupCoordinator(GROUP), partition, was_leaderless=True)


@pytest.mark.parametrize("loading", [False, True])
def test_a_coordinator_that_loads_its_log_is_not_told_of_a_deleted_topic(loading) -> None:
    """CoordinatorRuntime schedules it for coordinators that are active."""
    committed = Batch(0, (OffsetCommitRecord(G, "src-0", 7),))
    known = group_state.replay(GroupCoordinator(GROUP), committed).but(loading=loading)
    on = MODEL.turn(WORLD).context(IMAGE.leader_of(GROUP))
    told = dispatch.topic_deleted(known, "src", "id", on)
    assert bool(told.appends) is not loading
    other = dispatch.topic_deleted(known, "another", "id", on)
    assert (other.state, other.appends) == (known, ())
    leader = host_roles(5)[(5, "share_partition_leader", "")]
    untouched = dispatch.topic_deleted(leader, "src", "id", MODEL.turn(WORLD).context(5))
    assert (untouched.state, untouched.appends, untouched.replies) == (leader, (), ())


def test_a_coordinator_is_in_office_when_somebody_leads_and_has_read_its_log() -> None:
    key = role_key(IMAGE.leader_of(TXN), TXN)
    for loading in (False, True):
        roles = WORLD.roles.set(key, WORLD.roles[key].but(loading=loading))
        assert has_active_coordinator(WORLD.but(roles=roles), TXN) is not loading
    assert not has_active_coordinator(WORLD.but(roles=WORLD.roles.without(key)), TXN)
    gone = WORLD
    for broker in IMAGE.leaders[TXN].replicas:
        gone = MODEL.step(gone, CrashBroker(broker)).world
    assert not has_active_coordinator(gone, TXN)


def test_a_partition_begins_in_leader_epoch_0_with_its_leader_first() -> None:
    placed = Placement("src-0", 5, (3, 1))
    assert leadership(placed) == Leadership(5, 0, (5, 3, 1))
    assert leadership(placed).replicas == (5, 3, 1)


def test_every_broker_has_a_front_desk_and_one_share_partition_leader() -> None:
    assert sorted(host_roles(7)) == [(7, "kafka_apis", ""), (7, "share_partition_leader", "")]
