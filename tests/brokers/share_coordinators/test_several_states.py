"""A request about several share-partitions: each one has its coordinator, and the response has all results."""

from __future__ import annotations

from kipviz.brokers import kafka_apis as apis
from kipviz.brokers.context import ReplyTo
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.local_calls import AskedOfOne
from kipviz.brokers.share_coordinators import several_states
from kipviz.cluster.dispatch import role_for
from kipviz.cluster.topic_authorization import collect_part
from kipviz.cluster.world import Envelope
from kipviz.driving.desk import Desk
from kipviz.messages.apis.api import Role
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_state import (
    ReadShareGroupState,
    ReadShareGroupStateResponse,
    ReadStateData,
    ReadStateResult,
)
from kipviz.messages.wire.frame import KINDS
from kipviz.messages.wire.kind import Around
from kipviz.records.placement import SHARE_GROUP_STATE, partition_for

TOPIC = "AAAAAAAAAAAAAAAAAAAAAg"
KEYS = tuple(f"g1:{TOPIC}:{index}" for index in range(3))
HOMES = tuple(f"{SHARE_GROUP_STATE}-{partition_for(key, 50)}" for key in KEYS)
READ = ReadShareGroupState(tuple(ReadStateData(key, 7) for key in KEYS))
TO = ReplyTo("B3/persister", 1, 0)


def answer(place: int, error: Errors = Errors.NONE) -> ReadShareGroupStateResponse:
    return ReadShareGroupStateResponse((ReadStateResult(error, KEYS[place]),))


def test_each_share_partition_is_for_its_own_coordinator_and_may_be_refused() -> None:
    desk = Desk(apis, KafkaApis(), leaders=dict(zip(HOMES, (1, 3, 1), strict=True)))
    assert role_for(READ, 1, desk.on.image) == (1, Role.KAFKA_APIS, "")
    desk.do(several_states.on_several_states(desk.role, READ, TO, desk.on))
    assert [(call.role, call.shard, call.message) for call in desk.local] == [
        (
            Role.SHARE_COORDINATOR,
            HOMES[n],
            AskedOfOne(TO, READ.but(partitions=(READ.partitions[n],))),
        )
        for n in (0, 2)
    ]
    assert desk.replies == [(TO, answer(1, Errors.NOT_COORDINATOR))]
    assert [check.error for check in desk.checks if check.error] == [Errors.NOT_COORDINATOR]


def test_one_share_partition_is_for_its_coordinator() -> None:
    desk = Desk(apis, KafkaApis(), leaders={HOMES[0]: 1})
    one = READ.but(partitions=READ.partitions[:1])
    assert role_for(one, 1, desk.on.image) == (1, Role.SHARE_COORDINATOR, HOMES[0])


def test_the_response_has_all_results_in_the_requests_order() -> None:
    serving = Envelope(READ, Role.KAFKA_APIS, "", "")
    for place in (2, 1):
        serving, whole = collect_part(serving, answer(place))
        assert whole is None
    _, whole = collect_part(serving, answer(0))
    assert whole == ReadShareGroupStateResponse(
        tuple(ReadStateResult(Errors.NONE, key) for key in KEYS)
    )


def test_share_partitions_of_one_topic_stand_together_in_the_bytes() -> None:
    other = ReadStateData(f"g1:{TOPIC[::-1]}:0", 7)
    fields = KINDS[ReadShareGroupState].fill(
        READ.but(partitions=(*READ.partitions, other)), Around()
    )
    assert fields["GroupId"] == "g1"
    assert [[p["Partition"] for p in t["Partitions"]] for t in fields["Topics"]] == [[0, 1, 2], [0]]
