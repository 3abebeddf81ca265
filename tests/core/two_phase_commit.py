"""A small model for the tests of the core: two-phase commit, after Gray and Lamport.

One transaction manager and some resource managers share a network that only grows. It is the
example whose number of states the literature agrees on: 288 with three resource managers.
"""

from collections.abc import Iterator

from kipviz.core.model import Action, Event, NotEnabled, Outcome
from kipviz.core.table import Table
from kipviz.core.values import Value, fingerprint


class Prepare(Action, frozen=True):
    rm: int


class ChooseToAbort(Action, frozen=True):
    rm: int


class ReceivePrepared(Action, frozen=True):
    rm: int


class Commit(Action, frozen=True):
    pass


class Abort(Action, frozen=True):
    pass


class ReceiveCommit(Action, frozen=True):
    rm: int


class ReceiveAbort(Action, frozen=True):
    rm: int


class StateChanged(Event, frozen=True):
    who: str
    state: str


class World(Value, frozen=True):
    rms: Table[int, str]
    manager: str
    heard: tuple[bool, ...]
    messages: Table[str, int]


AnyAction = (
    Prepare | ChooseToAbort | ReceivePrepared | Commit | Abort | ReceiveCommit | ReceiveAbort
)


class TwoPhaseCommit:
    """The model; `hasty` lets the manager commit although nobody is prepared, a wrong design."""

    action_type = AnyAction

    def __init__(self, rms: int, *, hasty: bool = False) -> None:
        self.rms = rms
        self.hasty = hasty

    def initial(self) -> World:
        return World(
            Table.of(dict.fromkeys(range(self.rms), "working")),
            "init",
            (False,) * self.rms,
            Table.of(),
        )

    def actions(self) -> Iterator[AnyAction]:
        yield Commit()
        yield Abort()
        for rm in range(self.rms):
            yield ReceivePrepared(rm)
            yield Prepare(rm)
            yield ChooseToAbort(rm)
            yield ReceiveCommit(rm)
            yield ReceiveAbort(rm)

    def enabled(self, world: World) -> tuple[AnyAction, ...]:
        return tuple(each for each in self.actions() if self.why_not(world, each) is None)

    def why_not(self, world: World, action: AnyAction) -> str | None:
        match action:
            case Prepare(rm) | ChooseToAbort(rm):
                state = world.rms[rm]
                return None if state == "working" else f"resource manager {rm} is {state}"
            case ReceivePrepared(rm):
                if world.manager != "init":
                    return f"the manager is {world.manager}"
                return None if f"prepared {rm}" in world.messages else "nothing was sent"
            case Commit():
                if world.manager != "init":
                    return f"the manager is {world.manager}"
                return None if self.hasty or all(world.heard) else "not everybody is prepared"
            case Abort():
                return None if world.manager == "init" else f"the manager is {world.manager}"
            case ReceiveCommit():
                return None if "commit" in world.messages else "nothing was sent"
            case ReceiveAbort():
                return None if "abort" in world.messages else "nothing was sent"

    def step(self, world: World, action: AnyAction) -> Outcome:
        if why := self.why_not(world, action):
            raise NotEnabled(action, why)
        match action:
            case Prepare(rm):
                sent = world.messages.set(f"prepared {rm}", 1)
                return self._move_manager(world.but(messages=sent), rm, "prepared")
            case ChooseToAbort(rm):
                return self._move_manager(world, rm, "aborted")
            case ReceivePrepared(rm):
                heard = (*world.heard[:rm], True, *world.heard[rm + 1 :])
                return Outcome(world.but(heard=heard))
            case Commit() | Abort():
                verb = type(action).__name__.lower()
                sent = world.messages.set(verb, 1)
                done = {"commit": "committed", "abort": "aborted"}[verb]
                return Outcome(
                    world.but(manager=done, messages=sent), (StateChanged("manager", done),)
                )
            case ReceiveCommit(rm):
                return self._move_manager(world, rm, "committed")
            case ReceiveAbort(rm):
                return self._move_manager(world, rm, "aborted")

    def _move_manager(self, world: World, rm: int, state: str) -> Outcome:
        return Outcome(world.but(rms=world.rms.set(rm, state)), (StateChanged(f"rm {rm}", state),))

    def share_tables(self, world: World) -> World:
        return world

    def search_key(self, world: World) -> bytes:
        return fingerprint(world)

    def kind(self, action: AnyAction) -> str:
        return "fault" if isinstance(action, ChooseToAbort | Abort) else "deliver"
