"""Partial-order reduction: a step that nothing else can interfere with is taken at once.

If an application can do exactly one thing (run its next statement, send, receive a response) and no broker owes it a
response, that one step can be taken first: other steps happen elsewhere, and the two orders lead to the same world. So
one successor is enough there. This is the method of ample sets with sets of a single step (Gerth, Kuiper, Peled and
Penczek 1999), which also preserves branching-time properties such as "can still be resolved":

- no step that may happen before it depends on it: the rules of `LoneSteps.alone`;
- no property observes it: the search checks this, and takes all steps if one does;
- no cycle consists of such steps alone: an application thread must have moved forward in its
  program, a sent request waits until a broker receives it, a response is consumed.

Excluded, because it would not be sound: steps of brokers (other requests may reach the same broker at any time), and
every step while the budget still has a fault that could come in between (a client's crash, a lost connection, a timeout
at a client, a broker's crash, a network partition, another feature level; for sending also a leader change). A
counterexample that is found is an ordinary run, but not necessarily a shortest one.
"""

from __future__ import annotations

from kipviz.clients.application import Application
from kipviz.clients.kinds import next_request
from kipviz.cluster.actions import ClusterAction, Deliver, Send, Step
from kipviz.cluster.behaviour.catalogue import actor_of
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.timing.deadlines import clients_are_timed
from kipviz.cluster.timing.timers import of_clients
from kipviz.cluster.world import Connection, World, host_of
from kipviz.core.model import Model


class LoneSteps:
    """Partial-order reduction for clusters."""

    name = "order"
    key = None

    def __init__(self) -> None:
        """Start without a model."""
        self._fitted: ClusterModel | None = None

    def fit(self, model: Model, *, full_states: bool) -> None:
        """Accept any cluster; how much the reduction helps depends on the faults that are left.

        Raises:
            TypeError: if the model is no cluster.
            ValueError: if message delays are bounded, or clients have timers: then each request that is sent starts a
                deadline.
        """
        if not isinstance(model, ClusterModel):
            raise TypeError("the reduction 'order' works for clusters only")
        clock = model.spec.clock
        if clock.timed and (clock.delay_max_ms >= 0 or clients_are_timed(model.spec)):
            raise ValueError(
                "with bounded delays the reduction 'order' is not sound: a step taken first starts its "
                "deadline sooner"
            )
        if clock.timed and of_clients(model.spec):
            raise ValueError(
                "with timers of clients the reduction 'order' is not sound: a request sent first starts "
                "its interval sooner"
            )
        self._fitted = model

    def alone(self, world: World, enabled: tuple[ClusterAction, ...]) -> ClusterAction | None:
        """Return a step that may be taken before all others, or None."""
        budget = world.budget
        if budget.crash_client or budget.lose_connection or budget.crash_broker or budget.cut:
            return None
        if budget.request_timeout or budget.delivery_timeout or budget.max_block:
            return None
        if budget.upgrade or budget.pause or budget.delete_records or budget.miss_poll:
            return None
        if world.cuts:
            return None
        owed, answers = _wires(world)
        for name, app in world.applications.items():
            if not app.alive or name in owed:
                continue
            if app.producer.max_in_flight > 1:
                continue
            own = [a for a in enabled if actor_of(a) == name]
            if len(own) == 1 and self._is_free(world, app, own[0], answers.get(name, 0)):
                return own[0]
        return None

    def _is_free(self, world: World, app: Application, action: ClusterAction, answers: int) -> bool:
        """Return whether the one step that an application can take now stays its only one."""
        waiting = [c.source for c in app.clients if next_request(c) is not None]
        match action:
            case Step():
                return not waiting and not answers and self._goes_forward(world, app, action)
            case Send(source):
                # The leader that it is sent to must not change in the meantime.
                return waiting == [source] and not answers and self._leaders_stay(world)
            case Deliver():
                return not waiting and answers == 1
            case _:
                return False

    @property
    def _model(self) -> ClusterModel:
        assert self._fitted is not None, "a search calls fit() first"
        return self._fitted

    def _goes_forward(self, world: World, app: Application, action: Step) -> bool:
        after = self._model.step(world, action).world.applications[app.name]
        return (after.line, after.waiting) > (app.line, app.waiting)

    def _leaders_stay(self, world: World) -> bool:
        return not world.budget.move_leader and len(world.up) == len(self._model.spec.brokers)


def _wires(world: World) -> tuple[set[str], dict[str, int]]:
    """Return the applications that a broker owes a response, and the number of responses in flight."""
    owed: set[str] = set()
    answers: dict[str, int] = {}
    connection: Connection
    for (source, _), connection in world.connections.items():
        name = host_of(source)
        if connection.requests or connection.serving is not None:
            owed.add(name)
        answers[name] = answers.get(name, 0) + len(connection.responses)
    return owed, answers
