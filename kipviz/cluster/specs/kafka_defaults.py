"""Kafka's defaults for what a client's spec leaves out, as far as the model has them for that client.

A field of an application's spec that was not given is resolved here, when the spec is made; a spec never holds
one of these placeholders. Where the model lacks Kafka's behaviour for one kind of process, that process gets the nearest
that there is, and the reason stands beside it here.

WHERE IN KAFKA: ProducerConfig, ConsumerConfig, ShareSessionHandler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kipviz.clients.application import Call
from kipviz.clients.sending.in_flight import MAX_IN_FLIGHT
from kipviz.clients.shares.staged_records import why_no_gathering
from kipviz.messages.reset_policy import LATEST

if TYPE_CHECKING:
    from kipviz.cluster.specs.spec import ApplicationSpec

# What stands in a field that was not given, of text and of a number.
DEFAULT, DEFAULT_NUMBER = "default", -(2**31)
# How a consumer becomes a member of its group; "" is one that is in it since before the run.
CLASSIC, SHARE, GIVEN = "classic", "share", ""
MAX_POLL_RECORDS = 500


def resolved(app: ApplicationSpec) -> dict[str, Any]:
    """Return the fields of an application that were not given, with Kafka's values."""
    found: dict[str, Any] = {}
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


def default_protocol(app: ApplicationSpec) -> str:
    """Return group.protocol of a regular group's consumer, and the only one that a share group has.

    A process with several threads, a consumer that seeks and one that reads uncommitted records are in their regular group
    before the run: members that join have no threads and do not seek here, and a reader of uncommitted records is there to show what it reads.
    """
    if app.share:
        return SHARE
    seeks = any(line.call is Call.SEEK for line in app.program)
    return GIVEN if app.admin or app.threads or app.read_uncommitted or seeks else CLASSIC


def default_reset(app: ApplicationSpec) -> str:
    """Return auto.offset.reset of a regular group's consumer; a share group has one of its own."""
    return "" if app.share or app.admin else LATEST


def default_in_flight(app: ApplicationSpec) -> int:
    """Return max.in.flight.requests.per.connection.

    The producer of a TransactionSession has one batch at a time here; one without a transactional id has its number in `plain`.
    """
    return 1 if app.admin or app.session is not None or app.plain is not None else MAX_IN_FLIGHT


def reads_by_session(app: ApplicationSpec) -> bool:
    """Return whether a share consumer asks each broker for all of its partitions in one ShareFetch, as Kafka's does.

    In explicit mode, with one partition, and where calls are about the records of one partition, it asks for one
    partition at a time here.
    """
    alone = app.threads or app.session or app.further_members or app.explicit
    several = app.share and bool(app.further_sources)
    return bool(several and not alone and not why_no_gathering(app.program, by_session=True))
