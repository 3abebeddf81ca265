"""Random runs with regular consumers: between two positions, poll() returns each record once and leaves none out.

A consumer may begin elsewhere only where it loses its position: a rebalance, a reset, an abort after which it reads from
the committed offsets, or another life of its process.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kipviz.brokers.logs import partition_log as logs
from kipviz.checking.single_run.seeded_run import SeededStep, Task, model_of, moments
from kipviz.clients.calls import Call
from kipviz.clients.groups.consumer import Consumer, RegularConsumer
from kipviz.clients.groups.subscription_state import ASKED
from kipviz.cluster.actions import Step
from kipviz.cluster.world import World
from kipviz.scenarios.library import LIBRARY
from kipviz.scenarios.scenario import Scenario
from tests.properties.hostile import each_once

SEEDS = (0, 1)
EVERY = 6  # one of so many stories


def consumers(world: World) -> dict[str, RegularConsumer]:
    """The regular consumers of every process, by their sources."""
    return {
        client.source: client
        for app in world.applications.values()
        for client in app.clients
        if isinstance(client, Consumer)
    }


def design_of(story: Scenario) -> str:
    return "kafka" if "kafka" in story.designs else story.designs[0]


def stories() -> tuple[Scenario, ...]:
    """Some of the stories in which a regular consumer reads, each cluster once."""
    found = [
        story
        for story in each_once(LIBRARY)
        if consumers(model_of(Task(story.name, design_of(story), "hostile", 0)).initial())
    ]
    return tuple(found[::EVERY])


def visible(
    log: logs.PartitionLog, first: int, behind: int, *, read_uncommitted: bool
) -> list[int]:
    """The offsets of records from one offset to another that a consumer may see: no markers, and nothing aborted."""
    return [
        offset
        for batch in logs.read(log, first, behind)
        if not batch.control and (read_uncommitted or not logs.is_aborted(log, batch))
        for offset in range(batch.base_offset, batch.last_offset + 1)
        if first <= offset < behind
    ]


def calls_poll(moment: SeededStep) -> str:
    """The source of the consumer whose poll() an application calls in a step, or ""."""
    action = moment.action
    if not isinstance(action, Step) or action.thread:
        return ""
    app = moment.before.applications[action.application]
    calls = not app.waiting and app.program[app.line].call is Call.POLL
    return app.consumer.source if calls else ""


def read_between(
    before: RegularConsumer, after: RegularConsumer, world: World, *, called: bool
) -> Iterator[tuple[str, int, int, list[int], list[int]]]:
    """For each partition whose position moved: from where, to where, what poll() returned, and what the log has there.

    What retention has deleted by now may have been fetched before that.
    """
    new = after.records if called or after.records != before.records else ()
    parts = dict.fromkeys((*before.subscription.positions, *(r.partition for r in new)))
    for part in parts:
        ends = tuple(c.subscription.positions.get(part, ASKED) for c in (before, after))
        first, behind = ends
        returned = [record.offset for record in new if record.partition == part]
        if ASKED in ends:
            assert not returned, (part, ends, returned)
            continue
        log = world.logs[part]
        there = [offset for offset in returned if offset >= log.start_offset]
        wanted = visible(log, first, behind, read_uncommitted=after.read_uncommitted)
        if first != behind or returned:
            yield part, first, behind, there, wanted


@pytest.mark.slow
def test_poll_returns_every_record_once_and_in_order_whatever_goes_wrong() -> None:
    moved = 0
    for story in stories():
        for seed in SEEDS:
            task = Task(story.name, design_of(story), "hostile", seed)
            for moment in moments(task):
                before, world = consumers(moment.before), moment.outcome.world
                for source, after in consumers(world).items():
                    if source not in before or after is before[source]:
                        continue
                    called = source == calls_poll(moment)
                    for part, first, behind, returned, wanted in read_between(
                        before[source], after, world, called=called
                    ):
                        where = (task, moment.step, source, part, first, behind)
                        assert first <= behind, where
                        assert returned == wanted, (where, returned, wanted)
                        moved += len(returned)
    assert moved > 100
