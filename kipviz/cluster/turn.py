"""One step while it happens: the only place that carries out what roles and clients want.

A turn starts from a world, lets one action happen, follows its effects until nothing is left to
do within the step, and ends in the next world. It is the one mutable thing below the trace, and
it never outlives the step.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kipviz.brokers.checks import Checked
from kipviz.brokers.context import (
    NOBODY,
    Context,
    Effects,
    Image,
    LocalCall,
    Reply,
    ReplyTo,
    Request,
)
from kipviz.brokers.groups import several_groups
from kipviz.brokers.logs.partition_log import (
    PartitionLog,
    append,
    delete_records,
    forget,
    rebuild,
    replicate,
)
from kipviz.brokers.rules import BrokerRules
from kipviz.brokers.share_leaders import share_fetching
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.brokers.share_leaders.share_partition_leader import ROLE as SHARE_LEADER
from kipviz.brokers.share_transactions import staging_requests
from kipviz.clients.application import Application
from kipviz.clients.rules import ClientRules
from kipviz.clients.sessions import binding
from kipviz.cluster import admission, dispatch, topic_authorization
from kipviz.cluster.actions import TimeOutTransaction
from kipviz.cluster.operating import ordered
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.cluster.timing import deadlines
from kipviz.cluster.timing.clock import passed
from kipviz.cluster.timing.timers import ages
from kipviz.cluster.world import (
    Connection,
    Envelope,
    RoleKey,
    World,
    broker_host,
    channel_of,
    host_of,
    host_roles,
    idle,
    leadership,
    new_role,
    role_key,
)
from kipviz.core.model import Event
from kipviz.messages.apis.catalogue import refused
from kipviz.messages.errors import Errors
from kipviz.messages.events import (
    ConnectionLost,
    LeaderMoved,
    LeftOnItsWay,
    LogPruned,
    MessageDelivered,
    MessageSent,
    NotSent,
    TimePassed,
    TopicCreated,
    TopicDeleted,
    TopicRemade,
)
from kipviz.messages.message import Message
from kipviz.records.batches import NO_TIMESTAMP, Batch, DataRecord
from kipviz.records.placement import topic_of


@lru_cache(maxsize=256)
def _hosts(brokers: tuple[int, ...]) -> frozenset[str]:
    """Give the hosts of some brokers, to be looked up in."""
    return frozenset(map(broker_host, brokers))


class Turn:
    """A step in progress."""

    def __init__(
        self,
        world: World,
        spec: ClusterSpec,
        broker_rules: BrokerRules,
        client_rules: ClientRules,
    ) -> None:
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
        self._settings = spec.settings
        self._instant = spec.replication == "instant"
        self._timed = spec.clock.timed
        self._ages = ages(world) if self._timed else ()

    def world(self) -> World:
        """Give the world as it is now."""
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
        self._deadlines = passed(self._deadlines, elapsed)
        if self.now_ms != NO_TIMESTAMP:
            self.now_ms += elapsed
        self.events.append(TimePassed(elapsed))

    def scanned(self, action: TimeOutTransaction) -> tuple[str, ...]:
        """Give the transactions that one scan of a coordinator finds."""
        return deadlines.scanned(self._before, action)

    # -- roles ---------------------------------------------------------------------------------

    def context(self, broker: int) -> Context:
        """Give what a role on a broker may look at."""
        return Context(
            broker,
            self.image,
            self.logs,
            self._broker_rules,
            self.next_producer_id,
            self._settings,
            self._ages,
            self.now_ms,
        )

    def carry_out(self, key: RoleKey, effects: Effects) -> None:
        """Make what a handler wants happen: state, log, wire, calls next door, in that order."""
        if type(effects.state) is ShareLeader:
            if effects.state.calls:
                effects = staging_requests.gathered(effects, self.context(key[0]))
            if effects.state.waiting:
                effects = share_fetching.gathered(effects, self.context(key[0]))
        if effects.state is not None:
            self.roles = self.roles.set(key, effects.state)
        if effects.checks:
            self.checks.append(Checked(*key, effects.checks))
        self.next_producer_id += effects.new_producer_ids
        self.events += effects.events
        for partition, batch in effects.appends:
            log = append(self.logs[partition], self._dated(batch))
            at_once = self._instant and self.image.has_enough_replicas(partition)
            self.logs = self.logs.set(partition, replicate(log) if at_once else log)
        for partition, offset in effects.given_up:
            log = self.logs[partition]
            self.logs = self.logs.set(partition, log.but(given_up=(*log.given_up, offset)))
        for partition, up_to in effects.deletes:
            self.logs = self.logs.set(partition, delete_records(self.logs[partition], up_to))
        for partition, producer_id in effects.forgets:
            self.logs = self.logs.set(partition, forget(self.logs[partition], producer_id))
        if effects.acls is not None:
            self.image = self.image.but(acls=ordered(self.spec, effects.acls))
        for topic in effects.creates:
            self.create_topic(topic)
        broker = key[0]
        for request in effects.requests:
            self._request(broker, request)
        for reply in effects.replies:
            self._reply(reply)
        for call in effects.local:
            self._local(broker, call)
        if self._instant:
            for partition, _ in effects.appends:
                if self.image.has_enough_replicas(partition):
                    self.notify(partition)

    def _dated(self, batch: Batch) -> Batch:
        """Give a batch with the time at which it is appended, where records carry it."""
        if self.now_ms == NO_TIMESTAMP:
            return batch
        return batch.but(max_timestamp_ms=self.now_ms)

    def replicate(self, partition: str) -> None:
        """Move a partition's high watermark to its end and tell who waits for it."""
        self.logs = self.logs.set(partition, replicate(self.logs[partition]))
        self.notify(partition)

    def notify(self, partition: str) -> None:
        """Tell the roles that lead a partition that its high watermark moved."""
        broker = self.image.leader_of(partition)
        key = role_key(broker, partition)
        role = self.roles.get(key)
        if role is None or getattr(role, "loading", False):
            return
        self.carry_out(key, dispatch.on_replicated(role, self.context(broker)))
        if key[1] == "partition_leader":
            shares = (broker, SHARE_LEADER, "")
            done = dispatch.records_replicated(self.roles[shares], partition, self.context(broker))
            self.carry_out(shares, done)

    def _local(self, broker: int, call: LocalCall) -> None:
        key = (broker, call.role, dispatch.shard_of(call.role, call.shard))
        role = self.roles.get(key)
        if role is not None:
            message: Any = call.message  # one of `local.Local`, whose classes know `LocalCall`
            self.carry_out(key, dispatch.local(role, message, self.context(broker)))

    # -- the wire ------------------------------------------------------------------------------

    def put_request(self, source: str, broker: int, envelope: Envelope) -> None:
        """Put a request on a connection, opening it if it is not open."""
        place = (source, broker)
        connection = self.connections.get(place) or Connection()
        self.connections = self.connections.set(
            place, connection.but(requests=(*connection.requests, envelope), open=True)
        )
        self.events.append(MessageSent(source, broker, "request", envelope.message))

    def _request(self, broker: int, request: Request) -> None:
        source = channel_of(broker, request.channel)
        envelope = Envelope(request.message, request.role, request.shard, request.tag)
        self.put_request(source, request.broker, envelope)
        if request.broker not in self.up:
            self.lose(source, request.broker)  # it has waited for a broker that is gone

    def _reply(self, reply: Reply) -> None:
        to, desk = reply.to, (reply.to.broker, several_groups.DESK, "")
        if several_groups.waits_for(self.roles.get(desk), to):
            self.carry_out(desk, several_groups.on_answered(self.roles[desk], reply))
            return
        connection = self.connections.get((to.source, to.broker))
        serving = connection.serving if connection is not None else None
        if connection is None or serving is None or connection.incarnation != to.incarnation:
            return
        message = reply.message
        if isinstance(message, topic_authorization.OF_PARTS):
            serving, whole = topic_authorization.gathered(serving, message)
            if whole is None:
                held = connection.but(serving=serving)
                self.connections = self.connections.set((to.source, to.broker), held)
                return
            message = whole
        if connection.left:
            # Nobody is at the other end any more; what is behind the answered request goes on.
            place, after = (to.source, to.broker), connection.but(serving=None)
            known = self.connections
            self.connections = known.set(place, after) if after.requests else known.without(place)
            return
        if serving.refused:
            message = topic_authorization.told(message, serving.message, serving.refused)
            lacking = admission.lacking(serving.refused)
            if not any(lacking[0] in each.checks for each in self.checks):
                self.checks.append(Checked(*desk, lacking))
        answer = Envelope(message, serving.role, serving.shard, serving.tag)
        self.connections = self.connections.set(
            (to.source, to.broker),
            connection.but(serving=None, responses=(*connection.responses, answer)),
        )
        self.events.append(MessageSent(to.source, to.broker, "response", message))

    def deliver_request(self, source: str, broker: int) -> None:
        """Let a broker take the next request of a connection."""
        connection = self.connections[source, broker]
        envelope = connection.requests[0]
        self.connections = self.connections.set(
            (source, broker), connection.but(requests=connection.requests[1:], serving=envelope)
        )
        message = envelope.message
        self.events.append(MessageDelivered(source, broker, "request", message))
        reply_to = ReplyTo(source, broker, connection.incarnation)
        entry = admission.admitted(
            message,
            source,
            broker,
            self.image,
            self._broker_rules,
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
            refused, here = admission.unserved(message, key, self.image, self._broker_rules)
            checks += here
        elif refused is None:
            checks += admission.served(key, self.image)
        if refused is not None:
            self.checks.append(Checked(*key, checks))
            self._reply(Reply(reply_to, refused))
            return
        if checks:
            self.checks.append(Checked(*key, checks))
        self.carry_out(key, dispatch.request(role, message, reply_to, self.context(broker)))

    def _is_broker(self, host: str) -> bool:
        """Say whether a host is a broker's: brokers are super users."""
        return host in _hosts(self.spec.brokers)

    def refuse_to_send(self, source: str, broker: int, request: Message) -> None:
        """Let a client have the error of a request that the broker's ApiVersions does not name.

        Source: NetworkClient.doSend, which answers with a version mismatch itself.
        """
        self.events.append(NotSent(source, broker, request))
        answer = refused(request, Errors.UNSUPPORTED_VERSION)
        name = host_of(source)
        app = dispatch.client_response(self.applications[name], source, answer)
        self.applications = self.applications.set(name, binding.settle(app, self.client_rules))

    def deliver_response(self, source: str, broker: int) -> None:
        """Let whoever asked have the answer."""
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
            asker = envelope.tag or source
            self.settle(dispatch.client_response(application, asker, envelope.message))
            return
        if not self._is_broker(host):
            return  # a client outside the model: whoever serves it reads the event
        home = int(host[1:])
        key = (home, envelope.role, dispatch.shard_of(envelope.role, envelope.shard))
        role = self.roles.get(key)
        if role is not None:
            done = dispatch.broker_response(role, envelope, self.context(home))
            self.carry_out(key, done)

    def settle(self, application: Application) -> None:
        """Let a process's clients hear of each other; a session that was closed closes its connections."""
        settled = binding.settle(application, self.client_rules)
        before, after = self.applications[settled.name].session, settled.session
        self.applications = self.applications.set(settled.name, settled)
        if before is None or after is None or before.closed or not after.closed:
            return
        for source, broker in tuple(self.connections):
            if source == after.source and self.connections[source, broker].open:
                self.lose(source, broker)

    def lose(self, source: str, broker: int, *, leaves: bool = False) -> None:
        """Break a connection: nothing on it arrives, both ends notice.

        If the client `leaves` it, the broker may still read what is on its way to it.
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
        shares = (broker, SHARE_LEADER, "")
        if shares in self.roles:
            done = dispatch.consumer_gone(self.roles[shares], source, self.context(broker))
            self.carry_out(shares, done)
        self._tell_source(source, broker, tuple(waiting))

    def _leave(self, source: str, broker: int, connection: Connection) -> None:
        """Let the requests of a connection stay on their way, under a name of their own."""
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
                settled = binding.settle(told, self.client_rules)
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
        """Delete a partition's oldest batch on all replicas, and tell who reads it."""
        log = self.logs[partition]
        up_to = log.batches[0].last_offset + 1
        self.logs = self.logs.set(partition, delete_records(log, up_to))
        self.events.append(LogPruned(partition, log.start_offset, up_to))
        self.notify(partition)

    def load(self, key: RoleKey) -> None:
        """Let a coordinator take office: what is in its log counts now, whatever was told before."""
        self.carry_out(key, dispatch.loaded(self.roles[key], self.context(key[0])))
        log = self.logs[key[2]]
        if log.given_up:
            self.logs = self.logs.set(key[2], log.but(given_up=()))

    def _in_sync_changed(self) -> None:
        """Follow the brokers that run: what was short of replicas goes on when it is not any more."""
        if not self.image.min_insync_replicas:
            return
        offline = tuple(b for b in self.spec.brokers if b not in self.up)
        before, self.image = self.image, self.image.but(offline=offline)
        for partition in self.image.leaders:
            if before.has_enough_replicas(partition) or not self.image.has_enough_replicas(
                partition
            ):
                continue
            if self._instant:
                self.replicate(partition)
            key = role_key(self.image.leader_of(partition), partition)
            if key in self.roles and dispatch.heeds_image(
                self.roles[key], partition, was_leaderless=False
            ):
                self.carry_out(key, dispatch.image_changed(self.roles[key], self.context(key[0])))

    # -- leaders and hosts ---------------------------------------------------------------------

    def elect(self, partition: str, to: int) -> None:
        """Give a partition to another broker, or to nobody (-1)."""
        held = self.image.leaders[partition]
        fresh = held.but(leader=to, epoch=held.epoch + 1)
        self.image = self.image.but(leaders=self.image.leaders.set(partition, fresh))
        self.events.append(LeaderMoved(partition, held.leader, to, fresh.epoch))
        self._resign(held.leader, partition)
        self.logs = self.logs.set(partition, rebuild(self.logs[partition]))
        if to != NOBODY:
            loading = role_key(to, partition)[1] != "partition_leader"
            self.roles = self.roles.set(
                role_key(to, partition), new_role(partition, fresh, loading=loading)
            )
            self._image_changed((partition,), was_leaderless=held.leader == NOBODY)

    def _image_changed(self, partitions: tuple[str, ...], *, was_leaderless: bool) -> None:
        """Let every role that heeds it learn what has become of some partitions."""
        for key in self.roles:
            role = self.roles[key]
            if any(
                dispatch.heeds_image(role, p, was_leaderless=was_leaderless) for p in partitions
            ):
                self.carry_out(key, dispatch.image_changed(role, self.context(key[0])))

    def _resign(self, broker: int, partition: str) -> None:
        key = role_key(broker, partition)
        role = self.roles.get(key)
        if role is None:
            return
        self.roles = self.roles.without(key)
        self.carry_out((broker, "", ""), dispatch.resigned(role, self.context(broker)))
        if key[1] == "partition_leader":
            shares = (broker, SHARE_LEADER, "")
            done = dispatch.leadership_lost(self.roles[shares], partition, self.context(broker))
            self.carry_out(shares, done)

    def crash(self, broker: int) -> None:
        """Stop a broker: its roles are gone, its partitions move, its connections break."""
        self.up = tuple(b for b in self.up if b != broker)
        self._in_sync_changed()
        for key in tuple(self.roles):
            if key[0] == broker:
                self.roles = self.roles.without(key)
        for partition, held in self.image.leaders.items():
            if held.leader == broker:
                heirs = [b for b in held.replicas if b in self.up]
                self.elect(partition, heirs[0] if heirs else NOBODY)
        host = broker_host(broker)
        for source, other in tuple(self.connections):
            if (other == broker or host_of(source) == host) and self.connections[
                source, other
            ].open:
                self.lose(source, other)

    def start(self, broker: int) -> None:
        """Bring a broker back; it takes over what nobody leads."""
        self.up = tuple(sorted((*self.up, broker)))
        for key, role in host_roles(broker).items():
            self.roles = self.roles.set(key, role)
        for partition, held in self.image.leaders.items():
            if held.leader == NOBODY and broker in held.replicas:
                self.elect(partition, broker)
        self._in_sync_changed()

    def remake(self, topic: str) -> None:
        """Delete a topic and make it again: another id, other records, nothing that was known of it."""
        fresh = next(each for each in self.spec.remade if each.topic == topic)
        before = self.image.topic_ids[topic]
        ids = self.image.topic_ids.set(topic, fresh.topic_id)
        self.image = self.image.but(topic_ids=ids)
        self.events.append(TopicRemade(topic, before, fresh.topic_id))
        for partition, held in self.image.leaders.items():
            if topic_of(partition) != topic:
                continue
            first = partition == f"{topic}-0"
            log = PartitionLog(partition)
            for offset, value in enumerate(fresh.values if first else ()):
                log = append(log, Batch(offset, (DataRecord(value),)))
            self.logs = self.logs.set(partition, replicate(log))
            if held.leader != NOBODY:
                self.elect(partition, held.leader)
        self._tell_of_deletion(topic, before)

    def delete_topic(self, topic: str) -> None:
        """Delete a topic for good: who leads its partitions says so, and who knows of it forgets it.

        Its logs are empty, and nobody leads them.
        """
        gone = {p: held for p, held in self.image.leaders.items() if topic_of(p) == topic}
        leaders = self.image.leaders
        for partition in gone:
            leaders = leaders.without(partition)
            self.logs = self.logs.set(partition, PartitionLog(partition))
        topic_id = self.image.topic_ids[topic]
        ids = self.image.topic_ids.without(topic)
        self.image = self.image.but(leaders=leaders, topic_ids=ids)
        self.events.append(TopicDeleted(topic, topic_id))
        for partition, held in gone.items():
            self._resign(held.leader, partition)
        self._tell_of_deletion(topic, topic_id)
        self._image_changed(tuple(gone), was_leaderless=True)

    def _tell_of_deletion(self, topic: str, topic_id: str) -> None:
        for key in self.roles:
            on = self.context(key[0])
            self.carry_out(key, dispatch.topic_deleted(self.roles[key], topic, topic_id, on))

    def create_topic(self, topic: str) -> None:
        """Make a topic that was placed and not there; partitions of brokers that are down wait for them."""
        topic_id = dict(self.spec.topic_ids)[topic]
        ids = self.image.topic_ids.set(topic, topic_id)
        self.image = self.image.but(topic_ids=ids)
        self.events.append(TopicCreated(topic, topic_id))
        for placed in self.spec.placements:
            if topic_of(placed.partition) != topic:
                continue
            held = leadership(placed)
            up = [broker for broker in held.replicas if broker in self.up]
            held = held.but(leader=up[0] if up else NOBODY)
            leaders = self.image.leaders.set(placed.partition, held)
            self.image = self.image.but(leaders=leaders)
            if up:
                fresh = new_role(placed.partition, held, loading=False)
                self.roles = self.roles.set(role_key(up[0], placed.partition), fresh)
