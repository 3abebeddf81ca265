"""A share consumer and its parts.

WHO: a client process. WHERE IN KAFKA: ShareConsumerImpl with its ShareConsumeRequestManager.
KIPS: KIP-932; KIP-1289 and KIP-1310 (drafts) for what is staged.
PARTS: `subscription` are its partitions, `sessions` its share sessions with brokers, `current_fetch` its current
  records, `acknowledging` the acknowledgements still to send. The drafts add two parts: `handover` (KIP-1289: a
  producer stages) and `transactional` (KIP-1310: the consumer sends by itself). The two designs differ in who holds
  the queue of stagings.
DURABILITY: none. Its calls and its requests are in `share_consumer`. Its membership is a client beside it
  (`share_member`).
"""

from __future__ import annotations

from kipviz.clients.addressed import Outgoing
from kipviz.clients.sessions.transactional_acknowledgements import TransactionalAcknowledgements
from kipviz.clients.shares.acknowledge_requests import AcknowledgeRequests
from kipviz.clients.shares.current_fetch import CurrentFetch
from kipviz.clients.shares.handover import Handover
from kipviz.clients.shares.share_holding import Held
from kipviz.clients.shares.share_sessions import ShareSessions
from kipviz.clients.throwing.client_errors import Raised
from kipviz.core.values import Part, Value
from kipviz.messages.logs.producing import FetchedRecord
from kipviz.messages.message import Message
from kipviz.messages.shares.share_groups import BATCH_OPTIMIZED
from kipviz.records.record_name import name_record


class ShareSubscription(Value, frozen=True):
    """The partitions that a share consumer reads (SubscriptionState).

    `assigned` are the partitions of a consumer of several. One that `joins` gets them from its group's coordinator, and
    may be `awaiting` them.
    """

    assigned: tuple[str, ...] = ()
    joins: bool = False
    awaiting: bool = False

    @property
    def has_several(self) -> bool:
        """Whether it reads its assignment, and not the one partition that it was created with."""
        return bool(self.assigned) or self.joins

    @property
    def anew(self) -> ShareSubscription:
        """The subscription of the process's next life: a member gets a new assignment."""
        return ShareSubscription(() if self.joins else self.assigned, self.joins)


class ShareConsumer(Part, frozen=True):
    """A share consumer's names, settings and parts, and its request in flight.

    `explicit` is share.acknowledgement.mode, `acquire_mode` share.acquire.mode. `partition` is the partition of the
    last poll()'s records. One that `gathers` returns the records of all its partitions from poll(); one that goes
    `by_session` asks a broker for all its partitions in one ShareFetch. It asks one broker after the other (`asking`
    are the remaining partitions), without waiting there, and is `resting` when none has records.
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
    error: Raised = ""
    closed: bool = False
    asking: tuple[str, ...] = ()
    resting: bool = False
    to_send: Outgoing | None = None
    on_wire: Message | None = None
    on_wire_broker: int = -1

    @property
    def held(self) -> tuple[Held, ...]:
        """The current records of each partition, and which of them are acknowledged or staged."""
        fetch = self.current_fetch
        if self.gathers:
            return fetch.beside
        return (Held(self.partition, fetch.delivered_by, fetch.batch, fetch.said, fetch.gaps),)

    @property
    def in_hand(self) -> tuple[int | str, ...]:
        """The records of the last poll(): offsets, or names if they are from several partitions."""
        if not self.gathers:
            return self.current_fetch.batch
        held = self.current_fetch.beside
        return tuple(name_record(each.partition, offset) for each in held for offset in each.batch)

    @property
    def metadata(self) -> tuple[str, int]:
        """The current member id and its epoch."""
        return self.member_id, self.member_epoch
