"""What every consumer that joins its group consists of, by whichever protocol it is a member.

WHERE IN KAFKA: AsyncKafkaConsumer and ClassicKafkaConsumer, which have the same parts beside their membership.
"""

from __future__ import annotations

from kipviz.clients.groups.subscription_state import SubscriptionState
from kipviz.core.values import Part, Value
from kipviz.messages.groups import GroupOffset
from kipviz.messages.message import Message
from kipviz.messages.producing import FetchedRecord


class Fetcher(Value, frozen=True):
    """What is fetched (FetchRequestManager, Fetcher): at most `max_records` for a poll().

    `read_uncommitted` is its isolation.level. `resting` are the partitions that had nothing new for this poll().
    """

    max_records: int
    read_uncommitted: bool = False
    resting: tuple[str, ...] = ()

    @property
    def anew(self) -> Fetcher:
        """What the next life of the process begins with, and every poll()."""
        return Fetcher(self.max_records, self.read_uncommitted)


class OffsetRequests(Value, frozen=True):
    """Offsets of the group (CommitRequestManager, ConsumerCoordinator).

    `fetch_version` is the newest OffsetFetch that the client knows, `committing` what commitSync() waits for.
    """

    fetch_version: int = 10
    committing: tuple[GroupOffset, ...] = ()


class ReadingMember(Part, frozen=True):
    """A consumer's parts beside its membership, and what it is doing.

    `partition` is where the records of the last poll() are from. `polling` says that the application is in poll(),
    `backing_off` that something is asked again after a while.
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
        """From where it reads on in the partition of its last records; -1 is not known."""
        return self.subscription.positions.get(self.partition, -1)
