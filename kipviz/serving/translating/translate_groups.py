"""Groups: offsets, the classic protocol and the consumer protocol (KIP-848).

The answers to members are those of `messages.wire`, at the version that the client speaks.
Source: KafkaApis.handleJoinGroupRequest and those beside it.
"""

from __future__ import annotations

from kipviz.messages.apis.groups.classic_groups import PROTOCOL_TYPE
from kipviz.messages.errors import Errors
from kipviz.messages.groups.classic_groups import (
    Assigned,
    Heartbeat,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    Leaver,
    SyncGroup,
)
from kipviz.messages.groups.groups import (
    NAMES_TOPICS,
    OF_SEVERAL_GROUPS,
    FetchedGroup,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchGroup,
    OffsetFetchResponse,
)
from kipviz.messages.groups.membership import ConsumerGroupHeartbeat
from kipviz.messages.message import Message
from kipviz.messages.wire.codec import Struct, WireError
from kipviz.messages.wire.frame import KINDS
from kipviz.messages.wire.kind import Around
from kipviz.recordings.decoded.classic_group_records import read_assignment, read_subscription
from kipviz.records.fields import FieldsError
from kipviz.serving.translating.reply_context import Asked, Desk, Refused, Replies
from kipviz.serving.translating.translate_transactions import committed, offsets_in


def as_written(message: Message, desk: Desk) -> Asked:
    """Send the message, and answer with the fields that the model's own brokers encode."""

    def answer(replies: Replies) -> Struct:
        (told,) = replies
        around = Around(tuple(desk.image.topic_ids.items()), message)
        kind = KINDS[type(told)]
        top = {
            path.partition(".")[2]: value
            for path, (value, _) in kind.defaults.items()
            if path.count(".") == 1
        }
        return top | kind.fill(told, around)

    return Asked((message,), answer)


def offset_commit(said: Struct, version: int, desk: Desk) -> Asked:
    """Commit offsets outside a transaction."""
    offsets, unknown = offsets_in(said["Topics"], desk)
    message = OffsetCommit(
        said["GroupId"],
        said.get("MemberId", ""),
        said.get("GenerationIdOrMemberEpoch", -1),
        offsets,
        said.get("GroupInstanceId") or "",
    )

    def answer(replies: Replies) -> Struct:
        errors = dict(unknown)
        for told in replies:
            assert isinstance(told, OffsetCommitResponse)
            own = {each.partition: each.error for each in told.refused}
            errors |= {o.partition: own.get(o.partition, told.error) for o in offsets}
        return committed(said["Topics"], errors, desk)

    return Asked((message,) if offsets else (), answer)


def offset_fetch(said: Struct, version: int, desk: Desk) -> Asked:
    """Fetch committed offsets: of the named partitions, or all of a group."""
    groups = said["Groups"] if version >= OF_SEVERAL_GROUPS else (said,)
    stable = bool(said.get("RequireStable", False))
    asked = [_group_asked(group, desk) for group in groups]
    messages = tuple(
        OffsetFetch((each,), stable, min(version, NAMES_TOPICS) if all_of_it else version)
        for each in asked
        if (all_of_it := each.partitions is None) or each.partitions
    )

    def answer(replies: Replies) -> Struct:
        left = iter(replies)
        told = (None if each.partitions == () else next(left) for each in asked)
        found = tuple(
            _encode_group(group, each, version, desk)
            for group, each in zip(groups, told, strict=True)
        )
        return {"Groups": found} if version >= OF_SEVERAL_GROUPS else found[0]

    return Asked(messages, answer)


def _group_asked(group: Struct, desk: Desk) -> OffsetFetchGroup:
    """Return one group of the request; topics with unknown ids are left out."""
    if group["Topics"] is None:
        return OffsetFetchGroup(group["GroupId"])
    partitions = tuple(
        f"{known}-{index}"
        for topic in group["Topics"]
        if (known := desk.topic_named(topic))
        for index in topic["PartitionIndexes"]
    )
    member = (group.get("MemberId") or "", group.get("MemberEpoch", -1))
    return OffsetFetchGroup(group["GroupId"], partitions, *member)


def _encode_group(asked: Struct, reply: Message | None, version: int, desk: Desk) -> Struct:
    """Return the fields of one group's result; `reply` is None if none of its topics is known."""
    told = FetchedGroup(Errors.NONE, asked["GroupId"])
    if reply is not None:
        assert isinstance(reply, OffsetFetchResponse), reply
        (told,) = reply.groups
    name, error = told.group_id, told.error
    if asked["Topics"] is None:
        topics: dict[str, list[Struct]] = {}
        for each in told.offsets:
            topic, _, index = each.partition.rpartition("-")
            topics.setdefault(topic, []).append(_offset(int(index), each.error, each.offset))
        everything = tuple({"Name": t, "Partitions": tuple(ps)} for t, ps in topics.items())
        return {"GroupId": name, "Topics": everything, "ErrorCode": error}
    found = []
    for topic in asked["Topics"]:
        known = desk.topic_named(topic)
        partitions = []
        for index in topic["PartitionIndexes"]:
            code, offset = Errors.UNKNOWN_TOPIC_ID, -1
            if known:
                result = told.result_of(f"{known}-{index}")
                code, offset = result.error, result.offset
            partitions.append(_offset(index, code, offset))
        named = {n: topic[n] for n in ("Name", "TopicId") if n in topic}
        found.append(named | {"Partitions": tuple(partitions)})
    listed = () if error and version >= 2 else tuple(found)
    return {"GroupId": name, "Topics": listed, "ErrorCode": error}


def _offset(index: int, error: Errors, offset: int) -> Struct:
    return {
        "PartitionIndex": index,
        "CommittedOffset": offset,
        "Metadata": "",
        "ErrorCode": error,
    }


def join_group(said: Struct, version: int, desk: Desk, client_id: str = "") -> Asked:
    """Join the next generation of a classic group."""
    if said["ProtocolType"] != PROTOCOL_TYPE or not said["Protocols"]:
        raise Refused(
            f"the model's classic groups are of consumers, not of {said['ProtocolType']!r}"
        )
    try:
        subscription = read_subscription(said["Protocols"][0]["Metadata"])
    except (WireError, FieldsError, ValueError) as wrong:
        raise Refused(f"the subscription of a consumer cannot be read: {wrong}") from wrong
    message = JoinGroup(
        said["GroupId"],
        said["MemberId"],
        client_id,
        subscription,
        said.get("GroupInstanceId") or "",
        tuple(each["Name"] for each in said["Protocols"]),
    )
    asked = as_written(message, desk)
    times = (said["SessionTimeoutMs"], said.get("RebalanceTimeoutMs", -1))
    if said["MemberId"]:
        desk.groups.ask(said["GroupId"], said["MemberId"], *times)

    def answer(replies: Replies) -> Struct | None:
        (told,) = replies
        assert isinstance(told, JoinGroupResponse)
        desk.groups.ask(said["GroupId"], told.member_id, *times)
        return asked.answer(replies)

    return Asked(asked.messages, answer)


def sync_group(said: Struct, version: int, desk: Desk) -> Asked:
    """Send the assignment of a generation, or ask for it."""
    try:
        given = tuple(
            Assigned(each["MemberId"], read_assignment(each["Assignment"]))
            for each in said["Assignments"]
        )
    except (WireError, FieldsError, ValueError) as wrong:
        raise Refused(f"the assignment of a consumer cannot be read: {wrong}") from wrong
    name = said.get("ProtocolName")
    more = {"protocol": name} if name else {}
    message = SyncGroup(
        said["GroupId"],
        said["GenerationId"],
        said["MemberId"],
        given,
        said.get("GroupInstanceId") or "",
        **more,
    )
    return as_written(message, desk)


def heartbeat(said: Struct, version: int, desk: Desk) -> Asked:
    """Send the heartbeat of a member of a classic group."""
    identity = (said["GroupId"], said["GenerationId"], said["MemberId"])
    return as_written(Heartbeat(*identity, said.get("GroupInstanceId") or ""), desk)


def leave_group(said: Struct, version: int, desk: Desk) -> Asked:
    """Remove members from a classic group."""
    if version >= 3:
        leavers = [Leaver(m["MemberId"], m.get("GroupInstanceId") or "") for m in said["Members"]]
    else:
        leavers = [Leaver(said["MemberId"])]
    if not leavers:
        raise Refused("a LeaveGroup names at least one member here")
    asked = as_written(LeaveGroup(said["GroupId"], tuple(leavers)), desk)

    def answer(replies: Replies) -> Struct | None:
        found = asked.answer(replies)
        if version < 3 and found is not None and found.get("Members"):
            found["ErrorCode"] = found["ErrorCode"] or found["Members"][0]["ErrorCode"]
        return found

    return Asked(asked.messages, answer)


def consumer_group_heartbeat(said: Struct, version: int, desk: Desk) -> Asked:
    """Send the heartbeat of a KIP-848 member, with its subscription and its partitions."""
    owned = said["TopicPartitions"]
    topics, regex = said["SubscribedTopicNames"], said.get("SubscribedTopicRegex")
    topic, *further = topics or ("",)
    if topics == () and regex is None:
        regex = ""
    message = ConsumerGroupHeartbeat(
        said["GroupId"],
        said["MemberId"],
        said["MemberEpoch"],
        topic,
        None if owned is None else tuple(sorted(_partitions(owned, desk))),
        said["InstanceId"] or "",
        tuple(further),
        regex,
        said["RackId"] or "",
    )
    return as_written(message, desk)


def _partitions(topics: tuple[Struct, ...], desk: Desk) -> list[str]:
    return [f"{desk.topic_named(t)}-{i}" for t in topics for i in t["Partitions"]]
