"""The leader of a share-partition, followed: what it told its members, and what it had written."""

from __future__ import annotations

from pathlib import Path

import pytest

from kipviz.messages.apis.shares.acknowledgements import decode_batches
from kipviz.messages.errors import Errors
from kipviz.recordings.answer_mutations import mutate_answer
from kipviz.recordings.followed_members import sharing
from kipviz.recordings.followed_members.share_answer_text import STATES
from kipviz.recordings.followed_members.share_requests import MEMBERS
from kipviz.recordings.judging.accept import Acceptor
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.recording_error import RecordingError
from kipviz.recordings.replayed_roles.answer_text import ComparedAnswer
from kipviz.recordings.request_context.evidence import Evidence, of_recording

HERE = Path(__file__).parents[1]
RELEASE = HERE / "kafka-4.4.0"
FOLLOWED = sorted(
    place.parent
    for place in HERE.glob("kafka-*/*/recording.json")
    if place.parent.name.startswith(("share-", "restart"))
)

# In these an answer to a member is changed, in the last one every third.
CHANGED = [
    ("share-acknowledge", 1),
    ("share-answers", 3),
    ("share-dead-letters", 1),
    ("share-renew", 1),
    ("share-two-members", 1),
    ("share-leader-move", 1),
    ("share-partitions", 9),
    *(
        pytest.param(name, 1, marks=pytest.mark.thorough)
        for name in ("share-answers", "share-partitions")
    ),
]


def follow_members(evidence: Evidence) -> tuple[ComparedAnswer, ...]:
    """Follow the members of the share groups of a recording."""
    return Acceptor(evidence).groups.judge_share_groups()


@pytest.mark.parametrize("folder", FOLLOWED, ids=lambda f: f"{f.parent.name}-{f.name}")
def test_every_answer_to_a_member_and_every_write_is_one_of_the_model_s(folder: Path) -> None:
    verdicts = follow_members(of_recording(folder))
    for verdict in verdicts:
        assert verdict.accepted, verdict
    asked = [v for v in verdicts if v.api in MEMBERS]
    written = [v for v in verdicts if v.api in STATES]
    wire = of_recording(folder).exchanges
    numbers = {v.number for v in verdicts}
    left = [x for n, x in enumerate(wire) if x.api in (*MEMBERS, *STATES) and n not in numbers]
    assert all(x.request["topics"] == x.response["responses"] == () for x in left)
    assert asked
    assert written


@pytest.mark.parametrize(("name", "every"), CHANGED)
def test_an_answer_to_a_member_with_any_number_changed_is_not_accepted(
    name: str, every: int
) -> None:
    evidence = of_recording(RELEASE / name)
    asked = dict.fromkeys(v.number for v in follow_members(evidence) if v.api in MEMBERS)
    answered = [(number, evidence.exchanges[number]) for number in asked]
    for number, exchange in answered[::every]:
        for answer in mutate_answer(exchange.response):
            assert refused(evidence, number, exchange.but(response=answer)), (number, answer)


@pytest.mark.parametrize("name", ["share-acknowledge", "share-renew", "share-dead-letters"])
def test_a_write_with_any_number_changed_is_not_what_the_model_writes(name: str) -> None:
    evidence = of_recording(RELEASE / name)
    for number, exchange in enumerate(evidence.exchanges):
        if exchange.api != "WRITE_SHARE_GROUP_STATE":
            continue
        for request in mutate_answer(exchange.request):
            assert refused(evidence, number, exchange.but(request=request)), (number, request)


def refused(evidence: Evidence, number: int, other: Exchange) -> bool:
    """Say whether a recording is not accepted any more with another exchange in it."""
    wire = evidence.exchanges
    exchanges = (*wire[:number], other, *wire[number + 1 :])
    try:
        return any(not v.accepted for v in follow_members(evidence.but(exchanges=exchanges)))
    except RecordingError:
        return True


def test_a_type_that_does_not_exist_is_judged_like_any_other_request() -> None:
    """KafkaApis.validateAcknowledgementBatches answers INVALID_REQUEST, and nothing of the partition is taken."""
    evidence = of_recording(RELEASE / "share-acknowledge")
    number, exchange = next(
        (n, x) for n, x in enumerate(evidence.exchanges) if x.api == "SHARE_ACKNOWLEDGE"
    )
    for types in ((5,), (-1,), (127,), (), (1, 1, 1, 1, 1, 1, 1)):
        (topic,) = exchange.request["topics"]
        (part,) = topic["partitions"]
        batches = tuple(b.set("acknowledgeTypes", types) for b in part["acknowledgementBatches"])
        wrong = topic.set("partitions", (part.set("acknowledgementBatches", batches),))
        (told,) = exchange.response["responses"]
        (answer,) = told["partitions"]
        refusal = told.set("partitions", (answer.set("errorCode", Errors.INVALID_REQUEST.value),))
        other = exchange.but(
            request=exchange.request.set("topics", (wrong,)),
            response=exchange.response.set("responses", (refusal,)),
        )
        wire = evidence.exchanges
        changed_wire = (*wire[:number], other, *wire[number + 1 :])
        own = [
            v for v in follow_members(evidence.but(exchanges=changed_wire)) if v.number == number
        ]
        assert [v.accepted for v in own] == [True], types
        assert refused(evidence, number, other.but(response=exchange.response)), types


@pytest.mark.parametrize(
    ("types", "renews", "kinds"),
    [
        ((1,), False, [(5, 7, "ACCEPT")]),
        ((1, 2, 2), False, [(5, 5, "ACCEPT"), (6, 7, "RELEASE")]),
        ((4,), True, [(5, 7, "RENEW")]),
        ((4,), False, [(5, 7, "UNKNOWN")]),
        ((1, 5, 1), False, [(5, 5, "ACCEPT"), (6, 6, "UNKNOWN"), (7, 7, "ACCEPT")]),
        ((1, 1), False, [(5, 7, "UNKNOWN")]),
        ((), False, [(5, 7, "UNKNOWN")]),
    ],
)
def test_types_are_one_for_all_offsets_or_one_for_each(types, renews, kinds) -> None:
    batch = {"FirstOffset": 5, "LastOffset": 7, "AcknowledgeTypes": types}
    found = decode_batches((batch,), renewing=renews)
    assert [(b.first, b.last, b.type.name) for b in found] == kinds


@pytest.mark.parametrize(("waited_ms", "accepted"), [(0, True), (-1, False)])
def test_a_fetch_whose_time_is_over_may_bring_nothing_though_the_state_was_read_meanwhile(
    waited_ms: int, accepted: bool
) -> None:
    """A loaded broker, seen in a random program: the state was read, the leader had not yet taken it, and 100 ms were over."""
    evidence = of_recording(RELEASE / "share-acknowledge")
    wire = evidence.exchanges
    at = next(n for n, x in enumerate(wire) if x.api == "SHARE_FETCH" and acquired_by(x))
    read = next(x for x in wire if x.api == "READ_SHARE_GROUP_STATE")
    fetch = wire[at]
    assert fetch.received_ms <= read.received_ms <= fetch.answered_ms
    topics = tuple(
        topic.set(
            "partitions", tuple(part.set("acquiredRecords", ()) for part in topic["partitions"])
        )
        for topic in fetch.response["responses"]
    )
    waits = fetch.answered_ms - fetch.received_ms - waited_ms
    empty = fetch.but(
        request=fetch.request.set("maxWaitMs", waits),
        response=fetch.response.set("responses", topics),
    )
    verdicts = follow_members(evidence.but(exchanges=(*wire[:at], empty)))
    assert [v.accepted for v in verdicts if v.number == at] == [accepted]


def acquired_by(exchange: Exchange) -> bool:
    """Say whether a fetch brought records."""
    topics = exchange.response["responses"]
    return any(part["acquiredRecords"] for topic in topics for part in topic["partitions"])


@pytest.mark.parametrize("name", ["share-acknowledge", "share-two-members"])
def test_a_leader_looks_at_who_waits_where_a_log_has_grown_that_members_read_and_nowhere_else(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[sharing.Sharing] = []
    monkeypatch.setattr(sharing.Sharing, "verdicts", lambda self: made.append(self) or iter(()))
    follow_members(of_recording(RELEASE / name))
    follower = made[0]
    logs = [context.logs["src-0"] for _, context in follower._contexts]
    ends = [(log.end_offset, log.high_watermark) for log in logs]
    grown = [n for n in range(1, len(ends)) if ends[n] != ends[n - 1]]
    looks = [number for _, kind, number in follower._steps() if kind == sharing.GROWS]
    assert looks == grown
    assert 0 < len(grown) < len(ends) - 1
