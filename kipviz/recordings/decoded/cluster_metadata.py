"""The log of a KRaft cluster's metadata, `__cluster_metadata-0`: topics, leaders, settings, feature levels, ACLs.

A data record is a frame version, the type and version of a record, and the record. The quorum of the controllers writes
control records for itself. Records of other kinds keep their place and their name. A broker deletes the front of this
log once a snapshot (`*.checkpoint`) contains it; then the oldest snapshot is read first.

Source: TopicRecord, PartitionRecord, PartitionChangeRecord, RemoveTopicRecord, ConfigRecord and FeatureLevelRecord
among Kafka's metadata records; MetadataRecordSerde; PartitionRegistration.merge; ControlRecordType.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from kipviz.core.values import Value
from kipviz.recordings.decoded import acl_records
from kipviz.recordings.decoded.acl_records import (
    LoggedAccessControlEntry,
    LoggedRemoveAccessControlEntry,
)
from kipviz.recordings.decoded.elections import LeaderDecision, brokers_of
from kipviz.recordings.files.segments import (
    LoggedBatch,
    LoggedRecord,
    Segment,
    read_partition,
    read_segment,
)
from kipviz.recordings.recording_error import RecordingError
from kipviz.records.fields import Fields, FieldsError
from kipviz.records.placement import topic_of

CLUSTER_METADATA = "__cluster_metadata"
# A snapshot is named after its end offset and the epoch of the quorum's leader.
_SNAPSHOT = re.compile(r"(\d{20})-\d{10}\.checkpoint")
# ControlRecordType: the quorum's own records.
QUORUM_KINDS = {
    2: "LeaderChange",
    3: "SnapshotHeader",
    4: "SnapshotFooter",
    5: "KRaftVersion",
    6: "KRaftVoters",
}
# Types of metadata records that are named but not decoded.
OTHER_KINDS = {
    0: "RegisterBroker",
    1: "UnregisterBroker",
    7: "FenceBroker",
    8: "UnfenceBroker",
    10: "DelegationToken",
    11: "UserScramCredential",
    14: "ClientQuota",
    15: "ProducerIds",
    17: "BrokerRegistrationChange",
    20: "NoOp",
    21: "ZkMigrationState",
    22: "RemoveUserScramCredential",
    23: "BeginTransaction",
    24: "EndTransaction",
    25: "AbortTransaction",
    26: "RemoveDelegationToken",
    27: "RegisterController",
    28: "ClearElr",
    29: "UnregisterController",
}
BEGINS, ENDS, ABORTS = (OTHER_KINDS[kind] for kind in (23, 24, 25))
# ConfigResource.Type
RESOURCES = {2: "topic", 4: "broker", 8: "broker logger", 16: "client metrics", 32: "group"}
FRAME_VERSION = 1
NO_LEADER_CHANGE = -2


class LoggedTopic(Value, frozen=True):
    """A topic is created."""

    offset: int
    topic: str
    topic_id: str


class LoggedRemoval(Value, frozen=True):
    """A topic is deleted, with its partitions."""

    offset: int
    topic_id: str


class LoggedLeadership(Value, frozen=True):
    """The leader and the replicas of a partition; None means unchanged.

    If only the leader changes, its epoch is the next one.
    """

    offset: int
    topic_id: str
    partition: int
    leader: int | None
    leader_epoch: int | None
    replicas: tuple[int, ...] | None
    isr: tuple[int, ...] | None


class LoggedConfig(Value, frozen=True):
    """A setting of a topic, broker or group; the value None removes it."""

    offset: int
    resource: str
    name: str
    key: str
    value: str | None


class LoggedFeature(Value, frozen=True):
    """The finalized level of a feature."""

    offset: int
    feature: str
    level: int


class LoggedMetadata(Value, frozen=True):
    """A record of the metadata log that is named but not decoded."""

    offset: int
    kind: str


LoggedOfCluster: TypeAlias = (
    LoggedTopic
    | LoggedRemoval
    | LoggedLeadership
    | LoggedConfig
    | LoggedFeature
    | LoggedAccessControlEntry
    | LoggedRemoveAccessControlEntry
    | LoggedMetadata
)


class ClusterMetadata(Value, frozen=True):
    """The contents of the metadata log: current topics, ids of deleted ones, leaders, settings, levels.

    `topics` and `removed` are (topic, id); `configs` are (kind of resource, its name, key, value) at the end,
    `config_changes` (time in ms, kind, name, key, value) in order, with None for a removed setting; `levels` are
    (feature, level) in order. `acls` are those at the end, `acl_changes` (time in ms, the ACL, whether it is added) in
    order.
    """

    topics: tuple[tuple[str, str], ...] = ()
    removed: tuple[tuple[str, str], ...] = ()
    decisions: tuple[LeaderDecision, ...] = ()
    configs: tuple[tuple[str, str, str, str], ...] = ()
    levels: tuple[tuple[str, int], ...] = ()
    config_changes: tuple[tuple[int, str, str, str, str | None], ...] = ()
    acls: tuple[LoggedAccessControlEntry, ...] = ()
    acl_changes: tuple[tuple[int, LoggedAccessControlEntry, bool], ...] = ()

    def settings_of(self, resource: str, name: str) -> tuple[tuple[str, str], ...]:
        """Return the settings (key, value) of one topic, broker or group."""
        return tuple((k, v) for kind, of, k, v in self.configs if (kind, of) == (resource, name))

    def levels_of(self, feature: str) -> tuple[int, ...]:
        """Return the levels that a feature has had, the latest first."""
        return tuple(dict.fromkeys(level for name, level in self.levels[::-1] if name == feature))


def several_led(decisions: tuple[LeaderDecision, ...]) -> tuple[LeaderDecision, ...]:
    """Return the decisions of a cluster of several brokers, none for a single broker, which leads everything."""
    return decisions if len(brokers_of(decisions)) > 1 else ()


def compacted_topics(known: ClusterMetadata) -> tuple[str, ...]:
    """Return the compacted topics."""
    return tuple(
        name
        for kind, name, key, value in known.configs
        if (kind, key) == ("topic", "cleanup.policy") and "compact" in value.split(",")
    )


def partitions_of(known: ClusterMetadata, topic: str) -> int:
    """Return the number of partitions of a topic, 0 if it does not exist."""
    return len({d.partition for d in known.decisions if topic_of(d.partition) == topic})


def metadata_record(record: LoggedRecord, batch: LoggedBatch) -> LoggedOfCluster:
    """Decode one record of the metadata log.

    Raises:
        FieldsError: if it is damaged.
    """
    if batch.control:
        return LoggedMetadata(record.offset, quorum_kind(record))
    if record.value is None:
        raise FieldsError(0, "the metadata record is null")
    fields = Fields(record.value, flexible=True)
    if (frame := fields.unsigned_varint("the frame version")) != FRAME_VERSION:
        raise FieldsError(0, f"the metadata record has the frame version {frame}, known is 1")
    kind = fields.unsigned_varint("the record's type")
    version = fields.unsigned_varint("the record's version")
    if kind not in READERS:
        return LoggedMetadata(record.offset, OTHER_KINDS.get(kind, f"type {kind}"))
    return READERS[kind](record.offset, fields, version)


def quorum_kind(record: LoggedRecord) -> str:
    """Return the name of a control record of the metadata log.

    Raises:
        FieldsError: if it has no key.
    """
    if record.key is None:
        raise FieldsError(0, "the control record has no key")
    key = Fields(record.key)
    key.number(2, "the control record's version")
    kind = key.number(2, "the control record's type")
    return QUORUM_KINDS.get(kind, f"control type {kind}")


def _topic(offset: int, fields: Fields, version: int) -> LoggedTopic:
    return LoggedTopic(offset, fields.string("the topic"), fields.uuid("the topic id"))


def _removal(offset: int, fields: Fields, version: int) -> LoggedRemoval:
    return LoggedRemoval(offset, fields.uuid("the topic id"))


def _partition(offset: int, fields: Fields, version: int) -> LoggedLeadership:
    partition = fields.number(4, "the partition")
    topic_id = fields.uuid("the topic id")
    replicas, isr = _brokers(fields, "the replicas"), _brokers(fields, "those in sync")
    _brokers(fields, "replicas that go")
    _brokers(fields, "replicas that come")
    leader = fields.number(4, "the leader")
    epoch = fields.number(4, "the leader epoch")
    return LoggedLeadership(offset, topic_id, partition, leader, epoch, replicas or (), isr or ())


def _change(offset: int, fields: Fields, version: int) -> LoggedLeadership:
    partition = fields.number(4, "the partition")
    topic_id = fields.uuid("the topic id")
    tags = fields.tags("the change of a partition")
    isr = _brokers(tags[0], "those in sync") if 0 in tags else None
    leader = tags[1].number(4, "the leader") if 1 in tags else NO_LEADER_CHANGE
    replicas = _brokers(tags[2], "the replicas") if 2 in tags else None
    now = None if leader == NO_LEADER_CHANGE else leader
    return LoggedLeadership(offset, topic_id, partition, now, None, replicas, isr)


def _brokers(fields: Fields, what: str) -> tuple[int, ...] | None:
    return fields.array(what, lambda each: each.number(4, what))


def _config(offset: int, fields: Fields, version: int) -> LoggedConfig:
    kind = fields.number(1, "the kind of resource")
    name, key = fields.string("the resource"), fields.string("the setting")
    value = fields.nullable_string("the value")
    return LoggedConfig(offset, RESOURCES.get(kind, f"resource type {kind}"), name, key, value)


def _feature(offset: int, fields: Fields, version: int) -> LoggedFeature:
    return LoggedFeature(offset, fields.string("the feature"), fields.number(2, "the level"))


READERS: dict[int, Callable[[int, Fields, int], LoggedOfCluster]] = {
    2: _topic,
    3: _partition,
    4: _config,
    5: _change,
    9: _removal,
    12: _feature,
    18: acl_records.entry,
    19: acl_records.removal,
}


# -- the whole log -----------------------------------------------------------------------------------


def read_metadata(folder: Path) -> ClusterMetadata:
    """Read the metadata log of a broker, which may have been copied while the broker was running.

    Raises:
        RecordingError: if the log is damaged; the error names file and byte.
    """
    segments = read_partition(folder, torn_tail=True)
    first = next((s.batches[0].base_offset for s in segments if s.batches), 0)
    snapshots = {int(m[1]): f for f in folder.iterdir() if (m := _SNAPSHOT.fullmatch(f.name))}
    ends = sorted(end for end in snapshots if end >= first > 0)
    told: list[tuple[int, LoggedOfCluster]] = []
    if ends:
        told += _records(read_segment(snapshots[ends[0]], compacted=True), 0)
    for segment in segments:
        told += _records(segment, ends[0] if ends else 0)
    return _fold_metadata(_drop_aborted(told))


def _records(segment: Segment, since: int) -> Iterator[tuple[int, LoggedOfCluster]]:
    for batch in segment.batches:
        for record in batch.records:
            if record.offset < since:
                continue
            try:
                yield record.timestamp, metadata_record(record, batch)
            except FieldsError as problem:
                why = f"the record at offset {record.offset} cannot be read: {problem.why}"
                raise RecordingError(segment.file, record.position, why) from problem


def _drop_aborted(
    told: Iterable[tuple[int, LoggedOfCluster]],
) -> Iterator[tuple[int, LoggedOfCluster]]:
    """Leave out what the controller aborted: KIP-868's metadata transactions."""
    held: list[tuple[int, LoggedOfCluster]] | None = None
    for at, each in told:
        kind = each.kind if isinstance(each, LoggedMetadata) else ""
        if kind == BEGINS:
            held = []
        elif kind == ENDS:
            yield from held or ()
            held = None
        elif kind == ABORTS:
            held = None
        elif held is not None:
            held.append((at, each))
        else:
            yield at, each


def _fold_metadata(told: Iterable[tuple[int, LoggedOfCluster]]) -> ClusterMetadata:
    topics: dict[str, str] = {}
    removed: dict[str, str] = {}
    configs: dict[tuple[str, str, str], str] = {}
    latest: dict[str, LeaderDecision] = {}
    decisions: list[LeaderDecision] = []
    levels: list[tuple[str, int]] = []
    changes: list[tuple[int, str, str, str, str | None]] = []
    acls: dict[str, LoggedAccessControlEntry] = {}
    acl_changes: list[tuple[int, LoggedAccessControlEntry, bool]] = []
    for at, each in told:
        if isinstance(each, LoggedConfig):
            changes.append((at, each.resource, each.name, each.key, each.value))
        match each:
            case LoggedTopic(topic=topic, topic_id=topic_id):
                topics[topic_id] = topic
            case LoggedRemoval(topic_id=topic_id) if topic_id in topics:
                gone = removed[topic_id] = topics.pop(topic_id)
                # A topic that is created again starts fresh.
                for name in [n for n in latest if topic_of(n) == gone]:
                    del latest[name]
                decisions = [d for d in decisions if topic_of(d.partition) != gone]
                configs = {k: v for k, v in configs.items() if k[:2] != ("topic", gone)}
            case LoggedLeadership(topic_id=topic_id) if topic_id in topics:
                name = f"{topics[topic_id]}-{each.partition}"
                made = _make_decision(name, each, latest.get(name), at)
                if made is not None:
                    latest[name] = made
                    decisions.append(made)
            case LoggedConfig(value=None):
                configs.pop((each.resource, each.name, each.key), None)
            case LoggedConfig(value=str() as value):
                configs[each.resource, each.name, each.key] = value
            case LoggedFeature(feature=feature, level=level):
                levels.append((feature, level))
            case LoggedAccessControlEntry(acl_id=acl_id):
                acls[acl_id] = each
                acl_changes.append((at, each, True))
            case LoggedRemoveAccessControlEntry(acl_id=acl_id) if acl_id in acls:
                acl_changes.append((at, acls.pop(acl_id), False))
            case _:
                pass
    return ClusterMetadata(
        tuple((topic, topic_id) for topic_id, topic in topics.items()),
        tuple((topic, topic_id) for topic_id, topic in removed.items()),
        tuple(decisions),
        tuple((*place, value) for place, value in configs.items()),
        tuple(levels),
        tuple(changes),
        tuple(acls.values()),
        tuple(acl_changes),
    )


def _make_decision(
    name: str, said: LoggedLeadership, before: LeaderDecision | None, at_ms: int
) -> LeaderDecision | None:
    """Return the decision about a partition after a change; None for a change of an unknown partition."""
    if said.leader_epoch is not None:
        leader = -1 if said.leader is None else said.leader
        return LeaderDecision(
            name, leader, said.leader_epoch, said.replicas or (), said.isr or (), at_ms
        )
    if before is None:
        return None
    changed = said.leader is not None
    return before.but(
        leader=said.leader if changed else before.leader,
        leader_epoch=before.leader_epoch + changed,
        replicas=before.replicas if said.replicas is None else said.replicas,
        isr=before.isr if said.isr is None else said.isr,
        at_ms=at_ms,
    )
