"""One role at its desk: it is handed requests, and what it wants is carried out around it.

The desk appends to the logs and, unless told to hold it back, replicates at once; requests to
other brokers, answers and calls next door pile up in the out-box.
"""

from __future__ import annotations

from itertools import count
from typing import Any

from kipviz.brokers.checks import Check
from kipviz.brokers.context import Context, Effects, Image, Leadership, LocalCall, ReplyTo, Request
from kipviz.brokers.partition_log import PartitionLog, append, delete_records, forget, replicate
from kipviz.brokers.settings import BrokerSettings
from kipviz.brokers.share_partition import ShareLeader
from kipviz.brokers.share_state import ShareCoordinator
from kipviz.core.model import Event
from kipviz.core.table import Table
from kipviz.designs.catalogue import design
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.records.batches import NO_TIMESTAMP, Batch, DataRecord

TOPIC_IDS = {"src": "AAAAAAAAAAAAAAAAAAAAAg", "output-A": "AAAAAAAAAAAAAAAAAAAAAw"}


class Desk:
    """A role, the module with its handlers, and the world as far as it can see it."""

    def __init__(
        self,
        module: Any,
        role: Any,
        *,
        leaders: dict[str, int],
        broker: int = 1,
        rules: str = "repaired",
        **settings: int,
    ) -> None:
        self.module = module
        self.role = role
        self.broker = broker
        self.instant = True
        self.leaders = dict.fromkeys(leaders, 0) | leaders
        self.logs = {name: PartitionLog(name) for name in leaders}
        self.rules = design(rules).broker_rules()
        self.settings = BrokerSettings(**settings)
        self.image: dict[str, Any] = {}
        self.next_producer_id = 9
        self.now_ms = NO_TIMESTAMP
        self.replies: list[tuple[ReplyTo, Message]] = []
        self.requests: list[Request] = []
        self.local: list[LocalCall] = []
        self.events: list[Event] = []
        self.checks: tuple[Check, ...] = ()
        self._clients = count(1)

    @property
    def on(self) -> Context:
        image = Image(
            Table.of({n: Leadership(b, 0, (b, 99)) for n, b in self.leaders.items()}),
            50,
            Table.of(TOPIC_IDS),
            **self.image,
        )
        return Context(
            self.broker,
            image,
            Table.of(self.logs),
            self.rules,
            self.next_producer_id,
            self.settings,
            now_ms=self.now_ms,
        )

    def ask(self, handler: Any, request: Message, source: str = "") -> Message | None:
        """Hand in a request; give its answer, or None when there is none yet."""
        reply_to = ReplyTo(source or f"client-{next(self._clients)}", self.broker, 0)
        seen = len(self.replies)
        self.do(handler(self.role, request, reply_to, self.on))
        answers = [message for to, message in self.replies[seen:] if to == reply_to]
        return answers[-1] if answers else None

    def answer_to(self, reply_to: ReplyTo) -> Message | None:
        found = [message for to, message in self.replies if to == reply_to]
        return found[-1] if found else None

    @property
    def last(self) -> Message:
        return self.replies[-1][1]

    def do(self, effects: Effects) -> None:
        """Carry out what a handler wants, in the order of the cluster.

        What a share-partition leader or a share coordinator refuses it has a check for.
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
        """Let the replicas catch up, and tell the role."""
        self.logs = {name: replicate(log) for name, log in self.logs.items()}
        self.do(self.module.on_replicated(self.role, self.on))

    def written(self, partition: str) -> list[Any]:
        """Every record of a log."""
        return [record for batch in self.logs[partition].batches for record in batch.records]

    def sent(self, kind: type) -> list[Message]:
        return [r.message for r in self.requests if isinstance(r.message, kind)]


def refusals(effects: Effects) -> set[Errors]:
    """The errors in the replies of a handler."""
    found = {
        getattr(reply.message, field, Errors.NONE)
        for reply in effects.replies
        for field in ("error", "acknowledge_error")
    }
    return found - {Errors.NONE}


def source_log(first: int, last: int) -> PartitionLog:
    """A source partition with one record a batch."""
    log = PartitionLog("src-0", first, end_offset=first, high_watermark=first)
    for offset in range(first, last + 1):
        log = append(log, Batch(offset, (DataRecord(f"r{offset}"),)))
    return replicate(log)
