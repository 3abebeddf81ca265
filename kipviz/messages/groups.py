"""Offsets of regular consumer groups."""

from __future__ import annotations

from typing import ClassVar

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message

# The first versions that have a place for a group's member, and for the wish for stable offsets (KIP-447).
NAMES_MEMBER, ASKS_STABLE = 3, 7
# The first version of OffsetFetch that has a place for several groups (KIP-709).
OF_SEVERAL_GROUPS = 8


class GroupOffset(Value, frozen=True):
    """The next offset a group wants to read from one partition."""

    partition: str
    offset: int


class TxnOffsetCommit(Message, frozen=True):
    """The producer stages a group's offsets in its transaction.

    Since version 5 the group coordinator adds its own partition to the transaction (transaction version 2); version 6
    says STALE_MEMBER_EPOCH (KIP-1319). Version 4 is the last one of transaction versions 0 and 1. `topic_ids` are the
    ids by which version 6 names its topics, as the producer knew them when it built the request; nothing stands for the
    ids that the topics have. `instance_id` is the group.instance.id of a static member.
    """

    API_KEY: ClassVar[int] = 28
    VERSION: ClassVar[int] = 6
    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    member_id: str
    member_epoch: int
    offsets: tuple[GroupOffset, ...]
    version: int = 6
    topic_ids: tuple[tuple[str, str], ...] = ()
    instance_id: str = ""


class RefusedOffset(Value, frozen=True):
    """A partition whose offset was not taken, while others' were."""

    partition: str
    error: Errors


class TxnOffsetCommitResponse(Message, frozen=True):
    """The offsets are in the log, pending the transaction's outcome, or why not.

    `error` is that of every partition, `refused` are those that have one of their own.
    """

    API_KEY: ClassVar[int] = 28
    VERSION: ClassVar[int] = 6
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    refused: tuple[RefusedOffset, ...] = ()


class OffsetCommit(Message, frozen=True):
    """A consumer says how far its group has read, outside any transaction.

    Its own member is asked for; an epoch of -1 is somebody who is in no group, such as an operator.
    """

    API_KEY: ClassVar[int] = 8
    VERSION: ClassVar[int] = 10
    group_id: str
    member_id: str
    member_epoch: int
    offsets: tuple[GroupOffset, ...]
    instance_id: str = ""


class OffsetCommitResponse(Message, frozen=True):
    """The offsets are committed, or why not; `refused` are partitions with an error of their own."""

    API_KEY: ClassVar[int] = 8
    VERSION: ClassVar[int] = 10
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    refused: tuple[RefusedOffset, ...] = ()


class OffsetFetch(Message, frozen=True):
    """A consumer asks where its group left off; the Java consumer always requires stable offsets.

    A member that joined says who it is; a member epoch of -1 says nothing. Before version 7
    (Kafka 2.5) nobody could ask for stable offsets.
    """

    API_KEY: ClassVar[int] = 9
    VERSION: ClassVar[int] = 10
    group_id: str
    partition: str
    require_stable: bool = True
    member_id: str = ""
    member_epoch: int = -1
    version: int = 10


class OffsetFetchResponse(Message, frozen=True):
    """The committed offset, -1 for none, or UNSTABLE_OFFSET_COMMIT while one is pending."""

    API_KEY: ClassVar[int] = 9
    VERSION: ClassVar[int] = 10
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    partition: str
    offset: int = -1
