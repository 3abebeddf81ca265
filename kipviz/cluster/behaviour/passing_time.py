"""Passing time, and logs that are read back."""

from __future__ import annotations

from collections.abc import Iterable

from kipviz.clauses import OURS, SHIPPED, Clause
from kipviz.cluster.actions import (
    ReadLog,
    Tick,
)
from kipviz.cluster.behaviour.action_name import ActionName, Verb
from kipviz.cluster.behaviour.behaviour import AnyBehaviour, Behaviour, Guard, Model
from kipviz.cluster.timing import deadlines
from kipviz.cluster.turn import Turn
from kipviz.cluster.world import LOGS, World, broker_host
from kipviz.core.watched import Cell


class Ticking(Behaviour[Tick]):
    """Time passes, to the next moment at which something is due (timed clock only)."""

    action = Tick
    verbs = (Verb("tick", "time passes"),)
    clause = Clause(
        "pass_time",
        "none: that time passes is not a rule of the protocol",
        OURS,
        "none: a clock of the model (DECISIONS 18)",
    )

    def why_not(self, model: Model, world: World, action: Tick) -> str | None:
        if not model.spec.clock.timed:
            return "this cluster's clock is untimed: a timer may expire at any moment"
        if not deadlines.tick_of(model.spec, world):
            return "no deadline is pending: there is nothing to wait for"
        due = model.overdue(world)
        return f"{due}: that is due now, so time cannot pass it" if due else None

    def apply(self, turn: Turn, action: Tick) -> None:
        turn.pass_time()

    def sentence(self, world: World, action: Tick) -> str:
        return "Time passes. Nothing else happens."

    def name(self, world: World, action: Tick) -> ActionName:
        return ActionName(self.verbs[0], ())


class ReadingLog(Behaviour[ReadLog]):
    """The next batch of a broker's logs is read; `at` is when it was written, `leader` is the broker that wrote it."""

    action = ReadLog
    verbs = (Verb("read log", "{0} {1}@{2} is read"),)
    clause = Clause(
        "replay",
        "the clause of the record that is read",
        SHIPPED,
        "TransactionStateManager, GroupCoordinatorShard.replay, ShareCoordinatorShard.replay",
    )

    def why_not(self, model: Model, world: World, action: ReadLog) -> str | None:
        return "this cluster is not rebuilt from logs: there is no log to read"

    def apply(self, turn: Turn, action: ReadLog) -> None:
        raise AssertionError("only a rebuilt cluster reads logs")

    def sentence(self, world: World, action: ReadLog) -> str:
        return f"{action.partition} has a batch at offset {action.offset}, written {action.at}."

    def looks_at(self, world: World, action: ReadLog) -> Iterable[Guard]:
        yield "partition", action.partition
        yield "offset", str(action.offset)
        yield "written", action.at

    def main_cause(self, action: ReadLog) -> Cell:
        return LOGS, action.partition

    def name(self, world: World, action: ReadLog) -> ActionName:
        return ActionName(self.verbs[0], (action.at, action.partition, str(action.offset)))

    def lane(self, world: World, action: ReadLog) -> str:
        return broker_host(action.leader)


BEHAVIOURS: tuple[AnyBehaviour, ...] = (
    Ticking(),
    ReadingLog(),
)
