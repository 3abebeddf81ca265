"""The base of all messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, TypeVar

from kipviz.core.values import Value


class Message(Value, frozen=True):
    """A request or a response; the class constants identify it.

    `API_KEY` is Kafka's number, `VERSION` the newest version that the model supports, `STATUS` whether a release ships
    it ("shipped"), a KIP proposes it ("draft") or we had to invent it ("our inference"). A request with several
    versions has a field `version`; the response has its request's version.
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
        """The names of its fields; those of the header, or `IF_USED`, only if they have a value."""
        quiet = ("correlation_id", *self.IF_USED)
        return tuple(f for f in self.__struct_fields__ if f not in quiet or getattr(self, f))


M = TypeVar("M", bound=Any)


def split_parts(message: M) -> tuple[M, ...]:
    """Split a message about several transactions (`further`) into one for each."""
    return (message.but(further=()), *message.further) if message.further else (message,)


def merge_parts(messages: Iterable[M]) -> M:
    """Merge messages about one transaction each into one, in their order."""
    first, *others = messages
    whole: M = first.but(further=tuple(others))
    return whole
