"""One id is one kind of group: who asks for it as another kind is told that it is not there."""

from __future__ import annotations

import pytest

from kipviz.brokers.groups import group_coordinator as gc
from kipviz.brokers.groups.group_kinds import kind_of
from kipviz.brokers.groups.group_state import GroupCoordinator, PendingOffset
from kipviz.brokers.membership import classic_membership as classic
from kipviz.brokers.membership import share_membership
from kipviz.brokers.membership.group_membership import on_consumer_group_heartbeat
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.spec import BadSpec
from kipviz.core.table import Table
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.groups.classic_groups import JoinGroup
from kipviz.messages.groups.group_admin import CLASSIC, CONSUMER, SHARE
from kipviz.messages.groups.groups import GroupOffset, OffsetCommit, TxnOffsetCommit
from kipviz.messages.groups.membership import ConsumerGroupHeartbeat
from kipviz.messages.shares.share_membership import ShareGroupHeartbeat
from kipviz.records.classic_groups import Subscription
from kipviz.scenarios.bases import process
from kipviz.scenarios.group_setting import member, spec_of
from kipviz.scenarios.setting import GROUP
from tests.brokers.coordinator_answers import answer_of
from tests.messages.offset_fetches import fetch_offset_of

HERE = "__consumer_offsets-0"
STATE = {f"__share_group_state-{index}": 7 for index in range(50)}
TRANSACTIONS = {f"__transaction_state-{index}": 1 for index in range(50)}
E = Errors


@pytest.fixture
def desk():
    return Desk(gc, GroupCoordinator(HERE), leaders={HERE: 1, "src-0": 5, **STATE, **TRANSACTIONS})


def shares(desk):
    heartbeat = ShareGroupHeartbeat("g", "M1", 0, ("src",))
    return desk.ask(share_membership.on_share_group_heartbeat, heartbeat).error


def joins(desk):
    return desk.ask(
        on_consumer_group_heartbeat, ConsumerGroupHeartbeat("g", "C1", 0, ("src",), ())
    ).error


def joins_classically(desk):
    asked = JoinGroup("g", "", Subscription(("src",)))
    return getattr(desk.ask(classic.on_join_group, asked, "c/join"), "error", E.NONE)


def commits(desk):
    return desk.ask(
        gc.on_offset_commit, OffsetCommit("g", "", -1, (GroupOffset("src-0", 7),))
    ).error


def test_a_share_group_s_id_takes_neither_members_nor_offsets_of_a_regular_group(desk):
    assert shares(desk) is E.NONE
    written = len(desk.written(HERE))
    assert joins(desk) is E.GROUP_ID_NOT_FOUND
    assert joins_classically(desk) is E.INCONSISTENT_GROUP_PROTOCOL
    assert commits(desk) is E.GROUP_ID_NOT_FOUND
    assert fetch_offset_of(desk).offset == -1
    assert len(desk.written(HERE)) == written
    assert kind_of(desk.role, "g") == SHARE


@pytest.mark.parametrize("version", [3, 5, 6])
def test_offsets_of_a_transaction_are_refused_alike_in_every_version(desk, version):
    assert shares(desk) is E.NONE
    request = TxnOffsetCommit("txn", "g", 9, 0, "", -1, (GroupOffset("src-0", 7),), version=version)
    desk.ask(gc.on_txn_offset_commit, request)
    (asked,) = desk.requests[-1].message.transactions
    answer = answer_of(asked, E.NONE)
    desk.do(gc.on_enlisted(desk.role, answer, desk.on))
    assert desk.last.error is E.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize(
    ("regular", "kind"),
    [(joins, CONSUMER), (joins_classically, CLASSIC), (commits, CLASSIC)],
)
def test_a_regular_group_s_id_and_that_of_its_offsets_alone_take_no_share_member(
    desk, regular, kind
):
    assert regular(desk) in (E.NONE, E.MEMBER_ID_REQUIRED)
    assert kind_of(desk.role, "g") == kind
    assert shares(desk) is E.GROUP_ID_NOT_FOUND


def test_members_from_before_the_run_and_pending_offsets_are_a_group_too(desk):
    given = desk.role.but(members=Table.of({("g", "C1"): 4}))
    pending = desk.role.but(pending=Table.of({9: (PendingOffset("g", "src-0", 7, 1),)}))
    assert [kind_of(role, "g") for role in (given, pending, desk.role)] == [CONSUMER, CLASSIC, ""]


def test_a_spec_in_which_a_group_is_two_kinds_from_the_start_is_refused():
    there = process("share-reader", "app-2", group_id=GROUP)
    with pytest.raises(BadSpec, match="my-group-4 is one kind of group"):
        check(spec_of(member("app-1"), there))
    check(spec_of(member("app-1"), there.but(protocol="share")))
