"""Shrink a long run that violates a property to a minimal story, and find the step that causes the violation.

Shrinking is delta debugging over the actions: leave some out, take the rest as far as possible, and keep what still
breaks the same property. In the end no single action can be left out. A network partition loses every host that the
violation does not need. Then steps of one host are moved together if the story stays broken, because a reader follows
one host more easily than five. Nothing is random: the same run has the same story.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise

from kipviz.checking.judging.verdicts import property_named
from kipviz.checking.search.liveness import FOR_EVER, Futures, settle
from kipviz.cluster.actions import ClusterAction, Cut, Heal
from kipviz.cluster.behaviour.catalogue import actor_of
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.network.network_partition import narrow_cut
from kipviz.cluster.world import World
from kipviz.core.model import NotEnabled
from kipviz.core.values import Value
from kipviz.properties.pending import NothingPending, Open
from kipviz.properties.verdict import BROKEN

Actions = tuple[ClusterAction, ...]
ACCIDENTS = ("fault", "expiry")
LONG = 150


class NotBroken(ValueError):
    """The run does not break the property that it was said to break."""


class ShortestRun(Value, frozen=True):
    """A run from which no single action can be left out, and the number of runs tried to find it."""

    property: str
    actions: tuple[ClusterAction, ...]
    tried: int


class Saving(Value, frozen=True):
    """A step whose absence would have kept a property.

    `at` is its index, from 0; `lost` is the number of later steps that are not possible without it.
    """

    at: int
    action: ClusterAction
    lost: int


def shrink(
    model: ClusterModel,
    actions: Sequence[ClusterAction],
    broken: str,
    go_on: Callable[[], bool] = lambda: True,
) -> ShortestRun:
    """Return a minimal story that breaks the same property; `go_on` can end the work early.

    Raises:
        NotBroken: if the actions do not break that property.
    """
    judge = _Judge(model, broken)
    story = judge.must_be_broken_by(tuple(actions))
    while go_on():
        shorter = _leave_out(judge, story, go_on)
        tidier = _move_together(judge, _narrow_cuts(judge, shorter, go_on), go_on)
        if tidier == story:
            break
        story = tidier
    return ShortestRun(broken, story, judge.tried)


def savings(
    model: ClusterModel,
    actions: Sequence[ClusterAction],
    broken: str,
    wanted: Callable[[int], bool] = lambda _: True,
) -> tuple[Saving, ...]:
    """Return every step, of those whose index is wanted, without which the rest of the run keeps the property.

    Raises:
        NotBroken: if the actions do not break that property.
    """
    judge = _Judge(model, broken)
    story = judge.must_be_broken_by(tuple(actions))
    found = []
    for at, action in enumerate(story):
        if not wanted(at):
            continue
        rest = story[:at] + story[at + 1 :]
        if judge.cut_at_break(rest) is None:
            found.append(Saving(at, action, len(rest) - len(judge.taken)))
    return tuple(found)


def saving(
    model: ClusterModel,
    actions: Sequence[ClusterAction],
    broken: str,
    at_rest: Collection[int] = (),
) -> Saving | None:
    """Return the one event whose absence would have saved the run, or None if there is none.

    `at_rest` are the indexes of timers that expired because nothing else could happen; those are no faults. A fault or
    a timer that expired early is preferred to ordinary work, which would only come later; then the step without which
    most of the run is unchanged; then the latest one. In a long run only faults are tried, because the run is replayed
    once for each step that is tried.

    Raises:
        NotBroken: if the actions do not break that property.
    """
    accidents = {at for at, action in enumerate(actions) if is_accident(action)} - set(at_rest)
    found = savings(model, actions, broken, accidents.__contains__)
    if not found and len(actions) <= LONG:
        found = savings(model, actions, broken, lambda at: at not in accidents)
    return min(found, key=lambda s: (s.lost, -s.at), default=None)


def is_accident(action: ClusterAction) -> bool:
    """Return whether a step is a fault or a timer, rather than work that is only done earlier or later."""
    return action.KIND in ACCIDENTS


class _Judge:
    """Replays runs and judges whether they break one property.

    Attributes:
        taken: the actions of the last run that were possible.
        tried: the number of runs that were replayed.
    """

    def __init__(self, model: ClusterModel, broken: str) -> None:
        self._model = model
        self._property = property_named(broken)
        self._settles = broken == NothingPending.name
        self._known: dict[tuple[bytes, bytes], bool] = {}
        self._futures = Futures()
        self.taken: Actions = ()
        self.tried = 0

    def cut_at_break(self, actions: Actions) -> Actions | None:
        """Take the possible actions up to where the property breaks; return None if it does not."""
        self.tried += 1
        prop, model = self._property, self._model
        world = model.initial()
        state, taken = prop.initial(world), []
        for action in actions:
            try:
                outcome = model.step(world, action)
            except NotEnabled:
                continue
            taken.append(action)
            state, world = prop.observe(state, action, outcome), outcome.world
            if prop.finding(state).status == BROKEN:
                break
        self.taken = tuple(taken)
        broken = prop.finding(state).status == BROKEN or self._for_ever(world, state)
        return self.taken if broken else None

    def must_be_broken_by(self, actions: Actions) -> Actions:
        """Take the possible actions of a run up to where the property breaks.

        Raises:
            NotBroken: if it does not.
        """
        story = self.cut_at_break(actions)
        if story is None:
            raise NotBroken(f"the {len(actions)} actions do not break {self._property.name!r}")
        return story

    def _for_ever(self, world: World, pending: Open) -> bool:
        if not self._settles or not pending.count:
            return False
        key = (self._model.search_key(world), pending.digest)
        if key not in self._known:
            settled = settle(self._model, world, pending, self._futures)
            self._known[key] = settled.answer == FOR_EVER
        return self._known[key]


def _leave_out(judge: _Judge, story: Actions, go_on: Callable[[], bool]) -> Actions:
    """Leave out stretches of actions, halves first, until no single action can be left out."""
    size = max(len(story) // 2, 1)
    while go_on():
        at, shorter = len(story) - size, story
        while at > -size and go_on():
            first = max(at, 0)
            found = judge.cut_at_break(shorter[:first] + shorter[first + size :])
            if found is not None and len(found) < len(shorter):
                shorter = found
                at = min(at, len(shorter)) - size
            else:
                at -= size
        if size == 1 and shorter == story:
            break
        story, size = shorter, max(min(size // 2, len(shorter)), 1)
    return story


def _narrow_cuts(judge: _Judge, story: Actions, go_on: Callable[[], bool]) -> Actions:
    """Remove hosts from the network partitions, one by one, if the story stays broken without them."""
    at = 0
    while at < len(story) and go_on():
        action = story[at]
        for cut in narrow_cut(action) if isinstance(action, Cut) else ():
            smaller = tuple(_instead(a, action, cut) for a in story)
            if judge.cut_at_break(smaller) == smaller:
                story = smaller
                break
        else:
            at += 1
    return story


def _instead(action: ClusterAction, cut: ClusterAction, narrower: Cut) -> ClusterAction:
    """Return an action with a network partition replaced by a narrower one, in its repair, too."""
    if action == cut:
        return narrower
    heals = isinstance(action, Heal) and Cut(action.one, action.other) == cut
    return Heal(narrower.one, narrower.other) if heals else action


def _move_together(judge: _Judge, story: Actions, go_on: Callable[[], bool]) -> Actions:
    """Move each step up to the previous one of its host, if the story stays the same."""
    for at in range(1, len(story)):
        if not go_on():
            break
        hosts = [actor_of(action) for action in story]
        earlier = [k for k in range(at) if hosts[k] == hosts[at]]
        to = earlier[-1] + 1 if earlier else at
        moved = (*story[:to], story[at], *story[to:at], *story[at + 1 :])
        if _changes(moved) < _changes(story) and judge.cut_at_break(moved) == moved:
            story = moved
    return story


def _changes(story: Actions) -> int:
    """Count how often the story changes from one host to another."""
    return sum(one != other for one, other in pairwise(map(actor_of, story)))
