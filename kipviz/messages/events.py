"""Events: the facts that a step leaves behind, in the past tense.

Roles emit events; properties, ledgers, sentences and pictures fold over them. They are never part of the world, so two
histories that lead to the same state can meet.
"""

from __future__ import annotations

from typing import Literal

from kipviz.core.model import Event
from kipviz.core.values import TextValue, Value
from kipviz.messages.message import Message
from kipviz.records.share_group_state import RecordState
from kipviz.records.transaction_state import TransactionState

# Reasons for moves of records that other modules refer to, too.
DELIVERED = "delivered to the member"
LOCK_RAN_OUT = "the acquisition lock expired"
SESSION_CLOSED = "the member's session closed"
WRITE_FAILED = "the durable write failed"
ABORTED_AT_SOURCE = "the source's transaction was aborted"
COPIED = "its copy is in the dead-letter queue"
NOT_COPIED = "no copy of it could be written to the dead-letter queue"
NOT_IN_LOG = "the log no longer has it"


class MessageSent(Event, frozen=True):
    """A message was put on a connection. `way` is "request" or "response".

    `client_id` is the client.id in a request's header, None if it is the name of the sender's host; `correlation_id` is
    in both headers, 0 if the sender has no other request in flight.
    """

    source: str
    broker: int
    way: str
    message: Message
    client_id: str | None = None
    correlation_id: int = 0


class MessageDelivered(Event, frozen=True):
    """The message at the head of a connection arrived."""

    source: str
    broker: int
    way: str
    message: Message


class TimePassed(Event, frozen=True):
    """Some time passed and nothing else happened (timed clock only)."""

    ms: int


class ConnectionLost(Event, frozen=True):
    """A connection broke; the messages on it are gone."""

    source: str
    broker: int
    lost: tuple[tuple[str, Message], ...]


class LeftOnItsWay(Event, frozen=True):
    """A client abandoned a connection; the requests that the broker has not read may still arrive.

    From here on they come from `late`, a name of their own.
    """

    source: str
    broker: int
    late: str
    messages: tuple[Message, ...]


class FeatureFinalized(Event, frozen=True):
    """The cluster has another level of a feature."""

    feature: str
    level: int


class ReleaseInstalled(Event, frozen=True):
    """A broker has another release, which runs when the broker starts."""

    broker: int
    release: str


class NotSent(Event, frozen=True):
    """A request was not sent, because the broker at the other end does not support it."""

    source: str
    broker: int
    message: Message


class NoResponse(Event, frozen=True):
    """A request that expects no response (acks=0) was handled; `result` is what a response would have said."""

    source: str
    broker: int
    result: Message


class AclsChanged(Event, frozen=True):
    """An operator has created or deleted an ACL; `entry` is its text."""

    entry: str
    created: bool


class TransactionMoved(Event, frozen=True):
    """The coordinator's durable state of a transactional id changed.

    `kept_for` is the identity that may end an open transaction which KIP-939 keeps, else "".
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    before: TransactionState | None
    after: TransactionState
    partitions: tuple[str, ...]
    kept_for: str = ""


class TransactionForgotten(Event, frozen=True):
    """A transactional id has expired, according to the coordinator's log."""

    transactional_id: str


class ProducerForgotten(Event, frozen=True):
    """The log of a partition has forgotten a producer (producer.id.expiration.ms)."""

    partition: str
    producer_id: int


class TransactionDecided(Event, frozen=True):
    """PREPARE_COMMIT or PREPARE_ABORT is durable: the outcome can no longer change.

    `producer_epoch` is the epoch of the batches that it decides, one below the marker's.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool


class BatchAppended(Event, frozen=True):
    """A leader appended a batch to its log.

    `plain` means that its producer has an identity and no transaction: no marker will follow.
    """

    partition: str
    base_offset: int
    records: tuple[Value, ...]
    producer_id: int
    producer_epoch: int
    control: str
    plain: bool = False


class RecordsMoved(Event, frozen=True):
    """Records of a share-partition changed their delivery state in the leader's memory."""

    partition: str
    group_id: str
    first: int
    last: int
    before: RecordState
    after: RecordState
    delivery_count: int
    member_id: str
    because: str
    producer_id: int = -1
    producer_epoch: int = -1


class SharePartitionDropped(Event, frozen=True):
    """A share-partition leader dropped all its state in memory."""

    partition: str
    group_id: str
    because: str


class ShareStartFollowed(Event, frozen=True):
    """A share-partition leader read before the log's start: the start offset follows the log."""

    partition: str
    group_id: str
    before: int
    after: int


class SharePartitionLoaded(Event, frozen=True):
    """A share-partition leader read the durable state: from here on it may deliver.

    `held` are the offsets it will not deliver because they are terminal or staged.
    """

    partition: str
    group_id: str
    start_offset: int
    held: tuple[int, ...]


class OffsetStaged(Event, frozen=True):
    """A group's offset is in the log, pending the outcome of a transaction.

    `member_id` is the member in whose name it was sent, "" for none.
    """

    group_id: str
    partition: str
    offset: int
    producer_id: int
    member_id: str = ""


class OffsetCommitted(Event, frozen=True):
    """A group's offset was committed outside any transaction."""

    group_id: str
    partition: str
    offset: int


class OffsetsExpired(Event, frozen=True):
    """Offsets of an unused group expired, or an operator deleted them, perhaps with the group."""

    group_id: str
    partitions: tuple[str, ...]
    deleted: bool


class GenerationSeen(Event, frozen=True):
    """A transaction coordinator saw a newer generation of a group (KIP-447, first draft)."""

    group_id: str
    generation: int


class OffsetResolved(Event, frozen=True):
    """A pending offset was committed or dropped."""

    group_id: str
    partition: str
    offset: int
    producer_id: int
    committed: bool


class AssignmentMoved(Event, frozen=True):
    """A member of a regular group has another epoch or assignment; an epoch of 0 means no member.

    `before` and `after` are the partitions that it may have.
    """

    group_id: str
    member_id: str
    epoch_before: int
    epoch: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    because: str
    counted: str = "epoch"


class ClassicGroupMoved(Event, frozen=True):
    """A group of the classic protocol went to another state, or to another generation.

    `before` and `after` are names of states, `members` those that the group has now.
    """

    group_id: str
    before: str
    after: str
    generation: int
    members: tuple[str, ...]


class TopicRemade(Event, frozen=True):
    """A topic was deleted, and another one of the same name was created; `before` and `after` are ids."""

    topic: str
    before: str
    after: str


class TopicDeleted(Event, frozen=True):
    """A topic was deleted for good, with its partitions, its records and its id."""

    topic: str
    topic_id: str


class ConfigsChanged(Event, frozen=True):
    """An operator changed a topic's configs; `configs` are all of its own now."""

    topic: str
    configs: tuple[tuple[str, str], ...]


class TopicCreated(Event, frozen=True):
    """A new topic was created."""

    topic: str
    topic_id: str


class PartitionsAdded(Event, frozen=True):
    """A topic got more partitions."""

    topic: str
    partitions: int


class LeaderMoved(Event, frozen=True):
    """The controller gave a partition another leader; -1 is no leader."""

    partition: str
    before: int
    after: int
    epoch: int


class CallStarted(Event, frozen=True):
    """The application entered a line of its program."""

    application: str
    line: int
    call: str


class CallReturned(Event, frozen=True):
    """A call of the application returned, perhaps with what it threw (an error of `kipviz.clients`), else ""."""

    application: str
    line: int
    call: str
    raised: TextValue | Literal[""]


class LockRenewed(Event, frozen=True):
    """A member renewed its acquisition lock, which starts again (KIP-1222)."""

    partition: str
    group_id: str
    first: int
    last: int
    member_id: str
    lock: int


class DatabaseChanged(Event, frozen=True):
    """An application's external database took a step.

    `what` is "written", "prepared", "committed" or "rolled back"; `prepared_txn_state` is the one that was written with
    the rows, or that the database holds, as a text.
    """

    application: str
    what: str
    rows: tuple[str, ...]
    prepared_txn_state: str


class SessionGiven(Event, frozen=True):
    """transactionSession() of a producer returned a session (KIP-1310, draft); "" is null."""

    application: str
    producer: str
    session: str


class AcknowledgementsCompleted(Event, frozen=True):
    """The application's AcknowledgementCommitCallback was called with the result for some records."""

    application: str
    partition: str
    first: int
    last: int
    error: str


class ShareStateReset(Event, frozen=True):
    """The durable state of a share-partition was created again, or deleted (state epoch -1).

    With a start offset of -1 share.auto.offset.reset decides where the group starts.
    """

    key: str
    state_epoch: int
    start_offset: int


class LogPruned(Event, frozen=True):
    """The front of a partition's log was deleted: it began at `before` and begins at `after`."""

    partition: str
    before: int
    after: int
