"""What a step of a program asks: requests one after the other, and what their answers have in common."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeAlias

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.question import RequestFormat
from kipviz.recordings.request_context.handmade_requests import Request, RequestBatch

# With these errors a broker says that another broker is responsible, or none.
ELSEWHERE = frozenset(
    error.value
    for error in (
        Errors.NOT_LEADER_OR_FOLLOWER,
        Errors.NOT_COORDINATOR,
        Errors.COORDINATOR_NOT_AVAILABLE,
    )
)


class Ask(Value, frozen=True):
    """A request of a step: its broker, and whether its answer waits for other clients.

    `batch` notes the batch in the request, once the request has a number.
    """

    node: int
    question: RequestFormat
    values: Struct
    patient: bool = False
    batch: Callable[[Request], RequestBatch] | None = None


# A step: it yields one request after the other, and gets the answer to each.
Doing: TypeAlias = Generator[Ask, Struct, None]
Finding: TypeAlias = Generator[Ask, Struct, int]


class Names(Value, frozen=True):
    """The names of a program's resources: many programs run at one broker and must not share any."""

    prefix: str
    topic_id: str

    @property
    def topic(self) -> str:
        """The topic that all clients use."""
        return topic_of(self.prefix)

    def of(self, what: str) -> str:
        """Return the name of a client, a group or a transactional id."""
        return f"{self.prefix}-{what}"


def topic_of(prefix: str) -> str:
    """Return the name of a program's topic."""
    return f"{prefix}-orders"


def errors_in(answer: object) -> frozenset[int]:
    """Return all error codes in an answer."""
    if isinstance(answer, dict):
        found = [errors_in(value) for name, value in answer.items() if name != "ErrorCode"]
        return frozenset({answer.get("ErrorCode", 0)}).union(*found)
    if isinstance(answer, tuple | list):
        return frozenset[int]().union(*map(errors_in, answer))
    return frozenset()
