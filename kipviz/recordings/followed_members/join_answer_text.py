"""Requests of members of classic groups, and their answers, in the form that is compared with the model's."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kipviz.core.values import Value
from kipviz.messages.apis.groups.classic_groups import LEAVES_TOGETHER, PROTOCOL_TYPE
from kipviz.messages.apis.groups.consumer_protocol import read_assignment, read_subscription
from kipviz.messages.errors import Errors
from kipviz.messages.groups.classic_groups import (
    NO_MEMBER,
    Assigned,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeaveGroupResponse,
    Leaver,
    SyncGroup,
    SyncGroupResponse,
)
from kipviz.messages.message import Message
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.replayed_roles.answer_text import Said, error_name
from kipviz.recordings.replayed_roles.request_fields import decode_request
from kipviz.records.classic_groups import Subscription

JOINS = "JOIN_GROUP"


class MemberRequest(Value, frozen=True):
    """The request of one member.

    `named` is the member id that a member without one gets in the answer; `prefix` is its beginning.
    """

    api: str
    group_id: str
    member_id: str
    instance_id: str = ""
    client_id: str = ""
    generation: int = -1
    subscription: Subscription = Subscription(())
    given: tuple[Assigned, ...] = ()
    named: str = ""

    @property
    def is_named_well(self) -> bool:
        """Whether the assigned member id has the prefix that it must have."""
        return self.named.startswith(f"{self.instance_id or self.client_id}-")

    def message(self, name: Callable[[str], str]) -> Message:
        """Return the request in the model's form, with the model's member ids."""
        who = name(self.member_id)
        match self.api:
            case "JOIN_GROUP":
                return JoinGroup(self.group_id, who, self.subscription, self.instance_id)
            case "SYNC_GROUP":
                given = tuple(each.but(member_id=name(each.member_id)) for each in self.given)
                return SyncGroup(self.group_id, self.generation, who, given, self.instance_id)
            case "HEARTBEAT":
                return Heartbeat(self.group_id, self.generation, who, self.instance_id)
            case _:
                return LeaveGroup(self.group_id, (Leaver(who, self.instance_id),))


def parts_of_request(exchange: Exchange) -> Iterator[MemberRequest]:
    """Yield the parts of a request: several members may leave together.

    Raises:
        KeyError, TypeError, ValueError: if it lacks a field of its version.
    """
    api = exchange.api
    if api == JOINS and _is_not_of_consumers(exchange):
        said = exchange.request
        base = MemberRequest(
            api, said["groupId"], said["memberId"], said.get("groupInstanceId") or ""
        )
        yield base.but(client_id=exchange.client, named=exchange.response["memberId"])
        return
    (message,) = decode_request(exchange, {})
    match message:
        case JoinGroup():
            yield MemberRequest(
                api,
                message.group_id,
                message.member_id,
                message.instance_id,
                exchange.client,
                subscription=message.subscription,
                named=exchange.response["memberId"],
            )
        case SyncGroup():
            who = (message.group_id, message.member_id, message.instance_id)
            given = message.assignments
            yield MemberRequest(api, *who, generation=message.generation, given=given)
        case Heartbeat():
            who = (message.group_id, message.member_id, message.instance_id)
            yield MemberRequest(api, *who, generation=message.generation)
        case LeaveGroup():
            for member in message.members:
                yield MemberRequest(api, message.group_id, member.member_id, member.instance_id)
        case _:
            raise AssertionError(api)


def _is_not_of_consumers(exchange: Exchange) -> bool:
    """Return whether a member has a subscription that the model does not read."""
    said = exchange.request
    return said["protocolType"] != PROTOCOL_TYPE or not said["protocols"]


def recorded_answer(exchange: Exchange, asking: MemberRequest) -> Said:
    """Return the recorded answer to a member."""
    told = exchange.response
    error = error_name(told["errorCode"])
    if exchange.api == "JOIN_GROUP":
        members = tuple(
            sorted(
                (m["memberId"], m.get("groupInstanceId") or "", _decode_subscription(m["metadata"]))
                for m in told["members"]
            )
        )
        return _make_join_saying(
            error,
            told["memberId"],
            told["generationId"],
            told["leader"],
            told.get("skipAssignment", False),
            members,
        )
    if exchange.api == "SYNC_GROUP":
        return (("error", error), ("assigned", _read_assigned(told["assignment"])))
    if exchange.api == "HEARTBEAT":
        return (("error", error),)
    if exchange.version < LEAVES_TOGETHER:
        return (("error", "NONE"), ("member", error))
    own = [
        error_name(m["errorCode"])
        for m in told["members"]
        if (m["memberId"], m["groupInstanceId"] or "") == (asking.member_id, asking.instance_id)
    ]
    # An error of the whole request leaves no results of single members.
    said = own[0] if own else "NONE" if told["errorCode"] else "no answer"
    return (("error", error), ("member", said))


def model_answer(reply: Message, names: Mapping[str, str]) -> Said:
    """Return the model's answer to a member; `names` are the recorded ids of its members."""
    match reply:
        case JoinGroupResponse():
            members = tuple(
                sorted(
                    (names.get(m.member_id, m.member_id), m.instance_id, _member_subscription(m))
                    for m in reply.members
                )
            )
            return _make_join_saying(
                reply.error.name,
                names.get(reply.member_id, reply.member_id),
                reply.generation,
                names.get(reply.leader, reply.leader),
                reply.skip_assignment,
                members,
            )
        case SyncGroupResponse():
            return (("error", reply.error.name), ("assigned", reply.partitions))
        case HeartbeatResponse():
            return (("error", reply.error.name),)
        case LeaveGroupResponse():
            own = reply.members[0].error if reply.members else Errors.NONE
            return (("error", reply.error.name), ("member", own.name))
        case _:
            raise AssertionError(type(reply).__name__)


def _make_join_saying(
    error: str, member: str, generation: int, leader: str, skips: bool, members: Any
) -> Said:
    return (
        ("error", error),
        ("member", member or NO_MEMBER),
        ("generation", generation),
        ("leader", leader),
        ("skip assignment", skips),
        ("members", members),
    )


def _member_subscription(member: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return (member.subscription.topics, member.subscription.owned)


def _decode_subscription(metadata: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    said = read_subscription(base64.b64decode(metadata))
    return (said.topics, said.owned)


def _read_assigned(data: str) -> tuple[str, ...]:
    return read_assignment(base64.b64decode(data))
