"""The records of `__consumer_offsets` about the members of consumer groups and share groups.

They become the records that the model's group coordinator writes itself. The log names topics by id, so a partition is
called `id-number` here; `name_topics` replaces the ids by known names. Left out: racks of share groups, client ids and hosts,
timeouts, the assignor and metadata hashes.

Source: ConsumerGroup*Key/Value and ShareGroup*Key/Value among Kafka's message definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kipviz.core.values import Value
from kipviz.recordings.decoded.classic_group_records import read_group
from kipviz.records.consumer_offsets import (
    GROUP_METADATA,
    MEMBER_RECORDS,
    STABLE,
    UNRELEASED,
    UNREVOKED,
    GroupEpochRecord,
    GroupTombstone,
    MemberRecord,
    MemberTombstone,
    RegexRecord,
    SubscriptionRecord,
    TargetEpochRecord,
    TargetRecord,
)
from kipviz.records.fields import Fields, FieldsError
from kipviz.records.share_group_members import (
    OF_A_MEMBER,
    ShareGroupAssignmentRecord,
    ShareGroupEpochRecord,
    ShareGroupMemberRecord,
    ShareGroupStatePartitionsRecord,
    ShareGroupTargetEpochRecord,
    ShareGroupTargetRecord,
    ShareGroupTombstone,
)

# The key of a whole group of the classic protocol.
CLASSIC = 2
# MemberState, by its number in the log.
MEMBER_STATES = {0: STABLE, 1: UNREVOKED, 2: UNRELEASED}
# The key of a resolved regular expression; it names the expression after the group.
EXPRESSION = 16
# The keys whose tombstone means that a whole group is deleted.
OF_GROUPS = (3, 11)
# The part of a member that a tombstone deletes, by its key; these keys name the member after the group.
DELETED: dict[int, tuple[type[MemberTombstone | ShareGroupTombstone], str]] = {
    8: (MemberTombstone, MEMBER_RECORDS[0]),
    7: (MemberTombstone, MEMBER_RECORDS[1]),
    5: (MemberTombstone, MEMBER_RECORDS[2]),
    14: (ShareGroupTombstone, OF_A_MEMBER[0]),
    13: (ShareGroupTombstone, OF_A_MEMBER[1]),
    10: (ShareGroupTombstone, OF_A_MEMBER[2]),
}
Held = tuple[tuple[str, int], ...]


def decode_record(kind: int, group: str, key: Fields, value: bytes | None) -> Value | None:
    """Decode the rest of a key after the group, and the value; None for a kind that is only named.

    Raises:
        FieldsError: if the record is damaged or has an unknown layout.
    """
    if kind == CLASSIC:
        key.end("the key")
        return read_group(group, value) if value else GroupTombstone(group, GROUP_METADATA)
    if kind not in READ:
        return None
    member = key.string("the member, or the expression") if kind in (*DELETED, EXPRESSION) else ""
    key.end("the key")
    if value is None and kind in DELETED:
        gone, of = DELETED[kind]
        return gone(group, member, of)
    if value is None:
        return None
    fields = Fields(value)
    if (version := fields.number(2, "the version")) != 0:
        raise FieldsError(0, f"a record of a group has version {version}, known is 0")
    fields.flexible = True
    return READ[kind](fields, group, member) if member else READ[kind](fields, group)


def topics_told(record: Value) -> tuple[tuple[str, str], ...]:
    """Return the (topic id, topic) pairs in a record."""
    if not isinstance(record, ShareGroupStatePartitionsRecord):
        return ()
    both = (*record.initializing, *record.initialized)
    named_ = (p.rpartition("-")[0].partition("|") for p in both)
    return tuple((topic_id, topic) for topic_id, bar, topic in named_ if bar)


def name_topics(record: Value, topics: Mapping[str, str]) -> Value:
    """Replace topic ids by names; an unknown id stays."""
    if isinstance(record, MemberRecord):
        return record.but(
            assigned=tuple((_name(p, topics), epoch) for p, epoch in record.assigned),
            revoking=tuple((_name(p, topics), epoch) for p, epoch in record.revoking),
        )
    if isinstance(record, TargetRecord | ShareGroupTargetRecord | ShareGroupAssignmentRecord):
        return record.but(partitions=tuple(sorted(_name(p, topics) for p in record.partitions)))
    if isinstance(record, ShareGroupStatePartitionsRecord):
        return record.but(
            initializing=tuple(sorted(_name(p, topics) for p in record.initializing)),
            initialized=tuple(sorted(_name(p, topics) for p in record.initialized)),
        )
    return record


def _name(partition: str, topics: Mapping[str, str]) -> str:
    topic_id, _, index = partition.rpartition("-")
    topic_id, bar, topic = topic_id.partition("|")
    return f"{topic if bar else topics.get(topic_id, topic_id)}-{index}"


def _end(fields: Fields, what: str) -> dict[int, Fields]:
    tags = fields.tags(what)
    fields.end(what)
    return tags


def _epoch(make: Callable[[str, int], Value]) -> Callable[[Fields, str], Value]:
    """Return the decoder of a record with an epoch of a group; a hash or a time after it is left out."""

    def read(fields: Fields, group: str) -> Value:
        epoch = fields.number(4, "the epoch")
        if make is ShareGroupEpochRecord:
            fields.number(8, "the hash of the topics")
        _end(fields, "the epoch")
        return make(group, epoch)

    return read


def _subscription(fields: Fields, group: str, member: str) -> Value:
    instance = fields.nullable_string("the instance")
    rack = fields.nullable_string("the rack")
    topics = _client_and_topics(fields)
    regex = fields.nullable_string("the regular expression")
    fields.number(4, "the rebalance time-out")
    fields.nullable_string("the assignor")
    _end(fields, "the subscription")
    named = (topics, instance or "", regex or "", rack or "")
    return SubscriptionRecord(group, member, *named)


def _expression(fields: Fields, group: str, regex: str) -> Value:
    topics = fields.array("the topics", lambda f: f.string("a topic"))
    fields.number(8, "the version of the metadata")
    fields.number(8, "the time of the resolution")
    _end(fields, "the expression")
    return RegexRecord(group, regex, tuple(topics or ()))


def _share_subscription(fields: Fields, group: str, member: str) -> Value:
    fields.nullable_string("the rack")
    topics = _client_and_topics(fields)
    _end(fields, "the subscription")
    return ShareGroupMemberRecord(group, member, topics)


def _client_and_topics(fields: Fields) -> tuple[str, ...]:
    fields.string("the client")
    fields.string("the client's host")
    topics = fields.array("the topics", lambda f: f.string("a topic"))
    return tuple(sorted(set(topics or ())))


def _target(make: Callable[[str, str, tuple[str, ...]], Value]) -> Callable[..., Value]:
    def read(fields: Fields, group: str, member: str) -> Value:
        partitions = _decode_held(fields, "the target")
        _end(fields, "the target")
        return make(group, member, tuple(p for p, _ in partitions))

    return read


def _assignment(fields: Fields, group: str, member: str) -> Value:
    epoch, previous, state = _member(fields)
    assigned = _decode_held(fields, "the assignment")
    revoking = _decode_held(fields, "the partitions to revoke")
    _end(fields, "the assignment")
    return MemberRecord(group, member, epoch, previous, state, assigned, revoking)


def _share_assignment(fields: Fields, group: str, member: str) -> Value:
    epoch, previous, _ = _member(fields)
    assigned = _decode_held(fields, "the assignment")
    _end(fields, "the assignment")
    partitions = tuple(p for p, _ in assigned)
    return ShareGroupAssignmentRecord(group, member, epoch, previous, partitions)


def _member(fields: Fields) -> tuple[int, int, str]:
    epoch = fields.number(4, "the member epoch")
    previous = fields.number(4, "the member epoch before")
    state = fields.number(1, "the member's state")
    if state not in MEMBER_STATES:
        raise FieldsError(fields.at - 1, f"there is no state {state} of a member")
    return epoch, previous, MEMBER_STATES[state]


def _decode_held(fields: Fields, what: str) -> Held:
    """Decode partitions by topic id, with the epoch at which each was assigned if that is stored."""

    def topic(fields: Fields) -> Held:
        topic_id = fields.uuid("a topic id")
        indexes = fields.array("the partitions of a topic", _index) or ()
        tags = fields.tags("a topic")
        epochs: tuple[int, ...] | None = None
        if 0 in tags:
            epochs = tags[0].array("the epochs", lambda f: f.number(4, "an epoch"))
        if epochs is not None and len(epochs) != len(indexes):
            why = f"a topic has {len(indexes)} partitions and {len(epochs)} epochs"
            raise FieldsError(fields.at, why)
        since = epochs or (0,) * len(indexes)
        return tuple((f"{topic_id}-{i}", e) for i, e in zip(indexes, since, strict=True))

    return tuple(each for held in fields.array(what, topic) or () for each in held)


def _index(fields: Fields) -> int:
    return fields.number(4, "a partition")


def _states(fields: Fields, group: str) -> Value:
    """Decode the partitions that have state; here the log has a topic's name beside its id."""

    def topic(fields: Fields) -> tuple[str, ...]:
        topic_id, name = fields.uuid("a topic id"), fields.string("a topic")
        indexes = fields.array("the partitions of a topic", _index) or ()
        fields.tags("a topic")
        return tuple(f"{topic_id}|{name}-{index}" for index in indexes)

    def deleting(fields: Fields) -> str:
        fields.uuid("a topic id")
        name = fields.string("a topic")
        fields.tags("a topic")
        return name

    asked, there = (
        tuple(p for each in fields.array(what, topic) or () for p in each)
        for what in ("what is asked for", "what is there")
    )
    gone = tuple(sorted(fields.array("what is deleted", deleting) or ()))
    _end(fields, "the states")
    return ShareGroupStatePartitionsRecord(group, asked, there, gone)


READ: dict[int, Callable[..., Value]] = {
    3: _epoch(GroupEpochRecord),
    5: _subscription,
    6: _epoch(TargetEpochRecord),
    7: _target(TargetRecord),
    8: _assignment,
    10: _share_subscription,
    11: _epoch(ShareGroupEpochRecord),
    12: _epoch(ShareGroupTargetEpochRecord),
    13: _target(ShareGroupTargetRecord),
    14: _share_assignment,
    15: _states,
    EXPRESSION: _expression,
}
