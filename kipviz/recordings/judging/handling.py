"""Requests that the model cannot handle: each is set aside with its reason, and the others are judged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kipviz.recordings.recorded import Exchange

# The exceptions for a request that lacks a field of its version.
LACKS = (KeyError, TypeError, ValueError, AttributeError, StopIteration)
# The exceptions of a model's handler for a request that no client of Kafka sends.
UNUSUAL = (*LACKS, AssertionError, ArithmeticError, LookupError, RecursionError)


class CannotHandleError(Exception):
    """The model has no answer to one request; `number` is its place in the log."""

    def __init__(self, number: int, problem: BaseException) -> None:
        """Store the request's number and its exception."""
        super().__init__(f"request {number}: {type(problem).__name__}: {problem}")
        self.number = number
        self.problem = problem


@contextmanager
def handling(number: int) -> Iterator[None]:
    """Add the number of the handled request to every exception.

    Raises:
        CannotHandleError: if the handler raises.
    """
    try:
        yield
    except UNUSUAL as problem:
        raise CannotHandleError(number, problem) from problem


def why_set_aside(number: int, exchange: Exchange, problem: BaseException) -> str:
    """Return the sentence about a request that is set aside: it lacks a field, or the model has no answer."""
    if isinstance(problem, LACKS):
        return reason(number, exchange, problem)
    said = f"{type(problem).__name__}: {problem}".rstrip(": ")
    return f"Request {number}, {exchange.api}: the model has no answer to it ({said})"


def reason(number: int, exchange: Exchange, problem: BaseException) -> str:
    """Return the sentence about one exchange that cannot be decoded."""
    said = f"{type(problem).__name__}: {problem}"
    return f"Request {number} is not {exchange.api} version {exchange.version} ({said})"
