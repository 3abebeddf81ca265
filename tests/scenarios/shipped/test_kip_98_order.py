"""The order of a producer's requests: what is staged before the record goes out is undone with it."""

from __future__ import annotations

from kipviz.brokers.groups.group_coordinator import GroupCoordinator
from tests.scenarios.story import after, committed_outputs

STORY = "kip-98-offsets-go-first"


def pending(world):
    """Whether a group coordinator has an offset of an open transaction."""
    return any(isinstance(role, GroupCoordinator) and role.pending for role in world.roles.values())


def test_an_offset_is_staged_whose_output_is_in_no_log():
    world = after(STORY, "kafka", "The offset is pending, the record is in no log")
    producer = world.applications["app-1"].producer
    assert [batch.broker for batch in producer.accumulator.batches] == [-1]
    assert not world.logs["output-A-0"].batches
    assert pending(world)


def test_the_next_process_reads_the_same_records_and_nothing_is_lost_or_twice():
    world = after(STORY, "kafka", "It reads from 100, and this time the record goes first")
    assert committed_outputs(world) == {"src-0@100": 1, "src-0@101": 1}
    assert not pending(world)
