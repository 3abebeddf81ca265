"""What a share consumer holds between two calls.

WHO: a client process. WHERE IN KAFKA: ShareConsumerImpl, ShareConsumeRequestManager, ShareSessionHandler.
KIPS: KIP-932; KIP-1289 (draft) for what is staged.
DURABILITY: none. Its calls and what it sends are in `share_consumer`.
"""

from __future__ import annotations

from kipviz.clients.shares.share_holding import Held, Owed
from kipviz.core.values import Part, Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.producing import FetchedRecord
from kipviz.messages.share_groups import (
    BATCH_OPTIMIZED,
    AcknowledgementBatch,
    AcknowledgeType,
    TxnShareAcknowledge,
)

NO_SNAPSHOT = ("", -1)
NOBODY_ASKS, NOT_TOLD, TOLD = -1, 0, 1


class Completed(Value, frozen=True):
    """What acknowledgements came to, for the application's callback; "" is the consumer's own partition."""

    acknowledgements: tuple[AcknowledgementBatch, ...]
    error: Errors
    partition: str = ""


class Drained(Value, frozen=True):
    """What acknowledgementsForTransaction() has taken out of a consumer, until a producer stages it.

    `deliveries` are (offset, delivery count) as they were when the records were delivered.
    """

    partition: str
    member_id: str
    member_epoch: int
    verdicts: tuple[tuple[int, AcknowledgeType], ...]
    deliveries: tuple[tuple[int, int], ...]


class ShareConsumer(Part, frozen=True):
    """What the share consumer holds between two calls.

    `explicit` is share.acknowledgement.mode. `batch` are the offsets of the last poll, `staged`
    those that were staged through a producer, `verdicts` what acknowledge() said of the others,
    `gaps` acquired offsets without a record. `acknowledge_error` is what the acknowledgements
    sent last came to. `voting` is what acknowledgeTransactionally() has to send (KIP-1310, draft),
    `votes_behind` what it has to send after that, `vote_error` what the last one came to. Records that are being renewed come back by the poll
    after the broker has said yes (`renewing`, `renewed`); `committing` is what commitAsync() has to
    send, and `completed` what the callback has not been told yet. A consumer of several partitions
    has them in `assigned`; `partition` is where the records of the last poll() are from, and
    `delivered_by` the broker. `sessions` are (broker, epoch, partition) of the sessions with other
    brokers, and `asked` is the partition that the present one was asked for. It asks one broker
    after the other, without waiting there, and rests when none has anything. One that is a `member`
    is told by its group's coordinator what it has, and may be `awaiting` that. `dropped` are votes of
    its own that were refused, noted for one step; poll() `waits_for_staging`. One that `gathers` comes
    back from poll() with what all its partitions have; that is in `beside`, `batch` stays empty, and
    `owed` is said of each partition with its next fetch. One that goes `by_session` asks a broker for all
    its partitions in one ShareFetch, and `in_session` is what it has told each broker of. `snapshot` is what shareGroupMetadata() gave
    last, a member id and its epoch; a program has no variables of its own. `staging_told` is whether the last
    new connection told of a level that has KIP-1289, 1 before there is one, -1 where nobody asks. `drained` is what
    acknowledgementsForTransaction() has returned and no producer has staged yet, the oldest first.
    """

    source: str
    group_id: str
    member_id: str
    member_epoch: int
    partition: str
    max_records: int
    explicit: bool = False
    session_epoch: int = 0
    session_broker: int = -1
    batch: tuple[int, ...] = ()
    staged: tuple[int, ...] = ()
    verdicts: tuple[tuple[int, AcknowledgeType], ...] = ()
    gaps: tuple[int, ...] = ()
    to_send: Message | None = None
    on_wire: Message | None = None
    on_wire_broker: int = -1
    records: tuple[FetchedRecord, ...] = ()
    acknowledge_error: Errors = Errors.NONE
    done: bool = False
    voting: TxnShareAcknowledge | None = None
    vote_error: Errors = Errors.NONE
    error: str = ""
    acquire_mode: int = BATCH_OPTIMIZED
    callback: bool = False
    renewing: tuple[FetchedRecord, ...] = ()
    renewed: tuple[FetchedRecord, ...] = ()
    committing: tuple[AcknowledgementBatch, ...] = ()
    in_background: bool = False
    completed: tuple[Completed, ...] = ()
    closed: bool = False
    assigned: tuple[str, ...] = ()
    sessions: tuple[tuple[int, int, str], ...] = ()
    asked: str = ""
    delivered_by: int = -1
    asking: tuple[str, ...] = ()
    resting: bool = False
    member: bool = False
    awaiting: bool = False
    dropped: tuple[TxnShareAcknowledge, ...] = ()
    waits_for_staging: bool = False
    gathers: bool = False
    beside: tuple[Held, ...] = ()
    owed: tuple[Owed, ...] = ()
    snapshot: tuple[str, int] = NO_SNAPSHOT
    staging_told: int = NOBODY_ASKS
    by_session: bool = False
    in_session: tuple[tuple[int, tuple[str, ...]], ...] = ()
    votes_behind: tuple[TxnShareAcknowledge, ...] = ()
    drained: tuple[Drained, ...] = ()

    @property
    def held(self) -> tuple[Held, ...]:
        """What is in hand of each partition, and what of it was said or staged already."""
        if self.gathers:
            return self.beside
        said = (*self.staged, *(offset for offset, _ in self.verdicts))
        return (Held(self.partition, self.delivered_by, self.batch, said, self.gaps),)

    @property
    def in_hand(self) -> tuple[int | str, ...]:
        """The records of the last poll(): offsets, or names where they are of several partitions."""
        if not self.gathers:
            return self.batch
        return tuple(f"{held.partition}@{offset}" for held in self.beside for offset in held.batch)
