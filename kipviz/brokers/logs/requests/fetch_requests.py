"""A Fetch request for several partitions: each is read or rejected on its own, in one response.

WHO: every broker (KafkaApis), and the leaders of the partitions. WHERE IN KAFKA: KafkaApis.handleFetchRequest,
ReplicaManager.fetchMessages.
KIPS: KIP-98 (isolation level), KIP-516 (topic ids).
DURABILITY: nothing is stored.
NOT MODELLED: DelayedFetch for several partitions: the request is answered at once, even without records.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers import deleted_topics
from kipviz.brokers.checks import Check, error_of, in_order, report_value
from kipviz.brokers.context import Context, Effects, LocalCall, Reply, ReplyTo
from kipviz.brokers.handling import takes
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.local_calls import AskedOfOne
from kipviz.brokers.logs import partition_leader
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.messages.apis.api import Role
from kipviz.messages.errors import Errors
from kipviz.messages.logs.producing import Fetch, FetchResponse, PartitionData


@takes(Fetch)
def on_fetch(
    me: PartitionLeader | KafkaApis, request: Fetch, reply_to: ReplyTo, on: Context
) -> Effects[PartitionLeader | KafkaApis]:
    """Let the leader of a partition read it, or the leaders of several partitions theirs.

    WHEN: a consumer fetches the partitions that this broker leads. CHECKS: that each partition exists and is led here;
    its leader checks the offset. DOES: nothing. ANSWERS: the records of each partition, in one response.
    Clause: KIP-98 "Read Committed"; ReplicaManager.fetchMessages.
    """
    if isinstance(me, PartitionLeader):
        return partition_leader.on_fetch(me, request, reply_to, on)
    refused: list[Reply] = []
    calls: list[LocalCall] = []
    made: list[Check] = []
    for each in request.partitions:
        checks = partition_checks(request, each.partition, on)
        made += (report_value("partition", each.partition), *checks)
        error = error_of(checks)
        if error is Errors.NONE:
            alone = AskedOfOne(reply_to, request.but(partitions=(each,), max_wait_ms=0))
            calls.append(LocalCall(Role.PARTITION_LEADER, each.partition, alone))
        else:
            result = PartitionData(each.partition, error)
            refused.append(Reply(reply_to, FetchResponse((result,))))
    return Effects(me, replies=tuple(refused), local=tuple(calls), checks=tuple(made))


@in_order
def partition_checks(request: Fetch, partition: str, on: Context) -> Iterator[Check]:
    """Check that a partition exists and is led here."""
    there = partition in on.image.leaders
    yield Check(
        "topic there", None, there, deleted_topics.fetch_error(request, partition, on.image)
    )
    yield deleted_topics.leader_check(partition, on)
