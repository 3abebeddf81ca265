"""auto.create.topics.enable: which topics a lookup creates, and what its response says of them."""

from __future__ import annotations

import pytest

from kipviz.brokers.authorizer import CLUSTER_NAME, Acl
from kipviz.brokers.context import Controller, ReplyTo
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.logs.requests import metadata_requests
from kipviz.driving.desk import TOPIC_IDS, Desk
from kipviz.messages.apis.catalogue import api_of
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.cluster.metadata import Metadata, TopicId
from kipviz.messages.errors import Errors
from kipviz.messages.wire.decoding import Incoming

ASKER = ReplyTo("app-1/producer", 1, 0)
BROKERS = (1, 2, 3)
DENIED = Errors.TOPIC_AUTHORIZATION_FAILED


def look_up(*topics, allow=True, acls=None, up=BROKERS, **settings):
    settings = {"auto_create_topics": True, **settings}
    desk = Desk(metadata_requests, KafkaApis(), leaders={"src-0": 1}, **settings)
    on = desk.on.but(controller=Controller(BROKERS, up), image=desk.on.image.but(acls=acls))
    return metadata_requests.on_metadata(KafkaApis(), Metadata(topics, allow), ASKER, on)


def told(done):
    (reply,) = done.replies
    assert reply.message.error is Errors.NONE
    return reply.message.topics


def names(done):
    return [new.name for new in done.creates]


def test_a_missing_topic_is_created_and_is_still_unknown_in_this_response():
    done = look_up("src", "new", "other")
    assert told(done) == (
        TopicId("src", TOPIC_IDS["src"]),
        TopicId("new", ""),
        TopicId("other", ""),
    )
    first, second = done.creates
    assert (first.name, second.name) == ("new", "other")
    assert (
        first.replicas == second.replicas == ((1,),)
    )  # num.partitions and default.replication.factor
    assert len({first.topic_id, second.topic_id, ""}) == 3


def test_a_topic_that_is_named_twice_is_created_once():
    assert names(look_up("new", "new")) == ["new"]


@pytest.mark.parametrize("setting", [{"auto_create_topics": False}, {}])
def test_without_the_setting_a_lookup_creates_nothing(setting):
    desk = Desk(metadata_requests, KafkaApis(), leaders={"src-0": 1}, **setting)
    done = metadata_requests.on_metadata(KafkaApis(), Metadata(("new",)), ASKER, desk.on)
    assert (done.creates, told(done)) == ((), (TopicId("new", ""),))


def test_a_request_that_does_not_allow_it_creates_nothing():
    done = look_up("new", allow=False)
    assert (done.creates, told(done)) == ((), (TopicId("new", ""),))


@pytest.mark.parametrize("allow", [False, True])
@pytest.mark.parametrize("name", ["", "..", "a b", "x" * 250])
def test_a_name_that_no_topic_can_have_is_an_error_and_is_not_created(name, allow):
    done = look_up(name, "new", allow=allow)
    assert told(done) == (TopicId(name, "", Errors.INVALID_TOPIC_EXCEPTION), TopicId("new", ""))
    assert names(done) == (["new"] if allow else [])


@pytest.mark.parametrize(
    ("topic", "up", "error"),
    [
        ("__cluster_metadata", BROKERS, Errors.INVALID_REQUEST),
        ("__consumer.offsets", BROKERS, Errors.INVALID_TOPIC_EXCEPTION),  # collides
        ("new", (), Errors.INVALID_REPLICATION_FACTOR),
    ],
)
def test_what_the_controller_refuses_is_not_created_and_the_client_is_told_nothing_of_it(
    topic, up, error
):
    done = look_up(topic, up=up)
    assert (done.creates, told(done)) == ((), (TopicId(topic, ""),))
    assert [(c.name, c.found) for c in done.checks][-1] == ("topic created", error)


def test_an_internal_topic_is_not_created():
    assert look_up("__consumer_offsets").creates == ()


def acl(operation, resource, name):
    return Acl("app-1", operation, resource, name)


@pytest.mark.parametrize(
    "right",
    [
        acl(Operation.CREATE, Resource.TOPIC, "new"),
        acl(Operation.CREATE, Resource.TOPIC, "n*"),
        acl(Operation.CREATE, Resource.CLUSTER, CLUSTER_NAME),
    ],
)
def test_create_on_the_topic_or_on_the_cluster_is_enough(right):
    done = look_up("new", acls=(right,))
    assert (names(done), told(done)) == (["new"], (TopicId("new", ""),))


def test_without_create_a_missing_topic_is_denied_whatever_its_name_and_an_existing_one_is_told():
    rights = (
        acl(Operation.DESCRIBE, Resource.TOPIC, "*"),
        acl(Operation.CREATE, Resource.TOPIC, "mine"),
    )
    done = look_up("src", "new", "a b", "mine", acls=rights)
    assert told(done) == (
        TopicId("src", TOPIC_IDS["src"]),
        TopicId("new", "", DENIED),
        TopicId("a b", "", DENIED),
        TopicId("mine", ""),
    )
    assert names(done) == ["mine"]


@pytest.mark.parametrize("off", [{"allow": False}, {"auto_create_topics": False}])
def test_create_is_no_question_where_nothing_would_be_created(off):
    rights = (acl(Operation.DESCRIBE, Resource.TOPIC, "*"),)
    assert told(look_up("new", acls=rights, **off)) == (TopicId("new", ""),)


def decoded(version, **said):
    decode = api_of(Metadata(())).request_bytes.decode
    (message,) = decode(said, Incoming(version, name_topic=lambda _: "src"))
    return message


def test_a_request_below_version_4_allows_it_and_a_newer_one_says_so():
    named = ({"Name": "new"},)
    assert decoded(3, Topics=named) == Metadata(("new",))
    for allow in (False, True):
        assert decoded(4, Topics=named, AllowAutoTopicCreation=allow) == Metadata(("new",), allow)


@pytest.mark.parametrize(
    ("version", "topics"),
    [
        (0, ()),
        (12, None),
        (12, ({"Name": None, "TopicId": TOPIC_IDS["src"]},)),
    ],
)
def test_a_request_for_all_topics_or_by_ids_creates_none(version, topics):
    message = decoded(version, Topics=topics, AllowAutoTopicCreation=True)
    assert not message.allow_auto_topic_creation


def test_whether_it_is_allowed_is_shown_only_where_it_is_not():
    assert Metadata(("new",)).list_fields(13) == ("topics",)
    assert "allow_auto_topic_creation" in Metadata(("new",), False).list_fields(13)
