"""A cooperative consumer between two generations (KIP-429): it fetches, and looks at answers in poll()."""

from __future__ import annotations

from kipviz.clients.groups import kafka_consumer
from kipviz.clients.groups.consumer import ClassicConsumer, CompletedFetch
from kipviz.clients.groups.consumer_coordinator import MemberState
from kipviz.clients.timers import FetchWait
from kipviz.messages.errors import Errors
from kipviz.messages.groups.classic_groups import JoinGroup, JoinGroupResponse, SyncGroup
from kipviz.messages.logs.producing import (
    Fetch,
    FetchedRecord,
    FetchPartition,
    FetchResponse,
    PartitionData,
)
from kipviz.records.classic_groups import COOPERATIVE_STICKY, RANGE
from tests.clients.groups.test_assignors import BOUNCED, STICKY, rejoining
from tests.clients.groups.test_classic_consumer import fresh, send
from tests.scenarios.story import nodes, play_once

E, S = Errors, MemberState


# -- what is fetched while a JoinGroup waits (KIP-429) ------------------------------------------------


def waiting() -> ClassicConsumer:
    """A cooperative consumer whose JoinGroup is on the wire, and whose poll() goes on."""
    return send(rejoining())[0]


def join_response(generation: int = 2) -> JoinGroupResponse:
    return JoinGroupResponse(E.NONE, "C1.1", generation, "C9", protocol=STICKY[0])


def came_back(me: ClassicConsumer) -> ClassicConsumer:
    """The same consumer after a fetch has given records to its poll()."""
    me, request = send(me)
    wanted = (FetchPartition("src-0", 5), FetchPartition("src-1", 7))
    assert request == Fetch(wanted, read_committed=True, max_wait_ms=0)
    got = FetchResponse((PartitionData("src-0", E.NONE, (FetchedRecord("src-0", 5, "b"),), 6),))
    me = kafka_consumer.on_response(me, got)
    assert (me.polling, me.done, me.subscription.positions["src-0"]) == (False, True, 6)
    return me


def test_while_a_join_group_waits_a_cooperative_consumer_fetches_what_it_has() -> None:
    me = came_back(waiting())
    assert isinstance(me.membership.joining, JoinGroup)
    assert kafka_consumer.next_request(me) is None


def test_nobody_looks_at_the_answer_to_a_join_group_before_the_next_poll() -> None:
    me = kafka_consumer.on_response(came_back(waiting()), join_response())
    assert (me.state, me.member_epoch, me.membership.unread) == (
        S.PREPARING_REBALANCE,
        1,
        join_response(),
    )
    assert kafka_consumer.next_request(me) is None
    me = kafka_consumer.poll(me)
    assert (me.state, me.member_epoch, me.membership.unread) == (S.COMPLETING_REBALANCE, 2, None)
    assert isinstance(kafka_consumer.next_request(me), SyncGroup)


def test_a_poll_does_not_join_a_second_time_while_the_first_time_is_under_way() -> None:
    me = kafka_consumer.poll(came_back(waiting()))
    assert isinstance(kafka_consumer.next_request(me), Fetch)
    me, request = send(kafka_consumer.on_response(me, join_response()))
    assert isinstance(request, SyncGroup)
    assert isinstance(kafka_consumer.next_request(me), Fetch)


def test_between_two_polls_a_commit_is_told_that_the_group_rebalances() -> None:
    me = kafka_consumer.commit_sync(came_back(waiting()))
    assert (me.done, str(me.error)) == (
        True,
        "RebalanceInProgressException: the consumer is PREPARING_REBALANCE",
    )


def test_a_partition_that_has_nothing_rests_while_the_join_group_waits() -> None:
    me, _ = send(waiting())
    me, _ = send(
        kafka_consumer.on_response(me, FetchResponse((PartitionData("src-0", E.NONE, (), 5),)))
    )
    me = kafka_consumer.on_response(me, FetchResponse((PartitionData("src-1", E.NONE, (), 7),)))
    assert kafka_consumer.timers(me) == (FetchWait(),)
    assert isinstance(kafka_consumer.next_request(kafka_consumer.on_timer(me, FetchWait())), Fetch)


def test_with_the_connection_goes_the_join_group_and_what_is_fetched_from_others_stays() -> None:
    me, _ = kafka_consumer.note_sent(
        waiting(), Fetch((FetchPartition("src-0", 5),), read_committed=True), 5
    )
    me = kafka_consumer.on_disconnected(me, 4)
    assert (me.membership.joining, me.backing_off, me.state) == (None, True, S.PREPARING_REBALANCE)
    assert isinstance(me.on_wire, Fetch)
    assert kafka_consumer.on_disconnected(me, 5).on_wire is None


def test_who_leaves_while_its_join_group_waits_asks_anew_when_that_is_answered() -> None:
    me = kafka_consumer.poll(kafka_consumer.on_missed_poll(came_back(waiting())))
    assert me.state is S.UNJOINED
    gone, _ = send(me)
    assert kafka_consumer.on_disconnected(gone, 4).state is S.UNJOINED
    me = kafka_consumer.on_response(me, join_response())
    assert (me.state, me.owned, me.member_epoch) == (S.PREPARING_REBALANCE, (), -1)


# -- rolling bounces ----------------------------------------------------------------------------------


def test_a_process_is_started_with_the_assignors_of_its_next_config() -> None:
    me = fresh(later_assignors=(BOUNCED, STICKY))
    lives = [me]
    for life in (2, 3, 4):
        lives.append(kafka_consumer.restart(lives[-1], life))
    assert [each.membership.assignors for each in lives] == [(RANGE,), BOUNCED, STICKY, STICKY]


def test_in_two_bounces_the_assignor_changes_first_and_what_is_given_up_after_that() -> None:
    trace, chapters = play_once("kip-429-two-bounces", "kafka")
    ends = [nodes(trace)[chapter.end].world for chapter in chapters]
    members = [world.applications["app-2"].consumer for world in ends]
    assert [m.membership.chosen for m in members] == [
        RANGE,
        RANGE,
        RANGE,
        *(COOPERATIVE_STICKY,) * 3,
    ]
    assert [m.owned for m in members][:4] == [("src-1",), ("src-1",), (), ("src-1",)]
    assert ends[-1].applications["app-1"].consumer.membership.cooperative


def test_in_one_bounce_nobody_can_come_back() -> None:
    trace, chapters = play_once("kip-429-one-bounce", "kafka")
    refused = nodes(trace)[chapters[2].end].world.applications["app-1"].consumer
    assert (refused.done, str(refused.error)) == (True, "JoinGroup: INCONSISTENT_GROUP_PROTOCOL")


def test_in_the_story_poll_returns_records_while_the_join_group_waits_at_the_broker() -> None:
    """Three times: with the first JoinGroup, with the SyncGroup, and with the second JoinGroup on its way."""
    trace, _ = play_once("kip-429-cooperative", "kafka")
    got = []
    for node in nodes(trace):
        consumer = node.world.applications["app-1"].consumer
        if consumer.membership.joining is not None:
            got += [r.value for r in consumer.records if r.value not in got]
    assert got == ["b", "e", "f"]


def test_poll_sends_the_join_group_before_it_returns_what_is_fetched() -> None:
    """Source: ConsumerCoordinator.poll with waitForJoinGroup false, before Fetcher.collectFetch."""
    me = rejoining()
    rest = PartitionData("src-0", E.NONE, (FetchedRecord("src-0", 5, "b"),), 6)
    fetcher = me.fetcher.but(completed=(CompletedFetch(5, rest),))
    me = kafka_consumer.poll(me.but(fetcher=fetcher))
    assert (me.done, me.records) == (False, ())
    request = kafka_consumer.next_request(me)
    assert isinstance(request, JoinGroup)
    me, _ = kafka_consumer.note_sent(me, request, 4)
    assert (me.done, [r.offset for r in me.records], me.fetcher.completed) == (True, [5], ())
