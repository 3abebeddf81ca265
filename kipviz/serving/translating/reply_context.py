"""The context in which a request is answered, besides the model's replies, and the answer that is the reply itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kipviz.brokers.context import Image
from kipviz.cluster.world import World
from kipviz.messages.message import Message
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.frame import KINDS
from kipviz.messages.wire.kind import Around
from kipviz.serving.timing.group_times import GroupTimes
from kipviz.serving.timing.transaction_times import Moments
from kipviz.serving.translating.batch_bytes import KeptBatches, ReadBatches

HOST = "127.0.0.1"
Replies = tuple[Message, ...]


class ClosedConnection(ValueError):
    """A request that Kafka answers by closing its connection; the sentence goes into the log."""


@dataclass
class ServedDesk:
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

    def topic_named(self, struct: Struct) -> str | None:
        """Return a topic's name from a structure that has its name or its id; None for an unknown id.

        A name may be empty: no topic has it.
        """
        name = struct.get("Name") or struct.get("Topic")
        if name:
            return str(name)
        return self.name_topic(struct["TopicId"]) or None if "TopicId" in struct else ""

    def name_topic(self, topic_id: str) -> str:
        """Return the name of the topic with an id, "" for an unknown one."""
        ids = self.image.topic_ids
        return next((topic for topic, known in ids.items() if known == topic_id), "")


@dataclass(frozen=True)
class ClientRequest:
    """A client's request: its fields in Kafka's names, its version, and where it is answered.

    `broker` is the broker that is asked; `batches` has the batches of a Produce that have been decoded.
    """

    said: Struct
    version: int
    desk: ServedDesk
    broker: int
    batches: ReadBatches = field(default_factory=ReadBatches)

    @property
    def incoming(self) -> Incoming:
        """What the decoding needs besides the fields."""
        return Incoming(self.version, self.desk.name_topic, self.batches.read)


@dataclass(frozen=True)
class TranslatedRequest:
    """A request as messages of the model, in order, and the function that merges their replies into one answer.

    `answer` returns None if the client expects no response (acks=0). `ready` returns whether the request can be sent to
    the model now; a long poll waits until then, but `wait_ms` at most.
    """

    messages: tuple[Message, ...]
    answer: Callable[[Replies], Struct | None]
    ready: Callable[[], bool] | None = None
    wait_ms: int = 0


# Makes what is asked of the model from a request and its messages, as its row decodes them.
Translate = Callable[[ClientRequest, tuple[Message, ...]], TranslatedRequest]


def as_written(request: ClientRequest, messages: tuple[Message, ...]) -> TranslatedRequest:
    """Send the message, and answer with the fields that the model's own brokers encode."""
    (message,) = messages

    def answer(replies: Replies) -> Struct:
        (told,) = replies
        around = Around(tuple(request.desk.image.topic_ids.items()), message)
        kind = KINDS[type(told)]
        top = {
            path.partition(".")[2]: value
            for path, (value, _) in kind.defaults.items()
            if path.count(".") == 1
        }
        return top | kind.fill(told, around)

    return TranslatedRequest((message,), answer)
