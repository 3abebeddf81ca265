"""Kafka's defaults for the unset fields of a client's spec, as far as the model has them for that client.

An unset field of an application's spec is resolved here, when the spec is made; a spec never holds one of these
placeholders. Where the model lacks Kafka's behaviour for one kind of process, that process gets the nearest behaviour,
with the reason beside it here.

WHERE IN KAFKA: ProducerConfig, ConsumerConfig, ShareSessionHandler.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypedDict

from kipviz.clients.application import Call
from kipviz.clients.process_spec import ProcessSpec
from kipviz.clients.shares.staged_records import why_no_gathering
from kipviz.settings import client_configs, consumer_configs

# The placeholders of an unset field, for text and for a number.
DEFAULT, DEFAULT_NUMBER = "default", -(2**31)
# How a consumer becomes a member of its group; "" means that it has been one since before the run.
CLASSIC, SHARE, GIVEN = consumer_configs.GROUP_PROTOCOL.default, "share", ""


class Resolved(TypedDict, total=False):
    """The fields that an application's spec may leave unset."""

    protocol: str
    auto_offset_reset: str
    max_in_flight: int
    gathers: bool
    by_session: bool | None


class UnresolvedSpec(ProcessSpec, Protocol):
    """A process whose defaults are looked up; `ApplicationSpec`, which is one, is made with them."""

    @property
    def threads(self) -> Sequence[object]:
        """Its further application threads."""

    @property
    def further_members(self) -> Sequence[str]:
        """The member ids of its further share consumers."""

    @property
    def further_sources(self) -> Sequence[str]:
        """The partitions that a member of a share group reads besides its source."""

    @property
    def explicit(self) -> bool:
        """Whether a share consumer has to acknowledge every record."""

    @property
    def read_uncommitted(self) -> bool:
        """The isolation level of its regular consumer."""

    @property
    def gathers(self) -> bool | None:
        """Whether poll() returns records of all partitions."""

    @property
    def by_session(self) -> bool | None:
        """Whether it fetches all partitions of a broker in one ShareFetch."""


def resolve_defaults(app: UnresolvedSpec) -> Resolved:
    """Return the unset fields of an application, with Kafka's values."""
    found: Resolved = {}
    if app.protocol == DEFAULT:
        found["protocol"] = default_protocol(app)
    if app.auto_offset_reset == DEFAULT:
        found["auto_offset_reset"] = default_reset(app)
    if app.max_in_flight == DEFAULT_NUMBER:
        found["max_in_flight"] = default_in_flight(app)
    if app.gathers is None:
        found["gathers"] = reads_by_session(app)
    if app.by_session is None:
        found["by_session"] = found.get("gathers", app.gathers) and reads_by_session(app)
    return found


def default_protocol(app: UnresolvedSpec) -> str:
    """Return group.protocol of a regular group's consumer, or the only protocol of a share group.

    A process with several threads, a consumer that seeks and one that reads uncommitted records are in their regular
    group before the run: here members that join have no threads and do not seek, and a reader of uncommitted records is
    only there to show what it reads.
    """
    if app.share:
        return SHARE
    seeks = any(line.call is Call.SEEK for line in app.program)
    return GIVEN if app.admin or app.threads or app.read_uncommitted or seeks else CLASSIC


def default_reset(app: UnresolvedSpec) -> str:
    """Return auto.offset.reset of a regular group's consumer; a share group has its own."""
    return "" if app.share or app.admin else consumer_configs.AUTO_OFFSET_RESET.default


def default_in_flight(app: UnresolvedSpec) -> int:
    """Return max.in.flight.requests.per.connection.

    The producer of a TransactionSession has one batch at a time here; a producer without a transactional id has its
    number in `plain`.
    """
    if app.admin or app.session is not None or app.plain is not None:
        return 1
    return client_configs.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION.default


def reads_by_session(app: UnresolvedSpec) -> bool:
    """Return whether a share consumer fetches all partitions of a broker in one ShareFetch, as Kafka's does.

    In explicit mode, with one partition, and if calls are about the records of one partition, it fetches from one
    partition at a time here.
    """
    alone = app.threads or app.session or app.further_members or app.explicit
    several = app.share and bool(app.further_sources)
    return bool(several and not alone and not why_no_gathering(app.program, by_session=True))
