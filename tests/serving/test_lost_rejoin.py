"""kafka-python loses what it is assigned if poll() returns before the response to its second SyncGroup.

Its first join ends before it knows its topic, so it gets no partition, and it joins again when the topic is there. The
server's steps are the same in both tests; they differ in how long poll() waits.
"""

import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

import kipviz
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.membership.classic_group import GroupState
from tests.patience import PATIENCE, until

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.admin import NewTopic

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.usefixtures("kafka_python_is_swept"),
]
TOPIC = TopicPartition("later", 0)


@pytest.fixture
def server():
    # kafka-python allows every lookup to create topics, whatever allow_auto_create_topics says.
    with kipviz.serve(time="model", auto_create_topics=False) as served:
        yield served


@pytest.fixture
def consumer(server):
    """A member of a group whose second SyncGroup will be held; its topic was created after its first one."""
    servers = server.bootstrap_servers.split(",")
    client = KafkaConsumer(
        TOPIC.topic,
        bootstrap_servers=servers,
        group_id="g",
        client_id="c",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        retry_backoff_ms=20,
    )
    # It has looked the topic up, has joined with what it was told, and is at rest.
    until(lambda: client.poll(1_000) == {} and joined_with(client, {TOPIC.topic: set()}))
    assert (client.assignment(), assigned(server)) == (set(), [()])
    server.rule("hold SyncGroup")
    admin = KafkaAdminClient(bootstrap_servers=servers)
    admin.create_topics([NewTopic(TOPIC.topic, 1, 1)])
    admin.close()
    yield client
    server.release()
    client.close()


def joined_with(client, partitions):
    """Return whether a client has made its assignment with these partitions, and wants no other."""
    mine = client._coordinator
    done = mine._join_task is None or mine._join_task.is_done
    return done and mine._assignment_snapshot == partitions and not mine.need_rejoin()


def assigned(server):
    """Return what each member of the group has, as its coordinator knows it, once the group is stable."""
    roles = server.cluster.world.roles.values()
    groups = (role.classic_groups.get("g") for role in roles if isinstance(role, GroupCoordinator))
    group = next(filter(None, groups), None)
    stable = group is not None and group.state is GroupState.STABLE
    return [member.assigned for member in group.members.values()] if stable else []


def test_a_poll_that_returns_before_the_response_to_sync_group_loses_the_assignment(
    server, consumer
):
    until(lambda: consumer.poll(100) == {} and server.held())
    server.release()
    until(lambda: assigned(server) == [("later-0",)])
    # The response is there; no later poll looks at it, because nothing asks for a rejoin any longer.
    until(lambda: consumer.poll(100) == {} and joined_with(consumer, {TOPIC.topic: {0}}))
    assert consumer.poll(100) == {}
    assert consumer.assignment() == set()


def test_one_poll_that_waits_for_the_response_gets_it(server, consumer):
    with ThreadPoolExecutor(1) as thread:
        polled = thread.submit(consumer.poll, timeout_ms=1_000 * PATIENCE)
        server.wait_held("SyncGroup", PATIENCE)
        server.release()
        producer = KafkaProducer(bootstrap_servers=server.bootstrap_servers.split(","))
        producer.send(TOPIC.topic, value=b"read", partition=0).get(PATIENCE)
        producer.close()
        assert [record.value for record in polled.result(PATIENCE)[TOPIC]] == [b"read"]
    assert consumer.assignment() == {TOPIC}
