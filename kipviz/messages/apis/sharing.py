"""The APIs of a share-partition leader: acquire records, and acknowledge them."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role, Shard
from kipviz.messages.apis.rights import READ_EACH, READ_GROUP, READ_TOPIC, Need, Operation, Resource
from kipviz.messages.share_groups import (
    ShareAcknowledge,
    ShareAcknowledgeResponse,
    ShareFetch,
    ShareFetchResponse,
    TxnShareAcknowledge,
    TxnShareAcknowledgeResponse,
)

APIS: tuple[Api, ...] = (
    Api(
        request=ShareFetch,
        response=ShareFetchResponse,
        role=Role.SHARE_PARTITION_LEADER,
        shard=Shard.PARTITION,
        needs=(READ_GROUP, READ_EACH),
        refusal=lambda m, error: ShareFetchResponse(error, m.partition),
        clause="KIP-932 ShareFetch",
        kafka="SharePartitionManager.fetchMessages",
        answer_in="ShareConsumeRequestManager.handleShareFetchSuccess",
        only_with_shares=True,
        topic_ids_from=0,
        since="4.1.0",
    ),
    Api(
        request=ShareAcknowledge,
        response=ShareAcknowledgeResponse,
        role=Role.SHARE_PARTITION_LEADER,
        shard=Shard.PARTITION,
        needs=(READ_GROUP, READ_TOPIC),
        refusal=lambda m, error: ShareAcknowledgeResponse(error, m.partition),
        clause="KIP-932 ShareAcknowledge",
        kafka="SharePartition.acknowledge",
        answer_in="ShareConsumeRequestManager.handleShareAcknowledgeSuccess",
        only_with_shares=True,
        topic_ids_from=0,
        since="4.1.0",
    ),
    Api(
        request=TxnShareAcknowledge,
        response=TxnShareAcknowledgeResponse,
        role=Role.SHARE_PARTITION_LEADER,
        shard=Shard.PARTITION,
        # KIP-1289 says WRITE on the group, which no ACL can give, and names no operation for the topic:
        # what TxnOffsetCommit and ShareAcknowledge ask for is taken instead.
        needs=(
            Need(Operation.WRITE, Resource.TRANSACTIONAL_ID, "KIP-1289; KIP-1310 6.1", "draft"),
            Need(Operation.READ, Resource.GROUP, "as ShareAcknowledge", "our inference"),
            Need(Operation.READ, Resource.TOPIC, "as ShareAcknowledge", "our inference"),
        ),
        refusal=lambda m, error: TxnShareAcknowledgeResponse(error, m.partition),
        clause="KIP-1289 Flow - Share Group",
        kafka="none yet (PR 22357)",
        answer_in="none yet (PR 22357)",
        since="kip-1289",
    ),
)
