"""One timeout or two: how long readers wait, in seconds, and which healthy work is aborted.

Every rival meets four situations: its writer dies, takes 5 minutes, has a stuck application thread while its sender
lives, or takes a checkpoint of 10 minutes. Each is searched exhaustively with a timed clock: messages arrive at once
and no process pauses, so the results are due to the time limits alone. The longest wait is measured from the append
that read_committed consumers cannot see to the marker that unblocks them.

NOT MODELLED: a request that informs the coordinator of a prepare (proposed in the discussion of KIP-939, left out by
it); with KIP-939 a transaction has no limit from its start.
"""

from __future__ import annotations

from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.specs.spec import ClusterSpec, FaultBudget
from kipviz.cluster.timing.clock import TIMED, Clock, ms
from kipviz.cluster.world import World
from kipviz.core.model import Outcome
from kipviz.core.values import Value, digest_of, encoding
from kipviz.designs.catalogue import design
from kipviz.messages.events import TimePassed, TransactionDecided
from kipviz.properties.verdict import HOLDS, Finding
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import at_levels
from kipviz.settings.broker_configs import TRANSACTION_MAX_TIMEOUT_MS
from kipviz.settings.client_configs import TRANSACTION_TIMEOUT_MS
from kipviz.studies.study import Study

HEARTBEAT_MS = 10_000
LONGEST_MS = TRANSACTION_MAX_TIMEOUT_MS.default
OUTPUT = "output-A-0"
FOR_EVER = -1


class Situation(Value, frozen=True):
    """The situation of a writer: how long it processes a batch, and whether its process may die."""

    name: str
    work_ms: int
    dies: bool = False


class Limits(Value, frozen=True):
    """How a rival limits a transaction; a `timeout_ms` of 0 is a two-phase commit without a limit."""

    label: str
    design: str
    timeout_ms: int
    heartbeat_ms: int = 0


class WorstOrder(Value, frozen=True):
    """The result of the worst order of events.

    `waits_ms` is -1 if no timer would ever unblock the readers. `commits` and `aborts` are whether some run commits or
    aborts.
    """

    waits_ms: int
    commits: bool
    aborts: bool
    states: int


SITUATIONS = (
    Situation("the writer dies", 10_000, dies=True),
    Situation("the writer is slow: 5 min", 300_000),
    Situation("the writer's thread is stuck, its sender lives", 3_600_000),
    Situation("a checkpoint of 10 min", 600_000),
)
RIVALS = (
    Limits("one timeout, Kafka's default of 60 s", "kafka", TRANSACTION_TIMEOUT_MS.default),
    Limits("one timeout, the 15 min that brokers allow", "kafka", LONGEST_MS),
    Limits("15 min, and a heartbeat every 10 s (KIP-1309)", "kip-1309", LONGEST_MS, HEARTBEAT_MS),
    Limits("no timeout: two-phase commit (KIP-939)", "kip-939", 0),
    Limits("no timeout, and a heartbeat every 10 s", "kip-1309", 0, HEARTBEAT_MS),
)


class _Wait(Value, frozen=True):
    """For how long readers have been waiting, in ms."""

    waited: int = 0

    @property
    def digest(self) -> bytes:
        """Sixteen bytes that distinguish two waits."""
        return digest_of(encoding(self.waited))


class _Watch:
    """An observer that never breaks: it counts the time for which the last stable offset was blocked."""

    name = "readers wait"
    sentence = "Readers wait for so long."

    def __init__(self) -> None:
        self.longest = 0
        self.stuck = False
        self.commits = False
        self.aborts = False

    def initial(self, world: World) -> _Wait:
        """Start without waiting readers."""
        return _Wait()

    def observe(self, state: _Wait, action: ClusterAction, outcome: Outcome) -> _Wait:
        """Add the time that passed while readers waited, and record how the transaction ends."""
        world: World = outcome.world
        waited = state.waited
        for event in outcome.events:
            if isinstance(event, TimePassed) and waited >= 0:
                waited += event.ms if _is_open(world) else 0
            elif isinstance(event, TransactionDecided):
                self.commits = self.commits or event.committed
                self.aborts = self.aborts or not event.committed
        self.longest = max(self.longest, waited)
        self.stuck = self.stuck or (_is_open(world) and not world.deadlines)
        return _Wait(waited if _is_open(world) else 0)

    def finding(self, state: _Wait) -> Finding:
        """Return that it holds."""
        return Finding(HOLDS)


def _is_open(world: World) -> bool:
    return world.logs[OUTPUT].first_unstable_offset is not None


def cluster(limits: Limits, situation: Situation) -> ClusterSpec:
    """Return the cluster of a rival in a situation: one producer that copies one record."""
    two_phase = not limits.timeout_ms
    plain = searched_scenario("kip-1309-dead-writer").spec
    app = plain.applications[0].but(
        transaction_timeout_ms=limits.timeout_ms or TRANSACTION_TIMEOUT_MS.default,
        two_phase_commit=two_phase,
        heartbeat_interval_ms=limits.heartbeat_ms,
        work_ms=situation.work_ms,
    )
    budget = FaultBudget(crash_client=int(situation.dies), time_out=1, run_out=1)
    clock = Clock(TIMED, delay_max_ms=0, pause_max_ms=0)
    return plain.but(applications=(app,), budget=budget, clock=clock)


def search_rival(limits: Limits, situation: Situation) -> WorstOrder:
    """Search a situation of a rival completely.

    Raises:
        AssertionError: if the search does not end within its bounds.
    """
    chosen = design(limits.design)
    spec = at_levels(cluster(limits, situation), chosen)
    model = chosen.model(spec)
    watch = _Watch()
    found = Search(model, (watch,)).run(Bounds(states_max=100_000))
    assert found.complete, found.sentence
    longest = FOR_EVER if watch.stuck else watch.longest
    return WorstOrder(longest, watch.commits, watch.aborts, found.states)


def words(what: WorstOrder, situation: Situation) -> str:
    """Render the result of a situation: how long readers wait at most, and whether work is lost."""
    waits = "without end" if what.waits_ms == FOR_EVER else ms(what.waits_ms)
    if situation.dies or situation.work_ms >= SITUATIONS[2].work_ms:
        return f"readers wait {waits}"
    ends = "commits" if what.commits and not what.aborts else "healthy work is aborted"
    return f"{ends}; readers wait {waits}"


def counting() -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return the table: a row for each rival, a column for each situation."""
    rows = []
    for limits in RIVALS:
        found = [(search_rival(limits, each), each) for each in SITUATIONS]
        states = sum(what.states for what, _ in found)
        cells = [words(what, each) for what, each in found]
        rows.append((limits.label, limits.design, *cells, f"{states:,} states"))
    heads = ("rival", "design", *(each.name for each in SITUATIONS), "searched")
    return heads, tuple(rows)


ONE_TIMEOUT = Study(
    "B21",
    "Is one timeout enough, or does a session need a heartbeat?",
    "KIP-1309 (draft); KIP-1310 2.4; KAFKA-20381",
    "How long readers wait behind a transaction at most, and which healthy transactions are aborted.",
    counting=counting,
)
