"""What waits for replicas: when it may be said, and by which check an append has failed."""

from __future__ import annotations

from kipviz.brokers.context import Reply, ReplyTo
from kipviz.brokers.groups import group_coordinator
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.logs.replication import Due, WaitingForReplicas, append_checks, due
from kipviz.driving.desk import Desk
from kipviz.messages.classic_groups import HeartbeatResponse
from kipviz.messages.errors import Errors

HERE = "__consumer_offsets-0"


def test_what_waits_for_an_offset_is_said_behind_it_and_not_at_it():
    reply = Reply(ReplyTo("C1", 1, 0), HeartbeatResponse(Errors.NONE))
    waits = WaitingForReplicas(5, reply)
    assert due((waits,), 5) == Due((waits,), (), ())
    assert due((waits,), 6) == Due((), (reply,), ())


def test_an_append_with_enough_replicas_has_failed_because_they_were_late():
    desk = Desk(group_coordinator, GroupCoordinator(HERE), leaders={HERE: 1})
    (check,) = append_checks(HERE, desk.on)
    assert (check.name, check.asked, check.found) == ("replicated in time", None, False)
    assert check.error is Errors.COORDINATOR_NOT_AVAILABLE
