"""What a consumer has fetched and poll() has not returned yet: when it is returned, kept or dropped (FetchBuffer)."""

from __future__ import annotations

import pytest

from kipviz.clients.groups import kafka_consumer
from kipviz.clients.groups.consumer import ClassicConsumer, CompletedFetch, GroupConsumer
from kipviz.clients.groups.consumer_coordinator import MemberState as ClassicState
from kipviz.clients.groups.consumer_membership import MemberState
from kipviz.clients.groups.offset_reset import EARLIEST, NONE
from kipviz.clients.groups.subscription_state import ASKED
from kipviz.clients.timers import FetchWait, HeartbeatInterval, RetryBackOff
from kipviz.messages.errors import Errors
from kipviz.messages.groups.classic_groups import (
    JoinGroup,
    SyncGroup,
    SyncGroupResponse,
)
from kipviz.messages.groups.groups import FetchedOffset, OffsetFetch
from kipviz.messages.logs.producing import Fetch, FetchPartition, FetchResponse, PartitionData
from tests.clients.groups import test_cooperative_consumer as cooperative
from tests.clients.groups.test_assignors import STICKY, holding, rejoining
from tests.clients.groups.test_group_consumer import (
    FROM_THE_START,
    fetch_both,
    heartbeat_response,
    reading,
    records,
    refused_partition,
    send,
    sent_for,
    with_rest,
)
from tests.clients.parts import change
from tests.messages.offset_fetches import response_of, response_with

E, S, C = Errors, MemberState, ClassicState
BOTH = ("src-0", "src-1")


def offsets(me: GroupConsumer | ClassicConsumer) -> list[int]:
    """The offsets of the records that the last poll() has returned."""
    return [record.offset for record in me.records]


def fetched_from(me: GroupConsumer | ClassicConsumer) -> list[str]:
    """The partitions of which something is fetched and not returned."""
    return [each.data.partition for each in me.fetcher.completed]


def with_records(me: ClassicConsumer, *parts: PartitionData) -> ClassicConsumer:
    """The same consumer with these completed fetches, each from its position on."""
    at = me.subscription.positions
    found = tuple(CompletedFetch(at[part.partition], part) for part in parts)
    return me.but(fetcher=me.fetcher.but(completed=found))


# -- errors of completed fetches ----------------------------------------------------------------------


def test_a_partition_is_reset_in_the_poll_that_returns_records_of_another_one() -> None:
    """Source: FetchCollector.handleInitializeErrors: only an error that is thrown waits for the next poll()."""
    me = change(reading(*BOTH), auto_offset_reset=EARLIEST, max_records=5)
    me, _ = send(me)
    lost = refused_partition("src-1", E.OFFSET_OUT_OF_RANGE)
    me = kafka_consumer.on_response(me, FetchResponse((records("src-0", 7), lost)))
    assert (offsets(me), me.done, me.error) == ([7], True, "")
    assert (me.subscription.positions["src-1"], fetched_from(me)) == (ASKED, [])


def test_an_error_that_is_not_thrown_does_not_hide_the_records_behind_it() -> None:
    me, _ = send(change(reading(*BOTH, "src-2"), max_records=5))
    moved = refused_partition("src-1", E.NOT_LEADER_OR_FOLLOWER)
    answer = FetchResponse((records("src-0", 7), moved, records("src-2", 9)))
    me = kafka_consumer.on_response(me, answer)
    assert (offsets(me), fetched_from(me)) == ([7, 9], [])


def out_of_range_behind_records() -> GroupConsumer:
    """A consumer without a policy, of which one partition had records and the other one is out of range."""
    me, _ = send(change(reading(*BOTH), auto_offset_reset=NONE, max_records=5))
    lost = refused_partition("src-1", E.OFFSET_OUT_OF_RANGE)
    me = kafka_consumer.on_response(me, FetchResponse((records("src-0", 7), lost)))
    assert (offsets(me), fetched_from(me), me.error) == ([7], ["src-1"], "")
    return me


def test_without_a_policy_an_offset_out_of_range_is_thrown_by_the_poll_behind_the_records() -> None:
    me = kafka_consumer.poll(out_of_range_behind_records())
    assert (offsets(me), me.done, fetched_from(me)) == ([], True, [])
    assert str(me.error).startswith("OffsetOutOfRangeException")


def test_an_offset_out_of_range_is_not_thrown_after_a_seek() -> None:
    """Source: FetchCollector.handleInitializeErrors: the position is another one by then."""
    me = kafka_consumer.poll(kafka_consumer.seek(out_of_range_behind_records(), "src-1", 3))
    assert (me.done, me.error) == (False, "")
    _, request = send(me)
    assert FetchPartition("src-1", 3) in request.partitions


def test_an_error_of_a_position_that_moved_in_the_same_poll_does_not_end_it() -> None:
    me = out_of_range_behind_records()
    stale, other = me.fetcher.completed[0], records("src-0", 8)
    moved = change(me, positions=me.subscription.positions.set("src-1", 3))
    completed = (CompletedFetch(8, other), stale, CompletedFetch(3, records("src-1", 3)))
    me = kafka_consumer.poll(moved.but(fetcher=me.fetcher.but(completed=completed)))
    assert (offsets(me), fetched_from(me)) == ([8, 3], [])


# -- seek(), subscribe() and errors of the membership -------------------------------------------------


@pytest.mark.parametrize(("to", "found"), [(0, [0]), (1, [])])
def test_records_that_arrive_after_a_seek_are_returned_only_from_the_position(
    to: int, found: list[int]
) -> None:
    """Source: FetchCollector.handleInitializeSuccess compares the offset of the request with the position."""
    me, _ = send(reading("src-1"))
    me = kafka_consumer.seek(me.but(polling=False, done=True), "src-1", to)
    me = kafka_consumer.on_response(me, FetchResponse((records("src-1", 0),)))
    assert (fetched_from(me), offsets(me)) == (["src-1"] * len(found), [])
    assert offsets(kafka_consumer.poll(me)) == found


def test_what_was_fetched_from_a_topic_is_dropped_with_the_subscription_to_it() -> None:
    """Source: AsyncKafkaConsumer.subscribeInternal (FetchBuffer.retainAll), isFetchableAndSubscribed."""
    me = kafka_consumer.subscribe(with_rest(), ("other",))
    assert (fetched_from(me), me.owned) == ([], BOTH)
    me = kafka_consumer.poll(me)
    assert (me.done, kafka_consumer.next_request(me)) == (False, None)
    assert kafka_consumer.timers(me) == (HeartbeatInterval(),)


def test_an_expression_leaves_what_was_fetched() -> None:
    """Source: AsyncKafkaConsumer.subscribeToRegex; a broker says which topics match."""
    assert fetched_from(kafka_consumer.subscribe(with_rest(), (), "other.*")) == list(BOTH)


def test_after_a_fatal_error_nothing_that_was_fetched_is_returned() -> None:
    """Source: AbstractMembershipManager.transitionToFatal (clearAssignment)."""
    me, _ = send(kafka_consumer.on_timer(with_rest(), HeartbeatInterval()))
    me = kafka_consumer.on_response(me, heartbeat_response(0, error=E.INVALID_REQUEST))
    assert (me.state, me.owned, fetched_from(me)) == (S.FATAL, (), [])
    assert offsets(kafka_consumer.poll(me)) == []


def test_a_partition_out_of_reach_of_its_policy_is_fetched_from_as_soon_as_it_is_sought() -> None:
    me = change(reading(*BOTH), unfound=("src-1",))
    me = kafka_consumer.seek(
        change(me, positions=me.subscription.positions.set("src-1", ASKED)), "src-1", 4
    )
    _, request = send(me)
    assert request.partitions == (FetchPartition("src-0", 0), FetchPartition("src-1", 4))


def test_partitions_of_other_topics_keep_no_poll_from_waiting_for_records() -> None:
    me = kafka_consumer.subscribe(reading("src-0", "other-0"), ("src",))
    me, request = send(me.but(polling=True))
    assert request.partitions == (FetchPartition("src-0", 0),)
    empty = PartitionData("src-0", E.NONE, (), 0)
    assert FetchWait() in kafka_consumer.timers(
        kafka_consumer.on_response(me, FetchResponse((empty,)))
    )


def test_a_fetch_that_arrives_while_commit_sync_waits_ends_no_call() -> None:
    me = kafka_consumer.commit_sync(with_rest().but(on_wire=Fetch(FROM_THE_START, True)))
    me = kafka_consumer.on_response(me, FetchResponse((records("src-1", 0),)))
    assert (me.done, offsets(me)) == (False, [5])


def test_the_partition_of_the_last_records_is_not_one_that_had_none() -> None:
    hidden = PartitionData("src-1", E.NONE, (), 4)
    me = fetch_both(records("src-0", 5), hidden)
    assert (me.partition, me.subscription.positions["src-1"]) == ("src-0", 4)


def test_poll_waits_for_new_records_only_when_each_partition_has_none() -> None:
    me, _ = sent_for(reading(*BOTH), "src-0")
    first = FetchResponse((PartitionData("src-0", E.NONE, (), 0),))
    me = kafka_consumer.on_response(me, first)
    assert kafka_consumer.timers(me) == (HeartbeatInterval(),)
    me, _ = send(me)
    me = kafka_consumer.on_response(me, FetchResponse((PartitionData("src-1", E.NONE, (), 0),)))
    assert kafka_consumer.timers(me) == (HeartbeatInterval(), FetchWait())
    assert kafka_consumer.timers(me.but(polling=False)) == (HeartbeatInterval(),)


# -- the classic protocol: what poll() does before it returns what is fetched --------------------------


def joined_with_rest() -> ClassicConsumer:
    """A cooperative consumer whose JoinGroup waits, and whose poll() has returned one of two fetched records."""
    me, _ = send(with_records(change(rejoining(), max_records=1), records("src-0", 5, 6)))
    assert (offsets(me), me.done, isinstance(me.membership.joining, JoinGroup)) == ([5], True, True)
    return me


def test_while_a_join_group_waits_poll_returns_what_is_fetched_without_a_fetch() -> None:
    """Source: ClassicKafkaConsumer.pollForFetches, whatever ConsumerCoordinator.poll returned."""
    me = kafka_consumer.poll(joined_with_rest())
    assert (offsets(me), me.done, me.on_wire) == ([6], True, None)
    assert isinstance(kafka_consumer.next_request(kafka_consumer.poll(me)), Fetch)


def test_poll_returns_what_is_fetched_while_a_lost_join_group_waits_for_its_back_off() -> None:
    me = kafka_consumer.on_disconnected(joined_with_rest(), 4)
    assert (me.state, me.membership.joining, me.backing_off) == (C.PREPARING_REBALANCE, None, True)
    me = kafka_consumer.poll(me)
    assert (offsets(me), me.done) == ([6], True)


def test_a_member_in_a_generation_returns_what_is_fetched_without_a_fetch() -> None:
    me = change(holding(), max_records=1).but(polling=False)
    me = kafka_consumer.poll(with_records(me, records("src-0", 5, 6)))
    assert (me.state, offsets(me), me.done) == (C.STABLE, [5], True)
    me = kafka_consumer.poll(me)
    assert (offsets(me), me.done, kafka_consumer.next_request(me)) == ([6], True, None)


def test_polls_that_return_what_is_fetched_keep_a_sync_group_from_no_member() -> None:
    """Source: AbstractCoordinator.initiateJoinGroup: there is one future from the JoinGroup to the assignment."""
    me = with_records(joined_with_rest(), records("src-0", 6, 7))
    me = kafka_consumer.on_response(me, cooperative.join_response())
    me = change(me, positions=me.subscription.positions.without("src-1"))
    for offset in (6, 7):
        me = kafka_consumer.poll(me)
        assert (me.state, offsets(me), me.done) == (C.COMPLETING_REBALANCE, [offset], True)
    _, request = send(me)
    assert isinstance(request, SyncGroup)


def stable_with_new_partition() -> ClassicConsumer:
    """A consumer that was assigned src-1 besides src-0, from which it has fetched a record."""
    me = change(cooperative.waiting(), max_records=1, owned=("src-0",))
    me = change(me, positions=me.subscription.positions.without("src-1"))
    me = kafka_consumer.on_response(me, cooperative.join_response())
    me, request = send(me)
    assert isinstance(request, SyncGroup)
    me = with_records(me.but(polling=False, done=True), records("src-0", 5))
    return kafka_consumer.on_response(me, SyncGroupResponse(E.NONE, BOTH, STICKY[0]))


def test_a_classic_consumer_fetches_committed_offsets_before_it_returns_what_is_fetched() -> None:
    """Source: ClassicKafkaConsumer.updateAssignmentMetadataIfNeeded before pollForFetches."""
    unread = stable_with_new_partition()
    assert (unread.state, kafka_consumer.next_request(unread)) == (C.COMPLETING_REBALANCE, None)
    me = kafka_consumer.poll(unread)
    assert (me.state, me.owned, offsets(me), me.done) == (C.STABLE, BOTH, [], False)
    me, request = send(me)
    assert isinstance(request, OffsetFetch)
    unstable = kafka_consumer.on_response(me, response_of(E.UNSTABLE_OFFSET_COMMIT, "src-1"))
    assert (unstable.done, fetched_from(unstable)) == (False, ["src-0"])
    me, _ = send(kafka_consumer.on_timer(unstable, RetryBackOff()))
    me = kafka_consumer.on_response(me, response_with(FetchedOffset("src-1", 7)))
    assert (offsets(me), me.done, me.subscription.positions["src-1"]) == ([5], True, 7)


def test_between_two_generations_a_classic_consumer_reads_from_the_positions_that_it_has() -> None:
    """Source: ClassicKafkaConsumer.updateAssignmentMetadataIfNeeded: without a coordinator.poll() that is through
    with its rebalance, no position is looked up."""
    me = cooperative.waiting()
    me = change(me, positions=me.subscription.positions.without("src-1"))
    assert me.state is C.PREPARING_REBALANCE
    _, request = send(me)
    assert (type(request), request.partitions) == (Fetch, (FetchPartition("src-0", 5),))
    me = kafka_consumer.on_response(me, cooperative.join_response())
    me, _ = send(me)
    assert me.state is C.COMPLETING_REBALANCE
    _, request = send(me)
    assert (type(request), request.partitions) == (Fetch, (FetchPartition("src-0", 5),))


def left_while_it_syncs() -> ClassicConsumer:
    """A consumer whose SyncGroup waits, and which has left its group since it sent it."""
    me = kafka_consumer.poll(
        kafka_consumer.on_response(joined_with_rest(), cooperative.join_response())
    )
    me, request = send(me)
    assert isinstance(request, SyncGroup)
    return kafka_consumer.on_missed_poll(me)


def test_who_left_while_its_request_waits_has_lost_its_partitions_in_the_next_poll() -> None:
    """Source: AbstractCoordinator.resetStateAndRejoin (needsJoinPrepare), ConsumerCoordinator.onJoinPrepare."""
    left = left_while_it_syncs()
    me = kafka_consumer.poll(with_records(left, records("src-1", 7)))
    assert (me.owned, offsets(me), fetched_from(me), me.done) == ((), [], [], False)


@pytest.mark.parametrize("error", [E.NONE, E.UNKNOWN_MEMBER_ID])
def test_the_late_answer_to_a_sync_group_makes_a_poll_join_again(error: Errors) -> None:
    late = SyncGroupResponse(error, BOTH, STICKY[0])
    me, goodbye = send(kafka_consumer.poll(left_while_it_syncs()))
    assert goodbye.members[0].member_id == "C1.1"
    in_poll = kafka_consumer.on_response(me, late)
    before = kafka_consumer.poll(kafka_consumer.on_response(left_while_it_syncs(), late))
    for each in (in_poll, before):
        assert (each.state, each.owned, each.done) == (C.PREPARING_REBALANCE, (), False)


def test_what_a_classic_consumer_fetched_from_a_topic_is_dropped_with_the_subscription_to_it() -> (
    None
):
    """Source: ClassicKafkaConsumer.subscribeInternal (clearBufferedDataForUnassignedPartitions)."""
    me = kafka_consumer.subscribe(joined_with_rest(), ("other",))
    assert (fetched_from(me), me.owned) == ([], BOTH)
    assert offsets(kafka_consumer.poll(me)) == []


@pytest.mark.parametrize(
    ("state", "runs"), [(C.PREPARING_REBALANCE, False), (C.COMPLETING_REBALANCE, True)]
)
def test_while_a_join_group_waits_no_heartbeat_thread_looks_at_the_time_between_polls(
    state: ClassicState, runs: bool
) -> None:
    """Source: AbstractCoordinator.MemberState.hasNotJoinedGroup."""
    me = joined_with_rest()
    if runs:
        me = kafka_consumer.poll(kafka_consumer.on_response(me, cooperative.join_response()))
    assert (me.state, me.in_group) == (state, runs)
