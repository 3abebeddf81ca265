"""Members of classic groups whose clients speak older versions, or ask for what a broker does not allow."""

from __future__ import annotations

import pytest

from kipviz.messages.apis.groups.classic_groups import SUBSCRIPTION
from kipviz.messages.wire.codec import encode
from kipviz.serving.timing import group_times
from kipviz.serving.translating.apis import APIS
from tests.serving.test_bad_requests import answer
from tests.serving.test_frames import frame, make_cluster

JOIN_GROUP, HEARTBEAT, SYNC_GROUP = 11, 12, 14
INVALID_SESSION_TIMEOUT, MEMBER_ID_REQUIRED = 26, 79
RANGE = b"\0\0" + encode(SUBSCRIPTION, 0, {"Topics": ("orders",)}).data


class Member:
    """A member of group g that speaks one version of JoinGroup."""

    def __init__(self, cluster, version, name="", instance=None, session_ms=10_000):
        self.cluster, self.version = cluster, version
        leader = cluster.world.image.home_of("__consumer_offsets", "g")
        self.caller = cluster.connect(cluster.world.image.leader_of(leader))
        self.name, self.instance, self.session_ms = name, instance, session_ms

    def ask(self, key, version, **said):
        self.cluster.feed(self.caller, frame(key, version, GroupId="g", **said))
        return self.told(key, version)

    def told(self, key, version):
        return answer(self.caller, APIS[key].response, version) if self.caller.out else None

    def join(self):
        said = {"SessionTimeoutMs": self.session_ms, "RebalanceTimeoutMs": 60_000}
        told = self.ask(
            JOIN_GROUP,
            self.version,
            **said,
            MemberId=self.name,
            GroupInstanceId=self.instance,
            ProtocolType="consumer",
            Protocols=({"Name": "range", "Metadata": RANGE},),
        )
        self.name = told["MemberId"] if told else self.name
        return told

    def sync(self, generation):
        """Ask for the assignment, in an old version that all of these members speak."""
        said = {"GenerationId": generation, "MemberId": self.name, "Assignments": ()}
        return self.ask(SYNC_GROUP, 1, **said)


@pytest.mark.parametrize("version", range(10))
def test_from_version_4_on_a_new_member_has_to_join_again_with_its_member_id(version):
    """JoinGroupRequest.requiresKnownMemberId."""
    member = Member(make_cluster(), version)
    told = member.join()
    if version >= 4:
        assert told["ErrorCode"] == MEMBER_ID_REQUIRED
        told = member.join()
    assert told["ErrorCode"] == 0
    assert told["Leader"] == told["MemberId"] == member.name
    assert [each["MemberId"] for each in told["Members"]] == [member.name]
    assert member.sync(told["GenerationId"])["ErrorCode"] == 0


@pytest.mark.parametrize("version", [5, 8, 9])
def test_a_static_leader_that_comes_back_is_told_to_skip_the_assignment_from_version_9_on(version):
    """GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin."""
    cluster = make_cluster()
    first = Member(cluster, version, instance="node")
    assert first.sync(first.join()["GenerationId"])["ErrorCode"] == 0
    again = Member(cluster, version, instance="node")
    told = again.join()
    assert again.name != first.name
    if version >= 9:
        assert (told["Leader"], told["SkipAssignment"]) == (again.name, True)
        assert len(told["Members"]) == 1
    else:
        assert (told["Leader"], told["Members"]) == (first.name, ())


@pytest.mark.parametrize("session_ms", [-1, 0, 5_999, 6_000, 1_800_000, 1_800_001, 2**31 - 1])
def test_a_session_is_within_the_limits_of_the_brokers(session_ms):
    """GroupCoordinatorService.joinGroup."""
    cluster = make_cluster()
    member = Member(cluster, 9, session_ms=session_ms)
    fits = 6_000 <= session_ms <= 1_800_000
    assert member.join()["ErrorCode"] == (MEMBER_ID_REQUIRED if fits else INVALID_SESSION_TIMEOUT)
    assert bool(member.name) == fits
    assert not cluster.lines


def test_a_new_member_that_waits_has_five_minutes_and_then_its_session():
    """GroupCoordinatorConfig.CLASSIC_GROUP_NEW_MEMBER_JOIN_TIMEOUT_MS."""
    cluster = make_cluster()
    times = cluster.desk.groups
    old = Member(cluster, 3)
    old.sync(old.join()["GenerationId"])
    new = Member(cluster, 3, session_ms=20_000)
    assert new.join() is None

    def sessions():
        running = times._running(cluster.model, cluster.world)
        return {a.timer.member_id: ms for a, _, ms in running if hasattr(a.timer, "member_id")}

    (waits,) = sessions().keys() - {old.name}
    assert sessions() == {old.name: 10_000, waits: group_times.NEW_MEMBER_MS}
    assert old.join()["ErrorCode"] == 0
    new.name = new.told(JOIN_GROUP, 3)["MemberId"]
    assert sessions()[new.name] == 20_000


def test_a_leave_group_without_members_removes_none():
    cluster = make_cluster()
    member = Member(cluster, 3)
    generation = member.join()["GenerationId"]
    member.sync(generation)
    told = member.ask(13, 5, Members=())
    assert (told["ErrorCode"], told["Members"]) == (0, ())
    beat = member.ask(HEARTBEAT, 0, GenerationId=generation, MemberId=member.name)
    assert beat["ErrorCode"] == 0
