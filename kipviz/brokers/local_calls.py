"""Calls between roles on one broker, which Kafka makes without a message."""

from __future__ import annotations

from typing import TypeAlias, TypeGuard, get_args

from kipviz.brokers.context import ReplyTo, Request
from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.groups.classic_groups import Assigned
from kipviz.messages.groups.group_admin import ListGroups, ListGroupsResponse
from kipviz.messages.logs.producing import Produce
from kipviz.messages.message import Message
from kipviz.messages.shares.share_groups import ShareFetch
from kipviz.messages.transactions.admin import ListTransactions, ListTransactionsResponse
from kipviz.messages.transactions.transactions import TxnPartitions, TxnPartitionsResult

# A request that lists what all coordinators on a broker have, and its response.
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
    """A marker is replicated, or an error says why it was not appended."""

    ticket: ReplyTo
    partition: str
    error: Errors


class AppendPart(Value, frozen=True):
    """Append the batch of one partition of a Produce request, or keep it while the coordinator is asked.

    `question` are the partitions in the question to the coordinator, empty if none is asked; `error` rejects the batch.
    """

    ticket: ReplyTo
    request: Produce
    question: tuple[str, ...] = ()
    error: Errors = Errors.NONE


class PartVerified(Value, frozen=True):
    """The coordinator has answered for a batch that waits; `error` is its error for the partition, or NONE."""

    ticket: ReplyTo
    error: Errors = Errors.NONE


class ListHere(Value, frozen=True):
    """List what one coordinator on this broker has: its transactional ids, or its groups."""

    ticket: ReplyTo
    request: ListRequest


class ListedHere(Value, frozen=True):
    """The list of one coordinator."""

    ticket: ReplyTo
    answer: Listed


class AskedOfOne(Value, frozen=True):
    """Answer the part of a request about several groups, or transactions, that concerns this one."""

    ticket: ReplyTo
    request: Message


class AddOrVerify(Value, frozen=True):
    """Ask a coordinator, together with other questions for its broker; `question` has the request and its sender."""

    question: Request


class Enlisted(Value, frozen=True):
    """A coordinator has answered this role's question about a transaction; `asked` and `number` are the question's."""

    asked: TxnPartitions
    answer: TxnPartitionsResult
    number: str = ""


class GroupStored(Value, frozen=True):
    """A generation of a classic group is in the log, with its assignment, or an error says why not."""

    group_id: str
    generation: int
    given: tuple[Assigned, ...]
    error: Errors = Errors.NONE


class FetchFurther(Value, frozen=True):
    """Fetch from the next partition of a share fetch, because the previous one had no records."""

    request: ShareFetch
    reply_to: ReplyTo


class ApplyMarkerToShares(Value, frozen=True):
    """The hook of KIP-1289: a marker arrived on this broker; resolve its transaction in the share-partitions.

    `ticket` is the request with the marker if its response waits for a durable outcome.
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
    """The outcome of a share-partition's transactional acknowledgements is durable, or an error says why not."""

    ticket: ReplyTo
    key: str
    error: Errors


# All calls and notifications between roles on the same broker.
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
_LOCALS: frozenset[type[Value]] = frozenset(get_args(Local))


def is_local(message: Value) -> TypeGuard[Local]:
    """Return whether a value is a call between roles; a `LocalCall` cannot say so, because these classes use it."""
    return type(message) in _LOCALS
