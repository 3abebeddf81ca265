"""The evidence for a comparison with the model: requests with their answers, and the logs of the broker.

It is a recording, or a broker's folder of logs with its request log. A recording also has the settings and feature
levels; for a broker's own logs the caller gives them, or they stay open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kipviz.brokers.settings import BrokerSettings, GroupConfig
from kipviz.cluster.real.rebuilt_cluster import BROKER, RebuiltBatch, spec_of
from kipviz.cluster.specs.spec import TRANSACTION_VERSIONS, ClusterSpec, Placement
from kipviz.core.values import Value
from kipviz.messages.groups.reset_policy import LATEST
from kipviz.recordings.decoded.cluster_metadata import (
    ClusterMetadata,
    compacted_topics,
    partitions_of,
    several_led,
)
from kipviz.recordings.decoded.elections import LeaderDecision, election_times, placements_of
from kipviz.recordings.decoded.group_configs import GROUP_SETTINGS, ConfigChange, changes_in
from kipviz.recordings.files.broker_folder import (
    partitions_in,
    topic_ids_in,
)
from kipviz.recordings.files.cluster_folders import cluster_folders
from kipviz.recordings.files.request_log import UTC, exchanges_in, in_order
from kipviz.recordings.rebuild import entries_of, internal_partitions_of
from kipviz.recordings.recorded import WIRE, Exchange, Recording, load_recording
from kipviz.recordings.recording_error import RecordingError
from kipviz.recordings.request_context.admission import Allowed, logged_acls, recorded_acls
from kipviz.recordings.request_context.handmade_requests import RequestBatch, sent_batches
from kipviz.records.placement import TRANSACTION_STATE, topic_of
from kipviz.scenarios.setting_changes import KAFKA_NAMES
from kipviz.settings.broker_configs import (
    PRODUCER_ID_EXPIRATION_MS,
    TRANSACTION_VERSION,
)
from kipviz.settings.broker_configs import (
    SHARE_COORDINATOR_STATE_TOPIC_PRUNE_INTERVAL_MS as PRUNE_INTERVAL,
)
from kipviz.settings.topic_configs import (
    ERRORS_DEADLETTERQUEUE_GROUP_ENABLE,
    INDEX_INTERVAL_BYTES,
    MIN_INSYNC_REPLICAS,
)

# The assumed settings of a broker. A replay compares one request at a time: what a broker collects meanwhile, and the
# interval between two target assignments of a group, are in the recorded requests and times.
OF_A_BROKER = BrokerSettings(asks_together=False, consumer_assignment_interval_ms=0)
# Each takes a few kilobytes beside the world from which it was made.
WORLDS_MAX = 20_000
# APIs whose requests name a share group.
OF_SHARE_GROUPS = ("SHARE_GROUP_HEARTBEAT", "SHARE_FETCH", "SHARE_ACKNOWLEDGE")
NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


class Evidence(Value, frozen=True):
    """Exchanges in the order of their answers, and batches in the order in which they were written.

    `topics` are (topic, id), `partitions` those that can be compared, `levels` the possible levels of
    transaction.version, and `file` is the file of the exchanges. `node` is the broker's number if it leads everything,
    otherwise -1; `indexed` are the partitions with an offset index, and `first_producer_id` is the first one that a new
    broker assigns; `dead_letter_topics` accept dead letters, and after `producer_expiry_ms` of silence a log forgets a
    producer. With several brokers `decisions` have the leaders, and `min_insync_replicas` are (topic, number) of topics
    that need more than one replica. `allowed` are the ACLs over time, `sent` the handmade batches, and `prune_ms` is
    the interval at which a share coordinator deletes redundant records. `removed` are (topic, id) of deleted topics,
    `led` has the leaders of every partition of the cluster, `not_read` describes the parts of the logs that could not
    be read, and `damaged` are the partitions that lack batches because of it. `config_changes` are the changes of share
    group settings over time, starting from `configs`, and `worlds_max` is the number of worlds of several brokers that
    are kept beside those of the logs.
    """

    file: str
    exchanges: tuple[Exchange, ...]
    entries: tuple[RebuiltBatch, ...]
    topics: tuple[tuple[str, str], ...]
    partitions: tuple[str, ...]
    internal_partitions: int
    settings: BrokerSettings = OF_A_BROKER
    configs: tuple[GroupConfig, ...] = ()
    node: int = -1
    indexed: tuple[str, ...] = ()
    first_producer_id: int | None = None
    dead_letter_topics: tuple[str, ...] = ()
    producer_expiry_ms: int = PRODUCER_ID_EXPIRATION_MS.default
    levels: tuple[int, ...] = TRANSACTION_VERSIONS[::-1]
    decisions: tuple[LeaderDecision, ...] = ()
    min_insync_replicas: tuple[tuple[str, int], ...] = ()
    allowed: tuple[Allowed, ...] = ()
    sent: tuple[RequestBatch, ...] = ()
    prune_ms: int = PRUNE_INTERVAL.default
    removed: tuple[tuple[str, str], ...] = ()
    led: tuple[LeaderDecision, ...] = ()
    not_read: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()
    config_changes: tuple[ConfigChange, ...] = ()
    worlds_max: int = WORLDS_MAX


def of_recording(folder: Path) -> Evidence:
    """Read a recording: an internal partition without a log is empty.

    Raises:
        RecordingError: if it is damaged.
    """
    recording = load_recording(folder)
    ids = recording.topic_ids.items()
    names = {topic_id: topic for topic, topic_id in ids}
    entries = entries_of(
        partitions_in(folder), topic_ids=names, elected=election_times(recording.decisions)
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
        _list_indexed(partitions_in(folder)),
        0,
        _dead_letter_topics(recording),
        int(
            recording.settings.get(PRODUCER_ID_EXPIRATION_MS.name)
            or PRODUCER_ID_EXPIRATION_MS.default
        ),
        _levels(recording),
        recording.decisions,
        _min_insync_replicas(recording),
        recorded_acls(recording),
        sent_batches(recording, names),
        int(recording.settings.get(PRUNE_INTERVAL.name) or PRUNE_INTERVAL.default),
        led=recording.decisions,
    )


class BrokerFiles(Value, frozen=True):
    """The files of one broker: its folder of logs, and its request log in one file or several."""

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
    """Read a broker's folder of logs and its request logs; the logs may have been copied while it was running.

    Raises:
        RecordingError: if there are no logs, or a request log has no requests.
        ValueError: if the offset or a setting is invalid.
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
    """Read the files of one or several brokers of a cluster; the logs may have been copied while they were running.

    It reads the replica of a partition that was its last leader, or that was in sync last.

    Raises:
        RecordingError: if there are no logs, a request log has no requests, or the brokers are not different brokers of
            one cluster.
        ValueError: if the offset or a setting is invalid.
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
        topic_ids={topic_id: topic for topic, topic_id in known.topics},
        elected=election_times(decisions),
        compacted=compacted_topics(known),
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
        indexed=_list_indexed(folders),
        dead_letter_topics=_topics_with(known, ERRORS_DEADLETTERQUEUE_GROUP_ENABLE.name, "true"),
        levels=known.levels_of(TRANSACTION_VERSION.name) or TRANSACTION_VERSIONS[::-1],
        decisions=decisions,
        min_insync_replicas=_more_replicas(known, folders) if led else (),
        allowed=logged_acls(known.acl_changes),
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
    """Return the topics that have a log here and a min.insync.replicas, their own or the whole cluster's."""
    here = {topic_of(each.name) for each in folders}
    of_all = dict(known.settings_of("broker", "")).get(MIN_INSYNC_REPLICAS.name, "")
    found = {topic: of_all for topic, _ in known.topics}
    found |= {
        name: value
        for kind, name, key, value in known.configs
        if (kind, key) == ("topic", MIN_INSYNC_REPLICAS.name)
    }
    return tuple(
        (topic, int(value)) for topic, value in found.items() if topic in here and value.isdecimal()
    )


def _configs_of(known: ClusterMetadata, exchanges: Iterable[Exchange]) -> tuple[GroupConfig, ...]:
    """Return the initial settings of share groups: by default a group starts at the end of its topics."""
    asked = [x.request.get("groupId", "") for x in exchanges if x.api in OF_SHARE_GROUPS]
    configured = [name for kind, name, _, _ in known.configs if kind == "group"]
    groups = dict.fromkeys((*asked, *configured))
    return tuple(GroupConfig(group, auto_offset_reset=LATEST) for group in groups)


def _changes_of(known: ClusterMetadata) -> tuple[ConfigChange, ...]:
    """Return the changes of group settings in the metadata log."""
    return tuple(
        ConfigChange(at, name, key, value)
        for at, kind, name, key, value in known.config_changes
        if kind == "group"
    )


def elections_of(entries: Iterable[RebuiltBatch]) -> dict[str, tuple[tuple[int, int], ...]]:
    """Return the times between which each partition got a leader: its last batch before and the first one after."""
    found: dict[str, list[tuple[int, int]]] = {}
    last: dict[str, RebuiltBatch] = {}
    for entry in entries:
        before = last.get(entry.partition)
        if before is None or entry.leader_epoch > before.leader_epoch:
            began = 0 if before is None else before.at_ms
            found.setdefault(entry.partition, []).append((began, entry.at_ms))
        last[entry.partition] = entry
    return {partition: tuple(times) for partition, times in found.items()}


def _list_indexed(folders: Iterable[Path]) -> tuple[str, ...]:
    """Return the partitions that are long enough for an index."""
    sizes = {f.name: sum(log.stat().st_size for log in f.glob("*.log")) for f in folders}
    return tuple(name for name, size in sizes.items() if size >= INDEX_INTERVAL_BYTES.default)


def _one_by_one(entries: Iterable[RebuiltBatch]) -> tuple[RebuiltBatch, ...]:
    """Split coordinators' batches: one batch may have the records of several requests."""
    return tuple(part for entry in entries for part in _parts(entry))


def _parts(entry: RebuiltBatch) -> Iterator[RebuiltBatch]:
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
    """Return the levels of transaction.version that the cluster had during the recording."""
    last = recording.features.get(TRANSACTION_VERSION.name) or 0
    told = [
        call.arguments["from"]
        for call in recording.calls
        if call.name == "updateFeatures" and call.arguments["feature"] == TRANSACTION_VERSION.name
    ]
    return tuple(dict.fromkeys((last, *told)))


def _configs(recording: Recording) -> tuple[GroupConfig, ...]:
    """Return the settings of share groups that an operator has changed during the recording."""
    said: dict[str, dict[str, Any]] = {}
    for call in recording.calls:
        if call.name == "incrementalAlterConfigs":
            for name, value in call.arguments["settings"].items():
                if name in GROUP_SETTINGS:
                    field, read = GROUP_SETTINGS[name]
                    said.setdefault(call.arguments["group"], {})[field] = read(value)
    return tuple(GroupConfig(group, **settings) for group, settings in said.items())


def _dead_letter_topics(recording: Recording) -> tuple[str, ...]:
    """Return the topics that were created for dead letters."""
    return tuple(
        call.arguments["topic"]
        for call in recording.calls
        if call.name == "createTopics"
        and call.arguments.get(ERRORS_DEADLETTERQUEUE_GROUP_ENABLE.name) == "true"
    )


def _min_insync_replicas(recording: Recording) -> tuple[tuple[str, int], ...]:
    """Return the topics that were created with a min.insync.replicas."""
    return tuple(
        (call.arguments["topic"], int(call.arguments[MIN_INSYNC_REPLICAS.name]))
        for call in recording.calls
        if call.name == "createTopics" and MIN_INSYNC_REPLICAS.name in call.arguments
    )


def _settings(said: Iterable[tuple[str, str]]) -> BrokerSettings:
    fields = BrokerSettings.__struct_fields__
    found = (setting_of(*each) for each in said if KAFKA_NAMES.get(each[0]) in fields)
    return OF_A_BROKER.but(**dict(found))


def setting_of(name: str, text: str) -> tuple[str, Any]:
    """Return the field of a broker's settings for a name in Kafka, and the parsed value.

    Raises:
        ValueError: if the text is not such a value.
    """
    field = KAFKA_NAMES[name]
    now = getattr(BrokerSettings(), field)
    if isinstance(now, bool):
        if text not in ("true", "false"):
            raise ValueError(f"{name} must be true or false, not {text!r}")
        return field, text == "true"
    if isinstance(now, int):
        if not text.isdecimal():
            raise ValueError(f"{name} must be a whole number, not {text!r}")
        return field, int(text)
    return field, text


def cluster_of(evidence: Evidence) -> ClusterSpec:
    """Return the cluster of the evidence: every partition that can be compared is led here.

    With several brokers each leads at first the partitions that it got when they were created.
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
