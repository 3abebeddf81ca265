"""max.poll.interval.ms: what a consumer does that was not polled in time, and what it may do then."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.clients import kinds
from kipviz.clients.groups import kafka_consumer
from kipviz.clients.groups.consumer import GroupConsumer, joins_group
from kipviz.clients.groups.consumer_coordinator import MemberState as Classic
from kipviz.clients.groups.consumer_membership import MemberState
from kipviz.clients.throwing.client_errors import NotInGroup
from kipviz.clients.timers import HeartbeatInterval
from kipviz.cluster.actions import MissPoll
from kipviz.cluster.timing.clock import Due
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.messages.errors import Errors
from kipviz.messages.events import CallReturned
from kipviz.messages.groups.classic_groups import HeartbeatResponse, LeaveGroup, Leaver
from kipviz.messages.groups.groups import GroupOffset, OffsetCommit, committed_response
from kipviz.messages.groups.membership import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatResponse
from kipviz.records.batches import DataRecord
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.script import Beat, play
from tests.clients.groups.test_classic_consumer import BOTH, back, stable
from tests.clients.groups.test_classic_consumer import send as classic_send
from tests.clients.groups.test_group_consumer import reading, send
from tests.clients.parts import change
from tests.cluster.timing.test_timers import go, model_of, running
from tests.scenarios.story import nodes, play_once

E, S = Errors, MemberState
OFFSETS = (GroupOffset("src-0", 5), GroupOffset("src-1", 7))


def test_a_classic_consumer_says_goodbye_once_and_has_nothing_left_to_commit_in_its_name() -> None:
    me = kafka_consumer.on_missed_poll(back(stable()))
    assert (me.state, me.member_id, me.member_epoch) == (Classic.UNJOINED, "", -1)
    me, request = classic_send(me)
    assert request == LeaveGroup("g", (Leaver("C1.1"),))
    assert kafka_consumer.next_request(me) is None
    assert not kafka_consumer.timers(me)
    failed = kafka_consumer.commit_sync(me)
    assert (failed.done, failed.error) == (True, NotInGroup())
    assert not kinds.awaits_poll(me)


def test_a_static_classic_consumer_leaves_without_a_word_and_beats_no_more() -> None:
    me = kafka_consumer.on_missed_poll(change(back(stable()), instance_id="i1"))
    assert me.membership.leaving is None
    assert kafka_consumer.next_request(me) is None
    assert not kafka_consumer.timers(me)


def test_a_commit_that_is_not_sent_yet_fails_with_its_member() -> None:
    beating = kafka_consumer.on_timer(back(stable()), HeartbeatInterval())
    beating, _ = classic_send(beating)
    waiting = kafka_consumer.commit_sync(beating)
    for out in (
        kafka_consumer.on_missed_poll(waiting),
        kafka_consumer.on_response(waiting, HeartbeatResponse(E.UNKNOWN_MEMBER_ID)),
    ):
        assert (out.offsets.committing, out.done, out.error) == ((), True, NotInGroup())


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (E.NONE, ""),
        (E.UNKNOWN_MEMBER_ID, "OffsetCommit: UNKNOWN_MEMBER_ID"),
        (E.COORDINATOR_LOAD_IN_PROGRESS, str(NotInGroup())),
    ],
)
def test_a_commit_on_the_wire_still_gets_its_answer_and_is_not_sent_again(
    error: Errors, raised: str
) -> None:
    me, request = classic_send(kafka_consumer.commit_sync(back(stable())))
    assert isinstance(request, OffsetCommit)
    me = kafka_consumer.on_response(
        kafka_consumer.on_missed_poll(me), committed_response(request, error)
    )
    assert (me.offsets.committing, me.done, str(me.error)) == ((), True, raised)


def late(**changes: Any) -> GroupConsumer:
    """A member whose poll() has come back with records, and that is not polled in time."""
    me = reading(*BOTH, **changes)
    me = change(
        me,
        polling=False,
        done=True,
        positions=me.subscription.positions.set("src-0", 5).set("src-1", 7),
    )
    return kafka_consumer.on_missed_poll(me)


def test_a_member_of_kip_848_says_epoch_minus_1_and_does_not_wait_for_the_answer() -> None:
    me, request = send(late())
    assert request == ConsumerGroupHeartbeat("g", "C1", -1)
    assert (me.state, me.owned, kafka_consumer.timers(me)) == (S.STALE, BOTH, ())
    me = kafka_consumer.on_response(me, ConsumerGroupHeartbeatResponse(E.NONE, "C1", -1))
    assert me.state is S.STALE
    assert kafka_consumer.next_request(me) is None
    assert kafka_consumer.on_disconnected(me.but(on_wire=request, on_wire_broker=4), 4) == me


def test_what_it_had_is_lost_at_once_or_in_poll_and_poll_joins_again() -> None:
    assert late(listener=False).owned == ()
    me = kafka_consumer.poll(late())
    assert (me.state, me.owned, me.member_epoch) == (S.JOINING, (), 0)
    me, request = send(me)
    assert request == ConsumerGroupHeartbeat("g", "C1", -1)
    gone = ConsumerGroupHeartbeatResponse(E.UNKNOWN_MEMBER_ID, "C1")
    me, request = send(kafka_consumer.on_response(me, gone))
    assert request == ConsumerGroupHeartbeat("g", "C1", 0, ("src",), ())


def test_who_is_stale_commits_without_an_epoch_and_unsubscribes_at_once() -> None:
    me, _ = send(late())
    me = kafka_consumer.on_response(me, ConsumerGroupHeartbeatResponse(E.NONE, "C1", -1))
    _, request = send(kafka_consumer.commit_sync(me))
    assert request == OffsetCommit("g", "C1", -1, OFFSETS)
    left = kafka_consumer.unsubscribe(me)
    assert (left.state, left.done, kafka_consumer.next_request(left)) == (S.STALE, True, None)


def test_the_answer_to_an_earlier_heartbeat_is_not_that_to_the_goodbye() -> None:
    me, _ = send(kafka_consumer.on_timer(reading(*BOTH).but(polling=False), HeartbeatInterval()))
    me = kafka_consumer.unsubscribe(me)
    me = kafka_consumer.on_response(me, ConsumerGroupHeartbeatResponse(E.NONE, "C1", 2))
    assert (me.state, me.done) == (S.LEAVING, False)
    _, request = send(me)
    assert request == ConsumerGroupHeartbeat("g", "C1", -1)


# -- in a cluster ----------------------------------------------------------------------------------


def list_written(under: str, story: str) -> list[str]:
    """What a reader of committed records finds in the output."""
    trace, _ = play_once(story, under)
    log = trace.world.logs["output-A-0"]
    ended = {b.producer_id: b.control for b in log.batches if b.control}
    return [
        record.value
        for batch in log.batches
        if not batch.control and ended[batch.producer_id] == "COMMIT"
        for record in batch.records
        if isinstance(record, DataRecord)
    ]


def test_the_work_is_there_twice_unless_the_offsets_are_part_of_the_transaction() -> None:
    assert list_written("kafka", "kip-62-polls-too-late") == ["f(c)", "f(d)"] * 2
    assert list_written("kafka", "kip-848-polls-too-late") == ["f(c)", "f(d)"]
    assert list_written("before-447", "kip-848-polls-too-late") == ["f(c)", "f(d)"] * 2


@pytest.mark.parametrize(
    ("story", "raised"),
    [
        ("kip-62-polls-too-late", "CommitFailedException: the consumer is UNJOINED"),
        ("kip-848-polls-too-late", "TxnOffsetCommit: UNKNOWN_MEMBER_ID"),
    ],
)
def test_who_was_too_slow_hears_of_it_when_it_commits(story: str, raised: str) -> None:
    trace, _ = play_once(story, "kafka")
    heard = [str(e.raised) for n in nodes(trace) for e in n.events if isinstance(e, CallReturned)]
    assert [each for each in heard if each] == [raised]


def test_alone_in_its_group_a_stale_member_commits_all_the_same() -> None:
    """An empty group of KIP-848 takes offsets from whoever says no epoch; a classic one is not asked."""
    story = searched_scenario("kip-848-polls-too-late")
    spec = story.spec
    alone = spec.applications[0].but(
        program=searched_scenario("kip-62-polls-too-late").spec.applications[0].program
    )
    model = story.but(spec=spec.but(applications=(alone,))).model(design("kafka"))
    goes = ("app-1 goes on", "quiet", "app-1 goes on")
    steps = (
        *story.beats[0].steps,
        *goes,
        "app-1/consumer polls too late",
        "quiet",
        "app-1 goes on",
        "until OffsetCommit arrives at B4",
        "quiet",
    )
    trace, _ = play(Trace.start(model), model, (Beat("", "", steps),))
    (coordinator,) = [r for r in trace.world.roles.values() if getattr(r, "offsets", None)]
    kept = {place[1]: each.offset for place, each in coordinator.offsets.items()}
    assert kept == {"src-0": 0, "src-1": 202}
    assert trace.world.applications["app-1"].consumer.state is S.STALE


def test_under_a_clock_it_takes_max_poll_interval_ms_after_poll_came_back() -> None:
    quick = model_of("kip-848-polls-too-late", "miss_poll=1", "pause_max_ms=0", "delay_max_ms=0")
    assert quick.spec.durations.max_poll_interval_ms == 300_000
    shorter = quick.spec.durations.but(max_poll_interval_ms=30_000)
    slow = tuple(app.but(work_ms=40_000) for app in quick.spec.applications)
    story = searched_scenario("kip-848-polls-too-late").but(
        spec=quick.spec.but(applications=slow, durations=shorter)
    )
    model = story.model(design("kafka"))
    world = go(model, model.initial(), lambda w: running(w, Due.POLL))
    (deadline,) = running(world, Due.POLL)
    assert (deadline.after, deadline.place) == (30_000, ("app-1/consumer",))
    missed = MissPoll("app-1/consumer")
    assert "it is due in 30 s" in str(model.why_not(world, missed))
    world = go(model, world, lambda w: missed in model.enabled(w))
    late = model.step(world, missed).world.applications["app-1"].consumer
    assert joins_group(late)
    assert late.state is S.STALE


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("app-1/consumer", "app-1/consumer is in no group: UNJOINED"),
        ("app-1/producer", "app-1/producer is not a member that joins its group"),
        ("nobody/consumer", "there is no client nobody/consumer"),
    ],
)
def test_who_cannot_be_too_late_is_said_in_one_sentence(source: str, why: str) -> None:
    model = model_of("kip-62-polls-too-late", "miss_poll=1")
    assert str(model.why_not(model.initial(), MissPoll(source))).startswith(why)


def test_who_is_in_poll_is_not_late() -> None:
    model = model_of("kip-62-polls-too-late", "miss_poll=1")
    world = go(model, model.initial(), lambda w: w.applications["app-1"].consumer.polling)
    assert model.why_not(world, MissPoll("app-1/consumer")) == "app-1/consumer is in poll()"
