"""Drive a whole simulated cluster from a program, one step at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Self, TypeAlias

from kipviz.brokers.logs import partition_log
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.behaviour.catalogue import script_name
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.cluster.world import World
from kipviz.core.model import Event
from kipviz.core.outside.suggestions import unknown
from kipviz.core.traces.trace import Trace
from kipviz.core.values import Value
from kipviz.designs.catalogue import design as design_named
from kipviz.designs.design import Design
from kipviz.messages.events import TimePassed
from kipviz.messages.logs.producing import FetchedRecord
from kipviz.properties.verdict import Property
from kipviz.records.batches import DataRecord
from kipviz.scenarios.library import scenario as scenario_named
from kipviz.scenarios.scenario import Scenario, at_levels
from kipviz.scenarios.script import QUIET_MAX, follow, next_by_itself

Isolation: TypeAlias = Literal["read_committed", "read_uncommitted"]
ISOLATIONS = ("read_committed", "read_uncommitted")
A_PROGRAM = "a program"
NAMED = 3  # so many possible steps are named in the repr


class NotReached(ValueError):
    """The condition was not met before the cluster had nothing left to do by itself."""


class Cluster:
    """A simulated cluster and its applications, stepped by method calls.

    It begins at the start of a story, with nothing sent yet. Every method that takes steps returns the cluster, so
    that calls can be chained. The same calls lead to the same cluster on every machine.

    Attributes:
        model: the model that is stepped.
        trace: every step so far, with the cluster after each of them.

    Args:
        scenario: a story's name, a story, or a cluster of your own.
        design: a design's name; without one the story's first design, or "kafka" for a cluster of your own.
        properties: the properties that are judged at each step; see `kipviz.properties`.

    Example:
        >>> import kipviz
        >>> cluster = kipviz.Cluster("kip-1289-group-commit", "kafka")
        >>> cluster.take("app-1 goes on").until("InitProducerId arrives at B*").quiet().steps
        4
        >>> cluster.possible[0]
        'app-1 goes on'
        >>> cluster.at(2).possible[:1]
        ('InitProducerId arrives at B1',)

    Raises:
        UnknownScenario: if there is no such story.
        UnknownDesign: if there is no such design.
        Unplayable: if the design lacks what the story is about.
        BadSpec: if the specification of the cluster is not valid.
    """

    def __init__(
        self,
        scenario: str | Scenario | ClusterSpec,
        design: str | Design | None = None,
        *,
        properties: tuple[Property, ...] = (),
    ) -> None:
        self.model = _model(scenario, design)
        self.trace = Trace.start(self.model, properties)

    # -- taking steps ---------------------------------------------------------------------------

    def take(self, *wanted: str | ClusterAction) -> Self:
        """Take the given steps in order.

        Args:
            wanted: the name of a step as in `possible`, where "*" stands for any characters and "?" for one; or an
                instruction of a story, such as "quiet" or "B1 | * are cut apart"; or an action.

        Raises:
            ScriptError: if a name matches no possible step, or several; the message lists the possible steps.
            NotEnabled: if an action is not possible now, with the reason.
        """
        for each in wanted:
            if isinstance(each, str):
                self.trace = follow(self.trace, self.model, each, A_PROGRAM)
            else:
                self.trace = self.trace.take(each)
        return self

    def until(self, wanted: str | Callable[[World], bool]) -> Self:
        """Run messages, senders and replicas until a step is possible, and take it, or until a condition holds.

        Applications, timers and faults wait for `take`.

        Args:
            wanted: the name of the step, or a function that returns whether the condition holds for a world.

        Raises:
            ScriptError: if no such step becomes possible, or several do.
            NotReached: if the condition does not hold when the cluster has nothing left to do by itself.
        """
        if isinstance(wanted, str):
            return self.take(f"until {wanted}")
        for _ in range(QUIET_MAX):
            if wanted(self.world):
                return self
            action = next_by_itself(self.model, self.world)
            if action is None:
                possible = "; ".join(self.possible) or "nothing"
                raise NotReached(
                    f"the condition did not hold at step {self.steps}, and no further step happens by itself; possible: {possible}"
                )
            self.take(action)
        raise NotReached(f"the condition did not hold within {QUIET_MAX} steps")

    def quiet(self, but: str = "") -> Self:
        """Run messages, senders and replicas until only applications, timers and faults are possible.

        It also ends where they only repeat themselves: a client that retries at once without success never stops.

        Args:
            but: the name of steps that are held back, such as "* arrives at B7".

        Raises:
            ScriptError: if the cluster neither becomes quiet nor repeats itself.
        """
        return self.take(f"quiet but {but}" if but else "quiet")

    def at(self, step: int) -> Self:
        """Return an independent cluster in the state that this one had after a step; 0 is the start.

        Raises:
            ValueError: if there was no such step.
        """
        if type(step) is not int or not 0 <= step <= self.steps:
            raise ValueError(f"there is no step {step!r}; this cluster has taken 0 to {self.steps}")
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.trace = self.trace.jump(self.trace.line[step])
        return made

    # -- looking at it --------------------------------------------------------------------------

    @property
    def world(self) -> World:
        """The cluster and its applications now: roles, logs, connections, clients."""
        world: World = self.trace.world
        return world

    @property
    def steps(self) -> int:
        """How many steps were taken."""
        return self.trace.depth

    @property
    def events(self) -> list[Event]:
        """The events so far, in order: messages sent and delivered, records appended, calls returned."""
        nodes = self.trace.line[: self.steps + 1]
        return [event for node in nodes for event in self.trace.node(node).events]

    @property
    def possible(self) -> tuple[str, ...]:
        """The names of the steps that are possible now, as `take` accepts them."""
        return tuple(script_name(self.world, action) for action in self.model.enabled(self.world))

    def why_not(self, action: ClusterAction) -> str | None:
        """Return the reason why an action is not possible now, in one sentence, or None if it is possible."""
        return self.model.why_not(self.world, action)

    @property
    def elapsed(self) -> int:
        """The simulated time that has passed, in milliseconds; 0 if the clock is untimed."""
        return sum(event.ms for event in self.events if isinstance(event, TimePassed))

    def read(
        self, partition: str, isolation: Isolation = "read_committed"
    ) -> tuple[FetchedRecord, ...]:
        """Return the records that a consumer gets if it reads a partition now from its first offset.

        A consumer with read_committed gets no record of an open or aborted transaction, and none above the last
        stable offset. Source: ReplicaManager.readFromLog and the consumer's CompletedFetch.

        Args:
            partition: a partition's name, such as "output-A-0".
            isolation: the consumer's isolation.level.

        Raises:
            ValueError: if there is no such partition or isolation level, or the partition holds no data of users.
        """
        if isolation not in ISOLATIONS:
            raise ValueError(
                f"isolation must be 'read_committed' or 'read_uncommitted', not {isolation!r}"
            )
        log = self.world.logs.get(partition)
        if log is None:
            names = tuple(name for name in self.world.logs if not name.startswith("__"))
            raise ValueError(unknown("partition", partition, names, "Cluster.world.logs"))
        committed = isolation == "read_committed"
        found: list[FetchedRecord] = []
        end = log.readable_up_to(committed=committed)
        for batch in partition_log.read(log, log.start_offset, end):
            if batch.control or (committed and partition_log.is_aborted(log, batch)):
                continue
            for offset, record in enumerate(batch.records, batch.base_offset):
                if log.start_offset <= offset < end:
                    found.append(FetchedRecord(partition, offset, _data(record, partition).value))
        return tuple(found)

    def __repr__(self) -> str:
        """Return the step that the cluster is at, and the first possible steps."""
        first, more = self.possible[:NAMED], len(self.possible[NAMED:])
        possible = "; ".join(first) or "nothing"
        return (
            f"Cluster at step {self.steps}; possible: {possible}{f'; {more} more' if more else ''}"
        )


def _data(record: Value, partition: str) -> DataRecord:
    if isinstance(record, DataRecord):
        return record
    raise ValueError(f"{partition} is an internal topic's; its log is Cluster.world.logs")


def _model(scenario: str | Scenario | ClusterSpec, named: str | Design | None) -> ClusterModel:
    if isinstance(scenario, ClusterSpec):
        chosen = _design("kafka" if named is None else named)
        spec = at_levels(scenario, chosen)
        return chosen.model(spec)
    story = scenario if isinstance(scenario, Scenario) else scenario_named(scenario)
    return story.model(_design(story.designs[0] if named is None else named))


def _design(given: str | Design) -> Design:
    return given if isinstance(given, Design) else design_named(given)
