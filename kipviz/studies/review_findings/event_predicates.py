"""Predicates on a story that need only a message or the return of a call."""

from __future__ import annotations

from collections.abc import Sequence

from kipviz.brokers.logs import partition_log as logs
from kipviz.clients.sessions.transaction_session import TransactionSession
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.throwing.client_errors import ExceptionClass, exception_class, request_error
from kipviz.cluster.world import World, host_of
from kipviz.core.model import Event
from kipviz.messages.errors import Errors
from kipviz.messages.events import CallReturned, MessageSent
from kipviz.messages.message import Message
from kipviz.messages.message_errors import error_in
from kipviz.records.batches import DataRecord
from kipviz.studies.review_findings.story_predicates import Look


def throws(call: str, exception: ExceptionClass) -> Look:
    """Return a predicate for a call that throws an exception of the client itself, by its class."""

    def look(world: World, events: Sequence[Event]) -> bool:
        return any(
            isinstance(event, CallReturned)
            and event.call == call
            and exception_class(event.raised) is exception
            for event in events
        )

    return look


def throws_error(call: str, request: type[Message], error: Errors) -> Look:
    """Return a predicate for a call that throws the error of a request."""

    def look(world: World, events: Sequence[Event]) -> bool:
        return any(
            isinstance(event, CallReturned)
            and event.call == call
            and event.raised == request_error(request, error)
            for event in events
        )

    return look


def returns(call: str, application: str) -> Look:
    """Return a predicate for a call of an application that returns without an exception."""

    def look(world: World, events: Sequence[Event]) -> bool:
        return any(
            isinstance(event, CallReturned)
            and (event.call, event.application, event.raised) == (call, application, "")
            for event in events
        )

    return look


def answers_with(response: type[Message], error: Errors) -> Look:
    """Return a predicate for a response with an error."""

    def look(world: World, events: Sequence[Event]) -> bool:
        return any(
            isinstance(event, MessageSent)
            and type(event.message) is response
            and error_in(event.message) is error
            for event in events
        )

    return look


def sends(client: str, request: type[Message], elsewhere_than: int = 0) -> Look:
    """Return a predicate for a request that a client of an application sends, such as its session.

    With `elsewhere_than` the request has to go to another broker than this one.
    """

    def look(world: World, events: Sequence[Event]) -> bool:
        return any(
            isinstance(event, MessageSent)
            and event.way == "request"
            and host_of(event.source) in world.applications
            and event.source.endswith(f"/{client}")
            and type(event.message) is request
            and event.broker != elsewhere_than
            for event in events
        )

    return look


def commits(partition: str, value: str) -> Look:
    """Return a predicate for a committed record with a value in a partition."""

    def look(world: World, events: Sequence[Event]) -> bool:
        return value in committed_values(world, partition)

    return look


def committed_values(world: World, partition: str) -> tuple[str, ...]:
    """Return the values that a read_committed consumer gets from a partition."""
    log = world.logs[partition]
    return tuple(
        record.value
        for batch in logs.read(log, log.start_offset, log.last_stable_offset)
        if not batch.control and not logs.is_aborted(log, batch)
        for record in batch.records
        if isinstance(record, DataRecord)
    )


def closed_and_open(world: World, events: Sequence[Event]) -> bool:
    """Return whether, after a close(), no client has work left although a log has an open transaction."""
    idle = not any(connection.requests for connection in world.connections.values())
    closed = any(
        isinstance(client, ShareConsumer | TransactionSession) and client.closed
        for app in world.applications.values()
        for client in app.others.values()
    )
    return idle and closed and any(log.open for log in world.logs.values())
