"""The APIs of a partition's log: append, read, and look up an offset."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Case, Role, Shard
from kipviz.messages.apis.rights import DESCRIBE_TOPIC, READ_TOPIC, WRITE_EACH, WRITE_ID
from kipviz.messages.errors import Errors
from kipviz.messages.list_offsets import ListOffsets, ListOffsetsResponse
from kipviz.messages.producing import Fetch, FetchResponse, Produce, ProduceResponse, in_one_answer

OF_A_PLAIN_ONE = "Produce, no transactional id"


def refused_in_each(request: Produce, error: Errors) -> ProduceResponse:
    """Return the response to a Produce request that has an error for each of its partitions."""
    asked = ((part.partition, part.base_sequence) for part in request.parts)
    parts = (ProduceResponse(error, *each, -1, request.correlation_id) for each in asked)
    return in_one_answer(tuple(parts))


APIS: tuple[Api, ...] = (
    Api(
        request=Produce,
        response=ProduceResponse,
        role=Role.PARTITION_LEADER,
        shard=Shard.PARTITION,
        needs=(WRITE_ID, WRITE_EACH),
        cases=(Case(OF_A_PLAIN_ONE, lambda m: not m.transactional_id, (WRITE_EACH,)),),
        refusal=refused_in_each,
        clause="KIP-98 Produce; KIP-890 part 2, Produce version 12",
        kafka="ReplicaManager.handleProduceAppend",
        answer_in="Sender.handleProduceResponse",
        topic_ids_from=13,
        by_name=True,
        may_be_late=True,
        newest=(("2.4", 8), ("3.5", 9), ("3.6", 9), ("3.9", 11), ("4.1.0", 13), ("4.3", 13)),
    ),
    Api(
        request=Fetch,
        response=FetchResponse,
        role=Role.PARTITION_LEADER,
        shard=Shard.PARTITION,
        needs=(READ_TOPIC,),
        refusal=lambda m, error: FetchResponse(error, m.partition),
        clause="KIP-98 Read Committed",
        kafka="UnifiedLog.read",
        answer_in="AbstractFetch.handleFetchSuccess",
        topic_ids_from=13,
    ),
    Api(
        request=ListOffsets,
        response=ListOffsetsResponse,
        role=Role.PARTITION_LEADER,
        shard=Shard.PARTITION,
        needs=(DESCRIBE_TOPIC,),
        refusal=lambda m, error: ListOffsetsResponse(error, m.partition),
        clause="KIP-98 ListOffsets version 2",
        kafka="Partition.fetchOffsetForTimestamp",
        answer_in="OffsetsRequestManager.resetPositionsIfNeeded",
        words=("where does it begin, or end", "offset told"),
        by_name=True,
    ),
)
