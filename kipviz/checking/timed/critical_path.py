"""How long a run takes when every message, append and timer takes a stated time.

The model has no speed of its own. Here each of its actions gets a duration: a message is in flight for half a round
trip, an append is durable after its flushes and a follower's fetch, a request takes a moment to handle, a timer runs
for its configured duration. Every action happens as soon as its time has come, so the time of each step is the length
of the longest chain of steps that it had to wait for: the critical path. It is a property of the protocol under stated
assumptions, not a benchmark of a broker.

The duration of an action starts at the step that made it possible. A message also waits for the message before it on
its connection, as in Kafka: a broker reads the next request after it has responded to the last one.

NOT MODELLED: queues for a broker's threads and disks, the size of a message, pauses, lost packets. A log's high
watermark moves to its end at once: of several batches being replicated, the first one waits for the last. A transaction
that takes too long is found by a scan without delay; Kafka's scan may come
transaction.abort.timed.out.transaction.cleanup.interval.ms later (10 s).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isfinite
from typing import TypeAlias

from kipviz.checking.single_run.alternative_run import MessagesInFlight
from kipviz.cluster.actions import (
    ClusterAction,
    Deliver,
    Load,
    Refresh,
    Replicate,
    Tick,
)
from kipviz.cluster.behaviour.due_actions import place_of
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.cluster.timing.clock import TIMED, Clock, advance_deadlines
from kipviz.cluster.world import World, broker_host, host_of
from kipviz.core.model import Event
from kipviz.core.values import Value
from kipviz.messages.events import MessageSent
from kipviz.records.batches import NO_TIMESTAMP

US = 1_000
LONGEST_MS = 3_600_000
STEPS_MAX = 20_000
# The kinds of actions that happen without a decision and have a duration here.
BY_ITSELF = frozenset(
    {"application", "sender", "deliver", "replicate", "load", "refresh", "expiry", "read"}
)

CLIENT_HOP, BROKER_HOP, LOCAL_HOP = "client hop", "broker hop", "hop on one broker"
HANDLED, APPENDED, LOADED = "request handled", "replicated append", "log read"
LOOKED_UP, TIMER = "wait for a lookup", "timer"
# One stretch of a path: its cause and its length in microseconds.
Stretch: TypeAlias = tuple[str, int]


class BadLatency(ValueError):
    """The latency is not valid; the message states the reason in one sentence."""


class Latencies(Value, frozen=True):
    """The assumed latencies, in ms; each can be changed.

    Args:
        round_trip_ms: from a client to a broker and back.
        broker_round_trip_ms: from one broker to another and back.
        fsync_ms: the time in which a replica flushes a batch; 0 is Kafka's default, which acknowledges what the
            replicas have in memory (log.flush.interval.messages is not set).
        handling_ms: the time in which a broker handles a request.
        look_up_ms: the interval at which a share-partition leader asks again for the outcome of an acknowledgement that
            it holds (our inference: the repaired design has to ask).
        work_ms: the time in which an application processes a batch before it commits.

    Example:
        >>> import kipviz
        >>> kipviz.Latencies(fsync_ms=5).broker_round_trip_ms
        1.0

    Raises:
        BadLatency: from `validate_latencies`, for a time that is not a number from 0 to an hour.
    """

    round_trip_ms: float = 2.0
    broker_round_trip_ms: float = 1.0
    fsync_ms: float = 0.0
    handling_ms: float = 0.1
    look_up_ms: float = 100.0
    work_ms: float = 0.0

    @property
    def words(self) -> str:
        """The assumptions, in one line."""
        flush = f"fsync {number(self.fsync_ms)} ms"
        if not self.fsync_ms:
            flush += " (Kafka's default: no flush before the response)"
        return (
            f"round trip client to broker {number(self.round_trip_ms)} ms, broker to broker "
            f"{number(self.broker_round_trip_ms)} ms; {flush}; {number(self.handling_ms)} ms to handle "
            f"a request; a lookup every {number(self.look_up_ms)} ms (our inference); "
            f"{number(self.work_ms)} ms to process a batch"
        )


def validate_latencies(latencies: Latencies) -> Latencies:
    """Return the latencies if each of them is valid.

    Raises:
        BadLatency: if one is not a number from 0 to an hour, in one sentence.
    """
    for name in Latencies.__struct_fields__:
        value = getattr(latencies, name)
        fits = type(value) in (int, float) and isfinite(value) and 0 <= value <= LONGEST_MS
        if not fits:
            raise BadLatency(f"{name} must be a number of ms from 0 to {LONGEST_MS}, not {value!r}")
    if latencies.look_up_ms < 1:
        raise BadLatency(f"look_up_ms must be at least 1, not {latencies.look_up_ms!r}")
    if latencies.work_ms != int(latencies.work_ms):
        raise BadLatency(f"work_ms must be a whole number of ms, not {latencies.work_ms!r}")
    return latencies


def number(value: float) -> str:
    """Render a number of ms without needless digits: 2, 0.5, 30000."""
    return f"{value:.3f}".rstrip("0").rstrip(".")


class Moment(Value, frozen=True):
    """One step of a timed run: when it happened, what it waited for, and how the wait was spent.

    `at_us` is in microseconds since the start of the run, `cause` is the step that made it possible (-1: the start).
    The stretches together are as long as the time between the two.
    """

    at_us: int
    action: ClusterAction
    events: tuple[Event, ...]
    cause: int
    stretches: tuple[Stretch, ...]


class Timed:
    """A run in which every step has a time.

    Attributes:
        moments: the steps, in the order of their times.
        worlds: the world before the first step, and the one after each.
    """

    def __init__(self, world: World) -> None:
        """Start at a world, at time 0."""
        self.moments: list[Moment] = []
        self.worlds: list[World] = [world]

    @property
    def world(self) -> World:
        """The world after the last step."""
        return self.worlds[-1]

    def first(self, found: Callable[[Moment, World], bool], after: int = -1) -> int | None:
        """Return the first step after `after` that satisfies a condition, or None."""
        for k in range(after + 1, len(self.moments)):
            if found(self.moments[k], self.worlds[k + 1]):
                return k
        return None

    def at_us(self, step: int) -> int:
        """Return the time of a step in microseconds; -1 is the start."""
        return self.moments[step].at_us if step >= 0 else 0

    def path(self, step: int, since: int = -1) -> tuple[int, ...]:
        """Return the chain of steps that a step had to wait for, in order, back to the time of another step."""
        found = [step]
        while found[-1] > since and self.moments[found[-1]].cause > since:
            found.append(self.moments[found[-1]].cause)
        return tuple(reversed(found))

    def stretches(self, step: int, since: int = -1) -> tuple[tuple[str, int, int], ...]:
        """Return how the time between two steps was spent: (cause, how many times, microseconds).

        A wait that started before `since` counts from there.
        """
        begin = self.at_us(since)
        counts: dict[str, int] = {}
        spent: dict[str, int] = {}
        for k in self.path(step, since):
            left = self.at_us(k) - begin
            for what, took in reversed(self.moments[k].stretches):
                counted = min(took, left)
                left -= counted
                if counted or not took:
                    counts[what] = counts.get(what, 0) + 1
                    spent[what] = spent.get(what, 0) + counted
        return tuple((what, counts[what], spent[what]) for what in sorted(counts))


# Returns whether an action may not happen now: it is another one's turn, or a process is paused.
Withheld: TypeAlias = Callable[[Timed, ClusterAction], bool]
# Returns a fault or an action of a person that happens at once, or None.
Forced: TypeAlias = Callable[[Timed], ClusterAction | None]


def with_timed_clock(spec: ClusterSpec) -> ClusterSpec:
    """Return a cluster prepared for a timed run: real timers, and appends that take a step."""
    clock = Clock(TIMED, backs_off=True, stamps=False)
    return spec.but(clock=clock, replication="stepwise")


class _Waiting(Value, frozen=True):
    """Since when an action is possible, because of which step, and when its time comes."""

    due_us: int
    cause: int
    stretches: tuple[Stretch, ...]


def run(
    model: ClusterModel,
    latencies: Latencies,
    until: Callable[[Timed], bool],
    *,
    withheld: Withheld | None = None,
    forced: Forced | None = None,
    time_max_ms: int = LONGEST_MS,
) -> Timed:
    """Let a cluster run by itself, each step at its time, until a condition holds.

    It also ends when nothing is left to happen, or at `time_max_ms`. The cluster has a timed clock (`with_timed_clock`). Two
    steps at the same time are taken in the model's own order, so the same input gives the same run.

    Args:
        model: the cluster under a design.
        latencies: the assumed latencies.
        until: the condition, checked after every step.
        withheld: returns whether an action may not happen now; its duration starts when it is no longer withheld.
        forced: returns a fault or an action that happens at once.
        time_max_ms: the maximum length of the run, in simulated time.

    Raises:
        BadLatency: if a latency is not valid.
    """
    return _Clockwork(model, validate_latencies(latencies), withheld, forced).run(
        until, time_max_ms * US
    )


class _Clockwork:
    """A run in progress."""

    def __init__(
        self,
        model: ClusterModel,
        latencies: Latencies,
        withheld: Withheld | None,
        forced: Forced | None,
    ) -> None:
        self._model = model
        self._latencies = latencies
        self._withheld = withheld
        self._forced = forced
        self._now = 0
        self._timed = Timed(model.initial())
        self._world: World = self._timed.world
        self._wire = MessagesInFlight()
        self._sent: list[
            tuple[int, int]
        ] = []  # for each message, when and by which step it was sent
        self._waiting: dict[tuple[ClusterAction, int], _Waiting] = {}
        # For each timer, when it is due on the world's clock and on ours, and which step set it.
        self._timers: dict[tuple[str, tuple[object, ...]], tuple[int, int, int]] = {}
        self._clock_ms = 0
        self._note()

    def run(self, until: Callable[[Timed], bool], time_max_us: int) -> Timed:
        while len(self._timed.moments) < STEPS_MAX and not until(self._timed):
            act = self._forced(self._timed) if self._forced is not None else None
            if act is not None:
                self._take(act, _Waiting(self._now, len(self._timed.moments) - 1, ()))
                continue
            found = self._next()
            timers = [due for _, due, _ in self._timers.values() if due > self._now]
            soonest = min(timers, default=-1)
            if found is None and soonest < 0:
                break
            if found is not None and (soonest < 0 or found[1].due_us < soonest):
                if found[1].due_us > time_max_us:
                    break
                self._pass(found[1].due_us)
                self._take(*found)
                continue
            if soonest > time_max_us:
                break
            self._pass(soonest)
            self._note()
        return self._timed

    def _next(self) -> tuple[ClusterAction, _Waiting] | None:
        best: tuple[ClusterAction, _Waiting] | None = None
        for (action, _), waits in self._waiting.items():
            if best is None or waits.due_us < best[1].due_us:
                best = (action, waits)
        return best

    def _pass(self, to_us: int) -> None:
        """Let time pass on the world's clock, which counts whole ms."""
        self._now = max(self._now, to_us)
        elapsed = self._now // US - self._clock_ms
        if elapsed > 0:
            self._clock_ms += elapsed
            now_ms = self._world.now_ms
            self._world = self._world.but(
                deadlines=advance_deadlines(self._world.deadlines, elapsed),
                now_ms=now_ms if now_ms == NO_TIMESTAMP else now_ms + elapsed,
            )

    def _take(self, action: ClusterAction, waits: _Waiting) -> None:
        outcome = self._model.step(self._world, action)
        self._world = outcome.world
        step = len(self._timed.moments)
        self._timed.moments.append(
            Moment(self._now, action, outcome.events, waits.cause, waits.stretches)
        )
        self._timed.worlds.append(self._world)
        self._wire.see(outcome.events)
        self._sent += [(self._now, step) for e in outcome.events if isinstance(e, MessageSent)]
        # An action that is possible again after this step starts a new wait.
        self._waiting = {key: w for key, w in self._waiting.items() if key[0] != action}
        self._note()

    def _note(self) -> None:
        """Record what is possible now and since when, and which timers are due or were set."""
        step = len(self._timed.moments) - 1
        timers: dict[tuple[str, tuple[object, ...]], tuple[int, int, int]] = {}
        for deadline in self._world.deadlines:
            place = (deadline.kind, deadline.place)
            due_ms = self._clock_ms + deadline.after
            known = self._timers.get(place)
            # A due timer keeps its time; another value means that it was set again.
            if known is None or (known[0] != due_ms and (deadline.after or known[0] > due_ms)):
                known = (due_ms, self._now + deadline.after * US, step)
            timers[place] = known
        self._timers = timers
        waiting: dict[tuple[ClusterAction, int], _Waiting] = {}
        for action in self._possible():
            key = (action, self._wire.next_on(action))
            waiting[key] = self._waiting.get(key) or self._wait(action, key[1], step)
        self._waiting = waiting

    def _possible(self) -> Iterator[ClusterAction]:
        for action in self._model.enabled(self._world):
            if self._model.kind(action) not in BY_ITSELF or isinstance(action, Tick):
                continue
            if self._withheld is None or not self._withheld(self._timed, action):
                yield action

    def _wait(self, action: ClusterAction, sent: int, step: int) -> _Waiting:
        """Return when an action comes that is possible since a step."""
        times = self._latencies
        place = place_of(self._world, action)
        if place is not None and place in self._timers:
            _, due, cause = self._timers[place]
            if due < self._now:
                return self._wait_after(step, ())
            took = due - self._timed.at_us(cause)
            return _Waiting(due, cause, ((TIMER, took),) if took else ())
        match action:
            case Deliver(source, broker, way):
                return self._arrival(source, broker, way, sent, step)
            case Replicate() | Load():
                fetch = _us(times.broker_round_trip_ms)
                if isinstance(action, Load):
                    return self._wait_after(step, ((LOADED, fetch),))
                # The leader flushes, a follower fetches and flushes, and its next fetch informs the leader.
                return self._wait_after(step, ((APPENDED, fetch + 2 * _us(times.fsync_ms)),))
            case Refresh():
                return self._wait_after(step, ((LOOKED_UP, _us(times.look_up_ms)),))
            case _:
                return self._wait_after(step, ())

    def _arrival(self, source: str, broker: int, way: str, sent: int, step: int) -> _Waiting:
        """Return when a message arrives: after its time in flight, and not before the previous one."""
        times = self._latencies
        host = host_of(source)
        if host == broker_host(broker):
            hop = (LOCAL_HOP, 0)
        elif host in self._brokers:
            hop = (BROKER_HOP, _us(times.broker_round_trip_ms / 2))
        else:
            hop = (CLIENT_HOP, _us(times.round_trip_ms / 2))
        handled = ((HANDLED, _us(times.handling_ms)),) if way == "request" else ()
        at, by = self._sent[sent - 1]
        if at + hop[1] >= self._now:
            due = at + hop[1] + sum(took for _, took in handled)
            return _Waiting(due, by, (hop, *handled))
        return self._wait_after(step, handled)

    def _wait_after(self, step: int, stretches: tuple[Stretch, ...]) -> _Waiting:
        return _Waiting(self._now + sum(took for _, took in stretches), step, stretches)

    @property
    def _brokers(self) -> frozenset[str]:
        return frozenset(broker_host(b) for b in self._model.spec.brokers)


def _us(milliseconds: float) -> int:
    return round(milliseconds * US)
