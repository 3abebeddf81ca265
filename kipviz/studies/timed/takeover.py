"""How long a partition is not read when its owner pauses, under each version of KIP-447.

A member has an offset pending and pauses, including its heartbeats. Another one asks to join at that moment. On a timed
clock, with messages that take no time, the wait is measured from the last sign of the old owner to the first records of
the new one. Then the old owner resumes, and its further effects are checked.
"""

from __future__ import annotations

from collections.abc import Callable

from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.cluster.actions import (
    ClientTimer,
    ClusterAction,
    DelayOver,
    Deliver,
    RunOut,
    Send,
    Step,
    Tick,
    TimeOutTransaction,
)
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import Durations
from kipviz.cluster.timing.clock import TICKS, TIMED, Clock, ms
from kipviz.cluster.world import host_of
from kipviz.core.traces.trace import Trace
from kipviz.core.values import Value
from kipviz.designs.catalogue import design as design_named
from kipviz.messages.errors import Errors
from kipviz.messages.events import CallReturned, MessageDelivered, TimePassed
from kipviz.messages.message_errors import error_in
from kipviz.properties.verdict import BROKEN
from kipviz.records.transaction_state import TransactionState
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import PROPERTIES
from kipviz.scenarios.script import next_by_itself
from kipviz.scenarios.setting import PLAYGROUND

Table = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]

STORY = "kip-447-first-draft"
OLD, NEW = "app-1", "app-2"
STEPS_MAX = 2_000
# session.timeout.ms when the KIP was written, and since Kafka 3.0 (KIP-735).
SESSIONS_MS = (10_000, 45_000)
RIVALS = (
    ("before 2.5: no client waits", "before-447"),
    ("first draft: the old transaction is aborted", STORY),
    (
        "first draft, read so that it has to time out",
        f"{STORY}+older_transaction=it_has_to_time_out",
    ),
    ("second draft: a default time-out of 10 s", "kip-447-init-consumer"),
    ("shipped: a default time-out of 60 s", "kafka"),
)


class TakenOver(Value, frozen=True):
    """How long the partition was not read, the result of the old owner's commit, and what is broken then."""

    stands_still_ms: int
    commit: str
    harm: str


def takeover() -> Table:
    """Return for each rival how long the partition is not read with either session timeout."""
    rows = []
    for words, name in RIVALS:
        found = [run_takeover(name, session_ms) for session_ms in SESSIONS_MS]
        waits = (ms(each.stands_still_ms) for each in found)
        rows.append((words, name, *waits, found[0].commit, found[0].harm))
    heads = (
        "rival",
        "design",
        *(f"is paused, session.timeout.ms {ms(each)}" for each in SESSIONS_MS),
        "the old owner's commit",
        "harm",
    )
    return heads, tuple(rows)


def run_takeover(name: str, session_ms: int) -> TakenOver:
    """Run one takeover under a design."""
    model = _model(name, session_ms)
    trace = Trace.start(model, PROPERTIES)
    trace = _run_until(model, trace, OLD, "sendOffsetsToTransaction")
    before = len(trace.line)
    trace = _run_until(model, trace, NEW, "poll")
    passed = sum(
        event.ms
        for node in trace.line[before:]
        for event in trace.node(node).events
        if isinstance(event, TimePassed)
    )
    trace = _run_until(model, trace, OLD, "commitTransaction")
    (end,) = (e for e in trace.here.events if isinstance(e, CallReturned))
    trace = _run_until(model, trace, NEW, "commitTransaction")
    atomic = PROPERTIES[0].finding(trace.observations[0])
    harm = atomic.reason if atomic.status == BROKEN else "none"
    return TakenOver(passed, end.raised.words if end.raised else "committed", harm)


def _model(name: str, session_ms: int) -> ClusterModel:
    story = searched_scenario(STORY)
    timed = story.spec.but(
        clock=Clock(TIMED, delay_max_ms=0, tick=TICKS[1]),
        durations=Durations(session_timeout_ms=session_ms, retry_backoff_ms=1_000),
        budget=PLAYGROUND.but(pause=0, max_block=0, time_out=4, run_out=4),
    )
    return story.but(spec=timed).model(design_named(name))


def _run_until(model: ClusterModel, trace: Trace, name: str, call: str) -> Trace:
    """Let one process run, with the other one paused, until one of its calls has returned."""
    other = NEW if name == OLD else OLD
    for _ in range(STEPS_MAX):
        trace = trace.take(_next(model, trace, name, other))
        if any(
            isinstance(e, CallReturned) and (e.application, e.call) == (name, call)
            for e in trace.here.events
        ):
            return trace
    raise AssertionError(f"{call}() of {name} does not return")


def _next(model: ClusterModel, trace: Trace, name: str, other: str) -> ClusterAction:
    """Return what happens next: messages, then the thread, then due timers, and last of all time.

    A producer that received CONCURRENT_TRANSACTIONS retries when everything else has happened, and not while the
    blocking transaction is still open: its backoff is not modelled.
    """
    waits = f"{name}/producer" if _told_to_wait(trace, name) else ""
    action = next_by_itself(model, trace.world, _make_hold(other, waits))
    if action is not None:
        return action
    step = Step(name)
    if model.why_not(trace.world, step) is None:
        return step
    found = model.enabled(trace.world)
    for kind in (RunOut, TimeOutTransaction, DelayOver, ClientTimer):
        for each in found:
            theirs = isinstance(each, ClientTimer) and host_of(each.source) != name
            if isinstance(each, kind) and not theirs:
                return each
    again = next_by_itself(model, trace.world, _make_hold(other, ""))
    return again if again is not None and not _is_open(trace) else Tick()


def _told_to_wait(trace: Trace, name: str) -> bool:
    """Return whether the last response to a producer was CONCURRENT_TRANSACTIONS."""
    for at in reversed(trace.line):
        for event in trace.node(at).events:
            if isinstance(event, MessageDelivered) and event.source == f"{name}/producer":
                error = error_in(event.message)
                return event.way == "response" and error is Errors.CONCURRENT_TRANSACTIONS
    return False


def _is_open(trace: Trace) -> bool:
    return any(
        known.state is TransactionState.ONGOING
        for role in trace.world.roles.values()
        if isinstance(role, TransactionCoordinator)
        for known in role.transactions.values()
    )


def _make_hold(host: str, waits: str) -> Callable[[ClusterAction], bool]:
    """Return a predicate for held-back actions: those of a paused process, and the retries of a waiting client."""

    def held(action: ClusterAction) -> bool:
        if isinstance(action, Send):
            return host_of(action.source) == host or action.source == waits
        if isinstance(action, Deliver):
            return action.way == "response" and host_of(action.source) == host
        return False

    return held
