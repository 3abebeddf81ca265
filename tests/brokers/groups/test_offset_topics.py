"""Offsets and the topics they are of: what is there, what is gone, and in which words it is said."""

from __future__ import annotations

import pytest

from kipviz.brokers.context import ReplyTo
from kipviz.brokers.groups import group_coordinator as gc
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.groups.offset_topics import answer_alone, unknown_ids
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.local_calls import WriteMarker
from kipviz.brokers.logs.partition_log import append, replicate
from kipviz.brokers.logs.requests import metadata_requests
from kipviz.driving.desk import TOPIC_IDS, Desk
from kipviz.messages.cluster.metadata import Metadata, TopicId
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import (
    GroupOffset,
    OffsetCommit,
    TxnOffsetCommit,
    committed_response,
    fetch_offsets,
)
from kipviz.messages.transactions.transactions import PartitionResult
from kipviz.records.batches import Batch
from kipviz.records.consumer_offsets import MemberRecord, OffsetCommitRecord
from kipviz.records.placement import partition_for
from tests.brokers.coordinator_answers import enlisted
from tests.messages import offset_fetches

HERE = "__consumer_offsets-0"
HOME = f"__transaction_state-{partition_for('t', 50)}"
SRC_ID, OLD_ID = TOPIC_IDS["src"], "AAAAAAAAAAAAAAAAAAAAZg"
E = Errors


class Keeping(Desk):
    """A desk in a cluster whose groups keep the ids of topics."""

    @property
    def on(self):
        on = super().on
        return on.but(image=on.image.but(keeps_topic_ids=True))


@pytest.fixture
def desk():
    leaders = {HERE: 1, HOME: 7, "src-0": 5, "src-1": 5}
    desk = Keeping(gc, GroupCoordinator(HERE, loading=True), leaders=leaders)
    member = MemberRecord("g", "m", 2)
    desk.logs[HERE] = replicate(append(desk.logs[HERE], Batch(0, (member,))))
    desk.do(gc.on_loaded(desk.role, desk.on))
    return desk


def commit(desk, *partitions, version=6, ids=(), epoch=2, group="g"):
    offsets = tuple(GroupOffset(p, 7) for p in partitions)
    request = TxnOffsetCommit("t", group, 10, 0, "m", epoch, offsets, version, ids)
    answer = desk.ask(gc.on_txn_offset_commit, request)
    if answer is None:
        yes = enlisted(E.NONE, "t", 10, 0, (HERE,))
        desk.do(gc.on_enlisted(desk.role, yes, desk.on))
    return desk.last


@pytest.mark.parametrize(
    ("partition", "version", "ids", "error"),
    [
        ("src-0", 6, (), E.NONE),
        ("src-0", 6, (("src", SRC_ID),), E.NONE),
        ("src-0", 6, (("src", OLD_ID),), E.UNKNOWN_TOPIC_ID),
        ("src-9", 6, (("src", OLD_ID),), E.UNKNOWN_TOPIC_ID),
        ("src-9", 6, (("src", SRC_ID),), E.UNKNOWN_TOPIC_OR_PARTITION),
        ("src-0", 5, (("src", OLD_ID),), E.NONE),  # a name has no id
        ("src-9", 5, (), E.UNKNOWN_TOPIC_OR_PARTITION),
        ("none-0", 5, (), E.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_an_id_is_resolved_before_a_partition_is_looked_for(desk, partition, version, ids, error):
    """KIP-1319 'Topic ID resolution': the order of the errors."""
    assert commit(desk, partition, version=version, ids=ids).error is error
    assert bool(desk.requests) == (error is E.NONE)  # nobody is enlisted for nothing


def test_what_is_there_is_staged_and_what_is_not_is_refused_alone(desk):
    answer = commit(desk, "src-0", "src-9")
    gone = PartitionResult("src-9", E.UNKNOWN_TOPIC_OR_PARTITION)
    assert answer.results == (PartitionResult("src-0", E.NONE), gone)
    assert [r.partition for r in desk.written(HERE)[1:]] == ["src-0"]


@pytest.mark.parametrize(
    ("epoch", "loading", "error"),
    [(1, False, E.STALE_MEMBER_EPOCH), (2, True, E.COORDINATOR_LOAD_IN_PROGRESS)],
)
def test_what_is_not_there_has_its_own_error_also_where_the_rest_is_refused(
    desk, epoch, loading, error
):
    """KafkaApis merges what it said itself with what the coordinator says."""
    desk.role = desk.role.but(loading=loading)
    answer = commit(desk, "src-0", "src-9", epoch=epoch)
    gone = PartitionResult("src-9", E.UNKNOWN_TOPIC_OR_PARTITION)
    assert answer.results == (PartitionResult("src-0", error), gone)


def test_what_is_not_there_has_its_own_error_also_where_nobody_is_enlisted(desk):
    offsets = (GroupOffset("src-0", 7), GroupOffset("src-1", 7))
    request = TxnOffsetCommit("t", "g", 10, 0, "m", 2, (*offsets, GroupOffset("src-9", 7)))
    assert desk.ask(gc.on_txn_offset_commit, request) is None
    no = enlisted(E.PRODUCER_FENCED, "t", 10, 0, (HERE,))
    desk.do(gc.on_enlisted(desk.role, no, desk.on))
    *there, gone = desk.last.results
    assert {r.error for r in there} == {E.INVALID_PRODUCER_EPOCH}
    assert gone == PartitionResult("src-9", E.UNKNOWN_TOPIC_OR_PARTITION)


@pytest.mark.parametrize(
    ("version", "stale", "unknown"),
    [(6, E.STALE_MEMBER_EPOCH, E.GROUP_ID_NOT_FOUND), (5, *[E.ILLEGAL_GENERATION] * 2)],
)
def test_up_to_version_5_there_is_one_error_for_every_wrong_epoch(desk, version, stale, unknown):
    """KIP-1319 'Error mapping'."""
    assert commit(desk, "src-0", version=version, epoch=1).error is stale
    assert commit(desk, "src-0", version=version, group="nobody's").error is unknown


def test_a_group_that_nobody_knows_takes_offsets_in_nobody_s_name(desk):
    """Sheet 4.2: a missing group and a generation below 0 make a simple group."""
    assert commit(desk, "src-0", group="nobody's", epoch=-1).error is E.NONE


def mark(desk):
    to = ReplyTo("B7/markers", 1, 0)
    desk.do(gc.on_write_marker(desk.role, WriteMarker(to, HERE, 10, 1, True, 0, 2), desk.on))


def fetch_value(desk):
    return offset_fetches.fetch_offset_of(desk).offset


def test_the_id_is_kept_with_the_offset_also_when_it_came_by_name(desk):
    commit(desk, "src-0", version=5)
    (record,) = desk.written(HERE)[1:]
    assert record.topic_id == SRC_ID
    mark(desk)
    assert desk.role.offsets["g", "src-0"].topic_id == SRC_ID
    assert fetch_value(desk) == 7


def test_an_offset_that_was_kept_with_another_id_is_none(desk):
    """Sheet 4.4, OffsetFetch version 10."""
    old = OffsetCommitRecord("g", "src-0", 7, OLD_ID)
    desk.logs[HERE] = replicate(append(desk.logs[HERE], Batch(1, (old,))))
    desk.role = GroupCoordinator(HERE, loading=True)
    desk.do(gc.on_loaded(desk.role, desk.on))
    assert fetch_value(desk) == -1


@pytest.mark.parametrize("committed", [True, False])
def test_with_a_topic_goes_what_groups_had_of_it(desk, committed):
    commit(desk, "src-0")
    if committed:
        mark(desk)
    desk.do(gc.on_topic_deleted(desk.role, "src", desk.on))
    assert not desk.role.pending
    assert not desk.role.offsets
    before = len(desk.logs[HERE].batches)
    desk.do(gc.on_topic_deleted(desk.role, "src", desk.on))
    assert len(desk.logs[HERE].batches) == before


def test_any_broker_tells_the_ids_of_topics():
    desk = Desk(metadata_requests, KafkaApis(), leaders={HERE: 1})
    desk.instant = False
    answer = desk.ask(metadata_requests.on_metadata, Metadata(("src", "none")))
    assert answer.topics == (TopicId("src", SRC_ID), TopicId("none", ""))


def test_the_name_beside_an_id_is_taken_where_a_design_sends_both(desk):
    """A rejected option of KIP-1319: an old id is no error, because the name is known."""
    old = TxnOffsetCommit("t", "g", 10, 0, "m", 2, (), 6, (("src", OLD_ID),))
    assert unknown_ids(old, desk.on.image, desk.rules) == ("src",)
    named = desk.rules.but(name_beside_id=lambda: True)
    assert unknown_ids(old, desk.on.image, named) == ()


def test_a_broker_answers_alone_only_where_nothing_of_a_commit_is_there(desk):
    def alone(request):
        return answer_alone(request, desk.on.image, desk.rules)

    there, gone, other = GroupOffset("src-0", 7), GroupOffset("src-9", 7), GroupOffset("none-0", 7)
    unknown, nameless = E.UNKNOWN_TOPIC_OR_PARTITION, E.UNKNOWN_TOPIC_ID
    assert alone(fetch_offsets("g", ("none-0",))) is None
    for offsets in ((), (there,), (there, gone)):
        assert alone(OffsetCommit("g", "m", 2, offsets)) is None
        assert alone(TxnOffsetCommit("t", "g", 10, 0, "m", 2, offsets)) is None
    outside = OffsetCommit("g", "m", 2, (gone, other))
    assert alone(outside) == committed_response(outside, unknown)
    in_transaction = TxnOffsetCommit("t", "g", 10, 0, "m", 2, (gone, other))
    assert alone(in_transaction) == committed_response(in_transaction, unknown)
    of_an_old_id = TxnOffsetCommit("t", "g", 10, 0, "m", 2, (gone, other), 6, (("src", OLD_ID),))
    nowhere = (PartitionResult("none-0", unknown),)
    assert alone(of_an_old_id) == committed_response(of_an_old_id, nameless, nowhere)
