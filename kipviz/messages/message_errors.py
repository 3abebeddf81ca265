"""The error of any message: what its response as a whole was refused with."""

from __future__ import annotations

from kipviz.messages.errors import Errors


def error_in(message: object) -> Errors | None:
    """Return the error of a response, Errors.NONE for one that went through, None for what has no error of its own."""
    error: Errors | None = getattr(message, "error", None)
    return error


def error_of_response(message: object) -> Errors:
    """Return the error of a response that has one.

    Raises:
        TypeError: if it has none.
    """
    error = error_in(message)
    if error is None:
        raise TypeError(f"{type(message).__name__} has no error")
    return error
