"""Operators describe and change configs: which values are told, and which changes are rejected."""

import pytest

from kipviz.brokers.authorizer import Acl
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.logs.requests import config_requests
from kipviz.driving.desk import Desk
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.cluster.configs import (
    APPEND,
    BY_BROKER,
    BY_KAFKA,
    BY_TOPIC,
    DELETE,
    OF_BROKER,
    OF_TOPIC,
    SET,
    SUBTRACT,
    AlterableConfig,
    AlterConfigsResource,
    DescribeConfigs,
    DescribeConfigsResource,
    IncrementalAlterConfigs,
)
from kipviz.messages.errors import Errors
from tests.brokers.administration.test_topic_administration import ASKER

E = Errors
LEAST = "min.insync.replicas"


def on_desk(**image):
    on = Desk(config_requests, KafkaApis(), leaders={"src-0": 1}).on
    return on.but(image=on.image.but(**image))


def describe(resource_type, name, keys=None, on=None):
    request = DescribeConfigs((DescribeConfigsResource(resource_type, name, keys),))
    done = config_requests.on_describe_configs(KafkaApis(), request, ASKER, on or on_desk())
    (result,) = done.replies[0].message.results
    assert (done.checks[0].error, bool(result.configs)) == (result.error, not result.error)
    return result


def alter(*changes, name="src", resource_type=OF_TOPIC, on=None, **more):
    resource = AlterConfigsResource(resource_type, name, changes)
    request = IncrementalAlterConfigs((resource,), **more)
    on = on or on_desk()
    done = config_requests.on_incremental_alter_configs(KafkaApis(), request, ASKER, on)
    (result,) = done.replies[0].message.responses
    return result, done


def test_a_topic_has_its_own_configs_and_kafkas_defaults():
    on = on_desk(
        topic_configs=(("src", (("retention.ms", "5"),)),), min_insync_replicas=(("src", 2),)
    )
    found = {c.name: (c.value, c.source) for c in describe(OF_TOPIC, "src", on=on).configs}
    assert found["retention.ms"] == ("5", BY_TOPIC)
    assert found[LEAST] == ("2", BY_TOPIC)
    assert found["cleanup.policy"] == ("delete", BY_KAFKA)
    (only,) = describe(OF_TOPIC, "src", (LEAST,), on).configs
    assert (only.name, only.config_type, only.read_only) == (LEAST, 3, False)


def test_a_broker_tells_the_settings_that_the_model_has():
    on = on_desk()
    on = on.but(settings=on.settings.but(group_max_size=7))
    found = {c.name: c for c in describe(OF_BROKER, "1", on=on).configs}
    assert (found["group.max.size"].value, found["group.max.size"].source) == ("7", BY_BROKER)
    assert (found["num.partitions"].value, found["num.partitions"].source) == ("1", BY_KAFKA)
    assert found["num.partitions"].read_only
    assert not found["log.retention.ms"].read_only
    assert list(found) == sorted(found)


@pytest.mark.parametrize(("creates", "told"), [(True, BY_KAFKA), (False, BY_BROKER)])
def test_a_broker_tells_whether_a_lookup_creates_topics(creates, told):
    on = on_desk()
    on = on.but(settings=on.settings.but(auto_create_topics=creates))
    (only,) = describe(OF_BROKER, "1", ("auto.create.topics.enable",), on).configs
    assert (only.value, only.source) == (str(creates).lower(), told)


@pytest.mark.parametrize(
    ("resource_type", "name", "error"),
    [
        (OF_TOPIC, "none", E.UNKNOWN_TOPIC_OR_PARTITION),
        (OF_TOPIC, "two words", E.INVALID_TOPIC_EXCEPTION),
        (OF_TOPIC, "__consumer_offsets", E.INVALID_REQUEST),
        (OF_BROKER, "2", E.INVALID_REQUEST),
        (OF_BROKER, "one", E.INVALID_REQUEST),
        (32, "g", E.INVALID_REQUEST),
    ],
)
def test_what_has_no_configs_here_is_an_error(resource_type, name, error):
    assert describe(resource_type, name).error is error


@pytest.mark.parametrize("operation", [Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS])
def test_each_resource_needs_its_own_right(operation):
    acl = Acl("admin-1", operation, Resource.TOPIC, "src")
    on = on_desk(acls=(acl,))
    assert describe(OF_TOPIC, "src", on=on).error is E.NONE
    assert describe(OF_TOPIC, "output-A", on=on).error is E.TOPIC_AUTHORIZATION_FAILED
    assert describe(OF_BROKER, "1", on=on).error is E.CLUSTER_AUTHORIZATION_FAILED
    told, _ = alter(AlterableConfig(LEAST, SET, "2"), on=on)
    may = operation is Operation.ALTER_CONFIGS
    assert told.error is (E.NONE if may else E.TOPIC_AUTHORIZATION_FAILED)


def test_changes_of_a_topic_are_made_together():
    on = on_desk(topic_configs=(("src", (("retention.ms", "5"),)),))
    told, done = alter(
        AlterableConfig("retention.ms", DELETE),
        AlterableConfig(LEAST, SET, "2"),
        AlterableConfig("cleanup.policy", APPEND, "compact"),
        on=on,
    )
    assert told.error is E.NONE
    assert done.configs == (("src", ((LEAST, "2"), ("cleanup.policy", "delete,compact"))),)
    assert done.events[0].configs == done.configs[0][1]
    _, done = alter(AlterableConfig(LEAST, SET, "2"), validate_only=True)
    assert (done.configs, done.events) == ((), ())
    _, done = alter(AlterableConfig("retention.ms", SET, "5"), on=on)
    assert done.configs == ()


def test_a_deletion_counts_whatever_value_it_carries():
    """ConfigurationControlManager.incrementalAlterConfigResource; Java's admin client sends an empty value."""
    on = on_desk(topic_configs=(("src", (("retention.ms", "5"),)),))
    for value in (None, "", "7"):
        told, done = alter(AlterableConfig("retention.ms", DELETE, value), on=on)
        assert (told.error, done.configs) == (E.NONE, (("src", ()),))


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ((AlterableConfig(LEAST, SET, "x"),), E.INVALID_CONFIG),
        ((AlterableConfig("no.such", SET, "1"),), E.INVALID_CONFIG),
        ((AlterableConfig(LEAST, SUBTRACT, "1"),), E.INVALID_CONFIG),
        ((AlterableConfig(LEAST, SET, None),), E.INVALID_REQUEST),
        ((AlterableConfig(LEAST, 9, "1"),), E.INVALID_REQUEST),
        ((AlterableConfig(LEAST, SET, "1"), AlterableConfig(LEAST, DELETE)), E.INVALID_REQUEST),
    ],
)
def test_an_invalid_change_changes_nothing(changes, error):
    told, done = alter(*changes, AlterableConfig("retention.ms", SET, "5"))
    assert (told.error, done.configs) == (error, ())


@pytest.mark.parametrize(
    ("resource_type", "name", "error"),
    [
        (OF_TOPIC, "none", E.UNKNOWN_TOPIC_OR_PARTITION),
        (OF_TOPIC, "two words", E.INVALID_TOPIC_EXCEPTION),
        (OF_TOPIC, "", E.INVALID_REQUEST),
        (OF_TOPIC, "__consumer_offsets", E.INVALID_REQUEST),
        (OF_BROKER, "1", E.INVALID_REQUEST),
    ],
)
def test_only_configs_of_topics_that_are_there_can_be_changed(resource_type, name, error):
    told, done = alter(AlterableConfig(LEAST, SET, "1"), name=name, resource_type=resource_type)
    assert (told.error, done.configs) == (error, ())


def test_a_resource_that_is_named_twice_is_not_changed():
    resource = AlterConfigsResource(OF_TOPIC, "src", (AlterableConfig(LEAST, SET, "2"),))
    request = IncrementalAlterConfigs((resource, resource))
    done = config_requests.on_incremental_alter_configs(KafkaApis(), request, ASKER, on_desk())
    assert [r.error for r in done.replies[0].message.responses] == [E.INVALID_REQUEST] * 2
    assert done.configs == ()
