"""The stagings of a producer: those that failed, and the parts that are still to be sent (KIP-1289).

A call names partitions of several leaders; the sender makes one request for each leader, once it knows the leaders. A
response may reject some parts of a request: only those are retried, or fail. Status: draft, and our inference where
several leaders are concerned: the text does not mention routing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kipviz.clients.transactions.producer_errors import may_be_asked_again
from kipviz.messages.errors import Errors
from kipviz.messages.logs.producing import PartitionProduceResponse
from kipviz.messages.message import Message
from kipviz.messages.shares.share_groups import (
    TxnPartitionAcknowledgements,
    TxnShareAcknowledge,
    TxnShareAcknowledgeResponse,
)

if TYPE_CHECKING:
    from kipviz.clients.transactions.transaction_manager import TransactionManager


def send_share_acknowledgements(
    me: TransactionManager,
    group_id: str,
    member_id: str,
    member_epoch: int,
    partitions: tuple[TxnPartitionAcknowledgements, ...],
    *,
    starts: bool = True,
) -> TransactionManager:
    """Add a share group's acknowledgements to the transaction. Returns at once; errors surface at commit.

    Status: draft (KIP-1289). The draft does not say that this `starts` the transaction; otherwise a transaction of
    acknowledgements alone would never send EndTxn (finding X11).
    """
    mine, member = (me.producer_id, me.producer_epoch), (member_id, member_epoch)
    request = TxnShareAcknowledge(me.transactional_id, group_id, *mine, *member, partitions)
    started = starts or me.transaction_started
    return me.but(queue=(*me.queue, request), transaction_started=started)


def dropping(
    me: TransactionManager, *gone: Message | PartitionProduceResponse
) -> TransactionManager:
    """Note which failed requests are stagings: their consumer must learn of it."""
    dropped = tuple(request for request in gone if isinstance(request, TxnShareAcknowledge))
    return me.but(dropped=(*me.dropped, *dropped)) if dropped else me


def unanswered(me: TransactionManager) -> bool:
    """Return whether a staging is in flight or still to be sent."""
    return any(isinstance(request, TxnShareAcknowledge) for request in (me.on_wire, *me.queue))


def remaining_staging(wanted: Message, sent: Message) -> tuple[Message, ...]:
    """Return the parts of a staging for other leaders, as one more request."""
    if not isinstance(wanted, TxnShareAcknowledge) or not isinstance(sent, TxnShareAcknowledge):
        return ()
    said = {part.partition for part in sent.partitions}
    rest = tuple(part for part in wanted.partitions if part.partition not in said)
    return (wanted.but(partitions=rest),) if rest else ()


def rejected_parts(request: Message, answer: Message, error: Errors) -> tuple[Message, Errors]:
    """Return the rejected parts of a staging, and the error that decides what happens to them.

    An error that fails the transaction takes precedence over a retriable one.
    """
    several = isinstance(answer, TxnShareAcknowledgeResponse) and len(answer.responses) > 1
    if not several or error is Errors.NONE:
        return request, error
    assert isinstance(request, TxnShareAcknowledge), type(request)
    assert isinstance(answer, TxnShareAcknowledgeResponse), type(answer)
    errors = {r.partition: r.error for r in answer.responses if r.error is not Errors.NONE}
    parts = tuple(part for part in request.partitions if part.partition in errors)
    ends = (each for each in errors.values() if not may_be_asked_again(request, each))
    return request.but(partitions=parts), next(ends, error)
