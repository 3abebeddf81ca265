"""The stories of KIP-1289's draft implementation and of its first users: how each ends under each of its designs."""

from __future__ import annotations

import pytest

from kipviz.brokers.share_coordinators.share_state import ShareCoordinator
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.checking.single_run import runs
from kipviz.checking.single_run.runs import judge_to_the_end
from kipviz.checking.single_run.seeded_run import Task, run
from kipviz.core.traces.trace import Trace
from kipviz.messages.events import RecordsMoved
from kipviz.properties.verdict import BROKEN
from kipviz.records.share_group_state import RecordState
from kipviz.records.transaction_state import TransactionState
from kipviz.scenarios.library import LIBRARY, scenario
from tests.scenarios.story import committed_outputs, nodes, play_once, states_of

# Of each design: the states that record 100 goes through in memory, the committed outputs, and what breaks.
ENDS: dict[str, tuple[tuple[str, str, int, str], ...]] = {
    "kip-1289-draft-late-stage": (
        ("draft-late", "ACQUIRED TX_PENDING", 0, "no stuck transactions or records"),
        ("repaired", "ACQUIRED TX_PENDING AVAILABLE", 0, ""),
        (
            "draft-late+acknowledgement_form=batch_of_the_transaction",
            "ACQUIRED TX_PENDING AVAILABLE",
            0,
            "",
        ),
    ),
    "kip-1289-draft-epoch": (
        ("draft-middle", "ACQUIRED TX_PENDING", 1, "no stuck transactions or records"),
        ("draft-middle+marker_epoch=equal_or_next", "ACQUIRED TX_PENDING ACKNOWLEDGED", 1, ""),
        (
            "draft-middle+marker_epoch=equal_or_next+state_rank=pending_below_outcomes",
            "ACQUIRED TX_PENDING ACKNOWLEDGED",
            1,
            "",
        ),
    ),
    "kip-1289-draft-merge": (
        (
            "draft-middle+marker_epoch=equal_or_next",
            "ACQUIRED TX_PENDING ACKNOWLEDGED",
            1,
            "no stuck transactions or records",
        ),
        (
            "draft-middle+marker_epoch=equal_or_next+state_rank=pending_below_outcomes",
            "ACQUIRED TX_PENDING ACKNOWLEDGED",
            1,
            "",
        ),
        ("draft-late", "ACQUIRED TX_PENDING", 1, ""),
    ),
    "kip-1289-draft-lost-answer": (
        ("draft-late", "ACQUIRED TX_PENDING ACQUIRED AVAILABLE", 0, ""),
        ("draft-late+rollback_lock=no_timer", "ACQUIRED TX_PENDING ACQUIRED", 0, ""),
    ),
    "kip-1289-draft-lost-answer-acknowledged": (
        (
            "draft-late+drain=decisions_stay",
            "ACQUIRED TX_PENDING ACQUIRED ACKNOWLEDGED ACQUIRED",
            0,
            "atomic",
        ),
        (
            "draft-late+drain=decisions_stay+state_rank=pending_below_outcomes",
            "ACQUIRED TX_PENDING ACQUIRED ACKNOWLEDGED",
            0,
            "atomic",
        ),
    ),
    "kip-1289-draft-failover": (
        ("draft-late", "ACQUIRED TX_PENDING", 1, ""),
        ("repaired", "ACQUIRED TX_PENDING", 1, ""),
        (
            "draft-early+enlistment=transaction_coordinator",
            "ACQUIRED TX_PENDING ACQUIRED",
            1,
            "atomic",
        ),
    ),
    "kip-1289-draft-failover-abort": (
        ("draft-late", "ACQUIRED TX_PENDING ACQUIRED", 0, ""),
        ("repaired", "ACQUIRED TX_PENDING ACQUIRED", 0, ""),
        (
            "draft-early+enlistment=transaction_coordinator",
            "ACQUIRED TX_PENDING ACQUIRED",
            0,
            "",
        ),
    ),
    "kip-1289-draft-fenced-refresh": (
        ("draft-late", "ACQUIRED TX_PENDING", 1, ""),
        ("repaired", "ACQUIRED TX_PENDING", 1, ""),
    ),
    "kip-1289-draft-refresh-waits": (
        ("draft-late", "ACQUIRED TX_PENDING ACKNOWLEDGED", 2, ""),
        ("repaired", "ACQUIRED TX_PENDING ACKNOWLEDGED", 2, ""),
    ),
    "kip-1289-draft-late-refresh": (
        ("draft-late", "ACQUIRED TX_PENDING ACKNOWLEDGED", 2, ""),
        ("repaired", "ACQUIRED TX_PENDING ACKNOWLEDGED", 2, ""),
    ),
    "kip-1289-draft-one-epoch": (
        ("draft-late", "ACQUIRED TX_PENDING ACKNOWLEDGED", 2, ""),
        (
            "draft-late+refresh_match=of_a_noted_transaction",
            "ACQUIRED TX_PENDING ACKNOWLEDGED",
            2,
            "atomic",
        ),
    ),
    "kip-1289-draft-closed": (
        ("draft-late", "ACQUIRED TX_PENDING ACKNOWLEDGED", 1, ""),
        ("repaired", "ACQUIRED TX_PENDING ACKNOWLEDGED", 1, ""),
        (
            "draft-early+enlistment=transaction_coordinator+marker_epoch=equal_or_next",
            "ACQUIRED TX_PENDING",
            1,
            "no stuck transactions or records",
        ),
    ),
    "kip-1289-draft-closed-abort": (
        ("draft-late", "ACQUIRED TX_PENDING AVAILABLE ACQUIRED", 0, ""),
        ("repaired", "ACQUIRED TX_PENDING AVAILABLE ACQUIRED", 0, ""),
        (
            "draft-early+enlistment=transaction_coordinator+marker_epoch=equal_or_next",
            "ACQUIRED TX_PENDING",
            0,
            "no stuck transactions or records",
        ),
    ),
    "kip-1289-draft-hook-first": (
        (
            "draft-early+enlistment=transaction_coordinator+marker_epoch=equal_or_next",
            "ACQUIRED TX_PENDING ACKNOWLEDGED ACQUIRED",
            1,
            "atomic",
        ),
        ("draft-late", "ACQUIRED TX_PENDING", 1, ""),
    ),
    "kip-1289-draft-poison": (
        (
            "draft-late",
            "ACQUIRED TX_PENDING AVAILABLE ACQUIRED TX_PENDING AVAILABLE ACQUIRED",
            0,
            "",
        ),
        (
            "draft-late+abort_limit=archived_at_the_limit",
            "ACQUIRED TX_PENDING AVAILABLE ACQUIRED TX_PENDING ARCHIVED",
            0,
            "",
        ),
    ),
    "kip-1289-draft-filter": (
        ("draft-late", "ACQUIRED TX_PENDING ACKNOWLEDGED", 0, ""),
        ("draft-late+staging_starts=only_sends_count", "ACQUIRED TX_PENDING", 0, ""),
    ),
    "kip-1289-draft-same-holder": (
        ("draft-late", "ACQUIRED AVAILABLE ACQUIRED TX_PENDING", 2, "atomic"),
        ("draft-late+staged_deliveries=with_delivery_counts", "ACQUIRED AVAILABLE ACQUIRED", 0, ""),
    ),
    "kip-1289-draft-same-holder-next": (
        ("draft-late", "ACQUIRED AVAILABLE ACQUIRED TX_PENDING ACKNOWLEDGED", 1, ""),
        (
            "draft-late+staged_deliveries=with_delivery_counts",
            "ACQUIRED AVAILABLE ACQUIRED TX_PENDING ACKNOWLEDGED",
            1,
            "",
        ),
    ),
    "kip-1289-flink-acks-first": (
        ("draft-late", "ACQUIRED TX_PENDING ACKNOWLEDGED", 0, "atomic"),
        ("repaired", "ACQUIRED TX_PENDING ACKNOWLEDGED", 0, "atomic"),
    ),
    "kip-1289-flink-outputs-first": (
        ("draft-late", "ACQUIRED TX_PENDING ACQUIRED TX_PENDING", 2, "atomic"),
        ("repaired", "ACQUIRED TX_PENDING AVAILABLE ACQUIRED TX_PENDING", 2, "atomic"),
    ),
    "kip-1289-flink-lock": (
        ("draft-late", "ACQUIRED AVAILABLE", 1, "atomic"),
        ("repaired", "ACQUIRED AVAILABLE", 1, "atomic"),
    ),
    "kip-1289-flink-stale-epoch": (
        ("draft-late+member_epoch=the_current_one", "ACQUIRED", 0, ""),
        ("draft-late", "ACQUIRED TX_PENDING", 1, ""),
        ("draft-middle", "ACQUIRED TX_PENDING", 1, ""),
    ),
    "kip-1289-flink-restart-loop": (
        (
            "draft-late+member_epoch=the_current_one",
            "ACQUIRED AVAILABLE ACQUIRED ARCHIVED",
            0,
            "",
        ),
        ("draft-late", "ACQUIRED TX_PENDING", 1, ""),
    ),
    "kip-1289-flink-never-returns": (
        ("draft-late+keep_prepared=next_epoch", "ACQUIRED TX_PENDING", 0, ""),
        ("repaired", "ACQUIRED TX_PENDING AVAILABLE", 0, ""),
    ),
    "kip-1289-flink-scale-down": (
        ("draft-late+keep_prepared=next_epoch", "ACQUIRED TX_PENDING", 1, ""),
        ("repaired", "ACQUIRED TX_PENDING", 1, ""),
    ),
    "kip-1289-flink-without-two-phase": (
        ("draft-late", "ACQUIRED TX_PENDING ACQUIRED", 0, ""),
        ("repaired", "ACQUIRED TX_PENDING AVAILABLE ACQUIRED", 0, ""),
    ),
    "kip-1289-flink-stale-handle": (
        ("draft-late+keep_prepared=next_epoch", "ACQUIRED TX_PENDING ACQUIRED", 0, ""),
        ("repaired", "ACQUIRED TX_PENDING AVAILABLE ACQUIRED", 0, ""),
    ),
    "kip-1289-flink-shuffle": (
        ("draft-late", "ACQUIRED TX_PENDING AVAILABLE", 0, ""),
        ("repaired", "ACQUIRED TX_PENDING AVAILABLE", 0, ""),
    ),
    "kip-1289-flink-shuffle-epoch": (
        (
            "draft-late+member_epoch=the_current_one",
            "ACQUIRED TX_PENDING AVAILABLE",
            0,
            "",
        ),
        ("draft-late", "ACQUIRED TX_PENDING ACKNOWLEDGED", 2, ""),
        ("repaired", "ACQUIRED TX_PENDING ACKNOWLEDGED", 2, ""),
    ),
    "kip-1289-flink-payload-id": (
        ("draft-late", "ACQUIRED TX_PENDING AVAILABLE ACQUIRED", 0, ""),
        ("repaired", "ACQUIRED TX_PENDING AVAILABLE ACQUIRED", 0, ""),
    ),
    "kip-1289-flink-late-element": (
        (
            "draft-late+keep_prepared=next_epoch",
            "ACQUIRED TX_PENDING",
            0,
            "no stuck transactions or records",
        ),
        ("repaired", "ACQUIRED TX_PENDING", 0, "no stuck transactions or records"),
    ),
    "kip-1289-ingress": (
        ("draft-late", "ACQUIRED TX_PENDING ACKNOWLEDGED", 1, ""),
        ("repaired", "ACQUIRED TX_PENDING ACKNOWLEDGED", 1, ""),
    ),
    "kip-1289-ingress-at-least-once": (("kafka", "ACQUIRED ACKNOWLEDGED", 0, "atomic"),),
    "kip-1289-ingress-closed": (
        ("draft-late", "ACQUIRED ACKNOWLEDGED", 0, "atomic"),
        ("repaired", "ACQUIRED ACKNOWLEDGED", 0, "atomic"),
    ),
    "kip-1289-ingress-polled": (
        ("draft-late", "ACQUIRED ACKNOWLEDGED", 0, "atomic"),
        ("repaired", "ACQUIRED ACKNOWLEDGED", 0, "atomic"),
    ),
    "kip-1289-ingress-unknown-task": (("kafka", "ACQUIRED AVAILABLE ACQUIRED ARCHIVED", 0, ""),),
}
OF_THE_DRAFTS = ("kip-1289-draft", "kip-1289-flink", "kip-1289-ingress")


@pytest.mark.parametrize("story", ENDS)
def test_a_story_ends_as_pinned(story: str) -> None:
    assert [design for design, *_ in ENDS[story]] == list(scenario(story).designs)
    for design, states, outputs, broken in ENDS[story]:
        trace, _ = play_once(story, design)
        assert " ".join(state.name for state in states_of(trace, 100)) == states, design
        assert sum(committed_outputs(trace.world).values()) == outputs, design
        judged = judge_to_the_end(runs.play(story, design))
        assert ", ".join(j.property for j in judged if j.status == BROKEN) == broken, design


def test_every_story_of_the_drafts_is_pinned() -> None:
    told = {s.name for s in LIBRARY if s.name.startswith(OF_THE_DRAFTS) and s.beats}
    assert told == set(ENDS)


@pytest.mark.parametrize("story", ENDS)
def test_a_story_asks_a_question_and_names_a_way_out(story: str) -> None:
    told = scenario(story)
    assert told.question is not None
    assert any("ay out" in beat.say for beat in told.beats)
    assert len(told.checkpoints) >= 2


def starts(trace: Trace) -> list[int]:
    """Give the start offsets of the share-partitions that are in memory."""
    leaders = (role for role in trace.world.roles.values() if isinstance(role, ShareLeader))
    return [share.start_offset for leader in leaders for share in leader.shares.values()]


def test_after_a_scale_down_the_start_offset_waits_for_a_transaction_that_nobody_ends() -> None:
    trace, _ = play_once("kip-1289-flink-scale-down", "repaired")
    (known,) = (
        transaction
        for role in trace.world.roles.values()
        if isinstance(role, TransactionCoordinator)
        for name, transaction in role.transactions.items()
        if name == "my-txn-2"
    )
    assert known.state is TransactionState.ONGOING
    assert starts(trace) == [100]
    assert trace.world.applications["app-1"].consumer.current_fetch.staged == ()


def test_after_a_stage_write_whose_answer_was_lost_memory_and_log_say_two_things() -> None:
    trace, _ = play_once("kip-1289-draft-lost-answer", "draft-late")
    back = next(
        node
        for node in nodes(trace)
        for event in node.events
        if isinstance(event, RecordsMoved)
        and (event.before, event.after) == (RecordState.TX_PENDING, RecordState.ACQUIRED)
    )
    (durable,) = (
        batch
        for role in back.world.roles.values()
        if isinstance(role, ShareCoordinator)
        for state in role.states.values()
        for batch in state.batches
        if batch.first <= 100 <= batch.last
    )
    assert durable.state is RecordState.TX_PENDING


def test_a_timer_that_is_not_armed_again_leaves_the_record_with_a_member_that_has_drained_it() -> (
    None
):
    story = "kip-1289-draft-lost-answer"
    freed, _ = play_once(story, "draft-late")
    kept, _ = play_once(story, "draft-late+rollback_lock=no_timer")
    assert "the lock of src-0@100 expires" in runs.labels(runs.play(story, "draft-late"))
    assert states_of(freed, 100)[-1].name == "AVAILABLE"
    assert states_of(kept, 100)[-1].name == "ACQUIRED"
    assert kept.world.applications["app-1"].consumer.current_fetch.batch == ()


def test_in_the_ingress_the_task_reads_the_copy_and_the_share_group_is_done_before() -> None:
    trace, _ = play_once("kip-1289-ingress", "draft-late")
    assert starts(trace) == [101]
    assert dict(committed_outputs(trace.world, "output-A-0")) == {"ingress-0@0": 1}
    assert dict(committed_outputs(trace.world, "ingress-0")) == {"src-0@100": 1}


def test_a_task_that_reads_past_an_aborted_copy_has_lost_nothing() -> None:
    """The ingress topic has what a forwarder gave up; a reader of committed records passes over it."""
    for seed in (1, 2):
        verdict = run(Task("kip-1289-ingress", "repaired", "rough", seed, 400))
        assert verdict.status not in {"breaks", "error"}, verdict.reason
