"""The calls of a producer, or of the session that holds its transactions.

WHERE IN KAFKA: KafkaProducer; TransactionSession of KIP-1310 (draft) has the transactional ones under other names.
"""

from __future__ import annotations

from kipviz.clients.application import Application, Call, Line
from kipviz.clients.calling.database_calls import database_of
from kipviz.clients.calling.named_client import named_client
from kipviz.clients.groups import kafka_consumer as regular
from kipviz.clients.groups.consumer import Consumer, RegularConsumer, is_classic, joins_group
from kipviz.clients.kinds import Holder, end_transaction
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
from kipviz.messages.groups.groups import GroupOffset
from kipviz.records.batches import DataRecord
from kipviz.records.record_name import name_record

# The member that a producer sends when it knows only the group's id.
NOBODY = ("", -1)
# sendOffsetsToTransaction() with the offsets of every partition, as Kafka Streams calls it, not of the last batch.
EVERY_PARTITION = "every partition"
# The target of a line that calls initTransactions(true).
KEEP_PREPARED_TXN = "keepPreparedTxn"


def holder_of(me: Application, line: Line) -> Holder:
    """Return the client that holds the transactions that a line is about."""
    client = named_client(me, line, me.producer)
    assert isinstance(client, Holder), f"{line.call.value}() is a call of a producer or a session"
    return client


def _producer_of(me: Application, line: Line) -> Producer:
    client = named_client(me, line, me.producer)
    assert isinstance(client, Producer), f"{line.call.value}() is a call of a producer"
    return client


def with_manager(me: Application, holder: Holder, manager: TransactionManager) -> Application:
    """Return the process with another transaction manager in its producer or session."""
    return me.with_client(holder.but(manager=manager))


def init_transactions(me: Application, line: Line, rules: ClientRules) -> Application:
    """Ask for a producer id and epoch, with the member id and epoch that the consumer has now."""
    holder = holder_of(me, line)
    manager = holder.manager
    if manager.group_id:
        # KIP-447, first draft: an identity belongs to a generation, and there is none yet (our inference).
        return with_manager(me, holder, manager.but(done=True, error=""))
    keep = line.target == KEEP_PREPARED_TXN
    told = manager.heartbeat_interval_ms
    if isinstance(holder, TransactionSession):
        told = rules.session_timeout(holder.session_timeout_ms, told)
    manager = managing.init_transactions(manager, keep_prepared_txn=keep, told_ms=told)
    consumer = me.consumer
    if joins_group(consumer):
        manager = manager.but(member_at_init=_member_of(consumer))
    if is_classic(consumer) and consumer.membership.rejoin and rules.init_joins():
        joins = regular.poll(consumer)
        me = me.but(consumer=joins.but(membership=joins.membership.but(listening=True)))
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
    """Return the output records of the batch and their topic, or the note that a line asks for: "offsets-0 position"."""
    to, _, note = (line.target or me.output).partition(" ")
    outputs = tuple(
        DataRecord(f"f({r.value})", name_record(r.partition, r.offset)) for r in me.records
    )
    if note:
        last = me.records[-1]
        outputs = (DataRecord(f"{note} of {last.partition}: {last.offset + 1}"),)
    return to, outputs


def keep_appended(me: Application, line: Line) -> Application:
    """Return what a failed send() of one of several threads leaves: the records that it had appended before it threw."""
    producer = named_client(me, line, me.producer)
    if line.call is not Call.SEND or not me.workers or not isinstance(producer, Producer):
        return me
    to, outputs = _outputs_of(me, line)
    if producer.manager.session or awaited_topics.is_unknown(producer.metadata, to):
        return me
    if appending.goes_along(producer, to):
        return me.with_client(producing.send(producer, to, outputs))
    return me.with_client(appending.keep_unsent(producer, to, outputs))


def flush(me: Application, line: Line, rules: ClientRules) -> Application:
    """Wait until no batch of the producer is in flight."""
    producer = _producer_of(me, line)
    assert not producer.is_transactional, "commitTransaction() does that for a transaction"
    return me.with_client(producing.flush(producer))


def _reader(me: Application) -> RegularConsumer | ShareConsumer:
    """Return the consumer that read the records of a thread; a further thread may have its own."""
    if not me.workers:
        return me.consumer
    read = me.records[-1].partition
    own = (c for c in me.others.values() if isinstance(c, Consumer) and c.partition == read)
    return next(own, me.consumer)


def send_offsets(me: Application, line: Line, rules: ClientRules) -> Application:
    """Add the positions after the batch to the transaction, one for each partition of its records."""
    consumer = _reader(me)
    offsets: tuple[GroupOffset, ...]
    if line.target == EVERY_PARTITION and joins_group(consumer):
        offsets = consumer.subscription.read_so_far
    elif isinstance(consumer, Consumer):
        last = {record.partition: record.offset for record in me.records}
        offsets = tuple(GroupOffset(partition, at + 1) for partition, at in last.items())
    else:
        offsets = (GroupOffset(consumer.partition, me.records[-1].offset + 1),)
    holder, now = holder_of(me, line), _member_of(consumer)
    passed = now if line.metadata else NOBODY
    if joins_group(consumer):
        passed = rules.producer_member(holder.manager.member_at_init, now, passed)
    static = consumer.instance_id if joins_group(consumer) else ""
    instance_id = static if passed != NOBODY else ""
    manager = managing.send_offsets(
        holder.manager, consumer.group_id, *passed, offsets, instance_id
    )
    return with_manager(me, holder, manager)


def _member_of(consumer: RegularConsumer | ShareConsumer) -> tuple[str, int]:
    """Return consumer.groupMetadata(): the member id, and the epoch that the consumer knows now.

    A classic consumer returns the values of its last assignment, whatever it has received since.
    """
    if isinstance(consumer, Consumer):
        return consumer.membership.group_metadata
    return consumer.member_id, consumer.member_epoch


def commit_transaction(me: Application, line: Line, rules: ClientRules) -> Application:
    """Commit the transaction."""
    return me.with_client(end_transaction(holder_of(me, line), committed=True))


def abort_transaction(me: Application, line: Line, rules: ClientRules) -> Application:
    """Abort the transaction, and read again from the committed offsets."""
    for each in me.clients:
        if isinstance(each, Consumer):
            me = me.with_client(regular.forget_positions(each))
    return me.with_client(end_transaction(holder_of(me, line), committed=False))


def prepare_transaction(me: Application, line: Line, rules: ClientRules) -> Application:
    """Prepare the transaction, so that a database can decide its outcome (KIP-939)."""
    holder = holder_of(me, line)
    if isinstance(holder, TransactionSession):
        return me.with_client(sessions.prepare(holder))
    acknowledgements_first = rules.prepare_waits(stagings.unanswered(holder.manager))
    return me.with_client(
        producing.prepare_transaction(holder, acknowledgements_first=acknowledgements_first)
    )


def complete_transaction(me: Application, line: Line, rules: ClientRules) -> Application:
    """End a prepared transaction as the database's stored state says (KIP-939)."""
    holder = holder_of(me, line)
    stored = holder.manager.prepared
    if line.target == STORED:
        stored = database_of(me).prepared_txn_state
    elif line.target == IN_DOUBT and not database_of(me).in_doubt:
        stored = PreparedTxnState()
    if isinstance(holder, TransactionSession):
        return me.with_client(sessions.complete(holder, stored))
    return me.with_client(producing.complete_transaction(holder, stored))
