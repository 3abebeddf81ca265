"""The bytes in a payload: small tables, every field named, and the same as a text."""

from __future__ import annotations

import gzip
import json
from typing import Any

from kipviz.checking.single_run import runs
from kipviz.checking.single_run.seeded_run import Task
from kipviz.designs.catalogue import REPAIRED
from kipviz.messages.events import MessageSent
from kipviz.messages.wire.frame import bytes_of
from kipviz.messages.wire.kind import Around
from kipviz.scenarios.library import scenario
from kipviz.views.exports.hexdump import dump, places_of
from kipviz.views.payload import branch, payload
from tests.scenarios.story import nodes, play_once
from tests.views.told import payload_of

Part = dict[str, Any]
STORY = "kip-1289-share-commit"


def message(name: str, label: str) -> tuple[Part, Part]:
    whole = payload_of(name)
    found = next(m for m in whole["messages"] if m["label"] == label)
    return found, whole["wire"]


def test_an_answer_is_told_with_its_request() -> None:
    whole = payload_of("kip-1289-group-commit", "kafka")
    answer = next(m for m in whole["messages"] if m["label"] == "TxnOffsetCommit ok")
    names = [place.name for place in places_of(answer, whole["wire"])]
    assert names.count("PartitionIndex") == 1  # only the request says which partition


def test_a_response_is_shown_in_the_version_of_its_request_as_its_bytes_are() -> None:
    shown = set()
    for whole in (
        payload_of("kip-360-nobody-asks", "kafka-tv1"),
        payload_of("kip-890-rolling", "kafka"),
    ):
        kinds, shapes = whole["wire"]["kinds"], whole["wire"]["shapes"]
        for each in whole["messages"]:
            of_bytes = kinds[shapes[each["bytes"][0]]["kind"]]["version"]
            assert f", version {of_bytes}, " in each["detail"], each["detail"]
            shown.add((each["detail"].partition(" ")[0], of_bytes))
    assert {("EndTxnResponse", version) for version in (3, 4)} <= shown


def test_a_dump_names_every_field_with_its_byte_and_its_value() -> None:
    lines = dump(*message(STORY, "EndTxn COMMIT")).splitlines()
    assert lines[0] == "EndTxnRequest · key 26, version 5 · 48 bytes"
    assert [line.split() for line in lines[1:4]] == [
        ["0", "00", "00", "00", "2c", "Size", "44", "int32", "of", "all", "that", "follows"],
        ["4", "RequestHeader", "header,", "version", "2"],
        ["4", "00", "1a", "RequestApiKey", "26", "int16"],
    ]
    assert lines[-5].split()[-5:] == ["6e", "TransactionalId", "“my-txn”", "compact", "string"]
    assert lines[-2].split() == ["46", "01", "Committed", "true", "bool"]
    assert "not modelled: default (the connection's name)" in "\n".join(lines)


def test_a_number_with_a_name_has_it_and_items_are_counted() -> None:
    text = dump(*message(STORY, "TxnShareAcknowledge"))
    assert "1 ACCEPT" in text
    assert "AcknowledgementBatches[0]" in text
    assert "draft: no release sends these bytes" in text
    assert "Kafka has given 93 to another request since" in text
    records = dump(*message(STORY, "Produce"))
    assert [f"Record[{n}]" in records for n in range(3)] == [True, True, False]
    assert [f"Header[{n}]" in records for n in range(2)] == [True, False]


def test_what_is_inferred_says_so() -> None:
    text = dump(*message(STORY, "write TX_PENDING"))
    assert "no key, version 0" in text
    assert "our inference: no release sends these bytes" in text


def test_a_branch_brings_only_the_kinds_that_its_parent_does_not_have() -> None:
    trace, chapters = play_once(STORY, "repaired")
    whole, lives = payload(scenario(STORY), REPAIRED, trace.model, trace, chapters)
    at = 20
    told_branch, _ = branch(trace.model, trace, trace.line, at, lives)
    before = {
        whole["wire"]["shapes"][m["bytes"][0]]["kind"] for m in whole["messages"] if m["sent"] <= at
    }
    assert not before & set(told_branch["wire"]["kinds"])
    assert before | set(told_branch["wire"]["kinds"]) == set(whole["wire"]["kinds"])
    for shown in told_branch["messages"]:
        assert shown["bytes"][0] in told_branch["wire"]["shapes"]
        assert shown["bytes"] in [m["bytes"] for m in whole["messages"]]


def test_the_same_message_is_told_the_same_way_twice() -> None:
    end = next(
        event.message
        for node in nodes(play_once(STORY, "repaired")[0])
        for event in node.events
        if isinstance(event, MessageSent)
    )
    assert bytes_of(end, Around()) == bytes_of(end, Around())
    trace, chapters = play_once(STORY, "repaired")
    again = payload(scenario(STORY), REPAIRED, trace.model, trace, chapters)[0]
    assert again["wire"] == payload_of(STORY)["wire"]


def test_the_bytes_of_a_long_run_are_a_small_part_of_its_page() -> None:
    run = runs.replay(Task("kip-1289-two-members", "repaired", "hostile", 0))
    whole, _ = payload(run.scenario, run.design, run.model, run.trace, ())
    bare = {
        **whole,
        "wire": {},
        "messages": [{k: v for k, v in m.items() if k != "bytes"} for m in whole["messages"]],
    }
    assert packed_size(whole) - packed_size(bare) < 10_000
    assert packed_size(whole) < 1.3 * packed_size(bare)


def packed_size(part: Part) -> int:
    return len(gzip.compress(json.dumps(part, separators=(",", ":")).encode(), mtime=0))
