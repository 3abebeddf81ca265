"""One seeded run and its verdict: the unit of work of a campaign.

Plain Python: the same task has the same verdict in a loop, in a pool and on a Spark worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.checking.judging import faults as profiles
from kipviz.checking.search.liveness import FOR_EVER, settle
from kipviz.checking.single_run.quiescence import TimersAtRest, raise_budget
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.behaviour.catalogue import label
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.world import World
from kipviz.core.model import Event, Outcome
from kipviz.core.scheduler import Scheduler
from kipviz.core.values import Value
from kipviz.designs.catalogue import design
from kipviz.designs.design import Design
from kipviz.messages.events import (
    BatchAppended,
    MessageDelivered,
    RecordsMoved,
    SharePartitionLoaded,
    TransactionDecided,
    TransactionMoved,
)
from kipviz.properties.atomic import silent_sources
from kipviz.properties.harm import Harm
from kipviz.properties.pending import NothingPending
from kipviz.properties.verdict import BROKEN, States
from kipviz.records.batches import DataRecord
from kipviz.records.record_name import place_of
from kipviz.records.share_group_state import RecordState
from kipviz.records.transaction_state import TransactionState
from kipviz.scenarios.applications.program_faults import THE_PROGRAM, blame_for_harm
from kipviz.scenarios.library import scenario, searched_scenario
from kipviz.scenarios.scenario import PROPERTIES, Scenario

# The kinds of actions that a run still has to do by itself; without any of them only faults are possible.
BUSY = ("application", "sender", "deliver", "replicate", "load", "repair")
DONE = (RecordState.ACKNOWLEDGED.name, RecordState.ARCHIVED.name)
# A campaign finishes one cell before the next, and a model remembers up to 40,000 steps.
MODELS_MAX = 8
STUCK = NothingPending.name
PROGRAM = "program"


class Task(Value, frozen=True):
    """A run to make: scenario, design, fault profile and seed."""

    scenario: str
    design: str
    faults: str
    seed: int
    steps_max: int = 600


class Verdict(Value, frozen=True):
    """The verdict on a run.

    `status` is "holds", "breaks", "program" or "error"; `broken` names the property, `step` the step at which it broke
    (-1: none, or the end for "no stuck transactions or records"). "program" means that the story's own program breaks
    it under every design (`kipviz.scenarios.applications.program_faults`) and that the design broke nothing else.
    """

    task: Task
    status: str
    broken: str = ""
    step: int = -1
    reason: str = ""
    steps: int = 0
    transactions: int = 0
    fingerprint: str = ""


class EventRow(Value, frozen=True):
    """One event of a run, flat, as an event log stores it."""

    scenario: str
    design: str
    faults: str
    seed: int
    step: int
    kind: str
    actor: str = ""
    source: str = ""
    offset: int = -1
    state: str = ""
    delivery_count: int = -1
    transactional_id: str = ""
    producer_id: int = -1
    producer_epoch: int = -1
    committed: int = -1
    text: str = ""


class SeededStep(Value, frozen=True):
    """One step of a seeded run: the action, its outcome, and the properties' memory after it."""

    step: int
    before: World
    action: ClusterAction
    outcome: Outcome
    observations: States


def moments(task: Task, model: ClusterModel | None = None) -> Iterator[SeededStep]:
    """Make a run, one step at a time, until nothing is left to do or steps_max is reached.

    `model` replaces the task's own model, for example with one whose rules are observed.

    When nothing new happens by itself, the timers that are set expire (`checking.single_run.quiescence`). The run is
    over when none is left.

    Raises:
        ValueError: if the task names an unknown scenario, design or fault profile, or its seed or steps_max is not an
            integer.
    """
    model, dice = model or model_of(task), _dice(task)
    resting = TimersAtRest(model)
    world = model.initial()
    states = tuple(p.initial(world) for p in PROPERTIES)
    for step in range(1, task.steps_max + 1):
        enabled = model.enabled(world)
        weigh: Callable[[ClusterAction], str] = model.kind
        if not any(a.KIND in BUSY for a in enabled) and resting.rests(world):
            enabled, weigh = resting.at_rest(world), _at_rest
            if not enabled:
                return
        action = dice.choose(step, enabled, weigh)
        if action is None:
            return
        outcome = resting.step(world, action)
        states = tuple(
            p.observe(s, action, outcome) for p, s in zip(PROPERTIES, states, strict=True)
        )
        yield SeededStep(step, world, action, outcome, states)
        world = outcome.world


def model_of(task: Task) -> ClusterModel:
    """Return the model that a task runs.

    Raises:
        ValueError: if the task names an unknown scenario, design or fault profile.
    """
    chosen, by = scenario(task.scenario), design(task.design)
    budget = profiles.faults(task.faults).budget
    names = (task.scenario, task.design, task.faults)
    known = _MODELS.get(names)
    # A name may refer to another story or design than before: a reader's own one.
    if known is None or known[0] is not chosen or known[1] != by:
        if len(_MODELS) >= MODELS_MAX:
            _MODELS.clear()
        calm = chosen.spec.clock.timed  # a timed clock makes its own pauses
        model = chosen.searched.model(by, budget.but(pause=0) if calm else budget)
        known = _MODELS[names] = (chosen, by, model.remembering())
    return known[2]


# One model for all runs of a cell, which remembers the results of steps.
_MODELS: dict[tuple[str, str, str], tuple[Scenario, Design, ClusterModel]] = {}


def _at_rest(_: ClusterAction) -> str:
    """Weigh a timer in a quiescent world as work: whatever weight the profile gives to races, it expires in the end."""
    return "deliver"


def replay_model(task: Task, actions: tuple[ClusterAction, ...]) -> ClusterModel:
    """Return a model in which a task's run can be stepped: its budget allows the timers that expired by themselves."""
    model = model_of(task)
    budget = raise_budget(model.spec.budget, actions)
    return searched_scenario(task.scenario).model(design(task.design), budget)


def _dice(task: Task) -> Scheduler:
    if type(task.steps_max) is not int or task.steps_max < 0:
        raise ValueError(f"steps_max must be a whole number of at least 0, not {task.steps_max!r}")
    return Scheduler(task.seed, profiles.faults(task.faults).profile)


def run(task: Task) -> Verdict:
    """Make a run and judge it; an error is a verdict, too.

    Raises:
        ValueError: if the task names an unknown scenario, design or fault profile, or its seed or steps_max is not an
            integer.
    """
    model = model_of(task)
    _dice(task)
    world = model.initial()
    states = tuple(p.initial(world) for p in PROPERTIES)
    step = transactions = 0
    broken: _Violation | None = None
    by_program: _Violation | None = None
    judged: States = (None,) * len(states)
    try:
        for moment in moments(task):
            step, world, states = moment.step, moment.outcome.world, moment.observations
            transactions += _count_commits(moment.outcome.events)
            # Most steps leave what the properties remember unchanged.
            for found in _find_breaks(states, judged, step) if broken is None else ():
                if not blame_for_harm(model.spec, found.harm):
                    broken = found
                    break
                by_program = by_program or found
            judged = states
        if broken is None and (stuck := _find_stuck(model, world, states)):
            if blame_for_harm(model.spec, stuck.harm):
                by_program = by_program or stuck
            else:
                broken = stuck
    except Exception as error:  # noqa: BLE001  one bad run must not end a campaign
        reason = f"{type(error).__name__} at step {step + 1}: {error}".splitlines()[0]
        return Verdict(task, "error", reason=reason, steps=step, transactions=transactions)
    mark = world.digest.hex()
    if broken is None and by_program is not None:
        name, at, reason = by_program.property_name, by_program.step, by_program.reason
        reason = f"{reason}; {THE_PROGRAM}: {blame_for_harm(model.spec, by_program.harm)}"
        return Verdict(task, PROGRAM, name, at, reason, step, transactions, mark)
    if broken is None:
        return Verdict(task, "holds", steps=step, transactions=transactions, fingerprint=mark)
    name, at, reason = broken.property_name, broken.step, broken.reason
    return Verdict(task, "breaks", name, at, reason, step, transactions, mark)


class _Violation(Value, frozen=True):
    """A property that a run breaks, the step (-1: at its end), the reason, and what it costs."""

    property_name: str
    step: int
    reason: str
    harm: Harm | None


# The kind of a row which states that a partition's records are acknowledged without an output.
NO_OUTPUT = "no_output_expected"


def rows(task: Task) -> Iterator[EventRow]:
    """Make a run and yield all its events as rows of an event log.

    Raises:
        ValueError: if the task names an unknown scenario, design or fault profile, or its seed or steps_max is not an
            integer.
    """
    base = EventRow(task.scenario, task.design, task.faults, task.seed, 0, "")
    step, model = 0, model_of(task)
    for source in silent_sources(model.initial()):
        yield base.but(kind=NO_OUTPUT, source=source, text="its reader produces no output")
    known: dict[tuple[str, int], str] = {}
    for moment in moments(task, model):
        step = moment.step
        text = label(moment.before, moment.action)
        yield base.but(step=step, kind="action", actor=moment.action.KIND, text=text)
        for event in moment.outcome.events:
            for row in _rows_of(base.but(step=step), event):
                known |= {(row.source, row.offset): row.state} if row.state else {}
                yield row
            if isinstance(event, SharePartitionLoaded):
                yield from _loaded_states(base.but(step=step), event, moment.outcome.world, known)
    yield base.but(step=step + 1, kind="run_ended")


def _loaded_states(
    base: EventRow, event: SharePartitionLoaded, world: World, known: dict[tuple[str, int], str]
) -> Iterator[EventRow]:
    """Yield the states in which a new share-partition leader finds the records.

    Records below the start offset are done: a pending transactional acknowledgement was acknowledged, any other record
    was archived. So a log does not end with a state that only a crashed leader held.
    """
    base = base.but(kind="record_state", source=event.partition, text="found by a new leader")
    found: dict[int, tuple[RecordState, int]] = {}
    start = event.start_offset
    for role in world.roles.values():
        if isinstance(role, ShareLeader):
            for share in role.shares.values():
                if (share.partition, share.group_id) == (event.partition, event.group_id):
                    start = max(start, share.start_offset)
                    found |= {o: (r.state, r.delivery_count) for o, r in share.records.items()}
    for (source, offset), believed in tuple(known.items()):
        if source == event.partition and offset < start and believed not in DONE:
            staged = believed == RecordState.TX_PENDING.name
            done = RecordState.ACKNOWLEDGED if staged else RecordState.ARCHIVED
            found.setdefault(offset, (done, -1))
    for offset, (state, count) in sorted(found.items()):
        known[event.partition, offset] = state.name
        yield base.but(offset=offset, state=state.name, delivery_count=count)


def _count_commits(events: tuple[Event, ...]) -> int:
    count = 0
    for event in events:
        if isinstance(event, TransactionMoved):
            count += event.after is TransactionState.COMPLETE_COMMIT
    return count


def _find_breaks(states: States, judged: States, step: int) -> Iterator[_Violation]:
    """Yield the breaks that the properties' states show, except those that were judged before."""
    for prop, state, before in zip(PROPERTIES, states, judged, strict=True):
        if state is before:
            continue
        finding = prop.finding(state)
        if finding.status == BROKEN:
            yield _Violation(prop.name, step, finding.reason, finding.harm)


def _find_stuck(model: ClusterModel, world: World, states: States) -> _Violation | None:
    settled = settle(model, world, states[1])
    if settled.answer != FOR_EVER:
        return None
    return _Violation(STUCK, -1, settled.for_ever, settled.harm)


def _rows_of(base: EventRow, event: Event) -> Iterator[EventRow]:
    match event:
        case BatchAppended():
            for record in event.records:
                if isinstance(record, DataRecord) and record.origin and event.producer_id >= 0:
                    source, offset = place_of(record.origin)
                    yield base.but(
                        kind="output_appended",
                        source=source,
                        offset=offset,
                        producer_id=event.producer_id,
                        producer_epoch=event.producer_epoch,
                        actor=event.partition,
                    )
        case TransactionDecided():
            yield base.but(
                kind="transaction_decided",
                transactional_id=event.transactional_id,
                producer_id=event.producer_id,
                producer_epoch=event.producer_epoch,
                committed=int(event.committed),
            )
        case RecordsMoved():
            yield base.but(
                kind="record_state",
                actor=event.member_id,
                source=event.partition,
                offset=event.first,
                state=event.after.name,
                delivery_count=event.delivery_count,
                producer_id=event.producer_id,
                producer_epoch=event.producer_epoch,
                text=event.because,
            )
        case SharePartitionLoaded():
            yield base.but(
                kind="share_partition_loaded", source=event.partition, offset=event.start_offset
            )
        case MessageDelivered():
            yield base.but(
                kind="message_delivered",
                actor=f"B{event.broker}" if event.way == "request" else event.source,
                text=type(event.message).__name__,
            )
        case _:
            pass
