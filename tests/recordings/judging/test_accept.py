"""The model could have given the answers that a real broker gave, and no others."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from kipviz.core.table import Table
from kipviz.recordings.answer_mutations import changes
from kipviz.recordings.judging.accept import Acceptor
from kipviz.recordings.judging.not_judged import (
    KNOWN,
    LEADERS_UNKNOWN,
    NO_DECISION,
    NO_PARTITIONS,
    NOT_ASKED,
)
from kipviz.recordings.judging.report import of_evidence
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.recording_error import RecordingError
from kipviz.recordings.replayed_roles.fetching import CLOSES, UNKNOWN_SESSION
from kipviz.recordings.request_context.evidence import Evidence, of_recording

HERE = Path(__file__).parents[1]
RELEASE = HERE / "kafka-4.4.0"
SCENARIOS = sorted(folder.name for folder in RELEASE.iterdir() if folder.is_dir())
RECORDED = sorted(place.parent for place in HERE.glob("kafka-*/*/recording.json"))
# Which numbers of which answers may be one more or one less, and why nobody can judge that.
LATE_TARGET = "a member is told its old epoch as long as its target assignment is late (KIP-1263)"
RIGHTS_CHANGE = "the ACLs changed at about that time"
LOG_GROWS = (
    "the log grew between the earliest time at which the request can have come and its answer"
)
ELECTION = "another broker was elected at about that time"
TOGETHER = (
    "two producers without a name asked at about the same time: each may get the id of either"
)
COMPACTED = "compaction has removed what the answer left in the log"
GROUPS = ("CONSUMER_GROUP_HEARTBEAT", "memberEpoch -1")
SHARE_GROUPS = ("SHARE_GROUP_HEARTBEAT", "memberEpoch -1")
SUMMARY = "READ_SHARE_GROUP_STATE_SUMMARY"
SHARED = (
    *("deleted-records", "pruned-shares", "restart", "share-acknowledge", "share-committed"),
    *("share-dead-letters", "share-implicit", "share-leader-move", "share-locks", "share-operator"),
    *("share-partitions", "share-renew", "share-two-members", "acls-share"),
)
OPEN = {
    **{
        ("kafka-4.3.1", n, *SHARE_GROUPS): LATE_TARGET
        for n in ("restart", "share-acknowledge", "share-locks")
    },
    **{("kafka-4.4.0", n, *SHARE_GROUPS): LATE_TARGET for n in SHARED},
    **{("kafka-4.4.0", n, *GROUPS): LATE_TARGET for n in ("members", "members-static")},
    ("kafka-4.4.0", "acls", "CONSUMER_GROUP_HEARTBEAT", "errorCode +1"): RIGHTS_CHANGE,
    ("kafka-4.4.0", "acls-share", "SHARE_GROUP_HEARTBEAT", "errorCode +1"): RIGHTS_CHANGE,
    (
        "kafka-4.4.0",
        "acls-share",
        "DESCRIBE_SHARE_GROUP_OFFSETS",
        "groups.topics.partitions.lag +1",
    ): LOG_GROWS,
    ("kafka-4.4.0", "acls-share", SUMMARY, "results.partitions.startOffset -1"): LOG_GROWS,
    ("kafka-4.4.0", "share-acknowledge", SUMMARY, "results.partitions.startOffset -1"): LOG_GROWS,
    (
        "kafka-4.4.0",
        "share-dead-letters",
        SUMMARY,
        "results.partitions.deliveryCompleteCount -1",
    ): LOG_GROWS,
    ("kafka-4.4.0", "reader", "FETCH", "responses.partitions.highWatermark -1"): LOG_GROWS,
    (
        "kafka-4.4.0",
        "idempotent",
        "DESCRIBE_PRODUCERS",
        "topics.partitions.activeProducers.lastSequence -1",
    ): LOG_GROWS,
    ("kafka-4.4.0", "idempotent", "INIT_PRODUCER_ID", "producerId +1"): TOGETHER,
    ("kafka-4.4.0", "idempotent", "INIT_PRODUCER_ID", "producerId -1"): TOGETHER,
    ("kafka-4.4.0", "acls", "INIT_PRODUCER_ID", "producerId +1"): TOGETHER,
    ("kafka-4.4.0", "silent-producer", "INIT_PRODUCER_ID", "producerId -1"): TOGETHER,
    ("kafka-4.4.0", "coordinator-move", "FIND_COORDINATOR", "coordinators.nodeId +1"): ELECTION,
    ("kafka-4.4.0", "coordinator-move", "FIND_COORDINATOR", "coordinators.nodeId -1"): ELECTION,
    ("kafka-4.4.0", "last-epoch", "INIT_PRODUCER_ID", "producerEpoch -1"): COMPACTED,
    ("kafka-4.4.0", "last-epoch", "END_TXN", "producerId -1"): COMPACTED,
}
OFFSETS = ("TXN_OFFSET_COMMIT", "OFFSET_COMMIT")


@cache
def read_recording(folder: Path) -> Evidence:
    """Read a recording once for all tests of this file."""
    return of_recording(folder)


def acceptor_of(folder: Path) -> Acceptor:
    """Read a recording, to ask for its answers."""
    return Acceptor(read_recording(folder))


@pytest.mark.parametrize("folder", RECORDED, ids=lambda f: f"{f.parent.name}-{f.name}")
def test_every_answer_is_one_that_the_model_could_have_given(folder: Path) -> None:
    refused = [asked for asked in acceptor_of(folder).compare_all() if not asked.accepted]
    assert refused == []


def test_the_recordings_ask_every_kind_of_question_and_for_refusals_too() -> None:
    asked = [each for name in SCENARIOS for each in acceptor_of(RELEASE / name).compare_all()]
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
        for api, reason, number in of_evidence(read_recording(folder)).not_asked
    )
    assert {(api, reason) for api, reason, _ in reasons} == {
        ("FETCH", CLOSES),
        ("SHARE_FETCH", NO_PARTITIONS),
    }


def test_a_share_session_that_nobody_saw_begin_is_another_reason_than_one_without_partitions() -> (
    None
):
    evidence = read_recording(RELEASE / "share-leader-move")
    left = [x for x in evidence.exchanges if x.api == "SHARE_FETCH"][-3:-1]
    told = {reason for _, reason, _ in of_evidence(evidence.but(exchanges=tuple(left))).not_asked}
    assert told == {UNKNOWN_SESSION}


def test_what_the_model_does_not_know_is_not_asked_and_the_reason_is_told() -> None:
    evidence = read_recording(RELEASE / "commit-and-abort")
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


@pytest.mark.parametrize("folder", RECORDED, ids=lambda f: f"{f.parent.name}-{f.name}")
def test_an_answer_with_any_number_one_more_or_one_less_is_one_that_the_model_cannot_give(
    folder: Path,
) -> None:
    """Each offset, epoch and error code is put off by one in turn; the table above says what stays open, and why."""
    acceptor = acceptor_of(folder)
    accepted: Counter[tuple[str, str]] = Counter()
    for number, exchange in enumerate(acceptor.exchanges):
        if not tuple(acceptor.of(number, exchange)):
            continue
        for which, answer in changes(exchange.response):
            if not refused(acceptor, number, exchange.but(response=answer)):
                accepted[exchange.api, which] += 1
    known = [key[2:] for key in OPEN if key[:2] == (folder.parent.name, folder.name)]
    assert sorted(accepted) == sorted(known)
    # No more than a few of thousands: a table that opens whole fields would judge nothing.
    assert all(count <= 2 for count in accepted.values()), accepted


def test_a_batch_is_looked_up_by_what_the_other_requests_were_told() -> None:
    """Of two batches of one record each, the first request cannot have been told the second one's offset."""
    acceptor = acceptor_of(RELEASE / "idempotent")
    produced = [n for n, x in enumerate(acceptor.exchanges) if x.api == "PRODUCE"]
    assert len(produced) > 4
    for number in produced:
        exchange = acceptor.exchanges[number]
        (asked,) = acceptor.of(number, exchange)
        offset = dict(asked.recorded)["at"]
        # -1 matches an error: a producer that is not known yet, say.
        assert {dict(said)["at"] for said in asked.possible} - {-1} == {offset}
        for which, answer in changes(exchange.response):
            if "baseOffset" in which:
                (other,) = acceptor.of(number, exchange.but(response=answer))
                assert {dict(said)["at"] for said in other.possible} - {-1} == {offset}


def test_a_log_forgets_only_producers_that_were_silent_for_as_long_as_is_set() -> None:
    evidence = read_recording(RELEASE / "silent-producer")
    told = [a for a in Acceptor(evidence).compare_all() if a.api == "DESCRIBE_PRODUCERS"]
    assert [len(dict(each.recorded)["producers"]) for each in told] == [2, 1, 0, 2]
    assert all(each.accepted for each in told)
    patient = Acceptor(evidence.but(producer_expiry_ms=86_400_000)).compare_all()
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


def test_a_share_group_member_of_several_topics_or_of_none_any_more_is_compared_as_well() -> None:
    """Until every heartbeat had its topics as an array, the model could not be asked about these."""
    acceptor = acceptor_of(RELEASE / "share-two-members")
    number, exchange = next(
        (n, x)
        for n, x in enumerate(acceptor.exchanges)
        if x.api == "SHARE_GROUP_HEARTBEAT" and x.request["subscribedTopicNames"]
    )
    (topic,) = exchange.request["subscribedTopicNames"]
    for topics, epoch in [((topic,) * 2, 0), ((topic, "b"), 0), ((), 0), ((), 1)]:
        said = exchange.request.set("subscribedTopicNames", topics).set("memberEpoch", epoch)
        acceptor.exchanges = (*acceptor.exchanges[:number], exchange.but(request=said))
        (asked,) = acceptor.of(number, acceptor.exchanges[number])
        assert asked.api == "SHARE_GROUP_HEARTBEAT"


def test_an_exchange_that_lacks_a_field_is_refused_with_its_number() -> None:
    acceptor = acceptor_of(RELEASE / "commit-and-abort")
    number, exchange = next(
        (n, x) for n, x in enumerate(acceptor.exchanges) if x.api == "OFFSET_FETCH"
    )
    with pytest.raises(RecordingError, match=rf"Request {number} is not OFFSET_FETCH version 10"):
        tuple(acceptor.of(number, exchange.but(request=Table.of({"groups": 3}))))


# -- a request that cannot be read ----------------------------------------------------------------


def with_each_api() -> dict[str, tuple[Evidence, int]]:
    """A recording in which each API is asked about, and the number of such a request."""
    found: dict[str, tuple[Evidence, int]] = {}
    for name in SCENARIOS:
        evidence = read_recording(RELEASE / name)
        for number, exchange in enumerate(evidence.exchanges):
            if exchange.api in KNOWN:
                found.setdefault(exchange.api, (evidence, number))
    return found


# What these ask stands in the answer, too, and is read there.
ANSWER_ALONE = ("DESCRIBE_TRANSACTIONS", "SHARE_GROUP_DESCRIBE")


@pytest.mark.parametrize(
    ("api", "of"),
    [
        (api, of)
        for api in KNOWN
        for of in ("request", "response")
        if of == "response" or api not in ANSWER_ALONE
    ],
)
def test_a_request_that_cannot_be_read_is_one_row_and_the_others_are_judged(
    api: str, of: str, each_api: dict[str, tuple[Evidence, int]]
) -> None:
    evidence, number = each_api[api]
    wire = evidence.exchanges
    other = wire[number].but(**{of: Table.of({"nothing": 3})})
    told = of_evidence(evidence.but(exchanges=(*wire[:number], other, *wire[number + 1 :])))
    rows = [row for row in told.not_asked if row[1].startswith("Request ")]
    ((row_api, reason, count),) = rows
    assert (row_api, count) == (api, 1)
    assert reason.startswith(f"Request {number} is not {api} version {other.version} (")
    assert number not in {asked.number for asked in told.asked}
    assert told.asked or len(wire) == 1


@pytest.fixture(scope="module")
def each_api() -> dict[str, tuple[Evidence, int]]:
    return with_each_api()
