"""Rights: they are asked for when a request arrives, topic by topic, and may change in a run."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.brokers.authorizer import Acl
from kipviz.clients.sending.producer import ProducerState, on_response
from kipviz.clients.shares import share_consumer
from kipviz.clients.throwing.client_errors import RequestError
from kipviz.cluster.actions import CreateAcls, DeleteAcls
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import BadSpec, FaultBudget
from kipviz.cluster.topic_authorization import REFUSED, add_topic_errors, without
from kipviz.cluster.turn import Turn
from kipviz.cluster.world import Envelope, World
from kipviz.designs.catalogue import design
from kipviz.messages.apis.catalogue import reject_request
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.cluster.metadata import Metadata, TopicId
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import (
    GroupOffset,
    OffsetCommit,
    TxnOffsetCommit,
    committed_response,
)
from kipviz.messages.message import Message
from kipviz.messages.shares.share_admin import (
    AlterShareGroupOffsets,
    AlterShareGroupOffsetsResponse,
    DeleteShareGroupOffsets,
    DeleteShareGroupOffsetsResponse,
    TopicResult,
)
from kipviz.messages.shares.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
    ShareFetch,
    ShareFetchResponse,
)
from kipviz.messages.transactions.transactions import PartitionResult
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.setting import GROUP, OUTPUT_ID, SOURCE_ID
from tests.clients.parts import change, producer_of
from tests.messages.shares import fetch_response, fetches
from tests.scenarios.story import after

SPEC = searched_scenario("kip-11-name-lost").spec
RIGHTS = SPEC.acls
OF_THE_NAME, _, OF_THE_SOURCE, *_ = RIGHTS

KAFKA = design("kafka")
OFFSETS = (GroupOffset("src-0", 101), GroupOffset("output-B-0", 7))


def model(**changes: Any) -> ClusterModel:
    spec = SPEC.but(**changes)
    return KAFKA.model(spec)


def answer_request(world: World, source: str, broker: int, request: Message) -> tuple[World, Any]:
    """What a broker answers at once to a request that has just arrived, and the world after it."""
    turn = Turn(world, SPEC, KAFKA.broker_rules(), KAFKA.client_rules())
    turn.put_request(source, broker, Envelope(request))
    turn.deliver_request(source, broker)
    done = turn.world()
    (envelope,) = done.connections[source, broker].responses
    return done, envelope.message


def test_an_operator_takes_a_right_away_and_gives_it_back_and_the_world_is_the_same() -> None:
    here = model()
    start = here.initial()
    gone = here.step(start, DeleteAcls(OF_THE_SOURCE)).world
    assert OF_THE_SOURCE not in (gone.image.acls or ())
    back = here.step(gone, CreateAcls(OF_THE_SOURCE)).world
    assert back.image == start.image
    assert back.budget.acls == start.budget.acls - 2


def test_what_an_operator_may_change_is_what_the_cluster_names_and_only_as_often_as_allowed() -> (
    None
):
    here = model(budget=FaultBudget(acls=1))
    world = here.initial()
    offered = [a for a in here.enabled(world) if isinstance(a, CreateAcls | DeleteAcls)]
    assert offered == [DeleteAcls(acl) for acl in RIGHTS]
    stranger = Acl("nobody", Operation.READ, Resource.TOPIC, "src")
    assert "is not among this cluster's ACLs" in (here.why_not(world, DeleteAcls(stranger)) or "")
    assert "already" in (here.why_not(world, CreateAcls(OF_THE_NAME)) or "")
    later = here.step(world, DeleteAcls(OF_THE_NAME)).world
    assert "ACL changes" in (here.why_not(later, CreateAcls(OF_THE_NAME)) or "")
    further = model(further_acls=(stranger,))
    assert CreateAcls(stranger) in further.enabled(further.initial())


def test_a_cluster_without_acls_has_none_to_change() -> None:
    here = model(acls=None)
    world = here.initial()
    assert not any(isinstance(a, CreateAcls | DeleteAcls) for a in here.enabled(world))
    assert "everything is allowed" in (here.why_not(world, DeleteAcls(OF_THE_NAME)) or "")
    with pytest.raises(BadSpec, match="give the cluster acls"):
        model(acls=None, further_acls=(OF_THE_NAME,))


def test_an_offset_of_a_refused_topic_has_an_error_and_the_other_is_staged() -> None:
    world = after("kip-11-source-lost", "kafka", "A transaction is open")
    request = TxnOffsetCommit("my-txn", GROUP, 9, 0, "C1", 2, OFFSETS)
    at = world.image.leader_of("__consumer_offsets-7")
    turn = Turn(world, SPEC, KAFKA.broker_rules(), KAFKA.client_rules())
    turn.put_request("app-1/producer", at, Envelope(request))
    turn.deliver_request("app-1/producer", at)
    turn.deliver_request(f"B{at}/add-partitions", 1)
    turn.deliver_response(f"B{at}/add-partitions", 1)
    (envelope,) = turn.connections["app-1/producer", at].responses
    refused = PartitionResult("output-B-0", REFUSED)
    assert envelope.message.results == (PartitionResult("src-0", Errors.NONE), refused)
    pending = turn.roles[at, "group_coordinator", "__consumer_offsets-7"].pending[9]
    assert [(p.partition, p.offset) for p in pending] == [("src-0", 101)]


def test_a_right_counts_when_the_request_arrives_not_when_it_is_answered() -> None:
    world = after("kip-11-source-lost", "kafka", "A transaction is open")
    request = TxnOffsetCommit("my-txn", GROUP, 9, 0, "C1", 2, OFFSETS)
    at = world.image.leader_of("__consumer_offsets-7")
    turn = Turn(world, SPEC, KAFKA.broker_rules(), KAFKA.client_rules())
    turn.put_request("app-1/producer", at, Envelope(request))
    turn.deliver_request("app-1/producer", at)
    turn.image = turn.image.but(acls=())
    turn.deliver_request(f"B{at}/add-partitions", 1)
    turn.deliver_response(f"B{at}/add-partitions", 1)
    (envelope,) = turn.connections["app-1/producer", at].responses
    assert [r.partition for r in envelope.message.results if r.error] == ["output-B-0"]


def test_offsets_outside_a_transaction_are_judged_one_topic_at_a_time_too() -> None:
    world = model().initial()
    at = world.image.leader_of("__consumer_offsets-7")
    request = OffsetCommit(GROUP, "C1", 2, OFFSETS)
    done, answer = answer_request(world, "app-1/consumer", at, request)
    assert [(each.partition, each.error) for each in answer.results] == [
        ("src-0", Errors.NONE),
        ("output-B-0", REFUSED),
    ]
    role = done.roles[at, "group_coordinator", "__consumer_offsets-7"]
    assert [partition for _, partition in role.offsets] == ["src-0"]


def test_a_topic_that_may_not_be_seen_has_no_id() -> None:
    asked = Metadata(("src", "output-B"))
    _, answer = answer_request(model().initial(), "app-1/producer", 1, asked)
    assert answer.error is Errors.NONE
    assert answer.topics == (TopicId("src", SOURCE_ID), TopicId("output-B", "", REFUSED))
    _, hidden = answer_request(model(acls=()).initial(), "app-1/producer", 1, asked)
    assert [t.error for t in hidden.topics] == [REFUSED, REFUSED]
    assert OUTPUT_ID not in repr(hidden)


FETCH = fetches("M1", 1, "src-0", 1, further=("other-0", "src-1"), max_wait_ms=0)


def test_a_share_fetch_goes_on_with_the_partitions_that_may_be_read() -> None:
    left = without(FETCH, ("src",))
    assert isinstance(left, ShareFetch)
    assert left.names == ("other-0",)
    assert without(FETCH, ("other",)) == fetches(
        "M1", 1, "src-0", 1, further=("src-1",), max_wait_ms=0
    )
    answer = add_topic_errors(fetch_response(Errors.NONE, "other-0"), FETCH, ("src",))
    assert answer == fetch_response(Errors.NONE, "other-0", refused=("src-0", "src-1"))


def test_acknowledgements_of_a_refused_topic_are_refused_with_it() -> None:
    accepted = (AcknowledgementBatch(100, 100, AcknowledgeType.ACCEPT),)
    first = FETCH.first.but(acknowledgements=accepted)
    with_acks = FETCH.but(partitions=(first, *FETCH.partitions[1:]))
    left = without(with_acks, ("src",))
    assert isinstance(left, ShareFetch)
    assert left.first.acknowledgements == ()
    answer = add_topic_errors(fetch_response(Errors.NONE, "other-0"), with_acks, ("src",))
    assert isinstance(answer, ShareFetchResponse)
    assert answer.responses[0].acknowledge_error is REFUSED


def test_a_share_consumer_throws_when_a_poll_finds_nothing_else() -> None:
    """What was found comes first. Source: ShareFetchCollector.collect."""
    me = change(share_consumer.ShareConsumer("c", "g1", "M1", 1, "src-0", 1), session_epoch=1)
    me = change(me, on_wire=FETCH, on_wire_broker=5)
    answer = fetch_response(Errors.NONE, "src-0", refused=("other-0",))
    thrown = share_consumer.on_response(me, answer)
    assert thrown.error == RequestError("ShareFetch", REFUSED)
    assert thrown.sessions.epoch == 2


def test_a_refused_topic_ends_the_producer_whatever_else_the_answer_says() -> None:
    """TxnOffsetCommitHandler does not list this error: it is unexpected, and so fatal."""
    request = TxnOffsetCommit("t", "g", 9, 0, "C1", 2, OFFSETS)
    me = change(producer_of("p", "t", state=ProducerState.IN_TRANSACTION), on_wire=request)
    refused = (PartitionResult("output-B-0", REFUSED),)
    for error in (Errors.NONE, Errors.NOT_COORDINATOR):
        ended = on_response(me, committed_response(request, error, refused))
        assert ended.manager.state is ProducerState.FATAL_ERROR
        assert ended.error == RequestError("TxnOffsetCommit", REFUSED)
    group = on_response(me, committed_response(request, Errors.GROUP_AUTHORIZATION_FAILED))
    assert group.manager.state is ProducerState.ABORTABLE_ERROR


def test_an_alteration_goes_on_with_the_topics_that_may_be_read() -> None:
    """Recorded of 4.4.0: what is wrong with the group is said of it, whatever was forbidden."""
    asked = AlterShareGroupOffsets("g", (("src-0", 0), ("out-0", 0)))
    served = without(asked, ("out",))
    assert served == AlterShareGroupOffsets("g", (("src-0", 0),))
    good = PartitionResult("src-0", Errors.NONE)
    answer = AlterShareGroupOffsetsResponse(Errors.NONE, "g", (good,))
    refused = PartitionResult("out-0", Errors.TOPIC_AUTHORIZATION_FAILED)
    assert add_topic_errors(answer, asked, ("out",)) == answer.but(results=(refused, good))
    wrong = AlterShareGroupOffsetsResponse(Errors.NON_EMPTY_GROUP, "g")
    assert add_topic_errors(wrong, asked, ("out",)) == wrong


def test_a_deletion_of_offsets_goes_on_with_the_topics_that_may_be_read() -> None:
    """KafkaApis.handleDeleteShareGroupOffsetsRequest."""
    asked = DeleteShareGroupOffsets("g", ("src", "out"))
    assert without(asked, ("out",)) == DeleteShareGroupOffsets("g", ("src",))
    good, refused = TopicResult("src", Errors.NONE), TopicResult("out", REFUSED)
    answer = DeleteShareGroupOffsetsResponse(Errors.NONE, "g", (good,))
    assert add_topic_errors(answer, asked, ("out",)) == answer.but(responses=(refused, good))
    wrong = DeleteShareGroupOffsetsResponse(Errors.NON_EMPTY_GROUP, "g")
    assert add_topic_errors(wrong, asked, ("out",)) == wrong
    none_left = reject_request(asked, REFUSED)
    assert none_left == DeleteShareGroupOffsetsResponse(
        Errors.NONE, "g", (TopicResult("src", REFUSED), refused)
    )
