"""Requests that no client sends: fields that are missing, of another type, null, huge, negative or empty.

Whatever a request log holds, there is a report: what cannot be read or handled is a row with its reason.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kipviz.core.table import Table
from kipviz.messages.groups.classic_groups import LeaveGroup
from kipviz.recordings.followed_members import joining
from kipviz.recordings.judging.not_judged import KNOWN
from kipviz.recordings.judging.report import Report, of_evidence
from kipviz.recordings.judging.unreadable import unreadable
from kipviz.recordings.recorded import Exchange, plain
from kipviz.recordings.replayed_roles.answer_text import sayings
from kipviz.recordings.request_context.evidence import Evidence, of_recording

RELEASE = Path(__file__).parents[1] / "kafka-4.4.0"
# Small recordings in which every group of APIs is asked.
NAMES = (
    *("acls-share", "classic-static", "cluster-answers", "commit-and-abort", "group-answers"),
    *("idempotent", "members-static", "reader", "share-acknowledge", "share-operator"),
    *("share-partitions", "share-renew", "transaction-answers", "two-phase", "zombie"),
)
MISSING = object()
HUGE, TEXT = 2**70, "x" * 300
ODD: tuple[Any, ...] = (
    *(MISSING, None, True, "", "x", TEXT, "(a+)+b", "a+)("),
    *((), (None,), ("x",), Table.of({}), 0, 1, -1, -(2**31), 2**31 - 1, 2**63, HUGE, 1.5),
)
Where = tuple[str | int, ...]


def places(found: Any, at: Where = ()) -> Iterator[Where]:
    """Every field and every element, at any depth."""
    pairs: Any = found.items() if isinstance(found, Table) else ()
    pairs = enumerate(found) if isinstance(found, tuple) else pairs
    for name, value in pairs:
        yield (*at, name)
        yield from places(value, (*at, name))


def put(found: Any, at: Where, new: Any) -> Any:
    """The same with another value at a place, or without it."""
    if not at:
        return new
    first, *rest = at
    if isinstance(found, Table):
        gone = not rest and new is MISSING
        return (
            found.without(first) if gone else found.set(first, put(found[first], tuple(rest), new))
        )
    assert isinstance(first, int)
    middle = () if not rest and new is MISSING else (put(found[first], tuple(rest), new),)
    return (*found[:first], *middle, *found[first + 1 :])


def with_odd_fields(evidence: Evidence, dice: random.Random) -> Evidence:
    """A recording with up to six odd fields in requests and answers that are asked about."""
    wire = list(evidence.exchanges)
    asked = [n for n, exchange in enumerate(wire) if exchange.api in KNOWN]
    for _ in range(dice.choice((1, 2, 6))):
        number, of = dice.choice(asked), dice.choice(("request", "request", "response"))
        found = getattr(wire[number], of)
        at = dice.choice(tuple(places(found)))
        wire[number] = wire[number].but(**{of: put(found, at, dice.choice(ODD))})
    return evidence.but(exchanges=tuple(wire))


@pytest.fixture(scope="module")
def recordings() -> dict[str, Evidence]:
    return {name: of_recording(RELEASE / name) for name in NAMES}


@pytest.mark.parametrize("seed", range(30))
def test_whatever_a_field_holds_there_is_a_report(
    seed: int, recordings: dict[str, Evidence]
) -> None:
    dice = random.Random(seed)
    for name in dice.sample(NAMES, 3):
        told = of_evidence(with_odd_fields(recordings[name], dice))
        assert isinstance(told, Report)
        assert list(told.lines())
        assert told.document()["requests"] == len(recordings[name].exchanges)


def joins(**fields: Any) -> Exchange:
    said = {
        "groupId": "new-group",
        "memberId": "nobody",
        "memberEpoch": 0,
        "instanceId": None,
        "rackId": None,
        "rebalanceTimeoutMs": 300_000,
        "subscribedTopicNames": None,
        "subscribedTopicRegex": None,
        "serverAssignor": None,
        "topicPartitions": [],
    }
    answer = {"errorCode": 42, "memberId": None, "memberEpoch": 0, "assignment": None}
    told = (plain(said | fields), plain(answer))
    return Exchange("CONSUMER_GROUP_HEARTBEAT", 1, "odd", 0, 0, *told)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"memberEpoch": -3, "subscribedTopicNames": ["src"]},
        {"memberEpoch": -2, "subscribedTopicNames": ["src"]},
        {"memberId": "", "subscribedTopicNames": ["src"]},
        {"topicPartitions": None, "subscribedTopicNames": ["src"]},
    ],
    ids=["no topics", "epoch below -2", "static without a name", "no member id", "no owned"],
)
def test_a_heartbeat_of_the_wrong_form_is_an_invalid_request(fields: dict[str, Any]) -> None:
    """GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid."""
    evidence = of_recording(RELEASE / "members")
    at = evidence.exchanges[-1].answered_ms
    odd = joins(**fields).but(received_ms=at, answered_ms=at)
    told = of_evidence(evidence.but(exchanges=(*evidence.exchanges, odd)))
    answer = told.asked[-1]
    assert answer.api == "CONSUMER_GROUP_HEARTBEAT"
    assert answer.accepted, [sayings(each) for each in answer.possible]


def test_a_request_that_the_model_cannot_handle_is_a_row_and_the_others_are_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The model fails at every LeaveGroup; all else is followed as if nobody had sent these."""

    def fails(*_: object) -> None:
        raise AssertionError("no such member")

    evidence = of_recording(RELEASE / "classic-static")
    leaving = [n for n, x in enumerate(evidence.exchanges) if x.api == "LEAVE_GROUP"]
    assert leaving
    monkeypatch.setitem(joining.HANDLERS, LeaveGroup, fails)
    told = of_evidence(evidence)
    rows = [reason for api, reason, _ in told.cannot_judge if api == "LEAVE_GROUP"]
    assert (
        f"Request {leaving[0]}, LEAVE_GROUP: the model has no answer to it (AssertionError: no such member)"
        in rows
    )
    assert len(rows) == len(leaving)
    assert {each.api for each in told.accepted} >= {"JOIN_GROUP", "SYNC_GROUP", "HEARTBEAT"}


@pytest.mark.parametrize("api", ["JOIN_GROUP", "SYNC_GROUP", "LEAVE_GROUP"])
def test_an_answer_to_a_member_that_lacks_what_it_says_is_told_by_its_number(
    api: str, recordings: dict[str, Evidence]
) -> None:
    lacking = {"JOIN_GROUP": "members", "SYNC_GROUP": "assignment", "LEAVE_GROUP": "errorCode"}
    wire = recordings["classic-static"].exchanges
    exchange = next(each for each in wire if each.api == api)
    answer = Table.of({k: v for k, v in exchange.response.items() if k != lacking[api]})
    assert unreadable((exchange,), {}) == {}
    found = unreadable((exchange, exchange.but(response=answer)), {})
    assert list(found) == [1]
    assert found[1]


@pytest.mark.parametrize("name", ["shareSessionEpoch", "maxRecords", "batchSize"])
def test_a_number_of_a_share_fetch_that_is_a_text_is_told_by_its_name(
    name: str, recordings: dict[str, Evidence]
) -> None:
    evidence = recordings["share-acknowledge"]
    exchange = next(each for each in evidence.exchanges if each.api == "SHARE_FETCH")
    assert unreadable((exchange,), {}) == {}
    wrong = exchange.but(request=exchange.request.set(name, "many"))
    found = unreadable((wrong,), {})
    assert list(found) == [0]
    assert name in found[0]
