"""Two views of one moment: what an application believes, and what the brokers know.

Every application has a card with a row for each subject: the client's view on the left, that of coordinators, leaders
and logs on the right, and whether the two agree. A client knows only what it called and the responses that it received,
never a broker's state.
"""

from __future__ import annotations

from typing import Any

from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.brokers.transactions.transaction_metadata import (
    COMPLETED,
    PREPARED,
    TransactionMetadata,
)
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.clients.application import Application
from kipviz.clients.shares.share_holding import Held
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.cluster.behaviour.naming import short_name
from kipviz.cluster.specs.spec import ApplicationSpec, ClusterSpec
from kipviz.cluster.world import Envelope, World, host_of, role_key
from kipviz.core.model import Event
from kipviz.core.values import Value
from kipviz.messages.apis.api import Role
from kipviz.messages.apis.catalogue import api_of
from kipviz.messages.errors import Errors
from kipviz.messages.events import CallReturned, CallStarted, MessageDelivered
from kipviz.messages.message import Message
from kipviz.messages.message_errors import error_in
from kipviz.records.placement import CONSUMER_OFFSETS
from kipviz.records.share_group_state import RecordState
from kipviz.records.transaction_state import TransactionState
from kipviz.views.explanations.exceptions import exception_of
from kipviz.views.explanations.sentences import summary
from kipviz.views.role_cards.card_rows import Card
from kipviz.views.role_cards.cards import CardHead

S = TransactionState
ANSWERS_KEPT = 3

AGREES, DIFFERS, UNKNOWN = "agrees", "differs", "unknown"

# What a client believes of its transaction after each call, when it starts and when it returns.
ENTERED = {
    "beginTransaction": "open",
    "commitTransaction": "committing",
    "abortTransaction": "aborting",
}
CAME_BACK = {"commitTransaction": "committed", "abortTransaction": "aborted"}
BELIEVED = {
    "none": "no transaction yet",
    "open": "a transaction is open",
    "committing": "not known: commitTransaction() has not returned",
    "aborting": "not known: abortTransaction() has not returned",
    "committed": "committed",
    "aborted": "aborted",
    "failed": "not known: the call threw",
}


class RememberedResponses(Value, frozen=True):
    """What a process remembers of its transaction and its responses; a crash clears it."""

    life: int = 1
    belief: str = "none"
    producer_id: int = -1
    producer_epoch: int = -1
    answers: tuple[str, ...] = ()
    request: type[Message] | None = None
    error: Errors = Errors.NONE


class BeliefRow(Value, frozen=True):
    """One subject: the client's view, the brokers' view, and a comment."""

    topic: str
    client: str
    broker: str
    verdict: str = AGREES
    words: str = ""


class Beliefs:
    """The two views of every application, followed step by step along one branch."""

    def __init__(self, spec: ClusterSpec) -> None:
        """Create one card for each application."""
        self._spec = spec
        self._heard = {app.name: RememberedResponses() for app in spec.members}
        self._seen: dict[str, tuple[tuple[Any, ...], Card]] = {}
        self.heads = [
            CardHead(f"beliefs:{app.name}", app.name, "two views", "beliefs", app.name, 99)
            for app in spec.members
        ]

    def observe(self, world: World, events: tuple[Event, ...]) -> None:
        """Advance to the next world; `events` are those that led to it."""
        for app in self._spec.members:
            here = world.applications[app.name]
            self._heard[app.name] = hear(self._heard[app.name], here, events)

    def snapshot(self, world: World) -> dict[str, Card]:
        """Return every application's card in the world that was observed last."""
        found = {}
        for app in self._spec.members:
            here, heard = world.applications[app.name], self._heard[app.name]
            parts = (heard, here, world.roles, world.logs, world.connections)
            known = self._seen.get(app.name)
            if known is None or any(a is not b for a, b in zip(known[0], parts, strict=True)):
                known = (parts, _card(beliefs(app, world, heard)))
                self._seen[app.name] = known
            found[f"beliefs:{app.name}"] = known[1]
        return found


def hear(
    heard: RememberedResponses, app: Application, events: tuple[Event, ...]
) -> RememberedResponses:
    """Record what a process has learnt in a step."""
    if heard.life != app.life:
        heard = RememberedResponses(app.life)
    for event in events:
        match event:
            case CallStarted(application=app.name, call=call) if call in ENTERED:
                heard = heard.but(belief=ENTERED[call])
                if call == "beginTransaction":
                    known = app.manager
                    heard = heard.but(
                        producer_id=known.producer_id, producer_epoch=known.producer_epoch
                    )
            case CallReturned(application=app.name, call=call, raised=raised):
                if call in CAME_BACK:
                    heard = heard.but(belief="failed" if raised else CAME_BACK[call])
            case MessageDelivered(way="response", source=source, message=message):
                if host_of(source) == app.name:
                    answers = (*heard.answers, summary(message))[-ANSWERS_KEPT:]
                    request = api_of(message).request
                    error = error_in(message) or Errors.NONE
                    heard = heard.but(answers=answers, request=request, error=error)
            case _:
                pass
    return heard


def beliefs(
    spec: ApplicationSpec, world: World, heard: RememberedResponses
) -> tuple[BeliefRow, ...]:
    """Return both views of an application's subjects side by side."""
    app = world.applications[spec.name]
    if not app.alive:
        state = _coordinator_words(_find_known(world, spec))
        return (BeliefRow("process", "down", state, UNKNOWN),)
    known = _find_known(world, spec)
    rows = [_call(app, world), _transaction(heard, known), _identity(app, known, heard)]
    rows.append(_compare_output(heard, app, spec, world))
    if isinstance(app.consumer, ShareConsumer):
        several = len(app.share_consumers) > 1
        rows += [
            _compare_held(consumer, held, world, f" by {consumer.member_id}" if several else "")
            for consumer in app.share_consumers
            for held in consumer.held or (Held("", -1),)
        ]
    else:
        rows.append(_position(app, world))
    rows.append(_answers(heard, app, world))
    exception = exception_of(app, heard.request, heard.error)
    if exception is not None:
        rows.append(BeliefRow("exception", exception.words, _coordinator_words(known)))
    return tuple(rows)


# -- the topics ----------------------------------------------------------------------------------


def _call(app: Application, world: World) -> BeliefRow:
    line = app.program[app.line]
    call = f"{line.call.value}()"
    client = (
        f"ended: {app.ended}"
        if app.ended
        else f"blocked in {call}"
        if app.waiting
        else f"about to call {call}"
    )
    places = []
    back = False
    for (source, broker), connection in world.connections.items():
        if host_of(source) == app.name and connection.open:
            places += [f"{_name(e)} is in flight to B{broker}" for e in connection.requests]
            if connection.serving is not None:
                places.append(f"B{broker} handles {_name(connection.serving)}")
            for envelope in connection.responses:
                back = True
                places.append(f"{_name(envelope)} of B{broker} is on its way")
    broker_words = "; ".join(places) or "this process has nothing in flight"
    if app.waiting and back:
        words = f"The brokers have responded. {call} has not returned yet."
        return BeliefRow("call", client, broker_words, DIFFERS, words)
    return BeliefRow("call", client, broker_words)


def _transaction(heard: RememberedResponses, known: TransactionMetadata | str) -> BeliefRow:
    client = BELIEVED[heard.belief]
    broker = _coordinator_words(known)
    if isinstance(known, str):
        verdict = AGREES if heard.belief == "none" else UNKNOWN
        return BeliefRow("transaction", client, broker, verdict)
    state = known.state
    if heard.belief == "none":
        return BeliefRow("transaction", client, broker)
    if known.producer_id == heard.producer_id and known.producer_epoch == heard.producer_epoch:
        if state is S.ONGOING:
            agrees = heard.belief in {"open", "committing", "aborting"}
            words = "" if agrees else "The coordinator still holds it open."
            return BeliefRow("transaction", client, broker, AGREES if agrees else DIFFERS, words)
        words = "The coordinator does not know this transaction: no partition has been added yet."
        verdict = AGREES if heard.belief in {"aborted", "committed"} else DIFFERS
        return BeliefRow(
            "transaction", client, broker, verdict, words if verdict is DIFFERS else ""
        )
    return _compare_decision(heard, known, client, broker)


def _compare_decision(
    heard: RememberedResponses, known: TransactionMetadata, client: str, broker: str
) -> BeliefRow:
    """Describe a coordinator that is ahead of the client: it has decided, or has moved to another epoch."""
    decided = known.state in PREPARED or known.state in COMPLETED
    outcome = "commit" if known.state in {S.PREPARE_COMMIT, S.COMPLETE_COMMIT} else "abort"
    if not decided:
        words = "The coordinator has moved to another epoch: this transaction is over."
        return BeliefRow("transaction", client, broker, DIFFERS, words)
    missing = len(known.partitions)
    if heard.belief in {"committed", "aborted"}:
        if not heard.belief.startswith(outcome):
            words = f"The client believes it {heard.belief}; the coordinator decided to {outcome}."
            return BeliefRow("transaction", client, broker, DIFFERS, words)
        if known.state in COMPLETED:
            return BeliefRow("transaction", client, broker)
        words = (
            f"The client acts as if it were {heard.belief}; {_markers(missing)}, so the logs "
            "do not show the outcome everywhere."
        )
        return BeliefRow("transaction", client, broker, DIFFERS, words)
    words = f"The coordinator decided to {outcome}. The client does not know it."
    if heard.belief == "open":
        words = f"The client believes it open; the coordinator decided to {outcome}."
    return BeliefRow("transaction", client, broker, DIFFERS, words)


def _identity(
    app: Application, known: TransactionMetadata | str, heard: RememberedResponses
) -> BeliefRow:
    producer = app.manager
    client = f"{app.holder.state_name}, {_identity_words(*producer.identity)}"
    if isinstance(known, str):
        return BeliefRow(
            "producer", client, "no identity", UNKNOWN if producer.producer_id >= 0 else AGREES
        )
    broker = _identity_words(known.producer_id, known.producer_epoch)
    mine, theirs = (
        producer.identity,
        (known.producer_id, known.producer_epoch),
    )
    if mine == theirs:
        return BeliefRow("producer", client, broker)
    ending = heard.belief in {"committing", "aborting"}
    if producer.producer_id < 0:
        words = "The coordinator has assigned an identity that the client has not received yet."
    elif ending and known.state in (*PREPARED, *COMPLETED):
        words = "The client receives the next epoch in the response to EndTxn."
    else:
        words = "The client's epoch is not the coordinator's: its next request will be rejected."
    return BeliefRow("producer", client, broker, DIFFERS, words)


def _compare_output(
    heard: RememberedResponses, app: Application, spec: ApplicationSpec, world: World
) -> BeliefRow:
    producer, log = app.producer, world.logs[spec.output]
    mine = [batch for batch in producer.accumulator.batches if batch.partition == spec.output]
    sent = producer.partition_map.sequences.get(spec.output, 0)
    sent += sum(len(batch.records) for batch in mine if not batch.sent)
    client = "nothing sent"
    if sent:
        waiting = sum(len(batch.records) for batch in mine)
        client = f"{sent} sent, {waiting} of them not acknowledged"
    elif heard.belief in CAME_BACK.values():
        client = f"what it sent is {heard.belief}"
    lso, high = log.last_stable_offset, log.high_watermark
    broker = f"HW {high}, LSO {lso}"
    identity = producer.manager.identity
    there = any(
        (*identity, batch.base_sequence) == (b.producer_id, b.producer_epoch, b.base_sequence)
        for b in log.batches
        for batch in mine
        if batch.sent
    )
    if there:
        words = "Records that the client counts as unacknowledged are already in the log."
        return BeliefRow(spec.output, client, broker, DIFFERS, words)
    if lso < high:
        words = f"Written, but read_committed consumers see nothing from offset {lso} on."
        return BeliefRow(spec.output, client, broker, DIFFERS, words)
    return BeliefRow(spec.output, client, broker)


def _compare_held(consumer: ShareConsumer, held: Held, world: World, member: str) -> BeliefRow:
    """Describe the records of one partition; a consumer that holds records of several has a row for each.

    `member` names the consumer's member if a process has several, as in " by M9".
    """
    name = (
        f"records of {held.partition}" if consumer.current_fetch.beside else "records held"
    ) + member
    staged = held.staged if consumer.gathers else consumer.current_fetch.staged
    client = ", ".join(
        f"{offset} staged" if offset in staged else f"{offset} held" for offset in held.batch
    )
    role = world.roles.get((world.image.leader_of(held.partition), Role.SHARE_PARTITION_LEADER, ""))
    shares = role.shares.values() if isinstance(role, ShareLeader) else ()
    own = (held.partition, consumer.group_id)
    share = next((s for s in shares if (s.partition, s.group_id) == own), None)
    told, lost = [], []
    for offset in held.batch:
        record = share.records.get(offset) if share else None
        if record is not None:
            told.append(f"{offset} {record.state.name}")
            mine = record.member_id == consumer.member_id or record.state is RecordState.TX_PENDING
        else:
            # A staged record below the start offset is resolved as its holder requested.
            mine = share is not None and offset < share.start_offset and offset in staged
            told.append(f"{offset} done" if mine else f"{offset} not in memory")
        if not mine:
            lost.append(offset)
    if not held.batch:
        return BeliefRow(name, "none", "no request is pending")
    broker = ", ".join(told)
    if not lost:
        return BeliefRow(name, client, broker)
    words = f"The client still counts {', '.join(map(str, lost))} as its own; the leader does not."
    return BeliefRow(name, client, broker, DIFFERS, words)


def _position(app: Application, world: World) -> BeliefRow:
    consumer = app.consumer
    assert not isinstance(consumer, ShareConsumer)
    client = "not known" if consumer.position < 0 else f"continues from {consumer.position}"
    home = world.image.home_of(CONSUMER_OFFSETS, consumer.group_id)
    role = world.roles.get(role_key(world.image.leader_of(home), home))
    if not isinstance(role, GroupCoordinator) or role.loading:
        return BeliefRow("position", client, "the group has no coordinator now", UNKNOWN)
    committed = role.offsets.get((consumer.group_id, consumer.partition))
    base = committed.offset if committed else -1
    pending = [
        p.offset
        for staged in role.pending.values()
        for p in staged
        if (p.group_id, p.partition) == (consumer.group_id, consumer.partition)
    ]
    stands = f"committed {base}" if committed else "nothing committed yet"
    broker = stands + (f", pending {pending[0]}" if pending else "")
    if consumer.position <= max(base, 0):
        return BeliefRow("position", client, broker)
    start = base if committed else "the beginning"
    words = f"If the process died now, the group would resume from {start}."
    return BeliefRow("position", client, broker, DIFFERS, words)


def _answers(heard: RememberedResponses, app: Application, world: World) -> BeliefRow:
    flying = [
        f"{summary(envelope.message)} from B{broker}"
        for (source, broker), connection in world.connections.items()
        if host_of(source) == app.name and connection.open
        for envelope in connection.responses
    ]
    client = ", ".join(heard.answers) or "none yet"
    if flying:
        words = "Sent, but not received yet."
        return BeliefRow("answers", client, f"in flight: {', '.join(flying)}", DIFFERS, words)
    return BeliefRow("answers", client, "none in flight")


# -- words ---------------------------------------------------------------------------------------


def _find_known(world: World, spec: ApplicationSpec) -> TransactionMetadata | str:
    """Return what the coordinator knows of a transactional id, or why no coordinator knows anything."""
    if not spec.transactional_id:
        return "it has no transactional id"
    home = world.image.home_of_transactions(spec.transactional_id)
    role = world.roles.get(role_key(world.image.leader_of(home), home))
    if not isinstance(role, TransactionCoordinator):
        return "it has no coordinator now"
    if role.loading:
        return "its coordinator is still loading"
    return role.transactions.get(spec.transactional_id) or "the coordinator does not know this id"


def _coordinator_words(known: TransactionMetadata | str) -> str:
    if isinstance(known, str):
        return known
    if known.state in PREPARED:
        return f"{known.state.value}: {_markers(len(known.partitions))}"
    if known.state is S.ONGOING:
        names = ", ".join(map(short_name, known.partitions))
        return f"ONGOING with {names}"
    return known.state.value


def _markers(missing: int) -> str:
    return f"{missing} marker{'' if missing == 1 else 's'} missing"


def _identity_words(producer_id: int, producer_epoch: int) -> str:
    return f"id {producer_id}, epoch {producer_epoch}" if producer_id >= 0 else "no identity"


def _name(envelope: Envelope) -> str:
    return type(envelope.message).__name__


def _card(rows: tuple[BeliefRow, ...]) -> Card:
    tone = {AGREES: "calm", DIFFERS: "pending", UNKNOWN: "warning"}
    return {
        row.topic: {
            "client": row.client,
            "broker": row.broker,
            "verdict": row.verdict,
            "words": row.words,
            "tone": tone[row.verdict],
        }
        for row in rows
    }
