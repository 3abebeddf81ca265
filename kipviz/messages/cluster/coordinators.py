"""The lookup of a coordinator, at any broker."""

from __future__ import annotations

import re
from typing import ClassVar

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message

# FindCoordinatorRequest.CoordinatorType
GROUP, TRANSACTION, SHARE = 0, 1, 2
# The first version with an array of keys (KIP-699), and the first one with keys of share-partitions (KIP-932).
OF_SEVERAL_KEYS, OF_SHARES = 4, 6
INT32_LIMIT = 2**31
_INDEX = re.compile(r"[+-]?[0-9]{1,10}")
_UUID = re.compile(r"[A-Za-z0-9_-]{22}(==)?")


class FindCoordinator(Message, frozen=True):
    """A client looks up the coordinators of keys of one type: groups, transactional ids or share-partitions.

    A producer of the model sends it only if there are ACLs, because it is the first request that needs a right.
    Otherwise the sender looks up the address at once, as does a client that looks for the coordinator of a group: the
    rejection of the group itself has the same error, and the same consequences. Any broker can answer.
    """

    API_KEY: ClassVar[int] = 10
    VERSION: ClassVar[int] = 6
    key_type: int
    coordinator_keys: tuple[str, ...]
    version: int = 6


def is_lookup_of_several(message: Message) -> bool:
    """Return whether a request looks up several keys, each of which needs a right to itself.

    The right to look up share-partitions is a right to the cluster.
    """
    return (
        isinstance(message, FindCoordinator)
        and message.key_type != SHARE
        and len(message.coordinator_keys) > 1
    )


def is_share_key(key: str) -> bool:
    """Return whether a key has the form of a share-partition's: group:topicId:partition.

    Source: SharePartitionKey.validate.
    """
    group_id, *rest = key.rsplit(":", 2)
    if len(rest) < len(("topic id", "partition")) or not group_id.strip():
        return False
    topic_id, index = rest
    number = int(index) if _INDEX.fullmatch(index) else None
    return bool(_UUID.fullmatch(topic_id)) and number is not None and abs(number) < INT32_LIMIT


class Coordinator(Value, frozen=True):
    """The broker that coordinates a key now, -1 beside an error. NOT MODELLED: host and port."""

    key: str
    error: Errors
    node_id: int = -1


class FindCoordinatorResponse(Message, frozen=True):
    """The coordinator of each key, or its error."""

    API_KEY: ClassVar[int] = 10
    VERSION: ClassVar[int] = 6
    IS_RESPONSE: ClassVar[bool] = True
    coordinators: tuple[Coordinator, ...]
