"""The model could have given the answers that a real broker gave, and no others."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kipviz.core.table import Table
from kipviz.recordings.accept import Acceptor
from kipviz.recordings.evidence import of_recording
from kipviz.recordings.fetching import CLOSES, UNKNOWN_SESSION
from kipviz.recordings.not_judged import (
    KNOWN,
    LEADERS_UNKNOWN,
    NO_DECISION,
    NO_PARTITIONS,
    NOT_ASKED,
)
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.recording_error import RecordingError
from kipviz.recordings.report import of_evidence
from tests.recordings.changed import changed

HERE = Path(__file__).parent
RELEASE = HERE / "kafka-4.4.0"
SCENARIOS = sorted(folder.name for folder in RELEASE.iterdir() if folder.is_dir())
RECORDED = sorted(place.parent for place in HERE.glob("kafka-*/*/recording.json"))
OFFSETS = ("TXN_OFFSET_COMMIT", "OFFSET_COMMIT")


def acceptor_of(folder: Path) -> Acceptor:
    """Read a recording, to ask for its answers."""
    return Acceptor(of_recording(folder))


@pytest.mark.parametrize("folder", RECORDED, ids=lambda f: f"{f.parent.name}-{f.name}")
def test_every_answer_is_one_that_the_model_could_have_given(folder: Path) -> None:
    refused = [asked for asked in acceptor_of(folder).asked() if not asked.accepted]
    assert refused == []


def test_the_recordings_ask_every_kind_of_question_and_for_refusals_too() -> None:
    asked = [each for name in SCENARIOS for each in acceptor_of(RELEASE / name).asked()]
    assert {each.api for each in asked} == set(KNOWN)
    errors = {value for each in asked for what, value in each.recorded if what == "error"}
    assert errors >= {
        "NONE",
        "CONCURRENT_TRANSACTIONS",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "INVALID_PRODUCER_EPOCH",
        "INVALID_RECORD_STATE",
        "INVALID_TXN_STATE",
        "OFFSET_OUT_OF_RANGE",
        "PRODUCER_FENCED",
        "TRANSACTIONAL_ID_NOT_FOUND",
        "UNSTABLE_OFFSET_COMMIT",
        "UNSUPPORTED_VERSION",
        "FENCED_INSTANCE_ID",
        "FENCED_MEMBER_EPOCH",
        "GROUP_MAX_SIZE_REACHED",
        "INVALID_REQUEST",
        "INVALID_SHARE_SESSION_EPOCH",
        "INVALID_TRANSACTION_TIMEOUT",
        "NON_EMPTY_GROUP",
        "SHARE_SESSION_LIMIT_REACHED",
        "SHARE_SESSION_NOT_FOUND",
    }
    of_offsets = {value for each in asked if each.api in OFFSETS for _, value in each.recorded}
    assert {"STALE_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID"} <= of_offsets


def test_of_every_request_that_is_not_asked_it_is_said_why() -> None:
    """All that is left in the recordings are readers that close their sessions, and ones without partitions."""
    reasons = Counter(
        (api, reason, number)
        for folder in RECORDED
        for api, reason, number in of_evidence(of_recording(folder)).not_asked
    )
    assert {(api, reason) for api, reason, _ in reasons} == {
        ("FETCH", CLOSES),
        ("SHARE_FETCH", NO_PARTITIONS),
    }


def test_a_share_session_that_nobody_saw_begin_is_another_reason_than_one_without_partitions() -> (
    None
):
    evidence = of_recording(RELEASE / "share-leader-move")
    left = [x for x in evidence.exchanges if x.api == "SHARE_FETCH"][-3:-1]
    told = {reason for _, reason, _ in of_evidence(evidence.but(exchanges=tuple(left))).not_asked}
    assert told == {UNKNOWN_SESSION}


def test_what_the_model_does_not_know_is_not_asked_and_the_reason_is_told() -> None:
    evidence = of_recording(RELEASE / "commit-and-abort")
    known = evidence.exchanges
    fetch = next(x for x in known if x.api == "FETCH")
    others = [
        known[0].but(api="METADATA"),
        known[0].but(api="LIST_GROUPS"),
        next(x for x in known if x.api == "FIND_COORDINATOR"),
        fetch.but(
            request=fetch.request.set("sessionEpoch", 5).set("topics", ()),
            response=fetch.response.set("responses", ()),
        ),
    ]
    unknown = evidence.but(exchanges=tuple(others), node=-1)
    assert {api: reason for api, reason, _ in of_evidence(unknown).not_asked} == {
        "METADATA": NOT_ASKED["METADATA"],
        "LIST_GROUPS": NO_DECISION,
        "FIND_COORDINATOR": LEADERS_UNKNOWN,
        "FETCH": UNKNOWN_SESSION,
    }


# -- an answer that was changed -------------------------------------------------------------------


def refused(acceptor: Acceptor, number: int, exchange: Exchange) -> bool:
    """Say whether a changed answer is not accepted, or not even read as one."""
    try:
        return any(not asked.accepted for asked in acceptor.of(number, exchange))
    except RecordingError:
        return True


@pytest.mark.parametrize("name", SCENARIOS)
def test_an_answer_with_any_number_changed_is_one_that_the_model_cannot_give(name: str) -> None:
    acceptor = acceptor_of(RELEASE / name)
    for number, exchange in enumerate(acceptor.exchanges):
        if not tuple(acceptor.of(number, exchange)):
            continue
        for answer in changed(exchange.response):
            other = exchange.but(response=answer)
            assert refused(acceptor, number, other), (number, exchange.api, answer)


def test_a_log_forgets_only_producers_that_were_silent_for_as_long_as_is_set() -> None:
    evidence = of_recording(RELEASE / "silent-producer")
    told = [a for a in Acceptor(evidence).asked() if a.api == "DESCRIBE_PRODUCERS"]
    assert [len(dict(each.recorded)["producers"]) for each in told] == [2, 1, 0, 2]
    assert all(each.accepted for each in told)
    patient = Acceptor(evidence.but(producer_expiry_ms=86_400_000)).asked()
    assert [a.accepted for a in patient if a.api == "DESCRIBE_PRODUCERS"] == [
        True,
        False,
        False,
        True,
    ]


def test_a_static_member_s_name_is_asked_with() -> None:
    """Nobody in the recorded group has the name, so none of its members can have spoken in it."""
    acceptor = acceptor_of(RELEASE / "members")
    number, exchange = next(
        (n, x)
        for n, x in enumerate(acceptor.exchanges)
        if x.api == "CONSUMER_GROUP_HEARTBEAT" and x.request["memberEpoch"] > 0
    )
    assert not refused(acceptor, number, exchange)
    assert refused(
        acceptor, number, exchange.but(request=exchange.request.set("instanceId", "one"))
    )


def test_a_share_group_member_of_several_topics_or_of_none_any_more_is_not_asked_about() -> None:
    """The model's share subscription is one topic; the same one twice is one."""
    acceptor = acceptor_of(RELEASE / "share-two-members")
    number, exchange = next(
        (n, x)
        for n, x in enumerate(acceptor.exchanges)
        if x.api == "SHARE_GROUP_HEARTBEAT" and x.request["subscribedTopicNames"]
    )
    (topic,) = exchange.request["subscribedTopicNames"]
    for topics, epoch, asked in [
        ((topic,) * 2, 0, 1),
        ((topic, "b"), 0, 0),
        ((), 0, 1),
        ((), 1, 0),
    ]:
        said = exchange.request.set("subscribedTopicNames", topics).set("memberEpoch", epoch)
        acceptor.exchanges = (*acceptor.exchanges[:number], exchange.but(request=said))
        assert len(tuple(acceptor.of(number, acceptor.exchanges[number]))) == asked
        if not asked:
            assert acceptor.why_not(number) == "the model has no such request"


def test_an_exchange_that_lacks_a_field_is_refused_with_its_number() -> None:
    acceptor = acceptor_of(RELEASE / "commit-and-abort")
    number, exchange = next(
        (n, x) for n, x in enumerate(acceptor.exchanges) if x.api == "OFFSET_FETCH"
    )
    with pytest.raises(RecordingError, match=rf"Request {number} is no OFFSET_FETCH of version 10"):
        tuple(acceptor.of(number, exchange.but(request=Table.of({"groups": 3}))))
