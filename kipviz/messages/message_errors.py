"""The error of any message: the error of its whole response."""

from __future__ import annotations

from kipviz.messages.errors import Errors


def error_in(message: object) -> Errors | None:
    """Return the error of a response, Errors.NONE without an error, None for a message that has no such field."""
    error: Errors | None = getattr(message, "error", None)
    return error


def error_of_response(message: object) -> Errors:
    """Return the error of a response that has one.

    Raises:
        TypeError: if it has no such field.
    """
    error = error_in(message)
    if error is None:
        raise TypeError(f"{type(message).__name__} has no error")
    return error
