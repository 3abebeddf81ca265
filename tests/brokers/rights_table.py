"""The rights of requests: those of the rows in one table, those that Kafka's sources have, and an example of each.

A new row of an API adds a line to `KAFKA_APIS`, and an example to `REQUESTS` if a right depends on what the request names.
"""

from __future__ import annotations

from kipviz.messages.apis.catalogue import APIS
from kipviz.messages.apis.cluster.coordinators import OF_GROUPS, OF_SHARE_PARTITIONS
from kipviz.messages.apis.groups.offset_fetch import OF_ALL_TOPICS
from kipviz.messages.apis.logs.produce import OF_A_PLAIN_ONE
from kipviz.messages.apis.rights import Need
from kipviz.messages.apis.transactions.added_partitions import OF_A_CLIENT
from kipviz.messages.apis.transactions.producer_ids import NAMELESS, OF_TWO_PHASE_COMMIT
from kipviz.messages.cluster.acls import (
    LITERAL,
    AclEntry,
    AclFilter,
    CreateAcls,
    DeleteAcls,
    DescribeAcls,
)
from kipviz.messages.cluster.configs import (
    OF_TOPIC,
    AlterConfigsResource,
    DescribeConfigs,
    DescribeConfigsResource,
    IncrementalAlterConfigs,
)
from kipviz.messages.cluster.coordinators import GROUP, SHARE, TRANSACTION, FindCoordinator
from kipviz.messages.cluster.metadata import Metadata
from kipviz.messages.cluster.topic_creation import (
    CreatableTopic,
    CreatePartitions,
    CreatePartitionsTopic,
    CreateTopics,
)
from kipviz.messages.cluster.topic_deletion import DeleteTopics, DeleteTopicState
from kipviz.messages.groups.classic_groups import (
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    Leaver,
    SyncGroup,
)
from kipviz.messages.groups.group_admin import (
    ConsumerGroupDescribe,
    DescribeGroups,
    ListGroups,
    OffsetDelete,
)
from kipviz.messages.groups.groups import (
    GroupOffset,
    OffsetCommit,
    TxnOffsetCommit,
    fetch_offsets,
)
from kipviz.messages.groups.membership import ConsumerGroupHeartbeat
from kipviz.messages.logs.deleted_records import DeleteRecords, DeleteRecordsPartition
from kipviz.messages.logs.list_offsets import ListOffsets, ListOffsetsPartition
from kipviz.messages.logs.producing import Fetch, FetchPartition, PartitionProduceData, Produce
from kipviz.messages.message import Message
from kipviz.messages.shares.share_admin import (
    AlterShareGroupOffsets,
    DeleteGroups,
    DeleteShareGroupOffsets,
    DescribeShareGroupOffsets,
    ShareGroupDescribe,
    ShareOffsetsGroup,
)
from kipviz.messages.shares.share_membership import ShareGroupHeartbeat
from kipviz.messages.shares.share_state import (
    InitializeShareGroupState,
    InitializeStateData,
)
from kipviz.messages.transactions.admin import (
    DescribeProducers,
    DescribeTransactions,
    ListTransactions,
)
from kipviz.messages.transactions.group_transactions import InitProducerIdOfGroup
from kipviz.messages.transactions.liveness import TxnHeartbeat
from kipviz.messages.transactions.transactions import (
    TWO_PHASE,
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndTxn,
    InitProducerId,
    TxnMarker,
    TxnPartitions,
    WriteTxnMarkers,
)
from kipviz.records.classic_groups import Subscription
from tests.messages.offset_fetches import fetch_all
from tests.messages.shares import acknowledges, fetches, stages

NEEDS: dict[str, tuple[Need, ...]] = {
    **{case.name: case.needs for api in APIS for case in api.cases},
    **{api.name: api.needs for api in APIS},
}

# KafkaApis of 4.4, one line for each request. What only leaves something out of an answer stands in
# brackets, "each" is said where every topic has an error of its own.
KAFKA_APIS = {
    "Produce": "WRITE TRANSACTIONAL_ID; WRITE TOPIC each",
    OF_A_PLAIN_ONE: "WRITE TOPIC each",
    "Fetch": "READ TOPIC each",
    "ListOffsets": "DESCRIBE TOPIC each",
    "Metadata": "DESCRIBE TOPIC each",
    "FindCoordinator": "DESCRIBE TRANSACTIONAL_ID",
    OF_GROUPS: "DESCRIBE GROUP",
    OF_SHARE_PARTITIONS: "CLUSTER_ACTION CLUSTER",
    "OffsetCommit": "READ GROUP; READ TOPIC each",
    "OffsetFetch": "DESCRIBE GROUP; DESCRIBE TOPIC",
    "OffsetDelete": "DELETE GROUP; READ TOPIC",
    OF_ALL_TOPICS: "DESCRIBE GROUP; [DESCRIBE TOPIC]",
    "JoinGroup": "READ GROUP",
    "SyncGroup": "READ GROUP",
    "Heartbeat": "READ GROUP",
    "LeaveGroup": "READ GROUP",
    "DescribeGroups": "DESCRIBE GROUP",
    "ListGroups": "[DESCRIBE GROUP]",
    "DeleteGroups": "DELETE GROUP",
    "ConsumerGroupHeartbeat": "READ GROUP; DESCRIBE TOPIC",
    "ConsumerGroupDescribe": "DESCRIBE GROUP",
    "InitProducerId": "WRITE TRANSACTIONAL_ID",
    NAMELESS: "IDEMPOTENT_WRITE CLUSTER",
    OF_TWO_PHASE_COMMIT: "WRITE TRANSACTIONAL_ID; TWO_PHASE_COMMIT TRANSACTIONAL_ID",
    OF_A_CLIENT: "WRITE TRANSACTIONAL_ID; WRITE TOPIC",
    "AddPartitionsToTxn": "CLUSTER_ACTION CLUSTER",
    "AddOffsetsToTxn": "WRITE TRANSACTIONAL_ID; READ GROUP",
    "TxnOffsetCommit": "WRITE TRANSACTIONAL_ID; READ GROUP; READ TOPIC each",
    "EndTxn": "WRITE TRANSACTIONAL_ID",
    "WriteTxnMarkers": "ALTER or CLUSTER_ACTION CLUSTER",
    "DescribeProducers": "READ TOPIC each",
    "DescribeTransactions": "DESCRIBE TRANSACTIONAL_ID",
    "ListTransactions": "[DESCRIBE TRANSACTIONAL_ID]",
    "ShareGroupHeartbeat": "READ GROUP; DESCRIBE TOPIC",
    "ShareGroupDescribe": "DESCRIBE GROUP",
    "ShareFetch": "READ GROUP; READ TOPIC each",
    "ShareAcknowledge": "READ GROUP; READ TOPIC",
    "DescribeShareGroupOffsets": "DESCRIBE GROUP; [DESCRIBE TOPIC]",
    "AlterShareGroupOffsets": "READ GROUP; READ TOPIC each",
    "DeleteShareGroupOffsets": "DELETE GROUP; READ TOPIC each",
    "CreateTopics": "CREATE TOPIC each or of CLUSTER",
    "CreatePartitions": "ALTER TOPIC each",
    "DeleteRecords": "DELETE TOPIC each",
    "DeleteTopics": "DELETE TOPIC each or of CLUSTER",
    "DescribeConfigs": "[DESCRIBE_CONFIGS TOPIC]; [DESCRIBE_CONFIGS CLUSTER]",
    "IncrementalAlterConfigs": "[ALTER_CONFIGS TOPIC]; [ALTER_CONFIGS CLUSTER]",
    "DescribeAcls": "DESCRIBE CLUSTER",
    "CreateAcls": "ALTER CLUSTER",
    "DeleteAcls": "ALTER CLUSTER",
    "InitializeShareGroupState": "CLUSTER_ACTION CLUSTER",
    "ReadShareGroupState": "CLUSTER_ACTION CLUSTER",
    "WriteShareGroupState": "CLUSTER_ACTION CLUSTER",
    "DeleteShareGroupState": "CLUSTER_ACTION CLUSTER",
    "ReadShareGroupStateSummary": "CLUSTER_ACTION CLUSTER",
}

REQUESTS: dict[str, Message] = {
    type(m).__name__: m
    for m in (
        InitProducerId("t"),
        InitProducerIdOfGroup("t", group_id="g"),
        AddPartitionsToTxn((TxnPartitions("t", 9, 0, ("out-0",)),)),
        AddOffsetsToTxn("t", 9, 0, "g"),
        EndTxn("t", 9, 0, committed=True),
        TxnHeartbeat("t", 9, 0),
        WriteTxnMarkers((TxnMarker(9, 0, True, ("out-0",), 0),)),
        Produce("t", (PartitionProduceData("out-0", 9, 0, 0, ()),)),
        Fetch((FetchPartition("out-0", 0),), read_committed=True),
        ListOffsets((ListOffsetsPartition("out-0", -1),)),
        fetch_offsets("g", ("out-0",)),
        OffsetCommit("g", "m", 1, (GroupOffset("out-0", 1),)),
        TxnOffsetCommit("t", "g", 9, 0, "m", 1, (GroupOffset("out-0", 1),)),
        ConsumerGroupHeartbeat("g", "m", 1, ("out",)),
        FindCoordinator(TRANSACTION, ("t",)),
        JoinGroup("g", "m", Subscription(("src",))),
        SyncGroup("g", 1, "m"),
        Heartbeat("g", 1, "m"),
        LeaveGroup("g", (Leaver("m"),)),
        Metadata(("out",)),
        CreateTopics((CreatableTopic("out"),)),
        CreatePartitions((CreatePartitionsTopic("out", 2),)),
        DeleteTopics((DeleteTopicState("out"),)),
        DeleteRecords((DeleteRecordsPartition("out-0", 1),)),
        DescribeConfigs((DescribeConfigsResource(OF_TOPIC, "out"),)),
        IncrementalAlterConfigs((AlterConfigsResource(OF_TOPIC, "out", ()),)),
        ShareGroupHeartbeat("g", "m", 1, ("out",)),
        InitializeShareGroupState((InitializeStateData("g:T:0", 2, -1),)),
        fetches("m", 0, "out-0", 1, group_id="g"),
        acknowledges("g", "m", 1, "out-0", ()),
        stages("t", "g", 9, 0, "m", 1, "out-0", ()),
        ListTransactions(),
        DescribeTransactions(("t",)),
        DescribeProducers(("out-0",)),
        ShareGroupDescribe(("g",)),
        DescribeShareGroupOffsets((ShareOffsetsGroup("g"),)),
        AlterShareGroupOffsets("g", (("out-0", 5),)),
        DeleteShareGroupOffsets("g", ("out",)),
        DeleteGroups(("g",)),
        ListGroups(),
        DescribeGroups(("g",)),
        ConsumerGroupDescribe(("g",)),
        OffsetDelete("g", ("out-0",)),
        DescribeAcls(AclFilter()),
        CreateAcls((AclEntry("TOPIC", "out", LITERAL, "User:a", "READ"),)),
        DeleteAcls((AclFilter(),)),
    )
}
REQUESTS[NAMELESS] = InitProducerId(None)
REQUESTS[OF_TWO_PHASE_COMMIT] = InitProducerId("t", version=TWO_PHASE, enable_2pc=True)
REQUESTS[OF_A_PLAIN_ONE] = Produce("", (PartitionProduceData("out-0", 9, 0, 0, ()),))
REQUESTS[OF_GROUPS] = FindCoordinator(GROUP, ("g",))
REQUESTS[OF_SHARE_PARTITIONS] = FindCoordinator(SHARE, ("g:T:0",))
REQUESTS[OF_ALL_TOPICS] = fetch_all("g")
REQUESTS[OF_A_CLIENT] = AddPartitionsToTxn((TxnPartitions("t", 9, 0, ("out-0",)),), version=3)


def request(name: str) -> Message:
    """Return an example of a request; without one it is blank, which is enough for a right to the cluster."""
    if name in REQUESTS:
        return REQUESTS[name]
    (cls,) = [api.request for api in APIS if api.name == name]
    return cls(*("" for _ in cls.__struct_fields__))
