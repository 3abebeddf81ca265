"""The base of all messages."""

from __future__ import annotations

from typing import ClassVar

from kipviz.core.values import Value, defaults_of


class Message(Value, frozen=True):
    """A request or a response; the class constants identify it.

    `API_KEY` is Kafka's number, `VERSION` the newest stable version that the model supports, `STATUS` whether a release ships
    it ("shipped"), a KIP proposes it ("draft") or we had to invent it ("our inference"). A request with several
    versions has a field `version`; the response has its request's version. `SINCE` are the fields that exist from a
    version on, if a message of an older one must not have them.
    """

    API_KEY: ClassVar[int] = -1
    VERSION: ClassVar[int] = 0
    STATUS: ClassVar[str] = "shipped"
    IS_RESPONSE: ClassVar[bool] = False
    IF_USED: ClassVar[tuple[str, ...]] = ()
    SINCE: ClassVar[tuple[tuple[str, int], ...]] = ()

    @property
    def spoken(self) -> int:
        """The version of this very request; of a response the newest stable one, or the first that has its fields."""
        version: int | None = getattr(self, "version", None)
        return max(self.VERSION, self.oldest) if version is None else version

    @property
    def oldest(self) -> int:
        """The oldest version that has every field of `SINCE` whose value is not the default."""
        if not self.SINCE:
            return 0
        defaults = defaults_of(type(self))
        given = (since for field, since in self.SINCE if getattr(self, field) != defaults[field])
        return max(given, default=0)

    def list_fields(self, version: int) -> tuple[str, ...]:
        """Return the names of the fields that a version has; those of `IF_USED` only if they have a value."""
        quiet = self.IF_USED
        later = tuple(field for field, since in self.SINCE if version < since)
        return tuple(
            f
            for f in self.__struct_fields__
            if f not in later and (f not in quiet or getattr(self, f))
        )


def version_of(message: Message, request: Message | None) -> int:
    """Return the version in which a message is encoded: a response in its request's, if that is known."""
    if message.IS_RESPONSE and request is not None:
        return request.spoken
    return message.spoken
