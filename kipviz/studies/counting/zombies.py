"""A process pauses at every moment of its transaction in turn: does it do harm when it resumes?

For each moment: the process pauses, its session or lock expires, another member of its group runs a whole transaction,
and then the first one resumes where it paused.
"""

from __future__ import annotations

from kipviz.brokers.timers import MemberSession, RoleTimer
from kipviz.cluster.actions import (
    ClientTimer,
    ClusterAction,
    DelayOver,
    Deliver,
    ExpireLock,
    RunOut,
    Send,
    Step,
)
from kipviz.cluster.behaviour.catalogue import label
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.world import host_of
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design as design_named
from kipviz.messages.events import CallReturned
from kipviz.properties.verdict import BROKEN
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import PROPERTIES
from kipviz.scenarios.script import next_by_itself

Table = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]

ENDS = ("commitTransaction", "abortTransaction")
STEPS_MAX = 400
STALLED, OTHER = "app-1", "app-2"
GROUP, SHARE = "kip-447-zombie", "kip-1289-two-members"
DRAFT = "kip-447-first-draft"

RIVALS = (
    ("regular group: members and pending offsets (KIP-447)", GROUP, "kafka"),
    ("regular group: members only", GROUP, "kafka+pending_offset=the_committed_one"),
    ("regular group: pending offsets only", GROUP, "kafka+zombie_offsets=anybody"),
    ("regular group: neither (before 2.5)", GROUP, "before-447"),
    ("regular group: the transaction coordinator knows generations (first draft)", DRAFT, DRAFT),
    (
        "the same, and it does not refuse older ones",
        DRAFT,
        f"{DRAFT}+older_generation=no_generation_is_known",
    ),
    ("share group: staging pins the record", SHARE, "repaired"),
    ("share group: the lock runs on", SHARE, "repaired+lock_expiry=back_to_available"),
)


def zombies() -> Table:
    """Return for each rival at how many moments a pause does harm."""
    rows = []
    for words, scenario, design in RIVALS:
        found = pauses(scenario, design)
        broken = [(moment, reason) for moment, reason in found if reason]
        first = f"before {broken[0][0]!r}: {broken[0][1]}" if broken else ""
        rows.append((words, design, str(len(found)), str(len(broken)), first))
    return (
        "rival",
        "design",
        "moments tried",
        "moments at which it does harm",
        "the first",
    ), tuple(rows)


def pauses(scenario: str, design: str) -> list[tuple[str, str]]:
    """Return (the step before which the process pauses, what is broken in the end) for every moment."""
    model = searched_scenario(scenario).model(design_named(design))
    trace, found = Trace.start(model, PROPERTIES), []
    while not _has_ended(trace, STALLED):
        action = _next(model, trace, STALLED) or _delay(model, trace)
        if action is None:
            break
        accident = _runs_out(model, trace)
        if accident is not None:
            found.append((label(trace.world, action), _harm(model, trace.take(accident))))
        trace = trace.take(action)
    return found


def _harm(model: ClusterModel, trace: Trace) -> str:
    """Let the other process run a transaction, then the first one, and the other one again."""
    for name in (OTHER, STALLED, OTHER):
        trace = _run_transaction(model, trace, name)
    atomic = PROPERTIES[0].finding(trace.observations[0])
    return atomic.reason if atomic.status == BROKEN else ""


def _run_transaction(model: ClusterModel, trace: Trace, name: str) -> Trace:
    """Let one process run until its next transaction has ended, or it can only wait."""
    waited = False
    for _ in range(STEPS_MAX):
        action = _next(model, trace, name)
        if action is None:
            timer = _delay(model, trace) or _timer(model, trace, name)
            if waited or timer is None:
                return trace
            action, waited = timer, True
        trace = trace.take(action)
        if _has_ended(trace, name):
            return trace
    return trace


def _next(model: ClusterModel, trace: Trace, name: str) -> ClusterAction | None:
    """Return what happens next while only one process runs: the brokers first, then its thread."""
    stands = OTHER if name == STALLED else STALLED

    def held(action: ClusterAction) -> bool:
        if isinstance(action, Send):
            return host_of(action.source) == stands
        return (
            isinstance(action, Deliver)
            and action.way == "response"
            and host_of(action.source) == stands
        )

    action = next_by_itself(model, trace.world, held)
    if action is not None:
        return action
    step = Step(name)
    return step if model.why_not(trace.world, step) is None else None


def _delay(model: ClusterModel, trace: Trace) -> ClusterAction | None:
    """Return the delay before a generation of a classic group, if one waits for more members."""
    return next((a for a in model.enabled(trace.world) if isinstance(a, DelayOver)), None)


def _timer(model: ClusterModel, trace: Trace, name: str) -> ClusterAction | None:
    found = [
        a
        for a in model.enabled(trace.world)
        if isinstance(a, ClientTimer) and host_of(a.source) == name
    ]
    return found[-1] if found else None


def _runs_out(model: ClusterModel, trace: Trace) -> ClusterAction | None:
    """Return the expiry of the paused process's session or lock, or None."""
    for action in model.enabled(trace.world):
        if isinstance(action, ExpireLock) or (
            isinstance(action, RunOut) and _is_session_of_first(action.timer)
        ):
            return action
    return None


def _is_session_of_first(timer: RoleTimer) -> bool:
    """Return whether it is the session of the first member, or of its id made by a classic group's coordinator."""
    return isinstance(timer, MemberSession) and timer.member_id.partition(".")[0] == "C1"


def _has_ended(trace: Trace, name: str) -> bool:
    return any(
        isinstance(event, CallReturned)
        and event.application == name
        and event.call in ENDS
        and not event.raised
        for event in trace.here.events
    )
