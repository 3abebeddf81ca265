"""Could the model have given the answers that a broker gave? One question per recorded answer.

The broker's logs are rebuilt (`cluster.rebuilt`), and the request is put to the model's broker as it was
at each moment between the request's arrival and its answer: which of the things that were logged in that
time came first is not recorded. The answer is accepted if one of these moments gives it, with all that it
says. A coordinator may also still be loading.

Asked is whatever is answered from what the logs hold: the coordinators. Acquisition locks are in their
leader's memory alone, so share fetches and acknowledgements are followed from the first one on
(`sharing`). `NOT_ASKED` says of every other API why it is not, and where it is compared instead.
NOT MODELLED, and taken as it is logged: which of several equal members gets a partition (Kafka goes by the
order of a hash table). A new target may be late (KIP-1263): the model is asked both ways.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

from kipviz.brokers.settings import BrokerSettings
from kipviz.cluster import dispatch
from kipviz.cluster.rebuilt import BROKER, Entry, RebuiltModel, spec_of
from kipviz.cluster.spec import ClusterSpec, Placement
from kipviz.cluster.turn import Turn
from kipviz.cluster.world import Envelope, World
from kipviz.core.values import Value
from kipviz.designs.catalogue import design
from kipviz.messages.groups import TxnOffsetCommit
from kipviz.messages.membership import ConsumerGroupHeartbeat
from kipviz.messages.message import Message
from kipviz.messages.share_membership import ShareGroupHeartbeat
from kipviz.recordings.questions import Question, Said, questions, reply_said
from kipviz.recordings.rebuild import entries_of, internal_partitions_of, partitions_in
from kipviz.recordings.recorded import WIRE, Exchange, Recording, load_recording
from kipviz.recordings.recording_error import RecordingError
from kipviz.records.placement import TRANSACTION_STATE
from kipviz.scenarios.changes import KAFKA_NAMES

# A request is written down when it is answered, so its times may be a little late.
SLACK_MS = 50
CLIENT = "recorded/client"

_BY_CALLS = "compared call by call, with what was logged, in tests/recordings/test_model_against_recording.py"
NOT_ASKED: dict[str, str] = {
    "PRODUCE": f"a broker's request log has no batches, only their sizes; {_BY_CALLS}",
    "FETCH": f"the answer carries the log itself; {_BY_CALLS}",
    "SHARE_FETCH": f"locks are in the leader's memory alone, which no log holds; {_BY_CALLS}",
    "SHARE_ACKNOWLEDGE": f"locks are in the leader's memory alone, which no log holds; {_BY_CALLS}",
    "READ_SHARE_GROUP_STATE_SUMMARY": "NOT MODELLED: the group coordinator's look at the start offset",
    "FIND_COORDINATOR": "NOT MODELLED: coordinators are looked up at once",
}


class Asked(Value, frozen=True):
    """One answer: what the broker said, and what the model might have said in its place."""

    number: int
    api: str
    about: str
    recorded: Said
    possible: tuple[Said, ...]

    @property
    def accepted(self) -> bool:
        """Whether the model could have given the recorded answer."""
        return self.recorded in self.possible


def accept(folder: Path) -> tuple[Asked, ...]:
    """Put every request of a recording that can be asked to the model.

    Raises:
        RecordingError: if the recording is damaged.
    """
    return acceptor_of(folder).asked()


def acceptor_of(folder: Path) -> Acceptor:
    """Read a recording, to ask for its answers.

    Raises:
        RecordingError: if the recording is damaged.
    """
    recording = load_recording(folder)
    names = {topic_id: topic for topic, topic_id in recording.topic_ids.items()}
    entries = entries_of(partitions_in(folder), topic_ids=names)
    return Acceptor(recording, entries, str(folder / WIRE))


class Acceptor:
    """A broker's logs as the model reads them, and its worlds from the first batch to the last."""

    def __init__(self, recording: Recording, entries: tuple[Entry, ...], file: str = WIRE) -> None:
        self.file = file
        self.exchanges = recording.wire
        self.names = {topic_id: topic for topic, topic_id in recording.topic_ids.items()}
        self.entries = entries
        count = recording.partition_counts.get(TRANSACTION_STATE) or internal_partitions_of(entries)
        self._levels = _levels(recording)
        chosen = design("kafka")
        spec = _spec(recording, spec_of(entries, count))
        self.model = RebuiltModel(spec, chosen.broker_rules(), chosen.client_rules(), entries)
        asked = [q for n, x in enumerate(self.exchanges) for q in self._taken(n, x)]
        spec = _placed(spec, _needed(asked, self.model.initial()))
        self.model = RebuiltModel(spec, chosen.broker_rules(), chosen.client_rules(), entries)
        waiting = spec.but(settings=spec.settings.but(targets_wait=True))
        self._waiting = RebuiltModel(waiting, chosen.broker_rules(), chosen.client_rules(), entries)
        self.worlds = [self.model.initial()]
        while possible := self.model.enabled(self.worlds[-1]):
            self.worlds.append(self.model.step(self.worlds[-1], possible[0]).world)

    def asked(self) -> tuple[Asked, ...]:
        """Ask for every answer.

        Raises:
            RecordingError: if an exchange lacks what its API has.
        """
        found: list[Asked] = []
        for number, exchange in enumerate(self.exchanges):
            found += self.of(number, exchange)
        return tuple(found)

    def of(self, number: int, exchange: Exchange) -> Iterator[Asked]:
        """Ask what one exchange asks.

        Raises:
            RecordingError: if it lacks what its API has.
        """
        taken = self._taken(number, exchange)
        now = [self.worlds[at] for at in self.moments(exchange)]
        for question in taken:
            said = dict.fromkeys(self._possible(now, exchange.api, question))
            yield Asked(number, exchange.api, question.about, question.recorded, tuple(said))

    def _taken(self, number: int, exchange: Exchange) -> tuple[Question, ...]:
        try:
            return questions(exchange, self.names)
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            said = f"{type(problem).__name__}: {problem}"
            why = f"Request {number} is no {exchange.api} of version {exchange.version} ({said})."
            raise RecordingError(self.file, 0, why) from problem

    def moments(self, exchange: Exchange) -> Iterator[int]:
        """Give after how many entries the logs may have stood at some time of an exchange."""
        for read in range(len(self.entries) + 1):
            began = self.entries[read - 1].at_ms if read else 0
            later = read < len(self.entries)
            ended = self.entries[read].at_ms if later else exchange.answered_ms + 1
            if began <= exchange.answered_ms and ended >= exchange.received_ms - SLACK_MS:
                yield read

    def _possible(self, now: list[World], api: str, question: Question) -> Iterator[Said]:
        message = question.message
        heartbeat = isinstance(message, ConsumerGroupHeartbeat | ShareGroupHeartbeat)
        models = (self.model, self._waiting) if heartbeat else (self.model,)
        for model, world in product(models, now):
            for alike in self._alike(world, message):
                reply = answer(model, alike, message)
                if reply is not None:
                    yield reply_said(api, message, reply)

    def _alike(self, world: World, message: Message) -> Iterator[World]:
        """Give the worlds that a log leaves open: the feature level, and who is still loading."""
        for level in self._levels:
            features = world.image.features.but(transaction_version=level)
            image = world.image.but(features=features)
            leveled = world if image == world.image else world.but(image=image)
            yield leveled
            key = dispatch.role_for(message, BROKER, world.image)
            role: Any = world.roles.get(key)
            if hasattr(role, "loading"):
                yield leveled.but(roles=world.roles.set(key, role.but(loading=True)))


def answer(model: RebuiltModel, world: World, message: Message) -> Message | None:
    """Give the model's answer to a request in a world, or None where there is none yet.

    All that the brokers ask each other is answered, and what is appended is replicated.
    """
    turn = model.turn(world)
    turn.put_request(CLIENT, BROKER, Envelope(message))
    turn.deliver_request(CLIENT, BROKER)
    settle(turn)
    found = turn.connections[CLIENT, BROKER].responses
    return found[0].message if found else None


def settle(turn: Turn) -> None:
    """Let the broker's own messages arrive, and its logs be replicated, until there is nothing left."""
    while True:
        behind = [n for n, log in turn.logs.items() if log.high_watermark < log.end_offset]
        for partition in behind:
            turn.replicate(partition)
        moved = bool(behind)
        for source, broker in tuple(turn.connections):
            if source.startswith("recorded/"):
                continue
            connection = turn.connections[source, broker]
            if connection.responses:
                turn.deliver_response(source, broker)
                moved = True
            elif connection.requests and connection.serving is None:
                turn.deliver_request(source, broker)
                moved = True
        if not moved:
            return


def _levels(recording: Recording) -> tuple[int, ...]:
    """Give the levels of transaction.version that the cluster had during the recording."""
    last = recording.features.get("transaction.version") or 0
    told = [
        call.arguments["from"]
        for call in recording.calls
        if call.name == "updateFeatures" and call.arguments["feature"] == "transaction.version"
    ]
    return tuple(dict.fromkeys((last, *told)))


def _spec(recording: Recording, spec: ClusterSpec) -> ClusterSpec:
    """Give the cluster of a recording: all of its topics, and its settings."""
    placed = {p.partition for p in spec.placements}
    named = [
        f"{topic}-{index}"
        for topic, count in recording.partition_counts.items()
        for index in range(0 if topic.startswith("__") else count)
    ]
    return _placed(
        spec.but(
            topic_ids=recording.topic_ids.items(),
            settings=_settings(recording.settings.items()),
            transaction_version=recording.features.get("transaction.version") or 0,
        ),
        (p for p in named if p not in placed),
    )


def _settings(said: Iterable[tuple[str, str]]) -> BrokerSettings:
    found: dict[str, Any] = {}
    for name, value in said:
        if KAFKA_NAMES.get(name) in BrokerSettings.__struct_fields__:
            yes_or_no = value in ("true", "false")
            found[KAFKA_NAMES[name]] = value == "true" if yes_or_no else int(value)
    return BrokerSettings(**found)


def _placed(spec: ClusterSpec, partitions: Iterable[str]) -> ClusterSpec:
    known = {p.partition: True for p in spec.placements}
    more = tuple(Placement(p, BROKER) for p in dict.fromkeys(partitions) if p not in known)
    return spec.but(placements=(*spec.placements, *more))


def _needed(asked: Iterable[Question], world: World) -> Iterator[str]:
    """Give the partitions whose leaders are asked, also where nothing was ever written there."""
    for question in asked:
        message = question.message
        if type(message) in dispatch.PARTITION_OF and not dispatch.role_for(
            message, BROKER, world.image
        )[1].startswith("kafka_apis"):
            yield dispatch.addressee(message, world.image)
        if isinstance(message, TxnOffsetCommit):
            yield world.image.home_of(TRANSACTION_STATE, message.transactional_id)
