"""The rollout of KIP-1289: who hears of the level when, the matrix, and a downgrade in between."""

from __future__ import annotations

import pytest

from kipviz.cluster.actions import TimeOutTransaction, UpgradeFeature
from kipviz.cluster.specs.spec import BadSpec
from kipviz.designs.catalogue import design
from kipviz.messages.events import CallReturned, MessageSent
from kipviz.messages.shares.share_groups import TxnShareAcknowledge
from kipviz.messages.transactions.transactions import EndTxn
from kipviz.records.share_group_state import RecordState
from kipviz.scenarios.library import scenario
from kipviz.studies.test_plan import rollout
from tests.scenarios.story import committed_outputs, nodes, play_once, states_of

S = RecordState


def test_a_client_that_was_there_before_hears_of_the_level_with_its_next_connection() -> None:
    trace, chapters = play_once("kip-1289-rollout", "repaired")
    finalized = next(c for c in chapters if c.title.startswith("Phase 3")).end
    thrown = [
        step
        for step, node in enumerate(nodes(trace))
        for event in node.events
        if isinstance(event, CallReturned) and str(event.raised).startswith("UnsupportedVersion")
    ]
    assert len(thrown) == 2
    assert thrown[0] < finalized < thrown[1]
    assert committed_outputs(trace.world) == {"src-0@100": 1}


def test_every_cell_of_the_matrix_is_as_the_text_has_it() -> None:
    cells = {row[0]: row[1:] for row in rollout.matrix()[1]}
    refused = "throws UnsupportedVersionException, after no stagings sent"
    assert cells["the level finalized"] == ("works", "works")
    assert cells["the code, below the level"] == (refused, "works")
    assert cells["no code"] == (refused, "works")


def test_a_level_that_is_taken_back_is_told_by_a_broker_and_ends_the_producer() -> None:
    """Not synchronously, and not without a byte in flight: the client believes what it was told."""
    cells = {row[0]: row[1:] for row in rollout.matrix()[1]}
    new, old = cells["downgraded while the client is connected"]
    assert new == "throws TxnShareAcknowledge: UNSUPPORTED_VERSION, after 1 staging sent"
    assert old == "works"


def test_below_the_level_nothing_is_sent_and_the_output_is_aborted() -> None:
    trace, _ = play_once("kip-1289-corner-9-abort", "as-written")
    sent = [e for n in nodes(trace) for e in n.events if isinstance(e, MessageSent)]
    assert not any(isinstance(event.message, TxnShareAcknowledge) for event in sent)
    assert any(isinstance(e.message, EndTxn) and not e.message.committed for e in sent)
    assert committed_outputs(trace.world) == {}
    assert not trace.world.logs["output-A-0"].open


@pytest.mark.parametrize("under", ["as-written", "repaired"])
def test_the_loop_of_the_text_throws_the_refusal_again_and_leaves_its_transaction_open(
    under: str,
) -> None:
    trace, _ = play_once("kip-1289-corner-9", under)
    sent = [e for n in nodes(trace) for e in n.events if isinstance(e, MessageSent)]
    assert not any(isinstance(event.message, TxnShareAcknowledge | EndTxn) for event in sent)
    ended = next(n for n in nodes(trace) if n.world.applications["app-1"].ended)
    why = ended.world.applications["app-1"].ended
    assert why.startswith("sendShareAcknowledgementsToTransaction() threw UnsupportedVersion")
    assert ended.world.logs["output-A-0"].open
    # Nobody but the coordinator's timer ends it.
    assert not trace.world.logs["output-A-0"].open
    actions = [n.action for n in nodes(trace)]
    assert sum(isinstance(action, TimeOutTransaction) for action in actions) == 1


@pytest.mark.parametrize(
    ("under", "path"),
    [
        ("repaired", [S.ACQUIRED, S.TX_PENDING, S.ACKNOWLEDGED]),
        ("finding-S", [S.ACQUIRED, S.TX_PENDING]),
    ],
)
def test_a_transactional_acknowledgement_in_memory_outlives_its_hook_and_a_durable_one_does_not_need_it(
    under: str, path: list[RecordState]
) -> None:
    trace, _ = play_once("kip-1289-small-downgrade", under)
    assert states_of(trace, 100) == path
    assert committed_outputs(trace.world) == {"src-0@100": 1}


def test_the_level_changes_in_a_rollout_only() -> None:
    plain = scenario("kip-1289-small").model(design("repaired"))
    why = plain.why_not(plain.initial(), UpgradeFeature("share_version", 2))
    assert why is not None
    running = scenario("kip-1289-corner-9").model(design("repaired"))
    world = running.initial()
    assert running.why_not(world, UpgradeFeature("share_version", 3)) is None
    why = running.why_not(world, UpgradeFeature("share_version", 2))
    assert why == (
        "share.version goes to 2 or 3 in a rollout (setting share_rollout), if it is not there"
    )


def test_a_level_that_turns_it_on_is_the_drafts_or_ours() -> None:
    spec = scenario("kip-1289-corner-9").spec.but(staging_level=4)
    chosen = design("repaired")
    with pytest.raises(BadSpec, match=r"staging_level must be 2 \(the draft's\) or 3, not 4"):
        chosen.model(spec)


def test_a_rollout_from_another_level_is_refused() -> None:
    spec = scenario("kip-1289-corner-9").spec.but(share_rollout=1)
    chosen = design("repaired")
    with pytest.raises(BadSpec, match=r"begins, must be 2, 3, or 0 without a rollout, not 1"):
        chosen.model(spec)
