"""A ListOffsets request for several partitions: each is answered or rejected on its own, in one response.

WHO: every broker (KafkaApis), and the leaders of the partitions. WHERE IN KAFKA: KafkaApis.handleListOffsetRequest,
ReplicaManager.fetchOffset.
KIPS: KIP-98 (isolation level), KIP-1106.
DURABILITY: nothing is stored.
NOT MODELLED: a partition that is named twice (INVALID_REQUEST), which no client does.
"""

from __future__ import annotations

from kipviz.brokers import deleted_topics
from kipviz.brokers.checks import Check, error_of, report_value
from kipviz.brokers.context import Context, Effects, LocalCall, Reply, ReplyTo
from kipviz.brokers.handling import takes
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.local_calls import AskedOfOne
from kipviz.brokers.logs import partition_leader
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.messages.apis.api import leading_role
from kipviz.messages.errors import Errors
from kipviz.messages.logs.list_offsets import (
    ListOffsets,
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
)


@takes(ListOffsets)
def on_list_offsets(
    me: PartitionLeader | KafkaApis, request: ListOffsets, reply_to: ReplyTo, on: Context
) -> Effects[PartitionLeader | KafkaApis]:
    """Let the leader of a partition look up an offset, or the leaders of several partitions theirs.

    WHEN: a client asks for offsets in the partitions that this broker leads. CHECKS: that each partition exists and is
    led here. DOES: nothing. ANSWERS: at once, with an offset or an error for each partition.
    Clause: KIP-98 "ListOffsets" (isolation level, version 2); ReplicaManager.fetchOffset.
    """
    if not isinstance(me, KafkaApis):
        # A coordinator, too: it leads a partition of its topic.
        return partition_leader.on_list_offsets(me, request, reply_to, on)
    refused: list[Reply] = []
    calls: list[LocalCall] = []
    made: list[Check] = []
    for each in request.partitions:
        checks = deleted_topics.partition_checks(each.partition, on)
        made += (report_value("partition", each.partition), *checks)
        error = error_of(checks)
        if error is Errors.NONE:
            alone = AskedOfOne(reply_to, request.but(partitions=(each,)))
            calls.append(LocalCall(leading_role(each.partition), each.partition, alone))
        else:
            result = ListOffsetsPartitionResponse(each.partition, error)
            refused.append(Reply(reply_to, ListOffsetsResponse((result,))))
    return Effects(me, replies=tuple(refused), local=tuple(calls), checks=tuple(made))
