"""What waits for replicas: when it may be said, and by which check an append has failed."""

from __future__ import annotations

from kipviz.brokers.context import Reply, ReplyTo
from kipviz.brokers.groups import group_coordinator
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.logs.replication import (
    Due,
    WaitingForReplicas,
    append_checks,
    batch_appended,
    due,
)
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.groups.classic_groups import HeartbeatResponse
from kipviz.records.batches import Batch, DataRecord

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


def test_an_append_without_enough_replicas_has_failed_for_that_reason_alone():
    """Partition.appendRecordsToLeader throws NotEnoughReplicasException before anything is written."""
    desk = Desk(group_coordinator, GroupCoordinator(HERE), leaders={HERE: 1})
    desk.image = {"min_insync_replicas": (("__consumer_offsets", 2),), "offline": (99,)}
    assert [check.name for check in append_checks(HERE, desk.on)] == ["enough replicas"]


def test_a_plain_batch_is_one_of_a_producer_outside_of_transactions():
    records = (DataRecord("x"),)
    batches = [
        Batch(0, records),
        Batch(0, records, 9, 0, 0),
        Batch(0, records, 9, 0, 0, transactional=True),
    ]
    assert [batch_appended(HERE, batch).plain for batch in batches] == [False, True, False]
