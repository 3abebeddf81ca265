"""The steps of a staging: the participant is added, the records are staged, the producer gets a response.

WHO: the share-partition leader (`share_partition_leader`, which has the handlers). WHERE IN KAFKA: nowhere; KIP-1289
(draft) "Flow - Share Group", and pull request 22357 (draft implementation, seen in source): the leader of the source
partition adds the partition of `__share_group_state` before it stages anything.
"""

from __future__ import annotations

from kipviz.brokers.checks import Checks, compare, error_of, report_value
from kipviz.brokers.context import Context, Effects, Reply, ReplyTo, with_effects
from kipviz.brokers.logs import add_to_transaction
from kipviz.brokers.logs.add_to_transaction import Enlisting
from kipviz.brokers.share_leaders import acknowledgement_checks, share_partition, share_writes
from kipviz.brokers.share_leaders.in_flight import staged_batches
from kipviz.brokers.share_leaders.share_partition import ShareLeader, SharePartition, Status, keep
from kipviz.brokers.share_transactions import share_staging
from kipviz.messages.apis.api import Role
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_groups import (
    TxnShareAcknowledge,
    offsets_of,
    staging_result,
)
from kipviz.records.placement import SHARE_GROUP_STATE


def find_stageable(
    me: ShareLeader, request: TxnShareAcknowledge, on: Context
) -> tuple[SharePartition | None, Checks]:
    """Check that a share-partition exists, and that a member may stage its records."""
    share = me.shares.get(on.image.share_key(request.group_id, request.only.partition))
    status = share.status if share is not None else None
    error = Errors.INVALID_RECORD_STATE
    active = compare("share-partition", None, status, status is Status.ACTIVE, error)
    if active.error is not Errors.NONE:
        return share, (active,)
    assert share is not None, "one that is not there is not active"
    return share, (active, *acknowledgement_checks.stage_checks(share, request, on))


def add_then_stage(
    me: ShareLeader,
    share: SharePartition,
    request: TxnShareAcknowledge,
    reply_to: ReplyTo,
    on: Context,
    checks: Checks,
) -> Effects[ShareLeader]:
    """Add the participant and then stage, or the other way round, or only stage if nothing is to be added.

    OPEN: participant, participant_order.
    """
    left = add_to_transaction.client_adds_participant(request.transactional_id, on)
    if left or not participants(share, request, reply_to, on).partitions:
        return stage_records(me, share, request, reply_to, on).after(checks)
    if on.rules.participant_order():
        return enlist(me, share, request, reply_to, on, checks)
    done = stage_records(me, share, request, reply_to, on, enlists=True).after(checks)
    share = done.state.shares[share.key]
    if any(write.enlists == request for write in share.writes):
        return done
    enlisting = enlist(done.state, share, request, reply_to, on, ())
    return with_effects(enlisting.state, done, enlisting)


def participants(
    share: SharePartition, request: TxnShareAcknowledge, reply_to: ReplyTo, on: Context
) -> Enlisting:
    """Return the waiting request, with the partitions that stand for its records."""
    group_id, topic_id, index = share.key.rsplit(":", 2)
    partitions = tuple(
        on.image.home_of(SHARE_GROUP_STATE, key)
        for key in on.rules.participant(group_id, topic_id, int(index))
    )
    return Enlisting(request, reply_to, request.producer_id, request.producer_epoch, partitions)


def enlist(
    me: ShareLeader,
    share: SharePartition,
    request: TxnShareAcknowledge,
    reply_to: ReplyTo,
    on: Context,
    checks: Checks,
) -> Effects[ShareLeader]:
    """Ask a transaction coordinator to add the participant; the request waits. OPEN: enlistment."""
    waiting = participants(share, request, reply_to, on)
    waiting = add_to_transaction.number_question(me.staging, waiting, on)
    coordinator = add_to_transaction.coordinator_of(request.transactional_id, on)
    broker = on.rules.enlistment(on.broker, coordinator)
    asked = add_to_transaction.question(
        request.transactional_id, waiting, Role.SHARE_PARTITION_LEADER, share.key, broker
    )
    if asked is None:
        rejected = (*checks, *add_to_transaction.no_coordinator_checks())
        return share_staging.respond_at_once(me, request, reply_to, rejected)
    made = (*checks, report_value("partition added", False))
    waits = Effects(
        me.but(staging=add_to_transaction.add_waiting(me.staging, waiting)), checks=made
    )
    return add_to_transaction.ask(waits, asked, on)


def go_on(me: ShareLeader, waiting: Enlisting, error: Errors, on: Context) -> Effects[ShareLeader]:
    """Stage what waited until its participant was added, if the records' current states allow it.

    What was staged before that stays staged, whatever the coordinator answers.
    """
    request, reply_to = waiting.request, waiting.reply_to
    assert isinstance(request, TxnShareAcknowledge)
    checks = add_to_transaction.answer_checks(waiting, error)
    if error is not Errors.NONE:
        return share_staging.respond_at_once(
            me, request, reply_to, add_to_transaction.meaning_checks(checks)
        )
    if not on.rules.participant_order():
        return share_staging.respond_at_once(me, request, reply_to, checks)
    share, made = find_stageable(me, request, on)
    checks += made
    if error_of(checks) is not Errors.NONE:
        return share_staging.respond_at_once(me, request, reply_to, checks)
    assert share is not None, "one that is not there is not active"
    if acknowledgement_checks.is_staged_again(share, request):
        return stage_again(me, share, request, reply_to).after(checks)
    return stage_records(me, share, request, reply_to, on).after(checks)


def stage_records(
    me: ShareLeader,
    share: SharePartition,
    request: TxnShareAcknowledge,
    reply_to: ReplyTo,
    on: Context,
    *,
    enlists: bool = False,
) -> Effects[ShareLeader]:
    """Stage what may be staged now: as delivery state 5 in the durable state, or in memory alone.

    With `enlists` the participant is added after that, and the response waits for it. OPEN: staged_acks, acknowledgement_form.
    """
    begun, events = share_partition.stage(share, request)
    acknowledgements = on.rules.staged_acks(
        staged_batches(share_partition.cells_of(begun, request))
    )
    if on.rules.acknowledgement_form() and acknowledgements:
        writing = share_writes.stage_as_state(begun, request, reply_to, events, on, enlists=enlists)
        return keep(me, writing)
    settled = share_partition.settle(begun, offsets_of(request.only.acknowledgements))
    answer = staging_result(request.only.partition, Errors.NONE)
    replies = () if enlists else (Reply(reply_to, answer),)
    return keep(me, Effects(settled, replies=replies, events=events))


def stage_again(
    me: ShareLeader, share: SharePartition, request: TxnShareAcknowledge, reply_to: ReplyTo
) -> Effects[ShareLeader]:
    """Respond to an equal second staging that the design accepts; it waits for an acknowledgement in progress."""
    ongoing = any(share.records[o].ongoing for o in offsets_of(request.only.acknowledgements))
    if not ongoing:
        return share_staging.respond_at_once(me, request, reply_to, ())
    return keep(me, Effects(share_writes.stage_again(share, request, reply_to)))
