"""Requests with empty arrays, and with two entries for the same thing: answered, as Kafka does."""

from __future__ import annotations

import pytest

from kipviz.serving.translating.apis import APIS
from tests.recordings import made_logs
from tests.serving.frames import CASES, answer, frame, make_cluster

# Requests that are refused for another reason than an empty array.
NOT_FOR_CLIENTS, NO_FILTER = {(24, 4), (24, 5)}, {(29, 1), (29, 2), (29, 3)}
UNKNOWN_MEMBER_ID, INVALID_GROUP_ID = 25, 24
OFFSET_FETCH, FIND_COORDINATOR, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP = 9, 10, 12, 13, 14
DESCRIBE_GROUPS, WRITE_TXN_MARKERS, SHARE_OFFSETS = 15, 27, 90


def ask(cluster, key, version, broker=1, **said):
    caller = cluster.connect(broker)
    cluster.feed(caller, frame(key, version, **said))
    assert not cluster.lines
    return answer(caller, APIS[key].response, version)


def coordinator(cluster, group="g"):
    return cluster.world.image.leader_of(cluster.world.image.home_of("__consumer_offsets", group))


@pytest.mark.parametrize(
    ("key", "version"), [case for case in CASES if case not in NOT_FOR_CLIENTS | NO_FILTER]
)
def test_a_request_with_empty_arrays_is_answered(key, version):
    cluster = make_cluster()
    caller = cluster.connect(1)
    cluster.feed(caller, frame(key, version))
    assert not caller.broken
    assert answer(caller, APIS[key].response, version)
    assert not cluster.lines


@pytest.mark.parametrize("version", [3, 4, 5])
def test_who_names_no_members_removes_none_of_a_group_that_is_not_there(version):
    cluster = make_cluster()
    told = ask(cluster, LEAVE_GROUP, version, coordinator(cluster), GroupId="g", Members=())
    assert (told["ErrorCode"], told["Members"]) == (0, ())


@pytest.mark.parametrize("key", [HEARTBEAT, LEAVE_GROUP, SYNC_GROUP])
def test_a_group_needs_a_name(key):
    for version in range(APIS[key].lowest, APIS[key].highest + 1):
        assert ask(make_cluster(), key, version, GroupId="")["ErrorCode"] == INVALID_GROUP_ID


def test_arrays_that_are_empty_inside_are_answered_with_empty_ones():
    cluster = make_cluster()
    there = coordinator(cluster)
    told = ask(cluster, OFFSET_FETCH, 8, there, Groups=({"GroupId": "g", "Topics": ()},))
    assert told["Groups"] == ({"GroupId": "g", "Topics": (), "ErrorCode": 0},)
    assert ask(cluster, FIND_COORDINATOR, 4, CoordinatorKeys=())["Coordinators"] == ()
    share = ask(cluster, SHARE_OFFSETS, 0, there, Groups=({"GroupId": "g", "Topics": ()},))
    (group,) = share["Groups"]
    assert (group["GroupId"], group["Topics"], group["ErrorCode"]) == ("g", (), 0)


def test_a_group_that_is_named_twice_is_described_twice():
    cluster = make_cluster()
    told = ask(cluster, DESCRIBE_GROUPS, 5, coordinator(cluster), Groups=("g", "g"))
    assert [group["GroupId"] for group in told["Groups"]] == ["g", "g"]


def marker(producer_id, *partitions, committed=False, epoch=0):
    topics = ({"Name": "orders", "PartitionIndexes": partitions},) if partitions else ()
    return {
        "ProducerId": producer_id,
        "ProducerEpoch": epoch,
        "TransactionResult": committed,
        "Topics": topics,
        "CoordinatorEpoch": 0,
    }


def test_two_markers_of_one_producer_id_have_one_result_together():
    """KafkaApis.handleWriteTxnMarkersRequest: updateErrors."""
    cluster = make_cluster()
    leader = cluster.world.image.leader_of("orders-0")
    data = {"Index": 0, "Records": made_logs.batch(0, pid=7, epoch=0, sequence=0)}
    said = {"Acks": -1, "TopicData": ({"Name": "orders", "PartitionData": (data,)},)}
    caller = cluster.connect(leader)
    cluster.feed(caller, frame(0, 9, TransactionalId="t", **said))
    markers = (marker(7, 0), marker(8, 0, 9), marker(7, 9, epoch=1), marker(9))
    told = ask(cluster, WRITE_TXN_MARKERS, 1, leader, Markers=markers)
    found = {
        m["ProducerId"]: [
            (p["PartitionIndex"], p["ErrorCode"]) for t in m["Topics"] for p in t["Partitions"]
        ]
        for m in told["Markers"]
    }
    assert len(told["Markers"]) == len(found)
    assert sorted(found[7]) == [(0, 0), (9, 3)]
    assert sorted(found[8]) == [(0, 0), (9, 3)]
    assert 9 not in found
    assert (
        ask(cluster, WRITE_TXN_MARKERS, 1, leader, Markers=(marker(7), marker(8)))["Markers"] == ()
    )
