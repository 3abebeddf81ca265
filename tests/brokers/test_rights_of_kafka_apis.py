"""The rights that Kafka asks for, read request by request in its sources, and what follows from them."""

from __future__ import annotations

import pytest

from kipviz.brokers import authorizer as a
from kipviz.brokers.authorizer import Acl
from kipviz.brokers.groups import group_administration, share_administration
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.membership import share_group
from kipviz.brokers.membership.consumer_group import ConsumerGroup, GroupMember
from kipviz.brokers.membership.share_group import ShareGroup
from kipviz.clients import settling
from kipviz.clients.application import Application, Call, Line
from kipviz.clients.groups import kafka_consumer
from kipviz.clients.groups.consumer_membership import MemberState
from kipviz.clients.sending import producer
from kipviz.clients.sending.producer import Producer
from kipviz.clients.sessions import transaction_session
from kipviz.clients.sessions.transaction_session import TransactionSession
from kipviz.clients.shares import share_consumer, share_member
from kipviz.clients.shares.share_member import ShareMember
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.clients.transactions.transaction_manager import TransactionManager
from kipviz.core.table import Table
from kipviz.designs.catalogue import design
from kipviz.driving.desk import Desk
from kipviz.messages.apis.rights import Need, Operation, Resource
from kipviz.messages.cluster.coordinators import (
    TRANSACTION,
    Coordinator,
    FindCoordinator,
    FindCoordinatorResponse,
)
from kipviz.messages.errors import Errors
from kipviz.messages.groups.group_admin import ConsumerGroupDescribe
from kipviz.messages.groups.groups import TxnOffsetCommit
from kipviz.messages.groups.membership import (
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatResponse,
)
from kipviz.messages.shares.share_admin import ShareGroupDescribe
from kipviz.messages.shares.share_membership import ShareGroupHeartbeat, ShareGroupHeartbeatResponse
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    InitProducerIdResponse,
    TxnPartitions,
)
from tests.brokers.rights_table import KAFKA_APIS, NEEDS
from tests.clients.parts import (
    begin_transaction,
    change,
    init_transactions,
    member_of,
    producer_of,
)

S = ProducerState
Op, R = Operation, Resource
ID, TOPIC = Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, Errors.TOPIC_AUTHORIZATION_FAILED
GROUP = Errors.GROUP_AUTHORIZATION_FAILED

OF_DRAFTS = {
    "InitProducerIdOfGroup",
    "TellShareGroupState",
    "TxnHeartbeat",
    "TxnShareAcknowledge",
    "TxnWriteShareGroupState",
}


def render_need(need: Need) -> str:
    either = f" or {need.alternative}" if need.alternative else ""
    text = f"{need.operation}{either} {need.resource}{' each' if need.each else ''}"
    text += " or of CLUSTER" if need.or_on_cluster else ""
    return f"[{text}]" if need.hides else text


def test_every_shipped_request_needs_what_kafka_asks_for() -> None:
    table = {name: "; ".join(map(render_need, needs)) for name, needs in NEEDS.items()}
    assert {name: line for name, line in table.items() if name not in OF_DRAFTS} == KAFKA_APIS


@pytest.mark.parametrize("kind", [ConsumerGroupHeartbeat, ShareGroupHeartbeat])
def test_a_member_may_describe_what_it_subscribes_to_or_has_no_place_in_the_group(kind) -> None:
    group = Acl("app-1", Op.READ, R.GROUP, "g")
    known = (group, Acl("app-1", Op.DESCRIBE, R.TOPIC, "src"))
    assert a.refusal((group,), "app-1/consumer", kind("g", "m", 0, ("src",))) is TOPIC
    assert a.refusal(known, "app-1/consumer", kind("g", "m", 0, ("src",))) is Errors.NONE
    # A heartbeat that says nothing of its subscription asks for no right to it.
    assert a.refusal((group,), "app-1/consumer", kind("g", "m", 3)) is Errors.NONE


def test_all_stands_for_every_operation_and_a_denial_of_all_for_none() -> None:
    everything = Acl("app-1", Op.ALL, R.TOPIC, "src")
    for operation in a.SUPPORTED[R.TOPIC]:
        assert a.may((everything,), "app-1", operation, R.TOPIC, "src")
        denied = (Acl("*", operation, R.TOPIC, "src"), everything.but(allow=False))
        assert not a.may(denied, "app-1", operation, R.TOPIC, "src")
    assert a.refusal((everything,), "app-1/producer", InitProducerId(None)) is Errors.NONE


def test_nobody_may_add_an_internal_topic_to_a_transaction() -> None:
    may = (Acl("app-1", Op.ALL, R.TRANSACTIONAL_ID, "t"), Acl("app-1", Op.ALL, R.TOPIC, "*"))
    asked = AddPartitionsToTxn(
        (TxnPartitions("t", 9, 0, ("out-0", "__consumer_offsets-3")),), version=3
    )
    assert a.refusal(may, "app-1/producer", asked) is TOPIC
    assert a.not_attempted(may, "app-1/producer", asked) == ("out-0",)


def test_who_may_describe_the_cluster_sees_every_group() -> None:
    cluster = (Acl("operator", Op.DESCRIBE, R.CLUSTER),)
    assert a.seen(cluster, "operator/admin", R.GROUP, "g")
    assert not a.seen(cluster, "operator/admin", R.TOPIC, "src")
    assert not a.seen((), "operator/admin", R.GROUP, "g")


OF_A_GROUP = GroupMember(("src",), ("src-0",), 2, assigned=(("src-0", 2),))
OF_A_SHARE_GROUP = share_group.ShareMember(("src",), ("src-0",), 2, partitions=("src-0",))


@pytest.mark.parametrize(
    ("handler", "asked", "held"),
    [
        (
            group_administration.on_consumer_group_describe,
            ConsumerGroupDescribe(("g",)),
            {"groups": Table.of({"g": ConsumerGroup(2, 2, Table.of({"m": OF_A_GROUP}))})},
        ),
        (
            share_administration.on_share_group_describe,
            ShareGroupDescribe(("g",)),
            {"share_groups": Table.of({"g": ShareGroup(2, 2, Table.of({"m": OF_A_SHARE_GROUP}))})},
        ),
    ],
)
def test_a_group_is_described_to_whoever_may_describe_what_its_members_have(
    handler, asked, held
) -> None:
    role = GroupCoordinator("__consumer_offsets-0", loading=False, **held)
    desk = Desk(group_administration, role, leaders={"__consumer_offsets-0": 1})
    may = Acl("operator", Op.DESCRIBE, R.GROUP, "g")
    desk.image = {"acls": (may,)}
    (group,) = desk.ask(handler, asked, "operator/admin").groups
    assert (group.error, group.members) == (TOPIC, ())
    desk.image = {"acls": (may, Acl("operator", Op.READ, R.TOPIC, "src"))}
    (group,) = desk.ask(handler, asked, "operator/admin").groups
    assert (group.error, len(group.members)) == (Errors.NONE, 1)


# -- FindCoordinator ----------------------------------------------------------------------------

FIND = FindCoordinator(TRANSACTION, ("t",))


def coordinator_response(error: Errors, node: int = -1) -> FindCoordinatorResponse:
    return FindCoordinatorResponse((Coordinator("t", error, node),))


def asks(me):
    return producer.note_sent(me, producer.next_request(me), 1)


def looking() -> Producer:
    me, request = asks(init_transactions(producer_of("app-1/producer", "t", finds=True)))
    assert request == FIND
    return me


def ready() -> Producer:
    me, request = asks(producer.on_response(looking(), coordinator_response(Errors.NONE, 1)))
    assert isinstance(request, InitProducerId)
    return producer.on_response(me, InitProducerIdResponse(Errors.NONE, 9, 0))


def ending() -> Producer:
    me = change(begin_transaction(ready()), transaction_started=True)
    return producer.end_transaction(me, committed=True)


def test_a_producer_looks_for_its_coordinator_once_and_then_asks_it() -> None:
    assert isinstance(asks(ending())[1], EndTxn)


def test_who_may_not_know_its_coordinator_is_at_its_end() -> None:
    """TransactionManager.FindCoordinatorHandler: fatalError()."""
    me = producer.on_response(looking(), coordinator_response(ID))
    assert (me.manager.state, str(me.error)) == (S.FATAL_ERROR, f"FindCoordinator: {ID.name}")


def test_without_a_coordinator_it_asks_again_and_the_request_behind_waits() -> None:
    gone = Errors.COORDINATOR_NOT_AVAILABLE
    me = producer.on_response(looking(), coordinator_response(gone))
    assert asks(me)[1] == FIND
    assert len(me.manager.queue) == 1
    again = producer.on_disconnected(looking(), 1)
    assert (asks(again)[1], len(again.manager.queue)) == (FIND, 1)


def test_a_coordinator_that_is_none_any_more_is_looked_for_anew() -> None:
    me, _ = asks(ending())
    moved = producer.on_response(me, EndTxnResponse(Errors.NOT_COORDINATOR))
    assert asks(moved)[1] == FIND
    lost = producer.on_disconnected(me, 1)
    assert asks(lost)[1] == FIND


def test_the_groups_coordinator_is_another_one_and_forgets_nobody() -> None:
    offsets = TxnOffsetCommit("t", "g", 9, 0, "m", 1, ())
    me = change(begin_transaction(ready()), queue=(offsets,))
    me, request = asks(me)
    assert isinstance(request, TxnOffsetCommit)
    assert producer.on_disconnected(me, 1).manager.found


@pytest.mark.parametrize(
    ("kind", "module"),
    [
        (Producer, producer),
        (TransactionSession, transaction_session),
    ],
)
def test_the_next_process_looks_anew(kind, module) -> None:
    me = kind("app-1/producer", TransactionManager("t", finds=True, found=True))
    after = module.restart(me, 2).manager
    assert (after.finds, after.found) == (True, False)


# -- what members make of it --------------------------------------------------------------------


def test_poll_throws_that_the_topic_may_not_be_described_and_the_member_asks_again() -> None:
    """AbstractHeartbeatRequestManager: the member stays in its state, so that it can recover."""
    me = kafka_consumer.poll(member_of("app-1/consumer", "g", "m", "src", "src-0", 5))
    me, _ = kafka_consumer.note_sent(me, kafka_consumer.next_request(me), 4)
    me = kafka_consumer.on_response(me, ConsumerGroupHeartbeatResponse(TOPIC, "m"))
    assert (me.state, me.done) == (MemberState.JOINING, True)
    assert str(me.error) == f"ConsumerGroupHeartbeat: {TOPIC.name}"
    again = kafka_consumer.on_timer(me, *kafka_consumer.timers(me))
    assert kafka_consumer.next_request(again).subscribed_topic_names == ("src",)


@pytest.mark.parametrize(
    ("error", "state", "stays"),
    [(TOPIC, MemberState.JOINING, ""), (GROUP, MemberState.FATAL, "ShareGroupHeartbeat: ")],
)
def test_poll_of_a_share_consumer_throws_what_its_membership_is_refused(
    error, state, stays
) -> None:
    member = share_member.join(ShareMember("app-1/member", "g", "m", ("src",)))
    member, _ = share_member.note_sent(member, share_member.next_request(member), 4)
    member = share_member.on_response(member, ShareGroupHeartbeatResponse(error, "m"))
    consumer = share_consumer.ShareConsumer("app-1/consumer", "g", "m", 0, "src-0", 5)
    consumer = change(consumer, member=True, awaiting=True)
    line = Line("poll", Call.POLL)
    me = Application("app-1", (line,), "out-0", producer_of("app-1/producer", "t"), consumer)
    after = settling.settle(me.with_client(member), design("kafka").client_rules())
    assert (after.consumer.done, after.consumer.subscription.awaiting) == (True, False)
    assert str(after.consumer.error) == f"ShareGroupHeartbeat: {error.name}"
    told = after.others[share_member.NAME]
    assert (told.state, str(told.error)) == (state, stays and stays + error.name)
