"""The stories of operators: what the model does, read from worlds and events and not from its words."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.brokers.share_coordinators.share_state import ShareCoordinator
from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.clients.application import Call, Line
from kipviz.clients.operators.admin import Admin
from kipviz.cluster.world import World
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.messages.errors import Errors
from kipviz.messages.events import (
    CallReturned,
    MessageSent,
    RecordsMoved,
    SharePartitionDropped,
    ShareStateReset,
)
from kipviz.messages.shares.share_state import WriteShareGroupStateResponse
from kipviz.records.share_group_state import RecordState
from kipviz.scenarios.bases import process
from kipviz.scenarios.library import scenario
from kipviz.scenarios.script import follow, play
from tests.scenarios.story import after, first_step, nodes, play_once

S = RecordState


def state_of_g1(world: World) -> Any:
    """What is durable of src-0 for g1; None where nothing is."""
    key = f"g1:{world.image.topic_ids['src']}:0"
    for role in world.roles.values():
        if isinstance(role, ShareCoordinator) and key in role.states:
            return role.states[key]
    return None


def offsets_told(world: World) -> list[tuple[int, int]]:
    """The start offset and the lag that the operator was told last."""
    admin = world.applications["operator"].others["admin"]
    assert isinstance(admin, Admin)
    return [(offset.start_offset, offset.lag) for offset in admin.share_offsets]


def list_delivered(name: str, under: str, since: int = 0) -> list[int]:
    """The offsets that were delivered from a step on, in their order."""
    trace, _ = play_once(name, under)
    return [
        offset
        for node in nodes(trace)[since:]
        for event in node.events
        if isinstance(event, RecordsMoved) and event.after is S.ACQUIRED
        for offset in range(event.first, event.last + 1)
    ]


def test_a_reset_is_refused_while_somebody_is_in_the_group_and_then_begins_anew() -> None:
    name = "kip-932-reset"
    assert offsets_told(after(name, "kafka", "--describe: a lag that is outdated")) == [(100, 1)]
    trace, _ = play_once(name, "kafka")
    refused = first_step(trace, CallReturned, call="alterShareGroupOffsets")
    event = next(e for e in nodes(trace)[refused].events if isinstance(e, CallReturned))
    assert str(event.raised) == "AlterShareGroupOffsets: NON_EMPTY_GROUP"
    assert offsets_told(after(name, "kafka", "--describe: everything again")) == [(100, 3)]
    reset = first_step(trace, ShareStateReset, start_offset=100)
    assert list_delivered(name, "kafka", reset) == [100, 101]


def test_a_leader_that_was_told_nothing_is_fenced_with_its_next_write() -> None:
    trace, _ = play_once("kip-932-reset-fences", "kafka")
    reset = first_step(trace, ShareStateReset)
    fenced = next(
        step
        for step, node in enumerate(nodes(trace))
        for e in node.events
        if isinstance(e, MessageSent) and isinstance(e.message, WriteShareGroupStateResponse)
        if e.message.only.error is Errors.FENCED_STATE_EPOCH
    )
    assert reset < fenced
    assert list_delivered("kip-932-reset-fences", "kafka", fenced + 1)[-2:] == [100, 101]
    world = nodes(trace)[-1].world
    assert state_of_g1(world).batches == ()


def test_a_deleted_group_comes_back_with_the_epochs_of_a_first_life() -> None:
    name = "kip-932-delete-group"
    assert state_of_g1(after(name, "kafka", "--delete")) is None
    trace, _ = play_once(name, "kafka")
    assert state_of_g1(nodes(trace)[-1].world).state_epoch == 2
    gone = first_step(trace, ShareStateReset, state_epoch=-1)
    assert list_delivered(name, "kafka", gone) == [100, 101]


def test_a_leader_that_outlives_a_deletion_takes_it_back() -> None:
    """Nobody fences it: the new state has the number of the old one."""
    name = "kip-932-delete-undone"
    trace, _ = play_once(name, "kafka")
    gone = first_step(trace, ShareStateReset, state_epoch=-1)
    assert list_delivered(name, "kafka", gone) == []
    world = nodes(trace)[-1].world
    assert (state_of_g1(world).state_epoch, state_of_g1(world).start_offset) == (2, 102)
    assert offsets_told(world) == [(102, 0)]


def pending_in(world: World) -> list[InFlight]:
    """The records that a share-partition leader keeps for a transactional acknowledgement."""
    return [
        record
        for role in world.roles.values()
        if isinstance(role, ShareLeader)
        for share in role.shares.values()
        for record in share.records.values()
        if record.state is S.TX_PENDING
    ]


@pytest.mark.parametrize(("under", "goes_past"), [("repaired", False), ("finding-X13", True)])
def test_a_reset_while_a_transactional_acknowledgement_is_pending_is_refused_or_takes_the_acknowledgement_with_it(
    under, goes_past
):
    trace, _ = play_once("kip-1289-small-reset", under)
    assert pending_in(nodes(trace)[-1].world) == []
    resets = [e for n in nodes(trace) for e in n.events if isinstance(e, ShareStateReset)]
    # Kafka 4.4.0 does the operator's second request, too, which says the same as the first one.
    assert len(resets) == (2 if goes_past else 1)
    committed = first_step(trace, CallReturned, call="commitTransaction")
    assert (first_step(trace, ShareStateReset) < committed) is goes_past
    dropped = [e for n in nodes(trace) for e in n.events if isinstance(e, SharePartitionDropped)]
    assert bool(dropped) is goes_past


def test_a_reset_that_comes_before_the_leader_has_looked_leaves_no_record_staged() -> None:
    """The transactional acknowledgement was decided and is nowhere any more: the leader that looks begins anew."""
    story = scenario("kip-1289-small-reset")
    model = story.model(design("repaired"))
    trace, _ = play(Trace.start(model), model, story.beats[:4])
    for instruction in ("my-txn times out", "quiet", *story.beats[4].steps):
        trace = follow(trace, model, instruction, "the reset comes after the abort")
    assert first_step(trace, ShareStateReset, start_offset=100)
    assert pending_in(trace.world)
    trace = follow(trace, model, "B5 refreshes src-0", "and only then it looks")
    trace = follow(trace, model, "quiet", "the answer has another state epoch")
    assert pending_in(trace.world) == []
    assert first_step(trace, SharePartitionDropped, because="its state was created again meanwhile")


@pytest.mark.parametrize("call", [Call.DELETE_SHARE_GROUP_OFFSETS, Call.DELETE_SHARE_GROUPS])
def test_a_deletion_before_the_leader_has_looked_leaves_no_record_staged(call: Call) -> None:
    """The transactional acknowledgement was decided, and there is no state any more: no later look would find its outcome."""
    story = scenario("kip-1289-small-reset")
    target = "g1 src" if call is Call.DELETE_SHARE_GROUP_OFFSETS else "g1"
    deletes = process(
        "operator",
        "operator",
        program=(Line("kafka-share-groups.sh --group g1", call, target=target),),
    )
    spec = story.spec.but(applications=(story.spec.applications[0], deletes))
    model = story.but(spec=spec).model(design("repaired"))
    trace, _ = play(Trace.start(model), model, story.beats[:4])
    operates = ("operator goes on", "quiet", "operator goes on")
    for instruction in ("my-txn times out", "quiet", *operates):
        trace = follow(trace, model, instruction, "the deletion comes after the abort")
    assert pending_in(trace.world)
    for instruction in ("B5 refreshes src-0", "quiet"):
        trace = follow(trace, model, instruction, "and only then it looks")
    assert pending_in(trace.world) == []
    assert first_step(trace, SharePartitionDropped, because="its state was deleted meanwhile")


@pytest.mark.parametrize(("under", "staged"), [("repaired", True), ("finding-L", False)])
def test_another_member_that_joins_takes_the_staging_along_or_does_not(under, staged):
    trace, _ = play_once("kip-1289-small-members", under)
    raised = [
        str(e.raised)
        for node in nodes(trace)
        for e in node.events
        if isinstance(e, CallReturned) and e.application == "app-1" and e.raised
    ]
    assert raised == ([] if staged else ["TxnShareAcknowledge: STALE_MEMBER_EPOCH"])


def test_the_letter_of_a_rejected_record_is_in_no_transaction() -> None:
    trace, _ = play_once("kip-1289-small-letter", "repaired")
    world = nodes(trace)[-1].world
    (batch,) = world.logs["dlq.src-0"].batches
    assert (batch.producer_id, batch.transactional) == (-1, False)
