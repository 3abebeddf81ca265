"""A difference that cannot be judged is reported with its reason, and apart from the answers that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from kipviz.core.table import Table
from kipviz.messages.errors import Errors
from kipviz.recordings.judging.causes import first_causes
from kipviz.recordings.judging.inconclusive import (
    FOLLOWS,
    IN_FLIGHT_BATCH,
    NO_BATCH,
    UPGRADE,
    groups_that_change,
)
from kipviz.recordings.judging.report import of_evidence
from kipviz.recordings.recorded import Exchange, plain
from kipviz.recordings.replayed_roles.answer_text import ComparedAnswer, error_name
from kipviz.recordings.replayed_roles.fetching import OF_REPLICA
from kipviz.recordings.request_context.evidence import Evidence, of_recording

RELEASE = Path(__file__).parents[1] / "kafka-4.4.0"


def with_error(exchange: Exchange, code: int) -> Exchange:
    """The answer to a produce request of one partition with another error, and no offset."""
    (topic,) = exchange.response["responses"]
    (part,) = topic["partitionResponses"]
    refused = part.set("errorCode", code).set("baseOffset", -1)
    told = topic.set("partitionResponses", (refused,))
    return exchange.but(response=exchange.response.set("responses", (told,)))


def refusing_the_last_batch(evidence: Evidence, code: int) -> Evidence:
    """The last produce request of a recording is answered with an error, and its batch is in no log."""
    wire = [x for x in evidence.exchanges if x.api != "DESCRIBE_PRODUCERS"]
    number = max(n for n, x in enumerate(wire) if x.api == "PRODUCE")
    (topic,) = wire[number].response["responses"]
    (part,) = topic["partitionResponses"]
    wire[number] = with_error(wire[number], code)
    names = {topic_id: name for name, topic_id in evidence.topics}
    partition = f"{names[topic['topicId']]}-{part['index']}"
    entries = tuple(
        e
        for e in evidence.entries
        if (e.partition, e.batch.base_offset) != (partition, part["baseOffset"])
    )
    return evidence.but(exchanges=tuple(wire), entries=entries, sent=())


@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [
        ("idempotent", 45, NO_BATCH),
        ("idempotent", 47, NO_BATCH),
        # Of a transactional id: a producer id that nobody was given.
        ("commit-and-abort", 49, NO_BATCH),
        ("idempotent", 10, "NOT MODELLED: sizes of records, which decide MESSAGE_TOO_LARGE"),
        (
            "idempotent",
            87,
            "NOT MODELLED: keys and headers of records, which decide INVALID_RECORD",
        ),
    ],
)
def test_a_refused_batch_of_which_nothing_is_known_cannot_be_judged(
    name: str, code: int, reason: str
) -> None:
    told = of_evidence(refusing_the_last_batch(of_recording(RELEASE / name), code))
    assert told.refused == ()
    assert ("PRODUCE", reason, 1) in told.cannot_judge
    assert f"      1  {reason}: 1 PRODUCE" in list(told.lines())
    (doubted,) = told.document()["doubted"]
    assert (doubted["api"], doubted["reason"]) == ("PRODUCE", reason)


def test_a_batch_of_a_known_producer_that_is_told_of_an_unknown_one_is_refused_if_it_was_noted() -> (
    None
):
    evidence = of_recording(RELEASE / "wrong-sequences")
    assert of_evidence(evidence).refused == ()
    number, exchange = next(
        (n, x)
        for n, x in enumerate(evidence.exchanges)
        if x.api == "PRODUCE" and x.request["transactionalId"]
    )
    wire = list(evidence.exchanges)
    wire[number] = with_error(exchange, Errors.INVALID_PRODUCER_ID_MAPPING.value)
    changed = evidence.but(exchanges=tuple(wire))
    assert number in {each.number for each in of_evidence(changed).refused}
    (doubted,) = (x for x in of_evidence(changed.but(sent=())).doubted if x.number == number)
    assert doubted.doubt == NO_BATCH


def test_an_error_that_no_batch_decides_is_refused_as_before() -> None:
    told = of_evidence(refusing_the_last_batch(of_recording(RELEASE / "idempotent"), 29))
    (refused,) = told.refused
    assert dict(refused.recorded)["error"] == "TOPIC_AUTHORIZATION_FAILED"


def test_errors_that_the_model_never_says_have_kafka_s_names() -> None:
    assert [error_name(code) for code in (0, 10, 75, 87, 134)] == [
        "NONE",
        "MESSAGE_TOO_LARGE",
        "UNKNOWN_LEADER_EPOCH",
        "INVALID_RECORD",
        "GROUP_DELETION_FAILED",
    ]
    assert error_name(999) == "error 999"


@pytest.mark.parametrize(
    "replica",
    [{"replicaState": {"replicaId": 2, "replicaEpoch": 7}}, {"replicaId": 2}],
    ids=["since version 15", "before"],
)
def test_a_follower_replica_s_fetch_is_no_reader_s(replica: dict[str, object]) -> None:
    """It asks for all records beyond the high watermark, too, so a reader's answers do not fit."""
    evidence = of_recording(RELEASE / "reader")
    wire = list(evidence.exchanges)
    number = next(n for n, x in enumerate(wire) if x.api == "FETCH" and x.response["responses"])
    before = of_evidence(evidence)
    said = Table.of({**dict(wire[number].request.items()), **dict(plain(replica).items())})
    wire.append(wire[number].but(request=said))
    told = of_evidence(evidence.but(exchanges=tuple(wire)))
    assert told.asked == before.asked
    assert ("FETCH", OF_REPLICA, 1) in told.cannot_judge


def heartbeat(group: str, at_ms: int) -> Exchange:
    said = {
        "groupId": group,
        "memberId": "late",
        "memberEpoch": 5,
        "instanceId": None,
        "rackId": None,
        "rebalanceTimeoutMs": -1,
        "subscribedTopicNames": None,
        "subscribedTopicRegex": None,
        "serverAssignor": None,
        "topicPartitions": None,
    }
    answer = {"errorCode": 0, "memberId": "late", "memberEpoch": 5, "assignment": None}
    told = (plain(said), plain(answer))
    return Exchange("CONSUMER_GROUP_HEARTBEAT", 1, "late", at_ms - 1, at_ms, *told)


def test_a_group_that_is_upgraded_online_cannot_be_judged_from_then_on() -> None:
    evidence = of_recording(RELEASE / "classic-members")
    joined = next(x for x in evidence.exchanges if x.api == "SYNC_GROUP")
    group, last = joined.request["groupId"], evidence.exchanges[-1].answered_ms
    mixed = evidence.but(exchanges=(*evidence.exchanges, heartbeat(group, last + 5)))
    assert groups_that_change(evidence.exchanges) == {}
    assert groups_that_change(mixed.exchanges) == {group: last + 5}
    told = of_evidence(mixed)
    assert told.refused == ()
    assert ("CONSUMER_GROUP_HEARTBEAT", UPGRADE, 1) in told.cannot_judge
    other = evidence.but(exchanges=(*evidence.exchanges, heartbeat("another", last + 5)))
    assert [each.api for each in of_evidence(other).refused] == ["CONSUMER_GROUP_HEARTBEAT"]


def test_refused_answers_that_share_a_subject_follow_from_the_first_of_them() -> None:
    a, b, c, d = (ComparedAnswer(n, "FETCH", f"p{n}", (("error", "NONE"),), ()) for n in range(4))
    shared = {
        a: frozenset({("share session", "m1"), ("share-partition", "s-0")}),
        b: frozenset({("producer", "tx")}),
        c: frozenset({("share session", "m2"), ("share-partition", "s-0")}),
        d: frozenset({("share session", "m2"), ("share-partition", "s-1")}),
    }
    found = first_causes((a, b, c, d), shared)
    assert [(cause.first, cause.follow_ups) for cause in found] == [(a, (c, d)), (b, ())]


def test_a_fetch_that_renews_and_asks_for_records_is_an_invalid_request_as_a_whole() -> None:
    """KIP-1222; KafkaApis.handleShareFetchRequest looks at it before the session and whatever it acknowledges."""
    evidence = of_recording(RELEASE / "share-acknowledge")
    wire = list(evidence.exchanges)
    number = next(n for n, x in enumerate(wire) if x.api == "SHARE_FETCH")
    wire[number] = wire[number].but(request=wire[number].request.set("isRenewAck", True))
    answer = wire[number].response.set("errorCode", 42).set("responses", ())
    refused = wire[number].but(response=answer, version=2)
    before = wire[:number]
    told = of_evidence(evidence.but(exchanges=(*before, refused)))
    (judged,) = (each for each in told.asked if each.number == number)
    assert judged.accepted
    assert dict(judged.recorded)["error"] == "INVALID_REQUEST"
    served = of_evidence(evidence.but(exchanges=(*before, wire[number].but(version=2))))
    assert number in {each.number for each in served.refused}


def test_a_whole_batch_that_is_delivered_again_cannot_be_judged_and_what_follows_neither() -> None:
    """In batch_optimized the rest of an in-flight batch comes along; in record_limit it is a refusal."""
    for mode, expected in ((0, IN_FLIGHT_BATCH), (1, "")):
        evidence = of_recording(RELEASE / "share-locks")
        wire = list(evidence.exchanges)
        number, again = next(
            (n, x)
            for n, x in enumerate(wire)
            if x.api == "SHARE_FETCH"
            and any(
                r["deliveryCount"] > 1
                for t in x.response["responses"]
                for p in t["partitions"]
                for r in p["acquiredRecords"]
            )
        )
        said = again.request.set("maxRecords", 1).set("shareAcquireMode", mode)
        (topic,) = again.response["responses"]
        (part,) = topic["partitions"]
        more = tuple(
            r.set("firstOffset", r["firstOffset"]).set("lastOffset", r["lastOffset"] + 40)
            for r in part["acquiredRecords"]
        )
        answer = topic.set("partitions", (part.set("acquiredRecords", more),))
        wire[number] = again.but(request=said, response=again.response.set("responses", (answer,)))
        told = of_evidence(evidence.but(exchanges=tuple(wire)))
        (judged,) = (each for each in told.asked if each.number == number)
        assert judged.doubt == expected
        reasons = {each.doubt for each in told.doubted}
        assert (FOLLOWS in reasons, bool(told.refused)) == (bool(expected), not expected)


@pytest.mark.parametrize(
    ("name", "topic", "api", "elsewhere"),
    [
        ("idempotent", "output-A", "PRODUCE", "__transaction_state-0"),
        ("commit-and-abort", "__transaction_state", "END_TXN", "__consumer_offsets-0"),
        ("members", "__consumer_offsets", "CONSUMER_GROUP_HEARTBEAT", "__transaction_state-0"),
        ("share-acknowledge", "__share_group_state", "READ_SHARE_GROUP_STATE_SUMMARY", "orders-0"),
    ],
)
def test_what_follows_from_a_batch_that_could_not_be_read_cannot_be_judged(
    name: str, topic: str, api: str, elsewhere: str
) -> None:
    evidence = of_recording(RELEASE / name)
    of_topic = [e for e in evidence.entries if e.partition.startswith(topic)]
    lost = {id(each) for each in of_topic[len(of_topic) // 2 :]}
    lacking = evidence.but(entries=tuple(e for e in evidence.entries if id(e) not in lost))
    refused = of_evidence(lacking).refused
    assert refused
    partitions = tuple(dict.fromkeys(e.partition for e in of_topic))
    told = of_evidence(lacking.but(damaged=partitions))
    assert not told.refused
    reasons = {each.doubt for each in told.doubted if each.api == api}
    assert reasons == {f"no evidence: batches of {each} could not be read" for each in partitions}
    assert of_evidence(lacking.but(damaged=(elsewhere,))).refused == refused
