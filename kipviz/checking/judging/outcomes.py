"""How runs end: the completed runs of many seeds, or of every interleaving, grouped by outcome.

An outcome is what can be observed when a run is over: how many committed outputs each input record has, the state of
each record, and how many transactions committed and aborted. A run is over when only timers and faults are possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.checking.search.explore import ProgressTold, Search
from kipviz.checking.search.search_result import Bounds, Explored
from kipviz.checking.single_run import runs
from kipviz.checking.single_run.runs import Run
from kipviz.checking.single_run.seeded_run import BUSY, Task, model_of, moments
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.cluster.world import World
from kipviz.core.model import Model
from kipviz.core.model import Outcome as Step
from kipviz.core.table import Table
from kipviz.core.values import Part, Value, fingerprint
from kipviz.designs.catalogue import design as design_named
from kipviz.messages.events import BatchAppended, LeaderMoved, TransactionDecided
from kipviz.properties.facts import outputs
from kipviz.properties.facts.outputs import Open, Output
from kipviz.properties.verdict import HOLDS, Finding, States
from kipviz.records.record_name import name_record, place_of
from kipviz.records.share_group_state import RecordState
from kipviz.scenarios.library import scenario as scenario_named
from kipviz.scenarios.library import searched_scenario

CUT = "cut off"
DONE = "done"  # before the share-partition's start offset
UNKNOWN = "in no leader's memory"
LOOKUP_MAX = 50


class Ended(Value, frozen=True):
    """One outcome: the committed outputs and the state of each record, and the transactions' outcomes.

    `committed` and `aborted` count transactions. `how` is "" or the reason why the run did not end by itself: "cut off"
    at the last step, or the model's error.
    """

    outputs: tuple[tuple[str, int], ...]
    records: tuple[tuple[str, str], ...]
    committed: int
    aborted: int
    how: str = ""


class Group(Value, frozen=True):
    """All runs with one outcome: how many, and a shortest one to open.

    The shortest one is a seeded run (`task`) or a list of actions.
    """

    ended: Ended
    count: int
    steps: int
    task: Task | None = None
    actions: tuple[ClusterAction, ...] = ()


class Outcomes(Value, frozen=True):
    """The outcomes of a scenario under a design, most frequent first.

    `sentence` names what was counted: seeded runs, or final states of every interleaving.
    """

    scenario: str
    design: str
    budget: FaultBudget
    groups: tuple[Group, ...]
    sentence: str

    def run(self, group: Group) -> Run:
        """Return a shortest run of a group, so that it can be opened."""
        if group.task is not None:
            return runs.replay(group.task)
        story, chosen = scenario_named(self.scenario), design_named(self.design)
        return runs.follow_found(story, chosen, self.budget, group.actions)


class Tally(Part, frozen=True):
    """The decisions so far: committed outputs by record, transactions committed and aborted."""

    open: Open = Table.of()
    committed: Table[str, int] = Table.of()
    decided: tuple[int, int] = (0, 0)


class Decided:
    """A property that never breaks: it only records the decisions."""

    name = "decided"
    sentence = "What was decided is remembered."

    def initial(self, world: World) -> Tally:
        """Start without decisions."""
        return Tally()

    def observe(self, state: Tally, action: ClusterAction, outcome: Step) -> Tally:
        """Record one step."""
        for event in outcome.events:
            match event:
                case BatchAppended():
                    state = state.but(open=outputs.fold_batch(state.open, event))
                    if event.control and outcome.world.image.features.transaction_version < 2:
                        opened, ended = outputs.end_late_batches(state.open, event)
                        state = _count_outputs(state.but(open=opened), ended)
                case TransactionDecided():
                    state = _count_decision(state, event)
                case LeaderMoved(partition=partition):
                    opened = outputs.forget_truncated(state.open, partition, outcome.world)
                    state = state.but(open=opened)
                case _:
                    pass
        return state

    def finding(self, state: Tally) -> Finding:
        """Return that it holds."""
        return Finding(HOLDS)


_DECIDED = Decided()


def run_seeds(
    tasks: Iterable[Task], go_on: Callable[[int], bool] = lambda _: True
) -> dict[Ended, list[tuple[Task, int]]]:
    """Make seeded runs and group them by outcome; `go_on` gets the number of completed runs.

    Raises:
        ValueError: if a task names an unknown scenario, design or fault profile.
    """
    found: dict[Ended, list[tuple[Task, int]]] = {}
    for done, task in enumerate(tasks):
        if not go_on(done):
            break
        model = model_of(task)
        world, tally, steps, how = model.initial(), Tally(), 0, ""
        try:
            for moment in moments(task, model):
                world, steps = moment.outcome.world, moment.step
                tally = _DECIDED.observe(tally, moment.action, moment.outcome)
            how = CUT if steps == task.steps_max and not is_over(model, world) else ""
        except Exception as error:
            if not steps:
                raise
            how = f"the model failed: {type(error).__name__}"
        found.setdefault(_describe_end(world, tally, how), []).append((task, steps))
    return found


def group_seeds(
    scenario: str,
    design: str,
    faults: str,
    seeds: Iterable[int],
    go_on: Callable[[int], bool] = lambda _: True,
) -> Outcomes:
    """Group seeded runs of a fault profile by outcome.

    Raises:
        ValueError: if scenario, design or profile is unknown, or a seed is not an integer.
    """
    whole = True

    def goes_on(done: int) -> bool:
        nonlocal whole
        whole = go_on(done)
        return whole

    found = run_seeds((Task(scenario, design, faults, seed) for seed in seeds), goes_on)
    groups = []
    for ended, made in found.items():
        task, steps = min(made, key=lambda pair: (pair[1], pair[0].seed))
        groups.append(Group(ended, len(made), steps, task))
    count = sum(group.count for group in groups)
    budget = model_of(groups[0].task).spec.budget if groups and groups[0].task else FaultBudget()
    sentence = f"{count:,} seeded runs, {faults}{'' if whole else ', stopped before the others'}"
    return Outcomes(scenario, design, budget, _sort_groups(groups), sentence)


def group_interleavings(
    scenario: str,
    design: str,
    budget: FaultBudget = FaultBudget(),  # noqa: B008  a value never changes
    bounds: Bounds = Bounds(),  # noqa: B008  the same
    progress: ProgressTold | None = None,
) -> Outcomes:
    """Group the final states of every interleaving by outcome.

    Raises:
        ValueError: if scenario or design is unknown, or the design lacks what the scenario needs.
    """
    model = searched_scenario(scenario).model(design_named(design), budget)
    finals, explored = endings(model, bounds, progress)
    groups = [
        Group(ended, times, len(actions), None, actions)
        for ended, (times, actions) in finals.items()
    ]
    count = sum(group.count for group in groups)
    size = f"{explored.states:,} states"
    size = size if explored.complete else f"{size}, not complete ({explored.stopped})"
    return Outcomes(
        scenario, design, budget, _sort_groups(groups), f"{count:,} final states of {size}"
    )


def endings(
    model: ClusterModel, bounds: Bounds, progress: ProgressTold | None = None
) -> tuple[dict[Ended, tuple[int, tuple[ClusterAction, ...]]], Explored]:
    """Search a model and return, for each outcome, the number of final states and a shortest run."""
    search = _Finals(model)
    explored = search.run(bounds, progress)
    found = {
        ended: (count, search.story(number)) for ended, (count, number) in search.finals.items()
    }
    return found, explored


class _Finals(Search):
    """A search without properties that records the states in which a run is over."""

    def __init__(self, model: ClusterModel) -> None:
        self.finals: dict[Ended, tuple[int, int]] = {}
        super().__init__(model, (_DECIDED,))

    def note(self, number: int, world: World, states: States, depth: int) -> None:
        """Record a final state; the search is breadth first, so the first state of an outcome has a shortest run."""
        if is_over(self.model, world):
            ended = _describe_end(world, states[0])
            count, first = self.finals.get(ended, (0, number))
            self.finals[ended] = (count + 1, first)
        super().note(number, world, states, depth)


def is_over(model: Model, world: World) -> bool:
    """Return whether only timers, faults, and lookups that change nothing are possible."""
    enabled = model.enabled(world)
    if any(action.KIND in BUSY for action in enabled):
        return False
    return all(_finds_nothing(model, world, a) for a in enabled if a.KIND == "refresh")


def _finds_nothing(model: Model, world: World, lookup: ClusterAction) -> bool:
    """Return whether a leader that looks up a transactional acknowledgement ends in the state it started from."""
    after = model.step(world, lookup).world
    for _ in range(LOOKUP_MAX):
        busy = next((a for a in model.enabled(after) if a.KIND in BUSY), None)
        if busy is None:
            break
        after = model.step(after, busy).world
    return bool(model.search_key(after) == model.search_key(world))


def _describe_end(world: World, tally: Tally, how: str = "") -> Ended:
    known: dict[str, str] = {}
    starts: dict[str, int] = {}
    for role in world.roles.values():
        if isinstance(role, ShareLeader):
            for share in role.shares.values():
                starts[share.partition] = max(starts.get(share.partition, 0), share.start_offset)
                for offset, record in share.records.items():
                    known[name_record(share.partition, offset)] = record.state.name
    records = []
    for name in _sources(world):
        partition, offset = place_of(name)
        if partition not in starts:
            state = UNKNOWN
        elif offset < starts[partition]:
            state = DONE
        else:
            state = known.get(name, RecordState.AVAILABLE.name)
        records.append((name, state))
    counted = tuple((name, tally.committed.get(name, 0)) for name, _ in records)
    return Ended(counted, tuple(records), *tally.decided, how)


def _sources(world: World) -> list[str]:
    """Return the input records that applications read, by partition and offset."""
    names = []
    for partition in sorted({app.consumer.partition for app in world.applications.values()}):
        log = world.logs[partition]
        names += [
            name_record(partition, offset)
            for batch in log.batches
            for offset in range(batch.base_offset, batch.base_offset + len(batch.records))
        ]
    return names


def _count_decision(state: Tally, event: TransactionDecided) -> Tally:
    opened, ended = outputs.end_transaction(state.open, event)
    commits, aborts = state.decided
    counts = (commits + event.committed, aborts + (not event.committed))
    return _count_outputs(state.but(open=opened, decided=counts), ended)


def _count_outputs(state: Tally, ended: tuple[Output, ...]) -> Tally:
    committed = state.committed
    for record, _ in ended:
        committed = committed.set(record, committed.get(record, 0) + 1)
    return state.but(committed=committed)


def _sort_groups(groups: list[Group]) -> tuple[Group, ...]:
    return tuple(sorted(groups, key=lambda g: (-g.count, g.steps, fingerprint(g.ended))))
