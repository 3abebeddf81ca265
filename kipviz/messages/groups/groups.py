"""Offsets of regular consumer groups (KIP-447, KIP-709)."""

from __future__ import annotations

from typing import ClassVar, overload

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.transactions.transactions import PartitionResult, first_error

# The first versions with fields for a group's member, and for RequireStable (KIP-447).
NAMES_MEMBER, ASKS_STABLE = 3, 7
# The first version of TxnOffsetCommit that names topics by id (KIP-1319).
NAMES_IDS = 6
# The first version of OffsetFetch with a field for several groups (KIP-709), and the last one that names topics.
OF_SEVERAL_GROUPS, NAMES_TOPICS = 8, 9


class GroupOffset(Value, frozen=True):
    """The next offset a group wants to read from one partition.

    `leader_epoch` is that of the last record that was read, if the client knows it; `metadata` is the application's own
    text. The clients of the model send neither.
    """

    partition: str
    offset: int
    leader_epoch: int | None = None
    metadata: str = ""

    @property
    def is_annotated(self) -> bool:
        """Whether more than the offset is committed."""
        return bool(self.metadata) or self.leader_epoch is not None


class TxnOffsetCommit(Message, frozen=True):
    """A producer commits a group's offsets in its transaction.

    Since version 5 the group coordinator adds its own partition to the transaction (transaction version 2); version 6
    has STALE_MEMBER_EPOCH (KIP-1319). Version 4 is the last one of transaction versions 0 and 1. `topic_ids` are the
    ids by which version 6 names its topics, as the producer knew them when it built the request; empty means the
    current ids. `instance_id` is the group.instance.id of a static member.
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


class TxnOffsetCommitResponse(Message, frozen=True):
    """The result for each partition, in the order of the request: its offset is pending, or an error says why not.

    A pending offset is in the log and waits for the transaction's outcome.
    """

    API_KEY: ClassVar[int] = 28
    VERSION: ClassVar[int] = 6
    IS_RESPONSE: ClassVar[bool] = True
    results: tuple[PartitionResult, ...]

    @property
    def error(self) -> Errors:
        """The first error of a partition."""
        return first_error(self.results)


class OffsetCommit(Message, frozen=True):
    """A consumer commits its group's offsets, outside any transaction.

    It names its member; an epoch of -1 belongs to a sender outside the group, such as an operator.
    """

    API_KEY: ClassVar[int] = 8
    VERSION: ClassVar[int] = 10
    group_id: str
    member_id: str
    member_epoch: int
    offsets: tuple[GroupOffset, ...]
    instance_id: str = ""


class OffsetCommitResponse(Message, frozen=True):
    """The result for each partition, in the order of the request: its offset is committed, or an error says why not."""

    API_KEY: ClassVar[int] = 8
    VERSION: ClassVar[int] = 10
    IS_RESPONSE: ClassVar[bool] = True
    results: tuple[PartitionResult, ...]

    @property
    def error(self) -> Errors:
        """The first error of a partition."""
        return first_error(self.results)


@overload
def committed_response(
    request: OffsetCommit, error: Errors = ..., own: tuple[PartitionResult, ...] = ...
) -> OffsetCommitResponse: ...
@overload
def committed_response(
    request: TxnOffsetCommit, error: Errors = ..., own: tuple[PartitionResult, ...] = ...
) -> TxnOffsetCommitResponse: ...
@overload
def committed_response(
    request: OffsetCommit | TxnOffsetCommit,
    error: Errors = ...,
    own: tuple[PartitionResult, ...] = ...,
) -> OffsetCommitResponse | TxnOffsetCommitResponse: ...
def committed_response(
    request: OffsetCommit | TxnOffsetCommit,
    error: Errors = Errors.NONE,
    own: tuple[PartitionResult, ...] = (),
) -> OffsetCommitResponse | TxnOffsetCommitResponse:
    """Return the response to a request: one error for all partitions, except those that have their own."""
    errors = {each.partition: each.error for each in own}
    named = (offset.partition for offset in request.offsets)
    results = tuple(PartitionResult(p, errors.get(p, error)) for p in named)
    at_once = isinstance(request, OffsetCommit)
    return OffsetCommitResponse(results) if at_once else TxnOffsetCommitResponse(results)


class OffsetFetchGroup(Value, frozen=True):
    """One group of an OffsetFetch, and the partitions whose offsets are fetched; None means all of them.

    A member of the group names itself; a member epoch of -1 names none.
    """

    group_id: str
    partitions: tuple[str, ...] | None = None
    member_id: str = ""
    member_epoch: int = -1


class OffsetFetch(Message, frozen=True):
    """A consumer fetches its group's committed offsets, or an operator fetches all committed offsets of groups.

    The Java consumer always requires stable offsets. Before version 7 (Kafka 2.5) no client could require them, and
    before version 8 there is one group in a request. The admin client names topics, so it sends no newer version than
    9.
    """

    API_KEY: ClassVar[int] = 9
    VERSION: ClassVar[int] = 10
    groups: tuple[OffsetFetchGroup, ...]
    require_stable: bool = False
    version: int = 10


class FetchedOffset(Value, frozen=True):
    """The committed offset of one partition, with what was committed beside it: -1 for none, and beside an error."""

    partition: str
    offset: int = -1
    error: Errors = Errors.NONE
    leader_epoch: int | None = None
    metadata: str = ""


class FetchedGroup(Value, frozen=True):
    """The committed offsets of one group, or an error of the whole group; an unknown group has neither."""

    error: Errors
    group_id: str
    offsets: tuple[FetchedOffset, ...] = ()

    def result_of(self, partition: str) -> FetchedOffset:
        """Return the result for a partition that was named; an error of the group is that of each partition."""
        if self.error is not Errors.NONE:
            return FetchedOffset(partition, error=self.error)
        return next(each for each in self.offsets if each.partition == partition)


class OffsetFetchResponse(Message, frozen=True):
    """The committed offsets of groups. One that a transaction may change has UNSTABLE_OFFSET_COMMIT instead."""

    API_KEY: ClassVar[int] = 9
    VERSION: ClassVar[int] = 10
    IS_RESPONSE: ClassVar[bool] = True
    groups: tuple[FetchedGroup, ...]


def fetch_offsets(
    group_id: str,
    partitions: tuple[str, ...],
    require_stable: bool = True,
    member_id: str = "",
    member_epoch: int = -1,
    version: int = 10,
) -> OffsetFetch:
    """Return the OffsetFetch of a consumer: of partitions in its group."""
    group = OffsetFetchGroup(group_id, partitions, member_id, member_epoch)
    return OffsetFetch((group,), require_stable, version)
