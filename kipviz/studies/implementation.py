"""KIP-1289 as it is being implemented: which iteration keeps its promises, and which arrangement of a job does.

Each row is searched: an iteration of the draft in a small cluster with one accident, or a job's arrangement under a
design. Where something breaks, the smallest set of decisions is looked for that mends it: each decision of the
repaired design alone, and if none is enough, all of them less those that can be left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from kipviz.checking.axes import LOCK, TIMEOUT, Axis
from kipviz.checking.breaking import Breaking, breaking
from kipviz.checking.budgets import budget_of
from kipviz.checking.explore import CANCELLED, Search
from kipviz.checking.found import Bounds
from kipviz.checking.landscape import LOOK_UP_MS
from kipviz.checking.runs import follow
from kipviz.checking.runs import judge as judge_run
from kipviz.checking.saves import under
from kipviz.checking.verdicts import BREAKS, HOLDS, SO_FAR, Judged, judge, property_named
from kipviz.cluster.clock import ms
from kipviz.core.values import Value
from kipviz.designs.catalogue import REPAIRED, design
from kipviz.designs.design import Design, comes_up, slot_named
from kipviz.properties.verdict import BROKEN
from kipviz.properties.written_once import WrittenOnce
from kipviz.scenarios.changes import changed
from kipviz.scenarios.connector_programs import looping
from kipviz.scenarios.library import scenario
from kipviz.studies.study import Part, Parts, Row, StoppedEarly, Study, Tell, content, searching

PROMISES = ("atomic", "nothing pending for ever")
STATES_MAX = 30_000
APART, TOGETHER = "kip-1289-draft-small", "kip-1289-draft-small-together"
CLUSTERS = {APART: "source and state on two brokers", TOGETHER: "on one broker"}
EARLY, MIDDLE, LATE = "draft-early", "draft-middle", "draft-late"
# An iteration literally, and with what its own tests must have.
ITERATIONS: dict[str, str] = {
    "early, which stages only where its own broker coordinates": EARLY,
    "early, coordinator and epoch mended": (
        f"{EARLY}+enlistment=transaction_coordinator+marker_epoch=equal_or_next"
    ),
    "middle": MIDDLE,
    "middle, epoch mended": f"{MIDDLE}+marker_epoch=equal_or_next",
    "late": LATE,
    "repaired": "repaired",
}
ACCIDENTS = ("", "time_out=1", "move_leader=1", "crash_client=1")
NOTHING, NO_ACCIDENT = "-", "no fault"


class Case(Value, frozen=True):
    """What is searched: a design in a scenario with some accidents."""

    scenario: str
    design: str
    faults: str = ""

    def judged(self, under: str, tell: Tell) -> Judged:
        """Search the case under a design until a promise breaks.

        Raises:
            StoppedEarly: if `tell` says False.
        """
        asked = tuple(property_named(name) for name in PROMISES)
        bounds = Bounds(states_max=STATES_MAX, breaks_max=1)
        budget = budget_of(self.faults)
        found = judge(self.scenario, under, budget, bounds, searching(tell), asked)
        if found.explored.stopped == CANCELLED:
            raise StoppedEarly
        return found


def breaks(found: Judged) -> bool:
    """Say whether a promise breaks."""
    return any(cell.verdict == BREAKS for cell in found.cells)


def repair(case: Case, tell: Tell = content) -> tuple[str, ...]:
    """Return a smallest set of slots that, filled as in the repaired design, mends a case.

    One slot alone is tried first, with each that is asked in the cluster. If none is enough, all are filled so
    and taken back one by one: what is left cannot lack any of its own. A run that broke a promise before is made
    again under each candidate before a search: one that breaks there, too, need not be searched.

    Raises:
        StoppedEarly: if `tell` says False.
    """
    chosen, spec = design(case.design), scenario(case.scenario).spec
    name, *changes = case.design.split("+")
    base = design(name)
    choices = {slot: option for slot, _, option in (each.partition("=") for each in changes)}
    differ = tuple(
        slot for slot, _, _ in chosen.differs_from(REPAIRED) if comes_up(slot_named(slot), spec)
    )

    known: list[Breaking] = []

    def mends(slots: Iterable[str]) -> bool:
        filled = {slot: REPAIRED.option(slot).name for slot in slots}
        candidate = base.but(**(choices | filled))
        if any(_breaks_again(made, candidate) for made in known):
            return False
        found = case.judged(candidate.name, tell)
        cell = next((each for each in found.cells if each.verdict == BREAKS), None)
        if cell is not None:
            run = follow(scenario(case.scenario), candidate, found.budget, cell.actions)
            known.append(breaking(run, cell.asked))
        return cell is None

    for slot in differ:
        if mends((slot,)):
            return (slot,)
    kept = differ
    if not mends(kept):
        return ()
    for slot in differ:
        fewer = tuple(each for each in kept if each != slot)
        if mends(fewer):
            kept = fewer
    return kept


def _breaks_again(made: Breaking, candidate: Design) -> bool:
    """Say whether a run breaks its promise under another design, too, as far as its steps are possible there."""
    other, _ = under(made, candidate)
    (judged,) = judge_run(other, (property_named(made.broken),))
    return judged.status == BROKEN


def _cells(found: Judged) -> tuple[str, ...]:
    """Give the words of each promise; where the search ended at a break the others are not decided."""
    ended = breaks(found)
    undecided = "not asked further"
    return tuple(
        cell.words if cell.verdict == BREAKS or not ended else undecided for cell in found.cells
    )


def _iteration(label: str, case: Case, tell: Tell) -> tuple[Row, ...]:
    found = case.judged(case.design, tell)
    mended = " + ".join(repair(case, tell)) if breaks(found) else NOTHING
    where = CLUSTERS[case.scenario]
    states = f"{found.explored.states:,} states"
    return ((label, where, case.faults or NO_ACCIDENT, *_cells(found), states, mended),)


def cases() -> tuple[tuple[str, Case], ...]:
    """Return every case of the first study: iterations, clusters and accidents."""
    return tuple(
        (label, Case(cluster, name, faults))
        for label, name in ITERATIONS.items()
        for cluster in CLUSTERS
        for faults in ACCIDENTS
    )


ITERATION_PARTS = Parts(
    ("iteration", "cluster", "accidents", *PROMISES, "searched", "a smallest repair"),
    tuple(
        Part(
            f"{label}, {CLUSTERS[case.scenario]}, {case.faults or NO_ACCIDENT}",
            partial(_iteration, label, case),
        )
        for label, case in cases()
    ),
)
WHICH_ITERATION = Study(
    "implementation",
    "Which iteration of KIP-1289's draft implementation keeps its promises?",
    "pull request 22357 (draft implementation, seen in source)",
    "One transaction with the draft's own API, searched up to the first break, and the fewest decisions of the "
    "repaired design that mend it. The iterations are drafts; where their source says nothing the reading is ours.",
    parts=ITERATION_PARTS,
)

# -- arrangements of a job -------------------------------------------------------------------------

ONE, ACKS, OUTPUTS, STAGES_LATE = (
    "kip-1289-flink-one-transaction",
    "kip-1289-flink-acks-first-small",
    "kip-1289-flink-outputs-first-small",
    "kip-1289-flink-stages-late-small",
)
ARRANGEMENTS = {
    ONE: "one transaction, two-phase commit",
    ACKS: "two transactions, acknowledgements first",
    OUTPUTS: "two transactions, outputs first",
    STAGES_LATE: "two transactions, staged at the checkpoint",
}
# KIP-939 is no part of the pull request, and the first arrangement needs it.
WITH_KIP_939 = f"{LATE}+keep_prepared=next_epoch"
OF_JOBS = {"late": WITH_KIP_939, "repaired": "repaired"}
OF_A_JOB = ("", "crash_client=1", "expire_lock=1")


def _arrangement(label: str, case: Case, tell: Tell) -> tuple[Row, ...]:
    found = case.judged(case.design, tell)
    states = f"{found.explored.states:,} states"
    why = next((cell.reason for cell in found.cells if cell.verdict == BREAKS), NOTHING)
    where = ARRANGEMENTS[case.scenario]
    return ((where, label, case.faults or NO_ACCIDENT, *_cells(found), states, why),)


# Checkpoint interval: how long a batch is worked on before the first commit of the program.
INTERVALS, LOCKS, TIMEOUTS = (10_000, 40_000), (15_000, 30_000, 60_000), (30_000, 60_000)
TIMED_STATES_MAX = 20_000


def timed(arrangement: str, interval: int, lock: int, timeout: int, tell: Tell = content) -> str:
    """Search one cell on the timed clock and say whether every record is written once.

    A lock and a transaction may run out once each. A job of two-phase commit has no transaction time-out.

    Raises:
        StoppedEarly: if `tell` says False.
    """
    story = scenario(arrangement)
    apps = tuple(a.but(program=looping(a.program)) for a in story.spec.applications)
    spec = story.spec.but(applications=apps)
    limited = tuple(app for app in apps if not app.two_phase_commit)
    settings = (
        "clock=timed",
        "delay_max_ms=0",
        "pause_max_ms=0",
        f"refresh_ms={LOOK_UP_MS}",
        *(f"{app.name}.work_ms={interval}" for app in apps),
        *Axis(LOCK, (lock,)).changes(spec, lock),
        *(f"{app.name}.transaction_timeout_ms={timeout}" for app in limited),
    )
    spec, chosen = changed(spec, design(WITH_KIP_939), settings)
    model = story.but(spec=spec).model(chosen, budget_of("expire_lock=1,time_out=1"))
    search = Search(model, (WrittenOnce(),))
    bounds = Bounds(states_max=TIMED_STATES_MAX, breaks_max=1)
    found = search.run(bounds, searching(tell))
    if found.stopped == CANCELLED:
        raise StoppedEarly
    broken = search.found.get(WrittenOnce.name)
    if broken is not None:
        return f"{broken.reason} (after {len(broken.actions)})"
    return HOLDS if found.complete else SO_FAR


def _timed(arrangement: str, interval: int, timeout: int, tell: Tell) -> tuple[Row, ...]:
    """Search one checkpoint interval and time-out against every lock duration."""
    words = tuple(timed(arrangement, interval, lock, timeout, tell) for lock in LOCKS)
    limited = not any(a.two_phase_commit for a in scenario(arrangement).spec.applications)
    limit = ms(timeout) if limited else "none (two-phase commit)"
    return ((ARRANGEMENTS[arrangement], ms(interval), limit, *words),)


ARRANGEMENT_PARTS = Parts(
    ("arrangement", "design", "accidents", *PROMISES, "searched", "what breaks"),
    tuple(
        Part(
            f"{ARRANGEMENTS[where]}, {label}, {faults or NO_ACCIDENT}",
            partial(_arrangement, label, Case(where, name, faults)),
        )
        for where in ARRANGEMENTS
        for label, name in OF_JOBS.items()
        for faults in OF_A_JOB
    ),
)
WHICH_ARRANGEMENT = Study(
    "arrangements",
    "Which arrangement of a Flink job is exactly once?",
    "FLIP-573 (draft); pull request 271 of the Flink connector; pull request 22357",
    "A job that reads a share group and writes a topic, as a program with its restart. A break that is the "
    "arrangement's own breaks under every design. A recovery that commits a second sink again is not modelled.",
    parts=ARRANGEMENT_PARTS,
)
TIMED_PARTS = Parts(
    ("arrangement", "checkpoint interval", TIMEOUT, *(f"lock {ms(lock)}" for lock in LOCKS)),
    tuple(
        Part(
            f"{ARRANGEMENTS[where]}, checkpoint every {ms(interval)}, time-out {ms(timeout)}",
            partial(_timed, where, interval, timeout),
        )
        for where in ARRANGEMENTS
        for interval in INTERVALS
        for timeout in (TIMEOUTS if where == STAGES_LATE else TIMEOUTS[-1:])
    ),
)
UNDER_WHICH_SETTINGS = Study(
    "arrangement-settings",
    "Under which checkpoint interval, lock duration and time-out is every record written once?",
    "FLIP-573 (draft), 'lock against checkpoint'; group.share.record.lock.duration.ms",
    "Every interleaving on the timed clock, late iteration, in which a lock and a transaction may run out once. The "
    "interval passes before the first commit; acknowledgements are staged before it, or at the checkpoint behind it.",
    parts=TIMED_PARTS,
)
STUDIES: tuple[Study, ...] = (WHICH_ITERATION, WHICH_ARRANGEMENT, UNDER_WHICH_SETTINGS)
