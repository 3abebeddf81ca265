"""The results that threads wait for in the calls of a producer that they share.

WHO: a client process with several application threads. WHERE IN KAFKA: TransactionalRequestResult, a latch of each
  request; TransactionManager.handleCachedTransactionRequestResult, throwIfPendingState. A call that ends a
  transaction, or initialises, leaves its result in the producer until a thread has returned with it. Until then the
  same call of another thread waits for the same result, and any other call is illegal: Kafka reports that the first
  one timed out, even if it did not. A sendOffsetsToTransaction() has a result of its own and leaves nothing.
NOT MODELLED: a process with one thread needs none of it (`Producer.done`); a TransactionSession (draft), whose
  threads return together; the error of offsets that are rejected while another thread aborts: its thread gets no
  error; a send() behind one that waits for a topic or for room waits, too, and its max.block.ms does not begin.
"""

from __future__ import annotations

from typing import Literal

from kipviz.clients.application import Application, Call, Line
from kipviz.clients.calls import client_of
from kipviz.clients.sending import awaited_topics
from kipviz.clients.sending.producer import Producer, send_waits
from kipviz.clients.throwing.client_errors import CallUnfinished, Raised, WrongState
from kipviz.clients.transactions.producer_state import ProducerState, Result
from kipviz.clients.transactions.transaction_manager import TransactionManager
from kipviz.messages.groups.groups import TxnOffsetCommit

# The calls whose result the producer keeps when they time out: only the same call may follow.
REMEMBERED = (
    Call.INIT_TRANSACTIONS,
    Call.COMMIT_TRANSACTION,
    Call.ABORT_TRANSACTION,
    Call.COMPLETE_TRANSACTION,
)
# The call that also times out, but whose result is forgotten: its request continues.
FORGOTTEN = Call.SEND_OFFSETS
# A call that returns in one of these states throws; a rejected initTransactions() leads to UNINITIALIZED.
THROWING = (
    ProducerState.ABORTABLE_ERROR,
    ProducerState.FATAL_ERROR,
    ProducerState.UNINITIALIZED,
)

ENDING = (ProducerState.COMMITTING_TRANSACTION, ProducerState.ABORTING_TRANSACTION)


def times_out(client: object) -> bool:
    """Return whether the calls of a client time out here: those of a transactional producer."""
    return isinstance(client, Producer) and client.is_transactional


def note_entered(me: Application, line: Line) -> Application:
    """Note the result that a thread waits for in the blocking call that it has just made."""
    client = client_of(me, line)
    if not me.workers or not isinstance(client, Producer) or not times_out(client):
        return me
    result = Result(line.call.value, (me.thread,))
    return me.with_client(_keeping(client, (*client.manager.results, result)))


def of_thread(me: Application, client: object) -> Result | None:
    """Return the result that the current thread waits for at a client, or None."""
    results = client.manager.results if isinstance(client, Producer) else ()
    return next((r for r in results if me.thread in r.threads), None)


def pending(me: TransactionManager) -> Result | None:
    """Return the result that no thread has returned with yet, and that prevents other calls."""
    kept = (r for r in me.results if r.call in REMEMBERED and not r.acked)
    return next(kept, None)


def why_unfinished(me: TransactionManager, call: Call) -> CallUnfinished | Literal[""]:
    """Return the IllegalStateException of a call that follows one whose result is not collected, or ""."""
    result = pending(me)
    unfinished = me.timed_out if result is None else result.call
    return CallUnfinished(call.value, unfinished) if unfinished else ""


def why_not_sent(me: TransactionManager) -> Raised:
    """Return the exception of a send() that had to wait and whose transaction is over, or ""."""
    if me.state is ProducerState.IN_TRANSACTION:
        return ""
    return why_unfinished(me, Call.SEND) or WrongState(Call.SEND.value, me.state.value)


def why_it_waits(me: Application) -> str | None:
    """Return the sentence that a thread's send() waits behind another one's, or None."""
    line = me.program[me.line]
    if line.call is not Call.SEND or not me.workers or not send_waits(client_of(me, line)):
        return None
    return f"send() of {me.name} waits behind the send() of another thread"


def join_wait(me: Application, client: Producer, result: Result) -> Application:
    """Let one more thread wait for a result."""
    return _keep_change(me, client, result, result.but(threads=(*result.threads, me.thread)))


def leave_wait(
    me: Application, client: Producer, result: Result, *, timed_out: bool = False
) -> Application:
    """Let the current thread return from its call, with or without its result."""
    others = tuple(thread for thread in result.threads if thread != me.thread)
    return _keep_change(me, client, result, result.but(threads=others, acked=not timed_out))


def settle(me: Application) -> Application:
    """End the results whose responses the producers of a process have received."""
    for client in me.clients if me.workers else ():
        if isinstance(client, Producer) and client.manager.results:
            me = me.with_client(_keep_results(client))
    return me


def _keep_results(me: Producer) -> Producer:
    manager = me.manager
    waiting = sum(isinstance(m, TxnOffsetCommit) for m in (manager.on_wire, *manager.queue))
    asked = sum(r.call == FORGOTTEN and not r.ended for r in manager.results)
    threw = manager.error if manager.state in THROWING else ""
    results = []
    for result in manager.results:
        error = threw or (why_not_sent(manager) if result.call == Call.SEND else "")
        over = asked > waiting if result.call == FORGOTTEN else _is_over(me, result)
        asked -= result.call == FORGOTTEN and not result.ended
        ends = over and not result.ended
        results.append(result.but(ended=True, error=error) if ends else result)
    return _keeping(me, tuple(results))


def _is_over(me: Producer, result: Result) -> bool:
    """Return whether a call has ended; `done` alone may belong to a send() beside it."""
    if result.call == Call.SEND:
        held = me.metadata.held
        known = bool(held) and not awaited_topics.is_unknown(me.metadata, held[0][0])
        return known or not send_waits(me)
    if result.call == Call.PREPARE_TRANSACTION:
        return not me.manager.preparing
    return me.manager.done and me.manager.state not in ENDING


def _needed_results(results: tuple[Result, ...]) -> tuple[Result, ...]:
    """Return the results that a thread waits for, or that belong to a request in progress."""
    return tuple(
        r
        for r in results
        if r.threads
        or (not r.acked if r.call in REMEMBERED else r.call == FORGOTTEN and not r.ended)
    )


def _keep_change(me: Application, client: Producer, before: Result, after: Result) -> Application:
    changed = tuple(after if r is before else r for r in client.manager.results)
    return me.with_client(_keeping(client, changed))


def _keeping(me: Producer, results: tuple[Result, ...]) -> Producer:
    return me.but(manager=me.manager.but(results=_needed_results(results)))
