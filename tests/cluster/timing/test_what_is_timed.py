"""What a clock counts of what: ages that roles may look at, locks of the records that were delivered, whose setting it is."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.brokers.share_leaders.share_partition import ShareLeader, SharePartition
from kipviz.clients.application import Call, Line
from kipviz.clients.sessions.session_calls import GIVEN
from kipviz.cluster.actions import CrashBroker, DeleteTopic, MoveLeader
from kipviz.cluster.behaviour.catalogue import BEHAVIOURS
from kipviz.cluster.spec_checks.program_limits import why_no_such_call
from kipviz.cluster.spec_checks.thread_check import why_no_threads
from kipviz.cluster.specs.spec import Durations, FaultBudget, ThreadSpec
from kipviz.cluster.timing import deadlines, timers
from kipviz.cluster.timing.clock import NEVER, Clock, Deadline, Due
from kipviz.cluster.timing.duration_limits import why_no_durations
from kipviz.cluster.timing.durations import DURATIONS
from kipviz.core.table import Table
from kipviz.messages.events import DELIVERED, RecordsMoved
from kipviz.records.share_group_state import RecordState
from tests.cluster.small_clusters import model_of, small_spec

AGED = Deadline(Due.TRANSACTION_AGE, ("txn-1", timers.OLDEST_MS), timers.OLDEST_MS - 500, NEVER)


@pytest.mark.parametrize(("timed", "age"), [(True, 500), (False, -1)])
def test_a_coordinator_may_look_at_how_old_a_transaction_is_where_a_clock_counts(timed, age):
    model = model_of(small_spec().but(clock=Clock("timed") if timed else Clock()))
    world = model.initial().but(deadlines=(AGED,))
    on = model.turn(world).context(5)
    assert dict(on.ages).get("txn-1", -1) == age


def test_a_delivery_begins_the_locks_of_its_own_records_anew_and_of_no_others():
    held = InFlight(RecordState.ACQUIRED, 1, "M1", lock=0)
    shares = {
        key: SharePartition(key, group, partition, 0).but(records=Table.of({0: held, 1: held}))
        for key, group, partition in (
            ("a", "g1", "src-0"),
            ("b", "g2", "src-0"),
            ("c", "g1", "src-1"),
        )
    }
    roles = {(5, "share_partition_leader", ""): ShareLeader(shares=Table.of(shares))}
    world = SimpleNamespace(roles=roles, applications={})
    given = RecordsMoved(
        "src-0", "g1", 0, 0, RecordState.AVAILABLE, RecordState.ACQUIRED, 1, "M1", DELIVERED
    )
    begun = list(deadlines.restarted_places(world, world, [given]))
    assert begun == [(Due.LOCK, (5, "a", 0))]


@pytest.mark.parametrize(
    ("durations", "unit"),
    [
        (Durations(offsets_retention_minutes=0), "minutes"),
        (Durations(request_timeout_ms=0), "ms"),
    ],
)
def test_a_duration_that_is_none_is_refused_in_kafkas_own_unit(durations, unit):
    assert f"must be a whole number of {unit} from 1 to" in str(why_no_durations(durations))


def test_a_setting_of_a_duration_is_of_the_process_that_kafka_configures_with_it():
    """ConsumerConfig, ProducerConfig; what no client has is the brokers'."""
    owners = {each.setting: each.definition.owner for each in DURATIONS}
    assert owners["session.timeout.ms"] == owners["heartbeat.interval.ms"] == "consumer"
    assert owners["group.consumer.heartbeat.interval.ms"] == "brokers"


def test_a_move_says_whether_the_broker_that_is_to_lead_is_up():
    budget = FaultBudget(move_leader=1, crash_broker=1)
    model = model_of(small_spec(budget=budget))
    world = model.initial()
    move = MoveLeader("src-0", 3)
    looks = next(each for each in BEHAVIOURS if each.action is MoveLeader).looks_at
    assert dict(looks(world, move))["Broker 3"] == "up"
    down = model.step(world, CrashBroker(3)).world
    assert dict(looks(down, move))["Broker 3"] == "down"


@pytest.mark.parametrize(
    ("changes", "looks_up"),
    [
        ({}, False),
        ({"later_topics": ("output-A",)}, True),
        ({"deletable_topics": ("output-A",)}, True),
    ],
)
def test_a_producer_looks_topics_up_where_one_may_come_or_go(changes, looks_up):
    world = model_of(small_spec().but(**changes)).initial()
    assert world.applications["app-1"].producer.metadata.looks_up is looks_up


def test_the_leader_of_a_deleted_topic_has_nothing_to_lead_any_more():
    """ReplicaManager.stopPartitions."""
    model = model_of(small_spec().but(deletable_topics=("output-A",)))
    world = model.initial()
    led = [key for key in world.roles if "output-A-0" in key]
    assert led
    gone = model.step(world, DeleteTopic("output-A")).world
    assert not [key for key in gone.roles if "output-A-0" in key]


def test_only_calls_that_a_producer_s_own_session_has_can_be_made_on_it():
    (app,) = small_spec().applications
    for call, has in (
        (Call.COMMIT_TRANSACTION, True),
        (Call.INITIALIZE, True),
        (Call.CLOSE, False),
    ):
        line = Line("x", call, client=GIVEN)
        said = why_no_such_call(app.but(program=(line,)))
        assert ("which has" in said) is not has


@pytest.mark.parametrize(
    ("looks_up", "version", "keeps"), [(True, 6, True), (True, 5, False), (False, 6, False)]
)
def test_coordinators_keep_ids_of_topics_where_requests_can_say_them(looks_up, version, keeps):
    """KIP-1319: from the version of TxnOffsetCommit on that has topic ids."""
    spec = small_spec("group").but(
        look_up_topics=looks_up, txn_offset_commit=version, topic_ids_from=6
    )
    assert model_of(spec).initial().image.keeps_topic_ids is keeps


@pytest.mark.parametrize(("name", "fits"), [("", False), ("main", True), ("worker", False)])
def test_every_thread_has_a_name_of_its_own(name, fits):
    spec = small_spec("group")
    (app,) = spec.applications
    threads = (ThreadSpec(name, 1), ThreadSpec("worker", 1))
    wrong = why_no_threads(spec, app.but(threads=threads))
    assert ("a name of its own" in wrong) is not fits
