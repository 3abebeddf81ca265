"""Programs of a process in which one thread polls its share consumer and another one stages (KIP-1289, draft)."""

from __future__ import annotations

from kipviz.clients.application import Call, Line
from kipviz.scenarios.applications.programs import INIT, SHARE_CATCH, SHARE_POLL, SHARE_STAGE
from kipviz.scenarios.applications.shared_producer_programs import BEGIN, COMMIT, SEND
from kipviz.scenarios.applications.thread_programs import GET, SUBMIT

C = Call

POLL = Line(SHARE_POLL, C.POLL)
STAGE = Line(SHARE_STAGE, C.SEND_SHARE_ACKNOWLEDGEMENTS)


def polls_and_stages(polling: tuple[Line, ...]) -> tuple[tuple[Line, ...], int]:
    """Return the program of both threads, and the worker's first line.

    The worker has its own transaction for the records that were submitted to it.
    """
    first = len(polling)
    catch = first + 4
    end = catch + 1
    body = tuple(line.but(on_error=catch) for line in (BEGIN, SEND, STAGE, COMMIT))
    worker = (*body[:-1], body[-1].but(then=end), SHARE_CATCH)
    return (*polling[:-1], polling[-1].but(then=end), *worker), first


# The first thread polls again while the worker works; or it waits for the worker before it polls again.
POLLS_ON, FIRST_OF_WORKER = polls_and_stages((INIT, POLL, SUBMIT, POLL))
WAITS, FIRST_OF_AWAITED = polls_and_stages((INIT, POLL, SUBMIT, GET, POLL))
