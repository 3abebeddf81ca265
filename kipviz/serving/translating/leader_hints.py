"""The current leader of a partition, in an answer that says that the broker asked is not it (KIP-951).

Source: KafkaApis.getCurrentLeader and where it is called: Produce from version 10 on, Fetch from version 16 on,
ShareFetch and ShareAcknowledge.
"""

from __future__ import annotations

from dataclasses import replace

from kipviz.brokers.context import NOBODY
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.wire.codec import Struct
from kipviz.serving.translating.reply_context import (
    HOST,
    Asked,
    ClientRequest,
    Desk,
    Replies,
    Translate,
)

MOVED = (Errors.NOT_LEADER_OR_FOLLOWER, Errors.FENCED_LEADER_EPOCH)


def hint_leaders(translate: Translate, lowest: int) -> Translate:
    """Return a translation whose answers name the leaders of partitions that have moved, from a version on."""

    def translate_hinting(request: ClientRequest, messages: tuple[Message, ...]) -> Asked:
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


def _add_leaders(found: Struct, desk: Desk) -> Struct:
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


def _add_leader(part: Struct, topic: str, nodes: dict[int, Struct], desk: Desk) -> Struct:
    if part["ErrorCode"] not in MOVED:
        return part
    index = part["Index"] if "Index" in part else part["PartitionIndex"]
    held = desk.image.leaders.get(f"{topic}-{index}")
    leader, epoch = (NOBODY, NOBODY) if held is None else (held.leader, held.epoch)
    if leader in desk.ports:
        nodes[leader] = {"NodeId": leader, "Host": HOST, "Port": desk.ports[leader], "Rack": None}
    return part | {"CurrentLeader": {"LeaderId": leader, "LeaderEpoch": epoch}}
