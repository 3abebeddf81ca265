"""The application thread: it makes the call of a line, waits, returns, and continues with the next line.

Source: the code around the clients (KIP-1289 "Pseudo code"); the exceptions of the calls are those of KafkaProducer and
KafkaShareConsumer.
"""

from __future__ import annotations

from functools import lru_cache

from kipviz.clients import workers
from kipviz.clients.application import THROUGH, Application, Call, Line, databases_changed
from kipviz.clients.calling.producer_calls import keep_appended
from kipviz.clients.calls import CALLS, client_of
from kipviz.clients.catching import IN_ERROR, goes_on_elsewhere, is_caught
from kipviz.clients.groups import consumer_threads
from kipviz.clients.groups.consumer import Consumer
from kipviz.clients.kinds import Client, Holder
from kipviz.clients.operators.admin import Admin
from kipviz.clients.rules import ClientRules, ThreadEntry
from kipviz.clients.sending import producer as producing
from kipviz.clients.sending.awaited_topics import end_wait
from kipviz.clients.sending.producer import Producer, is_plain
from kipviz.clients.sessions import binding, session_threads
from kipviz.clients.sessions.session_calls import (
    GIVEN,
    session_told,
    why_no_producer,
    why_no_resume,
)
from kipviz.clients.shares import draining, share_member, share_throws, staged_records
from kipviz.clients.shares.share_member import ShareMember
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.throwing.client_errors import (
    CallTimedOut,
    ClientError,
    ExceptionClass,
    NoSession,
    NotTransactional,
    Raised,
    ShareVersionTooLow,
    TwoPhaseDisabled,
    exception_class,
)
from kipviz.clients.transactions import external_database, group_identity, results
from kipviz.clients.transactions.external_database import ExternalDatabase
from kipviz.clients.transactions.producer_state import ProducerState, Result
from kipviz.clients.transactions.producer_timers import topic_ids_given_up
from kipviz.clients.transactions.results import FORGOTTEN, REMEMBERED, THROWING, times_out
from kipviz.core.model import Event
from kipviz.messages.events import AcknowledgementsCompleted, CallReturned, CallStarted

# The calls of a share consumer that invoke its callback.
CALLED_BACK = (Call.POLL, Call.COMMIT_SYNC, Call.COMMIT_ASYNC, Call.CLOSE_CONSUMER)
# Exceptions that a catch block for KafkaException does not catch.
NO_KAFKA_EXCEPTIONS = (
    ExceptionClass.CONCURRENT_MODIFICATION,
    ExceptionClass.ILLEGAL_ARGUMENT,
    ExceptionClass.ILLEGAL_STATE,
    ExceptionClass.NULL_POINTER,
    ExceptionClass.REJECTED_EXECUTION,
)


def why_no_step(me: Application) -> str | None:
    """Return why the application thread cannot take a step now, or None."""
    if not me.alive:
        return f"{me.name} is down"
    if me.ended:
        return f"the program of {me.name} has ended: {me.ended}"
    if not me.waiting:
        waits = session_threads.why_it_waits(me) or staged_records.why_it_waits(me)
        return waits or results.why_it_waits(me) or consumer_threads.why_it_waits(me)
    line = me.program[me.line]
    client = client_of(me, line)
    if _is_over(me, client):
        return group_identity.why_it_waits(me)
    waits = f"{line.call.value}() of {me.name} has not returned yet"
    if client.on_wire is None:
        return waits
    asked = f"{type(client.on_wire).__name__} from broker {client.on_wire_broker}"
    return f"{waits}: it waits for the response to {asked}"


def why_no_time_out(me: Application) -> str | None:
    """Return why no call of the application thread can time out after max.block.ms, or None."""
    line = me.program[me.line]
    client = client_of(me, line)
    if not me.alive or me.ended or not me.waiting:
        return f"{me.name} is in no call that it waits for"
    if line.call is Call.SEND and producing.send_waits(client):
        return None
    if not times_out(client) or line.call not in (*REMEMBERED, FORGOTTEN):
        names = ", ".join(call.value for call in (*REMEMBERED, FORGOTTEN))
        return (
            f"{line.call.value}() of {me.name} does not time out here, only these calls do: {names}"
        )
    return f"{line.call.value}() of {me.name} has its result" if _is_over(me, client) else None


def _is_over(me: Application, client: Client) -> bool:
    """Return whether the result that the current thread waits for is there."""
    result = results.of_thread(me, client)
    return client.done if result is None else result.ended


def time_out_call(me: Application) -> tuple[Application, tuple[Event, ...]]:
    """Time out a blocking call after max.block.ms; its request continues without it.

    The producer remembers the call: only the same call may follow, and it waits for the same result. The producer does
    not remember sendOffsetsToTransaction(): the transaction continues or is aborted, and its end waits for the offsets.
    A send() that waits for its topic or for room throws nothing. Source: KafkaProducer,
    TransactionManager.handleCachedTransactionRequestResult.
    """
    line = me.program[me.line]
    client = client_of(me, line)
    assert isinstance(client, Producer), line
    result = results.of_thread(me, client)
    if line.call is Call.SEND:
        given_up, raised = producing.send_timed_out(client), producing.why_no_error_state(client)
        me = me.with_client(given_up)
        gone = me if result is None else results.leave_wait(me, given_up, result)
        return _leave(gone, line, raised, ())
    if result is not None:
        return _without_result(results.leave_wait(me, client, result, timed_out=True), line)
    if line.call is FORGOTTEN:
        given_up = client.but(manager=topic_ids_given_up(client.manager))
        return _without_result(me.with_client(given_up), line)
    timed_out = client.manager.but(timed_out=line.call.value)
    return _without_result(me.with_client(client.but(manager=timed_out)), line)


def _without_result(me: Application, line: Line) -> tuple[Application, tuple[Event, ...]]:
    return _leave(me, line, CallTimedOut(line.call.value), ())


def _repeat_call(me: Application, line: Line) -> Application | None:
    """Return the application in the call that it repeats after a timeout, or None for another call.

    Each of several threads may repeat it, even while the first one is still in the call.
    """
    client = client_of(me, line)
    if not isinstance(client, Producer):
        return None
    manager = client.manager
    result = results.pending(manager)
    if result is not None and result.call == line.call.value:
        return results.join_wait(me, client, result).but(waiting=True)
    if manager.timed_out != line.call.value:
        return None
    return me.with_client(client.but(manager=manager.but(timed_out=""))).but(waiting=True)


# A program is a loop: the same calls start and return again and again, and a run keeps all these events.
_started = lru_cache(maxsize=4096)(CallStarted)
_returned = lru_cache(maxsize=4096)(CallReturned)


def step(me: Application, rules: ClientRules) -> tuple[Application, tuple[Event, ...]]:
    """Let the application thread make the next call, or return from a blocking one."""
    line = me.program[me.line]
    if me.waiting:
        return _come_back(me, line)
    started = _started(me.name, me.line, line.call.value)
    again = _repeat_call(me, line)
    if again is not None:
        return again, (started,)
    if me.gate == session_threads.LOOKED:
        return _make_call(me.but(gate=""), line, rules, ())
    found = session_threads.entry(me, line, rules)
    if found is ThreadEntry.WAITS:
        return me.but(gate=session_threads.PARKED), ()
    if found is ThreadEntry.REFUSED:
        return _leave(me, line, session_threads.entry_error(me), (started,))
    if me.gate:
        me = me.but(gate="")
    raised = _raised_on_entry(me, line) or workers.why_not_now(me, line)
    raised = raised or consumer_threads.why_refused(me, line)
    illegal = binding.why_not_now(me, line, rules) or _why_illegal(me, line, rules)
    illegal = illegal or staged_records.why_no_poll(me, line, rules)
    if raised or illegal:
        me = me if raised else keep_appended(me, line)
        return _leave(me, line, raised or illegal, (started,))
    if found is ThreadEntry.LOOKS:
        return me.but(gate=session_threads.LOOKED), (started,)
    return _make_call(me, line, rules, (started,))


def _make_call(
    me: Application, line: Line, rules: ClientRules, started: tuple[Event, ...]
) -> tuple[Application, tuple[Event, ...]]:
    """Make a legal call, and return from it at once if it does not block."""
    calling = CALLS[line.call]
    me, told = _invoke_callback(me, line)
    before, me = me, calling.enter(me, line, rules)
    waits = calling.blocking and not (calling.at_once and client_of(me, line).done)
    if waits or (line.call is Call.SEND and producing.send_waits(client_of(me, line))):
        return results.note_entered(me, line).but(waiting=True), (*started, *told)
    told += (*session_told(me, line), *databases_changed(before, me))
    return _leave(me, line, "", (*started, *told))


def _raised_on_entry(me: Application, line: Line) -> Raised:
    """Return the exception of a call on a producer in an error state."""
    client = client_of(me, line)
    if not isinstance(client, Holder):
        return ""
    calling, manager = CALLS[line.call], client.manager
    state = manager.state
    if state in IN_ERROR and state not in calling.legal and not calling.always_illegal:
        return manager.error
    if (
        line.call is Call.SEND_SHARE_ACKNOWLEDGEMENTS
        and manager.share_version < manager.staging_level
    ):
        return ShareVersionTooLow(manager.staging_level)
    return ""


def _why_illegal(me: Application, line: Line, rules: ClientRules) -> Raised:
    """Return the exception of a call that is illegal in this state, or ""."""
    client = client_of(me, line)
    if is_plain(client):
        return _why_not_plain(line)
    if isinstance(client, ExternalDatabase) and line.call is Call.DATABASE_COMMIT:
        return external_database.why_stale(client)
    if isinstance(client, Holder):
        calling, manager = CALLS[line.call], client.manager
        unfinished = results.why_unfinished(manager, line.call)
        if unfinished:
            return unfinished
        if line.call is Call.PREPARE_TRANSACTION and not manager.two_phase_commit:
            return TwoPhaseDisabled()
        if manager.state not in (*calling.legal, *binding.legal_besides(client, line, rules)):
            return calling.illegal(line.call.value, client.state_name)
        return why_no_resume(me, line) or why_no_producer(me, line, rules)
    if isinstance(client, ShareConsumer):
        asks = line.call is Call.SHARE_GROUP_METADATA
        member = me.others.get(share_member.name_of(line.client)) if asks else None
        unknown = share_member.why_no_metadata(member) if isinstance(member, ShareMember) else None
        return _why_not_of_share(client, line, rules) or unknown or ""
    return ""


def _why_not_plain(line: Line) -> Raised:
    """Return the exception of a call on a producer without a transactional id, which can send and wait in any state."""
    if line.client == GIVEN:
        return NoSession(GIVEN)
    if line.call in (Call.SEND, Call.FLUSH, Call.TRANSACTION_SESSION):
        return ""
    return NotTransactional(line.call.value)


def _why_not_of_share(client: ShareConsumer, line: Line, rules: ClientRules) -> ClientError | None:
    if line.call is Call.POLL:
        return share_throws.why_closed(client) or share_throws.why_no_poll(client, rules)
    if line.call is Call.ACKNOWLEDGE:
        offset = int(line.target) if line.target else None
        return share_throws.why_closed(client) or share_throws.why_no_acknowledge(client, offset)
    if line.call is Call.DRAIN:
        return share_throws.why_closed(client) or draining.why_no_drain(client)
    if line.call is Call.SHARE_GROUP_METADATA:
        return share_throws.why_closed(client) or share_throws.why_no_metadata(client)
    return share_throws.why_closed(client) if line.call in CALLED_BACK else None


def _invoke_callback(me: Application, line: Line) -> tuple[Application, tuple[Event, ...]]:
    """Invoke the AcknowledgementCommitCallback with the known results; only these calls do so."""
    client = client_of(me, line)
    if not isinstance(client, ShareConsumer) or line.call not in CALLED_BACK:
        return me, ()
    told = tuple(
        AcknowledgementsCompleted(
            me.name, done.partition or client.partition, b.first, b.last, done.error.name
        )
        for done in client.acknowledging.completed
        for b in done.acknowledgements
    )
    if not told:
        return me, ()
    heard = client.acknowledging.but(completed=())
    return me.with_client(client.but(acknowledging=heard)), told


def _come_back(me: Application, line: Line) -> tuple[Application, tuple[Event, ...]]:
    me, told = _invoke_callback(me, line)
    client = client_of(me, line)
    if isinstance(client, Admin):
        return _leave(me, line, client.error, ())
    if isinstance(client, Holder) and client.manager.timed_out == FORGOTTEN.value:
        forgotten = client.but(manager=client.manager.but(timed_out=""))
        return _without_result(me.with_client(forgotten), line)
    result = results.of_thread(me, client)
    if result is not None and isinstance(client, Producer):
        return _with_result(me, line, client, result)
    if isinstance(client, Producer) and client.metadata.held:
        client = producing.send_goes_on(client)
        me = me.with_client(client)
        if producing.send_waits(client):
            return me, ()
    if line.call is Call.POLL:
        assert not isinstance(client, Holder | ExternalDatabase | ShareMember)
        return _leave(me.but(records=client.records), line, client.error, told)
    error: Raised = ""
    if (isinstance(client, Holder) and client.manager.state in THROWING) or (
        isinstance(client, Consumer) and line.call is Call.COMMIT_SYNC
    ):
        error = client.error
    return _leave(me, line, error, told)


def _with_result(
    me: Application, line: Line, client: Producer, result: Result
) -> tuple[Application, tuple[Event, ...]]:
    """Return from the call of one of several threads with its result; a waiting send() appends its records now."""
    me = results.leave_wait(me, client, result)
    if line.call is not Call.SEND or not client.metadata.held:
        return _leave(me, line, result.error, ())
    waiting = client_of(me, line)
    assert isinstance(waiting, Producer), line
    why = results.why_not_sent(waiting.manager)
    if why:
        return _leave(keep_appended(me.with_client(end_wait(waiting)), line), line, why, ())
    return _leave(me.with_client(producing.send_goes_on(waiting)), line, "", ())


def _leave(
    me: Application, line: Line, raised: Raised, events: tuple[Event, ...]
) -> tuple[Application, tuple[Event, ...]]:
    """Go to the next line or to the catch block, or end the program."""
    returned = _returned(me.name, me.line, line.call.value, raised)
    caught = is_caught(me, line, raised) if raised else False
    me = me.but(waiting=False)
    fatal = (
        me.manager.state is ProducerState.FATAL_ERROR
        or exception_class(raised) in NO_KAFKA_EXCEPTIONS
    )
    if raised and (not caught or (fatal and not goes_on_elsewhere(me, line))):
        return me.but(ended=f"{line.call.value}() threw {raised}"), (*events, returned)
    nxt = line.on_error if raised else line.then if line.then >= 0 else me.line + 1
    if nxt >= len(me.program):
        me = me.but(ended=THROUGH)
    return me.but(line=min(nxt, len(me.program) - 1)), (*events, returned)
