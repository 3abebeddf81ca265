"""A client that holds a transaction manager.

WHERE IN KAFKA: KafkaProducer has one beside its accumulator. In KIP-1310 (draft) a TransactionSession is one that no
  producer holds: the difference of the two designs is who holds it.
"""

from __future__ import annotations

from kipviz.clients.transactions.transaction_manager import TransactionManager
from kipviz.core.values import Part
from kipviz.messages.message import Message


class ManagedClient(Part, frozen=True):
    """A client under the name `source`, which asks and waits as its `manager` does."""

    source: str
    manager: TransactionManager

    @property
    def on_wire(self) -> Message | None:
        """The request beside batches that is on the wire."""
        return self.manager.on_wire

    @property
    def on_wire_broker(self) -> int:
        """The broker that it went to."""
        return self.manager.on_wire_broker

    @property
    def done(self) -> bool:
        """Whether the call that the application waits for has ended."""
        return self.manager.done

    @property
    def error(self) -> str:
        """What it is in error for, or nothing."""
        return self.manager.error

    @property
    def state_name(self) -> str:
        """The state as the client itself calls it."""
        return self.manager.state.value
