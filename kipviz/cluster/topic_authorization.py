"""Requests for several topics that a sender may use only in part.

WHERE IN KAFKA: KafkaApis, which removes the unauthorized topics from a request, passes the rest to the role, and adds
them to the response with TOPIC_AUTHORIZATION_FAILED. KIPS: KIP-11.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar, assert_never

from kipviz.brokers.context import Image
from kipviz.cluster.world import Envelope, ServedInParts
from kipviz.messages.apis.catalogue import api_of
from kipviz.messages.cluster.metadata import Metadata, MetadataResponse, TopicId
from kipviz.messages.cluster.releases import takes_several
from kipviz.messages.cluster.topic_creation import (
    CreatableTopicResult,
    CreatePartitions,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
    CreateTopics,
    CreateTopicsResponse,
)
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import (
    OffsetCommit,
    OffsetCommitResponse,
    TxnOffsetCommit,
    TxnOffsetCommitResponse,
    committed_response,
)
from kipviz.messages.groups.several_groups import (
    OfGroups,
    groups_of,
    names_several,
    narrow_to_groups,
)
from kipviz.messages.logs.deleted_records import (
    DeleteRecords,
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
)
from kipviz.messages.logs.list_offsets import (
    ListOffsets,
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
)
from kipviz.messages.logs.producing import (
    Fetch,
    FetchPartition,
    FetchResponse,
    PartitionData,
    PartitionProduceData,
    PartitionProduceResponse,
    Produce,
    ProduceResponse,
)
from kipviz.messages.message import Message
from kipviz.messages.parts import PartResults, count_results, has_several_parts
from kipviz.messages.shares.share_admin import (
    AlterShareGroupOffsets,
    AlterShareGroupOffsetsResponse,
    DeleteShareGroupOffsets,
    DeleteShareGroupOffsetsResponse,
    TopicResult,
)
from kipviz.messages.shares.share_groups import (
    FetchedPartition,
    PartitionAcknowledgements,
    ShareFetch,
    ShareFetchResponse,
    TxnPartitionAcknowledgements,
    TxnShareAcknowledge,
)
from kipviz.messages.shares.share_state import (
    DeleteShareGroupState,
    InitializeShareGroupState,
    ReadShareGroupState,
    ReadShareGroupStateSummary,
    StatesRequest,
    StatesResponse,
    WriteShareGroupState,
)
from kipviz.messages.transactions.admin import (
    DescribeProducers,
    DescribeProducersResponse,
    DescribeTransactions,
    DescribeTransactionsResponse,
    PartitionProducers,
)
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    PartitionResult,
    TxnMarkerResult,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)
from kipviz.records.placement import CONSUMER_OFFSETS, topic_of

REFUSED = Errors.TOPIC_AUTHORIZATION_FAILED
UNAUTHORIZED = "Authorization failed."  # ControllerApis.createTopics

# What a request names for a partition.
P = TypeVar(
    "P",
    PartitionProduceData,
    FetchPartition,
    ListOffsetsPartition,
    PartitionAcknowledgements,
    TxnPartitionAcknowledgements,
)

# The result for a partition of a request that is served in parts.
R = TypeVar(
    "R",
    PartitionProduceResponse,
    PartitionData,
    ListOffsetsPartitionResponse,
    PartitionProducers,
)

# A response for one part of a request.
A = TypeVar("A", bound=PartResults)


def narrow_to_broker(message: Message, image: Image) -> Message:
    """Return a client's request without the partitions, or groups, of other brokers than its first one's."""
    if names_several(message):
        return _groups_of_coordinator(message, image)
    if isinstance(message, Produce) and len(message.partition_data) > 1:
        return message.but(partition_data=_parts_of_leader(message.partition_data, image))
    parted = ListOffsets | Fetch | TxnShareAcknowledge | ShareFetch
    if isinstance(message, parted) and len(message.partitions) > 1:
        return message.but(partitions=_parts_of_leader(message.partitions, image))
    return message


def _parts_of_leader(parts: tuple[P, ...], image: Image) -> tuple[P, ...]:
    """Return the parts of a request whose partitions have the first one's leader."""
    leader = image.leader_of(parts[0].partition)
    return tuple(part for part in parts if image.leader_of(part.partition) == leader)


def _groups_of_coordinator(request: OfGroups, image: Image) -> Message:
    def coordinator(group_id: str) -> int:
        return image.leader_of(image.home_of(CONSUMER_OFFSETS, group_id))

    asked = groups_of(request)
    broker = coordinator(asked[0])
    here = tuple(g for g in asked if coordinator(g) == broker)
    together = takes_several(image.release_of(broker), request)
    return narrow_to_groups(request, here if together else here[:1])


def without(message: Message, topics: tuple[str, ...]) -> Message:
    """Return a request without the unauthorized topics; something is left of it."""
    match message:
        case OffsetCommit() | TxnOffsetCommit():
            left = tuple(o for o in message.offsets if topic_of(o.partition) not in topics)
            return message.but(offsets=left)
        case Metadata() | DeleteShareGroupOffsets():
            return message.but(topics=tuple(t for t in message.topics if t not in topics))
        case CreateTopics() | CreatePartitions():
            return message.but(topics=tuple(t for t in message.topics if t.name not in topics))
        case AlterShareGroupOffsets():
            starts = tuple(s for s in message.starts if topic_of(s[0]) not in topics)
            return message.but(starts=starts)
        case Produce():
            kept = (b for b in message.partition_data if topic_of(b.partition) not in topics)
            return message.but(partition_data=tuple(kept))
        case DeleteRecords() | ListOffsets() | Fetch() | ShareFetch():
            others = (p for p in message.partitions if topic_of(p.partition) not in topics)
            return message.but(partitions=tuple(others))
        case DescribeProducers():
            named = (p for p in message.partitions if topic_of(p) not in topics)
            return message.but(partitions=tuple(named))
        case _:
            raise AssertionError(f"{type(message).__name__} is served as a whole or not at all")


def collect_part(serving: Envelope, answer: Message) -> tuple[Envelope, Message | None]:
    """Store the response for one part of a request; with the last one, return the whole response.

    The parts are partitions of a Produce, Fetch, ListOffsets or DescribeProducers request, except those of unauthorized
    topics, or transactions whose markers are written, or that a question or a description is about. Source:
    DelayedProduce, KafkaApis.handleFetchRequest, handleWriteTxnMarkersRequest, handleAddPartitionsToTxnRequest,
    handleDescribeTransactionsRequest.
    """
    request = serving.message
    assert isinstance(answer, PartResults), answer
    if not has_several_parts(request) or count_results(answer) != 1:
        return serving, answer
    before = serving.answers if isinstance(serving, ServedInParts) else ()
    answers, refused = (*before, answer), serving.refused
    serving = ServedInParts(
        request,
        serving.role,
        serving.shard,
        serving.tag,
        refused,
        serving.client_id,
        serving.correlation_id,
        answers,
    )
    match request:
        case WriteTxnMarkers():
            return serving, _of_markers(request, answers)
        case AddPartitionsToTxn():
            return serving, _of_transactions(request, answers)
        case Fetch():
            return serving, _of_fetched(request, answers, refused)
        case ListOffsets():
            return serving, _of_listed(request, answers, refused)
        case Produce():
            return serving, _of_batches(request, answers, refused)
        case DescribeProducers():
            return serving, _of_producers(request, answers, refused)
        case DescribeTransactions():
            return serving, _of_descriptions(request, answers)
        case (
            ReadShareGroupState()
            | WriteShareGroupState()
            | InitializeShareGroupState()
            | DeleteShareGroupState()
            | ReadShareGroupStateSummary()
        ):
            return serving, _of_states(request, answers)
        case _:
            assert_never(request)


def _all_of(kind: type[A], answers: tuple[PartResults, ...]) -> Iterator[A]:
    """Return the responses for the parts of one request, which are of one kind."""
    for answer in answers:
        assert isinstance(answer, kind), answer
        yield answer


def _of_batches(
    request: Produce, answers: tuple[PartResults, ...], refused: tuple[str, ...]
) -> Message | None:
    """Return the response with the results of all authorized batches, in the request's order, once all are there."""
    found = (r for each in _all_of(ProduceResponse, answers) for r in each.partition_responses)
    results = _order_results(_list_partitions(request.partition_data), tuple(found), refused)
    return None if results is None else ProduceResponse(results)


def _of_fetched(
    request: Fetch, answers: tuple[PartResults, ...], refused: tuple[str, ...]
) -> Message | None:
    """Return the response with the results of all authorized partitions, in the request's order, once all are there."""
    found = (r for each in _all_of(FetchResponse, answers) for r in each.responses)
    results = _order_results(_list_partitions(request.partitions), tuple(found), refused)
    return None if results is None else FetchResponse(results)


def _of_listed(
    request: ListOffsets, answers: tuple[PartResults, ...], refused: tuple[str, ...]
) -> Message | None:
    """Return the response with the offsets of all authorized partitions, in the request's order, once all are there."""
    found = (r for each in _all_of(ListOffsetsResponse, answers) for r in each.responses)
    results = _order_results(_list_partitions(request.partitions), tuple(found), refused)
    return None if results is None else ListOffsetsResponse(results)


def _of_producers(
    request: DescribeProducers, answers: tuple[PartResults, ...], refused: tuple[str, ...]
) -> Message | None:
    """Return the response with the producers of all authorized partitions, in the request's order, once all are there."""
    found = (r for each in _all_of(DescribeProducersResponse, answers) for r in each.responses)
    results = _order_results(request.partitions, tuple(found), refused)
    return None if results is None else DescribeProducersResponse(results)


def _list_partitions(
    parts: Iterable[PartitionProduceData | FetchPartition | ListOffsetsPartition],
) -> Iterator[str]:
    """Yield the partitions of a request's parts."""
    return (part.partition for part in parts)


def _order_results(
    partitions: Iterable[str], results: tuple[R, ...], refused: tuple[str, ...]
) -> tuple[R, ...] | None:
    """Return the results of all authorized partitions of a request, in its order, or None if one is missing."""
    asked = [partition for partition in partitions if topic_of(partition) not in refused]
    if len(results) < len(asked):
        return None
    there = {result.partition: result for result in results}
    return tuple(there[partition] for partition in asked)


def _of_markers(request: WriteTxnMarkers, answers: tuple[PartResults, ...]) -> Message | None:
    """Return the response with the results of all markers, in the request's order, once all are there.

    Several markers of one producer id have one result together, as in KafkaApis.handleWriteTxnMarkersRequest.
    """
    markers = [r for each in _all_of(WriteTxnMarkersResponse, answers) for r in each.markers]
    if len(markers) < len(request.markers):
        return None
    of_producer: dict[int, dict[str, PartitionResult]] = {
        m.producer_id: {} for m in request.markers
    }
    for marker in markers:
        of_producer[marker.producer_id] |= {r.partition: r for r in marker.results}
    results = (TxnMarkerResult(name, tuple(r.values())) for name, r in of_producer.items())
    return WriteTxnMarkersResponse(tuple(results))


def _of_transactions(
    request: AddPartitionsToTxn, answers: tuple[PartResults, ...]
) -> Message | None:
    """Return the response for all transactions of a request, in its order, once all results are there."""
    added = (r for each in _all_of(AddPartitionsToTxnResponse, answers) for r in each.results)
    there = {result.transactional_id: result for result in added}
    if len(there) < len(request.transactions):
        return None
    results = (there[each.transactional_id] for each in request.transactions)
    return AddPartitionsToTxnResponse(tuple(results))


def _of_descriptions(
    request: DescribeTransactions, answers: tuple[PartResults, ...]
) -> Message | None:
    """Return the response for all transactional ids of a request, in its order, once all results are there."""
    if len(answers) < len(request.transactional_ids):
        return None
    told = _all_of(DescribeTransactionsResponse, answers)
    there = {state.transactional_id: state for each in told for state in each.transaction_states}
    return DescribeTransactionsResponse(tuple(there[name] for name in request.transactional_ids))


def _of_states(request: StatesRequest, answers: tuple[PartResults, ...]) -> Message | None:
    """Return the response for all share-partitions of a request, in its order, once all results are there."""
    if len(answers) < len(request.partitions):
        return None
    there = {}
    for answer in answers:
        assert isinstance(answer, StatesResponse), answer
        there[answer.key] = answer.only
    return api_of(request).response(tuple(there[part.key] for part in request.partitions))


def add_topic_errors(answer: Message, request: Message, topics: tuple[str, ...]) -> Message:
    """Return the response to a request with an error for each of the unauthorized topics."""
    match answer:
        case OffsetCommitResponse() | TxnOffsetCommitResponse():
            assert isinstance(request, OffsetCommit | TxnOffsetCommit)
            return committed_response(request, REFUSED, answer.results)
        case MetadataResponse():
            out_of = tuple(TopicId(topic, "", REFUSED) for topic in topics)
            return answer.but(topics=(*answer.topics, *out_of))
        case DeleteRecordsResponse():
            assert isinstance(request, DeleteRecords)
            kept_back = (p.partition for p in request.partitions if topic_of(p.partition) in topics)
            denied = tuple(DeleteRecordsPartitionResult(p, REFUSED) for p in kept_back)
            return answer.but(results=(*answer.results, *denied))
        case CreateTopicsResponse():
            kept = (CreatableTopicResult(t, REFUSED, error_message=UNAUTHORIZED) for t in topics)
            return answer.but(topics=(*answer.topics, *kept))
        case CreatePartitionsResponse():
            fixed = (CreatePartitionsTopicResult(topic, REFUSED) for topic in topics)
            return answer.but(results=(*fixed, *answer.results))
        case AlterShareGroupOffsetsResponse(error=Errors.NONE):
            assert isinstance(request, AlterShareGroupOffsets)
            kept_out = (p for p, _ in request.starts if topic_of(p) in topics)
            mine = tuple(PartitionResult(partition, REFUSED) for partition in kept_out)
            return answer.but(results=(*mine, *answer.results))
        case DeleteShareGroupOffsetsResponse(error=Errors.NONE):
            not_deleted = tuple(TopicResult(topic, REFUSED) for topic in topics)
            return answer.but(responses=(*not_deleted, *answer.responses))
        case AlterShareGroupOffsetsResponse() | DeleteShareGroupOffsetsResponse():
            return answer
        case ProduceResponse():
            assert isinstance(request, Produce)
            asked = _list_partitions(request.partition_data)
            results = _add_refused(asked, answer.partition_responses, PartitionProduceResponse)
            return answer.but(partition_responses=results)
        case FetchResponse():
            assert isinstance(request, Fetch)
            found = _add_refused(
                _list_partitions(request.partitions), answer.responses, PartitionData
            )
            return answer.but(responses=found)
        case ListOffsetsResponse():
            assert isinstance(request, ListOffsets)
            looked_up = _list_partitions(request.partitions)
            offsets = _add_refused(looked_up, answer.responses, ListOffsetsPartitionResponse)
            return answer.but(responses=offsets)
        case DescribeProducersResponse():
            assert isinstance(request, DescribeProducers)
            described = _add_refused(request.partitions, answer.responses, PartitionProducers)
            return answer.but(responses=described)
        case ShareFetchResponse():
            assert isinstance(request, ShareFetch)
            if answer.error:
                return answer
            first, *rest = answer.responses
            said = request.first
            if said.acknowledgements and topic_of(said.partition) in topics:
                first = first.but(acknowledge_error=REFUSED)
            lost = (FetchedPartition(p, REFUSED) for p in request.names if topic_of(p) in topics)
            return answer.but(responses=(first, *rest, *lost))
        case _:
            raise AssertionError(f"{type(answer).__name__} has one error for all of it")


def _add_refused(
    partitions: Iterable[str], results: tuple[R, ...], refuse: Callable[[str, Errors], R]
) -> tuple[R, ...]:
    """Return a result for each partition of a request, in its order: an error for each without one."""
    there = {result.partition: result for result in results}
    return tuple(there.get(partition) or refuse(partition, REFUSED) for partition in partitions)
