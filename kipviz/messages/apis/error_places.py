"""Where the response of an API has its errors: in the whole response, or in the results for what the request names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message

A_contra = TypeVar("A_contra", bound=Message, contravariant=True)
R = TypeVar("R", bound=Value)


def _own_error(response: Message) -> Errors | None:
    error: Errors | None = getattr(response, "error", None)
    return error


def _with_own_error(response: Message, error: Errors) -> Message:
    return response.but(error=error)


def _no_errors(_: Message) -> tuple[Errors, ...]:
    return ()


@dataclass(frozen=True, kw_only=True)
class ErrorPlace(Generic[A_contra]):
    """How the errors of a response are read and written.

    `first` returns the error of the whole response, else that of the first result, which stands for the response where
    one error is shown or counted; None: a response whose results have errors and none of them stands for it. `others`
    returns the errors of results that `first` leaves out: an operator's client looks for the first one among them.
    `put` returns the response with an error, of the whole response or of each result.
    """

    first: Callable[[A_contra], Errors | None] = _own_error
    others: Callable[[A_contra], tuple[Errors, ...]] = _no_errors
    put: Callable[[A_contra, Errors], Message] = _with_own_error


OWN_ERROR = ErrorPlace[Message]()
"""The response has one error, in its field `error`."""


def with_errors(results: tuple[R, ...], error: Errors) -> tuple[R, ...]:
    """Return results that all have one error."""
    return tuple(each.but(error=error) for each in results)
