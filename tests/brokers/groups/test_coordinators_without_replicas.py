"""A group or share coordinator whose log has too few replicas takes nothing, and says so at once."""

from __future__ import annotations

import pytest

from kipviz.brokers.context import ReplyTo
from kipviz.brokers.groups import group_administration
from kipviz.brokers.groups import group_coordinator as gc
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.local_calls import MarkerWritten, WriteMarker
from kipviz.brokers.membership import group_membership, share_membership
from kipviz.brokers.share_coordinators import share_coordinator as sc
from kipviz.brokers.share_coordinators import share_state_maintenance as upkeep
from kipviz.brokers.share_coordinators.share_state import ShareCoordinator
from kipviz.driving.desk import TOPIC_IDS, Desk
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import GroupOffset, OffsetCommit, TxnOffsetCommit
from kipviz.messages.groups.membership import ConsumerGroupHeartbeat
from kipviz.messages.shares.share_admin import DeletedGroup, DeleteGroups
from kipviz.messages.shares.share_membership import ShareGroupHeartbeat
from kipviz.messages.shares.share_state import (
    DeleteShareGroupState,
    DeleteStateData,
    InitializeShareGroupState,
    InitializeStateData,
    ReadShareGroupState,
    ReadStateData,
    TxnWriteShareGroupState,
    WriteShareGroupState,
    WriteStateData,
)
from kipviz.records.placement import partition_for
from kipviz.records.share_group_state import StagedBatch
from tests.brokers.coordinator_answers import enlisted
from tests.messages.offset_fetches import fetch_offset_of

KEY = f"g:{TOPIC_IDS['src']}:0"
OFFSETS = f"__consumer_offsets-{partition_for('g', 50)}"
STATE = f"__share_group_state-{partition_for(KEY, 50)}"
HOME = f"__transaction_state-{partition_for('t', 50)}"
LATER = Errors.COORDINATOR_NOT_AVAILABLE
MARKER = WriteMarker(ReplyTo("B7/markers", 1, 0), OFFSETS, 9, 1, True, 0, 2)


def short(desk: Desk) -> Desk:
    """Let the follower be gone."""
    needs = (("__consumer_offsets", 2), ("__share_group_state", 2))
    desk.image = {"min_insync_replicas": needs, "offline": (99,)}
    return desk


def group() -> Desk:
    leaders = {OFFSETS: 1, HOME: 7, STATE: 7, "src-0": 5}
    return Desk(gc, GroupCoordinator(OFFSETS), leaders=leaders)


def state() -> Desk:
    desk = Desk(sc, ShareCoordinator(STATE), leaders={STATE: 1, HOME: 7, "src-0": 5})
    desk.ask(sc.on_initialize, InitializeShareGroupState((InitializeStateData(KEY, 2, 100),)))
    return desk


def test_an_offset_is_refused_and_not_kept():
    desk = short(group())
    request = OffsetCommit("g", "", -1, (GroupOffset("src-0", 5),))
    assert desk.ask(gc.on_offset_commit, request).error is LATER
    assert not desk.logs[OFFSETS].batches
    desk.image["offline"] = ()
    assert fetch_offset_of(desk).offset == -1
    assert desk.ask(gc.on_offset_commit, request).error is Errors.NONE


def test_a_group_that_cannot_be_deleted_for_lack_of_replicas_has_the_error_as_its_result():
    desk = group()
    desk.ask(gc.on_offset_commit, OffsetCommit("g", "", -1, (GroupOffset("src-0", 5),)))
    answer = short(desk).ask(group_administration.on_delete_groups, DeleteGroups(("g",)))
    assert answer.results == (DeletedGroup(LATER, "g"),)
    desk.image = {}
    desk.instant = False
    assert desk.ask(group_administration.on_delete_groups, DeleteGroups(("g",))) is None
    done = gc.on_resigned(desk.role, desk.on)
    results = [result for reply in done.replies for result in reply.message.results]
    assert results == [DeletedGroup(Errors.NOT_COORDINATOR, "g")]


def test_an_offset_of_a_transaction_is_refused_after_it_was_enlisted():
    desk = short(group())
    request = TxnOffsetCommit("t", "g", 9, 0, "", -1, (GroupOffset("src-0", 5),))
    desk.ask(gc.on_txn_offset_commit, request)
    yes = enlisted(Errors.NONE, "t", 9, 0, (OFFSETS,))
    desk.do(gc.on_enlisted(desk.role, yes, desk.on))
    assert desk.last.error is LATER
    assert not desk.role.pending


@pytest.mark.parametrize(
    ("desk", "module"), [(group(), gc), (state(), sc)], ids=["offsets", "share state"]
)
def test_a_marker_is_sent_again(desk, module):
    short(desk)
    there = len(desk.logs[desk.role.shard].batches)
    marker = MARKER.but(partition=desk.role.shard)
    desk.do(module.on_write_marker(desk.role, marker, desk.on))
    told = MarkerWritten(marker.ticket, desk.role.shard, Errors.NOT_ENOUGH_REPLICAS)
    assert [call.message for call in desk.local] == [told]
    assert len(desk.logs[desk.role.shard].batches) == there


def test_a_member_cannot_join_and_is_none():
    desk = short(group())
    joins = ConsumerGroupHeartbeat("g", "C1", 0, ("src",), ())
    assert desk.ask(group_membership.on_consumer_group_heartbeat, joins).error is LATER
    assert not desk.role.groups


def test_a_share_member_cannot_join_and_no_state_is_made_for_it():
    desk = short(group())
    joins = ShareGroupHeartbeat("g", "S1", 0, ("src",))
    assert desk.ask(share_membership.on_share_group_heartbeat, joins).error is LATER
    assert not desk.role.share_groups
    assert not desk.requests


@pytest.mark.parametrize(
    ("handler", "request_"),
    [
        (sc.on_initialize, InitializeShareGroupState((InitializeStateData(KEY, 3, 100),))),
        (sc.on_write, WriteShareGroupState((WriteStateData(KEY, 2, 0, 101, 0, ()),))),
        (sc.on_read, ReadShareGroupState((ReadStateData(KEY, 1),))),
        (upkeep.on_delete, DeleteShareGroupState((DeleteStateData(KEY),))),
    ],
    ids=["initialize", "write", "read of a newer leader", "delete"],
)
def test_a_share_group_s_state_stays_as_it_is(handler, request_):
    desk = short(state())
    before, events = desk.role, len(desk.events)
    assert desk.ask(handler, request_).only.error is LATER
    assert (desk.role, len(desk.events)) == (before, events)
    assert len(desk.logs[STATE].batches) == 1


def test_a_transactional_acknowledgement_is_refused_after_it_was_enlisted():
    desk = short(state())
    acknowledgement = TxnWriteShareGroupState(
        KEY, 2, 0, "t", 9, 0, (StagedBatch(100, 100, 1, 1),), -1
    )
    desk.ask(sc.on_txn_write, acknowledgement)
    yes = enlisted(Errors.NONE, "t", 9, 0, (STATE,))
    desk.do(sc.on_enlisted(desk.role, yes, desk.on))
    assert desk.last.error is LATER
    assert not desk.role.acknowledgements


def test_a_session_that_runs_out_is_noticed_when_the_replicas_are_back():
    desk = group()
    joins = ConsumerGroupHeartbeat("g", "C1", 0, ("src",), ())
    desk.ask(group_membership.on_consumer_group_heartbeat, joins)
    short(desk)
    for up in (False, True):
        desk.image["offline"] = () if up else (99,)
        (timer,) = gc.timers(desk.role, desk.on)
        desk.do(gc.on_timer(desk.role, timer, desk.on))
        assert bool(desk.role.groups["g"].members) is not up
