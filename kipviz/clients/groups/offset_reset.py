"""What a consumer does without a position inside the log: auto.offset.reset.

WHERE IN KAFKA: AutoOffsetResetStrategy, OffsetFetcherUtils. KIPS: KIP-1106 (by_duration).
"""

from __future__ import annotations

from kipviz.clients.process_spec import ProcessSpec
from kipviz.messages.groups.reset_policy import BY_DURATION, EARLIEST, LATEST, reset_duration_ms
from kipviz.messages.logs.list_offsets import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    ListOffsets,
    ListOffsetsPartition,
)
from kipviz.settings.consumer_configs import AUTO_OFFSET_RESET

# The values of auto.offset.reset; "none" throws.
NONE = "none"
RESETS = (EARLIEST, LATEST, NONE)
# The timestamp of a request of by_duration that has not been sent.
UNTIMED = 0


def why_no_reset(application: ProcessSpec, *, dated: bool) -> str:
    """Return why a consumer cannot have its auto.offset.reset, or ""; `dated` says whether records have timestamps."""
    name, reset = application.name, application.auto_offset_reset
    by_duration = reset_duration_ms(reset) >= 0
    if application.share or (reset not in ("", *RESETS) and not by_duration):
        return reset and (
            f"{AUTO_OFFSET_RESET.name} of {name} is {', '.join(RESETS)}, {BY_DURATION} with a duration like PT10S, or '' for "
            f"earliest at once, of a consumer of a regular group; {reset!r} is not allowed there"
        )
    if by_duration and not application.protocol:
        return (
            f"{AUTO_OFFSET_RESET.name} of {name} is by_duration, which takes a consumer that joins its group "
            "(protocol=consumer or classic)"
        )
    if by_duration and not dated:
        return (
            f"{AUTO_OFFSET_RESET.name} of {name} is by_duration, which needs times in records and a clock that the client "
            "looks at (clock=timed, stamps=true)"
        )
    return ""


def where_to(partitions: tuple[str, ...], policy: str, *, committed: bool) -> ListOffsets:
    """Return the ListOffsets request for an auto.offset.reset: where the logs start or end, or an age.

    The timestamp of an age is set when the request is sent (`at_clock`); before that it is 0. The network thread sends
    it to the leader of the first partition, with the others that this broker leads; the rest are asked for next.
    NOT MODELLED: that Kafka's client asks all leaders at once.
    """
    places = {EARLIEST: EARLIEST_TIMESTAMP, LATEST: LATEST_TIMESTAMP}
    timestamp = places.get(policy, UNTIMED)
    return ListOffsets(tuple(ListOffsetsPartition(p, timestamp) for p in partitions), committed)


def at_clock(request: ListOffsets, policy: str, now_ms: int) -> ListOffsets:
    """Return the request of a consumer in the moment in which it is sent, also if it is sent again.

    The timestamp of by_duration is that long before `now_ms`, the clock of the client, and not before 1970. Source:
    AutoOffsetResetStrategy.timestamp.
    """
    duration_ms = reset_duration_ms(policy)
    if duration_ms < 0:
        return request
    timestamp = max(now_ms - duration_ms, 0)
    return request.but(partitions=tuple(p.but(timestamp=timestamp) for p in request.partitions))
