"""Every API is whole: its row, its handler, its bytes, its names and rights; what is missing is named."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from types import ModuleType
from typing import Any, get_args, get_type_hints

import pytest

from kipviz.brokers.authorizer import SUPPORTED
from kipviz.brokers.context import Context, Effects, ReplyTo
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.handling import Handler, handlers_of, takes
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.brokers.share_coordinators.share_state import ShareCoordinator
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.cluster.dispatch import HANDLERS
from kipviz.core.values import fingerprint
from kipviz.designs.options.options import STATUSES
from kipviz.messages.apis.api import NO_RELEASE, AnyApi, Role
from kipviz.messages.apis.catalogue import API_OF, APIS, ROW_OF, reject_request
from kipviz.messages.apis.error_places import OWN_ERROR
from kipviz.messages.apis.rights import Need, Resource
from kipviz.messages.apis.shards import Shard
from kipviz.messages.cluster.metadata import Metadata
from kipviz.messages.cluster.releases import (
    EVERYTHING,
    NAMES,
    RELEASES,
    knows,
    lower_version,
    release,
)
from kipviz.messages.errors import Errors
from kipviz.messages.events import MessageDelivered
from kipviz.messages.transactions.transactions import TWO_PHASE, InitProducerId
from tests.messages.found import messages
from tests.scenarios.story import play_once

# What the handlers of a role have as their first parameter.
ROLES = {
    Role.KAFKA_APIS: KafkaApis,
    Role.TRANSACTION_COORDINATOR: TransactionCoordinator,
    Role.GROUP_COORDINATOR: GroupCoordinator,
    Role.SHARE_COORDINATOR: ShareCoordinator,
    Role.PARTITION_LEADER: PartitionLeader,
    Role.SHARE_PARTITION_LEADER: ShareLeader,
}


def may_have(handler: Handler, role: type) -> bool:
    """Say whether a handler's first parameter is declared as a role, as one of several with it, or as anything."""
    me = next(iter(get_type_hints(handler).values()))
    return me is Any or role in (get_args(me) or (me,))


def _needs(api: AnyApi) -> tuple[Need, ...]:
    return (*api.needs, *(need for case in api.cases for need in case.needs))


def missing(api: AnyApi) -> Iterator[str]:
    """Say what an API lacks; nothing if it is whole."""
    handler = HANDLERS.get(api.request)
    if handler is None:
        yield f"no handler (a function of kipviz.brokers under @takes({api.name}), in a module of cluster/dispatch.py)"
    elif not may_have(handler, ROLES[api.role]):
        yield f"its row says that a {api.role} serves it, and {handler.__name__} has the state of another role"
    known = dict(api.kinds())
    for kind, field in ((api.request, "request_bytes"), (api.response, "response_bytes")):
        if kind not in known:
            yield f"no bytes of {kind.__name__} ({field} of its row)"
        elif known[kind].schema.key != api.key:
            yield f"the schema of {kind.__name__} has key {known[kind].schema.key}, not {api.key}"
    if api.request.IS_RESPONSE or not api.response.IS_RESPONSE:
        yield "request and response are not told apart (IS_RESPONSE)"
    if api.key != api.response.API_KEY:
        yield f"the response has key {api.response.API_KEY}, not {api.key}"
    if api.status not in STATUSES:
        yield f"its status is {api.status!r}: {', '.join(STATUSES)} are allowed"
    for field in ("clause", "kafka", "answer_in"):
        if not getattr(api, field):
            yield f"its row has no {field}"
    for need in _needs(api):
        shipped = need.status == "shipped"
        if shipped and need.operation not in SUPPORTED[need.resource]:
            yield f"no ACL gives {need.operation} on {need.resource}"
    of_topics = any(need.resource is Resource.TOPIC and not need.hides for need in _needs(api))
    if of_topics != (api.topics is not None):
        yield "a right to topics needs `topics` in its row, and `topics` a right"
    own = api.error_place.first is OWN_ERROR.first
    if own and not hasattr(api.response, "error"):
        yield "its response has no error, and its row no error_place with `first`"
    if api.error_place.put is OWN_ERROR.put and "error" not in api.response.__struct_fields__:
        yield "no error can be put into its response: error_place has no `put`"
    if any(
        API_OF[api.response].error_place is not row.error_place
        for row in APIS
        if row.response is api.response
    ):
        yield "another row has the same response and reads its errors in another place"
    if api.since and api.since not in (*NAMES, NO_RELEASE):
        yield f"since {api.since!r}: {', '.join(NAMES)} and NO_RELEASE are allowed"
    if not set(dict(api.newest)) <= set(NAMES):
        yield f"newest names another release than {', '.join(NAMES)}"


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_an_api_has_its_row_its_handler_its_bytes_and_its_names(api: AnyApi) -> None:
    assert not list(missing(api)), f"{api.name}: {'; '.join(missing(api))}"


def test_every_message_has_a_row() -> None:
    lost = [kind.__name__ for kind in messages() if kind not in API_OF]
    assert not lost, f"no row in messages/apis for {', '.join(lost)}"


def test_no_two_rows_are_about_one_request_and_every_handler_has_one() -> None:
    names = [api.name for api in APIS]
    assert len(names) == len(set(names))
    assert {api.request for api in APIS} == set(HANDLERS)


# The requests beside the one class that an API of Kafka has, and why each is a class of its own.
OF_ANOTHER_DOCUMENT = {
    "InitProducerIdOfGroup": "KIP-447's first draft gave the number 2 to another schema than Kafka's version 2",
}


def test_an_api_of_kafka_has_one_class_for_all_its_versions_and_the_exceptions_are_listed() -> None:
    of_kafka = [api for api in APIS if api.key >= 0]
    beside = [api for api in of_kafka if ROW_OF[api.kafka_name] is not api]
    assert {api.name for api in beside} == set(OF_ANOTHER_DOCUMENT)
    assert all(api.status != "shipped" for api in beside)
    first = {ROW_OF[api.kafka_name].key: api.kafka_name for api in of_kafka}
    assert len(first) == len(of_kafka) - len(OF_ANOTHER_DOCUMENT)


def test_an_unstable_version_follows_the_newest_stable_one_and_has_its_own_status() -> None:
    found = [api for api in APIS if api.unstable is not None]
    assert [api.name for api in found] == ["InitProducerId"]
    for api in found:
        assert api.unstable is not None
        assert api.unstable.version == api.version + 1
        assert api.unstable.since in NAMES
        assert api.status == "shipped" != api.unstable.status
        assert api.facts(api.version) is api
        assert api.facts(api.version + 1) is api.unstable


@pytest.mark.parametrize("name", [known.name for known in RELEASES])
def test_a_client_does_not_leave_a_value_out_for_a_broker_without_its_version(name: str) -> None:
    binary = release(name)
    has_it = NAMES.index(name) >= NAMES.index("4.1.0")
    request = InitProducerId("t", version=TWO_PHASE, enable_2pc=True)
    assert knows(binary, request) == has_it
    assert lower_version(binary, request) == request
    nothing = InitProducerId("t", version=TWO_PHASE)
    assert lower_version(binary, nothing).spoken == (TWO_PHASE if has_it else 5)


def test_a_refusal_is_the_response_of_its_row_and_has_the_error() -> None:
    for api in APIS:
        blank = api.request(*(() for _ in api.request.__struct_fields__))
        answer = reject_request(blank, Errors.UNSUPPORTED_VERSION)
        assert type(answer) is api.response, api.name


def test_the_shard_and_the_role_of_a_request_agree() -> None:
    role_of = {
        Shard.TRANSACTIONAL_ID: Role.TRANSACTION_COORDINATOR,
        Shard.TRANSACTIONAL_IDS: Role.TRANSACTION_COORDINATOR,
        Shard.TRANSACTIONS: Role.TRANSACTION_COORDINATOR,
        Shard.GROUP: Role.GROUP_COORDINATOR,
        Shard.GROUPS: Role.GROUP_COORDINATOR,
        Shard.KEY: Role.SHARE_COORDINATOR,
        Shard.KEYS: Role.SHARE_COORDINATOR,
    }
    for api in APIS:
        if api.role is not Role.KAFKA_APIS:
            leaders = (Role.PARTITION_LEADER, Role.SHARE_PARTITION_LEADER)
            assert api.role in ((role_of[api.shard],) if api.shard in role_of else leaders), (
                api.name
            )


# Stories in which most requests for which a leader appends are answered.
APPENDING = (
    ("kip-98-stuck-lso", "kafka"),
    ("kip-447-zombie", "kafka"),
    ("kip-848-rebalance", "kafka"),
    ("kip-1289-share-commit", "repaired"),
)


def test_a_request_for_which_a_leader_appends_has_a_row_that_says_so() -> None:
    found = set()
    for name, under in APPENDING:
        trace, _ = play_once(name, under)
        path = [trace.node(number) for number in trace.line]
        for before, node in pairwise(path):
            ends = {name: log.end_offset for name, log in before.world.logs.items()}
            appended = any(
                log.end_offset > ends.get(name, 0) for name, log in node.world.logs.items()
            )
            delivered = [e for e in node.events if isinstance(e, MessageDelivered)]
            if appended and delivered and all(e.way == "request" for e in delivered):
                found |= {API_OF[type(e.message)].name for e in delivered}
    assert found >= {"InitProducerId", "EndTxn", "WriteTxnMarkers", "ConsumerGroupHeartbeat"}
    assert found <= {api.name for api in APIS if api.appends}


def test_a_release_lacks_what_came_later_and_the_newest_knows_every_shipped_request() -> None:
    lacks = {binary.name: set(binary.lacks) for binary in RELEASES}
    assert lacks["2.4"] == lacks["3.5"] > lacks["3.6"] == lacks["3.9"] > lacks["4.1.0"]
    assert (
        lacks["4.1.0"]
        == lacks["4.4"]
        > lacks["kip-1289"]
        == {
            "InitProducerIdOfGroup",
            "TxnHeartbeat",
        }
    )
    assert not EVERYTHING.lacks
    for api in APIS:
        assert api.status != "shipped" or api.name not in lacks["4.4"], api.name


@pytest.mark.parametrize("lost", ["handler", "bytes", "clause", "another role"])
def test_an_api_that_is_added_by_half_is_named_with_what_it_lacks(
    lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dataclasses

    api = next(each for each in APIS if each.name == "DescribeTransactions")
    match lost:
        case "handler":
            monkeypatch.delitem(HANDLERS, api.request)
        case "bytes":
            api = dataclasses.replace(api, response_bytes=None)
        case "clause":
            api = dataclasses.replace(api, clause="")
        case _:
            api = dataclasses.replace(api, role=Role.GROUP_COORDINATOR)
    (said,) = missing(api)
    assert lost in said


def test_two_handlers_of_one_request_are_both_named() -> None:
    def on_first(me: KafkaApis, request: Metadata, reply_to: ReplyTo, on: Context) -> Effects:
        return Effects(me)

    def on_second(me: KafkaApis, request: Metadata, reply_to: ReplyTo, on: Context) -> Effects:
        return Effects(me)

    module, other = ModuleType("first"), ModuleType("second")
    vars(module)["on_first"] = takes(Metadata)(on_first)
    # A handler that another module imports is the same one.
    vars(other)["on_first"] = vars(module)["on_first"]
    assert handlers_of((module, other)) == {Metadata: on_first}
    vars(other)["on_second"] = takes(Metadata)(on_second)
    with pytest.raises(ValueError, match=r"Metadata has two handlers, .*on_first and .*on_second"):
        handlers_of((module, other))


@pytest.mark.parametrize("role", Role)
def test_a_role_is_stored_as_its_text(role: Role) -> None:
    assert fingerprint((3, role, "src-0")) == fingerprint((3, role.value, "src-0"))
    assert {(3, role.value): role}[3, role] is role
