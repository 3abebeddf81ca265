"""What the clients check of the spec of their process, before there is any; `cluster.specs` has the spec itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # an application is made of clients, and these check their spec
    from kipviz.clients.application import Line


class PlainProducerSpec(Protocol):
    """A producer without a transactional id."""

    @property
    def max_in_flight(self) -> int:
        """max.in.flight.requests.per.connection."""

    @property
    def idempotence(self) -> bool:
        """enable.idempotence."""


class ProcessSpec(Protocol):
    """A process with its clients; the fields are described at `ApplicationSpec`."""

    @property
    def name(self) -> str:
        """The process."""

    @property
    def program(self) -> tuple[Line, ...]:
        """What its application thread calls."""

    @property
    def admin(self) -> bool:
        """Whether an operator's admin client is all that it has."""

    @property
    def transactional_id(self) -> str:
        """The transactional.id of its producer; "" for a plain one."""

    @property
    def plain(self) -> PlainProducerSpec | None:
        """The producer without a transactional id."""

    @property
    def session(self) -> object | None:
        """Its TransactionSession (KIP-1310)."""

    @property
    def max_in_flight(self) -> int:
        """max.in.flight.requests.per.connection."""

    @property
    def buffer(self) -> int:
        """The number of batches that buffer.memory holds, 0 for any."""

    @property
    def share(self) -> bool:
        """Whether its consumer is in a share group."""

    @property
    def protocol(self) -> str:
        """How its consumer becomes a member; "" means that it has been one since before the run."""

    @property
    def rack(self) -> str:
        """client.rack of its consumer."""

    @property
    def auto_offset_reset(self) -> str:
        """auto.offset.reset."""

    @property
    def assignors(self) -> tuple[str, ...]:
        """partition.assignment.strategy of a classic consumer."""

    @property
    def later_assignors(self) -> tuple[tuple[str, ...], ...]:
        """Those after each of its restarts."""
