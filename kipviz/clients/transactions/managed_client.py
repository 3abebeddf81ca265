"""A client that holds a transaction manager.

WHERE IN KAFKA: KafkaProducer has one beside its accumulator. In KIP-1310 (draft) a TransactionSession holds it, outside
every producer, and lends it to those that are bound to it: this is the difference of the two designs.
"""

from __future__ import annotations

from kipviz.clients.throwing.client_errors import Raised
from kipviz.clients.transactions.transaction_manager import TransactionManager
from kipviz.core.values import Part
from kipviz.messages.message import Message


class ManagedClient(Part, frozen=True):
    """A client under the name `source`, whose requests and waits are those of its `manager`."""

    source: str
    manager: TransactionManager

    @property
    def on_wire(self) -> Message | None:
        """The request in flight that is not a batch."""
        return self.manager.on_wire

    @property
    def on_wire_broker(self) -> int:
        """The broker of that request."""
        return self.manager.on_wire_broker

    @property
    def done(self) -> bool:
        """Whether the call that the application waits for has ended."""
        return self.manager.done

    @property
    def error(self) -> Raised:
        """Its error, or ""."""
        return self.manager.error

    @property
    def state_name(self) -> str:
        """The state in the client's own terms."""
        return self.manager.state.value
