"""A model with a fault could not have given the recorded answers: the recordings tell the two apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kipviz.brokers import authorizer, kafka_apis
from kipviz.brokers.checks import report_value
from kipviz.brokers.context import Context, Effects, Image, Reply, ReplyTo
from kipviz.brokers.groups import share_administration
from kipviz.brokers.logs import partition_log
from kipviz.brokers.membership import classic_group, static_members
from kipviz.brokers.share_leaders import share_acquiring, share_partition_leader, share_sessions
from kipviz.brokers.share_leaders.share_partition import Session
from kipviz.cluster import admission, dispatch
from kipviz.cluster.world import RoleKey
from kipviz.messages.apis.catalogue import API_OF
from kipviz.messages.apis.rights import READ_GROUP, READ_TOPIC
from kipviz.messages.errors import Errors
from kipviz.messages.groups.classic_groups import Heartbeat, HeartbeatResponse
from kipviz.messages.groups.membership import ConsumerGroupHeartbeat
from kipviz.messages.logs.producing import Produce
from kipviz.messages.message import Message
from kipviz.messages.shares.share_admin import AlterShareGroupOffsets
from kipviz.messages.shares.share_membership import ShareGroupHeartbeat
from kipviz.messages.transactions.admin import DescribeTransactions
from kipviz.messages.transactions.transactions import AddPartitionsToTxn, EndTxn, InitProducerId
from kipviz.recordings.decoded import log_starts
from kipviz.recordings.followed_members import joining
from kipviz.recordings.judging.accept import Acceptor
from kipviz.recordings.possible_worlds import coordinator_memory
from kipviz.recordings.request_context.evidence import of_recording

RELEASE = Path(__file__).parents[1] / "kafka-4.4.0"
Patch = pytest.MonkeyPatch


def handler(kind: type, change: Callable[[Any, Any], Any]) -> Callable[[Patch], None]:
    """Give a fault: a handler sees another request than the one that came."""
    real = dispatch.HANDLERS[kind]

    def faulty(me: Any, request: Any, reply_to: ReplyTo, on: Context) -> Effects:
        return real(me, change(me, request), reply_to, on)

    return lambda patch: patch.setitem(dispatch.HANDLERS, kind, faulty)


def of_the_present_epoch(me: Any, request: Any) -> Any:
    """Take whoever asks for the producer of now."""
    known = me.transactions.get(request.transactional_id)
    if known is None:
        return request
    return request.but(producer_id=known.producer_id, producer_epoch=known.producer_epoch)


def added_by_the_present_producer(me: Any, request: Any) -> Any:
    (asked,) = request.transactions
    return request.but(transactions=(of_the_present_epoch(me, asked),))


def added_without_verification(_: Any, request: Any) -> Any:
    (asked,) = request.transactions
    return request.but(transactions=(asked.but(verify_only=False),))


def of_the_present_member(me: Any, request: Any) -> Any:
    """Take whoever asks for a member of the present epoch."""
    shares = isinstance(request, ShareGroupHeartbeat)
    groups = me.share_groups if shares else me.groups
    group = groups.get(request.group_id)
    member = group.members.get(request.member_id) if group is not None else None
    if member is None or request.member_epoch < 0:
        return request
    return request.but(member_epoch=member.epoch)


def every_heartbeat_is_well(patch: Patch) -> None:
    def faulty(me: Any, request: Any, reply_to: ReplyTo, on: Context) -> Effects:
        return Effects(me, replies=(Reply(reply_to, HeartbeatResponse(Errors.NONE)),))

    patch.setitem(joining.HANDLERS, Heartbeat, faulty)


def everybody_may_commit(patch: Patch) -> None:
    patch.setattr(classic_group, "commit_checks", lambda *_, **__: ())


def nobody_counts_sessions(patch: Patch) -> None:
    def faulty(me: Any, request: Any, reply_to: ReplyTo, on: Context) -> Any:
        who = (request.group_id, request.member_id)
        session = Session(max(request.session_epoch, 0) + 1, reply_to.source)
        return me.but(sessions=me.sessions.set(who, session)), ()

    patch.setattr(share_sessions, "after", faulty)


def a_rebalance_waits_for_nobody(patch: Patch) -> None:
    patch.setattr(classic_group.ClassicGroup, "all_joined", property(lambda _: True))


def forbidden_partitions_stop_no_others(patch: Patch) -> None:
    patch.setattr(admission, "not_attempted", lambda *_: ())


def forbidden_topics_are_served(patch: Patch) -> None:
    patch.setattr(admission, "denied_topics", lambda *_: ())


def everybody_sees_every_transaction(patch: Patch) -> None:
    patch.setattr(kafka_apis, "seen", lambda *_: True)


def who_may_write_may_not_describe(patch: Patch) -> None:
    patch.setattr(authorizer, "IMPLY_DESCRIBE", ())


def topics_of_a_heartbeat_are_not_looked_at(patch: Patch) -> None:
    for kind in (ConsumerGroupHeartbeat, ShareGroupHeartbeat):
        patch.setitem(API_OF, kind, replace(API_OF[kind], needs=(READ_GROUP,)))


def topics_of_a_described_group_are_not_looked_at(patch: Patch) -> None:
    patch.setattr(share_administration, "topics_seen", lambda *_: True)


def one_forbidden_topic_stops_an_alteration(patch: Patch) -> None:
    row = replace(API_OF[AlterShareGroupOffsets], needs=(READ_GROUP, READ_TOPIC))
    patch.setitem(API_OF, AlterShareGroupOffsets, row)


def a_name_belongs_to_nobody(patch: Patch) -> None:
    patch.setattr(static_members, "instance_check", lambda *_: report_value("nobody has it", None))


def no_batch_repeats_another(patch: Patch) -> None:
    patch.setattr(partition_log, "duplicate_of", lambda *_: None)


def every_sequence_is_right(patch: Patch) -> None:
    patch.setattr(partition_log, "check_client_batch", lambda *_, **__: ())


def a_share_group_keeps_what_its_source_has_lost(patch: Patch) -> None:
    patch.setattr(share_acquiring, "log_start_moved", lambda me, _: (me, ()))


def the_latest_snapshot_alone_is_kept(patch: Patch) -> None:
    patch.setattr(log_starts, "last_redundant_offset", lambda log: log.end_offset)


def nobody_remembers_the_epoch_before(patch: Patch) -> None:
    patch.setattr(coordinator_memory, "epoch_before", lambda *_: -1)


def one_replica_is_enough(patch: Patch) -> None:
    patch.setattr(Image, "has_enough_replicas", lambda *_: True)


def everywhere(kind: type[Message], patch: Patch) -> None:
    """Let the leader's role serve a request that came to any other broker."""
    real = dispatch.role_for

    def faulty(message: Message, broker: int, image: Image) -> RoleKey:
        key = real(message, broker, image)
        return (image.leader_of(key[2]), *key[1:]) if isinstance(message, kind) else key

    patch.setattr(dispatch, "role_for", faulty)


def a_leader_keeps_what_it_led(patch: Patch) -> None:
    patch.setattr(share_partition_leader, "on_leadership_lost", lambda me, *_: Effects(me))


def every_broker_coordinates(patch: Patch) -> None:
    everywhere(DescribeTransactions, patch)


def every_broker_leads(patch: Patch) -> None:
    everywhere(Produce, patch)


@pytest.mark.parametrize(
    ("name", "api", "fault"),
    [
        ("transaction-answers", "END_TXN", handler(EndTxn, of_the_present_epoch)),
        ("transaction-answers", "INIT_PRODUCER_ID", nobody_remembers_the_epoch_before),
        (
            "transaction-answers",
            "INIT_PRODUCER_ID",
            handler(InitProducerId, lambda _, r: r.but(producer_id=-1, producer_epoch=-1)),
        ),
        (
            "transaction-answers",
            "ADD_PARTITIONS_TO_TXN",
            handler(AddPartitionsToTxn, added_by_the_present_producer),
        ),
        (
            "transaction-answers",
            "ADD_PARTITIONS_TO_TXN",
            handler(AddPartitionsToTxn, added_without_verification),
        ),
        (
            "group-answers",
            "CONSUMER_GROUP_HEARTBEAT",
            handler(ConsumerGroupHeartbeat, of_the_present_member),
        ),
        (
            "group-answers",
            "SHARE_GROUP_HEARTBEAT",
            handler(ShareGroupHeartbeat, of_the_present_member),
        ),
        ("group-answers", "OFFSET_COMMIT", everybody_may_commit),
        ("group-answers", "HEARTBEAT", every_heartbeat_is_well),
        ("classic-members", "JOIN_GROUP", a_rebalance_waits_for_nobody),
        ("share-answers", "SHARE_ACKNOWLEDGE", nobody_counts_sessions),
        ("acls", "ADD_PARTITIONS_TO_TXN", forbidden_partitions_stop_no_others),
        ("acls", "TXN_OFFSET_COMMIT", forbidden_topics_are_served),
        ("acls", "LIST_TRANSACTIONS", everybody_sees_every_transaction),
        ("acls", "OFFSET_FETCH", who_may_write_may_not_describe),
        ("acls", "CONSUMER_GROUP_HEARTBEAT", topics_of_a_heartbeat_are_not_looked_at),
        ("acls-share", "SHARE_GROUP_HEARTBEAT", topics_of_a_heartbeat_are_not_looked_at),
        ("acls-share", "SHARE_GROUP_DESCRIBE", topics_of_a_described_group_are_not_looked_at),
        ("acls-share", "ALTER_SHARE_GROUP_OFFSETS", one_forbidden_topic_stops_an_alteration),
        ("members-static", "CONSUMER_GROUP_HEARTBEAT", a_name_belongs_to_nobody),
        ("wrong-sequences", "PRODUCE", no_batch_repeats_another),
        ("wrong-sequences", "PRODUCE", every_sequence_is_right),
        ("deleted-records", "SHARE_FETCH", a_share_group_keeps_what_its_source_has_lost),
        ("pruned-shares", "FETCH", the_latest_snapshot_alone_is_kept),
        ("coordinator-move", "END_TXN", handler(EndTxn, of_the_present_epoch)),
        ("coordinator-move", "DESCRIBE_TRANSACTIONS", every_broker_coordinates),
        ("coordinator-move", "WRITE_TXN_MARKERS", one_replica_is_enough),
        ("min-insync-replicas", "PRODUCE", one_replica_is_enough),
        ("leader-move", "PRODUCE", every_broker_leads),
        ("share-leader-move", "SHARE_ACKNOWLEDGE", a_leader_keeps_what_it_led),
    ],
    ids=lambda each: each if isinstance(each, str) else getattr(each, "__name__", "fault"),
)
def test_a_model_with_a_fault_is_refused(
    name: str, api: str, fault: Callable[[Patch], None], monkeypatch: Patch
) -> None:
    evidence = of_recording(RELEASE / name)
    fault(monkeypatch)
    refused = [each.api for each in Acceptor(evidence).compare_all() if not each.accepted]
    assert api in refused
