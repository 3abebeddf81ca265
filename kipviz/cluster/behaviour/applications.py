"""The steps of an application's threads, and the crash and start of its process."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from kipviz.clauses import SHIPPED, Clause
from kipviz.clients import application, thread, workers
from kipviz.clients.application import Application, Call
from kipviz.clients.program_source import number_in_source
from kipviz.clients.thread import why_no_step, why_no_time_out
from kipviz.clients.transactions import external_database
from kipviz.clients.transactions.external_database import ExternalDatabase
from kipviz.clients.workers import swap_thread
from kipviz.cluster.actions import (
    CrashClient,
    StartClient,
    Step,
    TimeOutCall,
)
from kipviz.cluster.behaviour.action_name import ActionName, Verb
from kipviz.cluster.behaviour.behaviour import AnyBehaviour, Behaviour, Guard, Model
from kipviz.cluster.behaviour.naming import (
    losses_of,
    render_list,
    thread_of,
)
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.cluster.timing.clock import Due, Place
from kipviz.cluster.timing.timers import thread_place
from kipviz.cluster.turn import Turn
from kipviz.cluster.world import APPLICATIONS, FEATURES, PAUSES, World, host_of
from kipviz.core.table import pairs
from kipviz.core.watched import Cell
from kipviz.settings.client_configs import MAX_BLOCK_MS

# One shared object for each: most steps of a run are calls and arrivals, and all of them are stored.
_next_line = lru_cache(maxsize=4096)(Step)


class GoingOn(Behaviour[Step]):
    """The application thread continues: it executes the next statement or returns from a call."""

    action = Step
    dues = (Due.STEP,)
    parts_read = (FEATURES, PAUSES)
    verbs = (Verb("step", "{0} goes on"),)

    def why_not(self, model: Model, world: World, action: Step) -> str | None:
        seen = _thread(world, action.application, action.thread)
        return seen if isinstance(seen, str) else why_no_step(seen)

    def of_process(self, app: Application) -> Iterable[Step]:
        if not app.alive:
            return ()
        found = [_next_line(app.name)] if why_no_step(app) is None else []
        threads = (w.name for w in app.workers if why_no_step(swap_thread(app, w.name)) is None)
        return [*found, *(Step(app.name, thread) for thread in threads)] if app.workers else found

    def apply(self, turn: Turn, action: Step) -> None:
        app = workers.swap_thread(turn.applications[action.application], action.thread)
        app, events = thread.step(app, turn.client_rules)
        turn.events += events
        turn.settle(workers.swap_thread(app, action.thread))
        _show_others(turn, action.application)

    def sentence(self, world: World, action: Step) -> str:
        app = swap_thread(world.applications[action.application], action.thread)
        name = thread_of(action)
        call = app.program[app.line].call.value
        return f"{call}() returns to {name}." if app.waiting else f"{name} calls {call}()."

    def title(self, world: World, action: Step) -> str:
        if action.application not in world.applications:
            return super().title(world, action)
        app = swap_thread(world.applications[action.application], action.thread)
        call = app.program[app.line].call.value
        return f"{call}() returns" if app.waiting else f"{call}()"

    def detail(self, world: World, action: Step) -> str:
        app = swap_thread(world.applications[action.application], action.thread)
        return app.program[app.line].text.strip()

    def deadline_place(self, world: World, action: Step) -> Place:
        return Due.STEP, thread_place(action.application, action.thread)

    def main_cause(self, action: Step) -> Cell:
        return APPLICATIONS, action.application

    def actor(self, action: Step) -> str:
        return action.application

    def name(self, world: World, action: Step) -> ActionName:
        return ActionName(self.verbs[0], (thread_of(action),))

    def host(self, world: World, action: Step) -> str:
        return action.application

    def lane(self, world: World, action: Step) -> str:
        return action.application


class TimingOutCall(Behaviour[TimeOutCall]):
    """max.block.ms is over: a blocking call returns, while its request continues."""

    action = TimeOutCall
    dues = (Due.CALL,)
    timer = f"a blocking call ({MAX_BLOCK_MS.name})"
    verbs = (Verb("time out call", "a call of {0} times out"),)
    place = 100
    clause = Clause(
        "timed_out",
        "KIP-98 Producer API; max.block.ms (KAFKA-6446)",
        SHIPPED,
        "KafkaProducer.commitTransaction, TransactionManager.handleCachedTransactionRequestResult",
    )
    spends = "max_block"
    spent_as = "call timeouts"

    def why_not(self, model: Model, world: World, action: TimeOutCall) -> str | None:
        seen = _thread(world, action.application, action.thread)
        return seen if isinstance(seen, str) else why_no_time_out(seen)

    def possible_actions(self, spec: ClusterSpec, world: World) -> Iterable[TimeOutCall]:
        for name, app in pairs(world.applications):
            for one, seen in workers.every_thread(app):
                if why_no_time_out(seen) is None:
                    yield TimeOutCall(name, one)

    def apply(self, turn: Turn, action: TimeOutCall) -> None:
        app = workers.swap_thread(turn.applications[action.application], action.thread)
        app, events = thread.time_out_call(app)
        app = workers.swap_thread(app, action.thread)
        turn.applications = turn.applications.set(action.application, app)
        turn.events += events

    def sentence(self, world: World, action: TimeOutCall) -> str:
        app = swap_thread(world.applications[action.application], action.thread)
        name = thread_of(action)
        if app.program[app.line].call is Call.SEND:
            return f"{MAX_BLOCK_MS.name} expires: send() returns to {name}, and its records are in no buffer."
        return f"{MAX_BLOCK_MS.name} expires for a call of {name}. The operation itself continues."

    def deadline_place(self, world: World, action: TimeOutCall) -> Place:
        return Due.CALL, thread_place(action.application, action.thread)

    def main_cause(self, action: TimeOutCall) -> Cell:
        return APPLICATIONS, action.application

    def name(self, world: World, action: TimeOutCall) -> ActionName:
        return ActionName(self.verbs[0], (thread_of(action),))

    def host(self, world: World, action: TimeOutCall) -> str:
        return action.application

    def lane(self, world: World, action: TimeOutCall) -> str:
        return action.application


class CrashingClient(Behaviour[CrashClient]):
    """An application process dies with its producer and its consumer."""

    action = CrashClient
    verbs = (Verb("crash", "{0} crashes"),)
    place = 160
    clause = Clause(
        "crash_client",
        "KIP-98 transaction.timeout.ms; KIP-932 acquisition lock: a dead client is waited out",
        SHIPPED,
        "SocketServer.processDisconnected",
    )
    spends = "crash_client"
    spent_as = "application crashes"

    def why_not(self, model: Model, world: World, action: CrashClient) -> str | None:
        app = world.applications.get(action.application)
        if app is None:
            return f"there is no application {action.application}"
        return None if app.alive else f"{app.name} is already down"

    def possible_actions(self, spec: ClusterSpec, world: World) -> Iterable[CrashClient]:
        return [CrashClient(name) for name, app in pairs(world.applications) if app.alive]

    def apply(self, turn: Turn, action: CrashClient) -> None:
        app = turn.applications[action.application]
        dead = application.crash(app)
        turn.applications = turn.applications.set(action.application, dead)
        turn.events += application.databases_changed(app, dead)
        for source, broker in tuple(turn.connections):
            connection = turn.connections[source, broker]
            if host_of(source) == action.application and connection.open and not connection.left:
                turn.lose(source, broker)

    def sentence(self, world: World, action: CrashClient) -> str:
        app = world.applications.get(action.application)
        operator = app is not None and app.others.get("admin") is not None
        return f"{action.application} crashes, with its {'admin client' if operator else 'producer and consumer'}."

    def looks_at(self, world: World, action: CrashClient) -> Iterable[Guard]:
        app = world.applications[action.application]
        yield "at", f"{app.program[app.line].call.value}()"
        yield "producer state", app.holder.state_name
        for consumer in app.share_consumers:
            yield "records held", render_list(consumer.in_hand)
        yield from losses_of(
            c
            for (source, _), c in world.connections.items()
            if host_of(source) == action.application
        )
        yield "crashes left", str(world.budget.crash_client)

    def name(self, world: World, action: CrashClient) -> ActionName:
        return ActionName(self.verbs[0], (action.application,))

    def lane(self, world: World, action: CrashClient) -> str:
        return action.application


class StartingClient(Behaviour[StartClient]):
    """The application is started again, at its first statement."""

    action = StartClient
    repairs = True
    verbs = (Verb("start", "{0} starts"),)
    clause = Clause(
        "start_client",
        "KIP-98 initTransactions fences who was there before; KIP-932 a new member id",
        SHIPPED,
        "KafkaProducer.initTransactions, KafkaShareConsumer",
    )

    def why_not(self, model: Model, world: World, action: StartClient) -> str | None:
        app = world.applications.get(action.application)
        if app is None:
            return f"there is no application {action.application}"
        return f"{app.name} is running" if app.alive else None

    def of_process(self, app: Application) -> Iterable[StartClient]:
        return () if app.alive else (StartClient(app.name),)

    def apply(self, turn: Turn, action: StartClient) -> None:
        fresh = application.restart(turn.applications[action.application])
        turn.applications = turn.applications.set(action.application, fresh)

    def sentence(self, world: World, action: StartClient) -> str:
        return f"{action.application} restarts at its first line, with a new member id."

    def looks_at(self, world: World, action: StartClient) -> Iterable[Guard]:
        app = world.applications[action.application]
        yield "life", f"{app.life + 1}: it keeps only its configured names"
        yield "transactional id", app.manager.transactional_id or "none"
        place = number_in_source(app.program, 0)
        yield "starts at line", f"{place}: {app.program[0].text.strip()}"

    def name(self, world: World, action: StartClient) -> ActionName:
        return ActionName(self.verbs[0], (action.application,))

    def lane(self, world: World, action: StartClient) -> str:
        return action.application


BEHAVIOURS: tuple[AnyBehaviour, ...] = (
    GoingOn(),
    TimingOutCall(),
    CrashingClient(),
    StartingClient(),
)


# -- pieces --------------------------------------------------------------------------------------


def _show_others(turn: Turn, name: str) -> None:
    """Update what the other processes at a shared database see, after one process changed it."""
    changed = turn.applications[name].others.get(external_database.NAME)
    if not isinstance(changed, ExternalDatabase) or not changed.shared:
        return
    for other, app in turn.applications.items():
        theirs = app.others.get(external_database.NAME)
        if other == name or not isinstance(theirs, ExternalDatabase):
            continue
        seen = external_database.take_over_rows(theirs, changed)
        if theirs.shared == changed.shared and seen != theirs:
            turn.applications = turn.applications.set(other, app.with_client(seen))


def _thread(world: World, name: str, thread: str) -> Application | str:
    """Return a process as one of its threads sees it, or why there is no such thread."""
    app = world.applications.get(name)
    if app is None:
        return f"there is no application {name}"
    if thread and thread not in (w.name for w in app.workers):
        return f"{name} has no thread {thread}"
    return swap_thread(app, thread)
