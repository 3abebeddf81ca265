"""A process and its parts: its program, its clients, its threads and its connections."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from functools import lru_cache

from kipviz.clients.addressed import Outgoing, message_of
from kipviz.clients.application import Application
from kipviz.clients.groups.consumer import Fetcher, RegularConsumer, is_classic, joins_group
from kipviz.clients.kinds import Holder, next_request
from kipviz.clients.operators import admin
from kipviz.clients.operators.admin import Admin
from kipviz.clients.program_source import number_in_source, source_of
from kipviz.clients.sending.producer import Producer
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.throwing.exceptions import render_error
from kipviz.clients.transactions.external_database import ExternalDatabase
from kipviz.clients.workers import every_thread, swap_thread
from kipviz.cluster.behaviour.naming import number, render_list, short_name
from kipviz.cluster.world import BrokerRole, Connection, Envelope, RoleKey, host_of, is_loading
from kipviz.core.table import Table, pairs
from kipviz.core.values import Value
from kipviz.messages.apis.api import Role
from kipviz.views.role_cards.card_rows import NAMELESS, Card, Fact, facts
from kipviz.views.tones import CALM, TONE_OF_MEMBER, TONE_OF_PRODUCER

Connections = Table[tuple[str, int], Connection]


class Owned(Value, frozen=True):
    """One part of a process: its position, depth, name and what it does."""

    order: int
    level: int
    label: str
    value: str
    tone: str = "calm"


def program(app: Application) -> Card:
    """Return the lines of a program, with those of its threads highlighted."""
    card: Card = {}
    threads = (seen for _, seen in every_thread(app) if seen.alive and not seen.ended)
    places = {t.line: t.waiting for t in threads}
    for line in source_of(app.program):
        card[f"line {line.number - 1}"] = {
            "line": line.number,
            "text": line.text,
            "current": line.at in places,
            "waiting": places.get(line.at, False),
        }
    return card


def clients(app: Application) -> Card:
    """Return the state of an application's producer and consumer, or of an operator's admin client."""
    operator = app.others.get(admin.NAME)
    if isinstance(operator, Admin):
        return facts(_operators(app, operator))
    producer, consumer = app.producer, app.consumer
    manager = producer.manager
    to_send = [type(m).__name__ for m in manager.queue]
    to_send += [_count_records(b.records) for b in producer.accumulator.batches if b.broker < 0]
    rows: list[Fact] = [
        ("process", "running" if app.alive else "down", "calm" if app.alive else "gone"),
        ("producer", manager.state.value, TONE_OF_PRODUCER.get(manager.state, CALM)),
        ("producer id", number(manager.producer_id), "calm"),
        ("epoch", number(manager.producer_epoch), "calm"),
        ("to send", ", ".join(to_send) or "nothing", "calm"),
        ("error", render_error(manager.error), "warning" if manager.error else "calm"),
        ("member", f"{consumer.member_id or 'none yet'} of {consumer.group_id}", "calm"),
    ]
    rows += _of_threads(producer)
    if manager.group_id:
        at = f"{manager.member_at_init[1]} of {manager.group_id}"
        rows.append(("identity for generation", at, "calm"))
    if manager.prepared.has_transaction:
        rows.append(("prepared", str(manager.prepared), "pending"))
    rows += _database(app)
    rows += _session(app)
    if isinstance(consumer, ShareConsumer):
        rows.append(("holds", render_list(consumer.in_hand), "calm"))
        rows.append(("share session", number(consumer.sessions.epoch), "calm"))
    else:
        rows.append(("position", number(consumer.position), "calm"))
        rows += _of_fetches(consumer.fetcher)
    for further in app.share_consumers:
        if further is not consumer:
            rows.append((f"{further.member_id} holds", render_list(further.in_hand), "calm"))
    if joins_group(consumer):
        counted = "generation" if is_classic(consumer) else "epoch"
        words = f"{consumer.state.value}, {counted} {number(consumer.member_epoch)}"
        rows.append(("membership", words, TONE_OF_MEMBER.get(consumer.state, CALM)))
        rows.append(("owns", render_list(consumer.owned), "calm"))
    if app.ended:
        rows.append(("ended", app.ended, "warning"))
    return facts(rows)


def _count_records(records: Sized) -> str:
    return "1 record" if len(records) == 1 else f"{len(records)} records"


def _of_fetches(fetcher: Fetcher) -> Iterator[Fact]:
    """Yield the offsets that are fetched, and that the next poll() returns without a Fetch."""
    for fetched in fetcher.completed:
        offsets = tuple(record.offset for record in fetched.data.records)
        if offsets:
            yield f"{fetched.data.partition} fetched", render_list(offsets), "calm"


def _of_threads(producer: Producer) -> list[Fact]:
    """Return what several threads wait for at one producer, and what their calls left there."""
    rows: list[Fact] = [
        (
            f"left over from a send() that threw, for {batch.partition}",
            f"{_count_records(batch.records)}, in no transaction",
            "warning",
        )
        for batch in producer.accumulator.stray
    ]
    for result in producer.manager.results:
        threads = (
            ", ".join(thread or "the first thread" for thread in result.threads) or "no thread"
        )
        rows.append((f"waiting for {result.call}()", threads, "pending"))
    return rows


def _operators(app: Application, client: Admin) -> list[Fact]:
    """Return what an admin client has found out."""
    rows: list[Fact] = [
        ("process", "running" if app.alive else "down", "calm" if app.alive else "gone"),
        (
            "to ask",
            ", ".join(type(message_of(m)).__name__ for m in client.queue) or "nothing",
            "calm",
        ),
        ("error", render_error(client.error), "warning" if client.error else "calm"),
    ]
    rows += [
        (t.transactional_id, f"producer id {t.producer_id}, {t.state.value}", "calm")
        for t in client.listings
    ]
    for p in client.producers:
        first = p.current_txn_start_offset
        begins = f"open since offset {first}" if first >= 0 else "not open"
        where = f"{client.partition}, producer id {p.producer_id}"
        rows.append((where, f"epoch {p.producer_epoch}, {begins}", "calm"))
    if client.producers and not client.finding:
        names = tuple(f"producer id {p.producer_id}" for p in client.candidates)
        rows.append(("would be aborted", render_list(names), "warning" if names else "calm"))
    if client.fenced[0] >= 0:
        taken = f"producer id {client.fenced[0]}, epoch {client.fenced[1]}"
        rows.append(("fenced with", taken, "calm"))
    if app.ended:
        rows.append(("ended", app.ended, "warning"))
    return rows


def _session(app: Application) -> list[Fact]:
    """Return the state of a process's TransactionSession, and what it waits for."""
    session = app.session
    if session is None:
        return []
    tone = TONE_OF_PRODUCER.get(session.manager.state, CALM)
    waits = render_list(tuple(source.partition("/")[2] for source in session.held_back_by))
    return [
        ("session", "closed" if session.closed else session.state_name, tone),
        ("session epoch", number(session.manager.producer_epoch), "calm"),
        ("session waits for", waits, "pending" if session.held_back_by else "calm"),
    ]


def _database(app: Application) -> list[Fact]:
    """Return the rows in a process's database, and those that wait for an outcome."""
    found: list[Fact] = []
    for client in app.others.values():
        if not isinstance(client, ExternalDatabase):
            continue
        found += [
            ("rows", render_list(client.rows), "calm"),
            ("stored state", str(client.prepared_txn_state) or "none", "calm"),
            (
                "in progress",
                render_list(client.open_rows),
                "pending" if client.open_rows else "calm",
            ),
            (
                "in doubt",
                "yes" if client.in_doubt else "no",
                "pending" if client.in_doubt else "calm",
            ),
        ]
    return found


def _describe_thread(app: Application) -> str:
    """Return where an application thread is, in words."""
    line = app.program[app.line]
    if app.ended:
        return f"ended: {app.ended}"
    if app.waiting:
        return f"waits in {line.call.value}()"
    number = number_in_source(app.program, app.line)
    return f"line {number}: {line.call.value}(){f', {app.gate}' if app.gate else ''}"


def of_application(app: Application, connections: Connections) -> Card:
    """Return a process's objects, threads and connections, each below its owner."""
    if not app.alive:
        return _tree([Owned(0, 0, "process", "down: its objects and connections are gone", "gone")])
    top = [
        Owned(0, 0, "process", f"running, life {app.life}"),
        Owned(100, 1, "application thread", _describe_thread(app)),
        *(
            Owned(101 + count, 1, f"thread {w.name}", _describe_thread(swap_thread(app, w.name)))
            for count, w in enumerate(app.workers)
        ),
    ]
    operator = app.others.get(admin.NAME)
    if isinstance(operator, Admin):
        return _tree(
            [
                *top,
                Owned(200, 1, "KafkaAdminClient", "runs an operator's commands"),
                Owned(300, 2, "network thread", _next(next_request(operator))),
                *_connections(400, operator.source, connections),
            ]
        )
    producer, consumer = app.producer, app.consumer
    kind, member = _member(consumer)
    return _tree(
        [
            *top,
            Owned(200, 1, "KafkaProducer", _identity(producer)),
            Owned(300, 2, "sender thread", _next(next_request(producer))),
            *_connections(400, producer.source, connections),
            Owned(500, 1, kind, member),
            Owned(600, 2, "network thread", _next(next_request(consumer))),
            *_connections(700, consumer.source, connections),
            *_of_further_members(app, connections),
            *_of_session(app, connections),
        ]
    )


def _of_further_members(app: Application, connections: Connections) -> list[Owned]:
    """Return the share consumers of a process's further members, their threads and connections."""
    rows: list[Owned] = []
    for at, consumer in enumerate(app.share_consumers, 710):
        if consumer is not app.consumer:
            kind, member = _member(consumer)
            rows += [
                Owned(at, 1, kind, member),
                Owned(at, 2, "network thread", _next(next_request(consumer))),
                *_connections(at, consumer.source, connections),
            ]
    return rows


def _of_session(app: Application, connections: Connections) -> list[Owned]:
    """Return the TransactionSession of a process, and the producers that were made for it."""
    rows: list[Owned] = []
    for order, name in enumerate(app.others.keys(), 8):
        client = app.client_named(name)
        if not isinstance(client, Holder):
            continue
        at = order * 100
        title = "TransactionSession"
        if isinstance(client, Producer):
            if client.network:
                label = f"another transactional id: {name}"
                rows.append(Owned(at, 2, label, _identity(client)))
                continue
            title = f"KafkaProducer {name}"
        rows += [
            Owned(at, 1, title, _identity(client)),
            Owned(at + 10, 2, f"thread of {name}", _next(next_request(client))),
            *_connections(at + 20, client.source, connections),
        ]
    return rows


class RoleRows:
    """The rows of all brokers' roles, made once for the cards of all brokers."""

    def __init__(self) -> None:
        self._roles: Table[RoleKey, BrokerRole] | None = None
        self._rows: dict[int, list[Owned]] = {}

    def of(self, roles: Table[RoleKey, BrokerRole]) -> dict[int, list[Owned]]:
        """Return the rows by their brokers."""
        if self._roles is not roles:
            self._roles, self._rows = roles, {}
            for (broker, role, shard), state in pairs(roles):
                row = _of_role(role, shard, loading=is_loading(state))
                self._rows.setdefault(broker, []).append(row)
        return self._rows


def of_broker(
    broker: int,
    known: RoleRows,
    roles: Table[RoleKey, BrokerRole],
    connections: Connections,
    up: tuple[int, ...],
) -> Card:
    """Return the active roles of a broker and the connections that it has opened."""
    if broker not in up:
        return _tree([Owned(0, 0, "broker", "down: its objects and connections are gone", "gone")])
    rows = [Owned(0, 0, "broker", "running")]
    rows += known.of(roles).get(broker, ())
    answering = []
    for (source, target), connection in pairs(connections):
        if host_of(source) == f"B{broker}":
            rows.append(_connection(200, source, target, connection))
        if target == broker and connection.serving is not None:
            words = type(connection.serving.message).__name__
            answering.append(Owned(300, 1, f"is answering {source}", words, "pending"))
    return _tree([*rows, *answering])


@lru_cache(maxsize=4096)
def _of_role(role: Role, shard: str, *, loading: bool) -> Owned:
    name = f"{role.replace('_', ' ')} {short_name(shard)}".strip()
    return Owned(100, 1, name, "loading" if loading else "active")


def _identity(holder: Holder) -> str:
    manager = holder.manager
    name = manager.transactional_id or NAMELESS
    if manager.producer_id < 0:
        return f"{name}, no producer id yet"
    who = f"pid {manager.producer_id}, last epoch {manager.producer_epoch}"
    bound = f", bound to the {manager.session}" if manager.session else ""
    return f"{name}, {who}{bound}"


def _next(outgoing: Outgoing | None) -> str:
    message = message_of(outgoing)
    return f"sends {type(message).__name__} next" if message is not None else "has nothing to send"


def _connections(order: int, source: str, known: Connections) -> list[Owned]:
    return [
        _connection(order, source, broker, connection)
        for (owner, broker), connection in pairs(known)
        if owner == source
    ]


def _connection(order: int, source: str, broker: int, connection: Connection) -> Owned:
    label = f"{source.partition('/')[2]} \u2192 Broker {broker}"
    tone = "calm" if connection.open else "gone"
    return Owned(order + broker, 2, label, _traffic(connection), tone)


def _traffic(connection: Connection) -> str:
    if not connection.open:
        return "closed"
    parts = []
    if connection.requests:
        parts.append(f"out: {_names(connection.requests)}")
    if connection.serving is not None:
        parts.append(f"handled: {type(connection.serving.message).__name__}")
    if connection.responses:
        parts.append(f"back: {_names(connection.responses)}")
    words = "; ".join(parts) or "nothing in flight"
    return f"{words}, connection {connection.incarnation + 1}" if connection.incarnation else words


def _names(envelopes: tuple[Envelope, ...]) -> str:
    return ", ".join(type(e.message).__name__ for e in envelopes)


def _member(consumer: RegularConsumer | ShareConsumer) -> tuple[str, str]:
    """Return the class of a consumer and its membership in its group."""
    if is_classic(consumer):
        named = consumer.member_id or "no member id yet"
        return "KafkaConsumer", f"{named}, generation {number(consumer.member_epoch)}"
    known = f"{consumer.member_id}, member epoch {consumer.member_epoch}"
    if isinstance(consumer, ShareConsumer):
        return "KafkaShareConsumer", f"{known}, share session {consumer.sessions.epoch}"
    return "KafkaConsumer", known


def _tree(rows: list[Owned]) -> Card:
    return {
        row.label: {
            "label": row.label,
            "value": row.value,
            "tone": row.tone,
            "level": row.level,
            "order": row.order,
        }
        for row in rows
    }
