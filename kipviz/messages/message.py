"""The base of all messages."""

from __future__ import annotations

from typing import ClassVar

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


def version_of(message: Message, request: Message | None) -> int:
    """Return the version in which a message is encoded: a response in its request's, if that is known."""
    if message.IS_RESPONSE and request is not None:
        return request.spoken
    return message.spoken
