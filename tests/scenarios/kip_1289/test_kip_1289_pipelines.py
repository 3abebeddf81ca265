"""The three pipelines of KIP-1289's motivation: what comes out of them, read from the logs."""

from __future__ import annotations

from kipviz.records.share_group_state import RecordState
from tests.scenarios.story import after, committed_outputs, play_once, states_of

S = RecordState


def test_two_tasks_of_a_mirror_copy_every_record_once() -> None:
    trace, _ = play_once("kip-1289-mirroring", "repaired")
    assert committed_outputs(trace.world) == {f"src-0@{offset}": 1 for offset in range(100, 104)}


def test_a_committed_copy_is_not_visible_before_the_open_one_in_front_of_it() -> None:
    title = "The second task copies, stages and commits"
    log = after("kip-1289-mirroring", "repaired", title).logs["output-A-0"]
    assert (log.last_stable_offset, log.high_watermark) == (0, 5)


def test_three_members_of_one_partition_have_a_record_each() -> None:
    world = after("kip-1289-streams-topology", "repaired", "Every thread has a record")
    batches = [app.consumer.current_fetch.batch for app in world.applications.values()]
    assert batches == [(100,), (101,), (102,)]


def test_the_record_of_a_dead_thread_is_delivered_again_without_a_rebalance() -> None:
    trace, _ = play_once("kip-1289-streams-topology", "repaired")
    assert states_of(trace, 100) == [S.ACQUIRED, S.AVAILABLE, S.ACQUIRED]
    assert trace.world.applications["app-2"].consumer.current_fetch.batch == (100,)


def test_a_dead_letter_is_an_output_of_the_transaction() -> None:
    trace, _ = play_once("kip-1289-atomic-dead-letter", "repaired")
    assert committed_outputs(trace.world, "letters-0") == {"src-0@100": 1}
    assert states_of(trace, 100) == [S.ACQUIRED, S.TX_PENDING, S.ACKNOWLEDGED]
