"""FindCoordinator: any broker names the coordinators of groups, transactional ids and share-partitions."""

from __future__ import annotations

import pytest

from kipviz.brokers import kafka_apis
from kipviz.brokers.authorizer import Acl
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.cluster.admission import admit
from kipviz.driving.desk import Desk
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.cluster.coordinators import (
    GROUP,
    SHARE,
    TRANSACTION,
    Coordinator,
    FindCoordinator,
    FindCoordinatorResponse,
)
from kipviz.messages.errors import Errors
from kipviz.records.placement import partition_for

TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAg"


def found_by(desk: Desk[KafkaApis], asked: FindCoordinator) -> tuple[Coordinator, ...]:
    answer = desk.ask(kafka_apis.on_find_coordinator, asked, "app-1/c")
    assert isinstance(answer, FindCoordinatorResponse)
    return answer.coordinators


def test_any_broker_says_who_coordinates_a_name_or_that_nobody_does() -> None:
    home = f"__transaction_state-{partition_for('t', 50)}"
    desk = Desk(kafka_apis, KafkaApis(), leaders={home: 7})
    asked = FindCoordinator(TRANSACTION, ("t",))
    assert found_by(desk, asked) == (Coordinator("t", Errors.NONE, 7),)
    desk.leaders = {}
    assert found_by(desk, asked) == (Coordinator("t", Errors.COORDINATOR_NOT_AVAILABLE),)


@pytest.mark.parametrize(
    ("key_type", "key", "topic"),
    [
        (GROUP, "g", "__consumer_offsets"),
        (SHARE, f"g:{TOPIC_ID}:0", "__share_group_state"),
        (SHARE, f"g:with:colons:{TOPIC_ID}:7", "__share_group_state"),
    ],
)
def test_any_broker_says_who_coordinates_a_group_or_a_share_partition(
    key_type: int, key: str, topic: str
) -> None:
    desk = Desk(kafka_apis, KafkaApis(), leaders={f"{topic}-{partition_for(key, 50)}": 7})
    asked = FindCoordinator(key_type, (key,))
    assert found_by(desk, asked) == (Coordinator(key, Errors.NONE, 7),)
    assert desk.checks[-1].name.endswith("coordinator")


def test_each_key_has_its_own_coordinator_or_its_own_error() -> None:
    """KIP-699; KafkaApis.handleFindCoordinatorRequestV4AndAbove."""
    homes = {f"__consumer_offsets-{partition_for(g, 50)}": n for n, g in ((3, "g1"), (4, "g3"))}
    desk = Desk(kafka_apis, KafkaApis(), leaders=homes)
    may = tuple(Acl("app-1", Operation.DESCRIBE, Resource.GROUP, name) for name in ("g1", "g2"))
    desk.image = {"acls": may}
    asked = FindCoordinator(GROUP, ("g3", "g2", "g1", "g2"))
    entry = admit(
        asked, "app-1/c", 1, desk.on.image, desk.rules, desk.on.simplified, privileged=False
    )
    assert (entry.refusal, entry.message) == (None, asked)
    assert found_by(desk, asked) == (
        Coordinator("g3", Errors.GROUP_AUTHORIZATION_FAILED),
        Coordinator("g2", Errors.COORDINATOR_NOT_AVAILABLE),
        Coordinator("g1", Errors.NONE, 3),
        Coordinator("g2", Errors.COORDINATOR_NOT_AVAILABLE),
    )


@pytest.mark.parametrize(
    ("key_type", "key", "version"),
    [
        (3, "g", 6),
        (-1, "g", 6),
        (SHARE, f"g:{TOPIC_ID}:0", 5),
        (SHARE, "g", 6),
        (SHARE, f" :{TOPIC_ID}:0", 6),
        (SHARE, f"{TOPIC_ID}:0", 6),
        (SHARE, "g:topic:0", 6),
        (SHARE, f"g:{TOPIC_ID}:", 6),
        (SHARE, f"g:{TOPIC_ID}:one", 6),
        (SHARE, f"g:{TOPIC_ID}:2147483648", 6),
    ],
)
def test_a_key_of_an_unknown_type_or_form_is_rejected(
    key_type: int, key: str, version: int
) -> None:
    """FindCoordinatorRequest.CoordinatorType.forId, SharePartitionKey.validate; version 6 is the first with share groups."""
    desk = Desk(kafka_apis, KafkaApis(), leaders={})
    asked = FindCoordinator(key_type, (key,), version)
    assert found_by(desk, asked) == (Coordinator(key, Errors.INVALID_REQUEST),)


def test_share_partitions_are_looked_up_by_brokers_alone() -> None:
    """KafkaApis.getCoordinator: CLUSTER_ACTION, for the request and not for each key."""
    desk = Desk(kafka_apis, KafkaApis(), leaders={})
    desk.image = {"acls": ()}
    asked = FindCoordinator(SHARE, (f"g:{TOPIC_ID}:0", f"g:{TOPIC_ID}:1"))
    entry = admit(
        asked, "app-1/c", 1, desk.on.image, desk.rules, desk.on.simplified, privileged=False
    )
    assert isinstance(entry.refusal, FindCoordinatorResponse)
    errors = {each.error for each in entry.refusal.coordinators}
    assert errors == {Errors.CLUSTER_AUTHORIZATION_FAILED}
