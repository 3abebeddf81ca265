"""The topic of dead letters: who makes it, what is tried again, what is archived without a copy (KIP-1191)."""

from __future__ import annotations

import pytest

from kipviz.brokers import kafka_apis, topic_administration
from kipviz.brokers.context import ReplyTo
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.settings import BrokerSettings, GroupConfig
from kipviz.brokers.share_leaders import share_dead_letters
from kipviz.brokers.share_leaders import share_partition_leader as spl
from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.brokers.share_leaders.share_partition import (
    REJECTED,
    TOO_OFTEN,
    DeadLetter,
    SharePartition,
)
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.spec import BadSpec
from kipviz.core.table import Table
from kipviz.designs.catalogue import design
from kipviz.driving.desk import Desk
from kipviz.messages.cluster.topic_creation import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopics,
    CreateTopicsResponse,
)
from kipviz.messages.errors import Errors
from kipviz.messages.events import COPIED, NOT_COPIED
from kipviz.messages.logs.producing import PartitionProduceResponse, Produce, ProduceResponse
from kipviz.scenarios.library import searched_scenario
from tests.brokers.share_leaders.share_place import (
    ARCH,
    ARCHIVING,
    KEY,
    REJECT,
    SharePlace,
    batch_of,
    durable,
)
from tests.cluster.small_clusters import small_spec

QUEUE = {"dead_letter_topic": "dlq.g1"}


def reject_record(*, there: bool = False, leader: int = -1, auto: bool = True) -> SharePlace:
    """A record is rejected and durably ARCHIVING; its topic is not there, or nobody leads it."""
    place = SharePlace(last=1, group=QUEUE, dead_letter_auto_create=auto)
    topic(place, leader if there else None)
    place.load()
    place.fetch("M1", 2)
    place.acknowledge("M1", batch_of(0, 0, REJECT))
    place.coordinator()
    return place


def topic(place: SharePlace, leader: int | None) -> None:
    """Let the dead-letter topic have a leader, none (-1), or not be there at all."""
    place.leaders.pop("dlq.g1-0", None)
    if leader is not None:
        place.leaders["dlq.g1-0"] = leader


def answers(place: SharePlace, error: Errors | None) -> None:
    answer = (
        None if error is None else CreateTopicsResponse((CreatableTopicResult("dlq.g1", error),))
    )
    place.do(spl.on_dead_letter_answered(place.role, KEY, "0", answer, place.on))


def test_a_topic_that_is_not_there_is_made_before_its_first_letter():
    place = reject_record()
    (asked,) = place.sent(CreateTopics)
    (topic_asked,) = asked.topics
    assert topic_asked.name == "dlq.g1"
    assert dict(topic_asked.configs)["errors.deadletterqueue.group.enable"] == "true"
    assert not place.sent(Produce)
    topic(place, 3)
    answers(place, Errors.NONE)
    (copy,) = place.sent(Produce)
    assert [batch.partition for batch in copy.partition_data] == ["dlq.g1-0"]
    place.answer_copy()
    assert place.writes[-1].only.batches[0].state.name == "ARCHIVED"
    assert place.sent(Produce) == [copy]
    assert len(place.sent(CreateTopics)) == 1


def test_without_auto_creation_a_record_is_archived_without_a_copy():
    place = reject_record(auto=False)
    assert not place.sent(CreateTopics)
    assert "no copy" in place.events[-1].because


@pytest.mark.parametrize("error", [Errors.TOPIC_ALREADY_EXISTS, Errors.NONE, None])
def test_a_topic_without_a_leader_is_asked_for_five_times(error):
    """ProduceRequestHandler.dlqTopicExists: who finds no leader takes the topic for one that is not there."""
    place = reject_record(there=True)
    for attempt in range(1, 6):
        assert len(place.sent(CreateTopics)) == attempt
        assert place.states(0, 0) == [ARCHIVING]
        answers(place, error)
    assert len(place.sent(CreateTopics)) == 5
    assert "no copy" in place.events[-1].because


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (Produce, Errors.NOT_LEADER_OR_FOLLOWER),
        (Produce, None),
        (CreateTopics, Errors.TOPIC_ALREADY_EXISTS),
        (CreateTopics, None),
    ],
)
def test_a_copy_and_a_topic_are_tried_five_times(kind, error):
    """After a leader that moved or a connection that broke (None); of a topic that is there, too."""
    copies = kind is Produce
    place = reject_record(there=True, leader=3 if copies else -1)
    answer = (
        None if error is None else ProduceResponse((PartitionProduceResponse("dlq.g1-0", error),))
    )
    for attempt in range(1, 6):
        assert len(place.sent(kind)) == attempt
        assert place.states(0, 0) == [ARCHIVING]
        if copies:
            place.do(spl.on_dead_letter_answered(place.role, KEY, "0", answer, place.on))
        else:
            answers(place, error)
    assert len(place.sent(kind)) == 5
    assert "no copy" in place.events[-1].because


def test_a_topic_that_has_a_leader_again_gets_its_letter():
    place = reject_record(there=True)
    answers(place, Errors.TOPIC_ALREADY_EXISTS)
    topic(place, 3)
    answers(place, Errors.TOPIC_ALREADY_EXISTS)
    assert len(place.sent(Produce)) == 1


def test_a_topic_that_nobody_may_make_is_asked_for_once():
    place = reject_record()
    answers(place, Errors.CLUSTER_AUTHORIZATION_FAILED)
    assert len(place.sent(CreateTopics)) == 1
    assert "no copy" in place.events[-1].because


def test_a_topic_that_is_made_at_the_last_attempt_gets_its_letter():
    place = reject_record(there=True)
    for _ in range(4):
        answers(place, Errors.TOPIC_ALREADY_EXISTS)
    assert len(place.sent(CreateTopics)) == 5
    topic(place, 3)
    answers(place, Errors.NONE)
    assert len(place.sent(Produce)) == 1


def test_a_refused_creation_is_no_reason_to_copy_even_if_the_topic_is_led_by_now():
    place = reject_record()
    topic(place, 3)
    answers(place, Errors.CLUSTER_AUTHORIZATION_FAILED)
    assert not place.sent(Produce)
    assert place.events[-1].because == NOT_COPIED


def test_what_is_durable_and_not_queued_is_queued_with_the_reason_that_is_known():
    """A leader that loaded the record infers it (SharePartition.maybeInitialize)."""
    made = SharePartition(KEY, "g1", "src-0", 0, start_offset=0, next_offset=9)
    records = {
        0: InFlight(ARCHIVING, 1, ongoing=True),
        1: InFlight(ARCHIVING, 5, cause=REJECTED),
        2: InFlight(ARCHIVING, 5),
        3: InFlight(ARCHIVING, 1),
        4: InFlight(ARCHIVING, 1),
        5: InFlight(ARCH, 1),
    }
    first = DeadLetter(4, 4, 1, REJECTED)
    me = made.but(records=Table.of(records), dead_letters=(first,))
    done = share_dead_letters.enqueue(me, tuple(range(7)), SharePlace(group=QUEUE).on)
    assert done.effects.state.dead_letters == (
        first,
        DeadLetter(1, 1, 5, REJECTED),
        DeadLetter(2, 2, 5, TOO_OFTEN),
        DeadLetter(3, 3, 1, REJECTED),
    )
    assert not done.effects.requests


def test_a_copy_goes_to_the_leader_of_its_topic_and_is_said_to_be_made():
    place = reject_record(there=True, leader=3)
    (asked,) = (r for r in place.requests if isinstance(r.message, Produce))
    assert asked.broker == 3
    place.answer_copy()
    assert place.events[-1].because == COPIED


def test_a_group_that_has_no_topic_for_dead_letters_any_more_gets_no_copies():
    """A record was ARCHIVING when the group lost its errors.deadletterqueue.topic.name."""
    place = SharePlace(last=1, dead_letter_auto_create=True, dead_letter_prefix="")
    place.load(0, durable(0, 0, ARCHIVING), durable(1, 1))
    assert not place.sent(CreateTopics)
    assert place.events[-1].because == NOT_COPIED


def test_a_refusal_that_will_not_go_away_is_not_tried_again():
    place = reject_record(there=True, leader=3)
    place.answer_copy(Errors.NOT_ENOUGH_REPLICAS)
    assert len(place.sent(Produce)) == 1
    assert "no copy" in place.events[-1].because


def test_where_no_broker_leads_anything_nobody_can_be_asked():
    """Errors.BROKER_NOT_AVAILABLE, at once."""
    place = reject_record(there=True)
    letters = place.share.dead_letters
    place.leaders = {}
    answers(place, Errors.TOPIC_ALREADY_EXISTS)
    assert letters
    assert "no copy" in place.events[-1].because


@pytest.mark.parametrize(
    ("name", "error", "made"),
    [("dlq.g1", Errors.NONE, ["dlq.g1"]), ("src", Errors.TOPIC_ALREADY_EXISTS, [])],
)
def test_a_topic_is_made_once(name, error, made):
    desk = Desk(kafka_apis, KafkaApis(), leaders={"src-0": 1})
    to = ReplyTo("B5/dlq", 1, 0)
    request = CreateTopics((CreatableTopic(name),))
    done = topic_administration.on_create_topics(desk.role, request, to, desk.on)
    assert done.replies[0].message.topics[0].error is error
    assert [new.name for new in done.creates] == made


def test_a_topic_that_brokers_are_to_make_needs_a_place():
    spec = small_spec().but(
        settings=BrokerSettings(dead_letter_auto_create=True),
        group_configs=(GroupConfig("g1", dead_letter_topic="dlq.nowhere"),),
    )
    with pytest.raises(BadSpec, match=r"brokers are to make dlq\.nowhere"):
        check(spec)


def test_a_broker_that_asks_for_a_topic_learns_of_it_with_everybody():
    story = searched_scenario("kip-1191-first-letter")
    model = story.model(design("kafka"))
    assert "dlq.orders" not in model.initial().image.topic_ids
