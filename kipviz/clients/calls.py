"""The calls of an application thread: what each one does to which client, and when it is legal.

One row a call. A new call is a name in `Call`, a function here and a row in `CALLS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kipviz.clients import workers
from kipviz.clients.application import Application, Call, Line
from kipviz.clients.groups import classic_consumer as classic
from kipviz.clients.groups import consumer as regular
from kipviz.clients.groups import group_consumer as member
from kipviz.clients.groups import group_reading
from kipviz.clients.groups.classic_consumer import ClassicConsumer
from kipviz.clients.groups.consumer import Consumer
from kipviz.clients.groups.group_consumer import GroupConsumer
from kipviz.clients.groups.subscribing import subscription_of
from kipviz.clients.kinds import Client, Holder, MemberConsumer, end_transaction
from kipviz.clients.operators import admin as administering
from kipviz.clients.operators.acl_calls import OF_ACLS, READ_OF_ACLS
from kipviz.clients.operators.admin import Admin
from kipviz.clients.operators.group_calls import OF_ANY_GROUP, READ_BY_OPERATORS
from kipviz.clients.rules import ClientRules
from kipviz.clients.sending import appending, awaited_topics
from kipviz.clients.sending import producer as producing
from kipviz.clients.sending.producer import Producer
from kipviz.clients.sessions import session_calls, session_votes
from kipviz.clients.sessions import transaction_session as sessions
from kipviz.clients.sessions.transaction_session import TransactionSession
from kipviz.clients.shares import draining, share_holding
from kipviz.clients.shares import share_consumer as sharing
from kipviz.clients.shares.share_memory import NO_SNAPSHOT, ShareConsumer
from kipviz.clients.transactions import external_database as databases
from kipviz.clients.transactions import stagings
from kipviz.clients.transactions import transaction_manager as managing
from kipviz.clients.transactions.external_database import IN_DOUBT, STORED, ExternalDatabase
from kipviz.clients.transactions.prepared_txn_state import PreparedTxnState
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.clients.transactions.transaction_manager import TransactionManager
from kipviz.core.values import Value
from kipviz.messages.groups import GroupOffset
from kipviz.messages.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
    PartitionAcknowledgements,
    TxnShareAcknowledge,
    batches_of,
    batches_of_each,
)
from kipviz.records.batches import DataRecord

C = Call
# What a producer says of the member when it was told the group's id only.
NOBODY = ("", -1)
# A sendOffsetsToTransaction() of all that was read, as Kafka Streams makes it, not of the last batch.
EVERY_PARTITION = "every partition"
S = ProducerState
INVALID_TXN_STATE = "InvalidTxnStateException"
# What is said of the records of a partition.
Said: TypeAlias = tuple[str, tuple[tuple[int, AcknowledgeType], ...]]
Enter: TypeAlias = Callable[[Application, Line, ClientRules], Application]


class Calling(Value, frozen=True):
    """What there is to know about a call.

    `of` is the kind of client that it is a method of. `blocking` says that the thread waits until the client
    is `done`; it comes back `at_once` if there is nothing to wait for. `legal` are the states of the producer
    in which the call may be made; in an error state it throws that error, in another one the exception
    `illegal`; a call with an exception of its own throws that in every state but the legal ones. `enter`
    gives the application after the call was entered.
    """

    of: str
    enter: Enter
    blocking: bool = False
    legal: tuple[ProducerState, ...] = ()
    illegal: str = "IllegalStateException"
    at_once: bool = False

    @property
    def always_illegal(self) -> bool:
        """Whether its own exception goes before the producer's error."""
        return self.illegal == INVALID_TXN_STATE


def client_of(me: Application, line: Line) -> Client:
    """Give the client whose method a line calls."""
    if line.client == session_calls.GIVEN:
        return session_calls.given(me) or me.producer
    if line.client:
        return me.others[line.client]
    of = CALLS[line.call].of
    if of == ADMIN:
        return me.others[administering.NAME]
    if of == databases.NAME:
        return _database(me)
    return me.consumer if of == CONSUMER else me.producer


# -- of the producer ----------------------------------------------------------------------------


def _holder(me: Application, line: Line) -> Holder:
    client = client_of(me, line)
    assert isinstance(client, Holder), f"{line.call.value}() is a call of a producer or a session"
    return client


def _producer(me: Application, line: Line) -> Producer:
    client = client_of(me, line)
    assert isinstance(client, Producer), f"{line.call.value}() is a call of a producer"
    return client


def _managed(me: Application, holder: Holder, manager: TransactionManager) -> Application:
    """Give the process in which a producer or a session has another transaction manager."""
    return me.with_client(holder.but(manager=manager))


def _init_transactions(me: Application, line: Line, rules: ClientRules) -> Application:
    holder = _holder(me, line)
    manager = holder.manager
    if manager.group_id:
        # KIP-447, first draft: an identity is for a generation, and there is none yet (our inference).
        return _managed(me, holder, manager.but(done=True, error=""))
    keep = line.target == KEEP_PREPARED_TXN
    told = manager.heartbeat_interval_ms
    if isinstance(holder, TransactionSession):
        told = rules.session_timeout(holder.session_timeout_ms, told)
    manager = managing.init_transactions(manager, keep_prepared_txn=keep, told_ms=told)
    if isinstance(me.consumer, MemberConsumer):
        manager = manager.but(member_at_init=_member_of(me.consumer))
    if isinstance(me.consumer, ClassicConsumer) and me.consumer.rejoin and rules.init_joins():
        me = me.but(consumer=classic.poll(me.consumer).but(listening=True))
    return _managed(me, holder, manager)


def _begin_transaction(me: Application, line: Line, rules: ClientRules) -> Application:
    holder = _holder(me, line)
    return _managed(me, holder, managing.begin_transaction(holder.manager))


def _send(me: Application, line: Line, rules: ClientRules) -> Application:
    to, outputs = _outputs(me, line)
    producer = _producer(me, line)
    return me.with_client(producing.send(producer, to, outputs))


def _outputs(me: Application, line: Line) -> tuple[str, tuple[DataRecord, ...]]:
    """Give the outputs of the batch and where they go, or what a line says of it: "offsets-0 position"."""
    to, _, note = (line.target or me.output).partition(" ")
    outputs = tuple(DataRecord(f"f({r.value})", f"{r.partition}@{r.offset}") for r in me.records)
    if note:
        last = me.records[-1]
        outputs = (DataRecord(f"{note} of {last.partition}: {last.offset + 1}"),)
    return to, outputs


def left_behind(me: Application, line: Line) -> Application:
    """Give what the send() of one thread of several leaves that threw: the records were appended before."""
    producer = client_of(me, line)
    if line.call is not Call.SEND or not me.workers or not isinstance(producer, Producer):
        return me
    to, outputs = _outputs(me, line)
    if producer.manager.session or awaited_topics.is_unknown(producer.metadata, to):
        return me
    if appending.goes_along(producer, to):
        return me.with_client(producing.send(producer, to, outputs))
    return me.with_client(appending.left_behind(producer, to, outputs))


def _flush(me: Application, line: Line, rules: ClientRules) -> Application:
    producer = _producer(me, line)
    assert not producer.is_transactional, "commitTransaction() does that for a transaction"
    return me.with_client(producing.flush(producer))


def _reader(me: Application) -> Consumer | MemberConsumer | ShareConsumer:
    """Give the consumer that read what a thread has in hand: a further thread may have its own."""
    if not me.workers:
        return me.consumer
    read = me.records[-1].partition
    own = (c for c in me.others.values() if isinstance(c, Consumer) and c.partition == read)
    return next(own, me.consumer)


def _send_offsets(me: Application, line: Line, rules: ClientRules) -> Application:
    consumer = _reader(me)
    offsets: tuple[GroupOffset, ...]
    if line.target == EVERY_PARTITION and isinstance(consumer, MemberConsumer):
        offsets = group_reading.read_so_far(consumer)
    else:
        offsets = (GroupOffset(consumer.partition, me.records[-1].offset + 1),)
    holder, now = _holder(me, line), _member_of(consumer)
    passed = now if line.metadata else NOBODY
    if isinstance(consumer, MemberConsumer):
        passed = rules.producer_member(holder.manager.member_at_init, now, passed)
    static = consumer.instance_id if isinstance(consumer, MemberConsumer) else ""
    instance_id = static if passed != NOBODY else ""
    manager = managing.send_offsets(
        holder.manager, consumer.group_id, *passed, offsets, instance_id
    )
    return _managed(me, holder, manager)


def _member_of(consumer: Consumer | MemberConsumer | ShareConsumer) -> tuple[str, int]:
    """Give consumer.groupMetadata(): the member, and its epoch as the consumer knows it now.

    A classic consumer gives what it had with its last assignment, whatever it has heard since.
    """
    if isinstance(consumer, ClassicConsumer):
        return consumer.metadata
    return consumer.member_id, consumer.member_epoch


def _stage(me: Application, line: Line, rules: ClientRules) -> Application:
    consumer = draining.consumer_of(me, draining.drained_by(line))
    holder = _holder(me, line)
    if line.target.partition(" ")[0] == draining.DRAINED:
        manager, consumer = draining.stage(holder.manager, consumer, rules)
        return _managed(me, holder, manager).with_client(consumer)
    each_said = _verdicts_of_each(me, line, consumer)
    if not each_said:  # as with offsets: nothing said is nothing sent
        return me
    (partition, verdicts), *others = each_said
    manager = managing.send_share_acknowledgements(
        holder.manager,
        consumer.group_id,
        *_metadata(consumer),
        partition,
        batches_of_each(verdicts),
        tuple(PartitionAcknowledgements(p, batches_of_each(said)) for p, said in others),
        starts=rules.staging_starts(),
        deliveries=rules.staged_deliveries(draining.deliveries(me.records, partition, verdicts)),
    )
    beside = consumer.beside
    for each, said in ((partition, verdicts), *others) if consumer.gathers else ():
        beside = share_holding.staging(beside, each, tuple(offset for offset, _ in said))
    if consumer.gathers:
        return _managed(me, holder, manager).but(consumer=consumer.but(beside=beside))
    staged = tuple(sorted({*consumer.staged, *(offset for offset, _ in verdicts)}))
    return _managed(me, holder, manager).but(consumer=consumer.but(staged=staged))


def _metadata(consumer: ShareConsumer) -> tuple[str, int]:
    """Give the snapshot that the application took, or one of now: shareGroupMetadata() as an argument."""
    if consumer.snapshot != NO_SNAPSHOT:
        return consumer.snapshot
    return consumer.member_id, consumer.member_epoch


def _share_group_metadata(me: Application, line: Line, rules: ClientRules) -> Application:
    consumer = client_of(me, line)
    assert isinstance(consumer, ShareConsumer), "only a share consumer has such metadata"
    return me.with_client(sharing.share_group_metadata(consumer))


def _verdicts_of_each(me: Application, line: Line, consumer: ShareConsumer) -> tuple[Said, ...]:
    """Give what a line says of the records of each partition that the consumer holds some of."""
    if not consumer.gathers:
        verdicts = _verdicts(me, line)
        return ((consumer.partition, verdicts),) if verdicts else ()
    own = (
        (
            held.partition,
            me.but(records=tuple(r for r in me.records if r.partition == held.partition)),
        )
        for held in consumer.beside
    )
    said = tuple((partition, _verdicts(mine, line)) for partition, mine in own)
    return tuple(each for each in said if each[1])


def _add_share_acks(me: Application, line: Line, rules: ClientRules) -> Application:
    consumer = me.consumer
    assert isinstance(consumer, ShareConsumer), "only a share consumer has such acknowledgements"
    verdicts = _verdicts(me, line)
    if not verdicts:
        return me
    member = (consumer.member_id, consumer.member_epoch)
    acks = batches_of_each(verdicts)
    session = sessions.add_share_acks(
        session_calls.session_of(me), consumer.group_id, member, consumer.partition, acks
    )
    staged = tuple(sorted({*consumer.staged, *(offset for offset, _ in verdicts)}))
    return me.with_client(session).but(consumer=consumer.but(staged=staged))


def _commit_transaction(me: Application, line: Line, rules: ClientRules) -> Application:
    return me.with_client(end_transaction(_holder(me, line), committed=True))


def _abort_transaction(me: Application, line: Line, rules: ClientRules) -> Application:
    for each in me.clients:
        if isinstance(each, Consumer):
            me = me.with_client(regular.forget_position(each))
    if isinstance(me.consumer, GroupConsumer):
        me = me.but(consumer=member.forget_positions(me.consumer))
    if isinstance(me.consumer, ClassicConsumer):
        me = me.but(consumer=classic.forget_positions(me.consumer))
    return me.with_client(end_transaction(_holder(me, line), committed=False))


def _prepare_transaction(me: Application, line: Line, rules: ClientRules) -> Application:
    holder = _holder(me, line)
    if isinstance(holder, TransactionSession):
        return me.with_client(sessions.prepare(holder))
    votes_first = rules.prepare_waits(stagings.unanswered(holder.manager))
    return me.with_client(producing.prepare_transaction(holder, votes_first=votes_first))


def _complete_transaction(me: Application, line: Line, rules: ClientRules) -> Application:
    holder = _holder(me, line)
    stored = holder.manager.prepared
    if line.target == STORED:
        stored = _database(me).prepared_txn_state
    elif line.target == IN_DOUBT and not _database(me).in_doubt:
        stored = PreparedTxnState()
    if isinstance(holder, TransactionSession):
        return me.with_client(sessions.complete(holder, stored))
    return me.with_client(producing.complete_transaction(holder, stored))


# -- of the database ----------------------------------------------------------------------------


def _database(me: Application) -> ExternalDatabase:
    client = me.others[databases.NAME]
    assert isinstance(client, ExternalDatabase)
    return client


def _insert(me: Application, line: Line, rules: ClientRules) -> Application:
    rows = tuple(f"{r.partition}@{r.offset}" for r in me.records)
    if line.target == CHECKPOINT:
        rows = ()
    state = me.manager.prepared if line.target in (WITH_STATE, CHECKPOINT) else None
    if line.target == WITH_IDENTITY:
        state = PreparedTxnState(*me.manager.identity)
    return me.with_client(databases.insert(_database(me), rows, state))


def _vote(me: Application, line: Line, rules: ClientRules) -> Application:
    me = _insert(me, line, rules)
    return me.with_client(databases.prepare(_database(me)))


def _database_commit(me: Application, line: Line, rules: ClientRules) -> Application:
    return me.with_client(databases.commit(_database(me)))


def _database_claim(me: Application, line: Line, rules: ClientRules) -> Application:
    identity = PreparedTxnState(*me.producer.manager.identity)
    return me.with_client(databases.claim(_database(me), identity))


def _database_rollback(me: Application, line: Line, rules: ClientRules) -> Application:
    return me.with_client(databases.rollback(_database(me)))


# -- of the consumer ----------------------------------------------------------------------------


def _poll(me: Application, line: Line, rules: ClientRules) -> Application:
    consumer = client_of(me, line)
    if isinstance(consumer, ShareConsumer):
        stages = any(each.call in STAGING for each in me.program)
        next_poll = rules.next_poll if stages else _accept_all
        return me.with_client(sharing.poll(consumer, next_poll)).but(records=())
    if isinstance(consumer, GroupConsumer):
        return me.with_client(member.poll(consumer)).but(records=())
    if isinstance(consumer, ClassicConsumer):
        return me.with_client(classic.poll(consumer)).but(records=())
    assert isinstance(consumer, Consumer), "poll() is a call of a consumer"
    return me.with_client(regular.poll(consumer)).but(records=())


def _seek(me: Application, line: Line, rules: ClientRules) -> Application:
    consumer = client_of(me, line)
    assert isinstance(consumer, Consumer), "seek() is a call of a consumer"
    position = databases.position(_database(me), consumer.partition)
    return me.with_client(consumer.but(position=position)).but(records=())


def _acknowledge(me: Application, line: Line, rules: ClientRules) -> Application:
    consumer = client_of(me, line)
    assert isinstance(consumer, ShareConsumer), "only a share consumer acknowledges"
    return me.with_client(sharing.acknowledge(consumer, _verdicts(me, line)))


def _commit_sync(me: Application, line: Line, rules: ClientRules) -> Application:
    consumer = client_of(me, line)
    if isinstance(consumer, GroupConsumer):
        return me.with_client(member.commit_sync(consumer))
    if isinstance(consumer, ClassicConsumer):
        return me.with_client(classic.commit_sync(consumer))
    assert isinstance(consumer, ShareConsumer), "only a share consumer acknowledges"
    return me.with_client(sharing.commit_sync(consumer))


def _commit_async(me: Application, line: Line, rules: ClientRules) -> Application:
    consumer = client_of(me, line)
    assert isinstance(consumer, ShareConsumer), "only a share consumer acknowledges"
    return me.with_client(sharing.commit_async(consumer))


def _close_consumer(me: Application, line: Line, rules: ClientRules) -> Application:
    consumer = client_of(me, line)
    assert isinstance(consumer, ShareConsumer), "it closes a share consumer"
    return me.with_client(sharing.close(consumer)).but(records=())


def _acknowledge_transactionally(me: Application, line: Line, rules: ClientRules) -> Application:
    """Send the votes over the consumer's own connection, in the session's name (KIP-1310 2.4)."""
    consumer, session = me.consumer, session_calls.session_of(me)
    assert isinstance(consumer, ShareConsumer), "only a share consumer acknowledges"
    verdicts = _verdicts(me, line)
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
        consumer.partition,
        batches_of_each(verdicts),
    )
    offsets = tuple(offset for offset, _ in verdicts)
    voted = session_votes.acknowledge_transactionally(consumer, request, offsets)
    # The session has to know that there is something to end.
    return _managed(me, session, manager.but(transaction_started=True)).but(consumer=voted)


def _unsubscribe(me: Application, line: Line, rules: ClientRules) -> Application:
    consumer = client_of(me, line)
    if isinstance(consumer, ClassicConsumer):
        return me.with_client(classic.unsubscribe(consumer)).but(records=())
    assert isinstance(consumer, GroupConsumer), "only a member that joined leaves"
    return me.with_client(member.unsubscribe(consumer)).but(records=())


def _subscribe(me: Application, line: Line, rules: ClientRules) -> Application:
    consumer, (topics, regex) = client_of(me, line), subscription_of(line.target)
    if isinstance(consumer, ClassicConsumer):
        return me.with_client(classic.subscribe(consumer, topics))
    assert isinstance(consumer, GroupConsumer), "only a member that joins subscribes"
    return me.with_client(member.subscribe(consumer, topics, regex))


def _accept_all(
    batch: tuple[int, ...], staged: tuple[int, ...]
) -> tuple[AcknowledgementBatch, ...]:
    """Say what a plain share consumer says in implicit mode: it has processed them all."""
    return batches_of(batch, AcknowledgeType.ACCEPT)


def _verdicts(me: Application, line: Line) -> tuple[tuple[int, AcknowledgeType], ...]:
    """Give what a line says of each record of the batch that it mentions."""
    said = dict(line.verdicts)
    if line.target and line.call is C.ACKNOWLEDGE:
        return ((int(line.target), line.verdicts[0][1]),)
    found = ((r.offset, said.get(r.offset, said.get(-1))) for r in me.records)
    return tuple((offset, kind) for offset, kind in found if kind is not None)


# -- of the admin client ------------------------------------------------------------------------


def _admin(me: Application, line: Line) -> Admin:
    client = client_of(me, line)
    assert isinstance(client, Admin), f"{line.call.value}() is a call of an admin client"
    return client


def _asking(ask: Callable[[Admin, str], Admin]) -> Enter:
    """Give the entry of a call that is about one thing: the line's target."""

    def enter(me: Application, line: Line, rules: ClientRules) -> Application:
        return me.with_client(ask(_admin(me, line), line.target))

    return enter


def _list_transactions(me: Application, line: Line, rules: ClientRules) -> Application:
    filters = administering.filters_of(line.target)
    return me.with_client(administering.list_transactions(_admin(me, line), filters))


PRODUCER, CONSUMER, ADMIN = "producer", "consumer", "admin"
# The calls that stage a share group's acknowledgements in a transaction, and those of a session.
STAGING = (C.SEND_SHARE_ACKNOWLEDGEMENTS, C.ADD_SHARE_ACKS, C.ACKNOWLEDGE_TRANSACTIONALLY)
OF_SESSIONS = (
    C.NEW_SESSION,
    C.NEW_PRODUCER,
    C.TRANSACTION_SESSION,
    C.INITIALIZE,
    C.RESUME,
    C.ADD_PARTITIONS,
    C.ADD_SHARE_ACKS,
    C.ACKNOWLEDGE_TRANSACTIONALLY,
    C.HEARTBEAT,
    C.CLOSE,
)
# Those that make a session: no other one has to be in any state for them.
CONSTRUCTORS = (C.NEW_SESSION, C.NEW_PRODUCER, C.RESUME)
IN_TRANSACTION = (S.IN_TRANSACTION,)
OPEN = (S.IN_TRANSACTION, S.PREPARED_TRANSACTION)
# What a line's target says of database.insert(): the state of Kafka's transaction goes with the rows.
WITH_STATE = "with state"
# The same without rows: a checkpoint, which holds the state and nothing that is read from it.
CHECKPOINT = "checkpoint"
# The same of a vote before Kafka's: the identity in which the session is, which resume() will want.
WITH_IDENTITY = "with identity"
# What a line's target says of initTransactions(true).
KEEP_PREPARED_TXN = "keepPreparedTxn"

# How the target of a call is read, where it is more than a name.
TARGETS: dict[Call, Callable[[str], object]] = {
    **READ_BY_OPERATORS,
    **READ_OF_ACLS,
    C.FIND_HANGING: administering.hanging_of,
    C.SUBSCRIBE: subscription_of,
    C.RESUME: session_calls.resume_target,
    C.RESUME_TRANSACTION: session_calls.resume_target,
}

CALLS: dict[Call, Calling] = {
    C.INIT_TRANSACTIONS: Calling(PRODUCER, _init_transactions, True, (S.UNINITIALIZED,)),
    C.BEGIN_TRANSACTION: Calling(PRODUCER, _begin_transaction, False, (S.READY,)),
    C.SEND: Calling(PRODUCER, _send, False, IN_TRANSACTION),
    C.SEND_OFFSETS: Calling(PRODUCER, _send_offsets, True, IN_TRANSACTION),
    C.SEND_SHARE_ACKNOWLEDGEMENTS: Calling(PRODUCER, _stage, False, IN_TRANSACTION),
    C.COMMIT_TRANSACTION: Calling(PRODUCER, _commit_transaction, True, OPEN),
    C.ABORT_TRANSACTION: Calling(PRODUCER, _abort_transaction, True, (*OPEN, S.ABORTABLE_ERROR)),
    C.PREPARE_TRANSACTION: Calling(PRODUCER, _prepare_transaction, True, IN_TRANSACTION),
    C.COMPLETE_TRANSACTION: Calling(
        PRODUCER, _complete_transaction, True, (S.PREPARED_TRANSACTION,), INVALID_TXN_STATE
    ),
    C.POLL: Calling(CONSUMER, _poll, True),
    C.ACKNOWLEDGE: Calling(CONSUMER, _acknowledge),
    C.COMMIT_SYNC: Calling(CONSUMER, _commit_sync, True),
    C.COMMIT_ASYNC: Calling(CONSUMER, _commit_async),
    C.CLOSE_CONSUMER: Calling(CONSUMER, _close_consumer, True),
    C.INITIALIZE: Calling(PRODUCER, _init_transactions, True, (S.UNINITIALIZED,)),
    # Constructors: it does not matter what the session before it was doing.
    C.NEW_SESSION: Calling(PRODUCER, session_calls.new_session, False, tuple(S)),
    C.NEW_PRODUCER: Calling(PRODUCER, session_calls.new_producer, False, tuple(S)),
    C.TRANSACTION_SESSION: Calling(PRODUCER, session_calls.transaction_session, False, tuple(S)),
    C.RESUME: Calling(PRODUCER, session_calls.resume, False, tuple(S)),
    C.RESUME_TRANSACTION: Calling(PRODUCER, session_calls.resume, False, (S.UNINITIALIZED,)),
    C.ADD_PARTITIONS: Calling(PRODUCER, session_calls.add_partitions, False, IN_TRANSACTION),
    C.ADD_SHARE_ACKS: Calling(PRODUCER, _add_share_acks, False, IN_TRANSACTION),
    C.ACKNOWLEDGE_TRANSACTIONALLY: Calling(CONSUMER, _acknowledge_transactionally),
    C.HEARTBEAT: Calling(PRODUCER, session_calls.heartbeat, False, OPEN),
    C.CLOSE: Calling(PRODUCER, session_calls.close, True, tuple(S), at_once=True),
    C.LIST_TRANSACTIONS: Calling(ADMIN, _list_transactions, True),
    C.DESCRIBE_TRANSACTIONS: Calling(ADMIN, _asking(administering.describe_transactions), True),
    C.DESCRIBE_PRODUCERS: Calling(ADMIN, _asking(administering.describe_producers), True),
    C.FIND_HANGING: Calling(ADMIN, _asking(administering.find_hanging), True),
    C.ABORT_BY_HAND: Calling(ADMIN, _asking(administering.abort_transaction), True),
    C.FENCE_PRODUCERS: Calling(ADMIN, _asking(administering.fence_producers), True),
    # KIP-939: the same for one name, to end what has no time limit.
    C.FORCE_TERMINATE: Calling(ADMIN, _asking(administering.fence_producers), True),
    C.DESCRIBE_SHARE_GROUPS: Calling(ADMIN, _asking(administering.describe_share_group), True),
    C.LIST_SHARE_GROUP_OFFSETS: Calling(
        ADMIN, _asking(administering.list_share_group_offsets), True
    ),
    C.ALTER_SHARE_GROUP_OFFSETS: Calling(
        ADMIN, _asking(administering.alter_share_group_offsets), True
    ),
    C.DELETE_SHARE_GROUP_OFFSETS: Calling(
        ADMIN, _asking(administering.delete_share_group_offsets), True
    ),
    C.DELETE_SHARE_GROUPS: Calling(ADMIN, _asking(administering.delete_share_group), True),
    C.DRAIN: Calling(CONSUMER, draining.drain),
    C.SHARE_GROUP_METADATA: Calling(CONSUMER, _share_group_metadata),
    **{call: Calling(ADMIN, _asking(ask), True) for call, ask in (OF_ANY_GROUP | OF_ACLS).items()},
    C.UNSUBSCRIBE: Calling(CONSUMER, _unsubscribe, True),
    C.SUBSCRIBE: Calling(CONSUMER, _subscribe),
    C.FLUSH: Calling(PRODUCER, _flush, True, tuple(S)),
    C.SEEK: Calling(CONSUMER, _seek),
    # Of the language, not of a client: they are listed with those that need no producer's state.
    C.SUBMIT: Calling(CONSUMER, workers.submit),
    C.GET: Calling(CONSUMER, workers.get),
    C.DATABASE_INSERT: Calling(databases.NAME, _insert),
    C.DATABASE_VOTE: Calling(databases.NAME, _vote),
    C.DATABASE_COMMIT: Calling(databases.NAME, _database_commit),
    C.DATABASE_CLAIM: Calling(databases.NAME, _database_claim),
    C.DATABASE_ROLLBACK: Calling(databases.NAME, _database_rollback),
}
