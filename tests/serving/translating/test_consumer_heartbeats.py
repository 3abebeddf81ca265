"""Heartbeats of the consumer protocol that a broker rejects before it looks at the group."""

from __future__ import annotations

import pytest

from kipviz.serving.translating.apis import APIS
from tests.serving.frames import answer, frame, make_cluster

HEARTBEAT, SHARE_HEARTBEAT = 68, 76
INVALID_REQUEST, GROUP_ID_NOT_FOUND, UNSUPPORTED_ASSIGNOR = 42, 69, 112


def beat(version, **said):
    return beat_in(make_cluster(), version, **said)


def beat_in(cluster, version, **said):
    home = cluster.world.image.home_of("__consumer_offsets", "g")
    caller = cluster.connect(cluster.world.image.leader_of(home))
    joins = {
        "GroupId": "g",
        "MemberId": "m",
        "MemberEpoch": 0,
        "RebalanceTimeoutMs": 60_000,
        "SubscribedTopicNames": ("orders",),
        "TopicPartitions": (),
    }
    cluster.feed(caller, frame(HEARTBEAT, version, **(joins | said)))
    assert not cluster.lines
    return answer(caller, APIS[HEARTBEAT].response, version)


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("name", [None, "uniform", "range"])
def test_a_group_is_assigned_by_an_assignor_of_its_brokers(version, name):
    assert beat(version, ServerAssignor=name)["ErrorCode"] == 0


@pytest.mark.parametrize("version", [0, 1])
def test_an_assignor_that_brokers_do_not_have_is_an_error_with_those_that_they_have(version):
    told = beat(version, ServerAssignor="mine")
    assert told["ErrorCode"] == UNSUPPORTED_ASSIGNOR
    assert told["ErrorMessage"] == (
        "ServerAssignor mine is not supported. Supported assignors: uniform, range."
    )
    assert beat(version, ServerAssignor="mine", MemberEpoch=-3)["ErrorCode"] == INVALID_REQUEST


def test_a_coordinator_makes_the_member_id_that_a_client_of_version_0_lacks():
    """KIP-1082: from version 1 on, the client makes it."""
    cluster = make_cluster()
    told = beat_in(cluster, 0, MemberId="")
    assert (told["ErrorCode"], told["MemberId"], told["MemberEpoch"]) == (0, "member.1", 2)
    unchanged = {"RebalanceTimeoutMs": -1, "SubscribedTopicNames": None, "TopicPartitions": None}
    told = beat_in(cluster, 0, MemberId="member.1", MemberEpoch=2, **unchanged)
    assert (told["ErrorCode"], told["MemberEpoch"]) == (0, 2)
    assert beat_in(cluster, 0, MemberId="")["MemberId"] == "member.2"


@pytest.mark.parametrize("version", [0, 1])
def test_an_error_names_no_member(version):
    """GroupCoordinatorService.handleOperationException."""
    told = beat(version, MemberEpoch=5, TopicPartitions=None)
    assert (told["ErrorCode"], told["MemberId"]) == (GROUP_ID_NOT_FOUND, None)


@pytest.mark.parametrize(("version", "epoch"), [(1, 0), (1, -2), (0, 1), (0, -1)])
def test_other_heartbeats_name_their_member(version, epoch):
    said = {"MemberId": "", "MemberEpoch": epoch, "InstanceId": "one"}
    assert beat(version, **said)["ErrorCode"] == INVALID_REQUEST


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("InstanceId", "", "InstanceId can't be empty."),
        ("RackId", "", "RackId can't be empty."),
        ("RebalanceTimeoutMs", -1, "RebalanceTimeoutMs must be provided in first request."),
    ],
)
def test_a_member_that_joins_names_its_time_for_a_rebalance_and_nothing_empty(field, value, why):
    told = beat(1, **{field: value})
    assert (told["ErrorCode"], told["ErrorMessage"]) == (INVALID_REQUEST, why)


def test_a_member_of_a_share_group_has_no_empty_rack():
    cluster = make_cluster()
    home = cluster.world.image.home_of("__consumer_offsets", "g")
    caller = cluster.connect(cluster.world.image.leader_of(home))
    said = {"GroupId": "g", "MemberId": "m", "MemberEpoch": 0, "SubscribedTopicNames": ("orders",)}
    for rack, error in (("", INVALID_REQUEST), (None, 0)):
        cluster.feed(caller, frame(SHARE_HEARTBEAT, 1, **said, RackId=rack))
        assert answer(caller, APIS[SHARE_HEARTBEAT].response, 1)["ErrorCode"] == error
