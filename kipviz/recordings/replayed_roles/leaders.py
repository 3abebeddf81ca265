"""The answers of partition leaders to producers, with the batch from the log.

A request log has the sizes of batches only. An appended batch is in the log, and the other requests show which one it
is (`appends`). Of a rejected batch only its transactional id is known, so it is compared with every identity that the
id has had. Handmade requests are known exactly (`handmade_requests`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from kipviz.cluster.real.rebuilt_cluster import RebuiltBatch
from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.logs.producing import PartitionProduceData, Produce
from kipviz.recordings.decoded.elections import KnownDecisions
from kipviz.recordings.recorded import Exchange, Plain
from kipviz.recordings.replayed_roles.answer_text import Said, error_name, error_named, topic_name
from kipviz.recordings.request_context.appends import ALL, Appends, answers_of
from kipviz.recordings.request_context.handmade_requests import Request, RequestBatch, request_of
from kipviz.records.batches import Batch
from kipviz.records.transaction_state import TransactionRecord

Identity = tuple[int, int]
MOVED = Errors.NOT_LEADER_OR_FOLLOWER


class Produced(Value, frozen=True):
    """A batch that was sent to one partition: the possible requests, and the answer.

    There is no request if the answer is about a partition that it does not name. `at` has for each of the requests the
    offset at which the log has its batch, -1 for one that was rejected or repeats a batch; `told` is the offset in the
    answer.
    """

    partition: str
    messages: tuple[Produce, ...]
    recorded: Said
    at: tuple[int, ...]
    told: int


def batches_of(entries: Iterable[RebuiltBatch]) -> dict[tuple[str, int], Batch]:
    """Return the batches of producers by partition and first offset."""
    return {
        (entry.partition, entry.batch.base_offset): entry.batch
        for entry in entries
        if not entry.partition.startswith("__") and not entry.batch.control
    }


def identities_of(entries: Iterable[RebuiltBatch]) -> dict[str, tuple[Identity, ...]]:
    """Return the producer ids and epochs that each transactional id has had."""
    found: dict[str, dict[Identity, None]] = {}
    for entry in entries:
        for record in entry.batch.records:
            if isinstance(record, TransactionRecord):
                identity = (record.producer_id, record.producer_epoch)
                found.setdefault(record.transactional_id, {})[identity] = None
    return {name: tuple(known) for name, known in found.items()}


def produced_batches(
    number: int,
    exchange: Exchange,
    names: Mapping[str, str],
    appends: Appends,
    identities: Mapping[str, tuple[Identity, ...]],
    sent: Mapping[tuple[Request, str], RequestBatch],
) -> Iterator[Produced]:
    """Yield the batches of a produce request, without those that are no longer in the log.

    Raises:
        KeyError, TypeError, ValueError: if it lacks a field of its version.
    """
    name = exchange.request["transactionalId"] or ""
    asked = {
        _place(topic, part, names): True
        for topic in exchange.request["topicData"]
        for part in topic["partitionData"]
    }
    for partition, answer in answers_of(exchange, names):
        error, told = answer["errorCode"], answer["baseOffset"]
        said: Said = (("error", error_name(error)), ("at", told))
        if partition not in asked:
            said = (("error", f"an answer about {partition}"),)
            yield Produced(partition, (), said, (), told)
            continue
        if error == 0 and (partition, told) not in appends.batches:
            said = (("error", f"no batch of {partition} begins there"), *said[1:])
        noted = sent.get((request_of(exchange), partition))
        # A leader that has moved tells where it appended the batch.
        appended = error == 0 or (told >= 0 and error_named(error) is MOVED)
        own, repeated = appends.of(number, exchange, partition) if appended else ((), ())
        if noted is not None:
            messages: tuple[Produce, ...] = (noted.message(name, exchange.version),)
        elif own or repeated:
            batches = (appends.batches[partition, place] for place in own or repeated)
            messages = tuple(_of_batch(name, partition, b, exchange.version) for b in batches)
        else:
            messages = tuple(_list_rejected(name, partition, identities, exchange.version))
        places = own or (-1,) * len(messages)
        yield Produced(partition, messages, said, places, told)


def _of_batch(name: str, partition: str, batch: Batch, version: int) -> Produce:
    identity = (batch.producer_id, batch.producer_epoch, batch.base_sequence)
    data = PartitionProduceData(partition, *identity, batch.records)  # type: ignore[arg-type]
    return Produce(name, (data,), version)


def _list_rejected(
    name: str, partition: str, identities: Mapping[str, tuple[Identity, ...]], version: int
) -> Iterator[Produce]:
    for producer_id, epoch in identities.get(name, ((-1, -1),)):
        sequence = -1 if producer_id < 0 else 0
        data = PartitionProduceData(partition, producer_id, epoch, sequence, ())
        yield Produce(name, (data,), version)


def moved_meanwhile(
    one: Produced, possible: Iterable[Said], exchange: Exchange, known: Iterable[KnownDecisions]
) -> Iterator[Said]:
    """Yield the answers of a leader that moved after it had appended a batch, and before its followers had copied it.

    A request with acks=all waits for the in-sync replicas. If its broker becomes a follower meanwhile, the error
    is NOT_LEADER_OR_FOLLOWER, with the offset of the batch. Only a batch that the new leader has copied is followed:
    no log has where the old leader appended one that was lost. Source: DelayedProduce.tryComplete,
    ReplicaManager.completeDelayedOperationsWhenNotPartitionLeader, Partition.checkEnoughReplicasReachOffset.
    """
    leads = [each.leader_of(one.partition) == exchange.broker for each in known]
    if exchange.request["acks"] == ALL and any(was and not now for was, now in pairwise(leads)):
        for (_, error), (_, at) in possible:
            if error == Errors.NONE.name and at in one.at:
                yield (("error", MOVED.name), ("at", at))


def produce_said(reply: Any) -> Said:
    """Return the part of the model's reply that is compared with the recorded answer."""
    (result,) = reply.partition_responses
    return (("error", result.error.name), ("at", result.base_offset))


def _place(topic: Plain, part: Plain, names: Mapping[str, str]) -> str:
    return f"{topic_name(topic, names)}-{part['index']}"
