"""What a client is told about the leader of a partition: its epoch is another one, or another broker leads it.

An answer that says so names the current leader (KIP-951). A broker compares the client's leader epoch when the request
is delivered. Here it is compared when the request arrives; and again when the model's broker answers that it does not
lead the partition, because the leader may have moved while the request was held.

Source: Partition.checkCurrentLeaderEpoch, Partition.getLocalLog; KafkaApis.getCurrentLeader and where it is called:
Produce from version 10 on, Fetch from version 16 on, ShareFetch and ShareAcknowledge.
"""

from __future__ import annotations

from dataclasses import replace

from kipviz.brokers.context import NOBODY
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.wire.codec import Struct
from kipviz.serving.translating.further_errors import FurtherErrors
from kipviz.serving.translating.reply_context import (
    HOST,
    ClientRequest,
    Replies,
    ServedDesk,
    Translate,
    TranslatedRequest,
)

OTHER_EPOCH = (Errors.FENCED_LEADER_EPOCH, FurtherErrors.UNKNOWN_LEADER_EPOCH)
MOVED = (Errors.NOT_LEADER_OR_FOLLOWER, Errors.FENCED_LEADER_EPOCH)


def hint_leaders(translate: Translate, lowest: int) -> Translate:
    """Return a translation whose answers name the leaders of partitions that have moved, from a version on."""

    def translate_hinting(
        request: ClientRequest, messages: tuple[Message, ...]
    ) -> TranslatedRequest:
        asked = translate(request, messages)

        def answer(replies: Replies) -> Struct | None:
            found = asked.answer(replies)
            return (
                found
                if found is None or request.version < lowest
                else _add_leaders(found, request.desk)
            )

        return replace(asked, answer=answer)

    return translate_hinting


def _add_leaders(found: Struct, desk: ServedDesk) -> Struct:
    nodes: dict[int, Struct] = {}
    topics = []
    for topic in found["Responses"]:
        name = desk.topic_named(topic) or ""
        array = "PartitionResponses" if "PartitionResponses" in topic else "Partitions"
        parts = tuple(_add_leader(part, name, nodes, desk) for part in topic[array])
        topics.append(topic | {array: parts})
    if not nodes:
        return found
    return found | {"Responses": tuple(topics), "NodeEndpoints": tuple(nodes.values())}


def _add_leader(part: Struct, topic: str, nodes: dict[int, Struct], desk: ServedDesk) -> Struct:
    if part["ErrorCode"] not in MOVED:
        return part
    index = part["Index"] if "Index" in part else part["PartitionIndex"]
    held = desk.image.leaders.get(f"{topic}-{index}")
    leader, epoch = (NOBODY, NOBODY) if held is None else (held.leader, held.epoch)
    if leader in desk.ports:
        nodes[leader] = {"NodeId": leader, "Host": HOST, "Port": desk.ports[leader], "Rack": None}
    return part | {"CurrentLeader": {"LeaderId": leader, "LeaderEpoch": epoch}}


def compare_epoch(partition: str, part: Struct, request: ClientRequest) -> int:
    """Return the error of a partition of a request whose leader epoch is not the broker's, or NONE.

    A broker without a replica of the partition has no epoch to compare.
    """
    asked = part.get("CurrentLeaderEpoch", -1)
    held = request.desk.image.leaders.get(partition)
    if asked < 0 or held is None or request.broker not in held.replicas or asked == held.epoch:
        return Errors.NONE
    return Errors.FENCED_LEADER_EPOCH if asked < held.epoch else FurtherErrors.UNKNOWN_LEADER_EPOCH


def correct_error(error: int, partition: str, part: Struct, request: ClientRequest) -> int:
    """Return the error of a partition in an answer: a broker compares epochs before it looks who leads."""
    if error != Errors.NOT_LEADER_OR_FOLLOWER:
        return error
    return compare_epoch(partition, part, request) or error
