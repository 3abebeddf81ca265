"""CreateTopics: a broker creates a dead-letter topic (KIP-1191)."""

from __future__ import annotations

from typing import ClassVar

from kipviz.messages.errors import Errors
from kipviz.messages.message import Message


class CreateTopics(Message, frozen=True):
    """A broker requests a topic, with the default numbers of partitions and replicas.

    NOT MODELLED: that its receiver forwards it to the controller; where the partitions are placed (the spec says it);
    several topics in one request.
    """

    API_KEY: ClassVar[int] = 19
    VERSION: ClassVar[int] = 7
    topic: str
    configs: tuple[tuple[str, str], ...] = ()


class CreateTopicsResponse(Message, frozen=True):
    """Whether the topic was created."""

    API_KEY: ClassVar[int] = 19
    VERSION: ClassVar[int] = 7
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    topic: str
