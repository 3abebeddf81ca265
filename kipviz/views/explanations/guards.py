"""The reason for a step: the rule that fires, the values that it reads, and its source.

Pure functions from a world and an action that is possible in it. A guard is a name and a value of the world before the
step; if a rule compares two values, it has both: "request 1 · log 0". For a fault the guards show what is lost, for a
repair what is restored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kipviz.brokers.checks import Checked
from kipviz.brokers.context import NOBODY
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.clauses import Clause
from kipviz.clients.application import Application
from kipviz.clients.calls import CALLS, client_of
from kipviz.clients.groups.consumer import Consumer, is_classic, joins_group
from kipviz.clients.kinds import Holder, clause_of_timer, next_request
from kipviz.clients.operators.admin import Admin
from kipviz.clients.program_source import number_in_source, source_of
from kipviz.clients.sending.producer import is_plain
from kipviz.clients.shares.share_member import ShareMember
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.throwing.exceptions import render_error
from kipviz.clients.transactions.external_database import ExternalDatabase
from kipviz.clients.workers import swap_thread
from kipviz.cluster import dispatch
from kipviz.cluster.actions import (
    ClientTimer,
    ClusterAction,
    Deliver,
    DeliverLate,
    RunOut,
    Send,
    Step,
    Tick,
    TimeOutCall,
)
from kipviz.cluster.behaviour.behaviour import Guard
from kipviz.cluster.behaviour.catalogue import BEHAVIOUR_OF, clause_of, read_guards
from kipviz.cluster.behaviour.naming import (
    answered_request,
    number,
    on_wire,
    render_list,
    short_name,
)
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.timing.clock import ms
from kipviz.cluster.world import World, broker_host, host_of
from kipviz.messages.apis.api import Role
from kipviz.messages.apis.catalogue import api_of, facts_of
from kipviz.messages.errors import Errors
from kipviz.messages.groups.group_admin import OffsetDeleteResponse
from kipviz.messages.groups.several_groups import groups_of, names_several
from kipviz.messages.logs.list_offsets import (
    EARLIEST_PENDING_UPLOAD_TIMESTAMP,
    LATEST_TIERED_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    ListOffsets,
)
from kipviz.messages.logs.producing import Fetch, FetchResponse, ProduceResponse
from kipviz.messages.message import Message, version_of
from kipviz.messages.message_errors import error_in
from kipviz.messages.shares.share_admin import AlterShareGroupOffsetsResponse
from kipviz.messages.shares.share_groups import (
    ShareAcknowledgeResponse,
    ShareFetchResponse,
    TxnShareAcknowledgeResponse,
)
from kipviz.messages.transactions.transactions import (
    EndTxnResponse,
    InitProducerIdResponse,
    WriteTxnMarkersResponse,
)
from kipviz.views.explanations import checks
from kipviz.views.explanations.client_clauses import clause_of_call
from kipviz.views.explanations.coordinator_guards import uncompared_values
from kipviz.views.explanations.operators import list_learned
from kipviz.views.explanations.several_guards import waiting_for
from kipviz.views.page_parts import Part
from kipviz.views.role_cards import remaining_time

SHARES = Role.SHARE_PARTITION_LEADER
# The responses with one result for each partition.
HAS_RESULTS = (WriteTxnMarkersResponse, AlterShareGroupOffsetsResponse, OffsetDeleteResponse)
# The responses that tell a producer its epoch.
GIVES_EPOCH = (InitProducerIdResponse, EndTxnResponse)


def why(
    model: ClusterModel,
    before: World,
    action: ClusterAction,
    made: Iterable[Checked] | None = None,
) -> Part:
    """Return the rule that fires, its guards, its clause and how far that is decided, and the Kafka class.

    `made` are the checks of the step, for a caller that has taken it.
    """
    clause = _clause(before, action)
    if made is None:
        made = checks.checks_of(model, before, action)
    return {
        "rule": clause.rule,
        "guards": [
            list(guard) for guard in (*_read_guards(model, before, action), *checks.rows(made))
        ],
        "clause": clause.clause,
        "status": clause.status,
        "kafka": clause.kafka,
    }


def _clause(before: World, action: ClusterAction) -> Clause:
    if isinstance(action, Step) and action.application in before.applications:
        app = swap_thread(before.applications[action.application], action.thread)
        line, share = app.program[app.line], isinstance(app.consumer, ShareConsumer)
        session = client_of(app, line) is app.session
        return clause_of_call(line.call.value, share=share, session=session)
    if isinstance(action, RunOut):
        return action.timer.CLAUSE
    if isinstance(action, ClientTimer):
        client = before.applications[host_of(action.source)].client_at(action.source)
        return clause_of_timer(client, action.timer)
    if not isinstance(action, Deliver | DeliverLate):
        return clause_of(action)
    message = on_wire(before, action)
    assert message is not None, "what is delivered is in flight"
    asked = answered_request(before, action.source, message) if message.IS_RESPONSE else None
    return clause_of_message(message, asked)


def clause_of_message(message: Message, request: Message | None = None) -> Clause:
    """Return the clause of a request, which its handler follows, or of a response, which its sender follows.

    A response has its request's version.
    """
    api, facts = api_of(message), facts_of(message, version_of(message, request))
    rule = dispatch.HANDLERS[api.request].__name__
    if message.IS_RESPONSE:
        return Clause(f"answer of {rule}", facts.clause, facts.status, api.answer_in)
    return Clause(rule, facts.clause, facts.status, facts.kafka)


def guards(model: ClusterModel, world: World, action: ClusterAction) -> tuple[Guard, ...]:
    """Return the names and values that a step reads, then the checks of its handlers, in order."""
    made = checks.rows(checks.checks_of(model, world, action))
    return (*_read_guards(model, world, action), *made)


def _read_guards(model: ClusterModel, world: World, action: ClusterAction) -> tuple[Guard, ...]:
    """Return what a step reads besides the checks of its handlers."""
    match action:
        case Step(name, thread):
            known = world.applications.get(name)
            return () if known is None else tuple(_call(swap_thread(known, thread)))
        case TimeOutCall(name, thread):
            yet = str(world.budget.max_block)
            seen = swap_thread(world.applications[name], thread)
            return (*_call(seen), ("calls that may time out yet", yet))
        case Send():
            return tuple(_sending(world, action))
        case Deliver(way="request") | DeliverLate():
            return tuple(_request(model, world, action))
        case Deliver():
            return tuple(_answer(model, world, action))
        case Tick():
            return tuple(remaining_time.later(world))
        case _:
            own = tuple(read_guards(world, action))
            timed = BEHAVIOUR_OF[type(action)].shows_time_left
            return (*own, *remaining_time.list_time_left(world, action)) if timed else own


# -- clients -----------------------------------------------------------------------------------


def _call(app: Application) -> Iterator[Guard]:
    line = app.program[app.line]
    place, last = number_in_source(app.program, app.line), source_of(app.program)[-1].number
    yield "line", f"{place} of {last}: {line.text.strip()}"
    yield "process", "alive" if app.alive else "down"
    if app.waiting:
        yield "call", f"{line.call.value}() has ended"
    client = client_of(app, line)
    if isinstance(client, Holder):
        yield "producer state", client.state_name
        if not app.waiting and not is_plain(client):
            yield "legal in", " or ".join(state.value for state in CALLS[line.call].legal)
        if client.error:
            yield "error", client.error.words
        return
    if isinstance(client, ExternalDatabase):
        yield "in progress", render_list(client.open_rows)
        yield "in doubt", "yes" if client.in_doubt else "no"
        yield "stored state", str(client.prepared_txn_state) or "none"
        return
    if isinstance(client, ShareConsumer):
        yield "acknowledgement mode", "explicit" if client.explicit else "implicit"
        yield "records held", render_list(client.in_hand)
        if client.acknowledging.error is not Errors.NONE:
            yield "error", client.acknowledging.error.name
    elif isinstance(client, Consumer):
        yield "position", number(client.position)
    if joins_group(client):
        counted = "generation" if is_classic(client) else "epoch"
        yield "member", f"{client.state.value}, {counted} {number(client.member_epoch)}"
        yield "owns", render_list(client.owned)
    if isinstance(client, Admin):
        yield "last error", render_error(client.error)
    elif app.waiting:
        received = 0 if isinstance(client, ShareMember) else len(client.records)
        yield "records received", str(received)


def _sending(world: World, action: Send) -> Iterator[Guard]:
    app = world.applications.get(host_of(action.source))
    client = app.client_at(action.source) if app is not None else None
    request = next_request(client) if client is not None else None
    if client is None or request is None:
        return
    broker = dispatch.destination(client, request, world.image)
    yield "next request", type(request).__name__
    yield "goes to", f"Broker {broker}" if broker != NOBODY else "none"
    connection = world.connections.get((action.source, broker))
    under_way = len(connection.requests) if connection is not None and connection.open else 0
    yield "requests on this connection", str(under_way)
    if isinstance(client, Holder):
        yield "producer state", client.state_name


# -- the wire ----------------------------------------------------------------------------------


def _request(model: ClusterModel, world: World, action: Deliver | DeliverLate) -> Iterator[Guard]:
    """Yield the values of a request that are compared with nothing; what is compared are the checks."""
    message = on_wire(world, action)
    if message is None:
        return
    match message:
        case Fetch():
            yield "isolation", "read_committed" if message.read_committed else "read_uncommitted"
        case ListOffsets():
            yield from _list_offsets(message)
        case _ if names_several(message):
            yield "groups", render_list(groups_of(message))
        case _:
            yield from uncompared_values(message)


def _list_offsets(message: ListOffsets) -> Iterator[Guard]:
    for asked in message.partitions:
        wanted = {
            LATEST_TIMESTAMP: "the end",
            MAX_TIMESTAMP: "the record with the highest timestamp",
            LATEST_TIERED_TIMESTAMP: "what is in tiered storage",
            EARLIEST_PENDING_UPLOAD_TIMESTAMP: "what is not yet in tiered storage",
        }
        where = wanted.get(asked.timestamp, "the beginning")
        if asked.timestamp >= 0:
            where = f"what is not older than {ms(asked.timestamp)}"
        yield "asks for", where if len(message.partitions) == 1 else f"{asked.partition}: {where}"
    yield "isolation", "read_committed" if message.read_committed else "read_uncommitted"


def _answer(model: ClusterModel, world: World, action: Deliver) -> Iterator[Guard]:
    connection = world.connections.get((action.source, action.broker))
    if connection is None or not connection.responses:
        return
    envelope = connection.responses[0]
    message = envelope.message
    host = host_of(action.source)
    app = world.applications.get(host)
    yield from _errors(message)
    yield from _fetched_partitions(app, action.source, message)
    yield from list_learned(message, world.now_ms)
    if app is not None:
        yield from _answered_client(app, action.source, message)
        return
    home = next((broker for broker in model.spec.brokers if broker_host(broker) == host), None)
    if home is None:
        return  # a real client, whose state is outside the model
    role = world.roles.get((home, envelope.role, dispatch.shard_of(envelope.role, envelope.shard)))
    if role is None:
        yield "requester", "is gone: the response is discarded"
    elif isinstance(role, ShareLeader) and envelope.shard:
        if envelope.shard not in role.shares:
            yield "requester", "was dropped from memory"
    elif isinstance(role, TransactionCoordinator):
        assert isinstance(message, WriteTxnMarkersResponse), "it asks for nothing but markers"
        ended = [marker.producer_id for marker in message.markers]
        for known in role.transactions.values():
            if known.producer_id in ended:
                yield "state", known.state.value
                missing = tuple(map(short_name, known.partitions))
                yield "markers missing", render_list(missing)
    else:
        yield from waiting_for(role, message)


def _errors(message: Message) -> Iterator[Guard]:
    """Yield the error of a response, and those of its parts."""
    if isinstance(message, HAS_RESULTS):
        for result in message.results:
            yield short_name(result.partition), result.error.name
    if isinstance(message, ProduceResponse) and len(message.partition_responses) > 1:
        for each in message.partition_responses:
            yield short_name(each.partition), each.error.name
    elif (error := error_in(message)) is not None:
        yield "error", error.name
    if isinstance(message, ShareAcknowledgeResponse | TxnShareAcknowledgeResponse):
        for result in message.responses[1:]:
            yield short_name(result.partition), result.error.name


def _fetched_partitions(app: Application | None, source: str, message: Message) -> Iterator[Guard]:
    """Yield the results of a share fetch for each partition, if its client asks for those of a session."""
    client = app.client_at(source) if app is not None else None
    if not isinstance(message, ShareFetchResponse):
        return
    if isinstance(client, ShareConsumer) and not client.by_session:
        return
    for fetched in message.responses:
        yield f"{fetched.partition}, fetch", fetched.error.name
        yield f"{fetched.partition}, acknowledgements", fetched.acknowledge_error.name
        offsets = tuple(record.offset for record in fetched.records)
        yield f"{fetched.partition}, records", render_list(offsets)


def _answered_client(app: Application, source: str, message: Message) -> Iterator[Guard]:
    client = app.client_at(source)
    if isinstance(client, Holder):
        yield "producer state", client.state_name
        if isinstance(message, GIVES_EPOCH) and message.producer_epoch >= 0:
            told, own = number(message.producer_epoch), number(client.manager.producer_epoch)
            yield "epoch", f"response {told} · client {own}"
        return
    if isinstance(message, FetchResponse):
        yield "records received", str(sum(len(part.records) for part in message.responses))
    if isinstance(message, ShareFetchResponse):
        found = sum(len(part.records) for part in message.responses)
        yield "records received", str(found)
    if isinstance(app.consumer, ShareConsumer):
        yield "session epoch", str(app.consumer.sessions.epoch)
    else:
        yield "position", number(app.consumer.position)
