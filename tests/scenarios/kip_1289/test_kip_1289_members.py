"""A snapshot of shareGroupMetadata(), and a member whose epoch moves on without it (corner case 8)."""

from __future__ import annotations

import pytest

from kipviz.clients.application import Call
from kipviz.clients.shares import share_consumer as sharing
from kipviz.clients.shares.handover import NO_SNAPSHOT
from kipviz.clients.shares.share_member import ShareMember, why_no_metadata
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.cluster.world import World
from kipviz.designs.catalogue import design
from kipviz.messages.events import CallReturned, MessageSent
from kipviz.messages.shares.share_groups import TxnShareAcknowledge
from kipviz.scenarios.applications import programs
from kipviz.scenarios.library import scenario
from tests.clients.parts import change
from tests.scenarios.story import after, committed_outputs, nodes, play_once

OLD, GONE = "kip-1289-corner-8-snapshot", "kip-1289-corner-8-gone"
ONE_BEFORE = "repaired+member_epoch=the_current_or_the_one_before"


def consumer_of(world: World) -> ShareConsumer:
    consumer = world.applications["app-1"].consumer
    assert isinstance(consumer, ShareConsumer)
    return consumer


def test_the_staging_says_the_epoch_of_the_snapshot_though_the_consumer_knows_another_one() -> None:
    consumer = consumer_of(after(OLD, "repaired", "app-2 joins, app-1 sends a heartbeat"))
    assert consumer.member_epoch == 4
    assert consumer.handover.snapshot == ("M1", 3)
    trace, _ = play_once(OLD, "repaired")
    sent = [e.message for n in nodes(trace) for e in n.events if isinstance(e, MessageSent)]
    (asked,) = [m for m in sent if isinstance(m, TxnShareAcknowledge)]
    assert (asked.member_id, asked.member_epoch) == ("M1", 3)


@pytest.mark.parametrize(
    ("story", "thrown"),
    [
        (
            OLD,
            {
                "repaired": [],
                ONE_BEFORE: [],
                "finding-L": ["TxnShareAcknowledge: STALE_MEMBER_EPOCH"],
                "as-written": ["TxnShareAcknowledge: STALE_MEMBER_EPOCH"],
            },
        ),
        (
            GONE,
            {
                "repaired": [],
                ONE_BEFORE: ["TxnShareAcknowledge: UNKNOWN_MEMBER_ID"],
                "finding-L": ["TxnShareAcknowledge: UNKNOWN_MEMBER_ID"],
                "as-written": ["TxnShareAcknowledge: UNKNOWN_MEMBER_ID"],
            },
        ),
    ],
    ids=["an older epoch", "a removed member"],
)
def test_a_design_that_compares_the_epoch_aborts_the_work(
    story: str, thrown: dict[str, list[str]]
) -> None:
    for under, expected in thrown.items():
        trace, _ = play_once(story, under)
        returned = [e for n in nodes(trace) for e in n.events if isinstance(e, CallReturned)]
        commits = [str(e.raised) for e in returned if e.call == "commitTransaction" and e.raised]
        assert commits == expected
        assert committed_outputs(trace.world) == ({} if expected else {"src-0@100": 1})


@pytest.mark.parametrize("story", [OLD, GONE])
def test_a_snapshot_is_whole_at_every_moment_and_changes_nothing_in_the_consumer(
    story: str,
) -> None:
    """That is what makes it safe beside poll(): it can be taken between any two steps of a run."""
    trace, _ = play_once(story, "repaired")
    told: set[tuple[str, int]] = set()
    waiting = 0
    for node in nodes(trace):
        consumer = consumer_of(node.world)
        told.add((consumer.member_id, consumer.member_epoch))
        waiting += node.world.applications["app-1"].waiting and consumer.to_send is None
        taken = sharing.share_group_metadata(consumer)
        assert taken.handover.snapshot in told
        assert change(taken, snapshot=consumer.handover.snapshot) == consumer
    assert waiting
    assert len(told) > 1


def test_before_the_first_poll_there_is_no_epoch_to_give() -> None:
    world = scenario(OLD).model(design("repaired")).initial()
    assert consumer_of(world).handover.snapshot == NO_SNAPSHOT
    member = world.applications["app-1"].others["member"]
    assert isinstance(member, ShareMember)
    why = why_no_metadata(member)
    assert why is not None
    assert str(why).startswith("TimeoutException: the consumer has not joined its group")
    assert why_no_metadata(member.but(member_epoch=3)) is None


def test_a_snapshot_before_the_first_poll_throws_and_one_of_a_closed_consumer_does() -> None:
    story = scenario(OLD)
    lines = programs.SNAPSHOT_LOOP
    take = next(line for line in lines if line.call is Call.SHARE_GROUP_METADATA).but(on_error=-1)
    (first, _) = story.spec.applications
    for before, raised in (
        ((), "TimeoutException"),
        ((lines[1].but(call=Call.CLOSE_CONSUMER),), "IllegalStateException: this consumer has"),
    ):
        spec = story.spec.but(applications=(first.but(program=(*before, take)),))
        model = story.but(spec=spec).model(design("repaired"))
        world = model.initial()
        events = []
        for _ in range(30):
            steps = [
                a for a in model.enabled(world) if a.KIND in ("application", "deliver", "sender")
            ]
            if not steps:
                break
            outcome = model.step(world, steps[0])
            world, events = outcome.world, [*events, *outcome.events]
        thrown = [str(e.raised) for e in events if isinstance(e, CallReturned) and e.raised]
        assert [word.startswith(raised) for word in thrown] == [True]
