"""Writes of memberships and new member ids by a group coordinator, for every kind of group.

A part of the group coordinator's role (`group_coordinator`). WHERE IN KAFKA: CoordinatorRuntime.
"""

from __future__ import annotations

from collections.abc import Iterable

from kipviz.brokers.context import Context, Effects, Reply
from kipviz.brokers.groups.group_state import GroupCoordinator, replay
from kipviz.brokers.logs.replication import (
    WaitingForReplicas,
    batch_appended,
    reject_write,
    respond_when_replicated,
)
from kipviz.brokers.membership.consumer_group import GroupMember
from kipviz.brokers.membership.share_group import ShareMember
from kipviz.core.model import Event
from kipviz.core.values import Value
from kipviz.records.batches import COORDINATOR_SEQUENCE, Batch

HEARD_NO_MORE = "its session expired"


def target_waits(members: Iterable[GroupMember | ShareMember], on: Context) -> bool:
    """Return whether a group keeps its target for now; a group of only new members gets one at once.

    Clause: KIP-1263; GroupMetadataManager.canComputeNextTargetAssignment.
    """
    return on.settings.targets_wait and any(member.epoch for member in members)


def make_member_id(me: GroupCoordinator, begins: str, on: Context) -> tuple[GroupCoordinator, str]:
    """Return the state and a new member id, unique among all ids that any coordinator of the group has assigned.

    This holds also for a group that was deleted and created again. Kafka's are random.
    """
    me = me.but(named=me.named + 1)
    office = on.image.leaders[me.shard].epoch
    which = f"{office}.{me.named}" if office else str(me.named)
    return me, f"{begins}.{which}"


def append_records(
    me: GroupCoordinator,
    records: tuple[Value, ...],
    events: tuple[Event, ...],
    reply: Reply | None,
    on: Context,
) -> Effects[GroupCoordinator]:
    """Append records and respond when they are replicated; without records, respond when what was read is."""
    log = on.log(me.shard)
    if not records:
        waiting, replies = respond_when_replicated(log, reply) if reply else ((), ())
        return Effects(me.but(waiting=(*me.waiting, *waiting)), replies=replies)
    if not on.image.has_enough_replicas(me.shard):
        return reject_write(me, reply)
    batch = Batch(log.end_offset, records, base_sequence=COORDINATOR_SEQUENCE)
    wait = (WaitingForReplicas(batch.last_offset, reply),) if reply else ()
    return Effects(
        replay(me, batch).but(waiting=(*me.waiting, *wait)),
        appends=((me.shard, batch),),
        events=(batch_appended(me.shard, batch), *events),
    )
