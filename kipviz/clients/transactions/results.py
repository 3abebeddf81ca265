"""What each thread waits for in a call of a producer that several threads share.

WHO: a client process with several application threads. WHERE IN KAFKA: TransactionalRequestResult, a latch of each
  request; TransactionManager.handleCachedTransactionRequestResult, throwIfPendingState.
A call that ends a transaction, or begins to work, leaves its result in the producer until a thread has come back with
it. Until then the same call of another thread waits for the same result, and any other call is illegal: Kafka says that
the first one timed out, whether it did or not. A sendOffsetsToTransaction() has a result of its own and leaves nothing.
NOT MODELLED: a process with one thread needs none of it (`Producer.done`); a TransactionSession (draft), whose threads
  come back together; the error of offsets that are refused while another thread aborts: its thread hears of no error; a
  send() that finds another one waiting for a topic or for room stands behind it, and its max.block.ms does not begin.
"""

from __future__ import annotations

from kipviz.clients.application import Application, Call, Line
from kipviz.clients.calls import client_of
from kipviz.clients.sending import awaited_topics
from kipviz.clients.sending.producer import Producer, send_waits
from kipviz.clients.transactions.producer_state import ProducerState, Result
from kipviz.clients.transactions.transaction_manager import TransactionManager
from kipviz.messages.groups import TxnOffsetCommit

# The calls whose result the producer keeps when they time out: only the same one may follow.
REMEMBERED = (
    Call.INIT_TRANSACTIONS,
    Call.COMMIT_TRANSACTION,
    Call.ABORT_TRANSACTION,
    Call.COMPLETE_TRANSACTION,
)
# The one that may come back without its result, too, and is forgotten: what it asked for goes on.
FORGOTTEN = Call.SEND_OFFSETS
# A call that comes back in one of these throws; UNINITIALIZED is where a refused init leads.
THROWING = (
    ProducerState.ABORTABLE_ERROR,
    ProducerState.FATAL_ERROR,
    ProducerState.UNINITIALIZED,
)

ENDING = (ProducerState.COMMITTING_TRANSACTION, ProducerState.ABORTING_TRANSACTION)


def times_out(client: object) -> bool:
    """Say whether the calls of a client time out here: those of a producer that has transactions."""
    return isinstance(client, Producer) and client.is_transactional


def entered(me: Application, line: Line) -> Application:
    """Note what a thread waits for that has just entered a blocking call."""
    client = client_of(me, line)
    if not me.workers or not isinstance(client, Producer) or not times_out(client):
        return me
    result = Result(line.call.value, (me.thread,))
    return me.with_client(_keeping(client, (*client.manager.results, result)))


def of_thread(me: Application, client: object) -> Result | None:
    """Give what the thread in front waits for at a client, if that keeps results."""
    results = client.manager.results if isinstance(client, Producer) else ()
    return next((r for r in results if me.thread in r.threads), None)


def pending(me: TransactionManager) -> Result | None:
    """Give the result that no thread has come back with yet, and that stands in the way of other calls."""
    kept = (r for r in me.results if r.call in REMEMBERED and not r.acked)
    return next(kept, None)


def why_unfinished(me: TransactionManager, call: Call) -> str:
    """Give the IllegalStateException of a call that comes behind one whose result nobody has taken, or nothing."""
    result = pending(me)
    unfinished = me.timed_out if result is None else result.call
    why = f"because {unfinished}() timed out and must be retried"
    return f"IllegalStateException: {call.value}(), {why}" if unfinished else ""


def why_not_sent(me: TransactionManager) -> str:
    """Give what a send() throws that had to wait, and finds its transaction over; or nothing."""
    if me.state is ProducerState.IN_TRANSACTION:
        return ""
    state = f"IllegalStateException: send() in state {me.state.value}"
    return why_unfinished(me, Call.SEND) or state


def why_it_waits(me: Application) -> str | None:
    """Say that the send() of a thread stands behind another one's, or None."""
    line = me.program[me.line]
    if line.call is not Call.SEND or not me.workers or not send_waits(client_of(me, line)):
        return None
    return f"send() of {me.name} waits behind the send() of another thread"


def joined(me: Application, client: Producer, result: Result) -> Application:
    """Let one more thread wait for a result."""
    return _with(me, client, result, result.but(threads=(*result.threads, me.thread)))


def left(
    me: Application, client: Producer, result: Result, *, timed_out: bool = False
) -> Application:
    """Let the thread in front come back from its call, with its result or without it."""
    others = tuple(thread for thread in result.threads if thread != me.thread)
    return _with(me, client, result, result.but(threads=others, acked=not timed_out))


def settle(me: Application) -> Application:
    """End the results of what the producers of a process have answers to by now."""
    for client in me.clients if me.workers else ():
        if isinstance(client, Producer) and client.manager.results:
            me = me.with_client(_settled(client))
    return me


def _settled(me: Producer) -> Producer:
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
    """Say whether the answer to a call is there; `done` alone may be that of a send() beside it."""
    if result.call == Call.SEND:
        held = me.metadata.held
        known = bool(held) and not awaited_topics.is_unknown(me.metadata, held[0][0])
        return known or not send_waits(me)
    if result.call == Call.PREPARE_TRANSACTION:
        return not me.manager.preparing
    return me.manager.done and me.manager.state not in ENDING


def _needed(results: tuple[Result, ...]) -> tuple[Result, ...]:
    """Give the results that a thread waits for, or that stand for something that is under way."""
    return tuple(
        r
        for r in results
        if r.threads
        or (not r.acked if r.call in REMEMBERED else r.call == FORGOTTEN and not r.ended)
    )


def _with(me: Application, client: Producer, before: Result, after: Result) -> Application:
    changed = tuple(after if r is before else r for r in client.manager.results)
    return me.with_client(_keeping(client, changed))


def _keeping(me: Producer, results: tuple[Result, ...]) -> Producer:
    return me.but(manager=me.manager.but(results=_needed(results)))
