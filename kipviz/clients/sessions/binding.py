"""How a TransactionSession and the clients that are bound to it inform each other.

WHO: a client process. STATUS: draft (KIP-1310); `ClientRules` decides what the KIP leaves open. WHERE IN KAFKA: today
one object has both parts and one lock (TransactionManager, Sender), so these questions do not arise.

A session and its clients are objects of one process, so they need no messages to each other. After every step of a
process `settle_session` passes on their changes: a producer reports to its session what was sent and what failed, and adopts
the session's next identity as far as the rules allow. It reads everything else in the session's transaction manager,
the only one of the process (`kipviz.clients.sessions.bound_producer`).
"""

from __future__ import annotations

from kipviz.clients.application import Application, Call, Line
from kipviz.clients.calls import CONSTRUCTORS, client_of
from kipviz.clients.rules import ClientRules
from kipviz.clients.sending.producer import Producer
from kipviz.clients.sessions.bound_producer import IN_ERROR, BoundProducer, Reported
from kipviz.clients.sessions.transaction_session import TransactionSession
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.throwing.client_errors import (
    CallOfTheSession,
    Raised,
    SecondProducer,
    SessionClosed,
    SessionOnlyEnds,
)
from kipviz.clients.transactions import stagings
from kipviz.clients.transactions import transaction_manager as managing
from kipviz.clients.transactions.partitions_to_add import adding
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.clients.transactions.transaction_manager import Failure, TransactionManager
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_groups import TxnShareAcknowledge, staging_result
from kipviz.messages.transactions.transactions import EndTxn

S = ProducerState


def bound_producers(me: Application) -> tuple[BoundProducer, ...]:
    """Return the producers that are bound to the session of a process, in the order of its clients."""
    kept = (me.own_producer, *me.others.values())
    return tuple(each for each in kept if isinstance(each, BoundProducer))


def why_not_now(me: Application, line: Line, rules: ClientRules) -> Raised:
    """Return the IllegalStateException of a call on a session or on a bound client, or "".

    Clause: KIP-1310 2.3 "Lifecycle methods throw IllegalStateException". The KIP leaves a bound producer nothing but
    send().
    """
    session, client = me.session, client_of(me, line)
    if session is None:
        return ""
    if line.call in CONSTRUCTORS:
        return ""
    if session.closed and (client is session or line.call is Call.ACKNOWLEDGE_TRANSACTIONALLY):
        return SessionClosed(line.call.value)
    if not isinstance(client, Producer) or not client.manager.session:
        return ""
    if line.call is Call.TRANSACTION_SESSION:
        return ""
    if line.call is not Call.SEND:
        return CallOfTheSession(line.call.value)
    before = [p.source for p in bound_producers(me)].index(client.source)
    if not rules.session_producers(before):
        return SecondProducer()
    if session.resumed and not rules.resumed_send():
        return SessionOnlyEnds()
    return ""


def legal_besides(client: object, line: Line, rules: ClientRules) -> tuple[ProducerState, ...]:
    """Return the additional states in which a call is legal on a resumed session.

    Clause: KIP-1310 7.1 lets it start IN_TRANSACTION, KIP-939 lets PREPARED_TRANSACTION be completed.
    """
    resumed = isinstance(client, TransactionSession) and client.resumed
    completes = line.call is Call.COMPLETE_TRANSACTION and rules.resumed_complete()
    return (S.IN_TRANSACTION,) if resumed and completes else ()


def settle_session(me: Application, rules: ClientRules) -> Application:
    """Pass on the changes of one step between a session and the clients that are bound to it."""
    session = me.session
    if session is None:
        return me
    manager, me = _acknowledgements(session.manager, me, rules)
    producers = bound_producers(me)
    for each in producers:
        manager = _hear(manager, each, rules)
    if manager.state is S.IN_TRANSACTION and not manager.implicit:
        wanted = dict.fromkeys(p for each in producers for p in each.reported.to_add)
        manager = adding(manager, rules.session_enlist(tuple(wanted)))
    counted = rules.session_sequences(tuple(p.partition_map.sequences for p in producers))
    for each, count in zip(producers, counted, strict=True):
        numbered = each.partition_map.but(sequences=count, shared=len(producers) > 1)
        me = me.with_client(_notify(each.but(partition_map=numbered), manager, rules))
    held_back_by = rules.session_commit(_busy_clients(me))
    if not held_back_by:
        manager = managing.prepared_when_flushed(manager, incomplete=False)
    return me.with_client(session.but(manager=manager, held_back_by=held_back_by))


def _acknowledgements(
    manager: TransactionManager, me: Application, rules: ClientRules
) -> tuple[TransactionManager, Application]:
    """Report the error of acknowledgements that the consumer sent for the session to that session."""
    consumer = me.consumer
    if not isinstance(consumer, ShareConsumer) or consumer.transactional.error is Errors.NONE:
        return manager, me
    error = consumer.transactional.error
    answer = staging_result(consumer.partition, error)
    told = consumer.transactional.but(error=Errors.NONE)
    me = me.but(consumer=consumer.but(transactional=told))
    # A session that did not wait for the acknowledgement may have no transaction left that could fail.
    if not rules.session_failure() or manager.state in (S.READY, S.PREPARED_TRANSACTION):
        return manager, me
    return _fail_manager(manager, managing.enter_error(manager, Failure(answer, error))), me


def _hear(
    manager: TransactionManager, producer: BoundProducer, rules: ClientRules
) -> TransactionManager:
    """Let a session hear what a bound producer reports: what it has sent, and what has failed if both fail together."""
    failed, reported = producer.failed, producer.reported
    if rules.session_failure():
        if failed is not None:
            manager = _fail_manager(manager, manager.but(state=failed.state, error=failed.error))
        # Below transaction version 2 a failed batch leaves a gap: the next epoch closes it.
        gap = reported.bump and (failed is not None or manager.state in IN_ERROR)
        manager = manager.but(bump=manager.bump or gap)
    begins = manager.state is S.IN_TRANSACTION and reported.started
    return manager.but(transaction_started=manager.transaction_started or begins)


def _fail_manager(manager: TransactionManager, failed: TransactionManager) -> TransactionManager:
    """Return a session's manager in its error state, unless it has an error, aborts, or has sent its EndTxn."""
    over = manager.state in IN_ERROR or manager.state is S.ABORTING_TRANSACTION
    if over or isinstance(manager.on_wire, EndTxn):
        return manager
    return stagings.dropping(failed, *failed.queue).but(queue=(), done=True, preparing=False)


def _notify(me: BoundProducer, manager: TransactionManager, rules: ClientRules) -> BoundProducer:
    """Notify a bound producer of its session's identity and state: what it reported is heard."""
    me = me.but(reported=Reported())
    if me.identity != manager.identity:
        me = _next_identity(me, manager, rules)
    alone = me.failed is not None and not rules.session_failure()
    if alone and manager.state not in (*IN_ERROR, S.READY):
        return me
    if manager.state is S.ABORTING_TRANSACTION and rules.session_commit((me.source,)):
        me = me.with_batches(tuple(b for b in me.accumulator.batches if b.sent))
    return me.but(failed=None)


def _next_identity(
    me: BoundProducer, manager: TransactionManager, rules: ClientRules
) -> BoundProducer:
    """Let a producer adopt the next identity of its session, as far as the rules allow.

    A batch gets its sequence when it is drained, so a waiting batch restarts with the others
    (RecordAccumulator.drainBatchesForOneNode).
    """
    first = me.identity[0] < 0
    refused = me.failed is not None or manager.state in IN_ERROR
    takes, anew = (True, True) if first else rules.session_identity(refused)
    if not takes:
        return me
    me = me.but(identity=manager.identity)
    if not anew:
        return me
    waiting = (b.but(base_sequence=-1) if b.broker < 0 else b for b in me.accumulator.batches)
    return me.with_batches(tuple(waiting)).but(partition_map=me.partition_map.begun_anew)


def _busy_clients(me: Application) -> tuple[str, ...]:
    """Return the clients with unfinished work of the session's transaction."""
    waiting = tuple(p.source for p in bound_producers(me) if p.accumulator.batches)
    consumer = me.consumer
    if isinstance(consumer, ShareConsumer) and (
        consumer.transactional.queue or isinstance(consumer.on_wire, TxnShareAcknowledge)
    ):
        return (*waiting, consumer.source)
    return waiting
