"""How a member of a regular group reads, in either protocol: topics, offsets, records, commits.

WHERE IN KAFKA: CommitRequestManager and FetchRequestManager (KIP-848), ConsumerCoordinator and Fetcher
(classic). Both kinds of members have the parts of `reading_member`.
Unless a spec states auto.offset.reset, a member without a position starts at the earliest record at once.
NOT MODELLED: that the wait for another reset counts from when the request was sent; here it is from its answer.
"""

from __future__ import annotations

from typing import TypeVar

from kipviz.clients.groups.consumer import NONE, where_to
from kipviz.clients.groups.reading_member import ReadingMember
from kipviz.clients.groups.subscription_state import ASKED
from kipviz.clients.timers import FetchWait, ResetWait, RetryBackOff, TimerOfClient
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.messages.groups.groups import (
    FetchedOffset,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
    fetch_offset,
)
from kipviz.messages.logs.list_offsets import ListOffsetsResponse
from kipviz.messages.logs.producing import Fetch, FetchResponse
from kipviz.messages.message import Message

# The OffsetFetch versions that first ask for stable offsets, and that first name the member.
FIRST_STABLE, FIRST_WITH_MEMBER = 7, 9
# Errors that are retried only after a back-off, because another process must resolve them.
PENDING = (
    Errors.UNSTABLE_OFFSET_COMMIT,
    Errors.PENDING_TRANSACTION,
    Errors.COORDINATOR_LOAD_IN_PROGRESS,
)
# The member that an OffsetFetch names when it names no member.
NOBODY = ("", -1)
M = TypeVar("M", bound=ReadingMember)


def next_read(me: ReadingMember, who: tuple[str, int] = NOBODY) -> Message | None:
    """Return the next request of poll(): for an unknown position, or for records."""
    mine, committed = me.subscription, not me.fetcher.read_uncommitted
    for partition in mine.owned:
        if partition not in mine.positions:
            return _ask_for_offset(me, partition, who)
        if mine.positions[partition] == ASKED and partition not in mine.unfound:
            return where_to(partition, mine.auto_offset_reset, committed=committed)
    for partition in mine.owned:
        if partition not in (*me.fetcher.resting, *mine.unfound):
            return Fetch(
                partition,
                mine.positions[partition],
                me.fetcher.max_records,
                read_committed=committed,
                wait=False,
            )
    return None


def _ask_for_offset(me: ReadingMember, partition: str, who: tuple[str, int]) -> Message:
    """Ask for the committed offset, as a member if the version has a field for it (9, KIP-848)."""
    version = me.offsets.fetch_version
    stable = version >= FIRST_STABLE
    if version < FIRST_WITH_MEMBER:
        return fetch_offset(me.group_id, partition, stable, version=version)
    return fetch_offset(me.group_id, partition, stable, *who, version=version)


def on_offset(me: M, asked: Message | None, answer: OffsetFetchResponse) -> M | None:
    """Read on from the committed offset. Back off before a retry while the offset is not stable.

    `asked` is the request, because an error of the whole group names no partition. None means that the response is an
    error about the member itself.
    """
    mine, found = me.subscription, result_for(asked, answer)
    if found.partition not in mine.owned:
        return me
    if found.error is Errors.NONE and found.offset < 0 and mine.auto_offset_reset:
        return _reset(me, found.partition, "NoOffsetForPartitionException")
    if found.error is Errors.NONE:
        return me.but(subscription=mine.at(found.partition, max(found.offset, 0)))
    if found.error in PENDING:
        return me.but(backing_off=True)
    return me if found.error in RETRIABLE else None


def result_for(asked: Message | None, answer: OffsetFetchResponse) -> FetchedOffset:
    """Return the result for the one partition that a consumer's OffsetFetch names."""
    assert isinstance(asked, OffsetFetch), asked
    (requested,), (fetched,) = asked.groups, answer.groups
    assert requested.partitions is not None, "a consumer names its partition"
    (partition,) = requested.partitions
    return fetched.result_of(partition)


def on_told(me: M, answer: ListOffsetsResponse) -> M:
    """Read on where the log starts or ends; a member without an offset asks again.

    If every record is too old (by_duration), there is no position. The partition is asked again after
    request.timeout.ms, for a later time, and records that are too old by then are skipped.
    Source: OffsetsRequestManager.sendListOffsetsRequestsAndResetPositions,
    OffsetFetcherUtils.handleListOffsetResponse.
    """
    mine, partition = me.subscription, answer.partition
    waits = mine.positions.get(partition) == ASKED
    if answer.error is not Errors.NONE or not waits:
        return me
    if answer.offset < 0:
        return me.but(subscription=mine.but(unfound=(*mine.unfound, partition)))
    return me.but(subscription=mine.at(partition, answer.offset))


def _reset(me: M, partition: str, error: str) -> M:
    """Ask the log for another position, or throw. Source: SubscriptionState, FetchCollector."""
    mine = me.subscription
    if mine.auto_offset_reset == NONE:
        return me.but(polling=False, done=True, error=f"{error}: {partition}")
    others = tuple(p for p in mine.unfound if p != partition)
    return me.but(subscription=mine.at(partition, ASKED).but(unfound=others))


def on_committed(me: M, answer: OffsetCommitResponse) -> M:
    """End commitSync(), retry, or throw CommitFailedException, because other members own the partitions."""
    if answer.error in RETRIABLE:
        return me
    failed = answer.error is not Errors.NONE
    error = f"OffsetCommit: {answer.error.name}" if failed else ""
    return me.but(offsets=me.offsets.but(committing=()), done=True, error=error)


def on_records(me: M, answer: FetchResponse) -> M:
    """Return records to poll(), or stop asking an empty partition for a while."""
    mine, partition = me.subscription, answer.partition
    if answer.error is Errors.OFFSET_OUT_OF_RANGE and partition in mine.positions:
        return _reset(me, partition, "OffsetOutOfRangeException")
    if answer.error is not Errors.NONE or partition not in mine.positions:
        return me
    read = me.but(subscription=mine.at(partition, answer.next_offset))
    if not answer.records:
        resting = (*me.fetcher.resting, partition)
        return read.but(fetcher=me.fetcher.but(resting=resting))
    return read.but(partition=partition, records=answer.records, polling=False, done=True)


def timers(me: ReadingMember) -> tuple[TimerOfClient, ...]:
    """Return the timers that are set, besides the heartbeat."""
    mine, resting = me.subscription, me.fetcher.resting
    idle = set(mine.owned) <= {*resting, *mine.unfound}
    rests = bool(me.polling and mine.owned and resting and idle)
    looks = any(mine.positions.get(partition) == ASKED for partition in mine.unfound)
    found = ((RetryBackOff(), me.backing_off), (FetchWait(), rests), (ResetWait(), looks))
    return tuple(timer for timer, is_set in found if is_set)


def on_timer(me: M, timer: TimerOfClient) -> M:
    """Fire one of these timers: retry, or fetch new records."""
    if isinstance(timer, RetryBackOff):
        return me.but(backing_off=False)
    if isinstance(timer, FetchWait):
        return me.but(fetcher=me.fetcher.anew)
    assert isinstance(timer, ResetWait), timer
    return me.but(subscription=me.subscription.but(unfound=()))
