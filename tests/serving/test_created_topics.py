"""Topics that real clients create by looking them up, and those that they may not create."""

import contextlib
import subprocess
import sys
import warnings

import pytest

import kipviz
from kipviz.brokers.authorizer import Acl
from kipviz.checking.single_run import runs
from kipviz.cluster.model import ClusterModel
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.events import TopicCreated
from kipviz.serving.served_cluster import ServedCluster
from kipviz.serving.served_spec import cluster_of, to_serve
from kipviz.serving.translating.apis import APIS
from tests.patience import PATIENCE
from tests.serving.client_programs import Clients
from tests.serving.frames import KAFKA, answer, frame
from tests.serving.operators.admin_clients import python_admin

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from kafka import KafkaConsumer, KafkaProducer, errors

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.usefixtures("kafka_python_is_swept"),
]
METADATA = 3
UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION, TOPIC_AUTHORIZATION_FAILED = 3, 17, 29


def created(server):
    trace = server.run().trace
    events = (event for node in trace.line for event in trace.jump(node).events)
    return [event.topic for event in events if isinstance(event, TopicCreated)]


def values(server, partition):
    return [(value, fate) for _, value, fate in server.records(partition)]


def test_kafka_python_produces_to_a_topic_that_was_not_there():
    with kipviz.serve() as server:
        servers = server.bootstrap_servers.split(",")
        with contextlib.closing(KafkaProducer(bootstrap_servers=servers)) as producer:
            assert producer.send("misspelt", value=b"x").get(PATIENCE).offset == 0
        assert created(server) == ["misspelt"]
        assert values(server, "misspelt-0") == [("x", "committed")]
        with contextlib.closing(python_admin(server)) as admin:
            assert sorted(admin.list_topics()) == ["misspelt", "orders"]


@pytest.mark.parametrize("client", ["kafka-python", "librdkafka"])
def test_a_transaction_on_a_new_topic_is_committed(client):
    with kipviz.serve() as server, contextlib.closing(OneClient(client, server)) as t:
        for call in (("open", "t"), ("init",), ("begin",), ("send", "new", "x"), ("commit",)):
            assert not t.run(*call).startswith("!"), call
        assert created(server) == ["new"]
        assert values(server, "new-0") == [("x", "committed")]


class OneClient:
    """A client in a process of its own, with one actor."""

    def __init__(self, name, server):
        self.clients = Clients(name)
        self.run("servers", server.bootstrap_servers)

    def run(self, *words):
        return self.clients.run("t", *words)

    def close(self):
        self.clients.end()


def test_without_the_setting_kafka_python_finds_no_topic():
    with kipviz.serve(auto_create_topics=False) as server:
        producer = KafkaProducer(
            bootstrap_servers=server.bootstrap_servers.split(","),
            max_block_ms=1_000,
            retry_backoff_ms=20,
        )
        with contextlib.closing(producer), pytest.raises(errors.KafkaTimeoutError):
            producer.send("missing", value=b"x")
        assert created(server) == []


def test_a_saved_run_creates_the_topic_again(tmp_path):
    with kipviz.serve() as server:
        servers = server.bootstrap_servers.split(",")
        with contextlib.closing(KafkaProducer(bootstrap_servers=servers)) as producer:
            producer.send("new", value=b"x").get(PATIENCE)
        server.save(tmp_path / "run.trace")
    again = runs.load(tmp_path / "run.trace")
    assert "new" in again.trace.last().world.image.topic_ids


# -- by frames -----------------------------------------------------------------------------------


def make_cluster(*acls, auto_create_topics=True):
    spec = cluster_of(["orders"], brokers=2).but(acls=acls or None)
    served = to_serve(spec, auto_create_topics=auto_create_topics)
    model = ClusterModel(served, KAFKA.broker_rules(), KAFKA.client_rules())
    return ServedCluster(model, {1: 9001, 2: 9002})


def look_up(cluster, *topics, version=12, **said):
    caller = cluster.connect(1)
    named = tuple({"Name": topic} for topic in topics)
    cluster.feed(caller, frame(METADATA, version, Topics=named, **said))
    found = answer(caller, APIS[METADATA].response, version)["Topics"]
    return [(each["Name"], each["ErrorCode"], len(each["Partitions"])) for each in found]


@pytest.mark.parametrize("version", range(APIS[METADATA].lowest, APIS[METADATA].highest + 1))
def test_a_new_topic_is_unknown_once_and_known_then(version):
    cluster = make_cluster()
    said = {"AllowAutoTopicCreation": True} if version >= 4 else {}
    first = look_up(cluster, "new", version=version, **said)
    assert first == [("new", UNKNOWN_TOPIC_OR_PARTITION, 0)]
    assert look_up(cluster, "new", version=version, **said) == [("new", 0, 1)]


def test_a_client_that_does_not_allow_it_creates_no_topic():
    cluster = make_cluster()
    for _ in range(2):
        unknown = [("new", UNKNOWN_TOPIC_OR_PARTITION, 0)]
        assert look_up(cluster, "new", AllowAutoTopicCreation=False) == unknown


def test_a_cluster_without_the_setting_creates_no_topic():
    cluster = make_cluster(auto_create_topics=False)
    for _ in range(2):
        unknown = [("new", UNKNOWN_TOPIC_OR_PARTITION, 0), ("a b", INVALID_TOPIC_EXCEPTION, 0)]
        assert look_up(cluster, "new", "a b", AllowAutoTopicCreation=True) == unknown


def test_an_invalid_name_is_an_error_each_time_and_the_others_are_created():
    cluster = make_cluster()
    wrong = [("a b", INVALID_TOPIC_EXCEPTION, 0), ("..", INVALID_TOPIC_EXCEPTION, 0)]
    first = look_up(cluster, "a b", "..", "new", AllowAutoTopicCreation=True)
    assert first == [*wrong, ("new", UNKNOWN_TOPIC_OR_PARTITION, 0)]
    again = look_up(cluster, "a b", "..", "new", AllowAutoTopicCreation=True)
    assert again == [*wrong, ("new", 0, 1)]


def acl(operation, name, resource=Resource.TOPIC):
    return Acl("*", operation, resource, name)


def test_a_client_creates_only_topics_that_it_may_describe_and_create():
    cluster = make_cluster(
        acl(Operation.DESCRIBE, "orders"),
        acl(Operation.DESCRIBE, "seen"),
        acl(Operation.DESCRIBE, "mine"),
        acl(Operation.CREATE, "mine"),
        acl(Operation.CREATE, "unseen"),
    )
    topics = ("orders", "seen", "mine", "unseen", "none")
    first = dict_of(look_up(cluster, *topics, AllowAutoTopicCreation=True))
    denied = (TOPIC_AUTHORIZATION_FAILED, 0)
    others = {"orders": (0, 1), "seen": denied, "unseen": denied, "none": denied}
    assert first == {**others, "mine": (UNKNOWN_TOPIC_OR_PARTITION, 0)}
    again = dict_of(look_up(cluster, *topics, AllowAutoTopicCreation=True))
    assert again == {**others, "mine": (0, 1)}
    assert set(cluster.world.image.topic_ids.keys()) == {"orders", "mine"}


def dict_of(found):
    return {name: tuple(rest) for name, *rest in found}


def test_the_command_has_the_setting_off():
    with subprocess.Popen(
        [sys.executable, "-m", "kipviz", "serve", "--no-auto-create"],
        stdout=subprocess.PIPE,
        text=True,
    ) as served:
        try:
            servers = served.stdout.readline().strip().partition("=")[2].split(",")
            consumer = KafkaConsumer(bootstrap_servers=servers)
            with contextlib.closing(consumer):
                for _ in range(2):
                    assert not consumer.partitions_for_topic("new")
                assert consumer.topics() == {"orders"}
        finally:
            served.terminate()
