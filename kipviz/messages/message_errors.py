"""The error of any message, from the row of its API: of its whole response, or of the first thing that it is about."""

from __future__ import annotations

from kipviz.messages.apis.catalogue import API_OF, api_of
from kipviz.messages.apis.error_places import ErrorPlace
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message

_PLACES: dict[type, ErrorPlace[Message]] = {
    message: api.error_place for message, api in API_OF.items() if message.IS_RESPONSE
}


def error_in(message: object) -> Errors | None:
    """Return the error of a response, Errors.NONE without an error, None for a message that has no such field.

    A response with a result for each group, transaction or partition has the error of the first one. A group whose
    offsets were fetched has the error of the first offset, if it has none itself.
    """
    place = _PLACES.get(type(message))
    if place is None:
        return None
    assert isinstance(message, Message)
    return place.first(message)


def error_of_response(message: object) -> Errors:
    """Return the error of a response that has one.

    Raises:
        TypeError: if it has no such field.
    """
    error = error_in(message)
    if error is None:
        raise TypeError(f"{type(message).__name__} has no error")
    return error


def any_error_in(response: Message) -> Errors:
    """Return the error of a response, else the first one of its results; Errors.NONE without one."""
    place = api_of(response).error_place
    found = (place.first(response), *place.others(response))
    return next((error for error in found if error), Errors.NONE)


def with_error(response: Message, error: Errors) -> Message:
    """Return a response with an error: of the whole response, or of each thing that it is about."""
    return api_of(response).error_place.put(response, error)
