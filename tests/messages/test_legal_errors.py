"""A row names the errors of its responses, place by place: nobody responds with another one, and each named one is reached."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from kipviz.brokers.authorizer import ERROR_OF
from kipviz.brokers.checks import possible_errors
from kipviz.checking.single_run import runs
from kipviz.checking.single_run.seeded_run import Task
from kipviz.cluster.model import ClusterModel
from kipviz.core.model import Event
from kipviz.core.traces.trace import Node
from kipviz.messages.apis.api import NO_RELEASE, AnyApi, Role
from kipviz.messages.apis.catalogue import API_OF, APIS
from kipviz.messages.apis.legal_errors import errors_in, places_in
from kipviz.messages.error_names import UNMODELLED_ERRORS
from kipviz.messages.errors import Errors
from kipviz.messages.events import ConnectionLost, MessageDelivered, MessageSent
from kipviz.messages.message import Message
from kipviz.messages.wire.frame import KINDS
from kipviz.messages.wire.kind import Around
from kipviz.recordings.recorded import load_recording
from kipviz.scenarios.library import LIBRARY
from tests.scenarios.story import play_once

RECORDED = sorted((Path(__file__).parents[1] / "recordings").glob("kafka-*/*/recording.json"))
STORIES = [(s.name, d) for s in LIBRARY for d in s.designs]
# Every eighth story goes wrong in any way there is, each time with other dice.
HOSTILE = [(name, under, 100 + at) for at, (name, under) in enumerate(STORIES) if at % 8 == 0]
# The name of a row, a place and the error there.
BROKERS = Path(__file__).parents[1] / "brokers"
# What no run has and a test of a role does: the request and the error stand in one file of tests/brokers.
OF_ROLES: dict[str, str] = {
    "AddPartitionsToTxn": "COORDINATOR_NOT_AVAILABLE INVALID_REQUEST INVALID_TXN_STATE",
    "AlterShareGroupOffsets": "COORDINATOR_NOT_AVAILABLE FENCED_STATE_EPOCH",
    "ConsumerGroupDescribe": "TOPIC_AUTHORIZATION_FAILED",
    "ConsumerGroupHeartbeat": "COORDINATOR_NOT_AVAILABLE",
    "CreatePartitions": "INVALID_PARTITIONS INVALID_REPLICATION_FACTOR INVALID_REPLICA_ASSIGNMENT INVALID_REQUEST POLICY_VIOLATION UNKNOWN_TOPIC_OR_PARTITION",
    "CreateTopics": "INVALID_CONFIG INVALID_PARTITIONS INVALID_REPLICATION_FACTOR INVALID_REPLICA_ASSIGNMENT INVALID_REQUEST INVALID_TOPIC_EXCEPTION POLICY_VIOLATION",
    "DeleteRecords": "INVALID_TOPIC_EXCEPTION NOT_LEADER_OR_FOLLOWER POLICY_VIOLATION UNKNOWN_TOPIC_OR_PARTITION",
    "DeleteTopics": "INVALID_REQUEST UNKNOWN_TOPIC_ID UNKNOWN_TOPIC_OR_PARTITION",
    "DescribeConfigs": "CLUSTER_AUTHORIZATION_FAILED INVALID_REQUEST INVALID_TOPIC_EXCEPTION TOPIC_AUTHORIZATION_FAILED UNKNOWN_TOPIC_OR_PARTITION",
    "IncrementalAlterConfigs": "INVALID_CONFIG INVALID_REQUEST INVALID_TOPIC_EXCEPTION TOPIC_AUTHORIZATION_FAILED UNKNOWN_TOPIC_OR_PARTITION",
    "DeleteShareGroupState": "CONCURRENT_TRANSACTIONS COORDINATOR_NOT_AVAILABLE",
    "DescribeProducers": "UNKNOWN_TOPIC_OR_PARTITION",
    "EndTxn": "INVALID_REQUEST UNKNOWN_SERVER_ERROR",
    "FindCoordinator": "INVALID_REQUEST",
    "InitProducerId": "COORDINATOR_NOT_AVAILABLE",
    "InitializeShareGroupState": "COORDINATOR_NOT_AVAILABLE",
    "ListGroups": "COORDINATOR_LOAD_IN_PROGRESS",
    "ListTransactions": "COORDINATOR_LOAD_IN_PROGRESS",
    "Metadata": "INVALID_TOPIC_EXCEPTION",
    "OffsetCommit": "COORDINATOR_NOT_AVAILABLE FENCED_INSTANCE_ID GROUP_ID_NOT_FOUND OFFSET_METADATA_TOO_LARGE UNKNOWN_TOPIC_OR_PARTITION",
    "Produce": "UNKNOWN_TOPIC_ID",
    "ReadShareGroupState": "COORDINATOR_NOT_AVAILABLE",
    "ShareAcknowledge": "COORDINATOR_NOT_AVAILABLE UNKNOWN_SERVER_ERROR",
    "ShareFetch": "GROUP_ID_NOT_FOUND UNKNOWN_TOPIC_ID",
    "ShareGroupHeartbeat": "COORDINATOR_NOT_AVAILABLE",
    "TxnOffsetCommit": "GROUP_ID_NOT_FOUND OFFSET_METADATA_TOO_LARGE UNKNOWN_TOPIC_OR_PARTITION",
    "TxnShareAcknowledge": "INVALID_TXN_STATE",
    "WriteShareGroupState": "COORDINATOR_NOT_AVAILABLE",
    "WriteTxnMarkers": "UNKNOWN_TOPIC_OR_PARTITION",
}
# What the code leads to and no test reaches yet; the list may only become shorter.
NOT_YET: dict[str, str] = {
    "AddOffsetsToTxn": "COORDINATOR_NOT_AVAILABLE",
    "AlterShareGroupOffsets": "NETWORK_EXCEPTION",
    "DeleteGroups": "COORDINATOR_NOT_AVAILABLE",
    "DeleteShareGroupOffsets": "CONCURRENT_TRANSACTIONS COORDINATOR_NOT_AVAILABLE NETWORK_EXCEPTION",
    "DescribeShareGroupOffsets": "COORDINATOR_NOT_AVAILABLE NETWORK_EXCEPTION TOPIC_AUTHORIZATION_FAILED UNKNOWN_TOPIC_OR_PARTITION",
    "Fetch": "UNKNOWN_TOPIC_ID",
    "InitProducerId": "UNKNOWN_SERVER_ERROR",
    "InitProducerIdOfGroup": "UNKNOWN_SERVER_ERROR",
    "JoinGroup": "COORDINATOR_NOT_AVAILABLE",
    "ListOffsets": "UNKNOWN_TOPIC_OR_PARTITION",
    "ListTransactions": "INVALID_REGULAR_EXPRESSION",
    "OffsetCommit": "UNKNOWN_TOPIC_ID",
    "OffsetDelete": "COORDINATOR_NOT_AVAILABLE",
    "OffsetFetch": "PENDING_TRANSACTION UNKNOWN_TOPIC_ID UNKNOWN_TOPIC_OR_PARTITION",
    "Produce": "UNKNOWN_TOPIC_OR_PARTITION",
    "ShareAcknowledge": "GROUP_ID_NOT_FOUND",
    "ShareFetch": "COORDINATOR_NOT_AVAILABLE",
    "SyncGroup": "COORDINATOR_NOT_AVAILABLE",
    "TxnOffsetCommit": "INVALID_PRODUCER_ID_MAPPING",
    "TxnShareAcknowledge": "CONCURRENT_TRANSACTIONS TRANSACTION_ABORTABLE UNKNOWN_SERVER_ERROR UNKNOWN_TOPIC_ID UNKNOWN_TOPIC_OR_PARTITION",
}
Found = tuple[str, str, Errors]
ROWS = {api.name: api for api in APIS}


def found_in(api: AnyApi, response: Message, request: Message | None) -> Iterator[Found]:
    """The errors of a response, at the places where its bytes have them."""
    kind = KINDS[type(response)]
    filled = kind.fill(response, Around(request=request))
    for place, code in errors_in(filled, kind.schema.fields):
        yield api.name, place, Errors(code)


def list_answered(events: Iterator[Event]) -> Iterator[tuple[AnyApi, Message, Message | None]]:
    """The responses of a run, each with the row of its request and the request."""
    waiting: dict[tuple[str, int], list[Message]] = defaultdict(list)
    for event in events:
        match event:
            case MessageDelivered(source, broker, "request", message):
                waiting[source, broker].append(message)
            case MessageSent(source, broker, "response", response):
                asked = waiting[source, broker]
                fits = (m for m in asked if API_OF[type(m)].response is type(response))
                request = next(fits, None)
                if request is not None:
                    asked.remove(request)
                yield API_OF[type(request or response)], response, request
            case ConnectionLost(source, broker):
                waiting.pop((source, broker), None)


def errors_of(path: list[Node]) -> Iterator[Found]:
    events = (event for node in path for event in node.events)
    for api, response, request in list_answered(events):
        yield from found_in(api, response, request)


def list_decided(model: ClusterModel, path: list[Node]) -> Iterator[tuple[AnyApi, Errors]]:
    """The errors to which the checks of a step led or could have led, for the request that arrived in it."""
    for before, node in pairwise(path):
        arrived = [e for e in node.events if isinstance(e, MessageDelivered) and e.way == "request"]
        if len(arrived) != 1 or node.action is None:
            continue
        made = model.step(before.world, node.action).checks
        own = [
            m
            for m in made
            if (m.broker, m.role, m.shard) == (made[0].broker, made[0].role, made[0].shard)
        ]
        for error in possible_errors(check for each in own for check in each.checks):
            yield API_OF[type(arrived[0].message)], error


@cache
def told_in_stories() -> frozenset[Found]:
    found: set[Found] = set()
    for story in LIBRARY:
        for under in story.designs:
            trace, _ = play_once(story.name, under)
            found.update(errors_of([trace.node(node) for node in trace.line]))
    return frozenset(found)


@cache
def told_in_hostile_runs() -> frozenset[Found]:
    found: set[Found] = set()
    for name, under, seed in HOSTILE:
        run = runs.replay(Task(name, under, "hostile", seed, 250))
        found.update(errors_of([run.trace.node(node) for node in run.trace.line]))
    return frozenset(found)


@cache
def told_in_recordings() -> frozenset[tuple[str, str, int]]:
    """(Kafka's name of the API, place, code), as brokers responded."""
    found: set[tuple[str, str, int]] = set()
    rows = {api.kafka_name: api for api in APIS if api.status == "shipped"}
    for about in RECORDED:
        for exchange in load_recording(about.parent).wire:
            if exchange.api in rows:
                found |= {(exchange.api, *each) for each in recorded_errors(exchange.response)}
    return frozenset(found)


def recorded_errors(response: object, above: str = "") -> Iterator[tuple[str, int]]:
    if hasattr(response, "items"):
        for name, value in response.items():
            path = f"{above}.{name}" if above else name
            if re.search("rrorCode$", name):
                yield from [(path.casefold(), value)] if value else []
            else:
                yield from recorded_errors(value, path)
    elif isinstance(response, tuple):
        for each in response:
            yield from recorded_errors(each, above)


def illegal(found: frozenset[Found]) -> list[str]:
    return sorted(
        f"{name} {place} {error.name}"
        for name, place, error in found
        if error not in ROWS[name].legal_at(place).errors
    )


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_a_row_has_the_places_of_its_schema_and_names_errors_of_kafka(api: AnyApi) -> None:
    assert api.response_bytes is not None
    assert [each.place for each in api.errors] == list(places_in(api.response_bytes.schema.fields))
    names = {*Errors.__members__, *UNMODELLED_ERRORS.values()}
    for each in api.errors:
        assert Errors.NONE not in each.errors
        assert len(each.errors) == len(set(each.errors)), each.place
        assert set(each.never_given) <= names, each.place
        assert not {error.name for error in each.errors} & set(each.never_given), each.place


def rejections(api: AnyApi) -> Iterator[Errors]:
    """What a request is rejected with before its handler sees it: a release that lacks it, a right, a leader elsewhere."""
    if api.since not in ("", NO_RELEASE) or api.newest or api.only_with_shares:
        yield Errors.UNSUPPORTED_VERSION
    for need in (*api.needs, *(need for case in api.cases for need in case.needs)):
        if not need.hides:
            yield ERROR_OF[need.resource]
    if api.role.coordinates:
        yield Errors.NOT_COORDINATOR
    elif api.role is Role.PARTITION_LEADER:
        yield Errors.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_a_row_names_what_its_request_is_rejected_with(api: AnyApi) -> None:
    named = {error for each in api.errors for error in each.errors}
    assert set(rejections(api)) <= named


@pytest.mark.slow
def test_no_story_has_an_error_that_its_row_does_not_name() -> None:
    assert illegal(told_in_stories()) == []


@pytest.mark.slow
def test_no_hostile_run_has_an_error_that_its_row_does_not_name() -> None:
    assert illegal(told_in_hostile_runs()) == []


def test_no_broker_has_responded_with_an_error_that_a_row_does_not_name() -> None:
    legal: dict[tuple[str, str], set[str]] = defaultdict(set)
    for api in APIS:
        for each in api.errors:
            names = {*(error.name for error in each.errors), *each.never_given}
            legal[api.kafka_name, each.place.casefold()] |= names
    codes = {**UNMODELLED_ERRORS, **{error.value: error.name for error in Errors}}
    assert told_in_recordings()
    unknown = [
        f"{api} {place} {codes[code]}"
        for api, place, code in sorted(told_in_recordings())
        if codes[code] not in legal[api, place]
    ]
    assert unknown == []


def test_a_row_says_which_errors_recorded_brokers_alone_responded_with() -> None:
    codes = {**UNMODELLED_ERRORS, **{error.value: error.name for error in Errors}}
    given = {(api, place, codes[code]) for api, place, code in told_in_recordings()}
    for api in APIS:
        for each in api.errors:
            place = (api.kafka_name, each.place.casefold())
            recorded = {name for name in each.never_given if (*place, name) in given}
            assert set(each.only_recorded) == (recorded if api.status == "shipped" else set()), each


@pytest.mark.slow
def test_every_error_that_a_row_names_is_reached() -> None:
    told = (*told_in_stories(), *told_in_hostile_runs())
    reached = {(name, error) for name, _, error in told}
    for story in LIBRARY:
        trace, _ = play_once(story.name, story.designs[0])
        path = [trace.node(node) for node in trace.line]
        reached |= {(api.name, error) for api, error in list_decided(trace.model, path)}
    by_name = defaultdict(list)
    for api in APIS:
        by_name[api.kafka_name].append(api)
    codes = {error.value for error in Errors}
    for name, _, code in told_in_recordings():
        reached |= {(api.name, Errors(code)) for api in by_name[name] if code in codes}
    for api in APIS:
        reached |= {(api.name, error) for error in rejections(api)}
    named = {(api.name, error) for api in APIS for each in api.errors for error in each.errors}
    lost = sorted(f"{name} {error.name}" for name, error in named - reached)
    by_roles = [f"{name} {error}" for name, errors in OF_ROLES.items() for error in errors.split()]
    not_yet = [f"{name} {error}" for name, errors in NOT_YET.items() for error in errors.split()]
    assert lost == sorted((*by_roles, *not_yet))


@pytest.mark.parametrize("name", OF_ROLES)
def test_an_error_that_no_run_reaches_is_reached_by_a_test_of_its_role(name: str) -> None:
    tests = [path.read_text(encoding="utf-8") for path in BROKERS.rglob("test_*.py")]
    for error in OF_ROLES[name].split():
        assert any(
            re.search(rf"{name}\b", text) and re.search(rf"\.{error}\b", text) for text in tests
        ), error
