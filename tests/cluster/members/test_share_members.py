"""Members of a share group that come and go: heartbeats, assignment, and locks that nobody tells."""

from __future__ import annotations

import pytest

from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.clients.application import Call, Line
from kipviz.clients.groups.consumer_membership import MemberState
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.abstraction import SMALL
from kipviz.cluster.specs.spec import BadSpec, ClusterSpec, Placement
from kipviz.driving.cluster import Cluster
from kipviz.records.placement import CONSUMER_OFFSETS
from kipviz.records.share_group_state import RecordState
from kipviz.scenarios.applications import programs
from kipviz.scenarios.bases import process
from kipviz.scenarios.setting import PLAYGROUND, SHARE_PLACEMENTS, TOPIC_IDS, home

CLOSE = (Line("poll", Call.POLL), Line("close", Call.CLOSE_CONSUMER))


def cluster(*members, partitions=2, **changes):
    more = (Placement("src-1", 3, (5,)),) if partitions == 2 else ()
    records = (("src-0", 100, ("a", "b")), *((("src-1", 200, ("c", "d")),) if more else ()))
    apps = tuple(process("share-reader", name, protocol="share", **changes) for name in members)
    placements = (*SHARE_PLACEMENTS, Placement(home(CONSUMER_OFFSETS, "g1"), 1, (7,)), *more)
    return SMALL.of_brokers(
        ClusterSpec((1, 3, 5, 7), placements, apps, records, TOPIC_IDS, PLAYGROUND)
    )


class Run(Cluster):
    """A cluster in which messages go on by themselves after each step."""

    def __init__(self, spec):
        super().__init__(spec, "kafka")

    def app(self, name):
        return self.world.applications[name]

    def consumer(self, name):
        return self.app(name).consumer

    def then(self, *steps):
        for step in steps:
            self.take(step).quiet()
        return self

    def beat(self, *names):
        for name in names:
            self.then(f"the heartbeat interval of {name}/member is over")
        return self

    def join(self, *names):
        for name in names:
            self.then(f"{name} goes on")
        return self.beat(*names).beat(*names)

    @property
    def group(self):
        roles = self.world.roles.values()
        return next(r for r in roles if isinstance(r, GroupCoordinator)).share_groups["g1"]

    def states(self):
        return {
            (share.partition, offset): (record.state, record.member_id)
            for role in self.world.roles.values()
            if isinstance(role, ShareLeader)
            for share in role.shares.values()
            for offset, record in share.records.items()
        }


def test_the_first_poll_joins_and_records_come_once_the_states_are_there():
    run = Run(cluster("app-1"))
    run.then("app-1 goes on")
    assert (
        run.consumer("app-1").subscription.awaiting,
        run.consumer("app-1").subscription.assigned,
    ) == (
        True,
        (),
    )
    assert run.group.initialized == ("src-0", "src-1")
    run.beat("app-1")
    assert run.consumer("app-1").subscription.assigned == ("src-0", "src-1")
    assert run.consumer("app-1").member_epoch == run.group.epoch == 3
    assert [r.offset for r in run.consumer("app-1").records] == [100, 101]


def test_two_members_get_a_partition_each_and_a_third_one_shares():
    run = Run(cluster("app-1", "app-2", "app-3")).join("app-1", "app-2", "app-3")
    found = [run.consumer(name).subscription.assigned for name in ("app-1", "app-2", "app-3")]
    assert found == [("src-0",), ("src-1",), ("src-0",)]


def test_close_leaves_the_group_and_the_others_get_the_partitions():
    run = Run(cluster("app-1", "app-2", program=CLOSE)).join("app-1", "app-2")
    run.then("app-1 goes on").then("app-1 goes on")
    assert run.group.members.keys() == ("M2",)
    assert run.app("app-1").others["member"].state is MemberState.UNSUBSCRIBED
    run.beat("app-2")
    assert run.consumer("app-2").subscription.assigned == ("src-0", "src-1")


def test_the_coordinator_takes_a_member_out_and_its_locks_stay():
    run = Run(cluster("app-1", "app-2", partitions=1)).join("app-1").join("app-2")
    held = run.states()
    assert held["src-0", 100] == (RecordState.ACQUIRED, "M1")
    run.then("the session of M1 in g1 runs out at B1")
    assert run.group.members.keys() == ("M2",)
    assert run.states() == held
    run.beat("app-1")  # it is told, and joins again under its own id
    assert run.group.members.keys() == ("M1", "M2")
    run.beat("app-1")
    assert run.consumer("app-1").subscription.assigned == ("src-0",)
    run.then("app-1 goes on").then("app-1 goes on").then("app-1 goes on")
    assert not run.consumer("app-1").acknowledging.error
    assert run.states() == {}


def test_a_crashed_member_comes_back_as_another_one():
    run = Run(cluster("app-1", partitions=1)).join("app-1")
    run.then("app-1 crashes").then("app-1 starts").then("app-1 goes on")
    assert run.group.members.keys() == ("M1", "M1#2")


@pytest.mark.parametrize("protocol", ["consumer", "x"])
def test_the_protocol_of_a_member_is_one_that_there_is(protocol):
    spec = cluster("app-1")
    wrong = spec.but(applications=(process("share-reader", "app-1", protocol=protocol),))
    with pytest.raises(BadSpec, match="a share group's '' or 'share'"):
        check(wrong)


def test_either_all_members_join_or_all_are_given():
    spec = cluster("app-1")
    mixed = spec.but(
        applications=(*spec.applications, process("share-reader", "app-2", program=programs.WORK))
    )
    with pytest.raises(BadSpec, match="either all members"):
        check(mixed)
