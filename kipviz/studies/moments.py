"""What to look for in a story that a message or the return of a call shows by itself."""

from __future__ import annotations

from collections.abc import Sequence

from kipviz.cluster.world import World, host_of
from kipviz.core.model import Event
from kipviz.messages.errors import Errors
from kipviz.messages.events import CallReturned, MessageSent
from kipviz.studies.looks import Look


def throws(call: str, words: str) -> Look:
    """Return a look for a call that throws something that begins with these words."""

    def look(world: World, events: Sequence[Event]) -> bool:
        return any(
            isinstance(event, CallReturned)
            and event.call == call
            and event.raised.startswith(words)
            for event in events
        )

    return look


def returns(call: str, application: str) -> Look:
    """Return a look for a call of an application that returns and throws nothing."""

    def look(world: World, events: Sequence[Event]) -> bool:
        return any(
            isinstance(event, CallReturned)
            and (event.call, event.application, event.raised) == (call, application, "")
            for event in events
        )

    return look


def answered(response: str, error: Errors) -> Look:
    """Return a look for a response with an error."""

    def look(world: World, events: Sequence[Event]) -> bool:
        return any(
            isinstance(event, MessageSent)
            and type(event.message).__name__ == response
            and getattr(event.message, "error", None) is error
            for event in events
        )

    return look


def sends(client: str, request: str) -> Look:
    """Return a look for a request that a client of an application sends, such as its session."""

    def look(world: World, events: Sequence[Event]) -> bool:
        return any(
            isinstance(event, MessageSent)
            and event.way == "request"
            and host_of(event.source) in world.applications
            and event.source.endswith(f"/{client}")
            and type(event.message).__name__ == request
            for event in events
        )

    return look
