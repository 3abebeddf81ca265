"""FindCoordinator of a real client: one message of the model for all keys, which rules hold and lose."""

import warnings
from threading import Thread

import pytest

import kipviz
from kipviz.messages.cluster.coordinators import GROUP, SHARE, TRANSACTION
from kipviz.serving.served_cluster import ServedCluster
from kipviz.serving.served_spec import cluster_of, to_serve
from kipviz.serving.translating.apis import APIS
from tests.patience import PATIENCE, until
from tests.serving.frames import KAFKA, answer, frame

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.usefixtures("kafka_python_is_swept"),
]
FIND_COORDINATOR = 10
NEWEST = APIS[FIND_COORDINATOR].highest
INVALID_REQUEST = 42
# It is sent, delivered, and its response is delivered.
ONE_MESSAGE = 3
ORDERS = TopicPartition("orders", 0)


@pytest.fixture
def cluster():
    spec = to_serve(cluster_of(["orders"], brokers=1))
    return ServedCluster(KAFKA.model(spec), {1: 9092})


def ask(cluster, version, **said):
    caller = cluster.connect(1)
    before = cluster.steps
    cluster.feed(caller, frame(FIND_COORDINATOR, version, **said))
    assert not cluster.lines
    return answer(caller, APIS[FIND_COORDINATOR].response, version), cluster.steps - before


@pytest.mark.parametrize(
    ("key_type", "keys"),
    [
        (GROUP, ("g", "h", "g")),
        (TRANSACTION, ("t", "u", "v")),
        (SHARE, ("g:AAAAAAAAAAAAAAAAAAAAAg:0", "g:AAAAAAAAAAAAAAAAAAAAAg:1")),
    ],
)
def test_all_keys_of_a_lookup_are_one_message(cluster, key_type, keys):
    told, steps = ask(cluster, NEWEST, KeyType=key_type, CoordinatorKeys=keys)
    assert steps == ONE_MESSAGE
    assert [
        (each["Key"], each["ErrorCode"], each["NodeId"], each["Host"], each["Port"])
        for each in told["Coordinators"]
    ] == [(key, 0, 1, "127.0.0.1", 9092) for key in keys]


@pytest.mark.parametrize("version", [0, 3])
def test_before_version_4_a_lookup_has_one_key_and_its_result_is_the_response(cluster, version):
    said = {"KeyType": GROUP} if version else {}
    told, steps = ask(cluster, version, Key="g", **said)
    assert steps == ONE_MESSAGE
    assert (told["ErrorCode"], told["NodeId"], told["Port"]) == (0, 1, 9092)


@pytest.mark.parametrize(
    ("version", "key_type", "key"),
    [(NEWEST, 3, "g"), (NEWEST, SHARE, "g"), (5, SHARE, "g:AAAAAAAAAAAAAAAAAAAAAg:0")],
)
def test_a_lookup_of_an_unknown_type_or_form_is_rejected_by_the_model(
    cluster, version, key_type, key
):
    told, steps = ask(cluster, version, KeyType=key_type, CoordinatorKeys=(key,))
    assert steps == ONE_MESSAGE
    (found,) = told["Coordinators"]
    assert (found["ErrorCode"], found["NodeId"], found["Host"]) == (INVALID_REQUEST, -1, "")


def addresses(server):
    return server.bootstrap_servers.split(",")


def committed(server):
    consumer = KafkaConsumer(
        bootstrap_servers=addresses(server), client_id="c", group_id="g", retry_backoff_ms=10
    )
    try:
        return consumer.committed(ORDERS)
    finally:
        consumer.close()


def lookups(server, client):
    return [name for _, name in server.requests(client)].count("FindCoordinator")


@pytest.mark.parametrize("message", ["FindCoordinator", "FindCoordinatorResponse"])
def test_a_held_lookup_of_a_group_waits_until_it_is_delivered(message):
    with kipviz.serve(rules=[f"hold {message}"]) as server:
        told = []
        waits = Thread(target=lambda: told.append(committed(server)))
        waits.start()
        until(server.held)
        ((number, held, name),) = server.list_held()
        assert (held.source.partition("/")[0], name) == ("c", message)
        assert not told
        server.deliver(number)
        server.release()
        waits.join(PATIENCE)
        assert told == [None]
        assert server.log == ()


@pytest.mark.parametrize("message", ["FindCoordinator", "FindCoordinatorResponse"])
def test_after_a_lost_lookup_a_client_looks_again(message):
    with kipviz.serve(rules=[f"lose the 1st {message}"]) as server:
        assert committed(server) is None
        assert lookups(server, "c") > 1
        client = KafkaProducer(
            bootstrap_servers=addresses(server), transactional_id="t", retry_backoff_ms=10
        )
        client.init_transactions()
        client.begin_transaction()
        client.send("orders", value=b"once", partition=0)
        client.commit_transaction()
        client.close()
        assert [value for _, value, _ in server.records("orders-0")] == ["once"]


def test_a_lookup_of_a_group_is_on_the_page():
    with kipviz.serve() as server:
        assert committed(server) is None
        titles = [step["title"] for step in kipviz.open(server).payload["steps"]]
    assert "c sends FindCoordinator" in titles
