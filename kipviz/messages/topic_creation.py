"""CreateTopics: a broker asks for a topic that dead letters are to be written to (KIP-1191)."""

from __future__ import annotations

from typing import ClassVar

from kipviz.messages.errors import Errors
from kipviz.messages.message import Message


class CreateTopics(Message, frozen=True):
    """A broker wants a topic to be there; as many partitions and replicas as the brokers' defaults say.

    NOT MODELLED: that whoever gets it hands it on to the controller; where the partitions come to lie
    (the spec says it); several topics in one request.
    """

    API_KEY: ClassVar[int] = 19
    VERSION: ClassVar[int] = 7
    topic: str
    configs: tuple[tuple[str, str], ...] = ()


class CreateTopicsResponse(Message, frozen=True):
    """Whether the topic was made."""

    API_KEY: ClassVar[int] = 19
    VERSION: ClassVar[int] = 7
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    topic: str
