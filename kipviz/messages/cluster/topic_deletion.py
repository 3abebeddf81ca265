"""DeleteTopics: an operator deletes topics, by name or by id (KIP-4, KIP-516)."""

from __future__ import annotations

from typing import ClassVar

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message


class DeleteTopicState(Value, frozen=True):
    """One topic to delete; a request before version 6 names topics, a later one has a name or an id."""

    name: str | None = None
    topic_id: str = ""


class DeleteTopics(Message, frozen=True):
    """A request to delete topics.

    NOT MODELLED: that its receiver forwards it to the controller; the request's timeout.
    """

    API_KEY: ClassVar[int] = 20
    VERSION: ClassVar[int] = 6
    IF_USED: ClassVar[tuple[str, ...]] = ("version",)
    topics: tuple[DeleteTopicState, ...]
    version: int = 6


class DeletableTopicResult(Value, frozen=True):
    """Whether one topic was deleted; `error_message` is Kafka's sentence about an error."""

    name: str | None
    topic_id: str
    error: Errors
    error_message: str = ""


class DeleteTopicsResponse(Message, frozen=True):
    """Which topics were deleted."""

    API_KEY: ClassVar[int] = 20
    VERSION: ClassVar[int] = 6
    IS_RESPONSE: ClassVar[bool] = True
    responses: tuple[DeletableTopicResult, ...]
