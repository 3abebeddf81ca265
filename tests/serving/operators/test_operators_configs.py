"""Operators read and change configs in the served cluster, with a real admin client."""

import contextlib
import warnings

import pytest

import kipviz
from kipviz.serving.served_spec import cluster_of
from tests.patience import PATIENCE
from tests.serving.operators.admin_clients import python_admin

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it reads its own files by an old function
    from kafka import KafkaProducer, errors
    from kafka.admin import ConfigResource, NewTopic

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.usefixtures("kafka_python_is_swept"),
]


@pytest.fixture
def server():
    with kipviz.serve(cluster_of({"orders": 1})) as served:
        yield served


@pytest.fixture
def admin(server):
    with contextlib.closing(python_admin(server)) as client:
        yield client


def configs_of(admin, kind, name):
    found = admin.describe_configs([ConfigResource(kind, name)], config_filter="all")
    return {key: config["value"] for key, config in found[kind][name].items()}


def alter(admin, **configs):
    changes = {name.replace("_", "."): value for name, value in configs.items()}
    return admin.alter_configs([ConfigResource("topic", "orders", changes)])


def send(server, value, **config):
    producer = KafkaProducer(bootstrap_servers=server.bootstrap_servers.split(","), **config)
    with contextlib.closing(producer):
        return producer.send("orders", value=value).get(PATIENCE)


def test_the_configs_of_topics_and_brokers_are_read(admin):
    admin.create_topics([NewTopic("small", 1, 1, topic_configs={"max.message.bytes": "200"})])
    small, orders = (configs_of(admin, "topic", name) for name in ("small", "orders"))
    assert (small["max.message.bytes"], orders["max.message.bytes"]) == ("200", "1048588")
    broker = configs_of(admin, "broker", "2")
    assert broker["transaction.max.timeout.ms"] == "900000"
    assert broker["group.initial.rebalance.delay.ms"] == "0"  # as it is served


def test_a_changed_config_counts_at_once_and_going_back_undoes_it(server, admin):
    before = server.step
    alter(admin, max_message_bytes="200")
    assert configs_of(admin, "topic", "orders")["max.message.bytes"] == "200"
    with pytest.raises(errors.MessageSizeTooLargeError):
        send(server, b"x" * 300)
    alter(admin, max_message_bytes=("DELETE", None))
    assert send(server, b"x" * 300).offset == 0
    server.back(before)
    assert server.cluster.world.image.topic_configs == ()


def test_a_lower_min_insync_replicas_lets_a_producer_continue(server, admin):
    alter(admin, min_insync_replicas="3")
    leader = server.cluster.world.image.leader_of("orders-0")
    server.crash(next(b for b in server.cluster.world.up if b != leader))
    with pytest.raises(errors.NotEnoughReplicasError):
        send(server, b"x", retries=0)
    alter(admin, min_insync_replicas="2")
    assert send(server, b"x").offset == 0


def test_what_is_not_known_or_cannot_be_changed_is_an_error(admin):
    for kind, name, error in (
        ("topic", "orders", "InvalidConfigurationError"),
        ("broker", "1", "InvalidRequestError"),
    ):
        changes = [ConfigResource(kind, name, {"no.such": "1"})]
        told = admin.alter_configs(changes, raise_on_unknown=False)
        assert error in str(told), told
