"""The queries to brokers: one function for each question, which converts the answer's fields to values.

`Ask` sends a request to a broker and returns the answer's fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from kipviz.core.values import Value
from kipviz.messages.apis.cluster import acls, metadata
from kipviz.messages.apis.groups import group_admin, offset_fetch
from kipviz.messages.apis.logs import list_offsets
from kipviz.messages.apis.shares import share_admin as shares
from kipviz.messages.apis.shares import share_group_offsets
from kipviz.messages.apis.transactions import admin
from kipviz.messages.error_names import UNMODELLED_ERRORS
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import NAMES_TOPICS
from kipviz.messages.transactions.admin import STATE_NAMES
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.question import RequestFormat
from kipviz.records.placement import CONSUMER_OFFSETS, TRANSACTION_STATE, index_of, topic_of
from kipviz.settings.client_configs import TRANSACTIONAL_ID

ANY_BROKER = -1
# The maximum number of partitions, and of ids, in one request.
PARTITIONS_AT_ONCE, NAMES_AT_ONCE = 1_000, 200
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
LATEST = -1
NOT_ASKED = "a broker returned it without being asked"
_STATES = {name: state.value for state, name in STATE_NAMES.items()}


class NoAnswer(Exception):
    """A broker gives no answer; the message is one sentence."""


# (broker, question, fields) -> the answer's fields; raises NoAnswer.
Ask = Callable[[int, RequestFormat, Struct], Struct]

METADATA = RequestFormat(metadata.METADATA_REQUEST, metadata.METADATA_RESPONSE)
PRODUCERS = RequestFormat(admin.DESCRIBE_PRODUCERS_REQUEST, admin.DESCRIBE_PRODUCERS_RESPONSE)
LIST = RequestFormat(admin.LIST_TRANSACTIONS_REQUEST, admin.LIST_TRANSACTIONS_RESPONSE)
DESCRIBE = RequestFormat(admin.DESCRIBE_TRANSACTIONS_REQUEST, admin.DESCRIBE_TRANSACTIONS_RESPONSE)
OFFSETS = RequestFormat(list_offsets.LIST_OFFSETS_REQUEST, list_offsets.LIST_OFFSETS_RESPONSE)
GROUPS = RequestFormat(group_admin.LIST_GROUPS_REQUEST, group_admin.LIST_GROUPS_RESPONSE)
COMMITTED = RequestFormat(
    offset_fetch.OFFSET_FETCH_REQUEST, offset_fetch.OFFSET_FETCH_RESPONSE, NAMES_TOPICS
)
SHARE_GROUPS = RequestFormat(
    shares.SHARE_GROUP_DESCRIBE_REQUEST, shares.SHARE_GROUP_DESCRIBE_RESPONSE
)
SHARE_OFFSETS = RequestFormat(
    share_group_offsets.DESCRIBE_SHARE_GROUP_OFFSETS_REQUEST,
    share_group_offsets.DESCRIBE_SHARE_GROUP_OFFSETS_RESPONSE,
)
ACLS = RequestFormat(acls.DESCRIBE_ACLS_REQUEST, acls.DESCRIBE_ACLS_RESPONSE)


def error_name(code: int) -> str:
    """Return the name of an error code, such as NOT_COORDINATOR."""
    try:
        return Errors(code).name
    except ValueError:
        return UNMODELLED_ERRORS.get(code, f"error code {code}")


class NotSeen:
    """The queries without a result, collected by reason."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], dict[str, None]] = {}

    def add(self, kind: str, name: str, why: str) -> None:
        """Note that something was not seen: its kind ("partition"), its name, and the error or sentence."""
        self._found.setdefault((kind, why), {})[name] = None

    def sentences(self) -> tuple[str, ...]:
        """Return a sentence for each reason."""
        return tuple(
            _not_seen(kind, why, tuple(names)) for (kind, why), names in self._found.items()
        )


def _not_seen(kind: str, why: str, names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
    return f"{kind} {shown}: {why}"


class LedPartition(Value, frozen=True):
    """The leader of a partition, and its leader epoch; -1 means no leader."""

    leader: int
    epoch: int


class ClusterNow(Value, frozen=True):
    """A cluster's brokers, (id, host:port), and partitions; a topic that may not be described has no partition."""

    cluster_id: str
    brokers: tuple[tuple[int, str], ...]
    partitions: dict[str, LedPartition]
    errors: dict[str, str]

    def of_topic(self, topic: str) -> tuple[str, ...]:
        """Return a topic's partitions."""
        return tuple(p for p in self.partitions if topic_of(p) == topic)


def cluster_now(ask: Ask) -> ClusterNow:
    """Return the metadata of the whole cluster, from any broker.

    Internal topics are requested by name: a broker that lists all topics may leave them out.
    """
    every = ask(ANY_BROKER, METADATA, {"Topics": None, "AllowAutoTopicCreation": False})
    named = tuple({"Name": topic} for topic in (TRANSACTION_STATE, CONSUMER_OFFSETS))
    internal = ask(ANY_BROKER, METADATA, {"Topics": named, "AllowAutoTopicCreation": False})
    partitions: dict[str, LedPartition] = {}
    errors: dict[str, str] = {}
    for topic in (*every["Topics"], *internal["Topics"]):
        name = topic["Name"] or ""
        if topic["ErrorCode"]:
            errors[name] = error_name(topic["ErrorCode"])
        for each in topic["Partitions"]:
            led = LedPartition(each["LeaderId"], each.get("LeaderEpoch", -1))
            partitions[f"{name}-{each['PartitionIndex']}"] = led
    brokers = tuple(sorted((b["NodeId"], f"{b['Host']}:{b['Port']}") for b in every["Brokers"]))
    ordered = dict(sorted(partitions.items(), key=lambda each: _order(each[0])))
    return ClusterNow(every.get("ClusterId") or "", brokers, ordered, errors)


def _order(partition: str) -> tuple[str, int]:
    return topic_of(partition), index_of(partition)


class ProducerNow(Value, frozen=True):
    """A log's state of a producer; `start_offset` is -1 without an open transaction there."""

    partition: str
    producer_id: int
    epoch: int
    last_sequence: int
    last_ms: int
    coordinator_epoch: int
    start_offset: int


def producers_of(
    ask: Ask, cluster: ClusterNow, partitions: Iterable[str], not_seen: NotSeen
) -> dict[str, tuple[ProducerNow, ...]]:
    """Return the producers in the leaders' logs, by partition; partitions without an answer are left out."""
    found: dict[str, tuple[ProducerNow, ...]] = {}
    for leader, asked in _by_leader(cluster, partitions, not_seen):
        try:
            told = ask(
                leader, PRODUCERS, {"Topics": _encode_topics(asked, "Name", "PartitionIndexes")}
            )
        except NoAnswer as why:
            not_seen.add("broker", str(leader), str(why))
            continue
        for topic in told["Topics"]:
            for part in topic["Partitions"]:
                name = f"{topic['Name']}-{part['PartitionIndex']}"
                if name not in asked:
                    not_seen.add("partition", name, NOT_ASKED)
                elif part["ErrorCode"]:
                    not_seen.add("partition", name, error_name(part["ErrorCode"]))
                else:
                    found[name] = tuple(_producer(name, p) for p in part["ActiveProducers"])
    return found


def _producer(partition: str, told: Struct) -> ProducerNow:
    return ProducerNow(
        partition,
        told["ProducerId"],
        told["ProducerEpoch"],
        told["LastSequence"],
        told["LastTimestamp"],
        told["CoordinatorEpoch"],
        told["CurrentTxnStartOffset"],
    )


def _by_leader(
    cluster: ClusterNow, partitions: Iterable[str], not_seen: NotSeen
) -> Iterator[tuple[int, tuple[str, ...]]]:
    led: dict[int, list[str]] = {}
    for name in partitions:
        leader = cluster.partitions[name].leader
        if leader < 0:
            not_seen.add("partition", name, "it has no leader now")
        else:
            led.setdefault(leader, []).append(name)
    for leader in sorted(led):
        for some in _chunks(led[leader], PARTITIONS_AT_ONCE):
            yield leader, some


def _chunks(names: Iterable[str], size: int) -> Iterator[tuple[str, ...]]:
    left = iter(names)
    while some := tuple(islice(left, size)):
        yield some


def _encode_topics(partitions: Iterable[str], name: str, indexes: str) -> tuple[Struct, ...]:
    topics: dict[str, list[int]] = {}
    for partition in partitions:
        topics.setdefault(topic_of(partition), []).append(index_of(partition))
    return tuple({name: topic, indexes: tuple(found)} for topic, found in topics.items())


class Owned(Value, frozen=True):
    """A transactional id as its coordinator describes it; `began_ms` is -1 if the time is unknown.

    `state` is named as in the coordinator's log: ONGOING. `partitions` are those without a marker.
    """

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    began_ms: int
    partitions: tuple[str, ...]
    coordinator: int


def list_ids(
    ask: Ask, broker: int, not_seen: NotSeen, **filters: tuple[object, ...]
) -> tuple[str, ...] | None:
    """Return the transactional ids that a broker coordinates and that match a filter; None without an answer."""
    try:
        told = ask(broker, LIST, {"StateFilters": (), "ProducerIdFilters": (), **filters})
    except NoAnswer as why:
        not_seen.add("broker", str(broker), str(why))
        return None
    if told["ErrorCode"]:
        not_seen.add("transactional ids of broker", str(broker), error_name(told["ErrorCode"]))
        return None
    return tuple(each["TransactionalId"] for each in told["TransactionStates"])


def describe_ids(ask: Ask, broker: int, names: Iterable[str], not_seen: NotSeen) -> Iterator[Owned]:
    """Yield a coordinator's descriptions of transactional ids."""
    for some in _chunks(names, NAMES_AT_ONCE):
        try:
            told = ask(broker, DESCRIBE, {"TransactionalIds": some})
        except NoAnswer as why:
            not_seen.add("broker", str(broker), str(why))
            return
        for each in told["TransactionStates"]:
            name = each["TransactionalId"]
            if each["ErrorCode"]:
                not_seen.add(TRANSACTIONAL_ID.name, name, error_name(each["ErrorCode"]))
                continue
            partitions = (
                f"{t['Topic']}-{index}" for t in each["Topics"] for index in t["Partitions"]
            )
            yield Owned(
                name,
                _STATES.get(each["TransactionState"], each["TransactionState"]),
                each["ProducerId"],
                each["ProducerEpoch"],
                each["TransactionTimeoutMs"],
                each["TransactionStartTimeMs"],
                tuple(sorted(partitions, key=_order)),
                broker,
            )


def ends_of(
    ask: Ask, cluster: ClusterNow, partitions: Iterable[str], isolation: int, not_seen: NotSeen
) -> dict[str, int]:
    """Return the last stable offset (READ_COMMITTED) or the high watermark of partitions."""
    found: dict[str, int] = {}
    for leader, asked in _by_leader(cluster, partitions, not_seen):
        topics = tuple(
            {
                "Name": topic["Name"],
                "Partitions": tuple(
                    {"PartitionIndex": index, "Timestamp": LATEST} for index in topic["Indexes"]
                ),
            }
            for topic in _encode_topics(asked, "Name", "Indexes")
        )
        values = {"ReplicaId": -1, "IsolationLevel": isolation, "Topics": topics}
        try:
            told = ask(leader, OFFSETS, values)
        except NoAnswer as why:
            not_seen.add("broker", str(leader), str(why))
            continue
        for topic in told["Topics"]:
            for part in topic["Partitions"]:
                name = f"{topic['Name']}-{part['PartitionIndex']}"
                if part["ErrorCode"]:
                    not_seen.add("offsets of partition", name, error_name(part["ErrorCode"]))
                else:
                    found[name] = part["Offset"]
    return found


class GroupNow(Value, frozen=True):
    """A group, its state, its type ("share", "consumer", "classic"; "" from an older broker), and its coordinator."""

    group_id: str
    state: str
    group_type: str
    coordinator: int


def groups_at(ask: Ask, broker: int, not_seen: NotSeen) -> tuple[GroupNow, ...]:
    """Return the groups that a broker coordinates."""
    try:
        told = ask(broker, GROUPS, {})
    except NoAnswer as why:
        not_seen.add("broker", str(broker), str(why))
        return ()
    if told["ErrorCode"]:
        not_seen.add("groups of broker", str(broker), error_name(told["ErrorCode"]))
        return ()
    return tuple(
        GroupNow(g["GroupId"], g.get("GroupState", ""), g.get("GroupType", "").lower(), broker)
        for g in sorted(told["Groups"], key=lambda group: str(group["GroupId"]))
    )


def unstable_of(
    ask: Ask, group: GroupNow, partitions: Iterable[str] | None, not_seen: NotSeen
) -> tuple[str, ...]:
    """Return the partitions of a group with the error UNSTABLE_OFFSET_COMMIT.

    Without `partitions` it asks for the group's own, without those that have no earlier offset
    (OffsetMetadataManager.fetchAllOffsets).
    """
    topics = None if partitions is None else _encode_topics(partitions, "Name", "PartitionIndexes")
    asked = {"GroupId": group.group_id, "Topics": topics}
    try:
        values = {**asked, "Groups": (asked,), "RequireStable": True}
        told = ask(group.coordinator, COMMITTED, values)
    except NoAnswer as why:
        not_seen.add("broker", str(group.coordinator), str(why))
        return ()
    # Up to version 7 an answer is about one group, and does not name it.
    name, groups = group.group_id, told.get("Groups", (told,))
    answer = next((each for each in groups if each.get("GroupId", name) == name), None)
    if answer is None:
        not_seen.add("offsets of group", group.group_id, "the answer does not name it")
        return ()
    if answer["ErrorCode"]:
        not_seen.add("offsets of group", group.group_id, error_name(answer["ErrorCode"]))
        return ()
    found = [
        f"{topic['Name']}-{part['PartitionIndex']}"
        for topic in answer["Topics"]
        for part in topic["Partitions"]
        if part["ErrorCode"] == Errors.UNSTABLE_OFFSET_COMMIT
    ]
    return tuple(sorted(found, key=_order))


class ShareBacklog(Value, frozen=True):
    """The start offset and lag of a share group in a partition; -1 means unknown.

    The lag counts the records from the start offset on that are not yet acknowledged or archived (KIP-1226).
    """

    partition: str
    start_offset: int
    lag: int


class ShareGroupNow(Value, frozen=True):
    """A share group, its state, its number of members (-1 if unknown), and its backlog by partition."""

    group_id: str
    state: str
    members: int
    backlog: tuple[ShareBacklog, ...]


def share_groups(
    ask: Ask, broker: int, found: tuple[GroupNow, ...], not_seen: NotSeen
) -> Iterator[ShareGroupNow]:
    """Yield the share groups of a coordinator with their members and backlogs."""
    members = _members(ask, broker, found, not_seen)
    states = {group.group_id: group.state for group in found}
    for some in _chunks(states, NAMES_AT_ONCE):
        wanted = tuple({"GroupId": name, "Topics": None} for name in some)
        try:
            told = ask(broker, SHARE_OFFSETS, {"Groups": wanted})
        except NoAnswer as why:
            not_seen.add("broker", str(broker), str(why))
            return
        for group in told["Groups"]:
            name = group["GroupId"]
            if name not in states:
                not_seen.add("share group", name, NOT_ASKED)
                continue
            if group["ErrorCode"]:
                not_seen.add("share group", name, error_name(group["ErrorCode"]))
                continue
            backlog = tuple(_backlog(name, group, not_seen))
            yield ShareGroupNow(name, states[name], members.get(name, -1), backlog)


def _members(
    ask: Ask, broker: int, found: tuple[GroupNow, ...], not_seen: NotSeen
) -> Mapping[str, int]:
    known: dict[str, int] = {}
    for some in _chunks((group.group_id for group in found), NAMES_AT_ONCE):
        try:
            told = ask(broker, SHARE_GROUPS, {"GroupIds": some})
        except NoAnswer as why:
            not_seen.add("broker", str(broker), str(why))
            return known
        for group in told["Groups"]:
            if group["ErrorCode"]:
                name = group["GroupId"]
                not_seen.add("members of share group", name, error_name(group["ErrorCode"]))
            else:
                known[group["GroupId"]] = len(group["Members"])
    return known


def _backlog(name: str, group: Struct, not_seen: NotSeen) -> Iterator[ShareBacklog]:
    for topic in sorted(group["Topics"], key=lambda each: str(each["TopicName"])):
        for part in sorted(topic["Partitions"], key=lambda each: int(each["PartitionIndex"])):
            partition = f"{topic['TopicName']}-{part['PartitionIndex']}"
            if part["ErrorCode"]:
                what = f"share group {name} in"
                not_seen.add(what, partition, error_name(part["ErrorCode"]))
            else:
                yield ShareBacklog(partition, part["StartOffset"], part.get("Lag", -1))


def has_no_authorizer(ask: Ask) -> bool:
    """Return whether the cluster reports that it has no authorizer: then nothing is hidden from any user."""
    every = {
        "ResourceTypeFilter": acls.ANY,
        "ResourceNameFilter": None,
        "PatternTypeFilter": acls.ANY,
        "PrincipalFilter": None,
        "HostFilter": None,
        "Operation": acls.ANY,
        "PermissionType": acls.ANY,
    }
    try:
        told = ask(ANY_BROKER, ACLS, every)
    except NoAnswer:
        return False
    return bool(told["ErrorCode"] == Errors.SECURITY_DISABLED)
