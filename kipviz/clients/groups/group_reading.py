"""How a member of a regular group reads, by whichever protocol it came in: topics, offsets, records, commits.

WHERE IN KAFKA: CommitRequestManager and FetchRequestManager (KIP-848), ConsumerCoordinator and Fetcher
(classic). What is asked of a member here is what both kinds have under the same names.
Unless a spec says what auto.offset.reset is, a member without a position goes to the earliest record at once.
NOT MODELLED: that the wait for another reset counts from when the request was sent; here it is from its answer.
"""

from __future__ import annotations

from typing import Any, TypeVar

from kipviz.clients.groups.consumer import NONE, where_to
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.messages.groups import (
    GroupOffset,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
)
from kipviz.messages.list_offsets import ListOffsetsResponse
from kipviz.messages.message import Message
from kipviz.messages.producing import Fetch, FetchResponse

HEARTBEAT, BACK_OFF, FETCH_WAIT = "the heartbeat interval", "the retry back-off", "the fetch wait"
# Until a partition is asked again in which no record was young enough: request.timeout.ms.
RESET_WAIT = "the wait for another reset"
# The versions of OffsetFetch that ask for stable offsets, and that say who asks.
FIRST_STABLE, FIRST_WITH_MEMBER = 7, 9
# What is tried again only after a while: it takes somebody else to resolve it.
PENDING = (
    Errors.UNSTABLE_OFFSET_COMMIT,
    Errors.PENDING_TRANSACTION,
    Errors.COORDINATOR_LOAD_IN_PROGRESS,
)
# The position of a partition that the log is asked for, by auto.offset.reset.
ASKED = -1
# In whose name offsets are asked for: nobody's.
NOBODY = ("", -1)
M = TypeVar("M", bound=Any)


def subscribed_to(me: M, topics: tuple[str, ...]) -> M:
    """Subscribe to these topics and no others.

    The next life of the process runs its program from the start, so the topic that it begins with is kept.
    """
    begins_with = me.first_topic or me.topic
    moved: M = me.but(
        topic=topics[0],
        further_topics=topics[1:],
        first_topic="" if topics[0] == begins_with else begins_with,
    )
    return moved


def next_read(me: Any, who: tuple[str, int] = NOBODY) -> Message | None:
    """Give the next question of poll(): an offset that is not known, or records."""
    committed = not me.read_uncommitted
    for partition in me.owned:
        if partition not in me.positions:
            return _ask_for_offset(me, partition, who)
        if me.positions[partition] == ASKED and partition not in me.unfound:
            return where_to(partition, me.auto_offset_reset, committed=committed)
    for partition in me.owned:
        if partition not in (*me.resting, *me.unfound):
            return Fetch(
                partition,
                me.positions[partition],
                me.max_records,
                read_committed=committed,
                wait=False,
                resets=not me.auto_offset_reset,
            )
    return None


def read_so_far(me: Any) -> tuple[GroupOffset, ...]:
    """Give how far every partition was read; one whose position is asked for is not among them."""
    return tuple(GroupOffset(p, at) for p, at in me.positions.items() if at != ASKED)


def _ask_for_offset(me: Any, partition: str, who: tuple[str, int]) -> Message:
    """Ask where the group left off: as a member if the version has a place for it (9, KIP-848)."""
    version = me.offset_fetch_version
    stable = version >= FIRST_STABLE
    if version < FIRST_WITH_MEMBER:
        return OffsetFetch(me.group_id, partition, stable, version=version)
    return OffsetFetch(me.group_id, partition, stable, *who, version=version)


def on_offset(me: M, answer: OffsetFetchResponse) -> M | None:
    """Read on from the committed offset; wait before asking again for what is not stable yet.

    None is an answer about the member itself.
    """
    if answer.partition not in me.owned:
        return me
    if answer.error is Errors.NONE and answer.offset < 0 and me.auto_offset_reset:
        return _reset(me, answer.partition, "NoOffsetForPartitionException")
    if answer.error is Errors.NONE:
        known: M = me.but(positions=me.positions.set(answer.partition, max(answer.offset, 0)))
        return known
    if answer.error in PENDING:
        waits: M = me.but(backing_off=True)
        return waits
    return me if answer.error in RETRIABLE else None


def on_told(me: M, answer: ListOffsetsResponse) -> M:
    """Read on where the log begins or ends; whoever is told nothing asks again.

    Where no record is young enough (by_duration) there is no position, and the partition is asked again when
    request.timeout.ms is over: for a later time. What is too old by then is passed over.
    Source: OffsetsRequestManager.sendListOffsetsRequestsAndResetPositions, OffsetFetcherUtils.handleListOffsetResponse.
    """
    waits = me.positions.get(answer.partition) == ASKED
    if answer.error is not Errors.NONE or not waits:
        return me
    if answer.offset < 0:
        unfound: M = me.but(unfound=(*me.unfound, answer.partition))
        return unfound
    found: M = me.but(positions=me.positions.set(answer.partition, answer.offset))
    return found


def _reset(me: M, partition: str, error: str) -> M:
    """Ask the log for another position, or throw. Source: SubscriptionState, FetchCollector."""
    if me.auto_offset_reset == NONE:
        thrown: M = me.but(polling=False, done=True, error=f"{error}: {partition}")
        return thrown
    others = tuple(p for p in me.unfound if p != partition)
    asks: M = me.but(positions=me.positions.set(partition, ASKED), unfound=others)
    return asks


def on_committed(me: M, answer: OffsetCommitResponse) -> M:
    """Come back, ask again, or throw CommitFailedException: the partitions are somebody else's."""
    if answer.error in RETRIABLE:
        return me
    failed = answer.error is not Errors.NONE
    error = f"OffsetCommit: {answer.error.name}" if failed else ""
    back: M = me.but(committing=(), done=True, error=error)
    return back


def on_records(me: M, answer: FetchResponse) -> M:
    """Give records to poll(), or leave a partition that has none alone for a while."""
    partition = answer.partition
    if answer.error is Errors.OFFSET_OUT_OF_RANGE and partition in me.positions:
        return _reset(me, partition, "OffsetOutOfRangeException")
    if answer.error is not Errors.NONE or partition not in me.positions:
        return me
    read: M = me.but(positions=me.positions.set(partition, answer.next_offset))
    if not answer.records:
        rests: M = read.but(resting=(*read.resting, partition))
        return rests
    given: M = read.but(partition=partition, records=answer.records, polling=False, done=True)
    return given


def timers(me: Any) -> tuple[str, ...]:
    """Give the timers that are set besides the heartbeat."""
    idle = set(me.owned) <= {*me.resting, *me.unfound}
    rests = bool(me.polling and me.owned and me.resting and idle)
    looks = any(me.positions.get(partition) == ASKED for partition in me.unfound)
    found = ((BACK_OFF, me.backing_off), (FETCH_WAIT, rests), (RESET_WAIT, looks))
    return tuple(timer for timer, is_set in found if is_set)


def on_timer(me: M, timer: str) -> M:
    """Let one of them run out: try again, or ask for new records."""
    over: dict[str, dict[str, Any]] = {
        BACK_OFF: {"backing_off": False},
        FETCH_WAIT: {"resting": ()},
        RESET_WAIT: {"unfound": ()},
    }
    after: M = me.but(**over[timer])
    return after
