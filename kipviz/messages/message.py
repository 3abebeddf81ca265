"""What every message has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, TypeVar

from kipviz.core.values import Value


class Message(Value, frozen=True):
    """A request or a response; the class constants say which one and since when.

    `API_KEY` is Kafka's number, `VERSION` the newest version that the model speaks, `STATUS` whether
    a release ships it ("shipped"), a KIP proposes it ("draft") or we had to invent it
    ("our inference"). A request that is spoken in several versions has a field `version`; the
    answer has its request's.
    """

    API_KEY: ClassVar[int] = -1
    VERSION: ClassVar[int] = 0
    STATUS: ClassVar[str] = "shipped"
    IS_RESPONSE: ClassVar[bool] = False
    IF_USED: ClassVar[tuple[str, ...]] = ()

    @property
    def spoken(self) -> int:
        """The version of this very request."""
        version: int = getattr(self, "version", self.VERSION)
        return version

    @property
    def told(self) -> tuple[str, ...]:
        """The names of its fields; what stands in the header, or is `IF_USED`, only if it says something."""
        quiet = ("correlation_id", *self.IF_USED)
        return tuple(f for f in self.__struct_fields__ if f not in quiet or getattr(self, f))


M = TypeVar("M", bound=Any)


def groups_of(request: Any) -> tuple[str, ...]:
    """Return the groups that a request names."""
    return (request.group_id, *request.further)


def taken_apart(message: M) -> tuple[M, ...]:
    """Return a message about several groups or transactions, the first one and `further` ones, as one for each."""
    return (message.but(further=()), *message.further) if message.further else (message,)


def in_one(messages: Iterable[M]) -> M:
    """Put messages about one group or transaction each into one, in their order."""
    first, *others = messages
    whole: M = first.but(further=tuple(others))
    return whole
