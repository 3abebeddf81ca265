"""Drive one role of one broker: send it requests, and inspect what it does.

The desk carries out what a handler asks for. It appends to the logs and replicates at once, unless `instant` is
off. Requests to other brokers, responses and calls to roles of the same broker are collected and go nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from types import ModuleType
from typing import Generic, TypeVar

from kipviz.brokers.checks import Check
from kipviz.brokers.context import (
    Context,
    Controller,
    Effects,
    Image,
    Leadership,
    LocalCall,
    ReplyTo,
    Request,
)
from kipviz.brokers.logs.partition_log import (
    PartitionLog,
    append,
    delete_records,
    forget,
    replicate,
)
from kipviz.brokers.settings import BrokerSettings, SimplifiedConsumers
from kipviz.brokers.share_coordinators.share_state import ShareCoordinator
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.cluster.specs.abstraction import SMALL
from kipviz.cluster.world import BrokerRole, host_of
from kipviz.core.model import Event
from kipviz.core.table import Table
from kipviz.core.values import Value
from kipviz.designs.catalogue import design
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.message_errors import error_in
from kipviz.messages.shares.share_groups import ShareFetchResponse
from kipviz.records.batches import NO_TIMESTAMP, Batch, DataRecord

TOPIC_IDS = {"src": "AAAAAAAAAAAAAAAAAAAAAg", "output-A": "AAAAAAAAAAAAAAAAAAAAAw"}
INTERNAL_PARTITIONS = 50

R = TypeVar("R", bound=BrokerRole)
M = TypeVar("M", bound=Message)


class Desk(Generic[R]):
    """One role of a broker, such as a transaction coordinator, with its logs and what it sent.

    `ask` hands a request to a handler and returns the response. `role` is the role's state, `logs` are the logs
    that it appends to, `replies`, `requests`, `local` and `events` are what it has sent and reported so far, and
    `checks` are the comparisons behind the last decision. `instant` says whether the replicas catch up at once.

    Args:
        module: the module with the role's handlers, such as `kipviz.brokers.transactions.transaction_coordinator`.
        role: the role's first state.
        leaders: the broker that leads each partition; there is a log for each of them.
        broker: the broker that the role is on.
        rules: the name of a design.
        settings: broker settings, named as the fields of `kipviz.brokers.settings.BrokerSettings`; by default those of
            the abstraction profile `small`, in which no other role collects this role's requests.

    Example:
        >>> import kipviz
        >>> from kipviz.brokers.transactions import transaction_coordinator as coordinator
        >>> from kipviz.messages.transactions.transactions import (
        ...     AddPartitionsToTxn,
        ...     InitProducerId,
        ...     TxnPartitions,
        ... )
        >>> role = coordinator.TransactionCoordinator("__transaction_state-0", 2)
        >>> desk = kipviz.Desk(coordinator, role, leaders={"__transaction_state-0": 1, "out-0": 3})
        >>> response = desk.ask(coordinator.on_init_producer_id, InitProducerId("my-txn"))
        >>> response.producer_id, response.producer_epoch, response.error.name
        (9, 0, 'NONE')
        >>> stale = AddPartitionsToTxn((TxnPartitions("my-txn", 9, 7, ("out-0",)),))
        >>> desk.ask(coordinator.on_add_partitions, stale).results[0].error.name
        'PRODUCER_FENCED'
        >>> [record.state.name for record in desk.written("__transaction_state-0")]
        ['EMPTY']

    Raises:
        UnknownDesign: if there is no such design.
        TypeError: if a setting has no such name.
    """

    def __init__(
        self,
        module: ModuleType,
        role: R,
        *,
        leaders: Mapping[str, int],
        broker: int = 1,
        rules: str = "repaired",
        **settings: int,
    ) -> None:
        self.module = module
        self.role = role
        self.broker = broker
        self.instant = True
        self.leaders = dict(leaders)
        self.logs = {name: PartitionLog(name) for name in leaders}
        self.rules = design(rules).broker_rules()
        self.settings = SMALL.of_settings(BrokerSettings()).but(**settings)
        self.image: dict[str, object] = {}
        self.next_producer_id = 9
        self.now_ms = NO_TIMESTAMP
        self.simplified = SimplifiedConsumers()
        self.replies: list[tuple[ReplyTo, Message]] = []
        self.requests: list[Request] = []
        self.local: list[LocalCall] = []
        self.events: list[Event] = []
        self.checks: tuple[Check, ...] = ()
        self._clients = count(1)

    @property
    def on(self) -> Context:
        """What the handler can read besides the role's state: metadata, logs, rules and settings."""
        leaders = Table.of({n: Leadership(b, 0, (b, 99)) for n, b in self.leaders.items()})
        image = Image(leaders, INTERNAL_PARTITIONS, Table.of(TOPIC_IDS)).but(**self.image)
        brokers = tuple(sorted({*self.leaders.values(), self.broker}))
        return Context(
            self.broker,
            image,
            Table.of(self.logs),
            self.rules,
            self.next_producer_id,
            self.settings,
            now_ms=self.now_ms,
            simplified=self.simplified,
            controller=Controller(brokers, brokers),
        )

    def ask(
        self, handler: Callable[[R, M, ReplyTo, Context], Effects[R]], request: M, source: str = ""
    ) -> Message | None:
        """Send a request to a handler and return the response, or None if there is none yet.

        Args:
            handler: a function of the role's module that takes this request.
            request: the request.
            source: the client that sends it; by default a new client each time. Its client.id is what comes before
                a slash.
        """
        reply_to = ReplyTo(source or f"client-{next(self._clients)}", self.broker, 0)
        seen = len(self.replies)
        on = self.on.but(client_id=host_of(reply_to.source))
        self.do(handler(self.role, request, reply_to, on))
        answers = [message for to, message in self.replies[seen:] if to == reply_to]
        return answers[-1] if answers else None

    def answer_to(self, reply_to: ReplyTo) -> Message | None:
        """Return the newest response to a client, or None if there is none yet."""
        found = [message for to, message in self.replies if to == reply_to]
        return found[-1] if found else None

    @property
    def last(self) -> Message:
        """The newest response."""
        return self.replies[-1][1]

    def do(self, effects: Effects[R]) -> None:
        """Carry out what a handler asks for, in the order of the cluster.

        Raises:
            AssertionError: if the handler appends at a wrong offset, or a share-partition leader or share coordinator
                returns an error that none of its checks explains: both are bugs of the handler.
        """
        if isinstance(effects.state, ShareLeader | ShareCoordinator):
            assert refusals(effects) <= {check.error for check in effects.checks}
        self.checks = effects.checks or self.checks
        self.role = effects.state
        self.next_producer_id += effects.new_producer_ids
        self.replies += [(r.to, r.message) for r in effects.replies]
        self.requests += effects.requests
        self.local += effects.local
        self.events += effects.events
        for partition, batch in effects.appends:
            assert batch.base_offset == self.logs[partition].end_offset, batch
            self.logs[partition] = append(self.logs[partition], batch)
        for partition, up_to in effects.deletes:
            self.logs[partition] = delete_records(self.logs[partition], up_to)
        for partition, producer_id in effects.forgets:
            self.logs[partition] = forget(self.logs[partition], producer_id)
        if self.instant and effects.appends:
            self.replicate()

    def replicate(self) -> None:
        """Let the replicas catch up with every log, and notify the role."""
        self.logs = {name: replicate(log) for name, log in self.logs.items()}
        self.do(self.module.on_replicated(self.role, self.on))

    def written(self, partition: str) -> list[Value]:
        """Return all records of a log, in the order of their offsets."""
        return [record for batch in self.logs[partition].batches for record in batch.records]

    def sent(self, kind: type[M]) -> list[M]:
        """Return the requests of a class that the role has sent to other brokers."""
        return [r.message for r in self.requests if isinstance(r.message, kind)]


def refusals(effects: Effects[object]) -> set[Errors]:
    """Return the errors in the responses of a handler."""
    messages = [reply.message for reply in effects.replies]
    found = {error_in(message) or Errors.NONE for message in messages}
    fetched = (m for m in messages if isinstance(m, ShareFetchResponse))
    found |= {part.acknowledge_error for message in fetched for part in message.responses}
    return found - {Errors.NONE}


def source_log(first: int, last: int) -> PartitionLog:
    """Return the log of "src-0" with one record in each batch, from one offset through another."""
    log = PartitionLog("src-0", first, end_offset=first, high_watermark=first)
    for offset in range(first, last + 1):
        log = append(log, Batch(offset, (DataRecord(f"r{offset}"),)))
    return replicate(log)
