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
    broker can answer.
    """

    API_KEY: ClassVar[int] = 3
    VERSION: ClassVar[int] = 13
    topics: tuple[str, ...]


class MetadataResponse(Message, frozen=True):
    """The ids. NOT MODELLED: brokers and partitions, which every client knows here."""

    API_KEY: ClassVar[int] = 3
    VERSION: ClassVar[int] = 13
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    topics: tuple[TopicId, ...] = ()
