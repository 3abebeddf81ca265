"""A Produce request for several partitions: each is appended or rejected on its own, in one response.

WHO: every broker (KafkaApis), and the leaders of the partitions. WHERE IN KAFKA: KafkaApis.handleProduceRequest,
ReplicaManager.handleProduceAppend, DelayedProduce.
KIPS: KIP-98; KIP-890 (one question to the coordinator for all partitions that are new in a transaction).
DURABILITY: requests that wait for the coordinator are held here and at the leaders; a crash loses them.

A batch that is fenced, or whose partition is led elsewhere, is rejected at once. All others wait until the coordinator
has answered, even for a partition that was in the transaction before; then each leader appends its batch or not. The
response is sent when every partition has its result and the appended batches are replicated
(`cluster.topic_authorization` keeps the results).
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers import deleted_topics
from kipviz.brokers.checks import Check, error_of, in_order, report_value
from kipviz.brokers.context import (
    NOBODY,
    Channel,
    Context,
    Effects,
    LocalCall,
    Reply,
    ReplyTo,
    Request,
)
from kipviz.brokers.handling import takes
from kipviz.brokers.kafka_apis import AskedTogether, KafkaApis
from kipviz.brokers.local_calls import AppendPart, Enlisted, PartVerified
from kipviz.brokers.logs import add_to_transaction, partition_leader
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.messages.apis.api import Role
from kipviz.messages.errors import Errors
from kipviz.messages.logs.producing import (
    PartitionProduceData,
    PartitionProduceResponse,
    Produce,
    ProduceResponse,
)
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    TxnPartitions,
)


@takes(Produce)
def on_produce(
    me: PartitionLeader | KafkaApis, request: Produce, reply_to: ReplyTo, on: Context
) -> Effects[PartitionLeader | KafkaApis]:
    """Pass a batch to the leader of its partition, or several batches to theirs.

    WHEN: a producer's sender delivers the batches of the partitions that this broker leads. CHECKS: that each partition
    exists, is led here, and that the producer's epoch is current. DOES: asks the coordinator once about all partitions
    where a transaction starts. ANSWERS: a result for each, when the last one is known.
    Clause: KIP-98 "Produce", KIP-890; ReplicaManager.handleProduceAppend.
    """
    if isinstance(me, PartitionLeader):
        return partition_leader.on_produce(me, request, reply_to, on)
    refused: list[Reply] = []
    mine: list[PartitionProduceData] = []
    new: list[PartitionProduceData] = []
    made: list[Check] = []
    for batch in request.partition_data:
        checks = batch_checks(request, batch, on)
        error = error_of(checks)
        made += (report_value("partition", batch.partition), *checks)
        if error is not Errors.NONE:
            result = PartitionProduceResponse(batch.partition, error)
            refused.append(Reply(reply_to, ProduceResponse((result,))))
            continue
        mine.append(batch)
        log = on.log(batch.partition)
        enlisted = not add_to_transaction.is_new(request, batch.identity, log, on)
        if not enlisted:
            new.append(batch)
        made.append(report_value("partition added", enlisted))
    question = tuple(batch.partition for batch in new)
    coordinator = (
        add_to_transaction.coordinator_of(request.transactional_id, on) if question else NOBODY
    )
    calls = tuple(_call(request, batch, reply_to, question, coordinator) for batch in mine)
    done = Effects(me, replies=tuple(refused), local=calls, checks=tuple(made))
    if coordinator == NOBODY:
        return done
    tag = _tag(reply_to)
    # All batches of a transaction name the same producer.
    asked = TxnPartitions(
        request.transactional_id,
        *new[0].identity,
        question,
        verify_only=not add_to_transaction.enlists(request),
    )
    waits = AskedTogether(reply_to, tag, tuple(batch.partition for batch in mine), question)
    done = done.but(state=me.but(asking=(*me.asking, waits)))
    message = AddPartitionsToTxn((asked,))
    return add_to_transaction.ask(
        done,
        Request(Channel.ADD_PARTITIONS, coordinator, message, Role.KAFKA_APIS, "", tag),
        on,
    )


def on_enlisted(me: KafkaApis, call: Enlisted, on: Context) -> Effects[KafkaApis]:
    """Let every leader continue with its batch: the coordinator has answered for each partition."""
    waits = next(each for each in me.asking if each.tag == call.number)
    errors = {p: call.answer.error_of(p) for p in waits.question}
    calls = (
        LocalCall(
            Role.PARTITION_LEADER, p, PartVerified(waits.reply_to, errors.get(p, Errors.NONE))
        )
        for p in waits.partitions
    )
    left = tuple(each for each in me.asking if each is not waits)
    return Effects(me.but(asking=left), local=tuple(calls))


@in_order
def batch_checks(request: Produce, batch: PartitionProduceData, on: Context) -> Iterator[Check]:
    """Check a batch before the coordinator is asked: its partition exists and is led here, and it is not fenced."""
    there = batch.partition in on.image.leaders
    yield Check("topic there", None, there, deleted_topics.produce_error(request, batch, on.image))
    yield deleted_topics.leader_check(batch.partition, on)
    log = on.log(batch.partition)
    yield from add_to_transaction.fence_checks(request, batch.identity, log, on)


def _call(
    request: Produce,
    batch: PartitionProduceData,
    reply_to: ReplyTo,
    question: tuple[str, ...],
    coordinator: int,
) -> LocalCall:
    """Pass a batch to its leader, which keeps it while the coordinator is asked."""
    lost = batch.partition in question and coordinator == NOBODY
    error = Errors.COORDINATOR_NOT_AVAILABLE if lost else Errors.NONE
    waits_for = question if coordinator != NOBODY else ()
    call = AppendPart(reply_to, request.but(partition_data=(batch,)), waits_for, error)
    return LocalCall(Role.PARTITION_LEADER, batch.partition, call)


def _tag(reply_to: ReplyTo) -> str:
    """Return the key of a request that is being served: a connection has one at a time."""
    return f"{reply_to.source} {reply_to.incarnation}"
