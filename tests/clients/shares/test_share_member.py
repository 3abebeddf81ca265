"""A member of a share group: what it makes of the answers to its heartbeats."""

from __future__ import annotations

import pytest

from kipviz.clients.application import Application, Call, Line
from kipviz.clients.groups.consumer_membership import MemberState
from kipviz.clients.settling import settle
from kipviz.clients.shares import share_member as member
from kipviz.clients.shares.share_member import ShareMember
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.timers import HeartbeatInterval
from kipviz.core.table import Table
from kipviz.designs.catalogue import design
from kipviz.messages.errors import Errors
from kipviz.messages.groups.membership import Assignment
from kipviz.messages.shares.share_membership import ShareGroupHeartbeat, ShareGroupHeartbeatResponse
from tests.clients.parts import change, producer_of

S = MemberState
RULES = design("repaired").client_rules()


def beats(me):
    return member.note_sent(me, member.next_request(me), 4)


def answer_heartbeat(me, error, epoch=0, *partitions):
    found = Assignment(partitions) if partitions else None
    return member.on_response(me, ShareGroupHeartbeatResponse(error, "M1", epoch, found))


def join_group():
    me, request = beats(member.join(ShareMember("app-1/member", "g1", "M1", ("src",))))
    assert request == ShareGroupHeartbeat("g1", "M1", 0, ("src",))
    return answer_heartbeat(me, Errors.NONE, 2, "src-0")


def test_a_member_that_may_not_be_in_the_group_says_why_and_is_silent():
    me, _ = beats(member.on_timer(join_group(), *member.timers(join_group())))
    me = answer_heartbeat(me, Errors.GROUP_AUTHORIZATION_FAILED)
    assert (me.state, str(me.error)) == (
        S.FATAL,
        "ShareGroupHeartbeat: GROUP_AUTHORIZATION_FAILED",
    )
    assert (member.timers(me), member.next_request(me)) == ((), None)


@pytest.mark.parametrize("error", [Errors.UNKNOWN_MEMBER_ID, Errors.FENCED_MEMBER_EPOCH])
def test_a_member_that_was_taken_out_joins_again_under_the_same_id(error):
    me, _ = beats(member.on_timer(join_group(), *member.timers(join_group())))
    me = answer_heartbeat(me, error)
    assert (me.state, me.partitions) == (S.JOINING, ())
    assert beats(me)[1] == ShareGroupHeartbeat("g1", "M1", 0, ("src",))


def beating():
    """A member whose second heartbeat is on the wire."""
    me = join_group()
    return beats(member.on_timer(me, *member.timers(me)))[0]


def test_a_member_that_leaves_gives_up_what_it_has_and_says_so_with_its_last_epoch():
    """ShareMembershipManager.leaveGroupEpoch: -1."""
    me = member.leave(join_group())
    assert (me.state, me.partitions) == (S.LEAVING, ())
    me, request = beats(me)
    assert request == ShareGroupHeartbeat("g1", "M1", -1)
    me = answer_heartbeat(me, Errors.NONE, -1)
    assert (me.state, me.member_epoch, member.next_request(me), member.timers(me)) == (
        S.UNSUBSCRIBED,
        0,
        None,
        (),
    )


def test_the_last_heartbeat_goes_out_again_where_no_coordinator_has_taken_it():
    me, bye = beats(member.leave(join_group()))
    me = answer_heartbeat(me, Errors.COORDINATOR_LOAD_IN_PROGRESS)
    assert me.state is S.LEAVING
    assert beats(me)[1] == bye


def test_a_member_in_its_group_tells_its_topic_no_more_and_its_epoch_each_time():
    me = join_group()
    assert (me.state, me.member_epoch, me.partitions) == (S.STABLE, 2, ("src-0",))
    me, request = beats(member.on_timer(me, *member.timers(me)))
    assert request == ShareGroupHeartbeat("g1", "M1", 2, None)
    me = answer_heartbeat(me, Errors.NONE, 3)
    assert (me.member_epoch, me.partitions) == (3, ("src-0",)), "no assignment is no news"


def test_one_heartbeat_is_on_the_wire_at_a_time_and_time_passes_meanwhile():
    me = beating()
    assert (member.next_request(member.on_timer(me, HeartbeatInterval())), member.timers(me)) == (
        None,
        (),
    )
    assert member.running(me) == (HeartbeatInterval(),)
    due = member.on_timer(join_group(), HeartbeatInterval())
    assert (member.timers(due), member.running(due)) == ((), (HeartbeatInterval(),))
    assert member.timers(join_group()) == (HeartbeatInterval(),)
    assert member.running(ShareMember("app-1/member", "g1", "M1", ("src",))) == ()


def test_a_heartbeat_that_is_lost_with_its_connection_goes_out_again():
    me = beating()
    assert member.on_disconnected(me, 3) == me
    assert member.on_disconnected(join_group(), 4) == join_group()
    again = member.on_disconnected(me, 4)
    assert (again.on_wire, again.on_wire_broker) == (None, -1)
    assert beats(again)[1] == me.on_wire


def test_without_a_right_to_the_topic_a_member_says_so_and_stays_what_it_is():
    me = answer_heartbeat(beating(), Errors.TOPIC_AUTHORIZATION_FAILED)
    assert (me.state, str(me.error)) == (
        S.STABLE,
        "ShareGroupHeartbeat: TOPIC_AUTHORIZATION_FAILED",
    )
    assert (me.partitions, member.timers(me)) == (("src-0",), (HeartbeatInterval(),))


def test_share_group_metadata_needs_an_epoch_that_a_coordinator_has_given():
    assert member.why_no_metadata(join_group()) is None
    outside = member.join(ShareMember("app-1/member", "g1", "M1", ("src",)))
    assert str(member.why_no_metadata(outside)).startswith("TimeoutException")


def test_the_next_life_of_a_member_has_another_id_and_has_not_joined():
    again = member.restart(member.restart(join_group(), 2), 3)
    assert again == ShareMember("app-1/member", "g1", "M1#3", ("src",))
    assert (again.state, again.member_epoch, member.next_request(again)) == (
        S.UNSUBSCRIBED,
        0,
        None,
    )


def test_a_further_member_of_a_process_has_a_membership_of_its_own_name():
    assert (member.name_of(""), member.name_of("M9")) == ("member", "M9-member")


def test_who_has_not_polled_is_no_member_and_has_nothing_to_say():
    """ShareMembershipManager: UNSUBSCRIBED, until the subscription of the first poll()."""
    me = ShareMember("app-1/member", "g1", "M1", ("src",))
    assert (me.state, me.beat, me.done, member.next_request(me), member.timers(me)) == (
        S.UNSUBSCRIBED,
        False,
        False,
        None,
        (),
    )


def waits_for_its_assignment(member_error: str, state: MemberState) -> Application:
    """A process that is in poll(), whose membership has heard of an error."""
    consumer = change(
        ShareConsumer("app-1/consumer", "g1", "M1", 2, "src-0", 10), member=True, awaiting=True
    )
    mine = join_group().but(state=state, error=member_error, partitions=())
    return Application(
        "app-1",
        (Line("poll", Call.POLL),),
        "out-0",
        producer_of("app-1/producer", "t"),
        consumer,
        others=Table.of({member.NAME: mine}),
    )


@pytest.mark.parametrize(("state", "kept"), [(S.JOINING, ""), (S.FATAL, "REFUSED")])
def test_an_error_of_the_membership_is_thrown_by_one_poll_and_a_fatal_one_by_every(state, kept):
    """ShareConsumerImpl.poll: processBackgroundEvents throws an ErrorEvent once; a fatal member stays what it is."""
    me = settle(waits_for_its_assignment("REFUSED", state), RULES)
    assert (
        str(me.consumer.error),
        me.consumer.done,
        me.consumer.subscription.awaiting,
    ) == ("REFUSED", True, False)
    assert me.others[member.NAME].error == kept
