"""The admin client: whom it asks, what it makes of the answers, and what it refuses to do."""

from __future__ import annotations

import pytest

from kipviz.clients import kinds as clients
from kipviz.clients.operators import admin, group_targets
from kipviz.clients.operators.admin import Admin, Filters
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_admin import (
    DeleteShareGroupOffsets,
    DeleteShareGroupOffsetsResponse,
    TopicResult,
)
from kipviz.messages.transactions.admin import (
    ActiveProducer,
    DescribeProducers,
    DescribeProducersResponse,
    DescribeTransactions,
    DescribeTransactionsResponse,
    ListTransactions,
    ListTransactionsResponse,
    PartitionProducers,
    TransactionDescription,
    TransactionListing,
)
from kipviz.messages.transactions.transactions import (
    InitProducerId,
    InitProducerIdResponse,
    PartitionResult,
    TxnMarker,
    TxnMarkerResult,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)
from kipviz.records.transaction_state import TransactionState
from tests.messages.offset_fetches import fetch_all

S = TransactionState
ME = Admin("operator/admin", (1, 3))
OPEN = ActiveProducer(9, 4, 2, -1, 17)
CLOSED = ActiveProducer(8, 1, 0, 5, -1)
ONGOING = TransactionListing("t", 9, S.ONGOING)


def answer_next(me, answer, broker=1):
    """Let it send its next request and have this answer; give both."""
    request = admin.next_request(me)
    me, request = admin.note_sent(me, request, broker)
    return request, admin.on_response(me, answer)


def producers(*found, error=Errors.NONE):
    return DescribeProducersResponse((PartitionProducers("out-0", error, found),))


def listing(*found, error=Errors.NONE):
    return ListTransactionsResponse(error, (), found)


def describe_response(*partitions, error=Errors.NONE):
    told = TransactionDescription("t", error, S.ONGOING, 60_000, 9, 4, partitions)
    return DescribeTransactionsResponse((told,))


def look_up(*found):
    """A client that knows the producers of out-0."""
    return answer_next(admin.describe_producers(ME, "out-0"), producers(*found))[1]


def test_a_list_is_asked_of_every_broker_one_after_the_other_with_the_same_filters():
    me = admin.list_transactions(ME, admin.filters_of("state=Ongoing producer=9 id=my-.*"))
    first, me = answer_next(me, listing(ONGOING))
    assert first == ListTransactions(("Ongoing",), (9,), "my-.*")
    assert not me.done
    assert admin.next_broker(me) == 3
    second, me = answer_next(me, listing(), broker=3)
    assert second == first
    assert (me.done, me.error, me.listings) == (True, "", (ONGOING,))


@pytest.mark.parametrize("word", ["Ongoing", "producer=my", "since=5"])
def test_a_word_that_is_no_filter_is_refused_with_those_that_are(word):
    with pytest.raises(
        ValueError, match=f"{word!r} is not a filter: write state=Ongoing, producer=9"
    ):
        admin.filters_of(word)


def test_no_word_is_no_filter():
    assert admin.filters_of("") == Filters()


def test_a_broker_that_is_gone_has_nothing_to_list():
    me = admin.list_transactions(ME, Filters())
    me, _ = admin.note_sent(me, admin.next_request(me), 1)
    me = admin.on_disconnected(me, 1)
    _, me = answer_next(me, listing(ONGOING), broker=3)
    assert (me.done, me.listings) == (True, (ONGOING,))
    me = admin.list_transactions(ME.but(brokers=(1,)), Filters())
    me, _ = admin.note_sent(me, admin.next_request(me), 1)
    assert admin.on_disconnected(me, 1).done


def test_every_other_question_is_asked_again_when_its_connection_breaks():
    me = admin.describe_transactions(ME, "t")
    me, asked = admin.note_sent(me, admin.next_request(me), 1)
    assert admin.next_request(admin.on_disconnected(me, 3)) is None
    assert admin.next_request(admin.on_disconnected(me, 1)) == asked == DescribeTransactions(("t",))


def marker_response(error):
    result = TxnMarkerResult(9, (PartitionResult("out-0", error),))
    return WriteTxnMarkersResponse((result,))


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (lambda: admin.list_transactions(ME, Filters()), listing(error=Errors(14))),
        (lambda: admin.describe_transactions(ME, "t"), describe_response(error=Errors(16))),
        (lambda: admin.describe_producers(ME, "out-0"), producers(error=Errors(6))),
        (lambda: admin.fence_producers(ME, "t"), InitProducerIdResponse(Errors(51))),
        (lambda: admin.abort_transaction(look_up(OPEN), "out-0"), marker_response(Errors(6))),
    ],
)
def test_an_answer_that_says_come_back_is_obeyed(call, answer):
    me = call()
    request, me = answer_next(me, answer)
    assert (me.done, admin.next_request(me)) == (False, request)


@pytest.mark.parametrize("error", [31, 47, 52])
def test_a_marker_that_the_log_refuses_ends_the_call_with_its_error(error):
    me = admin.abort_transaction(look_up(OPEN), "out-0")
    _, me = answer_next(me, marker_response(Errors(error)))
    assert (me.done, str(me.error)) == (True, f"WriteTxnMarkers: {Errors(error).name}")


def test_a_transaction_is_aborted_with_the_epoch_of_the_log_and_as_of_version_0():
    me = look_up(CLOSED, OPEN.but(producer_id=7, current_txn_start_offset=30), OPEN)
    request, me = answer_next(admin.abort_transaction(me, "out-0"), marker_response(Errors.NONE))
    assert request == WriteTxnMarkers((TxnMarker(9, 4, False, ("out-0",), 0, 0),))
    assert admin.next_request(me) is None  # the coordinator is not asked
    assert (me.done, me.error, me.candidates) == (True, "", ())


@pytest.mark.parametrize("before", [ME, look_up(CLOSED)])
def test_nothing_is_aborted_that_was_not_looked_at(before):
    me = admin.abort_transaction(before, "out-0")
    assert me.done
    assert "out-0" in str(me.error)
    assert admin.next_request(me) is None


def finding(*after_producers):
    """Find what hangs in out-0, with these answers behind the one of its leader."""
    _, me = answer_next(admin.find_hanging(ME, "out-0"), producers(CLOSED, OPEN))
    asked = []
    for answer in after_producers:
        request, me = answer_next(me, answer)
        asked.append(request)
    return asked, me


@pytest.mark.parametrize(
    ("name", "answers", "hangs"),
    [
        ("nobody has the producer id", (listing(), listing()), True),
        (
            "its coordinator will end it",
            (listing(ONGOING), listing(), describe_response("out-0")),
            False,
        ),
        (
            "its coordinator knows other partitions",
            (listing(ONGOING), listing(), describe_response("out-1")),
            True,
        ),
        ("its transaction is over", (listing(), listing(ONGOING), describe_response()), True),
        (
            "its name is gone meanwhile",
            (
                listing(ONGOING),
                listing(),
                describe_response(error=Errors.TRANSACTIONAL_ID_NOT_FOUND),
            ),
            True,
        ),
    ],
)
def test_a_transaction_hangs_if_no_coordinator_will_end_it(name, answers, hangs):
    """FindHangingTransactionsCommand."""
    asked, me = finding(*answers)
    assert me.done, name
    assert asked[:2] == [ListTransactions((), (9,))] * 2
    assert asked[2:] == [DescribeTransactions(("t",))] * (len(answers) - 2)
    assert me.candidates == ((OPEN,) if hangs else ())


def test_without_an_open_transaction_nobody_else_is_asked():
    request, me = answer_next(admin.find_hanging(ME, "out-0"), producers(CLOSED))
    assert request == DescribeProducers(("out-0",))
    assert (me.done, me.candidates) == (True, ())


def test_fencing_gives_the_identity_that_nobody_has_now():
    request, me = answer_next(
        admin.fence_producers(ME, "t"), InitProducerIdResponse(Errors.NONE, 9, 6)
    )
    assert request == InitProducerId("t")
    assert (me.done, me.fenced) == (True, (9, 6))


def test_an_unknown_name_is_an_error_of_describe():
    told = TransactionDescription("t", Errors.TRANSACTIONAL_ID_NOT_FOUND)
    answer = DescribeTransactionsResponse((told,))
    _, me = answer_next(admin.describe_transactions(ME, "t"), answer)
    assert str(me.error) == "DescribeTransactions: TRANSACTIONAL_ID_NOT_FOUND"


def test_the_next_life_knows_the_brokers_and_nothing_else():
    assert admin.restart(look_up(OPEN), 2) == ME


@pytest.mark.parametrize("text", ["g1 =100", "g1 src-0", "g1 src-0=-1", "g1 src-0=100 src-1=x"])
def test_a_word_that_is_no_start_of_a_partition_is_refused_with_one_that_is(text):
    with pytest.raises(ValueError, match="is not the start offset of a partition: write src-0=100"):
        admin.starts_of(text)


@pytest.mark.parametrize("text", ["", "g1"])
def test_a_group_has_to_begin_somewhere(text):
    with pytest.raises(ValueError, match="names no group with start offsets"):
        admin.starts_of(text)


@pytest.mark.parametrize("text", ["", "g1", "g1 src out"])
def test_a_group_forgets_where_it_stands_in_one_topic_at_a_time(text):
    with pytest.raises(ValueError, match=f"{text!r} is not a group and a topic: write 'g1 src'"):
        admin.topic_offsets_of(text)


@pytest.mark.parametrize(
    ("whole", "of_topic", "raised"),
    [
        (Errors.NONE, Errors.NONE, ""),
        (Errors.NON_EMPTY_GROUP, Errors.NONE, "NON_EMPTY_GROUP"),
        (Errors.NONE, Errors.UNKNOWN_TOPIC_OR_PARTITION, "UNKNOWN_TOPIC_OR_PARTITION"),
    ],
)
def test_what_is_wrong_with_the_topic_alone_fails_the_call_as_well(whole, of_topic, raised):
    answer = DeleteShareGroupOffsetsResponse(whole, "g1", (TopicResult("src", of_topic),))
    request, me = answer_next(admin.delete_share_group_offsets(ME, "g1 src"), answer)
    assert request == DeleteShareGroupOffsets("g1", ("src",))
    assert (me.done, str(me.error)) == (
        True,
        f"DeleteShareGroupOffsets: {raised}" if raised else "",
    )


def test_an_answer_to_what_was_on_a_broken_connection_changes_nothing():
    me = admin.describe_transactions(ME, "t")
    me, _ = admin.note_sent(me, admin.next_request(me), 1)
    me = admin.on_disconnected(me, 1)
    assert admin.on_response(me, describe_response("out-0")) == me


def test_find_hanging_asks_after_nobody_who_wrote_a_moment_ago():
    """FindHangingTransactionsCommand.collectCandidateOpenTransactions: longer than the limit, not as long."""
    asks = "out-0 max-transaction-timeout=15"
    for last_ms, now_ms, goes_on in (
        (-1, 2_000_000, False),
        (100_000, -1, False),
        (100_000, 1_000_000, False),
        (100_000, 1_000_001, True),
    ):
        me = admin.find_hanging(ME, asks)
        me, _ = admin.note_sent(me, admin.next_request(me), 1)
        me = clients.on_response(me, producers(OPEN.but(last_timestamp=last_ms)), now_ms)
        assert (me.done, bool(me.queue)) == (not goes_on, goes_on)
    _, me = answer_next(admin.find_hanging(ME, "out-0"), producers(OPEN))
    assert me.queue, "without a limit every open transaction is looked at"


@pytest.mark.parametrize("text", ["out-0 15", "out-0 max-transaction-timeout=soon"])
def test_a_limit_of_find_hanging_is_a_number_of_minutes(text):
    with pytest.raises(ValueError, match="max-transaction-timeout=15, in minutes"):
        admin.hanging_of(text)
    assert admin.hanging_of("out-0") == admin.Hanging("out-0")


@pytest.mark.parametrize(
    ("text", "stable"),
    [("g1 g2", False), ("g1 g2 requireStable=true", True), ("g1 g2 requireStable=false", False)],
)
def test_offsets_of_several_groups_are_asked_for_with_or_without_what_is_stable(text, stable):
    asked = group_targets.parse_offset_groups(text)
    assert asked == fetch_all("g1", "g2", require_stable=stable)


def test_a_wrong_word_for_stable_offsets_is_told_with_those_that_are_right():
    with pytest.raises(
        ValueError, match="'requireStable=maybe' is not an option: write requireStable=true"
    ):
        group_targets.parse_offset_groups("g1 requireStable=maybe")
