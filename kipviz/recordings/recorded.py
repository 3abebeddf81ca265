"""A recording: the clients' calls, the requests with their answers, and a broker's logs.

A recording is a folder; `tests/recordings/README.md` describes its contents and how it was made. Every file but
`recording.json` has its SHA-256 there and is rejected if it differs.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec

from kipviz.core.outside import untrusted_file
from kipviz.core.table import Table
from kipviz.core.values import Value
from kipviz.messages.cluster.acls import USER
from kipviz.recordings.decoded.elections import LeaderDecision
from kipviz.recordings.decoded.internal_topics import Logged, decode
from kipviz.recordings.files.segments import (
    AbortedTransaction,
    Segment,
    read_aborted,
    read_partition,
)
from kipviz.recordings.recording_error import RecordingError
from kipviz.records.placement import topic_of

FORMAT = 1
ABOUT = "recording.json"
PARTITIONS_MAX = 10_000
CALLS = "calls.jsonl"
WIRE = "wire.jsonl"
LEADERS = "leaders.jsonl"

# JSON content as values: an object is a Table, an array a tuple. Recordings have no fractions.
Plain: TypeAlias = Any
T = TypeVar("T")


class SeenTransaction(Value, frozen=True):
    """The coordinator's answer to an observer about the transactional id (DescribeTransactions)."""

    transactional_id: str
    state: str = ""
    producer_id: int = -1
    producer_epoch: int = -1
    partitions: tuple[str, ...] = ()
    error: str = ""


class CallError(Value, frozen=True):
    """The exception that ended a client's call; `cause` is the class of its cause, or ""."""

    name: str = msgspec.field(name="class")
    message: str = ""
    cause: str = ""


class Call(Value, frozen=True):
    """One call of a client, its result, and the visible state right afterwards.

    `ends` has (high watermark, last stable offset) of every partition that is not empty.
    """

    number: int
    actor: str
    name: str
    arguments: Plain
    result: Plain
    error: CallError | None
    called_ms: int
    returned_ms: int
    transaction: SeenTransaction | None
    ends: Table[str, tuple[int, int]]


class Exchange(Value, frozen=True):
    """One request that a broker answered, with every field under its name in Kafka.

    `broker` is the answering broker, 0 if there is only one; `principal` is the requester, "" if unknown; `correlation`
    is the client's number of the request, and `connection` is the broker's name of the connection. `earliest_ms` is the
    earliest time at which it can have arrived (`arrival`), -1 until that is computed. `problem` is why it cannot be
    read, if nothing else is known of it.
    """

    api: str
    version: int
    client: str
    received_ms: int
    answered_ms: int
    request: Plain
    response: Plain
    broker: int = 0
    principal: str = ""
    correlation: int = -1
    connection: str = ""
    earliest_ms: int = -1
    problem: str = ""


class Recording(Value, frozen=True):
    """One scenario, recorded; `recorder` is the digest of the program that made it, `source` its path, if known.

    `decisions` have the leaders, if there are several brokers.
    """

    scenario: str
    sentence: str
    kafka: str
    commit: str
    features: Table[str, int]
    settings: Table[str, str]
    topic_ids: Table[str, str]
    partition_counts: Table[str, int]
    calls: tuple[Call, ...]
    wire: tuple[Exchange, ...]
    segments: Table[str, tuple[Segment, ...]]
    aborted: Table[str, tuple[AbortedTransaction, ...]]
    recorder: str = ""
    source: str = ""
    decisions: tuple[LeaderDecision, ...] = ()

    def partitions(self, topic: str) -> tuple[str, ...]:
        """Return the names of a topic's partitions that are not empty, in the order of their numbers."""
        found = [p for p in self.segments if p.rpartition("-")[0] == topic]
        return tuple(sorted(found, key=lambda p: int(p.rpartition("-")[2])))

    def decode_topic(self, topic: str) -> tuple[Logged, ...]:
        """Decode all records of an internal topic, one partition after the other.

        Raises:
            RecordingError: if a record cannot be read.
            ValueError: if the topic is not an internal topic.
        """
        return tuple(
            record
            for partition in self.partitions(topic)
            for segment in self.segments[partition]
            for record in decode(segment, topic)
        )


class _DecisionLine(msgspec.Struct, frozen=True):
    at: int
    partition: str
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


class _Topic(msgspec.Struct, frozen=True):
    topic_id: str
    partitions: Annotated[int, msgspec.Meta(ge=1, le=PARTITIONS_MAX)]


class _About(msgspec.Struct, frozen=True):
    scenario: str
    sentence: str
    kafka: str
    commit: str
    features: dict[str, int]
    settings: dict[str, str]
    topics: dict[str, _Topic]
    files: dict[str, str]
    recorder: str = ""
    source: str = ""


class _Format(msgspec.Struct, frozen=True):
    format: int


class _Seen(msgspec.Struct, frozen=True):
    ends: dict[str, tuple[int, int]]
    transaction: SeenTransaction | None = None


class _CallLine(msgspec.Struct, frozen=True):
    call: int
    actor: str
    name: str
    arguments: Any
    called: int
    returned: int
    seen: _Seen
    result: Any = None
    error: CallError | None = None


class _WireLine(msgspec.Struct, frozen=True):
    api: str
    version: int
    client: str
    received: int
    answered: int
    request: Any
    response: Any
    broker: int = 0
    principal: str = ""
    correlation: int = -1


def load_recording(folder: Path) -> Recording:
    """Read a recording and check that no file was changed.

    Raises:
        RecordingError: if a file is missing, was changed or cannot be read; the error names file and byte.
    """
    about = _read_about(folder / ABOUT)
    content = {name: _content(folder, name, digest) for name, digest in about.files.items()}
    for name in (CALLS, WIRE):
        if name not in content:
            raise RecordingError(str(folder / ABOUT), 0, f"the recording does not list {name}")
    partitions = sorted({name.rpartition("/")[0] for name in content if name.endswith(".log")})
    unlisted = [partition for partition in partitions if topic_of(partition) not in about.topics]
    if unlisted:
        why = f"there is a log of {unlisted[0]}, and no such topic is listed"
        raise RecordingError(str(folder / ABOUT), 0, why)
    indexes = sorted(name for name in content if name.endswith(".txnindex"))
    return Recording(
        scenario=about.scenario,
        sentence=about.sentence,
        kafka=about.kafka,
        commit=about.commit,
        features=Table.of(about.features),
        settings=Table.of(about.settings),
        topic_ids=Table.of((name, topic.topic_id) for name, topic in about.topics.items()),
        partition_counts=Table.of((name, topic.partitions) for name, topic in about.topics.items()),
        calls=tuple(_calls(folder / CALLS, content[CALLS])),
        wire=tuple(_wire(folder / WIRE, content[WIRE])),
        segments=Table.of((p, read_partition(folder / p)) for p in partitions),
        aborted=Table.of((i.rpartition("/")[0], read_aborted(folder / i)) for i in indexes),
        recorder=about.recorder,
        source=about.source,
        decisions=tuple(_decisions(folder / LEADERS, content.get(LEADERS, b""))),
    )


def _read_about(path: Path) -> _About:
    try:
        text = untrusted_file.read(path)
    except OSError as problem:
        why = f"this is not a recording: the file cannot be read ({problem.strerror})"
        raise RecordingError(str(path), 0, why) from problem
    found = _json(text, _Format, str(path), 0).format
    if found != FORMAT:
        raise RecordingError(
            str(path), 0, f"the recording has format {found}; this version reads {FORMAT}"
        )
    return _json(text, _About, str(path), 0)


def _content(folder: Path, name: str, digest: str) -> bytes:
    path = folder / name
    try:
        content = untrusted_file.read(path)
    except OSError as problem:
        raise RecordingError(
            str(path), 0, f"the file cannot be read ({problem.strerror})"
        ) from problem
    if hashlib.sha256(content).hexdigest() != digest:
        why = f"the file is not the recorded one: its SHA-256 differs from that in {ABOUT}"
        raise RecordingError(str(path), 0, why)
    return content


def _calls(path: Path, content: bytes) -> Iterator[Call]:
    for line in _lines(path, content, _CallLine):
        yield Call(
            number=line.call,
            actor=line.actor,
            name=line.name,
            arguments=plain(line.arguments),
            result=plain(line.result),
            error=line.error,
            called_ms=line.called,
            returned_ms=line.returned,
            transaction=line.seen.transaction,
            ends=Table.of(line.seen.ends),
        )


def _wire(path: Path, content: bytes) -> Iterator[Exchange]:
    for line in _lines(path, content, _WireLine):
        yield Exchange(
            api=line.api,
            version=line.version,
            client=line.client,
            received_ms=line.received,
            answered_ms=line.answered,
            request=plain(line.request),
            response=plain(line.response),
            broker=line.broker,
            principal=line.principal.removeprefix(USER),
            correlation=line.correlation,
        )


def _decisions(path: Path, content: bytes) -> Iterator[LeaderDecision]:
    for line in _lines(path, content, _DecisionLine):
        yield LeaderDecision(
            line.partition, line.leader, line.leader_epoch, line.replicas, line.isr, line.at
        )


def _lines(path: Path, content: bytes, kind: type[T]) -> Iterator[T]:
    at = 0
    for line in content.splitlines(keepends=True):
        yield _json(line, kind, str(path), at)
        at += len(line)


def _json(text: bytes, kind: type[T], file: str, at: int) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        why = f"this is not what a recording holds ({problem})"
        raise RecordingError(file, at, why) from problem


def plain(found: Any) -> Plain:
    """Return decoded JSON as values: an object is a Table, an array a tuple."""
    if isinstance(found, dict):
        return Table.of((name, plain(value)) for name, value in found.items())
    if isinstance(found, list):
        return tuple(plain(item) for item in found)
    return found
