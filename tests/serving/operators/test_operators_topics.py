"""Operators create, extend and delete topics in the served cluster, with real admin clients."""

import contextlib
import warnings

import pytest

import kipviz
from kipviz.core.traces import tracefile
from kipviz.serving.served_spec import cluster_of
from tests.patience import PATIENCE, until
from tests.serving.operators.admin_clients import JavaAdmin, python_admin

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it reads its own files by an old function
    from kafka import KafkaConsumer, KafkaProducer, errors
    from kafka.admin import NewPartitions, NewTopic

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


def replicas(admin, topic):
    (found,) = admin.describe_topics([topic])
    return [p["replica_nodes"] for p in found["partitions"]]


def test_a_new_topic_works_with_transactions_and_groups_at_once(server, admin):
    (made,) = admin.create_topics([NewTopic("payments", 3, 2)])["topics"]
    assert (made["num_partitions"], made["replication_factor"]) == (3, 2)
    assert replicas(admin, "payments") == [[1, 2], [2, 3], [3, 1]]
    servers = server.bootstrap_servers.split(",")
    producer = KafkaProducer(bootstrap_servers=servers, transactional_id="t", retry_backoff_ms=10)
    consumer = KafkaConsumer(
        "payments",
        bootstrap_servers=servers,
        group_id="g",
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        retry_backoff_ms=10,
    )
    with contextlib.closing(producer), contextlib.closing(consumer):
        producer.init_transactions()
        producer.begin_transaction()
        for index in range(3):
            producer.send("payments", value=b"%d" % index, partition=index)
        producer.commit_transaction()
        found = set()

        def all_there():
            # Not shorter: a poll that ends while kafka-python rejoins its group makes it lose what it is assigned.
            polled = consumer.poll(PATIENCE * 1_000)
            found.update((p.partition, r.value) for p, each in polled.items() for r in each)
            return len(found) == 3

        until(all_there)
        assert sorted(found) == [(0, b"0"), (1, b"1"), (2, b"2")]
        consumer.commit()
    assert [fate for _, _, fate in server.records("payments-2")] == ["committed"]
    # The page has the log of a topic that is not there at its first steps, in its leader's lane.
    lanes = {head["id"]: head["lane"] for head in kipviz.open(server.run()).payload["cards"]}
    logs = [f"log:payments-{index}" for index in range(3)]
    assert [lanes.get(log) for log in logs] == ["B1", "B2", "B3"]


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (NewTopic("orders", 1, 1), errors.TopicAlreadyExistsError),
        (NewTopic("two words", 1, 1), errors.InvalidTopicError),
        (NewTopic("new", 0, 1), errors.InvalidPartitionsError),
        (NewTopic("new", 1, 4), errors.InvalidReplicationFactorError),
        (
            NewTopic("new", 1, 1, topic_configs={"no.such": "1"}),
            errors.InvalidConfigurationError,
        ),
    ],
)
def test_what_the_controller_refuses_is_an_exception(admin, topic, error):
    with pytest.raises(error):
        admin.create_topics([topic])
    assert admin.list_topics() == ["orders"]


def test_a_request_that_only_validates_creates_nothing(admin):
    admin.create_topics([NewTopic("new", 2, 1)], validate_only=True)
    assert admin.list_topics() == ["orders"]
    with pytest.raises(errors.TopicAlreadyExistsError):
        admin.create_topics([NewTopic("orders", 2, 1)], validate_only=True)


def test_a_topic_has_its_own_max_message_bytes(server, admin):
    admin.create_topics([NewTopic("small", 1, 1, topic_configs={"max.message.bytes": "200"})])
    producer = KafkaProducer(bootstrap_servers=server.bootstrap_servers.split(","))
    with contextlib.closing(producer):
        producer.send("orders", value=b"x" * 300).get(PATIENCE)
        producer.send("small", value=b"x").get(PATIENCE)
        with pytest.raises(errors.MessageSizeTooLargeError):
            producer.send("small", value=b"x" * 300).get(PATIENCE)


def test_partitions_are_added_and_used(server, admin):
    admin.create_partitions({"orders": NewPartitions(3)})
    assert replicas(admin, "orders") == [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    producer = KafkaProducer(bootstrap_servers=server.bootstrap_servers.split(","))
    with contextlib.closing(producer):
        assert producer.send("orders", value=b"x", partition=2).get(PATIENCE).offset == 0
    with pytest.raises(errors.InvalidPartitionsError):
        admin.create_partitions({"orders": NewPartitions(3)})


def test_a_topic_of_the_same_name_is_another_one(server, admin):
    producer = KafkaProducer(bootstrap_servers=server.bootstrap_servers.split(","))
    with contextlib.closing(producer):
        producer.send("orders", value=b"old").get(PATIENCE)
    (before,) = admin.describe_topics(["orders"])
    admin.delete_topics(["orders"])
    assert admin.list_topics() == []
    with pytest.raises(errors.UnknownTopicOrPartitionError):
        admin.delete_topics(["orders"])
    admin.create_topics([NewTopic("orders", 1, 1)])
    (after,) = admin.describe_topics(["orders"])
    assert before["topic_id"] != after["topic_id"]
    assert server.records("orders-0") == ()


def test_a_topic_that_is_created_again_has_no_configs_of_the_deleted_one():
    cluster = cluster_of({"orders": 1}).but(min_insync_replicas=(("orders", 2),))
    with kipviz.serve(cluster) as served, contextlib.closing(python_admin(served)) as client:
        client.delete_topics(["orders"])
        client.create_topics([NewTopic("orders", 1, 1)])
        assert served.cluster.world.image.min_insync_replicas == ()


def test_a_creation_is_a_step_that_is_lost_gone_back_over_and_replayed(server, admin, tmp_path):
    server.rule("lose the 1st CreateTopicsResponse")
    before = server.step
    # The client does not know that it was created, and asks again.
    with pytest.raises(errors.KafkaError):
        admin.create_topics([NewTopic("new", 1, 1)])
    with contextlib.suppress(errors.TopicAlreadyExistsError):
        admin.create_topics([NewTopic("new", 1, 1)])
    assert "new" in admin.list_topics()
    trace = server.cluster.trace
    tracefile.save(trace, tmp_path / "run.trace", {"model": {"of": "a test"}})
    again = tracefile.load(tmp_path / "run.trace", lambda _: trace.model).trace
    assert again.last().world == trace.last().world
    assert "new" in again.last().world.image.topic_ids
    server.back(before)
    with contextlib.closing(python_admin(server, "later")) as later:
        assert later.list_topics() == ["orders"]


def test_javas_admin_client_creates_extends_and_deletes_topics(server):
    java = JavaAdmin(server)
    try:
        made = java.run("create", "payments", 2, 3, "min.insync.replicas=2").split(" ")
        assert (made[:2], made[3]) == (["2", "3"], "2")
        assert java.run("create", "plain", -1, -1).startswith("1 1 ")
        assert java.run("describe", "payments") == f"{made[2]} 0:[1, 2, 3] 1:[2, 3, 1]"
        assert java.run("create", "payments", 1, 1) == "! TopicExistsException"
        assert java.run("create", "two words", 1, 1) == "! InvalidTopicException"
        assert java.run("create", "new", 0, 1) == "! InvalidPartitionsException"
        assert java.run("create", "new", 1, 9) == "! InvalidReplicationFactorException"
        assert java.run("create", "new", 1, 1, "no.such=1") == "! InvalidConfigurationException"
        assert java.run("validate", "new", 1, 1).startswith("1 1 ")
        assert java.run("topics") == "orders payments plain"
        assert java.run("add-partitions", "plain", 3) == "done"
        assert java.run("describe", "plain").endswith(" 0:[1] 1:[2] 2:[3]")
        assert java.run("add-partitions", "plain", 2) == "! InvalidPartitionsException"
        assert java.run("delete", "plain") == "done"
        assert java.run("delete", "plain") == "! UnknownTopicOrPartitionException"
        assert java.run("delete-id", made[2]) == "done"
        assert java.run("delete-id", made[2]) == "! UnknownTopicIdException"
        assert java.run("topics") == "orders"
    finally:
        java.end()
