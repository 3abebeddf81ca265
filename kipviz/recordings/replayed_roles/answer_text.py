"""The text of an answer, common to a broker's answers and the model's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from kipviz.core.values import Value
from kipviz.messages.error_names import UNMODELLED_ERRORS
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.recordings.recorded import Exchange, Plain

# The content of an answer: (name, value), the error first.
Said = tuple[tuple[str, Plain], ...]
Names = Mapping[str, str]
Taken = Iterator[tuple[str, Message, Said]]
# For an API: how an exchange is decoded, and which part of (the model's message, its reply) is compared. Each function
# takes the messages of its own API.
Compared = tuple[Callable[[Exchange, Names], Taken], Callable[[Any, Any], Said]]


class RequestPart(Value, frozen=True):
    """One part of a request, its subject, and the broker's answer."""

    about: str
    message: Message
    recorded: Said


class ComparedAnswer(Value, frozen=True):
    """One answer: the broker's, and those that the model might have given in its place.

    `doubt` is the reason why a difference between the two cannot be judged, "" if it can.
    """

    number: int
    api: str
    about: str
    recorded: Said
    possible: tuple[Said, ...]
    doubt: str = ""

    @property
    def accepted(self) -> bool:
        """Whether the model could have given the recorded answer."""
        return self.recorded in self.possible

    @property
    def refused(self) -> bool:
        """Whether the answer differs from all answers of the model, and nothing explains the difference."""
        return not self.accepted and not self.doubt

    def __str__(self) -> str:
        doubt = "" if self.accepted else ", which the model could not have said"
        return f"request {self.number}, {self.api}, {self.about}: {sayings(self.recorded)}{doubt}"


def better_of(asked: list[ComparedAnswer], again: Iterable[ComparedAnswer]) -> list[ComparedAnswer]:
    """Return each answer as it was compared first, or the second comparison if the first did not accept it."""
    return [late if late.accepted else early for early, late in zip(again, asked, strict=True)]


def count_refused(asked: Iterable[ComparedAnswer]) -> int:
    """Return how many answers are not accepted."""
    return sum(not each.accepted for each in asked)


def error_name(code: int) -> str:
    """Return Kafka's name of an error, or "error N" for a number without a name."""
    if code in Errors.__members__.values():
        return Errors(code).name
    return UNMODELLED_ERRORS.get(code, f"error {code}")


def error_named(code: int) -> Errors:
    """Return an error; one that the model does not have counts as UNKNOWN_SERVER_ERROR."""
    return Errors(code) if code in Errors.__members__.values() else Errors.UNKNOWN_SERVER_ERROR


def sayings(said: Said) -> str:
    """Render an answer as text."""
    return ", ".join(
        str(value) if what == "error" else f"{what} {_plain(value)}" for what, value in said
    )


def _plain(value: object) -> str:
    if isinstance(value, tuple):
        return "(" + "; ".join(_plain(each) for each in value) + ")"
    return "none" if value is None else str(value)


def only(code: int) -> Said:
    """Return an answer with nothing but an error."""
    return (("error", error_name(code)),)


def with_more(code: int, *more: tuple[str, Plain]) -> Said:
    """Return an answer with more than an error."""
    return (*only(code), *more)


def topic_name(topic: Plain, names: Names) -> str:
    """Return the name of a topic, which a request may identify by its id, or under another field."""
    if "name" in topic:
        return str(topic["name"])
    return by_id(str(topic["topicId"] if "topicId" in topic else topic["topic"]), names)


def by_id(topic_id: str, names: Names) -> str:
    """Return the name of the topic with an id, or the id itself if it is unknown."""
    return names.get(topic_id, topic_id)


def partitions_of(topics: Plain, names: Names) -> tuple[str, ...]:
    """Return the partitions of topics as the model names them."""
    return tuple(f"{topic_name(t, names)}-{p}" for t in topics for p in t["partitions"])
