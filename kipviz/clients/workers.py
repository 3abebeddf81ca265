"""Further application threads of a process: they call the same clients, and their steps interleave.

WHO: a client process with an executor. WHERE IN KAFKA: nowhere; KafkaProducer is thread-safe, KafkaConsumer and
  KafkaShareConsumer are not, so a thread that reads has its own consumer. `kipviz.clients.groups.consumer_threads`
  says what several threads may do with one share consumer.
STATUS: what threads may do with one session is a draft: `kipviz.clients.sessions.session_threads`.
NOT MODELLED: two calls that wait for one client at the same time return together, when the later one has its result;
  on a KafkaProducer each has its own (`kipviz.clients.transactions.results`).

A thread sees the process as if it were the only one: `swap_thread` exchanges its current line with that of the first
thread, and the same function exchanges them back.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.clients.application import IDLE, THROUGH, Application, Call, Line, Worker
from kipviz.clients.rules import ClientRules
from kipviz.clients.throwing.client_errors import Raised, WorkerBusy, WorkerFailed


def swap_thread(me: Application, thread: str) -> Application:
    """Return the process with its first thread and this one exchanged; "" is the first thread."""
    if not thread:
        return me
    mine = worker(me, thread)
    theirs = mine.but(
        line=me.line, waiting=me.waiting, records=me.records, ended=me.ended, gate=me.gate
    )
    return me.but(
        line=mine.line,
        waiting=mine.waiting,
        records=mine.records,
        ended=mine.ended,
        gate=mine.gate,
        workers=tuple(theirs if w is mine else w for w in me.workers),
        thread="" if me.thread else thread,
    )


def every_thread(me: Application) -> Iterator[tuple[str, Application]]:
    """Yield each thread of a process by its name, "" the first, with the process as that thread sees it."""
    yield "", me
    for further in me.workers:
        yield further.name, swap_thread(me, further.name)


def worker(me: Application, name: str) -> Worker:
    """Return a further thread of a process by its name."""
    return next(w for w in me.workers if w.name == name)


def submit(me: Application, line: Line, rules: ClientRules) -> Application:
    """Start a thread at its first line, with the current records of this one."""
    before = worker(me, line.target)
    started = Worker(before.name, before.first, before.first, records=me.records, ended="")
    return me.but(workers=tuple(started if w is before else w for w in me.workers))


def get(me: Application, line: Line, rules: ClientRules) -> Application:
    """Return after another thread has ended; `why_not_now` throws its exception again."""
    return me


def why_it_waits(me: Application) -> str | None:
    """Return the sentence that a thread waits for another one, or None."""
    line = me.program[me.line]
    if line.call is not Call.GET or worker(me, line.target).ended:
        return None
    return f"future.get() of {me.name} waits for {line.target}"


def why_not_now(me: Application, line: Line) -> Raised:
    """Return the exception of a call about another thread, or ""."""
    if line.call not in (Call.SUBMIT, Call.GET):
        return ""
    ended = worker(me, line.target).ended
    if line.call is Call.SUBMIT:
        return "" if ended else WorkerBusy(line.target)
    return "" if ended in (IDLE, THROUGH) else WorkerFailed(ended)
