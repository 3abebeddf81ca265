"""A client of the served cluster that sends any request, through the connection that `kipviz watch` uses.

It speaks as clients before transaction version 2 do: later versions of Produce and EndTxn add partitions and count epochs.
"""

from contextlib import contextmanager

from kipviz.messages.apis.cluster import coordinators
from kipviz.messages.apis.groups import membership, offset_commit
from kipviz.messages.apis.logs import produce
from kipviz.messages.apis.shares import acknowledgements, share_fetch
from kipviz.messages.apis.transactions import added_partitions, ends, producer_ids
from kipviz.messages.errors import Errors
from kipviz.messages.wire.question import RequestFormat
from kipviz.watching.connection import Connection
from tests.recordings import made_logs

PRODUCE = RequestFormat(produce.PRODUCE_REQUEST, produce.PRODUCE_RESPONSE, 11)
INIT = RequestFormat(
    producer_ids.INIT_PRODUCER_ID_REQUEST, producer_ids.INIT_PRODUCER_ID_RESPONSE, 5
)
ADD = RequestFormat(
    added_partitions.ADD_PARTITIONS_TO_TXN_REQUEST,
    added_partitions.ADD_PARTITIONS_TO_TXN_RESPONSE,
    3,
)
END = RequestFormat(ends.END_TXN_REQUEST, ends.END_TXN_RESPONSE, 4)
COMMIT_OFFSETS = RequestFormat(
    offset_commit.TXN_OFFSET_COMMIT_REQUEST, offset_commit.TXN_OFFSET_COMMIT_RESPONSE, 5
)
WRITE_MARKERS = RequestFormat(ends.WRITE_TXN_MARKERS_REQUEST, ends.WRITE_TXN_MARKERS_RESPONSE)
FIND = RequestFormat(coordinators.FIND_COORDINATOR_REQUEST, coordinators.FIND_COORDINATOR_RESPONSE)
SHARE_HEARTBEAT = RequestFormat(
    membership.SHARE_GROUP_HEARTBEAT_REQUEST, membership.SHARE_GROUP_HEARTBEAT_RESPONSE
)
SHARE_FETCH = RequestFormat(share_fetch.SHARE_FETCH_REQUEST, share_fetch.SHARE_FETCH_RESPONSE)
SHARE_ACKNOWLEDGE = RequestFormat(
    acknowledgements.SHARE_ACKNOWLEDGE_REQUEST, acknowledgements.SHARE_ACKNOWLEDGE_RESPONSE
)
GROUP, TRANSACTION = 0, 1


class Wire:
    """Requests of a producer and of a share consumer, by hand."""

    def __init__(self, connection):
        self.ask = connection.ask

    def coordinator(self, key, kind=TRANSACTION):
        told = self.ask(-1, FIND, {"KeyType": kind, "CoordinatorKeys": (key,)})
        return told["Coordinators"][0]["NodeId"]

    def init(self, name, timeout_ms=60_000):
        """Return (producer id, epoch) of a transactional id."""
        asked = {"TransactionalId": name, "TransactionTimeoutMs": timeout_ms}
        told = self.ask(self.coordinator(name), INIT, asked)
        if told["ErrorCode"] == Errors.CONCURRENT_TRANSACTIONS:  # the old one is being aborted
            told = self.ask(self.coordinator(name), INIT, asked)
        assert told["ErrorCode"] == 0
        return told["ProducerId"], told["ProducerEpoch"]

    def add(self, name, who, *partitions):
        topics = tuple(
            {"Name": p.rpartition("-")[0], "Partitions": (int(p.rpartition("-")[2]),)}
            for p in partitions
        )
        asked = {
            "V3AndBelowTransactionalId": name,
            "V3AndBelowProducerId": who[0],
            "V3AndBelowProducerEpoch": who[1],
            "V3AndBelowTopics": topics,
        }
        told = self.ask(self.coordinator(name), ADD, asked)
        assert (
            told["ResultsByTopicV3AndBelow"][0]["ResultsByPartition"][0]["PartitionErrorCode"] == 0
        )

    def produce(self, name, who, sequence=0, broker=1, topic="orders"):
        """Append one record to partition 0 of a topic; return the error code."""
        data = made_logs.batch(0, pid=who[0], epoch=who[1], sequence=sequence)
        partition = {"Index": 0, "Records": data}
        topics = ({"Name": topic, "PartitionData": (partition,)},)
        asked = {"TransactionalId": name, "Acks": -1, "TimeoutMs": 1_000, "TopicData": topics}
        told = self.ask(broker, PRODUCE, asked)
        return told["Responses"][0]["PartitionResponses"][0]["ErrorCode"]

    def begin(self, name, timeout_ms=60_000, topic="orders"):
        """Open a transaction with one record; return (producer id, epoch)."""
        who = self.init(name, timeout_ms)
        self.add(name, who, f"{topic}-0")
        assert self.produce(name, who, topic=topic) == 0
        return who

    def end(self, name, who, *, commit=True):
        asked = {
            "TransactionalId": name,
            "ProducerId": who[0],
            "ProducerEpoch": who[1],
            "Committed": commit,
        }
        told = self.ask(self.coordinator(name), END, asked)
        assert told["ErrorCode"] == 0


def busy(server, ask, wire):
    """Leave open transactions, offsets that are not stable, and a share group with a backlog behind."""
    wire.begin("app-1")
    who = wire.begin("app-2")
    offsets = {"PartitionIndex": 0, "CommittedOffset": 1, "CommittedLeaderEpoch": -1}
    group = wire.coordinator("readers", GROUP)
    asked = {
        "TransactionalId": "app-2",
        "GroupId": "readers",
        "ProducerId": who[0],
        "ProducerEpoch": who[1],
        "Topics": ({"Name": "orders", "Partitions": (offsets,)},),
    }
    ask(group, COMMIT_OFFSETS, asked)
    topic_id = dict(server._spec.topic_ids)["orders"]
    member = {"GroupId": "workers", "MemberId": "m"}
    at = wire.coordinator("workers", GROUP)
    ask(at, SHARE_HEARTBEAT, member | {"MemberEpoch": 0, "SubscribedTopicNames": ("orders",)})
    part = {"PartitionIndex": 0, "AcknowledgementBatches": ()}
    fetch = {"ShareSessionEpoch": 0, "MaxWaitMs": 0, "MaxRecords": 500, "BatchSize": 500}
    ask(
        1, SHARE_FETCH, member | fetch | {"Topics": ({"TopicId": topic_id, "Partitions": (part,)},)}
    )


@contextmanager
def attach(server):
    """Give a connection to a served cluster, and a hand on it."""
    with Connection(server.bootstrap_servers) as connection:
        yield connection.ask, Wire(connection)
