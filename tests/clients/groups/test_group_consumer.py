"""A consumer that is a member: what it sends when, and what it does with assignments."""

from __future__ import annotations

import pytest

from kipviz.clients.groups import kafka_consumer
from kipviz.clients.groups.consumer_membership import TRANSITIONS, MemberState
from kipviz.clients.timers import FetchWait, HeartbeatInterval, RetryBackOff
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import (
    FetchedOffset,
    GroupOffset,
    OffsetCommit,
    OffsetFetch,
    fetch_offsets,
)
from kipviz.messages.groups.membership import (
    Assignment,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatResponse,
)
from kipviz.messages.logs.producing import (
    Fetch,
    FetchedRecord,
    FetchPartition,
    FetchResponse,
    PartitionData,
)
from tests.clients.parts import change, member_of
from tests.messages.offset_fetches import response_of, response_with

S = MemberState
BOTH = ("src-0", "src-1")
FROM_THE_START = (FetchPartition("src-0", 0), FetchPartition("src-1", 0))


def fresh(**changes):
    return change(member_of("app-1/consumer", "g", "C1", "src", "src-0", 2), **changes)


def send(me):
    request = kafka_consumer.next_request(me)
    assert request is not None
    me, request = kafka_consumer.note_sent(me, request, 4)
    return me, request


def sent_for(me, partition):
    """Send the next Fetch as it is sent to the leader of one partition alone."""
    request = kafka_consumer.next_request(me)
    mine = tuple(each for each in request.partitions if each.partition == partition)
    return kafka_consumer.note_sent(me, request.but(partitions=mine), 4)


def heartbeat_response(epoch, *partitions, error=Errors.NONE):
    return ConsumerGroupHeartbeatResponse(error, "C1", epoch, Assignment(partitions))


def join_group(*partitions, epoch=2, **changes):
    """A consumer in poll() that has acknowledged its first assignment."""
    me, _ = send(kafka_consumer.poll(fresh(**changes)))
    me, _ = send(kafka_consumer.on_response(me, heartbeat_response(epoch, *partitions)))
    return kafka_consumer.on_response(me, ConsumerGroupHeartbeatResponse(Errors.NONE, "C1", epoch))


def reading(*partitions, **changes):
    me, _ = send(join_group(*partitions, **changes))
    return kafka_consumer.on_response(me, response_with(*map(FetchedOffset, partitions)))


def test_the_first_poll_joins_and_what_comes_is_acknowledged():
    me, request = send(kafka_consumer.poll(fresh()))
    assert request == ConsumerGroupHeartbeat("g", "C1", 0, ("src",), ())
    me = kafka_consumer.on_response(me, heartbeat_response(2, *BOTH))
    assert (me.state, me.member_epoch, me.owned) == (S.ACKNOWLEDGING, 2, BOTH)
    me, request = send(me)
    assert request == ConsumerGroupHeartbeat("g", "C1", 2, None, BOTH)
    me = kafka_consumer.on_response(me, ConsumerGroupHeartbeatResponse(Errors.NONE, "C1", 2))
    assert me.state is S.STABLE


def test_it_looks_up_every_position_as_a_member_and_then_fetches_without_waiting():
    me, request = send(join_group(*BOTH))
    assert request == fetch_offsets("g", BOTH, member_id="C1", member_epoch=2)
    me = reading(*BOTH)
    me, request = send(me)
    assert request == Fetch(FROM_THE_START, read_committed=True, max_wait_ms=0)


def test_an_empty_answer_lets_the_partitions_of_other_leaders_have_their_turn_until_all_rest():
    me = reading(*BOTH)
    for at, partition in enumerate(BOTH):
        assert kafka_consumer.next_request(me).partitions == FROM_THE_START[at:]
        me, _ = sent_for(me, partition)
        me = kafka_consumer.on_response(
            me, FetchResponse((PartitionData(partition, Errors.NONE, (), 0),))
        )
    assert kafka_consumer.next_request(me) is None
    assert kafka_consumer.timers(me) == (HeartbeatInterval(), FetchWait())
    assert isinstance(kafka_consumer.next_request(kafka_consumer.on_timer(me, FetchWait())), Fetch)


def test_the_next_poll_has_no_records_yet_and_asks_what_had_nothing_before():
    me, _ = sent_for(reading(*BOTH), "src-0")
    me, _ = send(
        kafka_consumer.on_response(me, FetchResponse((PartitionData("src-0", Errors.NONE, (), 0),)))
    )
    record = FetchedRecord("src-1", 200, "c")
    me = kafka_consumer.on_response(
        me, FetchResponse((PartitionData("src-1", Errors.NONE, (record,), 201),))
    )
    assert (me.done, me.records, me.fetcher.resting) == (True, (record,), ("src-0",))
    me, request = send(kafka_consumer.poll(me))
    assert (me.done, me.records) == (False, ())
    assert request.partitions == (FetchPartition("src-0", 0), FetchPartition("src-1", 201))


def fetch_both(*parts, most=2):
    """A member that has asked both partitions, after the response."""
    me, _ = send(change(reading(*BOTH), max_records=most))
    return kafka_consumer.on_response(me, FetchResponse(parts))


def records(partition, *offsets):
    """The result of a partition that had records at these offsets."""
    found = tuple(FetchedRecord(partition, offset, f"r{offset}") for offset in offsets)
    return PartitionData(partition, Errors.NONE, found, offsets[-1] + 1)


def refused_partition(partition, error):
    return PartitionData(partition, error)


def test_poll_returns_the_records_of_all_partitions():
    me = fetch_both(records("src-0", 5), records("src-1", 7))
    assert ([r.offset for r in me.records], me.done, me.polling) == ([5, 7], True, False)
    assert me.subscription.read_so_far == (GroupOffset("src-0", 6), GroupOffset("src-1", 8))


@pytest.mark.parametrize(("most", "taken", "at"), [(1, [5], (6, 0)), (3, [5, 6, 7], (7, 8))])
def test_poll_returns_at_most_max_poll_records_and_the_next_one_the_others(most, taken, at):
    me = fetch_both(records("src-0", 5, 6), records("src-1", 7, 8), most=most)
    assert [r.offset for r in me.records] == taken
    assert tuple(each.offset for each in me.subscription.read_so_far) == at
    returned = list(taken)
    while me.fetcher.completed:
        me = kafka_consumer.poll(me)
        assert (me.done, kafka_consumer.next_request(me)) == (True, None)
        assert len(me.records) <= most
        returned += [r.offset for r in me.records]
    assert returned == [5, 6, 7, 8]
    assert isinstance(kafka_consumer.next_request(kafka_consumer.poll(me)), Fetch)


def with_rest(most=1):
    """A member that has fetched two records of each of its partitions, and got some of them from poll()."""
    return fetch_both(records("src-0", 5, 6), records("src-1", 7, 8), most=most)


def test_after_max_poll_records_the_position_is_behind_the_last_one_also_where_a_marker_follows():
    """Source: CompletedFetch.fetchRecords: the position moves over a marker only when it looks for another record."""
    marked = records("src-0", 5).but(next_offset=7)
    full = fetch_both(marked, most=1)
    assert full.subscription.positions["src-0"] == 6
    again = kafka_consumer.poll(full)
    assert (again.done, again.subscription.positions["src-0"]) == (False, 7)
    assert again.fetcher.completed == ()
    assert fetch_both(marked, most=2).subscription.positions["src-0"] == 7


def test_a_seek_and_a_reset_to_the_committed_offsets_drop_what_was_fetched_from_elsewhere():
    """Source: FetchCollector.initialize and fetchRecords: a fetch from another position is stale."""
    moved = kafka_consumer.seek(with_rest(), "src-0", 40)
    assert [f.data.partition for f in moved.fetcher.completed] == ["src-1"]
    assert kafka_consumer.forget_positions(with_rest()).fetcher.completed == ()


def test_a_partition_that_is_revoked_leaves_no_records_behind():
    me = with_rest()
    fewer = me.but(
        membership=me.membership.to(S.RECONCILING).but(target=("src-1",)),
        polling=False,
    )
    me = kafka_consumer.poll(fewer)
    assert ([r.offset for r in me.records], me.done) == ([7], True)
    assert kafka_consumer.unsubscribe(with_rest()).fetcher.completed == ()


def test_records_that_arrive_after_poll_threw_are_for_the_next_poll():
    asked, _ = send(reading("src-1"))
    thrown = asked.but(polling=False, done=True, error="of a heartbeat")
    kept = kafka_consumer.on_response(thrown, FetchResponse((records("src-1", 0),)))
    assert (kept.records, kept.subscription.positions["src-1"]) == ((), 0)
    me = kafka_consumer.poll(kept)
    assert ([r.offset for r in me.records], me.done) == ([0], True)


def test_an_error_of_one_partition_is_thrown_only_if_no_other_one_had_records():
    """Source: FetchCollector.collectFetch: the error stays for the next poll()."""
    denied = refused_partition("src-0", Errors.TOPIC_AUTHORIZATION_FAILED)
    thrown = fetch_both(denied, records("src-1", 7))
    assert (thrown.done, str(thrown.error)) == (True, "Fetch: TOPIC_AUTHORIZATION_FAILED")
    assert (thrown.records, thrown.subscription.positions["src-1"]) == ((), 0)
    later = refused_partition("src-1", Errors.TOPIC_AUTHORIZATION_FAILED)
    kept = fetch_both(records("src-0", 7), later)
    assert (kept.done, kept.error, kept.owned) == (True, "", BOTH)
    next_poll = kafka_consumer.poll(kept)
    assert (next_poll.done, str(next_poll.error)) == (True, "Fetch: TOPIC_AUTHORIZATION_FAILED")
    assert kafka_consumer.next_request(kafka_consumer.poll(next_poll)).partitions == (
        FetchPartition("src-0", 8),
        FetchPartition("src-1", 0),
    )


def test_a_partition_that_is_led_elsewhere_keeps_no_other_one_from_being_read():
    me = fetch_both(refused_partition("src-0", Errors.NOT_LEADER_OR_FOLLOWER), records("src-1", 7))
    assert ([r.offset for r in me.records], me.subscription.positions["src-0"]) == ([7], 0)


def test_records_end_the_poll_and_move_the_position_of_their_partition():
    me, _ = send(reading("src-1"))
    record = FetchedRecord("src-1", 200, "c")
    me = kafka_consumer.on_response(
        me, FetchResponse((PartitionData("src-1", Errors.NONE, (record,), 201),))
    )
    assert (me.done, me.partition, me.position, me.polling) == (True, "src-1", 201, False)


def test_an_unstable_offset_is_asked_for_again_only_after_the_back_off():
    me, _ = send(join_group("src-0"))
    me = kafka_consumer.on_response(me, response_of(Errors.UNSTABLE_OFFSET_COMMIT, "src-0"))
    assert kafka_consumer.next_request(me) is None
    assert RetryBackOff() in kafka_consumer.timers(me)
    assert isinstance(
        kafka_consumer.next_request(kafka_consumer.on_timer(me, RetryBackOff())), OffsetFetch
    )


def test_a_stale_member_beats_before_it_asks_for_an_offset_again():
    me, _ = send(join_group("src-0"))
    me = kafka_consumer.on_response(me, response_of(Errors.STALE_MEMBER_EPOCH, "src-0"))
    assert isinstance(kafka_consumer.next_request(me), ConsumerGroupHeartbeat)


@pytest.mark.parametrize(("listener", "state"), [(True, S.RECONCILING), (False, S.ACKNOWLEDGING)])
def test_outside_poll_a_listener_keeps_partitions_from_being_taken(listener, state):
    me = reading(*BOTH, listener=listener).but(polling=False)
    me, _ = send(kafka_consumer.on_timer(me, HeartbeatInterval()))
    me = kafka_consumer.on_response(me, heartbeat_response(2, "src-0"))
    assert me.state is state
    assert me.owned == (BOTH if listener else ("src-0",))
    me = kafka_consumer.poll(me)
    assert (me.owned, list(me.subscription.positions)) == (("src-0",), ["src-0"])
    assert kafka_consumer.next_request(me) == ConsumerGroupHeartbeat("g", "C1", 2, None, ("src-0",))


@pytest.mark.parametrize("error", [Errors.UNKNOWN_MEMBER_ID, Errors.FENCED_MEMBER_EPOCH])
@pytest.mark.parametrize(("listener", "state"), [(True, S.FENCED), (False, S.JOINING)])
def test_a_fenced_member_loses_everything_and_joins_again(error, listener, state):
    me = reading(*BOTH, listener=listener).but(polling=False)
    me, _ = send(kafka_consumer.on_timer(me, HeartbeatInterval()))
    me = kafka_consumer.on_response(me, heartbeat_response(0, error=error))
    assert (me.state, me.owned, len(me.subscription.positions)) == (state, (), 0)
    me = kafka_consumer.poll(me)
    assert kafka_consumer.next_request(me) == ConsumerGroupHeartbeat("g", "C1", 0, ("src",), ())


def test_records_of_a_partition_that_was_taken_in_between_are_thrown_away():
    me, _ = send(reading(*BOTH))
    me = change(me, positions=me.subscription.positions.without("src-0"), owned=("src-1",))
    record = FetchedRecord("src-0", 100, "a")
    me = kafka_consumer.on_response(
        me, FetchResponse((PartitionData("src-0", Errors.NONE, (record,), 101),))
    )
    assert not me.done
    assert not me.records


def test_after_a_broken_connection_a_heartbeat_tells_everything_again():
    me = reading(*BOTH)
    me, request = send(kafka_consumer.on_timer(me, HeartbeatInterval()))
    assert request == ConsumerGroupHeartbeat("g", "C1", 2)
    me = kafka_consumer.on_disconnected(me, 4)
    assert kafka_consumer.next_request(me) == ConsumerGroupHeartbeat("g", "C1", 2, ("src",), BOTH)


def test_a_coordinator_that_is_elsewhere_is_asked_again():
    me, _ = send(kafka_consumer.poll(fresh()))
    me = kafka_consumer.on_response(me, heartbeat_response(0, error=Errors.NOT_COORDINATOR))
    assert kafka_consumer.next_request(me) == ConsumerGroupHeartbeat("g", "C1", 0, ("src",), ())


def test_an_error_that_nothing_helps_against_ends_it():
    me, _ = send(kafka_consumer.poll(fresh()))
    me = kafka_consumer.on_response(me, heartbeat_response(0, error=Errors.INVALID_REQUEST))
    assert (me.state, me.done) == (S.FATAL, True)
    assert kafka_consumer.next_request(me) is None
    assert kafka_consumer.timers(me) == ()


def test_leaving_gives_everything_up_first():
    me = kafka_consumer.unsubscribe(reading(*BOTH))
    me, request = send(me)
    assert request == ConsumerGroupHeartbeat("g", "C1", -1)
    me = kafka_consumer.on_response(me, ConsumerGroupHeartbeatResponse(Errors.NONE, "C1", -1))
    assert (me.state, me.done, me.owned) == (S.UNSUBSCRIBED, True, ())
    assert kafka_consumer.unsubscribe(fresh()).done


def test_the_next_life_is_another_member():
    again = kafka_consumer.restart(kafka_consumer.restart(reading(*BOTH), 2), 3)
    assert (again.member_id, again.state, again.owned) == ("C1/3", S.UNSUBSCRIBED, ())


@pytest.mark.parametrize("error", [Errors.UNKNOWN_MEMBER_ID, Errors.FENCED_MEMBER_EPOCH])
def test_who_is_fenced_and_unsubscribes_says_nothing_to_the_coordinator(error):
    me, _ = send(
        kafka_consumer.on_timer(
            change(reading(*BOTH), polling=False, listener=True), HeartbeatInterval()
        )
    )
    me = kafka_consumer.unsubscribe(
        kafka_consumer.on_response(me, heartbeat_response(0, error=error))
    )
    assert (me.state, me.done, me.member_epoch) == (S.UNSUBSCRIBED, True, 0)
    assert kafka_consumer.next_request(me) is None
    _, request = send(kafka_consumer.poll(me))
    assert request == ConsumerGroupHeartbeat("g", "C1", 0, ("src",), ())


def test_every_state_can_be_reached_from_the_first():
    seen, todo = {S.UNSUBSCRIBED}, [S.UNSUBSCRIBED]
    while todo:
        todo += [s for s in TRANSITIONS[todo.pop()] if s not in seen and not seen.add(s)]
    assert seen == set(MemberState)


def test_what_would_go_next_can_be_looked_at_before_it_goes():
    assert kafka_consumer.next_request(fresh()) is None
    assert kafka_consumer.next_request(join_group(*BOTH)) == fetch_offsets(
        "g", BOTH, member_id="C1", member_epoch=2
    )


@pytest.mark.parametrize(
    ("me", "answer", "raised"),
    [
        (
            join_group(*BOTH),
            response_of(Errors.GROUP_AUTHORIZATION_FAILED, "src-0"),
            "OffsetFetch: GROUP_AUTHORIZATION_FAILED",
        ),
        (
            reading(*BOTH),
            FetchResponse((PartitionData("src-0", Errors.TOPIC_AUTHORIZATION_FAILED, (), -1),)),
            "Fetch: TOPIC_AUTHORIZATION_FAILED",
        ),
    ],
)
def test_who_may_not_read_hears_of_it_from_poll_and_stays_in_its_group(me, answer, raised):
    me, _ = send(me)
    me = kafka_consumer.on_response(me, answer)
    assert (me.done, me.polling, str(me.error)) == (True, False, raised)
    assert (me.state, me.member_epoch, me.owned) == (S.STABLE, 2, BOTH)


def test_the_last_heartbeat_is_repeated_until_a_coordinator_has_taken_it():
    me, bye = send(kafka_consumer.unsubscribe(join_group(*BOTH)))
    assert bye.member_epoch == -1
    me = kafka_consumer.on_response(
        me, ConsumerGroupHeartbeatResponse(Errors.COORDINATOR_LOAD_IN_PROGRESS, "C1", 2)
    )
    assert (me.state, me.done) == (S.LEAVING, False)
    me, again = send(me)
    assert again == bye
    me = kafka_consumer.on_response(me, ConsumerGroupHeartbeatResponse(Errors.NONE, "C1", -1))
    assert (me.state, me.done) == (S.UNSUBSCRIBED, True)


@pytest.mark.parametrize(("version", "stable"), [(6, False), (7, True), (8, True)])
def test_below_version_9_offsets_are_asked_for_in_nobodys_name(version, stable):
    _, request = send(join_group("src-0", offset_fetch_version=version))
    assert request == fetch_offsets("g", ("src-0",), stable, version=version)


def test_an_offset_of_a_partition_that_was_given_up_meanwhile_is_not_taken():
    me, _ = send(join_group(*BOTH))
    me = change(me, owned=("src-1",))
    me = kafka_consumer.on_response(me, response_of(Errors.NONE, "src-0", 5))
    assert "src-0" not in me.subscription.positions
    assert send(me)[1].groups[0].partitions == ("src-1",)


@pytest.mark.parametrize("state", [S.FENCED, S.STALE])
def test_who_is_out_of_its_group_commits_without_an_epoch_and_is_otherwise_silent(state):
    """CommitRequestManager.onMemberEpochUpdated: no epoch is known any more."""
    me = change(reading("src-0"), polling=False, state=state, beat=False)
    assert (kafka_consumer.next_request(me), kafka_consumer.running(me), me.in_group) == (
        None,
        (),
        False,
    )
    me, request = send(kafka_consumer.commit_sync(me))
    assert request == OffsetCommit("g", "C1", -1, (GroupOffset("src-0", 0),))
    _, inside = send(kafka_consumer.commit_sync(reading("src-0").but(polling=False)))
    assert inside == OffsetCommit("g", "C1", 2, (GroupOffset("src-0", 0),))


@pytest.mark.parametrize("error", [Errors.NONE, Errors.UNKNOWN_MEMBER_ID])
def test_an_answer_to_a_heartbeat_from_before_it_left_is_of_no_interest(error):
    """max.poll.interval.ms is over while the heartbeat is on the wire."""
    me, _ = send(kafka_consumer.on_timer(reading(*BOTH).but(polling=False), HeartbeatInterval()))
    gone = kafka_consumer.on_missed_poll(me)
    assert (gone.state, gone.membership.leaving) == (S.STALE, ConsumerGroupHeartbeat("g", "C1", -1))
    after = kafka_consumer.on_response(gone, heartbeat_response(5, "src-0", error=error))
    assert after == gone.but(on_wire=None, on_wire_broker=-1)
    broken = kafka_consumer.on_disconnected(gone, 4)
    assert (broken.membership.beat, broken.on_wire) == (False, None)


def test_a_member_that_missed_its_poll_joins_anew_and_has_lost_what_it_had():
    me = kafka_consumer.on_missed_poll(reading(*BOTH).but(polling=False))
    assert (me.owned, len(me.subscription.positions)) == (BOTH, 2), (
        "a listener is told in the next poll()"
    )
    silent = kafka_consumer.on_missed_poll(reading(*BOTH, listener=False).but(polling=False))
    assert (silent.owned, len(silent.subscription.positions)) == ((), 0)
    me, bye = send(me)
    assert bye == ConsumerGroupHeartbeat("g", "C1", -1)
    me = kafka_consumer.poll(
        kafka_consumer.on_response(me, ConsumerGroupHeartbeatResponse(Errors.NONE, "C1", -1))
    )
    assert (me.state, me.owned, len(me.subscription.positions)) == (S.JOINING, (), 0)
    assert send(me)[1] == ConsumerGroupHeartbeat("g", "C1", 0, ("src",), ())


def test_a_static_member_says_that_it_will_be_back():
    """ConsumerGroupHeartbeatRequest.LEAVE_GROUP_STATIC_MEMBER_EPOCH: -2."""
    me = kafka_consumer.unsubscribe(join_group(*BOTH, instance_id="i"))
    assert send(me)[1] == ConsumerGroupHeartbeat("g", "C1", -2, instance_id="i")


def test_an_answer_to_a_heartbeat_is_not_taken_for_one_to_the_goodbye_behind_it():
    me, _ = send(kafka_consumer.on_timer(reading(*BOTH).but(polling=False), HeartbeatInterval()))
    me = kafka_consumer.on_response(kafka_consumer.unsubscribe(me), heartbeat_response(2, *BOTH))
    assert (me.state, me.done, me.owned) == (S.LEAVING, False, ())
    assert send(me)[1] == ConsumerGroupHeartbeat("g", "C1", -1)
