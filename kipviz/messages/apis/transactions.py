"""The APIs of transactions: an identity, its partitions and offsets, the end, and the markers."""

from __future__ import annotations

from kipviz.messages.apis.api import NO_RELEASE, Api, Case, Role, Shard
from kipviz.messages.apis.retries import OF_A_COORDINATOR, OF_A_LEADER
from kipviz.messages.apis.rights import (
    INTER_BROKER,
    READ_GROUP,
    WRITE_ADDED,
    WRITE_ID,
    Need,
    Operation,
    Resource,
)
from kipviz.messages.errors import Errors
from kipviz.messages.group_transactions import InitProducerIdOfGroup
from kipviz.messages.liveness import TxnHeartbeat, TxnHeartbeatResponse
from kipviz.messages.message import Message, in_one
from kipviz.messages.transactions import (
    AddOffsetsToTxn,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    InitProducerIdResponse,
    PartitionResult,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
    with_error,
)
from kipviz.messages.two_phase import InitProducerId2Pc, InitProducerId2PcResponse

# Versions 0 to 3 are sent by clients, the later ones by brokers.
LAST_OF_A_CLIENT = 3
OF_A_CLIENT = "AddPartitionsToTxn, versions 0-3"
NAMELESS = "InitProducerId, no transactional id"
# A producer without a transactional id; WRITE of any topic does for its identity, too.
_NAMELESS = Case(
    NAMELESS,
    lambda m: m.transactional_id is None,
    (Need(Operation.IDEMPOTENT_WRITE, Resource.CLUSTER, "KafkaApis, KIP-679"),),
)


def _markers_refused(request: WriteTxnMarkers, error: Errors) -> Message:
    whole: Message = in_one(
        WriteTxnMarkersResponse(
            each.producer_id, tuple(PartitionResult(p, error) for p in each.partitions)
        )
        for each in request.of_transactions
    )
    return whole


APIS: tuple[Api, ...] = (
    Api(
        request=InitProducerId,
        response=InitProducerIdResponse,
        role=Role.TRANSACTION_COORDINATOR,
        shard=Shard.TRANSACTIONAL_ID,
        needs=(WRITE_ID,),
        cases=(_NAMELESS,),
        refusal=lambda _, error: InitProducerIdResponse(error),
        clause="KIP-98 InitPidRequest; KIP-360",
        kafka="TransactionCoordinator.handleInitProducerId",
        answer_in="TransactionManager.InitProducerIdHandler",
        admin_retries=(*OF_A_COORDINATOR, Errors.CONCURRENT_TRANSACTIONS),
        may_be_late=True,
    ),
    Api(
        request=InitProducerId2Pc,
        response=InitProducerId2PcResponse,
        role=Role.TRANSACTION_COORDINATOR,
        shard=Shard.TRANSACTIONAL_ID,
        needs=(
            WRITE_ID,
            Need(Operation.TWO_PHASE_COMMIT, Resource.TRANSACTIONAL_ID, "KafkaApis, KIP-939"),
        ),
        cases=(Case("InitProducerId", lambda m: not m.enable_2pc, (WRITE_ID,)), _NAMELESS),
        refusal=lambda _, error: InitProducerId2PcResponse(error),
        clause="KIP-939 Enable2Pc and KeepPreparedTxn (version 6, unstable; keeping is pull request 21735)",
        kafka="none yet (PR 21735)",
        answer_in="TransactionManager.InitProducerIdHandler",
        words=("InitProducerId 2PC", "InitProducerId 2PC ok"),
        may_be_late=True,
        since="4.1.0",
    ),
    Api(
        request=InitProducerIdOfGroup,
        response=InitProducerIdResponse,
        role=Role.TRANSACTION_COORDINATOR,
        shard=Shard.TRANSACTIONAL_ID,
        needs=(WRITE_ID,),
        cases=(_NAMELESS,),
        refusal=lambda _, error: InitProducerIdResponse(error),
        clause="KIP-447, first draft: InitProducerId API, Fencing zombie (given up before 2.5)",
        kafka="none yet (PR none)",
        answer_in="none yet (PR none)",
        words=("InitProducerId of group", ""),
        may_be_late=True,
        since=NO_RELEASE,
    ),
    Api(
        request=TxnHeartbeat,
        response=TxnHeartbeatResponse,
        role=Role.TRANSACTION_COORDINATOR,
        shard=Shard.TRANSACTIONAL_ID,
        needs=(
            Need(Operation.WRITE, Resource.TRANSACTIONAL_ID, "KIP-1309 Access Control", "draft"),
        ),
        refusal=lambda _, error: TxnHeartbeatResponse(error),
        clause="KIP-1309 TxnHeartbeat (draft: no fields, no errors)",
        kafka="none yet (PR none)",
        answer_in="none yet (PR none)",
        words=("heartbeat", "heard"),
        heartbeat=True,
        since=NO_RELEASE,
    ),
    Api(
        request=AddPartitionsToTxn,
        response=AddPartitionsToTxnResponse,
        role=Role.TRANSACTION_COORDINATOR,
        shard=Shard.TRANSACTIONAL_ID,
        needs=INTER_BROKER,
        cases=(
            Case(OF_A_CLIENT, lambda m: m.version <= LAST_OF_A_CLIENT, (WRITE_ID, WRITE_ADDED)),
        ),
        refusal=with_error,
        clause="KIP-98 AddPartitionsToTxnRequest; KIP-890, AddPartitionsToTxn version 5",
        kafka="TransactionCoordinator.handleAddPartitionsToTransaction",
        answer_in="AddPartitionsToTxnManager; TransactionManager.AddPartitionsToTxnHandler",
        words=("enlist partition", "enlisted"),
        may_be_late=True,
        since="3.6",
    ),
    Api(
        request=AddOffsetsToTxn,
        response=AddOffsetsToTxnResponse,
        role=Role.TRANSACTION_COORDINATOR,
        shard=Shard.TRANSACTIONAL_ID,
        needs=(WRITE_ID, READ_GROUP),
        refusal=lambda _, error: AddOffsetsToTxnResponse(error),
        clause="KIP-98 AddOffsetsToTxnRequest",
        kafka="KafkaApis.handleAddOffsetsToTxnRequest",
        answer_in="TransactionManager.AddOffsetsToTxnHandler",
        words=("enlist offsets", "enlisted"),
        may_be_late=True,
    ),
    Api(
        request=EndTxn,
        response=EndTxnResponse,
        role=Role.TRANSACTION_COORDINATOR,
        shard=Shard.TRANSACTIONAL_ID,
        needs=(WRITE_ID,),
        refusal=lambda _, error: EndTxnResponse(error),
        clause="KIP-98 EndTxnRequest; KIP-890 part 2, EndTxn version 5",
        kafka="TransactionCoordinator.endTransaction",
        answer_in="TransactionManager.EndTxnHandler",
        may_be_late=True,
        newest=(("2.4", 1), ("3.5", 3), ("3.6", 3), ("3.9", 4), ("4.1.0", 5), ("4.3", 5)),
    ),
    Api(
        request=WriteTxnMarkers,
        response=WriteTxnMarkersResponse,
        role=Role.KAFKA_APIS,
        shard=Shard.FIRST_PARTITION,
        needs=(Need(Operation.ALTER, Resource.CLUSTER, alternative=Operation.CLUSTER_ACTION),),
        refusal=_markers_refused,
        clause="KIP-98 WriteTxnMarkerRequest; KIP-1228",
        kafka="KafkaApis.handleWriteTxnMarkersRequest",
        answer_in="TransactionMarkerRequestCompletionHandler",
        words=("", "marker written"),
        admin_retries=OF_A_LEADER,
        may_be_late=True,
    ),
)
