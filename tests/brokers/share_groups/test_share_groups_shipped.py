"""Share groups without transactions: reset policies, acquire modes, renewals, dead letters."""

from __future__ import annotations

import pytest

from kipviz.brokers.settings import GroupConfig
from kipviz.brokers.share_leaders import share_partition_leader as spl
from kipviz.brokers.share_leaders.share_partition import REJECTED, TOO_OFTEN
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.spec import BadSpec
from kipviz.messages.cluster.features import Features
from kipviz.messages.errors import Errors
from kipviz.messages.logs.producing import Produce
from kipviz.messages.shares.share_groups import RECORD_LIMIT
from tests.brokers.share_leaders.share_place import (
    ACK,
    ACQ,
    ARCH,
    ARCHIVING,
    AVL,
    KEY,
    REJECT,
    RELEASE,
    RENEW,
    SharePlace,
    batch_of,
    durable,
    list_acquired,
)
from tests.cluster.small_clusters import small_spec

QUEUE = {"dead_letter_topic": "dlq.g1", "dead_letter_copy_record": True}


@pytest.mark.parametrize(("policy", "start"), [("earliest", 7), ("latest", 10)])
def test_a_new_group_begins_where_its_reset_policy_says(policy, start):
    place = SharePlace(first=7, last=9, group={"auto_offset_reset": policy}).load(-1)
    assert (place.share.start_offset, place.next_fetch) == (start, start)


def test_a_strict_limit_leaves_the_rest_of_the_log_batch_free():
    """KIP-1206: with batch_optimized the limit is a soft one."""
    place = SharePlace(batches=[(0, 9)]).load()
    place.fetch("M1", 3, mode=RECORD_LIMIT)
    assert list_acquired(place) == [(0, 2, 1)]
    assert (place.states(0, 9), place.counts(3, 9)) == ([ACQ] * 3 + [AVL] * 7, [0] * 7)
    assert place.share.next_offset == 10
    place.fetch("M2", 3)
    assert list_acquired(place) == [(3, 5, 1)]
    soft = SharePlace(batches=[(0, 9)]).load()
    soft.fetch("M1", 3)
    assert list_acquired(soft) == [(0, 9, 1)]


def test_a_load_that_cannot_be_fails_for_good():
    """SP: a batch before the start offset, or one that ends before it begins."""
    for wrong in (durable(3, 8), durable(9, 8)):
        place = SharePlace()
        place.fetch("M1", 1)
        place.coordinator(place.read_answer(5, wrong))
        assert place.last.error is Errors.UNKNOWN_SERVER_ERROR
        assert KEY not in place.role.shares


# -- renewal -------------------------------------------------------------------------------------


def test_a_group_may_forbid_renewal():
    """ShareConsumerRenewTest.testRenewAcknowledgementDisabled: InvalidRecordStateException."""
    place = SharePlace(group={"renew_acknowledge_enable": False}).load()
    place.fetch("M1", 2)
    before = place.share.records
    assert place.acknowledge("M1", batch_of(0, 1, RENEW)).error is Errors.INVALID_RECORD_STATE
    assert place.share.records == before


def test_a_renewal_stands_although_a_later_batch_of_the_request_is_refused():
    place = SharePlace().load()
    place.fetch("M1", 2)
    place.fetch("M2", 1)
    found = place.acknowledge("M1", batch_of(0, 0, RENEW), batch_of(2, 2))
    assert found.error is Errors.INVALID_RECORD_STATE
    assert place.share.records[0].lock != place.share.records[1].lock == 0


def test_a_fetch_that_renews_asks_for_no_records():
    place = SharePlace().load()
    place.fetch("M1", 2)
    assert place.fetch("M1", 5, batch_of(0, 1, RENEW)).error is Errors.INVALID_REQUEST
    place.epochs["M1"] -= 1
    answer = place.fetch("M1", 0, batch_of(0, 1, RENEW))
    assert (answer.error, answer.acquired) == (Errors.NONE, ())
    assert place.states(0, 1) == [ACQ] * 2


def test_only_the_holder_renews():
    place = SharePlace().load()
    place.fetch("M1", 1)
    place.fetch("M2", 1)
    assert place.acknowledge("M2", batch_of(0, 0, RENEW)).error is Errors.INVALID_RECORD_STATE


# -- closing --------------------------------------------------------------------------------------


def test_a_fetch_can_close_the_session_and_is_still_answered():
    place = SharePlace().load()
    place.fetch("M1", 3)
    assert place.fetch("M1", 0, batch_of(0, 0), epoch=-1) is None
    assert place.states(0, 2) == [ACK, ACQ, ACQ]
    place.coordinator()
    assert (place.last.error, place.last.acknowledge_error) == (Errors.NONE, Errors.NONE)
    assert place.share.start_offset == 1
    assert place.states(1, 2) == [AVL, AVL]
    assert not len(place.role.sessions)
    assert not place.role.closing


def test_what_a_closing_member_leaves_is_written_after_what_it_acknowledged():
    """Recorded of Kafka 4.4.0: the second write has the start offset that the first one led to."""
    place = SharePlace().load()
    place.fetch("M1", 3)
    assert place.acknowledge("M1", batch_of(0, 0), epoch=-1) is None
    place.coordinator()
    writes = [(m.only.start_offset, m.only.delivery_complete_count) for m in place.writes]
    assert writes == [(0, 1), (1, 0)]


def test_a_member_whose_connection_breaks_while_it_leaves_is_gone_once():
    place = SharePlace().load()
    place.fetch("M1", 3)
    place.acknowledge("M1", batch_of(0, 0), epoch=-1)
    (source,) = {session.source for session in place.role.sessions.values()}
    place.do(spl.on_disconnected(place.role, source, place.on))
    assert not place.role.closing
    assert not len(place.role.sessions)


# -- dead letters ---------------------------------------------------------------------------------


def reject_first(**group):
    """Offsets 0 and 1: the first is rejected, and that is durable."""
    place = SharePlace(last=1, group={**QUEUE, **group}).load()
    place.fetch("M1", 2)
    place.acknowledge("M1", batch_of(0, 0, REJECT))
    assert place.states(0, 0) == [ARCHIVING]
    assert (place.complete, place.sent(Produce)) == (0, [])
    place.coordinator()
    return place


def list_copied(place):
    """The records that were sent to the dead-letter queue, in order."""
    batches = (batch for request in place.sent(Produce) for batch in request.partition_data)
    return [record for batch in batches for record in batch.records]


def test_a_dead_letter_says_in_headers_where_it_is_from_and_why():
    (copy,) = reject_first().sent(Produce)
    (batch,) = copy.partition_data
    assert (batch.partition, copy.transactional_id, batch.producer_id) == ("dlq.g1-0", "", -1)
    (record,) = batch.records
    assert record.value == "r0"
    assert dict(record.headers) == {
        "__dlq.errors.topic": "src",
        "__dlq.errors.partition": "0",
        "__dlq.errors.offset": "0",
        "__dlq.errors.group": "g1",
        "__dlq.errors.delivery.count": "1",
        "__dlq.errors.message": REJECTED,
    }
    (bare,) = list_copied(reject_first(dead_letter_copy_record=False))
    assert bare.value == ""


def test_archiving_holds_the_start_offset_until_the_copy_was_tried():
    place = reject_first()
    assert place.share.start_offset == 0
    place.answer_copy()
    assert place.share.start_offset == 0  # until it is durable that the record is archived
    place.coordinator()
    assert place.share.start_offset == 1
    assert place.writes[-1].only.batches == (durable(0, 0, ARCH, 1),)


def test_after_five_attempts_a_record_is_archived_without_a_copy():
    place = reject_first()
    for attempt in range(1, 6):
        assert len(place.sent(Produce)) == attempt
        assert place.states(0, 0) == [ARCHIVING]
        place.answer_copy(Errors.NOT_LEADER_OR_FOLLOWER)
    assert len(place.sent(Produce)) == 5
    place.refuses(Errors.UNKNOWN_SERVER_ERROR)
    assert place.share.start_offset == 1  # or until it is clear that it cannot be made so
    assert "no copy" in place.events[-1].because


def test_an_attempt_whose_answer_is_lost_is_made_again():
    place = reject_first()
    place.do(spl.on_dead_letter_answered(place.role, KEY, "0", None, place.on))
    assert len(place.sent(Produce)) == 2
    place.answer_copy()
    assert place.share.start_offset == 0  # until it is durable that the record is archived
    place.coordinator()
    assert place.share.start_offset == 1


def test_a_topic_that_does_not_allow_it_gets_no_copies():
    place = SharePlace(last=1, group=QUEUE).load()
    place.image |= {"dead_letter_topics": ()}
    place.fetch("M1", 2)
    place.acknowledge("M1", batch_of(0, 0, REJECT))
    for _ in range(2):
        place.coordinator()
    assert not place.sent(Produce)
    assert place.share.start_offset == 1


@pytest.mark.parametrize(("prefix", "copies"), [("dlq.", 1), ("dead.", 0), ("", 1)])
def test_a_topic_whose_name_does_not_begin_as_the_brokers_want_it_gets_no_copies(prefix, copies):
    place = SharePlace(last=1, group=QUEUE).load()
    place.settings = place.settings.but(dead_letter_prefix=prefix)
    place.fetch("M1", 2)
    place.acknowledge("M1", batch_of(0, 0, REJECT))
    assert place.states(0, 0) == [ARCHIVING]
    for _ in range(2 - copies):
        place.coordinator()
    assert len(place.sent(Produce)) == copies
    assert place.share.start_offset == 1 - copies


def test_share_version_1_knows_no_dead_letters():
    place = SharePlace(last=1, group=QUEUE).load()
    place.image |= {"features": Features(share_version=1)}
    place.fetch("M1", 2)
    place.acknowledge("M1", batch_of(0, 0, REJECT))
    assert place.states(0, 0) == [ARCH]


def test_a_new_leader_finds_what_is_archiving_and_copies_it_again():
    place = SharePlace(last=9, group=QUEUE, delivery_count_limit=2).load(
        0, durable(0, 0, ARCHIVING, 1), durable(1, 1, ARCHIVING, 2)
    )
    (first,) = list_copied(place)
    assert dict(first.headers)["__dlq.errors.message"] == REJECTED
    place.answer_copy()
    second = list_copied(place)[-1]
    assert dict(second.headers)["__dlq.errors.message"] == TOO_OFTEN
    place.answer_copy()
    for _ in range(2):
        place.coordinator()
    assert place.share.start_offset == 2


def test_an_answer_for_an_object_that_was_dropped_is_nobodys():
    place = reject_first()
    place.do(spl.on_leadership_lost(place.role, "src-0", place.on))
    before = place.role
    place.answer_copy()
    assert place.role is before


def test_a_release_at_the_limit_and_a_closed_session_give_up_as_well():
    place = SharePlace(last=3, group=QUEUE, delivery_count_limit=2).load(0, durable(0, 1, AVL, 1))
    place.fetch("M1", 2)
    place.acknowledge("M1", batch_of(0, 0, RELEASE))
    place.acknowledge("M1", epoch=-1)
    place.coordinator()
    place.coordinator()
    offsets = [dict(record.headers)["__dlq.errors.offset"] for record in list_copied(place)]
    assert offsets == ["0"]
    place.answer_copy()
    assert dict(list_copied(place)[-1].headers)["__dlq.errors.offset"] == "1"


# -- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"auto_offset_reset": "newest"}, "earliest, latest or by_duration"),
        ({"auto_offset_reset": "by_duration:PT1H"}, "needs times in records"),
        ({"isolation_level": "read_all"}, "read_committed or read_uncommitted"),
        ({"delivery_count_limit": 11}, "from 2 to 10"),
        ({"record_locks_max": -1}, "from 1 to 10000, not -1"),
        ({"dead_letter_topic": "__orders"}, "must not be an internal topic"),
    ],
)
def test_a_group_that_cannot_be_configured_so_is_refused_in_one_sentence(change, says):
    spec = small_spec().but(group_configs=(GroupConfig("g1", **change),))
    with pytest.raises(BadSpec, match=says):
        check(spec)


def test_a_share_version_that_there_is_not_is_refused():
    with pytest.raises(BadSpec, match="share_version must be 0, 1 or 2, not 3"):
        check(small_spec().but(share_version=3))
