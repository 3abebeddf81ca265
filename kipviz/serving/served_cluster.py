"""A simulated cluster with real clients: frames in, steps of the model, frames out, without sockets or clocks.

A connection is served as a broker serves it: one request at a time, answered in order. A request becomes one message of
the model, or several, each with steps of its own: it is received, delivered, handled, answered, and the answer is
delivered. All of them are actions, so a run can be saved and replayed without its clients.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from random import Random

from kipviz.brokers.transactions import transaction_coordinator
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.cluster.actions import (
    ClusterAction,
    CrashBroker,
    Deliver,
    LoseConnection,
    Receive,
    Refresh,
    TimeOutTransaction,
)
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.real.external_clients import receive
from kipviz.cluster.real.served_run import ClientLine, RealClient
from kipviz.cluster.world import World, broker_host, host_of
from kipviz.core.model import NotEnabled
from kipviz.core.outside.optional_parts import MissingPart
from kipviz.core.outside.printable import sentence
from kipviz.core.traces.trace import Trace
from kipviz.messages.events import ConnectionLost, MessageDelivered, NoResponse
from kipviz.messages.message import Message
from kipviz.messages.wire.codec import Struct, WireError, decode_head
from kipviz.messages.wire.frame import REQUEST_HEADER, header_version
from kipviz.scenarios.run_points import HOLD, LOSE
from kipviz.scenarios.scenario import properties_of
from kipviz.serving.callers import Caller, Callers, Current
from kipviz.serving.choosing.fault_points import find_reached
from kipviz.serving.choosing.held_numbers import HeldNumbers
from kipviz.serving.choosing.own_steps import OwnSteps
from kipviz.serving.cleaning.closed_connections import forget_closed
from kipviz.serving.cleaning.log_cleaning import CLEAN_EVERY, LogCleaning
from kipviz.serving.client_hosts import ClientHosts
from kipviz.serving.delivery_rules import BY_HAND, RUNNING, Rule
from kipviz.serving.met_clients import MetClients
from kipviz.serving.server_log import ServerLog
from kipviz.serving.timing.transaction_times import Clock, Moments, no_time
from kipviz.serving.timing.waiting_polls import WaitingPolls
from kipviz.serving.translating.apis import answer_frame, apis_with
from kipviz.serving.translating.batch_bytes import KeptBatches
from kipviz.serving.translating.reply_context import ClosedConnection, ServedDesk
from kipviz.serving.translating.translate_cluster import API_VERSIONS
from kipviz.serving.translating.versions import answer_versions

STEPS_MAX = 20_000  # only so many steps are kept for display; the cluster continues without them
RECEIVED_MAX = 32 * 1024 * 1024  # bytes of requests in the kept steps
SENT_MAX = (
    64 * 1024 * 1024
)  # bytes of batches, as clients sent them, in the kept steps; cleaned early at twice as many
REQUESTS_MAX = 10_000
CLIENT_LINES_MAX = 5_000
LOST_AT_ONCE_MAX = 3
CLIENT_LINE_MAX = 500  # the maximum number of characters of a client's log line
# The beginning of a line about an error in kipviz, not in the client.
MISTAKE = "kipviz could not handle its request:"
TXN_SHARE_ACKNOWLEDGE = 93  # the key that KIP-1289 gives it
WAYS = ("request", "response")
EXPIRY = "expiry"  # the kind of the actions by which a timer expires


def why_not_handled(mistake: Exception) -> str:
    """Return the log line for a request that failed with an exception; for a missing part, its sentence."""
    if isinstance(mistake, MissingPart):
        return str(mistake)
    return f"{MISTAKE} {type(mistake).__name__}: {mistake}"


class ServedCluster:
    """A cluster of the model, its real clients, and the rules of deliveries.

    Args:
        model: the cluster.
        ports: the port of each broker.
        by: "running", or "hand": then every delivery waits for `take`.
        clock: the time in ms since 1970 for answers to operators.
        drafts: the KIPs whose draft requests are served, too.
        seed: decides which of several possible steps is taken; without one their order is fixed.

    Raises:
        ValueError: if `by` is neither, or a draft has no request.
    """

    def __init__(
        self,
        model: ClusterModel,
        ports: dict[int, int],
        by: str = RUNNING,
        clock: Clock = no_time,
        drafts: Iterable[int] = (),
        seed: int | None = None,
    ) -> None:
        if by not in (RUNNING, BY_HAND):
            raise ValueError(f"by must be {RUNNING!r} or {BY_HAND!r}, not {by!r}")
        self.model = model
        self.by = by
        self._dice = None if seed is None else Random(seed)  # noqa: S311  dice of a run
        self._apis = apis_with(drafts)
        self._own_steps = OwnSteps(model, stages=TXN_SHARE_ACKNOWLEDGE in self._apis)
        self.trace = Trace.start(model, properties_of(model))
        self.rules: list[Rule] = []
        self.callers = Callers()
        self.lines = ServerLog()
        self.asked: deque[tuple[str, str]] = deque(maxlen=REQUESTS_MAX)
        self.clients = MetClients()
        self.hosts = ClientHosts(self._is_in_model)
        self.client_lines: deque[ClientLine] = deque(maxlen=CLIENT_LINES_MAX)
        self.logged = 0
        self.polls = WaitingPolls()
        # All steps that were ever taken, and those since the last one that is kept.
        self.steps = self._beyond = 0
        # Whether steps are still kept, and the bytes of the requests in them.
        self._keeps, self._received = True, 0
        self.desk = ServedDesk(self.trace.world, ports, KeptBatches(), Moments(clock))
        self._judged: dict[tuple[str, int, str], tuple[Message, str]] = {}
        self._numbers = HeldNumbers()
        # How often a rule has lost the connections of one place since `run` was called.
        self._lost: Counter[tuple[str, int]] = Counter()
        # The world for which all long polls were looked at.
        self._looked: World | None = None
        self._cleaning = LogCleaning(model, self.lines.append, self.desk.kept)
        self._clean_at = 0

    @property
    def world(self) -> World:
        """The current state of the cluster."""
        return self.desk.world

    @property
    def newest(self) -> int:
        """The number of the newest step, kept or not."""
        return self.trace.depth + self._beyond

    # -- connections -------------------------------------------------------------------------

    def connect(self, broker: int) -> Caller:
        """Let a client connect to a broker."""
        return self.callers.add(broker)

    def disconnect(self, caller: Caller) -> None:
        """Disconnect a client: its connection breaks in the model, too."""
        if caller not in self.callers:
            return
        self.callers.remove(caller)
        self.polls.end(caller, self.trace.cursor)
        self._forget_judged(caller.source, caller.broker)
        connection = self.world.connections.get((caller.source, caller.broker))
        if connection is not None and connection.open:
            self.take(LoseConnection(caller.source, caller.broker))
            self.run()

    def feed(self, caller: Caller, frame: bytes) -> None:
        """Accept a request, without its four bytes of size."""
        caller.frames.append(frame)
        self._serve(caller)
        self.run()

    def time_over(self, caller: Caller) -> None:
        """End a long poll: it is answered with what there is now."""
        if caller.current is not None and caller.current.waiting:
            self._go_on(caller, caller.current)
            self.run()

    # -- requests ------------------------------------------------------------------------------

    def _serve(self, caller: Caller) -> None:
        self.callers.touch(caller)
        while caller.current is None and caller.frames and not caller.broken:
            frame = caller.frames.popleft()
            try:
                self._begin(caller, frame)
            except (
                WireError,
                ClosedConnection,
                ValueError,
                UnicodeDecodeError,
                OverflowError,
            ) as wrong:
                self.refuse(caller, str(wrong))
            except Exception as mistake:  # noqa: BLE001  one client's request ends no server
                self.refuse(caller, why_not_handled(mistake))

    def refuse(self, caller: Caller, why: str) -> None:
        """Close a connection with an invalid request, as Kafka does, and log one line."""
        self.lines.append(f"connection {caller.number} to broker {caller.broker} closed: {why}")
        caller.broken = True
        self.callers.touch(caller)

    def _begin(self, caller: Caller, frame: bytes) -> None:
        if len(frame) < 8:
            raise ClosedConnection(f"a request must have at least 8 bytes, not {len(frame)}")
        key, version = int.from_bytes(frame[:2], "big"), int.from_bytes(frame[2:4], "big")
        if key == API_VERSIONS:
            met = answer_versions(
                frame, version, caller.broker, self._apis, self.world.image.features
            )
            if met.is_read:
                caller.client_id, caller.software = met.client_id, met.software
            caller.out += met.answer
            return
        api = self._apis.get(key)
        if api is None:
            raise ClosedConnection(f"the brokers of the model take no request with API key {key}")
        if not api.lowest <= version <= api.highest:
            name = api.request.name
            raise ClosedConnection(
                f"{name} must have a version from {api.lowest} to {api.highest}, not {version}"
            )
        head, start = decode_head(REQUEST_HEADER, header_version(api.request, version), frame)
        said, _ = decode_head(api.request, version, frame, len(start.data))
        caller.client_id = head["ClientId"] or ""
        asked = api.ask(said, version, self.desk, caller.broker)
        current = Current(api, version, head["CorrelationId"], asked)
        caller.current = current
        if not asked.messages:
            # Answered without a step, such as a request with an empty array.
            self._name(caller)
            self.asked.append((caller.source, api.request.name.removesuffix("Request")))
        if asked.ready is not None and asked.wait_ms > 0 and not asked.ready():
            current.waiting, caller.wait_ms = True, asked.wait_ms
            self._note_request(caller, asked.messages[0])
            self.callers.wait(caller)
            if self._keeps:
                request = type(asked.messages[0]).__name__
                self.polls.begin(caller, request, self.trace.cursor)
            return
        self._go_on(caller, current)

    def _go_on(self, caller: Caller, current: Current) -> None:
        """Send the next message of a request, or its answer when there is none left."""
        has_waited = current.waiting
        current.waiting, caller.wait_ms = False, -1
        self.callers.end_wait(caller)
        self.callers.touch(caller)
        messages = current.asked.messages
        if current.sent == len(messages):
            self._answer(caller, current)
            return
        message = messages[current.sent]
        if current.sent or not has_waited:
            self._note_request(caller, message)
        current.sent += 1
        try:
            self.take(receive(caller.source, caller.broker, message, caller.client_id))
        except NotEnabled as wrong:
            self.refuse(caller, wrong.why)
        finally:
            if has_waited:
                self.polls.end(caller, self.trace.cursor)

    def _note_request(self, caller: Caller, message: Message) -> None:
        """Note a message of a request, even if it is a long poll that is not in the model yet."""
        self._name(caller)
        self.asked.append((caller.source, type(message).__name__))
        self.clients.meet(caller, message, self.world, kept=self._keeps)

    def _name(self, caller: Caller) -> None:
        """Name a connection, and add its client's lane."""
        if not caller.source:
            host = self.hosts.name_host(caller.client_id)
            self.callers.name(caller, host)
            if host not in self.clients:
                self.clients[host] = RealClient(host, caller.software)

    def _answer(self, caller: Caller, current: Current) -> None:
        try:
            values = current.asked.answer(tuple(current.replies))
        except ClosedConnection as why:
            self.refuse(caller, str(why))
            return
        caller.current = None
        if values is not None:
            caller.out += self._frame(current, values)
        self._serve(caller)

    def _frame(self, current: Current, values: Struct) -> bytes:
        return answer_frame(current.api.response, current.version, current.correlation_id, values)

    def _is_in_model(self, host: str) -> bool:
        brokers = map(broker_host, self.model.spec.brokers)
        return host in self.world.applications or host in brokers

    def log_line(self, client: str, text: str) -> None:
        """Add a line of a client's log to the newest step; `client` is its client.id or its lane's name.

        Raises:
            ValueError: if no client of that name has sent a request.
        """
        client = self.hosts.find_host(client)
        if client not in self.clients:
            known = ", ".join(self.clients) or "no client yet"
            raise ValueError(
                f"there is no client {client!r} to log a line: requests came from {known}"
            )
        self._add_line(client, text)

    def _add_line(self, host: str, text: str) -> None:
        line = sentence(text)[:CLIENT_LINE_MAX]
        self.client_lines.append(ClientLine(host, self.trace.cursor, line))
        self.logged += 1

    # -- going back ------------------------------------------------------------------------------

    def back(self, step: int) -> None:
        """Go back to a step of this branch; the next step starts a new branch.

        A client cannot go back, so each connection is dropped, as a network failure would drop it.

        Raises:
            ValueError: if the branch has no such step among the kept ones.
        """
        node = node_of(self.trace, step)
        here = (caller.source for caller in self.callers if caller.source)
        names = dict.fromkeys(host_of(source) for source in here)
        for caller in self.callers.waiting():
            self.polls.end(caller, self.trace.cursor)
        self.callers.break_all()
        self._judged.clear()
        self._numbers.clear()
        self._cleaning.forget()
        self.trace, self._beyond = self.trace.jump(node), 0
        self.desk.world = self.trace.world
        self.desk.kept.retain(self.world.logs.values())
        self._own_steps.start_again(self.world)
        for source, broker in tuple(self.world.connections.keys()):
            connection = self.world.connections[source, broker]
            if host_of(source) in self.clients and connection.open:
                self.take(LoseConnection(source, broker))
        for name in names:
            self._add_line(
                name,
                f"The cluster went back to step {step}. {name} cannot: its connections were dropped.",
            )
        self.run()

    # -- steps -----------------------------------------------------------------------------------

    def take(self, action: ClusterAction) -> None:
        """Take a step, and pass its effects on to the clients.

        Raises:
            NotEnabled: if the action is not possible now.
        """
        before = self.world
        if isinstance(action, Refresh):
            self._own_steps.note_query(before, action)
        full = self._received > RECEIVED_MAX or self.desk.kept.size > SENT_MAX
        if self._keeps and (self.steps >= STEPS_MAX or full):
            self._keeps, self._clean_at = False, 2 * SENT_MAX
            self.lines.append(
                f"{self.steps} steps are kept; the run continues, without keeping more"
            )
        if self._keeps:
            self.trace = self.trace.take(action)
            self.desk.world, events = self.trace.world, self.trace.events
            self._received += len(action.request) if isinstance(action, Receive) else 0
        else:
            outcome = self.model.step(before, action)
            self.desk.world, events = outcome.world, outcome.events
            self._beyond += 1
        self.steps += 1
        self.desk.moments.note(before, self.world)
        self.desk.groups.note(before, self.world, events)
        self._own_steps.note(self.world, events)
        if isinstance(action, Deliver):
            self._judged.pop((action.source, action.broker, action.way), None)
            self._numbers.forget((action,))
        if before.up is not self.world.up:
            self._close_callers_of(b for b in before.up if b not in self.world.up)
        for event in events:
            if isinstance(event, NoResponse):
                self._keep_reply(event.source, event.broker, event.result)
            elif isinstance(event, MessageDelivered) and event.way == "response":
                self._keep_reply(event.source, event.broker, event.message)
            elif isinstance(event, ConnectionLost):
                self._mark_broken(event)
        # However the step was taken: a delivery by hand reaches a fault point like any other.
        self._fault_points(before)
        large = self.desk.kept.size > self._clean_at
        if not self._keeps and (large or self.steps % CLEAN_EVERY == 0):
            self._clean()

    def _clean(self) -> None:
        """Remove what a run of days would fill the memory with; kept steps need none of it."""
        world = forget_closed(self.model, self.world, self.callers)
        self.desk.world = self._cleaning.clean(world)
        # The cluster may go back to a kept step, so what can be read there stays, too.
        kept, now = self.trace.world.logs, self.world.logs
        self.desk.kept.retain(logs[p] for logs in (kept, now) for p in logs)
        self._clean_at = max(2 * SENT_MAX, self.desk.kept.size + SENT_MAX)
        self._own_steps.start_again(self.world)  # what expired may have let a response go
        self.desk.moments.forget_gone(self.world)
        self.clients.forget_gone(self.callers)

    def _close_callers_of(self, crashed: Iterable[int]) -> None:
        """Close the connections to brokers that crash, also those without a request in the model."""
        gone = frozenset(crashed)
        for caller in self.callers:
            if caller.broker in gone and not caller.broken:
                caller.broken = True
                self.callers.touch(caller)

    def _keep_reply(self, source: str, broker: int, reply: Message) -> None:
        caller = self.callers.find(source, broker)
        if caller is not None and caller.current is not None:
            caller.current.replies.append(reply)
            self._go_on(caller, caller.current)

    def _mark_broken(self, event: ConnectionLost) -> None:
        # What the client asks again is another message, although it may be an equal one.
        self._forget_judged(event.source, event.broker)
        caller = self.callers.find(event.source, event.broker)
        if caller is not None:
            caller.broken = True
            self.callers.touch(caller)

    def run(self) -> None:
        """Take the steps that the cluster takes by itself, until only held deliveries are left.

        A rule that loses each message of a kind meets the same one again, because a broker repeats it: after some times
        it waits for the next call, as it would for a broker's retry.backoff.ms.
        """
        self._lost.clear()
        while True:
            action = self._next() if self.by == RUNNING else None
            if action is not None:
                self._take_or_lose(action)
                continue
            if not self._wake():
                return

    def _take_or_lose(self, action: ClusterAction) -> None:
        """Take a step; if a delivery fails with an exception, only its connection is closed."""
        if isinstance(action, LoseConnection):
            self._lost[action.source, action.broker] += 1
        try:
            self.take(action)
        except Exception as mistake:
            if not isinstance(action, Deliver):
                raise
            why = why_not_handled(mistake)
            self.lines.append(f"{action.source} to broker {action.broker} closed: {why}")
            self.take(LoseConnection(action.source, action.broker))

    def _wake(self) -> bool:
        """Continue a long poll for which there are records now."""
        world = self.world
        if world is self._looked:
            return False  # nothing has changed since all of them were looked at
        for caller in self.callers.waiting():
            current = caller.current
            if current is None or not current.waiting or caller.broken:
                continue
            if current.asked.ready is not None and current.asked.ready():
                self._go_on(caller, current)
                return True
        self._looked = world
        return False

    def _next(self) -> ClusterAction | None:
        if self._dice is None:
            return next(self._find_next(), None)
        found = tuple(self._find_next())
        return self._dice.choice(found) if found else None

    def _find_next(self) -> Iterator[ClusterAction]:
        """Yield what the cluster does next: its own steps as the rules have them."""
        for action in self.possible():
            if isinstance(action, Deliver):
                verdict = self._judge(action)
                if verdict == HOLD:
                    continue
                if verdict == LOSE:
                    place = (action.source, action.broker)
                    if self._lost[place] < LOST_AT_ONCE_MAX:
                        yield LoseConnection(*place)
                    continue
            yield action

    def possible(self) -> Iterator[ClusterAction]:
        """Yield the steps that the cluster can take by itself: deliveries, loading coordinators, delays that end."""
        return self._own_steps.possible(self.world)

    def timers(self) -> tuple[ClusterAction, ...]:
        """Return the timers that run in the brokers: sessions, rebalances, acquisition locks, transactions."""
        return tuple(a for a in self.model.enabled(self.world) if a.KIND == EXPIRY)

    def message_of(self, action: Deliver) -> str:
        """Return the name of the message that a delivery delivers."""
        return type(self.in_front(action)).__name__

    def in_front(self, action: Deliver) -> Message:
        """Return the message that a delivery delivers."""
        connection = self.world.connections[action.source, action.broker]
        queue = connection.requests if action.way == "request" else connection.responses
        return queue[0].message

    def _judge(self, action: Deliver) -> str:
        """Return what the rules do with a delivery; each message is judged once."""
        place = (action.source, action.broker, action.way)
        message = self.in_front(action)
        known = self._judged.get(place)
        if known is not None and known[0] is message:
            return known[1]
        guest = self.callers.find(action.source, action.broker) is not None
        about = [r for r in self.rules if guest or not r.way]
        verbs = [r.verb for r in about if r.meets(message)]
        verdict = verbs[0] if verbs else ""
        self._judged[place] = (message, verdict)
        return verdict

    def _forget_judged(self, source: str, broker: int) -> None:
        for way in WAYS:
            self._judged.pop((source, broker, way), None)
            self._numbers.forget((Deliver(source, broker, way),))

    def forget_judgements(self) -> None:
        """Judge all messages again, because the rules have changed."""
        self._judged.clear()

    def held(self) -> tuple[Deliver, ...]:
        """Return the deliveries that wait: until a rule is removed or, by hand, for `take`."""
        found = [a for a in self.possible() if isinstance(a, Deliver)]
        return tuple(a for a in found if self.by == BY_HAND or self._judge(a) == HOLD)

    def held_numbers(self) -> tuple[tuple[int, Deliver], ...]:
        """Return the deliveries that wait, each with the number of its message."""
        return tuple((self._numbers.number(a, self.in_front(a)), a) for a in self.held())

    def waiting(self) -> int:
        """Return how many steps wait for a decision."""
        return len(tuple(self.possible()) if self.by == BY_HAND else self.held())

    def _fault_points(self, before: World) -> None:
        reached = find_reached(before, self.world, self.rules)
        if reached is not None:
            rule, broker = reached
            rule.seen = 1
            self.take(CrashBroker(broker))

    def overdue_transactions(self) -> Iterator[tuple[TimeOutTransaction, int]]:
        """Yield the transactions with a transaction.timeout.ms, each with that timeout."""
        for (broker, _, shard), role in self.world.roles.items():
            if not isinstance(role, TransactionCoordinator):
                continue
            for name, known in role.transactions.items():
                if transaction_coordinator.why_no_timeout(role, name) is None:
                    yield TimeOutTransaction(broker, shard, name), known.timeout_ms


def node_of(trace: Trace, step: int) -> int:
    """Return the node of a step of the current branch.

    Raises:
        ValueError: if the branch has no such step.
    """
    if type(step) is not int or not 0 <= step <= trace.depth:
        raise ValueError(f"step must be from 0 to {trace.depth}, not {step!r}")
    return trace.line[step]
