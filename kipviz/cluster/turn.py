"""One step in progress: the only place that carries out the effects of roles and clients.

A turn starts from a world, applies one action, follows its effects until nothing is left to do within the step, and
ends in the next world. It is the one mutable object below the trace, and it never outlives the step.
"""

from __future__ import annotations

from functools import lru_cache

from kipviz.brokers.checks import Checked
from kipviz.brokers.context import (
    Context,
    Controller,
    Effects,
    Image,
    LocalCall,
    Reply,
    ReplyTo,
    Request,
)
from kipviz.brokers.groups import several_groups
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.local_calls import is_local
from kipviz.brokers.logs.partition_log import (
    append,
    delete_records,
    forget,
    replicate,
)
from kipviz.brokers.rules import BrokerRules
from kipviz.brokers.settings import SimplifiedConsumers
from kipviz.brokers.share_leaders import share_fetching
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.brokers.share_transactions import staging_requests
from kipviz.clients import settling
from kipviz.clients.application import Application
from kipviz.clients.rules import ClientRules
from kipviz.cluster import admission, dispatch, replication_control, topic_authorization
from kipviz.cluster.actions import TimeOutTransaction
from kipviz.cluster.operating import order_acls
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.cluster.timing import deadlines
from kipviz.cluster.timing.clock import advance_deadlines
from kipviz.cluster.timing.timers import ages
from kipviz.cluster.world import (
    BrokerRole,
    Connection,
    Envelope,
    RoleKey,
    World,
    broker_host,
    channel_of,
    host_of,
    idle,
    is_loading,
    role_as,
    role_at,
    role_key,
)
from kipviz.core.model import Event
from kipviz.messages.apis.api import Role
from kipviz.messages.apis.catalogue import reject_request
from kipviz.messages.errors import Errors
from kipviz.messages.events import (
    ConnectionLost,
    LeftOnItsWay,
    LogPruned,
    MessageDelivered,
    MessageSent,
    NoResponse,
    NotSent,
    TimePassed,
)
from kipviz.messages.logs.producing import ACKS_NONE, Produce, ProduceResponse
from kipviz.messages.message import Message
from kipviz.messages.parts import has_results
from kipviz.records.batches import NO_TIMESTAMP, Batch


@lru_cache(maxsize=256)
def _hosts(brokers: tuple[int, ...]) -> frozenset[str]:
    """Return the hosts of some brokers, as a set for lookups."""
    return frozenset(map(broker_host, brokers))


class Turn:
    """A step in progress."""

    def __init__(
        self,
        world: World,
        spec: ClusterSpec,
        broker_rules: BrokerRules,
        client_rules: ClientRules,
        simplified: SimplifiedConsumers | None = None,
    ) -> None:
        """Start from a world; a caller that takes many steps passes `spec.simplified`, which it has looked up once."""
        self.image: Image = world.image
        self.logs = world.logs
        self.roles = world.roles
        self.applications = world.applications
        self.connections = world.connections
        self.up = world.up
        self.budget = world.budget
        self.cuts = world.cuts
        self.next_producer_id = world.next_producer_id
        self._before = world
        self._deadlines = world.deadlines
        self.now_ms = world.now_ms
        self.events: list[Event] = []
        self.checks: list[Checked] = []
        self._broker_rules = broker_rules
        self.client_rules = client_rules
        self.spec = spec
        self._simplified = spec.simplified if simplified is None else simplified
        self._settings = spec.settings
        self.instant = spec.replication == "instant"
        self._timed = spec.clock.timed
        self._ages = ages(world) if self._timed else ()
        self._known: Controller | None = None

    def world(self) -> World:
        """Return the world as it is now."""
        world = World(
            self.image,
            self.logs,
            self.roles,
            self.applications,
            self.connections,
            self.up,
            self.budget,
            self.cuts,
            self.next_producer_id,
            self._deadlines,
            self.now_ms,
        )
        if not self._timed:
            return world
        return world.but(
            deadlines=deadlines.after_step(
                self.spec, self._before, world, self.events, self.context
            )
        )

    def pass_time(self) -> None:
        """Let the time of one tick pass."""
        elapsed = deadlines.tick_of(self.spec, self._before)
        self._deadlines = advance_deadlines(self._deadlines, elapsed)
        if self.now_ms != NO_TIMESTAMP:
            self.now_ms += elapsed
        self.events.append(TimePassed(elapsed))

    def scan_overdue(self, action: TimeOutTransaction) -> tuple[str, ...]:
        """Return the overdue transactions that one scan of a coordinator finds."""
        return deadlines.scan_overdue(self._before, action)

    # -- roles ---------------------------------------------------------------------------------

    def context(self, broker: int, client_id: str = "") -> Context:
        """Return what a role on a broker may read; `client_id` is that of the request which it handles."""
        return Context(
            broker,
            self.image,
            self.logs,
            self._broker_rules,
            self.next_producer_id,
            self._settings,
            self._ages,
            self.now_ms,
            self._simplified,
            self._controller(),
            client_id,
        )

    def _controller(self) -> Controller:
        """Return what the controller knows, once for all handlers of a step unless a broker starts or stops."""
        known = self._known
        if known is None or known.up is not self.up:
            known = self._known = replication_control.controller_of(self.spec, self.up)
        return known

    def carry_out(self, key: RoleKey, effects: Effects[BrokerRole | None]) -> None:
        """Carry out a handler's effects: state, log, messages, local calls, in that order."""
        leader = effects.state
        if type(leader) is ShareLeader and (leader.calls or leader.waiting):
            effects = self._gather_parts(effects.with_state(leader), key[0])
        if effects.state is not None:
            self.roles = self.roles.set(key, effects.state)
        if effects.checks:
            self.checks.append(Checked(*key, effects.checks))
        self.next_producer_id += effects.new_producer_ids
        self.events += effects.events
        for partition, batch in effects.appends:
            log = append(self.logs[partition], self._add_time(batch))
            at_once = self.instant and self.image.has_enough_replicas(partition)
            self.logs = self.logs.set(partition, replicate(log) if at_once else log)
        for partition, offset in effects.given_up:
            log = self.logs[partition]
            self.logs = self.logs.set(partition, log.but(given_up=(*log.given_up, offset)))
        for partition, up_to in effects.deletes:
            self.logs = self.logs.set(partition, delete_records(self.logs[partition], up_to))
        for partition, producer_id in effects.forgets:
            self.logs = self.logs.set(partition, forget(self.logs[partition], producer_id))
        if effects.acls is not None:
            self.image = self.image.but(acls=order_acls(self.spec, effects.acls))
        for new in effects.creates:
            replication_control.create_topic(self, new)
        for topic in effects.drops:
            replication_control.delete_topic(self, topic)
        for topic, configs in effects.configs:
            replication_control.set_configs(self, topic, configs)
        broker = key[0]
        for request in effects.requests:
            self._request(broker, request)
        for reply in effects.replies:
            self._reply(reply)
        for call in effects.local:
            self._local(broker, call)
        if key[1] == Role.KAFKA_APIS:
            for partition, _ in effects.deletes:
                self.notify(partition)  # an operator's deletion: share-partitions notice it
        if self.instant:
            for partition, _ in effects.appends:
                if self.image.has_enough_replicas(partition):
                    self.notify(partition)

    def _gather_parts(self, done: Effects[ShareLeader], broker: int) -> Effects[ShareLeader]:
        """Let a share-partition leader put together the results of requests in several parts."""
        if done.state.calls:
            done = staging_requests.collect_results(done, self.context(broker))
        if done.state.waiting:
            done = share_fetching.answer_fetches(done, self.context(broker))
        return done

    def _add_time(self, batch: Batch) -> Batch:
        """Return a batch with its time of append, if records carry timestamps."""
        if self.now_ms == NO_TIMESTAMP:
            return batch
        return batch.but(max_timestamp_ms=self.now_ms)

    def replicate(self, partition: str) -> None:
        """Advance a partition's high watermark to its end and notify its roles."""
        self.logs = self.logs.set(partition, replicate(self.logs[partition]))
        self.notify(partition)

    def notify(self, partition: str) -> None:
        """Notify the roles that lead a partition that its high watermark advanced."""
        broker = self.image.leader_of(partition)
        key = role_key(broker, partition)
        role = self.roles.get(key)
        if role is None or is_loading(role):
            return
        self.carry_out(key, dispatch.on_replicated(role, self.context(broker)))
        if key[1] == Role.PARTITION_LEADER:
            shares = (broker, Role.SHARE_PARTITION_LEADER, "")
            leader = role_as(self.roles[shares], ShareLeader)
            done = dispatch.records_replicated(leader, partition, self.context(broker))
            self.carry_out(shares, done)

    def _local(self, broker: int, call: LocalCall) -> None:
        key = (broker, call.role, dispatch.shard_of(call.role, call.shard))
        role = self.roles.get(key)
        if role is not None:
            message = call.message
            assert is_local(message), message
            self.carry_out(key, dispatch.local(role, message, self.context(broker)))

    # -- messages ------------------------------------------------------------------------------

    def put_request(self, source: str, broker: int, envelope: Envelope) -> None:
        """Put a request on a connection, opening it if it is not open."""
        place = (source, broker)
        connection = self.connections.get(place) or Connection()
        self.connections = self.connections.set(
            place, connection.but(requests=(*connection.requests, envelope), open=True)
        )
        header = (envelope.client_id, envelope.correlation_id)
        self.events.append(MessageSent(source, broker, "request", envelope.message, *header))

    def _request(self, broker: int, request: Request) -> None:
        source = channel_of(broker, request.channel)
        envelope = Envelope(request.message, request.role, request.shard, request.tag)
        self.put_request(source, request.broker, envelope)
        if request.broker not in self.up:
            self.lose(source, request.broker)  # it has waited for a broker that is down

    def _reply(self, reply: Reply) -> None:
        to, desk = reply.to, (reply.to.broker, several_groups.DESK, "")
        apis = role_at(self.roles, desk, KafkaApis)
        if apis is not None and several_groups.waits_for(apis, to):
            self.carry_out(desk, several_groups.on_answered(apis, reply))
            return
        connection = self.connections.get((to.source, to.broker))
        serving = connection.serving if connection is not None else None
        if connection is None or serving is None or connection.incarnation != to.incarnation:
            return
        message = reply.message
        if has_results(message):
            serving, whole = topic_authorization.collect_part(serving, message)
            if whole is None:
                held = connection.but(serving=serving)
                self.connections = self.connections.set((to.source, to.broker), held)
                return
            message = whole
        if connection.left:
            # The connection is closed at the other end; the next request after the answered one continues.
            place, after = (to.source, to.broker), connection.but(serving=None)
            known = self.connections
            self.connections = known.set(place, after) if after.requests else known.without(place)
            return
        if serving.refused:
            message = topic_authorization.add_topic_errors(
                message, serving.message, serving.refused
            )
            lacking = admission.lacking(serving.refused)
            if not any(lacking[0] in each.checks for each in self.checks):
                self.checks.append(Checked(*desk, lacking))
        if isinstance(serving.message, Produce) and serving.message.acks == ACKS_NONE:
            self._end_silently(to, message)
            return
        number = serving.correlation_id
        answer = Envelope(message, serving.role, serving.shard, serving.tag, correlation_id=number)
        self.connections = self.connections.set(
            (to.source, to.broker),
            connection.but(serving=None, responses=(*connection.responses, answer)),
        )
        self.events.append(
            MessageSent(to.source, to.broker, "response", message, correlation_id=number)
        )

    def _end_silently(self, to: ReplyTo, result: Message) -> None:
        """End a Produce with acks=0: no response is sent, and after an error the broker closes the connection.

        Source: KafkaApis.handleProduceRequest (sendNoOpResponseExemptThrottle, closeConnection).
        """
        place = (to.source, to.broker)
        after = self.connections[place].but(serving=None)
        if not (after.responses or after.requests):
            after = idle(after.incarnation)
        self.connections = self.connections.set(place, after)
        self.events.append(NoResponse(to.source, to.broker, result))
        assert isinstance(result, ProduceResponse), result
        if any(each.error is not Errors.NONE for each in result.partition_responses):
            self.lose(to.source, to.broker)

    def deliver_request(self, source: str, broker: int) -> None:
        """Let a broker handle the next request of a connection."""
        connection = self.connections[source, broker]
        envelope = connection.requests[0]
        self.connections = self.connections.set(
            (source, broker), connection.but(requests=connection.requests[1:], serving=envelope)
        )
        message = envelope.message
        self.events.append(MessageDelivered(source, broker, "request", message))
        reply_to = ReplyTo(source, broker, connection.incarnation)
        entry = admission.admit(
            message,
            source,
            broker,
            self.image,
            self._broker_rules,
            self._simplified,
            privileged=self._is_broker(host_of(source)),
        )
        checks = entry.checks
        if entry.kept_out:
            connection = self.connections[source, broker]
            served = connection.but(serving=envelope.but(refused=entry.kept_out))
            self.connections = self.connections.set((source, broker), served)
        message, refused = entry.message, entry.refusal
        key = dispatch.role_for(message, broker, self.image)
        role = self.roles.get(key)
        if refused is None and role is None:
            refused, here = admission.reject_unserved(message, key, self.image, self._broker_rules)
            checks += here
        elif refused is None:
            checks += admission.leader_check(key, self.image)
        if refused is not None:
            self.checks.append(Checked(*key, checks))
            self._reply(Reply(reply_to, refused))
            return
        if checks:
            self.checks.append(Checked(*key, checks))
        assert role is not None, key  # without it the request was refused
        client_id = envelope.client_id
        on = self.context(broker, host_of(source) if client_id is None else client_id)
        self.carry_out(key, dispatch.request(role, message, reply_to, on))

    def _is_broker(self, host: str) -> bool:
        """Return whether a host is a broker's: brokers are super users."""
        return host in _hosts(self.spec.brokers)

    def refuse_to_send(
        self, source: str, broker: int, request: Message, correlation_id: int
    ) -> None:
        """Pass to a client the error of a request that the broker's ApiVersions does not name.

        Source: NetworkClient.doSend, which returns a version mismatch itself.
        """
        self.events.append(NotSent(source, broker, request))
        answer = reject_request(request, Errors.UNSUPPORTED_VERSION)
        name = host_of(source)
        app = dispatch.client_response(
            self.applications[name], source, answer, correlation_id=correlation_id
        )
        self.applications = self.applications.set(name, settling.settle(app, self.client_rules))

    def deliver_response(self, source: str, broker: int) -> None:
        """Pass a response to the client or role that sent the request."""
        connection = self.connections[source, broker]
        envelope = connection.responses[0]
        after = connection.but(responses=connection.responses[1:])
        if not (after.responses or after.requests or after.serving):
            after = idle(after.incarnation)
        self.connections = self.connections.set((source, broker), after)
        self.events.append(MessageDelivered(source, broker, "response", envelope.message))
        host = host_of(source)
        application = self.applications.get(host)
        if application is not None:
            asker = str(envelope.tag) or source
            told = dispatch.client_response(
                application, asker, envelope.message, self.now_ms, envelope.correlation_id
            )
            self.settle(told)
            return
        if not self._is_broker(host):
            return  # a client outside the model: its server reads the event
        home = int(host[1:])
        key = (home, envelope.role, dispatch.shard_of(envelope.role, envelope.shard))
        role = self.roles.get(key)
        if role is not None:
            done = dispatch.broker_response(role, source, envelope, self.context(home))
            self.carry_out(key, done)

    def settle(self, application: Application) -> None:
        """Update a process's clients about each other; a closed session closes its connections."""
        settled = settling.settle(application, self.client_rules)
        before, after = self.applications[settled.name].session, settled.session
        self.applications = self.applications.set(settled.name, settled)
        if before is None or after is None or before.closed or not after.closed:
            return
        for source, broker in tuple(self.connections):
            if source == after.source and self.connections[source, broker].open:
                self.lose(source, broker)

    def lose(self, source: str, broker: int, *, leaves: bool = False) -> None:
        """Break a connection: nothing on it arrives, both ends notice.

        If the client `leaves` it, the broker may still read what is in flight to it.
        """
        place = (source, broker)
        connection = self.connections[place]
        if connection.left:
            messages = tuple(("request", e.message) for e in connection.requests)
            self.connections = self.connections.without(place)
            self.events.append(ConnectionLost(source, broker, messages))
            return
        if leaves and connection.requests:
            self._leave(source, broker, connection)
            self.lose(source, broker)
            return
        gone: list[tuple[str, Message]] = [("request", e.message) for e in connection.requests]
        gone += [("response", e.message) for e in connection.responses]
        self.connections = self.connections.set(
            place, Connection(incarnation=connection.incarnation + 1, open=False)
        )
        self.events.append(ConnectionLost(source, broker, tuple(gone)))
        waiting = [*connection.requests, *connection.responses]
        if connection.serving is not None:
            waiting.append(connection.serving)
        shares = (broker, Role.SHARE_PARTITION_LEADER, "")
        if shares in self.roles:
            leader = role_as(self.roles[shares], ShareLeader)
            done = dispatch.consumer_gone(leader, source, self.context(broker))
            self.carry_out(shares, done)
        self._tell_source(source, broker, tuple(waiting))

    def _leave(self, source: str, broker: int, connection: Connection) -> None:
        """Keep the requests of a connection in flight, under a name of their own."""
        late = f"{source} #{connection.incarnation}"
        old = Connection(connection.requests, incarnation=connection.incarnation, left=True)
        self.connections = self.connections.set((late, broker), old)
        messages = tuple(e.message for e in connection.requests)
        self.events.append(LeftOnItsWay(source, broker, late, messages))

    def _tell_source(self, source: str, broker: int, waiting: tuple[Envelope, ...]) -> None:
        host = host_of(source)
        application = self.applications.get(host)
        if application is not None:
            if application.alive:
                told = dispatch.client_disconnected(application, source, broker)
                settled = settling.settle(told, self.client_rules)
                self.applications = self.applications.set(host, settled)
            return
        if not self._is_broker(host):
            return
        home = int(host[1:])
        for envelope in waiting:
            key = (home, envelope.role, dispatch.shard_of(envelope.role, envelope.shard))
            if key in self.roles:
                role, on = self.roles[key], self.context(home)
                self.carry_out(key, dispatch.request_lost(role, source, envelope, on))

    def delete_oldest(self, partition: str) -> None:
        """Delete a partition's oldest batch on all replicas, and notify its readers."""
        log = self.logs[partition]
        up_to = log.batches[0].last_offset + 1
        self.logs = self.logs.set(partition, delete_records(log, up_to))
        self.events.append(LogPruned(partition, log.start_offset, up_to))
        self.notify(partition)

    def load(self, key: RoleKey) -> None:
        """Make a coordinator active: the records of its log count now, whatever responses were sent before."""
        self.carry_out(key, dispatch.load_role(self.roles[key], self.context(key[0])))
        log = self.logs[key[2]]
        if log.given_up:
            self.logs = self.logs.set(key[2], log.but(given_up=()))
