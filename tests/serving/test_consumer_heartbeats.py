"""Heartbeats of the consumer protocol that a broker rejects before it looks at the group."""

from __future__ import annotations

import pytest

from kipviz.serving.translating.apis import APIS
from tests.serving.test_bad_requests import answer
from tests.serving.test_frames import frame, make_cluster

HEARTBEAT, INVALID_REQUEST, UNSUPPORTED_ASSIGNOR = 68, 42, 112


def beat(version, **said):
    cluster = make_cluster()
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
