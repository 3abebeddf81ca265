"""Operators alter and delete groups, offsets, records and ACLs in the served cluster, with real admin clients."""

import contextlib
import warnings

import pytest

import kipviz
from kipviz.serving.served_spec import cluster_of
from tests.patience import PATIENCE
from tests.serving.operators.admin_clients import JavaAdmin, python_admin

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it reads its own files by an old function
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition, errors
    from kafka.structs import OffsetAndMetadata

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.usefixtures("kafka_python_is_swept"),
]
ORDERS = TopicPartition("orders", 0)


@pytest.fixture
def server():
    with kipviz.serve(cluster_of({"orders": 1, "others": 1})) as served:
        yield served


@pytest.fixture
def admin(server):
    with contextlib.closing(python_admin(server)) as client:
        yield client


@pytest.fixture
def java(server):
    client = JavaAdmin(server)
    yield client
    client.end()


def produce(server, *values):
    producer = KafkaProducer(bootstrap_servers=server.bootstrap_servers.split(","))
    with contextlib.closing(producer):
        for value in values:
            producer.send("orders", value=value).get(PATIENCE)


@contextlib.contextmanager
def member(server, group="g"):
    consumer = KafkaConsumer(
        "orders",
        bootstrap_servers=server.bootstrap_servers.split(","),
        group_id=group,
        auto_offset_reset="earliest",
        retry_backoff_ms=10,
    )
    with contextlib.closing(consumer):
        # One long poll, which ends with the first record. kafka-python drops a rejoin if a poll ends between its assignment
        # and the response to SyncGroup: then it never looks at that response, and sends no heartbeat until its session expires.
        assert consumer.poll(PATIENCE * 1_000)
        yield consumer


def offsets(admin, group="g"):
    found = admin.list_group_offsets({group: None})[group]
    return {p: o.offset for p, o in found.items() if o.offset >= 0}


def test_a_group_with_members_is_not_deleted_and_an_empty_one_is(server, admin):
    produce(server, b"1")
    with member(server):
        assert "NonEmptyGroup" in str(admin.delete_groups(["g"]))
    admin.alter_group_offsets("g", {ORDERS: OffsetAndMetadata(0, "", -1)})
    admin.delete_groups(["g"])
    assert offsets(admin) == {}
    assert "GroupIdNotFound" in str(admin.delete_groups(["g"]))


def raise_first(told):
    """Raise the first error among the results of several groups or partitions, whatever form the client gives them."""
    for error in told.values() if isinstance(told, dict) else (each[1] for each in told):
        if isinstance(error, Exception):
            raise error
        if isinstance(error, type) and issubclass(error, Exception) and error is not errors.NoError:
            raise error


def test_offsets_are_altered_and_deleted_by_an_operator(server, admin):
    produce(server, b"1", b"2")
    admin.alter_group_offsets("g", {ORDERS: OffsetAndMetadata(1, "", -1)})
    assert offsets(admin) == {ORDERS: 1}
    with member(server):
        with pytest.raises(errors.GroupSubscribedToTopicError):
            raise_first(admin.delete_group_offsets("g", [ORDERS]))
        with pytest.raises(errors.UnknownMemberIdError):
            raise_first(admin.alter_group_offsets("g", {ORDERS: OffsetAndMetadata(0, "", -1)}))
    raise_first(admin.delete_group_offsets("g", [ORDERS]))
    assert offsets(admin) == {}


def test_records_are_deleted_up_to_an_offset(server, admin):
    produce(server, b"1", b"2", b"3")
    admin.delete_records({ORDERS: 2})
    assert [value for _, value, _ in server.records("orders-0")] == ["3"]
    with member(server) as consumer:
        assert consumer.beginning_offsets([ORDERS]) == {ORDERS: 2}
    with pytest.raises(errors.OffsetOutOfRangeError):
        admin.delete_records({ORDERS: 9})
    with pytest.raises(errors.UnknownTopicOrPartitionError):
        admin.delete_records({TopicPartition("none", 0): 1})


def test_an_operators_deletion_can_be_held_and_lost(server, admin):
    produce(server, b"1")
    before = server.step
    server.rule("lose the 1st DeleteRecordsResponse")
    with contextlib.suppress(errors.KafkaError):
        admin.delete_records({ORDERS: 1})
    assert server.records("orders-0") == ()
    server.back(before)
    assert [value for _, value, _ in server.records("orders-0")] == ["1"]


def test_javas_admin_client_alters_and_deletes_groups_and_records(server, java):
    produce(server, b"1", b"2", b"3")
    assert java.run("set-offset", "g", "orders", 0, 2) == "done"
    assert java.run("offset", "g", "orders", 0) == "2"
    assert java.run("groups") == "g"
    with member(server):
        assert java.run("set-offset", "g", "orders", 0, 1) == "! UnknownMemberIdException"
        assert java.run("forget-offset", "g", "orders", 0) == "! GroupSubscribedToTopicException"
        assert java.run("delete-group", "g") == "! GroupNotEmptyException"
    assert java.run("forget-offset", "g", "orders", 0) == "done"
    assert java.run("offset", "g", "orders", 0) == "none"
    # With its last offset a group that has no members is gone, too.
    assert java.run("set-offset", "g", "orders", 0, 1) == "done"
    assert java.run("delete-group", "g") == "done"
    assert java.run("delete-group", "g") == "! GroupIdNotFoundException"
    assert java.run("delete-records", "orders", 0, 2) == "2"
    assert java.run("delete-records", "orders", 0, -1) == "3"
    assert java.run("delete-records", "orders", 0, 7) == "! OffsetOutOfRangeException"


def test_javas_admin_client_alters_and_deletes_the_offsets_of_a_share_group(server, java):
    produce(server, b"1", b"2", b"3")
    assert java.run("set-share-offset", "s", "orders", 0, 2) == "done"
    assert java.run("share-offset", "s", "orders", 0) == "2"
    assert java.run("forget-share-offsets", "s", "orders") == "done"
    assert java.run("share-offset", "s", "orders", 0) == "none"
    assert java.run("delete-share-group", "s") == "done"
    assert java.run("delete-share-group", "s") == "! GroupIdNotFoundException"
    assert java.run("forget-share-offsets", "s", "orders") == "! GroupIdNotFoundException"
