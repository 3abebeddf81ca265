"""A Fetch request for several partitions: each is read or rejected on its own, in one response."""

from __future__ import annotations

import pytest

from kipviz.brokers.authorizer import Acl
from kipviz.brokers.context import ReplyTo
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.local_calls import AskedOfOne
from kipviz.brokers.logs.requests import fetch_requests as several
from kipviz.cluster.actions import DeleteTopic
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.world import World
from kipviz.driving.desk import Desk
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.errors import Errors
from kipviz.messages.events import MessageSent
from kipviz.messages.logs.producing import Fetch, FetchPartition, FetchResponse, PartitionData
from kipviz.messages.message_errors import error_in
from tests.cluster.small_clusters import model_of, small_spec
from tests.cluster.topics.test_coming_topics import answer_request
from tests.scenarios.story import nodes, play_once

A, B, C = "output-A-0", "output-A-1", "output-A-2"
WHO = ReplyTo("app-1/consumer", 1, 0)
SRC, OUT = "src-0", "output-A-0"
READ = Acl("app-1", Operation.READ, Resource.TOPIC, "src")


def fetch(*partitions: str, max_wait_ms: int = 0) -> Fetch:
    wanted = tuple(FetchPartition(partition, 0) for partition in partitions)
    return Fetch(wanted, read_committed=True, max_wait_ms=max_wait_ms)


def test_each_leader_reads_its_partition_and_what_is_led_elsewhere_is_refused_at_once() -> None:
    front = Desk(several, KafkaApis(), leaders={A: 1, B: 1, C: 3})
    front.do(several.on_fetch(front.role, fetch(A, C, "gone-0", B, max_wait_ms=500), WHO, front.on))
    assert [(c.role, c.shard, c.message) for c in front.local] == [
        ("partition_leader", each, AskedOfOne(WHO, fetch(each))) for each in (A, B)
    ]
    assert front.replies == [
        (WHO, FetchResponse((PartitionData(C, Errors.NOT_LEADER_OR_FOLLOWER),))),
        (WHO, FetchResponse((PartitionData("gone-0", Errors.UNKNOWN_TOPIC_ID),))),
    ]
    looked = [check.found for check in front.checks if check.name == "partition"]
    assert looked == [A, C, "gone-0", B]


def cluster(**changes: object) -> tuple[ClusterModel, World, int]:
    """A cluster in which one broker leads the source and the output, and that broker."""
    spec = small_spec("group", records=3)
    held = next(each for each in spec.placements if each.partition == SRC)
    others = tuple(each for each in spec.placements if each.partition != OUT)
    model = model_of(spec.but(placements=(*others, held.but(partition=OUT)), **changes))
    world = model.initial()
    return model, world, world.image.leader_of(SRC)


def errors(answer: FetchResponse) -> list[tuple[str, Errors, int]]:
    return [(part.partition, part.error, len(part.records)) for part in answer.responses]


@pytest.mark.parametrize("order", [(SRC, OUT), (OUT, SRC)])
def test_a_response_has_every_partition_in_the_order_of_the_request(order: tuple[str, ...]) -> None:
    model, world, broker = cluster()
    answer = answer_request(model, world, broker, fetch(*order, max_wait_ms=500))
    counts = {SRC: 3, OUT: 0}
    assert errors(answer) == [(each, Errors.NONE, counts[each]) for each in order]


def test_what_is_led_elsewhere_or_gone_keeps_no_other_partition_from_being_read() -> None:
    model, world, broker = cluster(deletable_topics=("output-A",))
    elsewhere = next(b for b in model.spec.brokers if b != broker)
    both = answer_request(model, world, elsewhere, fetch(SRC, OUT))
    assert {part.error for part in both.responses} == {Errors.NOT_LEADER_OR_FOLLOWER}
    world = model.step(world, DeleteTopic("output-A")).world
    answer = answer_request(model, world, broker, fetch(OUT, SRC))
    assert errors(answer) == [(OUT, Errors.UNKNOWN_TOPIC_ID, 0), (SRC, Errors.NONE, 3)]
    assert error_in(answer) is Errors.UNKNOWN_TOPIC_ID


def test_a_topic_without_a_right_is_taken_out_and_stands_in_the_response() -> None:
    model, world, broker = cluster(acls=(READ,))
    answer = answer_request(model, world, broker, fetch(OUT, SRC))
    assert errors(answer) == [(OUT, Errors.TOPIC_AUTHORIZATION_FAILED, 0), (SRC, Errors.NONE, 3)]
    alone = answer_request(model, world, broker, fetch(OUT))
    assert errors(alone) == [(OUT, Errors.TOPIC_AUTHORIZATION_FAILED, 0)]


def test_a_member_fetches_all_of_its_partitions_of_one_leader_in_one_request() -> None:
    requests = [
        tuple(each.partition for each in event.message.partitions)
        for node in nodes(play_once("kip-62-too-slow", "kafka")[0])
        for event in node.events
        if isinstance(event, MessageSent) and isinstance(event.message, Fetch)
    ]
    assert ("src-0", "src-1") in requests
