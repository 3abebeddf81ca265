"""Requests in parts: each partition, share-partition, transactional id or marker of a request has a result of its own in the response.

KafkaApis passes the parts to whom they are for, and responds when it has all results. Requests about several groups
are in `messages.groups.several_groups`, because the broker and not the connection puts their results together.
"""

from __future__ import annotations

from typing import TypeAlias, TypeGuard, assert_never, get_args

from kipviz.messages.logs.list_offsets import ListOffsets, ListOffsetsResponse
from kipviz.messages.logs.producing import Fetch, FetchResponse, Produce, ProduceResponse
from kipviz.messages.message import Message
from kipviz.messages.shares.share_state import (
    DeleteShareGroupState,
    DeleteShareGroupStateResponse,
    InitializeShareGroupState,
    InitializeShareGroupStateResponse,
    ReadShareGroupState,
    ReadShareGroupStateResponse,
    ReadShareGroupStateSummary,
    ReadShareGroupStateSummaryResponse,
    StatesRequest,
    StatesResponse,
    WriteShareGroupState,
    WriteShareGroupStateResponse,
)
from kipviz.messages.transactions.admin import (
    DescribeProducers,
    DescribeProducersResponse,
    DescribeTransactions,
    DescribeTransactionsResponse,
)
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)

InParts: TypeAlias = (
    Produce
    | Fetch
    | ListOffsets
    | WriteTxnMarkers
    | AddPartitionsToTxn
    | StatesRequest
    | DescribeTransactions
    | DescribeProducers
)
PartResults: TypeAlias = (
    ProduceResponse
    | FetchResponse
    | ListOffsetsResponse
    | WriteTxnMarkersResponse
    | AddPartitionsToTxnResponse
    | StatesResponse
    | DescribeTransactionsResponse
    | DescribeProducersResponse
)
_IN_PARTS: frozenset[type[Message]] = frozenset(get_args(InParts))
_RESULTS: frozenset[type[Message]] = frozenset(get_args(PartResults))


def count_parts(request: InParts) -> int:
    """Return the number of a request's parts."""
    match request:
        case Produce():
            return len(request.partition_data)
        case Fetch() | ListOffsets() | DescribeProducers():
            return len(request.partitions)
        case DescribeTransactions():
            return len(request.transactional_ids)
        case WriteTxnMarkers():
            return len(request.markers)
        case AddPartitionsToTxn():
            return len(request.transactions)
        case (
            ReadShareGroupState()
            | WriteShareGroupState()
            | InitializeShareGroupState()
            | DeleteShareGroupState()
            | ReadShareGroupStateSummary()
        ):
            return len(request.partitions)
        case _:
            assert_never(request)


def is_in_parts(message: Message) -> TypeGuard[InParts]:
    """Return whether a message is a request in parts, be it one part."""
    # By its type alone: every request is asked this.
    return type(message) in _IN_PARTS


def has_results(message: Message) -> TypeGuard[PartResults]:
    """Return whether a message is the response to a request in parts, or to one of its parts."""
    # By its type alone: every response is asked this.
    return type(message) in _RESULTS


def has_several_parts(message: Message) -> TypeGuard[InParts]:
    """Return whether a message is a request with several parts."""
    return is_in_parts(message) and count_parts(message) > 1


def count_results(response: PartResults) -> int:
    """Return the number of results of a response."""
    match response:
        case ProduceResponse():
            return len(response.partition_responses)
        case FetchResponse() | ListOffsetsResponse() | DescribeProducersResponse():
            return len(response.responses)
        case DescribeTransactionsResponse():
            return len(response.transaction_states)
        case WriteTxnMarkersResponse():
            return len(response.markers)
        case (
            AddPartitionsToTxnResponse()
            | ReadShareGroupStateResponse()
            | WriteShareGroupStateResponse()
            | InitializeShareGroupStateResponse()
            | DeleteShareGroupStateResponse()
            | ReadShareGroupStateSummaryResponse()
        ):
            return len(response.results)
        case _:
            assert_never(response)
