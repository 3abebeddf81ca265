"""Scripts: the beats of a story, each a bullet of a KIP with a few instructions.

An instruction is a line of text:

    "app-1 goes on"                 take the one enabled action whose name in scripts matches (* and ? allowed)
    "quiet"                         let messages and senders run until only applications, timers
                                    and faults are left, or until they only repeat themselves
    "quiet but * arrives at B7"     the same, holding back what matches
    "until EndTxn arrives at B1"    the same, until an action matches, and take that one
    "maybe B5 refreshes src-0"      take it if it is possible, go on if it is not
    "B1 B3 | B4 app-1 are cut apart"  cut every host of the one side from every one of the other, or
                                    "B1 | *" one from all others; "are joined" heals that cut

`cluster.behaviour.action_name` has the texts of all actions. A script with an impossible instruction stops with an
error that lists the possible ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase

from kipviz.cluster.actions import ClusterAction, Heal
from kipviz.cluster.behaviour.catalogue import script_name
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.network.network_partition import cut_of
from kipviz.cluster.network.partition_sides import BadSides
from kipviz.cluster.world import World
from kipviz.core.model import NotEnabled
from kipviz.core.traces.trace import Trace
from kipviz.core.values import Value
from kipviz.messages.former_names import validate_message_names

# The order in which "quiet" takes actions; other kinds wait for an instruction. A coordinator loads before messages
# continue: otherwise a client that gets "not yet" and retries at once would delay it without end.
ORDER = ("load", "deliver", "replicate", "sender")
QUIET_MAX = 5_000
# After so many steps "quiet" looks whether the cluster repeats itself; no story needs as many.
LOOKS_AFTER = 200
QUIET = "quiet"
HOSTS = re.compile(r"([^|]*\|[^|]*) (are cut apart|are joined)")


class Beat(Value, frozen=True):
    """One big step of a story: a title, its text, and its instructions."""

    title: str
    say: str
    steps: tuple[str, ...]


class Chapter(Value, frozen=True):
    """A beat as it was played: the steps of the trace from `first` up to, but not including, `end`."""

    title: str
    say: str
    first: int
    end: int


class ScriptError(ValueError):
    """An instruction that cannot be followed: the instruction, and what is possible."""


def play(
    trace: Trace, model: ClusterModel, beats: tuple[Beat, ...]
) -> tuple[Trace, tuple[Chapter, ...]]:
    """Play beats from the current step of a trace.

    Raises:
        ScriptError: if an instruction matches nothing, or more than one action.
    """
    chapters = []
    for beat in beats:
        first = trace.depth
        for instruction in beat.steps:
            trace = follow(trace, model, instruction, beat.title)
        chapters.append(Chapter(beat.title, beat.say, first, trace.depth))
    return trace, tuple(chapters)


def follow(trace: Trace, model: ClusterModel, instruction: str, where: str) -> Trace:
    """Follow one instruction.

    Raises:
        ScriptError: if it matches nothing, or more than one action, or names a message as it was called before.
    """
    try:
        validate_message_names(instruction)
    except ValueError as wrong:
        raise ScriptError(f"{where}: {instruction!r} is not possible: {wrong}") from wrong
    if instruction == QUIET:
        return quiet(trace, model, "")
    if instruction.startswith("quiet but "):
        return quiet(trace, model, instruction.removeprefix("quiet but "))
    if instruction.startswith("maybe "):
        pattern = instruction.removeprefix("maybe ")
        texts = [script_name(trace.world, a) for a in model.enabled(trace.world)]
        possible = any(fnmatchcase(text, pattern) for text in texts)
        return trace.take(pick(model, trace.world, pattern, where)) if possible else trace
    if instruction.startswith("until "):
        pattern = instruction.removeprefix("until ")
        trace = quiet(trace, model, pattern)
        return trace.take(pick(model, trace.world, pattern, where))
    asked = HOSTS.fullmatch(instruction)
    if asked is None:
        return trace.take(pick(model, trace.world, instruction, where))
    try:
        cut = cut_of(model.spec, asked[1])
        return trace.take(cut if asked[2] == "are cut apart" else Heal(cut.one, cut.other))
    except BadSides as wrong:
        raise ScriptError(
            f"{where}: {instruction!r} is not a network partition: {wrong}"
        ) from wrong
    except NotEnabled as wrong:
        raise ScriptError(f"{where}: {instruction!r} is not possible now: {wrong.why}") from wrong


def pick(model: ClusterModel, world: World, pattern: str, where: str) -> ClusterAction:
    """Return the one enabled action whose name in scripts matches a pattern.

    Raises:
        ScriptError: if there is none, or more than one.
    """
    enabled = [(script_name(world, a), a) for a in model.enabled(world)]
    found = [(text, a) for text, a in enabled if fnmatchcase(text, pattern)]
    if len(found) == 1:
        return found[0][1]
    if found:
        texts = "; ".join(text for text, _ in found)
        raise ScriptError(f"{where}: {pattern!r} matches {len(found)} actions: {texts}")
    texts = "; ".join(text for text, _ in enabled) or "nothing"
    raise ScriptError(f"{where}: {pattern!r} is not possible now; possible: {texts}")


def quiet(trace: Trace, model: ClusterModel, held: str) -> Trace:
    """Let messages and senders run until nothing of theirs is left except what is held back.

    A client that retries at once without success never stops: then the trace ends where it first was in a state to
    which it returns.

    Raises:
        ScriptError: if the cluster neither becomes quiet nor repeats itself.
    """

    def is_held(action: ClusterAction) -> bool:
        return fnmatchcase(script_name(trace.world, action), held)

    passed: list[Trace] = []
    known: dict[object, Trace] = {}
    for _ in range(QUIET_MAX):
        action = next_by_itself(model, trace.world, is_held if held else None)
        if action is None:
            return trace
        passed.append(trace)
        if len(passed) > LOOKS_AFTER:
            for each in passed[len(known) :]:
                first = known.setdefault(model.search_key(each.world), each)
                if first is not each:
                    return first
        trace = trace.take(action)
    raise ScriptError(f"the cluster is not quiet within {QUIET_MAX} steps")


def next_by_itself(
    model: ClusterModel, world: World, held: Callable[[ClusterAction], bool] | None = None
) -> ClusterAction | None:
    """Return the next action that happens by itself, the first kind in `ORDER`, or None; held-back actions are skipped."""
    best: ClusterAction | None = None
    for action in model.enabled(world):
        kind = action.KIND
        if kind not in ORDER or (held is not None and held(action)):
            continue
        if best is None or ORDER.index(kind) < ORDER.index(best.KIND):
            best = action
    return best
