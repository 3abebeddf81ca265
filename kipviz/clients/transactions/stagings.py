"""What a producer remembers of its stagings: those that came to nothing, and the parts that are left (KIP-1289).

A call names partitions of several leaders; the sender makes one request for each leader, when it knows
who that is. An answer may refuse some parts of a request: only they are asked again, or came to nothing.
Status: draft, and our inference where several leaders are concerned: the text has no word of routing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kipviz.clients.transactions.producer_errors import may_be_asked_again
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.share_groups import (
    AcknowledgementBatch,
    PartitionAcknowledgements,
    TxnShareAcknowledge,
    TxnShareAcknowledgeResponse,
    joined,
    parts_of,
)

if TYPE_CHECKING:
    from kipviz.clients.transactions.transaction_manager import TransactionManager


def send_share_acknowledgements(
    me: TransactionManager,
    group_id: str,
    member_id: str,
    member_epoch: int,
    partition: str,
    acknowledgements: tuple[AcknowledgementBatch, ...],
    further: tuple[PartitionAcknowledgements, ...] = (),
    *,
    starts: bool = True,
    deliveries: tuple[tuple[int, int], ...] = (),
) -> TransactionManager:
    """Stage a share group's acknowledgements. Returns at once; errors surface at commit.

    Status: draft (KIP-1289). The draft does not say that this `starts` the transaction; without
    that a transaction of acknowledgements alone would never send EndTxn (finding X11). `deliveries` are
    (offset, delivery count) of the first partition's records, in designs whose request names them.
    """
    mine, member = (me.producer_id, me.producer_epoch), (member_id, member_epoch)
    request = TxnShareAcknowledge(
        me.transactional_id,
        group_id,
        *mine,
        *member,
        partition,
        acknowledgements,
        further,
        deliveries,
    )
    started = starts or me.transaction_started
    return me.but(queue=(*me.queue, request), transaction_started=started)


def dropping(me: TransactionManager, *gone: Message) -> TransactionManager:
    """Note which of the requests that came to nothing are stagings: their consumer has to hear of it."""
    dropped = tuple(request for request in gone if isinstance(request, TxnShareAcknowledge))
    return me.but(dropped=(*me.dropped, *dropped)) if dropped else me


def unanswered(me: TransactionManager) -> bool:
    """Say whether a staging is on the wire, or is to be sent."""
    return any(isinstance(request, TxnShareAcknowledge) for request in (me.on_wire, *me.queue))


def left_over(wanted: Message, sent: Message) -> tuple[Message, ...]:
    """Give what a staging still has to say to other leaders, as one more request."""
    if not isinstance(wanted, TxnShareAcknowledge) or not isinstance(sent, TxnShareAcknowledge):
        return ()
    said = {part.partition for part in parts_of(sent)}
    rest = tuple(part for part in parts_of(wanted) if part.partition not in said)
    return (joined(rest),) if rest else ()


def refused(request: Message, answer: Message, error: Errors) -> tuple[Message, Errors]:
    """Give the parts of a staging that were refused, and the error that decides what comes of them.

    One that ends the transaction goes before one after which it may be asked again.
    """
    several = isinstance(answer, TxnShareAcknowledgeResponse) and answer.further
    if not several or error is Errors.NONE:
        return request, error
    assert isinstance(request, TxnShareAcknowledge), type(request)
    assert isinstance(answer, TxnShareAcknowledgeResponse), type(answer)
    errors = {name: each for name, each in answer.of_each if each is not Errors.NONE}
    parts = tuple(part for part in parts_of(request) if part.partition in errors)
    ends = (each for each in errors.values() if not may_be_asked_again(request, each))
    return joined(parts), next(ends, error)
