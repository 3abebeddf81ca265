"""What KIP-1289's two alerts would show, counted on the timed clock with Kafka's defaults.

The primary alert is TxnPendingRecordsCount above 0 for more than 60 s; TxnPendingLockExpiredCount is critical at any
number but 0. Both are counted here from the steps of an undisturbed run. Messages take no time, and every timer fires
as late as possible: the coordinator looks for late transactions every 10 s.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.cluster.actions import ExpireLock, Tick, TimeOutTransaction
from kipviz.cluster.timing.clock import Clock
from kipviz.core.model import Event
from kipviz.core.traces.trace import Trace
from kipviz.core.values import Value
from kipviz.designs.catalogue import design as design_named
from kipviz.messages.events import LOCK_RAN_OUT, RecordsMoved, TimePassed
from kipviz.records.share_group_state import RecordState
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.script import Beat, play
from kipviz.settings.broker_configs import (
    GROUP_SHARE_MAX_RECORD_LOCK_DURATION_MS,
    GROUP_SHARE_RECORD_LOCK_DURATION_MS,
)

ALERT_AFTER_MS = 60_000
LOCK_MS = GROUP_SHARE_RECORD_LOCK_DURATION_MS.default
# The text's own rule of corner case 6 alone, and the text as a whole.
OWN_RULE, AS_WRITTEN = "finding-D", "as-written"
# How many steps of the story lead to the staging of the records, and to the decision.
STAGED, DECIDED = 6, 8
MARKERS = Beat("", "", ("quiet", "maybe B5 refreshes src-0", "quiet"))
# Ticks after the last call: enough for every lock and every scan for late transactions.
TICKS_MAX = 20


class Gauge(Value, frozen=True):
    """The metrics of one run.

    `pending_ms` is the longest time for which a record was TX_PENDING, in ms. `expired` counts the records that left
    that state by an expired lock, `staged` those that were in it.
    """

    pending_ms: int
    expired: int
    staged: int


def measure_run(design: str, *, commits: bool, lock_ms: int = LOCK_MS) -> Gauge:
    """Return the metrics of the run that `run_undisturbed` makes with the same arguments."""
    return _gauge(run_undisturbed(design, commits=commits, lock_ms=lock_ms))


def run_undisturbed(design: str, *, commits: bool, lock_ms: int = LOCK_MS) -> Trace:
    """Run one batch of `kip-1289-small` up to its staging or its commit, and let time pass.

    `lock_ms` is group.share.record.lock.duration.ms. Without `commits` the producer does nothing after the staging, as
    in corner cases 6 and 7.
    """
    story = searched_scenario("kip-1289-small")
    settings = story.spec.settings.but(record_lock_duration_ms=lock_ms)
    spec = story.spec.but(clock=Clock("timed", tick="next"), settings=settings)
    model = story.but(spec=spec).model(design_named(design))
    beats = (*story.beats[:DECIDED], MARKERS) if commits else story.beats[:STAGED]
    trace, _ = play(Trace.start(model), model, beats)
    for _ in range(TICKS_MAX):
        # As late as possible: time passes as long as it can, and then due actions happen.
        actions = model.enabled(trace.world)
        passes = next((a for a in actions if isinstance(a, Tick)), None)
        due = next((a for a in actions if isinstance(a, ExpireLock | TimeOutTransaction)), None)
        chosen = passes or due
        if chosen is None:
            break
        trace, _ = play(trace.take(chosen), model, (MARKERS,))
    return trace


def _gauge(trace: Trace) -> Gauge:
    now = longest = expired = 0
    since: dict[int, int] = {}
    staged: set[int] = set()
    for event in _events(trace):
        match event:
            case TimePassed(ms=ms):
                now += ms
                longest = max((longest, *(now - begun for begun in since.values())))
            case RecordsMoved(after=RecordState.TX_PENDING, first=first):
                since.setdefault(first, now)
                staged.add(first)
            case RecordsMoved(before=RecordState.TX_PENDING, first=first, because=because):
                since.pop(first, None)
                expired += because == LOCK_RAN_OUT
            case _:
                pass
    return Gauge(longest, expired, len(staged))


def _events(trace: Trace) -> Iterator[Event]:
    for number in trace.line:
        yield from trace.node(number).events


def never_raised() -> str:
    """Return how long the records of an abandoned batch are TX_PENDING under the text's own lock rule."""
    told = []
    for label, design, lock_ms in (
        ("a lock of 30 s, the default", OWN_RULE, LOCK_MS),
        (
            "a lock of 60 s, the longest that a group may ask for by default",
            OWN_RULE,
            GROUP_SHARE_MAX_RECORD_LOCK_DURATION_MS.default,
        ),
        ("repaired, with a lock of 30 s", "repaired", LOCK_MS),
    ):
        lasts = measure_run(design, commits=False, lock_ms=lock_ms).pending_ms
        raised = "the alert is raised" if lasts > ALERT_AFTER_MS else "no alert"
        told.append(f"{label}: at most {lasts / 1000:g} s, {raised}")
    return f"how long an abandoned batch is TX_PENDING: {'; '.join(told)}"


def raised_by_a_commit() -> str:
    """Return how many records of an undisturbed commit are counted as expired."""
    written, repaired = (measure_run(name, commits=True) for name in (AS_WRITTEN, "repaired"))
    return (
        f"as written {written.expired} of {written.staged} records of an undisturbed commit leave "
        f"TX_PENDING because their lock expired; repaired: {repaired.expired} of {repaired.staged}"
    )
