"""The APIs of committed offsets."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role, Shard
from kipviz.messages.apis.rights import (
    DESCRIBE_GROUP,
    DESCRIBE_TOPIC,
    READ_EACH,
    READ_GROUP,
    WRITE_ID,
)
from kipviz.messages.groups import (
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
    TxnOffsetCommit,
    TxnOffsetCommitResponse,
)

APIS: tuple[Api, ...] = (
    Api(
        request=OffsetFetch,
        response=OffsetFetchResponse,
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        needs=(DESCRIBE_GROUP, DESCRIBE_TOPIC),
        refusal=lambda m, error: OffsetFetchResponse(error, m.partition),
        clause="KIP-447 OffsetFetch version 7",
        kafka="OffsetMetadataManager.fetchOffsets",
        answer_in="CommitRequestManager",
        newest=(("2.4", 6), ("3.5", 8), ("3.6", 8), ("3.9", 9), ("4.1.0", 10), ("4.3", 10)),
    ),
    Api(
        request=OffsetCommit,
        response=OffsetCommitResponse,
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        needs=(READ_GROUP, READ_EACH),
        refusal=lambda _, error: OffsetCommitResponse(error),
        clause="KIP-848 OffsetCommit",
        kafka="OffsetMetadataManager.commitOffset",
        answer_in="CommitRequestManager",
    ),
    Api(
        request=TxnOffsetCommit,
        response=TxnOffsetCommitResponse,
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        needs=(WRITE_ID, READ_GROUP, READ_EACH),
        refusal=lambda _, error: TxnOffsetCommitResponse(error),
        clause="KIP-447; KIP-890 part 2, TxnOffsetCommit version 5",
        kafka="GroupCoordinatorService.commitTransactionalOffsets",
        answer_in="TransactionManager.TxnOffsetCommitHandler",
        may_be_late=True,
        newest=(("2.4", 2), ("3.5", 3), ("3.6", 3), ("3.9", 4), ("4.1.0", 5), ("4.3", 5)),
    ),
)
