"""What readers were told: marks, aborted transactions, and within a session only what is new."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kipviz.brokers.logs.partition_log import AbortedTransaction, PartitionLog
from kipviz.core.log import Log
from kipviz.core.table import Table
from kipviz.recordings.judging.accept import Acceptor
from kipviz.recordings.recorded import Exchange, load_recording
from kipviz.recordings.replayed_roles import fetching
from kipviz.recordings.replayed_roles.fetching import (
    NOTHING_NEW,
    FetchedPartition,
    Reading,
    answers,
)
from kipviz.recordings.request_context.evidence import of_recording

READER = Path(__file__).parents[1] / "kafka-4.4.0" / "reader"
LOG = PartitionLog(
    "p-0",
    end_offset=9,
    high_watermark=9,
    aborted=Log.of(
        [
            AbortedTransaction(1, 0, 3, 4),
            AbortedTransaction(2, 1, 6, 7),
            AbortedTransaction(1, 7, 8, 9),
        ]
    ),
)


def list_answers(
    offset: int, *, committed: bool = True, told: tuple[int, int] = (-1, -1), **more: bool
):
    """Give what a reader at an offset may be told of the log."""
    read = FetchedPartition("p-0", Reading(offset, committed, *told), ())
    return tuple(answers(LOG, read, indexed=more.get("indexed", False)))


def list_aborted(found) -> list[tuple]:
    """Give the lists of aborted transactions among some answers."""
    return [dict(each)["aborted"] for each in found if "aborted" in dict(each)]


def test_a_reader_of_committed_records_is_told_every_aborted_transaction_from_its_offset_on() -> (
    None
):
    assert list_aborted(list_answers(0)) == [((1, 0), (2, 1), (1, 7))]
    assert list_aborted(list_answers(4)) == [((2, 1), (1, 7))]
    assert list_aborted(list_answers(9)) == [()]


def test_a_reader_of_all_records_is_told_none() -> None:
    assert list_aborted(list_answers(0, committed=False)) == [None]


def test_in_a_long_log_it_depends_on_how_far_a_read_got() -> None:
    lists = list_aborted(list_answers(0, indexed=True))
    assert set(lists) == {((1, 0), (2, 1), (1, 7)), ((1, 0), (2, 1)), ((1, 0),)}


def test_a_session_keeps_silent_about_a_partition_of_which_it_has_told_the_marks() -> None:
    assert NOTHING_NEW in list_answers(9, told=(9, 0))
    assert NOTHING_NEW not in list_answers(9, told=(8, 0))
    assert NOTHING_NEW not in list_answers(8, told=(9, 0))


def test_a_reader_behind_the_end_is_told_that_it_is_out_of_range() -> None:
    assert list_answers(10)[-1][:1] == (("error", "OFFSET_OUT_OF_RANGE"),)


def test_a_reader_may_be_fenced_only_if_nobody_like_it_is_served_later() -> None:
    fenced = ("error", "FENCED_LEADER_EPOCH")
    behind = FetchedPartition("p-0", Reading(0, committed=True, may_be_fenced=True), ())
    assert fenced in [said[0] for said in answers(LOG, behind, indexed=False)]
    assert fenced not in [each[0] for each in list_answers(0)]
    acceptor = Acceptor(of_recording(READER))
    fetches = [(n, x) for n, x in enumerate(acceptor.exchanges) if x.api == "FETCH"]
    told = [(n, x) for n, x in fetches if x.response["responses"]]
    for number, exchange in (told[0], told[-1]):
        topic = exchange.response["responses"][0]
        code = topic["partitions"][0].set("errorCode", 74).set("highWatermark", -1)
        part = code.set("lastStableOffset", -1).set("logStartOffset", -1)
        part = part.set("abortedTransactions", ()).set("recordsSizeInBytes", 0)
        response = exchange.response.set("responses", (topic.set("partitions", (part,)),))
        (verdict,) = acceptor.of(number, exchange.but(response=response))
        assert verdict.recorded[0] == fenced
        assert verdict.accepted == (number == told[-1][0])


def test_the_recorded_reader_hears_of_aborted_transactions_of_an_open_one_and_of_nothing() -> None:
    asked = [a for a in Acceptor(of_recording(READER)).compare_all() if a.api == "FETCH"]
    assert all(each.accepted for each in asked)
    lists = {dict(each.recorded).get("aborted") for each in asked}
    assert {None, (), ((0, 0), (0, 4)), ((0, 6),)} <= lists
    assert NOTHING_NEW in {each.recorded for each in asked}
    assert "OFFSET_OUT_OF_RANGE" in {dict(each.recorded)["error"] for each in asked}


@pytest.mark.parametrize("at", [0, 1])
def test_an_aborted_transaction_that_is_not_told_is_missed(at: int) -> None:
    acceptor = Acceptor(of_recording(READER))
    number, exchange = next(
        (n, x)
        for n, x in enumerate(load_recording(READER).wire)
        if x.api == "FETCH" and x.response["responses"]
    )
    topic = exchange.response["responses"][0]
    part = topic["partitions"][0]
    listed = part["abortedTransactions"]
    assert len(listed) == 2
    less = part.set("abortedTransactions", (listed[at],))
    response = exchange.response.set("responses", (topic.set("partitions", (less,)),))
    (verdict,) = acceptor.of(number, exchange.but(response=response))
    assert not verdict.accepted


def from_its_beginning(exchange: Exchange) -> bool:
    """Say whether a fetch asks for what has been there all the time."""
    parts = [p for topic in exchange.request["topics"] for p in topic["partitions"]]
    return [part["fetchOffset"] for part in parts] == [0]


def test_silence_where_there_is_something_new_is_not_accepted() -> None:
    acceptor = Acceptor(of_recording(READER))
    number, exchange = next(
        (n, x)
        for n, x in enumerate(acceptor.exchanges)
        if x.api == "FETCH" and x.request["sessionEpoch"] > 0 and from_its_beginning(x)
    )
    silent = exchange.but(response=exchange.response.set("responses", ()))
    (verdict,) = acceptor.of(number, silent)
    assert verdict.recorded == NOTHING_NEW
    assert not verdict.accepted


def fetch(epoch: int, *topics: dict[str, Any], forgotten: tuple[str, ...] = ()) -> Exchange:
    gone = tuple(Table.of({"topic": t, "partitions": (0,)}) for t in forgotten)
    asks = {"sessionId": 7, "sessionEpoch": epoch, "topics": tuple(map(Table.of, topics))}
    return Exchange("FETCH", 12, "c", 10, 11, Table.of(asks | {"forgottenTopicsData": gone}), None)


def test_a_partition_that_a_reader_forgets_is_no_part_of_its_session_any_more() -> None:
    """KIP-227: FetchSession.update removes what forgottenTopicsData names."""
    both = {"p-0": Reading(3, True), "q-0": Reading(5, True)}
    assert fetching._read_request(fetch(2, forgotten=("p",)), {}, {7: both}) == (
        True,
        {"q-0": both["q-0"]},
    )
    assert fetching._read_request(fetch(2), {}, {7: both}) == (True, both)


def test_a_reader_that_names_no_leader_s_epoch_is_refused_for_none() -> None:
    """Partition.localLogWithEpochOrThrow: an epoch that is not there is not compared (KIP-320)."""
    leads = SimpleNamespace(epoch_of=lambda _: 3, readable_at=lambda *_, **__: (1,))
    unread = FetchedPartition("p-0", None, ())
    assert fetching.refusal_of(unread, leads, 1, 12) is None
    for epoch, error in ((2, "FENCED_LEADER_EPOCH"), (4, "UNKNOWN_LEADER_EPOCH")):
        read = FetchedPartition("p-0", Reading(0, True).but(leader_epoch=epoch), ())
        assert dict(fetching.refusal_of(read, leads, 1, 12))["error"] == error
