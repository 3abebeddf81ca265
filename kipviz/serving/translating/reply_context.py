"""The context in which a request is answered, besides the model's replies: names, ids, ports, bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kipviz.brokers.context import Image
from kipviz.cluster.world import World
from kipviz.messages.message import Message
from kipviz.messages.wire.codec import Struct
from kipviz.serving.timing.group_times import GroupTimes
from kipviz.serving.timing.transaction_times import Moments
from kipviz.serving.translating.batch_bytes import KeptBatches

HOST = "127.0.0.1"
Replies = tuple[Message, ...]


class Refused(ValueError):
    """A request that Kafka answers by closing its connection; the sentence goes into the log."""


@dataclass
class Desk:
    """One cluster as its listeners see it; `world` is the newest one."""

    world: World
    ports: dict[int, int]
    kept: KeptBatches
    moments: Moments = field(default_factory=Moments)
    groups: GroupTimes = field(default_factory=GroupTimes)

    @property
    def image(self) -> Image:
        """The metadata of the cluster."""
        return self.world.image

    def topic_named(self, struct: Struct) -> str:
        """Return a topic's name from a structure that has its name or its id; "" for an unknown id."""
        name = struct.get("Name") or struct.get("Topic")
        if name:
            return str(name)
        asked = struct.get("TopicId", "")
        return next((topic for topic, known in self.image.topic_ids.items() if known == asked), "")


@dataclass(frozen=True)
class Asked:
    """A request as messages of the model, in order, and the function that merges their replies into one answer.

    `answer` returns None if the client expects no response (acks=0), and then `is_answered` is False. `ready` returns whether the request can be sent to
    the model now; a long poll waits until then, but `wait_ms` at most.
    """

    messages: tuple[Message, ...]
    answer: Callable[[Replies], Struct | None]
    ready: Callable[[], bool] | None = None
    wait_ms: int = 0
    is_answered: bool = True
