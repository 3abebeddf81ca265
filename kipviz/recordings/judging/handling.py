"""Requests that the model cannot handle: each is set aside with its reason, and those around it are judged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kipviz.recordings.recorded import Exchange

# What taking a request apart raises if it lacks what its version has.
LACKS = (KeyError, TypeError, ValueError, AttributeError, StopIteration)
# What a handler of the model raises for a request that no client of Kafka sends.
UNUSUAL = (*LACKS, AssertionError, ArithmeticError, LookupError, RecursionError)


class CannotHandleError(Exception):
    """The model has no answer to one request; `number` is its place in the log."""

    def __init__(self, number: int, problem: BaseException) -> None:
        """Keep the request's number and what was raised for it."""
        super().__init__(f"request {number}: {type(problem).__name__}: {problem}")
        self.number = number
        self.problem = problem


@contextmanager
def handling(number: int) -> Iterator[None]:
    """Name the request that is handled meanwhile in whatever is raised for it.

    Raises:
        CannotHandleError: if something is raised.
    """
    try:
        yield
    except UNUSUAL as problem:
        raise CannotHandleError(number, problem) from problem


def why_set_aside(number: int, exchange: Exchange, problem: BaseException) -> str:
    """Return the sentence about a request that is set aside: it lacks something, or the model has no answer."""
    if isinstance(problem, LACKS):
        return reason(number, exchange, problem)
    said = f"{type(problem).__name__}: {problem}".rstrip(": ")
    return f"Request {number}, {exchange.api}: the model has no answer to it ({said})"


def reason(number: int, exchange: Exchange, problem: BaseException) -> str:
    """Return the sentence about one exchange that cannot be taken apart."""
    said = f"{type(problem).__name__}: {problem}"
    return f"Request {number} is no {exchange.api} of version {exchange.version} ({said})"
