"""The mark of a handler with the requests that it takes; the cluster collects handlers by it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Protocol, TypeVar

from kipviz.brokers.context import Context, Effects, ReplyTo
from kipviz.messages.message import Message

S = TypeVar("S")
R = TypeVar("R", bound=Message)
Of = Callable[[S, R, ReplyTo, Context], Effects[S]]
TAKES = "takes_requests"


class Handler(Protocol):
    """A handler as the dispatch calls it, with the role that the row of the request names.

    That each handler takes this role and its request is seen by `takes` and by tests/messages/test_apis.py.
    """

    __name__: str

    def __call__(self, role: S, message: Message, reply_to: ReplyTo, on: Context, /) -> Effects[S]:
        """Take a role's state, a request, where to reply, and the context; return what is to be done."""


def takes(*requests: type[R]) -> Callable[[Of[S, R]], Of[S, R]]:
    """Mark a function as the handler of these requests, without changing it. mypy rejects a handler of another request."""

    def mark(handler: Of[S, R]) -> Of[S, R]:
        setattr(handler, TAKES, requests)
        return handler

    return mark


def handlers_of(modules: Iterable[ModuleType]) -> dict[type[Message], Handler]:
    """Collect the handlers of some modules, by the request that each takes.

    Raises:
        ValueError: if two functions are marked as the handler of one request.
    """
    found: dict[type[Message], Handler] = {}
    for module in modules:
        for handler in vars(module).values():
            for request in getattr(handler, TAKES, ()):
                if found.setdefault(request, handler) is not handler:
                    first, second = _place(found[request]), _place(handler)
                    raise ValueError(
                        f"{request.__name__} has two handlers, {first} and {second}: only one of them can take it"
                    )
    return found


def _place(handler: Handler) -> str:
    return f"{handler.__module__}.{handler.__name__}"
