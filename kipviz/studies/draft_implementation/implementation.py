"""KIP-1289 as it is being implemented: which iteration keeps its properties, and which arrangement of a job does.

Each row is searched: an iteration of the draft in a small cluster with one fault, or a job's arrangement under a
design. If a property breaks, a smallest set of decisions of the repaired design with which it no longer breaks is
searched: all sets of one size are tried before larger ones. The extent of the search is stated: every interleaving, or
a number of states.
"""

from __future__ import annotations

from functools import partial
from itertools import combinations
from math import comb
from typing import TypeAlias

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.judging.repair import replay_under
from kipviz.checking.judging.verdicts import BREAKS, HOLDS, DesignVerdicts, judge, property_named
from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds
from kipviz.checking.single_run.runs import follow_found
from kipviz.checking.single_run.violation import Breaking, breaking
from kipviz.checking.timed.axes import LIMIT, LOCK, TIMEOUT, Axis
from kipviz.checking.timed.landscape import LOOK_UP_MS
from kipviz.cluster.timing.clock import ms
from kipviz.core.values import Value
from kipviz.designs.catalogue import REPAIRED, design
from kipviz.designs.design import Design, slot_named
from kipviz.designs.slot import Option
from kipviz.properties.written_once import WrittenOnce
from kipviz.scenarios.applications.connector_programs import looping
from kipviz.scenarios.library import scenario, searched_scenario
from kipviz.scenarios.setting_changes import apply_changes
from kipviz.studies.study import Part, Parts, Row, StoppedEarly, Study, Tell, content, searching

PROPERTY_NAMES = ("atomic", "no stuck transactions or records")
# The limit of states for a verdict: the largest case, a two-phase commit job that may crash, ends before it.
STATES_MAX = 400_000
APART, TOGETHER = "kip-1289-draft-small", "kip-1289-draft-small-together"
CLUSTERS = {APART: "source and state on two brokers", TOGETHER: "on one broker"}
EARLY, MIDDLE, LATE = "draft-early", "draft-middle", "draft-late"
# An iteration literally, and with what its own tests must have.
ITERATIONS: dict[str, str] = {
    "early, which stages only where its own broker coordinates": EARLY,
    "early, with the transaction coordinator and the next epoch": (
        f"{EARLY}+enlistment=transaction_coordinator+marker_epoch=equal_or_next"
    ),
    "middle": MIDDLE,
    "middle, with the next epoch": f"{MIDDLE}+marker_epoch=equal_or_next",
    "late": LATE,
    "repaired": "repaired",
}
FAULTS = ("", "time_out=1", "move_leader=1", "crash_client=1")
NOTHING, NO_FAULT, TIMERS = "-", "no fault", "timers that expired"


class Case(Value, frozen=True):
    """A case to search: a design in a scenario with some faults."""

    scenario: str
    design: str
    faults: str = ""

    @property
    def not_decided(self) -> str:
        """The verdict on a property that was not decided within the limit of states."""
        return f"not decided within {STATES_MAX:,} states"

    def judge(
        self, under: str, tell: Tell, properties: tuple[str, ...] = PROPERTY_NAMES
    ) -> DesignVerdicts:
        """Search the case under a design until a property breaks, or to the limit of states.

        Raises:
            StoppedEarly: if `tell` returns False.
        """
        asked = tuple(property_named(name) for name in properties)
        bounds = Bounds(states_max=STATES_MAX, breaks_max=1)
        budget = budget_of(self.faults)
        found = judge(self.scenario, under, budget, bounds, searching(tell), asked)
        if found.explored.cancelled:
            raise StoppedEarly
        return found


class FoundRepair(Value, frozen=True):
    """Decisions of the repaired design with which a case breaks no property, to the extent in `searched`; () if none.

    Every set of fewer decisions breaks the case, which a run shows; `smaller` is their number. The set is called a
    smallest one only if it is `decided`, that is if every interleaving with it was visited.
    """

    slots: tuple[str, ...] = ()
    searched: str = ""
    decided: bool = False
    smaller: int = 0

    @property
    def words(self) -> str:
        """The decisions, the extent of their search, and what is known of smaller sets."""
        if not self.slots:
            return "none"
        what = "a smallest one" if self.decided else "not shown to be one"
        tried = f"; each of the {self.smaller:,} smaller sets breaks" if self.smaller else ""
        return f"{' + '.join(self.slots)} ({what}: {self.searched}{tried})"


def searched_without_a_break(found: DesignVerdicts) -> str:
    """Return the extent of a search that found no violation, in words."""
    explored = found.explored
    if explored.complete and not explored.undecided:
        return f"no break in any interleaving, {explored.states:,} states"
    undecided = f", {explored.undecided:,} of them undecided" if explored.undecided else ""
    return f"no break within {explored.states:,} states{undecided}"


def breaks(found: DesignVerdicts) -> bool:
    """Return whether a property breaks."""
    return any(cell.verdict == BREAKS for cell in found.cells)


# What was searched with some decisions: the case without its design, the properties, and the option of every slot.
Tried: TypeAlias = dict[tuple[object, ...], DesignVerdicts]


class _Refuter:
    """A run that broke one set of decisions, replayed under others; once for all sets that agree in what the run asks."""

    def __init__(self, made: Breaking, slots: tuple[str, ...]) -> None:
        self._made, self._slots = made, slots
        # The questions of the run and their answers, and whether it broke with them.
        self._known: list[tuple[dict[str, str], bool]] = []

    def breaks(self, candidate: Design) -> bool:
        """Return whether the run also breaks its property under these decisions."""
        for asked, broke in self._known:
            if all(candidate.option(slot).name == option for slot, option in asked.items()):
                return broke
        asked = {}
        listened = candidate
        for slot in self._slots:
            option = candidate.option(slot)
            listened = listened.with_own(slot_named(slot), _record_questions(slot, option, asked))
        broke = replay_under(self._made, listened) is not None
        self._known.append((asked, broke))
        return broke


def _record_questions(slot: str, option: Option, asked: dict[str, str]) -> Option:
    """Return the option with a rule that records that it was asked."""

    def choose(*arguments: object) -> object:
        asked[slot] = option.name
        return option.choose(*arguments)

    return option.but(choose=choose)


class _Trials:
    """Sets of decisions tried in one case; a run that broke one can refute others without a search."""

    def __init__(self, case: Case, properties: tuple[str, ...], tell: Tell, tried: Tried) -> None:
        self.case, self.properties, self.tell, self.tried = case, properties, tell, tried
        name, *changes = case.design.split("+")
        self._base = design(name)
        self._choices = {s: option for s, _, option in (c.partition("=") for c in changes)}
        self._broken: list[_Refuter] = []
        spec = searched_scenario(case.scenario).spec
        self.slots = tuple(
            slot
            for slot, _, _ in design(case.design).differs_from(REPAIRED)
            if slot_named(slot).arises_in(spec)
        )

    def try_set(self, slots: tuple[str, ...]) -> FoundRepair:
        """Return the set if no violation was found with it, otherwise no slots."""
        filled = {slot: REPAIRED.option(slot).name for slot in slots}
        candidate = self._base.but(**(self._choices | filled))
        for at, known in enumerate(self._broken):
            if known.breaks(candidate):
                # The run that refuted last refutes most of the following sets.
                self._broken.insert(0, self._broken.pop(at))
                return FoundRepair()
        found = self._search_candidate(candidate)
        cell = next((each for each in found.cells if each.verdict == BREAKS), None)
        if cell is not None:
            run = follow_found(scenario(self.case.scenario), candidate, found.budget, cell.actions)
            self._broken.insert(0, _Refuter(breaking(run, cell.asked), self.slots))
            return FoundRepair()
        decided = found.explored.complete and not found.explored.undecided
        smaller = sum(comb(len(self.slots), size) for size in range(1, len(slots)))
        return FoundRepair(slots, searched_without_a_break(found), decided, smaller)

    def _search_candidate(self, candidate: Design) -> DesignVerdicts:
        chosen = (candidate.chosen, candidate.levels)
        place = (self.case.scenario, self.case.faults, self.properties, chosen)
        if place not in self.tried:
            self.tried[place] = self.case.judge(candidate.name, self.tell, self.properties)
        return self.tried[place]


def repair(
    case: Case,
    tell: Tell = content,
    known: tuple[str, ...] = (),
    properties: tuple[str, ...] = PROPERTY_NAMES,
    tried: Tried | None = None,
) -> FoundRepair:
    """Return a smallest set of slots that, filled as in the repaired design, breaks no property.

    Each search has the limit of states of a verdict; the answer states the extent of its own. There are no slots if the
    properties break with all of them. All sets of one size are tried before larger ones, so every smaller set than the
    answer breaks. Of one size, a set whose every interleaving was visited is preferred to an undecided one, and
    otherwise the first is taken. `tried` keeps the searches for other cases: two iterations with the same decisions are
    one design.

    `known` is the answer for the same case with fewer faults. A set that repairs this case also repairs that one, and
    every smaller set than `known` breaks that one. So `known` is also the answer here if every interleaving with it
    breaks nothing.

    Raises:
        StoppedEarly: if `tell` returns False.
    """
    trials = _Trials(case, properties, tell, {} if tried is None else tried)
    if not trials.try_set(trials.slots).slots:
        return FoundRepair()
    if known:
        again = trials.try_set(known)
        if again.decided:
            return again
    for size in range(1, len(trials.slots) + 1):
        first = FoundRepair()
        for slots in combinations(trials.slots, size):
            found = trials.try_set(slots)
            if found.decided:
                return found
            first = first if first.slots else found
        if first.slots:
            return first
    return FoundRepair()


def _cells(case: Case, found: DesignVerdicts) -> tuple[str, ...]:
    """Return the words of each property; if the search ended at a violation or a limit, the others are not decided."""
    undecided = "not asked further" if breaks(found) else case.not_decided
    decided = (BREAKS,) if breaks(found) else (BREAKS, HOLDS)
    return tuple(cell.words if cell.verdict in decided else undecided for cell in found.cells)


def _iteration(label: str, case: Case, tell: Tell) -> tuple[Row, ...]:
    found = case.judge(case.design, tell)
    repair_words = repair(case, tell).words if breaks(found) else NOTHING
    where = CLUSTERS[case.scenario]
    states, ran = f"{found.explored.states:,} states", found.explored.timers.short or NOTHING
    return (
        (label, where, case.faults or NO_FAULT, *_cells(case, found), states, ran, repair_words),
    )


def cases() -> tuple[tuple[str, Case], ...]:
    """Return every case of the first study: iterations, clusters and faults."""
    return tuple(
        (label, Case(cluster, name, faults))
        for label, name in ITERATIONS.items()
        for cluster in CLUSTERS
        for faults in FAULTS
    )


ITERATION_PARTS = Parts(
    (
        "iteration",
        "cluster",
        "faults",
        *PROPERTY_NAMES,
        "searched",
        TIMERS,
        "a smallest repair, and what was searched with it",
    ),
    tuple(
        Part(
            f"{label}, {CLUSTERS[case.scenario]}, {case.faults or NO_FAULT}",
            partial(_iteration, label, case),
        )
        for label, case in cases()
    ),
)
WHICH_ITERATION = Study(
    "implementation",
    "Which iteration of KIP-1289's draft implementation keeps its properties?",
    "pull request 22357 (draft implementation, seen in source)",
    "One transaction with the draft's own API, searched up to the first violation, and the fewest decisions of the "
    "repaired design with which nothing breaks. The iterations are drafts; where their source is silent, the reading is ours.",
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
# KIP-939 is not part of the pull request, and the first arrangement needs it.
WITH_KIP_939 = f"{LATE}+keep_prepared=next_epoch"
OF_JOBS = {"late": WITH_KIP_939, "repaired": "repaired"}
OF_A_JOB = ("", "crash_client=1", "expire_lock=1")


def _arrangement(label: str, case: Case, tell: Tell) -> tuple[Row, ...]:
    found = case.judge(case.design, tell)
    states, ran = f"{found.explored.states:,} states", found.explored.timers.short or NOTHING
    why = next((cell.reason for cell in found.cells if cell.verdict == BREAKS), NOTHING)
    where = ARRANGEMENTS[case.scenario]
    return ((where, label, case.faults or NO_FAULT, *_cells(case, found), states, ran, why),)


# Checkpoint interval: how long a batch is processed before the first commit of the program.
INTERVALS, LOCKS, TIMEOUTS = (10_000, 40_000), (15_000, 30_000, 60_000), (30_000, 60_000)
# Kafka accepts a delivery limit of 2 or more; 5 is its default.
LIMITS, LIMIT_OF_KAFKA = (2, 5), 5
TIMED_STATES_MAX = 20_000
TIMED_NOT_DECIDED = f"not decided within {TIMED_STATES_MAX:,} states"


def search_timed(
    arrangement: str,
    interval: int,
    lock: int,
    timeout: int,
    tell: Tell = content,
    *,
    limit: int = LIMIT_OF_KAFKA,
    restarts: int = 0,
) -> str:
    """Search one cell on the timed clock and return whether every record is written once, in words.

    A lock may expire as often as a record may be delivered, and a transaction as often if the job does not restart.
    With `restarts` the job may crash that often. A two-phase commit job has no transaction timeout.

    Raises:
        StoppedEarly: if `tell` returns False.
    """
    story = searched_scenario(arrangement)
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
        *Axis(LIMIT, (limit,)).changes(spec, limit),
        *(f"{app.name}.transaction_timeout_ms={timeout}" for app in limited),
    )
    spec, chosen = apply_changes(spec, design(WITH_KIP_939), settings)
    ends = f"crash_client={restarts}" if restarts else f"time_out={limit}"
    model = story.but(spec=spec).model(chosen, budget_of(f"expire_lock={limit},{ends}"))
    search = Search(model, (WrittenOnce(),))
    bounds = Bounds(states_max=TIMED_STATES_MAX, breaks_max=1)
    found = search.run(bounds, searching(tell))
    if found.cancelled:
        raise StoppedEarly
    broken = search.found.get(WrittenOnce.name)
    if broken is not None:
        return f"{broken.reason} (after {len(broken.actions)})"
    return HOLDS if found.complete else TIMED_NOT_DECIDED


def _search_timing(
    arrangement: str, interval: int, timeout: int, limit: int, tell: Tell
) -> tuple[Row, ...]:
    """Search one checkpoint interval, timeout and delivery limit against every lock duration."""
    words = tuple(
        search_timed(arrangement, interval, lock, timeout, tell, limit=limit) for lock in LOCKS
    )
    limited = not any(a.two_phase_commit for a in searched_scenario(arrangement).spec.applications)
    ends = ms(timeout) if limited else "none (two-phase commit)"
    return ((ARRANGEMENTS[arrangement], ms(interval), ends, str(limit), *words),)


# The maximum number of restarts of the job.
RESTARTS = (1, 2)
DELIVERIES = (2, 3)


def _restarting(arrangement: str, limit: int, tell: Tell) -> tuple[Row, ...]:
    """Search one delivery limit against every number of restarts, with a short interval and Kafka's lock.

    A cell that breaks with fewer restarts also breaks with more, if their own search is undecided.
    """
    shortest, lock, timeout = INTERVALS[0], LOCKS[1], TIMEOUTS[-1]
    words: list[str] = []
    for restarts in RESTARTS:
        found = search_timed(
            arrangement, shortest, lock, timeout, tell, limit=limit, restarts=restarts
        )
        broken = words and words[-1] not in (HOLDS, TIMED_NOT_DECIDED)
        words.append(words[-1] if broken and found == TIMED_NOT_DECIDED else found)
    return ((ARRANGEMENTS[arrangement], str(limit), *words),)


ARRANGEMENT_PARTS = Parts(
    ("arrangement", "design", "faults", *PROPERTY_NAMES, "searched", TIMERS, "what breaks"),
    tuple(
        Part(
            f"{ARRANGEMENTS[where]}, {label}, {faults or NO_FAULT}",
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
    "A job that reads a share group and writes a topic, as a program with its restart. What the arrangement itself "
    "breaks, it breaks under every design. A recovery that commits a second sink again is not modelled.",
    parts=ARRANGEMENT_PARTS,
)
TIMED_PARTS = Parts(
    ("arrangement", "checkpoint interval", TIMEOUT, LIMIT, *(f"lock {ms(lock)}" for lock in LOCKS)),
    tuple(
        Part(
            f"{ARRANGEMENTS[where]}, checkpoint every {ms(interval)}, time-out {ms(timeout)}, delivery limit {limit}",
            partial(_search_timing, where, interval, timeout, limit),
        )
        for where in ARRANGEMENTS
        for interval in INTERVALS
        for timeout in (TIMEOUTS if where == STAGES_LATE else TIMEOUTS[-1:])
        for limit in LIMITS
    ),
)
UNDER_WHICH_SETTINGS = Study(
    "arrangement-settings",
    "Under which checkpoint interval, lock duration, time-out and delivery limit is every record written once?",
    "FLIP-573 (draft), 'lock against checkpoint'; group.share.record.lock.duration.ms, group.share.delivery.count.limit",
    "Every interleaving on the timed clock, late iteration, in which locks and transactions may time out as often as a "
    "record may be delivered. The interval passes before the first commit; acknowledgements are staged before it, or at "
    "the checkpoint after it. Nothing crashes: arrangement-restarts has the crashes.",
    parts=TIMED_PARTS,
)
RESTART_PARTS = Parts(
    (
        "arrangement",
        LIMIT,
        *(f"at most {n} {'restarts' if n > 1 else 'restart'}" for n in RESTARTS),
    ),
    tuple(
        Part(
            f"{ARRANGEMENTS[where]}, delivery limit {limit}",
            partial(_restarting, where, limit),
        )
        for where in ARRANGEMENTS
        for limit in DELIVERIES
    ),
)
HOW_MANY_RESTARTS = Study(
    "arrangement-restarts",
    "How many restarts of a job does the delivery limit allow before a record is lost?",
    "FLIP-573 (draft); KIP-932, group.share.delivery.count.limit",
    "The timed clock, late iteration, a checkpoint every 10 s, a lock of 30 s. A run that crashes before it has staged a "
    "record costs one delivery, because the lock expires. At the limit the record is archived, and its output is lost.",
    parts=RESTART_PARTS,
)
STUDIES: tuple[Study, ...] = (
    WHICH_ITERATION,
    WHICH_ARRANGEMENT,
    UNDER_WHICH_SETTINGS,
    HOW_MANY_RESTARTS,
)
