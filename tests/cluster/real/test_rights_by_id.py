"""KIP-1319 "Topic ID resolution": the id, then the right, then the partition, in every combination."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from kipviz.brokers.authorizer import Acl
from kipviz.clients.sending.producer import ProducerState, next_request, on_response
from kipviz.clients.transactions.topic_ids import TopicIds
from kipviz.cluster.turn import Turn
from kipviz.cluster.world import Envelope, World
from kipviz.designs.catalogue import design
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import (
    GroupOffset,
    OffsetCommit,
    TxnOffsetCommit,
    TxnOffsetCommitResponse,
    committed_response,
)
from kipviz.messages.transactions.transactions import PartitionResult
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.setting import GROUP, OUTPUT_ID, SOURCE_ID
from tests.clients.parts import change, producer_of
from tests.scenarios.story import after

SPEC = searched_scenario("kip-11-name-lost").spec
RIGHTS = SPEC.acls
OF_THE_NAME, _, _, OF_THE_GROUP, *_ = RIGHTS

E = Errors
KAFKA = design("kafka")
HERE, ELSEWHERE = "__consumer_offsets-7", "__transaction_state-3"
OLD_ID = "AAAAAAAAAAAAAAAAAAAAZg"
# app-1 may read src, and may not read output-A.
READABLE, FORBIDDEN = "src", "output-A"
ID_OF = {READABLE: SOURCE_ID, FORBIDDEN: OUTPUT_ID}


def a_transaction_is_open() -> World:
    return after("kip-11-source-lost", "kafka", "A transaction is open")


def send_request(world: World, request: Any, at: int) -> Turn:
    """A request that has arrived at a broker; whoever that broker has to ask has answered."""
    turn = Turn(world, SPEC, KAFKA.broker_rules(), KAFKA.client_rules())
    turn.put_request("app-1/producer", at, Envelope(request))
    turn.deliver_request("app-1/producer", at)
    if turn.connections["app-1/producer", at].serving is not None:
        turn.deliver_request(f"B{at}/add-partitions", 1)
        turn.deliver_response(f"B{at}/add-partitions", 1)
    return turn


def read_answer(turn: Turn, request: TxnOffsetCommit, at: int) -> dict[str, Errors]:
    """What the answer comes to, partition by partition, as it stands in its bytes."""
    (envelope,) = turn.connections["app-1/producer", at].responses
    answer = envelope.message
    assert isinstance(answer, TxnOffsetCommitResponse)
    assert [r.partition for r in answer.results] == [o.partition for o in request.offsets]
    return {r.partition: r.error for r in answer.results}


def commit(*partitions: str, old: tuple[str, ...] = (), version: int = 6) -> TxnOffsetCommit:
    """Offsets of partitions by the ids of their topics, of which some are of topics that are gone."""
    offsets = tuple(GroupOffset(p, 101) for p in partitions)
    ids = tuple((t, OLD_ID if t in old else ID_OF[t]) for t in ID_OF)
    return TxnOffsetCommit("my-txn", GROUP, 9, 0, "C1", 2, offsets, version, ids)


def error_of(version: int, *, known: bool, allowed: bool, there: bool) -> Errors:
    """The order that the KIP says; up to version 5 there is no id that could be unknown."""
    if version > 5 and not known:
        return E.UNKNOWN_TOPIC_ID
    if not allowed:
        return E.TOPIC_AUTHORIZATION_FAILED
    return E.NONE if there else E.UNKNOWN_TOPIC_OR_PARTITION


CASES = list(product((5, 6), *((True, False),) * 3))


@pytest.mark.parametrize(("version", "known", "allowed", "there"), CASES)
def test_the_id_is_resolved_then_the_right_is_asked_for_then_the_partition(
    version: int, known: bool, allowed: bool, there: bool
) -> None:
    world = a_transaction_is_open()
    at = world.image.leader_of(HERE)
    topic = READABLE if allowed else FORBIDDEN
    partition = f"{topic}-{0 if there else 9}"
    request = commit(partition, old=() if known else (topic,), version=version)
    turn = send_request(world, request, at)
    expected = error_of(version, known=known, allowed=allowed, there=there)
    assert read_answer(turn, request, at) == {partition: expected}
    staged = turn.roles[at, "group_coordinator", HERE].pending.get(9, ())
    assert bool(staged) == (expected is E.NONE)


@pytest.mark.parametrize("old", [(), (READABLE,), (FORBIDDEN,), (READABLE, FORBIDDEN)])
def test_each_topic_of_a_request_has_the_error_that_it_would_have_alone(
    old: tuple[str, ...],
) -> None:
    world = a_transaction_is_open()
    at = world.image.leader_of(HERE)
    request = commit("src-0", "src-9", "output-A-0", "output-A-9", old=old)
    turn = send_request(world, request, at)
    expected = {
        p: error_of(6, known=topic not in old, allowed=topic == READABLE, there=p.endswith("-0"))
        for p in ("src-0", "src-9", "output-A-0", "output-A-9")
        for topic in (p.rpartition("-")[0],)
    }
    assert read_answer(turn, request, at) == expected
    pending = turn.roles[at, "group_coordinator", HERE].pending.get(9, ())
    assert [p.partition for p in pending] == [p for p in expected if expected[p] is E.NONE]


@pytest.mark.parametrize(
    ("lacks", "error"),
    [
        (OF_THE_NAME, E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (OF_THE_GROUP, E.GROUP_AUTHORIZATION_FAILED),
    ],
)
def test_the_name_and_the_group_are_asked_for_before_any_id_is_looked_at(
    lacks: Acl, error: Errors
) -> None:
    world = a_transaction_is_open()
    acls = tuple(acl for acl in RIGHTS if acl != lacks)
    at = world.image.leader_of(HERE)
    request = commit("src-0", old=(READABLE,))
    turn = send_request(world.but(image=world.image.but(acls=acls)), request, at)
    assert read_answer(turn, request, at) == {"src-0": error}


def test_a_broker_that_is_no_coordinator_looks_for_the_topics_all_the_same() -> None:
    """KafkaApis answers before it asks the coordinator, if nothing is left to ask about."""
    world = a_transaction_is_open()
    home = world.image.leader_of(HERE)
    at = next(b for b in (1, 2, 3, 4, 5) if b != home)
    gone = commit("src-0", old=(READABLE,))
    assert read_answer(send_request(world, gone, at), gone, at) == {"src-0": E.UNKNOWN_TOPIC_ID}
    good = commit("src-0")
    assert read_answer(send_request(world, good, at), good, at) == {"src-0": E.NOT_COORDINATOR}


def test_a_right_to_read_everything_does_not_find_a_topic_that_is_gone() -> None:
    world = a_transaction_is_open()
    everything = Acl("*", Operation.READ, Resource.TOPIC, "*")
    acls = (*(world.image.acls or ()), everything)
    at = world.image.leader_of(HERE)
    request = commit("src-0", "output-A-0", old=(FORBIDDEN,))
    turn = send_request(world.but(image=world.image.but(acls=acls)), request, at)
    assert read_answer(turn, request, at) == {"src-0": E.NONE, "output-A-0": E.UNKNOWN_TOPIC_ID}


def test_offsets_outside_a_transaction_that_are_nowhere_have_one_error_each() -> None:
    """OffsetCommit says names here: what may not be read comes first, then what is not there."""
    world = a_transaction_is_open()
    at = world.image.leader_of(HERE)
    offsets = tuple(GroupOffset(p, 7) for p in ("src-9", "output-A-0"))
    request = OffsetCommit(GROUP, "C1", 2, offsets)
    turn = send_request(world, request, at)
    (envelope,) = turn.connections["app-1/producer", at].responses
    refused = (PartitionResult("output-A-0", E.TOPIC_AUTHORIZATION_FAILED),)
    assert envelope.message == committed_response(request, E.UNKNOWN_TOPIC_OR_PARTITION, refused)


def test_a_producer_whose_offsets_are_nowhere_sends_all_of_them_again_after_the_back_off() -> None:
    request = commit("src-0", "output-A-9", old=(READABLE,))
    me = producer_of("p", "t", state=ProducerState.IN_TRANSACTION, topics=TopicIds(looks_up=True))
    own = (PartitionResult("output-A-9", E.UNKNOWN_TOPIC_OR_PARTITION),)
    nowhere = committed_response(request, E.UNKNOWN_TOPIC_ID, own)
    me = on_response(change(me, on_wire=request), nowhere)
    assert (me.manager.queue, me.manager.topics.refused) == ((request,), True)
    assert next_request(me) is None
