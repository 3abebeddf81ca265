"""What an acquisition lock that ends before its transaction does costs, on the timed clock (B8).

Kafka's defaults meet a slow application: a lock of 30 s, a transaction timeout of 60 s, and work of 45 s
before the commit. The coordinator looks for timed-out transactions every 10 s, so that work of 40 s would still
outrun a timeout of 30 s now and then.
"""

from __future__ import annotations

from functools import partial

from kipviz.checking.search.explore import CANCELLED
from kipviz.checking.timed.axes import LOCK, TIMEOUT, Axis
from kipviz.checking.timed.landscape import LOOK_UP_MS, Question, landscape
from kipviz.cluster.timing.clock import ms
from kipviz.studies.study import Part, Parts, Row, StoppedEarly, Tell

LOCK_MS, TIMEOUT_MS, WORK_MS = 30_000, 60_000, 45_000
FREE, PINNED = "finding-D", "repaired"
# The first lock that outlasts the transaction and the look-up of its outcome.
EXTENDED_MS = TIMEOUT_MS + 2 * LOOK_UP_MS

# What is done about it: the words, the design, the lock, the transaction timeout.
WAYS: tuple[tuple[str, str, int, int], ...] = (
    ("the record is free again (the text)", FREE, LOCK_MS, TIMEOUT_MS),
    ("the lock lasts as long as the transaction may", FREE, EXTENDED_MS, TIMEOUT_MS),
    ("the coordinator aborts the transaction at the lock's end", PINNED, LOCK_MS, LOCK_MS),
    ("the record waits, and its leader looks the outcome up", PINNED, LOCK_MS, TIMEOUT_MS),
)


def _searched(words: str, design: str, lock: int, timeout: int, tell: Tell) -> tuple[Row, ...]:
    """Search one way: what breaks, and whether the healthy transaction commits."""
    question = Question(
        designs=(design,),
        down=Axis(LOCK, (lock,)),
        across=Axis(TIMEOUT, (timeout,)),
        work_ms=WORK_MS,
    )
    (spot,) = landscape(
        question, progress=lambda _, states, depth: tell(f"{states:,} states, depth {depth}")
    )
    if spot.explored.stopped == CANCELLED:
        raise StoppedEarly
    broken = spot.explored.counterexamples
    verdict = "; ".join(c.reason for c in broken) or (
        "nothing" if spot.explored.complete else "nothing so far"
    )
    works = "commits" if spot.commits else "is aborted every time"
    return ((words, design, ms(lock), ms(timeout), works, verdict),)


PARTS = Parts(
    (
        "rival",
        "design",
        "lock",
        "transaction timeout",
        f"healthy work of {ms(WORK_MS)}",
        "what breaks",
    ),
    tuple(
        Part(words, partial(_searched, words, design, lock, timeout))
        for words, design, lock, timeout in WAYS
    ),
)
