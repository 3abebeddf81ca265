"""The parts of every consumer that joins its group, in either protocol.

WHERE IN KAFKA: AsyncKafkaConsumer and ClassicKafkaConsumer, which have the same parts beside their membership.
"""

from __future__ import annotations

from kipviz.clients.groups.subscription_state import SubscriptionState
from kipviz.core.values import Part, Value
from kipviz.messages.groups.groups import GroupOffset
from kipviz.messages.logs.producing import FetchedRecord
from kipviz.messages.message import Message


class Fetcher(Value, frozen=True):
    """The fetches of a consumer (FetchRequestManager, Fetcher): at most `max_records` for a poll().

    `read_uncommitted` is its isolation.level. `resting` are the partitions without new records for this poll().
    """

    max_records: int
    read_uncommitted: bool = False
    resting: tuple[str, ...] = ()

    @property
    def anew(self) -> Fetcher:
        """The initial state for the next life of the process, and for every poll()."""
        return Fetcher(self.max_records, self.read_uncommitted)


class OffsetRequests(Value, frozen=True):
    """The requests for offsets of the group (CommitRequestManager, ConsumerCoordinator).

    `fetch_version` is the newest OffsetFetch version of the client, `committing` the offsets for which commitSync()
    waits.
    """

    fetch_version: int = 10
    committing: tuple[GroupOffset, ...] = ()


class ReadingMember(Part, frozen=True):
    """A consumer's parts beside its membership, and its current work.

    `partition` is the partition of the last poll()'s records. `polling` says that the application is in poll(),
    `backing_off` that a request waits for the retry back-off.
    """

    source: str
    group_id: str
    partition: str
    subscription: SubscriptionState
    fetcher: Fetcher
    offsets: OffsetRequests = OffsetRequests()
    polling: bool = False
    backing_off: bool = False
    on_wire: Message | None = None
    on_wire_broker: int = -1
    records: tuple[FetchedRecord, ...] = ()
    done: bool = False
    error: str = ""

    @property
    def owned(self) -> tuple[str, ...]:
        """Its partitions."""
        return self.subscription.owned

    @property
    def read_uncommitted(self) -> bool:
        """Its isolation.level."""
        return self.fetcher.read_uncommitted

    @property
    def position(self) -> int:
        """The position in the partition of its last records; -1 means unknown."""
        return self.subscription.positions.get(self.partition, -1)
