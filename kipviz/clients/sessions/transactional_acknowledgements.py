"""Acknowledgements that a share consumer sends itself on behalf of a TransactionSession (KIP-1310, draft).

WHERE IN KAFKA: nowhere. In KIP-1289 (draft) the same requests wait in the queue of the TransactionManager of a
producer; a share
consumer that acknowledges transactionally has this part instead, and its own connection.
One request is in flight at a time, and several calls may have something to send: each waits for its turn.
"""

from __future__ import annotations

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_groups import TxnShareAcknowledge


class TransactionalAcknowledgements(Value, frozen=True):
    """The requests of acknowledgeTransactionally(), the oldest first, and their results.

    `error` is the error of the last one, until it is reported to the session; `dropped` are those that were rejected or
    not sent, kept for one step.
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
        """The same after the next one was sent: the one behind it moves up."""
        return self.but(queue=self.queue[1:])

    def add(self, request: TxnShareAcknowledge) -> TransactionalAcknowledgements:
        """Append a request."""
        return self.but(queue=(*self.queue, request))

    def send_again(self, request: TxnShareAcknowledge) -> TransactionalAcknowledgements:
        """Send a request again, before those that came after it."""
        return self.but(queue=(request, *self.queue))

    def note_result(
        self, request: TxnShareAcknowledge, error: Errors
    ) -> TransactionalAcknowledgements:
        """Note the result of a request. After an error the transaction can only abort: waiting requests are dropped."""
        if error is Errors.NONE:
            return self.but(error=error, dropped=())
        return TransactionalAcknowledgements(error=error, dropped=(request, *self.queue))
