"""A consumer of a regular group: its parts, whether it joins its group or reads assigned partitions.

WHO: a client process. WHERE IN KAFKA: KafkaConsumer with a ConsumerDelegate (AsyncKafkaConsumer, ClassicKafkaConsumer),
  SubscriptionState, Fetcher, CommitRequestManager.
KIPS: KIP-98 (isolation level), KIP-447 (stable offsets), KIP-848 (member epoch).
PARTS: the subscription or assignment with its positions, the fetcher, the requests for offsets, and the membership:
  `ConsumerMembership` (KIP-848) or `ConsumerCoordinator` (classic). With assign() the membership stays UNSUBSCRIBED.
  The calls and the network thread are in `kafka_consumer`.
DURABILITY: none; only the group's committed offsets last.
NOT MODELLED: assign() during a run, pause(), the metadata of a position; its leader epoch: after a change of the leader
  Kafka's consumer drops what it has fetched, and has its position validated before it fetches again; that a partition
  of which it has read goes behind the others in the next Fetch (SubscriptionState.movePartitionToEnd).
"""

from __future__ import annotations

from typing import Generic, Self, TypeAlias, TypeGuard, TypeVar

from kipviz.clients.groups import consumer_coordinator, consumer_membership
from kipviz.clients.groups.consumer_coordinator import ConsumerCoordinator
from kipviz.clients.groups.consumer_membership import ConsumerMembership
from kipviz.clients.groups.subscription_state import SubscriptionState
from kipviz.clients.throwing.client_errors import Raised
from kipviz.core.values import Part, Value
from kipviz.messages.groups.groups import GroupOffset
from kipviz.messages.logs.producing import FetchedRecord, PartitionData
from kipviz.messages.message import Message


class CompletedFetch(Value, frozen=True):
    """What a broker returned for one partition, of which poll() has not returned everything (CompletedFetch).

    `next_fetch_offset` is the position from which on it is returned: it was fetched from there, or a poll() has
    returned the records before it.
    """

    next_fetch_offset: int
    data: PartitionData

    def continues(self, subscription: SubscriptionState) -> bool:
        """Return whether it goes on at the position of its partition; otherwise it is stale, and is dropped."""
        return subscription.positions.get(self.data.partition) == self.next_fetch_offset


class Fetcher(Value, frozen=True):
    """The fetches of a consumer (FetchRequestManager, Fetcher): a poll() returns at most `max_records`.

    `read_uncommitted` is its isolation.level. `completed` is what it has fetched and not returned yet (FetchBuffer), in
    the order in which it arrived. `resting` are the partitions without new records for this poll().
    """

    max_records: int
    read_uncommitted: bool = False
    completed: tuple[CompletedFetch, ...] = ()
    resting: tuple[str, ...] = ()

    @property
    def anew(self) -> Fetcher:
        """The initial state for the next life of the process, or without partitions."""
        return Fetcher(self.max_records, self.read_uncommitted)

    def for_partitions(self, subscription: SubscriptionState) -> Fetcher:
        """Drop what was fetched from partitions that it may not fetch any more, or from another position in them.

        Every partition may be fetched again. Source: FetchBuffer.retainAll, FetchCollector.initialize.
        """
        fetchable = subscription.fetchable
        kept = tuple(
            f for f in self.completed if f.data.partition in fetchable and f.continues(subscription)
        )
        return Fetcher(self.max_records, self.read_uncommitted, kept)


class OffsetRequests(Value, frozen=True):
    """The requests for offsets of the group (CommitRequestManager, ConsumerCoordinator).

    `fetch_version` is the newest OffsetFetch version of the client, `committing` the offsets for which commitSync()
    waits. A consumer that `backs_off` waits for retry.backoff.ms before it asks again for an offset that is not stable.
    """

    fetch_version: int = 10
    committing: tuple[GroupOffset, ...] = ()
    backs_off: bool = True

    @property
    def anew(self) -> OffsetRequests:
        """The initial state for the next life of the process."""
        return self.but(committing=())


M_co = TypeVar("M_co", bound=ConsumerMembership | ConsumerCoordinator, covariant=True)


class Consumer(Part, Generic[M_co], frozen=True):
    """A consumer's parts, and its current work.

    `partition` is the partition of the last poll()'s records. `polling` says that the application is in poll(),
    `backing_off` that a request waits for the retry back-off.
    """

    source: str
    group_id: str
    partition: str
    subscription: SubscriptionState
    fetcher: Fetcher
    membership: M_co
    offsets: OffsetRequests = OffsetRequests()
    polling: bool = False
    backing_off: bool = False
    on_wire: Message | None = None
    on_wire_broker: int = -1
    records: tuple[FetchedRecord, ...] = ()
    done: bool = False
    error: Raised = ""

    def reading(self, subscription: SubscriptionState) -> Self:
        """Read these partitions from these positions on; what was fetched from elsewhere is dropped."""
        return self.but(
            subscription=subscription, fetcher=self.fetcher.for_partitions(subscription)
        )

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

    @property
    def state(self) -> consumer_membership.MemberState | consumer_coordinator.MemberState:
        """The state of its membership."""
        return self.membership.state

    @property
    def member_id(self) -> str:
        """Its member id."""
        return self.membership.member_id

    @property
    def member_epoch(self) -> int:
        """The member epoch that it received last, or its generation."""
        return self.membership.member_epoch

    @property
    def instance_id(self) -> str:
        """Its group.instance.id, "" without one."""
        return self.membership.instance_id

    @property
    def in_group(self) -> bool:
        """Whether max.poll.interval.ms runs between two calls of poll()."""
        return self.membership.in_group


# A consumer that joins by KIP-848 or has assigned partitions, and one that joins by the classic protocol.
GroupConsumer: TypeAlias = Consumer[ConsumerMembership]
ClassicConsumer: TypeAlias = Consumer[ConsumerCoordinator]
# A regular consumer by either protocol.
# One of the two, as `Consumer` is covariant.
RegularConsumer: TypeAlias = Consumer[ConsumerMembership | ConsumerCoordinator]


def joins_group(client: object) -> TypeGuard[RegularConsumer]:
    """Return whether a client is a regular consumer that joins its group, so that it can be removed from it."""
    return isinstance(client, Consumer) and not client.subscription.user_assigned


def is_classic(client: object) -> TypeGuard[ClassicConsumer]:
    """Return whether a client is a regular consumer that joins its group by the classic protocol."""
    return isinstance(client, Consumer) and isinstance(client.membership, ConsumerCoordinator)
