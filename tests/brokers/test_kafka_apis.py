"""WriteTxnMarkers: handed to the roles that lead, answered when the last one is done."""

from __future__ import annotations

import pytest

from kipviz.brokers import kafka_apis as apis
from kipviz.brokers.context import ReplyTo
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.local_calls import (
    ApplyMarkerToShares,
    MarkerApplied,
    MarkerWritten,
    OutcomeWritten,
    WriteMarker,
)
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.transactions.transactions import TxnMarker, WriteTxnMarkers

OFFSETS, STATE = "__consumer_offsets-7", "__share_group_state-16"


@pytest.fixture
def desk():
    leaders = {"out-0": 1, OFFSETS: 1, STATE: 1, "far-0": 3}
    return Desk(apis, KafkaApis(), leaders=leaders)


def mark(desk, *partitions, incarnation=0, epoch=1):
    request = WriteTxnMarkers((TxnMarker(9, epoch, True, partitions, 2),))
    to = ReplyTo("B7/markers", 1, incarnation)
    desk.do(apis.on_write_txn_markers(desk.role, request, to, desk.on))
    return to


def note_written(desk, to, partition, error=Errors.NONE):
    desk.do(apis.on_marker_written(desk.role, MarkerWritten(to, partition, error), desk.on))


def test_every_partition_s_own_role_gets_its_marker(desk):
    mark(desk, "out-0", OFFSETS, STATE)
    assert [(c.role, c.shard, type(c.message)) for c in desk.local] == [
        ("partition_leader", "out-0", WriteMarker),
        ("group_coordinator", OFFSETS, WriteMarker),
        ("share_coordinator", STATE, WriteMarker),
    ]


def test_the_answer_waits_for_the_last_partition(desk):
    to = mark(desk, "out-0", OFFSETS)
    note_written(desk, to, "out-0")
    assert not desk.replies
    note_written(desk, to, OFFSETS, Errors.NOT_LEADER_OR_FOLLOWER)
    assert {r.partition: r.error for r in desk.last.results} == {
        "out-0": Errors.NONE,
        OFFSETS: Errors.NOT_LEADER_OR_FOLLOWER,
    }
    assert desk.local[-1].message == ApplyMarkerToShares(9, 1, committed=True)


def test_a_partition_that_is_led_elsewhere_is_an_error_at_once(desk):
    """With a copy of it: NOT_LEADER_OR_FOLLOWER; without: UNKNOWN_TOPIC_OR_PARTITION."""
    desk.broker = 99  # every partition has a copy there
    mark(desk, "far-0", "nowhere-0")
    assert [(r.partition, r.error) for r in desk.last.results] == [
        ("far-0", Errors.NOT_LEADER_OR_FOLLOWER),
        ("nowhere-0", Errors.UNKNOWN_TOPIC_OR_PARTITION),
    ]


def test_a_marker_of_a_connection_that_broke_does_not_answer_the_one_that_replaced_it(desk):
    old = mark(desk, "out-0")
    new = mark(desk, "out-0", incarnation=1, epoch=2)
    note_written(desk, old, "out-0", Errors.NOT_LEADER_OR_FOLLOWER)
    assert not desk.replies
    note_written(desk, new, "out-0")
    assert [r.error for r in desk.last.results] == [Errors.NONE]


@pytest.mark.parametrize(
    ("partitions", "failed"),
    [(("out-0", STATE), {STATE}), (("out-0", OFFSETS), {"out-0", OFFSETS})],
)
def test_an_outcome_that_is_not_durable_fails_the_markers_of_share_state_or_all_where_there_is_none(
    partitions, failed
):
    leaders = {"out-0": 1, OFFSETS: 1, STATE: 1}
    desk = Desk(apis, KafkaApis(), leaders=leaders, rules="pull-request-22357")
    to = mark(desk, *partitions)
    for partition in partitions:
        note_written(desk, to, partition)
    assert desk.local[-1].message == ApplyMarkerToShares(9, 1, committed=True, ticket=to)
    desk.do(apis.on_marker_applied(desk.role, MarkerApplied(to, ("a", "b")), desk.on))
    done = OutcomeWritten(to, "a", Errors.COORDINATOR_NOT_AVAILABLE)
    desk.do(apis.on_outcome_written(desk.role, done, desk.on))
    assert not desk.replies
    desk.do(apis.on_outcome_written(desk.role, OutcomeWritten(to, "b", Errors.NONE), desk.on))
    told = {r.partition for r in desk.last.results if r.error is Errors.NOT_LEADER_OR_FOLLOWER}
    assert told == failed


def test_an_outcome_that_nobody_waits_for_any_more_changes_nothing(desk):
    late = OutcomeWritten(ReplyTo("B7/markers", 1, 0), "g1:a:0", Errors.NONE)
    assert apis.on_outcome_written(desk.role, late, desk.on).state == desk.role
    to = mark(desk, "out-0")
    done = apis.on_outcome_written(desk.role, late.but(ticket=ReplyTo("B9/markers", 1, 0)), desk.on)
    assert (done.state, done.replies) == (desk.role, ())
    note_written(desk, to, "out-0")
