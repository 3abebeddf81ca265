"""A consumer of a regular group with a fixed assignment: it reads on from the group's committed offset.

WHO: a client process. WHERE IN KAFKA: KafkaConsumer, CommitRequestManager, Fetcher.
KIPS: KIP-98 (isolation level), KIP-447 (stable offsets), KIP-848 (member epoch).
DURABILITY: none; only the group's committed offset lasts.
NOT MODELLED: membership, assignment and rebalances (the member epoch is fixed; `group_consumer` is a member that
  joins), several partitions, the position's metadata, auto.offset.reset=by_duration (a member that joins has that).
  Unless a spec states auto.offset.reset, it is earliest, without a request.
"""

from __future__ import annotations

from typing import Any

from kipviz.core.values import Part
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import OffsetFetchResponse, fetch_offset
from kipviz.messages.groups.reset_policy import BY_DURATION, EARLIEST, LATEST, reset_duration_ms
from kipviz.messages.logs.list_offsets import (
    BY_TIME,
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    ListOffsets,
    ListOffsetsResponse,
)
from kipviz.messages.logs.producing import Fetch, FetchedRecord, FetchResponse
from kipviz.messages.message import Message
from kipviz.messages.message_errors import error_in

# The values of auto.offset.reset; "none" throws.
NONE = "none"
RESETS = (EARLIEST, LATEST, NONE)
# poll() throws these, and may be called again.
NOT_ALLOWED = (Errors.TOPIC_AUTHORIZATION_FAILED, Errors.GROUP_AUTHORIZATION_FAILED)


def why_no_reset(application: Any, *, dated: bool) -> str:
    """Return why a consumer cannot have its auto.offset.reset, or ""; `dated` says whether records have timestamps."""
    name, reset = application.name, application.auto_offset_reset
    by_duration = reset_duration_ms(reset) >= 0
    if application.share or (reset not in ("", *RESETS) and not by_duration):
        return reset and (
            f"auto.offset.reset of {name} is {', '.join(RESETS)}, {BY_DURATION} with a duration like PT10S, or '' for "
            f"earliest at once, of a consumer of a regular group; {reset!r} is not allowed there"
        )
    if by_duration and not application.protocol:
        return (
            f"auto.offset.reset of {name} is by_duration, which takes a consumer that joins its group "
            "(protocol=consumer or classic)"
        )
    if by_duration and not dated:
        return (
            f"auto.offset.reset of {name} is by_duration, which needs times in records and a clock that the client "
            "looks at (clock=timed, stamps=true)"
        )
    return ""


class Consumer(Part, frozen=True):
    """What the consumer knows between two calls; position -1 means unknown.

    `auto_offset_reset` says what it does without a position inside the log: "earliest", "latest", "none"; "" is
    earliest without a round trip. `resetting` is true while it asks where the log starts or ends.
    """

    source: str
    group_id: str
    member_id: str
    member_epoch: int
    partition: str
    max_records: int
    position: int = -1
    to_send: Message | None = None
    on_wire: Message | None = None
    on_wire_broker: int = -1
    records: tuple[FetchedRecord, ...] = ()
    done: bool = False
    error: str = ""
    read_uncommitted: bool = False
    auto_offset_reset: str = ""
    resetting: bool = False


def poll(me: Consumer) -> Consumer:
    """Ask for records from the position on; find the position first if it is unknown. Blocks."""
    return me.but(to_send=_next(me), records=(), done=False, error="")


def forget_position(me: Consumer) -> Consumer:
    """Reset the position to the committed offset, as an application does after an abort."""
    return me.but(position=-1, resetting=False)


def next_request(me: Consumer) -> Message | None:
    """Return the request that the network thread sends next, or None."""
    return me.to_send


def sent(me: Consumer, request: Message, broker: int) -> tuple[Consumer, Message]:
    """Note that the request is in flight."""
    return me.but(to_send=None, on_wire=request, on_wire_broker=broker), request


def on_response(me: Consumer, answer: Message) -> Consumer:
    """Handle the committed offset, then the records; retry while an offset is unstable."""
    me = me.but(on_wire=None, on_wire_broker=-1)
    refused = error_in(answer) or Errors.NONE
    if refused in NOT_ALLOWED:
        request = type(answer).__name__.removesuffix("Response")
        return me.but(done=True, error=f"{request}: {refused.name}")
    if isinstance(answer, OffsetFetchResponse):
        (group,) = answer.groups
        found = group.result_of(me.partition)
        if found.error is Errors.NONE and found.offset < 0 and me.auto_offset_reset:
            return _reset(me, f"NoOffsetForPartitionException: {me.partition}")
        if found.error is Errors.NONE:
            me = me.but(position=max(found.offset, 0))
        return me.but(to_send=_next(me))
    if isinstance(answer, ListOffsetsResponse):
        if answer.error is Errors.NONE:
            me = me.but(position=answer.offset, resetting=False)
        return me.but(to_send=_next(me))
    assert isinstance(answer, FetchResponse)
    if answer.error is Errors.OFFSET_OUT_OF_RANGE:
        return _reset(me, f"OffsetOutOfRangeException: {me.partition}@{me.position}")
    if answer.error is not Errors.NONE:
        return me.but(to_send=_next(me))
    return me.but(records=answer.records, position=answer.next_offset, done=True)


def on_disconnected(me: Consumer, broker: int) -> Consumer:
    """Retry the request of a broken connection."""
    if me.on_wire is None or me.on_wire_broker != broker:
        return me
    return me.but(to_send=me.on_wire, on_wire=None, on_wire_broker=-1)


def restarted(me: Consumer, life: int) -> Consumer:
    """Return the consumer of the process's next life: the same member with an unknown position."""
    return Consumer(
        me.source,
        me.group_id,
        me.member_id,
        me.member_epoch,
        me.partition,
        me.max_records,
        read_uncommitted=me.read_uncommitted,
        auto_offset_reset=me.auto_offset_reset,
    )


def _reset(me: Consumer, error: str) -> Consumer:
    """Ask for another position, or throw: then the application has to seek.

    Source: FetchCollector.handleInitializeErrors, SubscriptionState.resetInitializingPositions.
    """
    if me.auto_offset_reset == NONE:
        return me.but(done=True, error=error)
    me = me.but(resetting=True)
    return me.but(to_send=_next(me))


def where_to(partition: str, policy: str, *, committed: bool) -> ListOffsets:
    """Return the ListOffsets request for an auto.offset.reset: where the log starts or ends, or an age."""
    duration_ms = reset_duration_ms(policy)
    if duration_ms >= 0:
        return ListOffsets(partition, BY_TIME, committed, duration_ms)
    timestamp = EARLIEST_TIMESTAMP if policy == EARLIEST else LATEST_TIMESTAMP
    return ListOffsets(partition, timestamp, committed)


def _next(me: Consumer) -> Message:
    committed = not me.read_uncommitted
    if me.resetting:
        return where_to(me.partition, me.auto_offset_reset, committed=committed)
    if me.position < 0:
        return fetch_offset(me.group_id, me.partition)
    return Fetch(me.partition, me.position, me.max_records, read_committed=committed)
