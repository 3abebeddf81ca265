"""Members of classic groups whose clients speak older versions, or ask for what a broker does not allow."""

from __future__ import annotations

import pytest

from kipviz.cluster.actions import MoveLeader
from kipviz.messages.apis.groups.consumer_protocol import SUBSCRIPTION
from kipviz.messages.wire.codec import encode
from kipviz.serving.timing import group_times
from kipviz.serving.translating.apis import APIS
from tests.serving.frames import answer, frame, make_cluster

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


class Assigns(Member):
    """A member whose assignors send their own bytes; as the leader it assigns bytes, too."""

    def __init__(self, cluster, name, **metadata):
        super().__init__(cluster, 9)
        self.metadata, self.own = metadata, name

    def join(self):
        protocols = tuple({"Name": n, "Metadata": data} for n, data in self.metadata.items())
        said = {"SessionTimeoutMs": 10_000, "RebalanceTimeoutMs": 60_000, "MemberId": self.name}
        told = self.ask(JOIN_GROUP, 9, **said, ProtocolType="consumer", Protocols=protocols)
        if told and told["ErrorCode"] == MEMBER_ID_REQUIRED:
            self.name = told["MemberId"]
            return self.join()
        return told

    def sync(self, generation, **given):
        assignments = ({"MemberId": n, "Assignment": data} for n, data in given.items())
        said = {"GenerationId": generation, "MemberId": self.name, "ProtocolType": "consumer"}
        return self.ask(SYNC_GROUP, 5, **said, ProtocolName="own", Assignments=tuple(assignments))


# With user data; a version that nobody knows; bytes that only the client can read; none at all.
USER_DATA = b"\0\1" + encode(SUBSCRIPTION, 1, {"Topics": ("orders",), "UserData": b"mine"}).data
UNREADABLE = (USER_DATA, b"\0\x63" + USER_DATA[2:] + b"more", b"\xff\xfe not Kafka's", b"")


@pytest.mark.parametrize("one", UNREADABLE)
@pytest.mark.parametrize("other", UNREADABLE)
def test_a_leader_and_its_members_get_exactly_the_bytes_that_were_sent(one, other):
    cluster = make_cluster()
    leader, member = Assigns(cluster, "a", own=one), Assigns(cluster, "b", own=other)
    leader.sync(leader.join()["GenerationId"])
    assert member.join() is None
    told = leader.join()
    member.name = member.told(JOIN_GROUP, 9)["MemberId"]
    found = {each["MemberId"]: each["Metadata"] for each in told["Members"]}
    assert (told["ProtocolName"], found) == ("own", {leader.name: one, member.name: other})
    assert member.sync(told["GenerationId"]) is None
    mine = leader.sync(told["GenerationId"], **{leader.name: other, member.name: one})
    assert mine["Assignment"] == other
    assert member.told(SYNC_GROUP, 5)["Assignment"] == one
    groups = leader.ask(15, 5, Groups=("g",))["Groups"]
    described = {m["MemberId"]: m for m in groups[0]["Members"]}
    assert described[member.name]["MemberMetadata"] == other
    assert described[member.name]["MemberAssignment"] == one
    assert not cluster.lines


def test_each_assignor_of_a_member_has_its_own_bytes_and_a_member_without_assignment_gets_none():
    """GroupMetadataManager.classicGroupSync: EMPTY_ASSIGNMENT."""
    cluster = make_cluster()
    leader = Assigns(cluster, "a", range=RANGE, own=USER_DATA)
    leader.sync(leader.join()["GenerationId"])
    member = Assigns(cluster, "b", own=UNREADABLE[2], other=b"x")
    assert member.join() is None
    told = leader.join()
    member.name = member.told(JOIN_GROUP, 9)["MemberId"]
    found = {each["MemberId"]: each["Metadata"] for each in told["Members"]}
    assert (told["ProtocolName"], found[leader.name]) == ("own", USER_DATA)
    assert found[member.name] == UNREADABLE[2]
    assert leader.sync(told["GenerationId"], **{leader.name: b"all"})["Assignment"] == b"all"
    assert member.sync(told["GenerationId"])["Assignment"] == b""


def test_bytes_of_members_outlive_their_coordinator():
    cluster = make_cluster()
    leader = Assigns(cluster, "a", own=USER_DATA)
    generation = leader.join()["GenerationId"]
    leader.sync(generation, **{leader.name: b"all"})
    home = cluster.world.image.home_of("__consumer_offsets", "g")
    cluster.take(MoveLeader(home, 3 - cluster.world.image.leader_of(home)))
    cluster.run()
    leader.caller = cluster.connect(cluster.world.image.leader_of(home))
    assert leader.sync(generation)["Assignment"] == b"all"
    (group,) = leader.ask(15, 5, Groups=("g",))["Groups"]
    (member,) = group["Members"]
    assert (member["MemberMetadata"], member["MemberAssignment"]) == (USER_DATA, b"all")
