"""The error of any message: the error of its whole response, or of the first thing that it is about."""

from __future__ import annotations

from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import FetchedGroup, OffsetFetchResponse
from kipviz.messages.groups.several_groups import GroupsResponse, results_of, with_results
from kipviz.messages.logs.producing import FetchResponse, ProduceResponse
from kipviz.messages.message import Message
from kipviz.messages.shares.share_groups import (
    ShareAcknowledgeResponse,
    ShareFetchResponse,
    TxnShareAcknowledgeResponse,
)
from kipviz.messages.transactions.transactions import AddPartitionsToTxnResponse


def error_in(message: object) -> Errors | None:
    """Return the error of a response, Errors.NONE without an error, None for a message that has no such field.

    A response with a result for each group, transaction or partition has the error of the first one. A group whose
    offsets were fetched has the error of the first offset, if it has none itself.
    """
    error: Errors | None = getattr(message, "error", None)
    if not error and isinstance(message, ShareFetchResponse | ShareAcknowledgeResponse):
        return next((each.error for each in message.responses[:1]), error)
    if error is None and isinstance(message, OffsetFetchResponse):
        group = message.groups[0]
        return group.error or (group.offsets[0].error if group.offsets else Errors.NONE)
    if error is None and isinstance(message, GroupsResponse):
        return results_of(message)[0].error
    if error is None and isinstance(message, TxnShareAcknowledgeResponse):
        return message.responses[0].error
    if error is None and isinstance(message, AddPartitionsToTxnResponse):
        return message.results[0].error
    if error is None and isinstance(message, ProduceResponse):
        return message.partition_responses[0].error
    if error is None and isinstance(message, FetchResponse):
        return message.responses[0].error
    return error


def error_of_response(message: object) -> Errors:
    """Return the error of a response that has one.

    Raises:
        TypeError: if it has no such field.
    """
    error = error_in(message)
    if error is None:
        raise TypeError(f"{type(message).__name__} has no error")
    return error


def with_error(response: Message, error: Errors) -> Message:
    """Return a response with an error: of the whole response, or of each thing that it is about."""
    if isinstance(response, OffsetFetchResponse):
        failed = (FetchedGroup(error, each.group_id) for each in response.groups)
        return response.but(groups=tuple(failed))
    if isinstance(response, GroupsResponse):
        return with_results(response, tuple(each.but(error=error) for each in results_of(response)))
    if isinstance(response, AddPartitionsToTxnResponse):
        return response.but(results=tuple(each.but(error=error) for each in response.results))
    if isinstance(response, ShareAcknowledgeResponse | TxnShareAcknowledgeResponse):
        return response.but(responses=tuple(each.but(error=error) for each in response.responses))
    if isinstance(response, ProduceResponse):
        results = tuple(each.but(error=error) for each in response.partition_responses)
        return response.but(partition_responses=results)
    return response.but(error=error)
