"""ListOffsets: where a partition begins and ends, for whoever has no position in it."""

from __future__ import annotations

from typing import ClassVar

from kipviz.messages.errors import Errors
from kipviz.messages.message import Message

# What is asked for in the place of a time (ListOffsetsRequest).
LATEST_TIMESTAMP, EARLIEST_TIMESTAMP = -1, -2


class ListOffsets(Message, frozen=True):
    """A consumer asks the leader of a partition where it begins (-2) or ends (-1).

    NOT MODELLED: an offset by a time (offsetsForTimes, by_duration), several partitions in one
    request, tiered storage.
    """

    API_KEY: ClassVar[int] = 2
    VERSION: ClassVar[int] = 11
    partition: str
    timestamp: int
    read_committed: bool = True


class ListOffsetsResponse(Message, frozen=True):
    """The offset that was asked for; -1 beside an error."""

    API_KEY: ClassVar[int] = 2
    VERSION: ClassVar[int] = 11
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    partition: str
    offset: int = -1
