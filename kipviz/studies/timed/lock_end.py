"""The cost of an acquisition lock that expires before its transaction ends, on the timed clock (B8).

Kafka's defaults meet a slow application: a lock of 30 s, a transaction timeout of 60 s, and a processing time of 45 s
before the commit. The coordinator looks for timed-out transactions every 10 s, so a processing time of 40 s could still
sometimes beat a timeout of 30 s. The searches show what breaks; the costs are those of one run of two minutes in which
two members process one record. No draft has a request by which a share-partition leader asks the coordinator to abort:
its bytes are those of an EndTxn (our inference).
"""

from __future__ import annotations

from functools import partial

from kipviz.checking.timed.axes import LOCK, TIMEOUT, Axis
from kipviz.checking.timed.critical_path import Latencies, Timed, run
from kipviz.checking.timed.landscape import LOOK_UP_MS, LandscapeQuestion, landscape
from kipviz.clients.application import Call
from kipviz.cluster.actions import ClusterAction, Step
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.cluster.timing.clock import ms
from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.events import RecordsMoved, TransactionDecided
from kipviz.messages.shares.share_state import ReadShareGroupState, ReadShareGroupStateResponse
from kipviz.messages.transactions.transactions import EndTxn, EndTxnResponse
from kipviz.messages.wire.frame import bytes_of
from kipviz.messages.wire.kind import Around
from kipviz.records.share_group_state import RecordState
from kipviz.scenarios.setting import TRANSACTIONAL_ID, share_app
from kipviz.studies.counting.counted import has_staged
from kipviz.studies.study import Part, Parts, Row, StoppedEarly, Table, Tell
from kipviz.studies.test_plan.cost import Bill, bill
from kipviz.studies.test_plan.rounds import (
    OTHER,
    Round,
    Way,
    acknowledged,
    first_call,
    first_return,
    model_of,
    return_step,
    spec_of,
)

LOCK_MS, TIMEOUT_MS, WORK_MS = 30_000, 60_000, 45_000
FREE, PINNED = "finding-D", "repaired"
# How long a run is followed.
FOLLOWED_MS = 120_000
# The first lock that outlasts the transaction and the lookup of its outcome.
EXTENDED_MS = TIMEOUT_MS + 2 * LOOK_UP_MS

ASKED = (
    "the same, asked for by the share-partition leader with an EndTxn (calculated; no draft has it)"
)
LOOK_UPS = (ReadShareGroupState.__name__, ReadShareGroupStateResponse.__name__)
NOT_YET = f"not within {ms(FOLLOWED_MS)}"
LOCKS_AND_TRANSACTIONS = FaultBudget(expire_lock=9, time_out=9, run_out=99)

# The remedies: the words, the design, the lock, the transaction timeout.
WAYS: tuple[tuple[str, str, int, int], ...] = (
    ("the record is free again (the text)", FREE, LOCK_MS, TIMEOUT_MS),
    ("the lock lasts as long as the transaction may", FREE, EXTENDED_MS, TIMEOUT_MS),
    ("the coordinator aborts the transaction at the lock's end", PINNED, LOCK_MS, LOCK_MS),
    ("the record waits, and its leader looks the outcome up", PINNED, LOCK_MS, TIMEOUT_MS),
)


def _search_remedy(words: str, design: str, lock: int, timeout: int, tell: Tell) -> tuple[Row, ...]:
    """Search one remedy: what breaks, and whether the healthy transaction commits."""
    question = LandscapeQuestion(
        designs=(design,),
        down=Axis(LOCK, (lock,)),
        across=Axis(TIMEOUT, (timeout,)),
        work_ms=WORK_MS,
    )
    (spot,) = landscape(
        question, progress=lambda _, states, depth: tell(f"{states:,} states, depth {depth}")
    )
    if spot.explored.cancelled:
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
        Part(words, partial(_search_remedy, words, design, lock, timeout))
        for words, design, lock, timeout in WAYS
    ),
)


# -- what it costs ---------------------------------------------------------------------------------


class Cost(Value, frozen=True):
    """The cost of one remedy until the record is acknowledged, or in two minutes.

    `outputs` is the number of committed transactions with an output of the record, `aborted` that of aborted ones.
    `held_us` is for how long the record is TX_PENDING, and `done_us` when it is acknowledged (None: not within two
    minutes).
    """

    outputs: int
    aborted: int
    deliveries: int
    held_us: int
    done_us: int | None
    bill: Bill


def cost_of(design: str, lock: int, timeout: int, latencies: Latencies) -> Cost:
    """Let two members process one record on the timed clock, and count the costs.

    The second one polls once the first one has the record. A member whose commit fails ends.

    Raises:
        BadLatency: if a latency is not valid.
    """
    way = Way(design, design)
    spec = spec_of(way, records=1).but(budget=LOCKS_AND_TRANSACTIONS)
    apps = (*spec.applications, share_app(OTHER, max_records=1))
    spec = spec.but(
        applications=tuple(app.but(transaction_timeout_ms=timeout) for app in apps),
        settings=spec.settings.but(record_lock_duration_ms=lock),
    )

    def withheld(timed: Timed, action: ClusterAction) -> bool:
        theirs = isinstance(action, Step) and action.application == OTHER
        return theirs and return_step(timed, Call.POLL) is None

    timed = run(
        model_of(spec, design, latencies),
        latencies,
        lambda timed: bool(timed.moments) and acknowledged(timed.moments[-1], timed.world, 1),
        withheld=withheld,
        time_max_ms=FOLLOWED_MS,
    )
    begun = first_call(timed, Call.POLL)
    polled = first_return(timed, Call.POLL, begun)
    done = timed.first(lambda moment, world: acknowledged(moment, world, 1), polled)
    round_ = Round(way, timed, begun, polled, None, "", None, done)
    events = tuple(event for moment in timed.moments for event in moment.events)
    decided = [event.committed for event in events if isinstance(event, TransactionDecided)]
    delivered = [
        event
        for event in events
        if isinstance(event, RecordsMoved) and event.after is RecordState.ACQUIRED
    ]
    finished = None if done is None else timed.at_us(done) - timed.at_us(polled)
    return Cost(
        sum(decided),
        len(decided) - sum(decided),
        len(delivered),
        _held_us(timed),
        finished,
        bill(round_),
    )


def _held_us(timed: Timed) -> int:
    """Return for how long a record is TX_PENDING, in microseconds."""
    ends = [timed.at_us(step) for step in range(1, len(timed.moments))]
    spans = zip(timed.moments, ends, timed.worlds[1:], strict=False)
    return sum(end - moment.at_us for moment, end, world in spans if has_staged(world))


def costs(latencies: Latencies = Latencies()) -> Table:  # noqa: B008  a value never changes
    """Return the cost of each remedy.

    Raises:
        BadLatency: if a latency is not valid.
    """
    rows: list[Row] = []
    for words, design, lock, timeout in WAYS:
        found = cost_of(design, lock, timeout, latencies)
        place = (design, ms(lock), ms(timeout))
        counted = found.bill
        rows.append((words, *place, *_figures(found, counted.sent, counted.sent_bytes)))
        if timeout == lock:
            # Each aborted transaction takes one request and one response.
            sent = counted.sent + 2 * found.aborted
            size = counted.sent_bytes + found.aborted * _bytes_of_an_abort()
            rows.append((ASKED, *place, *_figures(found, sent, size)))
    heads = (
        "one record, two members",
        "design",
        "lock",
        "transaction timeout",
        "transactions with its output that commit",
        "that abort",
        "deliveries",
        "TX_PENDING for",
        "first poll() to acknowledged",
        "messages",
        "of them look-ups",
        "bytes",
        "appends",
    )
    return heads, tuple(rows)


def _figures(found: Cost, messages: int, size: int) -> Row:
    return (
        str(found.outputs),
        str(found.aborted),
        str(found.deliveries),
        ms(round(found.held_us / 1_000)),
        NOT_YET if found.done_us is None else ms(round(found.done_us / 1_000)),
        f"{messages:,}",
        f"{sum(count for name, count in found.bill.messages if name in LOOK_UPS):,}",
        f"{size:,}",
        str(found.bill.appends),
    )


def _bytes_of_an_abort() -> int:
    """Return the bytes of an EndTxn that aborts, and of its response."""
    request = EndTxn(TRANSACTIONAL_ID, 9, 0, committed=False)
    response = EndTxnResponse(Errors.NONE, 9, 1)
    asked = len(bytes_of(request, Around((), None, "broker-5")).data)
    return asked + len(bytes_of(response, Around((), request, "broker-5")).data)
