"""A share consumer and the parts that it consists of.

WHO: a client process. WHERE IN KAFKA: ShareConsumerImpl with its ShareConsumeRequestManager.
KIPS: KIP-932; KIP-1289 and KIP-1310 (drafts) for what is staged.
PARTS: `subscription` is what it is to read, `sessions` are those with its brokers, `current_fetch` is what it has in hand,
  `acknowledging` what it has yet to send. What the drafts add are two parts more: `handover` (KIP-1289: a producer stages) and
  `transactional` (KIP-1310: the consumer sends by itself); who holds the queue of stagings is the difference of the two designs.
DURABILITY: none. Its calls and what it sends are in `share_consumer`. Its membership is a client beside it (`share_member`).
"""

from __future__ import annotations

from kipviz.clients.sessions.transactional_acknowledgements import TransactionalAcknowledgements
from kipviz.clients.shares.acknowledge_requests import AcknowledgeRequests
from kipviz.clients.shares.current_fetch import CurrentFetch
from kipviz.clients.shares.handover import Handover
from kipviz.clients.shares.share_holding import Held
from kipviz.clients.shares.share_sessions import ShareSessions
from kipviz.core.values import Part, Value
from kipviz.messages.message import Message
from kipviz.messages.producing import FetchedRecord
from kipviz.messages.share_groups import BATCH_OPTIMIZED


class ShareSubscription(Value, frozen=True):
    """What a share consumer is to read (SubscriptionState).

    `assigned` are the partitions of a consumer of several. One that `joins` is told them by its group's coordinator, and may be
    `awaiting` that.
    """

    assigned: tuple[str, ...] = ()
    joins: bool = False
    awaiting: bool = False

    @property
    def has_several(self) -> bool:
        """Whether it reads what it is assigned, and not the one partition that it was made for."""
        return bool(self.assigned) or self.joins

    @property
    def anew(self) -> ShareSubscription:
        """What the consumer of the process's next life begins with: a member is told anew."""
        return ShareSubscription(() if self.joins else self.assigned, self.joins)


class ShareConsumer(Part, frozen=True):
    """A share consumer's names, settings and parts, and what is on the wire.

    `explicit` is share.acknowledgement.mode, `acquire_mode` share.acquire.mode. `partition` is where the records of the last
    poll() are from. One that `gathers` comes back from poll() with what all its partitions have; one that goes `by_session`
    asks a broker for all its partitions in one ShareFetch. It asks one broker after the other (`asking` are the partitions
    that are left), without waiting there, and is `resting` when none has anything.
    """

    source: str
    group_id: str
    member_id: str
    member_epoch: int
    partition: str
    max_records: int
    explicit: bool = False
    acquire_mode: int = BATCH_OPTIMIZED
    gathers: bool = False
    by_session: bool = False
    subscription: ShareSubscription = ShareSubscription()
    sessions: ShareSessions = ShareSessions()
    current_fetch: CurrentFetch = CurrentFetch()
    acknowledging: AcknowledgeRequests = AcknowledgeRequests()
    handover: Handover = Handover()
    transactional: TransactionalAcknowledgements = TransactionalAcknowledgements()
    records: tuple[FetchedRecord, ...] = ()
    done: bool = False
    error: str = ""
    closed: bool = False
    asking: tuple[str, ...] = ()
    resting: bool = False
    to_send: Message | None = None
    on_wire: Message | None = None
    on_wire_broker: int = -1

    @property
    def held(self) -> tuple[Held, ...]:
        """What is in hand of each partition, and what of it was said or staged already."""
        fetch = self.current_fetch
        if self.gathers:
            return fetch.beside
        return (Held(self.partition, fetch.delivered_by, fetch.batch, fetch.said, fetch.gaps),)

    @property
    def in_hand(self) -> tuple[int | str, ...]:
        """The records of the last poll(): offsets, or names where they are of several partitions."""
        if not self.gathers:
            return self.current_fetch.batch
        held = self.current_fetch.beside
        return tuple(f"{each.partition}@{offset}" for each in held for offset in each.batch)

    @property
    def metadata(self) -> tuple[str, int]:
        """The member id and its epoch, as they are now."""
        return self.member_id, self.member_epoch
