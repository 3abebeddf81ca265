"""What the coordinators make of a topic that is deleted: offsets, assignments, share state, markers."""

from __future__ import annotations

import pytest

from kipviz.brokers import deleted_topics
from kipviz.brokers.groups import group_coordinator as gc
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.logs import partition_leader as pl
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.brokers.membership.group_membership import on_consumer_group_heartbeat
from kipviz.brokers.share_coordinators import share_state_maintenance as upkeep
from kipviz.cluster.actions import CrashBroker, DeleteTopic, MoveLeader, Replicate
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.driving.desk import TOPIC_IDS, Desk
from kipviz.messages.errors import Errors
from kipviz.messages.events import ShareStateReset, TransactionMoved
from kipviz.messages.groups.membership import Assignment, ConsumerGroupHeartbeat
from kipviz.messages.logs.producing import Fetch, FetchPartition
from kipviz.messages.message_errors import error_in
from kipviz.records.share_group_members import ShareGroupStatePartitionsRecord
from kipviz.records.share_group_state import ShareTombstone
from kipviz.records.transaction_state import TransactionState
from kipviz.scenarios.script import next_by_itself
from tests.brokers.membership.test_share_membership import Group, running
from tests.brokers.share_coordinators.test_share_upkeep import HERE as STATE
from tests.brokers.share_coordinators.test_share_upkeep import ONE, TWO, State
from tests.cluster.small_clusters import model_of, small_spec

HERE = "__consumer_offsets-0"


def beat(desk, name, epoch, owned=None, names=None):
    request = ConsumerGroupHeartbeat("g", name, epoch, names, owned)
    return desk.ask(on_consumer_group_heartbeat, request)


def test_a_group_whose_topic_is_gone_takes_its_partitions_back_with_the_next_heartbeat():
    desk = Desk(gc, GroupCoordinator(HERE), leaders={HERE: 1, "src-0": 5, "src-1": 5})
    joined = beat(desk, "C1", 0, (), ("src",))
    assert joined.assignment == Assignment(("src-0", "src-1"))
    del desk.leaders["src-0"], desk.leaders["src-1"]
    told = beat(desk, "C1", joined.member_epoch)
    assert (told.member_epoch, told.assignment) == (joined.member_epoch, Assignment(()))
    told = beat(desk, "C1", told.member_epoch, ())
    assert told.member_epoch == joined.member_epoch + 1
    assert beat(desk, "C1", told.member_epoch).member_epoch == told.member_epoch


def test_a_group_that_waits_for_a_topic_is_given_it_with_the_first_heartbeat_after_it_is_made():
    desk = Desk(gc, GroupCoordinator(HERE), leaders={HERE: 1})
    joined = beat(desk, "C1", 0, (), ("src",))
    assert joined.assignment == Assignment(())
    desk.leaders["src-0"] = 5
    told = beat(desk, "C1", joined.member_epoch)
    assert (told.member_epoch, told.assignment) == (3, Assignment(("src-0",)))


def test_a_share_group_forgets_that_a_topic_which_is_gone_has_state():
    group = running(("M1",))
    assert group.has("M1") == ("src-0", "src-1")
    del group.leaders["src-0"], group.leaders["src-1"]
    group.do(gc.on_topic_deleted(group.role, "src", group.on))
    record = group.written(group.role.shard)[-1]
    assert isinstance(record, ShareGroupStatePartitionsRecord)
    assert (record.initializing, record.initialized, record.deleting) == ((), (), ())
    epoch = group.group.members["M1"].epoch
    told = group.beats("M1", epoch)
    assert (told.member_epoch, told.assignment) == (epoch + 1, Assignment(()))
    before = len(group.written(group.role.shard))
    group.do(gc.on_topic_deleted(group.role, "src", group.on))
    assert len(group.written(group.role.shard)) == before


def test_a_state_that_is_made_for_a_topic_that_is_gone_is_not_noted():
    group = Group()
    group.joins("M1")
    del group.leaders["src-0"], group.leaders["src-1"]
    group.do(gc.on_topic_deleted(group.role, "src", group.on))
    group.answer_initializations()
    assert group.group.initialized == ()


def test_the_state_of_a_topic_s_share_partitions_is_deleted_whichever_group_they_are_of():
    other = f"g2:{TOPIC_IDS['output-A']}:0"
    desk = State(ONE, TWO, other)
    desk.do(upkeep.on_topic_deleted(desk.role, TOPIC_IDS["src"], desk.on))
    assert desk.written(STATE)[-2:] == [ShareTombstone(ONE), ShareTombstone(TWO)]
    assert desk.role.states.keys() == (other,)
    assert desk.events.count(ShareStateReset(ONE, -1, -1)) == 1


def test_a_log_that_takes_nothing_keeps_the_state_and_tells_of_no_reset():
    desk = State(ONE, TWO)
    desk.image = {"min_insync_replicas": (("__share_group_state", 2),), "offline": (99,)}
    before = desk.events[:]
    desk.do(upkeep.on_topic_deleted(desk.role, TOPIC_IDS["src"], desk.on))
    assert desk.role.states.keys() == (ONE, TWO)
    assert desk.events == before


def test_a_loading_coordinator_is_not_told_and_keeps_what_it_finds():
    spec = small_spec("share", budget=FaultBudget(move_leader=9)).but(deletable_topics=("src",))
    model = model_of(spec)
    world = model.initial()
    home = next(p for p in world.image.leaders if p.startswith("__share_group_state"))
    held = world.image.leaders[home]
    away = next(b for b in held.replicas if b != held.leader)
    world = model.step(world, MoveLeader(home, away)).world
    before = world.logs[home].end_offset
    world = model.step(world, DeleteTopic("src")).world
    assert world.logs[home].end_offset == before


def test_a_fetch_that_waits_hears_that_the_topic_is_gone():
    leader = PartitionLeader("src-0", 0)
    desk = Desk(pl, leader, leaders={"src-0": 1})
    assert desk.ask(pl.on_fetch, Fetch((FetchPartition("src-0", 0),), True)) is None
    del desk.leaders["src-0"]
    done = pl.on_resigned(desk.role, desk.on)
    assert [error_in(r.message) for r in done.replies] == [Errors.UNKNOWN_TOPIC_OR_PARTITION]


@pytest.mark.parametrize("there", [True, False])
def test_who_does_not_lead_a_share_partition_says_whether_anybody_does(there):
    desk = Desk(pl, PartitionLeader("src-0", 0), leaders={"src-0": 1} if there else {})
    named = (Errors.NOT_LEADER_OR_FOLLOWER, Errors.UNKNOWN_TOPIC_OR_PARTITION)
    by_id = Errors.UNKNOWN_TOPIC_ID
    assert deleted_topics.not_led("src-0", desk.on.image) is (named[0] if there else by_id)
    assert deleted_topics.unknown("src-0", desk.on.image) is (named[1] if there else by_id)


def quiet(model, world):
    moved = []
    while (action := next_by_itself(model, world)) is not None:
        outcome = model.step(world, action)
        world = outcome.world
        moved += [e.after for e in outcome.events if isinstance(e, TransactionMoved)]
    return world, moved


def until(model, world, wanted):
    """Go on by itself, with applications that go on, until a step of a kind is possible."""
    for _ in range(400):
        possible = model.enabled(world)
        found = next((a for a in possible if wanted(world, a)), None)
        if found is not None:
            return world
        steps = [a for a in possible if model.kind(a) == "application"]
        world = model.step(world, next_by_itself(model, world) or steps[0]).world
    raise AssertionError("it never comes")


def test_a_marker_that_waits_for_a_leader_is_dropped_with_its_topic():
    budget = FaultBudget(crash_broker=2)
    spec = small_spec("group", budget=budget).but(deletable_topics=("output-A",))
    spec = spec.but(placements=(spec.placements[0], spec.placements[1].but(others=())))
    model = model_of(spec, "kafka")
    world = model.initial()
    world = until(model, world, lambda w, _: _commits(w))
    crashed = model.step(world, CrashBroker(3)).world
    waiting, moved = quiet(model, model.step(crashed, _step(model, crashed)).world)
    assert TransactionState.COMPLETE_COMMIT not in moved
    outcome = model.step(waiting, DeleteTopic("output-A"))
    _, moved = quiet(model, outcome.world)
    moved += [e.after for e in outcome.events if isinstance(e, TransactionMoved)]
    assert TransactionState.COMPLETE_COMMIT in moved


def _commits(world):
    app = world.applications["app-1"]
    return not app.waiting and app.program[app.line].call.value == "commitTransaction"


def _step(model, world):
    return next(a for a in model.enabled(world) if model.kind(a) == "application")


def test_a_batch_that_waits_for_its_replicas_hears_that_the_topic_is_gone():
    spec = small_spec("group", replication="stepwise").but(deletable_topics=("output-A",))
    model = model_of(spec, "kafka")
    grown = Replicate("output-A-0")
    world = until(model, model.initial(), lambda _, a: a == grown)
    turn = model.step(world, DeleteTopic("output-A")).world
    (connection,) = [
        c for (s, b), c in turn.connections.items() if s == "app-1/producer" and b == 3
    ]
    assert error_in(connection.responses[0].message) is Errors.UNKNOWN_TOPIC_OR_PARTITION
