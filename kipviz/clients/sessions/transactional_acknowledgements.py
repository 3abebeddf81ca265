"""Acknowledgements that a client sends by itself, in the name of a TransactionSession (KIP-1310, draft).

WHERE IN KAFKA: nowhere. In KIP-1289 (draft) the same requests wait in the queue of the TransactionManager of a producer; a share
consumer that acknowledges transactionally has this part instead, and its own connection.
One request is on the wire at a time, and several calls may have something to send: each waits for its turn.
"""

from __future__ import annotations

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.share_groups import TxnShareAcknowledge


class TransactionalAcknowledgements(Value, frozen=True):
    """What acknowledgeTransactionally() has to send, the oldest first, and what became of it.

    `error` is what the last one came to, until the session is told; `dropped` are those that were refused or not sent, noted for
    one step.
    """

    queue: tuple[TxnShareAcknowledge, ...] = ()
    error: Errors = Errors.NONE
    dropped: tuple[TxnShareAcknowledge, ...] = ()

    @property
    def next(self) -> TxnShareAcknowledge | None:
        """The request that is sent next."""
        return self.queue[0] if self.queue else None

    @property
    def without_next(self) -> TransactionalAcknowledgements:
        """The same when the next one has gone out: the one behind it moves up."""
        return self.but(queue=self.queue[1:])

    def added(self, request: TxnShareAcknowledge) -> TransactionalAcknowledgements:
        """Put a request behind the others."""
        return self.but(queue=(*self.queue, request))

    def sent_again(self, request: TxnShareAcknowledge) -> TransactionalAcknowledgements:
        """Have a request sent once more, before those that came after it."""
        return self.but(queue=(request, *self.queue))

    def answered(
        self, request: TxnShareAcknowledge, error: Errors
    ) -> TransactionalAcknowledgements:
        """Note what a request came to. After a refusal the transaction can only abort: what waits is not sent."""
        if error is Errors.NONE:
            return self.but(error=error, dropped=())
        return TransactionalAcknowledgements(error=error, dropped=(request, *self.queue))
