"""What a client asks any broker before it asks the right one: the ids of topics."""

from __future__ import annotations

from typing import ClassVar

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message


class TopicId(Value, frozen=True):
    """A topic and its id; an empty id is that of a topic which the broker does not know.

    `error` says that whoever asks may not see the topic.
    """

    topic: str
    topic_id: str
    error: Errors = Errors.NONE


class Metadata(Message, frozen=True):
    """A client looks topics up by their names.

    Only a client that is configured to do so asks: else whoever needs to know who leads what, or
    which id a topic has, knows it. Any broker will do.
    """

    API_KEY: ClassVar[int] = 3
    VERSION: ClassVar[int] = 13
    topics: tuple[str, ...]


class MetadataResponse(Message, frozen=True):
    """The ids. NOT MODELLED: brokers and partitions, which everybody knows here."""

    API_KEY: ClassVar[int] = 3
    VERSION: ClassVar[int] = 13
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    topics: tuple[TopicId, ...] = ()
