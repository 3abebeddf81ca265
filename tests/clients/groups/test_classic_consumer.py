"""A consumer of the classic protocol: what it sends when, and when it gives things up."""

from __future__ import annotations

import pytest

from kipviz.clients.groups import group_reading, kafka_consumer
from kipviz.clients.groups.assignors import ranges
from kipviz.clients.groups.consumer_coordinator import TRANSITIONS, MemberState
from kipviz.clients.groups.subscription_state import ASKED
from kipviz.clients.timers import HeartbeatInterval, RetryBackOff
from kipviz.core.table import Table
from kipviz.messages.errors import Errors
from kipviz.messages.groups.classic_groups import (
    Assigned,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeaveGroupResponse,
    Leaver,
    Left,
    Subscribed,
    SyncGroup,
    SyncGroupResponse,
)
from kipviz.messages.groups.groups import (
    FetchedOffset,
    GroupOffset,
    OffsetCommit,
    OffsetFetch,
    committed_response,
    fetch_offsets,
)
from kipviz.messages.logs.producing import Fetch, FetchedRecord, FetchResponse, PartitionData
from kipviz.records.classic_groups import Subscription
from tests.clients.parts import change, classic_member_of
from tests.messages.offset_fetches import response_of, response_with

S = MemberState
E = Errors
BOTH = ("src-0", "src-1")
OUTSIDE = Subscription(("src",))


def fresh(**changes):
    return change(
        classic_member_of("app-1/consumer", "g", "C1", "src", "src-0", 2, BOTH), **changes
    )


def send(me):
    request = kafka_consumer.next_request(me)
    assert request is not None
    return kafka_consumer.note_sent(me, request, 4)


def joining(me=None):
    """A consumer in poll() whose second JoinGroup is on the wire."""
    me, _ = send(kafka_consumer.poll(me or fresh()))
    me = kafka_consumer.on_response(me, JoinGroupResponse(E.MEMBER_ID_REQUIRED, "C1.1"))
    return send(me)


def syncing(generation=1):
    me, _ = joining()
    alone = (Subscribed("C1.1", OUTSIDE),)
    me = kafka_consumer.on_response(
        me, JoinGroupResponse(E.NONE, "C1.1", generation, "C1.1", alone)
    )
    return send(me)


def stable(*partitions):
    me, _ = syncing()
    return kafka_consumer.on_response(me, SyncGroupResponse(E.NONE, partitions or BOTH))


def back(me):
    """The same consumer after its poll() has come back."""
    me = change(me, positions=me.subscription.positions.set("src-0", 5).set("src-1", 7))
    return me.but(polling=False, done=True)


def hear_heartbeat(me, error):
    me, _ = send(kafka_consumer.on_timer(me, HeartbeatInterval()))
    return kafka_consumer.on_response(me, HeartbeatResponse(error))


def test_the_first_poll_asks_for_a_name_and_comes_again_with_it():
    me, request = send(kafka_consumer.poll(fresh()))
    assert request == JoinGroup("g", "", OUTSIDE)
    me = kafka_consumer.on_response(me, JoinGroupResponse(E.MEMBER_ID_REQUIRED, "C1.1"))
    assert send(me)[1] == JoinGroup("g", "C1.1", OUTSIDE)


def test_the_leader_brings_the_assignment_and_a_follower_brings_none():
    _, request = syncing()
    assert request == SyncGroup("g", 1, "C1.1", (Assigned("C1.1", BOTH),))
    me, _ = joining()
    me = kafka_consumer.on_response(me, JoinGroupResponse(E.NONE, "C1.1", 1, "C2.2"))
    assert send(me)[1] == SyncGroup("g", 1, "C1.1")


@pytest.mark.parametrize(
    ("members", "given"),
    [
        ((("B", ""), ("A", "")), (("A", ("p-0", "p-1")), ("B", ("p-2",)))),
        ((("A", ""), ("B", "i")), (("B", ("p-0", "p-1")), ("A", ("p-2",)))),
        ((("A", ""), ("B", ""), ("C", ""), ("D", "")), (("A", ("p-0",)), ("D", ()))),
    ],
)
def test_the_leader_gives_ranges_in_the_order_of_ids(members, given):
    made = ranges(("p-0", "p-1", "p-2"), members)
    assert tuple((a.member_id, a.partitions) for a in (made[0], made[-1])) == given


def test_what_it_was_given_it_reads_from_the_committed_offset_on():
    me = stable()
    assert (me.state, me.owned, me.membership.metadata) == (S.STABLE, BOTH, ("C1.1", 1))
    me, request = send(me)
    assert request == fetch_offsets("g", BOTH)
    committed = (FetchedOffset("src-0", 5), FetchedOffset("src-1"))
    me = kafka_consumer.on_response(me, response_with(*committed))
    me, request = send(me)
    assert isinstance(request, Fetch)
    record = FetchedRecord("src-0", 5, "a")
    me = kafka_consumer.on_response(
        me, FetchResponse((PartitionData("src-0", E.NONE, (record,), 6),))
    )
    assert (me.done, me.records, me.position) == (True, (record,), 6)


def test_an_offset_that_is_not_stable_is_asked_for_after_a_back_off():
    me, _ = send(stable())
    me = kafka_consumer.on_response(me, response_of(E.UNSTABLE_OFFSET_COMMIT, "src-0"))
    assert kafka_consumer.next_request(me) is None
    assert RetryBackOff() in kafka_consumer.timers(me)
    assert isinstance(
        kafka_consumer.next_request(kafka_consumer.on_timer(me, RetryBackOff())), OffsetFetch
    )


def test_everything_is_given_up_before_joining_again():
    me = hear_heartbeat(back(stable()), E.REBALANCE_IN_PROGRESS)
    assert (me.state, me.owned, me.membership.rejoin) == (S.STABLE, BOTH, True)
    assert kafka_consumer.next_request(me) is None
    me = kafka_consumer.poll(me)
    assert (me.state, me.owned, len(me.subscription.positions)) == (S.PREPARING_REBALANCE, (), 0)
    again = JoinGroup("g", "C1.1", Subscription(("src",), generation=1))
    assert kafka_consumer.next_request(me) == again


def test_in_poll_it_joins_again_as_soon_as_it_hears_of_it():
    assert hear_heartbeat(stable(), E.REBALANCE_IN_PROGRESS).state is S.PREPARING_REBALANCE


@pytest.mark.parametrize(
    ("error", "name"), [(E.UNKNOWN_MEMBER_ID, ""), (E.ILLEGAL_GENERATION, "C1.1")]
)
def test_who_is_out_forgets_its_generation_and_maybe_its_name_but_not_the_metadata(error, name):
    me = hear_heartbeat(back(stable()), error)
    assert (me.state, me.member_epoch, me.member_id) == (S.UNJOINED, -1, name)
    assert me.membership.metadata == ("C1.1", 1)
    assert send(kafka_consumer.poll(me))[1] == JoinGroup("g", name, OUTSIDE)


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (E.REBALANCE_IN_PROGRESS, "C1.1"),
        (E.ILLEGAL_GENERATION, "C1.1"),
        (E.UNKNOWN_MEMBER_ID, ""),
    ],
)
def test_who_cannot_sync_joins_again_at_once(error, name):
    me = kafka_consumer.on_response(syncing()[0], SyncGroupResponse(error))
    request = kafka_consumer.next_request(me)
    assert isinstance(request, JoinGroup)
    assert request.member_id == name


def test_a_coordinator_that_is_not_there_is_asked_again_after_a_back_off():
    for me in (joining()[0], syncing()[0]):
        lost = kafka_consumer.on_disconnected(me, 4)
        assert kafka_consumer.next_request(lost) is None
        assert isinstance(
            kafka_consumer.next_request(kafka_consumer.on_timer(lost, RetryBackOff())), JoinGroup
        )
    assert kafka_consumer.on_disconnected(joining()[0], 5).on_wire is not None
    moved = kafka_consumer.on_response(joining()[0], JoinGroupResponse(E.NOT_COORDINATOR, "C1.1"))
    assert kafka_consumer.timers(moved) == (RetryBackOff(),)


def test_what_nobody_can_mend_is_thrown_out_of_poll():
    refused = JoinGroupResponse(E.GROUP_AUTHORIZATION_FAILED, "")
    me = kafka_consumer.on_response(joining()[0], refused)
    assert (me.done, str(me.error)) == (True, "JoinGroup: GROUP_AUTHORIZATION_FAILED")
    assert kafka_consumer.poll(me).error == ""


def test_commit_sync_speaks_of_the_generation_and_throws_between_two():
    me, request = send(kafka_consumer.commit_sync(back(stable())))
    offsets = (GroupOffset("src-0", 5), GroupOffset("src-1", 7))
    assert request == OffsetCommit("g", "C1.1", 1, offsets)
    done = kafka_consumer.on_response(me, committed_response(request))
    assert (done.done, done.error) == (True, "")
    out = kafka_consumer.on_response(me, committed_response(request, E.UNKNOWN_MEMBER_ID))
    assert (out.state, str(out.error)) == (S.UNJOINED, "OffsetCommit: UNKNOWN_MEMBER_ID")
    late = kafka_consumer.on_response(me, committed_response(request, E.REBALANCE_IN_PROGRESS))
    assert (late.state, late.membership.rejoin) == (S.STABLE, True)
    assert str(kafka_consumer.commit_sync(out).error).startswith("CommitFailedException")


def test_who_unsubscribes_says_so_and_waits_for_no_answer():
    me = kafka_consumer.unsubscribe(back(stable()))
    assert (me.done, me.state, me.owned) == (True, S.UNJOINED, ())
    me, request = send(me)
    assert request == LeaveGroup("g", (Leaver("C1.1"),))
    me = kafka_consumer.on_response(me, LeaveGroupResponse(E.NONE, (Left("C1.1", "", E.NONE),)))
    assert kafka_consumer.next_request(me) is None
    static = kafka_consumer.unsubscribe(change(back(stable()), instance_id="i"))
    assert kafka_consumer.next_request(static) is None


def test_heartbeats_are_sent_in_a_generation_only():
    assert kafka_consumer.timers(fresh()) == ()
    me, request = send(kafka_consumer.on_timer(back(stable()), HeartbeatInterval()))
    assert request == Heartbeat("g", 1, "C1.1")
    assert kafka_consumer.on_response(me, HeartbeatResponse(E.NONE)).state is S.STABLE
    assert HeartbeatInterval() in kafka_consumer.timers(back(stable()))


def test_every_state_is_reached_from_another_one_and_the_next_life_has_no_name():
    assert {after for may in TRANSITIONS.values() for after in may} == set(S)
    assert kafka_consumer.restart(stable(), 2) == fresh()


def test_an_answer_about_a_generation_that_was_given_up_is_not_taken():
    me, _ = joining()
    gone = kafka_consumer.unsubscribe(me)
    assert gone.membership.leaving == LeaveGroup("g", (Leaver("C1.1"),))
    after = kafka_consumer.on_response(gone, JoinGroupResponse(E.NONE, "C1.1", 1, "C1.1"))
    assert (after.state, after.member_epoch, after.member_id) == (S.UNJOINED, -1, "")
    me, _ = syncing(7)
    assert me.member_epoch == 7, "the generation matches the epoch"
    gone = kafka_consumer.unsubscribe(me)
    after = kafka_consumer.on_response(gone, SyncGroupResponse(E.NONE, BOTH))
    assert (after.state, after.owned, after.on_wire) == (S.UNJOINED, (), None)
    assert kafka_consumer.next_request(after) == LeaveGroup("g", (Leaver("C1.1"),))


@pytest.mark.parametrize(
    ("answer", "raised"),
    [
        (
            response_of(E.GROUP_AUTHORIZATION_FAILED, "src-0"),
            "OffsetFetch: GROUP_AUTHORIZATION_FAILED",
        ),
        (
            FetchResponse((PartitionData("src-0", E.TOPIC_AUTHORIZATION_FAILED, (), -1),)),
            "Fetch: TOPIC_AUTHORIZATION_FAILED",
        ),
    ],
)
def test_who_may_not_read_hears_of_it_from_poll_and_stays_in_its_group(answer, raised):
    me = stable()
    if isinstance(answer, FetchResponse):
        me = change(me, positions=me.subscription.positions.set("src-0", 5).set("src-1", 7))
    me, _ = send(me)
    me = kafka_consumer.on_response(me, answer)
    assert (me.done, me.polling, str(me.error)) == (True, False, raised)
    assert (me.state, me.member_epoch, me.owned) == (S.STABLE, 1, BOTH)


def test_between_two_generations_a_commit_is_refused_at_once():
    between = fresh(state=S.PREPARING_REBALANCE, positions=Table.of({"src-0": 3}))
    me = kafka_consumer.commit_sync(between)
    assert me.done
    assert str(me.error).startswith("RebalanceInProgressException: the consumer is ")
    assert me.offsets.committing == ()


def test_who_is_told_in_its_join_that_nobody_knows_it_forgets_its_name_and_asks_again():
    me, request = joining()
    assert request.member_id == "C1.1"
    me = kafka_consumer.on_response(me, JoinGroupResponse(E.UNKNOWN_MEMBER_ID, "C1.1"))
    me, request = send(me)
    assert request == JoinGroup("g", "", OUTSIDE)
    assert me.error == ""


def test_a_reset_asks_for_one_partition_and_leaves_the_others_unfound():
    me = fresh(unfound=BOTH, polling=True)
    asks = group_reading._reset(me, ("src-0",), "NoOffsetForPartitionException: src-0")
    assert asks.subscription.unfound == ("src-1",)
    assert asks.subscription.positions["src-0"] == ASKED
    assert asks.polling


def test_what_a_leader_has_brought_it_brings_once():
    me, request = syncing()
    assert request.assignments == me.membership.to_bring == (Assigned("C1.1", BOTH),)
    assert kafka_consumer.on_response(me, SyncGroupResponse(E.NONE, BOTH)).membership.to_bring == ()


def test_a_join_that_is_lost_with_its_connection_is_made_again_and_a_fetch_is_not_joined_for():
    me, _ = syncing()
    assert kafka_consumer.on_disconnected(me, 9) == me, "another broker"
    again = kafka_consumer.on_disconnected(me, 4)
    assert (again.state, again.backing_off, again.on_wire) == (S.PREPARING_REBALANCE, True, None)
    reads, _ = send(stable())
    lost = kafka_consumer.on_disconnected(reads, 4)
    assert (lost.state, lost.backing_off, lost.owned, lost.on_wire_broker) == (
        S.STABLE,
        False,
        BOTH,
        -1,
    )
    assert kafka_consumer.on_disconnected(stable(), 4) == stable()


def test_time_for_a_heartbeat_passes_in_a_generation_only_also_while_something_is_on_the_wire():
    assert kafka_consumer.running(joining()[0]) == ()
    me, _ = send(stable())
    assert (kafka_consumer.timers(me), kafka_consumer.running(me)) == ((), (HeartbeatInterval(),))
    assert kafka_consumer.timers(kafka_consumer.on_timer(stable(), HeartbeatInterval())) == ()


@pytest.mark.parametrize(
    ("error", "name"), [(E.ILLEGAL_GENERATION, "C1.1"), (E.UNKNOWN_MEMBER_ID, "")]
)
def test_only_who_is_not_known_any_more_forgets_its_name(error, name):
    """AbstractCoordinator.resetStateOnResponseError: resetGeneration keeps it, resetStateAndGeneration does not."""
    synced = kafka_consumer.on_response(syncing()[0], SyncGroupResponse(error, ()))
    beaten = hear_heartbeat(back(stable()), error)
    for me in (synced, beaten):
        assert (me.member_id, me.member_epoch, me.membership.rejoin, me.membership.to_bring) == (
            name,
            -1,
            True,
            (),
        )


def test_a_member_whose_poll_came_late_says_goodbye_and_a_static_one_does_not():
    """AbstractCoordinator.maybeLeaveGroup: a static member stays until its session is over."""
    gone = kafka_consumer.on_missed_poll(back(stable()))
    assert (gone.membership.leaving, gone.state, gone.member_id) == (
        LeaveGroup("g", (Leaver("C1.1"),)),
        S.UNJOINED,
        "",
    )
    static = kafka_consumer.on_missed_poll(change(back(stable()), instance_id="i"))
    assert (static.membership.leaving, static.state) == (None, S.UNJOINED)
    assert kafka_consumer.on_missed_poll(fresh()).membership.leaving is None
