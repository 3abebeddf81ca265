"""What there is to hold the model against: requests with their answers, and the logs of the broker.

It is a recording, or a broker's folder of logs with its request log. A recording also says which
settings and feature levels there were; for a broker's own logs they are given or stay open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kipviz.brokers.settings import BrokerSettings, GroupConfig
from kipviz.cluster.real.rebuilt_cluster import BROKER, Entry, spec_of
from kipviz.cluster.specs.spec import TRANSACTION_VERSIONS, ClusterSpec, Placement
from kipviz.core.values import Value
from kipviz.messages.reset_policy import LATEST
from kipviz.recordings.decoded.cluster_metadata import (
    ClusterMetadata,
    compacted_in,
    partitions_of,
    several_led,
)
from kipviz.recordings.decoded.elections import Decision, elected_of, placements_of
from kipviz.recordings.decoded.group_configs import GROUP_SETTINGS, ConfigChange, changes_in
from kipviz.recordings.decoded.log_starts import PRUNE_MS
from kipviz.recordings.files.broker_folder import (
    partitions_in,
    topic_ids_in,
)
from kipviz.recordings.files.cluster_folders import cluster_folders
from kipviz.recordings.files.request_log import UTC, exchanges_in, in_order
from kipviz.recordings.rebuild import entries_of, internal_partitions_of
from kipviz.recordings.recorded import WIRE, Exchange, Recording, load_recording
from kipviz.recordings.recording_error import RecordingError
from kipviz.recordings.request_context.admission import Allowed, allowed_by, allowed_in
from kipviz.recordings.request_context.handmade_requests import Sent, sent_in
from kipviz.records.placement import TRANSACTION_STATE, topic_of
from kipviz.scenarios.setting_changes import KAFKA_NAMES

# producer.id.expiration.ms: a day.
PRODUCER_EXPIRY_MS = 86_400_000
# What a broker is taken to have. A replay asks about one request at a time: what a broker gathers meanwhile, and the
# interval between two targets of a group, is in the requests and times that were recorded.
OF_A_BROKER = BrokerSettings(asks_together=False, consumer_assignment_interval_ms=0)
# What a topic has to be set to before a broker copies dead letters to it.
TAKES_DEAD_LETTERS = "errors.deadletterqueue.group.enable"
PRUNE_INTERVAL = "share.coordinator.state.topic.prune.interval.ms"
MIN_INSYNC_REPLICAS = "min.insync.replicas"
# index.interval.bytes: a log that is shorter has no entry in its index.
INDEX_INTERVAL = 4_096
# Each is a few kilobytes beside the world that it was made from.
WORLDS_MAX = 20_000
# Whose requests name a share group.
OF_SHARE_GROUPS = ("SHARE_GROUP_HEARTBEAT", "SHARE_FETCH", "SHARE_ACKNOWLEDGE")
NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


class Evidence(Value, frozen=True):
    """Exchanges in the order of their answers, and batches in the order in which they were written.

    `topics` are (topic, id), `partitions` those that can be asked about, `levels` the levels of
    transaction.version that there may have been, and `file` is where the exchanges stand. `node` is the
    broker's number where it leads everything, -1 else; `indexed` are the partitions with an index of offsets,
    and `first_producer_id` is what a broker without a past gives first; `dead_letter_topics` take dead
    letters, and after `producer_expiry_ms` of silence a log forgets a producer. Of several brokers `decisions`
    say who led what, and `min_insync_replicas` are (topic, number) of topics that need more replicas than one.
    `allowed` are the ACLs one after the other, `sent` the batches that were sent by hand, and `prune_ms` is how
    often a share coordinator deletes what is redundant. `removed` are (topic, id) of topics that were deleted, `led`
    says who led every partition of the cluster, `not_read` says what of the logs could not be read, and `damaged` are
    the partitions that lack batches for it. `config_changes` are what share groups were set to one after the other,
    from what `configs` say, and `worlds_max` is how many worlds of several brokers are kept beside those of the logs.
    """

    file: str
    exchanges: tuple[Exchange, ...]
    entries: tuple[Entry, ...]
    topics: tuple[tuple[str, str], ...]
    partitions: tuple[str, ...]
    internal_partitions: int
    settings: BrokerSettings = OF_A_BROKER
    configs: tuple[GroupConfig, ...] = ()
    node: int = -1
    indexed: tuple[str, ...] = ()
    first_producer_id: int | None = None
    dead_letter_topics: tuple[str, ...] = ()
    producer_expiry_ms: int = PRODUCER_EXPIRY_MS
    levels: tuple[int, ...] = TRANSACTION_VERSIONS[::-1]
    decisions: tuple[Decision, ...] = ()
    min_insync_replicas: tuple[tuple[str, int], ...] = ()
    allowed: tuple[Allowed, ...] = ()
    sent: tuple[Sent, ...] = ()
    prune_ms: int = PRUNE_MS
    removed: tuple[tuple[str, str], ...] = ()
    led: tuple[Decision, ...] = ()
    not_read: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()
    config_changes: tuple[ConfigChange, ...] = ()
    worlds_max: int = WORLDS_MAX


def of_recording(folder: Path) -> Evidence:
    """Read a recording: an internal partition without a log has nothing in it.

    Raises:
        RecordingError: if it is damaged.
    """
    recording = load_recording(folder)
    ids = recording.topic_ids.items()
    names = {topic_id: topic for topic, topic_id in ids}
    entries = entries_of(
        partitions_in(folder), topic_ids=names, elected=elected_of(recording.decisions)
    )
    counts = recording.partition_counts
    return Evidence(
        str(folder / WIRE),
        recording.wire,
        _one_by_one(entries),
        ids,
        tuple(f"{topic}-{index}" for topic, count in counts.items() for index in range(count)),
        counts.get(TRANSACTION_STATE) or internal_partitions_of(entries),
        _settings(recording.settings.items()),
        _configs(recording),
        int(recording.settings.get("node.id") or -1),
        _indexed(partitions_in(folder)),
        0,
        _dead_letter_topics(recording),
        int(recording.settings.get("producer.id.expiration.ms") or PRODUCER_EXPIRY_MS),
        _levels(recording),
        recording.decisions,
        _min_insync_replicas(recording),
        allowed_in(recording),
        sent_in(recording, names),
        int(recording.settings.get(PRUNE_INTERVAL) or PRUNE_MS),
        led=recording.decisions,
    )


class BrokerFiles(Value, frozen=True):
    """What one broker wrote: its folder of logs, and its request log in one file or several."""

    logs: Path
    requests: tuple[Path, ...]


def of_broker(
    folder: Path,
    requests: Sequence[Path],
    *,
    topics: tuple[str, ...] = (),
    utc_offset: str = UTC,
    settings: Mapping[str, str] = NO_SETTINGS,
) -> Evidence:
    """Read a broker's folder of logs and its request logs; the logs may be copied while it ran.

    Raises:
        RecordingError: if there are no logs, or a request log has no requests.
        ValueError: if the offset or a setting is none.
    """
    files = BrokerFiles(folder, tuple(requests))
    return of_brokers((files,), topics=topics, utc_offset=utc_offset, settings=settings)


def of_brokers(
    brokers: Sequence[BrokerFiles],
    *,
    topics: tuple[str, ...] = (),
    utc_offset: str = UTC,
    settings: Mapping[str, str] = NO_SETTINGS,
) -> Evidence:
    """Read what one broker of a cluster wrote, or several; the logs may be copied while they ran.

    Of the replicas of a partition that one is read which led it last, or was in sync last.

    Raises:
        RecordingError: if there are no logs, a request log has no requests, or the brokers are not several ones of
            one cluster.
        ValueError: if the offset or a setting is none.
    """
    found = cluster_folders(each.logs for each in brokers)
    heres, cluster, folders = found.brokers, found.metadata, found.partitions
    known = cluster or ClusterMetadata()
    led = several_led(known.decisions)
    exchanges = in_order(
        x.but(broker=here.broker) if led else x
        for here, each in zip(heres, brokers, strict=True)
        for path in each.requests
        for x in exchanges_in(path, utc_offset)
    )
    decisions = found.decisions
    damages: list[RecordingError] = []
    entries = entries_of(
        folders,
        topics,
        torn_tail=True,
        topic_ids={topic_id: topic for topic, topic_id in known.topics},
        elected=elected_of(decisions),
        compacted=compacted_in(known),
        damages=damages,
    )
    (first, *others) = heres
    told = {**dict(known.settings_of("broker", "")), **settings}
    if first.broker >= 0 and not others:
        told = {**dict(known.settings_of("broker", str(first.broker))), **told}
    return Evidence(
        ", ".join(str(path) for each in brokers for path in each.requests),
        exchanges,
        _one_by_one(entries),
        known.topics or tuple((t, i) for i, t in topic_ids_in(folders).items()),
        tuple(each.name for each in folders),
        partitions_of(known, TRANSACTION_STATE) or internal_partitions_of(entries),
        _settings(told.items()),
        () if cluster is None else _configs_of(known, exchanges),
        first.broker if known.decisions and not led else -1,
        indexed=_indexed(folders),
        dead_letter_topics=_topics_with(known, TAKES_DEAD_LETTERS, "true"),
        levels=known.levels_of("transaction.version") or TRANSACTION_VERSIONS[::-1],
        decisions=decisions,
        min_insync_replicas=_more_replicas(known, folders) if led else (),
        allowed=allowed_by(known.acl_changes),
        removed=known.removed,
        led=led,
        not_read=(*map(str, damages), *(f"{each.name} {each.why}" for each in found.unread)),
        damaged=tuple(dict.fromkeys(Path(each.file).parent.name for each in damages)),
        config_changes=changes_in(exchanges) if cluster is None else _changes_of(known),
    )


def _topics_with(known: ClusterMetadata, key: str, value: str) -> tuple[str, ...]:
    return tuple(
        name for kind, name, k, v in known.configs if (kind, k, v) == ("topic", key, value)
    )


def _more_replicas(known: ClusterMetadata, folders: Iterable[Path]) -> tuple[tuple[str, int], ...]:
    """Return the topics with a min.insync.replicas of their own or of the whole cluster, of those that have a log here."""
    here = {topic_of(each.name) for each in folders}
    of_all = dict(known.settings_of("broker", "")).get(MIN_INSYNC_REPLICAS, "")
    found = {topic: of_all for topic, _ in known.topics}
    found |= {
        name: value
        for kind, name, key, value in known.configs
        if (kind, key) == ("topic", MIN_INSYNC_REPLICAS)
    }
    return tuple(
        (topic, int(value)) for topic, value in found.items() if topic in here and value.isdecimal()
    )


def _configs_of(known: ClusterMetadata, exchanges: Iterable[Exchange]) -> tuple[GroupConfig, ...]:
    """Return what share groups begin with: without a setting a group starts at the end of its topics."""
    asked = [x.request.get("groupId", "") for x in exchanges if x.api in OF_SHARE_GROUPS]
    configured = [name for kind, name, _, _ in known.configs if kind == "group"]
    groups = dict.fromkeys((*asked, *configured))
    return tuple(GroupConfig(group, auto_offset_reset=LATEST) for group in groups)


def _changes_of(known: ClusterMetadata) -> tuple[ConfigChange, ...]:
    """Return what groups were set to, as the metadata log has it."""
    return tuple(
        ConfigChange(at, name, key, value)
        for at, kind, name, key, value in known.config_changes
        if kind == "group"
    )


def elections_of(entries: Iterable[Entry]) -> dict[str, tuple[tuple[int, int], ...]]:
    """Give between which times each partition got a leader: its batch before and the first one after."""
    found: dict[str, list[tuple[int, int]]] = {}
    last: dict[str, Entry] = {}
    for entry in entries:
        before = last.get(entry.partition)
        if before is None or entry.leader_epoch > before.leader_epoch:
            began = 0 if before is None else before.at_ms
            found.setdefault(entry.partition, []).append((began, entry.at_ms))
        last[entry.partition] = entry
    return {partition: tuple(times) for partition, times in found.items()}


def _indexed(folders: Iterable[Path]) -> tuple[str, ...]:
    """Give the partitions that are long enough for an index."""
    sizes = {f.name: sum(log.stat().st_size for log in f.glob("*.log")) for f in folders}
    return tuple(name for name, size in sizes.items() if size >= INDEX_INTERVAL)


def _one_by_one(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Take coordinators' batches apart: what one has written of several requests may be in one."""
    return tuple(part for entry in entries for part in _parts(entry))


def _parts(entry: Entry) -> Iterator[Entry]:
    batch = entry.batch
    if batch.control or batch.producer_id >= 0 or not entry.partition.startswith("__"):
        yield entry
        return
    for at, record in enumerate(batch.records, batch.base_offset):
        yield entry.but(
            batch=batch.but(base_offset=at, records=(record,)),
            gone=entry.gone if at == batch.last_offset else (),
        )


def _levels(recording: Recording) -> tuple[int, ...]:
    """Give the levels of transaction.version that the cluster had during the recording."""
    last = recording.features.get("transaction.version") or 0
    told = [
        call.arguments["from"]
        for call in recording.calls
        if call.name == "updateFeatures" and call.arguments["feature"] == "transaction.version"
    ]
    return tuple(dict.fromkeys((last, *told)))


def _configs(recording: Recording) -> tuple[GroupConfig, ...]:
    """Give what an operator has set for share groups during the recording."""
    said: dict[str, dict[str, Any]] = {}
    for call in recording.calls:
        if call.name == "incrementalAlterConfigs":
            for name, value in call.arguments["settings"].items():
                if name in GROUP_SETTINGS:
                    field, read = GROUP_SETTINGS[name]
                    said.setdefault(call.arguments["group"], {})[field] = read(value)
    return tuple(GroupConfig(group, **settings) for group, settings in said.items())


def _dead_letter_topics(recording: Recording) -> tuple[str, ...]:
    """Give the topics that were made for dead letters."""
    return tuple(
        call.arguments["topic"]
        for call in recording.calls
        if call.name == "createTopics" and call.arguments.get(TAKES_DEAD_LETTERS) == "true"
    )


def _min_insync_replicas(recording: Recording) -> tuple[tuple[str, int], ...]:
    """Give the topics that were made with a min.insync.replicas."""
    return tuple(
        (call.arguments["topic"], int(call.arguments[MIN_INSYNC_REPLICAS]))
        for call in recording.calls
        if call.name == "createTopics" and MIN_INSYNC_REPLICAS in call.arguments
    )


def _settings(said: Iterable[tuple[str, str]]) -> BrokerSettings:
    fields = BrokerSettings.__struct_fields__
    found = (setting_of(*each) for each in said if KAFKA_NAMES.get(each[0]) in fields)
    return OF_A_BROKER.but(**dict(found))


def setting_of(name: str, text: str) -> tuple[str, Any]:
    """Give the field of a broker's settings that Kafka calls so, and what a text says of it.

    Raises:
        ValueError: if the text says nothing of the kind.
    """
    field = KAFKA_NAMES[name]
    now = getattr(BrokerSettings(), field)
    if isinstance(now, bool):
        if text not in ("true", "false"):
            raise ValueError(f"{name} is true or false, not {text!r}")
        return field, text == "true"
    if isinstance(now, int):
        if not text.isdecimal():
            raise ValueError(f"{name} is a whole number, not {text!r}")
        return field, int(text)
    return field, text


def cluster_of(evidence: Evidence) -> ClusterSpec:
    """Return the cluster of the evidence: every partition that can be asked about is led here.

    Of several brokers each leads at first what it was given when the partition was made.
    """
    placed = placements_of(evidence.decisions)
    spec = spec_of(evidence.entries, evidence.internal_partitions, placed)
    known = {p.partition for p in spec.placements}
    return spec.but(
        placements=(
            *spec.placements,
            *(Placement(p, BROKER) for p in evidence.partitions if p not in known),
        ),
        min_insync_replicas=evidence.min_insync_replicas,
        topic_ids=evidence.topics,
        settings=evidence.settings,
        dead_letter_topics=evidence.dead_letter_topics,
        transaction_version=evidence.levels[0],
    )
