"""DescribeTransactions and DescribeProducers of a real client: the arrays of one request are one message."""

from kipviz.serving.served_cluster import ServedCluster
from kipviz.serving.served_spec import cluster_of, to_serve
from kipviz.serving.translating.apis import APIS
from tests.serving.frames import KAFKA, answer, frame

# It is sent, delivered, and its response is delivered.
ONE_MESSAGE = 3
INIT_PRODUCER_ID = 22
DESCRIBE_PRODUCERS, DESCRIBE_TRANSACTIONS = 61, 65
UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC, INVALID_REQUEST, NOT_FOUND = 3, 17, 42, 105


def one_broker() -> ServedCluster:
    spec = to_serve(cluster_of({"orders": 2, "bills": 1}, brokers=1))
    return ServedCluster(KAFKA.model(spec), {1: 1})


def ask(cluster, key, **said):
    caller = cluster.connect(1)
    before = cluster.steps
    cluster.feed(caller, frame(key, APIS[key].highest, **said))
    assert not cluster.lines
    told = answer(caller, APIS[key].response, APIS[key].highest)
    return told, cluster.steps - before


def test_transactional_ids_are_one_message_and_each_has_a_result():
    cluster = one_broker()
    for name in ("t1", "t2"):
        said = {"TransactionalId": name, "TransactionTimeoutMs": 60_000}
        ask(cluster, INIT_PRODUCER_ID, ProducerId=-1, ProducerEpoch=-1, **said)
    names = ("t2", "absent", "", "t1", "t2")
    told, steps = ask(cluster, DESCRIBE_TRANSACTIONS, TransactionalIds=names)
    assert steps == ONE_MESSAGE
    states = told["TransactionStates"]
    assert [(s["TransactionalId"], s["ErrorCode"]) for s in states] == [
        ("t2", 0),
        ("absent", NOT_FOUND),
        ("", INVALID_REQUEST),
        ("t1", 0),
        ("t2", 0),
    ]
    assert [s["TransactionState"] for s in states] == ["Empty", "", "", "Empty", "Empty"]
    none, steps = ask(cluster, DESCRIBE_TRANSACTIONS, TransactionalIds=())
    assert (none["TransactionStates"], steps) == ((), 0)


def test_partitions_are_one_message_and_each_has_a_result():
    cluster = one_broker()
    topics = (
        {"Name": "orders", "PartitionIndexes": (1, 0, 7)},
        {"Name": "bad/name", "PartitionIndexes": (0,)},
        {"Name": "bills", "PartitionIndexes": (0,)},
        {"Name": "orders-2", "PartitionIndexes": ()},
        {"Name": "__transaction_state", "PartitionIndexes": (3,)},
    )
    told, steps = ask(cluster, DESCRIBE_PRODUCERS, Topics=topics)
    assert steps == ONE_MESSAGE
    assert [
        (t["Name"], [(p["PartitionIndex"], p["ErrorCode"]) for p in t["Partitions"]])
        for t in told["Topics"]
    ] == [
        ("orders", [(1, 0), (0, 0), (7, UNKNOWN_TOPIC_OR_PARTITION)]),
        ("bad/name", [(0, INVALID_TOPIC)]),
        ("bills", [(0, 0)]),
        ("orders-2", []),
        ("__transaction_state", [(3, 0)]),
    ]
