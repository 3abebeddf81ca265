"""A simulated cluster that real clients connect to on loopback, and what its user does with it: `kipviz.serve`."""

from __future__ import annotations

import atexit
import contextlib
import logging
import threading
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self, TypeAlias

from kipviz.checking.single_run import runs
from kipviz.checking.single_run.runs import Run
from kipviz.cluster.actions import (
    ClusterAction,
    CrashBroker,
    Deliver,
    LoseConnection,
    MoveLeader,
    StartBroker,
)
from kipviz.cluster.real.served_run import ClientPoll, RealClient
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.cluster.world import host_of
from kipviz.core.outside.suggestions import unknown_of
from kipviz.designs.catalogue import design
from kipviz.messages.message import Message
from kipviz.scenarios.scenario import Scenario
from kipviz.scenarios.served_scenario import renumber_lines, renumber_polls, served_scenario
from kipviz.serving.client_log import LogLines
from kipviz.serving.delivery_rules import RUNNING, message_named, rule
from kipviz.serving.served_cluster import ServedCluster, node_of
from kipviz.serving.served_spec import model_to_serve, spec_of
from kipviz.serving.socket_server import MAX_IDLE_S, SocketServer
from kipviz.serving.timing.time_outs import TimeOuts
from kipviz.serving.timing.transaction_times import no_time, wall_ms
from kipviz.serving.translating.batch_bytes import fates
from kipviz.serving.translating.reply_context import HOST
from kipviz.settings.broker_configs import AUTO_CREATE_TOPICS_ENABLE
from kipviz.settings.client_configs import BOOTSTRAP_SERVERS

IDLE_S = 600.0
# Whether the server has stopped, the newest kept node, the newest step, the number of log lines and of long polls that
# began or ended, the clients, the number of connections.
News: TypeAlias = tuple[bool, int, int, int, tuple[RealClient, ...], int]
CLOCK, MODEL = "clock", "model"


class WentOn(ValueError):
    """The cluster has taken steps that the caller has not seen."""


class Server:
    """A simulated cluster that real clients can connect to, on 127.0.0.1 only.

    It stops at the end of its `with` block, when the process ends, and after `idle_s` seconds without a connection.

    Attributes:
        cluster: what is served, for looking at it: `cluster.world` is its current state, `cluster.trace` its steps. It
            changes on another thread; `paused` lets nothing happen meanwhile.
    """

    def __init__(
        self,
        given: str | Scenario | ClusterSpec | None = None,
        *,
        design_name: str | None = None,
        by: str = RUNNING,
        rules: Iterable[str] = (),
        time: str = CLOCK,
        idle_s: float = IDLE_S,
        drafts: Iterable[int] = (),
        seed: int | None = None,
        auto_create_topics: bool = AUTO_CREATE_TOPICS_ENABLE.default,
    ) -> None:
        if seed is not None and type(seed) is not int:
            raise ValueError(f"a seed must be a whole number, not {seed!r}")
        if type(auto_create_topics) is not bool:
            raise ValueError(
                f"auto_create_topics must be True or False, not {auto_create_topics!r}"
            )
        if isinstance(rules, str):
            raise ValueError(f"rules must be a list of rules, not the text {rules!r}")  # noqa: TRY004
        # NaN is not at least 0.
        if type(idle_s) not in (int, float) or not idle_s >= 0:
            raise ValueError(f"idle_s must be a number of seconds from 0, not {idle_s!r}")
        if time not in (CLOCK, MODEL):
            raise ValueError(f"time must be {CLOCK!r} or {MODEL!r}, not {time!r}")
        spec, name = spec_of(given)
        chosen = design(design_name or name)
        spec, model = model_to_serve(spec, chosen, auto_create_topics=auto_create_topics)
        self._spec, self._design, self._seed = spec, chosen, seed
        self._lock = threading.RLock()
        self._moved = threading.Condition(self._lock)
        by_clock = time == CLOCK
        max_idle_s = MAX_IDLE_S if by_clock else 0.0
        self._sockets = SocketServer(spec.brokers, self._moved, idle_s, max_idle_s)
        clock = wall_ms if by_clock else no_time
        try:
            self.cluster = ServedCluster(model, self._sockets.ports, by, clock, drafts, seed)
            self.cluster.rules += [rule(words) for words in rules]
        except BaseException:
            self._sockets.stop()
            raise
        self._time_outs = TimeOuts(self.cluster, by_clock=by_clock)
        self._sockets.start(self.cluster, self._time_outs)
        atexit.register(self.stop)

    def __repr__(self) -> str:
        """Return where clients connect, the number of connections, and how to see their steps."""
        if self._sockets.stopping:
            return f"A simulated cluster under {self._design.name}, stopped; kipviz.open(server) shows its run"
        count = len(self.clients())
        connected = "1 connection" if count == 1 else f"{count} connections"
        return (
            f"A simulated cluster under {self._design.name}, {connected}: {BOOTSTRAP_SERVERS.name} is "
            f"{self.bootstrap_servers}; kipviz.open(server) shows its run"
        )

    @property
    def bootstrap_servers(self) -> str:
        """The bootstrap.servers of a client: all brokers, on loopback."""
        return ",".join(f"{HOST}:{port}" for port in self._sockets.ports.values())

    @property
    def log(self) -> tuple[str, ...]:
        """The newest lines about connections that were closed, and why."""
        with self._lock:
            return tuple(self.cluster.lines)

    @property
    def ended(self) -> str:
        """Why the server has stopped by itself, such as "no client was connected for 600 s"; "" otherwise."""
        return self._sockets.ended

    @contextlib.contextmanager
    def _running(self) -> Iterator[None]:
        """Hold the cluster still, to change something.

        Raises:
            ValueError: if the server has stopped.
        """
        with self._lock:
            if self.stopped:
                why = f": {self.ended}" if self.ended else ""
                raise ValueError(f"the served cluster has stopped{why}")
            yield

    def wait_lines(self, known: int, seconds: float) -> tuple[int, tuple[str, ...]]:
        """Wait until the log has more than `known` lines or the server stops, for at most some seconds.

        Returns:
            how many lines were written until now, and the new ones.
        """
        with self._moved:
            lines = self.cluster.lines
            self._moved.wait_for(lambda: lines.written > known or self.stopped, seconds)
            return lines.written, lines.after(known)

    def clients(self) -> tuple[tuple[str, str, int, int], ...]:
        """Return (connection, name and version of its software, broker, requests in flight)."""
        with self._lock:
            return tuple(
                (c.source or f"connection {c.number}", c.software, c.broker, c.in_flight)
                for c in self.cluster.callers
            )

    def waiting_polls(self) -> tuple[ClientPoll, ...]:
        """Return the long polls that wait, each with its connection, its broker and its request."""
        with self._lock:
            return tuple(poll for poll in self.cluster.polls.list_polls() if poll.until < 0)

    def polls(self) -> tuple[tuple[str, str], ...]:
        """Return (connection, request) of each long poll that waits, such as a Fetch that waits for records."""
        with self._lock:
            return tuple(
                (c.source, type(c.current.asked.messages[0]).__name__)
                for c in self.cluster.callers.waiting()
                if c.current is not None
            )

    def held(self) -> tuple[Deliver, ...]:
        """Return the deliveries that wait for a decision."""
        with self._lock:
            return self.cluster.held()

    def possible(self) -> tuple[ClusterAction, ...]:
        """Return what can happen now besides deliveries: `take` takes it.

        First come the steps that the cluster takes by itself unless it is served by hand: the replicas copy a log, a
        new coordinator loads its log, a delay ends. Then come the timers that run, with `KIND` "expiry": sessions,
        rebalances, acquisition locks, transactions. Under the model's time a timer expires only when it is taken.
        """
        with self._lock:
            steps = (a for a in self.cluster.possible() if not isinstance(a, Deliver))
            return (*steps, *self.cluster.timers())

    def describe(self, action: ClusterAction) -> str:
        """Return what a step is, in a few words."""
        with self._lock:
            return self.cluster.model.label(self.cluster.world, action)

    def waiting(self) -> int:
        """Return how many steps wait for a decision: the held deliveries or, by hand, every step but the timers."""
        with self._lock:
            return self.cluster.waiting()

    def held_messages(self) -> tuple[tuple[Deliver, str], ...]:
        """Return the deliveries that wait, each with the name of its message."""
        with self._lock:
            held = self.cluster.held()
            return tuple((each, self.cluster.message_of(each)) for each in held)

    def list_held(self) -> tuple[tuple[int, Deliver, str], ...]:
        """Return the deliveries that wait, each with the number and the name of its message.

        A message keeps its number until it is delivered or lost, whatever else arrives.
        """
        with self._lock:
            cluster = self.cluster
            return tuple((n, each, cluster.message_of(each)) for n, each in cluster.held_numbers())

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Let nothing happen in the cluster while the block runs, so that what it looked at is what it acts on.

        Raises:
            ValueError: if the server has stopped.
        """
        with self._running():
            yield

    def deliver(self, number: int) -> int:
        """Deliver the held message with a number.

        Returns:
            the number of the step, as `take` does.

        Raises:
            ValueError: if no held message has that number.
        """
        with self._running():
            return self.take(self._find_numbered(number))

    def _find_numbered(self, number: int) -> Deliver:
        held = dict(self.cluster.held_numbers())
        if number not in held:
            known = ", ".join(map(str, held)) or "none"
            raise ValueError(f"no held message has the number {number!r}; held now: {known}")
        return held[number]

    def wait_held(self, message: str = "", seconds: float = 10.0) -> Deliver:
        """Wait until a delivery is held, and return the first one.

        Meanwhile the client's call runs on a thread of its own: `commit_transaction` returns only after the response.

        Args:
            message: the message to wait for, such as "EndTxn"; any message if left out.
            seconds: the maximum time to wait.

        Raises:
            ValueError: if there is no such message.
            TimeoutError: if none is held by then.
        """
        wanted = message_named(message) if message else Message

        def first() -> Deliver | None:
            held = self.cluster.held()
            return next((d for d in held if isinstance(self.cluster.in_front(d), wanted)), None)

        with self._moved:
            held = self._moved.wait_for(first, seconds)
        if held is None:
            here = ", ".join(name for _, name in self.held_messages()) or "nothing"
            raise TimeoutError(
                f"no {message or 'delivery'} is held after {seconds:g} s; held now: {here}"
            )
        return held

    def take(self, action: ClusterAction, *, at: int | None = None) -> int:
        """Take a step: deliver a held message, crash a broker, move a leader.

        Args:
            action: the step.
            at: the newest step that the caller has seen; if there is a newer one, nothing happens.

        Returns:
            the number of the step at which the cluster is idle again. Later requests of clients have higher numbers.

        Raises:
            NotEnabled: if it is not possible now.
            WentOn: if there is a newer step than `at`.
            ValueError: if the server has stopped.
        """
        with self._running():
            newest = self.cluster.newest
            if at is not None and at != newest:
                raise WentOn(f"the cluster has gone on to step {newest}, and was seen at step {at}")
            self.cluster.take(action)
            self.cluster.run()
            rests = self.cluster.newest
        self._sockets.wake()
        return rests

    def lose(self, held: Deliver | int) -> int:
        """Lose a held message: its connection breaks, and the client has to find out what happened.

        Args:
            held: the delivery, or the number of its message.

        Returns:
            the number of the step, as `take` does.

        Raises:
            NotEnabled: if that connection is no longer open.
            ValueError: if no held message has that number.
        """
        with self._running():
            found = self._find_numbered(held) if isinstance(held, int) else held
            return self.take(LoseConnection(found.source, found.broker))

    def crash(self, broker: int) -> int:
        """Crash a broker; its listener refuses connections until it starts again."""
        return self.take(CrashBroker(broker))

    def start(self, broker: int) -> int:
        """Start a crashed broker on the same port."""
        return self.take(StartBroker(broker))

    def move(self, partition: str, to: int) -> int:
        """Move the leader of a partition."""
        return self.take(MoveLeader(partition, to))

    @property
    def step(self) -> int:
        """The number of the newest step; the first 20,000 of a run are kept, later ones are counted only."""
        with self._lock:
            return self.cluster.newest

    @property
    def kept(self) -> int:
        """The number of the newest kept step: `back` reaches it and those before it."""
        with self._lock:
            return self.cluster.trace.depth

    @property
    def stopped(self) -> bool:
        """Whether the server has stopped; its run can still be shown."""
        return self._sockets.stopping

    def _find_news(self) -> News:
        cluster = self.cluster
        return (
            self.stopped,
            cluster.trace.cursor,
            cluster.newest,
            cluster.logged + cluster.polls.changes,
            tuple(cluster.clients.values()),
            len(self._sockets.callers),
        )

    def wait_news(self, known: News | None, seconds: float) -> News:
        """Wait until something is new, for at most some seconds, and return what is known then.

        What is known changes with every step, client and log line; None knows nothing.
        """
        with self._moved:
            self._moved.wait_for(lambda: self._find_news() != known, seconds)
            return self._find_news()

    def back(self, step: int) -> None:
        """Return to an earlier step; the cluster continues from there, on a branch.

        The clients cannot go back. Their connections are dropped, as a network failure would drop them, and a line
        beside the step says so. What a client knows from later steps, such as an offset or an epoch, it still knows.

        Raises:
            ValueError: if there is no such step.
        """
        with self._running():
            self.cluster.back(step)
            self._time_outs.forget_transactions()
        self._sockets.wake()

    def time_out(self, transactional_id: str) -> None:
        """Let transaction.timeout.ms expire for an open transaction.

        Raises:
            ValueError: if no such transaction is open.
        """
        with self._running():
            names = []
            for action, _ in self.cluster.overdue_transactions():
                names.append(action.transactional_id)
                if action.transactional_id == transactional_id:
                    self.cluster.take(action)
                    self.cluster.run()
                    self._sockets.wake()
                    return
        known = ", ".join(names) or "none"
        raise ValueError(f"no transaction of {transactional_id!r} is open; open now: {known}")

    def end_polls(self) -> int:
        """Answer every long poll with what there is now, and return how many there were."""
        with self._running():
            waiting = [c for c in self._sockets.callers if c.wait_ms >= 0]
            for caller in waiting:
                self._time_outs.end_poll(caller)
        self._sockets.wake()
        return len(waiting)

    def rule(self, words: str) -> None:
        """Add a rule, such as "hold EndTxn"."""
        with self._running():
            self.cluster.rules.append(rule(words))

    def release(self) -> None:
        """Remove all rules; the messages that they held are delivered."""
        with self._running():
            self.cluster.rules.clear()
            self.cluster.forget_judgements()
            self.cluster.run()
        self._sockets.wake()

    def requests(self, source: str = "") -> tuple[tuple[str, str], ...]:
        """Return (connection, request) of every request of the clients, the oldest first.

        Args:
            source: a connection, a client's client.id, or the name of its lane; all clients if left out.
        """
        with self._lock:
            found = tuple(self.cluster.asked)
            host = self.cluster.hosts.find_host(source)
        return tuple(
            each for each in found if not source or host_of(each[0]) == host or each[0] == source
        )

    def records(self, partition: str) -> tuple[tuple[int, str, str], ...]:
        """Return (offset, value, "committed", "aborted" or "open") of a partition's records.

        Raises:
            ValueError: if there is no such partition.
        """
        with self._lock:
            logs = self.cluster.world.logs
        log = logs.get(partition)
        if log is None:
            names = [name for name in logs if not name.startswith("__")]
            raise ValueError(unknown_of("partition", "partitions", partition, names))
        return fates(log)

    def log_line(self, client: str, text: str) -> None:
        """Add a line of a client's log to the newest step.

        Args:
            client: its client.id, or the name of its lane.
            text: the line; only its first 500 characters are kept.

        Raises:
            ValueError: if no client of that name has sent a request yet.
        """
        with self._moved:
            self.cluster.log_line(client, text)
            self._moved.notify_all()

    def log_handler(self, client: str) -> logging.Handler:
        """Return a handler for Python's logging that adds each line to the newest step.

        Add it to the logger of a client in this process: `logging.getLogger("kafka").addHandler(...)` for kafka-python,
        `logger=` for confluent-kafka. Lines from before the client's first request are dropped.

        Args:
            client: the client's name, its client.id.
        """
        return LogLines(self.log_line, client)

    def run(self, until: int | None = None) -> Run:
        """Return the steps so far as a run that needs no client: `kipviz.open(server)` shows it.

        Args:
            until: the step at which it ends; the newest one if left out. A client's requests after a fault come in
                another order each time, so a lesson shows `kipviz.open(server.run(until=step))`.

        Raises:
            ValueError: if there is no such step.
        """
        with self._lock:
            cluster = self.cluster
            trace = cluster.trace
            clients = tuple(cluster.clients.values())
            lines = tuple(cluster.client_lines)
            polls = cluster.polls.list_polls()
        if until is not None:
            trace, nodes = trace.jump(node_of(trace, until)).only(())
            lines, polls = renumber_lines(lines, nodes), renumber_polls(polls, nodes)
        scenario = served_scenario(self._spec, self._design.name, clients, lines, self._seed, polls)
        return Run(scenario, self._design, scenario.model(self._design), trace)

    def save(self, path: str) -> None:
        """Write the steps so far to a trace file; `kipviz.open_trace` replays it without the clients.

        Raises:
            TraceFileError: if the file cannot be written.
        """
        runs.save(self.run(), path)

    def wait(self) -> None:
        """Wait until the server has stopped."""
        while self._sockets.thread.is_alive():
            self._sockets.thread.join(timeout=0.5)

    def stop(self) -> None:
        """Close every connection and listener. A second call does nothing."""
        if self._sockets.stopping:
            return
        self._sockets.stop()
        atexit.unregister(self.stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


def serve(
    given: str | Scenario | ClusterSpec | None = None,
    *,
    design: str | None = None,
    by: str = RUNNING,
    rules: Iterable[str] = (),
    time: str = CLOCK,
    idle_s: float = IDLE_S,
    drafts: Iterable[int] = (),
    seed: int | None = None,
    auto_create_topics: bool = AUTO_CREATE_TOPICS_ENABLE.default,
) -> Server:
    """Serve a simulated cluster to real clients, on 127.0.0.1 only.

    The returned server is a context manager; a client needs its `bootstrap_servers`.

    Args:
        given: a story, its name, or a spec; without one a cluster of three brokers with a topic `orders`.
        design: the design's name; by default the story's own, or Kafka as released.
        by: "running", or "hand": then every delivery waits for `take`.
        rules: rules about deliveries, such as "hold EndTxn" or "lose every 3rd answer".
        time: "clock": long polls and transaction.timeout.ms end by this machine's clock. "model": you end them with
            `end_polls` and `time_out`. A client's own timeouts use its own clock in both cases.
        idle_s: the server stops after this many seconds without a connection.
        drafts: the numbers of KIPs whose requests brokers announce although they are drafts: 939 (InitProducerId 6) and
            1289 (TxnShareAcknowledge, with the draft's key 93). Without it they announce what Kafka 4.4.0 has.
        seed: decides the order in which the cluster takes its steps when several are possible; without one the order is
            fixed. When a request arrives is decided by the client. docs/SERVING.md says more.
        auto_create_topics: whether a client's lookup creates a topic that does not exist (auto.create.topics.enable).

    Example:
        >>> import kipviz
        >>> with kipviz.serve(time="model") as server:
        ...     len(server.bootstrap_servers.split(","))
        3

    Raises:
        ValueError: if the cluster, a rule or a draft is invalid, in one sentence.
    """
    return Server(
        given,
        design_name=design,
        by=by,
        rules=rules,
        time=time,
        idle_s=idle_s,
        drafts=drafts,
        seed=seed,
        auto_create_topics=auto_create_topics,
    )
