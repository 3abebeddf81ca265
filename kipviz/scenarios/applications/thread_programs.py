"""Programs of a process with two application threads and one TransactionSession (KIP-1310 2.1 "thread-safe")."""

from __future__ import annotations

from kipviz.clients.application import Call, Line
from kipviz.clients.catching import EXECUTION
from kipviz.scenarios.applications.programs import GROUP_POLL
from kipviz.scenarios.applications.session_programs import (
    ABORT,
    BEGIN,
    COMMIT,
    INITIALIZE,
    SEND,
    SEND_OFFSETS,
)

C = Call

# The second thread, and its own consumer: a KafkaConsumer is not thread-safe.
WORKER, ITS_CONSUMER = "worker", "consumer-2"
SUBMIT = Line("future = executor.submit(worker);", C.SUBMIT, target=WORKER)
GET = Line(
    "future.get(); // waits for the worker, and throws what it threw",
    C.GET,
    target=WORKER,
    catches=(EXECUTION,),
)
POLL = Line(GROUP_POLL, C.POLL)
ITS_POLL = Line(
    "records = consumer2.poll(timeout); // the worker's own", C.POLL, client=ITS_CONSUMER
)


def _of_two(first: tuple[Line, ...], second: tuple[Line, ...]) -> tuple[tuple[Line, ...], int]:
    """Return the program of both threads, and the second one's first line.

    Any exception in the first thread after the session has begun is caught by an abort, its last line.
    """
    end = len(first) + 1 + len(second)
    catch = len(first)
    lines = tuple(
        line.but(on_error=catch) if count > 1 and line.on_error < 0 else line
        for count, line in enumerate(first)
    )
    return (*lines[:-1], lines[-1].but(then=end), ABORT.but(then=end), *second), catch + 1


# Each thread reads, sends and adds its offsets; the first one commits for both of them.
_FIRST = (INITIALIZE, BEGIN, SUBMIT, POLL, SEND, SEND_OFFSETS)
_SECOND = (
    ITS_POLL,
    SEND.but(text="producer.send(output(records)); // the same producer"),
    SEND_OFFSETS,
)
COMMITS_AT_ONCE, FIRST_OF_WORKER = _of_two((*_FIRST, COMMIT), _SECOND)
WAITS_FOR_IT, FIRST_OF_AWAITED = _of_two((*_FIRST, GET, COMMIT), _SECOND)

# The worker sends what the first thread has read. The first thread abandons this work, and does it again by itself.
_GIVEN_UP = (
    INITIALIZE,
    POLL,
    BEGIN,
    SUBMIT,
    ABORT.but(text="session.abortTransaction(); // the worker takes too long", then=5),
    GET.but(text="try { future.get(); } catch (ExecutionException e) { }", on_error=6),
    POLL,
    BEGIN,
    SEND,
    SEND_OFFSETS,
    COMMIT,
)
GIVES_UP, FIRST_OF_LATE = _of_two(
    _GIVEN_UP, (SEND.but(text="producer.send(output(records)); // of the first thread's batch"),)
)
