"""What a consumer does without a position inside the log: auto.offset.reset.

WHERE IN KAFKA: AutoOffsetResetStrategy, OffsetFetcherUtils. KIPS: KIP-1106 (by_duration).
"""

from __future__ import annotations

from kipviz.clients.process_spec import ProcessSpec
from kipviz.messages.groups.reset_policy import BY_DURATION, EARLIEST, LATEST, reset_duration_ms
from kipviz.messages.logs.list_offsets import (
    BY_TIME,
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    ListOffsets,
    ListOffsetsPartition,
)
from kipviz.settings.consumer_configs import AUTO_OFFSET_RESET

# The values of auto.offset.reset; "none" throws.
NONE = "none"
RESETS = (EARLIEST, LATEST, NONE)


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

    The network thread sends it to the leader of the first partition, with the others that this broker leads; the rest
    are asked for next. NOT MODELLED: that Kafka's client asks all leaders at once.
    """
    duration_ms = reset_duration_ms(policy)
    if duration_ms >= 0:
        asked = tuple(ListOffsetsPartition(each, BY_TIME, duration_ms) for each in partitions)
    else:
        timestamp = EARLIEST_TIMESTAMP if policy == EARLIEST else LATEST_TIMESTAMP
        asked = tuple(ListOffsetsPartition(each, timestamp) for each in partitions)
    return ListOffsets(asked, committed)
