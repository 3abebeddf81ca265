"""Where logs begin, and what goes from them: deleted by an operator, pruned, expired."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kipviz.brokers.logs.partition_log import PartitionLog, append, replicate
from kipviz.core.table import Table
from kipviz.recordings.decoded.log_starts import Fronts, deletion_said, start_at
from kipviz.recordings.judging.accept import Acceptor
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.request_context.evidence import Evidence, of_recording
from kipviz.records.batches import Batch, DataRecord

RELEASE = Path(__file__).parents[1] / "kafka-4.4.0"
ONE, OTHERS = "my-group-4", "my-group-5"


def log_of(records: int) -> PartitionLog:
    log = PartitionLog("src-0")
    for at in range(records):
        log = append(log, Batch(at, (DataRecord(f"v{at}"),)))
    return replicate(log)


def deletion(offset: int, begin: int, end: int) -> Exchange:
    def make_request(**more: int) -> Table[str, object]:
        part = Table.of({"partitionIndex": 0, **more})
        return Table.of({"topics": (Table.of({"name": "src", "partitions": (part,)}),)})

    asked, answered = make_request(offset=offset), make_request(lowWatermark=offset, errorCode=0)
    return Exchange("DELETE_RECORDS", 2, "operator", begin, end, asked, answered)


def judge_all(evidence: Evidence, api: str) -> list[bool]:
    return [each.accepted for each in Acceptor(evidence).compare_all() if each.api == api]


@pytest.mark.parametrize(
    ("before", "said"),
    [(2, ("NONE", 2)), (-1, ("NONE", 4)), (4, ("NONE", 4)), (5, ("OFFSET_OUT_OF_RANGE", -1))],
)
def test_records_are_deleted_up_to_the_high_watermark_and_no_further(
    before: int, said: tuple[str, int]
) -> None:
    assert tuple(value for _, value in deletion_said(log_of(4), before)) == said


def test_who_asks_for_less_than_what_is_gone_is_told_where_the_log_begins() -> None:
    assert dict(deletion_said(start_at(log_of(4), 3), 1))["low watermark"] == 3


def test_while_records_are_deleted_a_log_may_begin_at_either_place() -> None:
    fronts = Fronts((deletion(2, 100, 110), deletion(3, 200, 210)), 300_000)
    logs = Table.of({"src-0": log_of(4)})
    found = {
        (begin, end): [known["src-0"].start_offset for known in fronts.between(logs, begin, end)]
        for begin, end in ((0, 50), (90, 105), (150, 160), (150, 205), (300, 310))
    }
    assert found == {
        (0, 50): [0],
        (90, 105): [0, 2],
        (150, 160): [2],
        (150, 205): [2, 3],
        (300, 310): [3],
    }


def test_without_the_deletions_readers_could_not_have_been_told_what_they_were() -> None:
    evidence = of_recording(RELEASE / "deleted-records")
    kept = tuple(x for x in evidence.exchanges if x.api != "DELETE_RECORDS")
    assert all(judge_all(evidence, "FETCH"))
    assert not all(judge_all(evidence.but(exchanges=kept), "FETCH"))


def test_a_deletion_in_a_partition_that_is_led_elsewhere_is_not_asked() -> None:
    acceptor = Acceptor(of_recording(RELEASE / "deleted-records"))
    exchange = next(x for x in acceptor.exchanges if x.api == "DELETE_RECORDS")
    assert len(tuple(acceptor.of(0, exchange))) == 1
    assert not tuple(acceptor.of(0, rename_topic(exchange, "elsewhere")))


def rename_topic(exchange: Exchange, topic: str) -> Exchange:
    def other(said: Table[str, Any]) -> Table[str, Any]:
        return said.set("topics", tuple(each.set("name", topic) for each in said["topics"]))

    return exchange.but(request=other(exchange.request), response=other(exchange.response))


def test_the_log_of_states_begins_with_what_was_redundant_a_moment_ago() -> None:
    evidence = of_recording(RELEASE / "pruned-shares")
    states = [
        each
        for each in Acceptor(evidence).compare_all()
        if each.api == "FETCH" and each.about.startswith("__share_group_state")
    ]
    starts = [dict(each.recorded)["log start"] for each in states]
    assert all(each.accepted for each in states)
    assert starts == sorted(starts)
    assert len(set(starts)) > 1
    assert evidence.prune_ms == 1_000


def test_no_record_that_is_written_later_makes_an_earlier_one_redundant_now() -> None:
    """ShareCoordinatorOffsetsManager.lastRedundantOffset knows what is written: a reader at the end is in the log."""
    states = [
        each
        for each in Acceptor(of_recording(RELEASE / "pruned-shares")).compare_all()
        if each.api == "FETCH" and each.about.startswith("__share_group_state")
    ]
    assert states
    for each in states:
        possible = [dict(said) for said in each.possible]
        known = {said["log start"] for said in possible if said["error"] == "NONE"}
        assert known == {dict(each.recorded)["log start"]}
        assert "OFFSET_OUT_OF_RANGE" not in {said["error"] for said in possible}


def offsets_of(group: str, partition: str) -> list[int]:
    """Give what an operator was told of a group's offset, one look after the other."""
    return [
        dict(each.recorded)["offset"]
        for each in Acceptor(of_recording(RELEASE / "expired-offsets")).compare_all()
        if each.api == "OFFSET_FETCH" and each.about == f"{group} {partition}"
    ]


def test_offsets_expire_one_by_one_unless_a_member_reads_their_topic() -> None:
    """The member, which has subscribed to src alone, leaves before the fourth look."""
    assert offsets_of(OTHERS, "output-A-0") == [1, 1, -1, -1, -1]
    assert offsets_of(OTHERS, "src-0") == [1, 1, 1, -1, -1]
    assert offsets_of(ONE, "output-A-0")[-5:] == [1, 1, -1, -1, -1]
    assert offsets_of(ONE, "src-0")[-5:] == [2, 2, 2, -1, -1]
