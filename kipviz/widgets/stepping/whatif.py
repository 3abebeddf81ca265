"""What-if requests of a reader: each continues a branch in another way.

Each function starts at a step of a branch, lets the run continue in another way from there, and describes in words what
was done. `Lab` makes a branch on the page from the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator

import msgspec

from kipviz.checking.judging.faults import faults as faults_named
from kipviz.checking.single_run.alternative_run import (
    Again,
    Course,
    HeldAction,
    MessagesInFlight,
    Missing,
    name_of,
    rest_of,
)
from kipviz.checking.single_run.runs import Run, again
from kipviz.cluster.actions import ClusterAction, Cut, Deliver, LoseConnection
from kipviz.cluster.network.partition_sides import BadSides, hosts_in, hosts_of, sides
from kipviz.cluster.world import World
from kipviz.core.model import NotEnabled
from kipviz.core.outside.validation import text
from kipviz.core.traces.trace import Node, Trace
from kipviz.messages.events import MessageDelivered, RecordsMoved, TransactionMoved
from kipviz.properties.verdict import BROKEN, Property
from kipviz.scenarios.run_points import CONDITIONS, condition_of, is_condition, parse_point
from kipviz.scenarios.scenario import properties_of
from kipviz.scenarios.script import ORDER
from kipviz.views.choices import Choices, action_of
from kipviz.views.explanations.sentences import summary, tell
from kipviz.widgets.pages.line import no_step
from kipviz.widgets.stepping.page_messages import Command

RUN_STEPS = 400
RUN_STEPS_MAX = 5_000
# The number of steps that dice choose before other messages are handled.
BREATH = 20


class Standing(msgspec.Struct, frozen=True):
    """A step of a branch: its run, its nodes from the start, and what is held back on it."""

    run: Run
    path: tuple[int, ...]
    at: int
    held: tuple[HeldAction, ...]

    @property
    def last(self) -> int:
        """The last step of the branch."""
        return len(self.path) - 1

    def course(self, at: int | None = None) -> Course:
        """Start another continuation at a step, by default at this one."""
        step = self.at if at is None else at
        return Course(self.run.model, self.run.trace.jump(self.path[step]), self.held)

    def node(self, step: int) -> Node:
        """Return the node of a step."""
        return self.run.trace.node(self.path[step])

    def wire(self, step: int) -> MessagesInFlight:
        """Return the messages in flight at a step."""
        wire = MessagesInFlight()
        for k in range(step + 1):
            wire.see(self.node(k).events)
        return wire

    def event(self, step: int) -> Again:
        """Return the action of a step, with its name."""
        action = self.node(step).action
        return Again(name_of(self.node(step - 1).world, action), action)

    def rest(self, after: int) -> list[Again]:
        """Return what happens after a step on this branch."""
        return rest_of(self.run.trace, self.path, after)


class Continuation(msgspec.Struct, frozen=True):
    """Another continuation, as far as it went: a name for its branch, and a sentence about it.

    `run` is its run; `held` is what is held back on it; `missing` is what happened on the branch that it leaves and not
    on this one.
    """

    run: Run
    trace: Trace
    name: str
    said: str = ""
    held: tuple[HeldAction, ...] = ()
    missing: tuple[Missing, ...] = ()


# -- what happens next ------------------------------------------------------------------------------


def take(here: Standing, command: Command) -> Continuation:
    """Take a possible action, and let the cluster run until nothing is left to do."""
    action = action_of(command.get("choice", ""))
    course = here.course()
    try:
        course.take(action)
    except NotEnabled as wrong:
        raise ValueError(f"that is not possible here: {wrong.why}") from wrong
    course.go_on()
    return _make_told(here.run, course, "")


def cut(here: Standing, command: Command) -> Continuation:
    """Partition the network between every host of one set and every host of another, and let the cluster run."""
    partition = _find_cut(here, command)
    course = here.course()
    try:
        course.take(partition)
    except NotEnabled as wrong:
        raise ValueError(f"that is not possible here: {wrong.why}") from wrong
    course.go_on()
    return _make_told(here.run, course, "")


def _find_cut(here: Standing, command: Command) -> Cut:
    one, other = (_hosts(command.get(side)) for side in ("one", "other"))
    try:
        return Cut(*sides(one, other, hosts_of(here.run.model.spec)))
    except BadSides as wrong:
        raise ValueError(f"that is not a network partition: {wrong}") from wrong


def find_action(here: Standing, command: Command) -> ClusterAction | None:
    """Return the single action of the cluster that a request asks for, or None if it asks for another kind of branch.

    Raises:
        ValueError: if it names a message, a host or an action that does not exist here, in one sentence.
    """
    do = command.get("do", "take")
    if do == "take":
        return action_of(command.get("choice", ""))
    if do == "cut":
        return _find_cut(here, command)
    if do in ("lose", "release"):
        place, _, _ = _message(here, command)
        return place if do == "release" else LoseConnection(place.source, place.broker)
    return None


def _hosts(side: object) -> tuple[str, ...]:
    names = hosts_in(side) if isinstance(side, str) else side
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ValueError(
            f"a side of a network partition must be the names of its hosts, such as 'B1 B3', not {side!r}"
        )
    return tuple(names)


def hold(here: Standing, command: Command) -> Continuation:
    """Hold a message back until it is released; everything else continues as far as possible."""
    course = here.course()
    action, name, number = _message(here, command)
    course.hold(action, name, number)
    missing = course.follow(here.rest(here.at))
    if course.trace.depth == here.at:
        raise ValueError(f"nothing else happens by itself while “{name}” is held back here")
    said = f"“{name}” is held back"
    return _make_told(here.run, course, f"held back: {name}", said, missing)


def lose(here: Standing, command: Command) -> Continuation:
    """Break the connection of a message: the message is lost, with all others on that connection."""
    place, name, _ = _message(here, command)
    course = here.course()
    try:
        course.take(LoseConnection(place.source, place.broker))
    except NotEnabled as wrong:
        raise ValueError(f"“{name}” cannot be lost here: {wrong.why}") from wrong
    course.go_on()
    return _make_told(here.run, course, "")


def release(here: Standing, command: Command) -> Continuation:
    """Deliver a message that was held back, and continue."""
    course = here.course()
    action, name, number = _message(here, command)
    if not any(h.until < 0 and h.number == number for h in course.held):
        raise ValueError(f"“{name}” is not held back here")
    missing = course.follow([Again(name, action, "now")])
    if missing:
        raise ValueError(f"“{name}” cannot be released now: {missing[0].why}")
    return _make_told(here.run, course, f"released: {name}")


def delay(here: Standing, command: Command) -> Continuation:
    """Deliver a message only after a later step of this branch, or when nothing else happens by itself."""
    action, name, number = _message(here, command)
    after = command.get("after", "quiet")
    until = here.last if after == "quiet" else _step(here, after, "the event it waits for")
    if until <= here.at and after != "quiet":
        raise ValueError(
            f"a message can only wait for something later than step {here.at}, not {after}"
        )
    course = here.course()
    course.hold(action, name, number)
    arrival = _arrival(here, number)
    steps = [k for k in range(here.at + 1, here.last + 1) if k != arrival]
    rest = [here.event(k) for k in steps]
    lets = "quiet" if after == "quiet" else "now"
    place = sum(k <= until for k in steps)
    missing = course.follow([*rest[:place], Again(name, action, lets), *rest[place:]])
    when = (
        "when nothing else can happen"
        if after == "quiet"
        else f"only after “{here.event(until).name}”"
    )
    return _make_told(here.run, course, f"late: {name}", f"“{name}” comes {when}", missing)


# -- what happened ----------------------------------------------------------------------------------


def skip(here: Standing, command: Command) -> Continuation:
    """Skip the event of this step, and replay the rest as far as possible without it."""
    event = _event_here(here)
    course = here.course(here.at - 1)
    if event.action.KIND in ORDER:
        number = course.wire.next_on(event.action)
        course.hold(event.action, event.name, number)
    missing = course.follow(here.rest(here.at))
    if course.trace.depth == here.at - 1:
        raise ValueError(
            f"without “{event.name}” nothing else can happen: everything that followed needs it. "
            "Choose what happens instead"
        )
    return _make_told(
        here.run, course, f"without: {event.name}", f"“{event.name}” does not happen", missing
    )


def move(here: Standing, command: Command) -> Continuation:
    """Move the event of this step to right before or right after another event of the branch."""
    event = _event_here(here)
    to, where = _step(here, command.get("to"), "the other event"), command.get("where", "after")
    if where not in ("before", "after"):
        raise ValueError(f"an event moves before or after another one, not {where!r} it")
    if to in (0, here.at):
        raise ValueError(f"an event moves to another event of the line, not to step {to}")
    rest = {k: here.event(k) for k in range(1, here.last + 1) if k != here.at}
    before = (
        to if where == "before" else to + 1
    )  # the moved event comes before the event of step `before`
    first = min(here.at, before)
    course = here.course(first - 1)
    if to > here.at and event.action.KIND in ORDER:
        course.hold(event.action, event.name, course.wire.next_on(event.action))
    moved = Again(event.name, event.action, "now")
    why = course.why_not(event.action, event.name) if to < here.at else None
    if why is not None:
        raise ValueError(f"“{event.name}” cannot come {where} “{rest[to].name}”: {why}")
    missing = course.follow(
        [
            *(rest[k] for k in rest if first <= k < before),
            moved,
            *(rest[k] for k in rest if k >= max(before, first)),
        ]
    )
    name = f"{event.name} {where} {rest[to].name}"
    return _make_told(
        here.run, course, name, f"“{event.name}” comes {where} “{rest[to].name}”", missing
    )


def change(here: Standing, command: Command) -> Continuation:
    """Replay the same run with some settings changed, and let it continue by itself."""
    changes = command.get("settings")
    if not isinstance(changes, list | tuple) or not changes:
        raise ValueError("a change names at least one setting, of the form setting=value")
    run = again(here.run, tuple(changes))
    course = Course(run.model, run.trace)
    missing = course.follow(here.rest(0))
    words = ", ".join(changes)
    return _make_told(run, course, f"with {words}", f"With {words}", missing)


def first_difference(here: Standing, told: Continuation) -> int | None:
    """Return the last step up to which two runs are the same, or None if they never differ.

    They differ when another action happens, when the world differs, or when other actions are possible.
    """
    other = [told.trace.node(node) for node in told.trace.path(told.trace.cursor)]
    possible_here, possible_there = Choices(here.run.model), Choices(told.run.model)
    for step, node in enumerate(other):
        if step > here.last:
            return step - 1
        mine = here.node(step)
        if (node.action, node.events, node.world) != (mine.action, mine.events, mine.world):
            return max(0, step - 1)
        if possible_here.of(mine.world, None) != possible_there.of(mine.world, None):
            return step if step + 1 < len(other) else max(0, step - 1)
    return None if len(other) == len(here.path) else max(0, len(other) - 2)


# -- dice ---------------------------------------------------------------------------------------------


def run_on(here: Standing, command: Command) -> Generator[str, None, Continuation]:
    """Let dice choose what happens, for some steps or until nothing is left to do."""
    seed, steps = _dice(command)
    course = here.course()
    yield from _roll(course, command, seed, steps, lambda _: False)
    made = course.trace.depth - here.at
    if not made:
        raise ValueError("nothing happens by itself here: only faults and timers are left")
    why = "" if made == steps else ", until nothing was left to do"
    said = f"Random choices with seed {seed} made {made} {'step' if made == 1 else 'steps'}{why}"
    return _make_told(here.run, course, f"continue with seed {seed}", said)


def run_until(here: Standing, command: Command) -> Generator[str, None, Continuation]:
    """Let dice choose what happens until a condition holds."""
    seed, steps = _dice(command)
    wanted, found = _read_condition(command, properties_of(here.run.model))
    course = here.course()
    worlds = [course.world]

    def until(node: Node) -> bool:
        before, worlds[0] = worlds[0], node.world
        return found(before, node)

    reached = yield from _roll(course, command, seed, steps, until)
    made = course.trace.depth - here.at
    if not reached:
        end = (
            f"within {steps} steps" if made == steps else f"before the run ended after {made} steps"
        )
        raise ValueError(
            f"“{wanted}” did not happen {end} with seed {seed}. Try another seed, more steps or other faults"
        )
    said = f"Random choices with seed {seed} reached “{wanted}” after {made} {'step' if made == 1 else 'steps'}"
    return _make_told(here.run, course, f"until {wanted}, seed {seed}", said)


def _roll(
    course: Course, command: Command, seed: int, steps: int, until: Callable[[Node], bool]
) -> Generator[str, None, bool]:
    """Let dice choose, and let other messages be handled in between; return whether the condition held."""
    reached = False

    def ends(node: Node) -> bool:
        nonlocal reached
        reached = until(node)
        return reached

    faults = faults_named(text("what may go wrong", command.get("faults", "calm"), "calm"))
    for count in course.run_on(seed, faults, steps, ends):
        if count % BREATH == 0:
            yield f"{count} of {steps} steps"
    return reached


def _dice(command: Command) -> tuple[int, int]:
    seed, steps = command.get("seed", 1), command.get("steps", RUN_STEPS)
    if seed is None or steps is None:  # a field that is empty, or has no number in it
        raise ValueError("a seed and a number of steps are needed, such as 7 and 200")
    if type(seed) is not int:
        raise ValueError(f"a seed must be a whole number, such as 7, not {seed!r}")
    if type(steps) is not int or not 1 <= steps <= RUN_STEPS_MAX:
        raise ValueError(f"a run can continue for 1 to {RUN_STEPS_MAX} steps, not {steps!r}")
    return seed, steps


Asked = Callable[[World, Node], bool]
# The properties by which a run is judged, in the order of a node's observations.
Watched = tuple[Property, ...]


def _read_condition(command: Command, watched: Watched) -> tuple[str, Asked]:
    """Return the condition to run until: in words, and as a function that checks a step for it."""
    kind, words = command.get("kind", "any"), command.get("wanted")
    if not isinstance(kind, str) or kind not in CONDITIONS:
        raise ValueError(f"what to run until must be one of {', '.join(CONDITIONS)}, not {kind!r}")
    if not isinstance(words, str) or not words.strip():
        raise ValueError("say what to run until: a message, a state, a property or some words")
    # Words of a sentence are searched for as they are, with "after" and "before"; names follow the grammar of points.
    text = words.strip()
    as_text = kind == "text" or (kind == "any" and not is_condition(parse_point(text)))
    wanted = text if as_text else condition_of(text)
    chosen = _FOUND if kind == "any" else (kind,)
    asks = [_FOUND[each]((text if each == "text" else wanted).lower(), watched) for each in chosen]
    return wanted, lambda before, node: any(ask(before, node) for ask in asks)


def _message_named(word: str, _: Watched) -> Asked:
    return lambda _, node: any(
        word in (type(e.message).__name__.lower(), _kind(summary(e.message)))
        for e in node.events
        if isinstance(e, MessageDelivered)
    )


def _kind(label: str) -> str:
    """Return the name of a kind of message: the label of its arrow, without numbers."""
    return re.sub(r"[\d#]+", "", label).strip().lower()


def _state_named(word: str, _: Watched) -> Asked:
    return lambda _, node: any(
        word == (e.after.value if isinstance(e, TransactionMoved) else e.after.name).lower()
        for e in node.events
        if isinstance(e, TransactionMoved | RecordsMoved)
    )


def _property_broken(word: str, watched: Watched) -> Asked:
    return lambda _, node: any(
        word in prop.name and prop.finding(state).status == BROKEN
        for prop, state in zip(
            watched, node.observations, strict=False
        )  # a run of a log is not judged
    )


def _ask_for_word(word: str, _: Watched) -> Asked:
    return lambda before, node: word in tell(before, node.action, node.events).sentence.lower()


_FOUND: dict[str, Callable[[str, Watched], Asked]] = {
    "message": _message_named,
    "state": _state_named,
    "property": _property_broken,
    "text": _ask_for_word,
}


# -- pieces -------------------------------------------------------------------------------------------


def _make_told(
    run: Run, course: Course, name: str, said: str = "", missing: tuple[Missing, ...] = ()
) -> Continuation:
    if said and missing:
        count = "one thing" if len(missing) == 1 else f"{len(missing)} things"
        said += f"; {count} could no longer happen"
    return Continuation(run, course.trace, name, f"{said}." if said else "", course.held, missing)


def _event_here(here: Standing) -> Again:
    if here.at == 0:
        raise ValueError("step 0 is the start: nothing happened in it that could be changed")
    return here.event(here.at)


def _step(here: Standing, step: object, what: str) -> int:
    if type(step) is not int or not 0 <= step <= here.last:
        raise ValueError(no_step(step, here.last, f" for {what}"))
    return step


def _message(here: Standing, command: Command) -> tuple[Deliver, str, int]:
    """Return the delivery of a message that is in flight here, its name and its number."""
    said = command.get("message")
    digits = said[1:] if isinstance(said, str) and said[:1] == "m" else ""
    if not (digits.isascii() and digits.isdecimal()):
        raise ValueError(f"{said!r} is not a message; messages are named m1, m2 and so on")
    number, wire = int(digits), here.wire(here.at)
    action = wire.place_of(number)
    if action is None:
        raise ValueError(f"message {said} is not in flight at step {here.at}")
    return action, _delivery(here.node(here.at).world, action, wire.ahead_of(number)), number


def _delivery(world: World, action: Deliver, ahead: int) -> str:
    """Return the name of a delivery after `ahead` messages before it are gone."""
    place = (action.source, action.broker)
    connection = world.connections[place]
    queue = f"{action.way}s"
    shorter = connection.but(**{queue: getattr(connection, queue)[ahead:]})
    return name_of(world.but(connections=world.connections.set(place, shorter)), action)


def _arrival(here: Standing, number: int) -> int:
    """Return the step of this branch at which a message arrives, -1 for none."""
    wire = MessagesInFlight()
    for step in range(here.last + 1):
        node = here.node(step)
        if step and wire.next_on(node.action) == number:
            return step
        wire.see(node.events)
    return -1
