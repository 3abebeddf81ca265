"""Programs of a process whose two threads share one KafkaProducer with a transactional id (KIP-98)."""

from __future__ import annotations

from kipviz.clients.application import Call, Line
from kipviz.scenarios.applications.programs import GROUP_POLL, GROUP_STAGE, INIT
from kipviz.scenarios.applications.thread_programs import GET, ITS_POLL, SUBMIT

C = Call

POLL = Line(GROUP_POLL, C.POLL)
BEGIN = Line("producer.beginTransaction();", C.BEGIN_TRANSACTION)
SEND = Line("producer.send(output(records));", C.SEND)
ITS_SEND = Line("producer.send(output(records)); // the same producer", C.SEND)
STAGE = Line(GROUP_STAGE, C.SEND_OFFSETS)
COMMIT = Line("producer.commitTransaction();", C.COMMIT_TRANSACTION)
COMMIT_AGAIN = (
    "while (true) try { producer.commitTransaction(); break; } catch (TimeoutException e) {}"
)
ROUND = (POLL, BEGIN, SEND, STAGE, COMMIT)
# The worker reads, sends, and adds its offset to the transaction that is open.
WORKER = (ITS_POLL, ITS_SEND, STAGE)


def with_worker(
    first: tuple[Line, ...], worker: tuple[Line, ...] = WORKER
) -> tuple[tuple[Line, ...], int]:
    """Return the program of both threads, and the worker's first line.

    An exception of future.get() at the end of the first thread's lines is reported, and ends nothing.
    """
    end = len(first) + len(worker)
    last = first[-1].but(then=end, on_error=end if first[-1].call is C.GET else first[-1].on_error)
    return (*first[:-1], last, *worker), len(first)


# The first thread does not wait for the worker, and continues with its own work.
_BEGUN = (INIT, BEGIN, SUBMIT)
_FORGETS = (*_BEGUN, COMMIT.but(text="producer.commitTransaction(); // and future.get()?"), *ROUND)
WAITS_FOR_NOBODY, FIRST_OF_WORKER = with_worker(_FORGETS)


# The first thread checks the worker's exception after it has committed.
_LOOKS = GET.but(text="try { future.get(); } catch (ExecutionException e) { log.error(e); }")
LOOKS_LATE, FIRST_OF_LATE = with_worker((*_BEGUN, POLL, SEND, STAGE, COMMIT, _LOOKS))
