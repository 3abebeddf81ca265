"""The acknowledgements that a share consumer has yet to send, and what those that it sent came to.

WHERE IN KAFKA: ShareConsumeRequestManager (AcknowledgeRequestState, acknowledgementsInFlight), ShareConsumerImpl with its
  AcknowledgementCommitCallbackHandler. KIPS: KIP-932.
DURABILITY: none.
"""

from __future__ import annotations

from kipviz.clients.shares.share_holding import Owed
from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.share_groups import AcknowledgementBatch


class Completed(Value, frozen=True):
    """What acknowledgements came to, for the application's callback; "" is the consumer's own partition."""

    acknowledgements: tuple[AcknowledgementBatch, ...]
    error: Errors
    partition: str = ""


class AcknowledgeRequests(Value, frozen=True):
    """What commitAsync() and commitSync() have to send, and the results that nobody has been told yet.

    `committing` is what commitAsync() has to send, `in_background` says that it is on its way. `owed` is said of each partition
    with its next fetch, or to its broker. `error` is what the acknowledgements sent last came to; with a `callback` the
    application is told each result, and `completed` are those that it has not been told.
    """

    committing: tuple[AcknowledgementBatch, ...] = ()
    in_background: bool = False
    owed: tuple[Owed, ...] = ()
    error: Errors = Errors.NONE
    callback: bool = False
    completed: tuple[Completed, ...] = ()

    def come_to(
        self, said: tuple[AcknowledgementBatch, ...], error: Errors, partition: str = ""
    ) -> AcknowledgeRequests:
        """Note an error of acknowledgements, and what the callback is to be told."""
        noted = self.but(error=error) if partition and error is not Errors.NONE else self
        if not self.callback or not said:
            return noted
        return noted.but(completed=(*self.completed, Completed(said, error, partition)))

    def owed_to(self, broker: int) -> tuple[Owed, ...]:
        """Return what is owed to a broker."""
        return tuple(each for each in self.owed if each.broker == broker)

    def without_owed(self, gone: tuple[Owed, ...]) -> AcknowledgeRequests:
        """Return the same without some of what is owed."""
        return self.but(owed=tuple(each for each in self.owed if each not in gone))
