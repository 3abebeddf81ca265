"""Groups: offsets, the classic protocol and the consumer protocol (KIP-848).

The answers to members are those of `messages.wire`, at the version that the client speaks.
Source: KafkaApis.handleJoinGroupRequest and those beside it.
"""

from __future__ import annotations

from kipviz.brokers.membership.group_membership import is_malformed
from kipviz.messages.apis.groups.classic_groups import LEAVES_TOGETHER
from kipviz.messages.apis.groups.offset_fetch import encode_fetched
from kipviz.messages.errors import Errors
from kipviz.messages.groups.classic_groups import JoinGroupResponse
from kipviz.messages.groups.groups import (
    NAMES_TOPICS,
    OF_SEVERAL_GROUPS,
    FetchedGroup,
    FetchedOffset,
    OffsetFetch,
    OffsetFetchResponse,
)
from kipviz.messages.groups.membership import (
    JOINING,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatResponse,
)
from kipviz.messages.groups.several_groups import named_groups
from kipviz.messages.message import Message
from kipviz.messages.wire.codec import Struct
from kipviz.serving.translating.further_errors import FurtherErrors
from kipviz.serving.translating.reply_context import (
    ClientRequest,
    Replies,
    ServedDesk,
    TranslatedRequest,
    as_written,
)
from kipviz.settings.broker_configs import (
    GROUP_CONSUMER_SESSION_TIMEOUT_MS,
    GROUP_MAX_SESSION_TIMEOUT_MS,
    GROUP_MIN_SESSION_TIMEOUT_MS,
)

# The assignors of brokers for KIP-848 groups (group.consumer.assignors).
ASSIGNORS = ("uniform", "range")
UNCHANGED_MS = -1  # the RebalanceTimeoutMs of a heartbeat that does not change it
# The range of a classic member's session.
LEAST_MS, MOST_MS = GROUP_MIN_SESSION_TIMEOUT_MS.default, GROUP_MAX_SESSION_TIMEOUT_MS.default
NULLABLE_PROTOCOL = (
    7  # the version of a JoinGroup from which on a response without a protocol has none
)


def offset_fetch(request: ClientRequest, messages: tuple[Message, ...]) -> TranslatedRequest:
    """Fetch committed offsets: of the named partitions, or all of a group."""
    (whole,) = messages
    assert isinstance(whole, OffsetFetch)
    said, version, desk = request.said, request.version, request.desk
    groups = said["Groups"] if version >= OF_SEVERAL_GROUPS else (said,)
    asked = whole.groups
    each_group = tuple(
        whole.but(groups=(each,), version=min(version, NAMES_TOPICS) if all_of_it else version)
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

    return TranslatedRequest(each_group, answer)


def _encode_group(asked: Struct, reply: Message | None, version: int, desk: ServedDesk) -> Struct:
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
            topics.setdefault(topic, []).append(encode_fetched(int(index), each))
        everything = tuple({"Name": t, "Partitions": tuple(ps)} for t, ps in topics.items())
        return {"GroupId": name, "Topics": everything, "ErrorCode": error}
    found = []
    for topic in asked["Topics"]:
        known = desk.topic_named(topic)
        partitions = []
        for index in topic["PartitionIndexes"]:
            result = FetchedOffset("", error=Errors.UNKNOWN_TOPIC_ID)
            if known is not None:
                result = told.result_of(f"{known}-{index}")
            partitions.append(encode_fetched(index, result))
        named = {n: topic[n] for n in ("Name", "TopicId") if n in topic}
        found.append(named | {"Partitions": tuple(partitions)})
    listed = () if error and version >= 2 else tuple(found)
    return {"GroupId": name, "Topics": listed, "ErrorCode": error}


def join_group(request: ClientRequest, messages: tuple[Message, ...]) -> TranslatedRequest:
    """Join the next generation of a classic group; the member's time limits are kept beside the model."""
    said, groups = request.said, request.desk.groups
    if not said["GroupId"]:
        return TranslatedRequest((), lambda _: _not_joined(request, FurtherErrors.INVALID_GROUP_ID))
    if not LEAST_MS <= said["SessionTimeoutMs"] <= MOST_MS:
        return TranslatedRequest(
            (), lambda _: _not_joined(request, FurtherErrors.INVALID_SESSION_TIMEOUT)
        )
    asked = as_written(request, messages)
    times = (said["SessionTimeoutMs"], said.get("RebalanceTimeoutMs", -1))
    if said["MemberId"]:
        groups.ask(said["GroupId"], said["MemberId"], *times)

    def answer(replies: Replies) -> Struct | None:
        (told,) = replies
        assert isinstance(told, JoinGroupResponse)
        groups.ask(said["GroupId"], told.member_id, *times)
        return asked.answer(replies)

    return TranslatedRequest(asked.messages, answer)


def _not_joined(request: ClientRequest, error: FurtherErrors) -> Struct:
    """Return the fields of a rejection before any group is asked (GroupCoordinatorService.joinGroup)."""
    protocol = None if request.version >= NULLABLE_PROTOCOL else ""
    return {
        "ErrorCode": error,
        "ProtocolName": protocol,
        "Leader": "",
        "MemberId": request.said["MemberId"],
        "Members": (),
    }


def consumer_group_heartbeat(
    request: ClientRequest, messages: tuple[Message, ...]
) -> TranslatedRequest:
    """Join a KIP-848 group, stay in it or leave it; the assignor of the group is one that brokers have.

    A heartbeat that is invalid for another reason is rejected for that one. The member's time for a rebalance is kept
    beside the model. Source: GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid.
    """
    (message,) = messages
    assert isinstance(message, ConsumerGroupHeartbeat)
    said = request.said
    why = _find_empty(said, "InstanceId", "RackId")
    if not why and said["MemberEpoch"] == JOINING and said["RebalanceTimeoutMs"] == UNCHANGED_MS:
        why = "RebalanceTimeoutMs must be provided in first request."
    if why and not is_malformed(message):
        return _reject_heartbeat(Errors.INVALID_REQUEST, why)
    name = said["ServerAssignor"]
    if name is None or name in ASSIGNORS or is_malformed(message):
        return _with_times(request, messages)
    told = f"ServerAssignor {name} is not supported. Supported assignors: {', '.join(ASSIGNORS)}."
    return _reject_heartbeat(FurtherErrors.UNSUPPORTED_ASSIGNOR, told)


def _with_times(request: ClientRequest, messages: tuple[Message, ...]) -> TranslatedRequest:
    """Pass on a heartbeat, and keep the time for a rebalance of its member, whose id may be in the response only."""
    said, groups = request.said, request.desk.groups
    asked = as_written(request, messages)
    if said["RebalanceTimeoutMs"] == UNCHANGED_MS:
        return asked
    times = (GROUP_CONSUMER_SESSION_TIMEOUT_MS.default, said["RebalanceTimeoutMs"])
    if said["MemberId"]:
        groups.ask(said["GroupId"], said["MemberId"], *times)
        return asked

    def answer(replies: Replies) -> Struct | None:
        (told,) = replies
        assert isinstance(told, ConsumerGroupHeartbeatResponse)
        if told.member_id:
            groups.ask(said["GroupId"], told.member_id, *times)
        return asked.answer(replies)

    return TranslatedRequest(asked.messages, answer)


def share_group_heartbeat(
    request: ClientRequest, messages: tuple[Message, ...]
) -> TranslatedRequest:
    """Join a share group, stay in it or leave it.

    Source: GroupCoordinatorService.throwIfShareGroupHeartbeatRequestIsInvalid.
    """
    if why := _find_empty(request.said, "RackId"):
        return _reject_heartbeat(Errors.INVALID_REQUEST, why)
    return as_written(request, messages)


def _find_empty(said: Struct, *fields: str) -> str:
    """Return Kafka's sentence about the first field that is "", which may only be left out."""
    return next((f"{field} can't be empty." for field in fields if said[field] == ""), "")


def _reject_heartbeat(error: int, why: str) -> TranslatedRequest:
    """Reject a heartbeat before any group is asked."""
    fields = {"ErrorCode": error, "ErrorMessage": why}
    return TranslatedRequest((), lambda _: fields)


def with_group_name(request: ClientRequest, messages: tuple[Message, ...]) -> TranslatedRequest:
    """Pass on a classic member's request; without a group's name it is rejected before any group is asked.

    Source: GroupCoordinatorService.syncGroup, heartbeat, leaveGroup.
    """
    if not request.said["GroupId"]:
        rejected = {"ErrorCode": FurtherErrors.INVALID_GROUP_ID, "Assignment": b"", "Members": ()}
        return TranslatedRequest((), lambda _: rejected)
    return as_written(request, messages)


def leave_group(request: ClientRequest, messages: tuple[Message, ...]) -> TranslatedRequest:
    """Remove members from a classic group; before version 3 the error of the one member is that of the response."""
    asked = with_group_name(request, messages)

    def answer(replies: Replies) -> Struct | None:
        found = asked.answer(replies)
        if request.version < LEAVES_TOGETHER and found is not None and found.get("Members"):
            found["ErrorCode"] = found["ErrorCode"] or found["Members"][0]["ErrorCode"]
        return found

    return TranslatedRequest(asked.messages, answer)


def delete(request: ClientRequest, messages: tuple[Message, ...]) -> TranslatedRequest:
    """Delete groups of any kind; a request that names none is answered without a result."""
    (message,) = messages
    if not named_groups(message):
        return TranslatedRequest((), lambda _: {"Results": ()})
    return as_written(request, messages)


def describe(request: ClientRequest, messages: tuple[Message, ...]) -> TranslatedRequest:
    """Describe groups of any kind; a request that names none is answered without one."""
    (message,) = messages
    if not named_groups(message):
        return TranslatedRequest((), lambda _: {"Groups": ()})
    return as_written(request, messages)
