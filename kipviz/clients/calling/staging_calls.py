"""The calls that add a share consumer's acknowledgements to a transaction (KIP-1289, draft; KIP-1310, draft)."""

from __future__ import annotations

from typing import TypeAlias

from kipviz.clients.application import Application, Call, Line
from kipviz.clients.calling.named_client import named_client
from kipviz.clients.calling.producer_calls import holder_of, with_manager
from kipviz.clients.rules import ClientRules
from kipviz.clients.sessions import session_calls
from kipviz.clients.sessions import transaction_session as sessions
from kipviz.clients.shares import draining, share_holding
from kipviz.clients.shares import share_consumer as sharing
from kipviz.clients.shares.handover import NO_SNAPSHOT
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.transactions import transaction_manager as managing
from kipviz.messages.shares.share_groups import (
    AcknowledgeType,
    TxnPartitionAcknowledgements,
    TxnShareAcknowledge,
    batches_of_each,
)

# The acknowledgements of a partition: offsets with their types.
Said: TypeAlias = tuple[str, tuple[tuple[int, AcknowledgeType], ...]]


def stage(me: Application, line: Line, rules: ClientRules) -> Application:
    """Add acknowledgements to the transaction: those of a line, or those that were drained from the consumer."""
    consumer = draining.consumer_of(me, draining.drained_member(line))
    holder = holder_of(me, line)
    if line.target.partition(" ")[0] == draining.DRAINED:
        manager, consumer = draining.stage(holder.manager, consumer, rules)
        return with_manager(me, holder, manager).with_client(consumer)
    each_said = _verdicts_of_each(me, line, consumer)
    if not each_said:  # as with offsets: no acknowledgement, no request
        return me
    parts = tuple(
        TxnPartitionAcknowledgements(
            partition,
            batches_of_each(verdicts),
            rules.staged_deliveries(draining.deliveries(me.records, partition, verdicts)),
        )
        for partition, verdicts in each_said
    )
    manager = managing.send_share_acknowledgements(
        holder.manager,
        consumer.group_id,
        *_metadata_of(consumer),
        parts,
        starts=rules.staging_starts(),
    )
    fetch = consumer.current_fetch
    if consumer.gathers:
        beside = fetch.beside
        for each, said in each_said:
            beside = share_holding.staging(beside, each, tuple(offset for offset, _ in said))
        fetch = fetch.but(beside=beside)
    else:
        ((_, verdicts),) = each_said
        fetch = fetch.staging(tuple(offset for offset, _ in verdicts))
    return with_manager(me, holder, manager).but(consumer=consumer.but(current_fetch=fetch))


def _metadata_of(consumer: ShareConsumer) -> tuple[str, int]:
    """Return the snapshot that the application took, or a new one if shareGroupMetadata() is an argument."""
    taken = consumer.handover.snapshot
    return consumer.metadata if taken == NO_SNAPSHOT else taken


def share_group_metadata(me: Application, line: Line, rules: ClientRules) -> Application:
    """Take a snapshot of the member id and its epoch."""
    consumer = named_client(me, line, me.consumer)
    assert isinstance(consumer, ShareConsumer), "only a share consumer has such metadata"
    return me.with_client(sharing.share_group_metadata(consumer))


def _verdicts_of_each(me: Application, line: Line, consumer: ShareConsumer) -> tuple[Said, ...]:
    """Return the acknowledgements of a line for each partition of which the consumer holds records."""
    if not consumer.gathers:
        verdicts = verdicts_of(me, line)
        return ((consumer.partition, verdicts),) if verdicts else ()
    own = (
        (
            held.partition,
            me.but(records=tuple(r for r in me.records if r.partition == held.partition)),
        )
        for held in consumer.current_fetch.beside
    )
    said = tuple((partition, verdicts_of(mine, line)) for partition, mine in own)
    return tuple(each for each in said if each[1])


def add_share_acks(me: Application, line: Line, rules: ClientRules) -> Application:
    """Add the acknowledgements of a line to the session's transaction (KIP-1310)."""
    consumer = me.consumer
    assert isinstance(consumer, ShareConsumer), "only a share consumer has such acknowledgements"
    verdicts = verdicts_of(me, line)
    if not verdicts:
        return me
    part = TxnPartitionAcknowledgements(consumer.partition, batches_of_each(verdicts))
    session = sessions.add_share_acks(
        session_calls.session_of(me), consumer.group_id, consumer.metadata, part
    )
    fetch = consumer.current_fetch.staging(tuple(offset for offset, _ in verdicts))
    return me.with_client(session).but(consumer=consumer.but(current_fetch=fetch))


def acknowledge_transactionally(me: Application, line: Line, rules: ClientRules) -> Application:
    """Send acknowledgements in the transaction of a session. Returns at once.

    The consumer sends them on its own connection, with the session's current identity. Clause: KIP-1310 2.4 (draft).
    """
    consumer, session = me.consumer, session_calls.session_of(me)
    assert isinstance(consumer, ShareConsumer), "only a share consumer acknowledges"
    verdicts = verdicts_of(me, line)
    if not verdicts:
        return me
    manager = session.manager
    request = TxnShareAcknowledge(
        manager.transactional_id,
        consumer.group_id,
        manager.producer_id,
        manager.producer_epoch,
        consumer.member_id,
        consumer.member_epoch,
        (TxnPartitionAcknowledgements(consumer.partition, batches_of_each(verdicts)),),
    )
    offsets = tuple(offset for offset, _ in verdicts)
    staging = consumer.but(
        current_fetch=consumer.current_fetch.staging(offsets),
        transactional=consumer.transactional.add(request),
    )
    # The session must know that it has something to end.
    return with_manager(me, session, manager.but(transaction_started=True)).but(consumer=staging)


def verdicts_of(me: Application, line: Line) -> tuple[tuple[int, AcknowledgeType], ...]:
    """Return the acknowledgement types of a line, one for each record of the batch that it mentions."""
    said = dict(line.verdicts)
    if line.target and line.call is Call.ACKNOWLEDGE:
        return ((int(line.target), line.verdicts[0][1]),)
    found = ((r.offset, said.get(r.offset, said.get(-1))) for r in me.records)
    return tuple((offset, kind) for offset, kind in found if kind is not None)
