"""A member of a share group: what it makes of the answers to its heartbeats."""

from __future__ import annotations

import pytest

from kipviz.clients.groups.group_consumer import MemberState
from kipviz.clients.shares import share_member as member
from kipviz.clients.shares.share_member import ShareMember
from kipviz.messages.errors import Errors
from kipviz.messages.membership import Assignment
from kipviz.messages.share_membership import ShareGroupHeartbeat, ShareGroupHeartbeatResponse

S = MemberState


def beats(me):
    return member.sent(me, member.next_request(me), 4)


def told(me, error, epoch=0, *partitions):
    found = Assignment(partitions) if partitions else None
    return member.on_response(me, ShareGroupHeartbeatResponse(error, "M1", epoch, found))


def joined():
    me, request = beats(member.join(ShareMember("app-1/member", "g1", "M1", "src")))
    assert request == ShareGroupHeartbeat("g1", "M1", 0, "src")
    return told(me, Errors.NONE, 2, "src-0")


def test_a_member_that_may_not_be_in_the_group_says_why_and_is_silent():
    me, _ = beats(member.on_timer(joined(), *member.timers(joined())))
    me = told(me, Errors.GROUP_AUTHORIZATION_FAILED)
    assert (me.state, me.error) == (
        S.FATAL,
        "ShareGroupHeartbeat: GROUP_AUTHORIZATION_FAILED",
    )
    assert (member.timers(me), member.next_request(me)) == ((), None)


@pytest.mark.parametrize("error", [Errors.UNKNOWN_MEMBER_ID, Errors.FENCED_MEMBER_EPOCH])
def test_a_member_that_was_taken_out_joins_again_under_the_same_id(error):
    me, _ = beats(member.on_timer(joined(), *member.timers(joined())))
    me = told(me, error)
    assert (me.state, me.partitions) == (S.JOINING, ())
    assert beats(me)[1] == ShareGroupHeartbeat("g1", "M1", 0, "src")
