"""Reading a played story: where it stands, and what is in the logs, without asking a property."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from kipviz.clients.application import Line
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.cluster.world import World
from kipviz.core.model import Event
from kipviz.core.traces.trace import Node, Trace
from kipviz.designs.catalogue import design
from kipviz.messages.events import RecordsMoved
from kipviz.records.batches import COMMIT, DataRecord
from kipviz.records.share_group_state import RecordState
from kipviz.scenarios.bases import CLUSTERS, process
from kipviz.scenarios.library import LIBRARY, scenario
from kipviz.scenarios.script import Chapter


@cache
def play_once(name: str, under: str) -> tuple[Trace, tuple[Chapter, ...]]:
    """A scenario, played under a design once for all tests."""
    return scenario(name).play(design(under))


def running(program: tuple[Line, ...], **changes: object) -> ClusterSpec:
    """The cluster of KIP-939's dual write, whose application runs another program."""
    app = process("dual-writer", "app-1", program=program).but(**changes)
    return CLUSTERS["database"].but(applications=(app,))


def nodes(trace: Trace) -> list[Node]:
    """The nodes of a trace's line; the first one is the start."""
    return [trace.node(n) for n in trace.line]


def after(name: str, under: str, title: str) -> World:
    """The world at the end of the chapter of this title."""
    trace, chapters = play_once(name, under)
    chapter = next(c for c in chapters if c.title == title)
    world: World = nodes(trace)[chapter.end].world
    return world


def first_step(trace: Trace, *kinds: type[Event], **fields: Any) -> int:
    """The first step with an event of a kind whose fields have these values."""
    for step, node in enumerate(nodes(trace)):
        for event in node.events:
            if isinstance(event, kinds) and all(getattr(event, f) == v for f, v in fields.items()):
                return step
    raise AssertionError(f"no {' or '.join(k.__name__ for k in kinds)} with {fields}")


def markers(world: World) -> dict[str, list[str]]:
    """The markers in every log that has one."""
    found = {p: [b.control for b in log.batches if b.control] for p, log in world.logs.items()}
    return {partition: controls for partition, controls in found.items() if controls}


def states_of(trace: Trace, offset: int) -> list[RecordState]:
    """The delivery states that a source record has gone through."""
    return [event.after for event in moves(trace) if event.first <= offset <= event.last]


def moves(trace: Trace) -> Iterator[RecordsMoved]:
    """All moves of source records, in order."""
    for node in nodes(trace):
        yield from (event for event in node.events if isinstance(event, RecordsMoved))


def committed_outputs(world: World, partition: str = "output-A-0") -> Counter[str]:
    """How many committed outputs each source record has in a log: data whose marker says COMMIT.

    A marker decides the batches of its producer before it that have its epoch, or the one below (transaction version 2).
    """
    counted: Counter[str] = Counter()
    undecided: dict[tuple[int, int], list[str]] = {}
    for batch in world.logs[partition].batches:
        whose = (batch.producer_id, batch.producer_epoch)
        if not batch.control:
            data = [r.origin for r in batch.records if isinstance(r, DataRecord)]
            undecided.setdefault(whose, []).extend(data)
            continue
        below = (batch.producer_id, batch.producer_epoch - 1)
        decided = undecided.pop(whose, []) + undecided.pop(below, [])
        counted.update(decided if batch.control == COMMIT else ())
    return counted


def under_one_design_each() -> list[Any]:
    """Give every story with every design of it; all but every second story, under one design, is left to make thorough.

    Which design it is goes round, so that each kind of design comes with many stories. What is asked of each of these
    is asked in the same way of all, and every story is played, judged and held against its row in other tests.
    """
    return [
        pytest.param(
            story.name,
            name,
            id=f"{story.name}-{name}",
            marks=()
            if number % 2 == 0 and at == number // 2 % len(story.designs)
            else pytest.mark.thorough,
        )
        for number, story in enumerate(LIBRARY)
        for at, name in enumerate(story.designs)
    ]
