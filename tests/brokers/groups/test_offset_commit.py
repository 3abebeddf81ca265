"""Offsets that a consumer commits itself, outside any transaction."""

from __future__ import annotations

import pytest

from kipviz.brokers.checks import Check, error_of
from kipviz.brokers.context import ReplyTo
from kipviz.brokers.groups import group_coordinator as gc
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.membership.group_membership import on_consumer_group_heartbeat
from kipviz.clients.groups import kafka_consumer
from kipviz.clients.groups.consumer_membership import MemberState
from kipviz.core.table import Table
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.events import OffsetCommitted
from kipviz.messages.groups.groups import (
    GroupOffset,
    OffsetCommit,
    OffsetCommitResponse,
    committed_response,
)
from kipviz.messages.groups.membership import ConsumerGroupHeartbeat
from kipviz.messages.transactions.transactions import PartitionResult
from tests.clients.parts import member_of
from tests.messages.offset_fetches import fetch_offset_of

HERE = "__consumer_offsets-0"
E = Errors


@pytest.fixture
def desk():
    desk = Desk(gc, GroupCoordinator(HERE), leaders={HERE: 1, "src-0": 5, "src-1": 5})
    join = ConsumerGroupHeartbeat("g", "C1", 0, ("src",), ())
    desk.ask(on_consumer_group_heartbeat, join)
    return desk


def commit(desk, *partitions, name="C1", epoch=2, group="g"):
    offsets = tuple(GroupOffset(p, 7) for p in partitions)
    return desk.ask(gc.on_offset_commit, OffsetCommit(group, name, epoch, offsets))


def test_an_offset_is_committed_at_once_in_the_name_of_a_member(desk):
    assert commit(desk, "src-0").error is E.NONE
    assert fetch_offset_of(desk).offset == 7
    assert desk.events[-1] == OffsetCommitted("g", "src-0", 7)
    assert not desk.logs[HERE].batches[-1].transactional
    assert not desk.role.pending


@pytest.mark.parametrize(
    ("name", "epoch", "group", "error"),
    [
        ("C1", 3, "g", E.STALE_MEMBER_EPOCH),
        ("C1", 1, "g", E.STALE_MEMBER_EPOCH),
        ("C9", 2, "g", E.UNKNOWN_MEMBER_ID),
        ("", -1, "g", E.UNKNOWN_MEMBER_ID),  # in a transaction this is accepted
        ("C1", 2, "nobody's", E.GROUP_ID_NOT_FOUND),
        ("", -1, "nobody's", E.NONE),
    ],
)
def test_who_is_no_member_commits_only_where_nobody_is_one(desk, name, epoch, group, error):
    assert commit(desk, "src-0", name=name, epoch=epoch, group=group).error is error


def test_an_offset_whose_metadata_is_too_long_is_refused_alone(desk):
    named = (GroupOffset("src-0", 7, 3, "x" * 4_097), GroupOffset("src-1", 8, 3, "mine"))
    answer = desk.ask(gc.on_offset_commit, OffsetCommit("g", "C1", 2, named))
    assert [each.error for each in answer.results] == [E.OFFSET_METADATA_TOO_LARGE, E.NONE]
    assert fetch_offset_of(desk).offset == -1
    found = fetch_offset_of(desk, "src-1")
    assert (found.offset, found.leader_epoch, found.metadata) == (8, 3, "mine")


def test_partitions_that_are_not_there_are_refused_alone(desk):
    answer = commit(desk, "src-0", "src-9")
    assert answer == OffsetCommitResponse(
        (
            PartitionResult("src-0", E.NONE),
            PartitionResult("src-9", E.UNKNOWN_TOPIC_OR_PARTITION),
        )
    )
    assert commit(desk, "src-9").error is E.UNKNOWN_TOPIC_OR_PARTITION


def test_the_answer_waits_for_the_replicas_and_a_loading_coordinator_takes_nothing(desk):
    desk.instant = False
    assert commit(desk, "src-0") is None
    desk.replicate()
    assert desk.last.error is E.NONE
    desk.role = desk.role.but(loading=True)
    assert commit(desk, "src-0").error is E.COORDINATOR_LOAD_IN_PROGRESS


# -- the consumer -----------------------------------------------------------------------------------


def reader(**positions):
    return member_of(
        "app-1/consumer",
        "g",
        "C1",
        "src",
        "src-0",
        2,
        state=MemberState.STABLE,
        member_epoch=2,
        positions=Table.of({p.replace("_", "-"): at for p, at in positions.items()}),
    )


def committing():
    me = kafka_consumer.commit_sync(reader(src_0=102, src_1=200))
    return kafka_consumer.note_sent(me, kafka_consumer.next_request(me), 4)


def test_commit_sync_says_every_position_and_waits():
    me, request = committing()
    offsets = (GroupOffset("src-0", 102), GroupOffset("src-1", 200))
    assert request == OffsetCommit("g", "C1", 2, offsets)
    assert not me.done
    me = kafka_consumer.on_response(me, committed_response(request))
    assert (me.done, me.offsets.committing, me.error) == (True, (), "")


def test_without_a_position_there_is_nothing_to_commit():
    assert kafka_consumer.commit_sync(reader()).done


def test_a_retriable_error_is_asked_again_and_another_one_is_thrown():
    me, request = committing()
    again = kafka_consumer.on_response(me, committed_response(request, E.NOT_COORDINATOR))
    assert kafka_consumer.next_request(again) == request
    failed = kafka_consumer.on_response(me, committed_response(request, E.UNKNOWN_MEMBER_ID))
    assert (failed.done, str(failed.error)) == (True, "OffsetCommit: UNKNOWN_MEMBER_ID")


@pytest.mark.parametrize(
    ("errors", "raised"),
    [
        ((E.NONE, E.OFFSET_METADATA_TOO_LARGE), "OffsetCommit: OFFSET_METADATA_TOO_LARGE"),
        ((E.TOPIC_AUTHORIZATION_FAILED, E.NONE), "OffsetCommit: TOPIC_AUTHORIZATION_FAILED"),
        ((E.TOPIC_AUTHORIZATION_FAILED, E.UNKNOWN_MEMBER_ID), "OffsetCommit: UNKNOWN_MEMBER_ID"),
    ],
)
def test_commit_sync_throws_the_error_of_one_partition_also_if_others_are_committed(errors, raised):
    """ConsumerCoordinator.OffsetCommitResponseHandler goes through the partitions."""
    me, request = committing()
    own = tuple(map(PartitionResult, (o.partition for o in request.offsets), errors))
    failed = kafka_consumer.on_response(me, committed_response(request, own=own))
    assert (failed.done, str(failed.error)) == (True, raised)


def test_the_check_of_a_partition_that_is_not_there_stands_beside_those_of_the_group(desk):
    request = OffsetCommit("g", "C1", 1, (GroupOffset("src-0", 7), GroupOffset("src-9", 7)))
    made = gc.on_offset_commit(desk.role, request, ReplyTo("app-1/consumer", 1, 0), desk.on).checks
    assert made[0] == Check(
        "partition there",
        "src-9",
        False,
        E.UNKNOWN_TOPIC_OR_PARTITION,
        (E.UNKNOWN_TOPIC_OR_PARTITION,),
    )
    assert error_of(made) is E.STALE_MEMBER_EPOCH
