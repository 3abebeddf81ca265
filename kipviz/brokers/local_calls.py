"""Calls between roles on one broker, which Kafka makes without a message."""

from __future__ import annotations

from typing import TypeAlias

from kipviz.brokers.context import ReplyTo, Request
from kipviz.core.values import Value
from kipviz.messages.admin import ListTransactions, ListTransactionsResponse
from kipviz.messages.classic_groups import Assigned
from kipviz.messages.errors import Errors
from kipviz.messages.group_admin import ListGroups, ListGroupsResponse
from kipviz.messages.message import Message
from kipviz.messages.producing import Produce
from kipviz.messages.share_groups import ShareFetch
from kipviz.messages.transactions import AddPartitionsToTxnResponse

# A request for a list of what all coordinators on a broker have, and its answer.
ListRequest: TypeAlias = ListTransactions | ListGroups
Listed: TypeAlias = ListTransactionsResponse | ListGroupsResponse


class WriteMarker(Value, frozen=True):
    """Append an end-transaction marker to a partition led here."""

    ticket: ReplyTo
    partition: str
    producer_id: int
    producer_epoch: int
    committed: bool
    coordinator_epoch: int
    transaction_version: int


class MarkerWritten(Value, frozen=True):
    """The marker is replicated, or why it was not appended."""

    ticket: ReplyTo
    partition: str
    error: Errors


class AppendPart(Value, frozen=True):
    """Append the batch of one partition of a Produce request, or keep it while the coordinator is asked.

    `question` are the partitions that it is asked about, none where nobody is; `error` refuses the batch.
    """

    ticket: ReplyTo
    request: Produce
    question: tuple[str, ...] = ()
    error: Errors = Errors.NONE


class PartVerified(Value, frozen=True):
    """The coordinator has answered what a batch waited for, with an error for its partition or none."""

    ticket: ReplyTo
    error: Errors = Errors.NONE


class ListHere(Value, frozen=True):
    """Return what one coordinator on this broker has: its transactional ids, or its groups."""

    ticket: ReplyTo
    request: ListRequest


class ListedHere(Value, frozen=True):
    """What one coordinator has of what is listed."""

    ticket: ReplyTo
    answer: Listed


class AskedOfOne(Value, frozen=True):
    """Answer what a request about several groups, or transactions, asks of this one."""

    ticket: ReplyTo
    request: Message


class AddOrVerify(Value, frozen=True):
    """Ask a coordinator, with whatever else is to be asked of its broker: `question` says what and whose it is."""

    question: Request


class Enlisted(Value, frozen=True):
    """A coordinator has answered what this role has asked about a transaction."""

    answer: AddPartitionsToTxnResponse
    tag: str = ""


class GroupStored(Value, frozen=True):
    """The log has a generation of a classic group, with its assignment, or why not."""

    group_id: str
    generation: int
    given: tuple[Assigned, ...]
    error: Errors = Errors.NONE


class FetchFurther(Value, frozen=True):
    """Look for records in the next partition of a share fetch: the one before had none."""

    request: ShareFetch
    reply_to: ReplyTo


class ApplyMarkerToShares(Value, frozen=True):
    """The hook of KIP-1289: a marker arrived on this broker, look through the share-partitions.

    `ticket` is the request with the marker, where its answer waits for the outcome to be durable.
    """

    producer_id: int
    producer_epoch: int
    committed: bool
    ticket: ReplyTo | None = None


class MarkerApplied(Value, frozen=True):
    """The hook has run: `keys` are the share-partitions whose outcome is still being written."""

    ticket: ReplyTo
    keys: tuple[str, ...]


class OutcomeWritten(Value, frozen=True):
    """The outcome of a share-partition's transactional acknowledgements is durable, or why it is not."""

    ticket: ReplyTo
    key: str
    error: Errors


# All that one role of a broker asks of another one there, or tells it.
Local: TypeAlias = (
    WriteMarker
    | MarkerWritten
    | AppendPart
    | PartVerified
    | ListHere
    | ListedHere
    | AskedOfOne
    | AddOrVerify
    | Enlisted
    | GroupStored
    | FetchFurther
    | ApplyMarkerToShares
    | MarkerApplied
    | OutcomeWritten
)
