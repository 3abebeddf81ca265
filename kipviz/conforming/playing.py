"""The execution of a program on a cluster: step by step, with several requests in flight if the program says so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Protocol

from kipviz.conforming.asking import Doing, Names
from kipviz.conforming.clients import Clients
from kipviz.conforming.plain_client import ANSWER_S, Lost, PlainClient, Waiting, wait_for_answers
from kipviz.conforming.programs import DISTURBANCES, KILL, ClientStep, Program
from kipviz.conforming.questions import OLD
from kipviz.messages.wire.codec import Struct
from kipviz.recordings.request_context.handmade_requests import Request, RequestBatch
from kipviz.records.placement import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    partition_for,
    share_partition_key,
)

DISTURBS = tuple(kind[0] for kind in DISTURBANCES)
INTERNAL_PARTITIONS = 3
# An answer that may wait for other clients gets so long before the others continue.
MOMENT_S = 0.05


class Cluster(Protocol):
    """Brokers on which a program can be executed."""

    @property
    def nodes(self) -> tuple[int, ...]:
        """The brokers' numbers."""

    def connect(self, node: int, client_id: str, numbers: Iterator[int]) -> PlainClient:
        """Open a connection of a client, with the numbers of its requests."""

    def move(self, topic: str, index: int) -> None:
        """Move the leader of a partition."""

    def kill_leader(self, topic: str, index: int) -> None:
        """Kill the leader of a partition as `kill -9` does, and start it again."""

    def settle(self) -> None:
        """Wait until every broker runs and every replica is in sync."""


@dataclass(eq=False)
class _Flight:
    """A step with a request in flight."""

    at: int
    step: ClientStep
    doing: Doing
    client: PlainClient
    waiting: Waiting
    patient: bool


class Playing:
    """The execution of one program on one cluster.

    `sent` are the batches that it has sent, and `asked` has the step of each request, by its client and number.
    """

    def __init__(self, made: Program, names: Names, cluster: Cluster) -> None:
        self._made, self._names, self._cluster = made, names, cluster
        self._who = Clients(made, names, cluster.nodes)
        self._connections: dict[tuple[str, int], PlainClient] = {}
        self._numbers: dict[str, Iterator[int]] = {}
        self._flights: list[_Flight] = []
        self._killed = False
        self.sent: list[RequestBatch] = []
        self.asked: dict[Request, int] = {}

    def play(self) -> None:
        """Execute every step, and wait for the last answer.

        Raises:
            Lost: if a broker that was not killed does not answer.
        """
        try:
            for at, step in enumerate(self._made.steps):
                if step.does in DISTURBS:
                    self._settle_requests()
                    self._disturb(step)
                    continue
                if not step.at_once:
                    self._settle_requests()
                # A member whose rebalance is not over has nothing else to send.
                if not any(flight.step.client == step.client for flight in self._patient()):
                    self._begin(at, step)
            self._settle_requests(patiently=True)
        finally:
            for client in self._connections.values():
                client.close()
        if self._killed:
            self._cluster.settle()

    # -- requests ------------------------------------------------------------------------------

    def _begin(self, at: int, step: ClientStep) -> None:
        doing = self._who.begin_step(step)
        self._go_on(at, step, doing, None)

    def _go_on(self, at: int, step: ClientStep, doing: Doing, answer: Struct | None) -> None:
        """Pass the answer to its last request to a step, and send its next one."""
        try:
            ask = next(doing) if answer is None else doing.send(answer)
        except StopIteration:
            return
        try:
            client = self._client(step.client, ask.node)
            version = OLD.get(ask.question, -1) if step.client in self._made.old else -1
            waiting = client.send(ask.question, ask.values, version)
        except Lost:
            self._drop_connection(step.client, ask.node)
            return
        request = (client.client_id, waiting.number)
        self.asked[request] = at
        if ask.batch is not None:
            self.sent.append(ask.batch(request))
        self._flights.append(_Flight(at, step, doing, client, waiting, ask.patient))

    def _patient(self) -> list[_Flight]:
        return [flight for flight in self._flights if flight.patient]

    def _settle_requests(self, *, patiently: bool = False) -> None:
        """Wait for the requests in flight; for those that wait for other clients only if there is nothing else."""
        while self._flights:
            waits = patiently or len(self._patient()) < len(self._flights)
            clients = {flight.client: flight for flight in reversed(self._flights)}
            ready = wait_for_answers(clients, ANSWER_S if waits else MOMENT_S)
            if not ready:
                if waits:
                    raise Lost(f"no answer within {ANSWER_S:g} s")
                return
            for client in ready:
                self._resume_flight(clients[client])

    def _resume_flight(self, flight: _Flight) -> None:
        self._flights.remove(flight)
        try:
            answer = flight.client.answer_to(flight.waiting)
        except Lost:
            node = next(at for (_, at), c in self._connections.items() if c is flight.client)
            self._drop_connection(flight.step.client, node)
            return
        self._who.note_redirect(answer)
        self._go_on(flight.at, flight.step, flight.doing, answer)

    def _client(self, who: str, node: int) -> PlainClient:
        place = (who, node)
        if place not in self._connections:
            numbers = self._numbers.setdefault(who, count(1))
            self._connections[place] = self._cluster.connect(node, self._names.of(who), numbers)
        return self._connections[place]

    def _drop_connection(self, who: str, node: int) -> None:
        """Drop a lost connection, with the requests in flight on it.

        Raises:
            Lost: if no broker was killed.
        """
        if not self._killed:
            raise Lost(f"broker {node} closed a connection, or cannot be reached")
        client = self._connections.pop((who, node), None)
        if client is not None:
            client.close()
            self._flights = [each for each in self._flights if each.client is not client]
        self._who.forget()

    # -- what happens to the cluster -----------------------------------------------------------

    def _disturb(self, step: ClientStep) -> None:
        topic, index = self._place(step.told[0])
        if step.does == KILL:
            self._killed = True
            self._cluster.kill_leader(topic, index)
        else:
            self._cluster.move(topic, index)

    def _place(self, what: str) -> tuple[str, int]:
        """Return the partition of a disturbance: one of the topic, or the one in which a coordinator stores its state."""
        names = self._names
        keys = {
            "transaction": (TRANSACTION_STATE, names.of("x" if self._made.shared else "x-a")),
            "group": (CONSUMER_OFFSETS, names.of("members")),
            "share": (
                SHARE_GROUP_STATE,
                share_partition_key(names.of("workers"), names.topic_id, 0),
            ),
        }
        if what not in keys:
            return names.topic, int(what)
        topic, key = keys[what]
        return topic, partition_for(key, INTERNAL_PARTITIONS)
