"""Several application threads on one TransactionSession: what a call does while another one is in progress.

WHO: a client process. STATUS: draft (KIP-1310 2.1 "thread-safe"); `ClientRules` decides what the word means. WHERE IN
KAFKA: today's producer has one lock for the state and for what depends on it (TransactionManager, synchronized
methods), and holds none while a call waits for its result.

A call on the session, or on a producer that is bound to it, is one step unless a rule says otherwise: it may wait, be
rejected, or check the state first and act in a later step.
"""

from __future__ import annotations

from kipviz.clients import workers
from kipviz.clients.application import Application, Call, Line
from kipviz.clients.calls import client_of
from kipviz.clients.kinds import Holder
from kipviz.clients.rules import ClientRules, ThreadEntry
from kipviz.clients.throwing.client_errors import SessionInUse

# The state of a thread that has begun a call and has not made it.
PARKED, LOOKED = "waits for the lock", "has looked"


def entry(me: Application, line: Line, rules: ClientRules) -> ThreadEntry:
    """Return how a call enters; it enters at once without a session, or without another active thread."""
    alone = all(other.ended for other in me.workers)
    if alone or me.session is None or not isinstance(client_of(me, line), Holder):
        return ThreadEntry.ENTERS
    return rules.session_threads(bool(_call_of_others(me)), line.call is Call.SEND)


def why_it_waits(me: Application) -> str | None:
    """Return what a thread outside every call waits for, or None."""
    if me.gate == PARKED and (other := _call_of_others(me)):
        call = me.program[me.line].call.value
        return f"{call}() of {me.name} waits until {other}() of another thread is over"
    return workers.why_it_waits(me)


def entry_error(me: Application) -> SessionInUse:
    """Return the exception of a call that may not enter."""
    return SessionInUse(_call_of_others(me))


def _call_of_others(me: Application) -> str:
    """Return the call of the session, or of a producer bound to it, in which another thread waits."""
    for other in me.workers:
        line = me.program[other.line]
        if other.waiting and isinstance(client_of(me, line), Holder):
            return line.call.value
    return ""
