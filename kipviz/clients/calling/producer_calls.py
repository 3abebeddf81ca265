"""The calls of a producer, or of the session that its transactions are in.

WHERE IN KAFKA: KafkaProducer; TransactionSession of KIP-1310 (draft) has the transactional ones under other names.
"""

from __future__ import annotations

from kipviz.clients.application import Application, Call, Line
from kipviz.clients.calling.database_calls import database_of
from kipviz.clients.calling.named_client import named_client
from kipviz.clients.groups import classic_consumer as classic
from kipviz.clients.groups import consumer as regular
from kipviz.clients.groups import group_consumer as member
from kipviz.clients.groups.classic_consumer import ClassicConsumer
from kipviz.clients.groups.consumer import Consumer
from kipviz.clients.groups.group_consumer import GroupConsumer
from kipviz.clients.kinds import Holder, MemberConsumer, end_transaction
from kipviz.clients.rules import ClientRules
from kipviz.clients.sending import appending, awaited_topics
from kipviz.clients.sending import producer as producing
from kipviz.clients.sending.producer import Producer
from kipviz.clients.sessions import transaction_session as sessions
from kipviz.clients.sessions.transaction_session import TransactionSession
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.transactions import stagings
from kipviz.clients.transactions import transaction_manager as managing
from kipviz.clients.transactions.external_database import IN_DOUBT, STORED
from kipviz.clients.transactions.prepared_txn_state import PreparedTxnState
from kipviz.clients.transactions.transaction_manager import TransactionManager
from kipviz.messages.groups import GroupOffset
from kipviz.records.batches import DataRecord

# What a producer says of the member when it was told the group's id only.
NOBODY = ("", -1)
# A sendOffsetsToTransaction() of all that was read, as Kafka Streams makes it, not of the last batch.
EVERY_PARTITION = "every partition"
# What a line's target says of initTransactions(true).
KEEP_PREPARED_TXN = "keepPreparedTxn"


def holder_of(me: Application, line: Line) -> Holder:
    """Give the client that has the transactions which a line is about."""
    client = named_client(me, line, me.producer)
    assert isinstance(client, Holder), f"{line.call.value}() is a call of a producer or a session"
    return client


def _producer_of(me: Application, line: Line) -> Producer:
    client = named_client(me, line, me.producer)
    assert isinstance(client, Producer), f"{line.call.value}() is a call of a producer"
    return client


def with_manager(me: Application, holder: Holder, manager: TransactionManager) -> Application:
    """Give the process in which a producer or a session has another transaction manager."""
    return me.with_client(holder.but(manager=manager))


def init_transactions(me: Application, line: Line, rules: ClientRules) -> Application:
    """Ask for an identity, with what the consumer is a member of now."""
    holder = holder_of(me, line)
    manager = holder.manager
    if manager.group_id:
        # KIP-447, first draft: an identity is for a generation, and there is none yet (our inference).
        return with_manager(me, holder, manager.but(done=True, error=""))
    keep = line.target == KEEP_PREPARED_TXN
    told = manager.heartbeat_interval_ms
    if isinstance(holder, TransactionSession):
        told = rules.session_timeout(holder.session_timeout_ms, told)
    manager = managing.init_transactions(manager, keep_prepared_txn=keep, told_ms=told)
    if isinstance(me.consumer, MemberConsumer):
        manager = manager.but(member_at_init=_member_of(me.consumer))
    consumer = me.consumer
    if isinstance(consumer, ClassicConsumer) and consumer.coordinator.rejoin and rules.init_joins():
        joins = classic.poll(consumer)
        me = me.but(consumer=joins.but(coordinator=joins.coordinator.but(listening=True)))
    return with_manager(me, holder, manager)


def begin_transaction(me: Application, line: Line, rules: ClientRules) -> Application:
    """Begin a transaction."""
    holder = holder_of(me, line)
    return with_manager(me, holder, managing.begin_transaction(holder.manager))


def send(me: Application, line: Line, rules: ClientRules) -> Application:
    """Hand the outputs of the batch to the producer."""
    to, outputs = _outputs_of(me, line)
    producer = _producer_of(me, line)
    return me.with_client(producing.send(producer, to, outputs))


def _outputs_of(me: Application, line: Line) -> tuple[str, tuple[DataRecord, ...]]:
    """Give the outputs of the batch and where they go, or what a line says of it: "offsets-0 position"."""
    to, _, note = (line.target or me.output).partition(" ")
    outputs = tuple(DataRecord(f"f({r.value})", f"{r.partition}@{r.offset}") for r in me.records)
    if note:
        last = me.records[-1]
        outputs = (DataRecord(f"{note} of {last.partition}: {last.offset + 1}"),)
    return to, outputs


def left_behind(me: Application, line: Line) -> Application:
    """Give what the send() of one thread of several leaves that threw: the records were appended before."""
    producer = named_client(me, line, me.producer)
    if line.call is not Call.SEND or not me.workers or not isinstance(producer, Producer):
        return me
    to, outputs = _outputs_of(me, line)
    if producer.manager.session or awaited_topics.is_unknown(producer.metadata, to):
        return me
    if appending.goes_along(producer, to):
        return me.with_client(producing.send(producer, to, outputs))
    return me.with_client(appending.left_behind(producer, to, outputs))


def flush(me: Application, line: Line, rules: ClientRules) -> Application:
    """Wait until nothing is on the way."""
    producer = _producer_of(me, line)
    assert not producer.is_transactional, "commitTransaction() does that for a transaction"
    return me.with_client(producing.flush(producer))


def _reader(me: Application) -> Consumer | MemberConsumer | ShareConsumer:
    """Give the consumer that read what a thread has in hand: a further thread may have its own."""
    if not me.workers:
        return me.consumer
    read = me.records[-1].partition
    own = (c for c in me.others.values() if isinstance(c, Consumer) and c.partition == read)
    return next(own, me.consumer)


def send_offsets(me: Application, line: Line, rules: ClientRules) -> Application:
    """Stage how far the batch was read."""
    consumer = _reader(me)
    offsets: tuple[GroupOffset, ...]
    if line.target == EVERY_PARTITION and isinstance(consumer, MemberConsumer):
        offsets = consumer.subscription.read_so_far
    else:
        offsets = (GroupOffset(consumer.partition, me.records[-1].offset + 1),)
    holder, now = holder_of(me, line), _member_of(consumer)
    passed = now if line.metadata else NOBODY
    if isinstance(consumer, MemberConsumer):
        passed = rules.producer_member(holder.manager.member_at_init, now, passed)
    static = consumer.instance_id if isinstance(consumer, MemberConsumer) else ""
    instance_id = static if passed != NOBODY else ""
    manager = managing.send_offsets(
        holder.manager, consumer.group_id, *passed, offsets, instance_id
    )
    return with_manager(me, holder, manager)


def _member_of(consumer: Consumer | MemberConsumer | ShareConsumer) -> tuple[str, int]:
    """Give consumer.groupMetadata(): the member, and its epoch as the consumer knows it now.

    A classic consumer gives what it had with its last assignment, whatever it has heard since.
    """
    if isinstance(consumer, ClassicConsumer):
        return consumer.coordinator.metadata
    return consumer.member_id, consumer.member_epoch


def commit_transaction(me: Application, line: Line, rules: ClientRules) -> Application:
    """Commit."""
    return me.with_client(end_transaction(holder_of(me, line), committed=True))


def abort_transaction(me: Application, line: Line, rules: ClientRules) -> Application:
    """Abort, and read on from where the group stands."""
    for each in me.clients:
        if isinstance(each, Consumer):
            me = me.with_client(regular.forget_position(each))
    if isinstance(me.consumer, GroupConsumer):
        me = me.but(consumer=member.forget_positions(me.consumer))
    if isinstance(me.consumer, ClassicConsumer):
        me = me.but(consumer=classic.forget_positions(me.consumer))
    return me.with_client(end_transaction(holder_of(me, line), committed=False))


def prepare_transaction(me: Application, line: Line, rules: ClientRules) -> Application:
    """Prepare the transaction for a decision that a database makes (KIP-939)."""
    holder = holder_of(me, line)
    if isinstance(holder, TransactionSession):
        return me.with_client(sessions.prepare(holder))
    votes_first = rules.prepare_waits(stagings.unanswered(holder.manager))
    return me.with_client(producing.prepare_transaction(holder, votes_first=votes_first))


def complete_transaction(me: Application, line: Line, rules: ClientRules) -> Application:
    """End a prepared transaction as the database says (KIP-939)."""
    holder = holder_of(me, line)
    stored = holder.manager.prepared
    if line.target == STORED:
        stored = database_of(me).prepared_txn_state
    elif line.target == IN_DOUBT and not database_of(me).in_doubt:
        stored = PreparedTxnState()
    if isinstance(holder, TransactionSession):
        return me.with_client(sessions.complete(holder, stored))
    return me.with_client(producing.complete_transaction(holder, stored))
