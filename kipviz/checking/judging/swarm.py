"""Swarm testing: each run has a random cluster, and a random part of the faults is switched off.

A run in which every fault is possible spends its steps on crashes and seldom gets far. Runs in which most faults are
off go deep into the others (Groce et al., "Swarm Testing", ISSTA 2012). The runs are judged by the properties that a
complete design keeps whatever its application does, and none may end in an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kipviz.checking.judging.coverage import Coverage
from kipviz.checking.judging.faults import HOSTILE
from kipviz.cluster.actions import DeliverLate
from kipviz.cluster.specs.spec import BadSpec, ClusterSpec, FaultBudget
from kipviz.core.scheduler import Profile, Scheduler
from kipviz.core.values import Value, digest_of
from kipviz.designs.catalogue import design as design_named
from kipviz.properties.invariants import INVARIANTS
from kipviz.properties.verdict import BROKEN
from kipviz.scenarios.library import LIBRARY
from kipviz.scenarios.scenario import Scenario, Unplayable

DESIGNS = ("kafka", "repaired")
STEPS_MAX = 400
MOST = 3  # how often a fault that is switched on may happen
RECORDS_MAX = 6
# Stories whose application's own program does without what a property needs.
GIVES_UP = (
    "kip-447-group-id-only",
    "kip-447-one-bounce",  # the same here, and there is no second bounce
    "kip-447-two-bounces",  # before the second bounce no request names its member
    "kip-848-no-listener",
    "kip-447-offsets-beside",
    "kip-1310-two-threads",  # one thread commits without regard to the other one's work
    "kip-98-threads-stray-record",  # the same here: the record of the other thread is sent too late
    "kip-98-threads-stuck-commit",
    "kip-98-threads-timed-out",  # no thread waits for a worker that dies
    "kip-709-old-coordinator",  # an old client's offset commits name no member
    "kip-211-forgotten",  # a group that was away for a week starts from the beginning
)


# Below transaction.version 2 these properties are not judged after the first late request. A late batch may then join a
# later transaction, or none (KAFKA-12671, closed by KIP-890), and a late EndTxn or marker ends the next transaction of
# the same epoch (story kip-890-late-commit). Released Kafka breaks these properties in that way; without a late request
# it keeps them.
FROM_VERSION_2 = ("batch stays in its transaction", "nothing hangs", "one outcome")


class Drawn(Value, frozen=True):
    """One run of a swarm: a story's cluster with random changes, a design, and how it is run."""

    seed: int
    story: str
    design: str
    spec: ClusterSpec
    profile: Profile

    @property
    def switched_on(self) -> tuple[str, ...]:
        """The faults that can happen."""
        budget = self.spec.budget
        return tuple(name for name in budget.__struct_fields__ if getattr(budget, name))


class SwarmVerdict(Value, frozen=True):
    """The verdict of a run: "holds", "breaks" a property, or "error"; `step` is the step, or -1."""

    drawn: Drawn
    status: str
    broken: str = ""
    step: int = -1
    reason: str = ""
    steps: int = 0


class Dice:
    """Random numbers that depend only on a seed and on the name of the question."""

    def __init__(self, seed: int) -> None:
        """Keep the seed of a run."""
        self._seed = seed

    def number(self, what: str, sides: int) -> int:
        """Return a number from 0 to `sides` - 1."""
        return int.from_bytes(digest_of(f"swarm {self._seed} {what}".encode())[:8], "big") % sides

    def coin(self, what: str) -> bool:
        """Return True or False."""
        return self.number(what, 2) == 1


def draw_run(seed: int, designs: tuple[str, ...] = DESIGNS) -> Drawn:
    """Draw a run; the same seed and designs draw the same run on every machine.

    Raises:
        ValueError: if a design is unknown.
    """
    dice = Dice(seed)
    name = designs[dice.number("design", len(designs))]
    chosen = design_named(name)
    stories = tuple(story for story in LIBRARY if story.name not in GIVES_UP)
    first = dice.number("story", len(stories))
    for at in range(len(stories)):
        story = stories[(first + at) % len(stories)].searched
        budget = _budget(dice, story.spec)
        try:
            story.model(chosen, budget)
        except (Unplayable, BadSpec):
            continue  # try the next story if this one is not for the design
        spec = _valid(story.but(spec=story.spec.but(budget=budget)), name, dice)
        return Drawn(seed, story.name, name, spec, _profile(dice))
    raise ValueError(f"no story can be played under {name}")


def _budget(dice: Dice, spec: ClusterSpec) -> FaultBudget:
    """Switch off about half of the faults; a timed clock makes its own pauses."""
    names = FaultBudget.__struct_fields__
    most = {n: dice.coin(f"fault {n}") * (1 + dice.number(f"times {n}", MOST)) for n in names}
    return FaultBudget(**most | ({"pause": 0} if spec.clock.timed else {}))


def _profile(dice: Dice) -> Profile:
    """Draw how often each kind of action is tried; the kinds that a run needs are never switched off."""
    weights = []
    for kind, weight in HOSTILE.profile.weights:
        factor = 1 + dice.number(f"weight {kind}", 4)
        off = kind in ("refresh", "late", "read") and dice.coin(f"off {kind}")
        weights.append((kind, 0 if off else weight * factor))
    return Profile(f"swarm {dice.number('name', 2**32)}", tuple(weights))


def _valid(story: Scenario, design: str, dice: Dice) -> ClusterSpec:
    """Apply the random changes to a cluster in order; a change that makes it invalid is left out.

    The cluster has the feature levels that the design stands for.
    """
    spec, chosen = story.spec, design_named(design)
    for change in CHANGES:
        changed = change(spec, dice)
        try:
            story.but(spec=changed).model(chosen, changed.budget)
        except (Unplayable, BadSpec):
            continue
        spec = changed
    return story.but(spec=spec).model(chosen, spec.budget).spec


def _replication(spec: ClusterSpec, dice: Dice) -> ClusterSpec:
    return spec.but(replication="stepwise" if dice.coin("replication") else "instant")


def _leaders(spec: ClusterSpec, dice: Dice) -> ClusterSpec:
    """Let another replica lead some of the partitions."""
    placements = []
    for placement in spec.placements:
        copies = (placement.leader, *placement.others)
        turn = dice.number(f"leader {placement.partition}", len(copies))
        leader, *others = (*copies[turn:], *copies[:turn])
        placements.append(placement.but(leader=leader, others=tuple(others)))
    return spec.but(placements=tuple(placements))


def _records(spec: ClusterSpec, dice: Dice) -> ClusterSpec:
    """Change the number of records of each source."""
    records = tuple(
        (partition, first, tuple(f"r{n}" for n in range(1 + dice.number(partition, RECORDS_MAX))))
        for partition, first, _ in spec.records
    )
    return spec.but(records=records)


def _max_records(spec: ClusterSpec, dice: Dice) -> ClusterSpec:
    apps = (a.but(max_records=1 + dice.number(f"max {a.name}", 4)) for a in spec.applications)
    return spec.but(applications=tuple(apps))


def _in_flight(spec: ClusterSpec, dice: Dice) -> ClusterSpec:
    apps = (a.but(max_in_flight=1 + dice.number(f"flight {a.name}", 5)) for a in spec.applications)
    return spec.but(applications=tuple(apps))


def _fewer(spec: ClusterSpec, dice: Dice) -> ClusterSpec:
    """Remove one of several applications."""
    if len(spec.applications) < 2 or not dice.coin("fewer"):
        return spec
    gone = dice.number("gone", len(spec.applications))
    return spec.but(applications=tuple(a for n, a in enumerate(spec.applications) if n != gone))


# A change is made only if the cluster stays valid; they are tried in this order.
CHANGES: tuple[Callable[[ClusterSpec, Dice], ClusterSpec], ...] = (
    _replication,
    _leaders,
    _records,
    _max_records,
    _in_flight,
    _fewer,
)


def run(given: Drawn, steps_max: int = STEPS_MAX, coverage: Coverage | None = None) -> SwarmVerdict:
    """Make a run and judge it at every step; an error is a verdict, too."""
    chosen = design_named(given.design)
    step = 0
    try:
        model = chosen.model(given.spec)
        scheduler = Scheduler(given.seed, given.profile)
        world = model.initial()
        below_2, late = world.image.features.transaction_version < 2, False
        states: list[Any] = [invariant.initial(world) for invariant in INVARIANTS]
        for step in range(1, steps_max + 1):
            action = scheduler.choose(step, model.enabled(world), model.kind)
            if action is None:
                break
            outcome = model.step(world, action)
            if coverage is not None:
                coverage.take_in(action, outcome)
            world = outcome.world
            below_2 = below_2 or world.image.features.transaction_version < 2
            late = late or isinstance(action, DeliverLate)
            for at, invariant in enumerate(INVARIANTS):
                if below_2 and late and invariant.name in FROM_VERSION_2:
                    continue
                states[at] = invariant.observe(states[at], action, outcome)
                finding = invariant.finding(states[at])
                if finding.status == BROKEN:
                    return SwarmVerdict(
                        given, "breaks", invariant.name, step, finding.reason, steps=step
                    )
    except Exception as error:  # noqa: BLE001  one bad run must not end a swarm
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        return SwarmVerdict(given, "error", step=step, reason=reason, steps=step)
    return SwarmVerdict(given, "holds", steps=step)


def swarm(
    seed: int,
    runs: int,
    designs: tuple[str, ...] = DESIGNS,
    *,
    steps_max: int = STEPS_MAX,
    coverage: Coverage | None = None,
) -> Iterator[SwarmVerdict]:
    """Draw and judge runs, with seeds starting at `seed`.

    Raises:
        ValueError: if a design is unknown.
    """
    for number in range(seed, seed + runs):
        yield run(draw_run(number, designs), steps_max, coverage)
