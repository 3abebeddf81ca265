"""What an operator may create, extend and delete, and with which error the controller refuses the rest (KIP-4)."""

from __future__ import annotations

import pytest

from kipviz.brokers import topic_administration
from kipviz.brokers.authorizer import Acl
from kipviz.brokers.context import Controller, NewTopic, ReplyTo
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.driving.desk import TOPIC_IDS, Desk
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.cluster.topic_creation import (
    CreatableTopic,
    CreatePartitions,
    CreatePartitionsTopic,
    CreateTopics,
    ReplicaAssignment,
)
from kipviz.messages.cluster.topic_deletion import DeleteTopics, DeleteTopicState
from kipviz.messages.errors import Errors

ASKER = ReplyTo("admin-1/1", 1, 0)


def on_desk(controller=None):
    desk = Desk(topic_administration, KafkaApis(), leaders={"src-0": 1, "src-1": 2, "src-2": 3})
    on = desk.on
    brokers = (1, 2, 3)
    return on.but(controller=controller or Controller(brokers, brokers))


def created(*topics, on=None, validate_only=False):
    request = CreateTopics(topics, validate_only)
    return topic_administration.on_create_topics(KafkaApis(), request, ASKER, on or on_desk())


def errors(done):
    answer = done.replies[0].message
    results = getattr(answer, "topics", None) or getattr(answer, "results", None)
    return [each.error for each in results or answer.responses]


def test_a_topic_is_placed_over_the_running_brokers_and_has_an_id_of_its_own():
    done = created(CreatableTopic("a", 4, 2), CreatableTopic("b"))
    first, second = done.creates
    assert first.replicas == ((1, 2), (2, 3), (3, 1), (1, 2))
    assert second.replicas == ((1,),)  # num.partitions and default.replication.factor are 1
    assert first.topic_id != second.topic_id
    results = done.replies[0].message.topics
    assert [(r.name, r.num_partitions, r.replication_factor) for r in results] == [
        ("a", 4, 2),
        ("b", 1, 1),
    ]
    assert [r.topic_id for r in results] == [first.topic_id, second.topic_id]


def test_a_topic_that_the_spec_places_takes_no_id_of_a_new_one():
    placed = NewTopic("later", "placedplacedplacedplag", ((1,),))
    on = on_desk(Controller((1, 2, 3), (1, 2, 3), (placed,)))
    first = created(CreatableTopic("later"), CreatableTopic("new"), on=on)
    assert first.creates[0] == placed
    assert first.creates[1].topic_id == topic_administration.make_topic_id(0)


def test_a_broker_that_is_down_is_the_last_replica_and_leads_nothing():
    done = created(CreatableTopic("a", 3, 3), on=on_desk(Controller((1, 2, 3), (1, 3))))
    assert done.creates[0].replicas == ((1, 3, 2), (3, 1, 2), (1, 3, 2))


def test_a_request_that_only_validates_creates_nothing_and_has_the_same_answer():
    topic = CreatableTopic("a", 2, 1)
    done = created(topic, validate_only=True)
    assert done.creates == ()
    assert done.replies == created(topic).replies


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (CreatableTopic("src"), Errors.TOPIC_ALREADY_EXISTS),
        (CreatableTopic("__consumer_offsets"), Errors.TOPIC_ALREADY_EXISTS),
        (CreatableTopic("__cluster_metadata"), Errors.INVALID_REQUEST),
        (CreatableTopic(""), Errors.INVALID_TOPIC_EXCEPTION),
        (CreatableTopic(".."), Errors.INVALID_TOPIC_EXCEPTION),
        (CreatableTopic("two words"), Errors.INVALID_TOPIC_EXCEPTION),
        (CreatableTopic("x" * 250), Errors.INVALID_TOPIC_EXCEPTION),
        (CreatableTopic("__consumer.offsets"), Errors.INVALID_TOPIC_EXCEPTION),
        (CreatableTopic("a", 0), Errors.INVALID_PARTITIONS),
        (CreatableTopic("a", -2), Errors.INVALID_PARTITIONS),
        (CreatableTopic("a", 10_001), Errors.POLICY_VIOLATION),
        (CreatableTopic("a", 1, 0), Errors.INVALID_REPLICATION_FACTOR),
        (CreatableTopic("a", 1, 4), Errors.INVALID_REPLICATION_FACTOR),
        (CreatableTopic("a", configs=(("no.such", "1"),)), Errors.INVALID_CONFIG),
        (CreatableTopic("a", configs=(("retention.ms", None),)), Errors.INVALID_CONFIG),
        (CreatableTopic("a", configs=(("retention.ms", "week"),)), Errors.INVALID_CONFIG),
        (CreatableTopic("a", configs=(("preallocate", "1"),)), Errors.INVALID_CONFIG),
        (CreatableTopic("a", configs=(("cleanup.policy", "burn"),)), Errors.INVALID_CONFIG),
    ],
)
def test_an_invalid_topic_is_refused_and_the_others_are_created(topic, error):
    done = created(topic, CreatableTopic("good"))
    whole = error is Errors.POLICY_VIOLATION  # an error of the whole request
    assert errors(done) == [error, error if whole else Errors.NONE]
    assert [new.name for new in done.creates] == ([] if whole else ["good"])


def assigned(*replicas, **numbers):
    given = tuple(ReplicaAssignment(at, brokers) for at, brokers in enumerate(replicas))
    return CreatableTopic("a", assignments=given, **numbers)


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (assigned((2, 1), (3, 1)), Errors.NONE),
        (assigned((2,), num_partitions=1), Errors.INVALID_REQUEST),
        (assigned((2,), replication_factor=1), Errors.INVALID_REQUEST),
        (assigned(()), Errors.INVALID_REPLICA_ASSIGNMENT),
        (assigned((9,)), Errors.INVALID_REPLICA_ASSIGNMENT),
        (assigned((1, 1)), Errors.INVALID_REPLICA_ASSIGNMENT),
        (assigned((1, 2), (1,)), Errors.INVALID_REPLICA_ASSIGNMENT),
        (
            CreatableTopic("a", assignments=(ReplicaAssignment(1, (1,)),)),
            Errors.INVALID_REPLICA_ASSIGNMENT,
        ),
        (
            CreatableTopic("a", assignments=(ReplicaAssignment(0, (1,)),) * 2),
            Errors.INVALID_REPLICA_ASSIGNMENT,
        ),
    ],
)
def test_an_assignment_is_taken_as_it_is_if_it_is_valid(topic, error):
    done = created(topic)
    assert errors(done) == [error]
    assert [new.replicas for new in done.creates] == [((2, 1), (3, 1))][: error is Errors.NONE]


def test_an_assignment_to_brokers_that_are_down_is_refused():
    on = on_desk(Controller((1, 2, 3), (1,)))
    assert errors(created(assigned((2, 3)), on=on)) == [Errors.INVALID_REPLICA_ASSIGNMENT]
    assert errors(created(assigned((2, 1)), on=on)) == [Errors.NONE]


def test_without_a_running_broker_no_topic_is_created():
    done = created(CreatableTopic("a"), on=on_desk(Controller((1,), ())))
    assert errors(done) == [Errors.INVALID_REPLICATION_FACTOR]


def test_a_topic_that_is_named_twice_is_refused_once():
    done = created(CreatableTopic("a"), CreatableTopic("b"), CreatableTopic("a", 2))
    assert errors(done) == [Errors.INVALID_REQUEST, Errors.NONE]
    assert [new.name for new in done.creates] == ["b"]


# -- more partitions -----------------------------------------------------------------------------


def extended(*topics, on=None, validate_only=False):
    request = CreatePartitions(topics, validate_only)
    return topic_administration.on_create_partitions(KafkaApis(), request, ASKER, on or on_desk())


def test_added_partitions_continue_the_indexes_and_have_as_many_replicas_as_the_first_one():
    done = extended(CreatePartitionsTopic("src", 5))
    (added,) = done.creates
    assert (added.name, added.topic_id, added.first) == ("src", TOPIC_IDS["src"], 3)
    assert added.replicas == ((1, 2), (2, 3))
    assert extended(CreatePartitionsTopic("src", 5), validate_only=True).creates == ()


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (CreatePartitionsTopic("none", 5), Errors.UNKNOWN_TOPIC_OR_PARTITION),
        (CreatePartitionsTopic("__consumer_offsets", 99), Errors.INVALID_REQUEST),
        (CreatePartitionsTopic("src", 3), Errors.INVALID_PARTITIONS),
        (CreatePartitionsTopic("src", 1), Errors.INVALID_PARTITIONS),
        (CreatePartitionsTopic("src", 20_000), Errors.POLICY_VIOLATION),
        (CreatePartitionsTopic("src", 5, ((1, 2),)), Errors.INVALID_REPLICA_ASSIGNMENT),
        (CreatePartitionsTopic("src", 4, ((1,),)), Errors.INVALID_REPLICA_ASSIGNMENT),
        (CreatePartitionsTopic("src", 4, ((3, 2),)), Errors.NONE),
    ],
)
def test_partitions_that_cannot_be_added_are_refused(topic, error):
    assert errors(extended(topic)) == [error]


def test_partitions_need_as_many_brokers_as_the_topic_has_replicas():
    done = extended(CreatePartitionsTopic("src", 4), on=on_desk(Controller((1,), (1,))))
    assert errors(done) == [Errors.INVALID_REPLICATION_FACTOR]


def test_a_topic_that_is_to_be_extended_twice_is_not():
    done = extended(CreatePartitionsTopic("src", 4), CreatePartitionsTopic("src", 5))
    assert (errors(done), done.creates) == ([Errors.INVALID_REQUEST], ())


# -- deletion ------------------------------------------------------------------------------------


def deleted(*topics, on=None):
    return topic_administration.on_delete_topics(
        KafkaApis(), DeleteTopics(topics), ASKER, on or on_desk()
    )


BY_ID = DeleteTopicState(None, TOPIC_IDS["src"])
DENIED, UNKNOWN_ID = Errors.TOPIC_AUTHORIZATION_FAILED, Errors.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize("topic", [DeleteTopicState("src"), BY_ID])
def test_a_topic_is_deleted_by_its_name_or_its_id(topic):
    done = deleted(topic)
    assert done.drops == ("src",)
    (result,) = done.replies[0].message.responses
    assert (result.name, result.topic_id) == ("src", TOPIC_IDS["src"])


@pytest.mark.parametrize(
    ("topics", "error"),
    [
        ((DeleteTopicState("none"),), Errors.UNKNOWN_TOPIC_OR_PARTITION),
        ((DeleteTopicState(None, "AAAAAAAAAAAAAAAAAAAAAA"),), Errors.UNKNOWN_TOPIC_ID),
        ((DeleteTopicState(),), Errors.INVALID_REQUEST),
        ((DeleteTopicState("src", TOPIC_IDS["src"]),), Errors.INVALID_REQUEST),
        ((DeleteTopicState("src"), DeleteTopicState("src")), Errors.INVALID_REQUEST),
        ((BY_ID, BY_ID), Errors.INVALID_REQUEST),
        ((DeleteTopicState("__consumer_offsets"),), Errors.INVALID_REQUEST),
    ],
)
def test_what_is_not_named_once_and_in_one_way_is_not_deleted(topics, error):
    done = deleted(*topics)
    assert (errors(done), done.drops) == ([error], ())


@pytest.mark.parametrize(
    "topics", [(DeleteTopicState("src"), BY_ID), (BY_ID, BY_ID, DeleteTopicState("src"))]
)
def test_a_topic_that_is_named_by_its_name_and_its_id_is_not_deleted(topics):
    done = deleted(*topics)
    assert (done.drops, errors(done)[-1]) == ((), Errors.INVALID_REQUEST)
    told = [r.name for r in done.replies[0].message.responses]
    assert told.count("src") == 1


def test_a_repeated_name_does_not_hinder_the_deletion_by_id():
    done = deleted(DeleteTopicState("src"), DeleteTopicState("src"), BY_ID)
    assert (errors(done), done.drops) == ([Errors.INVALID_REQUEST, Errors.NONE], ("src",))


def test_each_topic_has_its_own_result_whatever_rights_the_others_lack():
    on = on_desk()
    right = Acl("admin-1", Operation.DELETE, Resource.TOPIC, "src")
    seen = Acl("admin-1", Operation.DESCRIBE, Resource.TOPIC, "output-A")
    on = on.but(image=on.image.but(acls=(right, seen)))
    for topics, expected in (
        ((DeleteTopicState("secret"), BY_ID), [DENIED, Errors.NONE]),
        ((DeleteTopicState("output-A"), DeleteTopicState("src")), [DENIED, Errors.NONE]),
        ((DeleteTopicState("secret"), DeleteTopicState(None, "A" * 22)), [DENIED, UNKNOWN_ID]),
    ):
        done = deleted(*topics, on=on)
        assert errors(done) == expected
        assert done.drops == (("src",) if Errors.NONE in expected else ())


def test_an_id_shows_nothing_to_who_may_not_delete_its_topic():
    on = on_desk()
    other = Acl("admin-2", Operation.DELETE, Resource.TOPIC, "src")
    for acl, error in (
        (other, Errors.TOPIC_AUTHORIZATION_FAILED),
        (other.but(principal="admin-1"), Errors.NONE),
        (Acl("admin-1", Operation.ALL, Resource.CLUSTER, "kafka-cluster"), Errors.NONE),
    ):
        assert errors(deleted(BY_ID, on=on.but(image=on.image.but(acls=(acl,))))) == [error]
