"""The lookup of topic ids, at any broker."""

from __future__ import annotations

from typing import ClassVar

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message


class TopicId(Value, frozen=True):
    """A topic and its id; an empty id belongs to a topic that the broker does not know.

    `error` means that the sender may not see the topic.
    """

    topic: str
    topic_id: str
    error: Errors = Errors.NONE


class Metadata(Message, frozen=True):
    """A client looks up topics by name.

    Only a client that is configured to do so sends it; otherwise leaders and topic ids are known without a request. Any
    broker can answer. `allow_auto_topic_creation` is whether topics that do not exist may be created; a request for all
    topics, or by ids, creates none and has False.
    """

    API_KEY: ClassVar[int] = 3
    VERSION: ClassVar[int] = 13
    topics: tuple[str, ...]
    allow_auto_topic_creation: bool = True

    def list_fields(self, version: int) -> tuple[str, ...]:
        """Return the names of its fields; whether topics may be created only if they may not."""
        quiet = () if not self.allow_auto_topic_creation else ("allow_auto_topic_creation",)
        return tuple(f for f in super().list_fields(version) if f not in quiet)


class MetadataResponse(Message, frozen=True):
    """The ids. NOT MODELLED: brokers and partitions, which every client knows here."""

    API_KEY: ClassVar[int] = 3
    VERSION: ClassVar[int] = 13
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    topics: tuple[TopicId, ...] = ()
