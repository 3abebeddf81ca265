"""Exhaustive search: every interleaving of a small cluster, breadth first.

The first counterexample found is a shortest one. A state of the search is the world together with what the properties
remember, so that a verdict never depends on the path. Whether something is pending forever is decided on the finished
graph: no path without a new fault leads from that state to one where nothing is pending.

A search that a bound or a cancellation stops keeps everything. Run again, it continues where it stopped, in memory or
from a file (`checking.search.saved_search`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

from kipviz.checking.search import memory
from kipviz.checking.search.graph import NOWHERE, Graph
from kipviz.checking.search.liveness import ORDER as FREE_KINDS
from kipviz.checking.search.reductions import Reduction
from kipviz.checking.search.search_result import (
    CANCELLED,
    Bounds,
    Counterexample,
    Explored,
    Stop,
    Stopped,
)
from kipviz.checking.search.unresolved import Forever
from kipviz.checking.single_run.quiescence import TimersAtRest, with_timers_at_rest
from kipviz.checking.single_run.timers_ran import TimersRan, timer_of, timers_ran
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.abstraction import profile_of
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.cluster.timing.clock import Clock
from kipviz.core.interning import Alike
from kipviz.core.model import Model
from kipviz.core.serialization import NotAValue
from kipviz.core.values import digest_of
from kipviz.designs.own_rule import BadRule
from kipviz.properties.pending import NothingPending
from kipviz.properties.verdict import BROKEN, HOLDS, Finding, Property, States
from kipviz.scenarios.scenario import PROPERTIES

ProgressTold = Callable[[int, int], bool]
Waiting = tuple[int, Any, States, int]

PROGRESS_EVERY = 256
FULL_STATES_MAX = 100_000


def explore(
    model: Model,
    states_max: int = 200_000,
    progress: ProgressTold | None = None,
    reductions: Iterable[Reduction] = (),
    properties: tuple[Property, ...] = PROPERTIES,
) -> Explored:
    """Visit every state that a model can reach.

    `progress` is called with (states, depth) before every 256th state and during the judgement of what is pending
    forever. If it returns False, the search stops and keeps what it found.

    Raises:
        ValueError: if states_max is not an integer of at least 1, or a reduction does not fit the model.
    """
    search = Search(model, properties, reductions)
    return search.run(Bounds(states_max=states_max), progress)


class DigestsCollide(Exception):
    """Two different states have the same digest; the message states after how many states."""


class _PropertyRaised(Exception):
    """A property raised an error instead of judging."""

    def __init__(self, name: str, error: Exception) -> None:
        super().__init__(f"property {name!r} raised {_sentence_of(error)}")


class _PropertyForgets(Exception):
    """The memory of a property is not a value by which states can be distinguished."""

    def __init__(self, name: str, state: Any) -> None:
        kind = type(state).__name__
        super().__init__(f"property {name!r} remembers a {kind}: it has to be a Part or a Table")


class Search:
    """A search that can be stopped at any moment and continued.

    A cluster is searched with a memory of the results of steps (`cluster.step_memory`). Set `remembers` to False for a
    model whose rules are observed. `full_states` keeps up to 100,000 states themselves and compares them whenever two
    digests are equal, which proves the digests correct for that space.
    """

    def __init__(
        self,
        model: Model,
        properties: tuple[Property, ...] = PROPERTIES,
        reductions: Iterable[Reduction] = (),
        *,
        full_states: bool = False,
        remembers: bool = True,
    ) -> None:
        """Start with the initial state.

        Raises:
            ValueError: if a reduction does not fit the model.
        """
        if remembers and type(model) is ClusterModel:
            model = model.remembering()
        self.model = with_timers_at_rest(model)
        self.properties = properties
        self.reductions = tuple(reductions)
        self.graph = Graph()
        self.queue: deque[Waiting] = deque()
        self.found: dict[str, Counterexample] = {}
        self.transitions = 0
        self.depth = 0
        # The name of each timer that expired, and when.
        self.noted: set[tuple[str, str]] = set()
        self._failure: Stopped | None = None
        self._forever: Forever | None = None
        self._full: list[tuple[Any, States]] | None = [] if full_states else None
        self._shared = model.share_tables
        self._alike = Alike(_of_states)
        self.progress_at = _place_of(NothingPending.name, properties)
        for reduction in self.reductions:
            reduction.fit(model, full_states=full_states)
        self._renamed = next((r.key for r in self.reductions if r.key is not None), None)
        self._alone = next((r.alone for r in self.reductions if r.alone is not None), None)
        self._start()

    def run(self, bounds: Bounds = Bounds(), progress: ProgressTold | None = None) -> Explored:  # noqa: B008  a value never changes
        """Search until every state is visited, a bound is reached or `progress` returns False."""
        stopped = self._failure or self._spread(bounds, progress)
        undecided = 0
        if not stopped and self.progress_at >= 0:
            if self._forever is None:
                self._forever = Forever(self, self.progress_at)
            stopped = None if self._forever.judge(self._asking(progress)) else CANCELLED
            undecided = self._forever.undecided
        return Explored(
            len(self.graph),
            self.transitions,
            self.depth,
            stopped is None,
            tuple(self.found[p.name] for p in self.properties if p.name in self.found),
            undecided,
            "" if stopped is None else stopped.words,
            tuple(r.name for r in self.reductions),
            clock_of(self.model),
            self.timers,
            abstraction_of(self.model),
            None if stopped is None else stopped.by,
        )

    @property
    def timers(self) -> TimersRan:
        """The timers that have expired so far."""
        return timers_ran(self.noted, asks_for_ever=self.progress_at >= 0)

    # -- the levels ----------------------------------------------------------------------------

    def _start(self) -> None:
        world = self.model.initial()
        try:
            states = tuple(p.initial(world) for p in self.properties)
            key = self.key(world, states)
            number = self.graph.add(key, NOWHERE, 0)
            self._keep(number, world, states)
            self.note(number, world, states, 0)
        except Exception as error:  # noqa: BLE001  bad input is an answer, not a crash
            known = isinstance(error, _PropertyRaised | _PropertyForgets)
            why = str(error) if known else _sentence_of(error)
            self._failure = Stopped(Stop.FAILED, f"the initial state cannot be judged: {why}")

    def _spread(self, bounds: Bounds, progress: ProgressTold | None) -> Stopped | None:
        """Visit the waiting states level by level; return what stopped it, or None if none is left."""
        room, visited, queue = bounds.memory(), 0, self.queue
        while queue:
            number, world, states, depth = queue[0]
            reached = bounds.find_limit(len(self.graph), depth, len(self.found))
            if reached is not None:
                return reached
            if visited % PROGRESS_EVERY == 0:
                if room is not None and memory.used_bytes() > room:
                    return Stopped(Stop.MEMORY, f"the memory bound of {memory.in_words(room)}")
                if progress is not None and not progress(len(self.graph), depth):
                    return CANCELLED
            visited += 1
            self.depth = depth
            try:
                self._expand(number, world, states, depth)
            except Exception as error:  # noqa: BLE001  what was found so far is kept
                steps = len(self.graph.way(number)) + 1
                why = f"after {steps} steps {render_error(error)}"
                self._failure = Stopped(Stop.FAILED, why)
                return self._failure
            queue.popleft()
        return None

    def _expand(self, number: int, world: Any, states: States, depth: int) -> None:
        graph, model = self.graph, self.model
        for at, action, after, observed in self.successors(world, states):
            self.transitions += 1
            key = self.key(after, observed)
            known = graph.numbers.get(key)
            if known is None:
                next_number = graph.add(key, number, at)
                self._keep(next_number, after, observed)
                self.note(next_number, after, observed, depth + 1)
            else:
                next_number = known
                self._compare(known, after, observed)
            if model.kind(action) in FREE_KINDS:
                graph.link(number, next_number)

    def successors(self, world: Any, states: States) -> Iterator[tuple[int, Any, Any, States]]:
        """Yield the possible successors, or only one step if nothing can interfere with it."""
        model = self.model
        enabled = model.enabled(world)
        if self._alone is not None:
            lone = self._alone(world, enabled)
            if lone is not None:
                after, observed = self.take(world, states, lone)
                # A step that changes a property's memory must not be put before all others.
                if states is observed or states == observed:
                    yield enabled.index(lone), lone, after, observed
                    return
        for at, action in enumerate(enabled):
            self._note_timer(world, action)
            yield at, action, *self.take(world, states, action)

    def _note_timer(self, world: Any, action: Any) -> None:
        name = timer_of(action)
        if name and isinstance(self.model, TimersAtRest):
            self.noted.add((name, self.model.when(world, action)))

    def take(self, world: Any, states: States, action: Any) -> tuple[Any, States]:
        """Return the world and the memory of the properties after one action."""
        outcome = self.model.step(world, action)
        observed, same = [], True
        for prop, state in zip(self.properties, states, strict=True):
            try:
                after = prop.observe(state, action, outcome)
            except Exception as error:
                raise _PropertyRaised(prop.name, error) from error
            same = same and after is state
            observed.append(after)
        # Most steps change no property's memory: then the same tuple is returned, which is recognised without a look at
        # its content.
        return outcome.world, states if same else tuple(observed)

    # -- states --------------------------------------------------------------------------------

    def key(self, world: Any, states: States) -> bytes:
        """Return the sixteen bytes that identify a state."""
        if self._renamed is not None:
            return self._renamed(self._shared(world), self._intern_states(states)[0])
        mark = self.model.search_key(world)
        return digest_of(mark + self._intern_states(states)[1]) if states else mark

    def _intern_states(self, states: States) -> tuple[States, bytes]:
        """Return the first equal copy of the properties' memory, and its digests."""
        try:
            return self._alike.first(states)
        except (TypeError, AttributeError):
            for prop, state in zip(self.properties, states, strict=True):
                if not (hasattr(state, "digest") and isinstance(state, Hashable)):
                    raise _PropertyForgets(prop.name, state) from None
            raise

    def note(self, number: int, world: Any, states: States, depth: int) -> None:
        """Judge a new state, and queue it if there is more to find below it."""
        broken = False
        judged = zip(self.properties, self.findings(states), strict=True)
        for at, (prop, finding) in enumerate(judged):
            if finding.status == BROKEN:
                broken = True
                if prop.name not in self.found:
                    self.found[prop.name] = Counterexample(
                        prop.name, finding.reason, self.story(number), finding.harm
                    )
            if at == self.progress_at and finding.status == HOLDS:
                self.graph.calm[number] = 1
        if broken:
            self.graph.mark_broken(number)
        else:
            # Queued states share equal parts: each takes 1.4 kB instead of 4.9.
            self.queue.append((number, self._shared(world), self._intern_states(states)[0], depth))

    def findings(self, states: States) -> Iterator[Finding]:
        """Yield each property's finding about a state."""
        for prop, state in zip(self.properties, states, strict=True):
            try:
                yield prop.finding(state)
            except Exception as error:
                raise _PropertyRaised(prop.name, error) from error

    def story(self, number: int) -> tuple[Any, ...]:
        """Return the actions that first led to a state."""
        world, actions = self.model.initial(), []
        for place in self.graph.way(number):
            action = self.model.enabled(world)[place]
            actions.append(action)
            world = self.model.step(world, action).world
        return tuple(actions)

    def state(self, number: int) -> tuple[Any, States]:
        """Rebuild a state: its world and the properties' memory."""
        world = self.model.initial()
        states = tuple(p.initial(world) for p in self.properties)
        for place in self.graph.way(number):
            world, states = self.take(world, states, self.model.enabled(world)[place])
        return world, states

    def _keep(self, number: int, world: Any, states: States) -> None:
        if self._full is not None and number < FULL_STATES_MAX:
            self._full.append((self._shared(world), states))

    def _compare(self, number: int, world: Any, states: States) -> None:
        if self._full is None or number >= len(self._full):
            return
        if self._full[number] != (self._shared(world), states):
            raise DigestsCollide(
                f"two different states among {len(self.graph):,} have the same digest"
            )

    def _asking(self, progress: ProgressTold | None) -> Callable[[], bool]:
        return lambda: progress is None or progress(len(self.graph), self.depth)


def abstraction_of(model: Model) -> str:
    """Return what a model of a cluster leaves out of Kafka, in words; "" for a model of something else."""
    spec = _cluster_of(model)
    return "" if spec is None else profile_of(spec).words


def clock_of(model: Model) -> str:
    """Return the clock of a model in words; a model that is no cluster has the untimed one."""
    spec = _cluster_of(model)
    return (Clock() if spec is None else spec.clock).words


def _cluster_of(model: Model) -> ClusterSpec | None:
    spec = getattr(model, "spec", None)
    return spec if isinstance(spec, ClusterSpec) else None


def _of_states(states: States) -> bytes:
    return b"".join([state.digest for state in states])


def _place_of(name: str, properties: tuple[Property, ...]) -> int:
    return next((at for at, prop in enumerate(properties) if prop.name == name), -1)


def render_error(error: Exception) -> str:
    """Render an error that a property or a model raised."""
    if isinstance(error, BadRule):
        return f"a rule of your own failed: {str(error).rstrip('.')}"
    if isinstance(error, _PropertyRaised | _PropertyForgets | DigestsCollide | NotAValue):
        return str(error)
    return f"the model raised {_sentence_of(error)}: the design's slots are incompatible"


def _sentence_of(error: Exception) -> str:
    text = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
