"""An application: the reader's own loop, run one line at a time, and the clients that it uses.

WHO: a process with one application thread (or several: `kipviz.clients.workers`), one producer, one consumer of
  either kind, and any other clients that its story needs.
WHERE IN KAFKA: nowhere; it is the code around the clients (KIP-1289 "Pseudo code").
DURABILITY: none. A crash ends the process; the next one starts at the first line with the same transactional id and
  another member id.
NOT MODELLED: expressions and variables: a program is a list of lines, each with one call. Processing a record means
  that the output is named after it. An exception that is not a KafkaException (a call in the wrong state) ends the
  program, as it would in Java.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

from kipviz.clients import kinds
from kipviz.clients.groups.consumer import RegularConsumer
from kipviz.clients.kinds import Client, Holder
from kipviz.clients.sending.producer import Producer
from kipviz.clients.sessions.bound_producer import BoundProducer, borrow, give_back, restart_bound
from kipviz.clients.sessions.transaction_session import TransactionSession
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.transactions import external_database
from kipviz.clients.transactions.external_database import ExternalDatabase
from kipviz.clients.transactions.transaction_manager import TransactionManager
from kipviz.core.model import Event
from kipviz.core.table import Table
from kipviz.core.values import Part, Value
from kipviz.messages.logs.producing import FetchedRecord
from kipviz.messages.shares.share_groups import AcknowledgeType

K = TypeVar("K", bound=Client)

# Why a thread runs no line: it was not started yet, or it ran through its program.
IDLE, THROUGH = "it has not been started", "it ran to its last line"


class Call(StrEnum):
    """What a line of the program does. `kipviz.clients.calls` says what each call means."""

    INIT_TRANSACTIONS = "initTransactions"
    POLL = "poll"
    BEGIN_TRANSACTION = "beginTransaction"
    SEND = "send"
    SEND_OFFSETS = "sendOffsetsToTransaction"
    SEND_SHARE_ACKNOWLEDGEMENTS = "sendShareAcknowledgementsToTransaction"
    COMMIT_TRANSACTION = "commitTransaction"
    ABORT_TRANSACTION = "abortTransaction"
    ACKNOWLEDGE = "acknowledge"
    COMMIT_SYNC = "commitSync"
    INITIALIZE = "initialize"
    RESUME = "resume"
    RESUME_TRANSACTION = "resumeTransaction"
    ADD_PARTITIONS = "addPartitionsToTransaction"
    ADD_SHARE_ACKS = "addShareAcksToTransaction"
    ACKNOWLEDGE_TRANSACTIONALLY = "acknowledgeTransactionally"
    HEARTBEAT = "heartbeat"
    CLOSE = "close"
    PREPARE_TRANSACTION = "prepareTransaction"
    COMPLETE_TRANSACTION = "completeTransaction"
    LIST_TRANSACTIONS = "listTransactions"
    DESCRIBE_TRANSACTIONS = "describeTransactions"
    DESCRIBE_PRODUCERS = "describeProducers"
    FIND_HANGING = "find-hanging"
    ABORT_BY_HAND = "admin.abortTransaction"
    FENCE_PRODUCERS = "fenceProducers"
    FORCE_TERMINATE = "forceTerminateTransaction"
    UNSUBSCRIBE = "unsubscribe"
    SUBSCRIBE = "subscribe"
    SEEK = "seek"
    DATABASE_INSERT = "database.insert"
    DATABASE_VOTE = "database.prepareTransaction"  # its name in fingerprints
    DATABASE_PREPARE = DATABASE_VOTE
    DATABASE_COMMIT = "database.commitTransaction"
    DATABASE_ROLLBACK = "database.rollback"
    DATABASE_CLAIM = "database.claim"
    COMMIT_ASYNC = "commitAsync"
    CLOSE_CONSUMER = "KafkaShareConsumer.close"
    FLUSH = "flush"
    DESCRIBE_SHARE_GROUPS = "describeShareGroups"
    LIST_SHARE_GROUP_OFFSETS = "listShareGroupOffsets"
    ALTER_SHARE_GROUP_OFFSETS = "alterShareGroupOffsets"
    DELETE_SHARE_GROUP_OFFSETS = "deleteShareGroupOffsets"
    DELETE_SHARE_GROUPS = "deleteShareGroups"
    SHARE_GROUP_METADATA = "shareGroupMetadata"
    NEW_SESSION = "TransactionSession"
    LIST_GROUPS = "listGroups"
    DESCRIBE_CONSUMER_GROUPS = "describeConsumerGroups"
    DELETE_CONSUMER_GROUPS = "deleteConsumerGroups"
    DELETE_CONSUMER_GROUP_OFFSETS = "deleteConsumerGroupOffsets"
    REMOVE_MEMBERS = "removeMembersFromConsumerGroup"
    LIST_CONSUMER_GROUP_OFFSETS = "listConsumerGroupOffsets"
    NEW_PRODUCER = "KafkaProducer"
    TRANSACTION_SESSION = "transactionSession"
    DESCRIBE_ACLS = "describeAcls"
    CREATE_ACLS = "createAcls"
    DELETE_ACLS = "deleteAcls"
    SUBMIT = "executor.submit"
    GET = "future.get"
    DRAIN = "acknowledgementsForTransaction"

    @property
    def role(self) -> Call:
        """The call of KafkaProducer that does the same in a transaction, or the call itself if there is no such call."""
        return ROLES.get(self, self)


# TransactionSession (KIP-1310, draft) has other names for what a producer does, and lets a share consumer
# send its own acknowledgements. resumeTransaction() is Flink's, by reflection.
ROLES = {
    Call.INITIALIZE: Call.INIT_TRANSACTIONS,
    Call.RESUME: Call.RESUME_TRANSACTION,
    Call.ADD_SHARE_ACKS: Call.SEND_SHARE_ACKNOWLEDGEMENTS,
    Call.ACKNOWLEDGE_TRANSACTIONALLY: Call.SEND_SHARE_ACKNOWLEDGEMENTS,
}

# The calls that stage a share group's acknowledgements in a transaction, and those of a session.
STAGING = (
    Call.SEND_SHARE_ACKNOWLEDGEMENTS,
    Call.ADD_SHARE_ACKS,
    Call.ACKNOWLEDGE_TRANSACTIONALLY,
)


class Line(Value, frozen=True, cache_hash=True):
    """One line of a program: its text, its call, and the line that follows.

    `then` is the next line (-1: the one below), `on_error` the line of the catch block for a KafkaException (-1: there
    is no catch block and the process ends). A line number past the last line ends the program. `verdicts` are the types
    with which acknowledge() or sendShareAcknowledgementsToTransaction() acknowledges records: (offset, type), where
    offset -1 stands for every other record of the batch. `client` names the client that is called: "" is the producer
    or the consumer that every application has. `target` is the object of the call if the application has several, such
    as a partition, or the offset of the one record that acknowledge() names. `metadata` says whether
    sendOffsetsToTransaction() gets consumer.groupMetadata() or only the group's id. `rethrows` names exceptions that
    this line, the last of a chain of catch blocks, throws again: the process ends with them, and the call is not made.
    `catches` names the exceptions that the catch block catches; empty means every KafkaException, so not the
    ExecutionException of future.get(). `above` are the source lines above this one that call nothing, `below` those
    under the program's last one.
    """

    text: str
    call: Call
    then: int = -1
    on_error: int = -1
    verdicts: tuple[tuple[int, AcknowledgeType], ...] = ((-1, AcknowledgeType.ACCEPT),)
    client: str = ""
    target: str = ""
    metadata: bool = True
    rethrows: tuple[str, ...] = ()
    catches: tuple[str, ...] = ()
    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()


class Worker(Value, frozen=True):
    """A further application thread of a process: its first line and its current line.

    `ended` says why it runs no line. `gate` has the same meaning as in the process.
    """

    name: str
    first: int
    line: int = 0
    waiting: bool = False
    records: tuple[FetchedRecord, ...] = ()
    ended: str = IDLE
    gate: str = ""


class Application(Part, frozen=True, cache_hash=True):
    """A process: its program, its current line, and its clients (`others` by their names).

    `workers` are its further application threads. They run the same program, each from its own first line. `gate` is
    set while the thread is between checking a session and making the call. `thread` is the further thread whose current
    line the process shows now, "" between two steps.
    """

    name: str
    program: tuple[Line, ...]
    output: str
    own_producer: Producer | BoundProducer
    consumer: RegularConsumer | ShareConsumer
    life: int = 1
    alive: bool = True
    line: int = 0
    waiting: bool = False
    records: tuple[FetchedRecord, ...] = ()
    ended: str = ""
    others: Table[str, Client | BoundProducer] = Table.of()
    gate: str = ""
    workers: tuple[Worker, ...] = ()
    thread: str = ""

    @property
    def producer(self) -> Producer:
        """Its producer, with its own transaction manager or that of the session that it is bound to."""
        kept = self.own_producer
        return borrow(kept, self.manager) if isinstance(kept, BoundProducer) else kept

    @property
    def clients(self) -> tuple[Client, ...]:
        """Every client of the process, in the order in which their senders are listed."""
        return (self.consumer, self.producer, *map(self.client_named, self.others.keys()))

    @property
    def share_consumers(self) -> tuple[ShareConsumer, ...]:
        """Its share consumers: its own, and those that are further members."""
        return tuple(each for each in self.clients if isinstance(each, ShareConsumer))

    @property
    def session(self) -> TransactionSession | None:
        """The TransactionSession of the process, if it has one (KIP-1310, draft)."""
        return next((c for c in self.others.values() if isinstance(c, TransactionSession)), None)

    @property
    def holder(self) -> Holder:
        """The client that holds the transactions of the process: its session if it has one, otherwise its producer."""
        return self.session or self.producer

    @property
    def manager(self) -> TransactionManager:
        """The transaction manager of the process, in its session or its producer."""
        return self.holder.manager

    def client_named(self, name: str) -> Client:
        """Return one of the further clients, such as "session", by its name in the process."""
        kept = self.others[name]
        return borrow(kept, self.manager) if isinstance(kept, BoundProducer) else kept

    def client_at(self, source: str) -> Client | None:
        """Return the client that sends under this name, such as "app-1/producer", or None."""
        return next((client for client in self.clients if client.source == source), None)

    def with_client(self, client: Client | BoundProducer) -> Application:
        """Return the process with one client replaced; the client is found by its source."""
        kept = client
        if isinstance(client, Producer) and client.manager.session:
            kept = give_back(client, self.manager)
        if client.source == self.own_producer.source:
            return self.but(own_producer=kept)
        if client.source == self.consumer.source:
            return self.but(consumer=kept)
        return self.but(others=self.others.set(client.source.partition("/")[2], kept))

    def changing(self) -> tuple[object, ...]:
        """Return the parts that a step can change: not the program, and not the names."""
        place = (self.life, self.alive, self.line, self.waiting, self.records, self.ended)
        threads = (self.gate, *self.workers) if self.workers else ()
        return (*place, self.own_producer, self.consumer, *self.others.values(), *threads)


def crash(me: Application) -> Application:
    """Return the process after a crash. Of its peers, only a database notices at once."""
    others = {
        name: external_database.crash(c) if isinstance(c, ExternalDatabase) else c
        for name, c in me.others.items()
    }
    return me.but(alive=False, others=Table.of(others) if others else me.others)


def databases_changed(before: Application, after: Application) -> tuple[Event, ...]:
    """Return the events about the databases of a process that one step changed."""
    events: tuple[Event, ...] = ()
    for name, was in before.others.items():
        now = after.others[name]
        if isinstance(was, ExternalDatabase) and isinstance(now, ExternalDatabase):
            events += external_database.change_events(before.name, was, now)
    return events


def restart(me: Application) -> Application:
    """Return the process that starts after a crash. It remembers nothing but names."""
    life = me.life + 1
    return Application(
        me.name,
        me.program,
        me.output,
        _restart(me.own_producer, life),
        kinds.restart(me.consumer, life),
        life=life,
        others=Table.of({name: _restart(c, life) for name, c in me.others.items()}),
        workers=tuple(Worker(w.name, w.first) for w in me.workers),
    )


def _restart(me: K | BoundProducer, life: int) -> K | BoundProducer:
    return restart_bound(me) if isinstance(me, BoundProducer) else kinds.restart(me, life)
